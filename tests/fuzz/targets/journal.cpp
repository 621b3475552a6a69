// SPDX-License-Identifier: MIT
// The journal: what the power leaves of one is read as far as it is sound, and can be continued.
#include "agent/transaction/journal.h"

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

namespace preflight::fuzz {

void journal(std::string_view input) {
  constexpr std::string_view run = "20261130T210000Z-1";
  const Result<ParsedJournal> parsed = parse_journal("/j", run, input);
  if (!parsed) return;
  require(parsed->sound_length <= input.size(), "the sound part lies in the text");
  const std::string sound(input.substr(0, parsed->sound_length));
  require(sound.empty() || sound.back() == '\n', "the sound part has whole lines");

  const Result<ParsedJournal> again = parse_journal("/j", run, sound);
  require(again && again->sound_length == sound.size() && again->begun == parsed->begun,
          "the sound part is sound");
  require(again->record.files.size() == parsed->record.files.size() &&
              again->record.finished() == parsed->record.finished(),
          "a torn last line means nothing");
  if (!parsed->begun) return;

  for (const FileRecord& file : parsed->record.files) {
    require(file.path.starts_with('/') && file.path.find('\0') == std::string::npos,
            "paths are a guest's");
    for (const std::string& name : {file.backup, file.copy})
      require(name.find('/') == std::string::npos && name.find('\0') == std::string::npos &&
                  name != "..",
              "backups lie in the run's folder");
  }
  const Result<ParsedJournal> undone =
      parse_journal("/j", run, sound + dump_json(state_event("undone")) + "\n");
  if (undone) require(undone->record.finished(), "a run that was undone is finished");
}

}  // namespace preflight::fuzz
