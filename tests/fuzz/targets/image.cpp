// SPDX-License-Identifier: MIT
// The image walker: whatever the bytes are, it ends, what it lists is well formed, and it does not
// matter in which pieces the bytes arrive. What the checks ask of an image is asked as well.
#include "agent/formats/image.h"

#include <algorithm>
#include <cstring>

#include "agent/formats/modprobe_conf.h"
#include "agent/formats/module_index.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

namespace preflight::fuzz {

namespace {

// Small, so that the limits themselves are reached.
constexpr ImageLimits limits{.unpacked_bytes = 4u << 20,
                             .entries = 2000,
                             .name_bytes = 64u << 10,
                             .kept_file = 64u << 10,
                             .kept_total = 256u << 10,
                             .decoder_memory = 8u << 20};

Image read_in_pieces(std::string_view bytes, std::size_t piece) {
  const ByteSource source = [&](std::span<std::byte> into) -> Result<std::size_t> {
    const std::size_t count = std::min({into.size(), bytes.size(), piece});
    std::memcpy(into.data(), bytes.data(), count);
    bytes.remove_prefix(count);
    return count;
  };
  Result<Image> image = read_image("image", source, is_wanted_content, limits);
  require(image.has_value(), "only the source's errors are errors");
  return std::move(*image);
}

bool same(const Image& a, const Image& b) {
  const auto same_file = [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.mode == y.second.mode && x.second.size == y.second.size &&
           x.second.link_target == y.second.link_target && x.second.content == y.second.content;
  };
  const auto same_segment = [](const ImageSegment& x, const ImageSegment& y) {
    return x.offset == y.offset && x.compression == y.compression && x.entries == y.entries;
  };
  return std::equal(a.files.begin(), a.files.end(), b.files.begin(), b.files.end(), same_file) &&
         std::equal(a.segments.begin(), a.segments.end(), b.segments.begin(), b.segments.end(),
                    same_segment) &&
         a.damage.has_value() == b.damage.has_value() &&
         (!a.damage || (a.damage->kind == b.damage->kind && a.damage->what == b.damage->what));
}

/// What comes out before corrupt compressed data is found to be corrupt depends on the pieces.
bool agree(const Image& a, const Image& b) {
  const bool compressed = a.damage && a.damage->what.find(" member") != std::string::npos;
  return compressed ? b.damage.has_value() : same(a, b);
}

bool is_canonical(std::string_view name) {
  if (name.empty() || name.front() == '/' || name.back() == '/') return false;
  const std::string framed = "/" + std::string(name) + "/";
  return framed.find("//") == std::string::npos && framed.find("/../") == std::string::npos &&
         framed.find("/./") == std::string::npos && framed.find('\0') == std::string::npos;
}

/// /dev and /root are in the kernel's built-in image: what lies in them needs no entry for them.
bool has_parent(const Image& image, std::string_view name) {
  const std::size_t slash = name.rfind('/');
  if (slash == std::string_view::npos) return true;
  const std::string_view parent = name.substr(0, slash);
  return parent == "dev" || parent == "root" || image.files.contains(parent);
}

void ask_for_drivers(const Image& image) {
  for (const std::string& kernel : module_directories(image)) {
    driver_state(image, kernel, "nvme", {});
    alias_state(image, kernel, bhyve_nvme_modalias);
    if (const auto directory = module_directory(image, kernel))
      read_modprobe_conf(image, *directory, true);
  }
}

}  // namespace

void image(std::string_view input) {
  const Image whole = read_in_pieces(input, input.size() + 1);
  for (const auto& [name, file] : whole.files) {
    require(is_canonical(name), "names are canonical");
    require(!file.content || file.content->size() <= limits.kept_file, "kept contents are bounded");
    require(has_parent(whole, name), "parents are there");
  }
  const std::size_t piece = input.empty() ? 1 : 1 + static_cast<unsigned char>(input.back()) % 97;
  require(agree(whole, read_in_pieces(input, piece)), "pieces do not matter");
  ask_for_drivers(whole);
}

}  // namespace preflight::fuzz
