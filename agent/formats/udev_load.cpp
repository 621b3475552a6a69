// SPDX-License-Identifier: MIT
#include "agent/formats/udev_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "agent/formats/cmdline.h"
#include "agent/formats/kmod_index.h"
#include "agent/formats/module_index.h"
#include "agent/formats/text.h"

namespace preflight {

namespace {

using Kind = ModprobeDirective::Kind;
using Reader = LoadArgument::Reader;
using Place = LoadObstacle::Place;

/// The names of a comma-separated list, each once: a list that repeats one is one obstacle.
std::set<std::string_view> listed_names(std::string_view list) {
  const std::vector<std::string_view> pieces = split_at(list, ',');
  return {pieces.begin(), pieces.end()};
}

bool same_parameter(std::string_view key, std::string_view name) {
  return std::equal(key.begin(), key.end(), name.begin(), name.end(),
                    [](char a, char b) { return (a == '-' ? '_' : a) == (b == '-' ? '_' : b); });
}

bool is_no_op(std::string_view command) {
  const std::vector<std::string_view> words = split_words(command);
  if (words.empty()) return true;
  constexpr std::array<std::string_view, 10> names{"true",   "false",  ":",       "exit", "echo",
                                                   "printf", "logger", "nologin", "null", "sleep"};
  const std::string_view name = words.front().substr(words.front().rfind('/') + 1);
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// With every quoted part replaced by one letter.
std::string without_quoted(std::string_view command) {
  std::string out;
  while (true) {
    const std::size_t open = command.find_first_of("\"'");
    out += command.substr(0, open);
    if (open == std::string_view::npos) return out;
    const std::size_t close = command.find(command[open], open + 1);
    out += 'q';
    if (close == std::string_view::npos) return out;
    command.remove_prefix(close + 1);
  }
}

/// Whether a shell command surely loads no module: each of its parts is known to do nothing.
bool loads_nothing(std::string_view command) {
  if (command.find('`') != std::string_view::npos || command.find("$(") != std::string_view::npos)
    return false;
  const std::string plain = without_quoted(command);
  std::string_view rest = plain;
  while (true) {
    const std::size_t end = rest.find_first_of(";&|");
    if (!is_no_op(rest.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    rest.remove_prefix(end + 1);
  }
}

/// The init functions of the modules that nvme can need; initcall_blacklist= names functions
/// (init/main.c, initcall_blacklisted()): module_init() in drivers/nvme/host/{pci,core}.c,
/// drivers/nvme/common/{auth,keyring}.c.
struct InitFunction {
  std::string_view module;
  std::string_view function;
};
constexpr std::array<InitFunction, 5> init_functions{{{"nvme", "nvme_init"},
                                                      {"nvme_core", "nvme_core_init"},
                                                      {"nvme_auth", "nvme_auth_init"},
                                                      {"nvme_common", "nvme_auth_init"},
                                                      {"nvme_keyring", "nvme_keyring_init"}}};

class Judge {
 public:
  Judge(const ModprobeConf& conf, const std::vector<LoadArgument>& arguments,
        const DriverRequest& request)
      : conf_(conf), arguments_(arguments), request_(request) {}

  LoadVerdict run() {
    initcall_blacklist();
    if (request_.builtin) return std::move(verdict_);
    module_blacklist();
    for (const std::string& module : request_.closure) install(module);
    const std::optional<std::string> forced = forced_by();
    verdict_.forced_by = forced.value_or("");
    // Only what stops a load by alias is got around by a load by name.
    std::vector<LoadObstacle>& soft = forced ? verdict_.overridden : verdict_.obstacles;
    blacklist_lines(soft);
    kmod_blacklist(soft);
    dracut_blacklist(soft);
    for (const std::string& modalias : request_.modaliases) stolen_alias(modalias, soft);
    return std::move(verdict_);
  }

 private:
  bool is_request(std::string_view module) const { return module == request_.module; }

  LoadObstacle obstacle(const ModprobeDirective& directive, std::string module,
                        std::string why) const {
    return {Place::modprobe_file, directive.path,    directive.line,
            directive.text,       std::move(module), std::move(why)};
  }

  LoadObstacle obstacle(const LoadArgument& argument, std::string_view module,
                        std::string why) const {
    const Place place =
        argument.reader == Reader::image ? Place::image_argument : Place::command_line;
    return {place,           argument.path,       argument.line,
            argument.text(), std::string(module), std::move(why)};
  }

  /// Every occurrence counts, and builtin functions as well as those of modules, whose
  /// " [module]" is cut off; the names are compared exactly.
  void initcall_blacklist() {
    for (const LoadArgument& argument : arguments_) {
      if (argument.reader != Reader::command_line || !argument.value ||
          !same_parameter(argument.key, "initcall_blacklist"))
        continue;
      for (const std::string_view name : listed_names(*argument.value))
        for (const auto& [module, function] : init_functions)
          if (name == function && counts_for_initcall(module))
            verdict_.obstacles.push_back(obstacle(
                argument, module,
                fmt::format("keeps the kernel from starting {} ({}())", module, function)));
    }
  }

  /// nvme_core is always needed, even where it is built in and so in nobody's modules.dep.
  bool counts_for_initcall(std::string_view module) const {
    return is_request(module) || module == "nvme_core" ||
           request_.closure.contains(std::string(module));
  }

  /// kernel/module/main.c, blacklisted(): a core_param of which the last occurrence wins, exact
  /// names between commas, asked for each module that is loaded, by whatever way.
  void module_blacklist() {
    const LoadArgument* last = nullptr;
    for (const LoadArgument& argument : arguments_)
      if (argument.reader == Reader::command_line && argument.value &&
          same_parameter(argument.key, "module_blacklist"))
        last = &argument;
    if (last == nullptr) return;
    for (const std::string_view name : listed_names(*last->value))
      if (request_.closure.contains(std::string(name)))
        verdict_.obstacles.push_back(
            obstacle(*last, name, fmt::format("makes the kernel refuse {}", name)));
  }

  enum class Softdep { none, ignores_commands, unclear };

  /// A module with soft dependencies that libkmod finds has its install command ignored
  /// (libkmod-module.c, __kmod_module_fill_softdep(), ignorecmd). The first matching line counts.
  Softdep softdep_of(const std::string& module) const {
    for (const ModprobeDirective& directive : conf_.directives) {
      if (directive.kind != Kind::softdep || !matches_pattern(directive.name, module)) continue;
      const std::vector<std::string> needed = softdep_modules(directive.value);
      const bool found = std::any_of(needed.begin(), needed.end(), [&](const std::string& name) {
        return request_.known.contains(canonical_module_name(name));
      });
      if (found) return Softdep::ignores_commands;
      return needed.empty() ? Softdep::none : Softdep::unclear;
    }
    return Softdep::none;
  }

  /// An install command runs instead of the load, for the driver and for what it needs
  /// (kmod_module_probe_insert_module()); the first matching line counts.
  void install(const std::string& module) {
    const auto line = std::find_if(
        conf_.directives.begin(), conf_.directives.end(), [&](const ModprobeDirective& directive) {
          return directive.kind == Kind::install && matches_pattern(directive.name, module);
        });
    if (line == conf_.directives.end()) return;
    const Softdep softdep = softdep_of(module);
    if (softdep == Softdep::ignores_commands) return;
    const bool nothing = loads_nothing(line->value);
    if (nothing && softdep == Softdep::none)
      verdict_.obstacles.push_back(obstacle(
          *line, module, fmt::format("runs a command that loads nothing in place of {}", module)));
    else
      verdict_.doubts.push_back(
          obstacle(*line, module,
                   nothing ? fmt::format("runs a command that loads nothing in place of {}, unless "
                                         "its soft dependencies are found",
                                         module)
                           : fmt::format("runs a command in place of loading {}", module)));
  }

  bool names_module(std::string_view list) const {
    for (const std::string_view piece : listed_names(list))
      for (const std::string_view name : split_words(piece))
        if (is_request(canonical_module_name(name))) return true;
    return false;
  }

  bool is_dracut_argument(const LoadArgument& argument, std::string_view key,
                          std::string_view old_key) const {
    return argument.value &&
           (argument.key == key || (request_.old_arguments && argument.key == old_key));
  }

  /// dracut-pre-udev.sh runs `modprobe nvme` for rd.driver.pre= before it writes any blacklist, and
  /// insmodpost.sh for rd.driver.post= once udev has settled. modprobe asks the blacklist for
  /// aliases alone, but resolves the name through modprobe.d's aliases first.
  std::optional<std::string> forced_by() const {
    const bool renamed = std::any_of(
        conf_.directives.begin(), conf_.directives.end(), [&](const ModprobeDirective& directive) {
          return directive.kind == Kind::alias && matches_pattern(directive.name, request_.module);
        });
    if (renamed) return std::nullopt;
    for (const LoadArgument& argument : arguments_)
      if ((is_dracut_argument(argument, "rd.driver.pre", "rdloaddriver") ||
           is_dracut_argument(argument, "rd.driver.post", "rdinsmodpost")) &&
          names_module(*argument.value))
        return argument.text();
    return std::nullopt;
  }

  std::string stops_udev() const {
    return fmt::format("keeps udev from loading {}", request_.module);
  }

  void blacklist_lines(std::vector<LoadObstacle>& soft) const {
    for (const ModprobeDirective& directive : conf_.directives)
      if (directive.kind == Kind::blacklist && is_request(directive.name))
        soft.push_back(obstacle(directive, directive.name, stops_udev()));
  }

  /// modprobe.blacklist=: every occurrence counts, names are taken as they are written
  /// (libkmod-config.c, kcmdline_parse_result()).
  void kmod_blacklist(std::vector<LoadObstacle>& soft) const {
    for (const LoadArgument& argument : arguments_) {
      if (argument.reader == Reader::image || argument.key != "modprobe.blacklist" ||
          !argument.value)
        continue;
      for (const std::string_view name : listed_names(*argument.value))
        if (is_request(name)) soft.push_back(obstacle(argument, name, stops_udev()));
    }
  }

  /// rd.driver.blacklist=: dracut-pre-udev.sh writes `blacklist` lines from it.
  void dracut_blacklist(std::vector<LoadObstacle>& soft) const {
    for (const LoadArgument& argument : arguments_)
      if (is_dracut_argument(argument, "rd.driver.blacklist", "rdblacklist") &&
          names_module(*argument.value))
        soft.push_back(obstacle(argument, request_.module, stops_udev()));
  }

  /// modprobe.d's aliases come first: where one matches, modules.alias is not asked
  /// (libkmod-module.c, kmod_module_new_from_lookup()). So does an install or remove line whose
  /// name is the very modalias.
  void stolen_alias(const std::string& modalias, std::vector<LoadObstacle>& soft) const {
    const std::string name = kmod_name(modalias).value_or(modalias);
    std::vector<const ModprobeDirective*> thieves;
    for (const ModprobeDirective& directive : conf_.directives) {
      if (directive.kind != Kind::alias || !matches_pattern(directive.name, name)) continue;
      if (is_request(directive.value)) return;
      thieves.push_back(&directive);
    }
    if (thieves.empty())
      for (const ModprobeDirective& directive : conf_.directives)
        if ((directive.kind == Kind::install || directive.kind == Kind::remove) &&
            directive.name == name)
          thieves.push_back(&directive);
    for (const ModprobeDirective* thief : thieves)
      add_once(soft,
               obstacle(*thief, request_.module,
                        fmt::format("takes the controller's alias away from {}", request_.module)));
  }

  static void add_once(std::vector<LoadObstacle>& soft, LoadObstacle obstacle) {
    for (const LoadObstacle& other : soft)
      if (other.path == obstacle.path && other.line == obstacle.line && other.why == obstacle.why)
        return;
    soft.push_back(std::move(obstacle));
  }

  const ModprobeConf& conf_;
  const std::vector<LoadArgument>& arguments_;
  const DriverRequest& request_;
  LoadVerdict verdict_;
};

}  // namespace

LoadVerdict judge_load(const ModprobeConf& conf, const std::vector<LoadArgument>& arguments,
                       const DriverRequest& request) {
  return Judge(conf, arguments, request).run();
}

}  // namespace preflight
