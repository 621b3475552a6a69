// SPDX-License-Identifier: MIT
#include "agent/finding.h"

namespace preflight {

std::string_view to_string(Status status) {
  switch (status) {
    case Status::pass:
      return "pass";
    case Status::warn:
      return "warn";
    case Status::fail:
      return "fail";
    case Status::unknown:
      return "unknown";
    case Status::skip:
      return "skip";
  }
  return "unknown";
}

}  // namespace preflight
