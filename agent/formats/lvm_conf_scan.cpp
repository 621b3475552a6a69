// SPDX-License-Identifier: MIT
#include "agent/formats/lvm_conf_scan.h"

#include <fmt/format.h>
#include <libdevmapper.h>

#include <utility>

namespace preflight {

namespace {

// Every value takes a hundred bytes here and in the library, and every setting has the names of all
// its sections in its path.
constexpr std::size_t values_cap = 20000;
constexpr std::size_t path_cap = 1024;

enum class Token { word, bare, number, quoted, equals, open, close, array, array_end, comma, end };

bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

class Lexer {
 public:
  Lexer(std::string_view text, std::vector<LvmConfComment>& comments)
      : text_(text), comments_(comments) {
    advance();
  }

  Token kind = Token::close;  // what stands before the first token: no value may follow
  std::size_t begin = 0, end = 0;
  int line = 1;

  std::string_view text() const { return text_.substr(begin, end - begin); }

  void advance() {
    // Whether a word is a value or a key depends on the token before it alone.
    const bool value = kind == Token::equals || kind == Token::array || kind == Token::comma;
    skip_blanks();
    begin = end;
    if (begin == text_.size()) {
      kind = Token::end;
      return;
    }
    const char first = text_[end++];
    switch (first) {
      case '{':
        kind = Token::open;
        return;
      case '}':
        kind = Token::close;
        return;
      case '[':
        kind = Token::array;
        return;
      case ']':
        kind = Token::array_end;
        return;
      case ',':
        kind = Token::comma;
        return;
      case '=':
        kind = Token::equals;
        return;
      case '"':
      case '\'':
        quoted(first);
        return;
      default:
        if (value && (is_digit(first) || first == '.' || first == '+' || first == '-'))
          number(first);
        else
          word(value);
    }
  }

 private:
  void skip_blanks() {
    count_lines(begin, end);  // a quoted token may span lines
    for (; end < text_.size(); ++end) {
      if (text_[end] == '#')
        comment();
      else if (!is_blank(text_[end]))
        return;
      if (end == text_.size()) return;
      if (text_[end] == '\n') ++line;
    }
  }

  void comment() {
    const std::size_t start = end;
    end = std::min(text_.find('\n', start), text_.size());
    comments_.push_back({line, start, end});
  }

  void quoted(char quote) {
    kind = Token::quoted;
    for (; end < text_.size() && text_[end] != quote; ++end)
      if (quote == '"' && text_[end] == '\\' && end + 1 < text_.size()) ++end;
    if (end < text_.size()) ++end;
  }

  void number(char first) {
    kind = Token::number;
    bool point = first == '.';
    for (; end < text_.size(); ++end) {
      if (is_digit(text_[end])) continue;
      if (text_[end] != '.' || point) return;
      point = true;
    }
  }

  void word(bool value) {
    kind = value ? Token::bare : Token::word;
    while (end < text_.size() && !is_blank(text_[end]) &&
           std::string_view("#={}").find(text_[end]) == std::string_view::npos)
      ++end;
  }

  void count_lines(std::size_t from, std::size_t to) {
    for (const char c : text_.substr(from, to - from))
      if (c == '\n') ++line;
  }

  std::string_view text_;
  std::vector<LvmConfComment>& comments_;
};

class Scanner {
 public:
  Scanner(const std::string& path, std::string_view text)
      : path_(path), lexer_(text, out_.comments) {}

  LvmConfScan run() {
    while (!out_.error && !(lexer_.kind == Token::end && open_.empty())) item();
    out_.stop = lexer_.end;
    return std::move(out_);
  }

 private:
  struct Open {
    std::size_t section;  // index
    std::size_t depth;    // path segments
  };

  void item() {
    if (lexer_.kind == Token::close && !open_.empty()) {
      out_.sections[open_.back().section].close = lexer_.begin;
      open_.pop_back();
      lexer_.advance();
      return;
    }
    LvmConfPlace place;
    place.line = lexer_.line;
    place.key = lexer_.begin;
    std::size_t depth = 0;
    if (!key(place.path, depth)) return;
    if (lexer_.kind == Token::open) {
      out_.sections.push_back({std::move(place.path), place.line, lexer_.begin, 0});
      open_.push_back({out_.sections.size() - 1, depth});
      lexer_.advance();
    } else if (lexer_.kind == Token::equals) {
      lexer_.advance();
      place.begin = lexer_.begin;
      if (!value(place.end)) return;
      out_.places.push_back(std::move(place));
    } else {
      broken("expected '=' or '{' after a name");
    }
  }

  bool key(std::string& path, std::size_t& depth) {
    std::string name;
    if (lexer_.kind == Token::quoted) {
      if (lexer_.end - lexer_.begin < 2) return broken("a quote that does not end");
      name = lexer_.text().substr(1, lexer_.end - lexer_.begin - 2);
      if (lexer_.text()[0] == '"') dm_unescape_double_quotes(name.data());
      name.resize(std::string_view(name.c_str()).size());
    } else if (lexer_.kind == Token::word) {
      name = lexer_.text();
    }
    if (name.empty()) return broken("expected a name");
    path = open_.empty() ? "" : out_.sections[open_.back().section].path;
    depth = (open_.empty() ? 0 : open_.back().depth) + join(path, name);
    if (depth > lvm_conf_nesting_cap)
      return stop(ErrorKind::unsupported,
                  fmt::format("nested deeper than {} levels", lvm_conf_nesting_cap));
    if (path.size() > path_cap)
      return stop(ErrorKind::unsupported, fmt::format("a name longer than {} bytes", path_cap));
    if (++keys_ > lvm_conf_keys_cap)
      return stop(ErrorKind::too_large, fmt::format("more than {} names", lvm_conf_keys_cap));
    lexer_.advance();
    return true;
  }

  /// Adds a name's segments to the path: '/' separates, runs of it count as one, one at the end
  /// gives an empty last segment. Returns how many there are.
  std::size_t join(std::string& path, std::string_view name) const {
    std::size_t segments = 0;
    bool more = true;
    while (more) {
      name.remove_prefix(std::min(name.find_first_not_of('/'), name.size()));
      const std::size_t end = std::min(name.find('/'), name.size());
      if (segments > 0 || !open_.empty()) path += '/';
      path += name.substr(0, end);
      more = end < name.size();
      name.remove_prefix(end);
      ++segments;
    }
    return segments;
  }

  bool value(std::size_t& end) {
    if (lexer_.kind != Token::array) return single(end);
    lexer_.advance();
    while (lexer_.kind != Token::array_end) {
      if (!single(end)) return false;
      if (lexer_.kind == Token::comma) lexer_.advance();
    }
    end = lexer_.end;
    lexer_.advance();
    return true;
  }

  bool single(std::size_t& end) {
    const bool text = lexer_.kind == Token::quoted && lexer_.end - lexer_.begin >= 2;
    if (!text && lexer_.kind != Token::bare && lexer_.kind != Token::number)
      return broken("expected a value");
    end = lexer_.end;
    if (++values_ > values_cap)
      return stop(ErrorKind::too_large, fmt::format("more than {} values", values_cap));
    lexer_.advance();
    return true;
  }

  bool broken(std::string what) { return stop(ErrorKind::malformed, std::move(what)); }

  bool stop(ErrorKind kind, std::string what) {
    out_.error = Error{kind, path_, lexer_.line, std::move(what)};
    return false;
  }

  const std::string& path_;
  LvmConfScan out_;
  Lexer lexer_;
  std::vector<Open> open_;
  std::size_t keys_ = 0;
  std::size_t values_ = 0;
};

}  // namespace

LvmConfScan scan_lvm_conf(const std::string& path, std::string_view text) {
  return Scanner(path, text).run();
}

}  // namespace preflight
