//! What a class asks for by itself: order of offsets, arrivals, pauses, writes.

use super::check;
use crate::{Arrivals, Class, Dataset, DurabilityKind, JobError, Layout, Operation, PathKind, Pattern};

pub(super) fn pattern(at: &str, class: &Class) -> Result<(), JobError> {
    match class.pattern {
        Pattern::Zipf { theta } => check(
            theta.is_finite() && theta > 0.0 && theta <= 10.0,
            format!("{at}.pattern.theta"),
            theta,
            "use a number above 0 and up to 10",
        ),
        Pattern::HotSpot { operations_percent, pages_percent } => check(
            operations_percent <= 100 && (1..=100).contains(&pages_percent),
            format!("{at}.pattern"),
            format!("{operations_percent} % of operations on {pages_percent} % of pages"),
            "use percentages",
        ),
        Pattern::Sequential | Pattern::Uniform | Pattern::Shuffled => Ok(()),
    }
}

pub(super) fn arrivals(at: &str, class: &Class) -> Result<(), JobError> {
    let (rate, burst) = match class.arrivals {
        Arrivals::Closed => return Ok(()),
        Arrivals::Fixed { rate_per_s, .. } | Arrivals::Poisson { rate_per_s, .. } => (rate_per_s, 1),
        Arrivals::Burst { rate_per_s, burst, .. } => (rate_per_s, burst),
    };
    let possible = rate.is_finite() && rate > 0.0 && rate <= 1e9;
    check(possible, format!("{at}.arrivals.rate_per_s"), rate, "use more than 0 and up to 1e9 operations per second")?;
    check(burst >= 1, format!("{at}.arrivals.burst"), burst, "use at least 1")
}

/// A pause follows an operation of a thread, so that nothing else of the thread may be in flight.
pub(super) fn think(at: &str, class: &Class) -> Result<(), JobError> {
    let Some(think) = class.think else { return Ok(()) };
    let possible = think.pause_s > 0.0 && think.pause_s <= 3600.0;
    check(possible, format!("{at}.think.pause_s"), think.pause_s, "use more than 0 and up to 3600 seconds")?;
    check(think.every >= 1, format!("{at}.think.every"), think.every, "use at least 1")?;
    let closed = class.arrivals == Arrivals::Closed;
    check(
        closed,
        format!("{at}.think"),
        "a rate beside it",
        "remove one of the two: a rate says when operations are due",
    )?;
    check(class.depth == 1, format!("{at}.think"), format!("depth {}", class.depth), "use depth 1 and more threads")
}

pub(super) fn writes(at: &str, class: &Class, dataset: &Dataset) -> Result<(), JobError> {
    let writes = match class.operation {
        Operation::Read => false,
        Operation::Write => true,
        Operation::Mix { write_percent } => {
            check(write_percent <= 100, format!("{at}.operation"), write_percent, "use 0 to 100 percent")?;
            write_percent > 0
        }
        Operation::Trim => true,
    };
    let every = class.durability.every;
    check(every >= 1, format!("{at}.durability.every"), every, "use at least 1")?;
    let open = matches!(class.durability.kind, DurabilityKind::ODsync | DurabilityKind::RwfDsync);
    check(!open || every == 1, format!("{at}.durability.every"), every, "this means knows only 1")?;
    let kept = !writes || dataset.layout != Layout::AsFound;
    check(kept, format!("{at}.operation"), "writes to data used as found", "read it, or let Assay make the data")?;
    let grows = dataset.layout == Layout::Grow;
    let pure = !grows || (class.operation == Operation::Write && class.pattern == Pattern::Sequential);
    check(pure, format!("{at}.dataset"), "a growing file", "only sequential writes can grow a file")?;
    let filled = dataset.layout != Layout::Preallocated || writes;
    check(filled, format!("{at}.operation"), "reads of preallocated space", "read written data: layout written")?;
    let mapped = grows && matches!(class.path.kind, PathKind::Mmap | PathKind::Pmem);
    check(!mapped, format!("{at}.path"), "a mapping of a growing file", "use layout written or preallocated")
}
