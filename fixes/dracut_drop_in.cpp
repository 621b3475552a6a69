// SPDX-License-Identifier: MIT
// Makes dracut's images generic, with nvme in them, by one file of our own.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "agent/facts/dracut_image.h"
#include "agent/formats/text.h"
#include "agent/step.h"

namespace preflight {

namespace {

constexpr std::string_view own_path = "/etc/dracut.conf.d/zz-nvme-preflight.conf";

constexpr std::string_view header =
    "# Written by nvme-preflight, for moving this guest's disk from virtio-blk to NVMe.\n"
    "# A host-only initramfs has the drivers of the disk controller that is present while it is\n"
    "# made, and does not find its disk behind another one. With this file every image, that of "
    "the\n"
    "# next kernel too, is made for both. To go back to what the other files say, remove it and\n"
    "# build the images anew (dracut -f IMAGE KERNEL).\n";

constexpr std::string_view header_hostonly =
    "# Written by nvme-preflight --fix --keep-hostonly, for moving this guest's disk from "
    "virtio-blk\n"
    "# to NVMe. Images stay host-only, with nvme and virtio_blk in each: that of the next kernel\n"
    "# finds its disk behind both controllers, but behind no other one.\n";

enum class Images { generic, hostonly };

/// What the other files alone say: the text must come out the same when our file is there already.
DracutConfig without_own(const DracutConfig& config) {
  DracutConfig others;
  for (const auto& [name, variable] : config.variables)
    for (const Assignment& assignment : variable.assignments)
      if (assignment.path != own_path) assign(others.variables, name, assignment);
  return others;
}

/// Whether every installed kernel has this driver as a module. A built-in name would end the list
/// on EL 8, and needs no image anyway.
bool is_module_everywhere(const Facts& facts, std::string_view name) {
  if (!facts.kernels) return true;
  return std::all_of(facts.kernels->begin(), facts.kernels->end(), [&](const Kernel& kernel) {
    return kernel.modular.empty() || kernel.modular.count(std::string(name)) > 0;
  });
}

std::string add_drivers_line(const Facts& facts) {
  std::string names;
  for (const char* name : {"nvme", "nvme_core", "virtio_blk"})
    if (is_module_everywhere(facts, name)) names += fmt::format("{} ", name);
  if (names.empty()) return {};
  return fmt::format(
      "# First in the list, because dracut drops every name behind one that it does not find.\n"
      "add_drivers=\" {}${{add_drivers}} \"\n",
      names);
}

bool has_fault(const DracutRehearsal& rehearsal, DracutFault::Kind kind) {
  return std::any_of(rehearsal.faults.begin(), rehearsal.faults.end(),
                     [&](const DracutFault& fault) { return fault.kind == kind; });
}

std::string padded_words(const std::vector<std::string>& words) {
  return words.empty() ? "\"\"" : double_quoted(fmt::format(" {} ", fmt::join(words, " ")));
}

/// The words of a variable but one.
std::vector<std::string> words_without(std::string_view value, std::string_view unwanted) {
  std::vector<std::string> words;
  for (const std::string_view word : split_words(value))
    if (word != unwanted) words.emplace_back(word);
  return words;
}

/// Names the words that have fused, so that whoever reads this file learns of them.
std::string fused_comment(const DracutRehearsal& rehearsal) {
  std::string out;
  for (const DracutFault& fault : rehearsal.faults) {
    if (fault.kind != DracutFault::Kind::fused || fault.driver.empty()) continue;
    std::vector<std::string> places;
    for (const Assignment& assignment : fault.assignments) places.push_back(place_of(assignment));
    out += fmt::format("# {} join to one word there, {}: += adds no blank.\n",
                       fmt::join(places, " and "), printable(fault.word));
  }
  return out;
}

std::string compose(const Facts& facts, const DracutTarget& target, Images images) {
  const DracutConfig others = without_own(*facts.dracut);
  const DracutRehearsal rehearsal = rehearse_dracut(others, target);
  std::string text(images == Images::generic ? header : header_hostonly);
  if (images == Images::generic) text += "hostonly=\"no\"\n";
  text += fused_comment(rehearsal);
  text += add_drivers_line(facts);
  if (has_fault(rehearsal, DracutFault::Kind::omitted) ||
      has_fault(rehearsal, DracutFault::Kind::omit_malformed))
    text += "# As the other files set it, without what keeps nvme out.\nomit_drivers=" +
            padded_words(harmless_omit_words(others, target, nvme_closure(target))) + '\n';
  if (has_fault(rehearsal, DracutFault::Kind::modules_omitted))
    text +=
        "# As the other files set it, without the module that installs drivers.\n"
        "omit_dracutmodules=" +
        padded_words(words_without(others.value("omit_dracutmodules"), "kernel-modules")) + '\n';
  if (has_fault(rehearsal, DracutFault::Kind::modules_listed))
    text += "add_dracutmodules+=\" kernel-modules \"\n";
  if (has_fault(rehearsal, DracutFault::Kind::no_kernel)) text += "no_kernel=\"no\"\n";
  return text;
}

tl::unexpected<Error> refuse(const std::vector<Assignment>& by, std::string_view why) {
  const Assignment* last = by.empty() ? nullptr : &by.back();
  return fail(ErrorKind::unsupported, last ? last->path : std::string(own_path),
              fmt::format("is read after {} and would still win: {}", own_path, why),
              last ? last->line : 0);
}

/// That the drop-in does what it is for, whatever is read after it. Where bash had to evaluate the
/// configuration, the pure reader cannot: the proof is then the fresh check after the fix.
Result<void> prove(const DracutConfig& config, const DracutTarget& target, const std::string& text,
                   Images images) {
  if (config.by_bash) return {};
  const Result<DracutConfig> tried =
      evaluate_dracut(with_drop_in(config.sources, {std::string(own_path), text}));
  if (!tried) return tl::unexpected(tried.error());
  const DracutRehearsal rehearsal = rehearse_dracut(*tried, target);
  if (tried->hostonly() && images == Images::generic)
    return refuse(tried->find("hostonly")->assignments, "hostonly stays on");
  if (tried->hostonly() && !rehearsal.forced)
    return refuse(tried->find("hostonly")->assignments,
                  "nothing forces nvme into a host-only image");
  for (const DracutFault& fault : rehearsal.faults)
    if (fault.status == Status::fail && fault.kind != DracutFault::Kind::module_fused)
      return refuse(fault.assignments, fmt::format("{} still keeps nvme out", fault.variable));
  return {};
}

/// The file's content before; refuses one that is a link to /dev/null, which somebody made to keep
/// it away.
Result<std::optional<std::string>> content_before(const DracutConfig& config) {
  for (const DracutFile& source : config.sources) {
    if (source.path != own_path) continue;
    if (source.masked)
      return fail(ErrorKind::unsupported, source.path,
                  "leads to /dev/null, so that nothing can be written there; remove the link");
    return source.text;
  }
  return std::nullopt;
}

Result<std::vector<Step>> plan_for(const Facts& facts, const std::vector<Finding>& findings,
                                   Images images) {
  const bool wanted = std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.remedy && finding.remedy->fix == "dracut-drop-in";
  });
  if (!wanted) return std::vector<Step>{};
  if (!facts.dracut) return tl::unexpected(facts.dracut.error());
  Result<std::optional<std::string>> before = content_before(*facts.dracut);
  if (!before) return tl::unexpected(before.error());
  const DracutTarget target = dracut_target(facts);
  const std::string text = compose(facts, target, images);
  if (Result<void> proved = prove(*facts.dracut, target, text, images); !proved)
    return tl::unexpected(proved.error());
  if (*before == text) return std::vector<Step>{};
  return std::vector<Step>{EditFile{std::string(own_path), std::move(*before), text}};
}

Result<std::vector<Step>> plan(const Facts& facts, const std::vector<Finding>& findings) {
  return plan_for(facts, findings, Images::generic);
}

Result<std::vector<Step>> plan_hostonly(const Facts& facts, const std::vector<Finding>& findings) {
  return plan_for(facts, findings, Images::hostonly);
}

}  // namespace

extern const Fix dracut_drop_in_fix{"dracut-drop-in", plan};
extern const Fix dracut_drop_in_hostonly_fix{"dracut-drop-in", plan_hostonly};

}  // namespace preflight
