// SPDX-License-Identifier: MIT
// The initramfs has to bring up root's LV, and must not wait for one that never comes.
#include <fmt/format.h>

#include <algorithm>

#include "agent/check.h"
#include "agent/formats/module_index.h"
#include "agent/formats/text.h"
#include "checks/boot_words.h"

namespace preflight {

namespace {

/// What was found about one entry: faults stop the boot, doubts are what could not be told,
/// cautions work today but are not promised.
struct Judgement {
  struct Remark {
    std::string text;
    std::vector<Evidence> evidence;
  };
  std::vector<Remark> faults, doubts, cautions;
  bool root_on_lvm = false;
  std::string root_name;  // "rl/root", or what root= says
};

/// A volume group or LV that the command line names.
struct Named {
  std::string vg;
  std::string lv;  // empty for rd.lvm.vg
  bool well_formed = true;
  const BootWord* word = nullptr;

  std::string text() const { return lv.empty() ? vg : vg + "/" + lv; }
};

// lvm(8): VG and LV names hold a-z A-Z 0-9 + _ . - alone.
bool is_name(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+_.-") ==
             std::string_view::npos;
}

Named named_volume(std::string_view value, bool group, const BootWord& word) {
  const std::size_t slash = value.find('/');
  if (group) return {std::string(value), "", is_name(value), &word};
  if (slash == std::string_view::npos) return {std::string(value), "", false, &word};
  Named named{std::string(value.substr(0, slash)), std::string(value.substr(slash + 1)), true,
              &word};
  named.well_formed = is_name(named.vg) && is_name(named.lv);
  return named;
}

/// dracut of EL 10 (107) dropped the rd_LVM_* and rd_NO_LVM names.
bool knows_old_names(const Facts& facts) {
  return !facts.release || facts.release->major < 10;
}

/// rd.lvm.lv= and rd.lvm.vg= and their old names. A value may hold
/// several, as parse-lvm.sh walks them unquoted; a word without "=" names itself (getargs).
std::vector<Named> named_volumes(const Facts& facts, const std::vector<BootWord>& words) {
  const bool old_names = knows_old_names(facts);
  std::vector<Named> named;
  for (const BootWord& word : words) {
    const std::string& key = word.word.key;
    const bool group = key == "rd.lvm.vg" || (old_names && key == "rd_LVM_VG");
    const bool volume = key == "rd.lvm.lv" || (old_names && key == "rd_LVM_LV");
    if (!group && !volume) continue;
    const std::string value = word.word.value.value_or(key);
    for (const std::string_view part : split_words(value))
      named.push_back(named_volume(part, group, word));
  }
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

/// Whether the VG's LVs would be seen: /dev/VG is there as soon as one of them is active.
bool has_volume_group(const Storage& storage, std::string_view vg) {
  return std::any_of(storage.devices.begin(), storage.devices.end(),
                     [&](const BlockDevice& device) {
                       if (!device.is_logical_volume()) return false;
                       const auto name = split_dm_name(device.dm_name);
                       return name && name->vg == vg;
                     });
}

bool exists(const Storage& storage, const Named& named) {
  return named.lv.empty() ? has_volume_group(storage, named.vg)
                          : storage.logical_volume(named.vg, named.lv).has_value();
}

/// A listing from a rescue system, where the volume groups may not be active, can't say what is
/// missing.
bool knows_volumes(const Facts& facts) {
  return facts.storage && facts.storage->mounted_at("/").has_value();
}

bool is_root_volume(const Named& named, const RootVolume& root) {
  return root.name && named.vg == root.name->vg && (named.lv.empty() || named.lv == root.name->lv);
}

std::string why_unknown(const Facts& facts) {
  if (!facts.storage) return facts.storage.error().message();
  return facts.storage->source + " lists nothing as mounted at /";
}

/// parse-lvm.sh waits for /dev/<value> of every rd.lvm.lv and rd.lvm.vg; tried in a real boot: one
/// that does not exist ends in "Boot has failed" although root is there.
void judge_existence(const Facts& facts, const std::vector<Named>& named, const RootVolume& root,
                     Judgement& judgement) {
  for (const Named& volume : named) {
    if (!volume.well_formed) {
      judgement.faults.push_back(
          {fmt::format("{} names no LV (VG/LV is expected): dracut waits for /dev/{}, which never "
                       "comes, and the boot fails although root is there.",
                       volume.word->text(), volume.text()),
           {volume.word->evidence("rd.lvm.lv=VG/LV")}});
    } else if (knows_volumes(facts)) {
      if (exists(*facts.storage, volume)) continue;
      judgement.faults.push_back(
          {fmt::format(
               "{} names a volume that is not there: dracut waits for it, and the boot fails "
               "although root is there.",
               volume.word->text()),
           {volume.word->evidence("only volumes that exist")}});
    } else if (!is_root_volume(volume, root)) {
      judgement.doubts.push_back(
          {fmt::format("Whether {} exists can't be told ({}).", volume.text(), why_unknown(facts)),
           {volume.word->evidence("")}});
    }
  }
}

/// The word that keeps LVM out of the initramfs; nullptr when none does.
const BootWord* word_that_disables(const Facts& facts, const std::vector<BootWord>& words) {
  if (const BootWord* word = last_word(words, "rd.lvm"))
    return bool_word(words, "rd.lvm", true) ? nullptr : word;
  // The old name counts by its mere presence (getargbool -n).
  return knows_old_names(facts) ? last_word(words, "rd_NO_LVM") : nullptr;
}

void judge_coverage(const Facts& facts, const BootEntry& entry, const std::vector<BootWord>& words,
                    const std::vector<Named>& named, const RootVolume& root, Judgement& judgement) {
  const std::string wanted = fmt::format("rd.lvm.lv={}/{}", root.name->vg, root.name->lv);
  const BootWord* off = word_that_disables(facts, words);
  if (off) {
    judgement.faults.push_back(
        {fmt::format("{} keeps the initramfs from activating any LV, and root "
                     "is the LV {}.",
                     off->text(), judgement.root_name),
         {off->evidence("without it")}});
  } else if (named.empty()) {
    // dracut.cmdline(7) says automatic assembly is off without rd.auto, but parse-lvm.sh of EL 8, 9
    // and 10 joins two empty lists with a blank and tests that for emptiness, so its rule stays and
    // lvm_scan activates every volume group.
    judgement.cautions.push_back(
        {fmt::format("Root is the LV {} and no rd.lvm.lv= names it: today's dracut activates every "
                     "volume group then, against its own manual (dracut.cmdline(7), rd.auto).",
                     judgement.root_name),
         {{entry.options_path.empty() ? entry.path : entry.options_path, entry.options_line,
           "no rd.lvm.lv=", wanted}}});
  } else if (std::none_of(named.begin(), named.end(),
                          [&](const Named& n) { return is_root_volume(n, root); })) {
    std::vector<Evidence> evidence;
    for (const Named& volume : named) evidence.push_back(volume.word->evidence(wanted));
    judgement.faults.push_back(
        {fmt::format("Root is the LV {}, but the initramfs activates only what rd.lvm.* names, and "
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
    judgement.doubts.push_back(
        {text + ", as far as the image could be read.", std::move(evidence)});
  } else {
    judgement.faults.push_back({text + ": no LV can come up.", std::move(evidence)});
  }
}

void judge_image(const Facts& facts, const BootEntry& entry, Judgement& judgement) {
  const std::string path = entry.initrds.empty() ? entry.path : entry.initrds.back();
  const Image* image = image_of(facts, entry);
  if (!image) {
    const auto found = facts.images.find(entry.image_key());
    const std::string why = found == facts.images.end()
                                ? "the entry has no image that could be read"
                                : found->second.error().message();
    judgement.doubts.push_back(
        {fmt::format("Whether the image can activate LVs can't be told: {}.", why),
         {{path, 0, "", "usr/sbin/lvm"}}});
    return;
  }
  if (!has_lvm(*image)) {
    Judgement::Remark remark{"Root is an LV and the image has no lvm program to activate it.",
                             {{path, 0, "no usr/sbin/lvm", "usr/sbin/lvm"}}};
    if (image->may_hold_more()) {
      remark.text = "No lvm program was found in the image, but not all of it could be read.";
      judgement.doubts.push_back(std::move(remark));
    } else {
      judgement.faults.push_back(std::move(remark));
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
    judgement.doubts.push_back(
        {fmt::format("Whether root is an LV can't be told ({}).", why_unknown(facts)),
         {root_word ? root_word->evidence("")
                    : Evidence{entry.path, entry.options_line, "no root=", ""}}});
  }
  if (!word_that_disables(facts, words) && (root.name || !nobody_waits(facts, entry)))
    judge_existence(facts, named, root, judgement);
  return judgement;
}

Remedy remedy_of(const BootEntry& entry) {
  return {"",
          "Let the entry's rd.lvm.lv= name root's LV and only LVs that exist (grubby "
          "--update-kernel), and rebuild an image without lvm (dracut -f).",
          {"grubby", "--info=" + (entry.linux_path.empty() ? "ALL" : entry.linux_path)}};
}

Finding from_remarks(const BootEntry& entry, Status status,
                     const std::vector<Judgement::Remark>& remarks) {
  Finding finding;
  finding.subject = entry.id;
  finding.status = status;
  for (const Judgement::Remark& remark : remarks) {
    finding.summary += (finding.summary.empty() ? "" : " ") + remark.text;
    finding.evidence.insert(finding.evidence.end(), remark.evidence.begin(), remark.evidence.end());
  }
  if (status == Status::fail || status == Status::warn) finding.remedy = remedy_of(entry);
  return finding;
}

/// nullopt: LVM has no part in this entry's boot.
std::optional<Finding> judge_entry(const Facts& facts, const BootEntry& entry) {
  const Judgement judgement = judge(facts, entry);
  if (!judgement.faults.empty())
    return from_remarks(entry, fault_status(*facts.boot, entry), judgement.faults);
  if (!judgement.doubts.empty()) return from_remarks(entry, Status::unknown, judgement.doubts);
  if (!judgement.cautions.empty()) return from_remarks(entry, Status::warn, judgement.cautions);
  if (!judgement.root_on_lvm) return std::nullopt;
  Finding finding;
  finding.subject = entry.id;
  finding.status = Status::pass;
  finding.summary = fmt::format(
      "The initramfs has what it takes to activate root's LV {}, and every "
      "volume it waits for is there.",
      judgement.root_name);
  return finding;
}

Finding only(Status status, std::string summary) {
  Finding finding;
  finding.subject = "/boot/loader/entries";
  finding.status = status;
  finding.summary = std::move(summary);
  return finding;
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
    if (auto finding = judge_entry(facts, entry)) findings.push_back(std::move(*finding));
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
