// SPDX-License-Identifier: MIT
// The decoders alone: in one piece and in the smallest pieces that they may be given they give the
// same bytes, or both refuse.
#include "agent/formats/decompress.h"

#include <algorithm>
#include <span>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

namespace preflight::fuzz {

namespace {

constexpr std::size_t output_cap = 1u << 20;
constexpr std::uint64_t memory = 8u << 20;
// What the walker always offers, but at the end of the image.
constexpr std::size_t smallest_piece = 16;

struct Outcome {
  std::string output;
  bool failed = false;
  bool finished = false;
  bool cut = false;  // at output_cap: the rest was not asked for
};

Outcome decode(std::string_view input, std::size_t piece) {
  const auto bytes = std::as_bytes(std::span(input));
  const auto decoder = make_decoder(detect_compression(bytes), memory);
  Outcome outcome;
  if (!decoder) return {"", true, false, false};
  std::size_t at = 0;
  for (;;) {
    const std::size_t count = std::min(piece, bytes.size() - at);
    const bool last = at + count == bytes.size();
    const auto done = (*decoder)->feed(bytes.subspan(at, count), last);
    if (!done) {
      outcome.failed = true;
      return outcome;
    }
    require(done->consumed <= count, "no more is consumed than was given");
    outcome.output.append(reinterpret_cast<const char*>(done->output.data()), done->output.size());
    at += done->consumed;
    outcome.finished = done->finished;
    outcome.cut = outcome.output.size() > output_cap;
    if (outcome.finished || outcome.cut) return outcome;
    require(done->consumed > 0 || !done->output.empty(), "it goes on or it ends");
  }
}

}  // namespace

void decompress(std::string_view input) {
  const Outcome whole = decode(input, input.size() + 1);
  const Outcome pieces = decode(input, smallest_piece);
  if (whole.cut || pieces.cut) return;
  require(whole.failed == pieces.failed && whole.finished == pieces.finished,
          "pieces do not matter");
  if (!whole.failed) require(whole.output == pieces.output, "pieces give the same bytes");
}

}  // namespace preflight::fuzz
