// SPDX-License-Identifier: MIT
#include "agent/formats/kmod_index.h"

#include <algorithm>
#include <utility>

namespace preflight {

namespace {

constexpr std::uint32_t index_magic = 0xb007f457;
constexpr std::uint32_t major_version = 2;

// The high bits of a node's offset say which fields it has.
constexpr std::uint32_t has_prefix = 0x80000000;
constexpr std::uint32_t has_values = 0x40000000;
constexpr std::uint32_t has_children = 0x20000000;
constexpr std::uint32_t offset_mask = 0x0fffffff;

// Bytes that one search may look at. The alias index of a whole distribution kernel has some two
// million, of which a search sees a small part.
constexpr std::uint64_t search_budget = 32u << 20;
// Keys of module aliases and lines of dependencies are far shorter.
constexpr std::size_t key_cap = 1024;
constexpr std::size_t text_cap = 64u << 10;

/// Length of the bracket expression at the start of `pattern`, 0 when it is not closed; `hit` says
/// whether it accepts `character`.
std::size_t match_bracket(std::string_view pattern, char character, bool& hit) {
  std::size_t i = 1;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  hit = false;
  for (bool first = true; i < pattern.size() && (first || pattern[i] != ']'); first = false) {
    const char low = pattern[i];
    char high = low;
    if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
      high = pattern[i + 2];
      i += 2;
    }
    hit = hit || (low <= character && character <= high);
    ++i;
  }
  if (i >= pattern.size()) return 0;
  hit = hit != negated;
  return i + 1;
}

/// Length of the pattern's first element if it accepts `character`, else 0.
std::size_t match_one(std::string_view pattern, char character) {
  if (pattern.empty()) return 0;
  if (pattern.front() == '?') return 1;
  if (pattern.front() == '[') {
    bool hit = false;
    if (const std::size_t length = match_bracket(pattern, character, hit); length > 0)
      return hit ? length : 0;
  }
  if (pattern.front() == '\\' && pattern.size() > 1) return pattern[1] == character ? 2 : 0;
  return pattern.front() == character ? 1 : 0;
}

}  // namespace

bool matches_pattern(std::string_view pattern, std::string_view text) {
  // Only the last star has to be tried again: an earlier one that matched less leaves more to it.
  std::size_t p = 0, t = 0;
  std::optional<std::pair<std::size_t, std::size_t>> star;  // behind it, and where it may end
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = {++p, t};
    } else if (const std::size_t length = match_one(pattern.substr(p), text[t]); length > 0) {
      p += length;
      ++t;
    } else if (star) {
      p = star->first;
      t = ++star->second;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

struct KmodIndex::Search {
  std::string_view text = {};
  std::string pattern = {};  // of the key, from its first wildcard on
  std::uint64_t budget = search_budget;
  std::vector<Value> found = {};

  bool spend(std::uint64_t bytes) {
    budget = bytes < budget ? budget - bytes : 0;
    return budget > 0;
  }
};

tl::unexpected<Error> KmodIndex::damaged() const {
  return fail(ErrorKind::malformed, path_, "the index is damaged: it leads out of the file");
}

Result<KmodIndex> KmodIndex::open(const std::string& path, std::string_view bytes) {
  KmodIndex index(path, bytes, 0);
  const auto magic = index.number(0), version = index.number(4), root = index.number(8);
  if (!root || *magic != index_magic || *version >> 16 != major_version)
    return fail(ErrorKind::malformed, path, "not an index that kmod reads");
  index.root_ = *root;
  return index;
}

std::optional<std::uint32_t> KmodIndex::number(std::size_t offset) const {
  if (offset > bytes_.size() || bytes_.size() - offset < 4) return std::nullopt;
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value = value << 8 | static_cast<unsigned char>(bytes_[offset + i]);
  return value;
}

std::optional<std::string_view> KmodIndex::text(std::size_t offset) const {
  if (offset > bytes_.size()) return std::nullopt;
  const std::string_view rest = bytes_.substr(offset, text_cap);
  const std::size_t end = rest.find('\0');
  if (end == std::string_view::npos) return std::nullopt;
  return rest.substr(0, end);
}

/// Nullopt when the node does not lie within the file.
std::optional<KmodIndex::Node> KmodIndex::node(std::uint32_t offset) const {
  Node result;
  std::size_t at = offset & offset_mask;
  if (offset & has_prefix) {
    const auto prefix = text(at);
    if (!prefix) return std::nullopt;
    result.prefix = *prefix;
    at += prefix->size() + 1;
  }
  if (offset & has_children) {
    if (at + 2 > bytes_.size()) return std::nullopt;
    result.first = static_cast<unsigned char>(bytes_[at]);
    result.last = static_cast<unsigned char>(bytes_[at + 1]);
    if (result.first > result.last) return std::nullopt;
    result.children = at + 2;
    at = result.children + 4 * (std::size_t{result.last} - result.first + 1u);
    if (at > bytes_.size()) return std::nullopt;
  }
  result.size = at - (offset & offset_mask);
  if (offset & has_values) result.values = at;
  return result;
}

std::optional<KmodIndex::Node> KmodIndex::node(Search& search, std::uint32_t offset) const {
  std::optional<Node> found = node(offset);
  constexpr std::uint64_t per_node = 16;
  if (!found || !search.spend(per_node + found->size)) return std::nullopt;
  return found;
}

bool KmodIndex::add_values(Search& search, const Node& node) const {
  if (node.values == 0) return true;
  const std::optional<std::uint32_t> count = number(node.values);
  std::size_t at = node.values + 4;
  for (std::uint32_t i = 0; i < count.value_or(0); ++i) {
    const auto priority = number(at);
    const auto value = text(at + 4);
    if (!priority || !value || !search.spend(sizeof(Value) + value->size())) return false;
    search.found.push_back({*priority, *value});
    at += 4 + value->size() + 1;
  }
  return count.has_value();
}

/// The offset of the child under that character, 0 for none.
std::uint32_t KmodIndex::child(const Node& node, unsigned char character) const {
  if (character < node.first || character > node.last) return 0;
  return number(node.children + 4 * std::size_t{static_cast<unsigned char>(character - node.first)})
      .value_or(0);
}

Result<std::optional<std::string>> KmodIndex::find(std::string_view key) const {
  std::uint32_t offset = root_;
  while ((offset & offset_mask) != 0) {
    const std::optional<Node> here = node(offset);
    if (!here) return damaged();
    if (!key.starts_with(here->prefix)) return std::nullopt;
    key.remove_prefix(here->prefix.size());
    if (key.empty()) {
      Search values;
      if (!add_values(values, *here)) return damaged();
      if (values.found.empty()) return std::nullopt;
      return std::string(values.found.front().text);
    }
    offset = child(*here, static_cast<unsigned char>(key.front()));
    key.remove_prefix(1);
  }
  return std::nullopt;
}

Result<std::vector<std::string>> KmodIndex::match(std::string_view text) const {
  Search search{text};
  if ((root_ & offset_mask) != 0 && !descend(search, root_, 0)) {
    if (search.budget > 0) return damaged();
    return fail(ErrorKind::too_large, path_, "the index is too large to search");
  }
  std::stable_sort(search.found.begin(), search.found.end(),
                   [](const Value& a, const Value& b) { return a.priority < b.priority; });
  std::vector<std::string> values;
  for (const Value& value : search.found) values.emplace_back(value.text);
  return values;
}

/// Follows the literal start of the keys along the text, `at` being the next character of it. False
/// when the file is damaged or the budget used up.
bool KmodIndex::descend(Search& search, std::uint32_t offset, std::size_t at) const {
  while ((offset & offset_mask) != 0) {
    const std::optional<Node> here = node(search, offset);
    if (!here) return false;
    for (std::size_t i = 0; i < here->prefix.size(); ++i, ++at) {
      const char character = here->prefix[i];
      if (character == '*' || character == '?' || character == '[')
        return collect(search, *here, i, at);
      if (at >= search.text.size() || search.text[at] != character) return true;
    }
    for (const char wildcard : {'*', '?', '['}) {
      const std::uint32_t below = child(*here, static_cast<unsigned char>(wildcard));
      if ((below & offset_mask) == 0) continue;
      const std::optional<Node> wild = node(search, below);
      search.pattern.assign(1, wildcard);
      const bool searched = wild && collect(search, *wild, 0, at);
      search.pattern.clear();
      if (!searched) return false;
    }
    if (at == search.text.size()) return add_values(search, *here);
    offset = child(*here, static_cast<unsigned char>(search.text[at++]));
  }
  return true;
}

/// Tries every key below `node`, whose pattern so far is in `search`, on the text from `at` on.
bool KmodIndex::collect(Search& search, const Node& node, std::size_t prefix_at,
                        std::size_t at) const {
  const std::size_t length = search.pattern.size();
  search.pattern += node.prefix.substr(prefix_at);
  if (search.pattern.size() > key_cap) return false;
  for (unsigned character = node.first; character <= node.last; ++character) {
    const std::uint32_t below = child(node, static_cast<unsigned char>(character));
    if ((below & offset_mask) == 0) continue;
    const std::optional<Node> next = this->node(search, below);
    search.pattern += static_cast<char>(character);
    if (!next || !collect(search, *next, 0, at)) return false;
    search.pattern.pop_back();
  }
  if (node.values != 0 && matches_pattern(search.pattern, search.text.substr(at)) &&
      !add_values(search, node))
    return false;
  search.pattern.resize(length);
  return true;
}

}  // namespace preflight
