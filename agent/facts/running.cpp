// SPDX-License-Identifier: MIT
#include "agent/facts/running.h"

#include <fmt/format.h>

#include "agent/formats/json.h"
#include "agent/formats/text.h"
#include "agent/guest/command.h"

namespace preflight {

namespace {

Result<std::string> ask(std::vector<std::string> argv) {
  Command command;
  command.argv = std::move(argv);
  command.environment = {"LC_ALL=C", "PATH=/usr/sbin:/usr/bin", "LVM_SUPPRESS_FD_WARNINGS=1"};
  const std::string program = command.argv.front();
  const Result<CommandOutput> output = run(command);
  if (!output) return tl::unexpected(output.error());
  if (output->timed_out) return fail(ErrorKind::io, program, "it did not answer in time");
  if (output->exit_status != 0)
    return fail(ErrorKind::io, program,
                fmt::format("exit {}: {}", output->exit_status, printable(output->err)));
  return output->out;
}

Result<std::vector<VisiblePv>> ask_pvs() {
  const auto said =
      ask({"/usr/sbin/lvm", "pvs", "--reportformat", "json", "-o", "pv_name,vg_name"});
  return said ? parse_pvs(*said) : tl::unexpected(said.error());
}

Result<std::vector<std::string>> ask_failed_units() {
  const auto said = ask({"/usr/bin/systemctl", "list-units", "--state=failed", "--plain",
                         "--no-legend", "--no-pager", "--full"});
  if (!said) return tl::unexpected(said.error());
  return parse_units(*said);
}

}  // namespace

Result<std::vector<VisiblePv>> parse_pvs(std::string_view text) {
  const Result<Json> json = parse_json("pvs", text);
  if (!json) return tl::unexpected(json.error());
  const auto malformed = fail(ErrorKind::malformed, "pvs", "its report has no list of PVs");
  const Json* reports = json->find("report");
  if (!reports || !reports->array()) return malformed;
  std::vector<VisiblePv> pvs;
  for (const Json& report : *reports->array()) {
    const Json* list = report.find("pv");
    if (!list || !list->array()) return malformed;
    for (const Json& pv : *list->array()) pvs.push_back({pv.text("pv_name"), pv.text("vg_name")});
  }
  return pvs;
}

std::vector<std::string> parse_units(std::string_view text) {
  std::vector<std::string> units;
  for (const std::string_view line : split_lines(text))
    if (const auto words = split_words(line); !words.empty()) units.emplace_back(words.front());
  return units;
}

Running collect_running(const Guest& guest) {
  Running running;
  if (!guest.live) {
    const auto not_live = fail(ErrorKind::unsupported, guest.path, "it is not the running system");
    running.mounts = not_live;
    running.swaps = not_live;
    running.pvs = not_live;
    running.failed_units = not_live;
    return running;
  }
  running.mounts = read_mounts(guest.root);
  running.swaps = read_swaps(guest.root);
  running.pvs = ask_pvs();
  running.failed_units = ask_failed_units();
  return running;
}

}  // namespace preflight
