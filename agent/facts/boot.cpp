// SPDX-License-Identifier: MIT
#include "agent/facts/boot.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "agent/facts/boot_default.h"
#include "agent/facts/release.h"
#include "agent/formats/bls.h"
#include "agent/formats/cmdline.h"
#include "agent/formats/kernel_header.h"
#include "agent/formats/text.h"

namespace preflight {

namespace {

constexpr std::string_view entries_directory = "/boot/loader/entries";
constexpr std::string_view esp_vendors = "/boot/efi/EFI";
constexpr std::string_view uki_directory = "/boot/efi/EFI/Linux";
// dnf keeps three kernels; a menu a hundred times as long is not one.
constexpr std::size_t entry_cap = 512;
// The kernel takes 2048 (x86) or 4096 bytes of command line.
constexpr std::uint64_t entry_size_cap = 64u << 10;

bool is_missing(const Error& error) {
  return error.kind == ErrorKind::missing;
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

// ---- GRUB's own files ----

Result<GrubConfig> read_config(const Root& root, const std::string& path) {
  const Result<std::string> text = root.read(path);
  if (!text) return tl::unexpected(text.error());
  return parse_grub_config(path, *text);
}

/// custom.cfg is sourced by 41_custom.in's lines at the end of grub.cfg.
void add_custom(const Root& root, GrubSite& site) {
  if (!site.config) return;
  Result<GrubConfig> custom = read_config(root, site.directory + "/custom.cfg");
  if (!custom) {
    if (!is_missing(custom.error())) site.config = tl::unexpected(custom.error());
    return;
  }
  for (GrubAssignment& one : custom->assignments)
    site.config->assignments.push_back(std::move(one));
  for (GrubMenuEntry& one : custom->menu_entries) {
    one.before_blscfg = false;
    site.config->menu_entries.push_back(std::move(one));
  }
}

Result<GrubEnvironment> read_environment(const Root& root, const std::string& path) {
  const Result<std::string> text = root.read(path);
  if (text) return parse_grubenv(path, *text);
  // EL 8 on UEFI: /boot/grub2/grubenv is a link into the ESP (grub.macros of its grub2 package).
  if (is_missing(text.error()) && root.lstat(path))
    return fail(ErrorKind::unsupported, path,
                "is a link that leads nowhere here: is the EFI system partition mounted?");
  return tl::unexpected(text.error());
}

GrubSite read_site(const Root& root, const std::string& directory) {
  GrubSite site;
  site.directory = directory;
  site.environment = read_environment(root, directory + "/grubenv");
  site.config = read_config(root, directory + "/grub.cfg");
  add_custom(root, site);
  return site;
}

/// Directories of the ESP whose grub.cfg does more than to hand over to /boot/grub2: EL 8's on
/// UEFI, and any that was made with `grub2-mkconfig -o /boot/efi/EFI/...`.
std::vector<GrubSite> esp_sites(const Root& root, std::vector<Error>& notes) {
  std::vector<GrubSite> sites;
  const Result<std::vector<std::string>> vendors = root.list(esp_vendors, 256);
  if (!vendors && !is_missing(vendors.error())) notes.push_back(vendors.error());
  if (!vendors) return sites;
  for (const std::string& vendor : *vendors) {
    GrubSite site = read_site(root, fmt::format("{}/{}", esp_vendors, vendor));
    const bool absent = !site.config && is_missing(site.config.error());
    if (!absent && !(site.config && site.config->is_stub())) sites.push_back(std::move(site));
  }
  return sites;
}

/// The configurations that may be the one GRUB starts with; the first serves for the variables.
std::vector<GrubSite> find_sites(const Guest& guest, std::vector<Error>& notes) {
  std::vector<GrubSite> esp = esp_sites(guest.root, notes);
  GrubSite main = read_site(guest.root, "/boot/grub2");
  if (guest.live && !guest.root.exists("/sys/firmware/efi")) esp.clear();
  const bool main_is_empty = !main.config && is_missing(main.config.error());
  std::vector<GrubSite> sites;
  if (esp.empty() || (!guest.live && !main_is_empty)) sites.push_back(std::move(main));
  for (GrubSite& site : esp) sites.push_back(std::move(site));
  return sites;
}

// ---- Where files are ----

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

/// How paths in entries become guest paths. GRUB takes them from the file system that holds /boot.
struct BootPaths {
  bool separate = false;      // /boot is known to be a file system of its own
  bool same_as_root = false;  // /boot is known to be a part of /

  std::string guest_path(const Root& root, const std::string& written) const {
    const std::string below_boot = "/boot" + written;
    if (separate) return below_boot;
    const std::string& first = same_as_root ? written : below_boot;
    const std::string& second = same_as_root ? below_boot : written;
    if (root.lstat(first)) return first;
    return root.lstat(second) ? second : below_boot;
  }
};

// ---- Entries ----

/// One entry file as it was read.
struct EntryFile {
  BlsSortKey key;
  std::string path;
  BlsFile fields;
};

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

/// Reads an entry's files and turns its fields into facts.
class EntryBuilder {
 public:
  EntryBuilder(const Root& root, const GrubSite& site, BootPaths paths, bool el8,
               std::vector<Error>& notes)
      : root_(root), site_(site), paths_(paths), el8_(el8), notes_(notes) {}

  BootEntry build(const EntryFile& file) const {
    BootEntry entry;
    entry.id = file.key.id;
    entry.path = file.path;
    if (const BlsField* title = file.fields.find("title")) entry.title = title->value;
    entry.version = file.key.version.value_or("");
    read_options(file, entry);
    read_linux(*file.fields.find("linux"), entry);
    read_initrds(file, entry);
    // 51-dracut-rescue.install names both by "0-rescue-<machine id>".
    entry.rescue = entry.id.find("-0-rescue") != std::string::npos ||
                   starts_with(base_name(entry.linux_path), "vmlinuz-0-rescue");
    return entry;
  }

 private:
  std::optional<std::string> lookup(std::string_view name) const {
    const std::optional<GrubVariable> variable = grub_variable(site_, name);
    if (!variable) return std::nullopt;
    return variable->value;
  }

  void note(const EntryFile& file, int line, std::string what) const {
    notes_.push_back({ErrorKind::malformed, file.path, line, std::move(what)});
  }

  /// A text that only names variables stands where the first of them that is set stands.
  void locate_options(std::string_view text, BootEntry& entry) const {
    bool first = true;
    for (const std::string_view word : split_words(text))
      if (word[0] != '$') return;
    for (const std::string& name : bls_variables(text)) {
      const std::optional<GrubVariable> variable = grub_variable(site_, name);
      if (!variable || !first) continue;
      entry.options_path = variable->path;
      entry.options_line = variable->line;
      first = false;
    }
  }

  void read_options(const EntryFile& file, BootEntry& entry) const {
    const VariableLookup look = [this](std::string_view name) { return lookup(name); };
    const BlsField* field = file.fields.find("options");
    entry.options_path = file.path;
    entry.options_line = field ? field->line : 0;
    std::optional<std::string> options;
    if (field) options = expand_bls_value(field->value, look);
    if (options) {
      locate_options(field->value, entry);
    } else if (const auto fallback = grub_variable(site_, "default_kernelopts")) {
      options = expand_bls_value(fallback->value, look);
      entry.options_path = fallback->path;
      entry.options_line = fallback->line;
    }
    entry.options = options.value_or("");
    const std::size_t used = grub_command_length(entry.options);
    if (used == entry.options.size()) return;
    note(file, entry.options_line,
         "GRUB ends the command line before \"" + printable(entry.options.substr(used, 40)) + "\"");
    entry.options.resize(used);
  }

  void read_linux(const BlsField& field, BootEntry& entry) const {
    const std::vector<std::string_view> words = split_words(field.value);
    const std::string written(words.empty() ? std::string_view() : words[0]);
    // What follows the path on the line reaches the kernel in front of the options.
    for (std::size_t i = words.size(); i > 1; --i)
      entry.options.insert(0, std::string(words[i - 1]) + " ");
    if (!starts_with(written, "/")) {
      entry.linux_path = written;
      entry.kernel_error =
          Error{ErrorKind::malformed, entry.path, field.line, "GRUB needs an absolute path here"};
    } else {
      entry.linux_path = paths_.guest_path(root_, written);
    }
    entry.kernel = guess_kernel(entry);
    if (!entry.kernel_error) probe_kernel(entry);
  }

  static std::string guess_kernel(const BootEntry& entry) {
    const std::string_view name = base_name(entry.linux_path);
    constexpr std::string_view prefix = "vmlinuz-";
    if (starts_with(name, prefix) && name.size() > prefix.size())
      return std::string(name.substr(prefix.size()));
    return entry.version;
  }

  void probe_kernel(BootEntry& entry) const {
    const Result<Fd> fd = root_.open_file(entry.linux_path);
    if (!fd) {
      entry.kernel_error = fd.error();
      return;
    }
    const std::string& path = entry.linux_path;
    const Result<std::optional<std::string>> release =
        kernel_release([&](std::uint64_t offset, std::size_t length) -> Result<std::string> {
          std::string bytes(length, '\0');
          const ssize_t got = ::pread(fd->get(), bytes.data(), length, static_cast<off_t>(offset));
          if (got < 0) return fail_errno(errno, path, "read");
          bytes.resize(static_cast<std::size_t>(got));
          return bytes;
        });
    struct stat status {};
    if (!release) {
      entry.kernel_error = release.error();
    } else if (::fstat(fd->get(), &status) == 0 && status.st_size == 0) {
      entry.kernel_error = Error{ErrorKind::malformed, path, 0, "is empty (0 bytes)"};
    } else if (*release) {
      entry.kernel = **release;
    }
  }

  /// EL 9 and later put the files that early_initrd names before the entry's own, in the directory
  /// of the first of them (create_entry()).
  std::vector<std::string> early_initrds(const std::string& beside) const {
    std::vector<std::string> out;
    const std::optional<std::string> early = el8_ ? std::nullopt : lookup("early_initrd");
    if (!early) return out;
    const std::string directory = beside.substr(0, beside.rfind('/') + 1);
    for (const std::string_view name : split_words(*early))
      out.push_back(directory + std::string(name));
    return out;
  }

  void read_initrds(const EntryFile& file, BootEntry& entry) const {
    std::vector<std::string> written;
    for (const BlsField* field : file.fields.find_all("initrd")) {
      const std::string_view text =
          std::string_view(field->value).substr(0, grub_command_length(field->value));
      for (const std::string_view word : split_words(text)) add_initrd(word, written);
    }
    const std::string beside = written.empty() ? file.fields.find("linux")->value : written.front();
    std::vector<std::string> all = early_initrds(beside);
    all.insert(all.end(), written.begin(), written.end());
    for (const std::string& path : all) {
      const std::string guest_path = starts_with(path, "/") ? paths_.guest_path(root_, path) : path;
      entry.initrds.push_back(guest_path);
      if (const Result<Fd> fd = root_.open_file(guest_path); !fd)
        entry.initrd_errors.insert_or_assign(guest_path, fd.error());
    }
  }

  /// A variable ($tuned_initrd) is expanded by GRUB's script, into words of its own.
  void add_initrd(std::string_view word, std::vector<std::string>& written) const {
    if (word[0] != '$') {
      written.emplace_back(word);
      return;
    }
    std::string_view name = word.substr(1);
    if (starts_with(name, "{") && name.back() == '}') name = name.substr(1, name.size() - 2);
    const std::string value = lookup(name).value_or("");
    for (const std::string_view part : split_words(value)) written.emplace_back(part);
  }

  const Root& root_;
  const GrubSite& site_;
  BootPaths paths_;
  bool el8_;
  std::vector<Error>& notes_;
};

// ---- The menu ----

/// The menu as GRUB numbers it: entries we read, and unified kernel images that EL 10 lists too.
struct Menu {
  std::vector<MenuItem> items;
  std::vector<std::optional<std::size_t>> entry;  // index into BootMenu::entries
};

Menu build_menu(const std::vector<EntryFile>& files, bool el10, const EntryBuilder& builder,
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
    out.entries.push_back(builder.build(file));
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
  if (const std::optional<GrubVariable> blsdir = grub_variable(site, "blsdir"))
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

std::string BootEntry::image_key() const {
  return fmt::format("{}", fmt::join(initrds, "\n"));
}

Result<BootMenu> collect_boot_menu(const Guest& guest, const Result<std::string>& machine_id) {
  BootMenu out;
  const Result<Release> release = collect_release(guest);
  const bool el8 = release && release->major == 8;
  const bool el10 = release && release->major >= 10;
  const std::vector<GrubSite> sites = find_sites(guest, out.notes);
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
  const EntryBuilder builder(guest.root, sites.front(), *paths, el8, out.notes);
  const Menu menu = build_menu(files.read, el10, builder, out);
  set_default(sites, menu, doubt(files, tie, esp_error), out);
  note_foreign_entries(machine_id, out);
  find_ostree(guest, out);
  return out;
}

}  // namespace preflight
