// SPDX-License-Identifier: MIT
// dracut's configuration: an input is up to four files in the order they are sourced.
#include "agent/formats/dracut_conf.h"

#include "agent/formats/text.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

namespace preflight::fuzz {

namespace {

/// A value that is written as double_quoted() says comes back as it was.
void check_quoting(const std::string& value) {
  const auto read = evaluate_dracut_conf({{"/q.conf", "q=" + double_quoted(value) + "\n"}});
  require(read.has_value(), "a quoted value can be read");
  const auto variable = read->variables.find("q");
  require(variable != read->variables.end() && variable->second.value == value,
          "a quoted value is read as it was");
}

/// The last plain assignment of our own drop-in decides, whatever the other files say.
void check_override(std::vector<DracutFile> files) {
  files.push_back({"/etc/dracut.conf.d/zzz.conf", "hostonly=\"no\"\n"});
  const auto read = evaluate_dracut_conf(files);
  if (!read) return;
  const auto variable = read->variables.find("hostonly");
  require(variable != read->variables.end() && variable->second.value == "no",
          "the last assignment decides");
}

}  // namespace

void dracut_conf(std::string_view input) {
  std::vector<DracutFile> files;
  DropInDirectory etc{"/etc/dracut.conf.d", {}}, usr{"/usr/lib/dracut/dracut.conf.d", {}};
  for (const std::string& part : parts_of(input, 4)) {
    files.push_back({"/f" + std::to_string(files.size()) + ".conf", part});
    for (const std::string_view word : split_words(part)) {
      if (word.find('/') != std::string_view::npos) continue;
      (etc.names.size() > usr.names.size() ? usr : etc).names.emplace_back(word);
    }
  }
  const auto read = evaluate_dracut_conf(files);
  if (read) {
    for (const auto& [name, variable] : read->variables) check_quoting(variable.value);
    check_override(files);
  }
  const std::vector<DropInDirectory> directories{etc, usr};
  for (const VersionSort sort : {VersionSort::before_9_1, VersionSort::since_9_1})
    order_drop_ins(directories, sort);
  if (files[0].text.empty() || files[0].text.front() == '.') return;
  if (files[1].text.empty() || files[1].text.front() == '.') return;
  require(compare_versions(files[0].text, files[0].text) == 0, "a name equals itself");
  const int one = compare_versions(files[0].text, files[1].text);
  const int other = compare_versions(files[1].text, files[0].text);
  require((one < 0) == (other > 0) && (one == 0) == (other == 0), "the order is one");
}

}  // namespace preflight::fuzz
