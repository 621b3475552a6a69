#!/bin/bash
# SPDX-License-Identifier: MIT
# Compares the image reader with dracut, cpio, lsinitrd and kmod on a real image:
#   image_oracle.sh IMAGE_DUMP [IMAGE KERNEL]...
# Builds one generic image with this machine's dracut and packs it with every compressor, alone and
# behind an early archive. Further images (of another distribution, say) may be given.
# Exit status: 0, 1 on a difference, 77 when a tool or a kernel is missing.
set -uo pipefail
export LC_ALL=C

dump=${1:?usage: image_oracle.sh IMAGE_DUMP [IMAGE KERNEL]...}
shift
failures=0
work=$(mktemp -d "${TMPDIR:-/tmp}/image-oracle-XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/no-configuration"

skip() {
    echo "SKIPPED: $*" >&2
    exit 77
}

# compare WHAT EXPECTED-FILE GOT-FILE
compare() {
    if diff -u "$2" "$3" >"$work/diff"; then
        echo "ok: $1 ($(wc -l <"$2") lines)"
    else
        echo "DIFFERS: $1"
        head -n 20 "$work/diff"
        failures=$((failures + 1))
    fi
}

# What a directory tree holds, as "image_dump files" prints it.
list_tree() {
    (cd "$1" && find . -mindepth 1 -printf '%P %#m %y %s %l\n') |
        awk '{
            type["d"] = "4"; type["f"] = "10"; type["l"] = "12"
            type["c"] = "2"; type["b"] = "6"; type["p"] = "1"; type["s"] = "14"
            mode = substr($2, 2); while (length(mode) < 4) mode = "0" mode
            # type and permissions meet in one octal number: 10 and 0644 are 100644
            size = ($3 == "f" || $3 == "l") ? $4 : 0
            printf "%s %s%s %s%s\n", $1, type[$3], mode, size, ($3 == "l") ? " " $5 : ""
        }' | sort
}

# check_modules IMAGE KERNEL TREE: closures of all modules, and some aliases, as modprobe has them.
check_modules() {
    local image=$1 kernel=$2 tree=$3 modules module
    local modprobe=(modprobe -C "$work/no-configuration" -S "$kernel" -d "$tree")
    # modprobe lists soft dependencies as well.
    rm -f "$tree/lib/modules/$kernel/"modules.softdep*
    modules=$(cut -d: -f1 "$tree/lib/modules/$kernel/modules.dep" | sed 's|.*/||; s|\.ko.*||' | tr - _ | sort -u)
    # modprobe writes "insmod FILE options" in its order of loading; lib is a link to usr/lib.
    for module in $modules; do
        "${modprobe[@]}" --show-depends "$module" 2>/dev/null |
            sed -n "s|^insmod $tree/lib/\\([^ ]*\\).*|$module usr/lib/\\1|p"
    done | sort >"$work/closures-expected"
    # shellcheck disable=SC2086
    "$dump" closure "$image" "$kernel" $modules | sort >"$work/closures-got"
    compare "closures of $(basename "$image")" "$work/closures-expected" "$work/closures-got"

    local modaliases=(
        pci:v0000FB5Dd00000A0Asv00000000sd00000000bc01sc08i02
        pci:v00001B36d00000010sv00001AF4sd00001100bc01sc08i02
        pci:v00001AF4d00001042sv00001AF4sd00001100bc01sc00i00
        virtio:d00000002v00001AF4
        virtio:d00000001v00001AF4
        usb:v1D6Bp0002d0601dc09dsc00dp01ic09isc00ip00in00
        pci:v00008086d00002922sv00001AF4sd00001100bc01sc06i01
        scsi:t-0x00
        fs-xfs
        nothing:of-this-kind)
    for module in "${modaliases[@]}"; do
        "${modprobe[@]}" -R "$module" 2>/dev/null | sed "s|^|$module |"
    done | sort -u >"$work/aliases-expected"
    "$dump" alias "$image" "$kernel" "${modaliases[@]}" | sort >"$work/aliases-got"
    compare "aliases of $(basename "$image")" "$work/aliases-expected" "$work/aliases-got"
}

# Unpacks an image that has at most an early archive and one compressed one.
unpack() {
    local image=$1 tree=$2 skipcpio=/usr/lib/dracut/skipcpio
    mkdir "$tree"
    "$skipcpio" "$image" >"$work/main" 2>/dev/null
    cpio -t --quiet <"$image" >/dev/null 2>&1 &&
        (cd "$tree" && cpio -idm --quiet --no-absolute-filenames <"$image" 2>/dev/null)
    case $(head -c 2 "$work/main" | od -An -tx1 | tr -d ' ') in
        1f8b) gzip -dc ;;
        28b5) zstd -dcq ;;
        fd37) xz -dc ;;
        3037) cat ;;
        *) skip "$image is packed in a way this script does not know" ;;
    esac <"$work/main" | (cd "$tree" && cpio -idmu --quiet --no-absolute-filenames)
}

for tool in dracut cpio lsinitrd modprobe depmod gzip bzip2 xz zstd lz4; do
    command -v "$tool" >/dev/null || skip "no $tool"
done
kernel=$(basename "$(ls -d /lib/modules/*/modules.dep 2>/dev/null | head -n 1 | xargs -r dirname)")
[[ $kernel ]] || skip "no kernel in /lib/modules"

timeout 600 dracut --force --no-hostonly --no-early-microcode --no-compress "$work/plain" "$kernel" \
    >"$work/dracut.log" 2>&1 || { cat "$work/dracut.log"; skip "dracut built no image"; }
mkdir "$work/tree"
(cd "$work/tree" && cpio -idm --quiet --no-absolute-filenames <"$work/plain")
list_tree "$work/tree" >"$work/expected"

mkdir -p "$work/early/kernel/x86/microcode"
head -c 30000 /dev/urandom >"$work/early/kernel/x86/microcode/GenuineIntel.bin"
(cd "$work/early" && find . -mindepth 1 | sort | cpio -o -H newc --quiet) >"$work/early.cpio"
list_tree "$work/early" | sort -m - "$work/expected" >"$work/expected-early"

pack() {
    case $1 in
        plain) cat ;;
        gzip) gzip -1 ;;
        bzip2) bzip2 -1 ;;
        xz) xz -0 --check=crc32 --lzma2=preset=0,dict=1MiB ;;
        lzma) lzma -0 ;;
        zstd) zstd -q -3 ;;
        lz4) lz4 -q -l -1 ;;
    esac
}
entries=$(cpio -t --quiet <"$work/plain" | wc -l)
for format in plain gzip bzip2 xz lzma zstd lz4; do
    [[ $format == plain ]] || pack "$format" <"$work/plain" >"$work/$format"
    cat "$work/early.cpio" "$work/$format" >"$work/with-early"
    {
        echo "segment 0 uncompressed 4"
        echo "segment $(stat -c %s "$work/early.cpio") ${format/plain/uncompressed} $entries"
        cat "$work/expected-early"
    } | sort >"$work/all-expected"
    "$dump" files "$work/with-early" | sort >"$work/got"
    compare "segments and files behind an early archive, $format" "$work/all-expected" "$work/got"
    head -c "$(($(stat -c %s "$work/$format") / 2))" "$work/$format" >"$work/cut"
    if "$dump" files "$work/cut" >/dev/null 2>&1; then
        echo "DIFFERS: a cut $format image is taken for whole"
        failures=$((failures + 1))
    fi
    [[ $format == plain || $format == zstd ]] || rm -f "$work/$format"
done

lsinitrd "$work/zstd" 2>/dev/null | awk 'length($1) == 10 && $1 ~ /^[-dlcbps][-rwxsStT]+$/ { print ($1 ~ /^[cb]/) ? $10 : $9 }' |
    sed 's|^\./||' | grep -vx '\.' | sort -u >"$work/lsinitrd"
cut -d' ' -f1 "$work/expected" | sort -u >"$work/names"
compare "names as lsinitrd has them" "$work/lsinitrd" "$work/names"

check_modules "$work/zstd" "$kernel" "$work/tree"

# Without its file the driver is missing for kmod and for us, with and without the index knowing.
find "$work/tree" -name 'nvme.ko*' -delete
(cd "$work/tree" && find . | sort | cpio -o -H newc --quiet) >"$work/lacking"
if ! "$dump" closure "$work/lacking" "$kernel" nvme | grep -q MISSING; then
    echo "DIFFERS: an image without nvme.ko has nvme"
    failures=$((failures + 1))
fi
depmod -b "$work/tree" "$kernel"
(cd "$work/tree" && find . | sort | cpio -o -H newc --quiet) >"$work/lacking"
if ! "$dump" closure "$work/lacking" "$kernel" nvme | grep -q MISSING ||
    modprobe -C "$work/no-configuration" -S "$kernel" -d "$work/tree" --show-depends nvme >/dev/null 2>&1; then
    echo "DIFFERS: an image without nvme.ko has nvme"
    failures=$((failures + 1))
fi

count=0
while (($# >= 2)); do
    count=$((count + 1))
    unpack "$1" "$work/other-$count"
    list_tree "$work/other-$count" >"$work/expected"
    "$dump" files "$1" | grep -v '^segment ' | sort >"$work/got"
    compare "files of $1" "$work/expected" "$work/got"
    check_modules "$1" "$2" "$work/other-$count"
    shift 2
done

((failures == 0)) || { echo "$failures differences"; exit 1; }
