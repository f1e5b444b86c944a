//! Volumes of a cloud: for how long more was asked of them than they may serve, as they count it themselves.
//!
//! Amazon's EBS volumes are NVMe devices with a log page of the vendor's, 0xD0. It counts the microseconds in which the demand
//! exceeded what the volume, or the instance that it is attached to, is allowed, bursts included: a volume whose credits are
//! used up exceeds its base. (Amazon EBS User Guide, "Amazon EBS detailed performance statistics"; the layout is that of the
//! `amzn` plug-in of nvme-cli.) It needs `CAP_SYS_ADMIN`. Other clouds' volumes say nothing of the kind.

use std::{
    collections::BTreeMap,
    fs::{File, read_to_string},
    os::fd::AsRawFd,
    path::PathBuf,
};

use assay_record::{Figure, Method, Unit};

use super::roots::Roots;
use crate::environment::own_provenance;

/// Model of the volumes, as the controller names itself.
const MODEL: &str = "Amazon Elastic Block Store";
/// `NVME_IOCTL_ADMIN_CMD` of linux/nvme_ioctl.h: `_IOWR('N', 0x41, struct nvme_passthru_cmd)`.
const NVME_IOCTL_ADMIN_CMD: u64 = 0xC048_4E41;
const GET_LOG_PAGE: u8 = 0x02;
const LOG_PAGE: u32 = 0xD0;
const PAGE_BYTES: usize = 4096;
/// The page's first word.
const MAGIC: u32 = 0x3C23_B510;
/// Where the four counters begin: after the magic word, a reserved one, and six counters of operations, bytes and time.
const EXCEEDED_AT: usize = 8 + 6 * 8;
/// What they count, in their order.
pub const EXCEEDED: [&str; 4] = ["volume_operations_s", "volume_bytes_s", "instance_operations_s", "instance_bytes_s"];

/// Microseconds since the volume was attached, in the order of [`EXCEEDED`].
type Exceeded = [u64; 4];

/// The volumes among some devices: kernel name and node.
#[derive(Clone, Debug, Default)]
pub(super) struct Volumes(Vec<(String, PathBuf)>);

/// Their counters at one moment, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct VolumeSample(BTreeMap<String, Exceeded>);

impl Volumes {
    pub fn among(names: &[String], roots: &Roots) -> Self {
        let model = |name: &str| read_to_string(roots.sys.join("class/block").join(name).join("device/model"));
        let volumes = names.iter().filter(|name| model(name).is_ok_and(|model| model.trim() == MODEL));
        Self(volumes.map(|name| (name.clone(), roots.root.join("dev").join(name))).collect())
    }

    /// Those that answer.
    pub fn sample(&self) -> VolumeSample {
        let read =
            |(name, node): &(String, PathBuf)| Some((name.clone(), exceeded(&log_page(&File::open(node).ok()?)?)?));
        VolumeSample(self.0.iter().filter_map(read).collect())
    }
}

impl VolumeSample {
    /// Seconds until a later sample in which a device was asked for more than is allowed; empty where it does not say.
    pub fn held_up(&self, later: &Self, name: &str) -> BTreeMap<String, Figure> {
        let Some((before, after)) = self.0.get(name).zip(later.0.get(name)) else { return BTreeMap::new() };
        let seconds = before.iter().zip(after).map(|(before, after)| after.saturating_sub(*before) as f64 / 1e6);
        let figure = |seconds| Figure::new(seconds, Unit::Seconds, own_provenance(), Method::KernelAccounting);
        EXCEEDED.iter().zip(seconds).map(|(what, seconds)| ((*what).to_owned(), figure(seconds))).collect()
    }
}

/// The counters of a log page; none where it is another page.
fn exceeded(page: &[u8]) -> Option<Exceeded> {
    let magic = u32::from_le_bytes(page.get(..4)?.try_into().ok()?);
    if magic != MAGIC {
        return None;
    }
    let counter = |index: usize| {
        let at = EXCEEDED_AT + index * 8;
        Some(u64::from_le_bytes(page.get(at..at + 8)?.try_into().ok()?))
    };
    Some([counter(0)?, counter(1)?, counter(2)?, counter(3)?])
}

/// `struct nvme_passthru_cmd`.
#[repr(C)]
#[derive(Default)]
struct Command {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    dwords_2_3: [u32; 2],
    metadata: u64,
    address: u64,
    metadata_bytes: u32,
    bytes: u32,
    dwords_10_15: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

const _: () = assert!(size_of::<Command>() == 72);

/// The vendor's page; none where the device or this user's rights do not give it.
fn log_page(device: &File) -> Option<Vec<u8>> {
    let mut page = vec![0_u8; PAGE_BYTES];
    let words = (PAGE_BYTES / 4 - 1) as u32;
    let mut command = Command {
        opcode: GET_LOG_PAGE,
        namespace: 1,
        address: page.as_mut_ptr() as u64,
        bytes: PAGE_BYTES as u32,
        dwords_10_15: [LOG_PAGE | words << 16, 0, 0, 0, 0, 0],
        ..Command::default()
    };
    // SAFETY: the device is open, the command has the kernel's layout, and the page is as long as the command says.
    let status = unsafe { libc::ioctl(device.as_raw_fd(), NVME_IOCTL_ADMIN_CMD as _, &raw mut command) };
    (status == 0).then_some(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(exceeded: Exceeded) -> Vec<u8> {
        let mut page = vec![0; PAGE_BYTES];
        page[..4].copy_from_slice(&MAGIC.to_le_bytes());
        for (index, value) in [7, 8, 9, 10, 11, 12].into_iter().chain(exceeded).enumerate() {
            let value: u64 = value;
            page[8 + index * 8..16 + index * 8].copy_from_slice(&value.to_le_bytes());
        }
        page
    }

    #[test]
    fn seconds_beyond_what_is_allowed_are_those_of_the_window() {
        let sample = |micros| VolumeSample([("nvme1n1".to_owned(), exceeded(&page(micros)).expect("a page"))].into());
        let (before, after) = (sample([1_000_000, 0, 5, 0]), sample([4_500_000, 0, 5, 20_000]));
        let held = before.held_up(&after, "nvme1n1");
        let seconds: Vec<f64> = EXCEEDED.iter().map(|what| held[*what].value).collect();
        assert_eq!(seconds, [3.5, 0.0, 0.0, 0.02]);
        assert!(before.held_up(&after, "nvme0n1").is_empty());
    }

    #[test]
    fn another_page_or_half_of_one_says_nothing() {
        assert_eq!(exceeded(&[0; PAGE_BYTES]), None);
        assert_eq!(exceeded(&page([1; 4])[..80]), None);
        assert_eq!(exceeded(&[]), None);
    }

    #[test]
    fn a_volume_is_known_by_its_model() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let roots = Roots { sys: folder.path().to_owned(), root: folder.path().to_owned(), ..Roots::default() };
        for (name, model) in [("nvme0n1", "Amazon EC2 NVMe Instance Storage"), ("nvme1n1", MODEL)] {
            let at = folder.path().join("class/block").join(name).join("device");
            std::fs::create_dir_all(&at).expect("made");
            std::fs::write(at.join("model"), format!("{model}  \n")).expect("written");
        }
        let volumes = Volumes::among(&["nvme0n1", "nvme1n1", "vda"].map(str::to_owned), &roots);
        assert_eq!(volumes.0.len(), 1);
        // Its node is not there: nothing is told, and nothing fails.
        assert!(volumes.sample().0.is_empty());
    }
}
