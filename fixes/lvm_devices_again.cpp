// SPDX-License-Identifier: MIT
// lvm-devices-again: the opposite of lvm-devicesfile, once the guest runs from NVMe: a devices file
// with the PVs of root's VG, and use_devicesfile as it was before the fix.
#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/formats/lvm_conf.h"
#include "agent/formats/lvm_conf_edit.h"
#include "agent/step.h"

namespace preflight {

namespace {

constexpr mode_t mode_of_devices_file = 0600;  // as LVM makes it (lib/device/device_id.c)

Result<std::string> with_value(const std::string& path, const std::string& text,
                               std::string_view value) {
  Result<LvmConf> conf = LvmConf::parse(path, text);
  if (!conf) return tl::unexpected(conf.error());
  return set_lvm_value(*conf, "devices", "use_devicesfile", value);
}

/// The very text from before the fix where nothing else was changed since; else what is there now
/// with the value turned.
Result<std::string> text_again(const std::string& path, const std::string& now,
                               const std::string& before) {
  if (const Result<std::string> fixed = with_value(path, before, "0"); fixed && *fixed == now)
    return before;
  return with_value(path, now, "1");
}

EditFile devices_file_edit(const Facts& facts) {
  EditFile edit;
  edit.path = facts.lvm.system_dir + "/devices/" + facts.lvm.devicesfile_name;
  if (facts.lvm.devices_file) edit.before = facts.lvm.devices_file->text;
  edit.after = *facts.finishing.devices_file;
  edit.mode = mode_of_devices_file;
  return edit;
}

Result<std::vector<Step>> plan(const Facts& facts, const std::vector<Finding>& findings) {
  std::vector<Step> steps;
  if (findings.empty()) return steps;
  if (!facts.finishing.devices_file) return tl::unexpected(facts.finishing.devices_file.error());
  // First: from the moment that the setting is 1, LVM sees what the devices file lists.
  steps.emplace_back(devices_file_edit(facts));
  LvmFacts lvm = facts.lvm;
  for (LvmFile& file : lvm.files) {
    const auto before = facts.finishing.lvm_files_before.find(file.path);
    if (before == facts.finishing.lvm_files_before.end()) continue;
    Result<std::string> after = text_again(file.path, file.text, before->second);
    if (!after) return tl::unexpected(after.error());
    steps.emplace_back(EditFile{file.path, file.text, *after});
    file.text = std::move(*after);
  }
  lvm = merge_lvm(std::move(lvm));
  if (!lvm.use_devicesfile) return tl::unexpected(lvm.use_devicesfile.error());
  if (!*lvm.use_devicesfile)
    return fail(ErrorKind::unsupported, facts.lvm.system_dir + "/lvm.conf",
                "use_devicesfile would still be 0 after the edit: it is set elsewhere since");
  return steps;
}

}  // namespace

extern const Fix lvm_devices_again_fix{"lvm-devices-again", plan};

}  // namespace preflight
