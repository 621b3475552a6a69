// SPDX-License-Identifier: MIT
#include "agent/guest/lvm.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <utility>
#include <vector>

#include "agent/formats/text.h"
#include "agent/guest/chroot.h"
#include "agent/guest/command.h"

namespace preflight {

namespace {

constexpr const char* lvm_program = "/usr/sbin/lvm";

std::vector<std::string> lvm_environment() {
  return {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "LVM_SUPPRESS_FD_WARNINGS=1"};
}

Result<CommandOutput> ask(std::vector<std::string> arguments, bool with_configuration) {
  Command command;
  command.argv = {lvm_program};
  for (std::string& argument : arguments) command.argv.push_back(std::move(argument));
  command.environment = lvm_environment();
  // lvm(8): an empty LVM_SYSTEM_DIR means that no configuration is read.
  if (!with_configuration) command.environment.emplace_back("LVM_SYSTEM_DIR=");
  command.timeout = std::chrono::seconds(10);
  command.output_cap = 1u << 16;
  Result<CommandOutput> output = run(command);
  if (output && output->timed_out)
    return fail(ErrorKind::io, lvm_program, "no answer within 10 seconds");
  return output;
}

Result<std::string> answer(std::vector<std::string> arguments, bool with_configuration) {
  Result<CommandOutput> output = ask(std::move(arguments), with_configuration);
  if (!output) return tl::unexpected(output.error());
  if (output->exit_status != 0)
    return fail(ErrorKind::io, lvm_program,
                fmt::format("exit status {}: {}", output->exit_status,
                            printable(trim(output->err).substr(0, 200))));
  return std::move(output->out);
}

}  // namespace

Result<std::string> ask_lvm_default() {
  return answer({"lvmconfig", "--typeconfig", "default", "devices/use_devicesfile"}, false);
}

Result<std::string> ask_lvm_setting() {
  return answer({"lvmconfig", "--typeconfig", "full", "devices/use_devicesfile"}, true);
}

Result<std::string> ask_lvm_version() {
  Result<CommandOutput> output = ask({"version"}, false);
  if (!output) return tl::unexpected(output.error());
  return std::move(output->out);
}

Result<std::string> propose_devices_file(const Guest& guest, const std::vector<std::string>& pvs) {
  constexpr const char* directory = "/etc/lvm/devices";
  Result<std::string> over = guest.root.resolve(directory);
  if (!over) return tl::unexpected(over.error());
  Command command;
  // Not vgimportdevices, which writes the device IDs into the VG's metadata as well
  // (tools/vgimportdevices.c: vg_write). The setting comes along: with 0 in lvm.conf lvmdevices
  // refuses ("Devices file not enabled", tools/lvmdevices.c).
  command.argv = {"/bin/sh", "-c",
                  "for pv; do /usr/sbin/lvm lvmdevices --config "
                  "'devices { use_devicesfile=1 devicesfile=\"system.devices\" }' "
                  "--adddev \"$pv\" >&2 || exit; done; cat /etc/lvm/devices/system.devices",
                  "sh"};
  command.argv.insert(command.argv.end(), pvs.begin(), pvs.end());
  command.environment = lvm_environment();
  command.output_cap = 1u << 16;
  const Result<CommandOutput> output = run_in_guest(guest, command, {{"", *over}}, nullptr);
  if (!output) return tl::unexpected(output.error());
  if (output->exit_status != 0 || output->timed_out || output->cut)
    return fail(ErrorKind::io, "lvmdevices",
                fmt::format("exit status {}: {}", output->exit_status,
                            printable(trim(output->err).substr(0, 200))));
  return output->out;
}

std::string host_name() {
  struct utsname names {};
  return ::uname(&names) == 0 ? names.nodename : "";
}

}  // namespace preflight
