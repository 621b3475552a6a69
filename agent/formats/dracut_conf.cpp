// SPDX-License-Identifier: MIT
#include "agent/formats/dracut_conf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "agent/formats/text.h"

namespace preflight {

namespace {

// A file of one megabyte can double a value on each of its lines.
constexpr std::size_t value_cap = 1u << 20;
constexpr std::size_t total_value_cap = 16u << 20;
constexpr std::size_t note_cap = 1000;

bool is_name_start(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}
bool is_name_char(char c) {
  return is_name_start(c) || (c >= '0' && c <= '9');
}

bool is_name(std::string_view text) {
  return !text.empty() && is_name_start(text.front()) &&
         std::all_of(text.begin(), text.end(), is_name_char);
}

/// bash(1), "RESERVED WORDS" and "SHELL BUILTIN COMMANDS": the commands that can change a variable,
/// or whether the next line runs at all.
bool is_shell_word(std::string_view word) {
  constexpr auto words = std::to_array<std::string_view>(
      {"!",       "{",        "}",        "[[",        "]]",       "[",       ".",       ":",
       "alias",   "bg",       "bind",     "break",     "builtin",  "caller",  "case",    "cd",
       "command", "compgen",  "complete", "compopt",   "continue", "coproc",  "declare", "dirs",
       "disown",  "do",       "done",     "echo",      "elif",     "else",    "enable",  "esac",
       "eval",    "exec",     "exit",     "export",    "false",    "fc",      "fg",      "fi",
       "for",     "function", "getopts",  "hash",      "help",     "history", "if",      "in",
       "jobs",    "kill",     "let",      "local",     "logout",   "mapfile", "popd",    "printf",
       "pushd",   "pwd",      "read",     "readarray", "readonly", "return",  "select",  "set",
       "shift",   "shopt",    "source",   "suspend",   "test",     "then",    "time",    "times",
       "trap",    "true",     "type",     "typeset",   "ulimit",   "umask",   "unalias", "unset",
       "until",   "wait",     "while"});
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Programs that a mistyped assignment of one of dracut's settings (compress= "xz") could start and
/// that would wait for input.
bool waits_for_input(std::string_view word) {
  constexpr auto words = std::to_array<std::string_view>(
      {"bash", "bzip2", "cat", "gzip", "lz4", "lzma", "lzop", "pigz", "sh", "xz", "zstd"});
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Variables whose assignment does more than set a value: bash's own (bash(1), "Shell Variables"),
/// and those dracut.sh works with while it reads its configuration (R9 dracut.sh:930-979; the
/// command line's values are in *_l and win over the files).
bool has_side_effects(std::string_view name) {
  constexpr auto names = std::to_array<std::string_view>(
      {"_",          "DIRSTACK",   "EUID",    "FUNCNAME",      "FUNCNEST",    "GLOBIGNORE",
       "GROUPS",     "HISTCMD",    "IFS",     "IGNOREEOF",     "LANG",        "LINENO",
       "OPTARG",     "OPTERR",     "OPTIND",  "PATH",          "PIPESTATUS",  "POSIXLY_CORRECT",
       "PPID",       "PS4",        "PWD",     "RANDOM",        "SECONDS",     "SHELLOPTS",
       "SRANDOM",    "TMOUT",      "UID",     "ENV",           "TMPDIR",      "add_confdir",
       "allowlocal", "conffile",   "confdir", "dracutbasedir", "dracut_args", "dracutsysrootdir",
       "kernel",     "no_kernel_l"});
  if (std::find(names.begin(), names.end(), name) != names.end()) return true;
  return name.starts_with("BASH") || name.starts_with("LC_") || name.starts_with("COMP_") ||
         name.starts_with("EPOCH") || name.starts_with("LD_") || name.ends_with("_l");
}

/// Part of a word: literal text, or the name of a variable whose value belongs there.
struct Piece {
  bool variable = false;
  std::string text;
};

struct Word {
  std::vector<Piece> pieces;
  std::size_t bare = 0;  // leading characters without any quoting
  bool all_bare = true;
  int line = 0;

  std::string_view lead() const {
    if (pieces.empty() || pieces.front().variable) return {};
    return std::string_view(pieces.front().text).substr(0, bare);
  }
};

using Command = std::vector<Word>;

/// The name, operator and value's start of a word that bash takes for an assignment.
struct AssignmentHead {
  std::string_view name;
  bool append = false;
  std::size_t value_start = 0;
};

std::optional<AssignmentHead> assignment_head(const Word& word) {
  const std::string_view lead = word.lead();
  const std::size_t equals = lead.find('=');
  if (equals == std::string_view::npos || equals == 0) return std::nullopt;
  const bool append = lead[equals - 1] == '+';
  const std::string_view name = lead.substr(0, equals - (append ? 1 : 0));
  if (!is_name(name)) return std::nullopt;
  return AssignmentHead{name, append, equals + 1};
}

/// Reads one file command line by command line, as bash does: a line is executed only when all of
/// it has been understood.
class Lexer {
 public:
  explicit Lexer(const DracutFile& file) : file_(file), text_(file.text) {}

  struct Line {
    std::vector<Command> commands;
    bool unclosed = false;  // a quote is not closed before the end of the file
    int unclosed_at = 0;
  };

  bool at_end() const { return at_ >= text_.size(); }

  Result<Line> next_line() {
    Line line;
    Command command;
    std::optional<Word> word;
    const auto end_word = [&] {
      if (word) command.push_back(std::move(*word));
      word.reset();
    };
    while (!at_end()) {
      const char c = text_[at_];
      if (c == '\\' && peek(1) == '\n') {
        at_ += 2;
        ++line_;
      } else if (c == '\n') {
        ++at_;
        ++line_;
        break;
      } else if (c == ' ' || c == '\t') {
        ++at_;
        end_word();
      } else if (c == ';') {
        end_word();
        if (command.empty() || peek(1) == ';' || peek(1) == '&')
          return beyond("';' where no command ends");
        line.commands.push_back(std::move(command));
        command.clear();
        ++at_;
      } else if (c == '#' && !word) {
        while (!at_end() && text_[at_] != '\n') ++at_;
      } else {
        if (!word) word.emplace().line = line_;
        if (Result<void> read = word_part(*word, line); !read) return tl::unexpected(read.error());
        if (line.unclosed) return line;
      }
    }
    end_word();
    if (!command.empty()) line.commands.push_back(std::move(command));
    return line;
  }

 private:
  char peek(std::size_t ahead) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  tl::unexpected<Error> beyond(std::string_view what) const {
    return fail(ErrorKind::unsupported, file_.path,
                fmt::format("only bash can tell what this does: {}", what), line_);
  }

  static void add(Word& word, char c, bool quoted) {
    if (word.pieces.empty() || word.pieces.back().variable) word.pieces.push_back({false, ""});
    if (quoted) word.all_bare = false;
    if (word.all_bare && word.pieces.size() == 1) ++word.bare;
    word.pieces.back().text += c;
  }

  /// One character, quotation or expansion of a word.
  Result<void> word_part(Word& word, Line& line) {
    const char c = text_[at_];
    switch (c) {
      case '\'':
        return single_quoted(word, line);
      case '"':
        return in_double_quotes(word, line);
      case '$':
        return expansion(word, false);
      case '\\':
        if (++at_ >= text_.size()) return beyond("a backslash at the end of the file");
        if (Result<void> fine = check_byte(); !fine) return fine;
        add(word, text_[at_], true);
        ++at_;
        return {};
      case '`':
      case '&':
      case '|':
      case '(':
      case ')':
      case '<':
      case '>':
      case '~':
      case '\0':
      case '\x01':
      case '\x7f':
        return beyond(fmt::format("'{}'", printable(std::string_view(&text_[at_], 1))));
      default:
        add(word, c, false);
        ++at_;
        return {};
    }
  }

  /// An empty quotation still makes a word.
  static void mark_quoted(Word& word) {
    word.all_bare = false;
    if (word.pieces.empty()) word.pieces.push_back({false, ""});
  }

  Result<void> single_quoted(Word& word, Line& line) {
    mark_quoted(word);
    line.unclosed_at = line_;
    for (++at_; !at_end() && text_[at_] != '\''; ++at_) {
      if (Result<void> fine = check_byte(); !fine) return fine;
      if (text_[at_] == '\n') ++line_;
      add(word, text_[at_], true);
    }
    line.unclosed = at_end();
    ++at_;
    return {};
  }

  Result<void> in_double_quotes(Word& word, Line& line) {
    mark_quoted(word);
    line.unclosed_at = line_;
    for (++at_; !at_end() && text_[at_] != '"';) {
      if (Result<void> fine = check_byte(); !fine) return fine;
      if (Result<void> read = double_quoted_part(word); !read) return read;
    }
    line.unclosed = at_end();
    ++at_;
    return {};
  }

  Result<void> double_quoted_part(Word& word) {
    const char c = text_[at_];
    const char following = peek(1);
    if (c == '`') return beyond("'`'");
    if (c == '$') return expansion(word, true);
    if (c == '\n') ++line_;
    if (c == '\\' && following == '\n') {
      ++line_;
      at_ += 2;
    } else if (c == '\\' && following != '\0' &&
               std::string_view("$`\"\\").find(following) != std::string_view::npos) {
      add(word, following, true);
      at_ += 2;
    } else {
      add(word, c, true);
      ++at_;
    }
    return {};
  }

  /// Bytes that bash drops or uses for itself.
  Result<void> check_byte() const {
    const char c = text_[at_];
    if (c == '\0' || c == '\x01' || c == '\x7f') return beyond("a control character");
    return {};
  }

  Result<void> expansion(Word& word, bool quoted) {
    const bool braces = peek(1) == '{';
    std::size_t end = at_ + (braces ? 2 : 1);
    const std::size_t start = end;
    while (end < text_.size() && is_name_char(text_[end])) ++end;
    const std::string_view name = text_.substr(start, end - start);
    if (!is_name(name)) return lone_dollar(word, quoted);
    if (braces && (end >= text_.size() || text_[end] != '}'))
      return beyond(fmt::format("'${{{}' with more than a name", printable(name)));
    word.all_bare = false;
    word.pieces.push_back({true, std::string(name)});
    at_ = end + (braces ? 1 : 0);
    return {};
  }

  /// A '$' that starts no expansion stands for itself.
  Result<void> lone_dollar(Word& word, bool quoted) {
    const char following = peek(1);
    const bool word_ends = at_ + 1 >= text_.size() || following == ' ' || following == '\t' ||
                           following == '\n' || (!quoted && following == ';') ||
                           (quoted && following == '"');
    if (!word_ends && std::string_view("/.,:%=+").find(following) == std::string_view::npos)
      return beyond("an expansion with '$'");
    add(word, '$', quoted);
    ++at_;
    return {};
  }

  const DracutFile& file_;
  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
};

class Evaluator {
 public:
  Result<DracutEvaluation> run(const std::vector<DracutFile>& files) {
    for (const DracutFile& file : files) {
      if (file.masked) continue;
      if (Result<void> done = source(file); !done) return tl::unexpected(done.error());
    }
    return std::move(result_);
  }

 private:
  Result<void> source(const DracutFile& file) {
    path_ = file.path;
    Lexer lexer(file);
    while (!lexer.at_end()) {
      Result<Lexer::Line> line = lexer.next_line();
      if (!line) return tl::unexpected(line.error());
      if (line->unclosed) {
        note(line->unclosed_at,
             "this quote is never closed: bash reports an error and drops its line and the rest of "
             "the file");
        return {};
      }
      for (const Command& command : line->commands)
        if (Result<void> done = execute(command); !done) return done;
    }
    return {};
  }

  Result<void> execute(const Command& command) {
    std::size_t assignments = 0;
    while (assignments < command.size() && assignment_head(command[assignments])) ++assignments;
    if (assignments < command.size()) return not_a_setting(command, assignments);
    for (const Word& word : command)
      if (Result<void> done = set(word); !done) return done;
    return {};
  }

  tl::unexpected<Error> beyond(int line, std::string_view what) const {
    return preflight::fail(ErrorKind::unsupported, path_,
                           fmt::format("only bash can tell what this does: {}", what), line);
  }

  void note(int line, std::string what) {
    if (result_.notes.size() < note_cap)
      result_.notes.push_back({ErrorKind::malformed, path_, line, std::move(what)});
  }

  /// A command that is no assignment. bash looks for a program of that name; even if there is one,
  /// it changes no variable of dracut's. Assignments before a command's name hold for it alone
  /// (bash(1), "SIMPLE COMMAND EXPANSION").
  Result<void> not_a_setting(const Command& command, std::size_t assignments) {
    const Word& word = command[assignments];
    Result<std::string> name = expand(word, 0);
    if (!name) return tl::unexpected(name.error());
    const bool blank_line_of_crlf = *name == "\r" && command.size() == 1;
    if (blank_line_of_crlf) return {};
    const bool before_equals =
        assignments == 0 && is_name(*name) && command.size() > 1 &&
        (command[1].lead().starts_with("=") || command[1].lead().starts_with("+="));
    if (name->find_first_of("*?[{/") != std::string::npos || is_shell_word(*name) ||
        waits_for_input(*name) || (assignments == 0 && !before_equals && *name != "\r"))
      return beyond(word.line, fmt::format("the command '{}'", printable(*name)));
    if (*name == "yes" && assignments > 0)
      return preflight::fail(
          ErrorKind::malformed, path_,
          "bash takes this for the command 'yes', which never ends: dracut hangs "
          "here (remove the blank after '=')",
          word.line);
    const std::string_view wanted =
        assignments > 0 ? assignment_head(command[0])->name : std::string_view(*name);
    note(command[0].line,
         fmt::format("bash takes this for the command '{}', so {} is not set here (no blanks are "
                     "allowed around '=', and a value with blanks needs quotes)",
                     printable(*name), wanted));
    return {};
  }

  Result<void> set(const Word& word) {
    const AssignmentHead head = *assignment_head(word);
    if (has_side_effects(head.name))
      return beyond(word.line, fmt::format("{} is more than a setting", head.name));
    Result<std::string> value = expand(word, head.value_start);
    if (!value) return tl::unexpected(value.error());
    const std::string name(head.name);
    assign(result_.variables, name, {path_, word.line, head.append, *value, true});
    stored_ += value->size();
    if (result_.variables[name].value.size() > value_cap || stored_ > total_value_cap)
      return beyond(word.line, "a value that grows beyond all reason");
    if (value->ends_with('\r'))
      note(word.line, fmt::format("the value of {} ends in a carriage return (the file was saved "
                                  "with DOS line ends), so dracut does not know it",
                                  name));
    return {};
  }

  Result<std::string> expand(const Word& word, std::size_t skip) const {
    std::string out;
    for (const Piece& piece : word.pieces) {
      if (!piece.variable) {
        out += std::string_view(piece.text).substr(std::exchange(skip, 0));
        continue;
      }
      const auto known = result_.variables.find(piece.text);
      if (known == result_.variables.end() && !is_dracut_setting(piece.text))
        return beyond(word.line, fmt::format("the value of ${}", piece.text));
      if (known != result_.variables.end()) out += known->second.value;
      if (out.size() > value_cap) return beyond(word.line, "a value that grows beyond all reason");
    }
    return out;
  }

  DracutEvaluation result_;
  std::string path_;
  std::size_t stored_ = 0;
};

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n';
}

}  // namespace

void assign(DracutVariables& variables, std::string_view name, Assignment assignment) {
  const auto found = variables.try_emplace(std::string(name)).first;
  DracutVariable& variable = found->second;
  const bool fuses = assignment.append && !variable.value.empty() && !assignment.value.empty() &&
                     !is_blank(variable.value.back()) && !is_blank(assignment.value.front());
  assignment.padded = !fuses;
  if (!assignment.append) variable.value.clear();
  variable.value += assignment.value;
  variable.assignments.push_back(std::move(assignment));
}

bool is_dracut_setting(std::string_view name) {
  constexpr auto names = std::to_array<std::string_view>({
      "acpi_override",
      "acpi_table_dir",
      "add_device",
      "add_dracutmodules",
      "add_drivers",
      "add_fstab",
      "compress",
      "debug",
      "do_prelink",
      "do_strip",
      "dracut_rescue_image",
      "dracutmodules",
      "drivers",
      "drivers_dir",
      "early_microcode",
      "enhanced_cpio",
      "filesystems",
      "force_add_dracutmodules",
      "force_drivers",
      "fscks",
      "fw_dir",
      "hostonly",
      "hostonly_cmdline",
      "hostonly_default_device",
      "hostonly_mode",
      "hostonly_nics",
      "i18n_default_font",
      "i18n_install_all",
      "i18n_vars",
      "install_items",
      "install_optional_items",
      "kernel_cmdline",
      "kernel_image",
      "libdirs",
      "loginstall",
      "lvmconf",
      "machine_id",
      "mdadmconf",
      "no_kernel",
      "nofscks",
      "nvmfconf",
      "omit_dracutmodules",
      "omit_drivers",
      "parallel",
      "persistent_policy",
      "ro_mnt",
      "reproducible",
      "show_modules",
      "squash_compress",
      "sshkey",
      "stdloglvl",
      "sysloglvl",
      "fileloglvl",
      "uefi",
      "uefi_secureboot_cert",
      "uefi_secureboot_key",
      "uefi_splash_image",
      "uefi_stub",
      "use_fstab",
  });
  return std::find(names.begin(), names.end(), name) != names.end();
}

Result<DracutEvaluation> evaluate_dracut_conf(const std::vector<DracutFile>& files) {
  return Evaluator().run(files);
}

std::string double_quoted(std::string_view value) {
  std::string out = "\"";
  for (const char c : value) {
    if (std::string_view("\\$`\"").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace preflight
