// SPDX-License-Identifier: MIT
// Every check, every fix's plan and both reports over a guest whose texts are the parts of the
// input: nothing of them reaches the reader's terminal as it is.
#include <fmt/format.h>

#include <cstring>

#include "agent/engine.h"
#include "agent/formats/bls.h"
#include "agent/formats/json.h"
#include "agent/report/report.h"
#include "agent/transaction/transaction.h"
#include "checks/list.h"
#include "tests/fuzz/edits.h"
#include "tests/fuzz/targets.h"

namespace preflight::fuzz {

namespace {

constexpr const char* kernel_name = "5.14.0-500.el9.x86_64";

Result<Image> image_of(std::string_view bytes) {
  const ByteSource source = [&](std::span<std::byte> into) -> Result<std::size_t> {
    const std::size_t count = std::min(into.size(), bytes.size());
    std::memcpy(into.data(), bytes.data(), count);
    bytes.remove_prefix(count);
    return count;
  };
  return read_image("/boot/initramfs.img", source, is_wanted_content,
                    {.unpacked_bytes = 1u << 20,
                     .entries = 1000,
                     .name_bytes = 64u << 10,
                     .kept_file = 64u << 10,
                     .kept_total = 256u << 10,
                     .decoder_memory = 8u << 20});
}

BootEntry entry_of(std::string_view text) {
  const BlsFile file = parse_bls(text);
  const auto value = [&](std::string_view key) {
    const BlsField* field = file.find(key);
    return field ? field->value : std::string();
  };
  BootEntry entry;
  entry.id = value("title");
  entry.path = entry.options_path = "/boot/loader/entries/entry.conf";
  entry.title = value("title");
  entry.version = value("version");
  entry.kernel = kernel_name;
  entry.linux_path = value("linux");
  entry.initrds = {"/boot/initramfs.img"};
  entry.options = value("options");
  entry.is_default = true;
  return entry;
}

/// parts: fstab, crypttab, lvm.conf, devices file, dracut drop-in, boot entry, multipath.conf,
/// image
Facts facts_of(const std::vector<std::string>& parts) {
  Facts facts;
  facts.privileged = true;
  facts.release = parse_os_release("/etc/os-release", "ID=rocky\nVERSION_ID=9.5\n");
  facts.storage = two_disks();
  facts.fstab = parse_fstab("/etc/fstab", parts[0]);
  facts.crypttab = parse_crypttab("/etc/crypttab", parts[1]);
  facts.lvm.installed = true;
  facts.lvm.system_dir = "/etc/lvm";
  facts.lvm.files = {{"/etc/lvm/lvm.conf", parts[2]}};
  facts.lvm.devices_file = parse_devices_file("/etc/lvm/devices/system.devices", parts[3]);
  facts.lvm.default_source = "EL 9";
  facts.lvm.use_devicesfile_default = true;
  facts.lvm = merge_lvm(std::move(facts.lvm));
  facts.dracut = evaluate_dracut({{"/etc/dracut.conf.d/x.conf", parts[4]}});
  facts.command_lines.texts =
      find_command_lines(CommandLineSource::entry, "/boot/loader/entries/entry.conf", parts[5]);
  BootMenu menu;
  menu.entries = {entry_of(parts[5])};
  menu.default_index = 0;
  facts.images.emplace(menu.entries[0].image_key(), image_of(parts[7]));
  facts.boot = std::move(menu);
  Kernel kernel;
  kernel.version = kernel_name;
  kernel.directory = fmt::format("/lib/modules/{}", kernel_name);
  facts.kernels = std::vector<Kernel>{kernel};
  facts.surroundings.multipath = {true, "/etc/multipath.conf", parts[6], {}};
  facts.surroundings.names = find_controller_names("/etc/multipath.conf", parts[6]);
  return facts;
}

}  // namespace

void checks(std::string_view input) {
  const Facts facts = facts_of(parts_of(input, 8));
  Report report;
  report.findings = run_checks(all_checks(), facts, {});
  report.verdict = judge(report.findings, false);
  report.exit_code = exit_code_of(report.verdict);
  const auto plan = plan_fixes(facts, report.findings);
  if (plan) {
    require(is_showable(describe_plan(*plan, ShownEdits::with_context)), "the plan can be shown");
    for (const Step& step : *plan) {
      const auto* edit = std::get_if<EditFile>(&step);
      require(!edit || edit->before != edit->after, "an edit changes something");
    }
  } else {
    report.fix = FixReport{"", "refused", {}, plan.error().message(), {}};
  }
  require(is_showable(text_report(facts, report, {false, 80, false, true})),
          "the text can be shown");
  const std::string json = json_report(facts, report);
  require(is_showable(json) && parse_json("report", json), "the report is JSON");
}

}  // namespace preflight::fuzz
