// SPDX-License-Identifier: MIT
#include "agent/transaction/prepare.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <map>
#include <utility>

#include "agent/formats/text.h"
#include "agent/transaction/content.h"
#include "agent/transaction/run_folder.h"

namespace preflight {

namespace {

/// Names that go to dracut's command line: nothing that it or a shell could take for anything else.
bool is_plain_name(std::string_view name) {
  constexpr std::string_view allowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+~-";
  return !name.empty() && name[0] != '-' && name[0] != '.' &&
         name.find_first_not_of(allowed) == std::string_view::npos;
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

std::string joined(const std::string& directory, const std::string& name) {
  return directory == "/" ? '/' + name : directory + '/' + name;
}

/// Finds the file, or the deepest directory on the way to it that exists.
Result<Target> locate(const Root& root, const std::string& asked) {
  if (asked.substr(0, 1) != "/" || asked.size() >= PATH_MAX || printable(asked) != asked)
    return fail(ErrorKind::unsupported, printable(asked), "is no path this tool writes to");
  Target target;
  target.asked = asked;
  std::vector<std::string> missing;  // names, innermost first
  std::string path = asked;
  Result<Root::Place> place = root.place(path);
  while (!place && place.error().kind == ErrorKind::missing && directory_of(path) != "/") {
    missing.push_back(path.substr(path.rfind('/') + 1));
    path = directory_of(path);
    place = root.place(path);
  }
  if (!place) return tl::unexpected(place.error());
  target.path = place->path;
  for (auto name = missing.rbegin(); name != missing.rend(); ++name) {
    if (name->empty() || *name == "." || *name == "..")
      return fail(ErrorKind::unsupported, asked, "is no plain path");
    target.new_directories.push_back(target.path);
    target.path = joined(target.path, *name);
  }
  // `place` is then that of the first directory to be created.
  target.place = std::move(*place);
  return target;
}

Result<void> check_directory(const Target& target) {
  const int directory = target.place->directory.get();
  const std::string path = directory_of(target.place->path);
  Result<Space> space = space_at(directory, path);
  if (!space) return tl::unexpected(space.error());
  if (space->read_only)
    return fail(ErrorKind::denied, path, "its file system is mounted read-only");
  if (const std::string why = locked_by_flags(directory); !why.empty())
    return fail(ErrorKind::denied, path, why);
  if (!can_write_into(directory))
    return fail(ErrorKind::denied, path, "no permission to write there: run this as root");
  const std::string name = target.path.substr(target.path.rfind('/') + 1);
  if (temporary_name(name).size() > NAME_MAX)
    return fail(ErrorKind::unsupported, target.path, "its name is too long to write beside it");
  return {};
}

Result<void> check_file(const Guest& guest, Target& target) {
  if (!target.new_directories.empty()) return {};
  Result<OpenFile> file = open_regular(at(*target.place));
  if (!file && file.error().kind == ErrorKind::missing) return {};
  if (!file) return tl::unexpected(file.error());
  target.existed = true;
  target.status = file->status;
  if (const std::string why = locked_by_flags(file->fd.get()); !why.empty())
    return fail(ErrorKind::denied, target.path, why);
  if (file->status.st_nlink > 1)
    return fail(ErrorKind::unsupported, target.path,
                "has another name (a hard link), which a new file in its place would part from it");
  if (!guest.privileged && file->status.st_uid != ::geteuid())
    return fail(ErrorKind::denied, target.path, "belongs to another user: run this as root");
  return {};
}

Result<void> check_edit(const Root& root, const Target& target) {
  const EditFile& edit = *target.edit;
  if (!edit.before)
    return target.existed
               ? Result<void>(fail(ErrorKind::io, target.path,
                                   "has appeared since the plan was made: run --fix again"))
               : Result<void>();
  if (!target.existed)
    return fail(ErrorKind::io, target.path, "has gone since the plan was made: run --fix again");
  return check_unchanged(root, target);
}

Result<Target> prepare_step(const Guest& guest, const std::string& path) {
  Result<Target> target = locate(guest.root, path);
  if (!target) return target;
  if (auto done = check_directory(*target); !done) return tl::unexpected(done.error());
  if (auto done = check_file(guest, *target); !done) return tl::unexpected(done.error());
  return target;
}

Result<void> add_edit(const Guest& guest, const EditFile& edit, Plan& plan) {
  if (edit.before == edit.after) return {};
  Result<Target> target = prepare_step(guest, edit.path);
  if (!target) return tl::unexpected(target.error());
  for (const Target& other : plan.edits)
    if (other.path == target->path) {
      if (other.edit->before == edit.before && other.edit->after == edit.after) return {};
      return fail(ErrorKind::unsupported, edit.path,
                  "two fixes want different things of this file: apply them one by one (--only)");
    }
  target->edit = edit;
  if (auto done = check_edit(guest.root, *target); !done) return done;
  plan.edits.push_back(std::move(*target));
  return {};
}

Result<void> add_image(const Guest& guest, const BuildImage& build, Plan& plan) {
  if (!is_plain_name(build.kernel))
    return fail(ErrorKind::unsupported, build.path,
                fmt::format("its kernel's version is no plain name: {}", printable(build.kernel)));
  Result<Target> target = prepare_step(guest, build.path);
  if (!target) return tl::unexpected(target.error());
  for (const Target& other : plan.images)
    if (other.path == target->path) {
      if (other.build->kernel == build.kernel && other.build->rescue == build.rescue) return {};
      return fail(ErrorKind::unsupported, build.path,
                  "two kernels are to boot with this one image");
    }
  if (!target->new_directories.empty())
    return fail(ErrorKind::missing, build.path, "its directory is missing");
  target->build = build;
  plan.images.push_back(std::move(*target));
  return {};
}

Result<std::string> find_dracut(const Root& root) {
  for (const char* path : {"/usr/bin/dracut", "/usr/sbin/dracut", "/sbin/dracut"}) {
    Result<struct stat> status = root.stat(path);
    if (status && S_ISREG(status->st_mode) && (status->st_mode & 0111u) != 0) return path;
  }
  return fail(ErrorKind::missing, "/usr/bin/dracut",
              "this guest has no dracut to build an image with");
}

/// The folder of all runs, or where it will be created.
Result<Folder> open_runs_or_above(const Root& root) {
  std::string path = runs_path;
  Result<Folder> folder = Folder::open(root, path);
  while (!folder && folder.error().kind == ErrorKind::missing && path != "/") {
    path = directory_of(path);
    folder = Folder::open(root, path);
  }
  return folder;
}

Result<void> check_runs_folder(const Root& root) {
  Result<Folder> folder = open_runs_or_above(root);
  if (!folder) return tl::unexpected(folder.error());
  Result<Space> space = space_at(folder->fd.get(), folder->path);
  if (!space) return tl::unexpected(space.error());
  if (space->read_only)
    return fail(ErrorKind::denied, folder->path,
                "its file system is mounted read-only, and backups lie there");
  if (!can_write_into(folder->fd.get()))
    return fail(ErrorKind::denied, folder->path,
                "no permission to keep backups there: run this as root");
  return {};
}

/// What one file system has to hold at the worst moment.
struct Need {
  std::string path;  // a directory on it
  Space space;
  std::uint64_t kept = 0;         // backups, staged images, journal: they stay until the end
  std::uint64_t grown = 0;        // by the images installed so far
  std::uint64_t peak = 0;         // beside the old ones
  std::uint64_t largest_new = 0;  // bytes of the largest image there, 0 when none
  std::uint64_t files = 0;

  std::uint64_t rounded(std::uint64_t bytes) const {
    const std::uint64_t block = std::max<std::uint64_t>(space.block, 1);
    return (bytes + block - 1) / block * block;
  }
};

class SpaceCheck {
 public:
  SpaceCheck(const TransactionPorts& ports, bool built) : ports_(ports), built_(built) {}

  Result<Need*> at_directory(int directory, const std::string& path) {
    Result<Space> space = ports_.space(directory, path);
    if (!space) return tl::unexpected(space.error());
    const auto [need, fresh] = needs_.try_emplace(space->device);
    if (fresh) need->second = Need{path, *space, 0, 0, 0, 0, 0};
    return &need->second;
  }

  void keep(Need& need, std::uint64_t bytes) {
    need.kept += need.rounded(bytes);
    ++need.files;
  }

  /// New files are laid beside the old ones one after the other.
  void replace(Need& need, std::uint64_t old_bytes, std::uint64_t new_bytes) {
    const std::uint64_t fresh = need.rounded(new_bytes);
    const std::uint64_t old = need.rounded(old_bytes);
    need.peak = std::max(need.peak, need.grown + fresh);
    // What shrinks may not have been freed yet: snapshots, open files.
    need.grown += fresh > old ? fresh - old : 0;
    ++need.files;
  }

  Result<void> judge() const {
    for (const auto& [device, need] : needs_)
      if (auto done = judge(need); !done) return done;
    return {};
  }

 private:
  Result<void> judge(const Need& need) const {
    if (need.space.free_inodes && *need.space.free_inodes < need.files)
      return no_room(need, fmt::format("has {} free inodes, {} are needed", *need.space.free_inodes,
                                       need.files));
    if (need.kept + need.peak > need.space.free_bytes) return no_room(need, what_is_needed(need));
    return {};
  }

  std::string what_is_needed(const Need& need) const {
    std::string what = fmt::format("has {} free", megabytes(need.space.free_bytes));
    if (need.largest_new > 0)
      what += fmt::format("; {} {}, and it must lie beside the old one until it is in place",
                          built_ ? "the new image is"
                                 : "a new image will hardly be smaller than the one there now,",
                          megabytes(need.largest_new));
    if (need.kept > 0)
      what += fmt::format("; {} are needed there for backups and new images", megabytes(need.kept));
    return what + fmt::format(" ({} in all)", megabytes(need.kept + need.peak));
  }

  Result<void> no_room(const Need& need, const std::string& what) const {
    std::string text = fmt::format(
        "{} {}. Make room, for instance by removing an old kernel (dnf remove kernel-core-<its "
        "version>), and run --fix again",
        need.path, what);
    if (need.largest_new > 0 && !ports_.smaller_images.empty())
      text += "; or " + ports_.smaller_images;
    return fail(ErrorKind::io, "", text);
  }

  const TransactionPorts& ports_;
  bool built_;
  std::map<std::uint64_t, Need> needs_;
};

/// Journal, logs and directories of a run.
constexpr std::uint64_t run_overhead = 256u << 10;

Result<void> add_images(SpaceCheck& check, const Plan& plan, Need& runs,
                        const std::optional<std::vector<std::uint64_t>>& new_sizes) {
  for (std::size_t i = 0; i < plan.images.size(); ++i) {
    const Target& image = plan.images[i];
    Result<Need*> need = check.at_directory(image.place->directory.get(), directory_of(image.path));
    if (!need) return tl::unexpected(need.error());
    const std::uint64_t old = image.existed ? static_cast<std::uint64_t>(image.status.st_size) : 0;
    const std::uint64_t fresh = new_sizes ? (*new_sizes)[i] : old;
    check.replace(**need, old, fresh);
    (*need)->largest_new = std::max((*need)->largest_new, fresh);
    check.keep(runs, old);
    if (!new_sizes) check.keep(runs, fresh);  // once built it is on disk already
  }
  return {};
}

}  // namespace

Result<Plan> prepare(const Guest& guest, const std::vector<Step>& steps,
                     const TransactionPorts& ports) {
  Plan plan;
  for (const Step& step : steps) {
    const auto* edit = std::get_if<EditFile>(&step);
    Result<void> done =
        edit ? add_edit(guest, *edit, plan) : add_image(guest, std::get<BuildImage>(step), plan);
    if (!done) return tl::unexpected(done.error());
  }
  if (plan.empty()) return plan;
  for (const Target& image : plan.images)
    for (const Target& edit : plan.edits)
      if (image.path == edit.path)
        return fail(ErrorKind::unsupported, image.path, "is to be edited and to be built");
  if (!plan.images.empty()) {
    Result<std::string> dracut = find_dracut(guest.root);
    if (!dracut) return tl::unexpected(dracut.error());
    plan.dracut = *dracut;
  }
  if (auto done = check_runs_folder(guest.root); !done) return tl::unexpected(done.error());
  if (auto done = check_space(guest.root, plan, ports, std::nullopt); !done)
    return tl::unexpected(done.error());
  return plan;
}

Result<void> check_space(const Root& root, const Plan& plan, const TransactionPorts& ports,
                         const std::optional<std::vector<std::uint64_t>>& new_sizes) {
  SpaceCheck check(ports, new_sizes.has_value());
  Result<Folder> folder = open_runs_or_above(root);
  if (!folder) return tl::unexpected(folder.error());
  // The image's directory first: a file system shared by both goes by the name people know.
  if (!plan.images.empty()) {
    const Target& first = plan.images.front();
    Result<Need*> need = check.at_directory(first.place->directory.get(), directory_of(first.path));
    if (!need) return tl::unexpected(need.error());
  }
  Result<Need*> runs = check.at_directory(folder->fd.get(), folder->path);
  if (!runs) return tl::unexpected(runs.error());
  check.keep(**runs, run_overhead);
  for (const Target& edit : plan.edits) {
    Result<Need*> need = check.at_directory(edit.place->directory.get(), directory_of(edit.path));
    if (!need) return tl::unexpected(need.error());
    const std::uint64_t old = edit.existed ? static_cast<std::uint64_t>(edit.status.st_size) : 0;
    check.replace(**need, old, edit.edit->after.size());
    check.keep(**runs, old);
  }
  if (auto done = add_images(check, plan, **runs, new_sizes); !done) return done;
  return check.judge();
}

Result<void> check_unchanged(const Root& root, const Target& target) {
  const char* const changed = "has changed since the plan was made: run --fix again";
  Result<Root::Place> place = root.place(target.asked);
  if (!target.new_directories.empty())
    return place ? Result<void>(fail(ErrorKind::io, target.path, changed)) : Result<void>();
  if (!place) return tl::unexpected(place.error());
  if (place->path != target.path) return fail(ErrorKind::io, target.path, changed);
  Result<OpenFile> file = open_regular(at(*place));
  if (!target.existed) {
    if (!file && file.error().kind == ErrorKind::missing) return {};
    return fail(ErrorKind::io, target.path, changed);
  }
  if (!file) return tl::unexpected(file.error());
  const struct stat& now = file->status;
  const struct stat& then = target.status;
  if (now.st_dev != then.st_dev || now.st_ino != then.st_ino || now.st_size != then.st_size ||
      now.st_ctim.tv_sec != then.st_ctim.tv_sec || now.st_ctim.tv_nsec != then.st_ctim.tv_nsec)
    return fail(ErrorKind::io, target.path, changed);
  if (!target.edit) return {};
  Result<bool> same =
      same_bytes(bytes_of(file->fd.get(), target.path), bytes_of(*target.edit->before));
  if (!same) return tl::unexpected(same.error());
  if (!*same) return fail(ErrorKind::io, target.path, changed);
  return {};
}

}  // namespace preflight
