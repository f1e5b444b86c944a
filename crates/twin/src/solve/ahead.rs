//! How long operations wait for what the kernel reads ahead of them.

use crate::{Percentile, device_load::DeviceAnswer};

/// Ranks of an answer: the share of all operations that take longer.
const RARE: [f64; 3] = [0.5, 0.01, 0.001];
/// Among operations that wait, the shares beyond which the median, and the 99th percentile, are nearest in rank.
const NEAREST: [f64; 2] = [0.25, 0.005];

/// Turns what the device answered to requests that are read ahead into what an operation waits for: `wait_ns` on average.
/// One operation in `per_request` is the first of its request, and the only one that waits, for what is left of the
/// request's time when it comes.
pub fn wait(answer: &mut DeviceAnswer, wait_ns: f64, per_request: f64) {
    let each = per_request.max(1.0);
    let gone_ns = (answer.mean_ns - wait_ns * each).max(0.0);
    let of_requests = [answer.p50, answer.p99, answer.p999];
    let ranks = RARE.map(|rare| left(of_requests, rare * each, gone_ns));
    [answer.p50, answer.p99, answer.p999] = ranks;
    answer.mean_ns = wait_ns;
}

/// The same where the device is full of requests that are read ahead, each `spacing_ns` after the one before. They were asked
/// for together once, and come back together ever after: the first of them is waited for long, and those behind it come one
/// by one while a reader uses all operations of one, of which it has `held_ns` each.
pub fn wait_in_bunches(
    answer: &mut DeviceAnswer,
    wait_ns: f64,
    (per_request, used_ahead): (f64, f64),
    (spacing_ns, held_ns): (f64, f64),
) {
    let each = per_request.max(1.0);
    let behind = if used_ahead < 1.0 { 0.0 } else { used_ahead / each };
    let bunch = 1.0 + behind;
    let behind_ns = (spacing_ns - held_ns * each).clamp(0.0, wait_ns * each);
    let first_ns = wait_ns * each * bunch - behind_ns * behind;
    let at = |rare: f64| match rare * each {
        share if share < 1.0 / bunch => first_ns,
        share if share < 1.0 => behind_ns,
        _ => 0.0,
    };
    let width = answer.p50.high_ns / answer.p50.mid_ns.max(1e-9) - 1.0;
    [answer.p50, answer.p99, answer.p999] = RARE.map(|rare| Percentile::around(at(rare), width));
    answer.mean_ns = wait_ns;
}

/// What a reader that keeps to a rate waits for, ns of an operation: requests are under way while it uses so many operations
/// `used_ahead`.
pub fn wait_at_rate(answer: &DeviceAnswer, ops_per_s: f64, threads: f64, (per_request, used_ahead): (f64, f64)) -> f64 {
    let used_ns = used_ahead * threads / ops_per_s * 1e9;
    (answer.mean_ns - used_ns).max(0.0) / per_request.max(1.0)
}

/// What is left of the requests' time `gone_ns` after they were asked for, at the rank of `rare` among those that wait.
fn left(of_requests: [Percentile; 3], rare: f64, gone_ns: f64) -> Percentile {
    if rare >= 1.0 {
        return Percentile::default();
    }
    let nearest = NEAREST.iter().filter(|share| rare <= **share).count();
    let rest = |ns: f64| (ns - gone_ns).max(0.0);
    let found = of_requests[nearest];
    Percentile { low_ns: rest(found.low_ns), mid_ns: rest(found.mid_ns), high_ns: rest(found.high_ns) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> DeviceAnswer {
        let of = |ns: f64| Percentile::around(ns, 0.1);
        DeviceAnswer { mean_ns: 100.0, p50: of(90.0), p99: of(300.0), p999: of(500.0), ..DeviceAnswer::default() }
    }

    #[test]
    fn most_operations_find_what_was_read_ahead() {
        let mut small = answer();
        wait(&mut small, 1.0, 32.0);
        assert_eq!(small.p50.mid_ns, 0.0, "one of 32 waits");
        assert!((small.p99.mid_ns - (90.0 - 68.0)).abs() < 1e-9, "{:?}", small.p99);
        assert!((small.p999.mid_ns - (300.0 - 68.0)).abs() < 1e-9, "{:?}", small.p999);
    }

    #[test]
    fn an_operation_that_is_a_request_waits_for_what_is_left_of_it() {
        let mut large = answer();
        wait(&mut large, 100.0, 1.0);
        assert_eq!([large.p50.mid_ns, large.p99.mid_ns], [90.0, 300.0]);
    }

    /// Three of 200 us each, asked for together by each of four readers: ten of twelve are the others' when they are waited for.
    #[test]
    fn what_was_asked_for_together_comes_back_together() {
        let mut four = answer();
        wait_in_bunches(&mut four, 760.0, (1.0, 2.0), (200.0, 40.0));
        assert_eq!([four.p50.mid_ns, four.p99.mid_ns], [160.0, 1960.0]);
        assert_eq!(four.mean_ns, (1960.0 + 2.0 * 160.0) / 3.0);
        let mut one = answer();
        wait_in_bunches(&mut one, 160.0, (1.0, 2.0), (200.0, 40.0));
        assert_eq!([one.p50.mid_ns, one.p999.mid_ns], [160.0; 2], "alone, each comes as long after the one before");
        let mut large = answer();
        wait_in_bunches(&mut large, 3100.0, (0.5, 0.5), (400.0, 100.0));
        assert_eq!(
            [large.p50.mid_ns, large.p999.mid_ns],
            [3100.0; 2],
            "nothing is asked for ahead of four requests at once"
        );
    }

    #[test]
    fn a_slow_reader_waits_for_nothing() {
        assert_eq!(wait_at_rate(&answer(), 1e3, 1.0, (32.0, 64.0)), 0.0);
        assert!((wait_at_rate(&answer(), 1e9, 1.0, (32.0, 64.0)) - 36.0 / 32.0).abs() < 1e-9, "64 ns of 100 are gone");
    }
}
