// SPDX-License-Identifier: MIT
#include "agent/formats/cmdline.h"

#include <algorithm>
#include <iterator>

namespace preflight {

namespace {

/// isspace() of the kernel's lib/ctype.c, which counts Latin-1's no-break space in.
bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r') || static_cast<unsigned char>(c) == 0xa0;
}

/// Length of the word at the start of `text`, which does not begin with a space.
std::size_t word_length(std::string_view text) {
  bool quoted = false;
  std::size_t length = 0;
  for (; length < text.size(); ++length) {
    if (is_space(text[length]) && !quoted) break;
    if (text[length] == '"') quoted = !quoted;
  }
  return length;
}

void drop_last_quote(std::string_view& text) {
  if (!text.empty() && text.back() == '"') text.remove_suffix(1);
}

CmdlineWord make_word(std::string_view word, std::size_t offset) {
  CmdlineWord out;
  out.offset = offset;
  out.length = word.size();
  const bool quoted = word.substr(0, 1) == "\"";
  if (quoted) word.remove_prefix(1);
  const std::size_t equals = word.find('=');
  // next_arg() takes an "=" in the first place for a part of the name.
  if (equals == std::string_view::npos || equals == 0) {
    if (quoted) drop_last_quote(word);
    out.key = word;
    return out;
  }
  out.key = word.substr(0, equals);
  std::string_view value = word.substr(equals + 1);
  if (value.substr(0, 1) == "\"") {
    value.remove_prefix(1);
    drop_last_quote(value);
  } else if (quoted) {
    drop_last_quote(value);
  }
  out.value = value;
  return out;
}

char unify_dash(char c) {
  return c == '-' ? '_' : c;
}

bool same_parameter(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return unify_dash(x) == unify_dash(y); });
}

}  // namespace

std::vector<CmdlineWord> parse_cmdline(std::string_view text) {
  std::vector<CmdlineWord> words;
  std::size_t at = 0;
  bool after_dashes = false;
  for (;;) {
    while (at < text.size() && is_space(text[at])) ++at;
    if (at == text.size()) return words;
    const std::size_t length = word_length(text.substr(at));
    CmdlineWord word = make_word(text.substr(at, length), at);
    at += length;
    if (!after_dashes && word.key == "--" && !word.value) {
      after_dashes = true;
      continue;
    }
    word.after_dashes = after_dashes;
    words.push_back(std::move(word));
  }
}

std::vector<CmdlineWord> words_of(const std::vector<CmdlineWord>& words, std::string_view key) {
  std::vector<CmdlineWord> out;
  std::copy_if(words.begin(), words.end(), std::back_inserter(out),
               [&](const CmdlineWord& word) { return word.key == key; });
  return out;
}

std::vector<CmdlineWord> kernel_words_of(const std::vector<CmdlineWord>& words,
                                         std::string_view key) {
  std::vector<CmdlineWord> out;
  std::copy_if(words.begin(), words.end(), std::back_inserter(out), [&](const CmdlineWord& word) {
    return !word.after_dashes && same_parameter(word.key, key);
  });
  return out;
}

const CmdlineWord* first_word(const std::vector<CmdlineWord>& words, std::string_view key) {
  const auto found = std::find_if(words.begin(), words.end(),
                                  [&](const CmdlineWord& word) { return word.key == key; });
  return found == words.end() ? nullptr : &*found;
}

const CmdlineWord* last_word(const std::vector<CmdlineWord>& words, std::string_view key) {
  const auto found = std::find_if(words.rbegin(), words.rend(),
                                  [&](const CmdlineWord& word) { return word.key == key; });
  return found == words.rend() ? nullptr : &*found;
}

bool is_list_key(std::string_view key) {
  if (key.starts_with("rd.")) key.remove_prefix(3);
  return key.starts_with("luks.") || key == "systemd.mount-extra" || key == "systemd.swap-extra";
}

bool is_device_key(std::string_view key) {
  return key == "root" || key == "resume" || key == "boot" || key == "mount.usr" ||
         key == "rootflags" || is_list_key(key);
}

bool has_noresume(const std::vector<CmdlineWord>& words) {
  return std::any_of(words.begin(), words.end(),
                     [](const CmdlineWord& word) { return word.key == "noresume" && !word.value; });
}

}  // namespace preflight
