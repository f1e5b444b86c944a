//! By how much work is stretched that waits for a thread, for a core, for a lock.

/// Factor by which CPU work is stretched where so many threads share `cores`, bounded by who calls: as many threads as there are
/// wait at most for one another. One does not find itself at work (Schweitzer), but where all cores are, at least as many others.
pub fn shared_wait(threads: f64, busy: f64, cores: f64) -> f64 {
    if threads <= cores {
        return 1.0;
    }
    let others = (threads - cores) / threads;
    let found = others + (1.0 - others) * busy.min(1.0).powi(ALL_BUSY);
    core_wait(found * busy, cores).min(threads / cores)
}

/// How sharply cores are all at work as they fill.
const ALL_BUSY: i32 = 12;

/// Sakasegawa's approximation of the M/M/c queue.
fn core_wait(busy: f64, cores: f64) -> f64 {
    let busy = busy.min(0.9999);
    1.0 + busy.powf((2.0 * (cores + 1.0)).sqrt() - 1.0) / (cores * (1.0 - busy))
}

/// Factor by which an operation's stay on a thread grows: service hardly varies, so that half of what would wait behind
/// exponential service does, and a thread with `depth` operations is at most busy all the time.
pub fn thread_wait(busy: f64, depth: f64) -> f64 {
    if depth <= 1.0 {
        return 1.0;
    }
    let seen = busy.min(1.0) * (1.0 - 0.5 / depth);
    (1.0 + 0.5 * seen / (1.0 - seen)).min(depth)
}

/// The same where a thread uses what was read ahead: requests come back in their order and at their pace, so that none waits
/// for the thread before it is nearly always busy.
pub fn pipe_wait(busy: f64, depth: f64) -> f64 {
    1.0 + (depth - 1.0) * busy.min(1.0).powi(8)
}

/// Factor by which a customer's stay grows while a station is `busy`, from the point of view of one that arrives.
pub fn waiting(busy: f64) -> f64 {
    1.0 / (1.0 - busy.min(0.999))
}
