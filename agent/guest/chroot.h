// SPDX-License-Identifier: MIT
// One program of the guest, run where it belongs: on the live system directly, under --root in a
// chroot of the guest with /proc, /sys and /dev, in a mount namespace of its own that ends with it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agent/guest/command.h"
#include "agent/guest/guest.h"
#include "agent/result.h"

namespace preflight {

/// A file or directory of the guest that the program is to see in the place of another. Both are
/// guest paths without symlinks.
struct Overlay {
  std::string shown;  // "": an empty directory, in memory, that ends with the program
  std::string over;
};

/// The overlay that keeps a file as it is: the program can neither write to it nor rename or remove
/// it.
inline Overlay kept_as_it_is(const std::string& path) {
  return {path, path};
}

/// Asked again and again while a program runs, from another thread; true ends it. May be empty.
using StopAsked = std::function<bool()>;

/// Runs `command` (argv[0] and all paths as the guest has them). Its process group is killed when
/// it ends, when its time is up, when this process ends, however that happens, and when
/// `stop_asked` says so (then the exit status is 128 + SIGKILL); what has left the group is for the
/// caller's Descendants (descendants.h). Its I/O comes after everybody else's. Several may run at a
/// time. Errors: those of run(), denied or io when the namespace, a mount or the chroot fails,
/// wrong_type when the guest has no /proc, /sys or /dev directory.
Result<CommandOutput> run_in_guest(const Guest& guest, Command command,
                                   const std::vector<Overlay>& overlays,
                                   const StopAsked& stop_asked);

}  // namespace preflight
