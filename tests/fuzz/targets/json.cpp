// SPDX-License-Identifier: MIT
// What is read is written so that it reads the same.
#include "agent/formats/json.h"

#include "agent/formats/text.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

namespace preflight::fuzz {

void json(std::string_view input) {
  const std::string shown = printable(input);
  require(is_showable(shown) && shown.find_first_of("\n\t") == std::string::npos,
          "printable means it");
  require(printable(shown) == shown, "what is printable stays");
  const auto as_string = parse_json("shown", dump_json(Json(shown)));
  require(as_string && as_string->string() && *as_string->string() == shown, "strings survive");

  const Result<Json> value = parse_json("json", input);
  if (!value) return;
  const std::string text = dump_json(*value);
  const Result<Json> again = parse_json("json", text);
  require(again.has_value() && dump_json(*again) == text, "it is read back as it was written");
  dump_json(*value, 2);
}

}  // namespace preflight::fuzz
