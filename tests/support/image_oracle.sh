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
            type["d"] = "40"; type["f"] = "100"; type["l"] = "120"
            type["c"] = "20"; type["b"] = "60"; type["p"] = "10"; type["s"] = "140"
            mode = substr($2, 2); while (length(mode) < 4) mode = "0" mode
            # type and permissions meet in one octal number: 100 + 0644 -> 100644
            size = ($3 == "f" || $3 == "l") ? $4 : 0
            printf "%s %s%s %s%s\n", $1, type[$3], mode, size, ($3 == "l") ? " " $5 : ""
        }' | sort
}

# check_modules IMAGE KERNEL TREE: closures of all modules, and some aliases, as modprobe has them.
check_modules() {
    local image=$1 kernel=$2 tree=$3 modules module line
    local modprobe=(modprobe -C "$work/no-configuration" -S "$kernel" -d "$tree")
    # modprobe lists soft dependencies as well.
    rm -f "$tree/lib/modules/$kernel/"modules.softdep*
    modules=$(cut -d: -f1 "$tree/lib/modules/$kernel/modules.dep" | sed 's|.*/||; s|\.ko.*||' | tr - _ | sort -u)
    for module in $modules; do
        printf '%s:' "$module"
        "${modprobe[@]}" --show-depends "$module" 2>"$work/modprobe-errors" |
            sed -n 's|^insmod ||p' | awk '{ print $1 }' | xargs -r realpath | sed "s|^$tree/||" | sort -u |
            while read -r line; do printf ' %s' "$line"; done
        echo
    done >"$work/closures-expected"
    # shellcheck disable=SC2086
    "$dump" closure "$image" "$kernel" $modules >"$work/closures-got"
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
        printf '%s:' "$module"
        "${modprobe[@]}" -R "$module" 2>/dev/null | sort -u |
            while read -r line; do printf ' %s' "$line"; done
        echo
    done >"$work/aliases-expected"
    "$dump" alias "$image" "$kernel" "${modaliases[@]}" >"$work/aliases-got"
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
for format in plain gzip bzip2 xz lzma zstd lz4; do
    [[ $format == plain ]] || pack "$format" <"$work/plain" >"$work/$format"
    "$dump" files "$work/$format" | sort >"$work/got"
    compare "files, $format" "$work/expected" "$work/got"
    cat "$work/early.cpio" "$work/$format" >"$work/$format-early"
    "$dump" files "$work/$format-early" | sort >"$work/got"
    compare "files behind an early archive, $format" "$work/expected-early" "$work/got"
    # Two archives of four entries and of the image's own number.
    { echo "0 uncompressed 4"; echo "$(stat -c %s "$work/early.cpio") $format $(cpio -t --quiet <"$work/plain" | wc -l)"; } |
        sed 's/ plain / uncompressed /' >"$work/segments-expected"
    "$dump" segments "$work/$format-early" >"$work/segments-got"
    compare "segments, $format" "$work/segments-expected" "$work/segments-got"
    head -c "$(($(stat -c %s "$work/$format") / 2))" "$work/$format" >"$work/cut"
    if "$dump" files "$work/cut" >/dev/null 2>&1; then
        echo "DIFFERS: a cut $format image is taken for whole"
        failures=$((failures + 1))
    fi
    rm -f "$work/cut" "$work/$format-early"
    [[ $format == plain || $format == zstd ]] || rm -f "$work/$format"
done

lsinitrd "$work/zstd" 2>/dev/null | awk '/^[-dlcbps][-rwxsStT]{9} / { print ($1 ~ /^[cb]/) ? $10 : $9 }' |
    sed 's|^\./||' | grep -vx '\.' | sort -u >"$work/lsinitrd"
cut -d' ' -f1 "$work/expected" | sort -u >"$work/names"
compare "names as lsinitrd has them" "$work/lsinitrd" "$work/names"

check_modules "$work/zstd" "$kernel" "$work/tree"

# Without its file the driver is missing for kmod and for us, with and without the index knowing.
find "$work/tree" -name 'nvme.ko*' -delete
(cd "$work/tree" && find . | sort | cpio -o -H newc --quiet) >"$work/lacking"
if "$dump" closure "$work/lacking" "$kernel" nvme | grep -vq MISSING; then
    echo "DIFFERS: an image without nvme.ko has nvme"
    failures=$((failures + 1))
fi
depmod -b "$work/tree" "$kernel"
(cd "$work/tree" && find . | sort | cpio -o -H newc --quiet) >"$work/lacking"
if "$dump" closure "$work/lacking" "$kernel" nvme | grep -vq MISSING ||
    modprobe -C "$work/no-configuration" -S "$kernel" -d "$work/tree" --show-depends nvme >/dev/null 2>&1; then
    echo "DIFFERS: an image without nvme.ko has nvme"
    failures=$((failures + 1))
fi

count=0
while (($# >= 2)); do
    count=$((count + 1))
    unpack "$1" "$work/other-$count"
    list_tree "$work/other-$count" >"$work/expected"
    "$dump" files "$1" | sort >"$work/got"
    compare "files of $1" "$work/expected" "$work/got"
    check_modules "$1" "$2" "$work/other-$count"
    shift 2
done

((failures == 0)) || { echo "$failures differences"; exit 1; }
