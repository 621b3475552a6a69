// SPDX-License-Identifier: MIT
#include "agent/formats/text.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/report/report.h"
#include "agent/report/wrap.h"

namespace preflight {

namespace {

constexpr int label_width = 8;

class Painter {
 public:
  explicit Painter(const TextStyle& style) : style_(style) {}

  std::string paint(std::string_view text, std::string_view code) const {
    if (!style_.color) return std::string(text);
    return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
  }

  std::string label(Status status) const {
    switch (status) {
      case Status::pass:
        return paint("pass", "32") + "    ";
      case Status::warn:
        return paint("WARN", "33;1") + "    ";
      case Status::fail:
        return paint("FAIL", "31;1") + "    ";
      case Status::unknown:
        return paint("UNKNOWN", "35;1") + " ";
      case Status::skip:
        return paint("skip", "2") + "    ";
    }
    return {};
  }

  const TextStyle& style() const { return style_; }

 private:
  const TextStyle& style_;
};

bool needs_attention(const Finding& finding) {
  return finding.status == Status::fail || finding.status == Status::warn ||
         finding.status == Status::unknown;
}

std::string evidence_line(const Evidence& evidence) {
  std::string place = printable(evidence.path);
  if (evidence.line > 0) place += fmt::format(":{}", evidence.line);
  std::string out = place;
  if (!evidence.saw.empty()) out += fmt::format(": saw {}", printable(evidence.saw));
  if (!evidence.want.empty()) out += fmt::format(", want {}", printable(evidence.want));
  return out;
}

std::string remedy_text(const Remedy& remedy) {
  std::string out = remedy.fix.empty() ? "by hand: " : "--fix: ";
  out += printable(remedy.text);
  if (!remedy.command.empty()) {
    out += " [";
    for (std::size_t i = 0; i < remedy.command.size(); ++i)
      out += (i > 0 ? " " : "") + printable(remedy.command[i]);
    out += "]";
  }
  return out;
}

std::string finding_text(const Finding& finding, const Painter& painter) {
  const TextStyle& style = painter.style();
  std::string out = fmt::format(" {}{}  {}\n", painter.label(finding.status),
                                painter.paint(finding.check, "1"), printable(finding.subject));
  if (!needs_attention(finding) && !style.verbose) {
    if (finding.status == Status::skip)
      out += wrap(printable(finding.summary), label_width + 1, style.width);
    return out;
  }
  out += wrap(printable(finding.summary), label_width + 1, style.width);
  for (const Evidence& evidence : finding.evidence)
    out += wrap("- " + evidence_line(evidence), label_width + 1, style.width);
  if (finding.remedy) out += wrap(remedy_text(*finding.remedy), label_width + 1, style.width);
  return out;
}

std::string heading(const Facts& facts, const Painter& painter) {
  std::string out = painter.paint(fmt::format("nvme-preflight {}", version()), "1");
  out += fmt::format("  {}  {}\n",
                     facts.release ? printable(facts.release->pretty_name) : "unknown system",
                     facts.live ? "this machine" : printable(facts.root));
  if (facts.boot && facts.boot->default_index) {
    const BootEntry& entry = facts.boot->entries[*facts.boot->default_index];
    out += fmt::format("boots {}  kernel {}\n", printable(entry.id), printable(entry.kernel));
  }
  return out + "\n";
}

std::string plural(std::size_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string verdict_text(const Report& report, const Painter& painter) {
  const auto count = [&](Status status) {
    return static_cast<std::size_t>(
        std::count_if(report.findings.begin(), report.findings.end(),
                      [&](const Finding& finding) { return finding.status == status; }));
  };
  const auto fixable = static_cast<std::size_t>(
      std::count_if(report.findings.begin(), report.findings.end(), is_fixable));
  const std::size_t warnings = count(Status::warn);
  const std::string with_warnings =
      warnings > 0 ? fmt::format(" ({})", plural(warnings, "warning")) : "";
  switch (report.verdict) {
    case Verdict::ready:
      return painter.paint("READY", "32;1") +
             fmt::format(": the next boot with the disk as NVMe is expected to succeed{}.\n",
                         with_warnings);
    case Verdict::not_ready: {
      std::string out = painter.paint("NOT READY", "31;1") +
                        fmt::format(": do not switch the disk yet; {} found{}.\n",
                                    plural(count(Status::fail), "fault"), with_warnings);
      if (fixable > 0 && !report.fix)
        out += fmt::format(
            "{} of these can be mended: nvme-preflight --fix (first look: --fix "
            "--dry-run --diff)\n",
            fixable);
      return out;
    }
    case Verdict::unknown:
      return painter.paint("COULD NOT TELL", "35;1") +
             fmt::format(": {} could not be examined; nothing seen would stop the boot{}.\n",
                         plural(count(Status::unknown), "point"), with_warnings);
  }
  return {};
}

std::string fix_text(const FixReport& fix, const Painter& painter) {
  std::string out = "\n";
  if (!fix.run.empty())
    out += fmt::format("run {}: {}\n", printable(fix.run), fix.state);
  else
    out += fmt::format("fix: {}\n", fix.state);
  if (!fix.message.empty()) out += wrap(printable(fix.message), 2, painter.style().width);
  for (const std::string& path : fix.changed) out += fmt::format("  {}\n", printable(path));
  if (fix.state == "applied")
    out += fmt::format("To put everything back: nvme-preflight --undo {}\n", printable(fix.run));
  return out;
}

}  // namespace

std::string text_report(const Facts& facts, const Report& report, const TextStyle& style) {
  const Painter painter(style);
  std::string out;
  if (!style.quiet) out += heading(facts, painter);
  for (const Finding& finding : report.findings) {
    const bool blocks = finding.status == Status::fail || finding.status == Status::unknown;
    if (!style.quiet || blocks) out += finding_text(finding, painter);
  }
  if (report.fix) out += fix_text(*report.fix, painter);
  if (!out.empty() && !style.quiet) out += "\n";
  return out + verdict_text(report, painter);
}

}  // namespace preflight
