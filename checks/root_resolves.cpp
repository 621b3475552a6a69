// SPDX-License-Identifier: MIT
// root= has to lead to the file system that is mounted at / by something that the disk's controller
// has no say in: a UUID, a label, a partition's UUID, or an LV's name.
#include <fmt/format.h>

#include <algorithm>

#include "agent/check.h"
#include "agent/facts/stable_name.h"
#include "checks/boot_words.h"

namespace preflight {

namespace {

/// What became of one root=. `want` is the text for the evidence line.
struct Verdict {
  Status status = Status::unknown;
  std::string summary;
  std::string want;
};

Verdict pass(std::string summary) {
  return {Status::pass, std::move(summary), {}};
}
Verdict unknown(std::string summary) {
  return {Status::unknown, std::move(summary), {}};
}
Verdict fault(std::string summary, std::string want) {
  return {Status::fail, std::move(summary), std::move(want)};
}

bool is_root(const BlockDevice& device) {
  return std::find(device.mounts.begin(), device.mounts.end(), "/") != device.mounts.end();
}

/// The root= that leads to the root file system on any controller; "" when no listing tells.
std::string lasting_root(const Result<Storage>& storage) {
  const auto root = storage ? storage->mounted_at("/") : std::nullopt;
  if (!root) return {};
  const BlockDevice& device = storage->devices[*root];
  // As EL's grub2-mkconfig writes them: LVs by their mapper name, the rest by UUID (10_linux.in).
  if (device.is_logical_volume()) return "root=" + device.path;
  if (!device.uuid.empty()) return "root=UUID=" + device.uuid;
  return {};
}

std::string wanted(const Result<Storage>& storage) {
  const std::string root = lasting_root(storage);
  return root.empty() ? "root=UUID=<UUID of the file system mounted at />" : root;
}

/// by-id names that udev makes of what is written on the disk (systemd 60-persistent-storage-dm and
/// lvm2's and mdadm's rules), not of what the controller says.
bool is_lasting_id(std::string_view name) {
  for (const std::string_view prefix :
       {"dm-name-", "dm-uuid-", "lvm-pv-uuid-", "md-uuid-", "md-name-"})
    if (name.starts_with(prefix)) return true;
  return false;
}

/// Why a specification names its device by something the switch changes; "" when it does not.
std::string passing_name(const DeviceSpec& spec) {
  switch (spec.kind) {
    case SpecKind::kernel:
      if (spec.value.starts_with("md")) return {};
      return "a kernel name, which the controller's driver gives";
    case SpecKind::number:
      return "a device number, which the controller's driver gives";
    case SpecKind::by_path:
      return "the path over the controller";
    case SpecKind::id:
      return is_lasting_id(spec.value) ? "" : "an identity that the controller gives";
    default:
      return {};
  }
}

std::string names_of(const Storage& storage, const std::vector<std::size_t>& devices) {
  constexpr std::size_t shown = 4;
  std::string names;
  for (std::size_t i = 0; i < devices.size() && i < shown; ++i)
    names += (i > 0 ? ", " : "") + storage.devices[devices[i]].path;
  if (devices.size() > shown) names += fmt::format(" and {} more", devices.size() - shown);
  return names;
}

/// udev names links after the value as libblkid prints it, and dracut and systemd look for exactly
/// that link (R9 dracut-lib.sh label_uuid_to_dev; systemd fstab-util.c tag_to_udev_node).
bool has_wrong_case(const DeviceSpec& spec, const BlockDevice& device) {
  if (spec.kind == SpecKind::uuid) return spec.value != device.uuid;
  if (spec.kind == SpecKind::partuuid) return spec.value != device.partuuid;
  return false;
}

bool share_an_origin(const Storage& storage, std::size_t a, std::size_t b) {
  const auto& below = storage.devices[b].parents;
  return std::any_of(below.begin(), below.end(), [&](std::size_t parent) {
    const auto& others = storage.devices[a].parents;
    return storage.devices[parent].dm_name.ends_with("-real") &&
           std::find(others.begin(), others.end(), parent) != others.end();
  });
}

/// PVs and LUKS containers with nothing active on them: root may be inside.
bool has_closed_containers(const Storage& storage) {
  std::vector<bool> used(storage.devices.size(), false);
  for (const BlockDevice& device : storage.devices)
    for (const std::size_t parent : device.parents) used[parent] = true;
  for (std::size_t i = 0; i < storage.devices.size(); ++i) {
    const BlockDevice& device = storage.devices[i];
    if (!used[i] && (device.is_member() || device.fstype == "crypto_LUKS")) return true;
  }
  return false;
}

Verdict leads_nowhere(const Result<Storage>& storage, const std::string& text, bool root_is_known) {
  if (const Error* error = storage->first_probe_error())
    return unknown(
        fmt::format("No device is known that {} leads to, but not every device could be "
                    "looked into: {}.",
                    text, error->message()));
  if (!root_is_known && has_closed_containers(*storage))
    return unknown(
        fmt::format("No device is known that {} leads to, but there are volume groups or "
                    "encrypted devices that are not active in {}.",
                    text, storage->source));
  return fault(fmt::format("{} leads to no device: the initramfs waits for it and gives up.", text),
               wanted(storage));
}

Verdict leads_to_one(const Result<Storage>& storage, const std::string& text,
                     const DeviceSpec& spec, std::size_t found) {
  const BlockDevice& device = storage->devices[found];
  const auto root = storage->mounted_at("/");
  if (!root)
    return unknown(
        fmt::format("{} leads to {}, but {} lists nothing as mounted at /, so whether it "
                    "is the root file system can't be told.",
                    text, device.path, storage->source));
  if (!is_root(device) && share_an_origin(*storage, found, *root))
    return unknown(
        fmt::format("{} leads to {}, while {} is mounted at /: snapshots of one LV can't "
                    "be told apart.",
                    text, device.path, storage->devices[*root].path));
  if (!is_root(device))
    return fault(fmt::format("{} leads to {}, but the root file system is on {}.", text,
                             device.path, storage->devices[*root].path),
                 wanted(storage));
  if (has_wrong_case(spec, device))
    return fault(
        fmt::format("{} is not spelled as udev spells it: the initramfs looks for a link of "
                    "exactly that name and finds none.",
                    text),
        wanted(storage));
  return pass(
      fmt::format("{} leads to {}, which is mounted at /, on any controller.", text, device.path));
}

Verdict leads_to_several(const Result<Storage>& storage, const std::string& text,
                         const DeviceSpec& spec, const std::vector<std::size_t>& found) {
  const bool has_root = std::any_of(found.begin(), found.end(),
                                    [&](std::size_t i) { return is_root(storage->devices[i]); });
  if (storage->are_one_btrfs(found)) {
    if (has_root)
      return pass(
          fmt::format("{} leads to the btrfs of several devices that is mounted at /.", text));
    return leads_to_one(storage, text, spec, found.front());
  }
  return fault(fmt::format("{} leads to several devices ({}): which one becomes root is chance.",
                           text, names_of(*storage, found)),
               "one device with that identity");
}

Verdict judge_device(const Result<Storage>& storage, const std::string& text,
                     const std::string& value) {
  const DeviceSpec spec = parse_device_spec(value);
  if (const std::string why = passing_name(spec); !why.empty())
    return fault(fmt::format("{} names the root device by {}: under another controller it leads "
                             "nowhere or to another disk, and the boot stops there.",
                             text, why),
                 wanted(storage));
  if (!storage)
    return unknown(
        fmt::format("Where {} leads can't be told: {}.", text, storage.error().message()));
  const std::vector<std::size_t> found = storage->resolve(value);
  if (found.empty()) return leads_nowhere(storage, text, storage->mounted_at("/").has_value());
  if (found.size() > 1) return leads_to_several(storage, text, spec, found);
  return leads_to_one(storage, text, spec, found.front());
}

Verdict judge_word(const Result<Storage>& storage, const BootWord& word) {
  std::string value = word.word.value.value_or("");
  // R9 parse-block.sh: "block:" in front of a device changes nothing.
  if (value.starts_with("block:")) value.erase(0, 6);
  if (value.empty())
    return fault("root= is empty: dracut stops with \"Empty root= argument\".", wanted(storage));
  if (parse_device_spec(value).kind == SpecKind::other)
    return unknown(
        fmt::format("{} is no block device by name or identity (network, live image, "
                    "gpt-auto, ...): that kind of root is not rehearsed.",
                    word.text()));
  return judge_device(storage, word.text(), value);
}

Finding finding_of(const Facts& facts, const BootEntry& entry, Verdict verdict,
                   std::vector<Evidence> evidence) {
  Finding finding;
  finding.subject = entry.id;
  finding.status = verdict.status == Status::fail      ? fault_status(*facts.boot, entry)
                   : verdict.status == Status::unknown ? doubt_status(*facts.boot, entry)
                                                       : verdict.status;
  finding.summary = std::move(verdict.summary);
  finding.evidence = std::move(evidence);
  if (verdict.status != Status::fail) return finding;
  const std::string root = lasting_root(facts.storage);
  if (root.empty() || entry.linux_path.empty()) {
    finding.remedy = Remedy{"",
                            "Give the entry a root= by the UUID that blkid shows for the root "
                            "file system, with grubby --update-kernel.",
                            {}};
  } else {
    finding.remedy = Remedy{"",
                            "Give the entry a root= that does not depend on the controller.",
                            {"grubby", "--update-kernel=" + entry.linux_path, "--args=" + root}};
  }
  return finding;
}

/// Whether the fix cmdline mends it: a name of the old controller, in the entry itself, whose
/// device has a UUID.
bool can_be_rewritten(const Facts& facts, const BootEntry& entry, const Finding& finding,
                      const BootWord& word) {
  const std::string value = word.word.value.value_or("");
  return finding.evidence.front().path == entry.options_path && why_it_changes(value) &&
         stable_name(facts.storage, value);
}

Finding judge_entry(const Facts& facts, const BootEntry& entry) {
  const std::vector<BootWord> words = boot_words(facts, entry);
  if (const BootWord* word = last_word(words, "root")) {
    Verdict verdict = judge_word(facts.storage, *word);
    Evidence evidence = word->evidence(verdict.want);
    Finding finding = finding_of(facts, entry, std::move(verdict), {std::move(evidence)});
    if (finding.remedy && can_be_rewritten(facts, entry, finding, *word))
      finding.remedy = Remedy{"cmdline", "write root= by UUID, here and for the next kernel", {}};
    return finding;
  }
  const std::string path = entry.options_path.empty() ? entry.path : entry.options_path;
  const Image* image = image_of(facts, entry);
  // A host-only image may bring its own etc/cmdline.d.
  if (!image || image->may_hold_more())
    return finding_of(facts, entry,
                      unknown("The entry has no root=, and whether its image brings one can't be "
                              "told: the image could not be read."),
                      {{path, entry.options_line, "no root=", ""}});
  return finding_of(facts, entry,
                    fault("There is no root= in the entry nor in its image: nothing tells the "
                          "initramfs which file system to mount.",
                          ""),
                    {{path, entry.options_line, "no root=", wanted(facts.storage)}});
}

std::vector<Finding> run_root_resolves(const Facts& facts) {
  Finding none;
  none.subject = "/boot/loader/entries";
  if (!facts.boot) {
    none.summary = "The boot entries could not be read: " + facts.boot.error().message() + ".";
    return {none};
  }
  if (facts.boot->entries.empty()) {
    none.summary = "There are no boot entries, so there is no root= to follow.";
    return {none};
  }
  std::vector<Finding> findings;
  for (const BootEntry& entry : facts.boot->entries) findings.push_back(judge_entry(facts, entry));
  return findings;
}

}  // namespace

extern const Check root_resolves_check;
const Check root_resolves_check{"root.resolves", "root= leads to the root file system",
                                &run_root_resolves};

}  // namespace preflight
