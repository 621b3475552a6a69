// SPDX-License-Identifier: MIT
// Odd lvm.conf texts that the LVM tests share.
#pragma once

#include <string>
#include <vector>

namespace preflight {

inline std::vector<std::string> lvm_corpus() {
  using namespace std::string_literals;
  return {
      "",
      "devices {\n\tuse_devicesfile = 1\n}\n",
      "devices {\n\tuse_devicesfile = 0\n}\n",
      "devices {\n\t# use_devicesfile = 1\n}\n",
      "devices {\n#use_devicesfile=1\n}\n",
      "devices {\n\t# use_devicesfile = 0\n\tdir = \"/dev\"\n}\n",
      "global {\n\tuse_devicesfile = 0\n}\ndevices {\n\tdir = \"/dev\"\n}\n",
      "global { umask = 077 }\n",
      "devices { use_devicesfile=1 }",
      "devices { use_devicesfile=1 }\n",
      "devices{use_devicesfile=1}",
      "devices{}",
      "devices {}\n",
      "devices { }\n",
      "devices { # comment }\n}\n",
      "devices { # use_devicesfile = 1\n}\n",
      "devices\n{\n\n}\n",
      "devices/use_devicesfile=1",
      "devices/use_devicesfile = 1\n",
      "/devices/use_devicesfile = 1\n",
      "//devices//use_devicesfile = 1\n",
      "\"devices\" { \"use_devicesfile\" = 1 }\n",
      "'devices' { 'use_devicesfile' = 1 }\n",
      "\"devices/use_devicesfile\" = 1\n",
      "\"dev\\\"ices\" { x = 1 }\n",
      "devices { use_devicesfile = \"1\" }\n",
      "devices { use_devicesfile = \"0\" }\n",
      "devices { use_devicesfile = '0' }\n",
      "devices { use_devicesfile = \"\" }\n",
      "devices { use_devicesfile = \"yes\" }\n",
      "devices { use_devicesfile = Yes }\n",
      "devices { use_devicesfile = on }\n",
      "devices { use_devicesfile=off}\n",
      "devices { use_devicesfile = maybe }\n",
      "devices { use_devicesfile = 2 }\n",
      "devices { use_devicesfile = -1 }\n",
      "devices { use_devicesfile = +1 }\n",
      "devices { use_devicesfile = 1.5 }\n",
      "devices { use_devicesfile = .5 }\n",
      "devices { use_devicesfile = 010 }\n",
      "devices { use_devicesfile = 08 }\n",
      "devices { use_devicesfile = 0x1 }\n",
      "devices { use_devicesfile = 99999999999999999999 }\n",
      "devices { use_devicesfile = [ 1 ] }\n",
      "devices { use_devicesfile = [1] }\n",
      "devices { use_devicesfile = [ 1, ] }\n",
      "devices { use_devicesfile = [ 0, 1 ] }\n",
      "devices { use_devicesfile = [ ] }\n",
      "devices { use_devicesfile = [\n\t1\n] }\n",
      "devices { use_devicesfile = # comment\n\n 1 # more\n}\n",
      "devices { use_devicesfile\n=\n1\n}\n",
      "devices { use_devicesfile = 1; }\n",
      "devices { use_devicesfile = 1\n use_devicesfile = 0 }\n",
      "devices { use_devicesfile = 0\n use_devicesfile = 1 }\n",
      "devices { use_devicesfile = 0 }\ndevices { use_devicesfile = 1 }\n",
      "devices { use_devicesfile = 1 }\ndevices/use_devicesfile = 0\n",
      "devices { dir = \"/dev\" }\ndevices { scan = [ \"/dev\" ] }\n",
      "devices {\r\n\t# use_devicesfile = 1\r\n\tdir = \"/dev\"\r\n}\r\n",
      "devices {\r\n\tuse_devicesfile = 1\r\n}\r\n",
      "global {\r\n\tumask = 077\r\n}\r\n",
      "devices {\n\tfilter = [ \"a|}{|\", 'r|#|' ]\n}\n",
      "devices {\n\tfilter = [\n\t\t\"a|/dev/vda|\",\n\t\t# use_devicesfile = "
      "1\n\t\t\"r|.*|\"\n\t]\n}\n",
      "devices {\n\tfilter = \"a|.*|\" # use_devicesfile = 1\n}\n",
      "devices {\n\tpreferred_names = [ \"line\n# use_devicesfile = 1\nbreak\" ]\n}\n",
      "devices {\n\tfilter = [ \"a|x|\" \"b\" ]\n}\n",
      "devices {\n\tfilter = [ \"a|\\\"quoted\\\"|\", \"a|\\\\|\" ]\n}\n",
      "devices {\n\tsub { use_devicesfile = 1 }\n\tsub/other = 2\n}\n",
      "local/use_devicesfile = 0\n",
      "local { use_devicesfile = 0 }\n",
      "use_devicesfile = 0\n",
      "devices { use_devicesfile { a = 1 } }\n",
      "devices { use_devicesfile = 1 use_devicesfile { a = 1 } }\n",
      "devices = 1\n",
      "devices { a = 1 b = \"2\" c=3 }\n",
      "devices { a=1b=2 }\n",
      "devices { use_devicesfile = \"1\"x=1 }\n",
      "devices/ { use_devicesfile = 1 }\n",
      "/ { devices { use_devicesfile = 1 } }\n",
      "a { b { c { d { e = 1 } } } }\n",
      "tags { hosttags = 1\n @one { host_list = [ \"a\", \"b\" ] } }\ndevices { use_devicesfile = "
      "1 }\n",
      "devices { tags = [ \"one\" ]\n use_devicesfile = 0 }\n",
      "devices { use_devicesfile = 1 }\0 devices { use_devicesfile = 0 }"s,
      "devices { use_devicesfile = 1 }\0}}}"s,
      "\0devices { use_devicesfile = 1 }"s,
      "\xef\xbb\xbf"
      "devices { use_devicesfile = 1 }\n",
      "devices { x = caf\xc3\xa9 use_devicesfile = 1 }\n",
      "devices { x = \"\xff\xfe\" use_devicesfile = 1 }\n",
      "devices { use_devicesfile = 1 }\n# no newline at the end",
      "# only a comment\n",
      "  \n\t\n",
      "\n",
      "devices {",
      "devices { use_devicesfile = 1",
      "}",
      "devices }",
      "devices { } }\n",
      "devices { use_devicesfile = }\n",
      "devices { = 1 }\n",
      "devices { use_devicesfile 1 }\n",
      "devices { x = \"unterminated\n}\n",
      "devices { x = [ 1 2 ] }\n",
      "devices { x = [ , ] }\n",
      "devices { x = [ 1\n",
      "\"\" { x = 1 }\n",
      "\"",
      "'",
      "= 1",
      "[ 1 ]",
      "devices { use_devicesfile = 1 /* no comment */ }\n",
      "// devices\ndevices { use_devicesfile = 1 }\n",
      "devices\v{\fuse_devicesfile\v=\f1\v}\n",
  };
}

/// As EL 9.2 and later ship it, cut to a few settings.
inline constexpr const char* el9_lvm_conf =
    "# This is an example configuration file for the LVM2 system.\n"
    "\n"
    "config {\n"
    "\n"
    "\t# Configuration option config/checks.\n"
    "\tchecks = 1\n"
    "}\n"
    "\n"
    "devices {\n"
    "\n"
    "\t# Configuration option devices/dir.\n"
    "\tdir = \"/dev\"\n"
    "\n"
    "\t# Configuration option devices/use_devicesfile.\n"
    "\t# Enable or disable the use of a devices file.\n"
    "\t# This configuration option has an automatic default value.\n"
    "\t# use_devicesfile = 1\n"
    "\n"
    "\t# Configuration option devices/devicesfile.\n"
    "\t# devicesfile = \"system.devices\"\n"
    "\tscan = [ \"/dev\" ]\n"
    "}\n"
    "\n"
    "global {\n"
    "\tumask = 077\n"
    "}\n";

}  // namespace preflight
