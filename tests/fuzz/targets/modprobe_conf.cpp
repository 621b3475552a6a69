// SPDX-License-Identifier: MIT
// modprobe.d and a command line (the second part): whether they keep nvme from loading.
#include "agent/formats/modprobe_conf.h"

#include "agent/formats/cmdline.h"
#include "agent/formats/udev_load.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

namespace preflight::fuzz {

namespace {

std::vector<LoadArgument> arguments_of(std::string_view command_line) {
  std::vector<LoadArgument> arguments;
  for (const CmdlineWord& word : parse_cmdline(command_line)) {
    require(word.offset + word.length <= command_line.size(), "words lie in the text");
    arguments.push_back({word.key, word.value, "/proc/cmdline", 1, {}});
    arguments.back().reader = static_cast<LoadArgument::Reader>(word.length % 3);
  }
  return arguments;
}

}  // namespace

void modprobe_conf(std::string_view input) {
  const std::vector<std::string> parts = parts_of(input, 2);
  ModprobeConf conf;
  conf.directives = parse_modprobe_conf("/etc/modprobe.d/x.conf", parts[0]);
  for (const ModprobeDirective& directive : conf.directives) {
    require(directive.line > 0, "directives know their lines");
    softdep_modules(directive.value);
  }
  DriverRequest request;
  request.closure = {"nvme", "nvme_core", "t10_pi"};
  request.known = {"nvme", "nvme_core", "t10_pi", "virtio_blk"};
  request.modaliases = {"pci:v0000FB5Dd00000A0Asv00000000sd00000000bc01sc08i02"};
  const LoadVerdict verdict = judge_load(conf, arguments_of(parts[1]), request);
  require(!verdict.overridden.empty() ? !verdict.forced_by.empty() : true,
          "what is overridden is overridden by something");
}

}  // namespace preflight::fuzz
