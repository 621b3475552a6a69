// SPDX-License-Identifier: MIT
// What the targets of the fixes share: a guest's disks, and a text before and after the fix.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "agent/facts/facts.h"
#include "fixes/list.h"
#include "tests/fuzz/fuzz.h"

namespace preflight::fuzz {

/// Two virtio disks as lsblk prints them: partitions with UUIDs, an LV, and a UUID that two have.
inline Storage two_disks() {
  constexpr std::string_view listing = R"({"blockdevices":[
    {"name":"vda","path":"/dev/vda","type":"disk","tran":"virtio","children":[
      {"name":"vda1","path":"/dev/vda1","type":"part","fstype":"vfat","uuid":"ABCD-1234"},
      {"name":"vda2","path":"/dev/vda2","type":"part","fstype":"xfs","label":"boot",
       "uuid":"22222222-2222-4222-8222-222222222222","mountpoint":"/boot"},
      {"name":"vda3","path":"/dev/vda3","type":"part","fstype":"LVM2_member","uuid":"AbCdEf-0123-4567-89ab-cdef-0123-456789","children":[
        {"name":"rl-root","path":"/dev/mapper/rl-root","kname":"dm-0","type":"lvm","fstype":"xfs",
         "uuid":"11111111-1111-4111-8111-111111111111","mountpoint":"/"}]},
      {"name":"vda4","path":"/dev/vda4","type":"part","fstype":"swap",
       "uuid":"33333333-3333-4333-8333-333333333333"}]},
    {"name":"vdb","path":"/dev/vdb","type":"disk","tran":"virtio","children":[
      {"name":"vdb1","path":"/dev/vdb1","type":"part","fstype":"ext4","uuid":"55555555-5555-4555-8555-555555555555"},
      {"name":"vdb10","path":"/dev/vdb10","type":"part","fstype":"ext4","uuid":"55555555-5555-4555-8555-555555555555"},
      {"name":"vdb2","path":"/dev/vdb2","type":"part"}]}]})";
  return parse_lsblk("lsblk", listing).value();
}

/// What the fix makes of the only file it is to edit: the edited text, the text as it was when it
/// changes nothing, nullopt when it refuses.
inline std::optional<std::string> edited_by(std::string_view id, const Facts& facts,
                                            const std::vector<Finding>& findings,
                                            const std::string& before) {
  for (const Fix& fix : all_fixes()) {
    if (fix.id != id) continue;
    const Result<std::vector<Step>> steps = fix.plan(facts, findings);
    if (!steps) return std::nullopt;
    if (steps->empty()) return before;
    require(steps->size() == 1, "one file is one step");
    const auto& edit = std::get<EditFile>(steps->front());
    require(edit.before == before, "the edit begins from the text as it is");
    return edit.after;
  }
  require(false, "the fix exists");
  return std::nullopt;
}

}  // namespace preflight::fuzz
