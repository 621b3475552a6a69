// SPDX-License-Identifier: MIT
#include "agent/facts/boot_default_kernel.h"

#include <gtest/gtest.h>

#include <string>

namespace preflight {
namespace {

BootEntry entry(const std::string& id, const std::string& kernel) {
  BootEntry made;
  made.id = id;
  made.kernel = kernel;
  return made;
}

BootMenu menu_of_three() {
  BootMenu menu;
  menu.entries = {entry("new", "6.2"), entry("old", "6.1"), entry("rescue", "6.1")};
  menu.entries[0].is_default = true;
  menu.entries[2].rescue = true;
  menu.default_index = 0;
  return menu;
}

TEST(DefaultKernel, ItsEntriesAndNoOthersAreTheDefault) {
  const Result<BootMenu> menu = with_default_kernel(menu_of_three(), "6.1");
  ASSERT_TRUE(menu);
  EXPECT_EQ(menu->default_index, 1u);
  EXPECT_FALSE(menu->entries[0].is_default);
  EXPECT_TRUE(menu->entries[1].is_default);
  EXPECT_FALSE(menu->entries[2].is_default) << "a rescue entry is none of the kernel's";
}

TEST(DefaultKernel, TheDefaultItselfStays) {
  const Result<BootMenu> menu = with_default_kernel(menu_of_three(), "6.2");
  ASSERT_TRUE(menu);
  EXPECT_EQ(menu->default_index, 0u);
  EXPECT_TRUE(menu->entries[0].is_default);
}

TEST(DefaultKernel, AKernelThatNothingBootsIsAnErrorAndNeverAPass) {
  const Result<BootMenu> menu = with_default_kernel(menu_of_three(), "6.3");
  ASSERT_FALSE(menu);
  EXPECT_EQ(menu.error().kind, ErrorKind::missing);
}

}  // namespace
}  // namespace preflight
