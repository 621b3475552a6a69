// SPDX-License-Identifier: MIT
// libFuzzer's way into the target that PREFLIGHT_FUZZ_TARGET names.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  preflight::fuzz::PREFLIGHT_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
