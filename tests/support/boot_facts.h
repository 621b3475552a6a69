// SPDX-License-Identifier: MIT
// Facts with boot entries and images made by hand, for the tests of checks that look into images.
#pragma once

#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/facts/facts.h"

namespace preflight::testing {

inline constexpr std::string_view test_kernel = "5.14.0-500.el9.x86_64";
inline constexpr std::string_view test_modules = "usr/lib/modules/5.14.0-500.el9.x86_64";

inline void put(Image& image, const std::string& path, std::string content) {
  ImageFile file;
  file.mode = S_IFREG | 0644;
  file.size = content.size();
  file.content = std::move(content);
  image.files[path] = std::move(file);
  for (std::size_t slash = path.rfind('/'); slash != std::string::npos && slash > 0;
       slash = path.rfind('/', slash - 1))
    image.files.try_emplace(path.substr(0, slash), ImageFile{S_IFDIR | 0755, 0, "", {}});
}

/// A file that is there and whose content was not kept.
inline void put_unread(Image& image, const std::string& path) {
  put(image, path, "x");
  image.files[path].content.reset();
}

inline void put_link(Image& image, const std::string& path, std::string target) {
  put(image, path, "");
  ImageFile file;
  file.mode = S_IFLNK | 0777;
  file.link_target = std::move(target);
  image.files[path] = std::move(file);
}

/// An image of EL's layout with nvme and what it needs.
inline Image nvme_image() {
  Image image;
  put_link(image, "lib", "usr/lib");
  const std::string modules(test_modules);
  put(image, modules + "/kernel/nvme.ko.xz", "module");
  put(image, modules + "/kernel/nvme-core.ko.xz", "module");
  put(image, modules + "/kernel/nvme-auth.ko.xz", "module");
  put(image, modules + "/modules.dep",
      "kernel/nvme.ko.xz: kernel/nvme-core.ko.xz kernel/nvme-auth.ko.xz\n"
      "kernel/nvme-core.ko.xz: kernel/nvme-auth.ko.xz\nkernel/nvme-auth.ko.xz:\n"
      "kernel/virtio_blk.ko.xz:\n");
  put_unread(image, modules + "/modules.dep.bin");
  return image;
}

inline BootEntry entry_of(std::string id, std::string options, bool is_default = true) {
  BootEntry entry;
  entry.id = std::move(id);
  entry.path = "/boot/loader/entries/" + entry.id + ".conf";
  entry.kernel = test_kernel;
  entry.linux_path = "/boot/vmlinuz-" + entry.kernel;
  entry.initrds = {"/boot/initramfs-" + entry.kernel + ".img"};
  entry.options = std::move(options);
  entry.options_path = entry.path;
  entry.options_line = 5;
  entry.is_default = is_default;
  return entry;
}

/// A guest with these entries, all of which boot the image; the first is the default.
inline Facts facts_with(Image image, std::vector<BootEntry> entries) {
  Facts facts;
  facts.release = Release{};
  facts.release->major = 9;
  Kernel kernel;
  kernel.version = test_kernel;
  kernel.directory = "/lib/modules/" + kernel.version;
  facts.kernels = std::vector<Kernel>{kernel};
  facts.images.emplace(entries.front().image_key(), std::move(image));
  BootMenu menu;
  menu.entries = std::move(entries);
  menu.default_index = 0;
  facts.boot = std::move(menu);
  return facts;
}

}  // namespace preflight::testing
