#!/bin/sh
# SPDX-License-Identifier: MIT
# Stands in for dracut in case guests: reads the configuration in dracut's order, then puts a
# ready-made image where it was told to. usage: dracut [options] IMAGE KERNEL
confdir=/etc/dracut.conf.d
while [ $# -gt 2 ]; do
  case "$1" in
    --confdir) confdir=$2; shift ;;
  esac
  shift
done
image=$1 kernel=$2
[ -d "/lib/modules/$kernel" ] || { echo "dracut: no modules for $kernel" >&2; exit 1; }
hostonly='' add_drivers=''
[ -f /etc/dracut.conf ] && . /etc/dracut.conf
for name in $( (ls "$confdir"; ls /usr/lib/dracut/dracut.conf.d) | sort -u); do
  if [ -f "$confdir/$name" ]; then . "$confdir/$name"; else . "/usr/lib/dracut/dracut.conf.d/$name"; fi
done
kind=generic
if [ "$hostonly" = yes ]; then
  case " $add_drivers " in *" nvme "*) ;; *) kind=hostonly ;; esac
fi
echo "dracut: *** Creating image file '$image' ($kind) for $kernel ***" >&2
cp "/usr/share/stand-in/$kind-$kernel.img" "$image"
