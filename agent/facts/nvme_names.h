// SPDX-License-Identifier: MIT
// Under which names LVM will see a physical volume once its disk is NVMe.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "agent/facts/storage.h"

namespace preflight {

/// Where the names are asked for: in the initramfs udev lacks the rules that make
/// by-id/lvm-pv-uuid-* (69-dm-lvm.rules is left out by dracut's lvm module of EL 9 and 10).
enum class NamesSeenBy { initramfs, root };

/// The names of one PV, the kernel's first ("/dev/nvme0n1p3"), then udev's links. All of them name
/// one device: LVM's filters accept it when they accept one of them.
///
/// The number of the disk follows the order of the disks in `storage`; serial, EUI and slot are the
/// host's to choose, so links made from them are examples in bhyve's manner. A PV that lies on
/// another layer (crypt, raid, multipath) keeps its names. Errors: missing (no such device),
/// unsupported (a partition whose number its name does not tell).
Result<std::vector<std::string>> nvme_names(const Storage& storage, std::size_t pv,
                                            NamesSeenBy seen_by);

/// The names of a PV on partition `number` (0: the whole disk) of the first disk, where nothing
/// else is known of it.
std::vector<std::string> nvme_names_of_partition(int number);

}  // namespace preflight
