// SPDX-License-Identifier: MIT
#include "agent/formats/json.h"

#include "agent/formats/text.h"
#include "agent/report/report.h"

namespace preflight {

namespace {

Json strings(const std::vector<std::string>& texts) {
  Json::Array out;
  for (const std::string& text : texts) out.emplace_back(printable(text));
  return out;
}

Json guest_json(const Facts& facts) {
  return Json::Object{
      {"root", printable(facts.root)},
      {"live", facts.live},
      {"os", facts.release ? Json(printable(facts.release->pretty_name)) : Json()},
      {"machine_id", facts.machine_id ? Json(printable(*facts.machine_id)) : Json()},
  };
}

Json entries_json(const Facts& facts) {
  Json::Array out;
  if (!facts.boot) return out;
  for (const BootEntry& entry : facts.boot->entries) {
    out.emplace_back(Json::Object{{"id", printable(entry.id)},
                                  {"default", entry.is_default},
                                  {"rescue", entry.rescue},
                                  {"kernel", printable(entry.kernel)},
                                  {"initrd", strings(entry.initrds)}});
  }
  return out;
}

Json evidence_json(const Evidence& evidence) {
  Json::Object out{{"path", printable(evidence.path)}};
  if (evidence.line > 0) out.emplace_back("line", evidence.line);
  out.emplace_back("saw", printable(evidence.saw));
  out.emplace_back("want", printable(evidence.want));
  return out;
}

Json finding_json(const Finding& finding) {
  Json::Array evidence;
  for (const Evidence& item : finding.evidence) evidence.push_back(evidence_json(item));
  Json::Object out{{"check", finding.check},
                   {"subject", printable(finding.subject)},
                   {"status", to_string(finding.status)},
                   {"summary", printable(finding.summary)},
                   {"evidence", std::move(evidence)}};
  if (finding.remedy) {
    out.emplace_back(
        "remedy",
        Json::Object{{"fix", finding.remedy->fix.empty() ? Json() : Json(finding.remedy->fix)},
                     {"text", printable(finding.remedy->text)},
                     {"command", strings(finding.remedy->command)}});
  }
  return out;
}

Json fix_json(const FixReport& fix) {
  Json::Object out{{"run", fix.run.empty() ? Json() : Json(printable(fix.run))},
                   {"state", fix.state},
                   {"changed", strings(fix.changed)}};
  if (!fix.plan.empty()) out.emplace_back("plan", strings(fix.plan));
  if (!fix.message.empty()) out.emplace_back("message", printable(fix.message));
  return out;
}

}  // namespace

std::string_view version() {
  return PREFLIGHT_VERSION;
}

std::string json_report(const Facts& facts, const Report& report) {
  Json::Array findings;
  for (const Finding& finding : report.findings) findings.push_back(finding_json(finding));
  Json::Object out{
      {"schema", "nvme-preflight/report/1"},
      {"tool", Json::Object{{"name", "nvme-preflight"}, {"version", version()}}},
      {"guest", guest_json(facts)},
      {"target", "nvme"},
      {"verdict", to_string(report.verdict)},
      {"exit_code", report.exit_code},
      {"entries", entries_json(facts)},
      {"findings", std::move(findings)},
  };
  if (report.fix) out.emplace_back("fix", fix_json(*report.fix));
  return dump_json(out, 2) + "\n";
}

}  // namespace preflight
