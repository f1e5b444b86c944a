//! Fake trees of the kernel's files.

use std::{fs, os::unix::fs::symlink, path::PathBuf};

use tempfile::TempDir;

use super::System;

/// A made-up machine: block devices, mount table, swap.
pub struct Machine {
    folder: TempDir,
}

impl Machine {
    pub fn new() -> Self {
        let machine = Self { folder: tempfile::tempdir().unwrap() };
        machine.file("proc/self/mountinfo", "");
        machine.file("proc/swaps", "Filename Type Size Used Priority\n");
        fs::create_dir_all(machine.path("sys/dev/block")).unwrap();
        fs::create_dir_all(machine.path("sys/class/block")).unwrap();
        fs::create_dir_all(machine.path("dev")).unwrap();
        machine
    }

    /// With a disk, sda (8:0), of two partitions (8:1, 8:2), and two more, sdb (8:16) and sdc (8:32).
    pub fn of_three_disks() -> Self {
        let machine = Self::new();
        machine.device("pci/sda", "8:0");
        machine.partition("pci/sda/sda1", "8:1");
        machine.partition("pci/sda/sda2", "8:2");
        machine.device("pci/sdb", "8:16");
        machine.device("pci/sdc", "8:32");
        machine
    }

    fn path(&self, at: &str) -> PathBuf {
        self.folder.path().join(at)
    }

    pub fn system(&self) -> System {
        let at = |name| self.path(name);
        System { sys: at("sys"), proc: at("proc"), dev: at("dev"), run: at("run") }
    }

    pub fn file(&self, at: &str, text: &str) {
        let path = self.path(at);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A whole device, `at` below `sys/devices`.
    pub fn device(&self, at: &str, number: &str) {
        let folder = self.path(&format!("sys/devices/{at}"));
        for inner in ["holders", "slaves", "queue"] {
            fs::create_dir_all(folder.join(inner)).unwrap();
        }
        fs::write(folder.join("dev"), format!("{number}\n")).unwrap();
        fs::write(folder.join("size"), "2097152\n").unwrap();
        symlink(&folder, self.path(&format!("sys/dev/block/{number}"))).unwrap();
        let name = folder.file_name().unwrap().to_str().unwrap();
        symlink(&folder, self.path(&format!("sys/class/block/{name}"))).unwrap();
    }

    /// A partition of a device.
    pub fn partition(&self, at: &str, number: &str) {
        self.device(at, number);
        self.file(&format!("sys/devices/{at}/partition"), "1\n");
    }

    /// `above` is built on `below`.
    pub fn built_on(&self, above: &str, below: &str) {
        let (up, down) = (self.path(&format!("sys/devices/{above}")), self.path(&format!("sys/devices/{below}")));
        symlink(&up, down.join("holders").join(up.file_name().unwrap())).unwrap();
        symlink(&down, up.join("slaves").join(down.file_name().unwrap())).unwrap();
    }
}
