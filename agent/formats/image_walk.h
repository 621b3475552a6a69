// SPDX-License-Identifier: MIT
// Path resolution inside an unpacked image, as path_resolution(7): shared by the tree that is being
// unpacked and by the image that came of it.
#pragma once

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace preflight {

/// What stands at a canonical name. `target` is set for a symlink alone.
struct WalkedNode {
  mode_t type = 0;  // S_IFDIR, S_IFREG, ...
  const std::string* target = nullptr;
};

/// Bounds the work of walks: every step costs the length of the name it looks up, so that neither
/// chains of links nor deep trees can keep the reader busy.
class WalkBudget {
 public:
  explicit WalkBudget(std::uint64_t bytes = std::uint64_t{256} << 20) : left_(bytes) {}
  bool spend(std::uint64_t bytes) {
    left_ = bytes > left_ ? 0 : left_ - bytes;
    return left_ > 0;
  }
  bool exhausted() const { return left_ == 0; }

 private:
  std::uint64_t left_;
};

/// One walk. `Lookup` maps a canonical name ("usr/lib") to an optional WalkedNode.
template <class Lookup>
class ImageWalk {
 public:
  ImageWalk(const Lookup& lookup, WalkBudget& budget) : lookup_(lookup), budget_(budget) {}

  /// The canonical name that `path` leads to ("" for the root). With `follow_last` a symlink at the
  /// end is followed; without it the last component need not exist. Nullopt: a component is missing
  /// or no directory or longer than NAME_MAX, over 40 links, or the budget is used up.
  std::optional<std::string> run(std::string_view path, bool follow_last) {
    todo_.push_back({std::string(path), 0});
    while (!todo_.empty()) {
      const std::string part = next_part();
      if (part.empty() || part == ".") continue;
      if (part == "..") {
        here_.resize(here_.find('/') == std::string::npos ? 0 : here_.rfind('/'));
      } else if (!down(part, follow_last)) {
        return std::nullopt;
      }
    }
    return here_;
  }

 private:
  static constexpr int link_cap = 40;
  static constexpr std::size_t name_cap = 255;

  struct Text {
    std::string text;
    std::size_t at;  // where its unwalked part begins
  };

  /// The next component, "" where the innermost text has none left.
  std::string next_part() {
    Text& text = todo_.back();
    const std::size_t start = text.text.find_first_not_of('/', text.at);
    if (start == std::string::npos) {
      todo_.pop_back();
      return {};
    }
    text.at = std::min(text.text.find('/', start), text.text.size());
    return text.text.substr(start, text.at - start);
  }

  bool at_last() const {
    return std::all_of(todo_.begin(), todo_.end(), [](const Text& text) {
      return text.text.find_first_not_of('/', text.at) == std::string::npos;
    });
  }

  bool down(const std::string& part, bool follow_last) {
    const std::size_t parent = here_.size();
    if (!here_.empty()) here_ += '/';
    here_ += part;
    if (part.size() > name_cap || !budget_.spend(here_.size())) return false;
    const bool last = at_last();
    if (last && !follow_last) return true;
    const std::optional<WalkedNode> node = lookup_(here_);
    if (!node) return false;
    if (node->target != nullptr) return follow(*node->target, parent);
    return last || S_ISDIR(node->type);
  }

  bool follow(const std::string& target, std::size_t parent) {
    if (++links_ > link_cap || target.empty()) return false;
    here_.resize(target.front() == '/' ? 0 : parent);
    todo_.push_back({target, 0});
    return true;
  }

  const Lookup& lookup_;
  WalkBudget& budget_;
  std::vector<Text> todo_;  // the innermost link last
  std::string here_;
  int links_ = 0;
};

}  // namespace preflight
