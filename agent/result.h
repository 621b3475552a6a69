// SPDX-License-Identifier: MIT
// Errors are values that name their source. Exceptions are left to bugs.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace preflight {

enum class ErrorKind {
  missing,      // nothing is there (ENOENT, ENOTDIR)
  denied,       // no permission to look
  wrong_type,   // a FIFO, device, directory.. where a regular file belongs
  too_large,    // over the cap for its kind
  malformed,    // read, but its content breaks the format's rules
  unsupported,  // well formed, but beyond what is read here ("cannot tell", never "absent")
  io,           // the system failed to read or write it
};

/// What prevented a value. `path` is a guest path ("/etc/lvm/lvm.conf"); `line` is 1-based, 0 when
/// the error concerns the whole file.
struct Error {
  ErrorKind kind = ErrorKind::io;
  std::string path;
  int line = 0;
  std::string what;

  /// "path:line: what", without the parts that are not known.
  std::string message() const;
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(ErrorKind kind, std::string path, std::string what,
                                  int line = 0) {
  return tl::unexpected<Error>(Error{kind, std::move(path), line, std::move(what)});
}

/// The error of a failed system call on `path`, `number` being its errno.
tl::unexpected<Error> fail_errno(int number, std::string path, std::string_view doing);

}  // namespace preflight
