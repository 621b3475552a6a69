// SPDX-License-Identifier: MIT
#include "agent/facts/boot.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "agent/facts/boot_default.h"
#include "agent/facts/boot_entry.h"
#include "agent/facts/grub_files.h"
#include "agent/facts/release.h"
#include "agent/formats/bls.h"
#include "agent/formats/cmdline.h"
#include "agent/formats/text.h"

namespace preflight {

namespace {

constexpr std::string_view entries_directory = "/boot/loader/entries";
constexpr std::string_view uki_directory = "/boot/efi/EFI/Linux";
// dnf keeps three kernels; a menu a hundred times as long is not one.
constexpr std::size_t entry_cap = 512;
// Twice what the longest command line takes (command_line_size).
constexpr std::uint64_t entry_size_cap = 8u << 10;

bool is_missing(const Error& error) {
  return error.kind == ErrorKind::missing;
}

bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

struct EntryFiles {
  std::vector<EntryFile> read;
  std::vector<std::string> unread;  // ids of entries that are there and could not be read
};

void note_oddities(const EntryFile& file, std::vector<Error>& notes) {
  const auto note = [&](std::string what, int line) {
    notes.push_back({ErrorKind::malformed, file.path, line, std::move(what)});
  };
  if (file.fields.text_after)
    note("GRUB stops reading the entry at this line and ignores what follows",
         file.fields.stopped_line);
  const auto options = file.fields.find_all("options");
  if (options.size() > 1) note("GRUB uses the first options line alone", options[1]->line);
  // create_entry() looks for ".conf" at the name's end and does not get past an earlier one.
  if (file.key.id.find(".conf") != std::string::npos)
    note("GRUB's blscfg hangs on a file name with \".conf\" inside", 0);
}

bool fstab_names_boot(const Root& root) {
  const Result<std::string> text = root.read("/etc/fstab");
  if (!text) return false;
  for (const std::string_view line : split_lines(*text)) {
    const std::vector<std::string_view> words = split_words(line);
    if (words.size() > 1 && words[0][0] != '#' && words[1] == "/boot") return true;
  }
  return false;
}

bool on_other_file_system(const Root& root, std::string_view path) {
  const Result<struct stat> there = root.stat(path);
  const Result<struct stat> top = root.stat("/");
  return there && top && there->st_dev != top->st_dev;
}

EntryFiles read_entries(const Root& root, const std::string& directory,
                        const std::vector<std::string>& names, std::vector<Error>& notes) {
  EntryFiles files;
  for (const std::string& name : names) {
    const std::string id = name.substr(0, name.size() - std::string_view(".conf").size());
    const std::string path = directory + "/" + name;
    const Result<std::string> text = root.read(path, entry_size_cap);
    if (!text) {
      notes.push_back(text.error());
      // GRUB does not get into a FIFO, a directory or a dangling link either.
      const bool gone = is_missing(text.error()) || text.error().kind == ErrorKind::wrong_type;
      if (!gone) files.unread.push_back(id);
      continue;
    }
    EntryFile file{{id, std::nullopt}, path, parse_bls(*text)};
    if (const BlsField* version = file.fields.find("version")) file.key.version = version->value;
    note_oddities(file, notes);
    files.read.push_back(std::move(file));
  }
  return files;
}

/// In menu order. Two that GRUB cannot tell apart are named in the result.
std::string sort_entries(std::vector<EntryFile>& files, bool el8) {
  std::vector<BlsSortKey> keys;
  for (const EntryFile& file : files) keys.push_back(file.key);
  std::vector<EntryFile> sorted;
  std::string tie;
  for (const std::size_t index : bls_menu_order(keys, el8)) {
    if (tie.empty() && !sorted.empty() && bls_same_place(sorted.back().key, keys[index], el8))
      tie = fmt::format("{} and {}", sorted.back().path, files[index].path);
    sorted.push_back(std::move(files[index]));
  }
  files = std::move(sorted);
  return tie;
}

/// The menu as GRUB numbers it: entries we read, and unified kernel images that EL 10 lists too.
struct Menu {
  std::vector<MenuItem> items;
  std::vector<std::optional<std::size_t>> entry;  // index into BootMenu::entries
};

Menu build_menu(const std::vector<EntryFile>& files, bool el10, const EntryContext& context,
                BootMenu& out) {
  Menu menu;
  for (const EntryFile& file : files) {
    const BlsField* title = file.fields.find("title");
    const BlsField* kernel = file.fields.find("linux");
    const BlsField* uki = el10 ? file.fields.find("efi") : nullptr;
    if (!kernel && !uki) {
      out.notes.push_back({ErrorKind::malformed, file.path, 0,
                           "has no linux line that GRUB reads: it is not in the menu"});
      continue;
    }
    const BlsField* shown = title ? title : uki ? uki : kernel;
    menu.items.push_back({file.key.id, shown->value});
    if (uki) {
      out.unified_kernel_images.push_back(uki->value);
      out.notes.push_back({ErrorKind::unsupported, file.path, uki->line,
                           "boots a unified kernel image, which is not looked into"});
      menu.entry.push_back(std::nullopt);
      continue;
    }
    menu.entry.push_back(out.entries.size());
    out.entries.push_back(build_entry(context, file, out.notes));
  }
  return menu;
}

/// Why the order or the content of the menu is not certain enough to trust a position in it.
std::string doubt(const EntryFiles& files, const std::string& tie,
                  const std::optional<std::string>& esp_error) {
  if (esp_error) return *esp_error;
  if (!tie.empty()) return fmt::format("GRUB cannot tell {} apart and shows only one of them", tie);
  if (!files.unread.empty())
    return fmt::format("the entry {} could not be read", printable(files.unread.front()));
  return "";
}

std::string deciding_file(const GrubSite& site) {
  if (site.environment) return site.environment->path;
  if (site.config) return site.config->path;
  return site.directory + "/grubenv";
}

DefaultChoice agree(const std::vector<GrubSite>& sites, const std::vector<MenuItem>& items) {
  DefaultChoice first = choose_default(sites.front(), items);
  for (std::size_t i = 1; i < sites.size(); ++i) {
    const DefaultChoice other = choose_default(sites[i], items);
    if (other.next == first.next && other.later == first.later) continue;
    return {std::nullopt, std::nullopt,
            fmt::format("{} and {} disagree, and the firmware decides which of them counts: {}; {}",
                        sites.front().directory, sites[i].directory, first.reason, other.reason)};
  }
  return first;
}

void set_default(const std::vector<GrubSite>& sites, const Menu& menu, const std::string& doubts,
                 BootMenu& out) {
  DefaultChoice choice = agree(sites, menu.items);
  out.default_path = deciding_file(sites.front());
  out.bypassed = choice.bypassed;
  out.default_reason = choice.reason;
  if (choice.next && !doubts.empty()) {
    out.default_reason += "; " + doubts;
    return;
  }
  const auto entry_of = [&](const std::optional<std::size_t>& item) -> std::optional<std::size_t> {
    return item ? menu.entry[*item] : std::nullopt;
  };
  const std::optional<std::size_t> next = entry_of(choice.next);
  const std::optional<std::size_t> later = entry_of(choice.later);
  if (choice.next && (!next || (choice.later && !later))) {
    out.default_reason += "; that is a unified kernel image";
    out.bypassed = true;
    return;
  }
  out.default_index = next;
  if (next) out.entries[*next].is_default = true;
  if (later) out.entries[*later].is_default = true;
}

void note_foreign_entries(const Result<std::string>& machine_id, BootMenu& out) {
  if (!machine_id) return;
  for (const BootEntry& entry : out.entries) {
    const std::string_view owner = std::string_view(entry.id).substr(0, 32);
    const bool has_owner = entry.id.size() > 33 && entry.id[32] == '-' &&
                           owner.find_first_not_of("0123456789abcdef") == std::string_view::npos;
    if (has_owner && owner != *machine_id)
      out.notes.push_back(
          {ErrorKind::malformed, entry.path, 0,
           "belongs to another machine id than /etc/machine-id; GRUB sorts it among "
           "the others and kernel updates leave it alone"});
  }
}

void find_unified_images(const Root& root, BootMenu& out) {
  const Result<std::vector<std::string>> names = root.list(uki_directory, 1000);
  if (!names) return;
  for (const std::string& name : *names)
    if (name.size() > 4 && name.substr(name.size() - 4) == ".efi")
      out.unified_kernel_images.push_back(fmt::format("{}/{}", uki_directory, name));
}

void find_ostree(const Guest& guest, BootMenu& out) {
  if (guest.live && guest.root.exists("/run/ostree-booted")) out.ostree = "/run/ostree-booted";
  for (const BootEntry& entry : out.entries)
    if (out.ostree.empty() && first_word(parse_cmdline(entry.options), "ostree"))
      out.ostree = entry.path;
}

/// The directory blscfg reads: grubenv's blsdir (set for btrfs and zfs, 10_linux.in), else the
/// usual one, which is also where it looks when blsdir is not there.
std::string find_entries_directory(const Root& root, const GrubSite& site) {
  if (const GrubVariable* blsdir = site.find("blsdir"))
    for (const std::string& path : {"/boot" + blsdir->value, blsdir->value})
      if (starts_with(blsdir->value, "/") && root.exists(path)) return path;
  return std::string(entries_directory);
}

Result<std::vector<std::string>> list_entries(const Guest& guest, const std::string& directory) {
  Result<std::vector<std::string>> names = guest.root.list(directory);
  if (!names) {
    if (is_missing(names.error()) && fstab_names_boot(guest.root))
      names.error().what += " (/etc/fstab gives /boot a file system of its own: is it mounted?)";
    return names;
  }
  names->erase(std::remove_if(names->begin(), names->end(),
                              [](const std::string& name) { return !is_bls_file_name(name); }),
               names->end());
  if (names->size() > entry_cap)
    return fail(
        ErrorKind::too_large, directory,
        fmt::format("holds {} entries, more than the {} that are read", names->size(), entry_cap));
  return names;
}

Result<BootPaths> find_paths(const Guest& guest, const std::string& directory) {
  BootPaths paths;
  paths.separate = on_other_file_system(guest.root, directory);
  if (!guest.live || paths.separate) return paths;
  if (fstab_names_boot(guest.root))
    return fail(ErrorKind::unsupported, directory,
                "/etc/fstab gives /boot a file system of its own, which is not mounted: these are "
                "not the entries that GRUB reads");
  paths.same_as_root = true;
  return paths;
}

}  // namespace

Result<BootMenu> collect_boot_menu(const Guest& guest, const Result<std::string>& machine_id) {
  BootMenu out;
  const Result<Release> release = collect_release(guest);
  const bool el8 = release && release->major == 8;
  const bool el10 = release && release->major >= 10;
  const std::vector<GrubSite> sites = find_grub_sites(guest, out.notes);
  const std::optional<std::string> esp_error =
      out.notes.empty() ? std::nullopt : std::optional(out.notes.front().message());
  const std::string directory = find_entries_directory(guest.root, sites.front());
  const Result<std::vector<std::string>> names = list_entries(guest, directory);
  if (!names || names->empty()) {
    find_unified_images(guest.root, out);
    find_ostree(guest, out);
    out.default_reason = "there are no boot loader entries in " + directory;
    out.default_path = directory;
    if (!names && out.unified_kernel_images.empty()) return tl::unexpected(names.error());
    return out;
  }
  const Result<BootPaths> paths = find_paths(guest, directory);
  if (!paths) return tl::unexpected(paths.error());
  EntryFiles files = read_entries(guest.root, directory, *names, out.notes);
  const std::string tie = sort_entries(files.read, el8);
  const EntryContext context{guest.root, sites.front(), *paths, el8};
  const Menu menu = build_menu(files.read, el10, context, out);
  set_default(sites, menu, doubt(files, tie, esp_error), out);
  note_foreign_entries(machine_id, out);
  find_ostree(guest, out);
  return out;
}

}  // namespace preflight
