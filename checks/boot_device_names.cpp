// SPDX-License-Identifier: MIT
// Device names on the command line that end with the controller, and a resume= that nothing brings
// up. root= and resume= become systemd device units in the initramfs that nothing satisfies; the
// root's times out into "Boot has failed", a resume= device is waited for without limit (seen with
// systemd 252 and 257; systemd hibernate-resume-generator writes JobTimeoutSec=infinity for it),
// unless `noresume` is there. boot= is FIPS mode's (dracut modules.d/01fips/fips.sh, mount_boot).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "agent/check.h"
#include "agent/facts/stable_name.h"
#include "agent/facts/volume_words.h"
#include "agent/formats/cmdline.h"
#include "checks/boot_words.h"

namespace preflight {

namespace {

struct NamedDevice {
  CmdlineWord word;
  std::string device;
  std::string why;
  bool waited_for = false;
  std::size_t left_out = 0;  // how many more the line has that are not told one by one
};

// A command line of the kernel has 2048 bytes on x86 (COMMAND_LINE_SIZE of its asm/setup.h); that
// many names in one are nobody's configuration, and the first ones already decide.
constexpr std::size_t told_cap = 16;

/// A device in the word's value ("block:/dev/vda3", "keyfile:/dev/vdb") that ends with the
/// controller.
std::optional<NamedDevice> changing_device(const CmdlineWord& word) {
  for (std::string& device : device_paths_in(word.value.value_or("")))
    if (auto why = why_it_changes(device)) return NamedDevice{word, std::move(device), *why};
  return std::nullopt;
}

/// Those that the boot waits for come first.
std::vector<NamedDevice> changing_devices(std::string_view command_line) {
  const std::vector<CmdlineWord> words = parse_cmdline(command_line);
  const bool resumes = !has_noresume(words);
  std::map<std::string_view, const CmdlineWord*> last;
  for (const CmdlineWord& word : words) last[word.key] = &word;
  std::vector<NamedDevice> found;
  for (const CmdlineWord& word : words) {
    std::optional<NamedDevice> device = changing_device(word);
    if (!device) continue;
    device->waited_for = is_device_key(word.key) &&
                         (is_list_key(word.key) || &word == last[word.key]) &&
                         (word.key != "resume" || resumes);
    found.push_back(std::move(*device));
  }
  std::stable_partition(found.begin(), found.end(),
                        [](const NamedDevice& named) { return named.waited_for; });
  if (found.size() > told_cap) {
    found[told_cap - 1].left_out = found.size() - told_cap;
    found.erase(found.begin() + told_cap, found.end());
  }
  return found;
}

Remedy remedy_for(const Facts& facts, const NamedDevice& named) {
  const bool whole = named.word.value == named.device;
  const Result<std::string> stable = stable_name(facts.storage, named.device);
  if (stable && whole && is_device_key(named.word.key) && !is_list_key(named.word.key))
    return {"cmdline", fmt::format("write {}={} instead", named.word.key, *stable), {}};
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
                  named.why, named.waited_for ? ", and the boot waits for it." : ".");
  if (named.left_out > 0)
    finding.summary +=
        fmt::format(" {} more words of this line name such devices.", named.left_out);
  finding.evidence.push_back(std::move(evidence));
  finding.remedy = remedy_for(facts, named);
  return finding;
}

/// Whether rd.lvm.* of this command line activate that LV in the initramfs: by its name, or because
/// they name none at all.
bool activates(const Facts& facts, const std::vector<CmdlineWord>& words,
               const VolumeName& volume) {
  bool names_any = false;
  for (const CmdlineWord& word : words)
    for (const NamedVolume& named : volumes_named_by(word, knows_old_words(facts.release))) {
      if (named.covers(volume)) return true;
      names_any = true;
    }
  return !names_any;
}

/// Why the resume= device never comes up in the initramfs; empty when it does, an error when that
/// cannot be told.
Result<std::string> dead_resume(const Facts& facts, const BootEntry& entry,
                                const std::string& device) {
  // systemd 252 makes a unit for the device of no name and waits for that.
  if (device.empty()) return std::string("it names nothing");
  const std::vector<CmdlineWord> words = parse_cmdline(entry.options);
  const DeviceSpec spec = parse_device_spec(device);
  if (!facts.storage) {
    const bool by_volume = spec.kind == SpecKind::mapper && split_dm_name(spec.value);
    if (by_volume && !activates(facts, words, *split_dm_name(spec.value)))
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
  if (name && !activates(facts, words, *name))
    return fmt::format("it is the LV {}/{}, which no rd.lvm.lv= activates", name->vg, name->lv);
  return std::string();
}

std::optional<Finding> resume_finding(const Facts& facts, const BootEntry& entry, bool judged) {
  const std::vector<CmdlineWord> words = parse_cmdline(entry.options);
  const CmdlineWord* resume = last_word(words, "resume");
  if (!resume || !resume->value || has_noresume(words)) return std::nullopt;
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
  const bool is_there =
      facts.storage && !resume->value->empty() && !facts.storage->resolve(*resume->value).empty();
  const bool mends = facts.storage && facts.storage->mounted_at("/") &&
                     facts.command_lines.has_text_in(entry.options_path);
  finding.remedy = Remedy{mends ? "cmdline" : "",
                          is_there ? "name its LV in rd.lvm.lv=, here and for the next kernel"
                                   : "take the resume= argument out, here and for the next kernel, "
                                     "or name a swap that the initramfs activates",
                          {}};
  if (!is_there)
    finding.remedy->command = {"grubby", "--update-kernel=ALL", "--remove-args=resume"};
  return finding;
}

void judge_entry(const Facts& facts, const BootEntry& entry, bool judged,
                 std::vector<Finding>& findings) {
  for (const NamedDevice& named : changing_devices(entry.options)) {
    const bool fatal = judged && named.waited_for;
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
  if (const auto next = next_entry(facts)) {
    auto finding = resume_finding(facts, *next, false);
    if (finding && finding->status == Status::warn) {
      finding->summary += " The entry of the next kernel is made from this line.";
      findings.push_back(std::move(*finding));
    }
  }
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
