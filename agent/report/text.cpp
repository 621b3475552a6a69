// SPDX-License-Identifier: MIT
#include "agent/formats/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "agent/report/report.h"
#include "agent/report/wrap.h"

namespace preflight {

namespace {

constexpr int label_width = 9;

// Host side, per hypervisor. vm-bhyve: sample-templates/config.sample (disk0_type); nocache,direct
// was slower with NVMe emulation (the measurement this project began with).
constexpr std::string_view next_steps =
    "Next, on the host:\n"
    "  vm-bhyve  vm stop GUEST; zfs snapshot DATASET@before-nvme (to go back to);\n"
    "            vm configure GUEST: disk0_type=\"nvme\", same sector size, and no\n"
    "            disk0_opts=\"nocache,direct\" (slower with NVMe); vm start GUEST\n"
    "  libvirt   virsh edit GUEST: <target dev=\"nvme0n1\" bus=\"nvme\"/> and a <serial>\n"
    "  QEMU      -device nvme,drive=ID,serial=SERIAL in place of virtio-blk-pci\n";

constexpr std::string_view finish_offer =
    "Next: nvme-preflight --finish   (to look first: --finish --dry-run --diff)\n";

std::string paint(const TextStyle& style, std::string_view text, std::string_view code) {
  if (!style.color) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::string label(const TextStyle& style, Status status) {
  switch (status) {
    case Status::pass:
      return paint(style, "pass", "32") + "     ";
    case Status::warn:
      return paint(style, "WARN", "33;1") + "     ";
    case Status::fail:
      return paint(style, "FAIL", "31;1") + "     ";
    case Status::unknown:
      return paint(style, "UNKNOWN", "35;1") + "  ";
    case Status::skip:
      return paint(style, "skip", "2") + "     ";
  }
  return {};
}

bool needs_attention(const Finding& finding) {
  return finding.status == Status::fail || finding.status == Status::warn ||
         finding.status == Status::unknown;
}

std::string place_of(const Evidence& evidence) {
  const std::string path = printable(evidence.path);
  return evidence.line > 0 ? fmt::format("{}:{}", path, evidence.line) : path;
}

std::string saw_and_want(const Evidence& evidence) {
  std::string out;
  if (!evidence.saw.empty()) out += fmt::format("saw {}", printable(evidence.saw));
  if (!evidence.want.empty())
    out += fmt::format("{}want {}", out.empty() ? "" : ", ", printable(evidence.want));
  return out;
}

std::string evidence_line(const Evidence& evidence) {
  const std::string seen = saw_and_want(evidence);
  if (seen.empty()) return place_of(evidence);
  // A place of which nothing was seen: "PATH, want X".
  return place_of(evidence) + (evidence.saw.empty() ? ", " : ": ") + seen;
}

std::string remedy_text(const Finding& finding) {
  const Remedy& remedy = *finding.remedy;
  std::string out = remedy.fix.empty()          ? "By hand: "
                    : is_finished_with(finding) ? "--finish: "
                                                : "--fix: ";
  out += printable(remedy.text);
  if (remedy.command.empty()) return out;
  if (out.back() == '.') out.pop_back();
  out += ":";
  for (const std::string& word : remedy.command) out += " " + printable(word);
  return out;
}

std::string finding_text(const Finding& finding, const TextStyle& style) {
  std::string out = label(style, finding.status) + paint(style, finding.check, "1") + "  " +
                    printable(finding.subject) + "\n";
  out += wrap(printable(finding.summary), label_width, style.width);
  // One screen for a person in a hurry: the first evidence, and a remedy where --fix has none.
  const std::size_t shown =
      style.verbose ? finding.evidence.size() : std::min<std::size_t>(finding.evidence.size(), 1);
  for (std::size_t i = 0; i < shown; ++i)
    out += wrap("- " + evidence_line(finding.evidence[i]), label_width, style.width);
  const bool by_hand =
      finding.remedy && finding.remedy->fix.empty() && finding.status == Status::fail;
  if (finding.remedy && (by_hand || style.verbose))
    out += wrap(remedy_text(finding), label_width, style.width);
  return out;
}

/// A finding for a small screen: what, where, and what was seen, in two lines where they fit.
std::string short_finding(const Finding& finding, const TextStyle& style) {
  const std::string first = label(style, finding.status) + paint(style, finding.check, "1") + "  ";
  const int used = label_width + columns_of(finding.check) + 2;
  if (finding.evidence.empty())
    return first + printable(finding.subject) + "\n" + std::string(label_width, ' ') +
           cut(printable(finding.summary), style.width - label_width) + "\n";
  const std::string place = place_of(finding.evidence.front());
  const std::string seen = saw_and_want(finding.evidence.front());
  if (used + columns_of(place) <= style.width)
    return first + place + "\n" + std::string(label_width, ' ') +
           cut(seen, style.width - label_width) + "\n";
  return first + cut(seen, style.width - used) + "\n" + std::string(label_width, ' ') + place +
         "\n";
}

/// The checks that have nothing but this status, on one paragraph.
std::string checks_with(const Report& report, Status status, const TextStyle& style) {
  std::string names;
  for (auto it = report.findings.begin(); it != report.findings.end();) {
    const auto end = std::find_if(it, report.findings.end(),
                                  [&](const Finding& f) { return f.check != it->check; });
    const bool all = std::all_of(it, end, [&](const Finding& f) { return f.status == status; });
    if (all) names += " " + it->check;
    it = end;
  }
  if (names.empty()) return {};
  const std::string text = wrap(names, label_width, style.width);
  return label(style, status) + text.substr(label_width);
}

std::string heading(const Facts& facts, const TextStyle& style) {
  std::string out = paint(style, fmt::format("nvme-preflight {}", version()), "1");
  out += fmt::format("  {}  {}\n",
                     facts.release ? printable(facts.release->pretty_name) : "unknown system",
                     facts.live ? "this machine" : printable(facts.root));
  if (facts.boot && facts.boot->default_index) {
    const BootEntry& entry = facts.boot->entries[*facts.boot->default_index];
    out += fmt::format("Boots {}\n", printable(entry.id));
  }
  return out + "\n";
}

/// Whether an earlier check could not look at the same thing: its reason is told once.
bool is_repeated_unknown(const Report& report, const Finding& finding) {
  if (finding.status != Status::unknown) return false;
  const auto first =
      std::find_if(report.findings.begin(), report.findings.end(), [&](const Finding& f) {
        return f.status == Status::unknown && f.subject == finding.subject;
      });
  return &*first != &finding;
}

std::string repeated_unknowns(const Report& report, const TextStyle& style) {
  std::string names;
  for (const Finding& finding : report.findings)
    if (is_repeated_unknown(report, finding)) names += " " + finding.check;
  if (names.empty()) return {};
  return label(style, Status::unknown) +
         wrap("for the same reason:" + names, label_width, style.width).substr(label_width);
}

std::string findings_text(const Report& report, const TextStyle& style) {
  std::string out;
  for (const Finding& finding : report.findings) {
    const bool blocks = finding.status == Status::fail || finding.status == Status::unknown;
    const bool shown = style.quiet ? blocks : needs_attention(finding);
    if (style.verbose || (shown && !is_repeated_unknown(report, finding)))
      out += finding_text(finding, style);
  }
  if (!style.verbose) out += repeated_unknowns(report, style);
  if (style.quiet || style.verbose) return out;
  return out + checks_with(report, Status::pass, style) + checks_with(report, Status::skip, style);
}

std::size_t count(const Report& report, Status status) {
  return static_cast<std::size_t>(
      std::count_if(report.findings.begin(), report.findings.end(),
                    [&](const Finding& finding) { return finding.status == status; }));
}

std::string plural(std::size_t number, std::string_view thing) {
  return fmt::format("{} {}{}", number, thing, number == 1 ? "" : "s");
}

std::string with_warnings(const Report& report) {
  const std::size_t warnings = count(report, Status::warn);
  return warnings > 0 ? fmt::format(", {}", plural(warnings, "warning")) : "";
}

/// The ids of the checks that block, each once, in boot order.
std::string blocking(const Report& report, bool fixable) {
  std::string names;
  std::string_view last;
  for (const Finding& finding : report.findings) {
    if (finding.status != Status::fail || is_fixable(finding) != fixable || finding.check == last)
      continue;
    names += " " + finding.check;
    last = finding.check;
  }
  return names;
}

std::string not_ready_text(const Report& report, const TextStyle& style) {
  constexpr int indent = 16;
  const auto row = [&](std::string_view title, const std::string& text) {
    const std::string wrapped = wrap(text, indent, style.width);
    return fmt::format("  {:<{}}{}", title, indent - 2, wrapped.substr(indent));
  };
  std::string out =
      paint(style, "NOT READY", "31;1") + fmt::format(": do not switch the disk yet ({}{}).\n",
                                                      plural(count(report, Status::fail), "fault"),
                                                      with_warnings(report));
  const std::string fixable = blocking(report, true);
  const std::string by_hand = blocking(report, false);
  if (!fixable.empty()) out += row(report.fix ? "not mended" : "--fix mends", fixable);
  if (!by_hand.empty()) out += row("by hand", by_hand);
  if (!fixable.empty() && !report.fix)
    out += row("now run", "nvme-preflight --fix   (to look first: --fix --dry-run --diff)");
  return out;
}

bool can_be_finished(const Report& report) {
  return std::any_of(report.findings.begin(), report.findings.end(), is_finished_with);
}

/// What --verify comes to.
std::string verified_text(const Report& report, const TextStyle& style) {
  if (report.verdict == Verdict::ready)
    return paint(style, "CONFIRMED", "32;1") +
           fmt::format(": the guest runs from NVMe as was promised{}.\n", with_warnings(report)) +
           (can_be_finished(report) ? std::string(finish_offer) : "");
  if (report.verdict == Verdict::not_ready)
    return paint(style, "NOT AS PROMISED", "31;1") +
           fmt::format(" ({}{}).\n", plural(count(report, Status::fail), "fault"),
                       with_warnings(report));
  return paint(style, "COULD NOT TELL", "35;1") +
         fmt::format(": {} could not be examined{}.\n",
                     plural(count(report, Status::unknown), "point"), with_warnings(report));
}

std::string verdict_text(const Report& report, const TextStyle& style) {
  if (report.after_switch) return verified_text(report, style);
  switch (report.verdict) {
    case Verdict::ready:
      if (report.partial)
        return paint(style, "PASSED", "32;1") +
               fmt::format(
                   ": the chosen checks pass{}. The others were not run, so this says "
                   "nothing of the next boot.\n",
                   with_warnings(report));
      return paint(style, "READY", "32;1") +
             fmt::format(": with its disk as NVMe this guest is expected to boot{}.\n",
                         with_warnings(report)) +
             (style.quiet ? "" : std::string(next_steps));
    case Verdict::not_ready:
      return not_ready_text(report, style);
    case Verdict::unknown:
      return paint(style, "COULD NOT TELL", "35;1") +
             fmt::format(": {} could not be examined; nothing that was seen stops the boot{}.\n",
                         plural(count(report, Status::unknown), "point"), with_warnings(report));
  }
  return {};
}

std::string fix_text(const FixReport& fix, const TextStyle& style) {
  std::string out = fix.run.empty() ? fmt::format("Fix: {}\n", fix.state)
                                    : fmt::format("Run {}: {}\n", printable(fix.run), fix.state);
  for (const std::string_view line : split_lines(fix.message)) {
    const bool quoted = line.starts_with(' ');  // what a program said
    out += quoted ? "  " + printable(line) + "\n" : wrap(printable(line), 2, style.width);
  }
  for (const std::string& line : fix.plan) out += "  " + printable(line) + "\n";
  for (const std::string& path : fix.changed) out += fmt::format("  {}\n", printable(path));
  if (fix.state == "applied")
    out += wrap(fmt::format("To put everything back: nvme-preflight --undo {}", printable(fix.run)),
                2, style.width);
  return out + "\n";
}

/// What blocks, on one screen.
std::string short_report(const Report& report, const TextStyle& style) {
  std::string out;
  for (const Finding& finding : report.findings)
    if (finding.status == Status::fail || finding.status == Status::unknown)
      out += short_finding(finding, style);
  return out + verdict_text(report, style) + "  see also      nvme-preflight --verbose\n";
}

std::string full_report(const Facts& facts, const Report& report, const TextStyle& style) {
  std::string out;
  if (!style.quiet) out += heading(facts, style);
  out += findings_text(report, style);
  if (!out.empty() && !style.quiet) out += "\n";
  if (report.fix) out += fix_text(*report.fix, style);
  return out + verdict_text(report, style);
}

}  // namespace

std::string text_report(const Facts& facts, const Report& report, const TextStyle& style) {
  std::string full = full_report(facts, report, style);
  const bool fits = style.height == 0 || std::count(full.begin(), full.end(), '\n') < style.height;
  const bool may_be_cut =
      report.verdict != Verdict::ready && !report.fix && !style.quiet && !style.verbose;
  return fits || !may_be_cut ? full : short_report(report, style);
}

}  // namespace preflight
