// SPDX-License-Identifier: MIT
#include "agent/formats/json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace preflight {

namespace {

constexpr int depth_cap = 64;

using Library = nlohmann::ordered_json;

Json from_library(const Library& in) {
  switch (in.type()) {
    case Library::value_t::boolean:
      return in.get<bool>();
    case Library::value_t::number_integer:
    case Library::value_t::number_unsigned:
      return in.get<std::int64_t>();
    case Library::value_t::number_float:
      return in.get<double>();
    case Library::value_t::string:
      return in.get<std::string>();
    case Library::value_t::array: {
      Json::Array out;
      for (const auto& item : in) out.push_back(from_library(item));
      return out;
    }
    case Library::value_t::object: {
      Json::Object out;
      for (const auto& [key, item] : in.items()) out.emplace_back(key, from_library(item));
      return out;
    }
    default:
      return nullptr;
  }
}

Library to_library(const Json& in) {
  return std::visit(
      [](const auto& value) -> Library {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, Json::Array>) {
          Library out = Library::array();
          for (const Json& item : value) out.push_back(to_library(item));
          return out;
        } else if constexpr (std::is_same_v<T, Json::Object>) {
          Library out = Library::object();
          for (const auto& [key, item] : value) out[key] = to_library(item);
          return out;
        } else {
          return Library(value);
        }
      },
      in.value());
}

bool nests_too_deeply(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > depth_cap) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

}  // namespace

const Json* Json::find(std::string_view key) const {
  if (const Object* members = object()) {
    for (const auto& [name, value] : *members)
      if (name == key) return &value;
  }
  return nullptr;
}

std::string Json::text(std::string_view key) const {
  const Json* member = find(key);
  const std::string* value = member ? member->string() : nullptr;
  return value ? *value : std::string();
}

Result<Json> parse_json(const std::string& path, std::string_view text) {
  if (nests_too_deeply(text))
    return fail(ErrorKind::malformed, path, fmt::format("JSON nested over {} levels", depth_cap));
  const Library parsed = Library::parse(text, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded()) return fail(ErrorKind::malformed, path, "not valid JSON");
  return from_library(parsed);
}

std::string dump_json(const Json& json, int indent) {
  return to_library(json).dump(indent > 0 ? indent : -1, ' ', false,
                               Library::error_handler_t::replace);
}

}  // namespace preflight
