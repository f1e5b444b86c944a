//! How warm drives are: the kernel's hardware monitors (`hwmon`) beside an NVMe controller, or a disk (`drivetemp`).

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::roots::Roots;

/// Samples the temperature of some devices.
#[derive(Clone, Debug)]
pub struct HeatSampler {
    drives: Vec<(String, PathBuf)>,
}

/// Temperatures at one moment, by device, degrees Celsius.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeatSample {
    degrees: Vec<Option<f64>>,
}

/// A device in a window.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatUse {
    /// Kernel name.
    pub device: String,
    /// Temperature when the window opened, degrees Celsius.
    pub before_c: f64,
    /// And when it closed.
    pub after_c: f64,
    /// From which on the device says that it is too hot; none where it does not say.
    pub limit_c: Option<f64>,
}

impl HeatSampler {
    /// For devices by kernel name; those without a sensor are left out.
    pub fn new(names: impl IntoIterator<Item = String>, roots: &Roots) -> Self {
        let with_sensor = |name: String| sensor(&roots.sys.join("class/block").join(&name)).map(|at| (name, at));
        Self { drives: names.into_iter().filter_map(with_sensor).collect() }
    }

    /// Reads all of them.
    pub fn sample(&self) -> HeatSample {
        HeatSample { degrees: self.drives.iter().map(|(_, at)| degrees(&at.join("temp1_input"))).collect() }
    }

    /// From one moment to another; those that could not be read are left out.
    pub fn used(&self, before: &HeatSample, after: &HeatSample) -> Vec<HeatUse> {
        let ends = before.degrees.iter().zip(&after.degrees);
        let pairs = self.drives.iter().zip(ends);
        let used = pairs.map(|((name, at), (before, after))| {
            Some(HeatUse { device: name.clone(), before_c: (*before)?, after_c: (*after)?, limit_c: limit(at) })
        });
        used.flatten().collect()
    }
}

/// The lowest bound that the sensor names; a drive may name none.
fn limit(at: &Path) -> Option<f64> {
    let named = ["temp1_max", "temp1_crit"].iter().filter_map(|file| degrees(&at.join(file)));
    named.filter(|&degrees| degrees > 0.0).min_by(f64::total_cmp)
}

fn degrees(file: &Path) -> Option<f64> {
    let thousandths: f64 = fs::read_to_string(file).ok()?.trim().parse().ok()?;
    thousandths.is_finite().then_some(thousandths / 1000.0)
}

/// The sensor of a device or, where that is a name space of one, of its controller.
fn sensor(block: &Path) -> Option<PathBuf> {
    let places = ["device", "device/device", "device/hwmon", "device/device/hwmon"];
    let monitors = places.iter().flat_map(|place| fs::read_dir(block.join(place)).into_iter().flatten().flatten());
    let named = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with("hwmon");
    let mut found = monitors.filter(named).map(|entry| entry.path()).filter(|at| at.join("temp1_input").exists());
    found.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sensor_at(folder: &Path, at: &str, files: &[(&str, &str)]) {
        for (file, text) in files {
            fs::create_dir_all(folder.join(at)).expect("made");
            fs::write(folder.join(at).join(file), text).expect("written");
        }
    }

    #[test]
    fn drives_of_both_kinds_are_read_and_others_left_out() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let roots = Roots { sys: folder.path().to_owned(), ..Roots::default() };
        let nvme = "class/block/nvme0n1/device/hwmon3";
        sensor_at(
            folder.path(),
            nvme,
            &[("temp1_input", "41850\n"), ("temp1_max", "81850\n"), ("temp1_crit", "84850\n")],
        );
        sensor_at(folder.path(), "class/block/sda/device/hwmon/hwmon1", &[("temp1_input", "30000\n")]);
        fs::create_dir_all(folder.path().join("class/block/vda/device")).expect("made");
        let sampler = HeatSampler::new(["nvme0n1", "sda", "vda"].map(str::to_owned), &roots);
        let before = sampler.sample();
        fs::write(folder.path().join(nvme).join("temp1_input"), "82850\n").expect("written");
        let used = sampler.used(&before, &sampler.sample());
        let hot = HeatUse { device: "nvme0n1".to_owned(), before_c: 41.85, after_c: 82.85, limit_c: Some(81.85) };
        let cool = HeatUse { device: "sda".to_owned(), before_c: 30.0, after_c: 30.0, limit_c: None };
        assert_eq!(used, [hot, cool]);
    }
}
