//! Signatures that file systems, volume managers and partition tables leave on a device.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
    process::{Command, Output, Stdio},
};

/// Something that is recognised on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Whose it is.
    pub name: &'static str,
    /// Where it was seen, bytes.
    pub offset: u64,
}

/// Magic bytes at a fixed place.
struct Magic(&'static str, u64, &'static [u8]);

const FROM_START: &[Magic] = &[
    Magic("xfs", 0, b"XFSB"),
    Magic("btrfs", 65_536 + 64, b"_BHRfS_M"),
    Magic("f2fs", 1024, &[0x10, 0x20, 0xF5, 0xF2]),
    Magic("vfat", 54, b"FAT12   "),
    Magic("vfat", 54, b"FAT16   "),
    Magic("vfat", 82, b"FAT32   "),
    Magic("exfat", 3, b"EXFAT   "),
    Magic("ntfs", 3, b"NTFS    "),
    Magic("BitLocker", 3, b"-FVE-FS-"),
    Magic("LUKS", 0, b"LUKS\xBA\xBE"),
    Magic("LUKS", 16_384, b"SKUL\xBA\xBE"),
    Magic("LUKS", 32_768, b"SKUL\xBA\xBE"),
    Magic("swap", 4096 - 10, b"SWAPSPACE2"),
    Magic("swap", 8192 - 10, b"SWAPSPACE2"),
    Magic("swap", 16_384 - 10, b"SWAPSPACE2"),
    Magic("swap", 65_536 - 10, b"SWAPSPACE2"),
    Magic("swap", 4096 - 10, b"SWAP-SPACE"),
    Magic("a suspended system", 4096 - 10, b"S1SUSPEND"),
    Magic("a suspended system", 4096 - 10, b"S2SUSPEND"),
    Magic("a suspended system", 4096 - 10, b"ULSUSPEND"),
    Magic("a suspended system", 4096 - 10, b"LINHIB0001"),
    Magic("md RAID 1.1", 0, MD),
    Magic("md RAID 1.2", 4096, MD),
    Magic("GPT", 512, b"EFI PART"),
    Magic("GPT", 4096, b"EFI PART"),
    Magic("bcache", 4096 + 24, &BCACHE),
    Magic("bcachefs", 4096 + 24, &BCACHEFS),
    Magic("iso9660", 32_769, b"CD001"),
    Magic("udf", 32_769, b"BEA01"),
    Magic("squashfs", 0, b"hsqs"),
    Magic("erofs", 1024, &[0xE2, 0xE1, 0xF5, 0xE0]),
    Magic("jfs", 32_768, b"JFS1"),
    Magic("reiserfs", 65_536 + 52, b"ReIsEr"),
    Magic("ocfs2", 8192, b"OCFSV2"),
    Magic("gfs2", 65_536, &[0x01, 0x16, 0x19, 0x70, 0x00, 0x00, 0x00, 0x01]),
    Magic("Oracle ASM", 32, b"ORCLDISK"),
    Magic("Ceph BlueStore", 0, b"bluestore block device"),
    Magic("VMFS", 0x10_0000, &[0x0D, 0xD0, 0x01, 0xC0]),
    Magic("Stratis", 512 + 4, b"!Stra0tis\x86\xFF\x02^\x41rh"),
    Magic("VDO", 0, b"dmvdo001"),
    Magic("dm-integrity", 0, b"integrt\0"),
    Magic("dm-verity", 0, b"verity\0\0"),
    Magic("apfs", 32, b"NXSB"),
];

/// Places counted from the end.
const FROM_END: &[Magic] = &[
    Magic("GPT (its copy)", 512, b"EFI PART"),
    Magic("GPT (its copy)", 4096, b"EFI PART"),
    Magic("Intel RAID", 1024, b"Intel Raid ISM Cfg Sig. "),
    Magic("DDF RAID", 512, &[0xDE, 0x11, 0xDE, 0x11]),
];

const MD: &[u8] = &[0xFC, 0x4E, 0x2B, 0xA9];
const MD_BIG_ENDIAN: &[u8] = &[0xA9, 0x2B, 0x4E, 0xFC];
const BCACHE: [u8; 16] =
    [0xC6, 0x85, 0x73, 0xF6, 0x4E, 0x1A, 0x45, 0xCA, 0x82, 0x65, 0xF5, 0x7F, 0x48, 0xBA, 0x6D, 0x81];
const BCACHEFS: [u8; 16] =
    [0xC6, 0x85, 0x73, 0xF6, 0x66, 0xCE, 0x90, 0xA9, 0xD9, 0x6A, 0x60, 0xCF, 0x80, 0x3D, 0xF7, 0xEF];
const ZFS_LABEL: u64 = 256 << 10;

/// What is read of a device: its beginning and its end, as far as signatures lie there.
struct Ends {
    head: Vec<u8>,
    tail: Vec<u8>,
    bytes: u64,
}

const HEAD: u64 = (1 << 20) + 4096;
const TAIL: u64 = 1 << 20;

impl Ends {
    fn read(device: &File) -> io::Result<Self> {
        let bytes = { device }.seek(SeekFrom::End(0))?;
        let tail_at = bytes.saturating_sub(TAIL);
        Ok(Self { head: read_at(device, 0, HEAD)?, tail: read_at(device, tail_at, TAIL)?, bytes })
    }

    /// Bytes at a place, wherever they were kept.
    fn at(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let tail_at = self.bytes - self.tail.len() as u64;
        let (from, part) = if offset >= tail_at { (offset - tail_at, &self.tail) } else { (offset, &self.head) };
        let from = usize::try_from(from).ok()?;
        part.get(from..from.checked_add(length)?)
    }

    fn has(&self, offset: u64, magic: &[u8]) -> bool {
        self.at(offset, magic.len()) == Some(magic)
    }

    fn number(&self, offset: u64) -> Option<u32> {
        Some(u32::from_le_bytes(self.at(offset, 4)?.try_into().ok()?))
    }
}

fn read_at(device: &File, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut device = device;
    device.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    device.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Every signature that is seen on a device (or on an image of one).
///
/// # Errors
/// Where it cannot be read.
pub fn signatures(device: &File) -> io::Result<Vec<Signature>> {
    let ends = Ends::read(device)?;
    let start = FROM_START.iter().filter(|magic| ends.has(magic.1, magic.2));
    let mut found: Vec<_> = start.map(|magic| Signature { name: magic.0, offset: magic.1 }).collect();
    let end = FROM_END.iter().filter_map(|magic| Some((magic.0, ends.bytes.checked_sub(magic.1)?, magic.2)));
    found.extend(end.filter(|(_, at, magic)| ends.has(*at, magic)).map(|(name, offset, _)| Signature { name, offset }));
    found.extend(extended(&ends));
    found.extend(journal_of_extended(&ends));
    found.extend(log_of_xfs(&ends));
    found.extend(partition_table(&ends));
    found.extend(lvm(&ends));
    found.extend(md_at_end(&ends));
    found.extend(zfs(&ends));
    Ok(found)
}

/// Two bytes of magic are few, so the neighbouring fields must make sense as well.
fn extended(ends: &Ends) -> Option<Signature> {
    let plausible = ends.number(1024)? != 0 && ends.number(1048)? <= 6 && ends.number(1100)? <= 1;
    (ends.has(1080, &[0x53, 0xEF]) && plausible).then_some(Signature { name: "ext2, ext3 or ext4", offset: 1080 })
}

/// A journal on a device of its own has a superblock without inodes, and a feature that says what it is.
fn journal_of_extended(ends: &Ends) -> Option<Signature> {
    const JOURNAL_DEVICE: u32 = 8;
    let plausible = ends.number(1048)? <= 6 && ends.number(1024 + 96)? & JOURNAL_DEVICE != 0;
    (ends.has(1080, &[0x53, 0xEF]) && plausible)
        .then_some(Signature { name: "a journal of ext3 or ext4", offset: 1080 })
}

/// A log on a device of its own is a ring of records, of which one begins near its start; each says its version.
fn log_of_xfs(ends: &Ends) -> Option<Signature> {
    const SECTORS: u64 = 512;
    let record = |at: u64| {
        let version = ends.number(at + 8).map(u32::swap_bytes);
        ends.has(at, &[0xFE, 0xED, 0xBA, 0xBE]) && matches!(version, Some(1 | 2))
    };
    let found = (0..SECTORS).map(|sector| sector * 512).find(|&at| record(at));
    found.map(|offset| Signature { name: "a log of xfs", offset })
}

/// A partition table of DOS: its end mark, and at least one entry that can be one.
fn partition_table(ends: &Ends) -> Option<Signature> {
    let entry = |index: u64| {
        let entry = ends.at(446 + 16 * index, 16)?;
        let sectors = u32::from_le_bytes(entry[12..16].try_into().ok()?);
        Some((entry[0] == 0 || entry[0] == 0x80) && entry[4] != 0 && sectors != 0)
    };
    let any = (0..4).any(|index| entry(index) == Some(true));
    (ends.has(510, &[0x55, 0xAA]) && any).then_some(Signature { name: "a DOS partition table", offset: 510 })
}

/// The label lies in one of the first four sectors.
fn lvm(ends: &Ends) -> Option<Signature> {
    let label =
        (0..4).map(|sector| sector * 512).find(|&at| ends.has(at, b"LABELONE") && ends.has(at + 24, b"LVM2 001"));
    label.map(|offset| Signature { name: "an LVM physical volume", offset })
}

/// Superblocks of version 1.0 and 0.90 lie near the end.
fn md_at_end(ends: &Ends) -> Option<Signature> {
    let sectors = ends.bytes / 512;
    let one = (sectors.checked_sub(16)? & !7) * 512;
    if ends.has(one, MD) {
        return Some(Signature { name: "md RAID 1.0", offset: one });
    }
    let old = (ends.bytes & !65_535).checked_sub(65_536)?;
    (ends.has(old, MD) || ends.has(old, MD_BIG_ENDIAN)).then_some(Signature { name: "md RAID 0.90", offset: old })
}

/// Four copies of a label, two at each end; each holds a list of names and then a ring of uberblocks.
fn zfs(ends: &Ends) -> Option<Signature> {
    let whole = ends.bytes & !(ZFS_LABEL - 1);
    let labels = [Some(0), Some(ZFS_LABEL), whole.checked_sub(2 * ZFS_LABEL), whole.checked_sub(ZFS_LABEL)];
    let found = labels.into_iter().flatten().find(|&label| has_uberblock(ends, label) || has_pool(ends, label));
    found.map(|offset| Signature { name: "a member of a ZFS pool", offset })
}

fn has_uberblock(ends: &Ends, label: u64) -> bool {
    const LITTLE: [u8; 8] = [0x0C, 0xB1, 0xBA, 0, 0, 0, 0, 0];
    const BIG: [u8; 8] = [0, 0, 0, 0, 0, 0xBA, 0xB1, 0x0C];
    let ring = (0..128).map(|slot| label + (128 << 10) + slot * 1024);
    { ring }.any(|at| ends.has(at, &LITTLE) || ends.has(at, &BIG))
}

fn has_pool(ends: &Ends, label: u64) -> bool {
    let list = ends.at(label + (16 << 10), 112 << 10);
    list.is_some_and(|list| list.windows(9).any(|window| window == b"pool_guid"))
}

/// What `blkid` recognises, where it is installed: it knows more kinds than the table here.
pub(super) fn seen_by_blkid(node: &Path) -> Vec<String> {
    let mut command = Command::new("blkid");
    command.args(["-p", "-o", "value", "-s", "TYPE", "-s", "PTTYPE"]).arg(node).stdin(Stdio::null());
    command.output().map_or_else(|_| Vec::new(), |output| said(&output))
}

/// The kinds in an answer of `blkid`.
fn said(answer: &Output) -> Vec<String> {
    let mut seen: Vec<_> =
        String::from_utf8_lossy(&answer.stdout).lines().map(|line| format!("{line} (blkid)")).collect();
    // 8: it saw more than one kind and cannot decide.
    if answer.status.code() == Some(8) {
        seen.push("several kinds (blkid)".to_owned());
    }
    seen
}

#[cfg(test)]
mod tests;
