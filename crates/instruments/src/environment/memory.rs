//! Memory facts.

use std::fs;

use assay_record::Memory;

use super::read_line;
use crate::counters::Roots;

/// Describes the memory.
pub(super) fn describe(roots: &Roots) -> Memory {
    let info = fs::read_to_string(roots.proc.join("meminfo")).unwrap_or_default();
    let bytes = |key| parse_meminfo(&info, key).unwrap_or(0);
    Memory {
        total_bytes: bytes("MemTotal"),
        // Kernels before 3.14 do not estimate it.
        available_bytes: parse_meminfo(&info, "MemAvailable").unwrap_or_else(|| bytes("MemFree")),
        swap_used_bytes: bytes("SwapTotal").saturating_sub(bytes("SwapFree")),
        transparent_hugepages: chosen(&read_line(&roots.sys.join("kernel/mm/transparent_hugepage/enabled"))),
        memlock_bytes: rustix::process::getrlimit(rustix::process::Resource::Memlock).current.unwrap_or(u64::MAX),
    }
}

/// Bytes of the page cache that wait to be written to a device, or are on the way; 0 where the kernel does not say.
pub fn dirty_bytes(roots: &Roots) -> u64 {
    let info = fs::read_to_string(roots.proc.join("meminfo")).unwrap_or_default();
    ["Dirty", "Writeback"].iter().filter_map(|key| parse_meminfo(&info, key)).fold(0, u64::saturating_add)
}

/// A line of `meminfo` by its key, bytes.
pub fn parse_meminfo(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    let mut fields = line.split_ascii_whitespace();
    let number: u64 = fields.next()?.parse().ok()?;
    match fields.next() {
        Some("kB") => number.checked_mul(1024),
        _ => Some(number),
    }
}

/// The choice in brackets (`always [madvise] never`), or all of it where there are none.
fn chosen(line: &str) -> String {
    let inside = line.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(line, |(word, _)| word).to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn meminfo_is_in_kibibytes() {
        let text = "MemTotal:       16384 kB\nMemAvailable:    1024 kB\nHugePages_Total:       3\n";
        assert_eq!(parse_meminfo(text, "MemTotal"), Some(16 << 20));
        assert_eq!(parse_meminfo(text, "HugePages_Total"), Some(3));
        assert_eq!(parse_meminfo(text, "Mem"), None);
    }

    #[test]
    fn the_setting_in_brackets_counts() {
        assert_eq!(chosen("always [madvise] never"), "madvise");
        assert_eq!(chosen("never"), "never");
        assert_eq!(chosen("]["), "][");
    }

    proptest! {
        #[test]
        fn garbage_does_not_panic(text in "\\PC{0,80}", line in "MemTotal: {0,3}[0-9]{0,24} ?(kB)?") {
            let _ = (parse_meminfo(&text, "MemTotal"), parse_meminfo(&line, "MemTotal"), chosen(&text));
        }
    }
}
