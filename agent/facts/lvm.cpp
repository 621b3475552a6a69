// SPDX-License-Identifier: MIT
#include "agent/facts/lvm.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "agent/formats/lvm_conf.h"
#include "agent/formats/lvm_conf_edit.h"
#include "agent/formats/lvm_filter.h"
#include "agent/formats/text.h"
#include "agent/guest/lvm.h"

namespace preflight {

namespace {

constexpr std::string_view binary_paths[] = {"/usr/sbin/lvm", "/sbin/lvm"};
constexpr std::string_view known_settings[] = {"use_devicesfile", "devicesfile", "filter",
                                               "global_filter", "search_for_devnames"};

std::string_view last_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

std::string_view section_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string shortened(std::string_view text) {
  constexpr std::size_t cap = 120;
  return text.size() <= cap ? std::string(text) : std::string(text.substr(0, cap)) + "...";
}

std::string place_name(std::string_view section) {
  return section.empty() ? "outside of any section" : fmt::format("in section \"{}\"", section);
}

/// Whether LVM takes a file's devices section at all: one with `tags` counts on a host that has one
/// of them (lib/config/config.c, merge_config_tree, _match_host_tags).
Result<bool> devices_count(const LvmConf& conf, const LvmFacts& facts) {
  const auto wanted = conf.values("devices/tags");
  if (!wanted) return true;
  if (!facts.tags) return tl::unexpected(facts.tags.error());
  for (const LvmConfValue& value : *wanted) {
    std::string_view tag = value.text;
    if (tag.substr(0, 1) == "@") tag.remove_prefix(1);
    if (!tag.empty() && std::find(facts.tags->begin(), facts.tags->end(), tag) != facts.tags->end())
      return true;
  }
  return false;
}

/// The parsed files in LVM's order, the last one wins.
class Merge {
 public:
  explicit Merge(LvmFacts& facts) : facts_(facts) {
    for (const LvmFile& file : facts.files) {
      Result<LvmConf> conf = LvmConf::parse(file.path, file.text);
      if (!conf) {
        facts.errors.push_back(conf.error());
        continue;
      }
      Result<bool> counts = devices_count(*conf, facts);
      if (!counts) facts.errors.push_back(counts.error());
      parsed_.push_back({std::move(*conf), counts.value_or(false)});
    }
  }

  void run() {
    for (const Parsed& file : parsed_) {
      note_places(file.conf);
      add_settings(file);
      add_comments(file.conf);
    }
    settle();
    set_use_devicesfile();
    set_names();
    set_filters();
  }

 private:
  struct Parsed {
    LvmConf conf;
    bool devices_count;
  };

  void note(const LvmConf& conf, int line, std::string what) {
    constexpr std::size_t cap = 64;
    if (facts_.notes.size() < cap)
      facts_.notes.push_back({ErrorKind::malformed, conf.path(), line, std::move(what)});
  }

  void note_places(const LvmConf& conf) {
    std::map<std::string_view, int> seen;
    for (const LvmConfPlace& place : conf.scan().places) {
      const std::string_view name = last_name(place.path);
      const std::string_view section = section_of(place.path);
      if (std::find(std::begin(known_settings), std::end(known_settings), name) ==
          std::end(known_settings))
        continue;
      if (section != "devices") {
        note(conf, place.line,
             fmt::format("{} stands {}, where LVM ignores it; it belongs into \"devices\"", name,
                         place_name(printable(section))));
        continue;
      }
      const auto [it, first] = seen.emplace(name, place.line);
      if (!first)
        note(conf, place.line,
             fmt::format("{} was set in line {} already: the last one counts", name, it->second));
      it->second = place.line;
    }
  }

  void add_settings(const Parsed& file) {
    for (const LvmConfPlace& place : file.conf.scan().places) {
      if (last_name(place.path) != "use_devicesfile") continue;
      LvmSetting setting{file.conf.path(),
                         place.line,
                         std::string(section_of(place.path)),
                         shortened(file.conf.written(place)),
                         true,
                         ""};
      if (setting.section != "devices") {
        setting.live = false;
        setting.why_not = fmt::format("it stands {}, where LVM has no such setting",
                                      place_name(printable(setting.section)));
      } else if (!file.devices_count) {
        setting.live = false;
        setting.why_not = "its section is for hosts with other tags";
      } else {
        facts_.use_devicesfile_decider = facts_.use_devicesfile_settings.size();
        deciding_ = &file.conf;
      }
      facts_.use_devicesfile_settings.push_back(std::move(setting));
    }
  }

  void add_comments(const LvmConf& conf) {
    constexpr std::size_t cap = 16;
    for (const LvmConfComment& comment : conf.scan().comments) {
      const std::string_view text =
          trim(std::string_view(conf.text()).substr(comment.begin, comment.end - comment.begin));
      if (!shows_setting(text, "use_devicesfile")) continue;
      facts_.use_devicesfile_comments.push_back(
          {conf.path(), comment.line, "", shortened(text), false, "a comment sets nothing"});
      if (facts_.use_devicesfile_comments.size() >= cap) return;
    }
  }

  /// Says of every place but the deciding one that it is overridden.
  void settle() {
    if (!facts_.use_devicesfile_decider) return;
    LvmSetting& decider = facts_.use_devicesfile_settings[*facts_.use_devicesfile_decider];
    for (LvmSetting& setting : facts_.use_devicesfile_settings) {
      if (!setting.live || &setting == &decider) continue;
      setting.live = false;
      setting.why_not = fmt::format("overridden by {} line {}", decider.path, decider.line);
    }
    if (!deciding_->boolean("devices/use_devicesfile")) {
      decider.live = false;
      decider.why_not = "no boolean for LVM, which reports it as invalid and uses its default";
    }
  }

  std::optional<Error> trouble() const {
    if (!facts_.errors.empty()) return facts_.errors.front();
    for (const Parsed& file : parsed_) {
      if (file.conf.is_section("devices/use_devicesfile"))
        return Error{ErrorKind::malformed, file.conf.path(), 0,
                     "use_devicesfile is a section where LVM expects a value: its commands crash"};
      if (auto places = file.conf.places("devices/use_devicesfile"); !places) return places.error();
    }
    return std::nullopt;
  }

  void set_use_devicesfile() {
    if (auto error = trouble()) {
      if (facts_.errors.empty()) facts_.errors.push_back(*error);
      facts_.use_devicesfile = tl::unexpected(*error);
      return;
    }
    std::optional<bool> value;
    if (deciding_ != nullptr) value = deciding_->boolean("devices/use_devicesfile");
    if (value)
      facts_.use_devicesfile = *value;
    else if (!facts_.default_source.empty())
      facts_.use_devicesfile = facts_.use_devicesfile_default;
    else
      facts_.use_devicesfile =
          fail(ErrorKind::unsupported, facts_.system_dir + "/lvm.conf",
               "use_devicesfile is not set and the default of this LVM is not known");
  }

  /// The file whose value of a devices setting stands after the merge.
  const LvmConf* last_with(const std::string& setting) const {
    for (auto it = parsed_.rbegin(); it != parsed_.rend(); ++it)
      if (it->devices_count && it->conf.values(setting)) return &it->conf;
    return nullptr;
  }

  /// A text setting: its first value, unless that is no text or empty.
  std::optional<std::string> text_of(const std::string& setting) const {
    const LvmConf* conf = last_with(setting);
    if (conf == nullptr) return std::nullopt;
    const LvmConfValue value = conf->values(setting)->front();
    if (value.type != LvmConfValue::Type::text || value.text.empty()) return std::nullopt;
    return value.text;
  }

  void set_names() {
    facts_.devicesfile_name = text_of("devices/devicesfile").value_or("system.devices");
    facts_.search_for_devnames = text_of("devices/search_for_devnames");
    // The default went from auto to all in 2.03.23 (lvm2 WHATS_NEW, commit 35cefa50f).
    const bool all_by_default =
        facts_.version && facts_.version->number >= std::array<int, 3>{2, 3, 23};
    facts_.search_for_devnames_all =
        facts_.search_for_devnames ? *facts_.search_for_devnames == "all" : all_by_default;
  }

  void set_filters() {
    // filter lists of several files are joined, the later file's first; global_filter is replaced
    // (lib/config/config.c, _merge_section).
    for (auto it = parsed_.rbegin(); it != parsed_.rend(); ++it)
      if (it->devices_count) add_patterns(it->conf, "devices/filter", facts_.filter);
    if (const LvmConf* conf = last_with("devices/global_filter"))
      add_patterns(*conf, "devices/global_filter", facts_.global_filter);
  }

  void add_patterns(const LvmConf& conf, const std::string& setting,
                    std::vector<std::string>& patterns) {
    const auto values = conf.values(setting);
    if (!values) return;
    std::vector<std::string> own;
    for (const LvmConfValue& value : *values)
      if (value.type == LvmConfValue::Type::text) own.push_back(value.text);
    std::optional<Error> error;
    if (own.size() != values->size())
      error = Error{ErrorKind::malformed, conf.path(), 0,
                    fmt::format("a pattern of {} is no text in quotes", setting)};
    else if (auto filter = LvmFilter::create(conf.path(), own); !filter)
      error = filter.error();
    if (error) {
      if (auto places = conf.places(setting); places && !places->empty())
        error->line = places->back().line;
      if (error->kind == ErrorKind::malformed) {
        error->what += "; every lvm command refuses to run";
        facts_.errors.push_back(*error);
      }
    }
    patterns.insert(patterns.end(), own.begin(), own.end());
  }

  LvmFacts& facts_;
  std::vector<Parsed> parsed_;
  const LvmConf* deciding_ = nullptr;
};

bool is_missing(const Error& error) {
  return error.kind == ErrorKind::missing;
}

/// Adds the tags that a file gives this host (lib/commands/toolcontext.c, _init_tags). Errors:
/// unsupported (they depend on a host name that is not known), malformed (LVM refuses).
Result<void> add_tags(const LvmConf& conf, const std::optional<std::string>& host,
                      std::vector<std::string>& tags) {
  const auto add = [&](const std::string& tag) {
    if (std::find(tags.begin(), tags.end(), tag) == tags.end()) tags.push_back(tag);
  };
  const auto unknown = [&] {
    return fail(ErrorKind::unsupported, conf.path(),
                "host tags depend on the host's name, which is not known here");
  };
  if (conf.boolean("tags/hosttags").value_or(false)) {
    if (!host) return unknown();
    add(*host);
  }
  for (const std::string& name : conf.sections_in("tags")) {
    const std::string tag = name.substr(0, 1) == "@" ? name.substr(1) : name;
    if (!is_devices_file_name(tag))
      return fail(ErrorKind::malformed, conf.path(),
                  fmt::format("\"{}\" is no valid tag: every lvm command fails", printable(name)));
    if (const auto hosts = conf.values("tags/" + name + "/host_list")) {
      if (!host) return unknown();
      if (std::none_of(hosts->begin(), hosts->end(),
                       [&](const LvmConfValue& value) { return value.text == *host; }))
        continue;
    }
    add(tag);
  }
  return {};
}

/// Reads the configuration files in LVM's order: lvm.conf, lvmlocal.conf, then lvm_<tag>.conf for
/// every host tag, of which each file may add more.
class Loader {
 public:
  Loader(const Guest& guest, LvmFacts& facts) : guest_(guest), facts_(facts) {}

  void run() {
    look_at_folder();
    load("/lvm.conf");
    load("/lvmlocal.conf");
    constexpr std::size_t tag_cap = 64;
    for (std::size_t i = 0; i < tags_.size() && i < tag_cap; ++i)
      load("/lvm_" + std::string(tags_[i]) + ".conf");
    if (tags_.size() > tag_cap)
      facts_.read_errors.push_back(
          {ErrorKind::unsupported, facts_.system_dir, 0, "more host tags than are looked at here"});
    if (unknown_ && has_tag_files()) facts_.read_errors.push_back(*unknown_);
    if (unknown_)
      facts_.tags = tl::unexpected(*unknown_);
    else
      facts_.tags = std::move(tags_);
  }

 private:
  /// A file below what is no directory counts as missing everywhere else; what LVM makes of it is
  /// not known (config_file_check() of its lib/config/config.c ends with an error).
  void look_at_folder() {
    const Result<struct stat> status = guest_.root.stat(facts_.system_dir);
    if (status && !S_ISDIR(status->st_mode))
      facts_.read_errors.push_back(
          {ErrorKind::wrong_type, facts_.system_dir, 0, "it is no directory"});
  }

  void load(const std::string& name) {
    const std::string path = facts_.system_dir + name;
    Result<std::string> text = guest_.root.read(path, lvm_conf_cap);
    if (!text) {
      if (!is_missing(text.error())) facts_.read_errors.push_back(text.error());
      return;
    }
    if (Result<LvmConf> conf = LvmConf::parse(path, *text)) take_tags(*conf);
    facts_.files.push_back({path, std::move(*text)});
  }

  void take_tags(const LvmConf& conf) {
    Result<void> done = add_tags(conf, host(), tags_);
    if (done) return;
    if (done.error().kind == ErrorKind::unsupported)
      unknown_ = done.error();
    else
      facts_.read_errors.push_back(done.error());
  }

  /// The name the host will have: today's, live, else what systemd would set from /etc/hostname
  /// (hostname(5): the first line that is neither blank nor a comment).
  std::optional<std::string> host() const {
    if (guest_.live) return host_name();
    constexpr std::size_t cap = 4096;
    const Result<std::string> text = guest_.root.read("/etc/hostname", cap);
    if (!text) return std::nullopt;
    for (const std::string_view line : split_lines(*text)) {
      const std::string_view name = trim(line);
      if (!name.empty() && name[0] != '#') return std::string(name);
    }
    return std::nullopt;
  }

  bool has_tag_files() const {
    const auto names = guest_.root.list(facts_.system_dir);
    if (!names) return true;
    return std::any_of(names->begin(), names->end(), [](std::string_view name) {
      return name.substr(0, 4) == "lvm_" && name.size() > 9 &&
             name.substr(name.size() - 5) == ".conf";
    });
  }

  const Guest& guest_;
  LvmFacts& facts_;
  std::vector<std::string> tags_;
  std::optional<Error> unknown_;
};

/// What each EL minor release ships. 8.10, 9.1 to 9.5, 9.7 and 10.0 are from package names and
/// release branches; the other minors of 8, and 9.0, 9.6 and 10.1, are not verified.
const char* version_of_release(int major, int minor) {
  static constexpr std::array<const char*, 8> el9 = {"2.03.14", "2.03.16", "2.03.17", "2.03.21",
                                                     "2.03.23", "2.03.24", "2.03.28", "2.03.32"};
  static constexpr std::array<const char*, 2> el10 = {"2.03.28", "2.03.32"};
  const auto at = static_cast<std::size_t>(minor);
  if (major == 8) return "2.03.14";
  if (minor < 0) return nullptr;
  if (major == 9 && at < el9.size()) return el9[at];
  if (major == 10 && at < el10.size()) return el10[at];
  return nullptr;
}

std::array<int, 3> numbers_of(std::string_view text) {
  std::array<int, 3> out{};
  for (int& number : out) {
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
    if (!text.empty()) text.remove_prefix(1);
  }
  return out;
}

Result<LvmVersion> named(std::optional<LvmVersion> version, std::string source) {
  if (!version) return fail(ErrorKind::malformed, std::move(source), "names no version of lvm2");
  version->source = std::move(source);
  return *version;
}

Result<LvmVersion> version_in_file(const Root& root, std::string_view path, std::uint64_t cap) {
  Result<std::string> text = root.read(path, cap);
  if (!text) return tl::unexpected(text.error());
  return named(find_lvm_version(*text), std::string(path));
}

Result<LvmVersion> collect_version(const Guest& guest, const Result<Release>& release) {
  if (guest.live)
    if (const auto output = ask_lvm_version())
      if (auto version = named(find_lvm_version(*output), "lvm version")) return version;
  constexpr std::uint64_t small = 4096, binary = 8u << 20;
  if (auto version = version_in_file(guest.root, "/usr/share/doc/lvm2/VERSION", small))
    return version;
  for (const std::string_view path : binary_paths)
    if (auto version = version_in_file(guest.root, path, binary)) return version;
  if (release && release->is_el())
    if (const char* text = version_of_release(release->major, release->minor))
      return LvmVersion{numbers_of(text), text, "what " + release->path + " names ships it"};
  return fail(ErrorKind::missing, std::string(binary_paths[0]),
              "neither lvm2's files nor the release tell its version");
}

void set_default(const Guest& guest, const Result<Release>& release, LvmFacts& facts) {
  std::string why;
  if (guest.live) {
    const auto output = ask_lvm_default();
    if (output)
      if (const auto value = parse_lvmconfig_boolean(*output, "use_devicesfile")) {
        facts.use_devicesfile_default = *value;
        facts.default_source = "lvmconfig --typeconfig default";
        return;
      }
    why = output ? " (lvmconfig's answer was not understood)"
                 : fmt::format(" (lvmconfig could not be asked: {})", output.error().message());
  }
  // EL 9 and later are built --with-default-use-devices-file=1, EL 8 is not (lvm2.spec).
  if (!release || !release->is_el() || release->major < 8) return;
  facts.use_devicesfile_default = release->major >= 9;
  facts.default_source = fmt::format("how EL {} builds LVM{}", release->major, why);
}

/// Live, the guest's own LVM must come to the same result, else nothing is claimed.
void compare_with_lvm(LvmFacts& facts) {
  if (!facts.use_devicesfile) return;
  const auto output = ask_lvm_setting();
  if (!output) return;  // lvmconfig refuses to clone an empty configuration: no contradiction
  const bool theirs =
      parse_lvmconfig_boolean(*output, "use_devicesfile").value_or(facts.use_devicesfile_default);
  if (theirs == *facts.use_devicesfile) return;
  facts.use_devicesfile =
      fail(ErrorKind::unsupported, facts.system_dir,
           fmt::format("the files give use_devicesfile = {:d}, but lvmconfig says {:d}",
                       *facts.use_devicesfile, theirs));
}

Result<DevicesFile> collect_devices_file(const Guest& guest, const LvmFacts& facts) {
  if (!is_devices_file_name(facts.devicesfile_name))
    return fail(ErrorKind::malformed, facts.system_dir + "/devices",
                fmt::format("devicesfile = \"{}\" is no valid name: LVM refuses to run with it",
                            printable(facts.devicesfile_name)));
  std::string path = facts.system_dir + "/devices/" + facts.devicesfile_name;
  Result<std::string> text = guest.root.read(path);
  if (!text) return tl::unexpected(text.error());
  return parse_devices_file(std::move(path), *text);
}

/// A backup is text of LVM's own language: VG { logical_volumes { LV {..} } }. One that cannot be
/// read records nothing.
std::vector<RecordedVolume> collect_recorded(const Guest& guest, const std::string& system_dir) {
  std::vector<RecordedVolume> recorded;
  constexpr std::size_t group_cap = 256;
  const std::string directory = system_dir + "/backup";
  const auto groups = guest.root.list(directory, group_cap);
  if (!groups) return recorded;
  for (const std::string& vg : *groups) {
    Result<std::string> text = guest.root.read(directory + "/" + vg, lvm_conf_cap);
    if (!text) continue;
    const Result<LvmConf> backup = LvmConf::parse(directory + "/" + vg, std::move(*text));
    if (!backup) continue;
    for (std::string& lv : backup->sections_in(vg + "/logical_volumes"))
      recorded.push_back({vg, std::move(lv)});
  }
  return recorded;
}

bool is_installed(const Guest& guest, const LvmFacts& facts) {
  if (!facts.files.empty() || !facts.read_errors.empty()) return true;
  return std::any_of(std::begin(binary_paths), std::end(binary_paths),
                     [&](std::string_view path) { return guest.root.exists(path); });
}

}  // namespace

LvmFacts merge_lvm(LvmFacts facts) {
  facts.errors = facts.read_errors;
  facts.notes.clear();
  facts.use_devicesfile_settings.clear();
  facts.use_devicesfile_comments.clear();
  facts.use_devicesfile_decider.reset();
  facts.filter.clear();
  facts.global_filter.clear();
  Merge(facts).run();
  return facts;
}

LvmFacts collect_lvm(const Guest& guest, const Result<Release>& release) {
  LvmFacts facts;
  facts.system_dir = "/etc/lvm";
  Loader(guest, facts).run();
  facts.installed = is_installed(guest, facts);
  if (!facts.installed) return facts;
  facts.version = collect_version(guest, release);
  set_default(guest, release, facts);
  facts = merge_lvm(std::move(facts));
  if (guest.live) compare_with_lvm(facts);
  facts.devices_file = collect_devices_file(guest, facts);
  facts.recorded_volumes = collect_recorded(guest, facts.system_dir);
  return facts;
}

std::optional<LvmVersion> find_lvm_version(std::string_view bytes) {
  const auto digits = [&](std::size_t& at) {
    const std::size_t begin = at;
    while (at < bytes.size() && bytes[at] >= '0' && bytes[at] <= '9' && at - begin < 4) ++at;
    return at > begin;
  };
  const auto is = [&](std::size_t& at, char c) { return at < bytes.size() && bytes[at++] == c; };
  // "2.03.24(2)": libdevmapper's own "1.02.198" next to it has no patch level in brackets.
  for (std::size_t start = bytes.find("2."); start != std::string_view::npos;
       start = bytes.find("2.", start + 1)) {
    const char before = start == 0 ? ' ' : bytes[start - 1];
    if (before == '.' || (before >= '0' && before <= '9')) continue;
    std::size_t at = start + 2;
    if (!digits(at) || !is(at, '.') || !digits(at)) continue;
    const std::size_t number_end = at;
    if (!is(at, '(') || !digits(at) || !is(at, ')')) continue;
    // The rest is shown, not judged.
    const std::size_t end =
        std::min({bytes.find('\0', at), bytes.find('\n', at), at + 40, bytes.size()});
    LvmVersion version;
    version.number = numbers_of(bytes.substr(start, number_end - start));
    version.text = std::string(trim(bytes.substr(start, end - start)));
    return version;
  }
  return std::nullopt;
}

std::optional<bool> parse_lvmconfig_boolean(std::string_view output, std::string_view name) {
  for (std::string_view line : split_lines(output)) {
    line.remove_prefix(std::min(line.find_first_not_of("# \t"), line.size()));
    if (line.substr(0, name.size()) != name) continue;
    const Result<LvmConf> conf = LvmConf::parse("lvmconfig", std::string(line) + "\n");
    if (conf) return conf->boolean(name);
  }
  return std::nullopt;
}

}  // namespace preflight
