// SPDX-License-Identifier: MIT
#include "agent/formats/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "agent/formats/text.h"

namespace preflight {

namespace {

// The trace of the search takes edits^2 numbers: 32 MB at this cap.
constexpr int edit_cap = 2000;

using Lines = std::vector<std::string_view>;

enum class Kind { same, removed, added };

struct Operation {
  Kind kind;
  std::size_t before;  // index of the line in the old text (of the next one for `added`)
  std::size_t after;   // the same in the new text
};
using Script = std::vector<Operation>;

/// A last line without '\n' is not the line that has one: the line ends stay on.
Lines lines_with_ends(std::string_view text) {
  Lines lines;
  for (const std::string_view line : split_lines(text)) {
    const bool ended = line.data() + line.size() < text.data() + text.size();
    lines.emplace_back(line.data(), line.size() + (ended ? 1 : 0));
  }
  return lines;
}

/// E. Myers, "An O(ND) Difference Algorithm and Its Variations" (1986): furthest reaching paths per
/// diagonal, one row kept per edit. nullopt when more than `edit_cap` edits are needed.
class Search {
 public:
  Search(const Lines& a, const Lines& b) : a_(a), b_(b) {}

  std::optional<Script> run() {
    const int limit = std::min(edit_cap, n() + m());
    std::vector<int> row(static_cast<std::size_t>(2 * limit + 3), 0);
    for (int edits = 0; edits <= limit; ++edits) {
      for (int k = -edits; k <= edits; k += 2) {
        int x = step(row, k, edits, limit);
        while (x < n() && x - k < m() && line(a_, x) == line(b_, x - k)) ++x;
        cell(row, k, limit) = x;
        if (x >= n() && x - k >= m()) return trace_back(edits, limit);
      }
      keep(row, edits, limit);
    }
    return std::nullopt;
  }

 private:
  int n() const { return static_cast<int>(a_.size()); }
  int m() const { return static_cast<int>(b_.size()); }
  static std::string_view line(const Lines& lines, int i) {
    return lines[static_cast<std::size_t>(i)];
  }
  static int& cell(std::vector<int>& row, int k, int limit) {
    return row[static_cast<std::size_t>(k + limit + 1)];
  }

  /// Whether the path to diagonal k came from k + 1, by adding a line.
  static bool by_adding(std::vector<int>& row, int k, int edits, int middle) {
    return k == -edits || (k != edits && cell(row, k - 1, middle) < cell(row, k + 1, middle));
  }

  static int step(std::vector<int>& row, int k, int edits, int middle) {
    if (edits == 0) return 0;
    return by_adding(row, k, edits, middle) ? cell(row, k + 1, middle)
                                            : cell(row, k - 1, middle) + 1;
  }

  /// Keeps what the next number of edits starts from: diagonals -edits..edits.
  void keep(std::vector<int>& row, int edits, int limit) {
    std::vector<int> kept(static_cast<std::size_t>(2 * edits + 3), 0);
    for (int k = -edits; k <= edits; ++k) cell(kept, k, edits) = cell(row, k, limit);
    rows_.push_back(std::move(kept));
  }

  Script trace_back(int edits, int) {
    Script script;
    int x = n();
    int y = m();
    const auto push = [&](Kind kind) {
      script.push_back({kind, static_cast<std::size_t>(x), static_cast<std::size_t>(y)});
    };
    for (; edits > 0; --edits) {
      std::vector<int>& row = rows_[static_cast<std::size_t>(edits - 1)];
      const int k = x - y;
      const bool added = by_adding(row, k, edits, edits - 1);
      const int from = added ? cell(row, k + 1, edits - 1) : cell(row, k - 1, edits - 1);
      const int start = added ? from : from + 1;
      for (; x > start; push(Kind::same)) --x, --y;
      if (added) {
        --y;
        push(Kind::added);
      } else {
        --x;
        push(Kind::removed);
      }
    }
    for (; x > 0; push(Kind::same)) --x, --y;
    std::reverse(script.begin(), script.end());
    return script;
  }

  const Lines& a_;
  const Lines& b_;
  std::vector<std::vector<int>> rows_;
};

/// Where the lines are as many, each is compared with that in its place.
Script replace_all(const Lines& a, const Lines& b) {
  Script script;
  if (a.size() == b.size()) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i] == b[i]) {
        script.push_back({Kind::same, i, i});
        continue;
      }
      script.push_back({Kind::removed, i, i});
      script.push_back({Kind::added, i + 1, i});
    }
    return script;
  }
  for (std::size_t i = 0; i < a.size(); ++i) script.push_back({Kind::removed, i, 0});
  for (std::size_t i = 0; i < b.size(); ++i) script.push_back({Kind::added, a.size(), i});
  return script;
}

/// The common head and tail are taken off first: a configuration edit is a few lines of thousands.
Script edit_script(const Lines& a, const Lines& b) {
  std::size_t head = 0;
  while (head < a.size() && head < b.size() && a[head] == b[head]) ++head;
  std::size_t tail = 0;
  while (tail < a.size() - head && tail < b.size() - head &&
         a[a.size() - 1 - tail] == b[b.size() - 1 - tail])
    ++tail;
  const auto middle = [&](const Lines& lines) {
    return Lines(lines.begin() + static_cast<std::ptrdiff_t>(head),
                 lines.end() - static_cast<std::ptrdiff_t>(tail));
  };
  const Lines middle_a = middle(a);
  const Lines middle_b = middle(b);
  std::optional<Script> found = Search(middle_a, middle_b).run();
  Script inner = found ? std::move(*found) : replace_all(middle_a, middle_b);

  Script script;
  for (std::size_t i = 0; i < head; ++i) script.push_back({Kind::same, i, i});
  for (const Operation& op : inner) script.push_back({op.kind, op.before + head, op.after + head});
  for (std::size_t i = tail; i > 0; --i) script.push_back({Kind::same, a.size() - i, b.size() - i});
  return script;
}

/// "start,count" as diff prints it: the count is left out when it is 1, and an empty range starts
/// at the line before it.
std::string range(std::size_t start, std::size_t count) {
  if (count == 1) return fmt::format("{}", start + 1);
  return fmt::format("{},{}", count == 0 ? start : start + 1, count);
}

void append_line(std::string& out, char mark, std::string_view line) {
  out += mark;
  out += line;
  if (line.empty() || line.back() != '\n') out += "\n\\ No newline at end of file\n";
}

void append_hunk(std::string& out, const Script& script, std::size_t begin, std::size_t end,
                 const Lines& a, const Lines& b) {
  std::size_t removed = 0;
  std::size_t added = 0;
  for (std::size_t i = begin; i < end; ++i) {
    removed += script[i].kind != Kind::added ? 1 : 0;
    added += script[i].kind != Kind::removed ? 1 : 0;
  }
  out += fmt::format("@@ -{} +{} @@\n", range(script[begin].before, removed),
                     range(script[begin].after, added));
  for (std::size_t i = begin; i < end; ++i) {
    const Operation& op = script[i];
    if (op.kind == Kind::same) append_line(out, ' ', a[op.before]);
    if (op.kind == Kind::removed) append_line(out, '-', a[op.before]);
    if (op.kind == Kind::added) append_line(out, '+', b[op.after]);
  }
}

}  // namespace

std::string unified_diff(std::string_view before_name, std::string_view before,
                         std::string_view after_name, std::string_view after, std::size_t context) {
  if (before == after) return {};
  const Lines a = lines_with_ends(before);
  const Lines b = lines_with_ends(after);
  const Script script = edit_script(a, b);
  std::string out = fmt::format("--- {}\n+++ {}\n", before_name, after_name);
  const auto next_change = [&](std::size_t from) {
    while (from < script.size() && script[from].kind == Kind::same) ++from;
    return from;
  };
  std::size_t change = next_change(0);
  while (change < script.size()) {
    const std::size_t begin = change > context ? change - context : 0;
    std::size_t last = change;
    for (std::size_t next = change; next < script.size() && next - last <= 2 * context + 1;
         next = next_change(next + 1))
      last = next;
    const std::size_t end = std::min(last + 1 + context, script.size());
    append_hunk(out, script, begin, end, a, b);
    change = next_change(last + 1);
  }
  return out;
}

}  // namespace preflight
