//! A process that works on a pool is killed at any moment, again and again; what it said is done must be there.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use assay_pmem::{Medium, Offset, PoolFile, Shape};

const CHILD: &str = "ASSAY_PMEM_KILL_TEST";
const SLOTS: u64 = 32;
const ROUNDS: u64 = 12;

/// Runs only as the child: replaces blocks in turn and says each number once it is durable.
#[test]
fn child() {
    let Ok(path) = std::env::var(CHILD) else { return };
    let pool = PoolFile::open(Path::new(&path), "kill-1").unwrap();
    let start = (0..SLOTS).map(|slot| stamp(&pool, slot)).max().unwrap_or(0);
    let mut out = std::io::stdout();
    for turn in start + 1.. {
        replace(&pool, turn);
        writeln!(out, "done {turn}").unwrap();
    }
}

fn replace(pool: &PoolFile, turn: u64) {
    let root = pool.root::<Offset<u64>>((turn % SLOTS) as usize);
    let old = Offset::<u64>::new(pool.medium().load(root.raw()));
    let mut transaction = pool.begin();
    let block: Offset<u64> = transaction.alloc([24, 500, 9000, 100_000][(turn % 4) as usize]).unwrap();
    pool.medium().store(block.raw(), turn);
    pool.medium().flush(block.raw(), 8);
    transaction.link(root, block).unwrap();
    if !old.is_null() {
        transaction.free(old).unwrap();
    }
    transaction.commit();
}

fn stamp(pool: &PoolFile, slot: u64) -> u64 {
    let block = pool.medium().load(pool.root::<u64>(slot as usize).raw());
    if block == 0 { 0 } else { pool.medium().load(block) }
}

#[test]
fn what_a_killed_process_said_is_there_and_nothing_leaked() {
    let Ok(folder) = tempfile::tempdir_in("/dev/shm") else {
        eprintln!("skipped: no folder can be made under /dev/shm");
        return;
    };
    let path = folder.path().join("pool");
    drop(PoolFile::create(&path, 32 << 20, &Shape { lanes: 4, ..Shape::new("kill-1") }).unwrap());
    let mut said = 0;
    for round in 0..ROUNDS {
        let now = killed(&path, Duration::from_micros(1500 + round * 2700));
        said = now.max(said);
        let pool = PoolFile::open(&path, "kill-1").unwrap();
        let last = (0..SLOTS).map(|slot| stamp(&pool, slot)).max().unwrap();
        assert!(last == said || last == said + 1, "round {round}: it said {said}, {last} is there");
        let linked = (0..SLOTS).filter(|&slot| stamp(&pool, slot) != 0).count();
        assert_eq!(pool.allocated().unwrap().len(), linked, "round {round}: a block leaked or is missing");
        for slot in 0..SLOTS.min(last) {
            let wanted = (last - (last + SLOTS - slot) % SLOTS).min(last);
            assert_eq!(stamp(&pool, slot), wanted, "round {round}, slot {slot}, last {last}");
        }
        said = last;
    }
    println!("{said} operations in {ROUNDS} lives");
    assert!(said > ROUNDS, "it did too little to say anything");
}

/// Starts the child, lets it work, kills it: the last number that it said.
fn killed(path: &Path, after: Duration) -> u64 {
    let this = std::env::current_exe().unwrap();
    let mut child = Command::new(this)
        .args(["--exact", "child", "--nocapture"])
        .env(CHILD, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let number = |line: &str| line.strip_prefix("done ").and_then(|number| number.parse().ok());
    let mut last = 0;
    // It works before it is killed, however slow the machine is.
    while last == 0 {
        last = number(&lines.next().unwrap().unwrap()).unwrap_or(0);
    }
    let killer = std::thread::spawn(move || {
        std::thread::sleep(after);
        child.kill().unwrap();
        child.wait().unwrap();
    });
    last = lines.map_while(Result::ok).filter_map(|line| number(&line)).last().unwrap_or(last);
    killer.join().unwrap();
    last
}
