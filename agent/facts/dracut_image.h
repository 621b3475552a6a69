// SPDX-License-Identifier: MIT
// What dracut's configuration means for the image of the next kernel: will it hold the NVMe driver?
// Pure. The checks tell what is found here; the fix proves its drop-in with it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/facts/dracut.h"
#include "agent/facts/facts.h"
#include "agent/finding.h"

namespace preflight {

/// dracut's behaviour that depends on its version, and what stands for the kernel to come.
struct DracutTarget {
  const Kernel* newest = nullptr;    // of the installed kernels; nullptr when none is known
  bool builtin_name_aborts = false;  // EL 8: a built-in name in add_drivers ends the list
                                     // (R8 dracut-install.c:1325-1327, R9:1629-1632)
  bool omit_anchored = false;        // omit_drivers patterns match whole names (R9 since acbb003a,
                                     // EL 9.6 and EL 10; not R8 dracut.sh:951)
  bool omit_known = false;           // false: the release does not tell which of the two
  bool all_dashes = false;           // omit_drivers: every '-' becomes '_', not the first alone
                                     // (R10 dracut.sh:1439-1448)
};

DracutTarget dracut_target(const Facts& facts);

/// The newest kernel has the driver built in, so that no image needs it.
bool nvme_is_builtin(const DracutTarget& target);

/// nvme and the modules it may need, as far as the newest kernel has them as modules.
std::vector<std::string> nvme_closure(const DracutTarget& target);

struct DracutFault {
  enum class Kind {
    omitted,          // omit_drivers matches nvme or a module it needs
    omit_malformed,   // omit_drivers is no regular expression: no module at all is installed
    omit_unclear,     // omit_drivers cannot be judged
    exclusive_list,   // drivers= without nvme
    fused,            // words of several += assignments have become one
    dropped,          // a name before nvme does not exist: dracut stops at it
    module_fused,     // the same with names of dracut modules: dracut ends with an error
    modules_omitted,  // dracut's module kernel-modules is left out
    modules_listed,   // dracutmodules= without kernel-modules
    no_kernel,        // no_kernel=yes
  };
  Kind kind{};
  Status status = Status::fail;  // fail, warn (harmless today) or unknown
  std::string variable;
  std::string word;                     // the word or value at fault
  std::string driver;                   // the driver it concerns
  std::vector<Assignment> assignments;  // where it comes from
};

struct DracutRehearsal {
  bool hostonly = false;
  bool forced = false;  // nvme is named in add_drivers, force_drivers or drivers, and arrives
  std::vector<Assignment> forced_by;
  std::vector<DracutFault> faults;
};

DracutRehearsal rehearse_dracut(const DracutConfig& config, const DracutTarget& target);

/// The assignments that make a variable's value: the last that sets it and those appended since.
std::vector<Assignment> deciding_assignments(const DracutVariable& variable);

/// "name=value" as it stands in the file, for evidence.
std::string assignment_text(std::string_view variable, const Assignment& assignment);

/// "/etc/x.conf:3", or the path alone where the line is not known.
std::string place_of(const Assignment& assignment);

/// The words of omit_drivers that keep none of `drivers` out.
std::vector<std::string> harmless_omit_words(const DracutConfig& config, const DracutTarget& target,
                                             const std::vector<std::string>& drivers);

}  // namespace preflight
