// SPDX-License-Identifier: MIT
// Prints what the image reader makes of an initramfs, for comparison with other people's tools.
//   image_dump files IMAGE
//   image_dump closure IMAGE KERNEL MODULE...
//   image_dump alias IMAGE KERNEL MODALIAS...
// Exit status: 0, 1 when the image is damaged (said on stderr; what was read is printed), 2 usage.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "agent/formats/image.h"
#include "agent/formats/module_index.h"

namespace {

using namespace preflight;

Result<Image> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(ErrorKind::missing, path, "cannot open");
  const ByteSource source = [&file](std::span<std::byte> into) -> Result<std::size_t> {
    file.read(reinterpret_cast<char*>(into.data()), static_cast<std::streamsize>(into.size()));
    return static_cast<std::size_t>(file.gcount());
  };
  return read_image(path, source, is_wanted_content);
}

/// "segment OFFSET COMPRESSION ENTRIES" for each, then "NAME MODE SIZE [TARGET]" for each file.
void print_files(const Image& image) {
  for (const ImageSegment& segment : image.segments)
    fmt::print("segment {} {} {}\n", segment.offset, to_string(segment.compression),
               segment.entries);
  for (const auto& [name, file] : image.files)
    fmt::print("{} {:o} {}{}{}\n", name, file.mode, S_ISDIR(file.mode) ? 0 : file.size,
               S_ISLNK(file.mode) ? " " : "", file.link_target);
}

/// "MODULE FILE" for each file of its closure, or what is missing in the place of a file.
void print_closures(const Image& image, const std::vector<std::string>& arguments) {
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const DriverState state = driver_state(image, arguments[0], arguments[i], {});
    if (state.builtin) fmt::print("{} BUILTIN\n", arguments[i]);
    for (const std::string& file : state.present) fmt::print("{} {}\n", arguments[i], file);
    for (const std::string& text : state.missing) fmt::print("{} MISSING {}\n", arguments[i], text);
    for (const std::string& text : state.unreadable)
      fmt::print("{} UNREADABLE {}\n", arguments[i], text);
  }
}

/// "MODALIAS MODULE" for each module that it leads to.
void print_aliases(const Image& image, const std::vector<std::string>& arguments) {
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    std::set<std::string> modules;
    for (const AliasMatch& match : alias_state(image, arguments[0], arguments[i]).matches)
      modules.insert(match.module);
    for (const std::string& module : modules) fmt::print("{} {}\n", arguments[i], module);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + std::min(argc, 3), argv + argc);
  const std::string what = argc > 2 ? argv[1] : "";
  const bool takes_more = what == "closure" || what == "alias";
  if (what != "files" && !(takes_more && arguments.size() > 1)) {
    fmt::print(stderr, "usage: image_dump files|closure|alias IMAGE [KERNEL NAME...]\n");
    return 2;
  }
  const Result<Image> image = read_file(argv[2]);
  if (!image) {
    fmt::print(stderr, "{}\n", image.error().message());
    return 1;
  }
  if (what == "files") print_files(*image);
  if (what == "closure") print_closures(*image, arguments);
  if (what == "alias") print_aliases(*image, arguments);
  if (image->damage) fmt::print(stderr, "damaged: {}\n", image->damage->message());
  return image->damage ? 1 : 0;
}
