// SPDX-License-Identifier: MIT
#include "agent/facts/facts.h"

namespace preflight {

Facts collect_facts(const Guest& guest, const ProgressSink& progress) {
  Facts facts;
  facts.root = guest.path;
  facts.live = guest.live;
  facts.privileged = guest.privileged;
  facts.release = collect_release(guest);
  facts.machine_id = collect_machine_id(guest);
  facts.kernels = collect_kernels(guest);
  facts.boot = collect_boot_menu(guest, facts.machine_id);
  facts.command_lines = collect_command_lines(guest, facts.boot);
  facts.images = collect_images(guest, facts.boot, progress);
  facts.dracut = collect_dracut(guest);
  facts.modprobe = collect_modprobe(guest);
  facts.lvm = collect_lvm(guest, facts.release);
  facts.storage = collect_storage(guest);
  facts.fstab = collect_fstab(guest);
  facts.crypttab = collect_crypttab(guest);
  facts.surroundings = collect_surroundings(guest);
  return facts;
}

}  // namespace preflight
