// SPDX-License-Identifier: MIT
#include "agent/facts/dracut_image.h"

#include <fmt/format.h>
#include <regex.h>

#include <algorithm>
#include <array>
#include <optional>

#include "agent/formats/module_index.h"
#include "agent/formats/text.h"

namespace preflight {

namespace {

using Words = std::vector<std::string_view>;

bool contains(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

Words words_of(const DracutConfig& config, std::initializer_list<std::string_view> names) {
  Words words;
  for (const std::string_view name : names) {
    const Words more = split_words(config.value(name));
    words.insert(words.end(), more.begin(), more.end());
  }
  return words;
}

/// "=drivers/nvme" installs a whole directory of modules, among them nvme's.
bool names_nvme(std::string_view word) {
  if (word.starts_with('=')) {
    const std::string_view directory = word.substr(1);
    constexpr std::string_view home = "drivers/nvme/host";
    return !directory.empty() && home.starts_with(directory) &&
           (directory.size() == home.size() || home[directory.size()] == '/');
  }
  const std::string_view name = word.substr(word.rfind('/') + 1);
  return canonical_module_name(name) == "nvme";
}

/// Whether kmod finds a name of the list. Where the kernel's modules are not known, any is.
bool resolves(std::string_view word, const DracutTarget& target) {
  if (word.starts_with('=') || word.starts_with('/') || target.newest == nullptr) return true;
  const Kernel& kernel = *target.newest;
  if (kernel.modular.empty()) return true;
  const std::string name = canonical_module_name(word);
  if (kernel.modular.count(name) > 0) return true;
  return kernel.builtin.count(name) > 0 && !target.builtin_name_aborts;
}

/// add_drivers and force_drivers are installed name by name until one cannot be found
/// (dracut-install.c: R8:1684-1705, R9:1980-2015, R10:2228-2256 `return -ENOENT`).
struct ListOutcome {
  bool named = false;
  std::optional<std::string_view> stopped_at;  // before nvme
};

ListOutcome install_list(std::string_view value, const DracutTarget& target) {
  ListOutcome outcome;
  for (const std::string_view word : split_words(value)) {
    if (names_nvme(word)) {
      outcome.named = true;
      return outcome;
    }
    if (!outcome.stopped_at && !resolves(word, target)) outcome.stopped_at = word;
  }
  return outcome;
}

std::vector<Assignment> sources_of_word(const DracutConfig& config, std::string_view variable,
                                        std::string_view word) {
  std::vector<Assignment> found;
  const DracutVariable* value = config.find(variable);
  if (value == nullptr) return found;
  const std::vector<Assignment> deciding = deciding_assignments(*value);
  for (const Assignment& assignment : deciding)
    if (contains(split_words(assignment.value), word)) found.push_back(assignment);
  return found.empty() ? deciding : found;
}

// Fused words

/// A word that came together from several assignments.
struct FusedWord {
  std::string word;
  std::vector<std::string> parts;
  std::vector<Assignment> assignments;
};

void fuse(std::vector<FusedWord>& fused, const std::string& left, const Assignment* left_from,
          const Assignment& right_from) {
  const Words right_words = split_words(right_from.value);
  if (left.empty() || right_words.empty()) return;
  const std::string right(right_words.front());
  if (fused.empty() || fused.back().word != left) {
    fused.push_back({left, {left}, {}});
    if (left_from != nullptr) fused.back().assignments.push_back(*left_from);
  }
  fused.back().word += right;
  fused.back().parts.push_back(right);
  fused.back().assignments.push_back(right_from);
}

std::vector<FusedWord> fused_words(const DracutVariable& variable) {
  std::vector<FusedWord> fused;
  std::string last_word;
  const Assignment* last = nullptr;
  for (const Assignment& assignment : variable.assignments) {
    if (!assignment.padded) fuse(fused, last_word, last, assignment);
    const Words words = split_words(assignment.value);
    if (!assignment.append) last_word.clear();
    if (words.empty()) continue;
    const bool extends = !assignment.padded && words.size() == 1;
    last_word = extends ? last_word + std::string(words.back()) : std::string(words.back());
    last = &assignment;
  }
  const Words final_words = split_words(variable.value);
  std::erase_if(fused, [&](const FusedWord& f) { return !contains(final_words, f.word); });
  return fused;
}

bool has_part(const FusedWord& fused, const std::vector<std::string>& names) {
  return std::any_of(fused.parts.begin(), fused.parts.end(), [&](const std::string& part) {
    return std::find(names.begin(), names.end(), canonical_module_name(part)) != names.end();
  });
}

// omit_drivers

/// Owns a compiled pattern.
class Pattern {
 public:
  /// The very call of dracut-install (R9 dracut-install.c:1178). Keep to patterns that
  /// `is_judged` allows: the C library's compiler needs unbounded memory for others.
  explicit Pattern(const std::string& text)
      : valid_(::regcomp(&regex_, text.c_str(), REG_NOSUB | REG_EXTENDED) == 0) {}
  ~Pattern() {
    if (valid_) ::regfree(&regex_);
  }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  bool valid() const { return valid_; }
  bool matches(const std::string& name) const {
    return valid_ && ::regexec(&regex_, name.c_str(), 0, nullptr, 0) == 0;
  }

 private:
  regex_t regex_{};
  bool valid_;
};

enum class OmitEffect { none, matches, only_unanchored, malformed, not_judged };

/// Groups, repetition counts and back references are left to a person: nobody writes them here, and
/// they can make a matcher run away.
bool is_judged(std::string_view word) {
  return word.size() <= 128 && word.find_first_of("(){}\\") == std::string_view::npos;
}

OmitEffect effect_of(const std::string& word, const std::string& driver,
                     const DracutTarget& target) {
  if (!is_judged(word)) return OmitEffect::not_judged;
  const Pattern whole('^' + word + '$');
  const Pattern part(word);
  if (!part.valid() || !whole.valid()) return OmitEffect::malformed;
  if (whole.matches(driver)) return OmitEffect::matches;
  if (!part.matches(driver)) return OmitEffect::none;
  if (!target.omit_known) return OmitEffect::only_unanchored;
  return target.omit_anchored ? OmitEffect::none : OmitEffect::matches;
}

std::string dashes_replaced(std::string_view value, bool all) {
  std::string out(value);
  for (char& c : out)
    if (c == '-') {
      c = '_';
      if (!all) break;
    }
  return out;
}

/// The patterns dracut hands on: names that are also asked for are taken off the list
/// (R8 dracut.sh:947-954, R9:1387-1394).
std::vector<std::string> omit_patterns(const DracutConfig& config, const DracutTarget& target) {
  std::vector<std::string> wanted;
  for (const char* name : {"drivers", "add_drivers", "force_drivers"}) {
    const std::string value = dashes_replaced(config.value(name), target.all_dashes);
    for (const std::string_view word : split_words(value)) wanted.emplace_back(word);
  }
  const std::string value = dashes_replaced(config.value("omit_drivers"), target.all_dashes);
  std::vector<std::string> patterns;
  for (const std::string_view word : split_words(value))
    if (std::find(wanted.begin(), wanted.end(), word) == wanted.end()) patterns.emplace_back(word);
  return patterns;
}

DracutFault::Kind kind_of(OmitEffect effect) {
  if (effect == OmitEffect::matches) return DracutFault::Kind::omitted;
  return effect == OmitEffect::malformed ? DracutFault::Kind::omit_malformed
                                         : DracutFault::Kind::omit_unclear;
}

void judge_omitted(const DracutConfig& config, const DracutTarget& target,
                   DracutRehearsal& rehearsal) {
  for (const std::string& word : omit_patterns(config, target))
    for (const std::string& driver : nvme_closure(target)) {
      const OmitEffect effect = effect_of(word, driver, target);
      if (effect == OmitEffect::none) continue;
      const DracutFault::Kind kind = kind_of(effect);
      const Status status =
          kind == DracutFault::Kind::omit_unclear ? Status::unknown : Status::fail;
      rehearsal.faults.push_back({kind, status, "omit_drivers", word, driver,
                                  sources_of_word(config, "omit_drivers", word)});
      break;
    }
}

// The lists of drivers

void judge_forced(const DracutConfig& config, const DracutTarget& target,
                  DracutRehearsal& rehearsal) {
  for (const std::string_view word : split_words(config.value("drivers")))
    if (names_nvme(word)) {
      rehearsal.forced = true;
      rehearsal.forced_by = sources_of_word(config, "drivers", word);
    }
  for (const char* variable : {"add_drivers", "force_drivers"}) {
    const ListOutcome outcome = install_list(config.value(variable), target);
    if (!outcome.named || outcome.stopped_at) continue;
    rehearsal.forced = true;
    rehearsal.forced_by = sources_of_word(config, variable, "nvme");
  }
}

/// A list in which nvme stands behind a name that does not exist.
void judge_dropped(const DracutConfig& config, const DracutTarget& target,
                   DracutRehearsal& rehearsal) {
  if (!rehearsal.hostonly || rehearsal.forced) return;
  for (const char* variable : {"add_drivers", "force_drivers"}) {
    const ListOutcome outcome = install_list(config.value(variable), target);
    if (!outcome.named || !outcome.stopped_at) continue;
    rehearsal.faults.push_back({DracutFault::Kind::dropped, Status::fail, variable,
                                std::string(*outcome.stopped_at), "nvme",
                                sources_of_word(config, variable, *outcome.stopped_at)});
  }
}

void judge_exclusive_list(const DracutConfig& config, DracutRehearsal& rehearsal) {
  const DracutVariable* drivers = config.find("drivers");
  if (drivers == nullptr || drivers->value.empty() || rehearsal.forced) return;
  rehearsal.faults.push_back({DracutFault::Kind::exclusive_list, Status::fail, "drivers",
                              drivers->value, "nvme", deciding_assignments(*drivers)});
}

/// A fault of padding: fail where it swallows an nvme that is wanted; no word about one that has
/// been answered by naming nvme once more.
void judge_fused_drivers(const DracutConfig& config, const DracutTarget& target,
                         DracutRehearsal& rehearsal) {
  for (const char* name : {"add_drivers", "force_drivers", "drivers", "omit_drivers", "filesystems",
                           "install_items", "omit_dracutmodules"}) {
    const DracutVariable* variable = config.find(name);
    if (variable == nullptr) continue;
    const bool adds = std::string_view(name).ends_with("drivers") && name[0] != 'o';
    for (const FusedWord& fused : fused_words(*variable)) {
      const bool swallows = adds && has_part(fused, {"nvme"});
      if (rehearsal.forced && adds && has_part(fused, nvme_closure(target))) continue;
      const Status status =
          swallows && rehearsal.hostonly && !rehearsal.forced ? Status::fail : Status::warn;
      rehearsal.faults.push_back({DracutFault::Kind::fused, status, name, fused.word,
                                  swallows ? "nvme" : "", fused.assignments});
    }
  }
}

/// A name that two faults tell of is told of once.
void join_fused_and_dropped(DracutRehearsal& rehearsal) {
  std::vector<DracutFault>& faults = rehearsal.faults;
  for (DracutFault& fused : faults) {
    if (fused.kind != DracutFault::Kind::fused) continue;
    const auto twin = std::find_if(faults.begin(), faults.end(), [&](const DracutFault& fault) {
      return fault.kind == DracutFault::Kind::dropped && fault.variable == fused.variable &&
             fault.word == fused.word;
    });
    if (twin == faults.end()) continue;
    fused.status = Status::fail;
    fused.driver = "nvme";
    twin->word.clear();
  }
  std::erase_if(faults, [](const DracutFault& fault) {
    return fault.kind == DracutFault::Kind::dropped && fault.word.empty();
  });
}

// dracut's own modules

/// add_dracutmodules and dracutmodules with a name that dracut does not have end it with an error
/// (R9 dracut-init.sh:998-1011).
void judge_fused_modules(const DracutConfig& config, DracutRehearsal& rehearsal) {
  for (const char* name : {"add_dracutmodules", "force_add_dracutmodules", "dracutmodules"}) {
    const DracutVariable* variable = config.find(name);
    if (variable == nullptr) continue;
    for (const FusedWord& fused : fused_words(*variable))
      rehearsal.faults.push_back(
          {DracutFault::Kind::module_fused, Status::fail, name, fused.word, "", fused.assignments});
  }
}

/// 90kernel-modules installs the default selection of drivers; those named in add_drivers come
/// without it (R9 dracut.sh:2119-2140).
void judge_modules(const DracutConfig& config, DracutRehearsal& rehearsal) {
  constexpr std::string_view module = "kernel-modules";
  const Status status = rehearsal.forced ? Status::warn : Status::fail;
  const bool added = contains(words_of(config, {"force_add_dracutmodules"}), module);
  if (contains(words_of(config, {"omit_dracutmodules"}), module) && !added)
    rehearsal.faults.push_back({DracutFault::Kind::modules_omitted, status, "omit_dracutmodules",
                                std::string(module), "nvme",
                                sources_of_word(config, "omit_dracutmodules", module)});
  const Words listed = words_of(config, {"dracutmodules"});
  const Words all =
      words_of(config, {"dracutmodules", "add_dracutmodules", "force_add_dracutmodules"});
  const bool everything = listed.empty() || config.value("dracutmodules") == "all" ||
                          config.value("dracutmodules") == "auto";
  if (!everything && !contains(all, module))
    rehearsal.faults.push_back({DracutFault::Kind::modules_listed, status, "dracutmodules",
                                std::string(config.value("dracutmodules")), "nvme",
                                deciding_assignments(*config.find("dracutmodules"))});
}

void judge_no_kernel(const DracutConfig& config, DracutRehearsal& rehearsal) {
  const DracutVariable* variable = config.find("no_kernel");
  if (variable == nullptr || variable->value != "yes") return;
  rehearsal.faults.push_back({DracutFault::Kind::no_kernel, Status::fail, "no_kernel", "yes",
                              "nvme", deciding_assignments(*variable)});
}

const Kernel* newest_kernel(const Result<std::vector<Kernel>>& kernels) {
  const Kernel* newest = nullptr;
  if (!kernels) return newest;
  for (const Kernel& kernel : *kernels)
    if (newest == nullptr || compare_versions(kernel.version, newest->version) > 0)
      newest = &kernel;
  return newest;
}

}  // namespace

DracutTarget dracut_target(const Facts& facts) {
  DracutTarget target;
  target.newest = newest_kernel(facts.kernels);
  if (!facts.release || facts.release->major < 0) return target;
  const Release& release = *facts.release;
  target.builtin_name_aborts = release.major == 8;
  target.all_dashes = release.major >= 10;
  target.omit_anchored = release.major >= 10 || (release.major == 9 && release.minor >= 6);
  target.omit_known = release.major != 9 || release.minor >= 0;
  return target;
}

bool nvme_is_builtin(const DracutTarget& target) {
  return target.newest != nullptr && target.newest->builtin.count("nvme") > 0 &&
         target.newest->builtin.count("nvme_core") > 0;
}

std::vector<std::string> nvme_closure(const DracutTarget& target) {
  std::vector<std::string> names = {"nvme", "nvme_core"};
  for (const char* name : {"nvme_auth", "nvme_common", "nvme_keyring", "t10_pi", "hkdf"})
    if (target.newest != nullptr && target.newest->modular.count(name) > 0)
      names.emplace_back(name);
  return names;
}

DracutRehearsal rehearse_dracut(const DracutConfig& config, const DracutTarget& target) {
  DracutRehearsal rehearsal;
  rehearsal.hostonly = config.hostonly();
  judge_forced(config, target, rehearsal);
  judge_omitted(config, target, rehearsal);
  judge_exclusive_list(config, rehearsal);
  judge_fused_drivers(config, target, rehearsal);
  judge_dropped(config, target, rehearsal);
  join_fused_and_dropped(rehearsal);
  judge_fused_modules(config, rehearsal);
  judge_modules(config, rehearsal);
  judge_no_kernel(config, rehearsal);
  return rehearsal;
}

std::vector<Assignment> deciding_assignments(const DracutVariable& variable) {
  auto first = variable.assignments.end();
  while (first != variable.assignments.begin()) {
    --first;
    if (!first->append) break;
  }
  return {first, variable.assignments.end()};
}

std::string assignment_text(std::string_view variable, const Assignment& assignment) {
  return fmt::format("{}{}{}", variable, assignment.append ? "+=" : "=",
                     double_quoted(assignment.value));
}

std::string place_of(const Assignment& assignment) {
  if (assignment.line == 0) return printable(assignment.path);
  return fmt::format("{}:{}", printable(assignment.path), assignment.line);
}

std::vector<std::string> harmless_omit_words(const DracutConfig& config, const DracutTarget& target,
                                             const std::vector<std::string>& drivers) {
  std::vector<std::string> words;
  for (const std::string_view word : split_words(config.value("omit_drivers"))) {
    const std::string pattern = dashes_replaced(word, true);
    const bool harms = std::any_of(drivers.begin(), drivers.end(), [&](const std::string& driver) {
      const OmitEffect effect = effect_of(pattern, driver, target);
      return effect != OmitEffect::none && effect != OmitEffect::not_judged;
    });
    if (!harms) words.emplace_back(word);
  }
  return words;
}

}  // namespace preflight
