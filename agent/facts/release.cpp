// SPDX-License-Identifier: MIT
#include "agent/facts/release.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "agent/formats/module_index.h"
#include "agent/formats/os_release.h"
#include "agent/formats/text.h"

namespace preflight {

namespace {

constexpr std::size_t kernel_cap = 64;
// EL 9's modules.dep has half a megabyte.
constexpr std::uint64_t index_cap = 8u << 20;
// Of all kernels together, with what the modules need: Debian 12's kernel, which has more modules
// than EL's, has 15000, and dnf keeps three kernels.
constexpr std::size_t all_names_cap = 250000;

constexpr std::array<std::string_view, 15> el_ids = {
    "rhel",       "centos",     "rocky",   "almalinux",  "ol",
    "eurolinux",  "scientific", "circle",  "cloudlinux", "miraclelinux",
    "springdale", "navylinux",  "vzlinux", "virtuozzo",  "rhcos"};

// Their ID_LIKE names rhel or centos, but kernel, dracut and GRUB are not EL's.
constexpr std::array<std::string_view, 2> not_el_ids = {"fedora", "amzn"};

template <class List>
bool contains(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

/// The decimal number at the start of `text`, which is cut off; -1 when there is none.
int take_number(std::string_view& text) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return -1;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

void read_version(Release& release) {
  std::string_view rest = release.version_id;
  release.major = take_number(rest);
  if (release.major < 0 || rest.substr(0, 1) != ".") return;
  rest.remove_prefix(1);
  release.minor = take_number(rest);
}

std::string field(const OsReleaseFields& fields, std::string_view name, std::string_view fallback) {
  const auto found = fields.find(name);
  return found == fields.end() ? std::string(fallback) : found->second;
}

/// "" for an index that is not there.
Result<std::string> read_index(const Root& root, const std::string& path) {
  Result<std::string> text = root.read(path, index_cap);
  if (!text && text.error().kind == ErrorKind::missing) return std::string();
  return text;
}

tl::unexpected<Error> too_many_modules(const std::string& path) {
  return fail(ErrorKind::too_large, path, "lists more modules than the kernels of a guest have");
}

/// `names_left` is what all kernels together may still have.
Result<Kernel> read_kernel(const Root& root, const std::string& version, std::size_t& names_left) {
  Kernel kernel;
  kernel.version = version;
  kernel.directory = "/lib/modules/" + version;
  const Result<std::string> builtin = read_index(root, kernel.directory + "/modules.builtin");
  if (!builtin) return tl::unexpected(builtin.error());
  const Result<std::string> modular = read_index(root, kernel.directory + "/modules.dep");
  if (!modular) return tl::unexpected(modular.error());
  ModuleNames names = builtin_names(*builtin, names_left);
  if (!names) return too_many_modules(kernel.directory + "/modules.builtin");
  names_left -= names->size();
  kernel.builtin = std::move(*names);
  std::optional<ModuleNeeds> needs = module_needs(*modular, names_left);
  if (!needs) return too_many_modules(kernel.directory + "/modules.dep");
  for (const auto& [name, needed] : *needs) names_left -= 1 + needed.size();
  kernel.needs = std::move(*needs);
  for (const auto& [name, needed] : kernel.needs) kernel.modular.insert(name);
  kernel.premade_initrd = root.exists(kernel.directory + "/initrd");
  return kernel;
}

bool is_machine_id(std::string_view text) {
  return text.size() == 32 &&
         text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

}  // namespace

bool Release::is_el() const {
  if (contains(not_el_ids, id)) return false;
  return contains(el_ids, id) || contains(id_like, "rhel") || contains(id_like, "centos");
}

Result<Release> parse_os_release(const std::string& path, std::string_view text) {
  const Result<OsReleaseFields> fields = parse_os_release_fields(path, text);
  if (!fields) return tl::unexpected(fields.error());
  Release release;
  release.path = path;
  release.id = field(*fields, "ID", "linux");
  const std::string like = field(*fields, "ID_LIKE", "");
  for (const std::string_view word : split_words(like)) release.id_like.emplace_back(word);
  release.version_id = field(*fields, "VERSION_ID", "");
  release.pretty_name = field(*fields, "PRETTY_NAME", field(*fields, "NAME", "Linux"));
  read_version(release);
  return release;
}

Result<Release> collect_release(const Guest& guest) {
  std::string path = "/etc/os-release";
  Result<std::string> text = guest.root.read(path);
  if (!text && text.error().kind == ErrorKind::missing) {
    path = "/usr/lib/os-release";
    text = guest.root.read(path);
  }
  if (!text && text.error().kind == ErrorKind::missing)
    return fail(ErrorKind::missing, "/etc/os-release",
                "there is no such file, nor /usr/lib/os-release");
  if (!text) return tl::unexpected(text.error());
  return parse_os_release(path, *text);
}

Result<std::string> collect_machine_id(const Guest& guest) {
  const std::string path = "/etc/machine-id";
  const Result<std::string> text = guest.root.read(path, 4096);
  if (!text) return text;
  const std::string_view id = trim(*text);
  if (is_machine_id(id)) return std::string(id);
  if (id.empty() || id == "uninitialized")
    return fail(ErrorKind::malformed, path, "not set yet: the guest gets its id at its first boot");
  return fail(ErrorKind::malformed, path, "is not 32 hex digits", 1);
}

Result<std::vector<Kernel>> collect_kernels(const Guest& guest) {
  const Result<std::vector<std::string>> names = guest.root.list("/lib/modules", 10000);
  if (!names) return tl::unexpected(names.error());
  std::vector<Kernel> kernels;
  std::size_t names_left = all_names_cap;
  for (const std::string& name : *names) {
    const Result<struct stat> status = guest.root.stat("/lib/modules/" + name);
    if (!status || !S_ISDIR(status->st_mode)) continue;
    if (kernels.size() == kernel_cap)
      return fail(ErrorKind::too_large, "/lib/modules", "more than 64 kernels");
    Result<Kernel> kernel = read_kernel(guest.root, name, names_left);
    if (!kernel) return tl::unexpected(kernel.error());
    kernels.push_back(std::move(*kernel));
  }
  return kernels;
}

const Kernel* find_kernel(const Result<std::vector<Kernel>>& kernels, std::string_view version) {
  if (!kernels) return nullptr;
  const auto found = std::find_if(kernels->begin(), kernels->end(),
                                  [&](const Kernel& kernel) { return kernel.version == version; });
  return found == kernels->end() ? nullptr : &*found;
}

}  // namespace preflight
