// SPDX-License-Identifier: MIT
// Which device names end with the controller, and which name to use instead.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/facts/storage.h"
#include "agent/formats/fstab.h"

namespace preflight {

/// Why a device specification (of fstab, crypttab, root=, ...) will not name the same device once
/// the disk is NVMe; nullopt when it survives. In words that end a sentence: "the kernel's name of
/// a virtio-blk disk". Sources: udev 60-persistent-storage.rules (by-id/virtio-*, by-path), kernel
/// drivers/block/virtio_blk.c (vd*, its own major number).
std::optional<std::string> why_it_changes(std::string_view spec);

/// The device path that a systemd unit name stands for ("dev-vda3.device", "dev-vda4.swap" ->
/// "/dev/vda3"; systemd.unit(5), escaping); empty for other units.
std::string device_of_unit(std::string_view unit);

/// The device paths in a value that puts them behind one another or behind something else:
/// "/keyfile:/dev/vdb1", "block:/dev/vda3". ":" and "," divide, but a by-path name has colons of
/// its own.
std::vector<std::string> device_paths_in(std::string_view value);

/// "UUID=<uuid>" of the one device that `spec` leads to today. Never a label. Errors say why there
/// is none: disks not known, several devices, no UUID, a UUID that another device has as well.
Result<std::string> stable_name(const Result<Storage>& storage, std::string_view spec);

/// The same for the device field of a line of fstab or crypttab: "PARTUUID=<uuid>" where what lies
/// on the device, and with it its UUID, is made anew at every boot.
Result<std::string> stable_name(const Result<Storage>& storage, const DeviceLine& line);

}  // namespace preflight
