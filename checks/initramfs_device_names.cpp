// SPDX-License-Identifier: MIT
// A host-only image may wait for a device by a name that goes away with the virtio disk: dracut's
// wait_for_dev writes an initqueue hook and a systemd unit with no time limit
// (modules.d/99base/dracut-dev-lib.sh), and its command-line files, crypttab and fstab name
// devices.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "agent/check.h"
#include "agent/facts/stable_name.h"
#include "agent/formats/fstab.h"
#include "agent/formats/text.h"
#include "checks/boot_images.h"
#include "checks/boot_words.h"

namespace preflight {

namespace {

constexpr std::size_t evidence_cap = 24;

/// One place in the image that names a device.
struct Wait {
  std::string path;  // inside the image
  int line = 0;
  std::string saw;
  std::string device;
  std::string why;  // why_it_changes()
};

// Of all such files of one image: many links can lead to one file. The largest that dracut writes
// have some hundred bytes.
constexpr std::size_t text_cap = 1u << 20;
constexpr std::size_t saw_cap = 256;  // bytes of a line that is shown

struct Waits {
  std::vector<Wait> found;          // the first evidence_cap
  std::vector<std::string> unread;  // files whose content was not kept, or is over the cap
  std::size_t text_left = text_cap;
};

void add(const std::string& path, int line, std::string_view saw, std::string_view device,
         Waits& waits) {
  if (waits.found.size() >= evidence_cap) return;
  if (auto why = why_it_changes(device))
    waits.found.push_back(
        {path, line, std::string(saw.substr(0, saw_cap)), std::string(device), *why});
}

/// The content of a regular file; nullptr when there is none or it is empty.
const std::string* read(const Image& image, const std::string& path, Waits& waits) {
  const ImageFile* const file = image.find(path);
  if (file == nullptr || file->size == 0 || !file->link_target.empty()) return nullptr;
  if (!file->content || file->content->size() > waits.text_left) {
    waits.unread.push_back(path);
    return nullptr;
  }
  waits.text_left -= file->content->size();
  return &*file->content;
}

/// "\x2f" and its like, as dracut writes them into the names of its hooks.
std::string unescaped(std::string_view name) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name.substr(i, 2) == "\\x" && i + 3 < name.size()) {
      const std::size_t high = digits.find(name[i + 2]), low = digits.find(name[i + 3]);
      if (high != std::string_view::npos && low != std::string_view::npos) {
        out += static_cast<char>(high * 16 + low);
        i += 3;
        continue;
      }
    }
    out += name[i];
  }
  return out;
}

/// Paths below /dev in a text, up to a quote or blank.
std::vector<std::string_view> device_paths(std::string_view text) {
  std::vector<std::string_view> paths;
  while (true) {
    const std::size_t start = text.find("/dev/");
    if (start == std::string_view::npos) return paths;
    text.remove_prefix(start);
    const std::size_t end = std::min(text.find_first_of("\"' \t;])"), text.size());
    paths.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

void add_hook(const Image& image, const std::string& path, std::string_view name, Waits& waits) {
  constexpr std::string_view prefix = "devexists-", suffix = ".sh";
  if (!name.starts_with(prefix) || !name.ends_with(suffix) ||
      name.size() < prefix.size() + suffix.size())
    return;
  const std::size_t before = waits.found.size();
  if (const std::string* content = read(image, path, waits)) {
    int number = 0;
    for (const std::string_view line : split_lines(*content)) {
      ++number;
      for (const std::string_view device : device_paths(line))
        add(path, number, line, device, waits);
    }
  }
  if (waits.found.size() > before) return;
  name.remove_prefix(prefix.size());
  name.remove_suffix(suffix.size());
  const std::string device = unescaped(name);
  add(path, 0, "waits for " + device, device, waits);
}

void add_hooks(const Image& image, Waits& waits) {
  std::set<std::string> seen;
  for (const std::string_view hooks :
       {"usr/lib/dracut/hooks", "lib/dracut/hooks", "var/lib/dracut/hooks"}) {
    const auto place = image.resolve(fmt::format("{}/initqueue/finished", hooks));
    if (!place || !seen.insert(*place).second) continue;
    for (const std::string& name : image.list(*place))
      add_hook(image, *place + '/' + name, name, waits);
  }
}

void add_units(const Image& image, Waits& waits) {
  std::set<std::string> seen;
  for (const std::string_view directory :
       {"etc/systemd/system", "usr/lib/systemd/system", "lib/systemd/system"}) {
    const auto place = image.resolve(directory);
    if (!place || !seen.insert(*place).second) continue;
    for (const std::string& wanted_by : image.list(*place)) {
      if (!wanted_by.ends_with(".wants") && !wanted_by.ends_with(".requires")) continue;
      const std::string folder = *place + '/' + wanted_by;
      const auto units = image.resolve(folder);
      if (!units || !seen.insert(*units).second) continue;
      for (const std::string& unit : image.list(folder))
        if (const std::string device = device_of_unit(unit); !device.empty())
          add(folder + '/' + unit, 0, "needs " + device, device, waits);
    }
  }
}

/// The keys whose words in the image later ones take the place of, in every entry that uses it.
std::set<std::string> replaced_keys(const BootImage& boot_image) {
  std::map<std::string, std::size_t> entries_with;
  for (const BootEntry* entry : boot_image.entries) {
    std::set<std::string> keys;
    for (const CmdlineWord& word : parse_cmdline(entry->options))
      if (is_device_key(word.key) && !is_list_key(word.key)) keys.insert(word.key);
    for (const std::string& key : keys) ++entries_with[key];
  }
  std::set<std::string> replaced;
  for (const auto& [key, count] : entries_with)
    if (count == boot_image.entries.size()) replaced.insert(key);
  return replaced;
}

void add_words(const std::set<std::string>& replaced, const std::string& path,
               std::string_view text, Waits& waits) {
  int number = 0;
  for (const std::string_view line : split_lines(text)) {
    ++number;
    for (const CmdlineWord& word : parse_cmdline(line)) {
      if (!word.value || !is_device_key(word.key) || replaced.contains(word.key)) continue;
      const std::string saw = word.key + "=" + *word.value;
      for (const std::string_view device : device_paths(*word.value)) {
        // "keyfile:/dev/vdb:..." is divided by colons, a by-path name has its own.
        const bool by_path = device.starts_with("/dev/disk/by-path/");
        add(path, number, saw, by_path ? device : device.substr(0, device.find_first_of(":,")),
            waits);
      }
    }
  }
}

/// dracut reads them before the kernel's command line, whose root= and resume= win.
void add_cmdline_files(const BootImage& boot_image, const Image& image, Waits& waits) {
  std::vector<std::string> paths = command_line_drop_ins(image);
  paths.insert(paths.begin(), "etc/cmdline");
  const std::set<std::string> replaced = replaced_keys(boot_image);
  for (const std::string& path : paths)
    if (const std::string* content = read(image, path, waits))
      add_words(replaced, path, *content, waits);
}

void add_tables(const Image& image, Waits& waits) {
  std::vector<DeviceTable> tables;
  if (const std::string* text = read(image, "etc/crypttab", waits))
    tables.push_back(parse_crypttab("etc/crypttab", *text));
  if (const std::string* text = read(image, "etc/fstab", waits))
    tables.push_back(parse_fstab("etc/fstab", *text));
  for (const DeviceTable& table : tables)
    for (const DeviceLine& line : table.lines)
      if (!line.is_optional()) add(table.path, line.line, line.device, line.device, waits);
}

Waits find_waits(const BootImage& boot_image, const Image& image) {
  Waits waits;
  add_hooks(image, waits);
  add_units(image, waits);
  add_cmdline_files(boot_image, image, waits);
  add_tables(image, waits);
  return waits;
}

/// Where dracut's configuration asks for such a device: a rebuild would bring it back.
std::optional<Evidence> asked_for(const Facts& facts) {
  if (!facts.dracut) return std::nullopt;
  for (const std::string_view name : {"add_device", "kernel_cmdline", "fstab_lines"}) {
    const auto variable = facts.dracut->variables.find(name);
    if (variable == facts.dracut->variables.end()) continue;
    for (const Assignment& assignment : variable->second.assignments)
      for (const std::string_view device : device_paths(assignment.value))
        if (why_it_changes(device))
          return Evidence{assignment.path, assignment.line,
                          fmt::format("{} names {}", name, printable(device)), "a name by UUID"};
  }
  return std::nullopt;
}

Remedy remedy_for(const Facts& facts, const BootImage& boot_image, Finding& finding) {
  if (auto evidence = asked_for(facts)) {
    const std::string place = fmt::format("{}:{}", printable(evidence->path), evidence->line);
    finding.evidence.push_back(std::move(*evidence));
    Remedy remedy = rebuild_remedy(facts, boot_image, {});
    remedy.fix.clear();
    remedy.text = fmt::format(
        "dracut's configuration asks for it in {}: name the device by UUID there, then "
        "rebuild this image.",
        place);
    return remedy;
  }
  return rebuild_remedy(facts, boot_image, {});
}

Finding waiting(const Facts& facts, const BootImage& boot_image, const Waits& waits) {
  const Wait& first = waits.found.front();
  Finding finding = finding_on(
      boot_image, boot_image.fault(),
      fmt::format("The initramfs of {} waits for {}, {}. It never appears on NVMe, and the boot "
                  "stops there.",
                  boot_image.whose(), printable(first.device), first.why));
  for (const Wait& wait : waits.found) {
    if (finding.evidence.size() >= evidence_cap) break;
    finding.evidence.push_back({boot_image.path + ":" + wait.path, wait.line, printable(wait.saw),
                                "a name by UUID, or none"});
  }
  finding.remedy = remedy_for(facts, boot_image, finding);
  return finding;
}

std::string unseen(const Image& image, const Waits& waits) {
  if (!waits.unread.empty()) return waits.unread.front() + " in it was not read";
  if (!image.may_hold_more()) return {};
  if (image.damage) return image.damage->what;
  return "its files lie packed in " + image.opaque_parts.front();
}

Finding judge(const Facts& facts, const BootImage& boot_image) {
  if (boot_image.image == nullptr)
    return finding_on(boot_image, Status::skip,
                      fmt::format("{} names no initrd.", boot_image.path));
  if (auto finding = not_opened(boot_image)) return *finding;
  const Image& image = **boot_image.image;
  const Waits waits = find_waits(boot_image, image);
  if (!waits.found.empty()) return waiting(facts, boot_image, waits);
  if (const std::string gap = unseen(image, waits); !gap.empty())
    return finding_on(boot_image, boot_image.doubt(),
                      fmt::format("Whether the initramfs of {} waits for a device that goes away "
                                  "cannot be told: {}.",
                                  boot_image.whose(), printable(gap)));
  return finding_on(boot_image, Status::pass,
                    fmt::format("The initramfs of {} waits for no device by a name that goes away "
                                "with the virtio disk.",
                                boot_image.whose()));
}

std::vector<Finding> run(const Facts& facts) {
  return judge_images(facts, judge);
}

}  // namespace

extern const Check initramfs_device_names_check{
    "initramfs.device-names", "initramfs waits for no device by a name that goes away", &run};

}  // namespace preflight
