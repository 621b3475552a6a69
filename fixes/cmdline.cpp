// SPDX-License-Identifier: MIT
// cmdline: root=, resume= and boot= that name the old controller become UUID=, and rd.lvm.* names
// the LVs of root and resume= and, like resume=, nothing that is not there; in the entries of today
// and in everything that the next kernel's entry is made from, so that they agree.
#include "agent/formats/cmdline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "agent/facts/stable_name.h"
#include "agent/facts/volume_words.h"
#include "agent/formats/grubenv.h"
#include "agent/step.h"

namespace preflight {

namespace {

constexpr std::string_view fix_id = "cmdline";

/// What the findings ask for.
struct Wanted {
  bool names = false;    // root=, resume=, boot= by UUID
  bool volumes = false;  // rd.lvm.*
};

Wanted wanted_by(const std::vector<Finding>& findings) {
  Wanted wanted;
  for (const Finding& finding : findings) {
    if (!finding.remedy || finding.remedy->fix != fix_id) continue;
    wanted.names = wanted.names || finding.check != "lvm.activation";
    wanted.volumes = wanted.volumes || finding.check != "root.resolves";
  }
  return wanted;
}

/// One command line in the course of being edited, and the words it was read as.
struct Line {
  std::string text;
  std::vector<CmdlineWord> words;
  std::map<std::size_t, std::string> replacements;  // index of the word -> "" to take it out
  std::string added;

  std::string edited() const {
    std::string out = text;
    for (auto change = replacements.rbegin(); change != replacements.rend(); ++change) {
      const CmdlineWord& word = words[change->first];
      std::size_t begin = word.offset, length = word.length;
      // A word that goes takes the blank in front of it along.
      if (change->second.empty() && begin > 0) --begin, ++length;
      out.replace(begin, length, change->second);
    }
    return out + added;
  }
};

Result<void> rewrite_names(const Facts& facts, Line& line) {
  for (std::size_t i = 0; i < line.words.size(); ++i) {
    const CmdlineWord& word = line.words[i];
    if (!is_device_key(word.key) || is_list_key(word.key) || !word.value ||
        !why_it_changes(*word.value))
      continue;
    const Result<std::string> stable = stable_name(facts.storage, *word.value);
    if (!stable) return tl::unexpected(stable.error());
    line.replacements[i] = fmt::format("{}={}", word.key, *stable);
  }
  return {};
}

std::optional<VolumeName> volume_below(const Storage& storage, std::optional<std::size_t> device) {
  const auto volume = device ? storage.volume_under(*device) : std::nullopt;
  return volume ? split_dm_name(storage.devices[*volume].dm_name) : std::nullopt;
}

/// What the last word with that key leads to.
std::optional<std::size_t> device_of(const Storage& storage, const Line& line,
                                     std::string_view key) {
  const CmdlineWord* word = last_word(line.words, key);
  const auto found =
      word && word->value ? storage.resolve(*word->value) : std::vector<std::size_t>{};
  return found.size() == 1 ? std::optional(found.front()) : std::nullopt;
}

/// The words that name what is there; those of a word's volumes that are not are left out of it.
void drop_missing_volumes(const Facts& facts, bool old_words, Line& line) {
  for (std::size_t i = 0; i < line.words.size(); ++i) {
    const std::vector<NamedVolume> named = volumes_named_by(line.words[i], old_words);
    std::string kept;
    std::size_t kept_count = 0;
    for (const NamedVolume& volume : named) {
      if (!volume.well_formed ||
          find_volume(facts.storage, facts.lvm, volume) == Existence::missing)
        continue;
      kept += fmt::format("{}{}={}", kept.empty() ? "" : " ", line.words[i].key, volume.text());
      ++kept_count;
    }
    if (kept_count < named.size()) line.replacements[i] = kept;
  }
}

/// Whether the line is one that boots this root: it says so, or the next entry's root= is put
/// beside it (grub2-mkconfig writes root= itself).
bool boots_this_root(const Facts& facts, const Storage& storage, const CommandLineText& text,
                     const Line& line) {
  if (text.source == CommandLineSource::default_grub)
    return std::none_of(facts.command_lines.texts.begin(), facts.command_lines.texts.end(),
                        [&](const CommandLineText& other) {
                          return other.path == text.path && other.offset < text.offset;
                        });
  const auto root = device_of(storage, line, "root");
  return root && root == storage.mounted_at("/");
}

/// Names the LV, where the line names some and so keeps dracut from activating them all.
void add_volume(const std::optional<VolumeName>& volume, const std::vector<NamedVolume>& named,
                Line& line) {
  if (!volume || named.empty()) return;
  if (std::any_of(named.begin(), named.end(),
                  [&](const NamedVolume& other) { return other.covers(*volume); }))
    return;
  line.added += fmt::format(" rd.lvm.lv={}/{}", volume->vg, volume->lv);
}

/// A resume= that nothing in the guest is goes: the boot would wait for it without limit.
void drop_dead_resume(const Storage& storage, Line& line) {
  for (std::size_t i = 0; i < line.words.size(); ++i) {
    const CmdlineWord& word = line.words[i];
    if (word.key == "resume" && word.value && !why_it_changes(*word.value) &&
        storage.resolve(*word.value).empty())
      line.replacements[i] = "";
  }
}

void mend_volumes(const Facts& facts, const CommandLineText& text, Line& line) {
  if (!facts.storage) return;
  const Storage& storage = *facts.storage;
  const bool old_words = knows_old_words(facts.release);
  std::vector<NamedVolume> named;
  for (const CmdlineWord& word : line.words)
    for (NamedVolume& volume : volumes_named_by(word, old_words))
      named.push_back(std::move(volume));
  drop_missing_volumes(facts, old_words, line);
  const auto root = volume_below(storage, storage.mounted_at("/"));
  if (storage.mounted_at("/")) drop_dead_resume(storage, line);
  if (!root || !boots_this_root(facts, storage, text, line)) return;
  for (std::size_t i = 0; i < line.words.size(); ++i)
    if (switches_lvm_off(line.words[i], old_words)) line.replacements[i] = "";
  add_volume(root, named, line);
  const auto resume = volume_below(storage, device_of(storage, line, "resume"));
  if (resume && dm_name_of(resume->vg, resume->lv) != dm_name_of(root->vg, root->lv))
    add_volume(resume, named, line);
}

Result<std::string> edit_line(const Facts& facts, const CommandLineText& text, Wanted wanted) {
  Line line{std::string(text.text()), parse_cmdline(text.text()), {}, {}};
  if (wanted.names)
    if (auto done = rewrite_names(facts, line); !done) return tl::unexpected(done.error());
  if (wanted.volumes) mend_volumes(facts, text, line);
  return line.edited();
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

Result<EditFile> edit_file(const Facts& facts, std::vector<const CommandLineText*> texts,
                           Wanted wanted) {
  std::sort(texts.begin(), texts.end(), [](const CommandLineText* a, const CommandLineText* b) {
    return a->offset > b->offset;
  });
  const CommandLineText& first = *texts.front();
  std::string after = *first.file;
  for (const CommandLineText* text : texts) {
    const Result<std::string> line = edit_line(facts, *text, wanted);
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

Result<std::vector<Step>> plan(const Facts& facts, const std::vector<Finding>& findings) {
  const Wanted wanted = wanted_by(findings);
  std::map<std::string, std::vector<const CommandLineText*>> by_file;
  for (const CommandLineText& text : facts.command_lines.texts) by_file[text.path].push_back(&text);
  std::vector<Step> steps;
  for (const auto& [path, texts] : by_file) {
    Result<EditFile> edit = edit_file(facts, texts, wanted);
    if (!edit) return tl::unexpected(edit.error());
    if (edit->before != edit->after) steps.emplace_back(std::move(*edit));
  }
  return steps;
}

}  // namespace

extern const Fix cmdline_fix;
const Fix cmdline_fix{fix_id, plan};

}  // namespace preflight
