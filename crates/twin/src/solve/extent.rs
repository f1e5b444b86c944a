//! Whether a stream lies inside the box that a twin was calibrated in.

use crate::{Stream, Target};

/// Added to a band's half-width for every factor of e that lies outside the box.
const WIDTH_PER_FOLD: f64 = 0.1;
/// Most that is added.
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
        words.push(format!("{what} {value:.6} {unit} lie outside {least} to {most}").replace("  ", " "));
    }
    (words, f64::min(stretch, WIDTH_AT_MOST))
}

fn folds(value: f64, least: f64, most: f64) -> f64 {
    if value < least { (least / value.max(1e-3)).ln() } else { (value / most.max(1e-3)).ln() }
}
