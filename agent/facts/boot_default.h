// SPDX-License-Identifier: MIT
// Which menu entry GRUB boots when nobody touches a key. Pure: from what was read to a choice.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/formats/grub_config.h"
#include "agent/formats/grubenv.h"
#include "agent/result.h"

namespace preflight {

/// A variable as the entries see it: grubenv's value, overridden by what grub.cfg always sets, and
/// grub.cfg's fallback where it only sets an empty one (`if [ -z "${kernelopts}" ]`,
/// util/grub.d/10_linux.in).
struct GrubVariable {
  std::string value;
  std::string path;
  int line = 0;
};
using GrubVariables = std::map<std::string, GrubVariable, std::less<>>;

/// One configuration GRUB may start with: the directory that holds its grub.cfg and grubenv. An
/// error of kind missing says that there is no such file.
struct GrubSite {
  std::string directory;
  Result<GrubEnvironment> environment = fail(ErrorKind::missing, "", "not read");
  Result<GrubConfig> config = fail(ErrorKind::missing, "", "not read");
  GrubVariables variables;  // grub_variables() of both

  const GrubVariable* find(std::string_view name) const;
};

GrubVariables grub_variables(const Result<GrubEnvironment>& environment,
                             const Result<GrubConfig>& config);

/// An entry of the menu, in menu order.
struct MenuItem {
  std::string id;
  std::string title;
};

struct DefaultChoice {
  std::optional<std::size_t> next;   // index into the items; nullopt: it cannot be determined
  std::optional<std::size_t> later;  // what boots after a one-shot choice, when that differs
  std::string reason;
  bool bypassed = false;  // grub.cfg does not run blscfg: what it boots are not the items
};

/// The index of the item that a `default` names, as get_entry_number() of grub-core/normal/menu.c
/// finds it: by id, by title, then as a number. nullopt: none, and GRUB takes the first.
std::optional<std::size_t> find_menu_item(const std::vector<MenuItem>& items,
                                          std::string_view wanted);

/// `items` are what blscfg makes; grub.cfg's own menu entries are put around them.
DefaultChoice choose_default(const GrubSite& site, const std::vector<MenuItem>& items);

}  // namespace preflight
