//! All layers that a path lies on, from its file system down: each is asked by itself what it may do to operations.

use std::path::Path;

use assay_record::{Layer, LayerDoes, LayerEffect};

use super::{Block, System, btrfs_members, device_number, mapper, mounts};

/// Layers on layers deeper than this are a circle.
const DEEPEST: u32 = 16;
/// File systems whose files are memory.
const IN_MEMORY: [&str; 4] = ["tmpfs", "ramfs", "hugetlbfs", "devtmpfs"];
/// File systems that another process or machine answers for, with caches of its own.
const ELSEWHERE: [&str; 9] = ["9p", "nfs", "nfs4", "cifs", "smb3", "ceph", "virtiofs", "fuse", "fuseblk"];

/// The layers beneath a path: its file system where it is none's device, then the devices down to the simple ones.
pub fn layers(system: &System, path: &Path) -> Vec<Layer> {
    let mut found = Vec::new();
    collect_path(system, path, &mut found, 0);
    found
}

/// The layers of a device, itself first.
pub fn layers_of_device(system: &System, block: &Block) -> Vec<Layer> {
    let mut found = Vec::new();
    collect_block(system, block, &mut found, 0);
    found
}

fn collect_path(system: &System, path: &Path, into: &mut Vec<Layer>, depth: u32) {
    use std::os::unix::fs::FileTypeExt;
    let Ok(facts) = path.metadata() else { return };
    if !facts.file_type().is_block_device() && !facts.file_type().is_char_device() {
        into.extend(file_system(system, path));
    }
    let block = device_number(system, path).and_then(|number| Block::find(system, number));
    let Some(block) = block else { return };
    let members = btrfs_members(system, &block.whole());
    match members {
        // A mount of btrfs names one member of several.
        Some(members) if members.len() > 1 => {
            members.iter().filter_map(|name| Block::named(system, name)).for_each(|one| {
                collect_block(system, &one, into, depth + 1);
            });
        }
        _ => collect_block(system, &block, into, depth + 1),
    }
}

fn collect_block(system: &System, block: &Block, into: &mut Vec<Layer>, depth: u32) {
    let whole = block.whole();
    if depth > DEEPEST || into.iter().any(|layer| layer.name == whole.name) {
        return;
    }
    into.push(layer(&whole));
    if let Some(file) = whole.backing_file() {
        return collect_path(system, Path::new(&file), into, depth + 1);
    }
    for member in whole.made_of() {
        collect_block(system, &member, into, depth + 1);
    }
}

fn effect(does: LayerDoes, (reads, writes): (bool, bool), by: impl Into<String>) -> LayerEffect {
    LayerEffect { does, reads, writes, by: by.into() }
}

const BOTH: (bool, bool) = (true, true);
const READS: (bool, bool) = (true, false);
const WRITES: (bool, bool) = (false, true);

fn file_system(system: &System, path: &Path) -> Option<Layer> {
    let mount = mounts::mount_of(system, &path.canonicalize().ok()?).ok()??;
    Some(Layer {
        name: mount.point.display().to_string(),
        kind: "file-system".to_owned(),
        effects: effects_of_file_system(&mount.kind, &mount.options),
        detail: mount.kind,
    })
}

/// What a file system may do, by its type and options.
pub fn effects_of_file_system(kind: &str, options: &str) -> Vec<LayerEffect> {
    let mut effects = Vec::new();
    if IN_MEMORY.contains(&kind) {
        effects.push(effect(LayerDoes::Serves, BOTH, "its files are memory"));
    }
    if ELSEWHERE.contains(&kind) || kind.starts_with("fuse.") {
        effects.push(effect(LayerDoes::Serves, BOTH, "the caches of the process or machine that answers for it"));
        effects.push(effect(LayerDoes::Delays, BOTH, "the way to that process or machine"));
    }
    let compresses = |option: &str| {
        option.starts_with("compress")
            && !option.ends_with("=no")
            && !option.ends_with("=none")
            && option != "compress_cache"
    };
    if kind == "zfs" || kind == "bcachefs" || options.split(',').any(compresses) {
        effects.push(effect(LayerDoes::Changes, BOTH, "compression"));
    }
    if options.split(',').any(|option| option == "data=journal") {
        effects.push(effect(LayerDoes::Delays, WRITES, "data go through its journal first"));
    }
    effects
}

fn layer(block: &Block) -> Layer {
    let (kind, detail, effects) = kind_of(block);
    Layer { name: block.name.clone(), kind: kind.to_owned(), detail, effects }
}

fn kind_of(block: &Block) -> (&'static str, String, Vec<LayerEffect>) {
    if let Some(file) = block.backing_file() {
        return ("loop", file, loop_device(block));
    }
    if !block.attribute("dm/uuid").is_empty() || !block.attribute("dm/name").is_empty() {
        let targets = mapper::targets(&block.attribute("dm/name"), &block.attribute("dm/uuid"));
        return ("device-mapper", targets.join(" "), mapper::effects(&targets));
    }
    let level = block.attribute("md/level");
    if !level.is_empty() {
        return ("md", level.clone(), array(block, &level));
    }
    if let Some(effects) = memory(&block.name) {
        return ("memory", String::new(), effects);
    }
    if let Some(by) = network(&block.name) {
        return ("network", String::new(), vec![effect(LayerDoes::Delays, BOTH, by)]);
    }
    if block.name.starts_with("bcache") {
        let mode = block.attribute("bcache/cache_mode");
        return ("cache", mode, vec![effect(LayerDoes::Serves, BOTH, "its cache device")]);
    }
    ("disk", String::new(), disk(block))
}

/// Without direct I/O the backing file is read and written through the page cache.
fn loop_device(block: &Block) -> Vec<LayerEffect> {
    let direct = block.attribute("loop/dio") == "1";
    if direct { Vec::new() } else { vec![effect(LayerDoes::Serves, BOTH, "the page cache of its file")] }
}

fn array(block: &Block, level: &str) -> Vec<LayerEffect> {
    let mut effects = Vec::new();
    if matches!(level, "raid4" | "raid5" | "raid6") {
        effects.push(effect(LayerDoes::Changes, WRITES, "parity"));
        effects.push(effect(LayerDoes::Delays, WRITES, "reads of the old data and parity"));
    }
    if matches!(level, "raid1" | "raid10") {
        effects.push(effect(LayerDoes::Changes, WRITES, "copies"));
    }
    let doing = block.attribute("md/sync_action");
    if !matches!(doing.as_str(), "" | "idle" | "frozen") {
        effects.push(effect(LayerDoes::Delays, BOTH, format!("its {doing}, which goes on")));
    }
    if block.attribute("md/degraded").parse().is_ok_and(|missing: u32| missing > 0) && level != "raid1" {
        effects.push(effect(LayerDoes::Delays, READS, "members that it lacks"));
    }
    effects
}

/// Devices that are memory.
fn memory(name: &str) -> Option<Vec<LayerEffect>> {
    let numbered = |stem: &str| {
        name.strip_prefix(stem).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if numbered("zram") {
        let changes = effect(LayerDoes::Changes, BOTH, "compression");
        return Some(vec![effect(LayerDoes::Serves, BOTH, "its blocks are memory"), changes]);
    }
    if numbered("ram") {
        return Some(vec![effect(LayerDoes::Serves, BOTH, "its blocks are memory")]);
    }
    numbered("nullb").then(|| vec![effect(LayerDoes::Serves, BOTH, "it completes requests without a medium")])
}

fn network(name: &str) -> Option<&'static str> {
    let stems = [("nbd", "its server, over the network"), ("rbd", "its cluster"), ("drbd", "its peer")];
    stems.into_iter().find(|(stem, _)| name.starts_with(stem)).map(|(_, by)| by)
}

fn disk(block: &Block) -> Vec<LayerEffect> {
    let mut effects = Vec::new();
    if block.attribute("queue/write_cache") == "write back" {
        effects.push(effect(LayerDoes::Serves, WRITES, "its write cache, until a flush"));
    }
    if block.attribute("queue/wbt_lat_usec").parse().is_ok_and(|us: u64| us > 0) {
        effects.push(effect(LayerDoes::Delays, WRITES, "the kernel's limit of background writes (wbt_lat_usec)"));
    }
    effects
}
