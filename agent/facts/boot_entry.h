// SPDX-License-Identifier: MIT
// From an entry's fields to what GRUB loads for it.
#pragma once

#include <string>
#include <vector>

#include "agent/facts/boot.h"
#include "agent/facts/boot_default.h"
#include "agent/formats/bls.h"
#include "agent/guest/root.h"

namespace preflight {

/// One entry file as it was read.
struct EntryFile {
  BlsSortKey key;
  std::string path;
  BlsFile fields;
};

/// How paths in entries become guest paths. GRUB takes them from the file system that holds /boot.
struct BootPaths {
  bool separate = false;      // /boot is known to be a file system of its own
  bool same_as_root = false;  // /boot is known to be a part of /

  /// In a tree neither may be known: then /boot + path is tried, and the path as it is written.
  std::string guest_path(const Root& root, const std::string& written) const;
};

/// What is needed to turn fields into facts.
struct EntryContext {
  const Root& root;
  const GrubSite& site;  // for the variables
  BootPaths paths;
  bool el8 = false;  // its blscfg knows no early_initrd
};

/// `file` has a linux field. Oddities that change what is booted are added to `notes`.
BootEntry build_entry(const EntryContext& context, const EntryFile& file,
                      std::vector<Error>& notes);

}  // namespace preflight
