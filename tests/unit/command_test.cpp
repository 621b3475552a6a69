// SPDX-License-Identifier: MIT
#include "agent/guest/command.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "agent/guest/descendants.h"

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

TEST(RunTest, KeepsTheEndOfALongOutput) {
  Command command = shell("head -c 100000 /dev/zero; echo the end");
  command.output_cap = 1000;
  command.keep = Keep::end;
  auto output = run(command);
  ASSERT_TRUE(output);
  EXPECT_TRUE(output->cut);
  EXPECT_EQ(output->out.size(), 1000u);
  EXPECT_TRUE(output->out.ends_with("the end\n"));
}

TEST(RunTest, DoesNotWaitForWhoeverHoldsTheOutput) {
  Command command = shell("sleep 1000 & echo $!; exit 4");
  command.timeout = std::chrono::seconds(500);
  auto output = run(command);
  ASSERT_TRUE(output);
  EXPECT_FALSE(output->timed_out);
  EXPECT_EQ(output->exit_status, 4);
  const pid_t left = std::stoi(output->out);
  for (int i = 0; i < 500 && ::kill(left, 0) == 0; ++i) ::usleep(10000);
  EXPECT_NE(::kill(left, 0), 0);
}

TEST(RunTest, AProgramDiesOfABrokenPipe) {
  Command command = shell("sh -c 'kill -PIPE $$'; echo $?");
  auto output = run(command);
  ASSERT_TRUE(output);
  EXPECT_EQ(output->out, "141\n");
}

TEST(DescendantsTest, AreKilledEvenInASessionOfTheirOwn) {
  Result<CommandOutput> output = fail(ErrorKind::missing, "", "not run");
  {
    const Descendants descendants;
    output =
        run(shell("f=$(mktemp); setsid sh -c 'sleep 1000 & echo $! >'\"$f\"'; wait' & "
                  "while [ ! -s \"$f\" ]; do sleep 0.05; done; cat \"$f\"; rm \"$f\""));
    ASSERT_TRUE(output);
    ASSERT_FALSE(output->out.empty());
    EXPECT_EQ(::kill(std::stoi(output->out), 0), 0);
  }
  // Killed is not yet gone.
  const pid_t left = std::stoi(output->out);
  for (int i = 0; i < 500 && ::kill(left, 0) == 0; ++i) ::usleep(10000);
  EXPECT_NE(::kill(left, 0), 0);
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
