//! The path on a controller in software.

mod software;

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering::SeqCst},
    time::Duration,
};

use assay_record::{Durability, DurabilityKind, Layout, PathKind, PathSpec};
use proptest::prelude::*;

use self::software::{DEVICE, Nature, Played};
use super::{Polled, flights::SegmentBlocks};
use crate::{Arena, Completion, OpenParameters, Queued, Request, Segment, SegmentKind, Wait};

const PATIENCE: Duration = Duration::from_secs(20);
const ENDLESS: u64 = u64::MAX;

/// A path on played drives, all of each drive being a segment.
struct Bench {
    path: Polled,
    arena: Arena,
    drives: Vec<Played>,
}

fn segment(bytes: usize) -> Segment {
    Segment { path: DEVICE.into(), kind: SegmentKind::BlockDevice, base: 0, bytes: bytes as u64 }
}

fn open(drives: &[&Played], arena: &Arena, depth: u32, durability: DurabilityKind, sleep_us: u32) -> Polled {
    let segments: Vec<_> = drives.iter().map(|played| segment(played.medium.lock().unwrap().len())).collect();
    let spec = PathSpec { poll_sleep_us: sleep_us, ..PathSpec::plain(PathKind::NvmePolled) };
    let parameters = OpenParameters {
        spec: &spec,
        durability: Durability { kind: durability, every: 1 },
        segments: &segments,
        writes: true,
        layout: Layout::AsFound,
        arena,
        depth,
        batch: 1,
    };
    let all: Vec<_> = drives.iter().map(|played| Arc::clone(played.drive.as_ref().unwrap())).collect();
    let places: Vec<SegmentBlocks> = segments
        .iter()
        .zip(&all)
        .enumerate()
        .map(|(lane, (segment, drive))| super::place_of(segment, drive, lane as u32).unwrap())
        .collect();
    Polled::on(&parameters, all, places).unwrap()
}

impl Bench {
    fn new(natures: &[Nature], depth: u32, durability: DurabilityKind) -> Self {
        Self::patient(natures, depth, durability, PATIENCE)
    }

    fn patient(natures: &[Nature], depth: u32, durability: DurabilityKind, patience: Duration) -> Self {
        let drives: Vec<_> = natures.iter().map(|nature| Played::new(*nature, patience)).collect();
        let mut arena = Arena::new(depth as usize * (64 << 10)).unwrap();
        arena.fill_random(natures[0].seed);
        let path = open(&drives.iter().collect::<Vec<_>>(), &arena, depth, durability, 0);
        Self { path, arena, drives }
    }

    fn memory(&self, request: &Request) -> &[u8] {
        &self.arena.as_slice()[request.memory..request.memory + request.length as usize]
    }

    fn reap(&mut self, at_least: u32) -> Vec<Completion> {
        let mut into = Vec::with_capacity(4096);
        self.path.reap(Wait { at_least, timeout_ns: ENDLESS }, &mut into).unwrap();
        into
    }

    fn one(&mut self, request: Request) -> i32 {
        self.path.push(request);
        let done = self.reap(1);
        assert_eq!((done.len(), done[0].slot), (1, request.slot));
        done[0].result
    }
}

fn request(write: bool, slot: u32, offset: u64, length: u32) -> Request {
    Request { write, segment: 0, offset, length, memory: slot as usize * (64 << 10), slot }
}

#[test]
fn what_is_written_is_read_back_by_another_thread() {
    let mut bench = Bench::new(&[Nature::sound(1)], 2, DurabilityKind::None);
    assert_eq!(bench.one(request(true, 0, 8192, 16_384)), 16_384);
    let written = bench.memory(&request(true, 0, 8192, 16_384)).to_vec();
    assert_eq!(bench.drives[0].medium.lock().unwrap()[8192..8192 + 16_384], written);
    let read = thread_reads(&bench.drives[0], request(false, 0, 8192, 16_384));
    assert_eq!(read, written);
    bench.drives[0].assert_proper();
}

fn thread_reads(played: &Played, request: Request) -> Vec<u8> {
    let read = || {
        let arena = Arena::new(64 << 10).unwrap();
        let mut path = open(&[played], &arena, 1, DurabilityKind::None, 0);
        path.push(request);
        let mut into = Vec::with_capacity(1);
        path.reap(Wait { at_least: 1, timeout_ns: ENDLESS }, &mut into).unwrap();
        assert_eq!(into[0].result, request.length as i32);
        drop(path);
        arena.as_slice()[..request.length as usize].to_vec()
    };
    std::thread::scope(|scope| scope.spawn(read).join().unwrap())
}

#[test]
fn a_batch_is_handed_over_with_one_ring_and_no_call() {
    let mut bench = Bench::new(&[Nature { entries: 1024, ..Nature::sound(2) }], 256, DurabilityKind::None);
    for slot in 0..256 {
        bench.path.push(Request { memory: slot as usize * 4096, ..request(false, slot, u64::from(slot) * 4096, 4096) });
    }
    assert_eq!(bench.drives[0].seen.rings.load(SeqCst), 0, "nothing is seen before it is submitted");
    assert_eq!(bench.path.submit().unwrap(), 256);
    assert_eq!(bench.reap(256).len(), 256);
    assert_eq!((bench.drives[0].seen.rings.load(SeqCst), bench.path.system_calls()), (1, 0));
}

#[test]
fn sleeps_are_the_only_calls() {
    let played = Played::new(Nature { loses: 1, ..Nature::sound(3) }, Duration::from_millis(50));
    let arena = Arena::new(4096).unwrap();
    let mut path = open(&[&played], &arena, 1, DurabilityKind::None, 100);
    path.push(request(false, 0, 0, 4096));
    let mut into = Vec::with_capacity(1);
    path.reap(Wait { at_least: 1, timeout_ns: ENDLESS }, &mut into).unwrap();
    assert!(path.system_calls() > 0, "it waited for an answer that never came");
}

#[test]
fn a_wait_ends_when_its_time_is_over_and_none_never_blocks() {
    let mut bench = Bench::new(&[Nature { loses: 1, ..Nature::sound(4) }], 1, DurabilityKind::None);
    bench.path.push(request(false, 0, 0, 4096));
    let mut into = Vec::with_capacity(1);
    for timeout_ns in [0, 2_000_000] {
        assert_eq!(bench.path.reap(Wait { at_least: 1, timeout_ns }, &mut into).unwrap(), 0);
    }
    bench.drives[0].drive.as_ref().unwrap().fail(libc::EIO);
    assert_eq!(bench.reap(1)[0].result, -libc::EIO);
}

#[test]
fn a_large_transfer_becomes_as_many_commands_as_the_controller_wants() {
    let nature = Nature { transfer_shift: 2, ..Nature::sound(5) };
    let mut bench = Bench::new(&[nature], 1, DurabilityKind::None);
    assert_eq!(bench.one(request(true, 0, 512, 64 << 10)), 64 << 10);
    assert_eq!(bench.drives[0].seen.commands.load(SeqCst), 4);
    let written = bench.memory(&request(true, 0, 512, 64 << 10)).to_vec();
    assert_eq!(bench.drives[0].medium.lock().unwrap()[512..512 + (64 << 10)], written);
    bench.drives[0].assert_proper();
}

#[test]
fn more_operations_than_a_queue_has_entries_wait_for_room() {
    let nature = Nature { entries: 4, transfer_shift: 1, ..Nature::sound(6) };
    let mut bench = Bench::new(&[nature], 32, DurabilityKind::Fdatasync);
    for slot in 0..31 {
        bench.path.push(request(true, slot, u64::from(slot) * 65_536, 32_768));
    }
    bench.path.push_flush(0, 31);
    let mut done = Vec::new();
    while done.len() < 32 {
        done.extend(bench.reap(32 - done.len() as u32));
    }
    let by_slot: BTreeMap<u32, i32> = done.iter().map(|completion| (completion.slot, completion.result)).collect();
    assert!((0..31).all(|slot| by_slot[&slot] == 32_768) && by_slot[&31] == 0, "{by_slot:?}");
    for slot in 0..31 {
        let written = bench.memory(&request(true, slot, 0, 32_768)).to_vec();
        let at = slot as usize * 65_536;
        assert_eq!(bench.drives[0].medium.lock().unwrap()[at..at + 32_768], written, "slot {slot}");
    }
    assert_eq!(bench.drives[0].seen.flushes.load(SeqCst), 1);
    bench.drives[0].assert_proper();
}

#[test]
fn durability_is_a_flush_or_a_bit() {
    for (kind, flushes, forced) in [
        (DurabilityKind::None, 0, 0),
        (DurabilityKind::Fdatasync, 1, 0),
        (DurabilityKind::Fsync, 1, 0),
        (DurabilityKind::ODsync, 0, 1),
        (DurabilityKind::RwfDsync, 0, 1),
    ] {
        let mut bench = Bench::new(&[Nature::sound(7)], 2, kind);
        assert_eq!(bench.one(request(true, 0, 0, 4096)), 4096);
        bench.path.push_flush(0, 1);
        assert_eq!(bench.reap(1), [Completion { slot: 1, result: 0 }]);
        let seen = &bench.drives[0].seen;
        assert_eq!((seen.flushes.load(SeqCst), seen.forced.load(SeqCst)), (flushes, forced), "{kind:?}");
    }
}

#[test]
fn a_scatter_gather_descriptor_is_used_where_it_pays() {
    let mut bench = Bench::new(&[Nature { pieces: true, ..Nature::sound(8) }], 1, DurabilityKind::None);
    assert_eq!(bench.one(request(true, 0, 0, 4096)), 4096);
    assert_eq!(bench.drives[0].seen.pieces.load(SeqCst), 0);
    assert_eq!(bench.one(request(true, 0, 0, 65_536)), 65_536);
    assert_eq!(bench.drives[0].seen.pieces.load(SeqCst), 1);
    bench.drives[0].assert_proper();
}

#[test]
fn an_error_of_the_device_is_an_errno_of_that_operation() {
    let nature = Nature { error_percent: 100, transfer_shift: 1, ..Nature::sound(9) };
    for (error, errno) in [(0x281, libc::EIO), (0x081, libc::ENOSPC), (0x002, libc::EOPNOTSUPP)] {
        let mut bench = Bench::new(&[Nature { error, ..nature }], 4, DurabilityKind::None);
        assert_eq!(bench.one(request(false, 2, 0, 32_768)), -errno);
        assert_eq!(bench.one(request(true, 2, 0, 512)), -errno, "the queue goes on");
    }
}

#[test]
fn what_leaves_its_segment_its_buffer_or_its_blocks_is_refused() {
    let mut bench = Bench::new(&[Nature::sound(10)], 4, DurabilityKind::None);
    let end = 4 << 20;
    for wrong in [
        request(false, 0, end, 4096),
        request(false, 0, end - 512, 4096),
        request(false, 0, 256, 4096),
        request(false, 0, 0, 700),
        request(false, 0, 0, 0),
        Request { memory: 4 * (64 << 10) - 512, ..request(false, 0, 0, 4096) },
        Request { memory: usize::MAX - 100, ..request(false, 0, 0, 4096) },
        Request { segment: 1, ..request(false, 0, 0, 4096) },
    ] {
        assert_eq!(bench.one(wrong), -libc::EINVAL, "{wrong:?}");
    }
    assert_eq!(bench.drives[0].seen.commands.load(SeqCst), 0, "the device saw none of them");
}

#[test]
fn a_lost_answer_ends_in_a_timeout_and_the_drive_is_stopped() {
    let nature = Nature { loses: 3, ..Nature::sound(11) };
    let mut bench = Bench::patient(&[nature], 4, DurabilityKind::None, Duration::from_millis(300));
    let mut done = Vec::new();
    for slot in 0..4 {
        bench.path.push(request(true, slot, u64::from(slot) * 4096, 4096));
    }
    while done.len() < 4 {
        done.extend(bench.reap(4 - done.len() as u32));
    }
    let late = done.iter().filter(|completion| completion.result == -libc::ETIMEDOUT).count();
    assert_eq!((late, done.iter().filter(|completion| completion.result == 4096).count()), (1, 3));
    assert_eq!(bench.drives[0].seen.queues.load(SeqCst), 0, "the controller is disabled");
    assert_eq!(bench.one(request(true, 0, 0, 4096)), -libc::ETIMEDOUT, "nothing is sent to it any more");
    bench.path.push_flush(0, 1);
    assert_eq!(bench.reap(1)[0].slot, 1);
}

#[test]
fn a_fatal_controller_ends_everything_that_is_under_way() {
    let mut bench = Bench::new(&[Nature { dies_at: 10, ..Nature::sound(12) }], 32, DurabilityKind::None);
    for slot in 0..32 {
        bench.path.push(request(false, slot, u64::from(slot) * 65_536, 65_536));
    }
    let mut done = Vec::new();
    while done.len() < 32 {
        done.extend(bench.reap(32 - done.len() as u32));
    }
    let mut slots: Vec<u32> = done.iter().map(|completion| completion.slot).collect();
    slots.sort_unstable();
    assert_eq!(slots, (0..32).collect::<Vec<_>>(), "each ends once");
    assert!(done.iter().all(|completion| [65_536, -libc::EIO].contains(&completion.result)), "{done:?}");
    assert!(done.iter().filter(|completion| completion.result == -libc::EIO).count() >= 23);
}

#[test]
fn threads_have_queues_of_their_own_and_a_controller_has_so_many() {
    let played = Played::new(Nature { queues: 2, ..Nature::sound(13) }, PATIENCE);
    let arena = Arena::new(64 << 10).unwrap();
    let (one, two) =
        (open(&[&played], &arena, 1, DurabilityKind::None, 0), open(&[&played], &arena, 1, DurabilityKind::None, 0));
    assert_eq!(played.seen.queues.load(SeqCst), 2);
    let drive = Arc::clone(played.drive.as_ref().unwrap());
    assert!(super::Lane::open(drive, &arena, 1).unwrap().is_none(), "there is no third");
    drop(one);
    assert_eq!(played.seen.queues.load(SeqCst), 1);
    let three = open(&[&played], &arena, 1, DurabilityKind::None, 0);
    drop((two, three));
    assert_eq!(played.seen.queues.load(SeqCst), 0);
    played.assert_proper();
}

#[test]
fn a_drive_is_shut_down_in_order() {
    let mut played = Played::new(Nature::sound(14), PATIENCE);
    assert!(!played.seen.shut_down.load(SeqCst));
    played.drive = None;
    assert!(played.seen.shut_down.load(SeqCst));
}

#[test]
fn a_path_that_is_dropped_waits_for_what_is_under_way() {
    let mut bench = Bench::new(&[Nature::sound(15)], 16, DurabilityKind::None);
    for slot in 0..16 {
        bench.path.push(request(true, slot, u64::from(slot) * 65_536, 65_536));
    }
    let Bench { path, drives, .. } = bench;
    drop(path);
    assert_eq!(drives[0].seen.commands.load(SeqCst), 16);
    drives[0].assert_proper();
}

/// A step of a generated load.
#[derive(Clone, Copy, Debug)]
struct Step {
    write: bool,
    drive: u32,
    block: u64,
    blocks: u32,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (any::<bool>(), 0_u32..2, 0_u64..8000, 1_u32..=96);
    let step = step.prop_map(|(write, drive, block, blocks)| Step { write, drive, block, blocks });
    prop::collection::vec(step, 1..120)
}

/// Runs steps as far as slots are free, and compares every read with a model. Steps that overlap one under way wait.
fn compare(natures: &[Nature; 2], depth: u32, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut bench = Bench::new(natures, depth, DurabilityKind::None);
    let mut models: Vec<Vec<u8>> = natures.iter().map(|nature| vec![0; nature.bytes]).collect();
    let mut flying: BTreeMap<u32, (Step, Request)> = BTreeMap::new();
    let mut waiting: Vec<Step> = steps.iter().rev().copied().collect();
    let apart = |a: &Step, b: &Step| {
        a.drive != b.drive || a.block + u64::from(a.blocks) <= b.block || b.block + u64::from(b.blocks) <= a.block
    };
    while !waiting.is_empty() || !flying.is_empty() {
        while let Some(step) = waiting.last().copied() {
            let free = (0..depth).find(|slot| !flying.contains_key(slot));
            let Some(slot) = free.filter(|_| flying.values().all(|(other, _)| apart(other, &step))) else { break };
            waiting.pop();
            let request =
                Request { segment: step.drive, ..request(step.write, slot, step.block * 512, step.blocks * 512) };
            if step.write {
                let at = request.memory;
                bench.arena.as_mut_slice()[at..at + 8].copy_from_slice(&(waiting.len() as u64).to_le_bytes());
            }
            bench.path.push(request);
            flying.insert(slot, (step, request));
        }
        for Completion { slot, result } in bench.reap(1) {
            let Some((step, request)) = flying.remove(&slot) else {
                return Err(TestCaseError::fail(format!("slot {slot} ended twice")));
            };
            let range = request.offset as usize..request.offset as usize + request.length as usize;
            let model = &mut models[step.drive as usize][range];
            let memory = bench.memory(&request);
            match result {
                _ if result == request.length as i32 && step.write => model.copy_from_slice(memory),
                _ if result == request.length as i32 => prop_assert_eq!(&*model, memory),
                // A write that failed may have been carried out in part; the model takes what is there.
                _ if result == -libc::EIO => {
                    let medium = bench.drives[step.drive as usize].medium.lock().unwrap();
                    model.copy_from_slice(&medium[request.offset as usize..][..request.length as usize]);
                }
                _ => return Err(TestCaseError::fail(format!("{request:?} ended with {result}"))),
            }
        }
    }
    for (played, model) in bench.drives.iter().zip(&models) {
        prop_assert!(*played.medium.lock().unwrap() == *model, "the medium differs in the end");
        played.assert_proper();
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Two drives interleaved, answers in any order, queues that go around many times, errors now and then: whatever the
    /// depth, the queue's length and the limit of transfers, each operation ends once and reads what was written last.
    #[test]
    fn any_load_reads_what_it_wrote(
        seed in any::<u64>(), steps in steps(), depth in 1_u32..24, entries in 2_u32..40, shift in 1_u8..5,
        pieces in any::<bool>(), errors in prop_oneof![Just(0_u64), Just(5)]
    ) {
        let nature = Nature { entries, transfer_shift: shift, pieces, error_percent: errors, ..Nature::sound(seed) };
        compare(&[nature, Nature { seed: !seed, transfer_shift: 0, ..nature }], depth, &steps)?;
    }
}
