// SPDX-License-Identifier: MIT
#include "agent/transaction/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace preflight {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* version = "5.14.0-500.el9.x86_64";
const std::string modules = std::string("usr/lib/modules/") + version + '/';
constexpr const char* nvme = "kernel/drivers/nvme/host/nvme.ko.xz";
constexpr const char* nvme_core = "kernel/drivers/nvme/host/nvme-core.ko.xz";
constexpr const char* virtio_blk = "kernel/drivers/block/virtio_blk.ko.xz";
constexpr const char* xfs = "kernel/fs/xfs/xfs.ko.xz";

void add(Image& image, const std::string& name, const std::string& content = "x") {
  for (std::size_t slash = name.find('/'); slash != std::string::npos;
       slash = name.find('/', slash + 1))
    image.files[name.substr(0, slash)].mode = S_IFDIR | 0755;
  ImageFile file;
  file.mode = S_IFREG | 0644;
  file.size = content.size();
  file.content = content;
  image.files[name] = file;
}

/// A file whose content was not kept.
void add_unread(Image& image, const std::string& name) {
  add(image, name);
  image.files[name].content.reset();
}

/// An image with these modules, its indexes for nvme and virtio_blk as text.
Image image(const std::vector<std::string>& paths) {
  Image image;
  for (const std::string& path : paths) add(image, modules + path);
  std::string dep = std::string(nvme) + ": " + nvme_core + "\n" + nvme_core + ":\n";
  for (const std::string& path : paths)
    if (path != nvme && path != nvme_core) dep += path + ":\n";
  add(image, modules + "modules.dep", dep);
  add_unread(image, modules + "modules.dep.bin");
  add(image, modules + "modules.alias", "alias pci:v*d*sv*sd*bc01sc08i02* nvme\n");
  add_unread(image, modules + "modules.alias.bin");
  add(image, "usr/lib/dracut/modules.txt", "systemd\nlvm\nplymouth\n");
  return image;
}

Kernel kernel() {
  Kernel kernel;
  kernel.version = version;
  kernel.modular = {"nvme", "nvme_core", "virtio_blk", "xfs", "floppy", "dm_mod"};
  return kernel;
}

std::vector<std::string> verify(const Image* old, const Image& fresh) {
  return verify_new_image(old, fresh, kernel());
}

TEST(VerifyNewImageTest, AWholeImageMayTakeThePlace) {
  const Image fresh = image({nvme, nvme_core, virtio_blk, xfs});
  EXPECT_THAT(verify(nullptr, fresh), IsEmpty());
  const Image old = image({virtio_blk, xfs});
  EXPECT_THAT(verify(&old, fresh), IsEmpty());
}

TEST(VerifyNewImageTest, TheDriverNeedsItsClosureAndItsAlias) {
  EXPECT_THAT(verify(nullptr, image({nvme})), ElementsAre(HasSubstr("nvme-core.ko.xz")));
  EXPECT_THAT(verify(nullptr, image({nvme_core})), ElementsAre(HasSubstr("nvme.ko.xz")));
  Image no_alias = image({nvme, nvme_core});
  add(no_alias, modules + "modules.alias", "alias nvme-of nvme\n");
  EXPECT_THAT(verify(nullptr, no_alias), ElementsAre(HasSubstr("alias index")));
  EXPECT_THAT(verify(nullptr, Image{}), testing::SizeIs(1));
}

TEST(VerifyNewImageTest, ABuiltInDriverNeedsNothing) {
  Kernel builtin = kernel();
  builtin.builtin = {"nvme", "nvme_core"};
  EXPECT_THAT(verify_new_image(nullptr, image({xfs}), builtin), IsEmpty());
}

TEST(VerifyNewImageTest, DamageAndHiddenPartsAreNeverGoodEnough) {
  Image fresh = image({nvme, nvme_core});
  fresh.opaque_parts = {"squashfs-root.img"};
  EXPECT_THAT(verify(nullptr, fresh), testing::SizeIs(1));
  fresh.opaque_parts.clear();
  fresh.damage = Error{ErrorKind::malformed, "/i", 0, "cut"};
  EXPECT_THAT(verify(nullptr, fresh), ElementsAre(HasSubstr("cut")));
}

TEST(VerifyNewImageTest, TheWayBackAndTheRootsModulesMustStay) {
  const Image old = image({virtio_blk, xfs, "kernel/drivers/md/dm-mod.ko.xz"});
  const std::vector<std::string> faults = verify(&old, image({nvme, nvme_core}));
  ASSERT_THAT(faults, testing::SizeIs(2));
  EXPECT_THAT(faults[0], HasSubstr("way back"));
  EXPECT_THAT(faults[1], HasSubstr("dm_mod, virtio_blk, xfs"));
}

TEST(VerifyNewImageTest, WhatTheRootNeedsMustLoadWhateverTheOldImageHad) {
  const Image fresh = image({nvme, nvme_core});
  EXPECT_THAT(verify_new_image(nullptr, fresh, kernel(), {"xfs", "dm_mod", "btrfs"}),
              ElementsAre(HasSubstr("xfs, which the root"), HasSubstr("dm_mod, which the root")));
  Kernel builtin = kernel();
  builtin.builtin = {"xfs", "dm_mod"};
  EXPECT_THAT(verify_new_image(nullptr, fresh, builtin, {"xfs", "dm_mod"}), IsEmpty());
}

TEST(ModulesOfRootTest, AreTheFileSystemsAndTheDeviceMappers) {
  EXPECT_THAT(modules_of_root(fail(ErrorKind::missing, "", "")), IsEmpty());
  const auto of = [](const std::string& type) {
    return modules_of_root(parse_lsblk(
        "lsblk", R"({"blockdevices":[{"name":"vda3","path":"/dev/vda3","type":"part","children":[)"
                 R"({"name":"r","path":"/dev/mapper/r","kname":"dm-0","type":")" +
                     type + R"(","fstype":"xfs","mountpoints":["/"]}]}]})"));
  };
  EXPECT_THAT(of("part"), ElementsAre("xfs"));
  EXPECT_THAT(of("lvm"), ElementsAre("xfs", "dm_mod"));
  EXPECT_THAT(of("crypt"), ElementsAre("xfs", "dm_mod", "dm_crypt"));
}

TEST(VerifyNewImageTest, OtherHardwareAndWhatTheKernelNoLongerHasMayGo) {
  const Image old = image({"kernel/drivers/block/floppy.ko.xz",
                           "kernel/drivers/gpu/drm/bochs.ko.xz", "kernel/fs/gone/gone.ko.xz"});
  EXPECT_THAT(verify(&old, image({nvme, nvme_core})), IsEmpty());
}

TEST(VerifyNewImageTest, DracutModulesAndFilesOfTheRootMustStay) {
  Image old = image({});
  add(old, "usr/sbin/lvm");
  add(old, "etc/crypttab", "root UUID=1 none\n");
  add(old, "etc/systemd/system/unlock.service");
  Image fresh = image({nvme, nvme_core});
  add(fresh, "usr/lib/dracut/modules.txt", "systemd\n");
  EXPECT_THAT(
      verify(&old, fresh),
      ElementsAre(HasSubstr("dracut modules of the old image missing: lvm"),
                  HasSubstr("etc/crypttab, etc/systemd/system/unlock.service, usr/sbin/lvm")));
  add(old, "etc/crypttab", "");
  add(fresh, "usr/sbin/lvm");
  add(fresh, "etc/systemd/system/unlock.service");
  add(fresh, "usr/lib/dracut/modules.txt", "lvm\n");
  EXPECT_THAT(verify(&old, fresh), ElementsAre(HasSubstr("systemd")));
}

}  // namespace
}  // namespace preflight
