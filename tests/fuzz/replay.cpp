// SPDX-License-Identifier: MIT
// Feeds the committed corpora to their targets, without libFuzzer and with any compiler.
// usage: fuzz_replay CORPUS [TARGET..]   (CORPUS holds one folder for each target)
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/targets.h"

namespace preflight::fuzz {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  if (!fs::is_directory(folder)) return files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// How many inputs were run. The name of each is printed first: a crash then names it.
std::size_t replay(const Target& target, const fs::path& corpus) {
  const std::vector<fs::path> files = files_in(corpus / target.name);
  std::string name(target.name);
  for (const fs::path& file : files) {
    std::fprintf(stderr, "%s\n", file.c_str());
    // Its own allocation, of exactly this size: AddressSanitizer then sees reads beyond it.
    const std::string content = content_of(file);
    const std::vector<char> exact(content.begin(), content.end());
    target.run({exact.data(), exact.size()});
  }
  std::printf("%-14s %zu inputs\n", name.c_str(), files.size());
  return files.size();
}

bool is_target(const std::string& name) {
  return std::any_of(all_targets.begin(), all_targets.end(),
                     [&](const Target& target) { return target.name == name; });
}

int run(const fs::path& corpus, const std::vector<std::string>& wanted) {
  std::size_t inputs = 0;
  int faults = 0;
  for (const Target& target : all_targets) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), target.name) == wanted.end())
      continue;
    const std::size_t count = replay(target, corpus);
    if (count == 0) ++faults;
    inputs += count;
  }
  for (const fs::path& folder : files_in(corpus)) {
    if (is_target(folder.filename().string())) continue;
    std::printf("FAILED %s belongs to no target\n", folder.c_str());
    ++faults;
  }
  std::printf("%zu inputs replayed, %d targets without inputs or folders without target\n", inputs,
              faults);
  return faults == 0 ? 0 : 1;
}

}  // namespace
}  // namespace preflight::fuzz

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: fuzz_replay CORPUS [TARGET..]\n");
    return 2;
  }
  return preflight::fuzz::run(argv[1], {argv + 2, argv + argc});
}
