//! A drive between the kernel's driver and this process: taken with a note of it, and given back.
//!
//! Three things see to the way back: this process when it lets go; a guardian when this process was killed; and, should
//! even that have been killed, the note in the ledger, by which `assay clean` gives the drive back.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rustix::fs::{FlockOperation, flock};
use serde::Serialize;

use super::{
    function::{Function, Hold, driver_of},
    guardian::{Duty, Guardian},
    hardware::{BindPlan, BindWay},
    steps::{NVME, Taken, override_of},
};
use crate::{
    PathError,
    facts::{System, names},
};

/// Where notes are kept, below `/run`: they are about this boot.
const LEDGER: &str = "assay/nvme_polled";
/// How long the kernel may take to find the namespaces of a drive again.
const RETURN_PATIENCE: Duration = Duration::from_secs(60);
/// How long their nodes may take after that.
const NODE_PATIENCE: Duration = Duration::from_secs(2);

/// A drive that this process has. Dropping it gives it back.
#[derive(Debug)]
pub(super) struct Custody {
    system: System,
    taken: Taken,
    entry: CustodyNote,
    guardian: Option<Guardian>,
}

/// A note in the ledger, locked as long as its owner lives.
#[derive(Debug)]
struct CustodyNote {
    path: PathBuf,
    _lock: File,
}

/// A drive that a killed process had taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Returned {
    /// PCI address.
    pub address: String,
    /// Serial number.
    pub serial: String,
    /// Its owner lives: nothing was touched.
    pub alive: bool,
    /// The kernel's driver has it.
    pub returned: bool,
}

impl Custody {
    /// Takes a drive from the kernel's driver. `holds` keep others from its namespaces until it is gone; afterwards they
    /// must go, since the kernel would find another name for what it gets back.
    ///
    /// # Errors
    /// The kernel's answer; whatever was begun is undone.
    pub fn take(system: &System, function: &Function, plan: &BindPlan, holds: Vec<Hold>) -> Result<Self, PathError> {
        let folder = function.folder(system);
        let failed = |source| PathError::Io { action: "taking from the kernel", path: folder.clone(), source };
        if driver_of(&folder).map_err(failed)?.as_deref() != Some(NVME) {
            return Err(
                function.unavailable("the kernel's nvme driver does not have it", "assay clean, or bind it again")
            );
        }
        let taken = Taken {
            address: function.address.clone(),
            serial: function.serial.clone(),
            with: plan.way.driver().map(str::to_owned),
            override_before: override_of(&folder),
            pid: std::process::id(),
            nodes: function.namespaces.iter().map(|namespace| namespace.path.clone()).collect(),
        };
        let entry = CustodyNote::make(system, &taken).map_err(|source| note_failed(system, source))?;
        let silence = (plan.way != BindWay::Vfio).then(|| taken.configuration(system));
        let link = taken.driver_link(system);
        let duty = Duty::new(&taken.give_back(system), &link, &entry.path, silence.as_deref()).map_err(failed)?;
        let guardian = Guardian::start(&duty, plan.outlives()).map_err(failed);
        let guardian = guardian.inspect_err(|_| entry.remove())?;
        let custody = Self { system: system.clone(), taken, entry, guardian: Some(guardian) };
        let mut holds = Some(holds);
        for step in custody.taken.take(system) {
            let outcome = step.run();
            holds.take();
            outcome.map_err(|source| step_failed(&step.file, source))?;
        }
        let now = driver_of(&folder).map_err(failed)?;
        if now != custody.taken.with {
            let wanted = custody.taken.with.as_deref().unwrap_or("no driver");
            let reason = format!("it went to {} instead of {wanted}", now.as_deref().unwrap_or("no driver"));
            return Err(function.unavailable(reason, "look at dmesg for what the kernel says about it"));
        }
        Ok(custody)
    }
}

impl Drop for Custody {
    fn drop(&mut self) {
        if give_back(&self.system, &self.taken) {
            self.entry.remove();
            if let Some(guardian) = self.guardian.take() {
                guardian.dismiss();
            }
        }
        // Otherwise the guardian goes on trying.
    }
}

/// Every step, whether or not those before it worked: what counts is who has the drive in the end, and that its
/// namespaces are there.
fn give_back(system: &System, taken: &Taken) -> bool {
    let folder = system.sys.join("bus/pci/devices").join(&taken.address);
    let has = || driver_of(&folder).ok().flatten().as_deref() == Some(NVME);
    if !has() {
        for step in taken.give_back(system) {
            let _ = step.run();
        }
    }
    let began = Instant::now();
    while has() && !has_namespace(&folder) && began.elapsed() < RETURN_PATIENCE {
        thread::sleep(Duration::from_millis(10));
    }
    // Their nodes come a moment later, unless the kernel found other names.
    let began = Instant::now();
    while has() && !taken.nodes.iter().all(|node| node.exists()) && began.elapsed() < NODE_PATIENCE {
        thread::sleep(Duration::from_millis(10));
    }
    has()
}

/// A block device, or in older kernels the hidden part of one, is there again.
fn has_namespace(folder: &Path) -> bool {
    let controllers = folder.join("nvme");
    let is_namespace = |name: &String| name.starts_with("nvme") && name[4..].contains('n');
    names(&controllers).iter().any(|name| names(&controllers.join(name)).iter().any(is_namespace))
}

fn note_failed(system: &System, source: io::Error) -> PathError {
    PathError::Io { action: "noting a drive in", path: system.run.join(LEDGER), source }
}

fn step_failed(file: &Path, source: io::Error) -> PathError {
    PathError::Io { action: "writing to", path: file.to_owned(), source }
}

impl CustodyNote {
    /// Written before anything is touched.
    fn make(system: &System, taken: &Taken) -> io::Result<Self> {
        let folder = system.run.join(LEDGER);
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let path = folder.join(format!("{}.json", taken.address));
        let mut lock =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        lock.set_len(0)?;
        lock.write_all(&serde_json::to_vec(taken)?)?;
        lock.sync_all()?;
        Ok(Self { path, _lock: lock })
    }

    fn remove(&self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Gives back every drive whose owner was killed together with its guardian.
///
/// # Errors
/// Where the ledger cannot be read.
pub fn clean() -> Result<Vec<Returned>, PathError> {
    clean_in(&System::default())
}

fn clean_in(system: &System) -> Result<Vec<Returned>, PathError> {
    let folder = system.run.join(LEDGER);
    let notes = names(&folder).into_iter().filter(|name| name.ends_with(".json"));
    notes.map(|name| clean_one(system, &folder.join(name)).map_err(|source| note_failed(system, source))).collect()
}

fn clean_one(system: &System, note: &Path) -> io::Result<Returned> {
    let file = OpenOptions::new().read(true).write(true).open(note)?;
    let alive = flock(&file, FlockOperation::NonBlockingLockExclusive).is_err();
    let taken: Result<Taken, _> = serde_json::from_slice(&fs::read(note)?);
    // A note that ends early was never followed by anything.
    let Ok(taken) = taken else {
        let returned = !alive && fs::remove_file(note).is_ok();
        return Ok(Returned { address: String::new(), serial: String::new(), alive, returned });
    };
    let returned = !alive && give_back(system, &taken);
    if returned {
        fs::remove_file(note)?;
    }
    Ok(Returned { address: taken.address, serial: taken.serial, alive, returned })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::{super::function::Known, *};

    const ADDRESS: &str = "0000:01:00.0";

    /// Files where sysfs has attributes. Nothing happens when they are written to: the drive stays with its driver.
    struct Ground {
        root: tempfile::TempDir,
        system: System,
    }

    impl Ground {
        fn new(driver: &str) -> Self {
            let root = tempfile::tempdir().unwrap();
            let system = System {
                sys: root.path().join("sys"),
                proc: root.path().into(),
                dev: root.path().into(),
                run: root.path().join("run"),
            };
            let ground = Self { root, system };
            let device = ground.at(&format!("devices/{ADDRESS}"));
            fs::create_dir_all(device.join("nvme/nvme0/nvme0n1")).unwrap();
            fs::write(device.join("driver_override"), "(null)\n").unwrap();
            symlink(format!("../../drivers/{driver}"), device.join("driver")).unwrap();
            for file in ["drivers/nvme/unbind", "drivers/nvme/bind", "drivers/vfio-pci/unbind", "drivers_probe"] {
                let file = ground.at(file);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, "").unwrap();
            }
            ground
        }

        fn at(&self, file: &str) -> PathBuf {
            self.system.sys.join("bus/pci").join(file)
        }

        fn text(&self, file: &str) -> String {
            fs::read_to_string(self.at(file)).unwrap()
        }

        fn notes(&self) -> Vec<String> {
            names(&self.system.run.join(LEDGER))
        }

        fn function(&self) -> Function {
            let known = Known { path: self.root.path().to_owned(), id: 1, bytes: 1 << 20 };
            Function { address: ADDRESS.into(), serial: "S1".into(), asked: "/dev/x".into(), namespaces: vec![known] }
        }

        fn taken(&self) -> Taken {
            let with = Some("vfio-pci".to_owned());
            let (address, serial) = (ADDRESS.to_owned(), "S1".to_owned());
            Taken { address, serial, with, override_before: String::new(), pid: 1, nodes: Vec::new() }
        }
    }

    #[test]
    fn a_drive_that_goes_elsewhere_is_given_back_and_nothing_is_left() {
        let ground = Ground::new("nvme");
        let plan = BindPlan::of(BindWay::Vfio);
        let error = Custody::take(&ground.system, &ground.function(), &plan, Vec::new()).unwrap_err().to_string();
        assert!(error.contains("it went to nvme instead of vfio-pci"), "{error}");
        assert_eq!(ground.text("drivers/nvme/unbind"), ADDRESS);
        assert_eq!(ground.notes(), Vec::<String>::new());
    }

    #[test]
    fn a_drive_that_is_not_the_kernels_is_not_taken() {
        let ground = Ground::new("vfio-pci");
        let error =
            Custody::take(&ground.system, &ground.function(), &BindPlan::of(BindWay::Vfio), Vec::new()).unwrap_err();
        assert!(error.to_string().contains("does not have it") && error.fix().contains("assay clean"), "{error}");
        assert_eq!((ground.text("drivers/nvme/unbind"), ground.notes().len()), (String::new(), 0));
    }

    #[test]
    fn a_note_of_a_killed_run_gives_its_drive_back() {
        let ground = Ground::new("vfio-pci");
        let entry = CustodyNote::make(&ground.system, &ground.taken()).unwrap();
        let alive = clean_in(&ground.system).unwrap();
        assert!(alive[0].alive && !alive[0].returned, "its owner lives: {alive:?}");
        assert_eq!(ground.text("drivers/nvme/bind"), "", "nothing is touched");
        drop(entry);
        let stuck = clean_in(&ground.system).unwrap();
        assert!(!stuck[0].alive && !stuck[0].returned, "the kernel did not take it: {stuck:?}");
        assert_eq!(
            (ground.text("drivers/vfio-pci/unbind").as_str(), ground.text("drivers/nvme/bind").as_str()),
            (ADDRESS, ADDRESS)
        );
        assert_eq!(ground.notes().len(), 1, "the note stays for the next attempt");
        let link = ground.at(&format!("devices/{ADDRESS}/driver"));
        fs::remove_file(&link).unwrap();
        symlink("../../drivers/nvme", &link).unwrap();
        assert!(clean_in(&ground.system).unwrap()[0].returned);
        assert_eq!(ground.notes(), Vec::<String>::new());
    }

    #[test]
    fn a_note_that_ends_early_was_followed_by_nothing() {
        let ground = Ground::new("nvme");
        let folder = ground.system.run.join(LEDGER);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("x.json"), b"{\"addr").unwrap();
        assert!(clean_in(&ground.system).unwrap()[0].returned);
        assert_eq!(ground.notes(), Vec::<String>::new());
    }
}
