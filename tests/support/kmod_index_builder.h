// SPDX-License-Identifier: MIT
// Writes kmod's binary index format the plain way: one node for each character of a key.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace preflight::test {

class KmodIndexBuilder {
 public:
  KmodIndexBuilder& add(const std::string& key, const std::string& value) {
    keys_[key].push_back(value);
    return *this;
  }

  std::string text() const {
    std::string out = big_endian(0xb007f457) + big_endian(0x00020001) + big_endian(0);
    const std::uint32_t root = node(out, "");
    out.replace(8, 4, big_endian(root));
    return out;
  }

  static std::string big_endian(std::uint32_t number) {
    std::string out;
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(number >> shift);
    return out;
  }

 private:
  /// Writes everything below `key` and returns the node's offset with its flags.
  std::uint32_t node(std::string& out, const std::string& key) const {
    std::map<unsigned char, std::uint32_t> children;
    for (auto it = keys_.upper_bound(key); it != keys_.end() && it->first.starts_with(key);) {
      const auto character = static_cast<unsigned char>(it->first[key.size()]);
      const std::string below = it->first.substr(0, key.size() + 1);
      children[character] = node(out, below);
      while (it != keys_.end() && it->first.starts_with(below)) ++it;
    }
    auto offset = static_cast<std::uint32_t>(out.size());
    if (!children.empty()) {
      offset |= 0x20000000;
      const unsigned first = children.begin()->first, last = children.rbegin()->first;
      out += static_cast<char>(first);
      out += static_cast<char>(last);
      for (unsigned c = first; c <= last; ++c) {
        const auto child = children.find(static_cast<unsigned char>(c));
        out += big_endian(child == children.end() ? 0 : child->second);
      }
    }
    if (const auto values = keys_.find(key); values != keys_.end()) {
      offset |= 0x40000000;
      out += big_endian(static_cast<std::uint32_t>(values->second.size()));
      std::uint32_t priority = 0;
      for (const std::string& value : values->second) out += big_endian(++priority) + value + '\0';
    }
    return offset;
  }

  std::map<std::string, std::vector<std::string>> keys_;
};

}  // namespace preflight::test
