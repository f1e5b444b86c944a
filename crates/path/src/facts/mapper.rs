//! Device mapper: what the table of a device does.
//!
//! sysfs shows a name and a lasting id; the table itself only `dmsetup` shows (or the ioctl that it uses).

use std::process::Command;

use assay_record::{LayerDoes, LayerEffect};

/// Target types of a mapped device's table, each once, in order; by its lasting id where the table cannot be had.
pub fn targets(name: &str, uuid: &str) -> Vec<String> {
    let asked = Command::new("dmsetup").args(["table", name]).output();
    let table = asked.ok().filter(|output| output.status.success());
    let found = table.map(|output| parse_table(&String::from_utf8_lossy(&output.stdout))).unwrap_or_default();
    if found.is_empty() { vec![by_uuid(uuid).to_owned()] } else { found }
}

/// Types out of a table: `0 2048 linear 254:0 0`, a line a segment.
pub fn parse_table(text: &str) -> Vec<String> {
    let mut types: Vec<String> = Vec::new();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let numbers = (words.next(), words.next());
        let numeric = |word: Option<&str>| word.is_some_and(|word| word.parse::<u64>().is_ok());
        if let Some(kind) = words.next().filter(|_| numeric(numbers.0) && numeric(numbers.1)) {
            if !types.iter().any(|known| known == kind) {
                types.push(kind.to_owned());
            }
        }
    }
    types
}

/// Who makes a device writes its own mark in front of the id.
fn by_uuid(uuid: &str) -> &'static str {
    match uuid.split('-').next().unwrap_or_default() {
        "CRYPT" => "crypt",
        "mpath" => "multipath",
        "VDO" => "vdo",
        _ => "unknown",
    }
}

/// What targets of these types may do.
pub fn effects(types: &[String]) -> Vec<LayerEffect> {
    types.iter().flat_map(|kind| of_type(kind)).collect()
}

fn of_type(kind: &str) -> Vec<LayerEffect> {
    use LayerDoes::{Changes, Delays, Serves};
    let all: &[(LayerDoes, bool, bool, &str)] = match kind {
        "zero" => &[(Serves, true, true, "zeros, and writes that are dropped")],
        "cache" => &[(Serves, true, true, "its cache device")],
        "writecache" | "log-writes" => &[(Serves, false, true, "its cache of writes")],
        "thin" | "snapshot" | "snapshot-origin" | "thin-pool" => &[
            (Serves, true, false, "zeros where nothing was written"),
            (Delays, false, true, "room that is made first"),
        ],
        "vdo" => &[(Changes, true, true, "compression, and copies that are found")],
        "crypt" => &[(Delays, true, true, "encryption")],
        "integrity" | "verity" => &[(Delays, true, true, "checksums")],
        "delay" | "dust" => &[(Delays, true, true, "a delay that was asked for")],
        "flakey" | "error" => &[(Changes, true, true, "faults that were asked for")],
        _ => &[],
    };
    let effect = |&(does, reads, writes, by): &(LayerDoes, bool, bool, &str)| LayerEffect {
        does,
        reads,
        writes,
        by: format!("{by} (dm-{kind})"),
    };
    all.iter().map(effect).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_gives_its_types_and_nonsense_none() {
        let table = "0 2048 linear 254:0 0\n2048 4096 delay 254:0 0 5\n6144 8 linear 254:1 0\n";
        assert_eq!(parse_table(table), ["linear", "delay"]);
        assert!(parse_table("Device does not exist.\nCommand failed.\n").is_empty());
        let effects = effects(&parse_table(table));
        assert_eq!((effects.len(), effects[0].does), (1, LayerDoes::Delays));
        assert_eq!((by_uuid("CRYPT-LUKS2-ab"), by_uuid("LVM-xyz")), ("crypt", "unknown"));
    }
}
