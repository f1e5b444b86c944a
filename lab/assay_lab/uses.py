"""Ways in which a device can be in use, each made by a script of the guest's shell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay_lab.qemu import MIB

DRIVE, OTHER = "/dev/nvme0n1", "/dev/nvme1n1"
# What LVM would ask udev to do it does itself.
_LVM = "--config 'activation {udev_sync=0 udev_rules=0} devices {use_devicesfile=0} global {event_activation=0}'"
EXT4 = "mke2fs -q -t ext4 -F -b 4096 -E lazy_itable_init=0,lazy_journal_init=0"
_AT_REST = "i=0; until grep -q clean /sys/block/md9/md/array_state || [ $i = 99 ]; do i=$((i+1)); sleep 0.2; done"
_MIRROR = 'mdadm --create /dev/md9 --run --assume-clean --level=1 --raid-devices=2 "$D" "$E" --metadata'
_END = 1 << 30
# By hand as well: not all that is written here is known to wipefs.
_ZERO = 'dd if=/dev/zero of="$D" bs=1M'
WIPE = f'wipefs -aq "$D" "$E"; {_ZERO} count=2; {_ZERO} count=1 seek={(_END // MIB) - 1} conv=fsync; sync'
_ONE_PARTITION = "printf 'label: gpt\\n,\\n' | sfdisk -q \"$D\""


@dataclass(frozen=True)
class Use:
    """A way in which a device can be in use. Scripts find it as `$D`, and a second drive as `$E`."""

    name: str
    make: str
    said: str
    """Stands in the sentence of the refusal."""
    undo: str = "true"
    device: str = DRIVE
    needs: Sequence[str] = ()


# Mounts are read-only and arrays too: whoever uses the device writes nothing between the two looks at it.
MOUNTED = (
    Use("mounted", f'{EXT4} "$D"; mount -o ro "$D" /mnt/u', "it is mounted at /mnt/u", "umount /mnt/u"),
    Use(
        "mounted-twice",
        f'{EXT4} "$D"; mount -o ro "$D" /mnt/u; mount --bind /mnt/u /mnt/v; umount /mnt/u',
        "it is mounted at /mnt/v",
        "umount /mnt/v",
    ),
    Use(
        "mounted-by-another-node",
        f'{EXT4} "$D"; cp -a "$D" /run/node; mount -o ro /run/node /mnt/u',
        "it is mounted at /mnt/u",
        "umount /mnt/u; rm /run/node",
    ),
    Use(
        "mounted-out-of-sight",
        f'{EXT4} "$D"; busybox unshare -m sh -c \'mount -o ro "$D" /mnt/u; touch /tmp/in; exec sleep 600\' & '
        "echo $! >/tmp/out-of-sight; until [ -e /tmp/in ]; do sleep 0.1; done",
        "the kernel says that it is in exclusive use",
        "kill $(cat /tmp/out-of-sight); rm /tmp/in; sleep 0.5",
    ),
    Use(
        "second-device-of-btrfs",
        'mkfs.btrfs -q -f -d raid1 -m raid1 "$E" "$D"; btrfs device scan "$E" "$D" >/dev/null; mount -o ro "$E" /mnt/u',
        "belongs to the mounted btrfs",
        'umount /mnt/u; btrfs device scan --forget; wipefs -aq "$E"',
        needs=("mkfs.btrfs", "btrfs"),
    ),
    Use(
        "second-device-of-f2fs",
        'mkfs.f2fs -q -f -c "$D" "$E"; mount -t f2fs -o ro "$E" /mnt/u',
        "the kernel says that it is in exclusive use",
        'umount /mnt/u; wipefs -aq "$E"',
        needs=("mkfs.f2fs",),
    ),
    Use(
        "journal-of-ext4",
        f'mke2fs -q -F -O journal_dev -b 4096 "$D"; {EXT4} -J device="$D" "$E"; mount -o ro "$E" /mnt/u',
        "the kernel says that it is in exclusive use",
        'umount /mnt/u; wipefs -aq "$E"',
    ),
    Use(
        "log-of-xfs",
        'mkfs.xfs -q -f -l logdev="$D",size=64m "$E"; mount -t xfs -o ro,logdev="$D" "$E" /mnt/u',
        "the kernel says that it is in exclusive use",
        'umount /mnt/u; wipefs -aq "$E"',
        needs=("mkfs.xfs",),
    ),
)
PARTITIONED = (
    Use("partition", _ONE_PARTITION, "it has partitions: nvme0n1p1", needs=("sfdisk",)),
    Use(
        "mounted-partition",
        f'{_ONE_PARTITION}; {EXT4} "$D"p1; mount -o ro "$D"p1 /mnt/u',
        "its partition nvme0n1p1 is mounted at /mnt/u",
        'umount /mnt/u; wipefs -aq "$D"p1',
        needs=("sfdisk",),
    ),
    Use(
        "loop-device-on-a-partition",
        f'{_ONE_PARTITION}; losetup -r /dev/loop7 "$D"p1',
        "the loop device loop7 is built on it",
        "losetup -d /dev/loop7",
        needs=("sfdisk", "losetup"),
    ),
    Use(
        "partition-of-a-mapped-drive",
        f'{_ONE_PARTITION}; losetup -r /dev/loop7 "$D"',
        "the loop device loop7 is built on it",
        "losetup -d /dev/loop7",
        device=f"{DRIVE}p1",
        needs=("sfdisk", "losetup"),
    ),
    Use("table-without-partitions", "printf 'label: gpt\\n' | sfdisk -q \"$D\"", "signature of GPT", needs=("sfdisk",)),
    Use("table-of-dos", "printf 'label: dos\\n,\\n' | sfdisk -q \"$D\"", "a DOS partition table", needs=("sfdisk",)),
    Use(
        "copy-of-a-lost-table",
        f'{_ONE_PARTITION}; dd if=/dev/zero of="$D" bs=512 count=34 conv=notrunc,fsync; blockdev --rereadpt "$D"',
        "GPT (its copy)",
        needs=("sfdisk",),
    ),
)
ARRAYS = (
    Use("active-array", f"{_MIRROR}=1.2; mdadm --readonly /dev/md9", "the md array md9 is built on it"),
    Use(
        "mounted-array",
        # The array notes on its members that it is at rest a moment after the last write.
        f"{_MIRROR}=1.2; {EXT4} /dev/md9; mount -o ro /dev/md9 /mnt/u; sync; {_AT_REST}",
        "md9, which is built on it, is mounted at /mnt/u",
        "umount /mnt/u",
    ),
    Use("inactive-array", f'{_MIRROR}=1.2; mdadm -S /dev/md9; mdadm -I "$D"; grep inactive /proc/mdstat', "md array"),
    *(
        Use(f"superblock-{version}", f"{_MIRROR}={version}; mdadm --stop /dev/md9", f"signature of md RAID {version}")
        for version in ("0.90", "1.0", "1.1", "1.2")
    ),
)
_END_ARRAY = 'mdadm --stop --scan; mdadm --zero-superblock "$D" "$E"'
_GROUP = f'lvm pvcreate {_LVM} -qq -y "$D"; lvm vgcreate {_LVM} -qq vg "$D"'
_VOLUME = f"{_GROUP}; lvm lvcreate {_LVM} -qq -y -Wn -Zn -L 64M -n lv vg"
_END_GROUP = f'lvm vgremove {_LVM} -qq -y -ff vg; lvm pvremove {_LVM} -qq -y -ff "$D"'
VOLUMES = (
    Use("physical-volume", f'lvm pvcreate {_LVM} -qq -y "$D"', "signature of an LVM physical volume", _END_GROUP),
    Use("idle-group", _GROUP, "signature of an LVM physical volume", _END_GROUP),
    Use("active-volume", _VOLUME, "the LVM volume dm-0 (vg-lv) is built on it", _END_GROUP),
    Use(
        "mounted-volume",
        f"{_VOLUME}; {EXT4} /dev/dm-0; mount -o ro /dev/dm-0 /mnt/u",
        "dm-0 (vg-lv), which is built on it, is mounted at /mnt/u",
        f"umount /mnt/u; {_END_GROUP}",
    ),
)
_MAP = 'echo "0 2048 linear $D 0" | dmsetup create thing'
MAPPED = (
    Use("mapped", _MAP, "the device dm-0 (thing) is built on it", "dmsetup remove thing"),
    Use("encrypted", f"{_MAP} --uuid CRYPT-LUKS2-x-thing", "the encrypted device dm-0 (thing)", "dmsetup remove thing"),
    Use(
        "loaded-and-not-yet-mapped",
        'dmsetup create thing --notable; echo "0 2048 linear $D 0" | dmsetup load thing',
        "in exclusive use",
        "dmsetup remove thing",
    ),
    Use("loop-device", 'losetup -r /dev/loop7 "$D"', "the loop device loop7 is built on it", "losetup -d /dev/loop7"),
    Use("read-only", 'blockdev --setro "$D"', "it is read-only", 'blockdev --setrw "$D"'),
)
SWAPPED = (
    Use("swap", 'mkswap -q "$D" >/dev/null; swapon "$D"', "it is swapped to", 'swapoff "$D"'),
    Use(
        "swap-file",
        f'{EXT4} "$D"; mount "$D" /mnt/u; dd if=/dev/zero of=/mnt/u/f bs=1M count=16; chmod 600 /mnt/u/f; '
        "mkswap /mnt/u/f; sync; swapon /mnt/u/f; sync",
        "it holds the swap file /mnt/u/f",
        "swapoff /mnt/u/f; umount /mnt/u",
    ),
)


def _bytes(octal: str, at: int) -> str:
    return f"printf '{octal}' | dd of=\"$D\" bs=1 seek={at} conv=notrunc,fsync"


_ZFS, _UBERBLOCK = "signature of a member of a ZFS pool", "\\014\\261\\272\\000\\000\\000\\000\\000"
SIGNATURES = (
    Use("ext4", f'{EXT4} "$D"', "ext4"),
    Use("xfs", 'mkfs.xfs -q -f "$D"', "signature of xfs", needs=("mkfs.xfs",)),
    Use("btrfs", 'mkfs.btrfs -q -f "$E" "$D"', "signature of btrfs", 'wipefs -aq "$E"', needs=("mkfs.btrfs",)),
    Use("f2fs", 'mkfs.f2fs -q -f "$D"', "signature of f2fs", needs=("mkfs.f2fs",)),
    Use("vfat", _bytes("FAT32   ", 82), "signature of vfat"),
    Use("swap-area", 'mkswap -q "$D"', "signature of swap"),
    Use("journal-of-ext4", 'mke2fs -q -F -O journal_dev -b 4096 "$D"', "a journal of ext3 or ext4"),
    Use(
        "log-of-xfs",
        'mkfs.xfs -q -f -l logdev="$D",size=64m "$E"',
        "a log of xfs",
        'wipefs -aq "$E"',
        needs=("mkfs.xfs",),
    ),
    Use("luks", _bytes("LUKS\\272\\276\\000\\002", 0), "signature of LUKS"),
    Use("second-header-of-luks", _bytes("SKUL\\272\\276\\000\\002", 16384), "signature of LUKS"),
    *(
        Use(f"zfs-label-{number}", _bytes(_UBERBLOCK, label + (128 << 10)), _ZFS)
        for number, label in enumerate((0, 256 << 10, _END - (512 << 10), _END - (256 << 10)))
    ),
)
GROUPS: dict[str, tuple[Sequence[Use], str, Sequence[str]]] = {
    "mounted": (MOUNTED, "", ("mke2fs", "module:ext4")),
    "partitioned": (PARTITIONED, 'wipefs -aq "$D"; blockdev --rereadpt "$D"', ("sfdisk",)),
    "arrays": (ARRAYS, _END_ARRAY, ("mdadm", "mke2fs", "module:raid1")),
    "volumes": (VOLUMES, "", ("lvm", "module:dm_mod")),
    "mapped": (MAPPED, "", ("dmsetup", "losetup", "module:dm_mod")),
    "swapped": (SWAPPED, "", ("mkswap", "swapon", "mke2fs")),
    "signatures": (SIGNATURES, "", ("mke2fs",)),
}
