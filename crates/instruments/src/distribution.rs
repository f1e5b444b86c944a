//! From a sum of histograms to the summary in a record.

use assay_record::{AtLeast, Distribution, Provenance};
use base64::{Engine, engine::general_purpose::STANDARD};
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer, V2Serializer};

use crate::tally::Sum;

/// Values beyond a percentile that make it supported.
const SUPPORT: f64 = 100.0;

/// The summary of a sum.
pub fn distribution(sum: &Sum, provenance: Provenance) -> Distribution {
    let empty = sum.count() == 0;
    Distribution {
        provenance,
        count: sum.count(),
        min_ns: if empty { 0 } else { sum.min },
        mean_ns: sum.mean(),
        stdev_ns: if empty { 0.0 } else { sum.histogram().stdev() },
        p50_ns: sum.percentile(50.0),
        p90_ns: sum.percentile(90.0),
        p99_ns: sum.percentile(99.0),
        p999_ns: sum.percentile(99.9),
        p9999_ns: sum.percentile(99.99),
        max_ns: sum.max,
        at_least: (sum.at_least.count > 0)
            .then_some(AtLeast { count: sum.at_least.count, from_ns: sum.at_least.from_ns }),
        above_range: sum.above,
        supported_percentile: if empty { 0.0 } else { (100.0 * (1.0 - SUPPORT / sum.count() as f64)).max(0.0) },
        histogram: serialised(sum),
        widths: None,
    }
}

/// HdrHistogram V2, compressed where that works, base64.
fn serialised(sum: &Sum) -> String {
    let mut bytes = Vec::new();
    if V2DeflateSerializer::new().serialize(sum.histogram(), &mut bytes).is_err() {
        bytes.clear();
        // Into memory, a plain serialisation cannot fail; were it to, an empty string says that there is no histogram.
        if V2Serializer::new().serialize(sum.histogram(), &mut bytes).is_err() {
            bytes.clear();
        }
    }
    STANDARD.encode(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::{Latencies, Snapshot};
    use hdrhistogram::{Histogram, serialization::Deserializer};

    #[test]
    fn a_histogram_survives_its_serialisation() {
        let latencies = Latencies::new();
        (1..5000u64).for_each(|value| latencies.record(value * 37));
        let mut sum = Sum::default();
        latencies.drain_into(&mut Snapshot::default(), &mut sum);
        let summary = distribution(&sum, Provenance::Measured);
        let bytes = STANDARD.decode(&summary.histogram).unwrap();
        let back: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
        assert_eq!(&back, sum.histogram());
        assert_eq!(summary.count, 4999);
        assert!(summary.p50_ns.abs_diff(2500 * 37) < 100 + 2500 * 37 / 500);
        assert!((summary.supported_percentile - 98.0).abs() < 0.01);
    }

    #[test]
    fn what_is_only_known_to_be_longer_is_told() {
        let latencies = Latencies::new();
        latencies.record(100);
        let mut sum = Sum::default();
        latencies.drain_into(&mut Snapshot::default(), &mut sum);
        assert_eq!(distribution(&sum, Provenance::Measured).at_least, None);
        sum.at_least.add(crate::tally::AtLeast { count: 2, from_ns: 70 });
        let told = distribution(&sum, Provenance::Measured).at_least.expect("two");
        assert_eq!((told.count, told.from_ns), (2, 70));
    }

    #[test]
    fn a_summary_has_the_figures_of_its_values() {
        let latencies = Latencies::new();
        [100, 300].iter().for_each(|value| latencies.record(*value));
        let mut sum = Sum::default();
        latencies.drain_into(&mut Snapshot::default(), &mut sum);
        let summary = distribution(&sum, Provenance::Measured);
        assert_eq!((summary.min_ns, summary.max_ns, summary.p50_ns, summary.p90_ns), (100, 300, 100, 300));
        assert_eq!((summary.mean_ns, summary.stdev_ns), (200.0, 100.0));
        assert_eq!(summary.supported_percentile, 0.0, "two values support none");
    }

    #[test]
    fn nothing_recorded_gives_zeros() {
        let summary = distribution(&Sum::default(), Provenance::Measured);
        assert_eq!((summary.count, summary.min_ns, summary.max_ns), (0, 0, 0));
        assert_eq!((summary.mean_ns, summary.stdev_ns, summary.supported_percentile), (0.0, 0.0, 0.0));
    }
}
