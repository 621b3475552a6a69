// SPDX-License-Identifier: MIT
#include "checks/table_device_names.h"

#include <fmt/format.h>

#include <optional>

#include "agent/facts/stable_name.h"
#include "agent/formats/text.h"

namespace preflight {

namespace {

Remedy remedy_for(const Facts& facts, const DeviceLine& line, std::string_view fix,
                  const Result<std::string>& stable) {
  if (stable) return {std::string(fix), fmt::format("write {} instead", *stable), {}};
  Remedy remedy{
      "", fmt::format("write the UUID= of that device instead ({})", stable.error().message()), {}};
  if (facts.live) remedy.command = {"blkid", line.device};
  return remedy;
}

Finding changing_line(const Facts& facts, const DeviceTable& table, const DeviceLine& line,
                      const std::string& why, std::string_view fix, std::string_view effect) {
  const Result<std::string> stable = stable_name(facts.storage, line);
  Finding finding;
  finding.subject = fmt::format("{}:{}", table.path, line.line);
  finding.status = line.is_optional() ? Status::warn : Status::fail;
  const std::string gone = fmt::format("{} ({}), {}, is gone on NVMe", line.device, line.name, why);
  finding.summary = line.is_optional()
                        ? fmt::format("{}; the line is {}, so the boot goes on without it.", gone,
                                      line.is_nofail() ? "nofail" : "noauto")
                        : fmt::format("{}: {}", gone, effect);
  finding.evidence.push_back({table.path, line.line, line.device, stable ? *stable : "UUID=..."});
  finding.remedy = remedy_for(facts, line, fix, stable);
  return finding;
}

/// Devices that the line names beside its own: in an option, as `x-systemd.requires=/dev/vdb1` or
/// `logdev=/dev/vdb1` do, or in crypttab's key file ("/key:/dev/vdb1").
std::vector<std::string> other_devices(const DeviceLine& line) {
  std::vector<std::string> devices = device_paths_in(line.type);
  for (const std::string_view option : split_at(line.options, ',')) {
    const std::size_t equals = option.find('=');
    if (equals == std::string_view::npos) continue;
    // An order alone: nothing is waited for (systemd.mount(5)).
    const std::string_view name = option.substr(0, equals);
    if (name == "x-systemd.after" || name == "x-systemd.before") continue;
    const std::string_view value = option.substr(equals + 1);
    const std::string unit = device_of_unit(value);
    for (std::string& device : device_paths_in(value)) devices.push_back(std::move(device));
    if (!unit.empty()) devices.push_back(unit);
  }
  return devices;
}

Finding changing_option(const DeviceTable& table, const DeviceLine& line, const std::string& device,
                        const std::string& why) {
  Finding finding;
  finding.subject = fmt::format("{}:{}", table.path, line.line);
  finding.status = line.is_optional() ? Status::warn : Status::fail;
  finding.summary = fmt::format(
      "The line of {} also names {}, {}; it does not exist on NVMe, and what "
      "depends on it fails.",
      line.name, device, why);
  finding.evidence.push_back({table.path, line.line, device, "a name that survives"});
  finding.remedy = Remedy{"", "name that device by /dev/disk/by-uuid/ there", {}};
  return finding;
}

/// A tag that today leads to no device, or to several.
/// That is so on any controller; but which of several is taken may change with it.
std::optional<Finding> doubtful_tag(const Facts& facts, const DeviceTable& table,
                                    const DeviceLine& line) {
  const SpecKind kind = parse_device_spec(line.device).kind;
  const bool is_tag = kind == SpecKind::uuid || kind == SpecKind::label ||
                      kind == SpecKind::partuuid || kind == SpecKind::partlabel;
  if (!is_tag || line.is_optional() || line.made_anew || !facts.storage) return std::nullopt;
  const Storage& storage = *facts.storage;
  const std::vector<std::size_t> found = storage.resolve(line.device);
  // A listing given with --lsblk may be of before the line was written.
  const bool is_complete =
      facts.live && storage.mounted_at("/") && storage.first_probe_error() == nullptr;
  if (found.empty() ? !is_complete : found.size() == 1 || storage.are_one_btrfs(found))
    return std::nullopt;
  Finding finding;
  finding.subject = fmt::format("{}:{}", table.path, line.line);
  finding.status = Status::warn;
  finding.summary =
      found.empty() ? fmt::format(
                          "{} ({}) leads to no device of this guest: the boot waits for it, on any "
                          "controller.",
                          line.device, line.name)
                    : fmt::format("{} ({}) leads to {} devices: which of them is taken is chance.",
                                  line.device, line.name, found.size());
  finding.evidence.push_back({table.path, line.line, line.device, "one device"});
  finding.remedy = Remedy{"", "name one device that is there, or add nofail", {"blkid"}};
  return finding;
}

Finding whole_table(std::string_view path, Status status, std::string summary) {
  Finding finding;
  finding.subject = std::string(path);
  finding.status = status;
  finding.summary = std::move(summary);
  return finding;
}

}  // namespace

std::vector<Finding> judge_device_table(const Facts& facts, const Result<DeviceTable>& table,
                                        std::string_view path, std::string_view fix,
                                        std::string_view effect) {
  if (!table) {
    if (table.error().kind == ErrorKind::missing)
      return {whole_table(path, Status::skip, "There is no such file.")};
    return {whole_table(path, Status::unknown,
                        fmt::format("It cannot be read: {}.", table.error().what))};
  }
  std::vector<Finding> findings;
  for (const DeviceLine& line : table->lines) {
    if (const auto why = why_it_changes(line.device))
      findings.push_back(changing_line(facts, *table, line, *why, fix, effect));
    if (auto finding = doubtful_tag(facts, *table, line)) findings.push_back(std::move(*finding));
    for (const std::string& device : other_devices(line)) {
      if (const auto why = why_it_changes(device))
        findings.push_back(changing_option(*table, line, device, *why));
    }
  }
  if (findings.empty())
    findings.push_back(
        whole_table(path, Status::pass,
                    fmt::format("None of its {} lines names a device by a name that ends with "
                                "the controller.",
                                table->lines.size())));
  return findings;
}

}  // namespace preflight
