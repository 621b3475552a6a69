// SPDX-License-Identifier: MIT
// Every fuzz target: one function and one file in targets/, one folder in corpus/.
#pragma once

#include <array>
#include <string_view>

namespace preflight::fuzz {

void bls(std::string_view input);
void checks(std::string_view input);
void cmdline(std::string_view input);
void crypttab(std::string_view input);
void decompress(std::string_view input);
void devices_file(std::string_view input);
void diff(std::string_view input);
void dracut_conf(std::string_view input);
void fstab(std::string_view input);
void grub_config(std::string_view input);
void grubenv(std::string_view input);
void image(std::string_view input);
void journal(std::string_view input);
void json(std::string_view input);
void kernel_header(std::string_view input);
void kmod_index(std::string_view input);
void lsblk(std::string_view input);
void lvm_conf(std::string_view input);
void lvm_filter(std::string_view input);
void modprobe_conf(std::string_view input);
void module_index(std::string_view input);
void os_release(std::string_view input);
void surroundings(std::string_view input);

struct Target {
  std::string_view name;
  void (*run)(std::string_view input);
};

inline constexpr std::array all_targets{
    Target{"bls", bls},
    Target{"checks", checks},
    Target{"cmdline", cmdline},
    Target{"crypttab", crypttab},
    Target{"decompress", decompress},
    Target{"devices_file", devices_file},
    Target{"diff", diff},
    Target{"dracut_conf", dracut_conf},
    Target{"fstab", fstab},
    Target{"grub_config", grub_config},
    Target{"grubenv", grubenv},
    Target{"image", image},
    Target{"journal", journal},
    Target{"json", json},
    Target{"kernel_header", kernel_header},
    Target{"kmod_index", kmod_index},
    Target{"lsblk", lsblk},
    Target{"lvm_conf", lvm_conf},
    Target{"lvm_filter", lvm_filter},
    Target{"modprobe_conf", modprobe_conf},
    Target{"module_index", module_index},
    Target{"os_release", os_release},
    Target{"surroundings", surroundings},
};

}  // namespace preflight::fuzz
