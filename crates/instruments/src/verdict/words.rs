//! Figures as people read them.

/// Bytes with a binary unit and three digits.
pub(super) fn bytes(count: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    scaled(count, 1024.0, &UNITS)
}

/// A rate per second with a decimal prefix.
pub(super) fn rate(per_s: f64) -> String {
    scaled(per_s, 1000.0, &["", "k", "M", "G"]).trim_end().to_owned() + "/s"
}

/// Nanoseconds with the unit that fits.
pub(super) fn time(ns: f64) -> String {
    scaled(ns, 1000.0, &["ns", "us", "ms", "s"])
}

/// Hertz with the unit that fits.
pub(super) fn hertz(hz: f64) -> String {
    scaled(hz, 1000.0, &["Hz", "kHz", "MHz", "GHz"])
}

/// A share in percent: whole from 10 % up, with one digit from 0.1 % up, and with what is needed below.
pub(super) fn percent(share: f64) -> String {
    let value = share * 100.0;
    match value.abs() {
        x if x >= 10.0 || x == 0.0 => format!("{value:.0} %"),
        x if x >= 0.1 => format!("{value:.1} %"),
        _ => format!("{value:.4} %"),
    }
}

fn scaled(value: f64, step: f64, units: &[&str]) -> String {
    let (mut value, mut unit) = (value, 0);
    while value.abs() >= step && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    let digits = match value.abs() {
        x if x >= 100.0 || x == x.trunc() => 0,
        x if x >= 10.0 => 1,
        _ => 2,
    };
    let space = if units[unit].is_empty() { "" } else { " " };
    format!("{value:.digits$}{space}{}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_and_a_unit() {
        assert_eq!(bytes(0.0), "0 B");
        assert_eq!(bytes(4096.0), "4 KiB");
        assert_eq!(bytes(5.5 * 1024.0 * 1024.0), "5.50 MiB");
        assert_eq!(rate(950.0), "950/s");
        assert_eq!(rate(12_345.0), "12.3 k/s");
        assert_eq!(time(1_500_000.0), "1.50 ms");
        assert_eq!(hertz(2.25e9), "2.25 GHz");
        assert_eq!((percent(0.973), percent(0.0123), percent(0.0)), ("97 %".into(), "1.2 %".into(), "0 %".into()));
        assert_eq!(percent(0.00002), "0.0020 %");
    }

    #[test]
    fn units_change_at_a_thousand_and_the_largest_goes_on() {
        assert_eq!([rate(999.0), rate(1000.0), rate(1e12)], ["999/s", "1 k/s", "1000 G/s"]);
        assert_eq!([bytes(1023.0), bytes(1024.0), bytes(2_f64.powi(50))], ["1023 B", "1 KiB", "1024 TiB"]);
        assert_eq!([time(-1_500.0), time(2e12), hertz(5e6)], ["-1.50 us", "2000 s", "5 MHz"]);
    }

    #[test]
    fn digits_are_three_and_none_is_a_zero_alone() {
        assert_eq!([rate(250.25), rate(99.5), rate(10.5)], ["250/s", "99.5/s", "10.5/s"]);
        assert_eq!([rate(9.25), rate(9.0), rate(0.5)], ["9.25/s", "9/s", "0.50/s"]);
        assert_eq!([percent(0.1), percent(0.099), percent(-0.25)], ["10 %", "9.9 %", "-25 %"]);
        assert_eq!([percent(0.001), percent(0.0005)], ["0.1 %", "0.0500 %"]);
    }
}
