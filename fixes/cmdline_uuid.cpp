// SPDX-License-Identifier: MIT
// cmdline-uuid: root=, resume= and boot= that name the old controller become UUID=, in the entries
// of today and in everything that the next kernel's entry is made from, so that they agree.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "agent/facts/stable_name.h"
#include "agent/formats/cmdline.h"
#include "agent/formats/grubenv.h"
#include "agent/step.h"

namespace preflight {

namespace {

bool is_rewritten(const CmdlineWord& word) {
  return (word.key == "root" || word.key == "resume" || word.key == "boot") && word.value &&
         why_it_changes(*word.value);
}

/// The command line with its words rewritten; the rest byte for byte.
Result<std::string> rewrite(const Facts& facts, std::string_view command_line) {
  std::string out(command_line);
  std::vector<CmdlineWord> words = parse_cmdline(command_line);
  for (auto word = words.rbegin(); word != words.rend(); ++word) {
    if (!is_rewritten(*word)) continue;
    const Result<std::string> stable = stable_name(facts.storage, *word->value);
    if (!stable) return tl::unexpected(stable.error());
    out.replace(word->offset, word->length, fmt::format("{}={}", word->key, *stable));
  }
  return out;
}

/// Whether two blocks hold the same but for kernelopts.
bool same_otherwise(const GrubEnvironment& before, const GrubEnvironment& after) {
  return std::equal(before.variables.begin(), before.variables.end(), after.variables.begin(),
                    after.variables.end(), [](const auto& a, const auto& b) {
                      return a.first == b.first &&
                             (a.first == "kernelopts" || a.second.value == b.second.value);
                    });
}

/// Keeps the block at its size by giving or taking padding, which is what follows its last line:
/// GRUB writes nothing to a block of another size than 1024 (grub-core/lib/envblk.c).
Result<std::string> repad(const std::string& path, const std::string& before, std::string text) {
  const std::size_t used = text.find_last_not_of('#') + 1;
  if (used == 0 || text[used - 1] != '\n')
    return fail(ErrorKind::malformed, path, "the last line of the environment block has no end");
  if (used > before.size())
    return fail(
        ErrorKind::too_large, path,
        fmt::format("the environment block has no room: {} bytes of {}", used, before.size()));
  text.resize(used);
  text.resize(before.size(), '#');
  const Result<GrubEnvironment> was = parse_grubenv(path, before), is = parse_grubenv(path, text);
  if (!was || !is || !same_otherwise(*was, *is))
    return fail(ErrorKind::malformed, path, "the edited environment block does not read back");
  return text;
}

Result<EditFile> edit_file(const Facts& facts, std::vector<const CommandLineText*> texts) {
  std::sort(texts.begin(), texts.end(), [](const CommandLineText* a, const CommandLineText* b) {
    return a->offset > b->offset;
  });
  const CommandLineText& first = *texts.front();
  std::string after = *first.file;
  for (const CommandLineText* text : texts) {
    const Result<std::string> line = rewrite(facts, text->text());
    if (!line) return tl::unexpected(line.error());
    after.replace(text->offset, text->length, *line);
  }
  if (first.source == CommandLineSource::grubenv && after != *first.file) {
    Result<std::string> padded = repad(first.path, *first.file, std::move(after));
    if (!padded) return tl::unexpected(padded.error());
    after = std::move(*padded);
  }
  return EditFile{first.path, *first.file, std::move(after)};
}

Result<std::vector<Step>> plan(const Facts& facts, const std::vector<Finding>&) {
  std::map<std::string, std::vector<const CommandLineText*>> by_file;
  for (const CommandLineText& text : facts.command_lines.texts) by_file[text.path].push_back(&text);
  std::vector<Step> steps;
  for (const auto& [path, texts] : by_file) {
    Result<EditFile> edit = edit_file(facts, texts);
    if (!edit) return tl::unexpected(edit.error());
    if (edit->before != edit->after) steps.emplace_back(std::move(*edit));
  }
  return steps;
}

}  // namespace

extern const Fix cmdline_uuid_fix{"cmdline-uuid", plan};

}  // namespace preflight
