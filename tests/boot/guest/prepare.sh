# SPDX-License-Identifier: MIT
# Run once in the new guest, on virtio, to finish "EL as installed".
kver=$(uname -r)
image=/boot/initramfs-$kver.img
# Debian's lvm2 has no vgimportdevices link.
step vgimportdevices lvm vgimportdevices rl || exit 1
step devices cat /etc/lvm/devices/system.devices
step dracut dracut --hostonly --force "$image" "$kver" || exit 1
# Labels as EL has them, so that losing one shows. This kernel runs without SELinux: to it they are plain xattrs.
label() { setfattr -n security.selinux -v "system_u:object_r:$1:s0" "${@:2}"; }
step label label boot_t "$image" /boot/loader/entries/*.conf || exit 1
step label label lvm_etc_t /etc/lvm/lvm.conf /etc/lvm/devices/system.devices || exit 1
step label label etc_t /etc/fstab /etc/default/grub /etc/kernel/cmdline || exit 1
