//! The ways to a device's registers and memory: VFIO with an IOMMU, VFIO without one, and plain mappings (UIO).

use std::{
    fs::{File, OpenOptions},
    io,
    os::fd::RawFd,
    path::{Path, PathBuf},
};

use assay_record::Reach;

use super::{
    bus::Bus,
    function::Function,
    physical::Pins,
    registers::{self as register, Registers},
    resource::{Mapped, set_master},
    vfio::{Device, Refusal, Region},
};
use crate::{
    PathError,
    facts::{System, names},
};

/// A way to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BindWay {
    /// VFIO, with an IOMMU that keeps the device to the memory that it was given.
    Vfio,
    /// VFIO, without one.
    NoIommu,
    /// Registers mapped from sysfs, the device bound to `uio_pci_generic`, which stops it when this process ends.
    Generic,
    /// Registers mapped from sysfs, the device without a driver.
    Bare,
}

impl BindWay {
    /// The driver that holds the device meanwhile.
    pub fn driver(self) -> Option<&'static str> {
        match self {
            Self::Vfio | Self::NoIommu => Some("vfio-pci"),
            Self::Generic => Some("uio_pci_generic"),
            Self::Bare => None,
        }
    }

    /// In words, for a list of paths.
    pub fn words(self) -> &'static str {
        match self {
            Self::Vfio => "through VFIO and the IOMMU",
            Self::NoIommu => "through VFIO without an IOMMU: the device can reach all memory",
            Self::Generic => "through uio_pci_generic: the device can reach all memory",
            Self::Bare => "through its registers in sysfs: the device can reach all memory",
        }
    }
}

/// What was decided before anything is touched.
#[derive(Debug)]
pub(super) struct BindPlan {
    /// The way.
    pub way: BindWay,
    pins: Option<Pins>,
}

impl BindPlan {
    /// Tests: a way without pins.
    #[cfg(test)]
    pub fn of(way: BindWay) -> Self {
        Self { way, pins: None }
    }

    /// What must outlive this process until the device is quiet.
    pub fn outlives(&self) -> Option<RawFd> {
        self.pins.as_ref().map(Pins::descriptor)
    }
}

/// A device, open. Dropping it closes it.
#[derive(Debug)]
pub(super) struct Hardware {
    mapped: Mapped,
    kind: HardwareKind,
}

#[derive(Debug)]
enum HardwareKind {
    Vfio(Device),
    Sysfs {
        configuration: File,
        _uio: Option<File>,
    },
    #[cfg(test)]
    None,
}

/// What the machine has.
struct Has {
    group: Option<PathBuf>,
    vfio: bool,
    unsafe_vfio: bool,
    generic: bool,
}

impl Has {
    fn of(system: &System, function: &Function) -> Self {
        let driver = |name: &str| system.sys.join("bus/pci/drivers").join(name).exists();
        let parameter = system.sys.join("module/vfio/parameters/enable_unsafe_noiommu_mode");
        Self {
            group: function.folder(system).join("iommu_group").canonicalize().ok(),
            vfio: driver("vfio-pci"),
            unsafe_vfio: std::fs::read_to_string(parameter).is_ok_and(|text| text.trim() == "Y"),
            generic: driver("uio_pci_generic"),
        }
    }

    fn way(&self, reach: Reach) -> Result<BindWay, (&'static str, &'static str)> {
        let iommu = self.group.is_some();
        match reach {
            Reach::Auto | Reach::Vfio if iommu && self.vfio => Ok(BindWay::Vfio),
            Reach::Auto | Reach::Vfio if iommu => Err(("the driver vfio-pci is not loaded", "modprobe vfio-pci")),
            Reach::Vfio => Err((
                "the machine has no IOMMU that is switched on",
                "boot with intel_iommu=on (AMD: on by default) and VT-d or AMD-Vi on in the firmware, or leave the choice \
                 to Assay",
            )),
            Reach::NoIommu if iommu => Err(("the machine has an IOMMU", "use it: leave the choice to Assay")),
            Reach::NoIommu if !self.unsafe_vfio || !self.vfio => Err((
                "vfio-pci is not loaded, or does not permit to do without an IOMMU",
                "modprobe vfio enable_unsafe_noiommu_mode=1 && modprobe vfio-pci, on a kernel with VFIO_NOIOMMU",
            )),
            Reach::NoIommu => Ok(BindWay::NoIommu),
            Reach::Uio if iommu && !self.is_identity() => Err((
                "the IOMMU keeps the device from physical addresses",
                "leave the choice to Assay, or boot with iommu=pt",
            )),
            Reach::Auto if self.unsafe_vfio && self.vfio => Ok(BindWay::NoIommu),
            Reach::Auto | Reach::Uio if self.generic => Ok(BindWay::Generic),
            Reach::Auto | Reach::Uio => Ok(BindWay::Bare),
        }
    }

    /// The IOMMU leaves addresses as they are.
    fn is_identity(&self) -> bool {
        let kind = self.group.as_ref().and_then(|group| std::fs::read_to_string(group.join("type")).ok());
        kind.is_some_and(|kind| kind.trim() == "identity")
    }

    /// Another device of the group that the kernel drives: the group can only be given away as a whole.
    fn neighbour(&self, function: &Function) -> Option<String> {
        let devices = self.group.as_ref()?.join("devices");
        let others = names(&devices).into_iter().filter(|name| *name != function.address);
        others.into_iter().find(|name| {
            let driver = devices.join(name).join("driver").canonicalize().ok();
            let driver = driver.as_deref().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
            !["", "vfio-pci", "pci-stub", "pcieport"].contains(&driver.as_str())
        })
    }
}

impl Hardware {
    /// Decides how to reach a device. Only looks.
    pub fn plan(system: &System, function: &Function, reach: Reach) -> Result<BindPlan, PathError> {
        let has = Has::of(system, function);
        let way = has.way(reach).map_err(|(reason, fix)| function.unavailable(reason, fix))?;
        if way == BindWay::Vfio {
            if let Some(other) = has.neighbour(function) {
                let reason = format!("the device {other} shares its IOMMU group and is driven by the kernel");
                return Err(function.unavailable(reason, "put the drive into another slot, or use another path"));
            }
            return Ok(BindPlan { way, pins: None });
        }
        let pins = Pins::new().map_err(|error| {
            let reason = format!("without an IOMMU, pages are pinned by io_uring, which the kernel refuses ({error})");
            function.unavailable(reason, "run as root on Linux 5.19 or newer with kernel.io_uring_disabled=0")
        })?;
        Ok(BindPlan { way, pins: Some(pins) })
    }

    /// Opens a device that was taken from the kernel.
    pub fn open(system: &System, function: &Function, plan: BindPlan) -> Result<(Self, Bus), PathError> {
        match plan.way {
            BindWay::Vfio | BindWay::NoIommu => Self::open_vfio(system, function, plan),
            BindWay::Generic | BindWay::Bare => Self::open_sysfs(system, function, plan),
        }
    }

    fn open_vfio(system: &System, function: &Function, plan: BindPlan) -> Result<(Self, Bus), PathError> {
        let at = function.folder(system);
        let failed = |source: io::Error| PathError::Io { action: "driving", path: at.clone(), source };
        let group = at.join("iommu_group").canonicalize().map_err(failed)?;
        let group = group.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let device = Device::open(&system.dev, &group, &function.address, plan.way == BindWay::NoIommu);
        let device = device.map_err(|refusal| explain(function, refusal))?;
        let bus = match plan.pins {
            Some(pins) => Bus::Physical(Box::new(pins)),
            None => Bus::Iommu(device.container().map_err(failed)?),
        };
        device.master(true).map_err(failed)?;
        let region = device.registers().map_err(failed)?;
        let mapped = Mapped::new(device.file(), region).map_err(failed)?;
        Ok((Self { mapped, kind: HardwareKind::Vfio(device) }, bus))
    }

    fn open_sysfs(system: &System, function: &Function, plan: BindPlan) -> Result<(Self, Bus), PathError> {
        let at = function.folder(system);
        let failed = |source: io::Error| PathError::Io { action: "driving", path: at.clone(), source };
        let open = |path: PathBuf| OpenOptions::new().read(true).write(true).open(path).map_err(failed);
        let uio = match (plan.way, names(&at.join("uio")).first()) {
            (BindWay::Generic, Some(name)) => Some(open(system.dev.join(name))?),
            _ => None,
        };
        let configuration = open(at.join("config"))?;
        let resource = open(at.join("resource0"))?;
        let bytes = resource.metadata().map_err(failed)?.len();
        let mapped = Mapped::new(&resource, Region { offset: 0, bytes }).map_err(|error| {
            let reason = format!("its registers cannot be mapped: {error}");
            function.unavailable(reason, "run as root, without the kernel's lockdown (secure boot)")
        })?;
        set_master(&configuration, 0, true).map_err(failed)?;
        let pins = plan.pins.ok_or_else(|| failed(io::Error::from_raw_os_error(libc::ENOSYS)))?;
        Ok((Self { mapped, kind: HardwareKind::Sysfs { configuration, _uio: uio } }, Bus::Physical(Box::new(pins))))
    }

    /// The registers; they must not be used after this is dropped.
    pub fn registers(&self) -> Registers {
        self.mapped.registers()
    }

    /// Takes the device's right to read and write memory: the last means where it does not stop.
    pub fn silence(&self) {
        let _ = match &self.kind {
            HardwareKind::Vfio(device) => device.master(false),
            HardwareKind::Sysfs { configuration, .. } => set_master(configuration, 0, false),
            #[cfg(test)]
            HardwareKind::None => Ok(()),
        };
    }

    /// Tests: registers in memory.
    #[cfg(test)]
    pub fn software(file: &File, bytes: u64) -> Self {
        Self { mapped: Mapped::new(file, Region { offset: 0, bytes }).unwrap(), kind: HardwareKind::None }
    }
}

impl Drop for Hardware {
    fn drop(&mut self) {
        if !matches!(self.kind, HardwareKind::Vfio(_)) {
            self.silence();
        }
    }
}

/// The controller does not say that it has failed, nor is it gone.
pub(super) fn is_healthy(registers: Registers) -> bool {
    let status = registers.read(register::CSTS);
    status != register::GONE && status & register::CSTS_FATAL == 0
}

fn explain(function: &Function, refusal: Refusal) -> PathError {
    match refusal {
        Refusal::Io(action, path, source) => PathError::Io { action, path, source },
        Refusal::NotViable => function.unavailable(
            "other devices of its IOMMU group are with the kernel",
            "put the drive into another slot, or use another path",
        ),
        Refusal::NoSuchIommu => {
            function.unavailable("the kernel's VFIO has no IOMMU of type 1", "modprobe vfio_iommu_type1")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(group: bool, vfio: bool, unsafe_vfio: bool, generic: bool) -> Has {
        Has { group: group.then(|| PathBuf::from("/nowhere")), vfio, unsafe_vfio, generic }
    }

    #[test]
    fn an_iommu_is_used_where_there_is_one_and_missed_with_a_remedy() {
        assert_eq!(has(true, true, true, true).way(Reach::Auto), Ok(BindWay::Vfio));
        assert_eq!(has(true, false, true, true).way(Reach::Auto).unwrap_err().1, "modprobe vfio-pci");
        assert_eq!(has(false, true, true, true).way(Reach::Auto), Ok(BindWay::NoIommu));
        assert_eq!(has(false, true, false, true).way(Reach::Auto), Ok(BindWay::Generic));
        assert_eq!(has(false, false, false, false).way(Reach::Auto), Ok(BindWay::Bare));
    }

    #[test]
    fn what_was_asked_for_is_done_or_refused() {
        assert!(has(false, true, true, true).way(Reach::Vfio).unwrap_err().1.contains("intel_iommu=on"));
        assert!(has(true, true, true, true).way(Reach::NoIommu).is_err());
        assert!(has(false, true, false, true).way(Reach::NoIommu).unwrap_err().1.contains("enable_unsafe"));
        assert!(has(true, true, true, true).way(Reach::Uio).unwrap_err().1.contains("iommu=pt"));
        assert_eq!(has(false, true, true, false).way(Reach::Uio), Ok(BindWay::Bare));
    }
}
