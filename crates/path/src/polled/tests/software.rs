//! A controller in software, for tests: a thread that plays registers, queues and a medium in this process's memory.
//!
//! It knows nothing of the driver's code but the layout of memory that the specification lays down.

use std::{
    collections::{BTreeMap, VecDeque},
    fs::File,
    os::fd::{FromRawFd, OwnedFd},
    ptr::NonNull,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

use super::super::{
    bus::Bus,
    drive::PolledDrive,
    hardware::Hardware,
    registers::{self as register, CC_ENABLE, CC_SHUT_DOWN, CSTS_FATAL, CSTS_READY, CSTS_SHUT_DOWN},
    resource::Mapped,
    vfio::Region,
};

const BAR_BYTES: u64 = 16 << 10;
const BLOCK: usize = 512;
const INVALID_FIELD: u16 = 0x002;
const BEYOND_THE_END: u16 = 0x080;

/// What a controller is like, and what it does wrong.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nature {
    /// Seed of everything that is left to chance.
    pub seed: u64,
    /// Bytes of the medium.
    pub bytes: usize,
    /// Entries of a queue at most.
    pub entries: u32,
    /// `MDTS`: pages of a transfer, as a power of 2; 0 sets no limit.
    pub transfer_shift: u8,
    /// I/O queue pairs.
    pub queues: u16,
    /// It takes scatter-gather descriptors, and memory is one piece for it.
    pub pieces: bool,
    /// Commands in a hundred that fail with `error`.
    pub error_percent: u64,
    /// Status of commands that fail.
    pub error: u16,
    /// The answer of this I/O command (counted from 1) never comes; 0 answers all.
    pub loses: u64,
    /// It fails fatally with this I/O command (counted from 1); 0 never.
    pub dies_at: u64,
}

impl Nature {
    /// A controller without fault.
    pub fn sound(seed: u64) -> Self {
        Self {
            seed,
            bytes: 4 << 20,
            entries: 64,
            transfer_shift: 5,
            queues: 8,
            pieces: false,
            error_percent: 0,
            error: 0x281,
            loses: 0,
            dies_at: 0,
        }
    }
}

/// What was seen of the driver.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Times that a submission doorbell changed.
    pub rings: AtomicU64,
    /// I/O commands.
    pub commands: AtomicU64,
    /// Flushes among them.
    pub flushes: AtomicU64,
    /// Writes with forced unit access.
    pub forced: AtomicU64,
    /// Commands with a scatter-gather descriptor.
    pub pieces: AtomicU64,
    /// I/O queues at present.
    pub queues: AtomicU32,
    /// The controller was shut down in order.
    pub shut_down: AtomicBool,
    /// What the driver did wrong, in words.
    pub broken: Mutex<Vec<String>>,
}

/// A drive whose controller is played by a thread.
pub(super) struct Played {
    /// The drive, up and running.
    pub drive: Option<Arc<PolledDrive>>,
    /// What was seen of the driver.
    pub seen: Arc<Seen>,
    /// The medium.
    pub medium: Arc<Mutex<Vec<u8>>>,
    stop: Arc<AtomicBool>,
    player: Option<JoinHandle<()>>,
}

/// Path by which tests name the drive.
pub(super) const DEVICE: &str = "/dev/played0n1";

impl Played {
    /// Plays a drive.
    pub fn new(nature: Nature, patience: Duration) -> Self {
        let bar = shared_memory(BAR_BYTES);
        let device_side = Mapped::new(&bar, Region { offset: 0, bytes: BAR_BYTES }).unwrap();
        let seen = Arc::new(Seen::default());
        let medium = Arc::new(Mutex::new(vec![0; nature.bytes]));
        let stop = Arc::new(AtomicBool::new(false));
        let mut player = Player::new(nature, device_side, Arc::clone(&seen), Arc::clone(&medium));
        let until = Arc::clone(&stop);
        let player = thread::spawn(move || player.play(&until));
        let hardware = Hardware::software(&bar, BAR_BYTES);
        let bus = Bus::Same { pieces: nature.pieces };
        let drive = PolledDrive::software(bus, hardware, DEVICE.into(), patience).unwrap();
        Self { drive: Some(drive), seen, medium, stop, player: Some(player) }
    }

    /// What the driver did wrong must be nothing.
    pub fn assert_proper(&self) {
        let broken = self.seen.broken.lock().unwrap();
        assert!(broken.is_empty(), "{broken:?}");
    }
}

impl Drop for Played {
    fn drop(&mut self) {
        self.drive = None;
        self.stop.store(true, SeqCst);
        if let Some(player) = self.player.take() {
            let outcome = player.join();
            assert!(outcome.is_ok() || thread::panicking(), "the player of the controller panicked");
        }
    }
}

fn shared_memory(bytes: u64) -> File {
    // SAFETY: a name, and a flag.
    let fd = unsafe { libc::memfd_create(c"registers".as_ptr(), libc::MFD_CLOEXEC) };
    assert!(fd >= 0);
    // SAFETY: the kernel made it just now.
    let file = File::from(unsafe { OwnedFd::from_raw_fd(fd) });
    file.set_len(bytes).unwrap();
    file
}

/// A queue pair as the controller sees it.
#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    commands: u64,
    answers: u64,
    entries: u32,
    head: u32,
    rung: u32,
    tail: u32,
    phase: u32,
    made: bool,
}

/// An answer that is on its way.
struct Due {
    queue: u16,
    id: u16,
    status: u16,
    result: u32,
}

struct Player {
    nature: Nature,
    bar: Mapped,
    random: Xoshiro256PlusPlus,
    pairs: BTreeMap<u16, Pair>,
    due: VecDeque<Due>,
    io: u64,
    dead: bool,
    seen: Arc<Seen>,
    medium: Arc<Mutex<Vec<u8>>>,
}

fn word(address: u64, index: usize) -> u32 {
    // SAFETY: the driver names memory of this process, mapped as long as it may be read.
    unsafe { (address as *const u32).add(index).read_volatile() }
}

impl Player {
    fn new(nature: Nature, bar: Mapped, seen: Arc<Seen>, medium: Arc<Mutex<Vec<u8>>>) -> Self {
        let random = Xoshiro256PlusPlus::seed_from_u64(nature.seed);
        let (pairs, due) = (BTreeMap::new(), VecDeque::new());
        let capabilities = u64::from(nature.entries - 1) | (2 << 24) | (1 << 37);
        bar.registers().write_wide(register::CAP, capabilities);
        Self { nature, bar, random, pairs, due, io: 0, dead: false, seen, medium }
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.random.next_u64() % 100 < percent
    }

    fn broken(&self, what: String) {
        self.seen.broken.lock().unwrap().push(what);
    }

    fn play(&mut self, until: &AtomicBool) {
        while !until.load(SeqCst) {
            let worked = self.configure() && self.fetch() | self.answer();
            if !worked {
                thread::yield_now();
            }
        }
    }

    /// Follows the configuration register; true while it is enabled.
    fn configure(&mut self) -> bool {
        let registers = self.bar.registers();
        let (on, status) = (registers.read(register::CC), registers.read(register::CSTS));
        if on & CC_ENABLE == 0 {
            self.pairs.clear();
            self.due.clear();
            self.seen.queues.store(0, SeqCst);
            registers.write(register::CSTS, 0);
            return false;
        }
        if status & CSTS_READY == 0 {
            let entries = (registers.read(register::AQA) & 0xfff) + 1;
            let (commands, answers) = (registers.read_wide(register::ASQ), registers.read_wide(register::ACQ));
            self.pairs.insert(0, Pair { commands, answers, entries, phase: 1, made: true, ..Pair::default() });
            (0..BAR_BYTES as usize - register::DOORBELLS)
                .step_by(4)
                .for_each(|at| registers.write(register::DOORBELLS + at, 0));
            registers.write(register::CSTS, CSTS_READY);
        }
        if on & CC_SHUT_DOWN != 0 {
            self.seen.shut_down.store(true, SeqCst);
            registers.write(register::CSTS, CSTS_READY | CSTS_SHUT_DOWN);
        }
        !self.dead
    }

    fn fetch(&mut self) -> bool {
        let numbers: Vec<u16> = self.pairs.keys().copied().collect();
        let mut worked = false;
        for number in numbers {
            // An admin command may have removed it meanwhile.
            let Some(mut pair) = self.pairs.get(&number).copied() else { continue };
            let doorbell = register::DOORBELLS + 8 * usize::from(number);
            let rung = self.bar.registers().read(doorbell);
            if rung >= pair.entries {
                self.broken(format!("queue {number} has {} entries, and its doorbell says {rung}", pair.entries));
                continue;
            }
            if rung != pair.rung && number > 0 {
                self.seen.rings.fetch_add(1, SeqCst);
            }
            pair.rung = rung;
            std::sync::atomic::fence(SeqCst);
            // A controller may fetch some and leave the rest for later.
            while pair.head != rung && (number == 0 || self.random.next_u64() % 8 != 0) {
                let at = pair.commands + u64::from(pair.head) * 64;
                let command: Vec<u32> = (0..16).map(|index| word(at, index)).collect();
                pair.head = (pair.head + 1) % pair.entries;
                self.pairs.insert(number, pair);
                self.execute(number, &command);
                worked = true;
            }
            if let Some(known) = self.pairs.get_mut(&number) {
                (known.rung, known.head) = (pair.rung, pair.head);
            }
        }
        worked
    }

    fn execute(&mut self, queue: u16, command: &[u32]) {
        let id = (command[0] >> 16) as u16;
        if queue == 0 {
            let (status, result) = self.administer(command);
            self.due.push_back(Due { queue, id, status, result });
            return;
        }
        self.io += 1;
        self.seen.commands.fetch_add(1, SeqCst);
        if self.io == self.nature.dies_at {
            self.dead = true;
            self.bar.registers().write(register::CSTS, CSTS_READY | CSTS_FATAL);
            return;
        }
        if self.io == self.nature.loses {
            return;
        }
        let status = if self.chance(self.nature.error_percent) { self.nature.error } else { self.move_data(command) };
        let due = Due { queue, id, status, result: 0 };
        // Answers come in any order.
        let place = (self.random.next_u64() % (self.due.len() as u64 + 1)) as usize;
        self.due.insert(place, due);
    }

    fn answer(&mut self) -> bool {
        let Some(due) = self.due.pop_front() else { return false };
        let Some(pair) = self.pairs.get_mut(&due.queue) else { return true };
        let read = self.bar.registers().read(register::DOORBELLS + 8 * usize::from(due.queue) + 4);
        if (pair.tail + 1) % pair.entries == read % pair.entries {
            // Full: the driver has not said that it read anything. It comes later.
            self.due.push_back(due);
            return false;
        }
        let at = (pair.answers + u64::from(pair.tail) * 16) as *mut u32;
        let last = u32::from(due.id) | (u32::from(due.status) << 17) | (pair.phase << 16);
        // SAFETY: inside the completion queue that the driver named.
        unsafe {
            at.write_volatile(due.result);
            at.add(2).write_volatile(pair.head | u32::from(due.queue) << 16);
            std::sync::atomic::fence(SeqCst);
            at.add(3).write_volatile(last);
        }
        pair.tail += 1;
        if pair.tail == pair.entries {
            (pair.tail, pair.phase) = (0, pair.phase ^ 1);
        }
        true
    }

    fn administer(&mut self, command: &[u32]) -> (u16, u32) {
        let at = u64::from(command[6]) | u64::from(command[7]) << 32;
        let (number, entries) = (command[10] as u16, (command[10] >> 16) + 1);
        match command[0] & 0xff {
            0x06 => (self.identify(command[10], at), 0),
            0x09 => (0, u32::from(self.nature.queues - 1) * 0x1_0001),
            0x05 if number > self.nature.queues || entries > self.nature.entries => (0x101, 0),
            0x05 => {
                self.pairs.insert(number, Pair { answers: at, entries, phase: 1, ..Pair::default() });
                (0, 0)
            }
            0x01 => match self.pairs.get_mut(&number) {
                Some(pair) if !pair.made && pair.entries == entries => {
                    (pair.commands, pair.made) = (at, true);
                    let doorbell = register::DOORBELLS + 8 * usize::from(number);
                    for second in [0, 4] {
                        self.bar.registers().write(doorbell + second, 0);
                    }
                    self.seen.queues.fetch_add(1, SeqCst);
                    (0, 0)
                }
                _ => (0x100, 0),
            },
            0x00 => match self.pairs.get_mut(&number).filter(|pair| pair.made) {
                Some(pair) => {
                    pair.made = false;
                    self.due.retain(|due| due.queue != number);
                    (0, 0)
                }
                None => (0x101, 0),
            },
            0x04 if self.pairs.get(&number).is_some_and(|pair| !pair.made) => {
                self.pairs.remove(&number);
                self.seen.queues.fetch_sub(1, SeqCst);
                (0, 0)
            }
            other => {
                self.broken(format!("an admin command {other:#x} that makes no sense"));
                (0x001, 0)
            }
        }
    }

    fn identify(&self, what: u32, at: u64) -> u16 {
        let mut page = [0_u8; 4096];
        match what {
            1 => {
                page[4..10].copy_from_slice(b"PLAYED");
                page[77] = self.nature.transfer_shift;
                page[536] = u8::from(self.nature.pieces);
            }
            0 => {
                page[0..8].copy_from_slice(&((self.nature.bytes / BLOCK) as u64).to_le_bytes());
                page[130] = 9;
            }
            2 => page[0] = 1,
            _ => return INVALID_FIELD,
        }
        // SAFETY: the driver named a page of its memory.
        unsafe { (at as *mut [u8; 4096]).write_volatile(page) };
        0
    }

    fn move_data(&mut self, command: &[u32]) -> u16 {
        let opcode = command[0] & 0xff;
        if command[1] != 1 {
            self.broken(format!("a command for namespace {}", command[1]));
            return 0x00b;
        }
        if opcode == 0 {
            self.seen.flushes.fetch_add(1, SeqCst);
            return 0;
        }
        if opcode == 1 && command[12] & (1 << 30) != 0 {
            self.seen.forced.fetch_add(1, SeqCst);
        }
        let first = (u64::from(command[10]) | u64::from(command[11]) << 32) as usize * BLOCK;
        let bytes = ((command[12] & 0xffff) as usize + 1) * BLOCK;
        if first + bytes > self.nature.bytes {
            return BEYOND_THE_END;
        }
        if self.nature.transfer_shift > 0 && bytes > 4096 << self.nature.transfer_shift {
            self.broken(format!("a transfer of {bytes} bytes"));
            return INVALID_FIELD;
        }
        let mut medium = self.medium.lock().unwrap();
        let mut at = first;
        for (address, length) in self.pages(command, bytes) {
            let memory = NonNull::new(address as *mut u8).unwrap().as_ptr();
            // SAFETY: the driver named memory of this process for this command.
            unsafe {
                match opcode {
                    1 => std::ptr::copy_nonoverlapping(memory, medium.as_mut_ptr().add(at), length),
                    _ => std::ptr::copy_nonoverlapping(medium.as_ptr().add(at), memory, length),
                }
            }
            at += length;
        }
        0
    }

    /// The memory that a command names.
    fn pages(&self, command: &[u32], bytes: usize) -> Vec<(u64, usize)> {
        let pointer = |index: usize| u64::from(command[index]) | u64::from(command[index + 1]) << 32;
        if command[0] & (1 << 14) != 0 {
            self.seen.pieces.fetch_add(1, SeqCst);
            if command[8] as usize != bytes || command[9] != 0 {
                self.broken(format!("a descriptor of {} bytes for {bytes}", command[8]));
            }
            return vec![(pointer(6), bytes)];
        }
        let first = pointer(6);
        let mut ranges = vec![(first, bytes.min(4096 - (first % 4096) as usize))];
        let mut left = bytes - ranges[0].1;
        let listed = left > 4096;
        for index in 0.. {
            if left == 0 {
                break;
            }
            let entry = if listed {
                u64::from(word(pointer(8), 2 * index)) | u64::from(word(pointer(8), 2 * index + 1)) << 32
            } else {
                pointer(8)
            };
            if entry % 4096 != 0 {
                self.broken(format!("page {index} of a list lies at {entry:#x}"));
            }
            ranges.push((entry, left.min(4096)));
            left -= left.min(4096);
        }
        ranges
    }
}
