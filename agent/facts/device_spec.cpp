// SPDX-License-Identifier: MIT
#include <array>
#include <utility>

#include "agent/facts/storage.h"

namespace preflight {

namespace {

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10u;
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10u;
  return std::nullopt;
}

/// Undoes the \xNN that udev writes into link names (systemd encode_devnode_name).
std::string decode_udev(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "\\x" && i + 3 < text.size()) {
      const auto high = hex_digit(text[i + 2]);
      const auto low = hex_digit(text[i + 3]);
      if (high && low) {
        out += static_cast<char>(static_cast<unsigned char>(*high * 16 + *low));
        i += 3;
        continue;
      }
    }
    out += text[i];
  }
  return out;
}

std::string_view unquote(std::string_view text) {
  const bool quoted = text.size() >= 2 && (text.front() == '"' || text.front() == '\'') &&
                      text.back() == text.front();
  return quoted ? text.substr(1, text.size() - 2) : text;
}

/// Without doubled slashes and "." components, as systemd's path_simplify().
std::string simplified_path(std::string_view path) {
  std::string out;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const bool after_slash = !out.empty() && out.back() == '/';
    if (path[i] == '/' && after_slash) continue;
    const bool is_dot =
        after_slash && path[i] == '.' && (i + 1 == path.size() || path[i + 1] == '/');
    if (!is_dot) out += path[i];
  }
  return out;
}

constexpr std::array<std::pair<std::string_view, SpecKind>, 5> tags{
    {{"UUID=", SpecKind::uuid},
     {"LABEL=", SpecKind::label},
     {"PARTUUID=", SpecKind::partuuid},
     {"PARTLABEL=", SpecKind::partlabel},
     {"ID=", SpecKind::id}}};

constexpr std::array<std::pair<std::string_view, SpecKind>, 8> directories{
    {{"disk/by-uuid/", SpecKind::uuid},
     {"disk/by-label/", SpecKind::label},
     {"disk/by-partuuid/", SpecKind::partuuid},
     {"disk/by-partlabel/", SpecKind::partlabel},
     {"disk/by-id/", SpecKind::id},
     {"disk/by-path/", SpecKind::by_path},
     {"mapper/", SpecKind::mapper},
     {"block/", SpecKind::number}}};

DeviceSpec parse_device_path(std::string_view path) {
  for (const auto& [prefix, kind] : directories) {
    if (path.starts_with(prefix)) {
      const std::string_view name = path.substr(prefix.size());
      return {kind, kind == SpecKind::mapper ? std::string(name) : decode_udev(name)};
    }
  }
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos) return {SpecKind::kernel, std::string(path)};
  const bool two_parts =
      slash > 0 && slash + 1 < path.size() && path.find('/', slash + 1) == std::string_view::npos;
  const std::string_view first = path.substr(0, slash);
  if (!two_parts || first == "disk" || first == "md" || first == "zvol")
    return {SpecKind::other, std::string(path)};
  return {SpecKind::volume, std::string(path)};
}

}  // namespace

DeviceSpec parse_device_spec(std::string_view spec) {
  spec = unquote(spec);
  for (const auto& [tag, kind] : tags) {
    if (spec.starts_with(tag)) return {kind, std::string(unquote(spec.substr(tag.size())))};
  }
  const std::string path = simplified_path(spec);
  constexpr std::string_view dev = "/dev/";
  if (path.starts_with(dev) && path != "/dev/nfs" && path.size() > dev.size())
    return parse_device_path(std::string_view(path).substr(dev.size()));
  return {SpecKind::other, std::string(spec)};
}

}  // namespace preflight
