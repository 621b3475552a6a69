// SPDX-License-Identifier: MIT
#include "agent/guest/command.h"

#include <gtest/gtest.h>

namespace preflight {
namespace {

Command shell(const std::string& script) {
  Command command;
  command.argv = {"/bin/sh", "-c", script};
  return command;
}

TEST(RunTest, GivesOutputErrorsAndStatus) {
  auto output = run(shell("echo out; echo err >&2; exit 3"));
  ASSERT_TRUE(output);
  EXPECT_EQ(output->out, "out\n");
  EXPECT_EQ(output->err, "err\n");
  EXPECT_EQ(output->exit_status, 3);
}

TEST(RunTest, FeedsInputAndInheritsNothing) {
  Command command = shell("cat; echo ${HOME:-none}");
  command.input = std::string(300000, 'x');
  auto output = run(command);
  ASSERT_TRUE(output);
  EXPECT_EQ(output->out, std::string(300000, 'x') + "none\n");
}

TEST(RunTest, EndsTheWholeGroupWhenTimeIsUp) {
  Command command = shell("sleep 100 & sleep 100");
  command.timeout = std::chrono::seconds(1);
  auto output = run(command);
  ASSERT_TRUE(output);
  EXPECT_TRUE(output->timed_out);
  EXPECT_NE(output->exit_status, 0);
}

TEST(RunTest, CapsOutput) {
  Command command = shell("head -c 100000 /dev/zero");
  command.output_cap = 1000;
  auto output = run(command);
  ASSERT_TRUE(output);
  EXPECT_TRUE(output->cut);
  EXPECT_EQ(output->out.size(), 1000u);
}

TEST(RunTest, NamesAMissingProgram) {
  Command command;
  command.argv = {"/no/such/program"};
  auto output = run(command);
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().kind, ErrorKind::missing);
}

}  // namespace
}  // namespace preflight
