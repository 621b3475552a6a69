// SPDX-License-Identifier: MIT
// The binary indexes that depmod writes and kmod reads (modules.dep.bin, modules.alias.bin): a
// radix tree of keys, each with values (kmod libkmod/libkmod-index.c, "Disk format").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/result.h"

namespace preflight {

/// Shell pattern match as fnmatch(3) without flags, in time proportional to both lengths at most:
/// '*', '?', '[a-z]', '[!a]' and '\' before a literal.
bool matches_pattern(std::string_view pattern, std::string_view text);

/// One index file. Views the bytes it was opened on, which must outlive it.
class KmodIndex {
 public:
  /// Errors: malformed, when kmod would not open it (magic 0xB007F457, major version 2).
  static Result<KmodIndex> open(const std::string& path, std::string_view bytes);

  /// The first value of that very key. Errors: malformed (an offset or text leads out of the file).
  Result<std::optional<std::string>> find(std::string_view key) const;

  /// The values of every key that, read as a pattern, matches `text`, by their priority. Errors:
  /// malformed, too_large (the tree leads in circles).
  Result<std::vector<std::string>> match(std::string_view text) const;

 private:
  struct Value {
    std::uint32_t priority = 0;
    std::string_view text;
  };
  struct Node {
    std::string_view prefix;
    unsigned char first = 1, last = 0;  // the range of its children's characters
    std::size_t children = 0;           // offset of their table
    std::size_t values = 0;             // offset of their count, 0 for none
    std::size_t size = 0;               // bytes up to the values
  };
  struct Search;

  KmodIndex(std::string path, std::string_view bytes, std::uint32_t root)
      : path_(std::move(path)), bytes_(bytes), root_(root) {}

  std::optional<std::uint32_t> number(std::size_t offset) const;
  std::optional<std::string_view> text(std::size_t offset) const;
  std::optional<Node> node(std::uint32_t offset) const;
  std::optional<Node> node(Search& search, std::uint32_t offset) const;
  bool add_values(Search& search, const Node& node) const;
  std::uint32_t child(const Node& node, unsigned char character) const;
  bool descend(Search& search, std::uint32_t offset, std::size_t at) const;
  bool collect(Search& search, const Node& node, std::size_t prefix_at, std::size_t at) const;
  tl::unexpected<Error> damaged() const;

  std::string path_;
  std::string_view bytes_;
  std::uint32_t root_;
};

}  // namespace preflight
