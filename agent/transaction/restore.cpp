// SPDX-License-Identifier: MIT
#include "agent/transaction/restore.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

#include "agent/formats/grubenv.h"
#include "agent/guest/writer.h"

namespace preflight {

namespace {

// lvm2 >= 2.03.24 renames the devices file to "<name>-unused.YYYYMMDD.HHMMSS" once
// use_devicesfile is 0 (lib/device/dev-cache.c:1984-2025 of lvm2, commit 4f9215e70).
constexpr std::string_view unused_suffix = "-unused.";

enum class Now {
  original,
  placed,
  more,  // placed, and then GRUB changed other variables of its environment block
  missing,
  foreign,  // neither
};

struct Standing {
  Now now = Now::foreign;
  std::string why;                   // when foreign for another reason than its bytes
  std::string merged;                // when `more`: what it becomes
  std::optional<Root::Place> place;  // none when its directory is missing
};

Result<OpenFile> open_backup(const Folder& run, const std::string& name) {
  return open_regular(run / name);
}

Result<std::string> read_text(const At& file) {
  Result<OpenFile> open = open_regular(file);
  if (!open) return tl::unexpected(open.error());
  std::string text;
  std::vector<std::byte> buffer(config_cap + 1);
  const ByteSource source = bytes_of(open->fd.get(), file.path);
  for (;;) {
    Result<std::size_t> got = source(buffer);
    if (!got) return tl::unexpected(got.error());
    if (*got == 0) return text;
    text.append(reinterpret_cast<const char*>(buffer.data()), *got);
    if (text.size() > config_cap) return fail(ErrorKind::too_large, file.path, "is too large");
  }
}

/// GRUB writes to its environment block at every boot (grub-set-bootflag, save_env), so other bytes
/// there are no reason to keep back what the fix did to one of its variables.
std::optional<std::string> merge(const Folder& run, const FileRecord& file, const At& there) {
  if (file.copy.empty() || !file.existed) return std::nullopt;
  const Result<std::string> original = read_text(run / file.backup);
  const Result<std::string> placed = read_text(run / file.copy);
  const Result<std::string> now = read_text(there);
  if (!original || !placed || !now) return std::nullopt;
  return put_variables_back(*original, *placed, *now);
}

Result<Standing> judge(const Folder& run, const FileRecord& file, Root::Place place) {
  Standing standing;
  const At there = at(place);
  Result<OpenFile> open = open_regular(there);
  standing.place = std::move(place);
  if (!open && open.error().kind == ErrorKind::missing) {
    standing.now = Now::missing;
    return standing;
  }
  if (!open && open.error().kind == ErrorKind::wrong_type) {
    standing.why = "is no regular file any more";
    return standing;
  }
  if (!open) return tl::unexpected(open.error());
  Result<Digest> digest = digest_of(bytes_of(open->fd.get(), file.path));
  if (!digest) return tl::unexpected(digest.error());
  if (file.existed && *digest == file.original) {
    Result<OpenFile> backup = open_backup(run, file.backup);
    if (!backup) return tl::unexpected(backup.error());
    Result<bool> same = same_bytes(bytes_of(open->fd.get(), file.path),
                                   bytes_of(backup->fd.get(), run.path + '/' + file.backup));
    if (!same) return tl::unexpected(same.error());
    if (*same) standing.now = Now::original;
  }
  if (standing.now == Now::foreign && *digest == file.placed) standing.now = Now::placed;
  if (standing.now != Now::foreign) return standing;
  if (std::optional<std::string> merged = merge(run, file, there)) {
    standing.now = Now::more;
    standing.merged = std::move(*merged);
  }
  return standing;
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
  return judge(run, file, std::move(*place));
}

Result<void> check_backup(const Folder& run, const FileRecord& file) {
  const std::string path = run.path + '/' + file.backup;
  Result<OpenFile> backup = open_backup(run, file.backup);
  if (!backup)
    return fail(ErrorKind::malformed, path,
                fmt::format("this backup of {} is gone: {}", file.path, backup.error().what));
  Result<Digest> digest = digest_of(bytes_of(backup->fd.get(), path));
  if (!digest) return tl::unexpected(digest.error());
  if (*digest != file.original)
    return fail(ErrorKind::malformed, path,
                fmt::format("this backup of {} is not what the journal says", file.path));
  return {};
}

/// The kernel that an image or boot entry belongs to by its name: "initramfs-K.img",
/// "<machine id>-K.conf" (kernel-install(8)).
std::string kernel_named_by(const std::string& path) {
  constexpr std::string_view image = "/initramfs-";
  constexpr std::string_view entries = "/loader/entries/";
  const std::size_t slash = path.rfind('/');
  if (path.compare(slash, image.size(), image) == 0 && path.ends_with(".img"))
    return path.substr(slash + image.size(), path.size() - 4 - slash - image.size());
  const std::size_t dash = path.find('-', slash);
  if (path.find(entries) == std::string::npos || !path.ends_with(".conf") ||
      dash == std::string::npos)
    return {};
  return path.substr(dash + 1, path.size() - 5 - dash - 1);
}

/// A removed kernel takes its image and its entry along; nobody wants those back.
bool went_with_its_kernel(const Root& root, const std::string& path) {
  const std::string kernel = kernel_named_by(path);
  return !kernel.empty() && !root.exists("/boot/vmlinuz-" + kernel) &&
         !root.exists(fmt::format("/lib/modules/{}/vmlinuz", kernel));
}

enum class Do { nothing, write_original, write_merged, remove };

struct Task {
  Do what = Do::nothing;
  Standing standing;
  bool keep_first = false;  // what is there now goes to the run folder
  std::string note;
};

Error refusal(const Folder& run, const FileRecord& file, const std::string& why) {
  const std::string name = run.path.substr(run.path.rfind('/') + 1);
  const std::string hint = file.existed ? fmt::format("; what it was before run {} is in {}/{}",
                                                      name, run.path, file.backup)
                                        : std::string("; it was created by the fix");
  return {ErrorKind::malformed, file.path, 0,
          fmt::format("{}, so it is not put back{}", why, hint)};
}

Result<Task> missing_file(const Root& root, const Folder& run, const FileRecord& file, Force force,
                          Task task) {
  if (!file.existed) return task;
  if (went_with_its_kernel(root, file.path)) {
    task.note = fmt::format("{} went with its kernel and stays away", file.path);
    return task;
  }
  if (force == Force::no) return tl::unexpected(refusal(run, file, "is gone"));
  if (!task.standing.place) return tl::unexpected(refusal(run, file, "is gone with its directory"));
  task.what = Do::write_original;
  return task;
}

/// What is to be done about a file that the run placed; the error says why it cannot be.
Result<Task> plan_file(const Root& root, const Folder& run, const FileRecord& file, Force force) {
  Result<Standing> standing = stand(root, run, file);
  if (!standing) return tl::unexpected(standing.error());
  Task task;
  task.standing = std::move(*standing);
  switch (task.standing.now) {
    case Now::missing:
      return missing_file(root, run, file, force, std::move(task));
    case Now::foreign:
      if (!task.standing.why.empty()) return tl::unexpected(refusal(run, file, task.standing.why));
      if (force == Force::no) return tl::unexpected(refusal(run, file, "has changed since"));
      task.keep_first = true;
      task.what = file.existed ? Do::write_original : Do::remove;
      return task;
    case Now::more:
      task.what = Do::write_merged;
      task.note = fmt::format("{} keeps what GRUB wrote into it since", file.path);
      return task;
    case Now::placed:
      task.what = file.existed ? Do::write_original : Do::remove;
      return task;
    case Now::original:
      task.what = Do::write_original;  // its attributes may not be
      return task;
  }
  return task;
}

/// What can only stay as it is: no second attempt will do better.
bool is_lost(const Error& error) {
  return error.kind == ErrorKind::malformed || error.kind == ErrorKind::missing ||
         error.kind == ErrorKind::wrong_type;
}

Result<void> check_file(const Root& root, const Folder& run, const FileRecord& file, Force force) {
  Result<Task> task = plan_file(root, run, file, force);
  if (!task && force == Force::yes && is_lost(task.error())) return {};
  if (!task) return tl::unexpected(task.error());
  if (!file.existed || task->what == Do::nothing) return {};
  // With force the others are put back all the same; restore() tells.
  if (auto done = check_backup(run, file); !done) return force == Force::no ? done : Result<void>();
  if (task->standing.now == Now::original) return {};
  Result<Space> space = space_at(task->standing.place->directory.get(), file.path);
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

/// The file is what it is to be; but an undo that was killed may have got no further than to the
/// rename.
Result<bool> nothing_to_write(const At& there) {
  if (auto done = settle_for_boot_loader(there); !done) return tl::unexpected(done.error());
  return false;
}

Result<bool> write_original(const Folder& run, const FileRecord& file, const Task& task) {
  const At there = at(*task.standing.place);
  Result<OpenFile> backup = open_backup(run, file.backup);
  if (!backup) return tl::unexpected(backup.error());
  if (task.standing.now == Now::original && prove(file, there, *backup))
    return nothing_to_write(there);
  Result<void> done = replace_file(there, bytes_of(backup->fd.get(), file.backup), file.attributes,
                                   Bytes::original);
  if (done) done = prove(file, there, *backup);
  if (!done) return tl::unexpected(done.error());
  return true;
}

Result<bool> write_merged(const Task& task) {
  const At there = at(*task.standing.place);
  Result<std::string> now = read_text(there);
  if (!now) return tl::unexpected(now.error());
  if (*now == task.standing.merged) return nothing_to_write(there);
  Result<OpenFile> open = open_regular(there);
  if (!open) return tl::unexpected(open.error());
  Result<Attributes> attributes = read_attributes(open->fd.get(), there.path);
  if (!attributes) return tl::unexpected(attributes.error());
  if (auto done = replace_file(there, bytes_of(task.standing.merged), *attributes, Bytes::changed);
      !done)
    return tl::unexpected(done.error());
  return true;
}

/// Copies what somebody made of the file since, under the first name that is free.
Result<std::string> keep_copy(const Folder& run, const At& there) {
  constexpr int names = 1000;
  Result<OpenFile> open = open_regular(there);
  if (!open) return tl::unexpected(open.error());
  for (int number = 0; number < names; ++number) {
    const std::string name = fmt::format("before-undo-{}", number);
    Result<bool> taken = is_there(run / name);
    if (!taken) return tl::unexpected(taken.error());
    if (*taken) continue;
    if (auto done = create_file(run / name, bytes_of(open->fd.get(), there.path)); !done)
      return tl::unexpected(done.error());
    return run.path + '/' + name;
  }
  return fail(ErrorKind::io, run.path, "too many copies of files from before an undo");
}

/// True when the file was touched.
Result<bool> carry_out(const Folder& run, const FileRecord& file, const Task& task, Restored& out) {
  if (!task.standing.place) return false;
  const At there = at(*task.standing.place);
  Result<bool> removed =
      remove_file({there.directory, temporary_name(there.name), there.path + " (new)"});
  if (!removed) return removed;
  if (task.keep_first) {
    Result<std::string> kept = keep_copy(run, there);
    if (!kept) return tl::unexpected(kept.error());
    out.notes.push_back(
        fmt::format("{} had changed since; that version is kept as {}", file.path, *kept));
  }
  switch (task.what) {
    case Do::nothing:
      return false;
    case Do::write_original:
      return write_original(run, file, task);
    case Do::write_merged:
      return write_merged(task);
    case Do::remove:
      return remove_file(there);
  }
  return false;
}

void restore_file(const Root& root, const Folder& run, const FileRecord& file, Force force,
                  Restored& out) {
  const auto failed = [&](const Error& error) {
    (force == Force::yes && is_lost(error) ? out.lost : out.failures).push_back(error);
  };
  Result<Task> task = plan_file(root, run, file, force);
  if (!task) return failed(task.error());
  if (task->what == Do::write_original)
    if (auto whole = check_backup(run, file); !whole) return failed(whole.error());
  Result<bool> touched = carry_out(run, file, *task, out);
  if (!touched) return failed(touched.error());
  if (*touched) out.changed.push_back(file.path);
  if (!task->note.empty()) out.notes.push_back(task->note);
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

/// The newest "<name>-unused.*" beside it that has these bytes, and whether there is any other.
struct Renamed {
  std::optional<std::string> same;
  std::optional<std::string> other;
};

Result<Renamed> find_renamed(const Root& root, const At& there, const OpenFile& backup) {
  Renamed found;
  const std::string prefix = there.name + std::string(unused_suffix);
  Result<std::vector<std::string>> names = root.list(there.path.substr(0, there.path.rfind('/')));
  if (!names) return tl::unexpected(names.error());
  for (auto name = names->rbegin(); name != names->rend() && !found.same; ++name) {
    if (!name->starts_with(prefix)) continue;
    Result<OpenFile> open = open_regular({there.directory, *name, *name});
    if (!open) continue;
    Result<bool> same =
        same_bytes(bytes_of(open->fd.get(), *name), bytes_of(backup.fd.get(), there.path));
    if (!same) return tl::unexpected(same.error());
    (*same ? found.same : found.other) = *name;
  }
  return found;
}

Result<void> restore_devices_file(const Root& root, const Folder& run, const WatchedFile& file,
                                  Restored& out) {
  Result<Root::Place> place = root.place(file.path);
  if (!place && place.error().kind != ErrorKind::missing) return tl::unexpected(place.error());
  if (!place || root.exists(file.path)) return {};
  Result<OpenFile> backup = open_backup(run, file.backup);
  if (!backup) {
    out.notes.push_back(
        fmt::format("{} is gone, and so is its copy {}/{}", file.path, run.path, file.backup));
    return {};
  }
  Result<Renamed> renamed = find_renamed(root, at(*place), *backup);
  if (!renamed) return tl::unexpected(renamed.error());
  if (!renamed->same) {
    out.notes.push_back(
        renamed->other
            ? fmt::format("{} is gone, and {} beside it differs from it: left alone; a copy from "
                          "the time of the fix is in {}/{}",
                          file.path, *renamed->other, run.path, file.backup)
            : fmt::format("{} is gone; a copy from the time of the fix is in {}/{}", file.path,
                          run.path, file.backup));
    return {};
  }
  if (auto done =
          rename_file({place->directory.get(), *renamed->same, *renamed->same}, place->name);
      !done)
    return done;
  out.changed.push_back(file.path);
  return {};
}

}  // namespace

std::vector<Error> check_restorable(const Root& root, const Folder& run, const RunRecord& record,
                                    Force force) {
  std::vector<Error> errors;
  for (const FileRecord& file : record.files)
    if (file.placed)
      if (auto done = check_file(root, run, file, force); !done) errors.push_back(done.error());
  return errors;
}

Restored restore(const Root& root, const Folder& run, const RunRecord& record, Force force) {
  Restored out;
  const auto note = [&](const auto& result) {
    if (!result) out.failures.push_back(result.error());
  };
  for (auto file = record.files.rbegin(); file != record.files.rend(); ++file)
    if (file->placed) restore_file(root, run, *file, force, out);
  for (auto path = record.directories.rbegin(); path != record.directories.rend(); ++path)
    note(restore_directory(root, *path, out));
  if (record.devices_file) note(restore_devices_file(root, run, *record.devices_file, out));
  note(remove_tree(run / staging_name));
  return out;
}

}  // namespace preflight
