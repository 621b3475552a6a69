// SPDX-License-Identifier: MIT
// Whether udev in the initramfs would load a driver that is there: its builtin asks libkmod for the
// device's modalias with KMOD_PROBE_APPLY_BLACKLIST (systemd src/shared/module-util.c,
// module_load_and_warn()). What can stop that is modprobe.d, and words of the command line that
// libkmod, dracut and the kernel read, each in its own way.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/formats/modprobe_conf.h"

namespace preflight {

/// A word of the command line, with who reads it.
struct LoadArgument {
  enum class Reader {
    image,         // etc/cmdline or etc/cmdline.d of the image: dracut alone
    command_line,  // the kernel's: kernel, libkmod and dracut
    after_dashes,  // the kernel's, behind "--": libkmod and dracut alone
  };
  std::string key;
  std::optional<std::string> value;
  std::string path;  // where it is written
  int line = 0;
  Reader reader = Reader::command_line;

  std::string text() const { return value ? key + "=" + *value : key; }
};

/// The driver in question.
struct DriverRequest {
  std::string module = "nvme";          // canonical
  bool builtin = false;                 // then only initcall_blacklist= can stop it
  std::set<std::string> closure;        // canonical: the module and all that it needs
  std::set<std::string> known;          // canonical: what libkmod finds by name (modules.dep)
  std::vector<std::string> modaliases;  // of the controllers it is for
  bool old_arguments = true;            // rdblacklist= and its kin: dracut before 10x
};

/// One place that bears on the load.
struct LoadObstacle {
  enum class Place { modprobe_file, image_argument, command_line };
  Place place = Place::modprobe_file;
  std::string path;  // inside the image for modprobe files, as given for arguments
  int line = 0;
  std::string text;    // the line or word as written
  std::string module;  // the module it concerns
  std::string why;     // "keeps udev from loading nvme": a clause
};

/// What was found. The driver loads when there are neither obstacles nor doubts.
struct LoadVerdict {
  std::vector<LoadObstacle> obstacles;   // it does not load because of these
  std::vector<LoadObstacle> doubts;      // whether it loads depends on what cannot be judged
  std::vector<LoadObstacle> overridden;  // would stop udev, but `forced_by` loads it explicitly
  std::string forced_by;                 // rd.driver.pre=nvme: explicit loads ignore `blacklist`
};

LoadVerdict judge_load(const ModprobeConf& conf, const std::vector<LoadArgument>& arguments,
                       const DriverRequest& request);

}  // namespace preflight
