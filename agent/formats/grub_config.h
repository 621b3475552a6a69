// SPDX-License-Identifier: MIT
// What a grub.cfg says about the default entry and the variables that entries use. GRUB's scripts
// are not run here: conditions are kept as text and judged by those who ask.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace preflight {

/// "set name=value" or "name=value" outside of functions and menu entries.
struct GrubAssignment {
  std::string name;
  std::string value;      // quotes removed, variables as written ("${saved_entry}")
  std::string condition;  // text of the enclosing conditions, at most about 1 KiB of it; "" when it
                          // is always carried out
  std::string path;
  int line = 0;
};

/// A menuentry or submenu at the top level of the menu.
struct GrubMenuEntry {
  std::string title;
  std::string id;  // the title when it has no --id (grub_normal_add_menu_entry())
  bool conditional = false;
  bool before_blscfg = false;
  std::string path;
  int line = 0;
};

struct GrubConfig {
  std::string path;
  std::vector<GrubAssignment> assignments;  // in the file's order
  std::vector<GrubMenuEntry> menu_entries;  // in the file's order
  int blscfg_line = 0;                      // 0: the file does not run blscfg
  int configfile_line = 0;                  // of a stub that hands over to another grub.cfg
  // A quote or a block is not closed, or there is more in it than any menu needs (4096 assignments
  // or menu entries): what is listed here is not all.
  bool incomplete = false;

  /// Whether all it does is to hand over (the ESP's grub.cfg on EL 9 and 10).
  bool is_stub() const { return configfile_line > 0 && blscfg_line == 0; }
};

/// Reads with the word rules of grub-core/script/yylex.l.
GrubConfig parse_grub_config(const std::string& path, std::string_view text);

}  // namespace preflight
