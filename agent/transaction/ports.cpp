// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <utility>

#include "agent/facts/boot.h"
#include "agent/transaction/transaction.h"
#include "agent/transaction/verify.h"

namespace preflight {

TransactionPorts real_ports(const Guest& guest, const Facts* facts,
                            std::function<std::vector<std::string>()> recheck,
                            ProgressSink progress, const std::atomic<bool>* stop) {
  TransactionPorts ports;
  ports.run_dracut = [&guest](const Command& command, const std::vector<Overlay>& overlays,
                              const StopAsked& stop_asked) {
    return run_in_guest(guest, command, overlays, stop_asked);
  };
  ports.read_image = [&guest](const std::string& path) {
    return read_guest_image(guest.root, {path});
  };
  if (facts && facts->lvm.devices_file) ports.devices_file = facts->lvm.devices_file->path;
  ports.verify = [facts](const Image* old, const Image& fresh,
                         const BuildImage& step) -> std::vector<std::string> {
    const Kernel* kernel = facts ? find_kernel(facts->kernels, step.kernel) : nullptr;
    if (!kernel) return {fmt::format("kernel {} has no modules in the guest", step.kernel)};
    return verify_new_image(old, fresh, *kernel, modules_of_root(facts->storage));
  };
  ports.recheck = std::move(recheck);
  ports.now = [] { return std::time(nullptr); };
  ports.progress = std::move(progress);
  ports.space = space_at;
  ports.stop = stop;
  return ports;
}

}  // namespace preflight
