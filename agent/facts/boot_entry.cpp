// SPDX-License-Identifier: MIT
#include "agent/facts/boot_entry.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string_view>

#include "agent/formats/cmdline.h"
#include "agent/formats/kernel_header.h"
#include "agent/formats/text.h"

namespace preflight {

namespace {

// An entry has one, two with tuned's or with early microcode.
constexpr std::size_t initrd_cap = 32;

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

/// Reads an entry's files and turns its fields into facts.
class EntryBuilder {
 public:
  EntryBuilder(const EntryContext& context, std::vector<Error>& notes)
      : root_(context.root), site_(context.site), context_(context), notes_(notes) {}

  BootEntry build(const EntryFile& file) const {
    BootEntry entry;
    entry.id = file.key.id;
    entry.path = file.path;
    if (const BlsField* title = file.fields.find("title")) entry.title = title->value;
    entry.version = file.key.version.value_or("");
    read_options(file, entry);
    read_linux(*file.fields.find("linux"), entry);
    cut_options(file, entry);
    read_initrds(file, entry);
    // 51-dracut-rescue.install names both by "0-rescue-<machine id>".
    entry.rescue = entry.id.find("-0-rescue") != std::string::npos ||
                   starts_with(base_name(entry.linux_path), "vmlinuz-0-rescue");
    return entry;
  }

 private:
  std::optional<std::string> lookup(std::string_view name) const {
    const GrubVariable* variable = site_.find(name);
    if (!variable) return std::nullopt;
    return variable->value;
  }

  void note(const EntryFile& file, int line, std::string what) const {
    notes_.push_back({ErrorKind::malformed, file.path, line, std::move(what)});
  }

  /// A text that only names variables stands where the first of them that is set stands.
  void locate_options(std::string_view text, BootEntry& entry) const {
    for (const std::string_view word : split_words(text))
      if (word[0] != '$') return;
    for (const std::string& name : bls_variables(text)) {
      const GrubVariable* variable = site_.find(name);
      if (!variable) continue;
      entry.options_path = variable->path;
      entry.options_line = variable->line;
      return;
    }
  }

  void read_options(const EntryFile& file, BootEntry& entry) const {
    const VariableLookup look = [this](std::string_view name) { return lookup(name); };
    const BlsField* field = file.fields.find("options");
    entry.options_path = file.path;
    entry.options_line = field ? field->line : 0;
    std::optional<std::string> options;
    if (field) options = expand_bls_value(field->value, look);
    if (options) {
      locate_options(field->value, entry);
    } else if (const GrubVariable* fallback = site_.find("default_kernelopts")) {
      options = expand_bls_value(fallback->value, look);
      entry.options_path = fallback->path;
      entry.options_line = fallback->line;
    }
    entry.options = options.value_or("");
    const std::size_t used = grub_command_length(entry.options);
    if (used != entry.options.size())
      note(file, entry.options_line,
           "GRUB ends the command line before \"" + printable(entry.options.substr(used, 40)) +
               "\"");
    entry.options = grub_command_line(std::string_view(entry.options).substr(0, used));
  }

  void cut_options(const EntryFile& file, BootEntry& entry) const {
    if (entry.options.size() <= command_line_size) return;
    note(file, entry.options_line,
         fmt::format("the command line has {} bytes, of which no kernel reads more than {}",
                     entry.options.size(), command_line_size));
    entry.options.resize(command_line_size);
  }

  void read_linux(const BlsField& field, BootEntry& entry) const {
    const std::string_view line = trim(field.value);
    const std::string written(line.substr(0, line.find_first_of(" \t")));
    // What follows the path on the line reaches the kernel in front of the options.
    if (const std::string_view rest = trim(line.substr(written.size())); !rest.empty())
      entry.options.insert(0, std::string(rest) + " ");
    if (!starts_with(written, "/")) {
      entry.linux_path = written;
      entry.kernel_error =
          Error{ErrorKind::malformed, entry.path, field.line, "GRUB needs an absolute path here"};
    } else {
      entry.linux_path = context_.paths.guest_path(root_, written);
    }
    entry.kernel = guess_kernel(entry);
    if (!entry.kernel_error) probe_kernel(entry);
  }

  static std::string guess_kernel(const BootEntry& entry) {
    const std::string_view name = base_name(entry.linux_path);
    constexpr std::string_view prefix = "vmlinuz-";
    if (starts_with(name, prefix) && name.size() > prefix.size())
      return std::string(name.substr(prefix.size()));
    return entry.version;
  }

  void probe_kernel(BootEntry& entry) const {
    const Result<Fd> fd = root_.open_file(entry.linux_path);
    if (!fd) {
      entry.kernel_error = fd.error();
      return;
    }
    const std::string& path = entry.linux_path;
    const Result<std::optional<std::string>> release =
        kernel_release([&](std::uint64_t offset, std::size_t length) -> Result<std::string> {
          std::string bytes(length, '\0');
          const ssize_t got = ::pread(fd->get(), bytes.data(), length, static_cast<off_t>(offset));
          if (got < 0) return fail_errno(errno, path, "read");
          bytes.resize(static_cast<std::size_t>(got));
          return bytes;
        });
    struct stat status {};
    if (!release) {
      entry.kernel_error = release.error();
    } else if (::fstat(fd->get(), &status) == 0 && status.st_size == 0) {
      entry.kernel_error = Error{ErrorKind::malformed, path, 0, "is empty (0 bytes)"};
    } else if (*release) {
      entry.kernel = **release;
    }
  }

  /// EL 9 and later put the files that early_initrd names before the entry's own, in the directory
  /// of the first of them (create_entry()).
  std::vector<std::string> early_initrds(const std::string& beside) const {
    std::vector<std::string> out;
    const std::optional<std::string> early = context_.el8 ? std::nullopt : lookup("early_initrd");
    if (!early) return out;
    const std::string directory = beside.substr(0, beside.rfind('/') + 1);
    for (const std::string_view name : split_words(*early))
      out.push_back(directory + std::string(name));
    return out;
  }

  void read_initrds(const EntryFile& file, BootEntry& entry) const {
    std::vector<std::string> written;
    for (const BlsField* field : file.fields.find_all("initrd")) {
      const std::string_view text =
          std::string_view(field->value).substr(0, grub_command_length(field->value));
      for (const std::string_view word : split_words(text)) add_initrd(word, written);
    }
    const std::string beside = written.empty() ? file.fields.find("linux")->value : written.front();
    std::vector<std::string> all = early_initrds(beside);
    all.insert(all.end(), written.begin(), written.end());
    if (all.size() > initrd_cap) {
      notes_.push_back(
          {ErrorKind::too_large, file.path, 0,
           fmt::format("names {} initrd files; only {} are looked at", all.size(), initrd_cap)});
      entry.initrd_errors.insert_or_assign(all[initrd_cap], notes_.back());
      all.resize(initrd_cap);
    }
    for (const std::string& path : all) place_initrd(path, entry);
  }

  void place_initrd(const std::string& written, BootEntry& entry) const {
    if (!starts_with(written, "/")) {
      entry.initrds.push_back(written);
      entry.initrd_errors.insert_or_assign(
          written, Error{ErrorKind::malformed, entry.path, 0,
                         "GRUB needs an absolute path for the initrd " + printable(written)});
      return;
    }
    const std::string path = context_.paths.guest_path(root_, written);
    entry.initrds.push_back(path);
    if (const Result<Fd> fd = root_.open_file(path); !fd)
      entry.initrd_errors.insert_or_assign(path, fd.error());
  }

  /// A variable ($tuned_initrd) is expanded by GRUB's script, into words of its own.
  void add_initrd(std::string_view word, std::vector<std::string>& written) const {
    if (word[0] != '$') {
      written.emplace_back(word);
      return;
    }
    std::string_view name = word.substr(1);
    if (starts_with(name, "{") && name.back() == '}') name = name.substr(1, name.size() - 2);
    const std::string value = lookup(name).value_or("");
    for (const std::string_view part : split_words(value)) written.emplace_back(part);
  }

  const Root& root_;
  const GrubSite& site_;
  const EntryContext& context_;
  std::vector<Error>& notes_;
};

}  // namespace

std::string BootEntry::image_key() const {
  return fmt::format("{}", fmt::join(initrds, "\n"));
}

std::string BootPaths::guest_path(const Root& root, const std::string& written) const {
  const std::string below_boot = "/boot" + written;
  if (separate) return below_boot;
  const std::string& first = same_as_root ? written : below_boot;
  const std::string& second = same_as_root ? below_boot : written;
  if (root.lstat(first)) return first;
  return root.lstat(second) ? second : below_boot;
}

BootEntry build_entry(const EntryContext& context, const EntryFile& file,
                      std::vector<Error>& notes) {
  return EntryBuilder(context, notes).build(file);
}

}  // namespace preflight
