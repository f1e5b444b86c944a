//! The machine that a twin plays.

use assay_record::{BlockDevice, Cpu, Environment, FileSystem, Memory, TargetFacts};

use crate::play::scene::Scene;

/// Host and devices of a scene, as the record of a measured run describes a machine.
pub fn environment(scene: &Scene) -> Environment {
    let host = &scene.host;
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
        targets: (0..scene.targets.len()).map(|index| facts(scene, index)).collect(),
        ..Environment::default()
    }
}

fn facts(scene: &Scene, index: usize) -> TargetFacts {
    let (id, target) = &scene.targets[index];
    let twin = target.twin();
    let bytes = target.capacity_bytes() as u64;
    TargetFacts {
        target: id.clone(),
        path: scene.labels[index].clone(),
        file_system: scene.file_system(index).map(|kind| FileSystem {
            kind: kind.to_owned(),
            total_bytes: bytes,
            free_bytes: bytes,
            ..FileSystem::default()
        }),
        device: Some(BlockDevice {
            name: scene.labels[index].clone(),
            model: twin.title.clone(),
            bytes,
            members: vec![twin.name.clone(); target.devices() as usize],
            ..BlockDevice::default()
        }),
    }
}
