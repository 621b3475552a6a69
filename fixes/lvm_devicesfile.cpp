// SPDX-License-Identifier: MIT
// lvm-devicesfile: sets devices/use_devicesfile = 0 in the file that decides, and nothing else.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/formats/lvm_conf.h"
#include "agent/formats/lvm_conf_edit.h"
#include "agent/step.h"

namespace preflight {

namespace {

/// The file whose setting counts now. Where none does: lvm.conf, which documents the setting and is
/// where one looks for it (lvmlocal.conf is meant for the section "local", see lvmlocal.conf(5)).
std::string file_to_edit(const LvmFacts& lvm) {
  if (lvm.use_devicesfile_decider)
    return lvm.use_devicesfile_settings[*lvm.use_devicesfile_decider].path;
  return lvm.system_dir + "/lvm.conf";
}

LvmFile* find_file(LvmFacts& lvm, const std::string& path) {
  const auto it = std::find_if(lvm.files.begin(), lvm.files.end(),
                               [&](const LvmFile& file) { return file.path == path; });
  return it == lvm.files.end() ? nullptr : &*it;
}

/// Merges all files anew with the edited one: LVM has to come to 0 with it.
Result<void> prove(LvmFacts lvm, const EditFile& edit) {
  if (LvmFile* file = find_file(lvm, edit.path))
    file->text = edit.after;
  else  // only lvm.conf is ever created, and it comes first
    lvm.files.insert(lvm.files.begin(), {edit.path, edit.after});
  lvm = merge_lvm(std::move(lvm));
  if (!lvm.use_devicesfile) return tl::unexpected(lvm.use_devicesfile.error());
  if (*lvm.use_devicesfile)
    return fail(ErrorKind::unsupported, edit.path,
                "LVM would not take use_devicesfile = 0 from this file (is its devices section for "
                "other hosts?)");
  return {};
}

Result<std::vector<Step>> plan(const Facts& facts, const std::vector<Finding>& findings) {
  std::vector<Step> steps;
  if (findings.empty()) return steps;
  LvmFacts lvm = facts.lvm;
  if (!lvm.use_devicesfile) return tl::unexpected(lvm.use_devicesfile.error());
  if (!*lvm.use_devicesfile) return steps;

  EditFile edit;
  edit.path = file_to_edit(lvm);
  if (const LvmFile* file = find_file(lvm, edit.path)) edit.before = file->text;
  Result<LvmConf> before = LvmConf::parse(edit.path, edit.before.value_or(""));
  if (!before) return tl::unexpected(before.error());
  Result<std::string> after = set_lvm_value(*before, "devices", "use_devicesfile", "0");
  if (!after) return tl::unexpected(after.error());
  edit.after = std::move(*after);
  if (Result<void> proved = prove(std::move(lvm), edit); !proved)
    return tl::unexpected(proved.error());
  steps.push_back(std::move(edit));
  return steps;
}

}  // namespace

extern const Fix lvm_devicesfile_fix{"lvm-devicesfile", plan};

}  // namespace preflight
