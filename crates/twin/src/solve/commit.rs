//! Commits of a file system's journal: one is under way at a time, and all who wait for the next one share it.

use crate::{
    Device, PathKey, Target, TwinError,
    analytic::answer,
    device_load::{DeviceAnswer, DeviceLoad},
    document::StripeKind,
    host::Commit,
};

/// The journal that the flushes of a stream commit to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Journal {
    /// Time that a commit takes for one who waits: CPU, sleep, its write, the device's flushes, ns.
    alone_ns: f64,
    /// Time that each other one adds, ns.
    waiter_ns: f64,
    /// One flush of the device, ns: an operation's time at the device holds its share of one already.
    flush_ns: f64,
    /// Journals side by side: as many file systems as drives where the program interleaves pages itself.
    count: f64,
    /// Nothing is committed: these are flushes that Linux merges.
    merged: bool,
}

/// How the flushes of a stream fare at a rate.
#[derive(Clone, Copy, Debug)]
pub struct Committed {
    /// From a flush's call until its commit is done, less the flush of the device, ns.
    pub wait_ns: f64,
    /// Flushes that share a commit.
    pub group: f64,
}

impl Journal {
    /// The journal on an idle target.
    ///
    /// # Errors
    /// Where the target cannot take its writes.
    pub fn of(target: &Target, load: &DeviceLoad, commit: &Commit, clock_hz: f64) -> Result<Self, TwinError> {
        let per_ns = clock_hz / 1e9;
        let path = if load.path.is_buffered() { PathKey::PreadDirect } else { load.path };
        let flushes = commit.device_flushes.max(1.0);
        let write = DeviceLoad {
            write_share: 1.0,
            size_bytes: commit.bytes,
            sequential: true,
            in_flight: 1.0,
            threads: 1.0,
            bunch: 1.0,
            think_ns: 0.0,
            rate_per_s: f64::INFINITY,
            flushes_per_op: flushes,
            path,
            ..*load
        };
        let mut seen = [DeviceAnswer::default()];
        answer(target, &[write], &mut seen)?;
        Ok(Self {
            alone_ns: commit.cycles / per_ns + commit.sleep_ns + seen[0].mean_ns,
            waiter_ns: commit.cycles_per_waiter / per_ns,
            flush_ns: seen[0].flush_ns / flushes,
            count: journals(target),
            merged: false,
        })
    }

    /// Flushes of `lasts_ns` that Linux merges (`block/blk-flush.c`): one is under way, and all who ask meanwhile share the
    /// next one.
    pub fn of_flushes(lasts_ns: f64) -> Self {
        Self { alone_ns: lasts_ns, waiter_ns: 0.0, flush_ns: lasts_ns, count: 1.0, merged: true }
    }

    /// Nothing but flushes of the device.
    pub fn is_merged(&self) -> bool {
        self.merged
    }

    /// What `customers` who flush `per_s` times a second in all find, if each is busy elsewhere for `away_ns` between two
    /// flushes. Who comes while a commit is under way waits for its end, and then for the next one: half of it where
    /// flushes come at random, more where everybody who was woken together comes back before it is half done.
    pub fn at(&self, per_s: f64, customers: f64, away_ns: f64) -> Committed {
        let (rate, most) = (per_s / 1e9 / self.count, (customers / self.count).max(1.0));
        let room = 1.0 - rate * self.waiter_ns;
        let group = if room > 0.0 { rate * (self.alone_ns - self.waiter_ns) / room } else { most };
        let group = group.clamp(1.0, most);
        let lasts_ns = self.alone_ns + (group - 1.0) * self.waiter_ns;
        let under_way = (rate * lasts_ns / group).min(1.0);
        let others = if self.merged {
            // A drive that flushes takes no writes, so that two who write and flush in turn wait for each other.
            under_way * (most - 1.0).min(1.0)
        } else {
            // Who comes to flush is not part of the commit that is under way.
            let own = (rate * lasts_ns / most).min(under_way);
            (under_way - own) / (1.0 - own).max(1e-9)
        };
        let left = (1.0 - away_ns / lasts_ns.max(1e-9)).max(0.5) - self.early(group, away_ns);
        let wait_ns = lasts_ns * (1.0 + others * left) - self.flush_ns / group;
        Committed { wait_ns: wait_ns.max(0.0), group }
    }
}

impl Journal {
    /// Share of a commit's group that is woken so early that it is back for the very next commit: waiters are woken one
    /// after the other, and the next commit begins when the last of them is.
    fn early(&self, group: f64, away_ns: f64) -> f64 {
        if self.waiter_ns > 0.0 { (1.0 - away_ns / (self.waiter_ns * group)).max(0.0) } else { 0.0 }
    }
}

/// Flushes of the drives take their time, so that Linux makes one of those that wait.
pub fn merges(target: &Target) -> bool {
    matches!(&target.twin().device, Device::Nand(nand) if nand.flush.power_loss_protection.value < 0.5)
}

/// Journals of a target.
pub fn journals(target: &Target) -> f64 {
    match target {
        Target::Stripe { count, layout: StripeKind::Interleave, .. } => f64::from(*count),
        Target::Cache { back, .. } => journals(back),
        Target::Stripe { .. } | Target::Device { .. } | Target::Block { .. } => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOURNAL: Journal =
        Journal { alone_ns: 50_000.0, waiter_ns: 2_000.0, flush_ns: 10_000.0, count: 1.0, merged: false };

    #[test]
    fn one_who_flushes_waits_for_its_own_commit() {
        let found = JOURNAL.at(1000.0, 1.0, 1e6);
        assert_eq!((found.wait_ns, found.group), (40_000.0, 1.0));
    }

    #[test]
    fn many_share_commits_and_wait_for_the_one_under_way() {
        let found = JOURNAL.at(100_000.0, 16.0, 10_000.0);
        assert!(found.group > 4.0 && found.group <= 16.0, "{found:?}");
        assert!(found.wait_ns > 50_000.0 && found.wait_ns < 2.0 * (50_000.0 + 15.0 * 2_000.0), "{found:?}");
    }

    /// Two who flush again before the other's commit is done wait for each other: one commit after the other.
    #[test]
    fn two_who_hardly_do_anything_else_take_turns() {
        let per_s = 1e9 / JOURNAL.alone_ns;
        let found = JOURNAL.at(per_s, 2.0, 10_000.0);
        assert!((found.wait_ns - (2.0 * 50_000.0 - 10_000.0 - JOURNAL.flush_ns)).abs() < 1.0, "{found:?}");
    }

    #[test]
    fn flushes_of_many_become_few() {
        let flushes = Journal::of_flushes(1e6);
        assert_eq!(flushes.at(800.0, 1.0, 1e4).wait_ns, 0.0);
        // Half of 32 flush while the others write and wait.
        let found = flushes.at(16_000.0, 32.0, 1e4);
        assert!((found.group - 16.0).abs() < 0.1, "{found:?}");
        assert!((1.8e6..2.0e6).contains(&found.wait_ns), "{found:?}");
    }

    #[test]
    fn waiting_grows_with_the_rate() {
        let waits = [1e2, 1e3, 1e4, 1e5, 1e6].map(|rate| JOURNAL.at(rate, 32.0, 50_000.0).wait_ns);
        assert!(waits.windows(2).all(|pair| pair[0] <= pair[1] * 1.0001), "{waits:?}");
    }
}
