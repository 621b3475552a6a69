// SPDX-License-Identifier: MIT
#include "agent/guest/mounts.h"

#include <map>

#include "agent/formats/text.h"

namespace preflight {

namespace {

// A container host has thousands of mounts of a few hundred bytes each.
constexpr std::uint64_t table_cap = 16u << 20;

bool is_octal(char c) {
  return c >= '0' && c <= '7';
}

}  // namespace

std::string unescape_octal(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '\\' && i + 3 < text.size() && text[i + 1] <= '3' &&
                        is_octal(text[i + 1]) && is_octal(text[i + 2]) && is_octal(text[i + 3]);
    if (!escape) {
      out += text[i];
      continue;
    }
    const int value = (text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0');
    out += static_cast<char>(static_cast<unsigned char>(value));
    i += 3;
  }
  return out;
}

std::vector<Mount> parse_mountinfo(std::string_view text) {
  std::vector<Mount> mounts;
  std::map<std::string, std::size_t> at;
  for (const std::string_view line : split_lines(text)) {
    const auto words = split_words(line);
    std::size_t dash = 6;
    while (dash < words.size() && words[dash] != "-") ++dash;
    if (dash + 2 >= words.size()) continue;
    Mount mount{std::string(words[2]), unescape_octal(words[3]), unescape_octal(words[4]),
                std::string(words[dash + 1]), unescape_octal(words[dash + 2])};
    const auto [place, is_new] = at.try_emplace(mount.mount_point, mounts.size());
    if (is_new) {
      mounts.push_back(std::move(mount));
    } else {
      mounts[place->second] = std::move(mount);
    }
  }
  return mounts;
}

std::vector<std::string> parse_swaps(std::string_view text) {
  std::vector<std::string> swaps;
  for (const std::string_view line : split_lines(text)) {
    const auto words = split_words(line);
    if (!words.empty() && words[0].starts_with('/')) swaps.push_back(unescape_octal(words[0]));
  }
  return swaps;
}

std::vector<Mount> mounts_under(const std::vector<Mount>& mounts, std::string_view prefix) {
  while (prefix.ends_with('/')) prefix.remove_suffix(1);
  std::vector<Mount> found;
  bool has_root = false;
  for (const Mount& mount : mounts) {
    std::string_view rest = mount.mount_point;
    if (!prefix.empty()) {
      if (!rest.starts_with(prefix)) continue;
      rest.remove_prefix(prefix.size());
      if (!rest.empty() && !rest.starts_with('/')) continue;
    }
    Mount inside = mount;
    inside.mount_point = rest.empty() ? "/" : std::string(rest);
    has_root = has_root || inside.mount_point == "/";
    found.push_back(std::move(inside));
  }
  return has_root ? found : std::vector<Mount>{};
}

Result<std::vector<Mount>> read_mounts(const Root& host) {
  const Result<std::string> text = host.read("/proc/self/mountinfo", table_cap);
  if (!text) return tl::unexpected(text.error());
  return parse_mountinfo(*text);
}

Result<std::vector<std::string>> read_swaps(const Root& host) {
  const Result<std::string> text = host.read("/proc/swaps", table_cap);
  if (!text) return tl::unexpected(text.error());
  return parse_swaps(*text);
}

}  // namespace preflight
