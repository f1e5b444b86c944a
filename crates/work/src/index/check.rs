//! What must be there when the window has closed.

use assay_index::{Index, IndexError, Session};
use assay_record::WorkCheck;

use super::{lookups::Lookups, workers::Worked};
use crate::index::{
    job::IndexJob,
    workload::{Entries, MISSING, Territory},
};

/// Which ids are there.
#[derive(Clone, Debug)]
pub(super) struct WindowFacts {
    keys: u64,
    territories: Vec<Territory>,
    /// Ids that a failed operation may have added or removed: none of them is judged.
    unsure: Vec<u64>,
    scannable: bool,
}

/// Entries up to which a full scan counts them.
const SCANNED_AT_MOST: u64 = 20_000_000;

impl WindowFacts {
    pub(super) fn of(job: &IndexJob, worked: &Worked) -> Self {
        let territories: Vec<Territory> = worked.outcomes.iter().map(|outcome| outcome.territory).collect();
        let unsure = territories.iter().flat_map(|one| [Some(one.added_id(one.added)), one.removed_id(one.removed)]);
        let failed = worked.outcomes.iter().any(|outcome| outcome.failure.is_some());
        let unsure = if failed { unsure.flatten().collect() } else { Vec::new() };
        Self { keys: job.keys, territories, unsure, scannable: job.index.ordered() && job.pool_file.is_none() }
    }

    pub(super) fn territories(&self) -> &[Territory] {
        &self.territories
    }

    /// Entries that must be there.
    pub(super) fn entries(&self) -> u64 {
        let (added, removed) =
            self.territories.iter().fold((0, 0), |(added, removed), one| (added + one.added, removed + one.removed));
        self.keys + added - removed
    }

    /// Every id that was ever there, whose it is, and whether it is there now.
    fn id(&self, n: u64) -> (u64, usize, bool) {
        let threads = self.territories.len() as u64;
        if n < self.keys {
            let owner = (n % threads) as usize;
            return (n, owner, n / threads >= self.territories[owner].removed);
        }
        let mut left = n - self.keys;
        for (owner, one) in self.territories.iter().enumerate() {
            match left.checked_sub(one.added) {
                Some(rest) => left = rest,
                None => return (one.added_id(left), owner, true),
            }
        }
        (MISSING, 0, false)
    }

    fn ids(&self) -> u64 {
        self.keys + self.territories.iter().map(|one| one.added).sum::<u64>()
    }
}

/// Looks ids up (all, or evenly spread ones), counts entries by a scan where there is an order, and asks the index.
pub(super) fn all(index: &impl Index, job: &IndexJob, facts: &WindowFacts, when: &str) -> Vec<WorkCheck> {
    let mut checks = vec![contents(index, job, facts, when)];
    if facts.scannable && facts.entries() <= SCANNED_AT_MOST {
        checks.push(order(index, facts, when));
    }
    if let Some(examined) = index.examine() {
        let (passed, evidence) = examined.map_or_else(|wrong| (false, wrong), |seen| (true, seen));
        checks.push(WorkCheck { name: format!("{when}-structure"), passed, evidence });
    }
    checks
}

fn contents(index: &impl Index, job: &IndexJob, facts: &WindowFacts, when: &str) -> WorkCheck {
    let lookups = || Lookups::new(Entries::new(job.sizes, job.seed), &job.sizes);
    let mut parts: Vec<_> = (0..index.parts()).map(|part| (index.session_of(part), lookups())).collect();
    let (ids, count) = (facts.ids(), parts.len());
    let looked_at = ids.min(job.checked_entries);
    let asked = (0..looked_at).flat_map(|n| {
        let (id, owner, there) = facts.id((u128::from(n) * u128::from(ids) / u128::from(looked_at)) as u64);
        [(id, owner, there), (id | MISSING, owner, false)]
    });
    let mut sure = asked.filter(|(id, ..)| !facts.unsure.contains(id));
    let wrong = sure.find_map(|(id, owner, there)| {
        let (session, lookups) = &mut parts[owner % count];
        lookups.add(session, id, there)
    });
    let wrong = wrong.or_else(|| parts.iter_mut().find_map(|(session, lookups)| lookups.look_up(session)));
    let evidence = match &wrong {
        None => format!("{looked_at} of {ids} ids and as many that never were are as they must be"),
        Some(first) => format!("of {looked_at} ids looked at: {first}"),
    };
    WorkCheck { name: format!("{when}-lookups"), passed: wrong.is_none() && looked_at > 0, evidence }
}

fn order(index: &impl Index, facts: &WindowFacts, when: &str) -> WorkCheck {
    let (mut count, mut disorder) = (0_u64, 0_u64);
    let seen: Result<usize, IndexError> = (0..index.parts())
        .map(|part| {
            let mut last = Vec::new();
            index.session_of(part).scan(&[0; 8], usize::MAX, &mut |key, _| {
                disorder += u64::from(last.as_slice() >= key);
                last.clear();
                last.extend_from_slice(key);
                count += 1;
                true
            })
        })
        .sum();
    let (least, most) = (facts.entries(), facts.entries() + facts.unsure.len() as u64);
    let least = least.saturating_sub(facts.unsure.len() as u64);
    let passed = seen.is_ok() && disorder == 0 && (least..=most).contains(&count);
    let evidence = match seen {
        Err(error) => format!("the scan failed: {error}"),
        Ok(_) => {
            format!("a scan saw {count} entries, {disorder} of them out of order; {} must be there", facts.entries())
        }
    };
    WorkCheck { name: format!("{when}-scan"), passed, evidence }
}
