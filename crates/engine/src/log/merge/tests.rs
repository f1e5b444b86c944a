use proptest::prelude::*;

use super::*;

/// A log in memory: commits and marks, in their order; how many were read; its name.
#[derive(Clone, Debug, Default)]
struct Written(Vec<(RecordKind, u64)>, usize, &'static str);

impl Source for Written {
    fn next(&mut self, record: &mut Vec<u8>) -> Result<Option<Head>> {
        let Some(&(kind, commit)) = self.0.get(self.1) else { return Ok(None) };
        self.1 += 1;
        *record = commit.to_le_bytes().to_vec();
        Ok(Some(Head { length: 32, position: self.1 as u64, commit, kind, changes: 0 }))
    }

    fn name(&self) -> String {
        self.2.to_owned()
    }
}

fn found(logs: &mut [Written], after: u64) -> Result<Vec<u64>> {
    let mut seen = Vec::new();
    let merged = merge(logs, after, |head, bytes| {
        assert_eq!(bytes, head.commit.to_le_bytes());
        seen.push(head.commit);
        Ok(())
    })?;
    assert_eq!((merged.commit, merged.commits), (after + seen.len() as u64, seen.len() as u64));
    Ok(seen)
}

fn commits(list: &[u64]) -> Written {
    Written(list.iter().map(|&commit| (RecordKind::Commit, commit)).collect(), 0, "a")
}

#[test]
fn what_lies_beyond_a_gap_is_left_out() {
    assert_eq!(found(&mut [commits(&[11, 13, 15]), commits(&[12, 16])], 10).unwrap(), [11, 12, 13]);
    assert_eq!(found(&mut [commits(&[12, 13]), commits(&[])], 10).unwrap(), [] as [u64; 0]);
    assert_eq!(found(&mut [commits(&[13, 12]), commits(&[14, 11])], 10).unwrap(), [11, 12, 13, 14]);
}

#[test]
fn a_commit_that_a_mark_says_was_durable_and_is_not_there_is_named() {
    let marked = Written(vec![(RecordKind::Commit, 1), (RecordKind::Mark, 3), (RecordKind::Commit, 4)], 0, "a");
    assert_eq!(found(&mut [marked.clone(), commits(&[2, 3])], 0).unwrap(), [1, 2, 3, 4]);
    match found(&mut [marked, commits(&[2])], 0) {
        Err(EngineError::LostCommit { lost: 3, seen: 3, .. }) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_that_is_further_ahead_than_any_may_be_of_what_is_durable_proves_a_loss() {
    let far = IN_FLIGHT_AT_MOST + 2;
    assert_eq!(found(&mut [commits(&[1, far - 1]), commits(&[])], 0).unwrap(), [1]);
    assert!(found(&mut [commits(&[1, far]), commits(&[])], 0).is_err());
    let many: Vec<u64> = (3..3 * IN_FLIGHT_AT_MOST).collect();
    assert!(found(&mut [commits(&many), commits(&[1])], 0).is_err());
}

#[test]
fn a_commit_that_is_there_twice_is_damage() {
    for logs in [[commits(&[1, 2]), commits(&[2])], [commits(&[1]), commits(&[5, 5])], [commits(&[]), commits(&[0])]] {
        assert!(matches!(found(&mut logs.clone(), 0), Err(EngineError::Damaged { .. })), "{logs:?}");
    }
}

proptest! {
    /// However commits were shared out, swapped with near ones and cut off: the longest run is found, in order.
    #[test]
    fn any_interleaving_and_any_cut_give_the_longest_run(
        count in 1_usize..=5,
        dealt in prop::collection::vec((0_usize..5, any::<bool>()), 0..120),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 5),
        after in 0_u64..1000,
    ) {
        let mut logs = vec![Written::default(); count];
        for (index, &(log, swap)) in dealt.iter().enumerate() {
            let list = &mut logs[log % count].0;
            list.push((RecordKind::Commit, after + 1 + index as u64));
            let length = list.len();
            if swap && length > 1 {
                list.swap(length - 1, length - 2);
            }
        }
        for (log, cut) in logs.iter_mut().zip(&cuts) {
            let left = cut.index(log.0.len() + 1);
            log.0.truncate(left);
        }
        let there: std::collections::BTreeSet<u64> = logs.iter().flat_map(|log| &log.0).map(|one| one.1).collect();
        let longest: Vec<u64> = (after + 1..).take_while(|commit| there.contains(commit)).collect();
        prop_assert_eq!(found(&mut logs, after).unwrap(), longest);
    }
}

#[test]
fn the_log_that_proved_a_loss_first_is_named_with_what_is_missing() {
    let marked = |list: &[(RecordKind, u64)], name| Written(list.to_vec(), 0, name);
    let (commit, mark) = (RecordKind::Commit, RecordKind::Mark);
    // The second is further behind when the first has read its commit.
    let mut logs = [marked(&[(commit, 21), (mark, 23)], "a"), marked(&[(mark, 23)], "b")];
    match found(&mut logs, 20) {
        Err(EngineError::LostCommit { log, lost, seen }) => assert_eq!((log.as_str(), lost, seen), ("b", 22, 23)),
        other => panic!("{other:?}"),
    }
    let mut all = [marked(&[(commit, 21), (mark, 22)], "a"), marked(&[(commit, 22), (mark, 21)], "b")];
    assert_eq!(found(&mut all, 20).unwrap(), [21, 22], "all are there up to the newest mark");
}

#[test]
fn padding_says_nothing_whatever_its_number() {
    let padded = Written(vec![(RecordKind::Padding, 9), (RecordKind::Commit, 1), (RecordKind::Padding, 1)], 0, "a");
    assert_eq!(found(&mut [padded, commits(&[2])], 0).unwrap(), [1, 2]);
}

#[test]
fn as_many_are_kept_ahead_as_may_be_in_flight_and_no_more() {
    let behind = |ahead: u64| {
        let list: Vec<u64> = (2..2 + ahead).chain([1]).collect();
        found(&mut [commits(&list)], 0)
    };
    let all: Vec<u64> = (1..=IN_FLIGHT_AT_MOST + 1).collect();
    assert_eq!(behind(IN_FLIGHT_AT_MOST).unwrap(), all);
    match behind(IN_FLIGHT_AT_MOST + 1) {
        Err(EngineError::LostCommit { lost: 1, seen: 2, .. }) => {}
        other => panic!("{:?}", other.map(|found| found.len())),
    }
}

#[test]
fn the_log_that_has_a_commit_again_is_named() {
    let mut logs = [commits(&[1, 2]), Written(vec![(RecordKind::Commit, 2)], 0, "b")];
    match found(&mut logs, 0) {
        // The second is read first once the first has commit 1, so that the first has it again.
        Err(EngineError::Damaged { place, what }) => {
            assert_eq!(place, "the log a");
            assert_eq!(what, "it has commit 2, which another record or the last checkpoint has already");
        }
        other => panic!("{other:?}"),
    }
}
