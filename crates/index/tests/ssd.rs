//! The B+-tree and the hash table on a drive behind the traits of all indexes: closed and opened again, and by power cuts
//! on a simulated disk.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use assay_btree::Tree;
use assay_buffer::{
    Config,
    disk::{
        Access, Disk, Drive,
        sim::{Fate, World},
    },
};
use assay_index::{
    Index, IndexError, Session,
    ssd::{HashTable, OnPool, SsdSession, Structure},
};

fn config() -> Config {
    Config { pool_bytes: 64 * 4096, workers: 6, depth: 16, ..Config::default() }
}

fn drive(path: &Path) -> Arc<dyn Disk> {
    let (paths, access) = ([path.to_owned()], Access::default());
    Arc::new(if path.exists() { Drive::open(&paths, access) } else { Drive::create(&paths, 1 << 26, access) }.unwrap())
}

#[test]
fn four_threads_write_and_a_clean_end_keeps_it_all() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("index");
    let index = OnPool::<Tree>::create(drive(&file), config()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let index = &index;
            scope.spawn(move || {
                let mut session = index.session();
                for number in 0..1000 {
                    let key = (number * 4 + thread).to_be_bytes();
                    assert!(session.insert(&key, &number.to_le_bytes()).unwrap());
                    assert!(!session.insert(&key, b"again").unwrap());
                }
            });
        }
    });
    index.close().unwrap();
    let index = OnPool::<Tree>::open(drive(&file), config()).unwrap();
    let mut session = index.session();
    let mut seen = 0_u64;
    let count = session.scan(&[], usize::MAX, &mut |key, value| {
        assert_eq!(key, seen.to_be_bytes());
        assert_eq!(value, (seen / 4).to_le_bytes());
        seen += 1;
        true
    });
    assert_eq!(count.unwrap(), 4000);
    let keys: Vec<_> = (0..5000_u64).map(u64::to_be_bytes).collect();
    let refs: Vec<_> = keys.iter().map(<[u8; 8]>::as_slice).collect();
    let mut found = 0;
    session
        .lookup_many(&refs, &mut |at, value| {
            assert_eq!(value, (at as u64 / 4).to_le_bytes());
            found += 1;
        })
        .unwrap();
    assert_eq!(found, 4000);
    assert!(session.update(&keys[7], b"new").unwrap() && session.remove(&keys[8]).unwrap());
    assert!(!session.update(&keys[8], b"new").unwrap() && session.upsert(&keys[8], b"there").unwrap());
    assert!(index.used_bytes() > 4000 * 16);
    let long = session.insert(&[1; 600], b"");
    assert!(matches!(long, Err(IndexError::KeyLength { bytes: 600, most: 512 })), "{long:?}");
}

/// Keys of a history: one of these each.
const KEYS: u64 = 500;

/// What is there, by a lookup of every key that a history may have written.
fn contents(session: &mut impl Session) -> Model {
    let (mut seen, mut value) = (Model::new(), Vec::new());
    for key in (0..KEYS).map(u64::to_be_bytes) {
        if session.lookup(&key, &mut value).unwrap() {
            seen.insert(key.to_vec(), value.clone());
        }
    }
    seen
}

/// Cuts power at one I/O of so many of a history, with every fate of what no flush had covered, and looks what is left.
fn cut_power<S: Structure>(name: &str, every: usize, sound: impl Fn(&OnPool<S>, &Model))
where
    for<'a> SsdSession<'a, S>: Session,
{
    let all = history::<S>(&World::new(3), None).1;
    for io in (0..all).step_by(every) {
        let world = World::new(3);
        let (models, _) = history::<S>(&world, Some(io));
        for fate in [Fate::Lost, Fate::Kept, Fate::Reordered(io), Fate::Torn(io)] {
            let disk: Arc<dyn Disk> = world.image().after(fate).disk(0);
            let Ok(index) = OnPool::<S>::open(disk, config()) else {
                assert!(models.0.is_empty(), "{name} cut at {io}, {fate:?}: it cannot be opened");
                continue;
            };
            let seen = contents(&mut index.session());
            let allowed = models.0.last().into_iter().chain(&models.1).any(|model| *model == seen);
            assert!(allowed || models.0.is_empty(), "{name} cut at {io}, {fate:?}: {} entries", seen.len());
            sound(&index, &seen);
            let examined = index.examine().expect("it can be examined");
            assert!(examined.is_ok(), "{name} cut at {io}, {fate:?}: {examined:?}");
        }
    }
}

#[test]
fn what_a_tree_made_durable_survives_lost_torn_and_reordered_writes() {
    cut_power::<Tree>("ssd-btree", 7, |index, seen| {
        let mut scanned = Model::new();
        let mut session = index.session();
        session
            .scan(&[], usize::MAX, &mut |key, value| scanned.insert(key.to_vec(), value.to_vec()).is_none())
            .unwrap();
        assert!(scanned == *seen, "a scan sees {} entries, lookups {}", scanned.len(), seen.len());
    });
}

#[test]
fn what_a_table_made_durable_survives_lost_torn_and_reordered_writes() {
    cut_power::<HashTable>("ssd-hash", 7, |index, seen| {
        let worker = index.pool().worker().unwrap();
        let (entries, _, pages) = index.structure().check(&worker).unwrap();
        assert_eq!(entries as usize, seen.len());
        assert_eq!(pages, index.pool().pages(), "no page is lost");
    });
}

type Model = BTreeMap<Vec<u8>, Vec<u8>>;
/// Models that were made durable, and the one that was being made so.
type Models = (Vec<Model>, Option<Model>);

/// Works until power is cut; models, and I/Os.
fn history<S: Structure>(world: &Arc<World>, cut: Option<u64>) -> (Models, u64)
where
    for<'a> SsdSession<'a, S>: Session,
{
    let disk: Arc<dyn Disk> = world.add("index", 1 << 22);
    if let Some(io) = cut {
        world.cut_power(io);
    }
    let (mut durable, mut begun, mut model) = (Vec::new(), None, Model::new());
    if let Ok(index) = OnPool::<S>::create(disk, config()) {
        durable.push(Model::new());
        'all: for round in 0..3_u64 {
            let mut session = index.session();
            for number in 0..300_u64 {
                let (key, value) = ((number * 7 % KEYS).to_be_bytes(), vec![round as u8; number as usize % 300]);
                if round == 2 && number % 5 == 0 {
                    if session.remove(&key).is_err() {
                        break 'all;
                    }
                    model.remove(key.as_slice());
                    continue;
                }
                if session.upsert(&key, &value).is_err() {
                    break 'all;
                }
                model.insert(key.to_vec(), value);
            }
            drop(session);
            begun = Some(model.clone());
            if index.make_durable().is_err() {
                break;
            }
            durable.push(model.clone());
        }
        // The clean end of the index is a checkpoint as well, where the disk takes it.
        if index.close().is_ok() {
            durable.push(model.clone());
        }
        begun = begun.filter(|_| durable.last() != Some(&model)).or(Some(model));
    }
    let ios = world.ios();
    ((durable, begun), ios)
}

#[test]
fn a_table_on_a_drive_is_a_map_whose_bucket_every_entry_lies_in() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("table");
    let mut model = Model::new();
    for life in 0..3_u64 {
        let index = if life == 0 {
            OnPool::<HashTable>::create(drive(&file), config()).unwrap()
        } else {
            OnPool::<HashTable>::open(drive(&file), config()).unwrap()
        };
        let mut session = index.session();
        for step in 0..6000_u64 {
            let number = (life * 6000 + step).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let key = (number >> 40).to_be_bytes()[3..3 + 5].to_vec();
            let value = vec![step as u8; (number % 61) as usize];
            match number >> 8 & 7 {
                0 => assert_eq!(session.remove(&key).unwrap(), model.remove(&key).is_some()),
                1 => {
                    let there = model.contains_key(&key);
                    assert_eq!(session.update(&key, &value).unwrap(), there);
                    model.entry(key).and_modify(|old| *old = value);
                }
                2 => assert_eq!(session.upsert(&key, &value).unwrap(), model.insert(key, value).is_none()),
                _ => {
                    assert_eq!(session.insert(&key, &value).unwrap(), !model.contains_key(&key));
                    model.entry(key).or_insert(value);
                }
            }
            if step % 5 == 4 {
                let gone = model.keys().nth(step as usize % model.len()).unwrap().clone();
                model.remove(&gone);
                assert!(session.remove(&gone).unwrap());
            }
        }
        let mut value = Vec::new();
        for (key, expected) in &model {
            assert!(session.lookup(key, &mut value).unwrap() && value == *expected, "{key:?}");
        }
        let keys: Vec<&[u8]> = model.keys().map(Vec::as_slice).collect();
        let mut found = 0;
        session
            .lookup_many(&keys, &mut |at, value| {
                assert_eq!(value, model[keys[at]]);
                found += 1;
            })
            .unwrap();
        assert_eq!(found, model.len());
        assert!(matches!(session.scan(&[], 1, &mut |_, _| true), Err(IndexError::Unsupported { .. })));
        drop(session);
        let worker = index.pool().worker().unwrap();
        let (entries, buckets, pages) = index.structure().check(&worker).unwrap();
        assert_eq!(entries as usize, model.len());
        assert_eq!(pages, index.pool().pages(), "no page is lost");
        assert!(buckets > 50 && pages < 2 * buckets, "{buckets} buckets, {pages} pages");
        drop(worker);
        index.close().unwrap();
    }
}

#[test]
fn a_page_that_is_in_use_and_nobodys_is_seen() {
    loses_a_page::<Tree>();
    loses_a_page::<HashTable>();
}

fn loses_a_page<S: Structure>()
where
    for<'a> SsdSession<'a, S>: Session,
{
    let index = OnPool::<S>::create(World::new(1).add("index", 1 << 22), config()).unwrap();
    let mut session = index.session();
    (0..500_u64).for_each(|key| assert!(session.insert(&key.to_be_bytes(), &[1; 40]).unwrap()));
    drop(session);
    let sound = index.examine().unwrap().unwrap();
    assert!(sound.starts_with("500 entries in ") && sound.contains("no page"), "{sound}");
    let worker = index.pool().worker().unwrap();
    worker.retry(|| Ok(worker.allocate(&worker.write())?.page())).unwrap();
    drop(worker);
    let wrong = index.examine().unwrap().unwrap_err();
    assert!(wrong.contains("in use"), "{wrong}");
}

#[test]
fn threads_share_a_table_while_it_grows() {
    let folder = tempfile::tempdir().unwrap();
    let index = OnPool::<HashTable>::create(drive(&folder.path().join("table")), config()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let index = &index;
            scope.spawn(move || {
                let (mut session, mut value) = (index.session(), Vec::new());
                for number in 0..2000_u64 {
                    let key = (number * 4 + thread).to_be_bytes();
                    assert!(session.insert(&key, &[thread as u8; 40]).unwrap());
                    let earlier = (number / 2 * 4 + thread).to_be_bytes();
                    assert!(session.lookup(&earlier, &mut value).unwrap() && value == [thread as u8; 40]);
                }
            });
        }
    });
    let worker = index.pool().worker().unwrap();
    assert_eq!(index.structure().check(&worker).unwrap().0, 8000);
}
