// SPDX-License-Identifier: MIT
#include "agent/result.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace preflight {

std::string Error::message() const {
  if (path.empty()) return what;
  if (line > 0) return fmt::format("{}:{}: {}", path, line, what);
  return fmt::format("{}: {}", path, what);
}

namespace {

ErrorKind kind_of(int number) {
  switch (number) {
    case ENOENT:
    case ENOTDIR:
      return ErrorKind::missing;
    case EACCES:
    case EPERM:
      return ErrorKind::denied;
    case EISDIR:
    case ELOOP:
    case ENXIO:
      return ErrorKind::wrong_type;
    case EFBIG:
      return ErrorKind::too_large;
    default:
      return ErrorKind::io;
  }
}

}  // namespace

tl::unexpected<Error> fail_errno(int number, std::string path, std::string_view doing) {
  return fail(kind_of(number), std::move(path),
              fmt::format("cannot {}: {}", doing, std::strerror(number)));
}

}  // namespace preflight
