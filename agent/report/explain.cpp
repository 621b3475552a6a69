// SPDX-License-Identifier: MIT
#include "agent/report/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/formats/json.h"
#include "agent/report/wrap.h"
#include "checks/explanations.h"

namespace preflight {

namespace {

constexpr int indent = 4;

std::string part(std::string_view title, std::string_view text, int width) {
  return text.empty() ? std::string() : fmt::format("{}\n{}", title, wrap(text, indent, width));
}

const Explanation* find_explanation(std::string_view check) {
  const auto all = all_explanations();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Explanation& item) { return item.check == check; });
  return found == all.end() ? nullptr : &*found;
}

Json to_json(const Explanation& item) {
  return Json::Object{
      {"check", item.check},     {"meaning", item.meaning},
      {"why", item.why},         {"verified", item.verified},
      {"by_hand", item.by_hand}, {"fix", item.fix.empty() ? Json() : Json(item.fix)},
      {"since", item.since}};
}

}  // namespace

std::optional<std::string> explain(std::string_view check, int width) {
  const Explanation* found = find_explanation(check);
  if (found == nullptr) return std::nullopt;
  return fmt::format("{} (since {})\n", found->check, found->since) +
         part("What it means", found->meaning, width) + part("Why it matters", found->why, width) +
         part("How it is verified", found->verified, width) +
         part("How to mend it by hand", found->by_hand, width) +
         part("What --fix does", found->fix.empty() ? "Nothing: it is mended by hand." : found->fix,
              width);
}

std::string explain_all() {
  std::string out;
  for (const Explanation& item : all_explanations())
    out += fmt::format("{:<24}{}\n", item.check, item.meaning);
  return out;
}

std::optional<std::string> explain_json(const std::optional<std::string>& check) {
  Json::Array checks;
  if (!check) {
    for (const Explanation& item : all_explanations()) checks.push_back(to_json(item));
  } else if (const Explanation* found = find_explanation(*check)) {
    checks.push_back(to_json(*found));
  } else {
    return std::nullopt;
  }
  return dump_json(
             Json::Object{{"schema", "nvme-preflight/explain/1"}, {"checks", std::move(checks)}},
             2) +
         "\n";
}

}  // namespace preflight
