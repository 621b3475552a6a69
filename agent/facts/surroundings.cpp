// SPDX-License-Identifier: MIT
#include "agent/facts/surroundings.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "agent/formats/text.h"

namespace preflight {

namespace {

constexpr std::size_t hit_cap = 200;
constexpr std::size_t file_cap = 4000;
constexpr std::uint64_t searched_size = 256u << 10;
constexpr int depth_cap = 8;

// Judged by checks of their own, or records that nothing acts on at boot.
constexpr std::array<std::string_view, 11> not_searched{
    "/etc/fstab", "/etc/crypttab", "/etc/default/grub", "/etc/kernel/cmdline",
    "/etc/lvm",   "/etc/mtab",     "/etc/blkid",        "/etc/selinux",
    "/etc/pki",   "/etc/ssl",      "/etc/alternatives"};

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

/// The entry of a directory on FAT, where case does not count; empty when there is none.
std::string find_on_fat(const Root& root, const std::string& directory, std::string_view name) {
  const auto names = root.list(directory);
  if (!names) return {};
  const auto found = std::find_if(names->begin(), names->end(), [&](const std::string& candidate) {
    return equal_ignoring_case(candidate, name);
  });
  return found == names->end() ? std::string() : directory + "/" + *found;
}

bool is_removable_loader(std::string_view name) {
  return name.size() > 8 && equal_ignoring_case(name.substr(0, 4), "BOOT") &&
         equal_ignoring_case(name.substr(name.size() - 4), ".EFI");
}

Firmware collect_firmware(const Guest& guest) {
  Firmware firmware;
  firmware.esp = "/boot/efi";
  const auto content = guest.root.list(firmware.esp);
  firmware.esp_seen = content && !content->empty();
  const std::string efi = find_on_fat(guest.root, firmware.esp, "EFI");
  firmware.uefi = guest.live ? guest.root.exists("/sys/firmware/efi") : !efi.empty();
  if (efi.empty()) return firmware;
  const std::string boot = find_on_fat(guest.root, efi, "BOOT");
  const auto loaders = guest.root.list(boot.empty() ? "/nowhere" : boot);
  if (!loaders) return firmware;
  for (const std::string& name : *loaders) {
    const auto status = guest.root.stat(boot + "/" + name);
    if (is_removable_loader(name) && status && S_ISREG(status->st_mode) && status->st_size > 0)
      firmware.removable_loaders.push_back(boot + "/" + name);
  }
  return firmware;
}

/// Whether some target of the administrator's wants the unit (systemctl enable makes the link).
bool is_enabled(const Root& root, const std::string& unit) {
  const std::string base = "/etc/systemd/system";
  const auto names = root.list(base);
  if (!names) return false;
  return std::any_of(names->begin(), names->end(), [&](const std::string& name) {
    return name.ends_with(".wants") && root.lstat(base + "/" + name + "/" + unit).has_value();
  });
}

Kdump collect_kdump(const Guest& guest) {
  Kdump kdump;
  kdump.enabled = is_enabled(guest.root, "kdump.service");
  for (const std::string directory : {"/boot", "/var/lib/kdump"}) {
    const auto names = guest.root.list(directory);
    if (!names) continue;
    for (const std::string& name : *names) {
      if (name.starts_with("initramfs-") && name.ends_with("kdump.img"))
        kdump.images.push_back(directory + "/" + name);
    }
  }
  return kdump;
}

Multipath collect_multipath(const Guest& guest) {
  Multipath multipath;
  multipath.enabled = is_enabled(guest.root, "multipathd.service");
  auto text = guest.root.read("/etc/multipath.conf");
  if (text) {
    multipath.path = "/etc/multipath.conf";
    multipath.text = std::move(*text);
  } else if (text.error().kind != ErrorKind::missing) {
    multipath.error = text.error();
  }
  return multipath;
}

/// Searches one directory and those below it, links not followed.
class NameSearch {
 public:
  NameSearch(const Root& root, Surroundings& into) : root_(root), into_(into) {}

  void directory(const std::string& path, int depth) {
    const auto names = root_.list(path);
    if (depth > depth_cap || (!names && names.error().kind != ErrorKind::missing))
      into_.names_complete = false;
    if (depth > depth_cap || !names) return;
    for (const std::string& name : *names) entry(path + "/" + name, depth);
  }

  void file(const std::string& path) {
    if (++files_ > file_cap || into_.names.size() >= hit_cap) {
      into_.names_complete = false;
      return;
    }
    const auto text = root_.read(path, searched_size);
    if (!text && (text.error().kind == ErrorKind::denied || text.error().kind == ErrorKind::io))
      into_.names_complete = false;
    if (!text || text->find('\0') != std::string::npos) return;
    for (NameHit& hit : find_controller_names(path, *text)) {
      if (into_.names.size() < hit_cap) into_.names.push_back(std::move(hit));
    }
  }

 private:
  void entry(const std::string& path, int depth) {
    if (std::find(not_searched.begin(), not_searched.end(), path) != not_searched.end()) return;
    if (files_ > file_cap) return;
    const auto status = root_.lstat(path);
    if (!status) return;
    if (S_ISDIR(status->st_mode)) directory(path, depth + 1);
    if (S_ISREG(status->st_mode)) file(path);
  }

  const Root& root_;
  Surroundings& into_;
  std::size_t files_ = 0;
};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// "vd" as the start of a disk's name or of a pattern for one: /dev/vda, "vd*", KERNEL=="vd[a-z]",
/// dev-vda3.
bool names_virtio_disk(std::string_view line, std::size_t at) {
  const std::string_view before = line.substr(0, at);
  const std::string_view after = line.substr(at + 2);
  if (after.empty()) return false;
  const bool pattern = after.front() == '*' || after.front() == '[' || after.front() == '?';
  const bool quoted = !before.empty() && (before.back() == '"' || before.back() == '|');
  if (before.ends_with("/dev/") || before.ends_with("dev-"))
    return pattern || std::islower(static_cast<unsigned char>(after.front())) != 0;
  if (!quoted) return false;
  const std::size_t end = after.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789");
  return pattern || (end != 0 && end != std::string_view::npos && !is_word(after[end]));
}

/// Where in the line a disk of the controller is named.
std::optional<std::size_t> name_of_controller(std::string_view line) {
  for (const char* part : {"/by-id/virtio-", "/dev/disk/by-path/", "x2did-virtio"})
    if (const std::size_t at = line.find(part); at != std::string_view::npos) return at;
  for (std::size_t at = line.find("vd"); at != std::string_view::npos;
       at = line.find("vd", at + 1)) {
    if (names_virtio_disk(line, at)) return at;
  }
  return std::nullopt;
}

std::string_view word_around(std::string_view line, std::size_t at) {
  constexpr std::string_view ends = " \t=,;";
  const std::size_t before = line.find_last_of(ends, at);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  return line.substr(begin, line.find_first_of(ends, at) - begin);
}

}  // namespace

std::vector<NameHit> find_controller_names(const std::string& path, std::string_view text) {
  constexpr std::size_t shown = 200;
  std::vector<NameHit> hits;
  if (text.find("vd") == std::string_view::npos && text.find("virtio") == std::string_view::npos &&
      text.find("by-path/") == std::string_view::npos)
    return hits;
  int number = 0;
  for (const std::string_view line : split_lines(text)) {
    ++number;
    const std::string_view content = trim(line);
    if (content.empty() || content.front() == '#' || content.front() == ';') continue;
    if (const auto at = name_of_controller(content))
      hits.push_back({path, number, std::string(word_around(content, *at).substr(0, shown))});
  }
  return hits;
}

FindMultipaths read_find_multipaths(std::string_view text) {
  FindMultipaths found;
  int number = 0;
  bool in_blacklist = false;
  for (std::string_view line : split_lines(text)) {
    ++number;
    line = line.substr(0, line.find_first_of("#!"));
    const std::vector<std::string_view> words = split_words(line);
    if (words.empty()) continue;
    if (words.front() == "blacklist" || words.front() == "blacklist{") in_blacklist = true;
    if (in_blacklist && line.find("nvme") != std::string_view::npos) found.nvme_blacklisted = true;
    if (line.find('}') != std::string_view::npos) in_blacklist = false;
    const auto key = std::find(words.begin(), words.end(), "find_multipaths");
    if (key == words.end() || key + 1 == words.end()) continue;
    std::string_view value = *(key + 1);
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
    found.value = std::string(value);
    found.line = number;
  }
  return found;
}

Surroundings collect_surroundings(const Guest& guest) {
  Surroundings out;
  out.firmware = collect_firmware(guest);
  out.kdump = collect_kdump(guest);
  out.multipath = collect_multipath(guest);
  NameSearch search(guest.root, out);
  search.file("/boot/grub2/device.map");
  search.directory("/etc", 0);
  return out;
}

}  // namespace preflight
