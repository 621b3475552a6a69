// SPDX-License-Identifier: MIT
// Device names on the command line that end with the controller, and a resume= that nothing brings
// up. root= and resume= become systemd device units in the initramfs that nothing satisfies; the
// root's times out into "Boot has failed", a resume= device is waited for without limit (seen with
// systemd 252 and 257; systemd hibernate-resume-generator writes JobTimeoutSec=infinity for it),
// unless `noresume` is there. boot= is FIPS mode's (dracut modules.d/01fips/fips.sh, mount_boot).
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "agent/check.h"
#include "agent/facts/stable_name.h"
#include "agent/formats/cmdline.h"

namespace preflight {

namespace {

/// Keys whose device the boot waits for.
bool is_fatal_key(std::string_view key) {
  return key == "root" || key == "resume" || key == "boot" || key.starts_with("rd.luks.");
}

struct NamedDevice {
  CmdlineWord word;
  std::string device;
  std::string why;
};

/// The value itself, or a piece of it ("block:/dev/vda3", "keyfile:/dev/vdb"), where it ends with
/// the controller.
std::optional<NamedDevice> changing_device(const CmdlineWord& word) {
  if (!word.value) return std::nullopt;
  std::string_view rest = *word.value;
  while (!rest.empty()) {
    const std::size_t start = rest.find("/dev/");
    if (start == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(start);
    // A by-path name has colons of its own; elsewhere they divide.
    const std::size_t end =
        rest.starts_with("/dev/disk/by-path/") ? rest.find_first_of(",") : rest.find_first_of(",:");
    const std::string_view piece = rest.substr(0, end);
    if (auto why = why_it_changes(piece)) return NamedDevice{word, std::string(piece), *why};
    if (end == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(end + 1);
  }
  return std::nullopt;
}

/// Those that the boot waits for come first; more than a few of them say nothing new.
std::vector<NamedDevice> changing_devices(std::string_view command_line) {
  constexpr std::size_t listed = 8;
  std::vector<NamedDevice> found;
  for (const CmdlineWord& word : parse_cmdline(command_line)) {
    if (auto device = changing_device(word)) found.push_back(std::move(*device));
  }
  std::stable_partition(found.begin(), found.end(),
                        [](const NamedDevice& named) { return is_fatal_key(named.word.key); });
  if (found.size() > listed) found.erase(found.begin() + listed, found.end());
  return found;
}

Remedy remedy_for(const Facts& facts, const NamedDevice& named) {
  const bool whole = named.word.value == named.device;
  const Result<std::string> stable = stable_name(facts.storage, named.device);
  if (stable && whole && is_fatal_key(named.word.key) && !named.word.key.starts_with("rd.luks."))
    return {"cmdline-uuid", fmt::format("write {}={} instead", named.word.key, *stable), {}};
  return {"",
          fmt::format("name it by UUID instead{}",
                      stable ? "" : fmt::format(" ({})", stable.error().message())),
          {}};
}

Finding name_finding(const Facts& facts, const NamedDevice& named, std::string subject,
                     Evidence evidence, Status status) {
  Finding finding;
  finding.subject = std::move(subject);
  finding.status = status;
  finding.summary =
      fmt::format("{}= names {}, {}; it does not exist on NVMe{}", named.word.key, named.device,
                  named.why, is_fatal_key(named.word.key) ? ", and the boot waits for it." : ".");
  finding.evidence.push_back(std::move(evidence));
  finding.remedy = remedy_for(facts, named);
  return finding;
}

/// Whether rd.lvm.* of this command line activate that LV in the initramfs.
bool activates(const std::vector<CmdlineWord>& words, const VolumeName& volume) {
  const auto has = [&](std::string_view key, const std::string& value) {
    return std::any_of(words.begin(), words.end(), [&](const CmdlineWord& word) {
      return word.key == key && word.value == value;
    });
  };
  return has("rd.lvm.lv", volume.vg + "/" + volume.lv) || has("rd.lvm.vg", volume.vg) ||
         (words_of(words, "rd.lvm.lv").empty() && words_of(words, "rd.lvm.vg").empty());
}

/// Why the resume= device never comes up in the initramfs; empty when it does, an error when that
/// cannot be told.
Result<std::string> dead_resume(const Facts& facts, const BootEntry& entry,
                                const std::string& device) {
  const std::vector<CmdlineWord> words = parse_cmdline(entry.options);
  const DeviceSpec spec = parse_device_spec(device);
  if (!facts.storage) {
    const bool by_volume = spec.kind == SpecKind::mapper && split_dm_name(spec.value);
    if (by_volume && !activates(words, *split_dm_name(spec.value)))
      return fmt::format("no rd.lvm.lv= activates {}", device);
    // Whether an LV that is named exists is lvm.activation's question.
    if (by_volume) return std::string();
    return tl::unexpected(facts.storage.error());
  }
  const std::vector<std::size_t> found = facts.storage->resolve(device);
  if (found.empty()) return fmt::format("no device of this guest is {}", device);
  const auto volume = facts.storage->volume_under(found.front());
  if (!volume) return std::string();
  const auto name = split_dm_name(facts.storage->devices[*volume].dm_name);
  if (name && !activates(words, *name))
    return fmt::format("it is the LV {}/{}, which no rd.lvm.lv= activates", name->vg, name->lv);
  return std::string();
}

std::optional<Finding> resume_finding(const Facts& facts, const BootEntry& entry, bool judged) {
  const std::vector<CmdlineWord> words = parse_cmdline(entry.options);
  const CmdlineWord* resume = last_word(words, "resume");
  if (!resume || !resume->value || resume->value->empty() || first_word(words, "noresume"))
    return std::nullopt;
  if (why_it_changes(*resume->value)) return std::nullopt;
  const Result<std::string> dead = dead_resume(facts, entry, *resume->value);
  if (dead && dead->empty()) return std::nullopt;
  Finding finding;
  finding.subject = entry.id;
  finding.evidence.push_back({entry.options_path, entry.options_line, "resume=" + *resume->value,
                              "a device that comes up"});
  if (!dead) {
    finding.status = judged ? Status::unknown : Status::skip;
    finding.summary = fmt::format("Whether resume={} comes up in the initramfs cannot be told: {}.",
                                  *resume->value, dead.error().message());
    return finding;
  }
  finding.status = judged ? Status::fail : Status::warn;
  finding.summary = fmt::format(
      "resume={} will not come up in the initramfs ({}): the boot waits for "
      "it without limit.",
      *resume->value, *dead);
  finding.remedy =
      Remedy{"",
             "take the resume= argument out, or name a swap that the initramfs activates",
             {"grubby", "--update-kernel=ALL", "--remove-args=resume"}};
  return finding;
}

void judge_entry(const Facts& facts, const BootEntry& entry, bool judged,
                 std::vector<Finding>& findings) {
  for (const NamedDevice& named : changing_devices(entry.options)) {
    const bool fatal = judged && is_fatal_key(named.word.key);
    findings.push_back(
        name_finding(facts, named, entry.id,
                     {entry.options_path, entry.options_line,
                      fmt::format("{}={}", named.word.key, *named.word.value), "UUID=..."},
                     fatal ? Status::fail : Status::warn));
  }
  if (auto finding = resume_finding(facts, entry, judged)) findings.push_back(std::move(*finding));
}

/// What the next kernel's entry is made from. Texts that an entry has expanded are judged with it.
void judge_sources(const Facts& facts, std::vector<Finding>& findings) {
  std::set<std::string> expanded;
  if (facts.boot) {
    for (const BootEntry& entry : facts.boot->entries) expanded.insert(entry.options_path);
  }
  for (const CommandLineText& text : facts.command_lines.texts) {
    if (text.source == CommandLineSource::entry || expanded.contains(text.path)) continue;
    for (const NamedDevice& named : changing_devices(text.text())) {
      Finding finding =
          name_finding(facts, named, fmt::format("{}:{}", text.path, text.line),
                       {text.path, text.line,
                        fmt::format("{}={}", named.word.key, *named.word.value), "UUID=..."},
                       Status::warn);
      finding.summary += " The entry of the next kernel is made from this line.";
      findings.push_back(std::move(finding));
    }
  }
  for (const Error& error : facts.command_lines.errors) {
    Finding finding;
    finding.subject = error.path;
    finding.status = Status::unknown;
    finding.summary = fmt::format("It cannot be read: {}.", error.what);
    findings.push_back(std::move(finding));
  }
}

std::vector<Finding> run_check(const Facts& facts) {
  std::vector<Finding> findings;
  if (!facts.boot) {
    Finding finding;
    finding.subject = "/boot/loader/entries";
    finding.status = Status::unknown;
    finding.summary =
        fmt::format("The boot entries cannot be read: {}.", facts.boot.error().message());
    return {finding};
  }
  for (const BootEntry& entry : facts.boot->entries) {
    const bool judged = entry.is_default || !facts.boot->default_index;
    judge_entry(facts, entry, judged, findings);
  }
  judge_sources(facts, findings);
  const bool quiet = std::none_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.status != Status::skip;
  });
  if (quiet) {
    Finding finding;
    finding.subject = "command line";
    finding.status = Status::pass;
    finding.summary = "No command line names a device by a name that ends with the controller.";
    return {finding};
  }
  return findings;
}

}  // namespace

extern const Check boot_device_names_check{
    "boot.device-names", "command lines name disks by UUID or LV, and resume= comes up", run_check};

}  // namespace preflight
