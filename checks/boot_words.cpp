// SPDX-License-Identifier: MIT
#include "checks/boot_words.h"

#include <algorithm>
#include <string>

#include "agent/formats/text.h"

namespace preflight {

namespace {

void add_words(std::string_view text, const std::string& path, int line,
               std::vector<BootWord>& words) {
  for (CmdlineWord& word : parse_cmdline(text)) words.push_back({std::move(word), path, line});
}

void add_file(const Image& image, const std::string& image_path, const std::string& name,
              std::vector<BootWord>& words) {
  const std::string* content = image.content(name);
  if (!content) return;
  int line = 0;
  for (const std::string_view text : split_lines(*content))
    add_words(text, image_path + ":" + name, ++line, words);
}

}  // namespace

std::string BootWord::text() const {
  return word.value ? word.key + "=" + *word.value : word.key;
}

Evidence BootWord::evidence(std::string want) const {
  return {path, line, text(), std::move(want)};
}

std::vector<BootWord> boot_words(const Facts& facts, const BootEntry& entry) {
  std::vector<BootWord> words;
  if (const Image* image = image_of(facts, entry)) {
    const std::string path = entry.initrds.empty() ? std::string() : entry.initrds.back();
    for (const std::string& name : image->list("etc/cmdline.d"))
      if (name.ends_with(".conf")) add_file(*image, path, "etc/cmdline.d/" + name, words);
    add_file(*image, path, "etc/cmdline", words);
  }
  add_words(entry.options, entry.options_path.empty() ? entry.path : entry.options_path,
            entry.options_line, words);
  return words;
}

std::optional<BootEntry> next_entry(const Facts& facts) {
  if (!facts.boot || facts.boot->entries.empty()) return std::nullopt;
  for (const CommandLineText& text : facts.command_lines.texts) {
    if (text.source != CommandLineSource::kernel_cmdline) continue;
    BootEntry entry = facts.boot->entries[facts.boot->default_index.value_or(0)];
    entry.id = text.path + ":" + std::to_string(text.line);
    entry.path = entry.options_path = text.path;
    entry.options = std::string(text.text());
    entry.options_line = text.line;
    entry.is_default = false;
    return entry;
  }
  return std::nullopt;
}

const BootWord* last_word(const std::vector<BootWord>& words, std::string_view key) {
  for (auto word = words.rbegin(); word != words.rend(); ++word)
    if (word->word.key == key) return &*word;
  return nullptr;
}

bool bool_word(const std::vector<BootWord>& words, std::string_view key, bool preset) {
  const BootWord* word = last_word(words, key);
  if (!word) return preset;
  const std::string value = word->word.value.value_or("1");
  return value != "0" && value != "no" && value != "off";
}

const Image* image_of(const Facts& facts, const BootEntry& entry) {
  const auto found = facts.images.find(entry.image_key());
  return found != facts.images.end() && found->second ? &*found->second : nullptr;
}

Status doubt_status(const BootMenu& menu, const BootEntry& entry) {
  return fault_status(menu, entry) == Status::fail ? Status::unknown : Status::warn;
}

Status fault_status(const BootMenu& menu, const BootEntry& entry) {
  return !menu.default_index || entry.is_default ? Status::fail : Status::warn;
}

}  // namespace preflight
