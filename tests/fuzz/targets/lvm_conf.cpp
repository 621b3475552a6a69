// SPDX-License-Identifier: MIT
// lvm.conf: the editor sets one value and nothing else, or refuses.
#include "agent/formats/lvm_conf.h"

#include <algorithm>

#include "agent/formats/lvm_conf_edit.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

namespace preflight::fuzz {

namespace {

/// Whether `after` is `before` with one run of bytes replaced or inserted, `value` being in it.
bool is_one_replacement(std::string_view before, std::string_view after, std::string_view value) {
  const auto mismatch = std::mismatch(before.begin(), before.end(), after.begin(), after.end());
  const auto prefix = static_cast<std::size_t>(mismatch.first - before.begin());
  std::size_t suffix = 0;
  while (suffix < std::min(before.size(), after.size()) - prefix &&
         before[before.size() - 1 - suffix] == after[after.size() - 1 - suffix])
    ++suffix;
  // The new bytes share some with what stands around them, so the value may reach over the run.
  const std::size_t begin = prefix > value.size() ? prefix - value.size() : 0;
  const std::size_t end = std::min(after.size(), after.size() - suffix + value.size());
  return after.substr(begin, end - begin).find(value) != std::string_view::npos;
}

/// Every setting but the intended one, by what libdevmapper reads of the two texts.
bool rest_is_equal(const LvmConf& before, const LvmConf& after, const std::string& setting,
                   const std::string& section) {
  LvmConfTree a = before.tree(), b = after.tree();
  a.erase(setting);
  b.erase(setting);
  if (!before.tree().contains(section)) b.erase(section);
  return a == b;
}

/// What stood outside of the value that counts is there still, byte for byte.
bool bytes_are_kept(const LvmConf& before, const std::string& after, const std::string& setting) {
  const auto places = before.places(setting);
  if (!places || places->empty()) return true;  // inserted: is_one_replacement() says it
  const LvmConfPlace& place = places->back();
  const std::string_view text = before.text();
  return std::string_view(after).starts_with(text.substr(0, place.begin)) &&
         std::string_view(after).ends_with(text.substr(place.end));
}

void check_edit(const LvmConf& before, const std::string& name, const std::string& value) {
  const std::string setting = "devices/" + name;
  const Result<std::string> edited = set_lvm_value(before, "devices", name, value);
  if (!edited) return;
  const Result<LvmConf> after = LvmConf::parse("after", *edited);
  const Result<LvmConf> wanted = LvmConf::parse("wanted", setting + " = " + value + "\n");
  require(after.has_value() && wanted.has_value(), "the edited text parses");
  require(after->values(setting) == wanted->values(setting), "the setting has the wanted value");
  require(rest_is_equal(before, *after, setting, "devices"), "no other setting changes");
  if (*edited == before.text()) {
    require(before.values(setting) == wanted->values(setting), "unchanged means it was so");
    return;
  }
  require(is_one_replacement(before.text(), *edited, value), "the edit is one replacement");
  require(bytes_are_kept(before, *edited, setting), "other bytes are kept");
  const Result<std::string> again = set_lvm_value(*after, "devices", name, value);
  require(again && *again == *edited, "a second edit changes nothing");
}

}  // namespace

void lvm_conf(std::string_view input) {
  const Result<LvmConf> conf = LvmConf::parse("before", std::string(input));
  if (!conf) return;
  conf->boolean("devices/use_devicesfile");
  conf->sections_in("devices");
  for (const LvmConfPlace& place : conf->scan().places)
    require(place.begin < place.end && place.end <= input.size(), "places lie in the text");
  check_edit(*conf, "use_devicesfile", "0");
  check_edit(*conf, "filter", "[ \"a|^/dev/nvme|\",\"r|.*|\" ]");
}

}  // namespace preflight::fuzz
