//! What is written to sysfs to take a device from the kernel's driver, and to give it back.

use std::{
    fs::OpenOptions,
    io::{self, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::facts::System;

/// The driver that has the drive before and after.
pub(super) const NVME: &str = "nvme";
/// An override that no driver answers to.
const NOBODY: &str = "none";

/// A drive that was taken: all that is needed to give it back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Taken {
    /// PCI address.
    pub address: String,
    /// Serial number.
    pub serial: String,
    /// Driver that holds it meanwhile; none where no driver does.
    pub with: Option<String>,
    /// The device's `driver_override` before.
    pub override_before: String,
    /// Process that took it.
    pub pid: u32,
    /// Nodes of its block devices before; by these names it is expected back.
    #[serde(default)]
    pub nodes: Vec<PathBuf>,
}

/// A text to be written to a file of sysfs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SetupStep {
    pub file: PathBuf,
    pub text: String,
}

impl Taken {
    fn device(&self, system: &System) -> PathBuf {
        system.sys.join("bus/pci/devices").join(&self.address)
    }

    fn step(&self, file: PathBuf, text: &str) -> SetupStep {
        SetupStep { file, text: text.to_owned() }
    }

    fn of_driver(&self, system: &System, driver: &str, action: &str) -> SetupStep {
        self.step(system.sys.join("bus/pci/drivers").join(driver).join(action), &self.address)
    }

    /// From the kernel's driver to the one that holds it meanwhile.
    pub fn take(&self, system: &System) -> Vec<SetupStep> {
        let device = self.device(system);
        let with = self.with.as_deref().unwrap_or(NOBODY);
        let last = if self.with.is_some() {
            self.step(system.sys.join("bus/pci/drivers_probe"), &self.address)
        } else {
            self.step(device.join("enable"), "1")
        };
        vec![self.of_driver(system, NVME, "unbind"), self.step(device.join("driver_override"), with), last]
    }

    /// Back to the kernel's driver, from wherever it is.
    pub fn give_back(&self, system: &System) -> Vec<SetupStep> {
        let device = self.device(system);
        // An empty line removes the override.
        let before = format!("{}\n", self.override_before);
        let first = match &self.with {
            Some(driver) => self.of_driver(system, driver, "unbind"),
            None => self.step(device.join("enable"), "0"),
        };
        vec![first, self.step(device.join("driver_override"), &before), self.of_driver(system, NVME, "bind")]
    }

    /// The link that says which driver has it.
    pub fn driver_link(&self, system: &System) -> PathBuf {
        self.device(system).join("driver")
    }

    /// Its configuration space.
    pub fn configuration(&self, system: &System) -> PathBuf {
        self.device(system).join("config")
    }
}

impl SetupStep {
    /// Writes it.
    pub fn run(&self) -> io::Result<()> {
        OpenOptions::new().write(true).open(&self.file)?.write_all(self.text.as_bytes())
    }
}

/// A name that the kernel shows where there is no override.
pub(super) fn override_of(device: &Path) -> String {
    let text = std::fs::read_to_string(device.join("driver_override")).unwrap_or_default();
    let text = text.trim();
    if text == "(null)" { String::new() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(with: Option<&str>) -> Taken {
        Taken {
            address: "0000:01:00.0".to_owned(),
            serial: "S1".to_owned(),
            with: with.map(str::to_owned),
            override_before: String::new(),
            pid: 1,
            nodes: Vec::new(),
        }
    }

    fn written(steps: &[SetupStep]) -> Vec<(String, &str)> {
        let name = |step: &SetupStep| step.file.strip_prefix("/sys/bus/pci").unwrap().display().to_string();
        steps.iter().map(|step| (name(step), step.text.as_str())).collect()
    }

    #[test]
    fn the_driver_that_took_it_lets_it_go_before_the_kernels_gets_it() {
        let steps = taken(Some("vfio-pci")).give_back(&System::default());
        let expected = [
            ("drivers/vfio-pci/unbind".to_owned(), "0000:01:00.0"),
            ("devices/0000:01:00.0/driver_override".to_owned(), "\n"),
            ("drivers/nvme/bind".to_owned(), "0000:01:00.0"),
        ];
        assert_eq!(written(&steps), expected);
    }

    #[test]
    fn without_a_driver_the_device_is_switched_on_and_off_again() {
        let taken = taken(None);
        let system = System::default();
        assert_eq!(written(&taken.take(&system))[2], ("devices/0000:01:00.0/enable".to_owned(), "1"));
        assert_eq!(written(&taken.take(&system))[1].1, "none", "nothing else may take it meanwhile");
        assert_eq!(written(&taken.give_back(&system))[0], ("devices/0000:01:00.0/enable".to_owned(), "0"));
    }

    #[test]
    fn no_override_is_shown_as_null() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("driver_override"), "(null)\n").unwrap();
        assert_eq!(override_of(folder.path()), "");
        std::fs::write(folder.path().join("driver_override"), "mine\n").unwrap();
        assert_eq!(override_of(folder.path()), "mine");
    }
}
