// SPDX-License-Identifier: MIT
#include "agent/facts/modprobe.h"

#include <sys/stat.h>

namespace preflight {

namespace {

constexpr std::size_t name_cap = 1000;

void add_directory(const Guest& guest, const std::string& directory, Image& image) {
  const auto names = guest.root.list("/" + directory, name_cap);
  if (!names) return;
  for (const std::string& name : *names) {
    if (!name.ends_with(".conf") || name.starts_with('.')) continue;
    ImageFile file;
    file.mode = S_IFREG | 0644;
    file.size = 1;  // not known for one that cannot be read
    if (Result<std::string> text = guest.root.read("/" + directory + "/" + name)) {
      file.size = text->size();
      file.content = std::move(*text);
    }
    image.files[directory + "/" + name] = std::move(file);
  }
}

}  // namespace

Image collect_modprobe(const Guest& guest) {
  Image image;
  for (const char* directory : {"lib/modprobe.d", "etc/modprobe.d"})
    add_directory(guest, directory, image);
  return image;
}

}  // namespace preflight
