// SPDX-License-Identifier: MIT
#include "agent/guest/dm.h"

#include <fmt/format.h>
#include <libdevmapper.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <charconv>
#include <memory>

#include "agent/formats/dm_log.h"

namespace preflight {

namespace {

using Task = std::unique_ptr<dm_task, decltype(&dm_task_destroy)>;

struct Number {
  int major = 0;
  int minor = 0;
};

std::optional<Number> parse_number(const std::string& text) {
  Number number;
  const char* const end = text.data() + text.size();
  const auto major_end = std::from_chars(text.data(), end, number.major);
  if (major_end.ec != std::errc() || major_end.ptr == end || *major_end.ptr != ':')
    return std::nullopt;
  const auto minor_end = std::from_chars(major_end.ptr + 1, end, number.minor);
  if (minor_end.ec != std::errc() || minor_end.ptr != end) return std::nullopt;
  return number;
}

/// A task of that type that was run on an existing device; null otherwise. dm_task_create itself
/// returns NULL where the kernel has no device-mapper or /dev/mapper/control may not be opened.
Task run_task(int type, const Number& number) {
  Task task(dm_task_create(type), &dm_task_destroy);
  dm_info info{};
  if (!task) return Task(nullptr, &dm_task_destroy);
  const bool done = dm_task_set_major_minor(task.get(), number.major, number.minor, 0) != 0 &&
                    dm_task_no_open_count(task.get()) != 0 && dm_task_run(task.get()) != 0 &&
                    dm_task_get_info(task.get(), &info) != 0;
  // libdevmapper: ENXIO on INFO clears `exists` and counts as success (libdm/ioctl/libdm-iface.c).
  return done && info.exists != 0 ? std::move(task) : Task(nullptr, &dm_task_destroy);
}

std::vector<std::string> dependencies(const Number& number) {
  std::vector<std::string> numbers;
  const Task task = run_task(DM_DEVICE_DEPS, number);
  const dm_deps* deps = task ? dm_task_get_deps(task.get()) : nullptr;
  for (std::uint32_t i = 0; deps && i < deps->count; ++i) {
    const dev_t device = deps->device[i];
    numbers.push_back(fmt::format("{}:{}", major(device), minor(device)));
  }
  return numbers;
}

}  // namespace

std::optional<DmDevice> ask_device_mapper(const Root& host, const std::string& number) {
  // libdevmapper makes a missing control node, and opening one loads the module: a report changes
  // nothing, so it is asked only where both are there.
  const Result<struct stat> control = host.stat("/dev/mapper/control");
  const std::optional<Number> parsed = parse_number(number);
  if (!control || !S_ISCHR(control->st_mode) || !parsed) return std::nullopt;
  const DmLog complaints;  // taken and not looked at: the return values say enough
  const Task task = run_task(DM_DEVICE_INFO, *parsed);
  if (!task) return std::nullopt;
  const char* name = dm_task_get_name(task.get());
  const char* uuid = dm_task_get_uuid(task.get());
  return DmDevice{name ? name : "", uuid ? uuid : "", dependencies(*parsed)};
}

}  // namespace preflight
