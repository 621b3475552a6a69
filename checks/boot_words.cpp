// SPDX-License-Identifier: MIT
#include "checks/boot_words.h"

#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <utility>

#include "agent/formats/text.h"

namespace preflight {

namespace {

void add_words(std::string_view text, const std::string& path, int line,
               std::vector<BootWord>& words) {
  for (CmdlineWord& word : parse_cmdline(text)) words.push_back({std::move(word), path, line});
}

/// What one image's files may hold in all: the kernel's own command line has 2048 bytes on x86
/// (COMMAND_LINE_SIZE of its asm/setup.h), and dracut writes a line for each disk.
constexpr std::size_t image_words_cap = 64u << 10;

/// The image's files with words of the command line, in the order of dracut's getcmdline.
struct WordFiles {
  std::vector<std::pair<std::string, const std::string*>> files;  // name and content
  std::string unread;  // the first that is not among them because it is too large
};

WordFiles word_files(const Image& image) {
  std::vector<std::string> names = command_line_drop_ins(image);
  names.emplace_back("etc/cmdline");
  WordFiles found;
  std::size_t left = image_words_cap;
  for (std::string& name : names) {
    const ImageFile* file = image.find(name);
    if (file == nullptr || (!file->content && (!S_ISREG(file->mode) || file->size == 0))) continue;
    if (!file->content || file->content->size() > left) {
      found.unread = std::move(name);
      return found;
    }
    left -= file->content->size();
    found.files.emplace_back(std::move(name), &*file->content);
  }
  return found;
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
    for (const auto& [name, content] : word_files(*image).files) {
      int line = 0;
      for (const std::string_view text : split_lines(*content))
        add_words(text, path + ":" + name, ++line, words);
    }
  }
  add_words(entry.options, entry.options_path.empty() ? entry.path : entry.options_path,
            entry.options_line, words);
  return words;
}

std::vector<std::string> command_line_drop_ins(const Image& image) {
  std::vector<std::string> paths;
  for (const std::string& name : image.list("etc/cmdline.d"))
    if (name.ends_with(".conf")) paths.push_back("etc/cmdline.d/" + name);
  return paths;
}

std::string unread_words(const Image& image) {
  return word_files(image).unread;
}

std::optional<BootEntry> next_entry(const Facts& facts) {
  if (!facts.boot || facts.boot->entries.empty()) return std::nullopt;
  for (const CommandLineText& text : facts.command_lines.texts) {
    if (text.source != CommandLineSource::kernel_cmdline) continue;
    BootEntry entry = facts.boot->entries[facts.boot->default_index.value_or(0)];
    entry.id = text.path + ":" + std::to_string(text.line);
    entry.path = entry.options_path = text.path;
    entry.options = std::string(text.text().substr(0, command_line_size));
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
