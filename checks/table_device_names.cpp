// SPDX-License-Identifier: MIT
#include "checks/table_device_names.h"

#include <fmt/format.h>

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

/// Why the boot goes on without that line's device; empty when it does not.
std::string why_without(const Facts& facts, const DeviceLine& line, Dispensable dispensable) {
  if (line.is_optional())
    return fmt::format("the line is {}", line.has_option("nofail") ? "nofail" : "noauto");
  return dispensable ? dispensable(facts, line) : "";
}

Finding changing_line(const Facts& facts, const DeviceTable& table, const DeviceLine& line,
                      const std::string& why, std::string_view fix, std::string_view effect,
                      const std::string& without) {
  const Result<std::string> stable = stable_name(facts.storage, line.device);
  Finding finding;
  finding.subject = fmt::format("{}:{}", table.path, line.line);
  finding.status = without.empty() ? Status::fail : Status::warn;
  const std::string gone = fmt::format("{} ({}), {}, is gone on NVMe", line.device, line.name, why);
  finding.summary = without.empty()
                        ? fmt::format("{}: {}", gone, effect)
                        : fmt::format("{}; {}, so the boot goes on without it.", gone, without);
  finding.evidence.push_back({table.path, line.line, line.device, stable ? *stable : "UUID=..."});
  finding.remedy = remedy_for(facts, line, fix, stable);
  return finding;
}

/// A device that an option names, as `x-systemd.requires=/dev/vdb1` or `logdev=/dev/vdb1` do.
std::vector<std::string> devices_in_options(std::string_view options) {
  std::vector<std::string> devices;
  for (const std::string_view option : split_at(options, ',')) {
    const std::size_t equals = option.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view value = option.substr(equals + 1);
    const std::string unit = device_of_unit(value);
    if (value.starts_with("/dev/")) devices.emplace_back(value);
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
      "An option of {} names {}, {}; it does not exist on NVMe, and what "
      "depends on it fails.",
      line.name, device, why);
  finding.evidence.push_back({table.path, line.line, line.options, "a name that survives"});
  finding.remedy = Remedy{"", "name the device by /dev/disk/by-uuid/ in that option", {}};
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
                                        std::string_view effect, Dispensable dispensable) {
  if (!table) {
    if (table.error().kind == ErrorKind::missing)
      return {whole_table(path, Status::skip, "There is no such file.")};
    return {whole_table(path, Status::unknown,
                        fmt::format("It cannot be read: {}.", table.error().what))};
  }
  std::vector<Finding> findings;
  for (const DeviceLine& line : table->lines) {
    if (const auto why = why_it_changes(line.device))
      findings.push_back(changing_line(facts, *table, line, *why, fix, effect,
                                       why_without(facts, line, dispensable)));
    for (const std::string& device : devices_in_options(line.options)) {
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
