// SPDX-License-Identifier: MIT
#include "agent/formats/lvm_conf.h"

#include <fmt/format.h>
#include <libdevmapper.h>

#include <charconv>
#include <utility>

#include "agent/formats/dm_log.h"

namespace preflight {

namespace {

using Tree = std::shared_ptr<const dm_config_tree>;

Tree tree_of(const std::string& text) {
  return Tree(dm_config_from_string(text.c_str()), [](dm_config_tree* tree) {
    if (tree != nullptr) dm_config_destroy(tree);
  });
}

/// libdm-config.c writes "Parse error at byte 12 (line 3): ...".
int line_in(std::string_view message) {
  constexpr std::string_view mark = "(line ";
  const std::size_t at = message.find(mark);
  int line = 0;
  if (at != std::string_view::npos)
    std::from_chars(message.data() + at + mark.size(), message.data() + message.size(), line);
  return line;
}

/// The line of the first value that the library does not take even alone; 0 when there is none. Its
/// messages about numbers give no line.
int line_of_bad_value(std::string_view text, const LvmConfScan& scan) {
  const DmLog log;
  for (const LvmConfPlace& place : scan.places)
    if (!tree_of("value=" + std::string(text.substr(place.begin, place.end - place.begin))))
      return place.line;
  return 0;
}

Error rejection(const std::string& path, std::string_view text, const DmLog& log,
                const LvmConfScan& scan) {
  if (scan.places.empty() && scan.sections.empty() && !scan.error)
    return {ErrorKind::malformed, path, 0,
            "it is not empty, yet holds no setting: LVM takes that for a file that failed to load"};
  std::string message = scan.error ? scan.error->what : "a value is not valid";
  if (!log.errors().empty()) message = log.errors().front();
  int line = line_in(message);
  if (line == 0) line = scan.error ? scan.error->line : line_of_bad_value(text, scan);
  return {ErrorKind::malformed, path, line, "LVM cannot read it: " + message};
}

LvmConfValue value_of(const dm_config_value& value) {
  LvmConfValue out;
  switch (value.type) {
    case DM_CFG_INT:
      out.type = LvmConfValue::Type::integer;
      out.integer = value.v.i;
      break;
    case DM_CFG_FLOAT:
      out.type = LvmConfValue::Type::real;
      out.real = value.v.f;
      break;
    case DM_CFG_STRING:
      out.text = value.v.str;
      break;
    case DM_CFG_EMPTY_ARRAY:
      out.type = LvmConfValue::Type::empty_array;
      break;
  }
  return out;
}

std::optional<LvmConfValues> values_of(const dm_config_node* node) {
  if (node == nullptr || node->v == nullptr) return std::nullopt;
  LvmConfValues out;
  for (const dm_config_value* value = node->v; value != nullptr; value = value->next)
    out.push_back(value_of(*value));
  return out;
}

const dm_config_node* find_node(const Tree& tree, std::string_view path) {
  if (!tree) return nullptr;
  const DmLog log;
  return dm_config_find_node(tree->root, std::string(path).c_str());
}

void add_nodes(const dm_config_node* node, const std::string& prefix, LvmConfTree& out) {
  for (; node != nullptr; node = node->sib) {
    const std::string path = prefix + node->key;
    out[path] = {values_of(node), node->v == nullptr || node->child != nullptr};
    add_nodes(node->child, path + '/', out);
  }
}

}  // namespace

Result<LvmConf> LvmConf::parse(std::string path, std::string text) {
  if (text.size() > lvm_conf_cap)
    return fail(ErrorKind::too_large, std::move(path),
                fmt::format("larger than the cap of {} bytes", lvm_conf_cap));
  LvmConf conf(std::move(path), std::move(text));
  if (conf.text_.empty()) return conf;
  const std::string_view seen = std::string_view(conf.text_).substr(0, conf.text_.find('\0'));
  conf.scan_ = scan_lvm_conf(conf.path_, seen);
  const std::optional<Error>& broken = conf.scan_.error;
  if (broken && broken->kind != ErrorKind::malformed) return tl::unexpected(*broken);
  // Where the scan gave up, the library gets no more than was scanned: its recursion stays bounded.
  const DmLog log;
  conf.tree_ = tree_of(std::string(seen.substr(0, broken ? conf.scan_.stop : seen.size())));
  if (!conf.tree_) return tl::unexpected(rejection(conf.path_, seen, log, conf.scan_));
  if (broken)
    return fail(ErrorKind::unsupported, conf.path_,
                fmt::format("libdevmapper reads what is not understood here: {}", broken->what),
                broken->line);
  return conf;
}

std::optional<LvmConfValues> LvmConf::values(std::string_view setting) const {
  return values_of(find_node(tree_, setting));
}

std::optional<bool> LvmConf::boolean(std::string_view setting) const {
  // Never asked for a node without value: dm_config_find_bool would follow its null pointer.
  const dm_config_node* node = find_node(tree_, setting);
  if (node == nullptr || node->v == nullptr) return std::nullopt;
  const DmLog log;
  const std::string path(setting);
  const int if_not_0 = dm_config_find_bool(tree_->root, path.c_str(), 0);
  const int if_not_1 = dm_config_find_bool(tree_->root, path.c_str(), 1);
  if (if_not_0 != if_not_1) return std::nullopt;
  return if_not_0 != 0;
}

bool LvmConf::is_section(std::string_view path) const {
  const dm_config_node* node = find_node(tree_, path);
  return node != nullptr && node->v == nullptr;
}

std::vector<std::string> LvmConf::sections_in(std::string_view section) const {
  std::vector<std::string> out;
  const dm_config_node* node = find_node(tree_, section);
  if (node == nullptr) return out;
  for (const dm_config_node* child = node->child; child != nullptr; child = child->sib)
    if (child->v == nullptr) out.emplace_back(child->key);
  return out;
}

LvmConfTree LvmConf::tree() const {
  LvmConfTree out;
  if (tree_) add_nodes(tree_->root, "", out);
  return out;
}

Result<std::vector<LvmConfPlace>> LvmConf::places(std::string_view setting) const {
  std::vector<LvmConfPlace> out;
  for (const LvmConfPlace& place : scan_.places)
    if (place.path == setting) out.push_back(place);
  const std::optional<LvmConfValues> truth = values(setting);
  std::optional<LvmConfValues> found;
  if (!out.empty()) {
    const DmLog log;
    const Tree alone = tree_of("value=" + std::string(written(out.back())));
    found = values_of(find_node(alone, "value"));
  }
  if (found != truth)
    return fail(ErrorKind::unsupported, path_,
                fmt::format("cannot tell where {} is set: the place found does not hold the value "
                            "that libdevmapper reads",
                            setting),
                out.empty() ? 0 : out.back().line);
  return out;
}

}  // namespace preflight
