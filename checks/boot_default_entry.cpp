// SPDX-License-Identifier: MIT
// Whether the entry that GRUB boots by itself names files that are there.
#include <fmt/format.h>

#include <algorithm>

#include "agent/check.h"
#include "agent/formats/text.h"

namespace preflight {

namespace {

constexpr std::string_view want_file = "a readable, regular file";

bool is_broken(const BootEntry& entry) {
  return entry.kernel_error.has_value() || !entry.initrd_errors.empty();
}

/// What we may not look at, as against what GRUB cannot load either.
bool only_hidden(const Error& error) {
  return error.kind == ErrorKind::denied || error.kind == ErrorKind::unsupported ||
         error.kind == ErrorKind::too_large;
}

bool all_hidden(const BootEntry& entry) {
  return (!entry.kernel_error || only_hidden(*entry.kernel_error)) &&
         std::all_of(entry.initrd_errors.begin(), entry.initrd_errors.end(),
                     [](const auto& one) { return only_hidden(one.second); });
}

Evidence evidence_of(const Error& error) {
  return {error.path, error.line, printable(error.what), std::string(want_file)};
}

std::vector<Evidence> file_evidence(const BootEntry& entry) {
  std::vector<Evidence> out;
  if (entry.kernel_error) out.push_back(evidence_of(*entry.kernel_error));
  for (const auto& [path, error] : entry.initrd_errors) out.push_back(evidence_of(error));
  return out;
}

std::string broken_files(const BootEntry& entry) {
  std::string names;
  const auto add = [&](std::string_view kind, const std::string& path) {
    names += fmt::format("{}{} {}", names.empty() ? "" : " and ", kind, printable(path));
  };
  if (entry.kernel_error) add("the kernel", entry.linux_path);
  for (const auto& one : entry.initrd_errors) add("the initramfs", one.first);
  return names;
}

/// The first entry in the menu that is whole and no rescue entry.
const BootEntry* sound_entry(const BootMenu& menu) {
  const auto found =
      std::find_if(menu.entries.begin(), menu.entries.end(),
                   [](const BootEntry& entry) { return !entry.rescue && !is_broken(entry); });
  return found == menu.entries.end() ? nullptr : &*found;
}

Remedy remedy_for(const BootMenu& menu, const BootEntry& entry) {
  if (!entry.kernel_error && !entry.rescue && entry.initrd_errors.size() == 1 &&
      entry.initrds.size() == 1)
    return {"",
            "Build the missing image, then run nvme-preflight again.",
            {"dracut", "--force", entry.initrds.front(), entry.kernel}};
  if (const BootEntry* sound = sound_entry(menu))
    return {"",
            fmt::format("Make an entry the default whose files are there ({}), or reinstall the "
                        "kernel of this one. A stale entry file may simply be removed.",
                        printable(sound->id)),
            {"grubby", "--set-default", sound->linux_path}};
  return {"", "Reinstall the kernel: dnf reinstall kernel-core", {}};
}

Finding judge_default(const BootMenu& menu, const BootEntry& entry) {
  Finding out;
  out.subject = entry.id;
  if (!is_broken(entry)) {
    out.status = Status::pass;
    out.summary = fmt::format("{} boots kernel {}; its files are there.", printable(entry.id),
                              printable(entry.kernel));
    return out;
  }
  out.evidence = file_evidence(entry);
  if (all_hidden(entry)) {
    out.status = Status::unknown;
    out.summary = fmt::format("{} of the default entry {} could not be looked at.",
                              broken_files(entry), printable(entry.id));
    return out;
  }
  out.status = Status::fail;
  out.summary = fmt::format(
      "GRUB would boot the entry {}, but {} cannot be loaded: the boot stops in "
      "GRUB, on any disk.",
      printable(entry.id), broken_files(entry));
  out.remedy = remedy_for(menu, entry);
  return out;
}

void explain_default(const BootMenu& menu, Finding& out) {
  out.evidence.push_back({menu.default_path, 0, printable(menu.default_reason), ""});
}

/// Broken entries that do not boot by themselves stop nothing; they are mentioned, not judged.
void mention_others(const BootMenu& menu, Finding& out) {
  std::size_t broken = 0;
  for (const BootEntry& entry : menu.entries) {
    if (entry.is_default || !is_broken(entry)) continue;
    ++broken;
    out.evidence.push_back(
        {entry.path, 0,
         "not the default; names " + broken_files(entry) + ", which GRUB cannot load", ""});
  }
  if (broken > 0)
    out.summary += fmt::format(" {} other {} not boot today either.", broken,
                               broken == 1 ? "entry does" : "entries do");
}

Finding nothing_to_judge(std::string subject, std::string summary) {
  Finding out;
  out.subject = std::move(subject);
  out.status = Status::unknown;
  out.summary = std::move(summary);
  return out;
}

/// What GRUB boots then was not looked at.
Finding bypassed(const BootMenu& menu) {
  Finding out = nothing_to_judge(
      menu.default_path,
      "What GRUB boots by itself is none of the boot loader entries, and they are all that is "
      "examined here.");
  explain_default(menu, out);
  out.remedy = Remedy{"",
                      "Let GRUB boot one of the entries of /boot/loader/entries: grubby "
                      "--set-default, and where grub.cfg has a menu of its own, "
                      "grub2-switch-to-blscfg.",
                      {"grubby", "--set-default", "/boot/vmlinuz-VERSION"}};
  if (const BootEntry* sound = sound_entry(menu)) out.remedy->command[2] = sound->linux_path;
  return out;
}

Finding undetermined(const BootMenu& menu) {
  if (menu.bypassed) return bypassed(menu);
  Finding out;
  out.subject = menu.default_path;
  out.status = Status::warn;
  out.summary =
      "Which entry GRUB boots by itself cannot be determined, so every entry is judged as if it "
      "were the default.";
  explain_default(menu, out);
  for (const Error& note : menu.notes)
    out.evidence.push_back({note.path, note.line, printable(note.what), ""});
  out.remedy = Remedy{"",
                      "Mend what the evidence names. Where GRUB's files are sound, grubby makes "
                      "the choice certain.",
                      {"grubby", "--set-default", "/boot/vmlinuz-VERSION"}};
  if (const BootEntry* sound = sound_entry(menu)) out.remedy->command[2] = sound->linux_path;
  return out;
}

std::vector<Finding> run(const Facts& facts) {
  if (!facts.boot)
    return {nothing_to_judge(
        facts.boot.error().path,
        "The boot loader entries could not be read: " + printable(facts.boot.error().message()))};
  const BootMenu& menu = *facts.boot;
  if (menu.entries.empty())
    return {nothing_to_judge(
        menu.default_path,
        "GRUB's menu has no boot loader entry that could be judged" +
            std::string(menu.unified_kernel_images.empty() ? "."
                                                           : ", only unified kernel images."))};
  std::vector<Finding> findings;
  if (!menu.default_index) {
    findings.push_back(undetermined(menu));
    for (const BootEntry& entry : menu.entries)
      if (is_broken(entry)) findings.push_back(judge_default(menu, entry));
    return findings;
  }
  for (const BootEntry& entry : menu.entries)
    if (entry.is_default) findings.push_back(judge_default(menu, entry));
  explain_default(menu, findings.front());
  mention_others(menu, findings.front());
  return findings;
}

}  // namespace

extern const Check boot_default_entry_check{"boot.default-entry",
                                            "the default entry's files are there", run};

}  // namespace preflight
