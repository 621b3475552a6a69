// SPDX-License-Identifier: MIT
#include "agent/transaction/journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "agent/formats/text.h"

namespace preflight {

namespace {

constexpr mode_t mode_bits = 07777;

std::string to_hex(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  return std::nullopt;
}

std::optional<std::string> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const auto high = hex_digit(text[i]);
    const auto low = hex_digit(text[i + 1]);
    if (!high || !low) return std::nullopt;
    out += static_cast<char>(*high * 16 + *low);
  }
  return out;
}

Json to_json(const timespec& time) {
  return Json::Array{std::int64_t{time.tv_sec}, std::int64_t{time.tv_nsec}};
}

Json to_json(const Attributes& attributes) {
  // Names are in hex too: a guest may name an attribute with any bytes.
  Json::Array xattrs;
  for (const auto& [name, value] : attributes.xattrs)
    xattrs.push_back(Json::Array{to_hex(name), to_hex(value)});
  return Json::Object{{"mode", static_cast<std::int64_t>(attributes.mode)},
                      {"uid", static_cast<std::int64_t>(attributes.uid)},
                      {"gid", static_cast<std::int64_t>(attributes.gid)},
                      {"atime", to_json(attributes.accessed)},
                      {"mtime", to_json(attributes.modified)},
                      {"xattrs", xattrs}};
}

Json to_json(const Digest& digest) {
  return Json::Object{{"size", static_cast<std::int64_t>(digest.size)},
                      {"crc32", static_cast<std::int64_t>(digest.crc32)}};
}

/// Picks members out of one line; the first that is missing or out of range spoils it.
class Reader {
 public:
  explicit Reader(const Json* json) : json_(json) {}

  std::int64_t number(std::string_view key, std::int64_t low, std::int64_t high) {
    const Json* member = json_ ? json_->find(key) : nullptr;
    const std::int64_t* value = member ? member->integer() : nullptr;
    if (!value || *value < low || *value > high) return spoil<std::int64_t>();
    return *value;
  }
  std::string text(std::string_view key) {
    const Json* member = json_ ? json_->find(key) : nullptr;
    const std::string* value = member ? member->string() : nullptr;
    return value ? *value : spoil<std::string>();
  }
  bool has(std::string_view key) const { return json_ && json_->find(key); }
  bool truth(std::string_view key) {
    const Json* member = json_ ? json_->find(key) : nullptr;
    const bool* value = member ? member->boolean() : nullptr;
    return value ? *value : spoil<bool>();
  }
  /// Text that is to be a name for system calls, which would take it to end at a NUL.
  std::string name_text(std::string_view key) {
    std::string value = text(key);
    return value.find('\0') == std::string::npos ? value : spoil<std::string>();
  }
  /// An absolute path without ".." in it.
  std::string path(std::string_view key) {
    std::string value = name_text(key);
    const bool climbs = ("/" + value + "/").find("/../") != std::string::npos;
    return value.substr(0, 1) == "/" && !climbs ? value : spoil<std::string>();
  }
  /// A plain name in the run folder.
  std::string name(std::string_view key) {
    std::string value = name_text(key);
    const bool plain = !value.empty() && value.find('/') == std::string::npos && value[0] != '.';
    return plain ? value : spoil<std::string>();
  }
  timespec time(std::string_view key) {
    const Json* member = json_ ? json_->find(key) : nullptr;
    const Json::Array* parts = member ? member->array() : nullptr;
    if (!parts || parts->size() != 2 || !(*parts)[0].integer() || !(*parts)[1].integer())
      return spoil<timespec>();
    const std::int64_t nanoseconds = *(*parts)[1].integer();
    if (nanoseconds < 0 || nanoseconds > 999999999) return spoil<timespec>();
    return {static_cast<time_t>(*(*parts)[0].integer()), static_cast<long>(nanoseconds)};
  }
  Digest digest(std::string_view key) {
    Reader inner(json_ ? json_->find(key) : nullptr);
    Digest digest;
    digest.size = static_cast<std::uint64_t>(inner.number("size", 0, INT64_MAX));
    digest.crc32 = static_cast<std::uint32_t>(inner.number("crc32", 0, UINT32_MAX));
    spoiled_ = spoiled_ || inner.spoiled();
    return digest;
  }
  Attributes attributes(std::string_view key) {
    Reader inner(json_ ? json_->find(key) : nullptr);
    Attributes attributes;
    attributes.mode = static_cast<mode_t>(inner.number("mode", 0, mode_bits));
    attributes.uid = static_cast<uid_t>(inner.number("uid", 0, UINT32_MAX));
    attributes.gid = static_cast<gid_t>(inner.number("gid", 0, UINT32_MAX));
    attributes.accessed = inner.time("atime");
    attributes.modified = inner.time("mtime");
    attributes.xattrs = inner.xattrs("xattrs");
    spoiled_ = spoiled_ || inner.spoiled();
    return attributes;
  }
  bool spoiled() const { return spoiled_; }

 private:
  template <class T>
  T spoil() {
    spoiled_ = true;
    return T{};
  }
  std::map<std::string, std::string> xattrs(std::string_view key) {
    using Map = std::map<std::string, std::string>;
    const Json* member = json_ ? json_->find(key) : nullptr;
    const Json::Array* pairs = member ? member->array() : nullptr;
    if (!pairs) return spoil<Map>();
    Map xattrs;
    for (const Json& pair : *pairs) {
      const Json::Array* parts = pair.array();
      if (!parts || parts->size() != 2 || !(*parts)[0].string() || !(*parts)[1].string())
        return spoil<Map>();
      const auto name = from_hex(*(*parts)[0].string());
      const auto value = from_hex(*(*parts)[1].string());
      if (!name || !value || name->find('\0') != std::string::npos) return spoil<Map>();
      xattrs[*name] = *value;
    }
    return xattrs;
  }

  const Json* json_;
  bool spoiled_ = false;
};

bool apply_begin(RunRecord& record, Reader& line) {
  record.run = line.text("run");
  record.tool = line.text("tool");
  record.time = line.text("time");
  record.boot_id = line.text("boot_id");
  return line.text("schema") == journal_schema;
}

bool apply_file(RunRecord& record, Reader& line) {
  FileRecord file;
  file.path = line.path("path");
  file.existed = line.truth("existed");
  if (file.existed) {
    file.backup = line.name("backup");
    file.attributes = line.attributes("attributes");
    file.original = line.digest("original");
  }
  record.files.push_back(std::move(file));
  return true;
}

bool apply_place(RunRecord& record, Reader& line) {
  if (record.files.empty()) return false;
  const std::int64_t file =
      line.number("file", 0, static_cast<std::int64_t>(record.files.size()) - 1);
  FileRecord& placed = record.files[static_cast<std::size_t>(file)];
  placed.placed = line.digest("placed");
  if (line.has("copy")) placed.copy = line.name("copy");
  return true;
}

bool apply_state(RunRecord& record, std::string_view state) {
  if (state == "committed") {
    record.committed = true;
  } else if (state == "undoing") {
    record.undoing = true;
  } else if (state == "undone") {
    record.undone = true;
  } else {
    return false;
  }
  return true;
}

/// False when the line is no event of ours, or none that belongs there.
bool apply(RunRecord& record, const Json& event) {
  Reader line(&event);
  const std::string what = line.text("event");
  bool known = false;
  if (what == "begin") {
    known = record.run.empty() && apply_begin(record, line);
  } else if (record.run.empty()) {
    return false;
  } else if (what == "directory") {
    record.directories.push_back(line.path("path"));
    known = true;
  } else if (what == "file") {
    known = apply_file(record, line);
  } else if (what == "devices-file") {
    record.devices_file = WatchedFile{line.path("path"), line.name("backup")};
    known = true;
  } else if (what == "place") {
    known = apply_place(record, line);
  } else if (what == "state") {
    known = apply_state(record, line.text("state"));
  }
  return known && !line.spoiled();
}

}  // namespace

Json begin_event(const RunRecord& record) {
  return Json::Object{{"event", "begin"},    {"schema", journal_schema},
                      {"run", record.run},   {"tool", record.tool},
                      {"time", record.time}, {"boot_id", record.boot_id}};
}

Json directory_event(const std::string& path) {
  return Json::Object{{"event", "directory"}, {"path", path}};
}

Json file_event(const FileRecord& file) {
  Json::Object event{{"event", "file"}, {"path", file.path}, {"existed", file.existed}};
  if (file.existed) {
    event.emplace_back("backup", file.backup);
    event.emplace_back("attributes", to_json(file.attributes));
    event.emplace_back("original", to_json(file.original));
  }
  return event;
}

Json devices_file_event(const WatchedFile& file) {
  return Json::Object{{"event", "devices-file"}, {"path", file.path}, {"backup", file.backup}};
}

Json place_event(std::size_t file, const Digest& digest, const std::string& copy) {
  Json::Object event{
      {"event", "place"}, {"file", static_cast<std::int64_t>(file)}, {"placed", to_json(digest)}};
  if (!copy.empty()) event.emplace_back("copy", copy);
  return event;
}

Json state_event(std::string_view state) {
  return Json::Object{{"event", "state"}, {"state", state}};
}

Result<ParsedJournal> parse_journal(const std::string& path, std::string_view run,
                                    std::string_view text) {
  ParsedJournal parsed;
  const std::size_t last_end = text.rfind('\n');
  parsed.sound_length = last_end == std::string_view::npos ? 0 : last_end + 1;
  int number = 0;
  for (const std::string_view line : split_lines(text.substr(0, parsed.sound_length))) {
    ++number;
    Result<Json> event = parse_json(path, line);
    if (!event || !apply(parsed.record, *event))
      return fail(ErrorKind::malformed, path, "damaged, or not a journal of this tool", number);
    if (parsed.record.run != run)
      return fail(ErrorKind::malformed, path,
                  fmt::format("is the journal of another run, {}", printable(parsed.record.run)),
                  number);
    parsed.begun = true;
  }
  return parsed;
}

Result<Journal> Journal::open(const At& file, ParsedJournal parsed) {
  Result<Fd> fd = open_log(file);
  if (!fd) return tl::unexpected(fd.error());
  return Journal(std::move(*fd), file.path, std::move(parsed));
}

Result<void> Journal::append(const Json& event) {
  // A torn line must not become the beginning of this one.
  if (auto done = truncate_to(fd_.get(), path_, length_); !done) return done;
  const std::string line = dump_json(event) + '\n';
  if (auto done = append_synced(fd_.get(), path_, line); !done) return done;
  length_ += line.size();
  apply(record_, event);
  return {};
}

}  // namespace preflight
