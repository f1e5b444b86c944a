#!/bin/sh
# The guest's first program: mounts what programs expect, loads what the host's drives need, and hands over to the
# agent, or to a person.
export PATH=/sbin:/bin HOME=/tmp
busybox mount -t proc proc /proc
busybox mount -t sysfs sys /sys
busybox mount -t devtmpfs dev /dev
exec </dev/console >/dev/console 2>&1
mkdir -p /dev/pts /dev/shm /dev/disk/by-id
busybox mount -t devpts pts /dev/pts
busybox mount -t tmpfs -o mode=1777 shm /dev/shm
busybox mount -t tmpfs run /run
busybox mount -t tmpfs -o mode=1777 tmp /tmp
busybox mount -t tracefs trace /sys/kernel/tracing
mkdir -p /run/lab /run/lvm /run/mdadm /run/lock /etc/lvm
ln -s /proc/self/fd /dev/fd
hostname assay-lab
busybox ip link set lo up

word() { sed -n "s/.*\\b$1=\\([^ ]*\\).*/\\1/p" /proc/cmdline; }

modprobe -a virtio_pci virtio_console virtio_rng 9pnet_virtio 9p crc32c_intel crc32c_generic
modprobe nvme poll_queues="$(word lab.poll_queues)"
modprobe -a nfit nd_pmem nd_btt dax_pmem device_dax
options=trans=virtio,version=9p2000.L,msize=262144,cache=none
busybox mount -t 9p -o "$options" share /share
busybox mount -t 9p -o "$options,ro" host /host
for program in /host/assayer*; do [ -e "$program" ] && cp "$program" /bin/; done

# Whatever is measured here ran on hardware that a program plays; the measuring program says so in its records.
export ASSAY_LAB=1

case $(word lab.mode) in
hello) echo "lab: hello" ;;
shell)
    echo "The lab: /dev/pmem*, /dev/nvme*, folder /share of the host, programs assayer and assayer-db. exit or Ctrl-D ends it."
    cd /tmp
    setsid -c /sbin/dash -i
    ;;
*) agent || echo "lab: the agent ended with exit code $?" ;;
esac
sync
poweroff -f
