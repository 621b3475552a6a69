// SPDX-License-Identifier: MIT
// A host-only image holds a copy of lvm.conf, and in the initramfs there is no devices file: a
// filter that LVM ignores today decides there which PVs exist (dracut modules.d/90lvm; lvm2
// lib/filters/filter-regex.c). A filter that knows only /dev/vda3 then hides the PV on NVMe.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "agent/check.h"
#include "agent/facts/nvme_names.h"
#include "agent/facts/pv_filter.h"
#include "agent/formats/lvm_conf.h"
#include "agent/formats/lvm_filter.h"
#include "agent/formats/text.h"
#include "checks/boot_images.h"
#include "checks/boot_words.h"

namespace preflight {

namespace {

constexpr std::string_view conf_name = "lvm.conf";
constexpr std::string_view consequence =
    "LVM in the initramfs then does not find the root volume, and the boot ends in the emergency "
    "shell.";

bool is_el10_or_later(const Facts& facts) {
  return facts.release && facts.release->major >= 10;
}
bool is_el8(const Facts& facts) {
  return facts.release && facts.release->major == 8;
}

// ---- root ----

/// A PV that root needs, by the names it will have. `alternatives` are sets of names of which
/// nobody knows which applies, when there are several.
struct Pv {
  std::string label;
  std::vector<std::vector<std::string>> alternatives;
  std::string pvid;  // without dashes; empty when not known
};

struct RootVolume {
  enum class OnLvm { no, perhaps, yes };
  OnLvm on_lvm = OnLvm::no;
  bool pvs_known = false;
  std::vector<Pv> pvs;  // those that lie on a virtio disk
};

Pv any_partition() {
  Pv pv{"the PV (its partition is not known; p1 to p9 were tried)", {}, ""};
  for (int number = 1; number <= 9; ++number)
    pv.alternatives.push_back(nvme_names_of_partition(number));
  return pv;
}

bool lies_on_virtio(const Storage& storage, std::size_t device) {
  const std::vector<std::size_t> disks = storage.disks_under(device);
  return storage.devices[device].is_virtio() ||
         std::any_of(disks.begin(), disks.end(),
                     [&](std::size_t disk) { return storage.devices[disk].is_virtio(); });
}

Pv pv_of(const Storage& storage, std::size_t device) {
  const BlockDevice& block = storage.devices[device];
  Result<std::vector<std::string>> names = nvme_names(storage, device, NamesSeenBy::initramfs);
  Pv pv = names ? Pv{"", {std::move(*names)}, ""} : any_partition();
  pv.label = fmt::format("the PV that is {} today", printable(block.path));
  pv.pvid = block.uuid;
  pv.pvid.erase(std::remove(pv.pvid.begin(), pv.pvid.end(), '-'), pv.pvid.end());
  return pv;
}

RootVolume root_on(const Storage& storage, std::size_t device) {
  RootVolume root;
  if (!storage.volume_under(device)) return root;
  root.on_lvm = RootVolume::OnLvm::yes;
  const std::vector<std::size_t> pvs = storage.pvs_under(device);
  root.pvs_known = !pvs.empty();
  for (const std::size_t pv : pvs)
    if (lies_on_virtio(storage, pv)) root.pvs.push_back(pv_of(storage, pv));
  return root;
}

/// By the command line alone: dracut activates LVs only where rd.lvm.* names some.
RootVolume root_by_words(const std::vector<BootWord>& words) {
  RootVolume root;
  const bool activates = bool_word(words, "rd.auto", false) ||
                         std::any_of(words.begin(), words.end(), [](const BootWord& word) {
                           constexpr std::array<std::string_view, 4> keys{"rd.lvm.lv", "rd.lvm.vg",
                                                                          "rd_LVM_LV", "rd_LVM_VG"};
                           return std::find(keys.begin(), keys.end(), word.word.key) != keys.end();
                         });
  if (!activates) return root;
  const BootWord* word = last_word(words, "root");
  const DeviceSpec spec = parse_device_spec(word ? word->word.value.value_or("") : "");
  const bool volume = spec.kind == SpecKind::volume ||
                      (spec.kind == SpecKind::mapper && split_dm_name(spec.value).has_value());
  root.on_lvm = volume ? RootVolume::OnLvm::yes : RootVolume::OnLvm::perhaps;
  return root;
}

RootVolume root_volume(const Facts& facts, const std::vector<BootWord>& words) {
  if (facts.storage) {
    if (const auto mounted = facts.storage->mounted_at("/"))
      return root_on(*facts.storage, *mounted);
    const BootWord* root = last_word(words, "root");
    const auto found = facts.storage->resolve(root ? root->word.value.value_or("") : "");
    if (found.size() == 1) return root_on(*facts.storage, found.front());
  }
  return root_by_words(words);
}

std::vector<Pv> pvs_to_judge(const RootVolume& root) {
  return root.pvs_known ? root.pvs : std::vector<Pv>{any_partition()};
}

// ---- LVM's configuration as the initramfs uses it ----

/// lvm.conf and lvmlocal.conf, in the order LVM merges them.
struct Config {
  std::vector<LvmFile> files;
  std::string devices_path;                          // of the devices file, when there is one
  std::optional<std::vector<DevicesEntry>> devices;  // its entries
  bool has_conf = false;
};

bool is_conf(const LvmFile& file) {
  return file.path.ends_with("/" + std::string(conf_name));
}

/// What lvm_scan.sh appends for the PVs that udev has shown it.
std::string seen_pvs_filter(const std::vector<Pv>& pvs) {
  std::string patterns;
  for (const Pv& pv : pvs)
    for (const std::vector<std::string>& names : pv.alternatives)
      if (!names.empty()) patterns += fmt::format("\"a|^{}$|\", ", names.front());
  return fmt::format("devices {{\n    filter = [ {}\"r/.*/\" ]\n}}\n", patterns);
}

LvmFacts merged(const Facts& facts, std::vector<LvmFile> files, const std::string& system_dir) {
  LvmFacts lvm;
  lvm.installed = true;
  lvm.system_dir = system_dir;
  lvm.files = std::move(files);
  lvm.use_devicesfile_default = facts.lvm.use_devicesfile_default;
  lvm.default_source = facts.lvm.default_source;
  lvm.version = facts.lvm.version;
  lvm.tags = facts.lvm.tags;
  return merge_lvm(std::move(lvm));
}

/// dracut's lvm_scan.sh: without an lvm.conf it writes one with a filter of the PVs it has seen;
/// on EL 9 and 10 it appends that filter to an lvm.conf that sets none (R8, R9, R10
/// modules.d/90lvm/lvm_scan.sh).
LvmFacts as_lvm_scan_runs_it(const Facts& facts, const Config& config, const std::vector<Pv>& pvs,
                             const std::string& system_dir) {
  LvmFacts lvm = merged(facts, config.files, system_dir);
  const bool filtered = !lvm.filter.empty() || !lvm.global_filter.empty();
  if (config.has_conf && (filtered || is_el8(facts))) return lvm;
  std::vector<LvmFile> files = config.files;
  if (!config.has_conf)
    files.insert(files.begin(), {fmt::format("{}/{}", system_dir, conf_name), "global {\n}\n"});
  for (LvmFile& file : files)
    if (is_conf(file)) file.text += seen_pvs_filter(pvs);
  return merged(facts, std::move(files), system_dir);
}

// ---- the judgement ----

enum class Cause { configuration, devices_file, filter };

struct Judgement {
  Status status = Status::pass;  // fail stands for a fault, whoever's entry it is
  std::string summary;           // ends no sentence
  std::vector<Evidence> evidence;
  Cause cause = Cause::configuration;
};

Judgement cannot_tell(std::string why) {
  return {Status::unknown, std::move(why), {}, Cause::configuration};
}

Judgement judge_errors(const Error& error) {
  if (error.kind != ErrorKind::malformed) return cannot_tell(error.message());
  Judgement out{
      Status::fail, "holds an LVM configuration that LVM refuses", {}, Cause::configuration};
  out.evidence.push_back(
      {error.path, error.line, printable(error.what), "a configuration that LVM reads"});
  return out;
}

/// Entries that LVM still matches by what lies above the disk, or finds again by PVID: with
/// --sysinit it searches for devname entries as ever (lvm2 lib/device/device_id.c).
bool entry_survives(const LvmFacts& lvm, const DevicesEntry& entry) {
  constexpr std::array<std::string_view, 5> above = {"crypt_uuid", "md_uuid", "lvmlv_uuid",
                                                     "mpath_uuid", "loop_file"};
  if (std::find(above.begin(), above.end(), entry.idtype) != above.end()) return true;
  return entry.idtype == "devname" && lvm.search_for_devnames_all;
}

bool pv_is_listed(const LvmFacts& lvm, const std::vector<DevicesEntry>& entries, const Pv& pv) {
  return std::any_of(entries.begin(), entries.end(), [&](const DevicesEntry& entry) {
    return (pv.pvid.empty() || entry.pvid == pv.pvid) && entry_survives(lvm, entry);
  });
}

/// nullopt when no devices file is in force.
std::optional<Judgement> judge_devices_file(const LvmFacts& lvm, const Config& config,
                                            const std::vector<Pv>& pvs) {
  if (!config.devices) return std::nullopt;
  if (!lvm.use_devicesfile) return cannot_tell(lvm.use_devicesfile.error().message());
  if (!*lvm.use_devicesfile) return std::nullopt;
  Judgement out;
  out.cause = Cause::devices_file;
  out.summary = "holds an LVM devices file whose entries match the PVs under any controller";
  if (std::all_of(pvs.begin(), pvs.end(),
                  [&](const Pv& pv) { return pv_is_listed(lvm, *config.devices, pv); }))
    return out;
  out.status = Status::fail;
  out.summary = "holds an LVM devices file that does not match the PV on NVMe";
  out.evidence.push_back({config.devices_path, 0,
                          config.devices->empty() ? "no entries" : "entries for the virtio disk",
                          "no devices file in the image"});
  for (const DevicesEntry& entry : *config.devices)
    if (out.evidence.size() < 8 && !entry_survives(lvm, entry))
      out.evidence.push_back(
          {config.devices_path, entry.line,
           fmt::format("IDTYPE={} IDNAME={}", printable(entry.idtype), printable(entry.idname)),
           ""});
  return out;
}

enum class Passes { yes, no, depends };

Passes passes(const LvmFilter& filter, const Pv& pv) {
  std::size_t accepted = 0;
  for (const std::vector<std::string>& names : pv.alternatives)
    accepted += filter.judge(names).accepted ? 1 : 0;
  if (accepted == pv.alternatives.size()) return Passes::yes;
  return accepted == 0 ? Passes::no : Passes::depends;
}

std::string example_name(const Pv& pv) {
  return pv.alternatives.empty() || pv.alternatives.front().empty()
             ? "/dev/nvme0n1"
             : pv.alternatives.front().front();
}

/// Where the files set it. A setting that lvm_scan.sh appends stands in none of them.
std::vector<Evidence> setting_evidence(const Config& config, const std::string& setting,
                                       const Pv& pv) {
  std::vector<Evidence> evidence;
  for (const LvmFile& file : config.files) {
    const Result<LvmConf> conf = LvmConf::parse(file.path, file.text);
    if (!conf || !conf->values(setting)) continue;
    const auto places = conf->places(setting);
    const bool placed = places && !places->empty();
    const std::string_view name = std::string_view(setting).substr(setting.find('/') + 1);
    constexpr std::size_t shown = 200;
    evidence.push_back(
        {file.path, placed ? places->back().line : 0,
         fmt::format("{} = {}", name,
                     placed ? printable(conf->written(places->back()).substr(0, shown)) : "..."),
         fmt::format("a filter that accepts {}", example_name(pv))});
  }
  return evidence;
}

Judgement judge_filter(const Config& config, const std::vector<std::string>& patterns,
                       const std::string& setting, const std::vector<Pv>& pvs,
                       const std::string& path) {
  const Result<LvmFilter> filter = LvmFilter::create(path, patterns);
  if (!filter) return judge_errors(filter.error());
  for (const Pv& pv : pvs) {
    const Passes verdict = passes(*filter, pv);
    if (verdict == Passes::yes) continue;
    const std::string_view name = std::string_view(setting).substr(setting.find('/') + 1);
    Judgement out;
    out.cause = Cause::filter;
    out.evidence = setting_evidence(config, setting, pv);
    out.status = verdict == Passes::no ? Status::fail : Status::unknown;
    out.summary = verdict == Passes::no
                      ? fmt::format("holds an LVM {} that rejects {} on NVMe ({})", name, pv.label,
                                    example_name(pv))
                      : fmt::format(
                            "its LVM {} accepts some NVMe partitions and rejects others, and which "
                            "one holds the PV is not known",
                            name);
    return out;
  }
  return {};
}

Judgement judge_config(const Facts& facts, const Config& config, const std::vector<Pv>& pvs,
                       const std::string& system_dir) {
  const LvmFacts lvm = as_lvm_scan_runs_it(facts, config, pvs, system_dir);
  if (!lvm.errors.empty()) return judge_errors(lvm.errors.front());
  if (auto devices = judge_devices_file(lvm, config, pvs)) return *devices;
  // Both lists have to accept a device.
  for (const auto& [setting, patterns] : {std::pair<std::string, const std::vector<std::string>&>{
                                              "devices/global_filter", lvm.global_filter},
                                          {"devices/filter", lvm.filter}}) {
    Judgement judgement = judge_filter(config, patterns, setting, pvs, system_dir);
    if (judgement.status != Status::pass) return judgement;
  }
  return {};
}

// ---- one image, one entry ----

struct Reading {
  Config config;
  std::string gap;  // what could not be read, in words that end a sentence
};

/// The content of a file of the image; nullptr when there is none. Says so when it was not kept.
const std::string* read(const Image& image, const std::string& name, Reading& reading) {
  static const std::string empty;
  const ImageFile* const file = image.find(name);
  if (file == nullptr) return nullptr;
  if (file->content) return &*file->content;
  if (file->size == 0) return &empty;
  reading.gap = name + " in it was not read";
  return nullptr;
}

Reading read_image_config(const Facts& facts, const BootImage& boot_image, const Image& image,
                          bool without_conf) {
  Reading reading;
  const std::string prefix = boot_image.path + ":";
  for (const std::string_view name : {conf_name, std::string_view("lvmlocal.conf")}) {
    if (without_conf && name == conf_name) continue;
    const std::string path = fmt::format("etc/lvm/{}", name);
    const std::string* text = read(image, path, reading);
    if (text == nullptr) continue;
    reading.config.files.push_back({prefix + path, *text});
    reading.config.has_conf = reading.config.has_conf || name == conf_name;
  }
  const LvmFacts lvm = merged(facts, reading.config.files, prefix + "etc/lvm");
  const std::string devices = "etc/lvm/devices/" + lvm.devicesfile_name;
  if (const std::string* text = read(image, devices, reading)) {
    reading.config.devices_path = prefix + devices;
    reading.config.devices = parse_devices_file(reading.config.devices_path, *text).entries;
  }
  if (reading.gap.empty() && image.may_hold_more())
    reading.gap =
        image.damage ? image.damage->what : "its files lie packed in " + image.opaque_parts.front();
  return reading;
}

/// parse-lvm.sh deletes etc/lvm/lvm.conf, lvmlocal.conf stays.
bool drops_conf(const Facts& facts, const std::vector<BootWord>& words) {
  return !bool_word(words, "rd.lvm.conf", true) ||
         (!is_el10_or_later(facts) && last_word(words, "rd_NO_LVMCONF") != nullptr);
}

/// Whether a rebuild mends it: the guest's own files, which it copies, have no such fault, or one
/// that lvm.filter's fix mends before images are built.
bool rebuild_helps(const Facts& facts, const Judgement& fault, const std::vector<Pv>& pvs) {
  if (fault.cause == Cause::devices_file) {
    if (!facts.dracut) return false;
    const auto items = facts.dracut->variables.find("install_items");
    return items == facts.dracut->variables.end() ||
           items->second.value.find("/etc/lvm/devices") == std::string::npos;
  }
  if (!facts.lvm.read_errors.empty()) return false;
  Config guest;
  guest.files = facts.lvm.files;
  guest.has_conf = std::any_of(guest.files.begin(), guest.files.end(), is_conf);
  const Judgement own = judge_config(facts, guest, pvs, facts.lvm.system_dir);
  if (own.status == Status::pass) return true;
  return own.status == Status::fail && own.cause == Cause::filter &&
         !judge_filters(facts.lvm, facts.storage).hidden.empty();
}

Remedy remedy_for(const Facts& facts, const BootImage& boot_image, const Judgement& fault,
                  const std::vector<Pv>& pvs) {
  Remedy remedy = rebuild_remedy(facts, boot_image, {});
  if (remedy.fix.empty() || rebuild_helps(facts, fault, pvs)) return remedy;
  remedy.fix.clear();
  remedy.text = fault.cause == Cause::devices_file
                    ? "Take the devices file out of install_items in dracut's configuration, then "
                      "rebuild this image."
                    : "The guest's own LVM configuration has the same fault, and a rebuild would "
                      "copy it again: mend it first (see lvm.config and lvm.filter), then rebuild "
                      "this image. Until then rd.lvm.conf=0 on the kernel's command line makes the "
                      "initramfs do without the copy.";
  return remedy;
}

std::string pass_summary(const BootImage& boot_image, const Config& config, bool dropped) {
  if (dropped)
    return fmt::format(
        "rd.lvm.conf=0 makes the initramfs of {} drop its lvm.conf, so no filter in "
        "it counts.",
        boot_image.whose());
  if (config.files.empty())
    return fmt::format(
        "The initramfs of {} has no lvm.conf of its own and looks at the PVs it "
        "finds.",
        boot_image.whose());
  return fmt::format("The LVM configuration in the initramfs of {} accepts root's PV on NVMe.",
                     boot_image.whose());
}

Finding judge_entry(const Facts& facts, const BootImage& boot_image, const BootEntry& entry) {
  const Image& image = **boot_image.image;
  const std::vector<BootWord> words = boot_words(facts, entry);
  const RootVolume root = root_volume(facts, words);
  if (root.on_lvm == RootVolume::OnLvm::no)
    return finding_on(boot_image, Status::skip, "The root file system is not on LVM.");
  if (root.pvs_known && root.pvs.empty())
    return finding_on(boot_image, Status::skip, "Root's volume group is on no virtio disk.");
  const std::vector<Pv> pvs = pvs_to_judge(root);
  const bool dropped = drops_conf(facts, words);
  const Reading reading = read_image_config(facts, boot_image, image, dropped);
  Judgement judgement = judge_config(facts, reading.config, pvs, boot_image.path + ":etc/lvm");
  if (judgement.status == Status::fail && root.on_lvm == RootVolume::OnLvm::perhaps)
    judgement.status = Status::unknown;
  else if (judgement.status == Status::pass && !reading.gap.empty())
    judgement = cannot_tell(reading.gap);

  if (judgement.status == Status::pass)
    return finding_on(boot_image, Status::pass, pass_summary(boot_image, reading.config, dropped));
  Finding finding = finding_on(boot_image, judgement.status, "");
  finding.evidence = judgement.evidence;
  if (judgement.status == Status::unknown) {
    finding.summary = fmt::format(
        "Whether LVM in the initramfs of {} would find root's PV on NVMe cannot be told: {}.",
        boot_image.whose(), judgement.summary);
    finding.status = doubt_status(*facts.boot, entry);
    return finding;
  }
  finding.status = fault_status(*facts.boot, entry);
  finding.summary =
      fmt::format("The initramfs of {} {}. {}", boot_image.whose(), judgement.summary, consequence);
  finding.remedy = remedy_for(facts, boot_image, judgement, pvs);
  return finding;
}

int rank(Status status) {
  switch (status) {
    case Status::fail:
      return 4;
    case Status::unknown:
      return 3;
    case Status::warn:
      return 2;
    case Status::pass:
      return 1;
    case Status::skip:
      return 0;
  }
  return 0;
}

/// The worst over the entries that boot the image: their command lines differ.
Finding judge(const Facts& facts, const BootImage& boot_image) {
  if (boot_image.image == nullptr)
    return finding_on(boot_image, Status::skip,
                      fmt::format("{} names no initrd.", boot_image.path));
  if (auto finding = not_opened(boot_image)) return *finding;
  std::optional<Finding> worst;
  for (const BootEntry* entry : boot_image.entries) {
    Finding finding = judge_entry(facts, boot_image, *entry);
    if (!worst || rank(finding.status) > rank(worst->status)) worst = std::move(finding);
  }
  return *worst;
}

std::vector<Finding> run(const Facts& facts) {
  return judge_images(facts, judge);
}

}  // namespace

extern const Check initramfs_lvm_config_check{"initramfs.lvm-config",
                                              "LVM in the initramfs finds root's PV on NVMe", &run};

}  // namespace preflight
