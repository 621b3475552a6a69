// SPDX-License-Identifier: MIT
// Entry files, variables in their values, and the menu's order. The parts of an input are entries.
#include "agent/formats/bls.h"

#include <algorithm>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

namespace preflight::fuzz {

namespace {

BlsSortKey key_of(const BlsFile& file, std::string id) {
  const BlsField* version = file.find("version");
  return {std::move(id), version ? std::optional(version->value) : std::nullopt};
}

void check_order(const std::vector<BlsSortKey>& keys, bool el8) {
  std::vector<std::size_t> order = bls_menu_order(keys, el8);
  std::sort(order.begin(), order.end());
  require(order.size() == keys.size(), "every entry has a place");
  for (std::size_t i = 0; i < order.size(); ++i) require(order[i] == i, "each place is taken once");
  bls_same_place(keys[0], keys[1], el8);
}

}  // namespace

void bls(std::string_view input) {
  std::vector<BlsSortKey> keys;
  const VariableLookup lookup = [](std::string_view name) -> std::optional<std::string> {
    if (name.size() % 2 == 0) return std::nullopt;
    return "$kernelopts " + std::string(name);
  };
  for (const std::string& part : parts_of(input, 4)) {
    const BlsFile file = parse_bls(part);
    for (const BlsField& field : file.fields) {
      require(!field.key.empty() || !field.value.empty(), "a field has something in it");
      require(field.value.find('\n') == std::string::npos, "a value is of one line");
      expand_bls_value(field.value, lookup);
      bls_variables(field.value);
      require(grub_command_length(field.value) <= field.value.size(), "a part is not longer");
    }
    keys.push_back(key_of(file, part.substr(0, part.find('\n'))));
  }
  check_order(keys, false);
  check_order(keys, true);
}

}  // namespace preflight::fuzz
