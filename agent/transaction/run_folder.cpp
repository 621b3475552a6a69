// SPDX-License-Identifier: MIT
#include "agent/transaction/run_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace preflight {

namespace {

constexpr std::uint64_t journal_cap = 1u << 20;
constexpr mode_t private_mode = 0700;
constexpr std::size_t stamp_length = std::string_view("20261130T210000Z").size();

std::tm utc(std::time_t time) {
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  return parts;
}

std::string stamp(std::time_t time) {
  const std::tm t = utc(time);
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday,
                     t.tm_hour, t.tm_min, t.tm_sec);
}

bool older(const std::string& a, const std::string& b) {
  const auto key = [](const std::string& name) {
    return std::make_tuple(std::string_view(name).substr(0, stamp_length), name.size(),
                           std::string_view(name));
  };
  return key(a) < key(b);
}

std::string run_path(const std::string& run) {
  return fmt::format("{}/{}", runs_path, run);
}

std::string by_hand(const std::string& run) {
  return fmt::format(
      "; what that run changed and whether it finished cannot be told. Its backups are in {0}: put "
      "back by hand what is to be put back, then move that folder away",
      run_path(run));
}

}  // namespace

Result<Folder> Folder::open(const Root& root, const std::string& path) {
  Result<Fd> fd = root.open_directory(path);
  if (!fd) return tl::unexpected(fd.error());
  return Folder{std::move(*fd), path};
}

Result<RunsFolder> RunsFolder::ensure(const Root& root) {
  RunsFolder runs;
  std::string path;
  for (const char* part : {"/var", "/lib", "/nvme-preflight"}) {
    path += part;
    Result<Root::Place> place = root.place(path);
    if (!place) return tl::unexpected(place.error());
    const bool ours = path == runs_path;
    Result<Attributes> attributes =
        fresh_attributes(place->directory.get(), place->path, ours ? private_mode : mode_t{0755});
    if (!attributes) return tl::unexpected(attributes.error());
    Result<bool> created = make_directory(at(*place), *attributes);
    if (!created) return tl::unexpected(created.error());
    if (*created || ours) runs.removable_.push_back(std::move(*place));
  }
  Result<Folder> folder = Folder::open(root, runs_path);
  if (!folder) return tl::unexpected(folder.error());
  runs.folder_ = std::move(*folder);
  return runs;
}

RunsFolder::~RunsFolder() {
  while (!removable_.empty()) {
    // Not empty any more: that is what it was created for.
    (void)remove_empty_directory(at(removable_.back()));
    removable_.pop_back();
  }
}

bool is_run_name(std::string_view name) {
  constexpr std::string_view shape = "00000000T000000Z-";
  if (name.size() <= shape.size() || name.size() > shape.size() + 6) return false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char wanted = i < shape.size() ? shape[i] : '0';
    const bool digit = name[i] >= '0' && name[i] <= '9';
    if (wanted == '0' ? !digit : name[i] != wanted) return false;
  }
  return true;
}

std::string utc_time(std::time_t time) {
  const std::tm t = utc(time);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", t.tm_year + 1900, t.tm_mon + 1,
                     t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec);
}

Result<std::string> create_run(const Folder& runs, std::time_t now) {
  Result<Attributes> attributes = fresh_attributes(runs.fd.get(), runs.path, private_mode);
  if (!attributes) return tl::unexpected(attributes.error());
  for (int counter = 1; counter < 100000; ++counter) {
    std::string name = fmt::format("{}-{}", stamp(now), counter);
    Result<bool> created = make_directory(runs / name, *attributes);
    if (!created) return tl::unexpected(created.error());
    if (*created) return name;
  }
  return fail(ErrorKind::io, runs.path, "too many runs in one second");
}

Result<std::vector<std::string>> run_names(const Root& root) {
  Result<std::vector<std::string>> names = root.list(runs_path);
  if (!names && names.error().kind == ErrorKind::missing) return std::vector<std::string>{};
  if (!names) return names;
  std::erase_if(*names, [](const std::string& name) { return !is_run_name(name); });
  std::sort(names->begin(), names->end(), older);
  return names;
}

Result<ParsedJournal> read_journal(const Root& root, const std::string& run) {
  const std::string path = run_path(run) + '/' + journal_name;
  Result<std::string> text = root.read(path, journal_cap);
  if (!text && text.error().kind != ErrorKind::missing) return tl::unexpected(text.error());
  Result<ParsedJournal> parsed = parse_journal(path, run, text ? *text : "");
  if (!parsed)
    return fail(parsed.error().kind, path, parsed.error().what + by_hand(run), parsed.error().line);
  if (parsed->begun) return parsed;
  Result<std::vector<std::string>> names = root.list(run_path(run));
  if (!names) return tl::unexpected(names.error());
  for (const std::string& name : *names)
    if (name.starts_with("backup-"))
      return fail(
          ErrorKind::malformed, path,
          std::string("is missing or empty, but there are backups beside it: somebody removed it") +
              by_hand(run));
  return parsed;
}

Result<void> discard_run(const Root& root, const std::string& run) {
  Result<Folder> runs = Folder::open(root, runs_path);
  if (!runs) return tl::unexpected(runs.error());
  Result<Folder> folder = Folder::open(root, run_path(run));
  if (!folder) return tl::unexpected(folder.error());
  Result<std::vector<std::string>> names = root.list(folder->path);
  if (!names) return tl::unexpected(names.error());
  for (const std::string& name : *names)
    if (name != journal_name)
      if (auto done = remove_tree(*folder / name); !done) return done;
  if (auto done = remove_file(*folder / journal_name); !done) return tl::unexpected(done.error());
  return remove_tree(*runs / run);
}

}  // namespace preflight
