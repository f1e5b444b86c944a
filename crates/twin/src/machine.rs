//! The machine that a twin plays, as the record of a measured run describes one.

use assay_record::{BlockDevice, Cpu, Environment, FileSystem, Memory, TargetFacts};

use crate::{Host, Target};

/// A target of a play, by its name in the record.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// Its id or role.
    pub name: &'a str,
    /// As the user named it, `twin:` included.
    pub label: &'a str,
    /// What serves the load.
    pub target: &'a Target,
    /// File system in between; none for a device as it is.
    pub file_system: Option<&'a str>,
}

/// Host and devices of a play.
pub fn environment<'a>(host: &Host, parts: impl IntoIterator<Item = Part<'a>>) -> Environment {
    let threads = host.hardware_threads() as u32;
    Environment {
        host: format!("twin of {}", host.name),
        architecture: "virtual time".to_owned(),
        virtualisation: "none".to_owned(),
        cpu: Cpu {
            model: host.title.clone(),
            usable: threads,
            logical: threads,
            numa_nodes: 1,
            tsc_hz: host.clock_hz.value,
            clock: "virtual".to_owned(),
            ..Cpu::default()
        },
        memory: Memory {
            total_bytes: host.page_cache_bytes.as_ref().map_or(0, |bytes| bytes.value as u64),
            ..Memory::default()
        },
        targets: parts.into_iter().map(facts).collect(),
        ..Environment::default()
    }
}

fn facts(part: Part<'_>) -> TargetFacts {
    let (twin, bytes) = (part.target.twin(), part.target.capacity_bytes() as u64);
    TargetFacts {
        target: part.name.to_owned(),
        path: part.label.to_owned(),
        file_system: part.file_system.map(|kind| FileSystem {
            kind: kind.to_owned(),
            total_bytes: bytes,
            free_bytes: bytes,
            ..FileSystem::default()
        }),
        device: Some(BlockDevice {
            name: part.label.to_owned(),
            model: twin.title.clone(),
            bytes,
            members: vec![twin.name.clone(); part.target.devices() as usize],
            ..BlockDevice::default()
        }),
        layers: Vec::new(),
    }
}
