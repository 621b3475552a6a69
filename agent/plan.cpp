// SPDX-License-Identifier: MIT
#include "agent/plan.h"

#include <algorithm>

namespace preflight {

namespace {

/// What an edit replaces: bytes [begin, end) of the text before, by `text`.
struct Replacement {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string text;
};

Replacement replacement_of(const std::string& before, const std::string& after) {
  const std::size_t shorter = std::min(before.size(), after.size());
  const auto [left, unused] = std::mismatch(
      before.begin(), before.begin() + static_cast<std::ptrdiff_t>(shorter), after.begin());
  const auto prefix = static_cast<std::size_t>(left - before.begin());
  std::size_t suffix = 0;
  while (suffix < shorter - prefix &&
         before[before.size() - 1 - suffix] == after[after.size() - 1 - suffix])
    ++suffix;
  return {prefix, before.size() - suffix, after.substr(prefix, after.size() - suffix - prefix)};
}

Result<void> lay_over(EditFile& first, const EditFile& second) {
  if (first.after == second.after) return {};
  if (!first.before || first.before != second.before)
    return fail(ErrorKind::unsupported, first.path, "two fixes begin from different texts of it");
  const Replacement a = replacement_of(*first.before, first.after);
  const Replacement b = replacement_of(*second.before, second.after);
  if (a.begin < b.end && b.begin < a.end)
    return fail(ErrorKind::unsupported, first.path, "two fixes edit the same place in it");
  if (a.begin == b.begin)
    return fail(ErrorKind::unsupported, first.path, "two fixes edit the same place in it");
  const auto& [early, late] = a.begin < b.begin ? std::pair(a, b) : std::pair(b, a);
  std::string text = *first.before;
  text.replace(late.begin, late.end - late.begin, late.text);
  text.replace(early.begin, early.end - early.begin, early.text);
  first.after = std::move(text);
  return {};
}

}  // namespace

Result<std::vector<Step>> combine_edits(std::vector<Step> steps) {
  std::vector<Step> combined;
  for (Step& step : steps) {
    const auto* edit = std::get_if<EditFile>(&step);
    const auto earlier = std::find_if(combined.begin(), combined.end(), [&](const Step& other) {
      const auto* file = std::get_if<EditFile>(&other);
      return edit && file && file->path == edit->path;
    });
    if (earlier == combined.end()) {
      combined.push_back(std::move(step));
    } else if (auto done = lay_over(std::get<EditFile>(*earlier), *edit); !done) {
      return tl::unexpected(done.error());
    }
  }
  return combined;
}

}  // namespace preflight
