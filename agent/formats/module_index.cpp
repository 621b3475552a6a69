// SPDX-License-Identifier: MIT
#include "agent/formats/module_index.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "agent/formats/kmod_index.h"
#include "agent/formats/lines.h"
#include "agent/formats/text.h"

namespace preflight {

namespace {

// kmod shared/util.c kmod_exts, and the suffix itself.
constexpr std::string_view module_suffix = ".ko";
constexpr std::string_view compressed_suffixes[] = {".gz", ".xz", ".zst"};

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

/// Without ".ko" and a compression suffix behind it; nullopt when the name does not end so.
std::optional<std::string_view> without_suffix(std::string_view name) {
  for (const std::string_view compressed : compressed_suffixes)
    if (name.ends_with(compressed)) {
      name.remove_suffix(compressed.size());
      break;
    }
  if (!name.ends_with(module_suffix)) return std::nullopt;
  return name.substr(0, name.size() - module_suffix.size());
}

// The longest closures of distribution kernels have some hundred modules.
constexpr std::size_t closure_cap = 2000;

/// A line of modules.dep, or what modules.dep.bin has for a module: "path: path path".
std::optional<ModuleDependencies::Line> parse_line(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || trim(text.substr(0, colon)).empty()) return std::nullopt;
  ModuleDependencies::Line line;
  line.path = trim(text.substr(0, colon));
  const std::vector<std::string_view> needs = split_words(text.substr(colon + 1));
  if (needs.size() > closure_cap) return std::nullopt;
  line.needs.assign(needs.begin(), needs.end());
  return line;
}

std::optional<std::string> directory_at(const Image& image, const std::string& path) {
  const std::optional<std::string> place = image.resolve(path);
  if (!place) return std::nullopt;
  const ImageFile* const file = image.find(*place);
  if (file != nullptr && !S_ISDIR(file->mode)) return std::nullopt;
  return place;
}

/// One of the indexes that depmod writes twice: as text, and as the binary that kmod reads.
struct IndexFile {
  std::string path;                       // of the binary
  std::optional<KmodIndex> binary;        // what kmod reads
  const std::string* text = nullptr;      // stands for it when the binary's content is not at hand
  std::optional<std::string> missing;     // why kmod finds nothing there
  std::optional<std::string> unreadable;  // why it cannot be told what kmod finds there
};

IndexFile open_index(const Image& image, const std::string& directory, std::string_view name) {
  IndexFile index;
  index.path = fmt::format("{}/{}.bin", directory, name);
  const ImageFile* const file = image.find(index.path);
  if (file == nullptr || !S_ISREG(file->mode)) {
    index.missing = fmt::format("{}, the index that kmod reads", index.path);
    return index;
  }
  index.text = image.content(fmt::format("{}/{}", directory, name));
  if (file->content) {
    Result<KmodIndex> binary = KmodIndex::open(index.path, *file->content);
    if (binary) {
      index.binary = std::move(*binary);
    } else {
      index.missing = fmt::format("a usable {} (it is {})", index.path, binary.error().what);
    }
  } else if (index.text == nullptr) {
    index.unreadable = fmt::format("{} was not read, and there is no {} as text", index.path, name);
  }
  return index;
}

/// What the index says about one module; nullopt when it does not know it.
Result<std::optional<ModuleDependencies::Line>> find_module(const IndexFile& index,
                                                            const std::string& module) {
  if (index.binary) {
    Result<std::optional<std::string>> line = index.binary->find(module);
    if (!line) return tl::unexpected(line.error());
    return *line ? parse_line(**line) : std::nullopt;
  }
  std::optional<ModuleDependencies::Line> found;
  each_line(*index.text, [&](std::string_view text, int) {
    std::optional<ModuleDependencies::Line> line = parse_line(text);
    if (line && canonical_module_name(line->path) == module) found = std::move(line);
    return !found;
  });
  return found;
}

/// kmod's alias_normalize: the keys of the binary index, and what is looked up there, have '_' for
/// '-', except inside brackets.
std::string normalized_alias(std::string_view alias) {
  std::string out(alias);
  bool in_brackets = false;
  for (char& character : out) {
    if (character == '[') in_brackets = true;
    if (character == ']') in_brackets = false;
    if (character == '-' && !in_brackets) character = '_';
  }
  return out;
}

/// nullopt when the file is too long to be what it says it is.
ModuleNames builtin_in(const Image& image, const std::string& directory) {
  const std::string* const text = image.content(directory + "/modules.builtin");
  return text == nullptr ? ModuleNames(std::in_place) : builtin_names(*text);
}

std::string other_kernels(const Image& image) {
  const std::vector<std::string> kernels = module_directories(image);
  if (kernels.empty()) return "; it has no kernel modules at all";
  constexpr std::size_t shown = 5;
  std::string names;
  for (std::size_t i = 0; i < std::min(shown, kernels.size()); ++i)
    names += (i == 0 ? "" : ", ") + printable(kernels[i]);
  if (kernels.size() > shown) names += fmt::format(" and {} more", kernels.size() - shown);
  return fmt::format("; it has those of {}", names);
}

/// Looks for one module's file, by the path that the index gives.
void find_file(const Image& image, const std::string& directory, const std::string& path,
               DriverState& state) {
  const std::string full = path.starts_with('/') ? path : directory + '/' + path;
  const std::optional<std::string> place = image.resolve(full);
  const ImageFile* const file = place ? image.find(*place) : nullptr;
  if (file == nullptr || !S_ISREG(file->mode)) {
    state.missing.push_back(printable(full));
  } else if (file->size == 0) {
    state.missing.push_back(fmt::format("the content of {} (the file is empty)", printable(full)));
  } else {
    state.present.push_back(*place);
  }
}

void find_closure(const Image& image, const std::string& directory, const std::string& module,
                  const std::set<std::string>& builtin, DriverState& state) {
  const IndexFile index = open_index(image, directory, "modules.dep");
  if (index.missing) state.missing.push_back(*index.missing);
  if (index.unreadable) state.unreadable.push_back(*index.unreadable);
  if (index.missing || index.unreadable) return;
  const auto line = find_module(index, module);
  if (!line) {
    state.missing.push_back(fmt::format("a usable {} ({})", index.path, line.error().what));
    return;
  }
  if (!*line || canonical_module_name((*line)->path) != module ||
      !without_suffix(base_name((*line)->path))) {
    state.missing.push_back(fmt::format("{}.ko in {}", module, index.path));
    return;
  }
  find_file(image, directory, (*line)->path, state);
  for (const std::string& needed : (*line)->needs)
    if (!builtin.contains(canonical_module_name(needed)))
      find_file(image, directory, needed, state);
}

/// What the guest's own index has the module need, and the image's index does not name.
void find_unlisted(const std::string& directory, const std::string& module,
                   const std::set<std::string>& needs, const std::set<std::string>& builtin,
                   DriverState& state) {
  if (!state.missing.empty() || !state.unreadable.empty()) return;
  std::set<std::string> listed;
  for (const std::string& path : state.present) listed.insert(canonical_module_name(path));
  for (const std::string& needed : needs)
    if (!listed.contains(needed) && !builtin.contains(needed))
      state.missing.push_back(
          fmt::format("{}, which {} of this kernel needs, in {}/modules.dep.bin", printable(needed),
                      module, directory));
}

}  // namespace

std::string canonical_module_name(std::string_view file_or_name) {
  const std::string_view base = base_name(file_or_name);
  std::string name(without_suffix(base).value_or(base));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

ModuleNames builtin_names(std::string_view text, std::size_t cap) {
  std::set<std::string> names;
  const bool whole = each_line(text, [&](std::string_view line, int) {
    if (const std::string_view path = trim(line); !path.empty())
      names.insert(canonical_module_name(path));
    return names.size() <= cap;
  });
  return whole ? ModuleNames(std::move(names)) : std::nullopt;
}

ModuleNames dependency_names(std::string_view text, std::size_t cap) {
  std::set<std::string> names;
  const bool whole = each_line(text, [&](std::string_view raw, int) {
    if (const auto line = parse_line(raw)) names.insert(canonical_module_name(line->path));
    return names.size() <= cap;
  });
  return whole ? ModuleNames(std::move(names)) : std::nullopt;
}

std::optional<ModuleNeeds> module_needs(std::string_view text, std::size_t cap) {
  ModuleNeeds needs;
  std::size_t names = 0;
  const bool whole = each_line(text, [&](std::string_view raw, int) {
    const auto line = parse_line(raw);
    if (!line) return true;
    const auto [module, added] = needs.try_emplace(canonical_module_name(line->path));
    if (!added) return true;  // the first line of a module counts, as in parse_dependencies()
    ++names;
    for (const std::string& path : line->needs)
      if (module->second.insert(canonical_module_name(path)).second) ++names;
    return names <= cap;
  });
  return whole ? std::optional(std::move(needs)) : std::nullopt;
}

ModuleDependencies parse_dependencies(std::string_view text) {
  ModuleDependencies dependencies;
  each_line(text, [&](std::string_view raw, int number) {
    if (trim(raw).empty()) return true;
    std::optional<ModuleDependencies::Line> line = parse_line(raw);
    if (!line) {
      ++dependencies.malformed_lines;
      return true;
    }
    line->line = number;
    dependencies.by_name.try_emplace(canonical_module_name(line->path), std::move(*line));
    return true;
  });
  return dependencies;
}

std::vector<AliasMatch> match_alias(std::string_view modules_alias, std::string_view modalias) {
  std::vector<AliasMatch> matches;
  each_line(modules_alias, [&](std::string_view line, int number) {
    if (!trim(line).starts_with("alias")) return true;
    const std::vector<std::string_view> words = split_words(line);
    if (words.size() >= 3 && words[0] == "alias" && matches_pattern(words[1], modalias))
      matches.push_back({canonical_module_name(words[2]), number});
    return matches.size() < modules_cap;
  });
  return matches;
}

std::optional<std::string> module_directory(const Image& image, std::string_view kernel) {
  if (kernel.empty() || kernel == "." || kernel == ".." ||
      kernel.find('/') != std::string_view::npos)
    return std::nullopt;
  for (const std::string_view modules : {"lib/modules", "usr/lib/modules"})
    if (auto directory = directory_at(image, fmt::format("{}/{}", modules, kernel)))
      return directory;
  return std::nullopt;
}

std::vector<std::string> module_directories(const Image& image) {
  std::set<std::string> kernels;
  for (const std::string modules : {"lib/modules", "usr/lib/modules"})
    for (const std::string& name : image.list(modules))
      if (directory_at(image, modules + '/' + name)) kernels.insert(name);
  return {kernels.begin(), kernels.end()};
}

DriverState driver_state(const Image& image, std::string_view kernel, std::string_view module,
                         const GuestModules& guest) {
  DriverState state;
  const std::string name = canonical_module_name(module);
  const std::optional<std::string> directory = module_directory(image, kernel);
  std::set<std::string> builtin = guest.builtin;
  ModuleNames own = directory ? builtin_in(image, *directory) : ModuleNames(std::in_place);
  if (own) builtin.merge(std::move(*own));
  state.builtin = builtin.contains(name);
  if (state.builtin) return state;
  if (!own) {
    state.unreadable.push_back(
        fmt::format("{}/modules.builtin lists more modules than a kernel has", *directory));
    return state;
  }
  if (!directory) {
    state.missing.push_back(
        fmt::format("the modules of kernel {}{}", printable(kernel), other_kernels(image)));
    return state;
  }
  find_closure(image, *directory, name, builtin, state);
  if (const auto needs = guest.needs.find(name); needs != guest.needs.end())
    find_unlisted(*directory, name, needs->second, builtin, state);
  return state;
}

bool AliasState::gives(std::string_view canonical_module) const {
  return std::any_of(matches.begin(), matches.end(),
                     [&](const AliasMatch& match) { return match.module == canonical_module; });
}

AliasState alias_state(const Image& image, std::string_view kernel, std::string_view modalias) {
  AliasState state;
  const std::optional<std::string> directory = module_directory(image, kernel);
  if (!directory) {
    state.missing = fmt::format("the modules of kernel {}", printable(kernel));
    return state;
  }
  const IndexFile index = open_index(image, *directory, "modules.alias");
  state.path = index.path;
  state.missing = index.missing;
  state.unreadable = index.unreadable;
  if (index.missing || index.unreadable) return state;
  if (!index.binary) {
    state.matches = match_alias(*index.text, modalias);
    return state;
  }
  const Result<std::vector<std::string>> modules = index.binary->match(normalized_alias(modalias));
  if (!modules && modules.error().kind == ErrorKind::malformed) {
    state.missing = fmt::format("a usable {} ({})", index.path, modules.error().what);
  } else if (!modules) {
    state.unreadable = modules.error().message();
  } else {
    for (const std::string& module : *modules)
      state.matches.push_back({canonical_module_name(module), 0});
  }
  return state;
}

}  // namespace preflight
