// SPDX-License-Identifier: MIT
// Whether this is a guest whose boot can be rehearsed at all.
#include <fmt/format.h>

#include <algorithm>

#include "agent/check.h"
#include "agent/formats/text.h"

namespace preflight {

namespace {

constexpr int oldest_major = 8;
constexpr int newest_major = 10;

Finding finding(const Facts& facts, Status status, std::string summary) {
  Finding out;
  out.subject = facts.release ? facts.release->path : "/etc/os-release";
  out.status = status;
  out.summary = std::move(summary);
  return out;
}

Finding with_remedy(Finding out, std::string text) {
  out.remedy = Remedy{"", std::move(text), {}};
  return out;
}

Finding no_release(const Facts& facts) {
  const Error& error = facts.release.error();
  Finding out =
      finding(facts, Status::unknown,
              "Which system this is cannot be told: " + error.message() +
                  (error.kind == ErrorKind::missing ? ". Is the guest mounted there?" : "."));
  out.subject = error.path.empty() ? out.subject : error.path;
  return out;
}

std::string seen(const Release& release) {
  return printable(fmt::format("ID={} VERSION_ID={}", release.id, release.version_id));
}

Finding foreign(const Facts& facts, const Release& release) {
  Finding out = finding(facts, Status::fail,
                        fmt::format("{} is not an Enterprise Linux guest (RHEL, Rocky, AlmaLinux, "
                                    "CentOS Stream, Oracle, ..): what is known here about its "
                                    "initramfs, LVM and GRUB does not hold.",
                                    printable(release.pretty_name)));
  out.evidence = {{release.path, 0, seen(release), "ID or ID_LIKE of the EL family"}};
  return out;
}

Finding wrong_major(const Facts& facts, const Release& release) {
  const bool newer_or_unclear = release.major < 0 || release.major > newest_major;
  const std::string why =
      release.major < 0 ? "its VERSION_ID begins with no number"
      : newer_or_unclear
          ? fmt::format("it is newer than EL {}, the last one whose rules are known here",
                        newest_major)
          : fmt::format("its dracut, LVM and GRUB work by other rules than those of EL {} to {}",
                        oldest_major, newest_major);
  Finding out =
      finding(facts, newer_or_unclear ? Status::unknown : Status::fail,
              fmt::format("{} cannot be rehearsed: {}.", printable(release.pretty_name), why));
  out.evidence = {
      {release.path, 0, seen(release), fmt::format("EL {} to {}", oldest_major, newest_major)}};
  return out;
}

std::string kernel_names(const Facts& facts) {
  if (!facts.kernels)
    return "its kernels could not be listed (" + printable(facts.kernels.error().message()) + ")";
  if (facts.kernels->empty()) return "without any kernel in /lib/modules";
  std::string names;
  for (const Kernel& kernel : *facts.kernels)
    names += (names.empty() ? "" : ", ") + printable(kernel.version);
  return fmt::format("with the kernel{} {}", facts.kernels->size() > 1 ? "s" : "", names);
}

bool only_unified_images(const Facts& facts) {
  return facts.boot && facts.boot->entries.empty() && !facts.boot->unified_kernel_images.empty();
}

Finding unified(const Facts& facts) {
  Finding out =
      finding(facts, Status::unknown,
              "This guest boots unified kernel images alone. They are not looked into, so "
              "whether one would find an NVMe disk cannot be told.");
  for (const std::string& path : facts.boot->unified_kernel_images)
    out.evidence.push_back({printable(path), 0, "a unified kernel image", ""});
  return with_remedy(std::move(out),
                     "Look for nvme.ko in the image's .initrd section: objcopy -O binary "
                     "--only-section=.initrd IMAGE.efi initrd && lsinitrd initrd | grep nvme");
}

Finding ostree(const Facts& facts) {
  Finding out = finding(facts, Status::unknown,
                        "This is an ostree or bootc deployment. Its initramfs comes with the "
                        "deployment and its /etc is one of several, which is not rehearsed here.");
  out.evidence = {{facts.boot->ostree, 0, "an ostree deployment", ""}};
  return with_remedy(
      std::move(out),
      "Check the image of the deployment that boots: lsinitrd /boot/ostree/*/initramfs-*.img | "
      "grep nvme.ko; rpm-ostree initramfs --enable adds drivers to it.");
}

/// The disks below "/"; empty when they are not known.
std::vector<const BlockDevice*> root_disks(const Facts& facts) {
  std::vector<const BlockDevice*> disks;
  const auto root = facts.storage ? facts.storage->mounted_at("/") : std::nullopt;
  if (!root) return disks;
  for (const std::size_t disk : facts.storage->disks_under(*root))
    disks.push_back(&facts.storage->devices[disk]);
  return disks;
}

std::string names_of(const std::vector<const BlockDevice*>& disks) {
  std::string names;
  for (const BlockDevice* disk : disks)
    names += (names.empty() ? "" : ", ") + printable(disk->path);
  return names;
}

Finding supported(const Facts& facts, const Release& release) {
  const std::string name =
      fmt::format("{} {}", printable(release.pretty_name), kernel_names(facts));
  const std::vector<const BlockDevice*> disks = root_disks(facts);
  // Names of other disks change as well, and none of the checks looks for those.
  std::vector<const BlockDevice*> foreign = disks;
  std::erase_if(foreign,
                [](const BlockDevice* disk) { return disk->is_nvme() || disk->is_virtio(); });
  if (!foreign.empty())
    return finding(
        facts, Status::unknown,
        fmt::format("{}. Its root file system is on {}, which is no virtio-blk disk: how "
                    "names of that kind fare on NVMe is not looked at here.",
                    name, names_of(foreign)));
  const bool on_nvme =
      !disks.empty() && std::all_of(disks.begin(), disks.end(),
                                    [](const BlockDevice* disk) { return disk->is_nvme(); });
  if (!on_nvme) return finding(facts, Status::pass, name + ".");
  Finding out =
      finding(facts, Status::warn,
              fmt::format("{}. Its root file system is on NVMe already ({}): there is no "
                          "switch left to rehearse. What follows holds for the next boot.",
                          name, names_of(disks)));
  return with_remedy(std::move(out), "After a switch, run nvme-preflight --verify instead.");
}

Finding judge(const Facts& facts) {
  if (!facts.release) return no_release(facts);
  const Release& release = *facts.release;
  if (!release.is_el()) return foreign(facts, release);
  if (release.major < oldest_major || release.major > newest_major)
    return wrong_major(facts, release);
  if (facts.live && !facts.privileged)
    return with_remedy(finding(facts, Status::unknown,
                               "Most of what decides about the boot (/boot, the initramfs, "
                               "/etc/lvm/devices) can be read by root alone."),
                       "Run it as root: sudo nvme-preflight");
  if (facts.boot && !facts.boot->ostree.empty()) return ostree(facts);
  if (only_unified_images(facts)) return unified(facts);
  return supported(facts, release);
}

std::vector<Finding> run(const Facts& facts) {
  return {judge(facts)};
}

}  // namespace

extern const Check guest_supported_check{"guest.supported", "a guest that can be rehearsed", run};

}  // namespace preflight
