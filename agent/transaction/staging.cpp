// SPDX-License-Identifier: MIT
#include "agent/transaction/staging.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <utility>

#include "agent/formats/text.h"
#include "agent/guest/descendants.h"
#include "agent/parallel.h"

namespace preflight {

namespace {

constexpr const char* confdir_path = "/etc/dracut.conf.d";
constexpr const char* lvm_devices_path = "/etc/lvm/devices";
constexpr std::size_t quoted_lines = 15;

// A compressor at its highest level (zstd -19 of 140 MB on two threads: 300 MB), dracut's shells
// and what their files take of the page cache.
constexpr std::size_t memory_of_a_build = std::size_t{512} << 20;

std::string name_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_in(const std::string& path, const std::string& directory) {
  return path.size() > directory.size() + 1 && path.starts_with(directory + '/') &&
         path.find('/', directory.size() + 1) == std::string::npos;
}

Result<Folder> make_folder(const Root& root, const Folder& parent, const std::string& name) {
  Result<Attributes> attributes = fresh_attributes(parent.fd.get(), parent.path, 0700);
  if (!attributes) return tl::unexpected(attributes.error());
  Result<bool> created = make_directory(parent / name, *attributes);
  if (!created) return tl::unexpected(created.error());
  return Folder::open(root, parent.path + '/' + name);
}

/// What the guest's own file would be for dracut: a drop-in that cannot be read as a file (a link
/// to /dev/null that masks a vendor's, a directory) has no content, a dangling link is not there
/// (dracut's dropindirs_sort tests -e).
Result<std::optional<std::string>> drop_in(const Root& root, const std::string& path) {
  Result<struct stat> status = root.stat(path);
  if (!status && status.error().kind == ErrorKind::missing) return std::optional<std::string>();
  if (!status) return tl::unexpected(status.error());
  if (S_ISCHR(status->st_mode) || S_ISDIR(status->st_mode)) return std::optional<std::string>("");
  Result<std::string> text = root.read(path);
  if (!text) return tl::unexpected(text.error());
  return std::optional<std::string>(std::move(*text));
}

Result<std::map<std::string, std::string>> planned_drop_ins(const Root& root, const Plan& plan) {
  std::map<std::string, std::string> texts;
  Result<std::vector<std::string>> names = root.list(confdir_path);
  if (!names && names.error().kind != ErrorKind::missing) return tl::unexpected(names.error());
  for (const std::string& name : names ? *names : std::vector<std::string>{}) {
    if (!name.ends_with(".conf") || name[0] == '.') continue;
    Result<std::optional<std::string>> text =
        drop_in(root, fmt::format("{}/{}", confdir_path, name));
    if (!text) return tl::unexpected(text.error());
    if (*text) texts[name] = std::move(**text);
  }
  for (const Target& edit : plan.edits)
    if (is_in(edit.asked, confdir_path)) texts[name_of(edit.asked)] = edit.edit->after;
  return texts;
}

/// Everything dracut is to see otherwise than the guest has it now.
struct View {
  std::string confdir;
  std::vector<Overlay> overlays;
};

class Stage {
 public:
  Stage(const Guest& guest, const Plan& plan, Folder staging, const TransactionPorts& ports)
      : guest_(guest), plan_(plan), staging_(std::move(staging)), ports_(ports) {}

  Result<void> prepare_view() {
    const auto in_confdir = [](const Target& edit) { return is_in(edit.asked, confdir_path); };
    if (std::any_of(plan_.edits.begin(), plan_.edits.end(), in_confdir))
      if (auto done = stage_confdir(); !done) return done;
    for (const Target& edit : plan_.edits)
      if (edit.existed && !in_confdir(edit))
        if (auto done = stage_edit(edit); !done) return done;
    for (const Target& image : plan_.images)
      if (image.existed) view_.overlays.push_back(kept_as_it_is(image.path));
    return stage_lvm_devices();
  }

  /// `log` gets what dracut says; it stays empty when dracut never ran. May be called for several
  /// images at a time.
  Result<StagedImage> build(std::size_t index, const StopAsked& stop_asked,
                            std::string& log) const {
    const Target& target = plan_.images[index];
    StagedImage image;
    image.name = fmt::format("image-{}.img", index);
    image.path = staging_.path + '/' + image.name;
    Result<Folder> tmpdir = make_folder(guest_.root, staging_, fmt::format("tmp-{}", index));
    if (!tmpdir) return tl::unexpected(tmpdir.error());
    const Command command = command_for(target, tmpdir->path, image.path);
    Result<CommandOutput> output = ports_.run_dracut(command, view_.overlays, stop_asked);
    if (!output) return tl::unexpected(output.error());
    log = log_of(command, *output);
    if (stop_asked()) return was_stopped();
    if (auto done = judge(target, image, *output); !done) return tl::unexpected(done.error());
    if (auto done = remove_tree(staging_ / name_of(tmpdir->path)); !done)
      return tl::unexpected(done.error());
    return image;
  }

  static tl::unexpected<Error> was_stopped() {
    return fail(ErrorKind::io, "", "dracut was stopped");
  }

 private:
  Result<void> stage_confdir() {
    Result<Folder> folder = make_folder(guest_.root, staging_, "dracut.conf.d");
    if (!folder) return tl::unexpected(folder.error());
    Result<std::map<std::string, std::string>> texts = planned_drop_ins(guest_.root, plan_);
    if (!texts) return tl::unexpected(texts.error());
    for (const auto& [name, text] : *texts)
      if (auto done = create_file(*folder / name, bytes_of(text)); !done) return done;
    view_.confdir = folder->path;
    return {};
  }

  Result<void> stage_edit(const Target& edit) {
    Result<OpenFile> original = open_regular(at(*edit.place));
    if (!original) return tl::unexpected(original.error());
    Result<Attributes> attributes = read_attributes(original->fd.get(), edit.path);
    if (!attributes) return tl::unexpected(attributes.error());
    const std::string name = fmt::format("edit-{}", view_.overlays.size());
    if (auto done =
            replace_file(staging_ / name, bytes_of(edit.edit->after), *attributes, Bytes::changed);
        !done)
      return done;
    view_.overlays.push_back({staging_.path + '/' + name, edit.path});
    return {};
  }

  /// dracut calls lvm, and lvm2 >= 2.03.24 that reads use_devicesfile=0 renames the devices file
  /// (lib/device/dev-cache.c:1984-2025, commit 4f9215e70): it gets a copy to do that to.
  Result<void> stage_lvm_devices() {
    const auto is_lvm = [](const Overlay& overlay) {
      return overlay.over.starts_with("/etc/lvm/");
    };
    if (std::none_of(view_.overlays.begin(), view_.overlays.end(), is_lvm)) return {};
    Result<std::string> over = guest_.root.resolve(lvm_devices_path);
    Result<std::vector<std::string>> names = guest_.root.list(lvm_devices_path);
    if (!over || !names) return {};
    Result<Folder> folder = make_folder(guest_.root, staging_, "lvm-devices");
    if (!folder) return tl::unexpected(folder.error());
    for (const std::string& name : *names) {
      Result<std::string> text = guest_.root.read(fmt::format("{}/{}", lvm_devices_path, name));
      if (!text) continue;  // its backup folder
      if (auto done = create_file(*folder / name, bytes_of(*text)); !done) return done;
    }
    view_.overlays.push_back({folder->path, *over});
    return {};
  }

  Command command_for(const Target& target, const std::string& tmpdir,
                      const std::string& image) const {
    Command command;
    command.argv = dracut_command(plan_.dracut, *target.build, view_.confdir, tmpdir, image);
    command.environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "HOME=/root"};
    command.timeout = ports_.build_timeout;
    command.keep = Keep::end;
    return command;
  }

  Result<void> judge(const Target& target, StagedImage& image, const CommandOutput& output) const {
    if (output.timed_out)
      return fail(ErrorKind::io, "",
                  fmt::format("dracut did not finish within {} seconds (--time-limit) and was "
                              "killed with all it had started",
                              ports_.build_timeout.count()));
    if (output.exit_status != 0)
      return fail(ErrorKind::io, "",
                  fmt::format("dracut failed with exit status {}", output.exit_status));
    Result<OpenFile> file = open_regular(staging_ / image.name);
    if (!file) return fail(ErrorKind::io, "", "dracut ended well but wrote no image");
    Result<Image> fresh = ports_.read_image(image.path);
    if (!fresh) return tl::unexpected(fresh.error());
    Result<Image> old = fail(ErrorKind::missing, target.path, "there was none");
    if (target.existed) old = ports_.read_image(target.path);
    const std::vector<std::string> faults =
        ports_.verify(old ? &*old : nullptr, *fresh, *target.build);
    if (!faults.empty())
      return fail(ErrorKind::malformed, "",
                  fmt::format("the new image is not fit to take the old one's place: {}",
                              fmt::join(faults, "; ")));
    Result<Digest> digest = digest_of(bytes_of(file->fd.get(), image.path));
    if (!digest) return tl::unexpected(digest.error());
    image.digest = *digest;
    return {};
  }

  static std::string log_of(const Command& command, const CommandOutput& output) {
    std::string log =
        fmt::format("$ {}\n", printable(fmt::format("{}", fmt::join(command.argv, " "))));
    if (output.cut) log += "(the beginning is cut)\n";
    for (const std::string* text : {&output.out, &output.err})
      for (const std::string_view line : split_lines(*text)) log += printable(line) + '\n';
    log += fmt::format("(exit status {}{})\n", output.exit_status,
                       output.timed_out ? ", time was up" : "");
    return log;
  }

  const Guest& guest_;
  const Plan& plan_;
  Folder staging_;
  const TransactionPorts& ports_;
  View view_;
};

/// The end of a log, for a message.
std::string quote(const std::string& log) {
  const std::vector<std::string_view> lines = split_lines(log);
  const std::size_t first = lines.size() > quoted_lines ? lines.size() - quoted_lines : 0;
  std::string out = "\nthe end of dracut's output:";
  for (std::size_t i = first; i < lines.size(); ++i) out += fmt::format("\n  {}", lines[i]);
  return out;
}

/// One image as dracut left it.
struct Attempt {
  Result<StagedImage> image = Stage::was_stopped();
  std::string log;
};

struct Attempts {
  std::vector<Attempt> images;        // in the plan's order
  std::optional<std::size_t> failed;  // the first one, which stopped the others
};

/// Builds side by side; the first that fails stops the others.
Attempts build_all(const Stage& stage, const Plan& plan, const TransactionPorts& ports) {
  Attempts attempts;
  attempts.images.resize(plan.images.size());
  const std::size_t count = attempts.images.size();
  std::atomic<std::size_t> failed{count};
  const StopAsked stop_asked = [&] { return failed < count || ports.stopped(); };
  // The programs' leftovers are killed when the last of them has ended.
  const Descendants descendants;
  for_each_index(count, choose_jobs(ports.jobs, count, memory_of_a_build), [&](std::size_t i) {
    if (stop_asked()) return;
    Underway building(ports.progress,
                      fmt::format("building {} ({} of {}) for kernel {}", plan.images[i].path,
                                  i + 1, count, plan.images[i].build->kernel));
    Attempt& attempt = attempts.images[i];
    attempt.image = stage.build(i, stop_asked, attempt.log);
    std::size_t none = count;
    if (attempt.image)
      building.result(megabytes(attempt.image->digest.size));
    else if (failed.compare_exchange_strong(none, i) && !ports.stopped())
      building.result("failed");
    else
      building.result("stopped");
  });
  if (failed < count) attempts.failed = failed;
  return attempts;
}

Result<void> keep_logs(const Folder& run, const Attempts& attempts) {
  for (std::size_t i = 0; i < attempts.images.size(); ++i)
    if (const std::string& log = attempts.images[i].log; !log.empty())
      if (auto done = create_file(run / dracut_log_name(i), bytes_of(log)); !done) return done;
  return {};
}

Error failure(const Plan& plan, const Folder& run, const Attempts& attempts) {
  const Attempt& attempt = attempts.images[*attempts.failed];
  Error why = attempt.image.error();
  if (attempt.log.empty()) return why;
  why.path = plan.images[*attempts.failed].path;
  why.what += quote(attempt.log);
  if (const auto kept = keep_logs(run, attempts); !kept)
    why.what += fmt::format("\nThe whole log could not be kept: {}", kept.error().what);
  return why;
}

}  // namespace

std::vector<std::string> dracut_command(const std::string& dracut, const BuildImage& build,
                                        const std::string& confdir, const std::string& tmpdir,
                                        const std::string& image) {
  std::vector<std::string> argv{dracut, "--force"};
  if (!confdir.empty()) argv.insert(argv.end(), {"--confdir", confdir});
  // Killed, dracut leaves its build tree behind: in staging it goes with the rest.
  argv.insert(argv.end(), {"--tmpdir", tmpdir});
  if (build.rescue) argv.insert(argv.end(), {"--no-hostonly", "--add", "rescue"});
  // Never by `uname -r`, and never to the path dracut would choose (dracut.sh of EL 9, 1172-1208).
  argv.insert(argv.end(), {image, build.kernel});
  return argv;
}

std::string dracut_log_name(std::size_t index) {
  return fmt::format("dracut-{}.log", index);
}

bool is_dracut_log(std::string_view name) {
  return name.starts_with("dracut-") && name.ends_with(".log");
}

Result<std::vector<StagedImage>> build_images(const Guest& guest, const Plan& plan,
                                              const Folder& run, const TransactionPorts& ports) {
  std::vector<StagedImage> images;
  if (plan.images.empty()) return images;
  Result<Folder> staging = make_folder(guest.root, run, staging_name);
  if (!staging) return tl::unexpected(staging.error());
  Stage stage(guest, plan, std::move(*staging), ports);
  if (auto done = stage.prepare_view(); !done) return tl::unexpected(done.error());
  Attempts attempts = build_all(stage, plan, ports);
  // Whatever filled the disk goes first, so that there is room for the logs.
  if (attempts.failed) (void)remove_tree(run / staging_name);
  if (auto done = ports.go_on(); !done) return tl::unexpected(done.error());
  if (attempts.failed) return tl::unexpected(failure(plan, run, attempts));
  if (auto done = keep_logs(run, attempts); !done) return tl::unexpected(done.error());
  for (Attempt& attempt : attempts.images) {
    if (!attempt.image) return tl::unexpected(attempt.image.error());
    images.push_back(std::move(*attempt.image));
  }
  return images;
}

}  // namespace preflight
