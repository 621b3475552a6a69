// SPDX-License-Identifier: MIT
// A kernel update before the switch makes dracut build an image on the old controller. Would it
// lack nvme for another reason than plain host-only?
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "agent/check.h"
#include "agent/facts/dracut_image.h"
#include "agent/facts/volume_words.h"
#include "agent/formats/cmdline.h"
#include "agent/formats/module_index.h"
#include "agent/formats/text.h"
#include "agent/formats/udev_load.h"

namespace preflight {

namespace {

using Kind = DracutFault::Kind;

constexpr std::string_view fix_id = "dracut-drop-in";
constexpr std::string_view own_drop_in = "/etc/dracut.conf.d/zz-nvme-preflight.conf";

Remedy by_drop_in(std::string_view what) {
  return {std::string(fix_id),
          fmt::format("Write {}, which {}.", own_drop_in, what),
          {"nvme-preflight", "--fix"}};
}

Remedy by_hand(std::string text) {
  return {"", std::move(text), {}};
}

std::string places(const DracutFault& fault) {
  std::vector<std::string> all;
  for (const Assignment& assignment : fault.assignments) all.push_back(place_of(assignment));
  return all.empty() ? fault.variable : fmt::format("{}", fmt::join(all, " and "));
}

// What a fault means, in words.

std::string omitted_summary(const DracutFault& fault, const DracutTarget& target) {
  std::string text = fmt::format(
      "omit_drivers keeps {} out of every image ('{}' matches it), so the next kernel's image "
      "cannot load nvme. Looked at: {}.",
      fault.driver, printable(fault.word), fmt::join(nvme_closure(target), ", "));
  if (fault.word != fault.driver && !target.omit_anchored)
    text += " This dracut matches the word anywhere in a module's name.";
  return text;
}

std::string fused_summary(const DracutFault& fault) {
  const std::string joined = fmt::format("{} join to one word, {}, because += adds no blank",
                                         places(fault), printable(fault.word));
  if (fault.kind == Kind::module_fused)
    return joined +
           ": dracut has no module of that name and ends with an error, so the next "
           "kernel gets no image.";
  if (fault.status == Status::fail)
    return joined + ": there is no such module, and the next kernel's image will lack nvme.";
  return joined +
         ". That keeps no driver for the disk out as things stand, but neither word does "
         "what it was written for.";
}

std::string summary_of(const DracutFault& fault, const DracutTarget& target) {
  switch (fault.kind) {
    case Kind::omitted:
      return omitted_summary(fault, target);
    case Kind::omit_malformed:
      return fmt::format(
          "omit_drivers has '{}', which is no regular expression: dracut's installer "
          "stops at it, and the next kernel's image gets no module at all.",
          printable(fault.word));
    case Kind::omit_unclear:
      return fmt::format(
          "Whether '{}' in omit_drivers keeps {} out of the next kernel's image "
          "could not be told.",
          printable(fault.word), fault.driver);
    case Kind::exclusive_list:
      return "drivers= replaces dracut's own choice of drivers, and nvme is not on the list: the "
             "next kernel's image will lack it, even a generic one.";
    case Kind::fused:
    case Kind::module_fused:
      return fused_summary(fault);
    case Kind::dropped:
      return fmt::format(
          "In {} nvme stands behind {}, a module that {} does not have. dracut stops "
          "at such a name and drops the rest of the list, so the next kernel's image "
          "will lack nvme.",
          fault.variable, printable(fault.word),
          target.newest ? target.newest->version : "the kernel");
    case Kind::modules_omitted:
    case Kind::modules_listed:
      return fmt::format(
          "dracut's module kernel-modules is left out by {}, and with it all drivers "
          "that are not named one by one{}",
          fault.variable,
          fault.status == Status::warn ? ". nvme is named, so this is harmless for the switch."
                                       : ": the next kernel's image will lack nvme.");
    case Kind::no_kernel:
      return "no_kernel=yes: dracut puts no kernel module into its images, so the next kernel's "
             "will lack nvme.";
  }
  return {};
}

std::optional<Remedy> remedy_of(const DracutFault& fault) {
  if (fault.kind == Kind::module_fused)
    return by_hand("Put a blank before and after each value that is added with +=.");
  if (fault.kind == Kind::omit_unclear)
    return by_hand("Write plain module names into omit_drivers.");
  if (fault.status != Status::fail)
    return fault.kind == Kind::fused
               ? by_hand("Put a blank before and after each value that is added with +=.")
               : by_hand("Nothing has to be done for the switch.");
  switch (fault.kind) {
    case Kind::omitted:
    case Kind::omit_malformed:
      return by_drop_in("sets omit_drivers without that word");
    case Kind::modules_omitted:
      return by_drop_in("sets omit_dracutmodules without kernel-modules");
    case Kind::modules_listed:
      return by_drop_in("adds kernel-modules");
    case Kind::no_kernel:
      return by_drop_in("sets no_kernel=\"no\"");
    default:
      return by_drop_in("names nvme first in add_drivers and makes images for any hardware");
  }
}

std::string want_of(const DracutFault& fault) {
  switch (fault.kind) {
    case Kind::fused:
    case Kind::module_fused:
      return "blanks around the added words";
    case Kind::omitted:
    case Kind::omit_malformed:
    case Kind::omit_unclear:
      return "no word that matches " + fault.driver;
    case Kind::modules_omitted:
    case Kind::modules_listed:
      return "kernel-modules included";
    case Kind::no_kernel:
      return "no_kernel=\"no\"";
    default:
      return "nvme in the list, before any name that does not exist";
  }
}

Finding finding_of(const DracutFault& fault, const DracutTarget& target) {
  Finding finding;
  finding.subject = fault.assignments.empty() ? fault.variable : fault.assignments.back().path;
  finding.status = fault.status;
  finding.summary = summary_of(fault, target);
  for (const Assignment& assignment : fault.assignments)
    finding.evidence.push_back({assignment.path, assignment.line,
                                assignment_text(fault.variable, assignment), want_of(fault)});
  finding.remedy = remedy_of(fault);
  return finding;
}

// What is not in the settings themselves.

/// What dracut cannot read, or waits on for ever, breaks the next image; what could only not be
/// read or evaluated here is not known.
Finding not_collected(const Error& error) {
  const bool broken = error.kind == ErrorKind::wrong_type || error.kind == ErrorKind::malformed;
  Finding finding;
  finding.subject = error.path;
  finding.status = broken ? Status::fail : Status::unknown;
  if (error.kind == ErrorKind::missing)
    finding.summary =
        "There is no dracut here: what will make the next kernel's image is not "
        "known.";
  else if (broken)
    finding.summary = fmt::format(
        "dracut's configuration is broken here, and the next kernel gets "
        "no image: {}",
        printable(error.message()));
  else
    finding.summary = fmt::format(
        "What dracut will put into the next kernel's image could not be "
        "told: {}",
        printable(error.message()));
  finding.evidence.push_back({error.path, error.line, error.what, ""});
  if (broken) finding.remedy = by_hand("Mend this file or move it away.");
  return finding;
}

/// kernel-install copies an initrd that lies beside the kernel and does not run dracut
/// (install.d/50-dracut.install).
void add_premade(const DracutTarget& target, std::vector<Finding>& findings) {
  if (target.newest == nullptr || !target.newest->premade_initrd) return;
  Finding finding;
  finding.subject = target.newest->directory + "/initrd";
  finding.status = Status::fail;
  finding.summary = fmt::format(
      "A ready-made initrd lies beside kernel {}, the newest one: kernel-install copies it instead "
      "of running dracut, so no setting brings nvme into it.",
      target.newest->version);
  finding.evidence.push_back({finding.subject, 0, "is there", "no such file, so that dracut runs"});
  finding.remedy = by_hand(
      "See whether it holds nvme (lsinitrd FILE | grep nvme.ko); if nothing needs it, move it "
      "away.");
  findings.push_back(std::move(finding));
}

/// Root on LVM without dracut's lvm: no matter of nvme, but the next image would not find root.
void add_lvm_omitted(const Facts& facts, const DracutConfig& config,
                     std::vector<Finding>& findings) {
  if (!facts.boot || facts.boot->entries.empty()) return;
  const BootEntry& entry = facts.boot->entries[facts.boot->default_index.value_or(0)];
  if (entry.options.find("rd.lvm.") == std::string::npos) return;
  const DracutVariable* omit = config.find("omit_dracutmodules");
  if (omit == nullptr) return;
  for (const std::string_view word : split_words(omit->value)) {
    if (word != "lvm" && word != "dm") continue;
    Finding finding;
    finding.subject = omit->assignments.back().path;
    finding.status = Status::fail;
    finding.summary = fmt::format(
        "omit_dracutmodules leaves out {}, while the default entry has its root on LVM: an image "
        "made so does not find it, on any controller.",
        word);
    for (const Assignment& assignment : deciding_assignments(*omit))
      finding.evidence.push_back({assignment.path, assignment.line,
                                  assignment_text("omit_dracutmodules", assignment), ""});
    finding.remedy = by_hand(fmt::format("Take {} off omit_dracutmodules.", word));
    findings.push_back(std::move(finding));
  }
}

/// What of the guest's modprobe.d the next image gets.
ModprobeConf next_modprobe(const Facts& facts, bool hostonly) {
  Image image = facts.modprobe;
  if (!hostonly)
    std::erase_if(image.files, [](const auto& file) { return file.first.starts_with("etc/"); });
  return read_modprobe_conf(image, "", false);
}

/// The words that the next entry and the next image bring: kernel-install takes /etc/kernel/cmdline
/// (install.d/90-loaderentry.install, EL's 20-grub.install), dracut writes kernel_cmdline into
/// etc/cmdline.d.
std::vector<LoadArgument> next_arguments(const Facts& facts, const DracutConfig& config) {
  using Reader = LoadArgument::Reader;
  std::vector<LoadArgument> arguments;
  const auto add = [&](std::string_view words, const std::string& path, int line, Reader reader) {
    for (CmdlineWord& word : parse_cmdline(words))
      arguments.push_back({std::move(word.key), std::move(word.value), path, line,
                           word.after_dashes ? Reader::after_dashes : reader});
  };
  if (const DracutVariable* words = config.find("kernel_cmdline"))
    add(words->value, words->assignments.back().path, words->assignments.back().line,
        Reader::image);
  for (const CommandLineText& text : facts.command_lines.texts)
    if (text.source == CommandLineSource::kernel_cmdline)
      add(text.text(), text.path, text.line, Reader::command_line);
  return arguments;
}

/// What would keep the next image from loading a driver that is in it.
void add_blocked(const Facts& facts, const DracutConfig& config, const DracutTarget& target,
                 std::vector<Finding>& findings) {
  DriverRequest request;
  for (const std::string& module : nvme_closure(target)) request.closure.insert(module);
  request.closure.insert("nvme");
  if (target.newest) request.known = target.newest->modular;
  request.modaliases = {std::string(bhyve_nvme_modalias), std::string(qemu_nvme_modalias)};
  request.old_arguments = knows_old_words(facts.release);
  const LoadVerdict verdict =
      judge_load(next_modprobe(facts, config.hostonly()), next_arguments(facts, config), request);
  for (const LoadObstacle& obstacle : verdict.obstacles) {
    const bool is_file = obstacle.place == LoadObstacle::Place::modprobe_file;
    Finding finding;
    finding.subject = (is_file ? "/" : "") + obstacle.path;
    finding.status = Status::fail;
    finding.summary = fmt::format("\"{}\" {} in the next kernel's initramfs.",
                                  printable(obstacle.text), obstacle.why);
    finding.evidence.push_back(
        {finding.subject, obstacle.line, obstacle.text, is_file ? "no such line" : "no such word"});
    finding.remedy = by_hand("Take it out there.");
    findings.push_back(std::move(finding));
  }
}

/// Lines that bash does not take for what they look like: one finding per file.
void add_idle_lines(const DracutConfig& config, std::vector<Finding>& findings) {
  std::map<std::string, Finding> by_file;
  for (const Error& note : config.notes) {
    if (note.line == 0) continue;
    Finding& finding = by_file[note.path];
    finding.subject = note.path;
    finding.status = Status::warn;
    finding.summary =
        "Some of this file does not do what it was written for; the images are judged "
        "by what it does.";
    finding.evidence.push_back({note.path, note.line, note.what, ""});
    finding.remedy = by_hand(
        "Write name=\"value\" without blanks around '=', one to a line, with "
        "Unix line ends.");
  }
  for (auto& [path, finding] : by_file) findings.push_back(std::move(finding));
}

Finding kernels_unknown(const Error& error) {
  Finding finding;
  finding.subject = error.path;
  finding.status = Status::unknown;
  finding.summary = fmt::format(
      "What modules the newest kernel has cannot be told ({}), nor what its image would hold.",
      error.what);
  return finding;
}

Finding nothing_found(const DracutRehearsal& rehearsal, const DracutConfig& config) {
  Finding finding;
  finding.subject = "/etc/dracut.conf.d";
  if (rehearsal.hostonly && !rehearsal.forced) {
    finding.status = Status::skip;
    finding.summary =
        "Nothing but host-only keeps nvme out of the next image: decided by "
        "dracut.hostonly.";
    return finding;
  }
  finding.status = Status::pass;
  finding.summary =
      rehearsal.forced && rehearsal.hostonly
          ? "The next kernel's image gets nvme: it is named in the configuration."
          : "The next kernel's image gets nvme: nothing in the configuration keeps it "
            "out.";
  if (!rehearsal.forced_by.empty())
    finding.subject = rehearsal.forced_by.back().path;
  else if (!config.files.empty())
    finding.subject = config.files.back();
  return finding;
}

std::vector<Finding> run_check(const Facts& facts) {
  const DracutTarget target = dracut_target(facts);
  if (nvme_is_builtin(target)) {
    Finding finding;
    finding.subject = target.newest->directory + "/modules.builtin";
    finding.status = Status::pass;
    finding.summary = "The newest kernel has nvme built in: no image has to hold it.";
    return {finding};
  }
  std::vector<Finding> findings;
  add_premade(target, findings);
  if (!facts.dracut) {
    findings.push_back(not_collected(facts.dracut.error()));
    return findings;
  }
  const DracutRehearsal rehearsal = rehearse_dracut(*facts.dracut, target);
  for (const DracutFault& fault : rehearsal.faults) findings.push_back(finding_of(fault, target));
  add_lvm_omitted(facts, *facts.dracut, findings);
  add_blocked(facts, *facts.dracut, target, findings);
  add_idle_lines(*facts.dracut, findings);
  if (findings.empty() && !facts.kernels && facts.kernels.error().kind != ErrorKind::missing)
    findings.push_back(kernels_unknown(facts.kernels.error()));
  if (findings.empty()) findings.push_back(nothing_found(rehearsal, *facts.dracut));
  return findings;
}

}  // namespace

extern const Check dracut_next_kernel_check{"dracut.next-kernel",
                                            "the next kernel's image will hold nvme", run_check};

}  // namespace preflight
