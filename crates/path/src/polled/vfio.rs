//! VFIO: the kernel's way to give a device to a process. `Documentation/driver-api/vfio.rst`, `linux/vfio.h`.

use std::{
    fs::{File, OpenOptions},
    io,
    os::{
        fd::{AsRawFd, FromRawFd},
        unix::fs::FileExt,
    },
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use super::iova::Addresses;

const fn request(number: u64) -> u64 {
    ((b';' as u64) << 8) | (100 + number)
}

const GET_API_VERSION: u64 = request(0);
const CHECK_EXTENSION: u64 = request(1);
const SET_IOMMU: u64 = request(2);
const GROUP_GET_STATUS: u64 = request(3);
const GROUP_SET_CONTAINER: u64 = request(4);
const GROUP_GET_DEVICE: u64 = request(6);
const DEVICE_GET_REGION: u64 = request(8);
const IOMMU_GET_INFO: u64 = request(12);
const IOMMU_MAP: u64 = request(13);
const IOMMU_UNMAP: u64 = request(14);
/// Version 2 of the type 1 IOMMU.
const TYPE_1: libc::c_ulong = 3;
/// No IOMMU at all.
const NO_IOMMU: libc::c_ulong = 8;
const GROUP_VIABLE: u32 = 1;
const READ_AND_WRITE: u32 = 3;
const HAS_CAPABILITIES: u32 = 2;
const CAPABILITY_RANGES: u16 = 1;
/// Index of the first base address register.
const REGISTERS: u32 = 0;
/// Index of the configuration space.
const CONFIGURATION: u32 = 7;

#[repr(C)]
struct GroupStatus {
    argsz: u32,
    flags: u32,
}

#[repr(C)]
#[derive(Default)]
struct RegionInfo {
    argsz: u32,
    flags: u32,
    index: u32,
    capabilities: u32,
    size: u64,
    offset: u64,
}

#[repr(C)]
struct Map {
    argsz: u32,
    flags: u32,
    memory: u64,
    at: u64,
    size: u64,
}

#[repr(C)]
struct Unmap {
    argsz: u32,
    flags: u32,
    at: u64,
    size: u64,
}

/// Asks the kernel; the argument is a number or the address of a structure.
fn ask(file: &File, request: u64, argument: u64) -> io::Result<i32> {
    // SAFETY: every caller passes a number, or the address of a structure of the size that it names in `argsz`.
    let answer = unsafe { libc::ioctl(file.as_raw_fd(), request as _, argument) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

fn address<T>(structure: &mut T) -> u64 {
    std::ptr::from_mut(structure) as u64
}

/// A container with one group in it: what the device can reach.
#[derive(Debug)]
pub(super) struct Container {
    file: Arc<File>,
    addresses: Mutex<Addresses>,
}

/// A device that this process drives. The kernel resets it when the last descriptor is closed.
#[derive(Debug)]
pub(super) struct Device {
    file: File,
    _group: File,
    container: Arc<File>,
}

/// Where a part of a device lies in its file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Region {
    pub offset: u64,
    pub bytes: u64,
}

/// Why a device cannot be had.
#[derive(Debug)]
pub(super) enum Refusal {
    /// A system call failed.
    Io(&'static str, PathBuf, io::Error),
    /// Other devices of the group are still with the kernel.
    NotViable,
    /// The kernel's VFIO lacks what is needed.
    NoSuchIommu,
}

impl Device {
    /// Opens the device of a group. Without an IOMMU, `no_iommu` says so.
    pub fn open(dev: &Path, group: &str, function: &str, no_iommu: bool) -> Result<Self, Refusal> {
        let folder = dev.join("vfio");
        let container = open(&folder.join("vfio"))?;
        let name = if no_iommu { format!("noiommu-{group}") } else { group.to_owned() };
        let at = folder.join(name);
        let group = open(&at)?;
        let failed = |source| Refusal::Io("taking", at.clone(), source);
        let mut status = GroupStatus { argsz: size_of::<GroupStatus>() as u32, flags: 0 };
        ask(&group, GROUP_GET_STATUS, address(&mut status)).map_err(failed)?;
        if status.flags & GROUP_VIABLE == 0 {
            return Err(Refusal::NotViable);
        }
        let kind = if no_iommu { NO_IOMMU } else { TYPE_1 };
        let version = ask(&container, GET_API_VERSION, 0).map_err(failed)?;
        if version != 0 || ask(&container, CHECK_EXTENSION, kind).map_err(failed)? == 0 {
            return Err(Refusal::NoSuchIommu);
        }
        let mut descriptor = container.as_raw_fd();
        ask(&group, GROUP_SET_CONTAINER, address(&mut descriptor)).map_err(failed)?;
        ask(&container, SET_IOMMU, kind).map_err(failed)?;
        let name = std::ffi::CString::new(function).map_err(|error| failed(error.into()))?;
        let device = ask(&group, GROUP_GET_DEVICE, name.as_ptr() as u64).map_err(failed)?;
        // SAFETY: the kernel made this descriptor for us just now.
        let file = unsafe { File::from_raw_fd(device) };
        close_on_exec(&file).map_err(failed)?;
        Ok(Self { file, _group: group, container: Arc::new(container) })
    }

    /// What the device can reach.
    pub fn container(&self) -> io::Result<Container> {
        let ranges = ranges(&self.container)?;
        Ok(Container { file: Arc::clone(&self.container), addresses: Mutex::new(Addresses::new(ranges)) })
    }

    fn region(&self, index: u32) -> io::Result<Region> {
        let mut info = RegionInfo { argsz: size_of::<RegionInfo>() as u32, index, ..RegionInfo::default() };
        ask(&self.file, DEVICE_GET_REGION, address(&mut info))?;
        Ok(Region { offset: info.offset, bytes: info.size })
    }

    /// Where the registers are.
    pub fn registers(&self) -> io::Result<Region> {
        self.region(REGISTERS)
    }

    /// The file of its regions.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Lets the device read and write memory, or not.
    pub fn master(&self, on: bool) -> io::Result<()> {
        super::resource::set_master(&self.file, self.region(CONFIGURATION)?.offset, on)
    }
}

fn open(path: &Path) -> Result<File, Refusal> {
    let file = OpenOptions::new().read(true).write(true).open(path);
    file.map_err(|source| Refusal::Io("opening", path.to_owned(), source))
}

fn close_on_exec(file: &File) -> io::Result<()> {
    Ok(rustix::io::fcntl_setfd(file, rustix::io::FdFlags::CLOEXEC)?)
}

impl Container {
    fn lock(&self) -> std::sync::MutexGuard<'_, Addresses> {
        self.addresses.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Pins memory and lets the device reach it; returns its address there.
    pub fn map(&self, memory: *mut u8, size: u64) -> io::Result<u64> {
        let at = self.lock().take(size).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOSPC))?;
        let argsz = size_of::<Map>() as u32;
        let mut map = Map { argsz, flags: READ_AND_WRITE, memory: memory as u64, at, size };
        match ask(&self.file, IOMMU_MAP, address(&mut map)) {
            Ok(_) => Ok(at),
            Err(error) => {
                self.lock().release(at);
                Err(error)
            }
        }
    }

    /// Takes memory back.
    pub fn unmap(&self, at: u64, size: u64) {
        let mut unmap = Unmap { argsz: size_of::<Unmap>() as u32, flags: 0, at, size };
        // What stays mapped is never given away a second time.
        if ask(&self.file, IOMMU_UNMAP, address(&mut unmap)).is_ok() {
            self.lock().release(at);
        }
    }
}

/// What an IOMMU of this kind can always reach: 39 bits without the window of interrupts.
fn usual_ranges() -> Vec<(u64, u64)> {
    vec![(0, 0xfedf_ffff), (0xfef0_0000, (1 << 39) - 1)]
}

fn ranges(container: &File) -> io::Result<Vec<(u64, u64)>> {
    let mut words = [0_u32; 1024];
    words[0] = size_of_val(&words) as u32;
    ask(container, IOMMU_GET_INFO, address(&mut words))?;
    // SAFETY: the same memory, as bytes.
    let bytes = unsafe { std::slice::from_raw_parts(words.as_ptr().cast::<u8>(), size_of_val(&words)) };
    Ok(ranges_in(bytes).filter(|ranges| !ranges.is_empty()).unwrap_or_else(usual_ranges))
}

/// The ranges in an answer of `VFIO_IOMMU_GET_INFO`: a chain of capabilities behind its fixed part.
fn ranges_in(answer: &[u8]) -> Option<Vec<(u64, u64)>> {
    let half = |at: usize| Some(u16::from_ne_bytes(answer.get(at..at + 2)?.try_into().ok()?));
    let word = |at: usize| Some(u32::from_ne_bytes(answer.get(at..at + 4)?.try_into().ok()?));
    let wide = |at: usize| Some(u64::from_ne_bytes(answer.get(at..at + 8)?.try_into().ok()?));
    if word(4)? & HAS_CAPABILITIES == 0 {
        return None;
    }
    let mut at = word(16)? as usize;
    for _ in 0..16 {
        if at == 0 {
            return None;
        }
        if half(at)? == CAPABILITY_RANGES {
            let count = word(at + 8)? as usize;
            return (0..count).map(|index| Some((wide(at + 16 + index * 16)?, wide(at + 24 + index * 16)?))).collect();
        }
        at = word(at + 4)? as usize;
    }
    None
}

/// A word of the configuration space.
pub(super) fn read_half(file: &File, at: u64) -> io::Result<u16> {
    let mut bytes = [0; 2];
    file.read_exact_at(&mut bytes, at)?;
    Ok(u16::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_the_kernels() {
        assert_eq!((GET_API_VERSION, IOMMU_MAP, DEVICE_GET_REGION), (0x3b64, 0x3b71, 0x3b6c));
        assert_eq!((size_of::<Map>(), size_of::<Unmap>(), size_of::<RegionInfo>()), (32, 24, 32));
    }

    #[test]
    fn ranges_are_found_in_the_chain() {
        let mut answer = vec![0_u8; 128];
        answer[4..8].copy_from_slice(&3_u32.to_ne_bytes());
        answer[16..20].copy_from_slice(&32_u32.to_ne_bytes());
        answer[32..34].copy_from_slice(&3_u16.to_ne_bytes());
        answer[36..40].copy_from_slice(&48_u32.to_ne_bytes());
        answer[48..50].copy_from_slice(&1_u16.to_ne_bytes());
        answer[56..60].copy_from_slice(&2_u32.to_ne_bytes());
        for (at, value) in [(64, 0_u64), (72, 0xfedf_ffff), (80, 0xfef0_0000), (88, (1 << 39) - 1)] {
            answer[at..at + 8].copy_from_slice(&value.to_ne_bytes());
        }
        assert_eq!(ranges_in(&answer), Some(usual_ranges()));
        answer[4] = 1;
        assert_eq!(ranges_in(&answer), None, "no capabilities");
        answer[4] = 3;
        answer[16..20].copy_from_slice(&4000_u32.to_ne_bytes());
        assert_eq!(ranges_in(&answer), None, "a chain that leads outside");
    }
}
