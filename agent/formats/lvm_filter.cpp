// SPDX-License-Identifier: MIT
#include "agent/formats/lvm_filter.h"

#include <fmt/format.h>
#include <libdevmapper.h>

#include <algorithm>
#include <climits>
#include <string_view>
#include <utility>

#include "agent/formats/dm_log.h"
#include "agent/formats/text.h"

namespace preflight {

namespace {

struct Pattern {
  bool accept = false;
  std::string regex;
};

char closing(char opening) {
  switch (opening) {
    case '(':
      return ')';
    case '[':
      return ']';
    case '{':
      return '}';
    default:
      return opening;
  }
}

Result<Pattern> take_apart(const std::string& path, std::string_view text) {
  const auto malformed = [&](std::string_view why) {
    return fail(ErrorKind::malformed, path,
                fmt::format("the filter pattern \"{}\" {}", printable(text), why));
  };
  if (text.empty() || (text[0] != 'a' && text[0] != 'r'))
    return malformed("does not begin with 'a' or 'r'");
  if (text.size() < 3 || text.back() != closing(text[1]))
    return malformed("does not end with the character that encloses its expression");
  return Pattern{text[0] == 'a', std::string(text.substr(2, text.size() - 3))};
}

std::optional<Error> over_limits(const std::string& path,
                                 const std::vector<std::string>& patterns) {
  std::size_t total = 0;
  for (const std::string& pattern : patterns) {
    total += pattern.size();
    if (std::any_of(pattern.begin(), pattern.end(), [](char c) { return c < ' ' || c > '~'; }))
      return Error{ErrorKind::unsupported, path, 0,
                   fmt::format("the filter pattern \"{}\" is not plain ASCII, which is not judged "
                               "here",
                               printable(pattern))};
  }
  if (total > lvm_filter_cap)
    return Error{ErrorKind::unsupported, path, 0,
                 fmt::format("filter patterns of {} bytes are more than is judged here ({})", total,
                             lvm_filter_cap)};
  return std::nullopt;
}

}  // namespace

struct LvmFilter::Engine {
  std::unique_ptr<dm_pool, void (*)(dm_pool*)> pool{nullptr, dm_pool_destroy};
  dm_regex* regex = nullptr;  // lives in the pool
  std::vector<bool> accept;   // in the order written
};

Result<LvmFilter> LvmFilter::create(const std::string& path,
                                    const std::vector<std::string>& patterns) {
  auto engine = std::make_shared<Engine>();
  if (patterns.empty()) return LvmFilter(std::move(engine));
  std::vector<std::string> expressions;
  for (const std::string& text : patterns) {
    Result<Pattern> pattern = take_apart(path, text);
    if (!pattern) return tl::unexpected(pattern.error());
    engine->accept.push_back(pattern->accept);
    expressions.push_back(std::move(pattern->regex));
  }
  if (auto error = over_limits(path, patterns)) return tl::unexpected(*error);
  // The engine prefers the highest index, LVM the first pattern: hence back to front.
  std::vector<const char*> reversed;
  for (auto it = expressions.rbegin(); it != expressions.rend(); ++it)
    reversed.push_back(it->c_str());
  const DmLog log;
  engine->pool.reset(dm_pool_create("filter", 4096));
  if (engine->pool)
    engine->regex = dm_regex_create(engine->pool.get(), reversed.data(),
                                    static_cast<unsigned>(reversed.size()));
  if (engine->regex == nullptr)
    return fail(ErrorKind::malformed, path,
                fmt::format("LVM cannot use its filter patterns: {}",
                            log.errors().empty() ? "no expression" : log.errors().front()));
  return LvmFilter(std::move(engine));
}

LvmFilterVerdict LvmFilter::judge(const std::vector<std::string>& names) const {
  LvmFilterVerdict verdict;
  if (engine_->regex == nullptr) return verdict;
  const DmLog log;
  for (const std::string& name : names) {
    if (name.size() >= PATH_MAX) continue;
    const int match = dm_regex_match(engine_->regex, name.c_str());
    if (match < 0) continue;
    const std::size_t pattern = engine_->accept.size() - 1 - static_cast<std::size_t>(match);
    if (engine_->accept[pattern]) return {true, pattern, name};
    if (verdict.accepted) verdict = {false, pattern, name};
  }
  return verdict;
}

}  // namespace preflight
