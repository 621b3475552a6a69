// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "agent/facts/boot.h"
#include "agent/facts/boot_default.h"
#include "agent/formats/cmdline.h"

namespace preflight {
namespace {

namespace fs = std::filesystem;

const std::string mid = "0123456789abcdef0123456789abcdef";
const std::string k70 = "5.14.0-70.el9.x86_64";
const std::string k503 = "5.14.0-503.el9.x86_64";

/// The parts of EL 9's grub.cfg that matter here.
const std::string el9_grub_cfg = R"(set pager=1
if [ -f ${config_directory}/grubenv ]; then
  load_env -f ${config_directory}/grubenv
elif [ -s $prefix/grubenv ]; then
  load_env
fi
if [ "${next_entry}" ] ; then
   set default="${next_entry}"
   set next_entry=
   save_env next_entry
   set boot_once=true
else
   set default="${saved_entry}"
fi
if [ "${prev_saved_entry}" ]; then
  set saved_entry="${prev_saved_entry}"
  save_env saved_entry
  set prev_saved_entry=
  save_env prev_saved_entry
  set boot_once=true
fi
function savedefault {
  if [ -z "${boot_once}" ]; then
    saved_entry="${chosen}"
    save_env saved_entry
  fi
}
insmod increment
if [ -n "${boot_counter}" -a "${boot_success}" = "0" ]; then
  if  [ "${boot_counter}" = "0" -o "${boot_counter}" = "-1" ]; then
    set default=1
    set boot_counter=-1
  else
    decrement boot_counter
  fi
  save_env boot_counter
fi
if [ -z "${kernelopts}" ]; then
  set kernelopts="root=/dev/mapper/rl-root ro fallback "
fi
insmod blscfg
blscfg
if [ "$grub_platform" = "efi" ]; then
  menuentry 'UEFI Firmware Settings' $menuentry_id_option 'uefi-firmware' {
    fwsetup
  }
fi
)";

class BootMenuTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "boot-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
    write("etc/os-release", "ID=rocky\nVERSION_ID=9.5\n");
  }
  void TearDown() override { fs::remove_all(base_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories((base_ / path).parent_path());
    std::ofstream(base_ / path, std::ios::binary) << text;
  }
  void grubenv(const std::string& lines, const std::string& at = "boot/grub2/grubenv") {
    std::string text = "# GRUB Environment Block\n" + lines;
    text.resize(1024, '#');
    write(at, text);
  }
  void entry(const std::string& id, const std::string& text) {
    write("boot/loader/entries/" + id + ".conf", text);
  }
  /// An entry with its files in a /boot of its own.
  void kernel(const std::string& version, const std::string& owner = mid) {
    entry(owner + "-" + version, "title Rocky Linux (" + version + ")\nversion " + version +
                                     "\nlinux /vmlinuz-" + version + "\ninitrd /initramfs-" +
                                     version + ".img\noptions root=/dev/mapper/rl-root ro\n");
    write("boot/vmlinuz-" + version, "kernel");
    write("boot/initramfs-" + version + ".img", "image");
  }
  Guest guest() {
    return Guest{Root::open(base_.string()).value(), base_.string(), false, true, {}};
  }
  BootMenu menu() { return collect_boot_menu(guest(), mid).value(); }
  std::string default_id() {
    const BootMenu found = menu();
    return found.default_index ? found.entries[*found.default_index].id
                               : "undetermined: " + found.default_reason;
  }
  static std::string notes(const BootMenu& menu) {
    std::string out;
    for (const Error& note : menu.notes) out += note.message() + "\n";
    return out;
  }

  fs::path base_;
};

using testing::Test;

TEST_F(BootMenuTest, AnEntry) {
  kernel(k503);
  grubenv("saved_entry=" + mid + "-" + k503 + "\n");
  write("boot/grub2/grub.cfg", el9_grub_cfg);
  const BootMenu found = menu();
  ASSERT_EQ(found.entries.size(), 1u);
  const BootEntry& entry = found.entries[0];
  EXPECT_EQ(entry.id, mid + "-" + k503);
  EXPECT_EQ(entry.path, "/boot/loader/entries/" + mid + "-" + k503 + ".conf");
  EXPECT_EQ(entry.title, "Rocky Linux (" + k503 + ")");
  EXPECT_EQ(entry.kernel, k503);
  EXPECT_EQ(entry.linux_path, "/boot/vmlinuz-" + k503);
  EXPECT_EQ(entry.initrds, (std::vector<std::string>{"/boot/initramfs-" + k503 + ".img"}));
  EXPECT_EQ(entry.image_key(), "/boot/initramfs-" + k503 + ".img");
  EXPECT_EQ(entry.options, "root=/dev/mapper/rl-root ro");
  EXPECT_EQ(entry.options_path, entry.path);
  EXPECT_EQ(entry.options_line, 5);
  EXPECT_TRUE(entry.is_default);
  EXPECT_FALSE(entry.rescue);
  EXPECT_FALSE(entry.kernel_error);
  EXPECT_TRUE(entry.initrd_errors.empty());
  EXPECT_EQ(found.default_index, 0u);
  EXPECT_EQ(found.default_path, "/boot/grub2/grubenv");
  EXPECT_EQ(notes(found), "");
}

TEST_F(BootMenuTest, NewestFirstRescueLast) {
  kernel(k70);
  kernel(k503);
  entry(mid + "-0-rescue", "title R\nversion 0-rescue-" + mid + "\nlinux /vmlinuz-0-rescue-" + mid +
                               "\ninitrd /initramfs-0-rescue-" + mid + ".img\noptions ro\n");
  const BootMenu found = menu();
  ASSERT_EQ(found.entries.size(), 3u);
  EXPECT_EQ(found.entries[0].kernel, k503);
  EXPECT_EQ(found.entries[1].kernel, k70);
  EXPECT_TRUE(found.entries[2].rescue);
  EXPECT_EQ(found.default_index, 0u);
}

TEST_F(BootMenuTest, TheReleaseComesFromTheImage) {
  entry(mid + "-0-rescue", "linux /vmlinuz-0-rescue-" + mid + "\noptions ro\n");
  std::string image(0x400, '\0');
  image[0x1f1] = 8;
  image.replace(0x1fe, 2, "\x55\xaa");
  image.replace(0x202, 4, "HdrS");
  image[0x20f] = 2;
  write("boot/vmlinuz-0-rescue-" + mid, image + k70 + " (build) #1");
  EXPECT_EQ(menu().entries[0].kernel, k70);
  EXPECT_TRUE(menu().entries[0].rescue);
  EXPECT_TRUE(menu().entries[0].initrds.empty());
  EXPECT_EQ(menu().entries[0].image_key(), "");
}

TEST_F(BootMenuTest, TheReleaseComesFromTheVersionWhenTheNameHasNone) {
  entry("a", "version 5.1\nlinux /bzImage\n");
  write("boot/bzImage", "kernel");
  EXPECT_EQ(menu().entries[0].kernel, "5.1");
}

TEST_F(BootMenuTest, SavedEntryById) {
  kernel(k70);
  kernel(k503);
  grubenv("saved_entry=" + mid + "-" + k70 + "\n");
  EXPECT_EQ(default_id(), mid + "-" + k70);
}

TEST_F(BootMenuTest, SavedEntryByTitle) {
  kernel(k70);
  kernel(k503);
  grubenv("saved_entry=Rocky Linux (" + k70 + ")\n");
  EXPECT_EQ(default_id(), mid + "-" + k70);
}

TEST_F(BootMenuTest, SavedEntryByNumber) {
  kernel(k70);
  kernel(k503);
  for (const auto& [text, version] :
       std::map<std::string, std::string>{{"0", k503},
                                          {"1", k70},
                                          {"0x1", k70},
                                          {"01", k70},
                                          {"2", k503},
                                          {"-1", k503},
                                          {"1 ", k503},
                                          {"1x", k503},
                                          {"99999999999999999999999", k503}}) {
    grubenv("saved_entry=" + text + "\n");
    EXPECT_EQ(default_id(), mid + "-" + version) << text;
  }
}

TEST_F(BootMenuTest, SavedEntryThatIsGone) {
  kernel(k70);
  kernel(k503);
  grubenv("saved_entry=" + mid + "-5.14.0-1.el9.x86_64\n");
  EXPECT_EQ(default_id(), mid + "-" + k503);
  EXPECT_NE(menu().default_reason.find("not in the menu"), std::string::npos);
}

TEST_F(BootMenuTest, NoGrubenvIsTheFirst) {
  kernel(k70);
  kernel(k503);
  EXPECT_EQ(default_id(), mid + "-" + k503);
  grubenv("saved_entry=\n");
  EXPECT_EQ(default_id(), mid + "-" + k503);
  write("boot/grub2/grubenv", "saved_entry=" + mid + "-" + k70 + "\n");  // no signature
  EXPECT_EQ(default_id(), mid + "-" + k503);
  EXPECT_NE(menu().default_reason.find("loads nothing"), std::string::npos);
}

TEST_F(BootMenuTest, UnreadableGrubenvIsUndetermined) {
  kernel(k503);
  fs::create_directories(base_ / "boot/grub2/grubenv");
  EXPECT_FALSE(menu().default_index);
  EXPECT_FALSE(menu().entries[0].is_default);
  fs::remove(base_ / "boot/grub2/grubenv");
  fs::create_symlink("../efi/EFI/rocky/grubenv", base_ / "boot/grub2/grubenv");
  EXPECT_FALSE(menu().default_index);
  EXPECT_NE(menu().default_reason.find("EFI system partition"), std::string::npos);
  grubenv("saved_entry=" + mid + "-" + k503 + "\n", "boot/efi/EFI/rocky/grubenv");
  EXPECT_EQ(menu().default_index, 0u);
}

TEST_F(BootMenuTest, NextEntryIsForOneBoot) {
  kernel(k70);
  kernel(k503);
  write("boot/grub2/grub.cfg", el9_grub_cfg);
  grubenv("saved_entry=" + mid + "-" + k503 + "\nnext_entry=" + mid + "-" + k70 + "\n");
  const BootMenu found = menu();
  EXPECT_EQ(found.default_index, 1u);
  EXPECT_TRUE(found.entries[0].is_default);
  EXPECT_TRUE(found.entries[1].is_default);
  grubenv("saved_entry=" + mid + "-" + k503 + "\nnext_entry=\n");
  EXPECT_EQ(menu().default_index, 0u);
  EXPECT_FALSE(menu().entries[1].is_default);
}

TEST_F(BootMenuTest, PrevSavedEntryComesAfterThisBoot) {
  kernel(k70);
  kernel(k503);
  write("boot/grub2/grub.cfg", el9_grub_cfg);
  grubenv("saved_entry=" + mid + "-" + k70 + "\nprev_saved_entry=" + mid + "-" + k503 + "\n");
  const BootMenu found = menu();
  EXPECT_EQ(found.default_index, 1u);
  EXPECT_TRUE(found.entries[0].is_default);
}

TEST_F(BootMenuTest, BootCounterThatRanOut) {
  kernel(k70);
  kernel(k503);
  write("boot/grub2/grub.cfg", el9_grub_cfg);
  grubenv("saved_entry=" + mid + "-" + k503 + "\nboot_counter=0\nboot_success=0\n");
  EXPECT_EQ(default_id(), mid + "-" + k70);
  grubenv("saved_entry=" + mid + "-" + k503 + "\nboot_counter=0\nboot_success=1\n");
  EXPECT_EQ(default_id(), mid + "-" + k503);
  grubenv("saved_entry=" + mid + "-" + k503 + "\nboot_success=0\n");
  EXPECT_EQ(default_id(), mid + "-" + k503);
}

TEST_F(BootMenuTest, ALiteralDefaultInGrubCfg) {
  kernel(k70);
  kernel(k503);
  grubenv("saved_entry=" + mid + "-" + k70 + "\n");
  std::string text = el9_grub_cfg;
  text.replace(text.find("\"${saved_entry}\""), 16, "\"0\"");
  write("boot/grub2/grub.cfg", text);
  EXPECT_EQ(default_id(), mid + "-" + k503);
  EXPECT_NE(menu().default_reason.find("/boot/grub2/grub.cfg:13"), std::string::npos);
}

TEST_F(BootMenuTest, MenuEntriesInsteadOfBls) {
  kernel(k503);
  write("boot/grub2/grub.cfg",
        "set default=\"${saved_entry}\"\nmenuentry 'Rocky' --id rocky {\n linux /vmlinuz\n}\n");
  EXPECT_FALSE(menu().default_index);
  EXPECT_NE(menu().default_reason.find("blscfg"), std::string::npos);
}

TEST_F(BootMenuTest, EntriesOfGrubCfgCountInTheMenu) {
  kernel(k503);
  write("boot/grub2/grub.cfg",
        "set default=\"${saved_entry}\"\nmenuentry 'Memtest' { x }\nblscfg\n");
  grubenv("saved_entry=1\n");
  EXPECT_EQ(default_id(), mid + "-" + k503);
  grubenv("saved_entry=0\n");
  EXPECT_FALSE(menu().default_index);
  grubenv("saved_entry=" + mid + "-" + k503 + "\n");
  EXPECT_EQ(default_id(), mid + "-" + k503);
  write("boot/grub2/grub.cfg", el9_grub_cfg);
  grubenv("saved_entry=uefi-firmware\n");
  EXPECT_FALSE(menu().default_index);
}

TEST_F(BootMenuTest, CustomCfgMayDecide) {
  kernel(k70);
  kernel(k503);
  write("boot/grub2/grub.cfg", el9_grub_cfg);
  write("boot/grub2/custom.cfg", "set default=1\n");
  EXPECT_EQ(default_id(), mid + "-" + k70);
  write("boot/grub2/custom.cfg", "if something; then set default=1; fi\n");
  EXPECT_FALSE(menu().default_index);
}

TEST_F(BootMenuTest, AFullGrubCfgOnTheEspHasAGrubenvOfItsOwn) {
  kernel(k70);
  kernel(k503);
  grubenv("saved_entry=" + mid + "-" + k70 + "\n");
  write("boot/efi/EFI/rocky/grub.cfg", el9_grub_cfg);
  EXPECT_EQ(default_id(), mid + "-" + k503);  // grub2-mkconfig -o to the ESP on EL 9
  write("boot/grub2/grub.cfg", el9_grub_cfg);
  EXPECT_FALSE(menu().default_index);
  EXPECT_NE(menu().default_reason.find("disagree"), std::string::npos);
  write("boot/efi/EFI/rocky/grub.cfg", "set prefix=($dev)/grub2\nconfigfile $prefix/grub.cfg\n");
  EXPECT_EQ(default_id(), mid + "-" + k70);
}

TEST_F(BootMenuTest, AStaleEntryOfAnotherMachineSortsFirst) {
  kernel(k503);
  kernel(k70, std::string(32, '9'));
  fs::remove(base_ / ("boot/vmlinuz-" + k70));
  const BootMenu found = menu();
  EXPECT_EQ(found.entries[0].kernel, k70);
  EXPECT_TRUE(found.entries[0].is_default);
  EXPECT_EQ(found.entries[0].kernel_error->kind, ErrorKind::missing);
  EXPECT_NE(notes(found).find("another machine id"), std::string::npos);
  write("etc/os-release", "ID=rocky\nVERSION_ID=8.10\n");
  EXPECT_EQ(menu().entries[0].kernel, k503);  // EL 8 sorts by version
}

TEST_F(BootMenuTest, KerneloptsFromGrubenv) {
  write("etc/os-release", "ID=rocky\nVERSION_ID=8.10\n");
  kernel(k503);
  entry(mid + "-" + k503, "linux /vmlinuz-" + k503 + "\noptions $kernelopts $tuned_params\n");
  grubenv("saved_entry=x\nkernelopts=root=/dev/vda3 ro\n");
  BootEntry found = menu().entries[0];
  EXPECT_EQ(found.options, "root=/dev/vda3 ro ");
  EXPECT_EQ(found.options_path, "/boot/grub2/grubenv");
  EXPECT_EQ(found.options_line, 3);
  grubenv("saved_entry=x\n");
  write("boot/grub2/grub.cfg", el9_grub_cfg);
  found = menu().entries[0];
  EXPECT_EQ(found.options, "root=/dev/mapper/rl-root ro fallback  ");
  EXPECT_EQ(found.options_path, "/boot/grub2/grub.cfg");
}

TEST_F(BootMenuTest, DefaultKerneloptsServeAnEntryWithoutOptions) {
  kernel(k503);
  entry(mid + "-" + k503, "linux /vmlinuz-" + k503 + "\n");
  grubenv("default_kernelopts=root=/dev/vda3 ro\n");
  EXPECT_EQ(menu().entries[0].options, "root=/dev/vda3 ro");
  EXPECT_EQ(menu().entries[0].options_path, "/boot/grub2/grubenv");
}

TEST_F(BootMenuTest, SeveralInitrds) {
  kernel(k503);
  write("boot/early.img", "x");
  write("boot/extra.img", "x");
  entry(mid + "-" + k503, "linux /vmlinuz-" + k503 + "\ninitrd /initramfs-" + k503 +
                              ".img $tuned_initrd\ninitrd /extra.img\noptions ro\n");
  grubenv("early_initrd=early.img\ntuned_initrd=/tuned.img\n");
  const BootEntry found = menu().entries[0];
  EXPECT_EQ(found.initrds,
            (std::vector<std::string>{"/boot/early.img", "/boot/initramfs-" + k503 + ".img",
                                      "/boot/tuned.img", "/boot/extra.img"}));
  ASSERT_EQ(found.initrd_errors.size(), 1u);
  EXPECT_EQ(found.initrd_errors.begin()->first, "/boot/tuned.img");
  grubenv("early_initrd=early.img\n");
  EXPECT_EQ(menu().entries[0].image_key(),
            "/boot/early.img\n/boot/initramfs-" + k503 + ".img\n/boot/extra.img");
}

TEST_F(BootMenuTest, PathsBelowASharedRoot) {
  entry("a", "linux /boot/vmlinuz-1\ninitrd /boot/initramfs-1.img\noptions ro\n");
  EXPECT_EQ(menu().entries[0].linux_path, "/boot/boot/vmlinuz-1");
  write("boot/vmlinuz-1", "kernel");
  write("boot/initramfs-1.img", "image");
  EXPECT_EQ(menu().entries[0].linux_path, "/boot/vmlinuz-1");
  EXPECT_EQ(menu().entries[0].initrds[0], "/boot/initramfs-1.img");
  EXPECT_FALSE(menu().entries[0].kernel_error);
}

TEST_F(BootMenuTest, PathsCannotLeaveTheGuest) {
  write("../outside-of-the-guest", "");
  entry("a", "linux /../../../../../etc/passwd\ninitrd /link\noptions ro\n");
  fs::create_symlink("../../../../../../../etc/hostname", base_ / "boot/link");
  const BootEntry found = menu().entries[0];
  EXPECT_EQ(found.kernel_error->kind, ErrorKind::missing);
  EXPECT_EQ(found.initrd_errors.size(), 1u);
  fs::remove(base_ / "../outside-of-the-guest");
}

TEST_F(BootMenuTest, FilesThatAreNoKernel) {
  entry("a", "linux /k\ninitrd /i\noptions ro\n");
  write("boot/i", "");
  write("boot/k", "");
  EXPECT_EQ(menu().entries[0].kernel_error->kind, ErrorKind::malformed);
  EXPECT_TRUE(menu().entries[0].initrd_errors.empty());
  fs::remove(base_ / "boot/k");
  fs::create_directories(base_ / "boot/k");
  EXPECT_EQ(menu().entries[0].kernel_error->kind, ErrorKind::wrong_type);
  fs::remove(base_ / "boot/k");
  ASSERT_EQ(::mkfifo((base_ / "boot/k").c_str(), 0600), 0);
  EXPECT_EQ(menu().entries[0].kernel_error->kind, ErrorKind::wrong_type);
  entry("a", "linux k\noptions ro\n");
  EXPECT_EQ(menu().entries[0].kernel_error->kind, ErrorKind::malformed);
}

TEST_F(BootMenuTest, OddEntries) {
  kernel(k503);
  entry("zz-no-linux", "title x\noptions ro\n");
  entry("zz-comment", "#linux /vmlinuz\n");
  ASSERT_EQ(::mkfifo((base_ / "boot/loader/entries/zz-fifo.conf").c_str(), 0600), 0);
  fs::create_directories(base_ / "boot/loader/entries/zz-dir.conf");
  fs::create_symlink("/nowhere", base_ / "boot/loader/entries/zz-link.conf");
  entry("zz-binary\xff", std::string("\xff\xfe\0\0", 4));
  write("boot/loader/entries/notes.txt", "linux /x\n");
  const BootMenu found = menu();
  ASSERT_EQ(found.entries.size(), 1u);
  EXPECT_EQ(found.default_index, 0u);
  EXPECT_NE(notes(found).find("zz-no-linux.conf: has no linux line"), std::string::npos);
  EXPECT_NE(notes(found).find("zz-fifo.conf: is a FIFO"), std::string::npos);
}

TEST_F(BootMenuTest, AnEntryTooLargeToReadMakesPositionsUncertain) {
  kernel(k503);
  entry("zz-large", "linux /vmlinuz-" + k503 + "\noptions " + std::string(100000, 'x') + "\n");
  EXPECT_FALSE(menu().default_index);
  EXPECT_NE(menu().default_reason.find("zz-large"), std::string::npos);
}

TEST_F(BootMenuTest, EntriesThatGrubCannotTellApart) {
  kernel("5.14.0-1.el9.x86_64");
  kernel("5.14.0-01.el9.x86_64");
  EXPECT_FALSE(menu().default_index);
  EXPECT_NE(menu().default_reason.find("apart"), std::string::npos);
}

TEST_F(BootMenuTest, GrubEndsOptionsAtAComment) {
  kernel(k503);
  entry(mid + "-" + k503, "linux /vmlinuz-" + k503 + "\noptions ro # modprobe.blacklist=nvme\n");
  EXPECT_EQ(menu().entries[0].options, "ro ");
  EXPECT_NE(notes(menu()).find("ends the command line"), std::string::npos);
}

TEST_F(BootMenuTest, NoEntries) {
  EXPECT_EQ(collect_boot_menu(guest(), mid).error().kind, ErrorKind::missing);
  write("etc/fstab", "UUID=1 /boot xfs defaults 0 0\n");
  EXPECT_NE(collect_boot_menu(guest(), mid).error().what.find("is it mounted"), std::string::npos);
  fs::create_directories(base_ / "boot/loader/entries");
  EXPECT_TRUE(menu().entries.empty());
  EXPECT_FALSE(menu().default_index);
}

TEST_F(BootMenuTest, UnifiedKernelImages) {
  write("boot/efi/EFI/Linux/" + mid + "-" + k503 + ".efi", "MZ");
  EXPECT_EQ(menu().unified_kernel_images,
            (std::vector<std::string>{"/boot/efi/EFI/Linux/" + mid + "-" + k503 + ".efi"}));
  write("etc/os-release", "ID=rocky\nVERSION_ID=10.1\n");
  entry("uki", "title U\nefi /EFI/Linux/u.efi\n");
  EXPECT_TRUE(menu().entries.empty());
  kernel(k503);
  grubenv("saved_entry=uki\n");
  EXPECT_FALSE(menu().default_index);
  EXPECT_EQ(menu().entries.size(), 1u);
}

TEST_F(BootMenuTest, Ostree) {
  kernel(k503);
  EXPECT_EQ(menu().ostree, "");
  entry("ostree-1", "linux /ostree/x/vmlinuz\noptions root=UUID=1 ostree=/ostree/boot.1/x/0\n");
  EXPECT_NE(menu().ostree, "");
}

TEST_F(BootMenuTest, BlsdirOfGrubenv) {
  write("boot/other/a.conf", "linux /k\n");
  write("boot/k", "kernel");
  grubenv("blsdir=/other\n");
  EXPECT_EQ(menu().entries[0].path, "/boot/other/a.conf");
  grubenv("blsdir=/gone\n");
  kernel(k503);
  EXPECT_EQ(menu().entries[0].kernel, k503);
}

TEST_F(BootMenuTest, HostileVariablesStayBounded) {
  kernel(k503);
  std::string options;
  for (int i = 0; i < 3500; ++i) options += "$a";
  entry(mid + "-" + k503, "linux /vmlinuz-" + k503 + "\ninitrd $b\noptions " + options + "\n");
  std::string words;
  for (int i = 0; i < 100000; ++i) words += "/i ";
  grubenv("aa=1\n");
  write("boot/grub2/grubenv",
        "# GRUB Environment Block\na=" + std::string(300000, 'x') + "\naa=y\nb=" + words + "\n");
  const BootMenu found = menu();
  EXPECT_LE(found.entries[0].options.size(), command_line_size);
  EXPECT_LE(found.entries[0].initrds.size(), 32u);
  EXPECT_NE(notes(found).find("initrd files"), std::string::npos);
}

TEST_F(BootMenuTest, WhatNoKernelReadsIsCutOff) {
  kernel(k503);
  entry(mid + "-" + k503,
        "linux /vmlinuz-" + k503 + " b\noptions " + std::string(4096, 'x') + "\n");
  const BootMenu found = menu();
  EXPECT_EQ(found.entries[0].options, "b " + std::string(4094, 'x'));
  EXPECT_NE(notes(found).find("no kernel reads more than 4096"), std::string::npos);
}

TEST_F(BootMenuTest, TooManyEntries) {
  for (int i = 0; i < 513; ++i) entry("e-" + std::to_string(i), "linux /k\n");
  EXPECT_EQ(collect_boot_menu(guest(), mid).error().kind, ErrorKind::too_large);
}

TEST(FindMenuItem, AsGrubLooks) {
  const std::vector<MenuItem> items = {{"a-1", "Title one"}, {"b", "a-1"}, {"1", "T>x"}};
  EXPECT_EQ(find_menu_item(items, "a-1"), 0u);
  EXPECT_EQ(find_menu_item(items, "1"), 2u);  // the id before the number
  EXPECT_EQ(find_menu_item(items, "Title one"), 0u);
  EXPECT_EQ(find_menu_item(items, "T>>x"), 2u);
  EXPECT_EQ(find_menu_item(items, "b>0"), 1u);
  EXPECT_EQ(find_menu_item(items, "b and more"), std::nullopt);
  EXPECT_EQ(find_menu_item(items, ""), std::nullopt);
  EXPECT_EQ(find_menu_item(items, "Title"), std::nullopt);
  EXPECT_EQ(find_menu_item(items, "0"), 0u);
  EXPECT_EQ(find_menu_item(items, "3"), std::nullopt);
}

}  // namespace
}  // namespace preflight
