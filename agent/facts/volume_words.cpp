// SPDX-License-Identifier: MIT
#include "agent/facts/volume_words.h"

#include <algorithm>

#include "agent/formats/text.h"

namespace preflight {

namespace {

bool is_name(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+_.-") ==
             std::string_view::npos;
}

NamedVolume named_volume(std::string_view value, bool group) {
  const std::size_t slash = value.find('/');
  if (group) return {std::string(value), "", is_name(value)};
  if (slash == std::string_view::npos) return {std::string(value), "", false};
  NamedVolume named{std::string(value.substr(0, slash)), std::string(value.substr(slash + 1)),
                    true};
  named.well_formed = is_name(named.vg) && is_name(named.lv);
  return named;
}

bool is_active(const Storage& storage, const NamedVolume& volume) {
  if (!volume.lv.empty()) return storage.logical_volume(volume.vg, volume.lv).has_value();
  return std::any_of(storage.devices.begin(), storage.devices.end(),
                     [&](const BlockDevice& device) {
                       if (!device.is_logical_volume()) return false;
                       const auto name = split_dm_name(device.dm_name);
                       return name && name->vg == volume.vg;
                     });
}

bool is_recorded(const LvmFacts& lvm, const NamedVolume& volume) {
  return std::any_of(lvm.recorded_volumes.begin(), lvm.recorded_volumes.end(),
                     [&](const RecordedVolume& recorded) {
                       return recorded.vg == volume.vg &&
                              (volume.lv.empty() || recorded.lv == volume.lv);
                     });
}

}  // namespace

bool NamedVolume::covers(const VolumeName& volume) const {
  return well_formed && vg == volume.vg && (lv.empty() || lv == volume.lv);
}

bool knows_old_words(const Result<Release>& release) {
  return !release || release->major < 10;
}

std::vector<NamedVolume> volumes_named_by(const CmdlineWord& word, bool old_words) {
  const bool group = word.key == "rd.lvm.vg" || (old_words && word.key == "rd_LVM_VG");
  const bool volume = word.key == "rd.lvm.lv" || (old_words && word.key == "rd_LVM_LV");
  std::vector<NamedVolume> named;
  if (!group && !volume) return named;
  const std::string value = word.value.value_or(word.key);
  for (const std::string_view part : split_words(value)) named.push_back(named_volume(part, group));
  return named;
}

bool switches_lvm_off(const CmdlineWord& word, bool old_words) {
  if (old_words && word.key == "rd_NO_LVM") return true;
  return word.key == "rd.lvm" && (word.value == "0" || word.value == "no" || word.value == "off");
}

std::optional<Existence> find_volume(const Result<Storage>& storage, const LvmFacts& lvm,
                                     const NamedVolume& volume) {
  // A listing from a rescue system, where the volume groups may not be active, can't say what is
  // missing.
  if (!storage || !storage->mounted_at("/")) return std::nullopt;
  if (is_active(*storage, volume)) return Existence::active;
  return is_recorded(lvm, volume) ? Existence::recorded : Existence::missing;
}

}  // namespace preflight
