// SPDX-License-Identifier: MIT
#include "agent/formats/bls.h"

#include <algorithm>
#include <numeric>

#include "agent/formats/text.h"

namespace preflight {

namespace {

constexpr std::string_view suffix = ".conf";
// The kernel cuts its command line at command_line_size; a value that names a long variable over
// and over must not become our memory.
constexpr std::size_t expanded_cap = 8u << 10;

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

std::string_view skip_blanks(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t");
  return start == std::string_view::npos ? std::string_view() : text.substr(start);
}

/// A line as grub_file_getline() gives it.
std::string clean_line(std::string_view raw) {
  std::string line;
  std::copy_if(raw.begin(), raw.end(), std::back_inserter(line), [](char c) { return c != '\r'; });
  return line.substr(0, line.find('\0'));
}

/// nullopt for a line that ends the file.
std::optional<BlsField> parse_field(std::string_view line, int number) {
  std::size_t separator = line.find(' ');
  if (separator == std::string_view::npos) separator = line.find('\t');
  if (separator == std::string_view::npos || separator + 1 == line.size()) return std::nullopt;
  return BlsField{std::string(line.substr(0, separator)),
                  std::string(skip_blanks(line.substr(separator + 1))), number};
}

bool says_something(std::string_view raw) {
  const std::string_view line = trim(raw);
  return !line.empty() && line[0] != '#';
}

bool belongs_to_variable(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// expand_val()'s walk over a value: fields are text or variable names.
class Expansion {
 public:
  explicit Expansion(const VariableLookup& lookup) : lookup_(lookup) {}

  std::optional<std::string> run(std::string_view value) {
    for (std::size_t at = 0; at < value.size(); ++at) {
      const bool escaped = at > 0 && value[at - 1] == '\\';
      if (value[at] == '$' && !escaped) {
        if (!close_field(value)) return std::nullopt;
        variable_ = true;
        start_ = at + 1;
      } else if (variable_ && !belongs_to_variable(value[at])) {
        append(value);
        variable_ = false;
        start_ = value[at] == ' ' ? at + 1 : at;
      }
      last_ = at;
    }
    if (!close_field(value)) return std::nullopt;
    return out_;
  }

 private:
  /// Ends a field at a "$" or at the end. One of a single byte is lost (start == end there).
  bool close_field(std::string_view value) {
    if (start_ == last_) return true;
    append(value);
    return out_.has_value();
  }

  void append(std::string_view value) {
    const std::string_view field =
        start_ > last_ ? std::string_view() : value.substr(start_, last_ - start_ + 1);
    if (!variable_) {
      add(field);
    } else if (const std::optional<std::string> found = lookup_(field)) {
      add(*found);
      add(" ");
    }
  }

  void add(std::string_view text) {
    if (!out_) out_.emplace();
    out_->append(text.substr(0, expanded_cap - std::min(expanded_cap, out_->size())));
  }

  const VariableLookup& lookup_;
  std::optional<std::string> out_;
  std::size_t start_ = 0;  // of the current field
  std::size_t last_ = 0;   // the byte before the current one
  bool variable_ = false;
};

PlusRule plus_rule(bool el8) {
  return el8 ? PlusRule::separates : PlusRule::orders;
}

int compare(const BlsSortKey& a, const BlsSortKey& b, bool by_version, bool el8) {
  if (by_version && a.version && b.version)
    if (const int order = compare_version_release(*a.version, *b.version, plus_rule(el8)))
      return order;
  return compare_name_version_release(a.id, b.id, plus_rule(el8));
}

}  // namespace

const BlsField* BlsFile::find(std::string_view key) const {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const BlsField& field) { return field.key == key; });
  return found == fields.end() ? nullptr : &*found;
}

std::vector<const BlsField*> BlsFile::find_all(std::string_view key) const {
  std::vector<const BlsField*> out;
  for (const BlsField& field : fields)
    if (field.key == key) out.push_back(&field);
  return out;
}

BlsFile parse_bls(std::string_view text) {
  BlsFile file;
  int number = 0;
  for (const std::string_view raw : split_lines(text)) {
    ++number;
    if (file.stopped_line > 0) {
      file.text_after = file.text_after || says_something(raw);
      continue;
    }
    const std::string clean = clean_line(raw);
    const std::string_view line = skip_blanks(clean);
    if (line.substr(0, 1) == "#") continue;
    if (std::optional<BlsField> field = parse_field(line, number)) {
      file.fields.push_back(std::move(*field));
    } else {
      file.stopped_line = number;
      file.text_after = says_something(line);
    }
  }
  return file;
}

bool is_bls_file_name(std::string_view name) {
  return name.size() > suffix.size() && name.front() != '.' &&
         name.substr(name.size() - suffix.size()) == suffix;
}

std::optional<std::string> expand_bls_value(std::string_view value, const VariableLookup& lookup) {
  return Expansion(lookup).run(value);
}

std::vector<std::string> bls_variables(std::string_view value) {
  std::vector<std::string> names;
  const VariableLookup note = [&](std::string_view name) -> std::optional<std::string> {
    names.emplace_back(name);
    return "";
  };
  Expansion(note).run(value);
  return names;
}

std::size_t grub_command_length(std::string_view text) {
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && quote != '\'') {
      ++i;
    } else if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == ';' || c == '|' || c == '&' ||
               (c == '#' && (i == 0 || is_blank(text[i - 1])))) {
      return i;
    }
  }
  return text.size();
}

namespace {

/// The words of a line of GRUB's script, unquoted. In double quotes a backslash stays unless it
/// stands before '"', '$' or itself.
std::vector<std::string> script_words(std::string_view text) {
  std::vector<std::string> words;
  std::optional<std::string> word;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && is_blank(c)) {
      if (word) words.push_back(std::move(*word));
      word.reset();
      continue;
    }
    if (!word) word.emplace();
    const char next = i + 1 < text.size() ? text[i + 1] : 0;
    const bool escapes =
        c == '\\' && quote != '\'' && (quote == 0 || next == '"' || next == '$' || next == '\\');
    if (escapes) {
      if (next != 0) *word += text[++i];
    } else if (quote != 0 ? c == quote : c == '"' || c == '\'') {
      quote = quote != 0 ? 0 : c;
    } else {
      *word += c;
    }
  }
  if (word) words.push_back(std::move(*word));
  return words;
}

}  // namespace

std::string grub_command_line(std::string_view options) {
  if (options.find_first_of("\"'\\") == std::string_view::npos) return std::string(options);
  std::string line;
  for (const std::string& word : script_words(options)) {
    if (!line.empty()) line += ' ';
    const bool blank = word.find(' ') != std::string::npos;
    if (blank) line += '"';
    for (const char c : word) {
      if (c == '"' || c == '\'' || c == '\\') line += '\\';
      line += c;
    }
    if (blank) line += '"';
  }
  return line;
}

std::vector<std::size_t> bls_menu_order(const std::vector<BlsSortKey>& keys, bool el8) {
  const bool by_version = el8 && std::all_of(keys.begin(), keys.end(), [](const BlsSortKey& key) {
                            return key.version.has_value();
                          });
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return compare(keys[a], keys[b], by_version, el8) > 0;
  });
  return order;
}

bool bls_same_place(const BlsSortKey& a, const BlsSortKey& b, bool el8) {
  return compare(a, b, el8, el8) == 0;
}

}  // namespace preflight
