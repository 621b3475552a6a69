// SPDX-License-Identifier: MIT
#include "agent/formats/lvm_conf_edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace preflight {

namespace {

/// An edit is bytes put in the place of a span.
struct Edit {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string bytes;
};

std::string applied(const std::string& text, const Edit& edit) {
  return text.substr(0, edit.begin) + edit.bytes + text.substr(edit.end);
}

std::size_t line_begin(std::string_view text, std::size_t at) {
  const std::size_t newline = text.substr(0, at).rfind('\n');
  return newline == std::string_view::npos ? 0 : newline + 1;
}

std::string_view ending_before(std::string_view text, std::size_t newline) {
  return newline > 0 && text[newline - 1] == '\r' ? "\r\n" : "\n";
}

bool all_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\v\f") == std::string_view::npos;
}

/// A line of its own behind the line that ends at or after `at`, or nothing when that line is the
/// last one.
std::optional<Edit> line_behind(std::string_view text, std::size_t at, std::string_view indent,
                                std::string_view line) {
  const std::size_t newline = text.find('\n', at);
  if (newline == std::string_view::npos) return std::nullopt;
  return Edit{newline + 1, newline + 1,
              fmt::format("{}{}{}", indent, line, ending_before(text, newline))};
}

/// Behind each whole-line comment that shows the setting directly inside the section; the last one
/// first, as it stands nearest to where the template documents the setting.
std::vector<Edit> behind_comments(const LvmConf& conf, const LvmConfSection& section,
                                  std::string_view name, std::string_view line) {
  std::vector<Edit> out;
  const std::string_view text = conf.text();
  for (const LvmConfComment& comment : conf.scan().comments) {
    if (comment.begin < section.open || comment.end > section.close) continue;
    if (!shows_setting(text.substr(comment.begin, comment.end - comment.begin), name)) continue;
    const std::size_t start = line_begin(text, comment.begin);
    const std::string_view indent = text.substr(start, comment.begin - start);
    if (!all_blank(indent)) continue;
    if (auto edit = line_behind(text, comment.begin, indent, line)) out.push_back(*edit);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

/// Behind the opening brace: on the next line when nothing but a comment follows it on its own.
Edit behind_opening(const LvmConf& conf, const LvmConfSection& section, std::string_view line) {
  const std::string_view text = conf.text();
  const std::size_t at = section.open + 1;
  const std::size_t newline = text.find('\n', at);
  const std::string_view rest = text.substr(at, std::min(newline, text.size()) - at);
  if (newline != std::string_view::npos && all_blank(rest.substr(0, rest.find('#'))))
    return *line_behind(text, at, "\t", line);
  const bool blank_follows = !rest.empty() && all_blank(rest.substr(0, 1));
  return {at, at, fmt::format(" {}{}", line, blank_follows ? "" : " ")};
}

Edit new_section(const LvmConf& conf, std::string_view section, std::string_view line) {
  const std::string_view text = conf.text();
  const std::size_t newline = text.find('\n');
  const std::string_view ending =
      newline == std::string_view::npos ? "\n" : ending_before(text, newline);
  const std::string_view first = text.empty() || text.back() == '\n' ? "" : ending;
  return {text.size(), text.size(),
          fmt::format("{0}{1} {{{2}\t{3}{2}}}{2}", first, section, ending, line)};
}

/// The value alone. What follows it without a blank must not become a part of it ("1"x=2 is two
/// settings, 0x=2 is a broken number).
Edit replacement(const LvmConf& conf, const LvmConfPlace& place, std::string_view value) {
  const std::string_view rest = std::string_view(conf.text()).substr(place.end);
  const bool apart = rest.find_first_of(" \t\r\n\v\f}#") == 0 || rest.empty();
  return {place.begin, place.end, fmt::format("{}{}", value, apart ? "" : " ")};
}

std::vector<Edit> candidates(const LvmConf& conf, std::string_view section, std::string_view name,
                             std::string_view value) {
  const std::string line = fmt::format("{} = {}", name, value);
  std::vector<Edit> out, openings;
  for (const LvmConfSection& found : conf.scan().sections) {
    if (found.path != section) continue;
    for (Edit& edit : behind_comments(conf, found, name, line)) out.push_back(std::move(edit));
    openings.push_back(behind_opening(conf, found, line));
  }
  std::move(openings.begin(), openings.end(), std::back_inserter(out));
  out.push_back(new_section(conf, section, line));
  // Each is proved by a parse: a file full of sections must not cost one for every one of them.
  constexpr std::size_t tries = 8;
  if (out.size() > tries) out.erase(out.begin() + tries - 1, out.end() - 1);
  return out;
}

}  // namespace

bool shows_setting(std::string_view comment, std::string_view name) {
  comment.remove_prefix(std::min(comment.find_first_not_of("# \t"), comment.size()));
  if (comment.substr(0, name.size()) != name) return false;
  comment.remove_prefix(name.size());
  comment.remove_prefix(std::min(comment.find_first_not_of(" \t"), comment.size()));
  return comment.substr(0, 1) == "=";
}

bool differ_only_in(const LvmConf& before, const LvmConf& after, std::string_view setting) {
  LvmConfTree old_tree = before.tree();
  LvmConfTree new_tree = after.tree();
  if (old_tree == new_tree) return false;
  for (LvmConfTree* tree : {&old_tree, &new_tree})
    if (auto it = tree->find(setting); it != tree->end()) tree->erase(it);
  const std::string_view section = setting.substr(0, setting.rfind('/'));
  if (old_tree.find(section) == old_tree.end())
    if (auto it = new_tree.find(section); it != new_tree.end()) new_tree.erase(it);
  return old_tree == new_tree;
}

Result<std::string> set_lvm_value(const LvmConf& conf, std::string_view section,
                                  std::string_view name, std::string_view value) {
  const std::string setting = fmt::format("{}/{}", section, name);
  Result<LvmConf> wanted = LvmConf::parse("", fmt::format("{} = {}\n", setting, value));
  if (!wanted || wanted->tree().size() != 2)
    return fail(ErrorKind::malformed, conf.path(), fmt::format("{} cannot be a value", value));
  Result<std::vector<LvmConfPlace>> places = conf.places(setting);
  if (!places) return tl::unexpected(places.error());
  const auto values = wanted->values(setting);
  if (conf.values(setting) == values) return conf.text();
  const std::vector<Edit> edits = places->empty()
                                      ? candidates(conf, section, name, value)
                                      : std::vector<Edit>{replacement(conf, places->back(), value)};
  for (const Edit& edit : edits) {
    std::string text = applied(conf.text(), edit);
    Result<LvmConf> after = LvmConf::parse(conf.path(), text);
    if (after && after->values(setting) == values && differ_only_in(conf, *after, setting))
      return text;
  }
  return fail(
      ErrorKind::unsupported, conf.path(),
      fmt::format("no edit was found that sets {} = {} and changes nothing else", setting, value));
}

}  // namespace preflight
