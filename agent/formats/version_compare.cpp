// SPDX-License-Identifier: MIT
#include "agent/formats/version_compare.h"

#include <cstddef>

namespace preflight {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_alpha(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool starts_with(std::string_view text, char c) {
  return !text.empty() && text.front() == c;
}

void skip_separators(std::string_view& text, PlusRule rule) {
  while (!text.empty()) {
    const char c = text.front();
    if (is_digit(c) || is_alpha(c) || c == '~') return;
    if (c == '+' && rule == PlusRule::orders) return;
    text.remove_prefix(1);
  }
}

/// Cuts the leading run of digits or of letters off.
std::string_view take_run(std::string_view& text, bool (*belongs)(char)) {
  std::size_t length = 0;
  while (length < text.size() && belongs(text[length])) ++length;
  const std::string_view run = text.substr(0, length);
  text.remove_prefix(length);
  return run;
}

int sign(int value) {
  return (value > 0) - (value < 0);
}

int compare_numbers(std::string_view a, std::string_view b) {
  while (starts_with(a, '0')) a.remove_prefix(1);
  while (starts_with(b, '0')) b.remove_prefix(1);
  if (a.size() != b.size()) return a.size() > b.size() ? 1 : -1;
  return sign(a.compare(b));
}

/// Compares the runs at the front and cuts them off.
int compare_runs(std::string_view& a, std::string_view& b) {
  const bool number = is_digit(a.front());
  const std::string_view run_a = take_run(a, number ? is_digit : is_alpha);
  const std::string_view run_b = take_run(b, number ? is_digit : is_alpha);
  if (run_b.empty()) return number ? 1 : -1;
  return number ? compare_numbers(run_a, run_b) : sign(run_a.compare(run_b));
}

struct Parts {
  std::string_view name, version, release;
};

Parts split_version_release(std::string_view text) {
  const std::size_t dash = text.rfind('-');
  if (dash == std::string_view::npos) return {{}, text, {}};
  return {{}, text.substr(0, dash), text.substr(dash + 1)};
}

Parts split_name_version_release(std::string_view text) {
  const std::size_t last = text.rfind('-');
  if (last == std::string_view::npos) return {text, {}, {}};
  const std::string_view front = text.substr(0, last);
  const std::string_view back = text.substr(last + 1);
  const std::size_t dash = front.rfind('-');
  if (dash == std::string_view::npos) return {front, back, {}};
  return {front.substr(0, dash), front.substr(dash + 1), back};
}

int compare_parts(const Parts& a, const Parts& b, PlusRule rule) {
  if (const int order = compare_versions(a.name, b.name, rule)) return order;
  if (const int order = compare_versions(a.version, b.version, rule)) return order;
  return compare_versions(a.release, b.release, rule);
}

}  // namespace

int compare_versions(std::string_view a, std::string_view b, PlusRule rule) {
  while (!a.empty() || !b.empty()) {
    skip_separators(a, rule);
    skip_separators(b, rule);
    if (starts_with(a, '~') || starts_with(b, '~')) {
      if (!starts_with(a, '~')) return 1;
      if (!starts_with(b, '~')) return -1;
      a.remove_prefix(1);
      b.remove_prefix(1);
      continue;
    }
    if (starts_with(a, '+') || starts_with(b, '+')) {
      if (a.empty()) return -1;
      if (b.empty()) return 1;
      if (!starts_with(a, '+')) return 1;
      if (!starts_with(b, '+')) return -1;
      a.remove_prefix(1);
      b.remove_prefix(1);
      continue;
    }
    if (a.empty() || b.empty()) break;
    if (const int order = compare_runs(a, b)) return order;
  }
  if (a.empty() && b.empty()) return 0;
  return a.empty() ? -1 : 1;
}

int compare_name_version_release(std::string_view a, std::string_view b, PlusRule rule) {
  return compare_parts(split_name_version_release(a), split_name_version_release(b), rule);
}

int compare_version_release(std::string_view a, std::string_view b, PlusRule rule) {
  return compare_parts(split_version_release(a), split_version_release(b), rule);
}

}  // namespace preflight
