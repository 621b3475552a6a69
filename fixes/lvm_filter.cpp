// SPDX-License-Identifier: MIT
// lvm-filter: one accepting pattern in front of each list that hides the PV. The first pattern that
// matches a name decides (lvm.conf(5)), so what the list says of other devices stays.
#include <fmt/format.h>

#include <algorithm>

#include "agent/facts/pv_filter.h"
#include "agent/formats/lvm_conf.h"
#include "agent/formats/lvm_conf_edit.h"
#include "agent/step.h"

namespace preflight {

namespace {

constexpr std::string_view accepting = "\"a|^/dev/nvme|\"";

/// The list as written, with the pattern in front; a lone string becomes a list.
std::string with_pattern(std::string_view written) {
  if (!written.starts_with('[')) return fmt::format("[ {}, {} ]", accepting, written);
  return fmt::format("[ {},{}", accepting, written.substr(1));
}

/// The last file that sets it comes first in the merged list (filter), or decides (global_filter).
Result<EditFile> edit_setting(const LvmFacts& lvm, const std::string& setting) {
  for (auto file = lvm.files.rbegin(); file != lvm.files.rend(); ++file) {
    const Result<LvmConf> conf = LvmConf::parse(file->path, file->text);
    if (!conf) return tl::unexpected(conf.error());
    const auto places = conf->places(setting);
    if (!places) return tl::unexpected(places.error());
    if (places->empty()) continue;
    const std::string value = with_pattern(conf->written(places->back()));
    const std::size_t slash = setting.find('/');
    Result<std::string> after =
        set_lvm_value(*conf, setting.substr(0, slash), setting.substr(slash + 1), value);
    if (!after) return tl::unexpected(after.error());
    return EditFile{file->path, file->text, std::move(*after)};
  }
  return fail(ErrorKind::missing, "", setting + " is set in no file");
}

/// Applies the edit to the facts, so that the next list is edited in the new text.
void absorb(LvmFacts& lvm, const EditFile& edit) {
  for (LvmFile& file : lvm.files)
    if (file.path == edit.path) file.text = edit.after;
  lvm = merge_lvm(std::move(lvm));
}

Result<std::vector<Step>> plan(const Facts& facts, const std::vector<Finding>&) {
  LvmFacts lvm = facts.lvm;
  std::vector<EditFile> edits;
  for (const std::string setting : {"devices/filter", "devices/global_filter"}) {
    const FilterJudgement judgement = judge_filters(lvm, facts.storage);
    const bool hides = std::any_of(judgement.hidden.begin(), judgement.hidden.end(),
                                   [&](const HiddenPv& pv) { return pv.setting == setting; });
    if (!hides) continue;
    Result<EditFile> edit = edit_setting(lvm, setting);
    if (!edit) return tl::unexpected(edit.error());
    absorb(lvm, *edit);
    const auto same = std::find_if(edits.begin(), edits.end(),
                                   [&](const EditFile& e) { return e.path == edit->path; });
    if (same == edits.end())
      edits.push_back(std::move(*edit));
    else
      same->after = std::move(edit->after);
  }
  if (!judge_filters(lvm, facts.storage).hidden.empty())
    return fail(ErrorKind::unsupported, facts.lvm.system_dir + "/lvm.conf",
                "the filter would still hide the PV after the edit");
  return std::vector<Step>(edits.begin(), edits.end());
}

}  // namespace

extern const Fix lvm_filter_fix{"lvm-filter", plan};

}  // namespace preflight
