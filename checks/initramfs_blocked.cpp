// SPDX-License-Identifier: MIT
// A driver that is in the image can still be kept from loading: by the image's modprobe.d, by
// dracut's command-line files in it, and by each entry's command line.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "agent/check.h"
#include "agent/formats/module_index.h"
#include "agent/formats/text.h"
#include "agent/formats/udev_load.h"
#include "checks/boot_images.h"
#include "checks/boot_words.h"

namespace preflight {

namespace {

constexpr std::size_t evidence_cap = 24;
constexpr std::string_view driver = "nvme";

/// dracut of EL 10 (107) dropped rdblacklist=, rdloaddriver= and rdinsmodpost=, and its kmod (v31)
/// reads /usr/local/lib/modprobe.d.
bool is_el10_or_later(const Facts& facts) {
  return facts.release && facts.release->major >= 10;
}

std::vector<LoadArgument> arguments_of(const Facts& facts, const BootEntry& entry) {
  using Reader = LoadArgument::Reader;
  const std::string& options_path = entry.options_path.empty() ? entry.path : entry.options_path;
  std::vector<LoadArgument> arguments;
  for (BootWord& word : boot_words(facts, entry)) {
    const Reader reader = word.path != options_path ? Reader::image
                          : word.word.after_dashes  ? Reader::after_dashes
                                                    : Reader::command_line;
    arguments.push_back(
        {std::move(word.word.key), std::move(word.word.value), word.path, word.line, reader});
  }
  return arguments;
}

/// Canonical names of the driver and all that it needs, so far as the image has them.
std::set<std::string> closure_of(const DriverState& state) {
  std::set<std::string> names{std::string(driver)};
  for (const std::string& path : state.present) names.insert(canonical_module_name(path));
  return names;
}

/// The modules that the image's index lists, none without one; nullopt when there are too many.
ModuleNames known_modules(const Image& image, const std::string& directory) {
  const std::string* text = image.content(directory + "/modules.dep");
  return text ? dependency_names(*text) : ModuleNames(std::in_place);
}

DriverRequest request_for(const Facts& facts, const ModuleNames& known, const DriverState& state) {
  DriverRequest request;
  request.builtin = state.builtin;
  request.closure = closure_of(state);
  if (known) request.known = *known;
  request.modaliases = {std::string(bhyve_nvme_modalias), std::string(qemu_nvme_modalias)};
  request.old_arguments = !is_el10_or_later(facts);
  return request;
}

/// What judging one entry takes.
struct Case {
  const Facts& facts;
  const BootEntry& entry;
  const BootImage& boot_image;
  Status fault;

  Status doubt() const { return fault == Status::fail ? Status::unknown : Status::warn; }

  std::string whose() const {
    if (entry.is_default) return "the default entry";
    return fmt::format("{} {}", entry.rescue ? "rescue entry" : "entry", printable(entry.id));
  }

  Finding finding(Status status, std::string summary) const {
    Finding out;
    out.subject = entry.id;
    out.status = status;
    out.summary = std::move(summary);
    return out;
  }
};

std::string shown_path(const Case& judged, const LoadObstacle& obstacle) {
  if (obstacle.place != LoadObstacle::Place::modprobe_file) return obstacle.path;
  return judged.boot_image.path + ":" + obstacle.path;
}

std::string_view wanted(const LoadObstacle& obstacle) {
  return obstacle.place == LoadObstacle::Place::modprobe_file ? "no such line" : "no such word";
}

void add_evidence(const Case& judged, const std::vector<LoadObstacle>& obstacles,
                  std::string_view note, Finding& finding) {
  for (const LoadObstacle& obstacle : obstacles) {
    if (finding.evidence.size() >= evidence_cap) return;
    finding.evidence.push_back(
        {shown_path(judged, obstacle), obstacle.line,
         fmt::format("{} ({}{})", printable(obstacle.text), obstacle.why, note),
         note.empty() ? std::string(wanted(obstacle)) : std::string()});
  }
}

/// The value of a list argument without the names that stand in the way.
std::string without_blocked(std::string_view value, const std::vector<LoadObstacle>& obstacles,
                            const LoadObstacle& whose) {
  std::string rest;
  while (true) {
    const std::size_t comma = value.find(',');
    const std::string_view name = value.substr(0, comma);
    const bool blocked =
        std::any_of(obstacles.begin(), obstacles.end(), [&](const LoadObstacle& obstacle) {
          return obstacle.text == whose.text && obstacle.path == whose.path &&
                 (canonical_module_name(name) == obstacle.module ||
                  obstacle.why.find(fmt::format("({}())", name)) != std::string::npos);
        });
    if (!blocked && !name.empty()) rest += (rest.empty() ? "" : ",") + std::string(name);
    if (comma == std::string_view::npos) return rest;
    value.remove_prefix(comma + 1);
  }
}

Remedy argument_remedy(const Case& judged, const std::vector<LoadObstacle>& obstacles,
                       const LoadObstacle& obstacle) {
  const std::size_t equals = obstacle.text.find('=');
  const std::string key = obstacle.text.substr(0, equals);
  const std::string rest = without_blocked(
      equals == std::string::npos ? "" : std::string_view(obstacle.text).substr(equals + 1),
      obstacles, obstacle);
  Remedy remedy{
      "",
      fmt::format("Take {} out of the entry's command line{}.", printable(obstacle.text),
                  rest.empty()
                      ? ""
                      : fmt::format(", or leave {}={} of it", printable(key), printable(rest))),
      {"grubby", "--update-kernel=" + judged.entry.linux_path, "--remove-args=" + obstacle.text}};
  if (!rest.empty()) remedy.command.push_back("--args=" + key + "=" + rest);
  return remedy;
}

Remedy file_remedy(const Case& judged, const LoadObstacle& obstacle) {
  const std::string image = judged.entry.initrds.empty() ? "" : judged.entry.initrds.back();
  Remedy remedy{"",
                fmt::format("Remove the line from the guest's /{}, where dracut copies it from, "
                            "then rebuild the image.",
                            printable(obstacle.path)),
                {"dracut", "-f", image, judged.boot_image.kernel}};
  if (judged.entry.rescue || judged.boot_image.kernel.empty()) remedy.command.clear();
  return remedy;
}

Remedy image_argument_remedy(const LoadObstacle& obstacle) {
  return {"",
          fmt::format("Take {} out of what dracut writes it from (kernel_cmdline= or "
                      "force_drivers+= in /etc/dracut.conf and its drop-ins), then rebuild the "
                      "image.",
                      printable(obstacle.text)),
          {}};
}

Remedy remedy_for(const Case& judged, const std::vector<LoadObstacle>& obstacles) {
  Remedy remedy;
  std::set<std::string> texts;
  for (const LoadObstacle& obstacle : obstacles) {
    Remedy one;
    switch (obstacle.place) {
      case LoadObstacle::Place::modprobe_file:
        one = file_remedy(judged, obstacle);
        break;
      case LoadObstacle::Place::image_argument:
        one = image_argument_remedy(obstacle);
        break;
      case LoadObstacle::Place::command_line:
        one = argument_remedy(judged, obstacles, obstacle);
        break;
    }
    if (texts.size() >= evidence_cap || !texts.insert(one.text).second) continue;
    remedy.text += (remedy.text.empty() ? "" : " ") + one.text;
    // Of several things to do no single command is the answer.
    remedy.command = texts.size() == 1 ? one.command : std::vector<std::string>{};
  }
  return remedy;
}

Finding blocked(const Case& judged, const LoadVerdict& verdict) {
  const LoadObstacle& first = verdict.obstacles.front();
  Finding finding = judged.finding(
      judged.fault,
      fmt::format("\"{}\" {} in the initramfs of {}. On NVMe it would find no disk, wait for its "
                  "root file system and end in the emergency shell.",
                  printable(first.text), first.why, judged.whose()));
  add_evidence(judged, verdict.obstacles, "", finding);
  add_evidence(judged, verdict.doubts, "", finding);
  finding.remedy = remedy_for(judged, verdict.obstacles);
  return finding;
}

Finding unclear(const Case& judged, const LoadVerdict& verdict) {
  Finding finding = judged.finding(
      judged.doubt(),
      fmt::format("Whether nvme would load in the initramfs of {} cannot be told without running "
                  "the command \"{}\".",
                  judged.whose(), printable(verdict.doubts.front().text)));
  add_evidence(judged, verdict.doubts, "", finding);
  finding.remedy = remedy_for(judged, verdict.doubts);
  return finding;
}

Finding not_blocked(const Case& judged, const LoadVerdict& verdict) {
  if (verdict.overridden.empty())
    return judged.finding(
        Status::pass,
        fmt::format("Nothing keeps nvme from loading in the initramfs of {}.", judged.whose()));
  Finding finding = judged.finding(
      Status::pass,
      fmt::format("nvme is blacklisted for udev in the initramfs of {}, but {} loads it "
                  "explicitly.",
                  judged.whose(), printable(verdict.forced_by)));
  add_evidence(judged, verdict.overridden, ", but an explicit load ignores it", finding);
  return finding;
}

/// What of the image could not be looked at, in words that end a sentence; empty when nothing.
std::string unseen(const Image& image, const std::string& directory, const ModuleNames& known,
                   const ModprobeConf& conf, const DriverState& state) {
  if (!state.unreadable.empty()) return state.unreadable.front();
  if (!known) return fmt::format("{}/modules.dep lists more modules than a kernel has", directory);
  if (!conf.unread.empty()) return conf.unread.front() + " in it was not read";
  if (const std::string words = unread_words(image); !words.empty())
    return words + " in it was not read";
  if (!image.may_hold_more()) return {};
  if (image.damage) return image.damage->what;
  return "its files lie packed in " + image.opaque_parts.front();
}

Finding judge_image(const Case& judged, const Image& image) {
  const DriverState state = driver_state(image, judged.boot_image.kernel, driver,
                                         guest_modules(judged.facts, judged.boot_image.kernel));
  const std::string directory = module_directory(image, judged.boot_image.kernel).value_or("");
  const ModuleNames known = known_modules(image, directory);
  const DriverRequest request = request_for(judged.facts, known, state);
  const ModprobeConf conf = read_modprobe_conf(image, directory, is_el10_or_later(judged.facts));
  const LoadVerdict verdict = judge_load(conf, arguments_of(judged.facts, judged.entry), request);
  if (!verdict.obstacles.empty()) return blocked(judged, verdict);
  if (!request.builtin) {
    if (const std::string gap = unseen(image, directory, known, conf, state); !gap.empty())
      return judged.finding(
          judged.doubt(),
          fmt::format("Whether something in the initramfs of {} keeps nvme from loading cannot be "
                      "told: {}.",
                      judged.whose(), printable(gap)));
    if (!verdict.doubts.empty()) return unclear(judged, verdict);
  }
  return not_blocked(judged, verdict);
}

/// Without an initramfs only a driver in the kernel itself can be blocked.
Finding judge_without_image(const Case& judged) {
  DriverRequest request;
  request.builtin =
      builtin_modules(judged.facts, judged.boot_image.kernel).contains(std::string(driver));
  if (!request.builtin)
    return judged.finding(
        Status::skip, fmt::format("{} names no initrd: see initramfs.driver.", judged.entry.path));
  const LoadVerdict verdict = judge_load({}, arguments_of(judged.facts, judged.entry), request);
  return verdict.obstacles.empty() ? not_blocked(judged, verdict) : blocked(judged, verdict);
}

Finding judge(const Case& judged) {
  if (judged.boot_image.image == nullptr) return judge_without_image(judged);
  if (auto finding = not_opened(judged.boot_image)) {
    finding->subject = judged.entry.id;
    return *finding;
  }
  return judge_image(judged, **judged.boot_image.image);
}

std::vector<Finding> run(const Facts& facts) {
  if (auto nothing = no_boot_images(facts)) return {*nothing};
  const std::vector<BootImage> images = boot_images(*facts.boot, facts.images);
  std::vector<Finding> findings;
  for (const BootEntry& entry : facts.boot->entries)
    for (const BootImage& boot_image : images)
      if (std::find(boot_image.entries.begin(), boot_image.entries.end(), &entry) !=
          boot_image.entries.end())
        findings.push_back(judge({facts, entry, boot_image, fault_status(*facts.boot, entry)}));
  return findings;
}

}  // namespace

extern const Check initramfs_blocked_check{"initramfs.blocked",
                                           "nothing keeps the NVMe driver from loading", &run};

}  // namespace preflight
