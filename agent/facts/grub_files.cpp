// SPDX-License-Identifier: MIT
#include "agent/facts/grub_files.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace preflight {

namespace {

constexpr std::string_view esp_vendors = "/boot/efi/EFI";

bool is_missing(const Error& error) {
  return error.kind == ErrorKind::missing;
}

Result<GrubConfig> read_config(const Root& root, const std::string& path) {
  const Result<std::string> text = root.read(path);
  if (!text) return tl::unexpected(text.error());
  return parse_grub_config(path, *text);
}

/// custom.cfg is sourced by 41_custom.in's lines at the end of grub.cfg.
void add_custom(const Root& root, GrubSite& site) {
  if (!site.config) return;
  Result<GrubConfig> custom = read_config(root, site.directory + "/custom.cfg");
  if (!custom) {
    if (!is_missing(custom.error())) site.config = tl::unexpected(custom.error());
    return;
  }
  site.config->incomplete = site.config->incomplete || custom->incomplete;
  for (GrubAssignment& one : custom->assignments)
    site.config->assignments.push_back(std::move(one));
  for (GrubMenuEntry& one : custom->menu_entries) {
    one.before_blscfg = false;
    site.config->menu_entries.push_back(std::move(one));
  }
}

Result<GrubEnvironment> read_environment(const Root& root, const std::string& path) {
  const Result<std::string> text = root.read(path);
  if (text) return parse_grubenv(path, *text);
  // EL 8 on UEFI: /boot/grub2/grubenv is a link into the ESP (grub.macros of its grub2 package).
  if (is_missing(text.error()) && root.lstat(path))
    return fail(ErrorKind::unsupported, path,
                "is a link that leads nowhere here: is the EFI system partition mounted?");
  return tl::unexpected(text.error());
}

GrubSite read_site(const Root& root, const std::string& directory) {
  GrubSite site;
  site.directory = directory;
  site.environment = read_environment(root, directory + "/grubenv");
  site.config = read_config(root, directory + "/grub.cfg");
  add_custom(root, site);
  site.variables = grub_variables(site.environment, site.config);
  return site;
}

/// Directories of the ESP whose grub.cfg does more than to hand over to /boot/grub2: EL 8's on
/// UEFI, and any that was made with `grub2-mkconfig -o /boot/efi/EFI/...`.
std::vector<GrubSite> esp_sites(const Root& root, std::vector<Error>& notes) {
  std::vector<GrubSite> sites;
  const Result<std::vector<std::string>> vendors = root.list(esp_vendors, 16);
  if (!vendors && !is_missing(vendors.error())) notes.push_back(vendors.error());
  if (!vendors) return sites;
  for (const std::string& vendor : *vendors) {
    GrubSite site = read_site(root, fmt::format("{}/{}", esp_vendors, vendor));
    const bool absent = !site.config && is_missing(site.config.error());
    if (!absent && !(site.config && site.config->is_stub())) sites.push_back(std::move(site));
  }
  return sites;
}

}  // namespace

std::vector<GrubSite> find_grub_sites(const Guest& guest, std::vector<Error>& notes) {
  std::vector<GrubSite> esp = esp_sites(guest.root, notes);
  GrubSite main = read_site(guest.root, "/boot/grub2");
  if (guest.live && !guest.root.exists("/sys/firmware/efi")) esp.clear();
  const bool main_is_empty = !main.config && is_missing(main.config.error());
  std::vector<GrubSite> sites;
  if (esp.empty() || (!guest.live && !main_is_empty)) sites.push_back(std::move(main));
  for (GrubSite& site : esp) sites.push_back(std::move(site));
  return sites;
}

}  // namespace preflight
