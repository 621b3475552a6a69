// SPDX-License-Identifier: MIT
// A listing of block devices: whatever it says, walks over it end, and a name that a fix would
// write is one word without quotes.
#include "agent/facts/nvme_names.h"
#include "agent/facts/stable_name.h"
#include "agent/facts/storage.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

namespace preflight::fuzz {

namespace {

bool is_plain_word(std::string_view text) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) <= ' ' || c == '"' || c == '\'' || c == '\\' || c == '$')
      return false;
  return true;
}

void ask(const Storage& storage, std::size_t device) {
  storage.disks_under(device);
  storage.pvs_under(device);
  storage.below(device);
  storage.volume_under(device);
  nvme_names(storage, device, NamesSeenBy::root);
  const BlockDevice& found = storage.devices[device];
  for (const std::string& spec : {found.path, "UUID=" + found.uuid, "LABEL=" + found.label}) {
    storage.resolve(spec);
    const Result<std::string> stable = stable_name(storage, spec);
    if (stable) require(is_plain_word(*stable), "a stable name is a plain word");
  }
}

}  // namespace

void lsblk(std::string_view input) {
  const DeviceSpec spec = parse_device_spec(input);
  require(spec.kind == SpecKind::other || spec.value.size() <= input.size(), "no spec grows");
  const Result<Storage> storage = parse_lsblk("lsblk.json", input);
  if (!storage) return;
  const std::size_t asked = std::min<std::size_t>(storage->devices.size(), 20);
  for (std::size_t i = 0; i < asked; ++i) ask(*storage, i);
  storage->mounted_at("/");
  storage->logical_volume("rl", "root");
}

}  // namespace preflight::fuzz
