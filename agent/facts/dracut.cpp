// SPDX-License-Identifier: MIT
#include "agent/facts/dracut.h"

#include <fmt/format.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "agent/guest/shell.h"

namespace preflight {

namespace {

using Overlay = std::map<std::string, std::string>;

constexpr std::string_view main_file = "/etc/dracut.conf";
constexpr auto drop_in_directories =
    std::to_array<std::string_view>({"/etc/dracut.conf.d", "/usr/lib/dracut/dracut.conf.d"});

// A hostile tree must not become our memory or our time.
constexpr std::size_t name_cap = 2000;
constexpr std::size_t total_cap = 16u << 20;

/// A link to /dev/null masks a name even where the tree's /dev is empty, as it is when a guest's
/// disk is mounted elsewhere.
bool is_null_device(const Root& root, const std::string& path) {
  const Result<struct stat> status = root.stat(path);
  if (status) return S_ISCHR(status->st_mode) && status->st_rdev == makedev(1, 3);
  const Result<std::string> target = root.resolve(path);
  if (target) return *target == "/dev/null";
  const Result<std::string> link = root.read_link(path);
  return link && link->ends_with("/dev/null");
}

/// bash's [[ -e ]]: what a link leads to must be there. Where we may not look, root may.
bool is_there(const Root& root, const std::string& path) {
  const Result<struct stat> status = root.stat(path);
  if (status || is_null_device(root, path)) return true;
  return status.error().kind != ErrorKind::missing && status.error().kind != ErrorKind::wrong_type;
}

class Collector {
 public:
  Collector(const Guest& guest, const Overlay& overlay) : guest_(guest), overlay_(overlay) {}

  Result<DracutConfig> run() {
    if (!is_installed())
      return fail(ErrorKind::missing, "/usr/lib/dracut",
                  "there is no dracut and no configuration "
                  "of it");
    std::vector<DropInDirectory> directories;
    for (const std::string_view path : drop_in_directories) {
      Result<DropInDirectory> directory = names_in(std::string(path));
      if (!directory) return tl::unexpected(directory.error());
      directories.push_back(std::move(*directory));
    }
    const Result<DropInOrder> older = order_drop_ins(directories, VersionSort::before_9_1);
    const Result<DropInOrder> newer = order_drop_ins(directories, VersionSort::since_9_1);
    if (!older) return tl::unexpected(older.error());
    if (!newer) return tl::unexpected(newer.error());
    Result<DracutConfig> config = in_order(*older);
    if (!config || older->paths == newer->paths) return config;
    return unless_order_matters(std::move(*config), *newer);
  }

 private:
  bool is_installed() const {
    if (!overlay_.empty()) return true;
    for (const std::string_view path :
         {std::string_view("/usr/lib/dracut"), main_file, drop_in_directories[0]}) {
      const Result<struct stat> status = guest_.root.stat(path);
      if (status || status.error().kind != ErrorKind::missing) return true;
    }
    return false;
  }

  Result<DropInDirectory> names_in(const std::string& directory) {
    std::set<std::string> names;
    Result<std::vector<std::string>> listed = guest_.root.list(directory, name_cap);
    if (!listed && listed.error().kind != ErrorKind::missing) return tl::unexpected(listed.error());
    for (const std::string& name : listed.value_or(std::vector<std::string>{})) {
      const std::string path = directory + '/' + name;
      if (is_there(guest_.root, path)) {
        names.insert(name);
      } else if (name.ends_with(".conf")) {
        notes_.push_back({ErrorKind::missing, path, 0, "is a link that leads nowhere: not read"});
      }
    }
    for (const auto& [path, text] : overlay_)
      if (path.starts_with(directory + '/')) names.insert(path.substr(directory.size() + 1));
    return DropInDirectory{directory, {names.begin(), names.end()}};
  }

  Result<DracutConfig> in_order(const DropInOrder& order) {
    std::vector<std::string> paths = order.paths;
    paths.insert(paths.begin(), std::string(main_file));
    std::vector<DracutFile> sources;
    std::vector<Error> notes = notes_;
    notes.insert(notes.end(), order.notes.begin(), order.notes.end());
    if (Result<void> done = read_all(paths, sources, notes); !done)
      return tl::unexpected(done.error());
    Result<DracutConfig> config = evaluate(std::move(sources));
    if (config) config->notes.insert(config->notes.begin(), notes.begin(), notes.end());
    return config;
  }

  Result<void> read_all(const std::vector<std::string>& paths, std::vector<DracutFile>& sources,
                        std::vector<Error>& notes) {
    std::size_t total = 0;
    for (const std::string& path : paths) {
      Result<std::optional<DracutFile>> file = read(path, notes);
      if (!file) return tl::unexpected(file.error());
      if (!*file) continue;
      total += (*file)->text.size();
      if (total > total_cap)
        return fail(ErrorKind::too_large, path, "dracut's configuration is too large altogether");
      sources.push_back(std::move(**file));
    }
    return {};
  }

  /// nullopt: dracut goes on without the file.
  Result<std::optional<DracutFile>> read(const std::string& path, std::vector<Error>& notes) {
    const auto replaced = overlay_.find(path);
    if (replaced != overlay_.end()) return DracutFile{path, replaced->second};
    const bool is_main = path == main_file;
    if (is_null_device(guest_.root, path))
      return is_main ? std::nullopt : std::optional(DracutFile{path, "", true});
    Result<std::string> text = guest_.root.read(path);
    if (text) return DracutFile{path, std::move(*text)};
    if (is_main && text.error().kind == ErrorKind::missing) return std::nullopt;
    if (text.error().kind == ErrorKind::wrong_type && is_passed_over(path, is_main)) {
      notes.push_back(text.error());
      return std::nullopt;
    }
    return tl::unexpected(text.error());
  }

  /// dracut.sh reads /etc/dracut.conf only if it is a regular file; bash will not source a
  /// directory or a socket. A FIFO or a device it would read, and wait for.
  bool is_passed_over(const std::string& path, bool is_main) const {
    const Result<struct stat> status = guest_.root.stat(path);
    return status && (is_main || S_ISDIR(status->st_mode) || S_ISSOCK(status->st_mode));
  }

  Result<DracutConfig> evaluate(std::vector<DracutFile> sources) const {
    Result<DracutConfig> config = evaluate_dracut(sources);
    if (config || config.error().kind != ErrorKind::unsupported) return config;
    if (guest_.live && guest_.privileged) return evaluate_by_bash(std::move(sources));
    config.error().what += guest_.live ? " (as root, the guest's own bash is asked)"
                                       : " (nothing of a guest given with --root is executed)";
    return config;
  }

  static Result<DracutConfig> evaluate_by_bash(std::vector<DracutFile> sources);

  /// EL 8 and 9 sort names as GNU sort did before coreutils 9.1, EL 10 as it does since. It matters
  /// only for names that differ in leading zeros or have odd dots; where the outcome depends on it,
  /// it cannot be told.
  Result<DracutConfig> unless_order_matters(DracutConfig config, const DropInOrder& newer) {
    const Result<DracutConfig> other = in_order(newer);
    if (!other) return tl::unexpected(other.error());
    const auto same = [](const auto& a, const auto& b) {
      return a.first == b.first && a.second.value == b.second.value;
    };
    if (std::equal(config.variables.begin(), config.variables.end(), other->variables.begin(),
                   other->variables.end(), same))
      return config;
    const auto differs = std::mismatch(config.files.begin(), config.files.end(),
                                       other->files.begin(), other->files.end());
    const std::string path = differs.first == config.files.end() ? *differs.second : *differs.first;
    return fail(ErrorKind::unsupported, path,
                "when it is read depends on the version of 'sort' (its name equals another one but "
                "for leading zeros or dots), and so does what the configuration says");
  }

  const Guest& guest_;
  const Overlay& overlay_;
  std::vector<Error> notes_;
};

/// What dracut.sh has set before it reads its configuration (R9 dracut.sh:930-948).
const std::map<std::string, std::string>& preset_variables() {
  static const std::map<std::string, std::string> preset = {
      {"dracutbasedir", "/usr/lib/dracut"},
      {"confdir", "/etc/dracut.conf.d"},
      {"conffile", "/etc/dracut.conf"},
  };
  return preset;
}

const std::vector<std::string>& wanted_variables() {
  static const std::vector<std::string> names = {
      "hostonly",
      "hostonly_mode",
      "hostonly_cmdline",
      "hostonly_default_device",
      "hostonly_nics",
      "add_drivers",
      "force_drivers",
      "drivers",
      "omit_drivers",
      "drivers_dir",
      "dracutmodules",
      "add_dracutmodules",
      "force_add_dracutmodules",
      "omit_dracutmodules",
      "filesystems",
      "add_device",
      "add_fstab",
      "install_items",
      "install_optional_items",
      "compress",
      "squash_compress",
      "lvmconf",
      "mdadmconf",
      "persistent_policy",
      "uefi",
      "kernel_cmdline",
      "early_microcode",
      "no_kernel",
      "fscks",
      "nofscks",
      // What must not have been touched, or the configuration says more than its variables do.
      "dracutbasedir",
      "confdir",
      "conffile",
      "hostonly_l",
      "add_drivers_l",
      "force_drivers_l",
      "drivers_l",
      "omit_drivers_l",
      "dracutmodules_l",
      "omit_dracutmodules_l",
  };
  return names;
}

/// Attributes what changed while a file was sourced to that file.
Result<void> take_changes(DracutVariables& variables, const ShellValues& before,
                          const ShellValues& after, const std::string& path) {
  for (const auto& [name, value] : after) {
    const auto old = before.find(name);
    const std::optional<std::string> was = old == before.end() ? std::nullopt : old->second;
    if (value == was) continue;
    if (!is_dracut_setting(name))
      return fail(ErrorKind::unsupported, path,
                  fmt::format("sets {}, a variable that dracut itself works with", name));
    if (!value) {
      variables.erase(name);
      continue;
    }
    const bool append = was && !was->empty() && value->starts_with(*was);
    assign(variables, name, {path, 0, append, append ? value->substr(was->size()) : *value, true});
  }
  return {};
}

Result<DracutConfig> Collector::evaluate_by_bash(std::vector<DracutFile> sources) {
  DracutConfig config;
  std::vector<ShellFile> files;
  for (const DracutFile& source : sources) {
    config.files.push_back(source.path);
    files.push_back({source.path, source.text});
  }
  const Result<std::vector<ShellValues>> steps =
      source_in_bash(files, wanted_variables(), preset_variables());
  if (!steps) return tl::unexpected(steps.error());
  ShellValues before;
  for (const auto& [name, value] : preset_variables()) before[name] = value;
  for (std::size_t i = 0; i < steps->size(); ++i) {
    const Result<void> done = take_changes(config.variables, before, (*steps)[i], sources[i].path);
    if (!done) return tl::unexpected(done.error());
    before = (*steps)[i];
  }
  config.sources = std::move(sources);
  config.by_bash = true;
  return config;
}

}  // namespace

const DracutVariable* DracutConfig::find(std::string_view name) const {
  const auto found = variables.find(name);
  return found == variables.end() ? nullptr : &found->second;
}

std::string_view DracutConfig::value(std::string_view name) const {
  const DracutVariable* variable = find(name);
  return variable == nullptr ? std::string_view{} : variable->value;
}

bool DracutConfig::hostonly() const {
  const std::string_view text = value("hostonly");
  return text == "yes" || text == "-h";
}

Result<DracutConfig> evaluate_dracut(std::vector<DracutFile> sources) {
  Result<DracutEvaluation> evaluation = evaluate_dracut_conf(sources);
  if (!evaluation) return tl::unexpected(evaluation.error());
  DracutConfig config;
  for (const DracutFile& source : sources) config.files.push_back(source.path);
  config.variables = std::move(evaluation->variables);
  config.notes = std::move(evaluation->notes);
  config.sources = std::move(sources);
  return config;
}

Result<DracutConfig> collect_dracut(const Guest& guest) {
  return collect_dracut(guest, {});
}

Result<DracutConfig> collect_dracut(const Guest& guest,
                                    const std::map<std::string, std::string>& overlay) {
  return Collector(guest, overlay).run();
}

}  // namespace preflight
