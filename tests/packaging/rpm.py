#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The source and binary packages: tarball -> rpmbuild -> what they require, how they were compiled, rpmlint, install
into a scratch root, run there, upgrade and erase.

On Debian, rpm knows no package and none of EL's macros: --nodeps, and el_macros stands in for redhat-rpm-config.

usage: rpm.py [--with-tests] [--keep FOLDER]   (--with-tests: %check builds and runs the unit tests too; --keep: the
packages are copied there)
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from merged_root import TOP  # noqa: E402
from tally import Tally, skip  # noqa: E402

SPEC = TOP / "packaging/nvme-preflight.spec"
KEPT = {"var/lib/nvme-preflight/20260101T000000Z-1/journal": "a backup\n",
        "etc/dracut.conf.d/zz-nvme-preflight.conf": 'add_drivers+=" nvme "\n'}


def run(*command: str | Path, **more: object) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=7200, **more)


def must(*command: str | Path, **more: object) -> str:
    done = run(*command, **more)
    if done.returncode:
        sys.exit(f"FAILED {' '.join(map(str, command))}\n{done.stdout[-3000:]}\n{done.stderr[-6000:]}")
    return done.stdout


class Build:
    def __init__(self, top: Path, with_tests: bool) -> None:
        self.top = top
        (top / "SOURCES").mkdir()
        self.spec = top / SPEC.name
        self.spec.write_text(SPEC.read_text())
        self.options = ["--define", f"_topdir {top}", "--define", "_smp_mflags -j2", "--nodeps",
                        "--with" if with_tests else "--without", "tests"]
        if not Path("/usr/lib/rpm/redhat/macros").exists():
            self.options += ["--load", str(HERE / "el_macros")]
        self.environment = dict(os.environ)
        if shutil.which("ccache"):
            self.environment |= {"CMAKE_CXX_COMPILER_LAUNCHER": "ccache", "CCACHE_BASEDIR": str(top),
                                 "CCACHE_NOHASHDIR": "1", "CCACHE_SLOPPINESS": "pch_defines,time_macros"}

    def rpmbuild(self, *what: str) -> None:
        must("rpmbuild", *what, *self.options, self.spec, env=self.environment)

    def package(self, name: str = "nvme-preflight", release: int = 1) -> Path:
        found = list(self.top.glob(f"RPMS/*/{name}-[0-9]*-{release}.*rpm"))
        assert len(found) == 1, (name, release, found)
        return found[0]

    def next_release(self) -> Path:
        """The same files as release 2, without compiling them again."""
        self.spec.write_text(re.sub(r"^(Release: +)1", r"\g<1>2", SPEC.read_text(), flags=re.M))
        self.rpmbuild("-bi", "--short-circuit")
        self.rpmbuild("-bb", "--short-circuit", "--noclean")
        return self.package(release=2)


def requires_base_os_only(tally: Tally, package: Path) -> None:
    allowed = {line.split()[0] for line in (HERE / "allowed_sonames").read_text().splitlines() if line[:1] not in "#"}
    wanted = {re.sub(r"\(.*", "", line) for line in must("rpm", "-qp", "--requires", package).splitlines()}
    wanted -= {"rpmlib"}
    tally.holds("libraries are found to be required", "libblkid.so.1" in wanted, str(wanted))
    tally.same("nothing is required that BaseOS does not have", sorted(wanted - allowed), [])


def is_hardened(tally: Tally, binary: Path) -> None:
    headers = must("readelf", "-W", "-h", "-l", "-d", binary)
    symbols = must("readelf", "-W", "--dyn-syms", binary)
    tally.holds("position independent", re.search(r"Type: +DYN", headers))
    tally.holds("full relro", "GNU_RELRO" in headers and ("BIND_NOW" in headers or "NOW" in headers))
    tally.holds("no executable stack", re.search(r"GNU_STACK.* RW +0x", headers))
    tally.holds("stack protector", "__stack_chk_fail" in symbols)
    tally.holds("fortified", re.search(r"__\w+_chk", symbols.replace("__stack_chk_fail", "")))


def build_id(path: Path) -> str:
    found = re.search(r"Build ID: (\w+)", must("readelf", "-n", path))
    assert found, path
    return found[1]


def debuginfo_works(tally: Tally, build: Build, binary: Path, folder: Path) -> None:
    folder.mkdir()
    package = build.package("nvme-preflight-debuginfo")
    must("sh", "-c", 'rpm2cpio "$1" | cpio -id --quiet', "unpack", package, cwd=folder)
    debug = [path for path in folder.rglob("*.debug") if path.is_file() and not path.is_symlink()]
    tally.same("one file of debug information", len(debug), 1)
    tally.same("it is the program's", build_id(debug[0]), build_id(binary))
    tally.holds("it has the debug information", ".debug_info" in must("readelf", "-W", "-S", debug[0]))
    tally.holds("the program has none", ".debug_info" not in must("readelf", "-W", "-S", binary))


class ScratchRoot:
    def __init__(self, top: Path) -> None:
        self.top = top
        top.mkdir()

    def rpm(self, *arguments: str | Path) -> subprocess.CompletedProcess:
        return run("rpm", "--root", self.top, "--define", "_dbpath /var/lib/rpm", *arguments)

    def must(self, *arguments: str | Path) -> str:
        done = self.rpm(*arguments)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done.stdout

    def borrow_libraries(self) -> None:
        """This machine's, where the program looks for them."""
        for library in re.findall(r"(/\S+) \(0x", must("ldd", self.top / "usr/sbin/nvme-preflight")):
            there = self.top / library.lstrip("/")
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(library, there)

    def kept(self) -> dict[str, str | None]:
        return {name: (self.top / name).read_text() if (self.top / name).exists() else None for name in KEPT}


def installs(tally: Tally, build: Build, folder: Path) -> None:
    root, package = ScratchRoot(folder), build.package()
    root.must("--nodeps", "-i", package)
    verified = root.rpm("-V", "--nodeps", "nvme-preflight")
    tally.same("rpm -V", (verified.returncode, verified.stdout), (0, ""))
    root.borrow_libraries()
    tool = ["chroot", str(folder), "/usr/sbin/nvme-preflight"]
    tally.same("--version in the scratch root", must(*tool, "--version"), "nvme-preflight 0.1.0\n")
    checked = run(*tool, "--check")
    tally.same("--check of an empty root cannot tell", checked.returncode, 3, checked.stdout + checked.stderr)
    tally.same("backups are for root alone", oct((folder / "var/lib/nvme-preflight").stat().st_mode), "0o40700")
    for name in ("usr/share/man/man8/nvme-preflight.8.gz", "usr/share/bash-completion/completions/nvme-preflight",
                 "usr/share/nvme-preflight/report-v1.schema.json", "usr/share/doc/nvme-preflight/CHANGELOG.md",
                 "usr/lib/kernel/install.d/99-nvme-preflight.install"):
        # brp-compress is EL's build policy, not Debian's.
        tally.holds(f"{name} is there", (folder / name).exists() or (folder / name.removesuffix(".gz")).exists())
    for name, text in KEPT.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    root.must("--nodeps", "-U", build.next_release())
    tally.same("upgraded", root.must("-q", "--qf", "%{release}", "nvme-preflight").split(".")[0], "2")
    tally.same("after the upgrade backups and configuration are there", root.kept(), KEPT)
    root.must("-e", "nvme-preflight")
    tally.same("erased", (folder / "usr/sbin/nvme-preflight").exists(), False)
    tally.same("after it was erased backups and configuration are there", root.kept(), KEPT)


def lint(tally: Tally, build: Build) -> None:
    if not shutil.which("rpmlint"):
        print("SKIPPED rpmlint: it is not here")
        return
    packages = [build.package(), build.package("nvme-preflight-debuginfo"), *build.top.glob("SRPMS/*.src.rpm")]
    done = run("rpmlint", "--config", HERE / "rpmlint.toml", SPEC, *packages)
    tally.holds("rpmlint", done.returncode == 0 and "0 errors, 0 warnings" in done.stdout, done.stdout + done.stderr)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--with-tests", action="store_true")
    parser.add_argument("--keep", type=Path)
    arguments = parser.parse_args()
    if not shutil.which("rpmbuild") or os.geteuid() != 0:
        return skip("rpmbuild is not here, or not root")
    tally = Tally()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        build = Build(folder, arguments.with_tests)
        must(TOP / "packaging/make-dist", folder / "SOURCES")
        build.rpmbuild("-ba", "--noclean")
        if arguments.keep:
            for path in (*folder.glob("RPMS/*/*.rpm"), *folder.glob("SRPMS/*.rpm")):
                shutil.copy2(path, arguments.keep)
        requires_base_os_only(tally, build.package())
        (folder / "unpacked").mkdir()
        must("sh", "-c", 'rpm2cpio "$1" | cpio -id --quiet', "unpack", build.package(), cwd=folder / "unpacked")
        binary = folder / "unpacked/usr/sbin/nvme-preflight"
        is_hardened(tally, binary)
        debuginfo_works(tally, build, binary, folder / "debug")
        lint(tally, build)
        installs(tally, build, folder / "root")
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
