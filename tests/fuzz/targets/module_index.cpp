// SPDX-License-Identifier: MIT
// The text indexes of modules.
#include "agent/formats/module_index.h"

#include "agent/formats/kmod_index.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

namespace preflight::fuzz {

void module_index(std::string_view input) {
  const ModuleDependencies dependencies = parse_dependencies(input);
  for (const auto& [name, line] : dependencies.by_name) {
    require(name == canonical_module_name(line.path), "lines are found by canonical names");
  }
  const ModuleNames builtin = builtin_names(input), modular = dependency_names(input);
  if (builtin)
    for (const std::string& name : *builtin)
      require(name.find('-') == std::string::npos, "canonical names have no dashes");
  if (modular) {
    require(modular->size() == dependencies.by_name.size(), "both readers see the same modules");
    require(dependency_names(input, modular->size()).has_value(), "as many as allowed are fine");
    if (!modular->empty())
      require(!dependency_names(input, modular->size() - 1), "more than allowed are refused");
  }
  if (const auto needs = module_needs(input, input.size())) {
    std::size_t names = needs->size();
    for (const auto& [name, needed] : *needs) {
      require(dependencies.by_name.contains(name), "needs are those of known modules");
      names += needed.size();
    }
    require(needs->size() == dependencies.by_name.size(), "every module's needs are known");
    require(module_needs(input, names).has_value(), "as many names as allowed are fine");
    if (names > 0) require(!module_needs(input, names - 1), "more names than allowed are refused");
  }
  for (const AliasMatch& match : match_alias(input, qemu_nvme_modalias))
    require(match.line > 0, "matches know their lines");
  const std::vector<std::string> parts = parts_of(input, 2);
  require(matches_pattern("*", parts[1]), "a star matches everything");
  matches_pattern(parts[0], parts[1]);
}

}  // namespace preflight::fuzz
