//! Between which frequencies the CPUs of this machine can have run: what cycles and CPU time are held against each other
//! with.

use std::fs;

use super::roots::Roots;

/// A CPU may run below what was seen of it, and time that a hypervisor takes for itself is CPU time without cycles.
const BELOW: f64 = 0.4;
/// A core may be clocked higher than a probe found while all cores were busy.
const ABOVE: f64 = 1.5;

/// The lowest and the highest plausible frequency, Hz: from what the kernel says of `cpu0` and from frequencies that were
/// `seen` (time stamp counter, probes), with generous margins. None where nothing is known.
pub fn plausible_hz(roots: &Roots, seen: &[f64]) -> Option<(f64, f64)> {
    let khz = |file: &str| {
        let text = fs::read_to_string(roots.sys.join("devices/system/cpu/cpu0/cpufreq").join(file)).ok()?;
        text.trim().parse::<f64>().ok().map(|khz| khz * 1e3)
    };
    let declared = [khz("cpuinfo_min_freq"), khz("cpuinfo_max_freq")];
    let known = seen.iter().copied().chain(declared.into_iter().flatten());
    let known: Vec<f64> = known.filter(|hz| hz.is_finite() && *hz > 0.0).collect();
    let lowest = known.iter().copied().reduce(f64::min)?;
    let highest = known.iter().copied().reduce(f64::max)?;
    Some((lowest * BELOW, highest * ABOVE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_bounds_widen_what_was_seen_and_nothing_known_is_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let roots = Roots { sys: folder.path().to_owned(), ..Roots::default() };
        assert_eq!(plausible_hz(&roots, &[0.0, f64::NAN]), None);
        assert_eq!(plausible_hz(&roots, &[2e9, 3e9]), Some((2e9 * BELOW, 3e9 * ABOVE)));
        let cpufreq = folder.path().join("devices/system/cpu/cpu0/cpufreq");
        std::fs::create_dir_all(&cpufreq).expect("made");
        std::fs::write(cpufreq.join("cpuinfo_min_freq"), "800000\n").expect("written");
        std::fs::write(cpufreq.join("cpuinfo_max_freq"), "4100000\n").expect("written");
        assert_eq!(plausible_hz(&roots, &[2e9]), Some((8e8 * BELOW, 4.1e9 * ABOVE)));
    }
}
