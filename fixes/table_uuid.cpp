// SPDX-License-Identifier: MIT
// fstab-uuid and crypttab-uuid: the device field of each line that a finding names becomes UUID=.
// Byte spans only: comments, columns, order and line ends stay as they are.
#include <fmt/format.h>

#include <algorithm>

#include "agent/facts/stable_name.h"
#include "agent/step.h"

namespace preflight {

namespace {

Result<std::vector<Step>> plan_table(const Facts& facts, const Result<DeviceTable>& table,
                                     DeviceTable (*parse)(std::string, std::string),
                                     const std::vector<Finding>& findings) {
  if (!table) return tl::unexpected(table.error());
  std::string after = table->text;
  std::vector<std::string> wanted;
  // From the end, so that the spans before stay valid.
  for (auto line = table->lines.rbegin(); line != table->lines.rend(); ++line) {
    const std::string subject = fmt::format("{}:{}", table->path, line->line);
    const bool named = std::any_of(findings.begin(), findings.end(),
                                   [&](const Finding& f) { return f.subject == subject; });
    wanted.insert(wanted.begin(), line->device);
    if (!named || !why_it_changes(line->device)) continue;
    const Result<std::string> stable = stable_name(facts.storage, *line);
    if (!stable) return tl::unexpected(stable.error());
    after.replace(line->offset, line->length, *stable);
    wanted.front() = *stable;
  }
  const DeviceTable proof = parse(table->path, after);
  const bool proven = std::equal(
      proof.lines.begin(), proof.lines.end(), wanted.begin(), wanted.end(),
      [](const DeviceLine& line, const std::string& device) { return line.device == device; });
  if (!proven)
    return fail(ErrorKind::unsupported, table->path, "the edited text does not read as intended");
  return std::vector<Step>{EditFile{table->path, table->text, std::move(after)}};
}

Result<std::vector<Step>> plan_fstab(const Facts& facts, const std::vector<Finding>& findings) {
  return plan_table(facts, facts.fstab, parse_fstab, findings);
}

Result<std::vector<Step>> plan_crypttab(const Facts& facts, const std::vector<Finding>& findings) {
  return plan_table(facts, facts.crypttab, parse_crypttab, findings);
}

}  // namespace

extern const Fix fstab_uuid_fix{"fstab-uuid", plan_fstab};
extern const Fix crypttab_uuid_fix{"crypttab-uuid", plan_crypttab};

}  // namespace preflight
