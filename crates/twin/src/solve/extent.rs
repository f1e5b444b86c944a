//! Whether a stream lies inside the box that a twin was calibrated in.

use crate::{Stream, Target};

use super::commit::merges;

/// Added to a band's half-width for every factor of e that lies outside the box.
const WIDTH_PER_FOLD: f64 = 0.1;
/// Added where a file grows: the cost of commits is that of one machine, and of an older kernel. A log on persistent memory
/// grew 1.5 times as slowly there as the fit to two logs on drives has it, and commits measured here were half as long.
const WIDTH_OF_GROWTH: f64 = 1.25;
/// Added where several wait for flushes at once: how a drive takes writes while it flushes was seen of one thread only.
const WIDTH_OF_MERGED: f64 = 0.3;
/// Most that is added for what lies outside the box.
const WIDTH_AT_MOST: f64 = 1.0;

/// What of a stream lies outside the box, in words, and by how much the bands widen.
pub fn outside(target: &Target, stream: &Stream) -> (Vec<String>, f64) {
    let twin = target.twin();
    let members = f64::from(target.devices().max(1));
    let percent = stream.write_share * 100.0;
    let asked = [
        ("operations of", "bytes", stream.size_bytes, twin.bounds.size_bytes),
        ("operations in flight on each device:", "", stream.in_flight() / members, twin.bounds.in_flight),
        ("a share of writes of", "percent", percent, twin.bounds.write_percent),
        ("a load of", "seconds", stream.duration_s, twin.bounds.duration_s),
    ];
    let mut words = Vec::new();
    let mut stretch = 0.0;
    for (index, (what, unit, value, [least, most])) in asked.into_iter().enumerate() {
        let skip = value == 0.0 && index == 3 || index == 1 && value < least && members > 1.0;
        if skip || (least..=most).contains(&value) {
            continue;
        }
        stretch += WIDTH_PER_FOLD * (1.0 + folds(value, least, most));
        let value = (value * 1000.0).round() / 1000.0;
        words.push(format!("{what} {value} {unit} lie outside {least} to {most}").replace("  ", " "));
    }
    let mut growth = 0.0;
    if stream.grows && crate::host::needs_flush(stream) {
        growth = WIDTH_OF_GROWTH;
        words.push("a growing file commits metadata, whose cost follows from two figures of one machine".to_owned());
    }
    if flushes_meet(target, stream) {
        stretch += WIDTH_OF_MERGED;
        words.push("flushes of several at once, which Linux merges, were measured on no drive of this kind".to_owned());
    }
    (words, f64::min(stretch, WIDTH_AT_MOST) + growth)
}

/// Several at once flush a drive whose flushes take their time.
fn flushes_meet(target: &Target, stream: &Stream) -> bool {
    merges(target) && stream.in_flight() > 1.0 && crate::host::needs_flush(stream)
}

fn folds(value: f64, least: f64, most: f64) -> f64 {
    if value < least { (least / value.max(1e-3)).ln() } else { (value / most.max(1e-3)).ln() }
}
