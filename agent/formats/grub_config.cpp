// SPDX-License-Identifier: MIT
#include "agent/formats/grub_config.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

namespace preflight {

namespace {

// Conditions are copied to every assignment below them; GRUB's own have a hundred bytes.
constexpr std::size_t condition_cap = 1024;
constexpr std::size_t list_cap = 4096;

struct Token {
  enum class Kind { word, separator, open, close, end };
  Kind kind = Kind::end;
  std::string text;  // of a word, quotes and escapes removed
  int line = 0;
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  bool unterminated() const { return unterminated_; }

  Token next() {
    skip_blanks();
    if (done()) return {Token::Kind::end, "", line_};
    const int line = line_;
    const char c = text_[at_];
    if (c == '\n' || ends_command(c)) {
      advance();
      return {Token::Kind::separator, "", line};
    }
    if (c == '{' || c == '}') {
      advance();
      return {c == '{' ? Token::Kind::open : Token::Kind::close, "", line};
    }
    return {Token::Kind::word, word(), line};
  }

 private:
  static bool ends_command(char c) {
    return std::string_view(";|&<>").find(c) != std::string_view::npos;
  }
  static bool ends_word(char c) {
    return ends_command(c) || std::string_view(" \t\n{}").find(c) != std::string_view::npos;
  }

  bool done() const { return at_ >= text_.size(); }

  void advance() {
    if (text_[at_] == '\n') ++line_;
    ++at_;
  }

  void skip_blanks() {
    while (!done()) {
      const char c = text_[at_];
      const bool joined = c == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n';
      if (c == '#') {
        while (!done() && text_[at_] != '\n') ++at_;
      } else if (joined) {
        advance();
        advance();
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else {
        return;
      }
    }
  }

  std::string word() {
    std::string out;
    while (!done() && !ends_word(text_[at_])) {
      const char c = text_[at_];
      if (c == '\'' || c == '"') {
        quoted(c, out);
      } else if (c == '$') {
        variable(out);
      } else {
        if (c == '\\' && at_ + 1 < text_.size()) advance();
        if (text_[at_] != '\r') out += text_[at_];
        advance();
      }
    }
    return out;
  }

  void quoted(char quote, std::string& out) {
    advance();
    while (!done() && text_[at_] != quote) {
      if (quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size() &&
          std::string_view("$\\\"").find(text_[at_ + 1]) != std::string_view::npos)
        advance();
      out += text_[at_];
      advance();
    }
    if (done()) {
      unterminated_ = true;
    } else {
      advance();
    }
  }

  /// "${name}" is part of its word although braces else stand alone.
  void variable(std::string& out) {
    out += text_[at_];
    advance();
    if (done() || text_[at_] != '{') return;
    while (!done() && text_[at_] != '}' && text_[at_] != '\n') {
      out += text_[at_];
      advance();
    }
    if (!done() && text_[at_] == '}') {
      out += '}';
      advance();
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool unterminated_ = false;
};

std::string join(const std::vector<std::string>& words, std::size_t from) {
  std::string out;
  for (std::size_t i = from; i < words.size(); ++i) {
    if (!out.empty()) out += ' ';
    out += words[i];
  }
  return out;
}

bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0) return false;
  const auto belongs = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  const std::string_view name = word.substr(0, equals);
  return std::all_of(name.begin(), name.end(), belongs) && (name[0] < '0' || name[0] > '9');
}

/// The --id of a menuentry; grub.cfg passes the option's name in a variable.
std::optional<std::string> entry_id(const std::vector<std::string>& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool option =
        word == "--id" || word == "$menuentry_id_option" || word == "${menuentry_id_option}";
    if (option && i + 1 < words.size()) return words[i + 1];
    if (word.rfind("--id=", 0) == 0) return word.substr(5);
  }
  return std::nullopt;
}

class Parser {
 public:
  Parser(const std::string& path, std::string_view text) : lexer_(text) { config_.path = path; }

  GrubConfig run() {
    for (Token token = lexer_.next(); token.kind != Token::Kind::end; token = lexer_.next()) {
      if (token.kind == Token::Kind::word) {
        if (words_.empty()) line_ = token.line;
        words_.push_back(std::move(token.text));
        continue;
      }
      finish_command();
      if (token.kind == Token::Kind::open) ++blocks_;
      if (token.kind == Token::Kind::close && blocks_ > 0) --blocks_;
    }
    finish_command();
    config_.incomplete =
        config_.incomplete || lexer_.unterminated() || blocks_ > 0 || !conditions_.empty();
    return std::move(config_);
  }

 private:
  void finish_command() {
    const std::vector<std::string> words = std::exchange(words_, {});
    std::size_t first = 0;
    while (first < words.size() && is_structure(words[first])) ++first;
    if (first == words.size() || takes_condition(words, first) || blocks_ > 0) return;
    command({words.begin() + static_cast<std::ptrdiff_t>(first), words.end()});
  }

  /// Whether a word only stands before a command; leaves conditions.
  bool is_structure(const std::string& word) {
    if (word == "then" || word == "do") return true;
    const bool leaves = word == "fi" || word == "done";
    if (!leaves && word != "else") return false;
    if (conditions_.empty()) return true;
    if (leaves) {
      conditions_.pop_back();
    } else if (conditions_.back().rfind("not ", 0) != 0) {
      conditions_.back().insert(0, "not ");
    }
    return true;
  }

  /// Enters a condition when the words from `first` on are one.
  bool takes_condition(const std::vector<std::string>& words, std::size_t first) {
    const std::string& word = words[first];
    const bool enters = word == "if" || word == "while" || word == "until" || word == "for";
    if (!enters && word != "elif") return false;
    std::string text = join(words, first + 1).substr(0, condition_cap);
    if (enters) {
      conditions_.push_back(std::move(text));
    } else if (!conditions_.empty()) {
      conditions_.back() = std::move(text);
    }
    return true;
  }

  void command(const std::vector<std::string>& words) {
    const std::string& name = words[0];
    if (name == "set") {
      for (std::size_t i = 1; i < words.size(); ++i) assign(words[i]);
    } else if (name == "menuentry" || name == "submenu") {
      if (words.size() > 1 && has_room(config_.menu_entries.size()))
        config_.menu_entries.push_back({words[1], entry_id(words).value_or(words[1]),
                                        !conditions_.empty(), config_.blscfg_line == 0,
                                        config_.path, line_});
    } else if (name == "blscfg" || name == "bls_import") {
      if (config_.blscfg_line == 0) config_.blscfg_line = line_;
    } else if (name == "configfile") {
      config_.configfile_line = line_;
    } else {
      assign(name);
    }
  }

  bool has_room(std::size_t count) {
    config_.incomplete = config_.incomplete || count >= list_cap;
    return count < list_cap;
  }

  void assign(const std::string& word) {
    if (!is_assignment(word) || !has_room(config_.assignments.size())) return;
    const std::size_t equals = word.find('=');
    std::string condition;
    for (const std::string& one : conditions_) {
      if (condition.size() > condition_cap) break;
      condition += (condition.empty() ? "" : " and ") + one;
    }
    config_.assignments.push_back({word.substr(0, equals), word.substr(equals + 1),
                                   std::move(condition), config_.path, line_});
  }

  Lexer lexer_;
  GrubConfig config_;
  std::vector<std::string> words_;  // of the command being read
  int line_ = 0;
  int blocks_ = 0;
  std::vector<std::string> conditions_;
};

}  // namespace

GrubConfig parse_grub_config(const std::string& path, std::string_view text) {
  return Parser(path, text).run();
}

}  // namespace preflight
