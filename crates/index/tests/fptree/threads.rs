//! Scans beside changes; single keys are what `histories` looks at.

use assay_index::{Index, Session};

use super::{case, model::tree};

fn value(words: bool, stamp: u64) -> Vec<u8> {
    let mut value = stamp.to_ne_bytes().to_vec();
    value.resize(if words { 8 } else { 8 + (stamp % 60) as usize }, stamp as u8);
    value
}

#[test]
fn scans_beside_changes_are_in_order_and_miss_nothing_that_stays() {
    for words in [true, false] {
        let tree = tree(words, 64 << 20);
        let keys: Vec<Vec<u8>> = (0..3000).map(|number| case::key(words, number)).collect();
        let mut session = tree.session();
        keys.iter().step_by(3).for_each(|key| assert!(session.insert(key, &value(words, 1)).unwrap()));
        let stay: std::collections::BTreeSet<_> = keys.iter().step_by(3).cloned().collect();
        std::thread::scope(|scope| {
            let churn = scope.spawn(|| {
                let mut session = tree.session();
                for _ in 0..6 {
                    for key in keys.iter().enumerate().filter(|(n, _)| n % 3 != 0).map(|(_, key)| key) {
                        session.insert(key, &value(words, 2)).unwrap();
                    }
                    for key in keys.iter().enumerate().filter(|(n, _)| n % 3 != 0).map(|(_, key)| key) {
                        session.remove(key).unwrap();
                    }
                }
            });
            loop {
                let done = churn.is_finished();
                let mut seen = Vec::new();
                session
                    .scan(&[0; 8], usize::MAX, &mut |key, _| {
                        seen.push(key.to_vec());
                        true
                    })
                    .unwrap();
                assert!(seen.windows(2).all(|pair| pair[0] < pair[1]), "out of order");
                assert_eq!(seen.iter().filter(|key| stay.contains(*key)).count(), stay.len());
                if done {
                    break;
                }
            }
        });
        tree.examine().unwrap().unwrap();
    }
}
