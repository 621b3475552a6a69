// SPDX-License-Identifier: MIT
#include "agent/guest/mounts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "agent/facts/storage.h"
#include "agent/guest/block.h"
#include "agent/guest/command.h"
#include "agent/guest/dm.h"

namespace preflight {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view mountinfo =
    "22 27 0:21 / /proc rw,relatime shared:12 - proc proc rw\n"
    "27 1 253:0 / / rw,relatime shared:1 master:2 - xfs /dev/mapper/rl-root rw,attr2\n"
    "30 27 0:45 /home /home rw - btrfs /dev/vdb1 rw,subvol=/home\n"
    "31 27 252:2 / /mnt/my\\040disk rw - ext4 /dev/vda2 rw\n"
    "32 27 253:0 /srv/a /srv/b rw - xfs /dev/mapper/rl-root rw\n"
    "33 27 0:50 / /mnt rw - tmpfs tmpfs rw\n"
    "34 33 252:9 / /mnt rw - ext4 /dev/vda9 rw\n";

TEST(Mounts, Mountinfo) {
  const std::vector<Mount> mounts = parse_mountinfo(mountinfo);
  ASSERT_EQ(mounts.size(), 6u);
  EXPECT_EQ(mounts[1].number, "253:0");
  EXPECT_EQ(mounts[1].mount_point, "/");
  EXPECT_EQ(mounts[1].fstype, "xfs");
  EXPECT_EQ(mounts[1].source, "/dev/mapper/rl-root");
  EXPECT_TRUE(mounts[1].is_whole());
  EXPECT_TRUE(mounts[2].is_whole());  // a btrfs subvolume
  EXPECT_EQ(mounts[3].mount_point, "/mnt/my disk");
  EXPECT_FALSE(mounts[4].is_whole());    // a bind mount
  EXPECT_EQ(mounts[5].number, "252:9");  // the later mount hides the earlier one
}

TEST(Mounts, OddLinesAreLeftOut) {
  EXPECT_THAT(
      parse_mountinfo("\n\nx\n1 2 3:4 / /a rw\n1 2 3:4 / /a rw -\n1 2 3:4 / /a rw - ext4\n"),
      IsEmpty());
  EXPECT_EQ(parse_mountinfo("1 2 3:4 / /a rw - ext4 src").size(), 1u);
}

TEST(Mounts, OctalEscapes) {
  EXPECT_EQ(unescape_octal("a\\040b\\011\\134"), "a b\t\\");
  EXPECT_EQ(unescape_octal("\\04"), "\\04");
  EXPECT_EQ(unescape_octal("\\999\\x41\\"), "\\999\\x41\\");
  EXPECT_EQ(unescape_octal("\\777"), "\\777");
}

TEST(Mounts, Swaps) {
  EXPECT_THAT(parse_swaps("Filename\t\tType\t\tSize\tUsed\tPriority\n"
                          "/dev/dm-1                               partition\t2097148\t0\t-2\n"
                          "/my\\040swap file\t1\t0\t-3\n"),
              ElementsAre("/dev/dm-1", "/my swap"));
  EXPECT_THAT(parse_swaps(""), IsEmpty());
}

TEST(Mounts, UnderATree) {
  const auto mounts = parse_mountinfo(
      "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 253:0 / /mnt/sysroot rw - xfs /dev/dm-0 rw\n"
      "3 2 252:2 / /mnt/sysroot/boot rw - xfs /dev/vda2 rw\n"
      "4 1 252:7 / /mnt/sysroot2 rw - xfs /dev/vda7 rw\n");
  const auto inside = mounts_under(mounts, "/mnt/sysroot");
  ASSERT_EQ(inside.size(), 2u);
  EXPECT_EQ(inside[0].mount_point, "/");
  EXPECT_EQ(inside[0].number, "253:0");
  EXPECT_EQ(inside[1].mount_point, "/boot");
  EXPECT_EQ(mounts_under(mounts, "/mnt/sysroot/").size(), 2u);
  EXPECT_THAT(mounts_under(mounts, "/mnt"), IsEmpty());
  EXPECT_EQ(mounts_under(mounts, "/").size(), 4u);
}

class Directory : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "storage-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
  }
  void TearDown() override { fs::remove_all(base_); }
  void write(const std::string& name, const std::string& text) {
    fs::create_directories((base_ / name).parent_path());
    std::ofstream(base_ / name, std::ios::binary) << text;
  }
  Root root() { return Root::open(base_.string()).value(); }
  Guest guest(bool live) { return Guest{root(), base_.string(), live, false, std::nullopt}; }
  void add_device(const std::string& at, const std::string& number, const std::string& size) {
    write("sys/" + at + "/dev", number + "\n");
    write("sys/" + at + "/size", size + "\n");
    fs::create_directories(base_ / "sys/class/block");
    const std::string name = fs::path(at).filename().string();
    fs::create_symlink("../../" + at, base_ / "sys/class/block" / name);
  }
  fs::path base_;
};

TEST_F(Directory, SysfsDevices) {
  const std::string disk = "devices/pci0000:00/virtio1/block/vda";
  add_device(disk, "252:0", "41943040");
  write("sys/" + disk + "/queue/logical_block_size", "512\n");
  write("sys/" + disk + "/serial", "BHYVE-1234");
  add_device(disk + "/vda3", "252:3", "1000");
  write("sys/" + disk + "/vda3/partition", "3\n");
  add_device("devices/virtual/block/dm-0", "253:0", "800");
  write("sys/devices/virtual/block/dm-0/dm/name", "rl-root\n");
  write("sys/devices/virtual/block/dm-0/dm/uuid", "LVM-" + std::string(64, 'a') + "\n");
  write("sys/devices/virtual/block/dm-0/dm/suspended", "1\n");
  fs::create_directories(base_ / "sys/devices/virtual/block/dm-0/slaves/vda3");
  add_device("devices/virtual/block/loop0", "7:0", "0");
  add_device("devices/virtual/block/ram0", "1:0", "8192");
  write("sys/devices/pci0000:00/nvme/nvme0/serial", "NVME-4-0  \n");
  add_device("devices/pci0000:00/nvme/nvme0/nvme0n1", "259:0", "800");
  fs::create_symlink("../../nvme0", base_ / "sys/devices/pci0000:00/nvme/nvme0/nvme0n1/device");

  const auto devices = list_block_devices(root());
  ASSERT_TRUE(devices);
  ASSERT_EQ(devices->size(), 4u);  // neither the empty loop device nor the RAM disk
  const SysBlock& dm = (*devices)[0];
  EXPECT_EQ(dm.type, "lvm");
  EXPECT_EQ(dm.dm_name, "rl-root");
  EXPECT_TRUE(dm.suspended);
  EXPECT_THAT(dm.slaves, ElementsAre("vda3"));
  EXPECT_EQ((*devices)[1].transport, "nvme");
  EXPECT_EQ((*devices)[1].serial, "NVME-4-0");
  const SysBlock& vda = (*devices)[2];
  EXPECT_EQ(vda.transport, "virtio");
  EXPECT_EQ(vda.serial, "BHYVE-1234");
  EXPECT_EQ(vda.sector_size, 512u);
  EXPECT_EQ(vda.type, "disk");
  const SysBlock& vda3 = (*devices)[3];
  EXPECT_EQ(vda3.type, "part");
  EXPECT_EQ(vda3.disk, "vda");
  EXPECT_EQ(vda3.sector_size, 512u);
  EXPECT_EQ(open_block_device(root(), dm).error().kind, ErrorKind::unsupported);
}

TEST_F(Directory, OnlyTheVeryBlockDeviceIsOpened) {
  write("dev/vda", "no device");
  SysBlock device;
  device.name = "vda";
  device.number = "252:0";
  EXPECT_EQ(open_block_device(root(), device).error().kind, ErrorKind::wrong_type);
  device.name = "vdb";
  EXPECT_EQ(open_block_device(root(), device).error().kind, ErrorKind::missing);
  fs::create_symlink("/dev/null", base_ / "dev/vdc");
  device.name = "vdc";
  EXPECT_FALSE(open_block_device(root(), device));
  ASSERT_EQ(::mkfifo((base_ / "dev/vdd").c_str(), 0600), 0);
  device.name = "vdd";
  EXPECT_EQ(open_block_device(root(), device).error().kind, ErrorKind::wrong_type);
}

TEST_F(Directory, ChrootIntoAPlainDirectoryHasNoDisks) {
  EXPECT_EQ(collect_storage(guest(true)).error().path, "/proc/self/mountinfo");
  write("proc/self/mountinfo", "1 0 0:5 / /proc rw - proc proc rw\n");
  const auto storage = collect_storage(guest(true));
  ASSERT_FALSE(storage);
  EXPECT_EQ(storage.error().kind, ErrorKind::missing);
  EXPECT_EQ(storage.error().path, "/proc/self/mountinfo");
  write("proc/self/mountinfo", "1 0 252:3 / / rw - xfs /dev/vda3 rw\n");
  EXPECT_EQ(collect_storage(guest(true)).error().path, "/sys/class/block");
}

TEST_F(Directory, LiveMounts) {
  add_device("devices/virtio1/block/vda", "252:0", "100");
  add_device("devices/virtio1/block/vda/vda3", "252:3", "100");
  write("sys/devices/virtio1/block/vda/vda3/partition", "3");
  write("proc/self/mountinfo",
        "1 0 252:3 / / rw - xfs /dev/vda3 rw\n2 1 252:3 /x /srv rw - xfs /dev/vda3 rw\n");
  const auto storage = collect_storage(guest(true));
  ASSERT_TRUE(storage) << storage.error().message();
  ASSERT_EQ(storage->devices.size(), 2u);
  EXPECT_EQ(storage->source, "live");
  EXPECT_EQ(storage->mounted_at("/"), 1u);
  EXPECT_THAT(storage->devices[1].mounts, ElementsAre("/", "/srv"));
  EXPECT_THAT(storage->devices[1].parents, ElementsAre(0u));
  EXPECT_EQ(storage->devices[1].probe_error.value().kind, ErrorKind::missing);  // no /dev here
  EXPECT_THAT(storage->disks_under(1), ElementsAre(0u));
}

TEST_F(Directory, ADirectoryBoundToRootIsNotTheRootFileSystem) {
  add_device("devices/virtio1/block/vda", "252:0", "100");
  write("proc/self/mountinfo", "1 0 252:0 /srv/guest / rw - xfs /dev/vda rw\n");
  const auto storage = collect_storage(guest(true));
  ASSERT_TRUE(storage);
  EXPECT_EQ(storage->mounted_at("/"), std::nullopt);
}

TEST_F(Directory, ACopiedTreeHasNoDisks) {
  const auto storage = collect_storage(guest(false));
  ASSERT_FALSE(storage);
  EXPECT_EQ(storage.error().kind, ErrorKind::missing);
  EXPECT_THAT(storage.error().what, HasSubstr("--lsblk"));
}

TEST_F(Directory, AListingOfTheHost) {
  write("lsblk.json", R"({"blockdevices":[{"name":"vda","mountpoint":"/"}]})");
  Guest with = guest(false);
  with.lsblk_file = (base_ / "lsblk.json").string();
  const auto storage = collect_storage(with);
  ASSERT_TRUE(storage) << storage.error().message();
  EXPECT_EQ(storage->source, *with.lsblk_file);
  EXPECT_EQ(storage->mounted_at("/"), 0u);

  with.lsblk_file = (base_ / "none.json").string();
  EXPECT_EQ(collect_storage(with).error().kind, ErrorKind::missing);
  EXPECT_EQ(collect_storage(with).error().path, *with.lsblk_file);
  with.lsblk_file = base_.string();
  EXPECT_EQ(collect_storage(with).error().kind, ErrorKind::wrong_type);
  ASSERT_EQ(::mkfifo((base_ / "fifo").c_str(), 0600), 0);
  with.lsblk_file = (base_ / "fifo").string();
  EXPECT_EQ(collect_storage(with).error().kind, ErrorKind::wrong_type);
  write("big.json", std::string((8u << 20) + 1, ' '));
  with.lsblk_file = (base_ / "big.json").string();
  EXPECT_EQ(collect_storage(with).error().kind, ErrorKind::too_large);
}

class Content : public Directory {
 protected:
  /// A 64 MiB image made by a tool of the system; nullopt when that tool is missing.
  std::optional<Fd> image(std::vector<std::string> argv) {
    if (!fs::exists(argv[0])) return std::nullopt;
    const std::string path = (base_ / "image").string();
    write("image", "");
    fs::resize_file(path, 64u << 20);
    argv.push_back(path);
    Command command;
    command.argv = argv;
    command.environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"};
    const auto output = run(command);
    if (!output || output->exit_status != 0) return std::nullopt;
    return root().open_file("/image").value();
  }
};

TEST_F(Content, FileSystemsAsTheirOwnToolsMakeThem) {
  const std::string uuid = "11111111-1111-4111-8111-111111111111";
  const auto fd = image({"/sbin/mke2fs", "-q", "-F", "-t", "ext4", "-L", "root", "-U", uuid});
  if (!fd) GTEST_SKIP() << "no mke2fs here";
  const auto content = probe_content(fd->get(), "image");
  ASSERT_TRUE(content) << content.error().message();
  EXPECT_EQ(content->fstype, "ext4");
  EXPECT_EQ(content->uuid, uuid);
  EXPECT_EQ(content->label, "root");
}

TEST_F(Content, TwoSignaturesAreNoAnswer) {
  if (!image({"/sbin/mke2fs", "-q", "-F", "-t", "ext4"})) GTEST_SKIP() << "no mke2fs here";
  if (!fs::exists("/sbin/mkswap")) GTEST_SKIP() << "no mkswap here";
  // A swap signature at the end of the first page, without wiping the file system.
  std::fstream file(base_ / "image", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(4086);
  file << "SWAPSPACE2";
  file.seekp(1024);
  file.close();
  const Fd fd = root().open_file("/image").value();
  const auto content = probe_content(fd.get(), "image");
  if (content) {
    EXPECT_EQ(content->fstype, "ext4");  // this libblkid wants more of a swap header than its magic
  } else {
    EXPECT_EQ(content.error().kind, ErrorKind::unsupported);
  }
}

TEST_F(Content, NothingAndTooLittle) {
  write("empty", "");
  write("zeros", std::string(1u << 20, '\0'));
  const Fd zeros = root().open_file("/zeros").value();
  const auto content = probe_content(zeros.get(), "zeros");
  ASSERT_TRUE(content);
  EXPECT_EQ(content->fstype, "");
  const Fd empty = root().open_file("/empty").value();
  EXPECT_NO_FATAL_FAILURE((void)probe_content(empty.get(), "empty"));
  EXPECT_EQ(probe_content(-1, "none").error().kind, ErrorKind::io);
}

TEST_F(Directory, DeviceMapperIsNotAskedWithoutItsControlNode) {
  EXPECT_EQ(ask_device_mapper(root(), "253:0"), std::nullopt);
  const Root host = Root::open("/").value();
  for (const char* number : {"", "x", "253", "253:", ":0", "253:0x", "99999999999:0"})
    EXPECT_FALSE(ask_device_mapper(host, number)) << number;
}

TEST(Live, ThisMachine) {
  Guest guest{Root::open("/").value(), "/", true, false, std::nullopt};
  const auto storage = collect_storage(guest);
  if (!storage) GTEST_SKIP() << storage.error().message();
  Command command;
  command.argv = {"/usr/bin/lsblk", "--json", "--bytes", "--output-all"};
  command.environment = {"PATH=/usr/bin"};
  const auto output = run(command);
  if (!output || output->exit_status != 0) GTEST_SKIP() << "no lsblk here";
  const auto listed = parse_lsblk("lsblk", output->out);
  ASSERT_TRUE(listed);
  for (const BlockDevice& device : storage->devices) {
    for (const BlockDevice& other : listed->devices) {
      if (other.number != device.number) continue;
      EXPECT_EQ(device.name, other.name);
      EXPECT_EQ(device.path, other.path);
      EXPECT_EQ(device.type, other.type);
      EXPECT_EQ(device.sector_size, other.sector_size);
    }
  }
}

}  // namespace
}  // namespace preflight
