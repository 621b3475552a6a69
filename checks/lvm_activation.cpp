// SPDX-License-Identifier: MIT
// The initramfs has to bring up root's LV, and must not wait for one that never comes.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "agent/check.h"
#include "agent/facts/volume_words.h"
#include "agent/formats/module_index.h"
#include "agent/formats/text.h"
#include "checks/boot_images.h"
#include "checks/boot_words.h"

namespace preflight {

namespace {

struct Remark {
  std::string text;
  std::vector<Evidence> evidence;
};

/// Faults stop the boot, doubts are what could not be told, cautions work today but are not
/// promised.
struct Remarks {
  std::vector<Remark> faults, doubts, cautions;
};

/// What was found about one entry: its command line, and its image with the words in it.
struct Judgement {
  Remarks line, image;
  bool root_on_lvm = false;
  bool image_is_gone = false;
  std::string root_name;  // "rl/root", or what root= says
};

/// A volume that the command line names, and where.
struct Named : NamedVolume {
  const BootWord* word = nullptr;
};

std::vector<Named> named_volumes(const Facts& facts, const std::vector<BootWord>& words) {
  const bool old_words = knows_old_words(facts.release);
  std::vector<Named> named;
  for (const BootWord& word : words)
    for (NamedVolume& volume : volumes_named_by(word.word, old_words))
      named.push_back({std::move(volume), &word});
  return named;
}

/// What is known of root's LV. `known` false: whether root is an LV at all can't be told.
struct RootVolume {
  bool known = false;
  std::optional<VolumeName> name;  // empty: not on an LV
};

std::optional<VolumeName> volume_of_spec(std::string_view value) {
  if (value.starts_with("block:")) value.remove_prefix(6);
  const DeviceSpec spec = parse_device_spec(value);
  if (spec.kind == SpecKind::mapper) return split_dm_name(spec.value);
  if (spec.kind != SpecKind::volume) return std::nullopt;
  const std::size_t slash = spec.value.find('/');
  return VolumeName{spec.value.substr(0, slash), spec.value.substr(slash + 1)};
}

/// By root= alone: a mapper name is an LV's when the command line activates that volume group.
RootVolume root_by_word(const BootWord* root, const std::vector<Named>& named) {
  if (!root || !root->word.value) return {};
  const auto volume = volume_of_spec(*root->word.value);
  if (!volume) return {};
  const bool vg_is_named = std::any_of(named.begin(), named.end(), [&](const Named& n) {
    return n.well_formed && n.vg == volume->vg;
  });
  const bool is_path = parse_device_spec(*root->word.value).kind == SpecKind::volume;
  if (!vg_is_named && !is_path) return {};
  return {true, volume};
}

RootVolume volume_below(const Storage& storage, std::size_t device) {
  const auto volume = storage.volume_under(device);
  if (!volume) return {true, std::nullopt};
  return {true, split_dm_name(storage.devices[*volume].dm_name)};
}

RootVolume root_volume(const Facts& facts, const BootWord* root, const std::vector<Named>& named) {
  if (facts.storage) {
    if (const auto mounted = facts.storage->mounted_at("/"))
      return volume_below(*facts.storage, *mounted);
    const auto found = root && root->word.value ? facts.storage->resolve(*root->word.value)
                                                : std::vector<std::size_t>{};
    if (found.size() == 1) return volume_below(*facts.storage, found.front());
  }
  return root_by_word(root, named);
}

std::string why_unknown(const Facts& facts) {
  if (!facts.storage) return facts.storage.error().message();
  return facts.storage->source + " lists nothing as mounted at /";
}

Remarks& remarks_on(const BootEntry& entry, const BootWord& word, Judgement& judgement) {
  const bool in_line = word.path == entry.options_path || word.path == entry.path;
  return in_line ? judgement.line : judgement.image;
}

/// parse-lvm.sh waits for /dev/<value> of every rd.lvm.lv and rd.lvm.vg; tried in a real boot: one
/// that does not exist ends in "Boot has failed" although root is there.
void judge_existence(const Facts& facts, const BootEntry& entry, const std::vector<Named>& named,
                     const RootVolume& root, Judgement& judgement) {
  for (const Named& volume : named) {
    Remarks& remarks = remarks_on(entry, *volume.word, judgement);
    if (!volume.well_formed) {
      remarks.faults.push_back(
          {fmt::format("{} names no LV (VG/LV is expected): dracut waits for /dev/{}, which never "
                       "comes, and the boot fails although root is there.",
                       volume.word->text(), volume.text()),
           {volume.word->evidence("rd.lvm.lv=VG/LV")}});
    } else if (const auto found = find_volume(facts.storage, facts.lvm, volume)) {
      if (*found == Existence::recorded)
        remarks.cautions.push_back(
            {fmt::format("{} names a volume that is not active now; LVM's backup of its metadata "
                         "knows it, so that dracut should be able to activate it.",
                         volume.word->text()),
             {volume.word->evidence("a volume that is active")}});
      if (*found != Existence::missing) continue;
      remarks.faults.push_back(
          {fmt::format(
               "{} names a volume that is not there: dracut waits for it, and the boot fails "
               "although root is there.",
               volume.word->text()),
           {volume.word->evidence("only volumes that exist")}});
    } else if (!root.name || !volume.covers(*root.name)) {
      remarks.doubts.push_back(
          {fmt::format("Whether {} exists can't be told ({}).", volume.text(), why_unknown(facts)),
           {volume.word->evidence("")}});
    }
  }
}

/// The word that keeps LVM out of the initramfs; nullptr when none does. The old name counts by its
/// mere presence (getargbool -n).
const BootWord* word_that_disables(const Facts& facts, const std::vector<BootWord>& words) {
  const BootWord* word = last_word(words, "rd.lvm");
  if (!word && knows_old_words(facts.release)) word = last_word(words, "rd_NO_LVM");
  return word && switches_lvm_off(word->word, true) ? word : nullptr;
}

void judge_coverage(const Facts& facts, const BootEntry& entry, const std::vector<BootWord>& words,
                    const std::vector<Named>& named, const RootVolume& root, Judgement& judgement) {
  const std::string wanted = fmt::format("rd.lvm.lv={}/{}", root.name->vg, root.name->lv);
  const BootWord* off = word_that_disables(facts, words);
  if (off) {
    remarks_on(entry, *off, judgement)
        .faults.push_back({fmt::format("{} keeps the initramfs from activating any LV, and root "
                                       "is the LV {}.",
                                       off->text(), judgement.root_name),
                           {off->evidence("without it")}});
  } else if (named.empty()) {
    // dracut.cmdline(7) says automatic assembly is off without rd.auto, but parse-lvm.sh of EL 8, 9
    // and 10 joins two empty lists with a blank and tests that for emptiness, so its rule stays and
    // lvm_scan activates every volume group.
    judgement.line.cautions.push_back(
        {fmt::format("Root is the LV {} and no rd.lvm.lv= names it: today's dracut activates every "
                     "volume group then, against its own manual (dracut.cmdline(7), rd.auto).",
                     judgement.root_name),
         {{entry.options_path.empty() ? entry.path : entry.options_path, entry.options_line,
           "no rd.lvm.lv=", wanted}}});
  } else if (std::none_of(named.begin(), named.end(),
                          [&](const Named& n) { return n.covers(*root.name); })) {
    std::vector<Evidence> evidence;
    for (const Named& volume : named) evidence.push_back(volume.word->evidence(wanted));
    remarks_on(entry, *named.back().word, judgement)
        .faults.push_back(
            {fmt::format(
                 "Root is the LV {}, but the initramfs activates only what rd.lvm.* names, and "
                 "that is not root's LV.",
                 judgement.root_name),
             std::move(evidence)});
  }
}

bool has_lvm(const Image& image) {
  for (const std::string_view path : {"usr/sbin/lvm", "sbin/lvm", "usr/bin/lvm", "bin/lvm"})
    if (image.find(path)) return true;
  return false;
}

void judge_device_mapper(const Facts& facts, const BootEntry& entry, const Image& image,
                         const std::string& path, Judgement& judgement) {
  const Kernel* kernel = find_kernel(facts.kernels, entry.kernel);
  // Without the guest's own index nothing says that dm_mod is a module of this kernel.
  if (!kernel || kernel->builtin.contains("dm_mod") || !kernel->modular.contains("dm_mod")) return;
  const DriverState state =
      driver_state(image, entry.kernel, "dm_mod", {kernel->builtin, kernel->needs});
  if (state.loads()) return;
  std::vector<Evidence> evidence;
  for (const std::string& missing : state.missing) evidence.push_back({path, 0, missing, "dm_mod"});
  const std::string text = "The image lacks the device-mapper module (dm_mod) of kernel " +
                           entry.kernel + ", and root is an LV";
  if (image.may_hold_more()) {
    judgement.image.doubts.push_back(
        {text + ", as far as the image could be read.", std::move(evidence)});
  } else {
    judgement.image.faults.push_back({text + ": no LV can come up.", std::move(evidence)});
  }
}

void judge_image(const Facts& facts, const BootEntry& entry, Judgement& judgement) {
  const std::string path = entry.initrds.empty() ? entry.path : entry.initrds.back();
  const Image* image = image_of(facts, entry);
  if (!image) {
    const auto found = facts.images.find(entry.image_key());
    // One that is not there is boot.default-entry's and initramfs.readable's to report.
    if (found != facts.images.end() && (found->second.error().kind == ErrorKind::missing ||
                                        found->second.error().kind == ErrorKind::wrong_type)) {
      judgement.image_is_gone = true;
      return;
    }
    const std::string why = found == facts.images.end()
                                ? "the entry has no image that could be read"
                                : found->second.error().message();
    judgement.image.doubts.push_back(
        {fmt::format("Whether the image can activate LVs can't be told: {}.", why),
         {{path, 0, "", "usr/sbin/lvm"}}});
    return;
  }
  if (!has_lvm(*image)) {
    Remark remark{"Root is an LV and the image has no lvm program to activate it.",
                  {{path, 0, "no usr/sbin/lvm", "usr/sbin/lvm"}}};
    if (image->may_hold_more()) {
      remark.text = "No lvm program was found in the image, but not all of it could be read.";
      judgement.image.doubts.push_back(std::move(remark));
    } else {
      judgement.image.faults.push_back(std::move(remark));
    }
  }
  judge_device_mapper(facts, entry, *image, path, judgement);
}

/// Only the lvm module of dracut waits for what rd.lvm.* names.
bool nobody_waits(const Facts& facts, const BootEntry& entry) {
  const Image* image = image_of(facts, entry);
  return image && !has_lvm(*image) && !image->may_hold_more();
}

Judgement judge(const Facts& facts, const BootEntry& entry) {
  Judgement judgement;
  const std::vector<BootWord> words = boot_words(facts, entry);
  const std::vector<Named> named = named_volumes(facts, words);
  const BootWord* root_word = last_word(words, "root");
  const RootVolume root = root_volume(facts, root_word, named);
  judgement.root_on_lvm = root.name.has_value();
  if (root.name) {
    judgement.root_name = root.name->vg + "/" + root.name->lv;
    judge_image(facts, entry, judgement);
    judge_coverage(facts, entry, words, named, root, judgement);
  } else if (!root.known) {
    judgement.line.doubts.push_back(
        {fmt::format("Whether root is an LV can't be told ({}).", why_unknown(facts)),
         {root_word ? root_word->evidence("")
                    : Evidence{entry.path, entry.options_line, "no root=", ""}}});
  }
  if (!word_that_disables(facts, words) && (root.name || !nobody_waits(facts, entry)))
    judge_existence(facts, entry, named, root, judgement);
  return judgement;
}

/// The fix edits what the entry's line is written in, by what the listing of the devices knows.
Remedy line_remedy(const Facts& facts, const BootEntry& entry, const Remarks& remarks) {
  const bool mends = !remarks.faults.empty() &&
                     facts.command_lines.has_text_in(entry.options_path) && facts.storage &&
                     facts.storage->mounted_at("/").has_value();
  return {mends ? "cmdline" : "",
          "Let rd.lvm.lv= name root's LV and only LVs that exist, here and for the next kernel "
          "(grubby --update-kernel, /etc/kernel/cmdline, /etc/default/grub).",
          {"grubby", "--info=" + (entry.linux_path.empty() ? "ALL" : entry.linux_path)}};
}

Remedy image_remedy(const Facts& facts, const BootEntry& entry) {
  for (const BootImage& boot_image : boot_images(*facts.boot, facts.images))
    if (std::find(boot_image.entries.begin(), boot_image.entries.end(), &entry) !=
        boot_image.entries.end())
      return rebuild_remedy(facts, boot_image, {"dm_mod"});
  return {};
}

Finding from_remarks(std::string subject, Status status, const std::vector<Remark>& remarks) {
  Finding finding;
  finding.subject = std::move(subject);
  finding.status = status;
  constexpr std::size_t told_cap = 24;  // the first ones already decide
  for (const Remark& remark : std::span(remarks).first(std::min(remarks.size(), told_cap))) {
    finding.summary += (finding.summary.empty() ? "" : " ") + remark.text;
    finding.evidence.insert(finding.evidence.end(), remark.evidence.begin(), remark.evidence.end());
  }
  if (remarks.size() > told_cap)
    finding.summary += fmt::format(" The same holds for {} more words.", remarks.size() - told_cap);
  if (finding.evidence.size() > told_cap)
    finding.evidence.erase(finding.evidence.begin() + told_cap, finding.evidence.end());
  return finding;
}

/// nullopt: nothing to say.
std::optional<Finding> worst_of(const Facts& facts, const BootEntry& entry, std::string subject,
                                const Remarks& remarks) {
  if (!remarks.faults.empty())
    return from_remarks(std::move(subject), fault_status(*facts.boot, entry), remarks.faults);
  if (!remarks.doubts.empty())
    return from_remarks(std::move(subject), doubt_status(*facts.boot, entry), remarks.doubts);
  if (!remarks.cautions.empty())
    return from_remarks(std::move(subject), Status::warn, remarks.cautions);
  return std::nullopt;
}

/// Empty: LVM has no part in this entry's boot.
std::vector<Finding> judge_entry(const Facts& facts, const BootEntry& entry) {
  const Judgement judgement = judge(facts, entry);
  std::vector<Finding> findings;
  if (auto finding = worst_of(facts, entry, entry.id, judgement.line)) {
    if (!judgement.line.faults.empty() || judgement.line.doubts.empty())
      finding->remedy = line_remedy(facts, entry, judgement.line);
    findings.push_back(std::move(*finding));
  }
  const std::string image = entry.image_key().empty() ? entry.path : entry.image_key();
  if (auto finding = worst_of(facts, entry, image, judgement.image)) {
    if (!judgement.image.faults.empty()) finding->remedy = image_remedy(facts, entry);
    findings.push_back(std::move(*finding));
  }
  if (!findings.empty() || !judgement.root_on_lvm) return findings;
  Finding finding;
  finding.subject = entry.id;
  if (judgement.image_is_gone) {
    finding.status = Status::skip;
    finding.summary = fmt::format("The initramfs of the entry is not there: see {}.",
                                  entry.is_default ? "boot.default-entry" : "initramfs.readable");
    return {finding};
  }
  finding.status = Status::pass;
  finding.summary = fmt::format(
      "The initramfs has what it takes to activate root's LV {}, and every "
      "volume it waits for is there.",
      judgement.root_name);
  return {finding};
}

Finding only(Status status, std::string summary) {
  Finding finding;
  finding.subject = "/boot/loader/entries";
  finding.status = status;
  finding.summary = std::move(summary);
  return finding;
}

/// Entries that share an image share what is wrong with it; the default entry's word is the worst.
void add_once(Finding finding, std::vector<Finding>& findings) {
  const auto same = std::find_if(findings.begin(), findings.end(), [&](const Finding& other) {
    return other.subject == finding.subject && other.summary == finding.summary;
  });
  if (same == findings.end())
    findings.push_back(std::move(finding));
  else if (finding.status == Status::fail)
    *same = std::move(finding);
}

/// What is wrong with the command line that the next kernel's entry is made from.
void add_next_entry(const Facts& facts, std::vector<Finding>& findings) {
  const std::optional<BootEntry> next = next_entry(facts);
  if (!next) return;
  const Judgement judgement = judge(facts, *next);
  if (judgement.line.faults.empty()) return;
  Finding finding = from_remarks(next->id, Status::warn, judgement.line.faults);
  finding.summary += " The entry of the next kernel is made from this line.";
  finding.remedy = line_remedy(facts, *next, judgement.line);
  findings.push_back(std::move(finding));
}

std::vector<Finding> run_lvm_activation(const Facts& facts) {
  if (!facts.boot)
    return {only(Status::unknown,
                 "The boot entries could not be read: " + facts.boot.error().message() + ".")};
  if (facts.boot->entries.empty())
    return {only(Status::unknown,
                 "There are no boot entries, so what the initramfs is told to "
                 "activate can't be told.")};
  std::vector<Finding> findings;
  for (const BootEntry& entry : facts.boot->entries)
    for (Finding& finding : judge_entry(facts, entry)) add_once(std::move(finding), findings);
  add_next_entry(facts, findings);
  if (findings.empty())
    return {only(Status::skip,
                 "Root is not on an LV, and no entry waits for a volume that is not "
                 "there.")};
  return findings;
}

}  // namespace

extern const Check lvm_activation_check;
const Check lvm_activation_check{"lvm.activation", "the initramfs activates root's LV",
                                 &run_lvm_activation};

}  // namespace preflight
