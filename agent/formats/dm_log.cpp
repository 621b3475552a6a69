// SPDX-License-Identifier: MIT
#include "agent/formats/dm_log.h"

#include <libdevmapper.h>

#include <cstdarg>
#include <cstdio>
#include <utility>

namespace preflight {

namespace {

constexpr std::size_t message_cap = 32;

// syslog's numbers, as libdm's log.h uses them; higher bits of `level` are flags.
constexpr int level_mask = 7;
constexpr int level_error = 3;
constexpr int level_warning = 4;

/// The library knows one callback per process, so the collector is found through the thread.
thread_local DmLog* collector = nullptr;

[[gnu::format(printf, 5, 6)]] void receive(int level, const char*, int, int, const char* format,
                                           ...) {
  const int severity = level & level_mask;
  if (collector == nullptr || severity > level_warning) return;
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (length >= 0) collector->add(severity <= level_error, text);
}

}  // namespace

DmLog::DmLog() : outer_(collector) {
  // Each time: whoever else uses the library may have set a callback of its own meanwhile.
  dm_log_with_errno_init(receive);
  collector = this;
}

DmLog::~DmLog() {
  collector = outer_;
}

void DmLog::add(bool error, std::string message) {
  std::vector<std::string>& messages = error ? errors_ : warnings_;
  if (messages.size() < message_cap) messages.push_back(std::move(message));
}

}  // namespace preflight
