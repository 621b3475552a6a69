// SPDX-License-Identifier: MIT
#include "agent/transaction/restore.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace preflight {

namespace {

// lvm2 >= 2.03.24 renames the devices file to "<name>-unused.YYYYMMDD.HHMMSS" once
// use_devicesfile is 0 (lib/device/dev-cache.c:1984-2025 of lvm2, commit 4f9215e70).
constexpr std::string_view unused_suffix = "-unused.";

enum class Now { original, placed, missing, foreign };

struct Standing {
  Now now = Now::foreign;
  std::string why;  // when foreign
  Root::Place place;
};

Result<OpenFile> open_backup(const Folder& run, const std::string& name) {
  return open_regular(run / name);
}

Result<Now> judge(const Folder& run, const FileRecord& file, const At& there) {
  Result<OpenFile> open = open_regular(there);
  if (!open && open.error().kind == ErrorKind::missing) return Now::missing;
  if (!open && open.error().kind == ErrorKind::wrong_type) return Now::foreign;
  if (!open) return tl::unexpected(open.error());
  Result<Digest> digest = digest_of(bytes_of(open->fd.get(), file.path));
  if (!digest) return tl::unexpected(digest.error());
  if (file.existed && *digest == file.original) {
    Result<OpenFile> backup = open_backup(run, file.backup);
    if (!backup) return tl::unexpected(backup.error());
    Result<bool> same = same_bytes(bytes_of(open->fd.get(), file.path),
                                   bytes_of(backup->fd.get(), run.path + '/' + file.backup));
    if (!same) return tl::unexpected(same.error());
    if (*same) return Now::original;
  }
  return *digest == file.placed ? Now::placed : Now::foreign;
}

/// Only for files with `placed`.
Result<Standing> stand(const Root& root, const Folder& run, const FileRecord& file) {
  Result<Root::Place> place = root.place(file.path);
  Standing standing;
  if (!place && place.error().kind == ErrorKind::missing) {
    standing.now = Now::missing;
    return standing;
  }
  if (!place) return tl::unexpected(place.error());
  if (place->path != file.path) {
    standing.why = "is reached through a symbolic link now";
    return standing;
  }
  Result<Now> now = judge(run, file, at(*place));
  if (!now) return tl::unexpected(now.error());
  standing.now = *now;
  standing.place = std::move(*place);
  return standing;
}

Result<void> check_backup(const Folder& run, const FileRecord& file) {
  const std::string path = run.path + '/' + file.backup;
  Result<OpenFile> backup = open_backup(run, file.backup);
  if (!backup) return tl::unexpected(backup.error());
  Result<Digest> digest = digest_of(bytes_of(backup->fd.get(), path));
  if (!digest) return tl::unexpected(digest.error());
  if (*digest != file.original)
    return fail(ErrorKind::malformed, path,
                fmt::format("this backup of {} is not what the journal says", file.path));
  return {};
}

Result<void> check_file(const Root& root, const Folder& run, const FileRecord& file) {
  Result<Standing> standing = stand(root, run, file);
  if (!standing) return tl::unexpected(standing.error());
  if (standing->now == Now::foreign || (standing->now == Now::missing && file.existed)) {
    std::string why = standing->why;
    if (why.empty()) why = standing->now == Now::missing ? "is gone" : "has changed since";
    const std::string hint =
        file.existed ? fmt::format("; what it was before run {} is in {}/{}",
                                   run.path.substr(run.path.rfind('/') + 1), run.path, file.backup)
                     : std::string("; remove it yourself if it is not wanted");
    return fail(ErrorKind::malformed, file.path,
                fmt::format("{}, so it is not put back{}", why, hint));
  }
  if (!file.existed) return {};
  if (auto done = check_backup(run, file); !done) return done;
  if (standing->now == Now::original) return {};
  Result<Space> space = space_at(standing->place.directory.get(), file.path);
  if (!space) return tl::unexpected(space.error());
  if (space->read_only) return fail(ErrorKind::denied, file.path, "its file system is read-only");
  if (space->free_bytes < file.original.size)
    return fail(ErrorKind::io, file.path,
                fmt::format("{} bytes are needed beside it to put it back, {} are free",
                            file.original.size, space->free_bytes));
  return {};
}

Result<void> prove(const FileRecord& file, const At& there, const OpenFile& backup) {
  Result<OpenFile> open = open_regular(there);
  if (!open) return tl::unexpected(open.error());
  Result<bool> same =
      same_bytes(bytes_of(open->fd.get(), file.path), bytes_of(backup.fd.get(), file.backup));
  if (!same) return tl::unexpected(same.error());
  Result<Attributes> attributes = read_attributes(open->fd.get(), file.path);
  if (!attributes) return tl::unexpected(attributes.error());
  if (!*same || !attributes->same_as(file.attributes))
    return fail(ErrorKind::io, file.path, "does not read back as it was");
  return {};
}

/// True when the file was touched.
Result<bool> put_back(const Folder& run, const FileRecord& file, const Standing& standing) {
  const At there = at(standing.place);
  Result<bool> removed =
      remove_file({there.directory, temporary_name(there.name), there.path + " (new)"});
  if (!removed) return removed;
  if (!file.existed) return standing.now == Now::missing ? Result<bool>(false) : remove_file(there);
  Result<OpenFile> backup = open_backup(run, file.backup);
  if (!backup) return tl::unexpected(backup.error());
  if (standing.now == Now::original && prove(file, there, *backup)) return false;
  Result<void> done = replace_file(there, bytes_of(backup->fd.get(), file.backup), file.attributes,
                                   Bytes::original);
  if (done) done = prove(file, there, *backup);
  if (!done) return tl::unexpected(done.error());
  return true;
}

Result<bool> restore_file(const Root& root, const Folder& run, const FileRecord& file) {
  Result<Standing> standing = stand(root, run, file);
  if (!standing) return tl::unexpected(standing.error());
  if (standing->now == Now::foreign)
    return fail(ErrorKind::malformed, file.path, "has changed since");
  if (standing->place.name.empty()) return false;  // its directory was never created
  return put_back(run, file, *standing);
}

/// Left as it is when somebody has put something into it.
Result<void> restore_directory(const Root& root, const std::string& path, Restored& out) {
  Result<Root::Place> place = root.place(path);
  if (!place && place.error().kind == ErrorKind::missing) return {};
  if (!place) return tl::unexpected(place.error());
  Result<bool> removed = remove_empty_directory(at(*place));
  if (!removed) return tl::unexpected(removed.error());
  if (*removed) {
    out.changed.push_back(path);
  } else if (root.exists(path)) {
    out.notes.push_back(fmt::format("{} was created by this run and stays: it is not empty", path));
  }
  return {};
}

/// The newest "<name>-unused.*" beside it, if lvm2 renamed it.
std::optional<std::string> newest_unused(const Root& root, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string prefix = path.substr(slash + 1) + std::string(unused_suffix);
  Result<std::vector<std::string>> names = root.list(path.substr(0, slash));
  if (!names) return std::nullopt;
  const auto newest = std::find_if(names->rbegin(), names->rend(), [&](const std::string& name) {
    return name.starts_with(prefix);
  });
  if (newest == names->rend()) return std::nullopt;
  return *newest;
}

Result<void> restore_devices_file(const Root& root, const Folder& run, const WatchedFile& file,
                                  Restored& out) {
  Result<Root::Place> place = root.place(file.path);
  if (!place && place.error().kind != ErrorKind::missing) return tl::unexpected(place.error());
  const std::optional<std::string> renamed = newest_unused(root, file.path);
  if (!place || root.exists(file.path)) return {};
  if (!renamed) {
    out.notes.push_back(fmt::format("{} is gone; a copy from the time of the fix is in {}/{}",
                                    file.path, run.path, file.backup));
    return {};
  }
  const At from{place->directory.get(), *renamed, *renamed};
  Result<OpenFile> open = open_regular(from);
  if (!open) return tl::unexpected(open.error());
  Result<OpenFile> backup = open_backup(run, file.backup);
  if (!backup) return tl::unexpected(backup.error());
  Result<bool> same =
      same_bytes(bytes_of(open->fd.get(), from.path), bytes_of(backup->fd.get(), file.backup));
  if (!same) return tl::unexpected(same.error());
  if (!*same) {
    out.notes.push_back(fmt::format("{} is gone, and {} beside it differs from it: left alone",
                                    file.path, *renamed));
    return {};
  }
  if (auto done = rename_file(from, place->name); !done) return done;
  out.changed.push_back(file.path);
  return {};
}

}  // namespace

Result<void> check_restorable(const Root& root, const Folder& run, const RunRecord& record) {
  for (const FileRecord& file : record.files)
    if (file.placed)
      if (auto done = check_file(root, run, file); !done) return done;
  return {};
}

Restored restore(const Root& root, const Folder& run, const RunRecord& record) {
  Restored out;
  const auto note = [&](const auto& result) {
    if (!result) out.failures.push_back(result.error());
  };
  for (auto file = record.files.rbegin(); file != record.files.rend(); ++file) {
    if (!file->placed) continue;
    Result<bool> touched = restore_file(root, run, *file);
    note(touched);
    if (touched && *touched) out.changed.push_back(file->path);
  }
  for (auto path = record.directories.rbegin(); path != record.directories.rend(); ++path)
    note(restore_directory(root, *path, out));
  if (record.devices_file) note(restore_devices_file(root, run, *record.devices_file, out));
  note(remove_tree(run / staging_name));
  return out;
}

}  // namespace preflight
