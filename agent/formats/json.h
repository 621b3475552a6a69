// SPDX-License-Identifier: MIT
// A small JSON value. nlohmann-json stays behind it, in one translation unit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "agent/result.h"

namespace preflight {

class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;  // in the order it is written
  using Value =
      std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, Array, Object>;

  Json() = default;
  Json(std::nullptr_t) {}
  Json(bool value) : value_(value) {}
  Json(int value) : value_(std::int64_t{value}) {}
  Json(std::int64_t value) : value_(value) {}
  Json(double value) : value_(value) {}
  Json(const char* value) : value_(std::string(value)) {}
  Json(std::string_view value) : value_(std::string(value)) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(Array value) : value_(std::move(value)) {}
  Json(Object value) : value_(std::move(value)) {}

  const std::string* string() const { return std::get_if<std::string>(&value_); }
  const std::int64_t* integer() const { return std::get_if<std::int64_t>(&value_); }
  const bool* boolean() const { return std::get_if<bool>(&value_); }
  const Array* array() const { return std::get_if<Array>(&value_); }
  const Object* object() const { return std::get_if<Object>(&value_); }
  bool is_null() const { return std::holds_alternative<std::nullptr_t>(value_); }
  const Value& value() const { return value_; }

  /// The member of an object; nullptr when this is no object or has no such member.
  const Json* find(std::string_view key) const;
  /// The string member of an object; "" when there is none.
  std::string text(std::string_view key) const;

 private:
  Value value_ = nullptr;
};

/// Errors: malformed, with `path` as the source. Nesting is capped at 64.
Result<Json> parse_json(const std::string& path, std::string_view text);

/// One line when `indent` is 0. Strings must be UTF-8 (see printable()).
std::string dump_json(const Json& json, int indent = 0);

}  // namespace preflight
