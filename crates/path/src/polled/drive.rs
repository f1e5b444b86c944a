//! A drive that this process drives, shared by its threads.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicI32, Ordering::Relaxed},
    },
    time::Duration,
};

use assay_record::Reach;

use super::{
    bus::Bus,
    controller::{Controller, Fault},
    custody::Custody,
    function::{Function, Hold},
    hardware::Hardware,
    identify::NamespaceFacts,
};
use crate::{PathError, facts::System};

/// How long a command may take; the kernel's own driver waits as long.
const PATIENCE: Duration = Duration::from_secs(30);

/// Drives in use by this process, by PCI address.
static DRIVES: Mutex<BTreeMap<String, Weak<PolledDrive>>> = Mutex::new(BTreeMap::new());

/// A namespace of a drive that was taken.
#[derive(Clone, Debug)]
pub(super) struct Namespace {
    /// Its block device, as it was and will be.
    pub path: PathBuf,
    /// What the controller says about it.
    pub facts: NamespaceFacts,
}

/// A drive, taken from the kernel. Dropping it gives it back.
#[derive(Debug)]
pub(super) struct PolledDrive {
    controller: Mutex<Controller>,
    /// Why it is of no use any more; 0 while it is.
    failure: AtomicI32,
    namespaces: Vec<Namespace>,
    patience: Duration,
    bus: Arc<Bus>,
    hardware: Hardware,
    // Dropped last: nothing may be open any more when the kernel takes the drive again.
    _custody: Option<Custody>,
}

fn all() -> MutexGuard<'static, BTreeMap<String, Weak<PolledDrive>>> {
    DRIVES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PolledDrive {
    /// The drive with a namespace: the one that is in use already, or a new one. `held` are exclusive holds on block
    /// devices that this process has already; those on the drive's namespaces are used up.
    ///
    /// # Errors
    /// Where a device cannot or must not be taken from the kernel. Whatever was begun is undone.
    pub fn of(path: &Path, reach: Reach, held: &mut Vec<Hold>) -> Result<Arc<Self>, PathError> {
        let mut all = all();
        all.retain(|_, drive| drive.strong_count() > 0);
        let known = all.values().filter_map(Weak::upgrade).find(|drive| drive.namespace(path).is_some());
        if let Some(drive) = known {
            return Ok(drive);
        }
        let system = System::default();
        let function = Function::find(&system, path)?;
        let holds = function.hold_unused(&system, held)?;
        let address = function.address.clone();
        let drive = Arc::new(Self::take(&system, function, reach, holds)?);
        all.insert(address, Arc::downgrade(&drive));
        Ok(drive)
    }

    fn take(system: &System, function: Function, reach: Reach, holds: Vec<Hold>) -> Result<Self, PathError> {
        let failed = |fault: Fault| function.unavailable(fault.to_string(), "look at dmesg and at its SMART log");
        let plan = Hardware::plan(system, &function, reach)?;
        let custody = Custody::take(system, &function, &plan, holds)?;
        let (hardware, bus) = Hardware::open(system, &function, plan)?;
        let bus = Arc::new(bus);
        let mut controller = Controller::bring_up(hardware.registers(), &bus, PATIENCE).map_err(failed)?;
        if controller.facts.serial != function.serial {
            let reason =
                format!("it says that its serial number is {}, not {}", controller.facts.serial, function.serial);
            return Err(function.unavailable(reason, "look whether devices were exchanged meanwhile"));
        }
        let namespaces = namespaces(&mut controller, &function)?;
        Ok(Self {
            controller: Mutex::new(controller),
            failure: AtomicI32::new(0),
            namespaces,
            patience: PATIENCE,
            bus,
            hardware,
            _custody: Some(custody),
        })
    }

    /// The controller, for opening and closing.
    pub fn lock(&self) -> MutexGuard<'_, Controller> {
        self.controller.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A namespace by the path of its block device.
    pub fn namespace(&self, path: &Path) -> Option<&Namespace> {
        self.namespaces.iter().find(|namespace| namespace.path == path)
    }

    /// Tests: a drive that is played in memory.
    #[cfg(test)]
    pub fn software(bus: Bus, hardware: Hardware, path: PathBuf, patience: Duration) -> Result<Arc<Self>, Fault> {
        let bus = Arc::new(bus);
        let mut controller = Controller::bring_up(hardware.registers(), &bus, patience)?;
        let facts = controller.namespace(1)?.ok_or_else(|| Fault::Unfit("has no namespace".to_owned()))?;
        let namespaces = vec![Namespace { path, facts }];
        let (controller, failure) = (Mutex::new(controller), AtomicI32::new(0));
        Ok(Arc::new(Self { controller, failure, namespaces, patience, bus, hardware, _custody: None }))
    }

    /// How its memory is reached.
    pub fn bus(&self) -> &Arc<Bus> {
        &self.bus
    }

    /// How long a command may take, milliseconds.
    pub fn patience_ms(&self) -> u32 {
        self.patience.as_millis() as u32
    }

    /// Why it is of no use any more; 0 while it is.
    pub fn failure(&self) -> i32 {
        self.failure.load(Relaxed)
    }

    /// The controller does not say that it has failed, nor is it gone.
    pub fn is_healthy(&self) -> bool {
        self.failure() == 0 && super::hardware::is_healthy(self.hardware.registers())
    }

    /// Gives it up: it is stopped, so that it touches no memory any more, whatever it still had to do.
    #[cold]
    pub fn fail(&self, errno: i32) {
        let mut controller = self.lock();
        if self.failure.compare_exchange(0, errno, Relaxed, Relaxed).is_ok() && controller.disable().is_err() {
            self.hardware.silence();
        }
    }
}

impl Drop for PolledDrive {
    /// The fields do the rest, in their order: the controller, its registers, and last the way back to the kernel.
    fn drop(&mut self) {
        if self.lock().shut_down().is_err() {
            self.hardware.silence();
        }
    }
}

fn namespaces(controller: &mut Controller, function: &Function) -> Result<Vec<Namespace>, PathError> {
    let failed = |fault: Fault| function.unavailable(fault.to_string(), "look at dmesg and at its SMART log");
    let active = controller.active().map_err(failed)?;
    let hidden = active.iter().find(|id| !function.namespaces.iter().any(|known| known.id == **id));
    if let Some(id) = hidden {
        let reason =
            format!("its namespace {id} was not visible to the kernel, so that nobody knows whether it is in use");
        return Err(function.unavailable(reason, "name a drive all of whose namespaces are block devices"));
    }
    let mut found = Vec::new();
    for known in &function.namespaces {
        let facts = controller.namespace(known.id).map_err(failed)?;
        let fits = |facts: &NamespaceFacts| facts.bytes() == known.bytes && facts.metadata_bytes == 0;
        let Some(facts) = facts.filter(fits) else {
            let reason = format!("namespace {} has metadata, or another size than the kernel said", known.id);
            return Err(function.unavailable(reason, "format the namespace without metadata, or use another path"));
        };
        found.push(Namespace { path: known.path.clone(), facts });
    }
    Ok(found)
}
