//! The PCI function behind a block device, with everything that the kernel made of it.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use crate::{
    PathError,
    facts::{Block, System, names},
    guard,
};

/// Bytes of a sector, in which sysfs counts whatever the logical block is.
const SECTOR_BYTES: u64 = 512;

/// An exclusive hold on a block device.
#[derive(Debug)]
pub(crate) struct Hold {
    /// The device.
    pub path: PathBuf,
    /// As long as this is open.
    pub _file: File,
}

/// A namespace as the kernel shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// Its block device.
    pub path: PathBuf,
    /// Number.
    pub id: u32,
    /// Length, bytes.
    pub bytes: u64,
}

/// An NVMe controller on PCI that the kernel drives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function {
    /// Address, as `0000:01:00.0`.
    pub address: String,
    /// Serial number, as the kernel shows it.
    pub serial: String,
    /// What it was asked for by.
    pub asked: PathBuf,
    /// Its namespaces.
    pub namespaces: Vec<Known>,
}

/// Address of a PCI function.
pub(super) fn is_address(text: &str) -> bool {
    let hexadecimal =
        |part: &str, digits: usize| part.len() == digits && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let Some((device, function)) = text.split_once('.') else { return false };
    let parts: Vec<_> = device.split(':').collect();
    let [domain, bus, device] = parts.as_slice() else { return false };
    hexadecimal(domain, 4) && hexadecimal(bus, 2) && hexadecimal(device, 2) && hexadecimal(function, 1)
}

/// `nvme0n1`, but neither `nvme0` nor `nvme0n1p1` nor the part of a path `nvme0c0n1`.
fn is_namespace(name: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    name.strip_prefix("nvme").and_then(|rest| rest.split_once('n')).is_some_and(|(a, b)| digits(a) && digits(b))
}

/// `nvme0`.
fn is_controller(name: &str) -> bool {
    name.strip_prefix("nvme").is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

impl Function {
    /// Finds the function by the path or the name of a block device, or by a PCI address.
    ///
    /// # Errors
    /// Where it is no NVMe drive on PCI, or cannot be told apart from others.
    pub fn find(system: &System, asked: &Path) -> Result<Self, PathError> {
        let text = asked.to_string_lossy();
        let controller = if is_address(&text) {
            let folder = system.sys.join("bus/pci/devices").join(&*text).join("nvme");
            let name = names(&folder).into_iter().find(|name| is_controller(name));
            name.map(|name| folder.join(name)).ok_or_else(|| not_nvme(asked))?
        } else {
            controller_of(system, asked)?
        };
        Self::of(system, asked, &controller)
    }

    fn of(system: &System, asked: &Path, controller: &Path) -> Result<Self, PathError> {
        let text = |name: &str| fs::read_to_string(controller.join(name)).unwrap_or_default().trim().to_owned();
        let address = text("address");
        if text("transport") != "pcie" || !is_address(&address) {
            return Err(refusal(
                asked,
                "it is not an NVMe drive on PCI",
                "name a local NVMe drive, or use another path",
            ));
        }
        let mut found = Self { address, serial: text("serial"), asked: asked.to_owned(), namespaces: Vec::new() };
        let subsystem = shared(system, controller, asked)?;
        let folders = [Some(controller.to_owned()), subsystem];
        for folder in folders.into_iter().flatten() {
            for name in names(&folder).into_iter().filter(|name| is_namespace(name)) {
                let known = known(system, &folder.join(&name), &name);
                let known =
                    known.ok_or_else(|| found.unavailable(format!("sysfs says too little of {name}"), "mount /sys"));
                found.namespaces.push(known?);
            }
        }
        found.namespaces.sort_by_key(|namespace| namespace.id);
        found.namespaces.dedup_by_key(|namespace| namespace.id);
        if found.namespaces.is_empty() {
            return Err(found.unavailable("it has no namespace that is a block device", "nvme create-ns makes one"));
        }
        Ok(found)
    }

    /// Its folder in sysfs.
    pub fn folder(&self, system: &System) -> PathBuf {
        system.sys.join("bus/pci/devices").join(&self.address)
    }

    /// An error that names the drive.
    pub fn unavailable(&self, reason: impl Into<String>, fix: &str) -> PathError {
        let what = format!("the path nvme_polled on {} ({})", self.asked.display(), self.address);
        PathError::Unavailable { what, reason: reason.into(), fix: fix.to_owned() }
    }

    /// Holds every namespace exclusively after all guards found it unused: taking the drive takes all of them. Holds that
    /// are there already are taken out of `held`.
    ///
    /// # Errors
    /// That names the use of a namespace.
    pub fn hold_unused(&self, system: &System, held: &mut Vec<Hold>) -> Result<Vec<Hold>, PathError> {
        let mut holds = Vec::new();
        for namespace in &self.namespaces {
            let path = &namespace.path;
            match held.iter().position(|hold| hold.path == *path) {
                Some(index) => {
                    guard::still_unused(system, path).map_err(|error| self.of_all(namespace, error))?;
                    holds.push(held.swap_remove(index));
                }
                None => {
                    let file = guard::hold_unused(system, path).map_err(|error| self.of_all(namespace, error))?;
                    holds.push(Hold { path: path.clone(), _file: file });
                }
            }
        }
        Ok(holds)
    }

    /// A use of a namespace that nobody named needs an explanation.
    fn of_all(&self, namespace: &Known, error: PathError) -> PathError {
        match error {
            PathError::Refused { path, reason, fix } if namespace.path != self.asked && self.namespaces.len() > 1 => {
                let reason =
                    format!("{reason}; it would be taken from the kernel together with {}", self.asked.display());
                PathError::Refused { path, reason, fix }
            }
            other => other,
        }
    }
}

fn known(system: &System, folder: &Path, name: &str) -> Option<Known> {
    let number = |file: &str| fs::read_to_string(folder.join(file)).ok()?.trim().parse::<u64>().ok();
    let id = u32::try_from(number("nsid")?).ok()?;
    Some(Known { path: system.dev.join(name), id, bytes: number("size")? * SECTOR_BYTES })
}

/// The controller of a block device.
fn controller_of(system: &System, asked: &Path) -> Result<PathBuf, PathError> {
    let node = asked.canonicalize().unwrap_or_else(|_| asked.to_owned());
    let name = node.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let block = Block::named(system, &name).ok_or_else(|| not_nvme(asked))?;
    if block.is_partition() {
        let reason = format!("it is a partition, and the path nvme_polled takes all of {}", block.whole().name);
        return Err(refusal(asked, &reason, "name the whole drive, if nothing on it is needed"));
    }
    let device = system.sys.join("class/block").join(&name).join("device");
    let device = device.canonicalize().map_err(|_| not_nvme(asked))?;
    if device.join("transport").exists() {
        return Ok(device);
    }
    // With several paths to a namespace, its device is the subsystem.
    match controllers(&device).as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(not_nvme(asked)),
        _ => Err(several(asked)),
    }
}

fn controllers(subsystem: &Path) -> Vec<PathBuf> {
    let names = names(subsystem).into_iter().filter(|name| is_controller(name));
    names.filter_map(|name| subsystem.join(name).canonicalize().ok()).collect()
}

/// The subsystem of a controller, which shows its namespaces where there may be several paths to them.
fn shared(system: &System, controller: &Path, asked: &Path) -> Result<Option<PathBuf>, PathError> {
    let folder = system.sys.join("class/nvme-subsystem");
    let name = controller.file_name().unwrap_or_default();
    let all = names(&folder).into_iter().filter_map(|subsystem| folder.join(subsystem).canonicalize().ok());
    let mut own = all.filter(|subsystem| subsystem.join(name).exists());
    own.next().map(|subsystem| alone(subsystem, asked)).transpose()
}

fn alone(subsystem: PathBuf, asked: &Path) -> Result<PathBuf, PathError> {
    if controllers(&subsystem).len() > 1 { Err(several(asked)) } else { Ok(subsystem) }
}

fn refusal(asked: &Path, reason: &str, fix: &str) -> PathError {
    PathError::Refused { path: asked.to_owned(), reason: reason.to_owned(), fix: fix.to_owned() }
}

fn several(asked: &Path) -> PathError {
    refusal(asked, "it is reached through several controllers", "use another path: this one takes a single controller")
}

fn not_nvme(asked: &Path) -> PathError {
    refusal(
        asked,
        "it is not an NVMe drive that the kernel drives",
        "name an NVMe namespace such as /dev/nvme0n1; assay clean gives back a drive that a killed run had taken",
    )
}

/// Whether a function is with a driver, by its link in sysfs.
pub(super) fn driver_of(folder: &Path) -> io::Result<Option<String>> {
    match fs::read_link(folder.join("driver")) {
        Ok(link) => Ok(link.file_name().map(|name| name.to_string_lossy().into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A machine with a drive of two namespaces, its second partitioned, and a disk that is no NVMe drive.
    struct Machine {
        _root: tempfile::TempDir,
        system: System,
    }

    fn write(folder: &Path, name: &str, text: &str) {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, format!("{text}\n")).unwrap();
    }

    impl Machine {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            let sys = root.path().join("sys");
            let pci = sys.join("devices/pci0000:00/0000:01:00.0");
            let controller = pci.join("nvme/nvme0");
            for (file, text) in [("address", "0000:01:00.0"), ("transport", "pcie"), ("serial", "S1  ")] {
                write(&controller, file, text);
            }
            for (name, number, id) in [("nvme0n2", "259:1", "2"), ("nvme0n1", "259:0", "1")] {
                let block = controller.join(name);
                for (file, text) in [("dev", number), ("nsid", id), ("size", "2048")] {
                    write(&block, file, text);
                }
                link(&controller, &block.join("device"));
                link(&block, &sys.join("class/block").join(name));
            }
            let part = controller.join("nvme0n2/nvme0n2p1");
            for (file, text) in [("dev", "259:2"), ("partition", "1")] {
                write(&part, file, text);
            }
            link(&part, &sys.join("class/block/nvme0n2p1"));
            let other = sys.join("devices/virtual/block/loop0");
            write(&other, "dev", "7:0");
            link(&other, &sys.join("class/block/loop0"));
            link(&pci, &sys.join("bus/pci/devices/0000:01:00.0"));
            let system = System { sys, proc: root.path().into(), dev: "/nowhere".into(), run: root.path().join("run") };
            Self { _root: root, system }
        }

        fn find(&self, asked: &str) -> Result<Function, PathError> {
            Function::find(&self.system, Path::new(asked))
        }

        fn controller(&self) -> PathBuf {
            self.system.sys.join("devices/pci0000:00/0000:01:00.0/nvme/nvme0")
        }
    }

    fn link(to: &Path, at: &Path) {
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        symlink(to, at).unwrap();
    }

    #[test]
    fn a_drive_is_found_by_path_name_and_address() {
        let machine = Machine::new();
        for asked in ["/nowhere/nvme0n1", "nvme0n1", "0000:01:00.0"] {
            let found = machine.find(asked).unwrap();
            assert_eq!((found.address.as_str(), found.serial.as_str()), ("0000:01:00.0", "S1"), "{asked}");
            let known: Vec<_> = found.namespaces.iter().map(|known| (known.id, known.bytes)).collect();
            assert_eq!(known, [(1, 1 << 20), (2, 1 << 20)], "all namespaces, whichever was asked for");
        }
    }

    #[test]
    fn what_is_no_whole_drive_is_refused_by_name() {
        let machine = Machine::new();
        let reason = |asked| machine.find(asked).unwrap_err().to_string();
        assert!(reason("/nowhere/nvme0n2p1").contains("a partition, and the path nvme_polled takes all of nvme0n2"));
        assert!(reason("/nowhere/loop0").contains("not an NVMe drive"));
        assert!(reason("/nowhere/nvme9n1").contains("not an NVMe drive"));
        assert!(reason("0000:09:00.0").contains("not an NVMe drive"));
        write(&machine.controller(), "transport", "tcp");
        assert!(reason("/nowhere/nvme0n1").contains("not an NVMe drive on PCI"));
    }

    #[test]
    fn a_drive_behind_several_controllers_is_refused() {
        let machine = Machine::new();
        let subsystem = machine.system.sys.join("class/nvme-subsystem/nvme-subsys0");
        link(&machine.controller(), &subsystem.join("nvme0"));
        assert!(machine.find("nvme0n1").is_ok(), "one controller of a subsystem is alone");
        link(&machine.controller(), &subsystem.join("nvme1"));
        assert!(machine.find("nvme0n1").unwrap_err().to_string().contains("several controllers"));
    }

    #[test]
    fn names_and_addresses_are_told_apart() {
        assert!(
            is_address("0000:01:00.0") && !is_address("01:00.0") && !is_address("0000:01:00:0") && !is_address("x")
        );
        assert!(is_namespace("nvme12n3") && !is_namespace("nvme0") && !is_namespace("nvme0n1p1"));
        assert!(!is_namespace("nvme0c0n1") && is_controller("nvme0") && !is_controller("nvme0n1"));
    }

    #[test]
    fn a_namespace_that_cannot_be_looked_at_is_not_unused() {
        let found = Machine::new().find("nvme0n1").unwrap();
        let system = System::default();
        assert!(found.hold_unused(&system, &mut Vec::new()).is_err(), "its node is not there");
    }
}
