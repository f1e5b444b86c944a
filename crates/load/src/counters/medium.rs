//! Block devices that are memory.

use std::{os::unix::ffi::OsStrExt, path::Path};

use assay_path::facts::{Block, System};

/// `f_type` of tmpfs and ramfs.
const MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];
/// Drivers whose devices keep their blocks in memory.
const DRIVERS: [&str; 3] = ["zram", "ram", "nullb"];

/// What makes a block device memory, in words; none where it is not known to be.
pub fn memory_beneath(device: &str) -> Option<String> {
    let system = System::default();
    let block = Block::named(&system, device)?;
    block.leaves(&system).iter().find_map(in_memory)
}

fn in_memory(leaf: &Block) -> Option<String> {
    if is_driver(&leaf.name) {
        return Some(format!("{} keeps its blocks in memory", leaf.name));
    }
    let image = leaf.backing_file()?;
    on_tmpfs(Path::new(&image)).then(|| format!("{} lies on {image}, which is in memory", leaf.name))
}

/// One of the drivers' names with a number.
fn is_driver(name: &str) -> bool {
    let digits = DRIVERS.iter().find_map(|driver| name.strip_prefix(driver));
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn on_tmpfs(path: &Path) -> bool {
    !path.as_os_str().as_bytes().is_empty()
        && rustix::fs::statfs(path).is_ok_and(|facts| MEMORY.contains(&(facts.f_type as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_are_known_by_name_and_number() {
        assert!(is_driver("zram0") && is_driver("ram15") && is_driver("nullb1"));
        assert!(!is_driver("zram") && !is_driver("sda") && !is_driver("rampart1") && !is_driver("nvme0n1"));
    }

    #[test]
    fn a_file_system_in_memory_is_known() {
        assert!(!on_tmpfs(Path::new("/proc/self/stat")) && !on_tmpfs(Path::new("")));
        let memory = Path::new("/dev/shm");
        assert!(!memory.is_dir() || on_tmpfs(memory) || std::env::consts::OS != "linux");
    }
}
