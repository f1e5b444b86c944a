//! Ways to several leaves side by side, and what is done by their fingers.

use super::*;

/// Whatever happened to a leaf since a finger was made, what is read or changed through it is right; and where nothing
/// happened, ways side by side end where single ones do.
#[test]
fn ways_side_by_side_end_where_single_ones_do() {
    for frames in [64, 2048] {
        let place = place(4096, frames);
        let worker = place.pool.worker().unwrap();
        let tree = Tree::create(&worker, &worker.write()).unwrap();
        let key = |index: u64| [&[7; 5], &index.to_be_bytes()[..]].concat();
        let mut model: Model = (0..20_000_u64).map(|index| (key(index * 2), vec![1; index as usize % 90])).collect();
        tree.load(&worker, &worker.write(), model.iter()).unwrap();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(frames);
        for round in 0..300 {
            let keys: Vec<_> = (0..40).map(|_| key(random.next_u64() % 40_002)).collect();
            let wanted: Vec<_> = keys.iter().map(|key| Approach { tree: &tree, key }).collect();
            let mut fingers = Vec::new();
            Approach::all(&worker, &wanted, round % 2 == 0, &mut fingers);
            assert_eq!(fingers.len(), keys.len());
            let lost = fingers.iter().filter(|finger| finger.is_none()).count();
            assert!(frames == 64 || lost == 0, "{lost} of {} ways are lost, with all in memory", keys.len());
            for (key, mut finger) in keys.iter().zip(fingers) {
                go_by_finger(&tree, &worker, &mut model, (key, &mut finger), random.next_u64());
            }
            worker.settle().unwrap();
        }
        check(&tree, &worker, &model);
    }
}

/// Reads a key, and changes it or its neighbour, by a finger.
fn go_by_finger(tree: &Tree, worker: &Worker<'_>, model: &mut Model, (key, finger): (&[u8], &mut Finger), chance: u64) {
    let mut seen = Vec::new();
    let copy = |value: &[u8]| {
        seen.clear();
        seen.extend_from_slice(value);
    };
    let there = tree.lookup_with(worker, key, finger, copy).unwrap();
    assert_eq!(there.then_some(&seen), model.get(key), "{key:?}");
    match chance % 3 {
        0 => {
            let (value, mut old) = (vec![2; (chance >> 8) as usize % 120], None);
            let put = &mut |replaced: Option<&[u8]>| old = replaced.map(<[u8]>::to_vec);
            tree.replace(worker, &worker.write(), (key, &value), finger, put).unwrap();
            assert_eq!(old, model.insert(key.to_vec(), value));
        }
        1 => assert_eq!(tree.remove(worker, &worker.write(), key).unwrap(), model.remove(key).is_some()),
        _ => {}
    }
}
