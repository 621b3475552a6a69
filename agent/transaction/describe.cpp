// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "agent/formats/diff.h"
#include "agent/formats/text.h"
#include "agent/transaction/transaction.h"

namespace preflight {

namespace {

/// Tabs stay: they line up a configuration and drive no terminal.
std::string printable_line(std::string_view line) {
  std::string out;
  for (;;) {
    const std::size_t tab = line.find('\t');
    out += printable(line.substr(0, tab));
    if (tab == std::string_view::npos) return out;
    out += '\t';
    line.remove_prefix(tab + 1);
  }
}

constexpr std::size_t context = 3;

std::string describe(const EditFile& edit, ShownEdits shown) {
  const std::string path = printable(edit.path);
  std::string out = edit.before ? fmt::format("edit {}\n", path)
                                : fmt::format("create {} (mode {:04o})\n", path, edit.mode);
  if (shown == ShownEdits::none) return out;
  const std::string text =
      unified_diff(edit.before ? path : "/dev/null", edit.before.value_or(""), path, edit.after,
                   shown == ShownEdits::with_context ? context : 0);
  for (const std::string_view line : split_lines(text)) out += printable_line(line) + '\n';
  return out;
}

std::string describe(const BuildImage& build, ShownEdits) {
  return fmt::format("build {} anew with dracut for kernel {}{}, verify it, put it in its place\n",
                     printable(build.path), printable(build.kernel),
                     build.rescue ? " (rescue image)" : "");
}

}  // namespace

std::string describe_plan(const std::vector<Step>& steps, ShownEdits shown) {
  std::string out;
  for (const Step& step : steps)
    out += std::visit([&](const auto& one) { return describe(one, shown); }, step);
  return out;
}

}  // namespace preflight
