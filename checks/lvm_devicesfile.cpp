// SPDX-License-Identifier: MIT
// lvm.devicesfile: with use_devicesfile = 1 LVM uses the devices that its devices file identifies
// and no others. The identity of a virtio disk (its serial, or its name) is gone after the switch.
// The initramfs has no devices file, so what it activates still comes up; everything else stays
// away.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/check.h"
#include "agent/formats/text.h"

namespace preflight {

namespace {

constexpr std::size_t evidence_cap = 24;

/// What becomes of one PV, or of one entry, after the switch.
struct Outlook {
  Status status = Status::pass;
  std::string saw;
  int line = 0;  // in the devices file
};

int rank(Status status) {
  switch (status) {
    case Status::fail:
      return 3;
    case Status::unknown:
      return 2;
    case Status::warn:
      return 1;
    default:
      return 0;
  }
}

bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

/// Identifiers of what lies on the disk, or of a file: no change of controller touches them.
bool is_above_the_disk(std::string_view idtype) {
  constexpr std::array<std::string_view, 5> types = {"crypt_uuid", "md_uuid", "lvmlv_uuid",
                                                     "mpath_uuid", "loop_file"};
  return std::find(types.begin(), types.end(), idtype) != types.end();
}

Outlook devname_outlook(const LvmFacts& lvm, std::string_view name) {
  if (starts_with(name, "/dev/mapper/") || starts_with(name, "/dev/md"))
    return {Status::pass, "a name that does not change with the controller", 0};
  if (lvm.search_for_devnames_all)
    return {Status::warn,
            "a device name that will be gone; this LVM finds the PV by its PVID and updates the "
            "entry",
            0};
  if (!lvm.search_for_devnames && !lvm.version)
    return {Status::unknown,
            "a device name that will be gone; whether this LVM searches for the PV depends on its "
            "version, which is not known",
            0};
  return {Status::fail,
          fmt::format("a device name that will be gone; this LVM{} does not look for the PV on an "
                      "NVMe disk",
                      lvm.version ? " (" + printable(lvm.version->text) + ")" : ""),
          0};
}

Outlook outlook_of(const LvmFacts& lvm, const DevicesEntry& entry) {
  Outlook out;
  if (is_above_the_disk(entry.idtype))
    out = {Status::pass, "an identifier that does not change with the controller", 0};
  else if (entry.idtype == "devname")
    out = devname_outlook(lvm, entry.idname);
  else if (entry.idtype == "sys_serial")
    out = {Status::fail,
           "the virtio disk's serial; the NVMe disk has its own, unless the host gives it the same",
           0};
  else
    out = {Status::fail, "an identifier that a virtio disk does not have", 0};
  out.line = entry.line;
  out.saw = fmt::format("IDTYPE={} IDNAME={}: {}", printable(entry.idtype),
                        entry.idname.empty() ? "." : printable(entry.idname), out.saw);
  return out;
}

/// An entry is a PV's by its PVID; one without PVID by the device's name.
bool belongs_to(const DevicesEntry& entry, const BlockDevice& pv, const std::string& pvid) {
  if (!entry.pvid.empty() && !pvid.empty()) return entry.pvid == pvid;
  return !pv.path.empty() && (entry.devname == pv.path || entry.idname == pv.path);
}

/// The best of a PV's entries counts: LVM uses a device that any entry matches.
Outlook outlook_of(const LvmFacts& lvm, const BlockDevice& pv) {
  const std::string pvid = pv.pvid();
  std::optional<Outlook> best;
  for (const DevicesEntry& entry : lvm.devices_file->entries) {
    if (!belongs_to(entry, pv, pvid)) continue;
    Outlook outlook = outlook_of(lvm, entry);
    if (!best || rank(outlook.status) < rank(best->status)) best = std::move(outlook);
  }
  if (best) return *best;
  if (pvid.empty())
    return {Status::unknown,
            fmt::format("no entry names {}, and its PVID is not known", printable(pv.path)), 0};
  return {Status::fail,
          fmt::format("no entry for the PV on {} (PVID {})", printable(pv.path), printable(pvid)),
          0};
}

bool lies_on_virtio(const Storage& storage, std::size_t device) {
  if (storage.devices[device].is_virtio()) return true;
  const std::vector<std::size_t> disks = storage.disks_under(device);
  return std::any_of(disks.begin(), disks.end(),
                     [&](std::size_t disk) { return storage.devices[disk].is_virtio(); });
}

/// The PVs that the switch concerns.
struct Concerned {
  std::vector<std::size_t> pvs;  // indexes of devices
  std::optional<Error> unseen;   // a virtio device that could not be probed: it may hold another

  bool none() const { return pvs.empty() && !unseen; }
};

Concerned concerned_pvs(const Storage& storage) {
  Concerned out;
  for (std::size_t i = 0; i < storage.devices.size(); ++i) {
    const BlockDevice& device = storage.devices[i];
    const bool pv = device.fstype == "LVM2_member";
    if ((!pv && !device.probe_error) || !lies_on_virtio(storage, i)) continue;
    if (pv)
      out.pvs.push_back(i);
    else if (!out.unseen)
      out.unseen = device.probe_error;
  }
  return out;
}

std::string deciding_path(const LvmFacts& lvm) {
  if (lvm.use_devicesfile_decider)
    return lvm.use_devicesfile_settings[*lvm.use_devicesfile_decider].path;
  return lvm.system_dir + "/lvm.conf";
}

/// The setting that decides, then every place that seems to and does not.
std::vector<Evidence> setting_evidence(const LvmFacts& lvm, bool on) {
  std::vector<Evidence> out;
  const std::string want = on ? "0" : "";
  const auto& decider = lvm.use_devicesfile_decider;
  if (decider) {
    const LvmSetting& setting = lvm.use_devicesfile_settings[*decider];
    out.push_back({setting.path, setting.line, printable(setting.text), want});
  }
  if (!decider || !lvm.use_devicesfile_settings[*decider].live)
    out.push_back(
        {deciding_path(lvm), 0,
         fmt::format("use_devicesfile is {}; the default of this build is {:d} ({})",
                     decider ? "set to no boolean" : "not set", on, printable(lvm.default_source)),
         on ? "use_devicesfile = 0" : ""});
  for (std::size_t i = 0; i < lvm.use_devicesfile_settings.size(); ++i) {
    if (decider == i || !on || out.size() >= evidence_cap / 2) continue;
    const LvmSetting& other = lvm.use_devicesfile_settings[i];
    out.push_back({other.path, other.line,
                   fmt::format("use_devicesfile = {} has no effect: {}", printable(other.text),
                               printable(other.why_not)),
                   ""});
  }
  for (const LvmSetting& comment : lvm.use_devicesfile_comments)
    if (on && out.size() < evidence_cap / 2)
      out.push_back({comment.path, comment.line,
                     fmt::format("\"{}\" is a comment and sets nothing", printable(comment.text)),
                     ""});
  return out;
}

Finding finding_of(const LvmFacts& lvm, Status status, std::string summary) {
  Finding finding;
  finding.subject = deciding_path(lvm);
  finding.status = status;
  finding.summary = std::move(summary);
  return finding;
}

/// A finding about use_devicesfile being 1, with the remedy where there is something to mend.
Finding enabled(const LvmFacts& lvm, Status status, std::string summary) {
  Finding finding = finding_of(lvm, status, std::move(summary));
  finding.evidence = setting_evidence(lvm, true);
  if (status == Status::fail || status == Status::warn)
    finding.remedy = Remedy{
        "lvm-devicesfile",
        fmt::format("Set use_devicesfile = 0 in devices {{ }} of {}: LVM then looks at every "
                    "device, whatever its controller (from 2.03.24 on it also moves the "
                    "devices file out of the way). Once the guest runs on NVMe, the setting "
                    "can go back to 1 and vgimportdevices makes a new devices file.",
                    finding.subject),
        {}};
  return finding;
}

std::string_view summary_of(Status status) {
  switch (status) {
    case Status::fail:
      return "LVM uses only the devices listed in its devices file, and after the switch the list "
             "no longer matches the disk: volumes that the initramfs does not activate itself "
             "(/home, /var, ...) never appear, the boot ends in emergency mode, and lvm commands "
             "see no volume group.";
    case Status::warn:
      return "LVM uses only the devices listed in its devices file. Its entries name a device that "
             "will be gone, but this LVM will find the physical volume again.";
    case Status::unknown:
      return "LVM uses only the devices listed in its devices file; whether its entries still "
             "match "
             "after the switch could not be told.";
    default:
      return "LVM uses only the devices listed in its devices file, and its entries do not depend "
             "on "
             "the disk's controller.";
  }
}

/// What the devices file's content means for each PV (or, the disks unknown, for each entry).
std::vector<Outlook> outlooks_of(const LvmFacts& lvm, const Result<Storage>& storage,
                                 const Concerned& concerned) {
  std::vector<Outlook> out;
  if (!storage) {
    for (const DevicesEntry& entry : lvm.devices_file->entries)
      out.push_back(outlook_of(lvm, entry));
    return out;
  }
  for (const std::size_t pv : concerned.pvs) out.push_back(outlook_of(lvm, storage->devices[pv]));
  if (concerned.unseen)
    out.push_back({Status::unknown,
                   "a disk could not be looked at: " + printable(concerned.unseen->message()), 0});
  return out;
}

Finding judge_entries(const LvmFacts& lvm, std::vector<Outlook> outlooks) {
  std::stable_sort(outlooks.begin(), outlooks.end(), [](const Outlook& a, const Outlook& b) {
    return rank(a.status) > rank(b.status);
  });
  const Status worst = outlooks.empty() ? Status::unknown : outlooks.front().status;
  Finding finding = enabled(lvm, worst, std::string(summary_of(worst)));
  for (const Outlook& outlook : outlooks)
    if (finding.evidence.size() < evidence_cap)
      finding.evidence.push_back({lvm.devices_file->path, outlook.line, outlook.saw, ""});
  return finding;
}

Finding without_file(const LvmFacts& lvm) {
  const Error& error = lvm.devices_file.error();
  const bool missing = error.kind == ErrorKind::missing;
  Finding finding =
      missing
          ? enabled(lvm, Status::warn,
                    "use_devicesfile is on, but there is no devices file, so LVM looks at every "
                    "device today. Once a command such as vgimportdevices or lvmdevices makes "
                    "one before the switch, it will name the virtio disk, and LVM will not find "
                    "its volumes on NVMe.")
          : enabled(lvm, Status::unknown, "LVM's devices file could not be examined.");
  finding.evidence.push_back(
      {error.path, error.line, missing ? "there is no such file" : printable(error.what), ""});
  return finding;
}

Finding judge_file(const Facts& facts, const Concerned& concerned) {
  const LvmFacts& lvm = facts.lvm;
  if (!lvm.devices_file) return without_file(lvm);
  if (!lvm.devices_file->entries.empty())
    return judge_entries(lvm, outlooks_of(lvm, facts.storage, concerned));
  Finding finding = enabled(lvm, Status::fail,
                            "LVM's devices file exists and lists no device, so LVM uses none: no "
                            "volume beyond those that the initramfs activates will appear.");
  finding.evidence.push_back({lvm.devices_file->path, 0, "no entries", ""});
  return finding;
}

Finding judge(const Facts& facts) {
  const LvmFacts& lvm = facts.lvm;
  if (!lvm.installed) return finding_of(lvm, Status::skip, "LVM is not installed.");
  Concerned concerned;
  if (facts.storage) concerned = concerned_pvs(*facts.storage);
  if (facts.storage && concerned.none())
    return finding_of(lvm, Status::skip, "No LVM physical volume lies on a virtio disk.");
  if (!lvm.use_devicesfile) {
    const Error& error = lvm.use_devicesfile.error();
    Finding finding =
        finding_of(lvm, Status::unknown, "Whether LVM uses its devices file could not be told.");
    finding.evidence.push_back({error.path, error.line, printable(error.what), ""});
    return finding;
  }
  if (*lvm.use_devicesfile) return judge_file(facts, concerned);
  Finding finding = finding_of(lvm, Status::pass,
                               "LVM does not use its devices file: it looks at every device and "
                               "will find its physical volumes on NVMe.");
  finding.evidence = setting_evidence(lvm, false);
  return finding;
}

std::vector<Finding> run_check(const Facts& facts) {
  return {judge(facts)};
}

}  // namespace

extern const Check lvm_devicesfile_check{"lvm.devicesfile", "LVM finds its disks by any name",
                                         run_check};

}  // namespace preflight
