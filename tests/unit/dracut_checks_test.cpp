// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/check.h"
#include "agent/facts/dracut_image.h"
#include "agent/step.h"

namespace preflight {

extern const Check dracut_hostonly_check;
extern const Check dracut_next_kernel_check;
extern const Fix dracut_drop_in_fix;
extern const Fix dracut_drop_in_hostonly_fix;

namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr const char* dist = "/usr/lib/dracut/dracut.conf.d/01-dist.conf";
constexpr const char* own = "/etc/dracut.conf.d/zz-nvme-preflight.conf";
const DracutFile vendor{dist, "hostonly=\"yes\"\nhostonly_cmdline=\"no\"\n"};

DracutFile etc(const std::string& name, const std::string& text) {
  return {"/etc/dracut.conf.d/" + name, text};
}

/// A Rocky 9.5 guest with one kernel and these files, in sourcing order.
Facts guest(std::vector<DracutFile> files, int major = 9, int minor = 5) {
  Facts facts;
  facts.dracut = evaluate_dracut(std::move(files));
  Release release;
  release.major = major;
  release.minor = minor;
  facts.release = release;
  Kernel kernel;
  kernel.version = "5.14.0-500.el9.x86_64";
  kernel.directory = "/lib/modules/" + kernel.version;
  kernel.modular = {"nvme", "nvme_core", "nvme_common", "t10_pi", "virtio_blk", "xfs", "dm_mod"};
  kernel.builtin = {"ext4"};
  facts.kernels = std::vector<Kernel>{kernel};
  return facts;
}

std::vector<Finding> hostonly(const Facts& facts) {
  return dracut_hostonly_check.run(facts);
}
std::vector<Finding> next_kernel(const Facts& facts) {
  return dracut_next_kernel_check.run(facts);
}

/// The only finding of a check.
Finding only(const std::vector<Finding>& findings) {
  EXPECT_THAT(findings, SizeIs(1));
  return findings.empty() ? Finding{} : findings.front();
}

std::string fix_of(const Finding& finding) {
  return finding.remedy ? finding.remedy->fix : "";
}

// dracut.hostonly

TEST(DracutNextKernelTest, KernelsThatCannotBeListedMakeItUnknown) {
  Facts facts = guest({etc("nvme.conf", "hostonly=\"no\"\n")});
  EXPECT_EQ(only(next_kernel(facts)).status, Status::pass);
  facts.kernels = fail(ErrorKind::too_large, "/lib/modules", "more than 64 kernels");
  EXPECT_EQ(only(next_kernel(facts)).status, Status::unknown);
  EXPECT_THAT(only(next_kernel(facts)).summary, testing::HasSubstr("more than 64 kernels"));
}

TEST(DracutHostonlyTest, OnAndNotForcedFails) {
  const Finding finding = only(hostonly(guest({vendor})));
  EXPECT_EQ(finding.status, Status::fail);
  EXPECT_EQ(finding.subject, dist);
  ASSERT_THAT(finding.evidence, SizeIs(1));
  EXPECT_EQ(finding.evidence[0].path, dist);
  EXPECT_EQ(finding.evidence[0].line, 1);
  EXPECT_EQ(finding.evidence[0].saw, "hostonly=\"yes\"");
  EXPECT_EQ(fix_of(finding), "dracut-drop-in");
}

TEST(DracutHostonlyTest, NoInTheMainFileIsOverridden) {
  const Finding finding =
      only(hostonly(guest({{"/etc/dracut.conf", "\n# x\nhostonly=\"no\"\n"}, vendor})));
  EXPECT_EQ(finding.status, Status::fail);
  EXPECT_EQ(finding.subject, dist);
  ASSERT_THAT(finding.evidence, SizeIs(2));
  EXPECT_EQ(finding.evidence[0].path, dist);
  EXPECT_EQ(finding.evidence[1].path, "/etc/dracut.conf");
  EXPECT_EQ(finding.evidence[1].line, 3);
  EXPECT_THAT(finding.summary, HasSubstr("/etc/dracut.conf:3 says no"));
}

TEST(DracutHostonlyTest, MistypedNoIsShown) {
  const Finding finding = only(hostonly(guest({vendor, etc("zz.conf", "hostonly = \"no\"\n")})));
  EXPECT_EQ(finding.status, Status::fail);
  ASSERT_THAT(finding.evidence, SizeIs(2));
  EXPECT_EQ(finding.evidence[1].path, "/etc/dracut.conf.d/zz.conf");
}

TEST(DracutHostonlyTest, ForcedWarnsWithoutAFix) {
  for (const char* text :
       {"add_drivers+=\" nvme \"", "force_drivers+=\" nvme \"", "add_drivers=\"nvme.ko.xz\"",
        "drivers=\"virtio_blk nvme\"", "add_drivers+=\" =drivers/nvme \""}) {
    const Finding finding = only(hostonly(guest({vendor, etc("z.conf", text)})));
    EXPECT_EQ(finding.status, Status::warn) << text;
    EXPECT_EQ(fix_of(finding), "") << text;
  }
}

TEST(DracutHostonlyTest, NamesThatDoNotArriveForceNothing) {
  for (const char* text : {"add_drivers+=\" nvme-core \"", "add_drivers+=\" nvme,nvme_core \"",
                           "#add_drivers+=\" nvme \"", "add_drivers+=\" bogus nvme \"",
                           "add_drivers+=\" nvme \"\nadd_drivers=\" xfs \"", "omit=\" nvme \""})
    EXPECT_EQ(only(hostonly(guest({vendor, etc("z.conf", text)}))).status, Status::fail) << text;
}

TEST(DracutHostonlyTest, OffPasses) {
  for (const char* text : {"hostonly=\"no\"", "hostonly=No", "hostonly=", "hostonly+=x"})
    EXPECT_EQ(only(hostonly(guest({vendor, etc("z.conf", text)}))).status, Status::pass) << text;
  EXPECT_EQ(only(hostonly(guest({}))).status, Status::pass);
}

TEST(DracutHostonlyTest, CouldNotLookIsNoPass) {
  Facts facts = guest({vendor, etc("z.conf", "if true; then hostonly=no; fi")});
  EXPECT_EQ(only(hostonly(facts)).status, Status::unknown);
  facts.dracut = fail(ErrorKind::missing, "/usr/lib/dracut", "none");
  EXPECT_EQ(only(hostonly(facts)).status, Status::skip);
}

TEST(DracutHostonlyTest, BuiltInNeedsNoImage) {
  Facts facts = guest({vendor});
  facts.kernels->front().builtin = {"nvme", "nvme_core"};
  EXPECT_EQ(only(hostonly(facts)).status, Status::pass);
  EXPECT_EQ(only(next_kernel(facts)).status, Status::pass);
  Kernel newer = guest({}).kernels->front();
  newer.version = "5.14.0-1000.el9.x86_64";
  facts.kernels->insert(facts.kernels->begin(), newer);
  EXPECT_EQ(only(hostonly(facts)).status, Status::fail);
}

// dracut.next-kernel

TEST(DracutNextKernelTest, PlainHostOnlyIsDecidedElsewhere) {
  const Finding finding = only(next_kernel(guest({vendor})));
  EXPECT_EQ(finding.status, Status::skip);
  EXPECT_THAT(finding.summary, HasSubstr("dracut.hostonly"));
}

TEST(DracutNextKernelTest, AllFinePasses) {
  EXPECT_EQ(only(next_kernel(guest({vendor, etc("z.conf", "hostonly=no")}))).status, Status::pass);
  const Finding forced =
      only(next_kernel(guest({vendor, etc("z.conf", "add_drivers+=\" nvme \"")})));
  EXPECT_EQ(forced.status, Status::pass);
  EXPECT_EQ(forced.subject, "/etc/dracut.conf.d/z.conf");
}

TEST(DracutNextKernelTest, FusedWordsFailWithBothFilesNamed) {
  const std::vector<DracutFile> files = {vendor, etc("a.conf", "add_drivers+=\"nvme\"\n"),
                                         etc("b.conf", "\nadd_drivers+=\"nvme_core\"\n")};
  const Finding finding = only(next_kernel(guest(files)));
  EXPECT_EQ(finding.status, Status::fail);
  EXPECT_THAT(finding.summary, HasSubstr("nvmenvme_core"));
  EXPECT_THAT(finding.summary, HasSubstr("/etc/dracut.conf.d/a.conf:1"));
  EXPECT_THAT(finding.summary, HasSubstr("/etc/dracut.conf.d/b.conf:2"));
  ASSERT_THAT(finding.evidence, SizeIs(2));
  EXPECT_EQ(fix_of(finding), "dracut-drop-in");
  std::vector<DracutFile> generic = files;
  generic.push_back(etc("z.conf", "hostonly=no\n"));
  const Finding harmless = only(next_kernel(guest(generic)));
  EXPECT_EQ(harmless.status, Status::warn);
  EXPECT_EQ(fix_of(harmless), "");
}

TEST(DracutNextKernelTest, ThreeFusedWordsAreOneFault) {
  const Finding finding = only(next_kernel(
      guest({vendor, etc("a.conf", "add_drivers+=nvme\n"), etc("b.conf", "add_drivers+=x\n"),
             etc("c.conf", "add_drivers+=y\nadd_drivers+=\" z \"\n")})));
  EXPECT_THAT(finding.summary, HasSubstr("nvmexy"));
  EXPECT_THAT(finding.evidence, SizeIs(3));
}

TEST(DracutNextKernelTest, AFusedWordBeforeNvmeDropsIt) {
  const Finding finding =
      only(next_kernel(guest({vendor, etc("a.conf", "add_drivers+=xfs\n"),
                              etc("b.conf", "add_drivers+=\"dm_mod nvme\"\n")})));
  EXPECT_EQ(finding.status, Status::fail);
  EXPECT_THAT(finding.summary, HasSubstr("xfsdm_mod"));
}

TEST(DracutNextKernelTest, OmittedDriversByTheRulesOfTheRelease) {
  struct Case {
    const char* text;
    int major, minor;
    Status status;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"omit_drivers+=\" nvme \"", 9, 5, Status::fail},
           {"omit_drivers+=\" nvme_core \"", 10, 0, Status::fail},
           {"omit_drivers+=\" nvme-core \"", 9, 6, Status::fail},
           {"omit_drivers+=\" a-b nvme-core \"", 9, 6, Status::pass},
           {"omit_drivers+=\" a-b nvme-core \"", 10, 0, Status::fail},
           {"omit_drivers+=\" nvme_common \"", 9, 6, Status::fail},
           {"omit_drivers+=\" nvme_auth \"", 9, 6, Status::pass},
           {"omit_drivers+=\" vme \"", 8, 10, Status::fail},
           {"omit_drivers+=\" vme \"", 9, 5, Status::fail},
           {"omit_drivers+=\" vme \"", 9, 6, Status::pass},
           {"omit_drivers+=\" vme \"", 9, -1, Status::unknown},
           {"omit_drivers+=\" vme \"", 10, 1, Status::pass},
           {"omit_drivers+=\" nvme.* \"", 10, 1, Status::fail},
           {"omit_drivers+=\" nouveau floppy \"", 9, 5, Status::pass},
           {"omit_drivers+=\" [nvme \"", 9, 5, Status::fail},
           {"omit_drivers+=\" (nvme) \"", 9, 5, Status::unknown},
           {"omit_drivers+=\" x{1,9999}{1,9999} \"", 9, 5, Status::unknown},
           {"omit_drivers+=\" nvme \"\nadd_drivers+=\" nvme \"", 9, 5, Status::pass},
           {"omit_drivers+=\" vme \"\nadd_drivers+=\" nvme \"", 9, 5, Status::fail}}) {
    const std::string text = std::string("hostonly=no\n") + c.text + "\n";
    const Finding finding =
        only(next_kernel(guest({vendor, etc("z.conf", text)}, c.major, c.minor)));
    EXPECT_EQ(finding.status, c.status) << c.text << ' ' << c.major << '.' << c.minor;
  }
}

TEST(DracutNextKernelTest, ListsThatLeaveNvmeOut) {
  struct Case {
    const char* text;
    Status status;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"hostonly=no\ndrivers=\" xfs \"", Status::fail},
           {"hostonly=no\ndrivers=\" xfs nvme \"", Status::pass},
           {"hostonly=no\ndrivers=\" xfs \"\nadd_drivers=nvme", Status::pass},
           {"hostonly=no\ndrivers=\"\"", Status::pass},
           {"add_drivers=\" bogus nvme \"", Status::fail},
           {"add_drivers=\" xfs ext4 nvme \"", Status::pass},
           {"add_drivers=\" nvme bogus \"", Status::pass},
           {"add_drivers=\" bogus nvme \"\nforce_drivers=nvme", Status::pass},
           {"hostonly=no\nadd_drivers=\" bogus nvme \"", Status::pass},
           {"hostonly=no\nomit_dracutmodules+=\" kernel-modules \"", Status::fail},
           {"hostonly=no\nomit_dracutmodules+=\" kernel-modules-extra \"", Status::pass},
           {"add_drivers=nvme\nomit_dracutmodules+=\" kernel-modules \"", Status::warn},
           {"hostonly=no\ndracutmodules=\" base lvm \"", Status::fail},
           {"hostonly=no\ndracutmodules=auto", Status::pass},
           {"hostonly=no\ndracutmodules=base\nadd_dracutmodules=\" kernel-modules \"",
            Status::pass},
           {"hostonly=no\nadd_dracutmodules+=lvm\nadd_dracutmodules+=crypt", Status::fail},
           {"hostonly=no\nno_kernel=yes", Status::fail},
           {"hostonly=no\nomit_drivers+=a\nomit_drivers+=b", Status::warn},
           {"hostonly=no\nadd_drivers = nvme", Status::warn}})
    EXPECT_EQ(only(next_kernel(guest({vendor, etc("z.conf", c.text)}))).status, c.status) << c.text;
}

TEST(DracutNextKernelTest, ABuiltInNameEndsTheListOnEl8) {
  const std::vector<DracutFile> files = {vendor, etc("z.conf", "add_drivers=\" ext4 nvme \"")};
  EXPECT_EQ(only(next_kernel(guest(files, 8, 10))).status, Status::fail);
  EXPECT_EQ(only(next_kernel(guest(files, 9, 5))).status, Status::pass);
}

TEST(DracutNextKernelTest, UnknownModulesAreNotJudged) {
  Facts facts = guest({vendor, etc("z.conf", "add_drivers=\" bogus nvme \"")});
  facts.kernels->front().modular.clear();
  EXPECT_EQ(only(next_kernel(facts)).status, Status::pass);
  facts.kernels = fail(ErrorKind::denied, "/lib/modules", "x");
  EXPECT_EQ(only(next_kernel(facts)).status, Status::unknown);
}

TEST(DracutNextKernelTest, APremadeInitrdOfTheNewestKernelFails) {
  Facts facts = guest({vendor, etc("z.conf", "hostonly=no")});
  facts.kernels->front().premade_initrd = true;
  EXPECT_EQ(next_kernel(facts).front().status, Status::fail);
  Kernel newer = guest({}).kernels->front();
  newer.version = "5.14.0-1000.el9.x86_64";
  facts.kernels->push_back(newer);
  EXPECT_EQ(only(next_kernel(facts)).status, Status::pass);
}

TEST(DracutNextKernelTest, BrokenConfigurationFailsUnreadIsUnknown) {
  Facts facts = guest({});
  const auto status = [&](ErrorKind kind) {
    facts.dracut = fail(kind, "/etc/dracut.conf.d/x.conf", "x", 2);
    const Finding finding = only(next_kernel(facts));
    EXPECT_EQ(fix_of(finding), "");
    return finding.status;
  };
  EXPECT_EQ(status(ErrorKind::wrong_type), Status::fail);
  EXPECT_EQ(status(ErrorKind::malformed), Status::fail);
  for (const ErrorKind kind : {ErrorKind::unsupported, ErrorKind::denied, ErrorKind::too_large,
                               ErrorKind::io, ErrorKind::missing})
    EXPECT_EQ(status(kind), Status::unknown);
}

TEST(DracutNextKernelTest, LvmLeftOutFailsWhenRootNeedsIt) {
  Facts facts = guest({vendor, etc("z.conf", "hostonly=no\nomit_dracutmodules+=\" lvm \"")});
  EXPECT_EQ(only(next_kernel(facts)).status, Status::pass);
  BootEntry entry;
  entry.options = "root=/dev/mapper/rl-root rd.lvm.lv=rl/root";
  BootMenu menu;
  menu.entries = {entry};
  menu.default_index = 0;
  facts.boot = menu;
  EXPECT_EQ(only(next_kernel(facts)).status, Status::fail);
}

// The fix

Result<std::vector<Step>> plan(const Facts& facts) {
  std::vector<Finding> findings = hostonly(facts);
  for (const Finding& finding : next_kernel(facts)) findings.push_back(finding);
  return dracut_drop_in_fix.plan(facts, findings);
}

/// The text that the plan writes; empty when it does nothing.
std::string planned(const Facts& facts) {
  const auto steps = plan(facts);
  EXPECT_TRUE(steps) << steps.error().message();
  if (!steps || steps->empty()) return {};
  EXPECT_THAT(*steps, SizeIs(1));
  const auto& edit = std::get<EditFile>(steps->front());
  EXPECT_EQ(edit.path, own);
  return edit.after;
}

bool is_ready(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings)
    if (finding.status != Status::pass) return false;
  return true;
}

TEST(DracutDropInTest, MendsEveryFaultItIsOfferedFor) {
  for (const char* text :
       {"", "add_drivers+=\" bogus nvme \"", "drivers=\" xfs \"",
        "omit_drivers+=\" floppy nvme x$y \"", "omit_drivers+=\" floppy vme \"",
        "omit_drivers+=\" [nvme \"", "omit_dracutmodules+=\" plymouth kernel-modules \"",
        "dracutmodules=\" base lvm \"", "no_kernel=yes",
        "add_drivers+=nvme\nadd_drivers+=nvme_core",
        "omit_drivers+=\" nvme_core \"\ndrivers=\" virtio_blk \"\nno_kernel=yes"}) {
    std::vector<DracutFile> files = {vendor, etc("a.conf", std::string("y=Y\n") + text + "\n")};
    const std::string after = planned(guest(files));
    ASSERT_THAT(after, HasSubstr("hostonly=\"no\"\n")) << text;
    files.push_back({own, after});
    const Facts fixed = guest(files);
    ASSERT_TRUE(fixed.dracut) << fixed.dracut.error().message();
    EXPECT_TRUE(is_ready(hostonly(fixed))) << text;
    EXPECT_TRUE(is_ready(next_kernel(fixed))) << text;
    EXPECT_EQ(dracut_drop_in_fix.plan(fixed, hostonly(guest({vendor})))->size(), 0u)
        << "planned twice, it must come out the same: " << text;
  }
}

TEST(DracutDropInTest, KeepsImagesHostOnlyWithNvmeInThem) {
  for (const char* text : {"", "add_drivers+=\" bogus nvme \"", "omit_drivers+=\" nvme_core \"",
                           "omit_dracutmodules+=\" kernel-modules \"", "no_kernel=yes"}) {
    std::vector<DracutFile> files = {vendor, etc("a.conf", text)};
    const auto steps = dracut_drop_in_hostonly_fix.plan(guest(files), hostonly(guest(files)));
    ASSERT_TRUE(steps) << steps.error().message();
    ASSERT_THAT(*steps, SizeIs(1));
    const std::string after = std::get<EditFile>(steps->front()).after;
    EXPECT_THAT(after, Not(HasSubstr("hostonly="))) << text;
    EXPECT_THAT(after, HasSubstr("add_drivers=\" nvme nvme_core virtio_blk ")) << text;
    files.push_back({own, after});
    EXPECT_EQ(only(hostonly(guest(files))).status, Status::warn) << text;
    EXPECT_TRUE(is_ready(next_kernel(guest(files)))) << text;
    EXPECT_THAT(*dracut_drop_in_hostonly_fix.plan(guest(files), hostonly(guest({vendor}))),
                IsEmpty());
  }
}

TEST(DracutDropInTest, HostOnlyIsRefusedWhereNothingWouldForceNvme) {
  const std::vector<DracutFile> files = {vendor, etc("zz-z.conf", "add_drivers=\" xfs \"\n")};
  const auto steps = dracut_drop_in_hostonly_fix.plan(guest(files), hostonly(guest(files)));
  ASSERT_FALSE(steps);
  EXPECT_THAT(steps.error().what, HasSubstr("nothing forces nvme"));
}

TEST(DracutDropInTest, PutsItsDriversFirstAndKeepsTheOthers) {
  std::vector<DracutFile> files = {vendor, etc("a.conf", "add_drivers+=\" bogus nvme \"\n")};
  files.push_back({own, planned(guest(files))});
  EXPECT_EQ(guest(files).dracut->value("add_drivers"), " nvme nvme_core virtio_blk  bogus nvme  ");
}

TEST(DracutDropInTest, KeepsWhatOmitsOtherDrivers) {
  std::vector<DracutFile> files = {vendor,
                                   etc("a.conf",
                                       "omit_drivers+=\" floppy nvme nouveau \"\n"
                                       "omit_dracutmodules+=\" plymouth kernel-modules \"\n")};
  files.push_back({own, planned(guest(files))});
  EXPECT_EQ(guest(files).dracut->value("omit_drivers"), " floppy nouveau ");
  EXPECT_EQ(guest(files).dracut->value("omit_dracutmodules"), " plymouth ");
}

TEST(DracutDropInTest, NamesTheFilesWhoseWordsFused) {
  const std::string after = planned(guest({vendor, etc("a.conf", "add_drivers+=\"nvme\"\n"),
                                           etc("b.conf", "add_drivers+=\"nvme_core\"\n")}));
  EXPECT_THAT(after, HasSubstr("# /etc/dracut.conf.d/a.conf:1 and /etc/dracut.conf.d/b.conf:1"));
  EXPECT_THAT(after, HasSubstr("nvmenvme_core"));
}

TEST(DracutDropInTest, LeavesOutWhatIsNoModuleEverywhere) {
  Facts facts = guest({vendor});
  Kernel older = facts.kernels->front();
  older.version = "5.14.0-1.el9.x86_64";
  older.builtin = {"virtio_blk"};
  older.modular.erase("virtio_blk");
  facts.kernels->push_back(older);
  EXPECT_THAT(planned(facts), HasSubstr("add_drivers=\" nvme nvme_core ${add_drivers} \"\n"));
}

TEST(DracutDropInTest, KeepsTheContentBeforeInThePlan) {
  const auto steps = plan(guest({vendor, {own, "# emptied by hand\n"}}));
  ASSERT_TRUE(steps);
  ASSERT_THAT(*steps, SizeIs(1));
  EXPECT_EQ(std::get<EditFile>(steps->front()).before, "# emptied by hand\n");
  const auto fresh = plan(guest({vendor}));
  EXPECT_EQ(std::get<EditFile>(fresh->front()).before, std::nullopt);
  EXPECT_EQ(std::get<EditFile>(fresh->front()).mode, 0644u);
}

TEST(DracutDropInTest, RefusesWhereAnotherFileStillWins) {
  const auto hostonly_again = plan(guest({vendor, etc("zz_z.conf", "x=1\nhostonly=yes\n")}));
  ASSERT_FALSE(hostonly_again);
  EXPECT_EQ(hostonly_again.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(hostonly_again.error().path, "/etc/dracut.conf.d/zz_z.conf");
  EXPECT_EQ(hostonly_again.error().line, 2);
  const auto omits = plan(guest({vendor, etc("zz_z.conf", "omit_drivers+=\" nvme_core vme \"\n")}));
  ASSERT_FALSE(omits);
  EXPECT_EQ(omits.error().path, "/etc/dracut.conf.d/zz_z.conf");
}

TEST(DracutDropInTest, RefusesItsOwnNameMasked) {
  DracutFile masked{own, "", true};
  const auto result = plan(guest({vendor, masked}));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().path, own);
}

TEST(DracutDropInTest, PlansNothingUnasked) {
  EXPECT_THAT(*plan(guest({vendor, etc("z.conf", "hostonly=no")})), IsEmpty());
  EXPECT_THAT(*dracut_drop_in_fix.plan(guest({vendor}), {}), IsEmpty());
}

TEST(DracutDropInTest, AConfigurationThatCannotBeReadIsRefused) {
  Facts facts = guest({});
  facts.dracut = fail(ErrorKind::unsupported, "/etc/dracut.conf.d/x.conf", "x", 2);
  Finding finding;
  finding.remedy = Remedy{"dracut-drop-in", "", {}};
  EXPECT_FALSE(dracut_drop_in_fix.plan(facts, {finding}));
}

}  // namespace
}  // namespace preflight
