// SPDX-License-Identifier: MIT
#include "agent/facts/release.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace preflight {
namespace {

namespace fs = std::filesystem;

class ReleaseTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "release-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
  }
  void TearDown() override { fs::remove_all(base_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories((base_ / path).parent_path());
    std::ofstream(base_ / path, std::ios::binary) << text;
  }
  void link(const std::string& target, const std::string& at) {
    fs::create_directories((base_ / at).parent_path());
    fs::create_symlink(target, base_ / at);
  }
  Guest guest() {
    return Guest{Root::open(base_.string()).value(), base_.string(), false, true, {}};
  }

  fs::path base_;
};

TEST_F(ReleaseTest, EtcComesFirst) {
  write("etc/os-release", "ID=rocky\nVERSION_ID=9.5\n");
  write("usr/lib/os-release", "ID=debian\n");
  EXPECT_EQ(collect_release(guest())->id, "rocky");
  EXPECT_EQ(collect_release(guest())->path, "/etc/os-release");
}

TEST_F(ReleaseTest, UsrLibIsTheFallback) {
  write("usr/lib/os-release", "ID=rocky\n");
  EXPECT_EQ(collect_release(guest())->path, "/usr/lib/os-release");
  link("../usr/lib/os-release", "etc/os-release");
  EXPECT_EQ(collect_release(guest())->path, "/etc/os-release");
}

TEST_F(ReleaseTest, LinksStayInsideTheGuest) {
  link("/etc/os-release-of-the-host", "etc/os-release");
  EXPECT_EQ(collect_release(guest()).error().kind, ErrorKind::missing);
}

TEST_F(ReleaseTest, OtherErrorsAreNotMissing) {
  fs::create_directories(base_ / "etc/os-release");
  write("usr/lib/os-release", "ID=rocky\n");
  EXPECT_EQ(collect_release(guest()).error().kind, ErrorKind::wrong_type);
}

TEST_F(ReleaseTest, AFifoDoesNotHang) {
  fs::create_directories(base_ / "etc");
  ASSERT_EQ(::mkfifo((base_ / "etc/os-release").c_str(), 0600), 0);
  EXPECT_EQ(collect_release(guest()).error().kind, ErrorKind::wrong_type);
}

TEST_F(ReleaseTest, MachineId) {
  EXPECT_EQ(collect_machine_id(guest()).error().kind, ErrorKind::missing);
  write("etc/machine-id", "0123456789abcdef0123456789abcdef\n");
  EXPECT_EQ(collect_machine_id(guest()).value(), "0123456789abcdef0123456789abcdef");
  for (const std::string odd :
       {"", "\n", "uninitialized\n", "abc\n", "0123456789abcdef0123456789abcdeg"}) {
    write("etc/machine-id", odd);
    EXPECT_EQ(collect_machine_id(guest()).error().kind, ErrorKind::malformed) << odd;
  }
}

TEST_F(ReleaseTest, Kernels) {
  write("usr/lib/modules/5.14.0-70.el9.x86_64/modules.builtin",
        "kernel/drivers/nvme/host/nvme-core.ko\n");
  write("usr/lib/modules/5.14.0-70.el9.x86_64/modules.dep",
        "kernel/drivers/nvme/host/nvme.ko.xz: kernel/drivers/nvme/host/nvme-core.ko.xz\n");
  write("usr/lib/modules/5.14.0-503.el9.x86_64/initrd", "x");
  write("usr/lib/modules/README", "no kernel");
  link("usr/lib", "lib");
  const auto kernels = collect_kernels(guest());
  ASSERT_TRUE(kernels);
  ASSERT_EQ(kernels->size(), 2u);
  const Kernel* old = find_kernel(kernels, "5.14.0-70.el9.x86_64");
  ASSERT_NE(old, nullptr);
  EXPECT_EQ(old->directory, "/lib/modules/5.14.0-70.el9.x86_64");
  EXPECT_EQ(old->builtin, (std::set<std::string>{"nvme_core"}));
  EXPECT_EQ(old->modular, (std::set<std::string>{"nvme"}));
  EXPECT_EQ(old->needs.at("nvme"), (std::set<std::string>{"nvme_core"}));
  EXPECT_FALSE(old->premade_initrd);
  const Kernel* fresh = find_kernel(kernels, "5.14.0-503.el9.x86_64");
  ASSERT_NE(fresh, nullptr);
  EXPECT_TRUE(fresh->premade_initrd);
  EXPECT_TRUE(fresh->builtin.empty());
  EXPECT_EQ(find_kernel(kernels, "6.0"), nullptr);
}

TEST_F(ReleaseTest, AnEndlessIndexIsAnError) {
  std::string text;
  for (int i = 0; i < 250001; ++i) text += std::to_string(i) + ".ko:\n";
  write("lib/modules/5.14/modules.dep", text);
  const auto kernels = collect_kernels(guest());
  ASSERT_FALSE(kernels);
  EXPECT_EQ(kernels.error().kind, ErrorKind::too_large);
  EXPECT_EQ(kernels.error().path, "/lib/modules/5.14/modules.dep");
}

TEST_F(ReleaseTest, KernelErrors) {
  EXPECT_EQ(collect_kernels(guest()).error().kind, ErrorKind::missing);
  EXPECT_EQ(find_kernel(collect_kernels(guest()), "5.14"), nullptr);
  fs::create_directories(base_ / "lib/modules/5.14");
  ASSERT_EQ(::mkfifo((base_ / "lib/modules/5.14/modules.builtin").c_str(), 0600), 0);
  EXPECT_EQ(collect_kernels(guest()).error().kind, ErrorKind::wrong_type);
}

TEST_F(ReleaseTest, Caps) {
  write("lib/modules/5.14/modules.dep", "");
  fs::resize_file(base_ / "lib/modules/5.14/modules.dep", (8u << 20) + 1);
  EXPECT_EQ(collect_kernels(guest()).error().kind, ErrorKind::too_large);
  fs::remove(base_ / "lib/modules/5.14/modules.dep");
  for (int i = 0; i < 64; ++i)
    fs::create_directories(base_ / ("lib/modules/6." + std::to_string(i)));
  EXPECT_EQ(collect_kernels(guest()).error().kind, ErrorKind::too_large);
}

}  // namespace
}  // namespace preflight
