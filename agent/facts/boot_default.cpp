// SPDX-License-Identifier: MIT
#include "agent/facts/boot_default.h"

#include <fmt/format.h>

#include <cstdint>

#include "agent/formats/text.h"

namespace preflight {

namespace {

// A title is a line on a screen; what is longer names nothing.
constexpr std::size_t wanted_cap = 4096;

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/// menuentry_eq(): in `wanted` a single ">" begins the path into a submenu and ">>" stands for ">".
bool names_item(std::string_view name, std::string_view wanted) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < name.size(); ++i, ++at) {
    if (at >= wanted.size()) return false;
    if (wanted[at] == '>' && wanted.substr(at, 2) != ">>") return false;
    if (wanted[at] == '>') ++at;
    if (name[i] != wanted[at]) return false;
  }
  const std::string_view rest = wanted.substr(at);
  return !name.empty() && (rest.empty() || (rest[0] == '>' && rest.substr(0, 2) != ">>"));
}

/// grub_strtoul() with base 0 over the whole text; nullopt when it is no number.
std::optional<std::uint64_t> parse_number(std::string_view text) {
  while (!text.empty() && is_space(text[0])) text.remove_prefix(1);
  unsigned base = 10;
  if (text.substr(0, 2) == "0x") {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '7') {
    base = 8;
  }
  if (text.empty()) return std::nullopt;
  std::uint64_t number = 0;
  for (const char c : text) {
    unsigned digit = 99;
    if (c >= '0' && c <= '9') digit = static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') digit = static_cast<unsigned>(c - 'a') + 10;
    if (c >= 'A' && c <= 'F') digit = static_cast<unsigned>(c - 'A') + 10;
    if (digit >= base) return std::nullopt;
    if (number > UINT32_MAX) return number;  // no menu is that long
    number = number * base + digit;
  }
  return number;
}

/// What grub.cfg lets `default` be: the value it starts from, and which mechanisms it knows.
struct DefaultRules {
  Result<std::string> base = std::string("${saved_entry}");
  std::string base_source;
  bool knows_next_entry = true;
  bool counts_boots = false;
};

std::string source_of(const GrubAssignment& assignment) {
  return fmt::format("{}:{}", assignment.path, assignment.line);
}

bool is_reference(std::string_view value, std::string_view name) {
  return value == fmt::format("${{{}}}", name) || value == fmt::format("${}", name);
}

void take_default(const GrubAssignment& assignment, DefaultRules& rules, bool& set) {
  if (is_reference(assignment.value, "next_entry")) {
    rules.knows_next_entry = true;
    return;
  }
  if (assignment.value == "1" && assignment.condition.find("boot_counter") != std::string::npos) {
    rules.counts_boots = true;
    return;
  }
  const bool always = assignment.condition.empty();
  if (always) rules.knows_next_entry = rules.counts_boots = false;
  if (set && !always && rules.base && *rules.base != assignment.value) {
    rules.base = fail(ErrorKind::unsupported, assignment.path,
                      "sets the default in several ways, depending on conditions that are not "
                      "known here",
                      assignment.line);
    return;
  }
  if (always || !set) rules.base = assignment.value;
  if (always || !set) rules.base_source = source_of(assignment);
  set = true;
}

/// grub.cfg as 00_header.in and 08_fallback_counting.in of grub2's util/grub.d write it. Without a
/// grub.cfg, what EL's /etc/default/grub asks for: GRUB_DEFAULT=saved.
DefaultRules rules_of(const GrubSite& site) {
  DefaultRules rules;
  if (!site.config) return rules;
  rules.base = std::string();
  rules.knows_next_entry = false;
  bool set = false;
  for (const GrubAssignment& assignment : site.config->assignments)
    if (assignment.name == "default") take_default(assignment, rules, set);
  return rules;
}

/// Replaces "${name}" and "$name" by the environment's values.
std::string substitute(std::string_view text, const GrubSite& site,
                       const std::optional<std::string>& saved_entry) {
  std::string out;
  while (!text.empty()) {
    if (text[0] != '$') {
      out += text[0];
      text.remove_prefix(1);
      if (out.size() > wanted_cap) return out.substr(0, wanted_cap);
      continue;
    }
    text.remove_prefix(1);
    const bool braced = text.substr(0, 1) == "{";
    if (braced) text.remove_prefix(1);
    std::size_t length = 0;
    while (length < text.size() &&
           (text[length] == '_' || (text[length] >= '0' && text[length] <= '9') ||
            (text[length] >= 'a' && text[length] <= 'z') ||
            (text[length] >= 'A' && text[length] <= 'Z')))
      ++length;
    const std::string_view name = text.substr(0, length);
    text.remove_prefix(length);
    if (braced && text.substr(0, 1) == "}") text.remove_prefix(1);
    if (name == "saved_entry" && saved_entry) {
      out += *saved_entry;
    } else if (const GrubVariable* variable = site.find(name)) {
      out += variable->value;
    }
    if (out.size() > wanted_cap) return out.substr(0, wanted_cap);
  }
  return out;
}

/// The whole menu: blscfg's items between grub.cfg's own entries.
struct Menu {
  std::vector<MenuItem> items;
  std::vector<std::optional<std::size_t>> bls;  // index into blscfg's items
  std::vector<const GrubMenuEntry*> own;        // nullptr for blscfg's items
  bool movable = false;  // an entry that may be missing stands before blscfg's
};

Menu whole_menu(const GrubSite& site, const std::vector<MenuItem>& items) {
  Menu menu;
  const auto add_own = [&](bool before) {
    if (!site.config) return;
    for (const GrubMenuEntry& entry : site.config->menu_entries) {
      if (entry.before_blscfg != before) continue;
      menu.items.push_back({entry.id, entry.title});
      menu.bls.push_back(std::nullopt);
      menu.own.push_back(&entry);
      menu.movable = menu.movable || (before && entry.conditional);
    }
  };
  add_own(true);
  for (std::size_t i = 0; i < items.size(); ++i) {
    menu.items.push_back(items[i]);
    menu.bls.push_back(i);
    menu.own.push_back(nullptr);
  }
  add_own(false);
  return menu;
}

struct Landing {
  std::optional<std::size_t> index;  // of blscfg's items
  std::string reason;
};

/// Where a value of `default` leads; `source` says where the value stands.
Landing land(const Menu& menu, const std::string& wanted, const std::string& source) {
  const std::optional<std::size_t> found = find_menu_item(menu.items, wanted);
  const bool by_name = found && (names_item(menu.items[*found].id, wanted) ||
                                 names_item(menu.items[*found].title, wanted));
  const std::string how =
      wanted.empty() ? fmt::format("{} names no entry, so GRUB boots the first one", source)
      : found        ? fmt::format("{} names \"{}\"", source, printable(wanted))
                     : fmt::format(
                           "{} names \"{}\", which is not in the menu, so GRUB boots the "
                                  "first entry",
                           source, printable(wanted));
  if (menu.items.empty()) return {std::nullopt, how + "; the menu is empty"};
  if (!by_name && menu.movable)
    return {std::nullopt, how + "; entries that grub.cfg may or may not add stand before it"};
  const std::size_t at = found.value_or(0);
  if (!menu.bls[at])
    return {std::nullopt,
            fmt::format("{}; that is \"{}\" of {}:{}, not a boot loader entry", how,
                        printable(menu.own[at]->title), menu.own[at]->path, menu.own[at]->line)};
  return {menu.bls[at], how};
}

/// grub.cfg has a menu of its own and none of the boot loader entries.
bool is_bypassed(const GrubSite& site) {
  return site.config && !site.config->incomplete && site.config->blscfg_line == 0 &&
         !site.config->menu_entries.empty();
}

/// Why nothing can be said; empty when it can.
std::string obstacle(const GrubSite& site, const DefaultRules& rules) {
  if (!site.environment && site.environment.error().kind != ErrorKind::missing &&
      site.environment.error().kind != ErrorKind::malformed)
    return site.environment.error().message();
  if (!site.config && site.config.error().kind != ErrorKind::missing)
    return site.config.error().message();
  if (site.config && site.config->incomplete)
    return site.config->path + ": a quote or block is not closed, or it is longer than is read";
  if (site.config && site.config->blscfg_line == 0)
    return site.config->path +
           ": does not run blscfg (GRUB_ENABLE_BLSCFG=false), so the menu is not made from the "
           "boot loader entries";
  if (!rules.base) return rules.base.error().message();
  return "";
}

std::string saved_source(const GrubSite& site, std::string_view name) {
  if (const GrubVariable* variable = site.find(name))
    return fmt::format("{} ({}:{})", name, variable->path, variable->line);
  if (!site.environment) return site.environment.error().message() + ": " + std::string(name);
  return fmt::format("{} ({})", name, site.environment->path);
}

/// The permanent default. `saved_entry` replaces grubenv's.
Landing land_on_base(const GrubSite& site, const DefaultRules& rules, const Menu& menu,
                     const std::optional<std::string>& saved_entry) {
  const bool saved = is_reference(*rules.base, "saved_entry");
  const std::string source =
      saved ? saved_source(site, saved_entry ? "prev_saved_entry" : "saved_entry")
      : rules.base_source.empty() ? site.config->path
                                  : rules.base_source;
  return land(menu, substitute(*rules.base, site, saved_entry), source);
}

bool counted_out(const GrubSite& site, const DefaultRules& rules) {
  if (!rules.counts_boots || !site.environment) return false;
  const std::string_view counter = site.environment->value("boot_counter");
  return site.environment->value("boot_success") == "0" && (counter == "0" || counter == "-1");
}

std::string text_of(const GrubSite& site, std::string_view name) {
  return site.environment ? std::string(site.environment->value(name)) : "";
}

}  // namespace

const GrubVariable* GrubSite::find(std::string_view name) const {
  const auto found = variables.find(name);
  return found == variables.end() ? nullptr : &found->second;
}

GrubVariables grub_variables(const Result<GrubEnvironment>& environment,
                             const Result<GrubConfig>& config) {
  GrubVariables out;
  if (environment)
    for (const auto& [name, variable] : environment->variables)
      out[name] = {variable.value, environment->path, variable.line};
  if (!config) return out;
  for (const GrubAssignment& assignment : config->assignments) {
    const bool fallback = assignment.condition == fmt::format("[ -z ${{{}}} ]", assignment.name) ||
                          assignment.condition == fmt::format("[ -z ${} ]", assignment.name);
    if (!assignment.condition.empty() && !fallback) continue;
    GrubVariable& variable = out[assignment.name];
    if (!fallback || variable.value.empty())
      variable = {assignment.value, assignment.path, assignment.line};
  }
  return out;
}

std::optional<std::size_t> find_menu_item(const std::vector<MenuItem>& items,
                                          std::string_view wanted) {
  std::size_t first_word = 0;
  while (first_word < wanted.size() && !is_space(wanted[first_word])) ++first_word;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!names_item(items[i].id, wanted.substr(0, first_word))) continue;
    // GRUB stops at the matching id, then finds words behind it and gives up.
    if (first_word < wanted.size()) return std::nullopt;
    return i;
  }
  for (std::size_t i = 0; i < items.size(); ++i)
    if (names_item(items[i].title, wanted)) return i;
  const std::optional<std::uint64_t> number = parse_number(wanted);
  if (number && *number < items.size()) return static_cast<std::size_t>(*number);
  return std::nullopt;
}

DefaultChoice choose_default(const GrubSite& site, const std::vector<MenuItem>& items) {
  const DefaultRules rules = rules_of(site);
  if (const std::string why = obstacle(site, rules); !why.empty())
    return {std::nullopt, std::nullopt, why, is_bypassed(site)};
  const Menu menu = whole_menu(site, items);
  const Landing base = land_on_base(site, rules, menu, std::nullopt);
  if (counted_out(site, rules)) {
    const Landing rollback = land(menu, "1", "boot_counter, which has run out,");
    return {rollback.index, std::nullopt, rollback.reason, false};
  }
  const std::string next = rules.knows_next_entry ? text_of(site, "next_entry") : "";
  const std::string previous = text_of(site, "prev_saved_entry");
  // 00_header.in restores prev_saved_entry only after it has set the default of this boot.
  const Landing permanent = previous.empty() ? base : land_on_base(site, rules, menu, previous);
  const Landing first = next.empty() ? base : land(menu, next, saved_source(site, "next_entry"));
  DefaultChoice choice{first.index, std::nullopt, first.reason};
  if (next.empty() && previous.empty()) return choice;
  choice.reason += " for one boot; after that " + permanent.reason;
  if (!permanent.index) choice.next = std::nullopt;
  if (permanent.index != first.index) choice.later = permanent.index;
  return choice;
}

}  // namespace preflight
