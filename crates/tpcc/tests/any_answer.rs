//! A server of PostgreSQL that answers anything: whatever comes, the store ends with an error in words.

#![cfg(feature = "postgres")]

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use assay_tpcc::{
    Result, Scale, Session, Store, input,
    random::NonUniform,
    sql::{PostgresOptions, PostgresStore},
    transaction::execute,
};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

const SCALE: Scale = Scale { warehouses: 2, items: 100, customers: 20 };
const SEEDS: u64 = 100;
/// A client that waits for more than ever comes is ended by the server, which takes it for gone.
const QUIET: Duration = Duration::from_millis(20);
const AT_MOST: Duration = Duration::from_secs(20);
/// A turn that has not ended after so long is named, and ends the test.
const STUCK: Duration = Duration::from_secs(120);

/// Connections taken, of which each is a seed.
static CONNECTIONS: AtomicU64 = AtomicU64::new(0);
/// The turn under way.
static TURN: AtomicU64 = AtomicU64::new(0);
/// Types of columns: text, int4, int8, numeric, bool, and one that nobody knows.
const TYPES: [u32; 6] = [25, 23, 20, 1700, 16, 99_999];

/// What a server says, by chance.
struct Chance {
    random: Xoshiro256PlusPlus,
    /// Of a hundred messages so many are damaged.
    damaged: u64,
    columns: usize,
    /// Of the statement that was prepared last.
    parameters: u16,
}

impl Chance {
    fn new(seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let damaged = [0, 0, 1, 5, 30][(random.next_u64() % 5) as usize];
        Self { random, damaged, columns: 0, parameters: 0 }
    }

    fn below(&mut self, count: u64) -> u64 {
        self.random.next_u64() % count
    }

    /// A message, or what chance makes of it: another byte, a wrong length, or an end before its end.
    fn message(&mut self, kind: u8, body: &[u8], out: &mut Vec<u8>) {
        let begin = out.len();
        out.push(kind);
        out.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
        out.extend_from_slice(body);
        if self.below(100) >= self.damaged {
            return;
        }
        let at = begin + self.below((out.len() - begin) as u64) as usize;
        match self.below(3) {
            0 => out[at] = self.random.next_u64() as u8,
            1 => out[begin + 4] = out[begin + 4].wrapping_add(self.below(9) as u8),
            _ => out.truncate(at),
        }
    }

    fn described(&mut self, out: &mut Vec<u8>) {
        let mut body = self.parameters.to_be_bytes().to_vec();
        (0..self.parameters).for_each(|_| body.extend_from_slice(&TYPES[1].to_be_bytes()));
        self.message(b't', &body, out);
        self.columns = self.below(5) as usize;
        let mut body = (self.columns as u16).to_be_bytes().to_vec();
        for _ in 0..self.columns {
            body.extend_from_slice(b"c\0\0\0\0\0\0\0");
            body.extend_from_slice(&TYPES[self.below(6) as usize].to_be_bytes());
            body.extend_from_slice(&[0, 8, 0, 0, 0, 0, 0, 1]);
        }
        self.message(b'T', &body, out);
    }

    fn rows(&mut self, out: &mut Vec<u8>) {
        for _ in 0..self.below(3) {
            let columns = if self.below(4) == 0 { self.below(40) as usize } else { self.columns };
            let mut body = (columns as u16).to_be_bytes().to_vec();
            for _ in 0..columns {
                match self.below(4) {
                    0 => body.extend_from_slice(&(-1i32).to_be_bytes()),
                    kind => {
                        let length = [4, 8, self.below(40)][kind as usize - 1];
                        body.extend_from_slice(&(length as u32).to_be_bytes());
                        (0..length).for_each(|_| body.push(self.random.next_u64() as u8));
                    }
                }
            }
            self.message(b'D', &body, out);
        }
        self.message(b'C', b"SELECT 1\0", out);
    }

    fn complaint(&mut self, out: &mut Vec<u8>) {
        let code: [&[u8]; 3] = [b"40001", b"42P01", b"\xff\xfe"];
        let code = code[self.below(3) as usize];
        let body = [b"SERROR\0C", code, b"\0Mno such thing\0\0"].concat();
        self.message(b'E', &body, out);
    }

    /// The answer to one message of a client.
    fn answer(&mut self, kind: u8, asked: &[u8], out: &mut Vec<u8>) {
        match kind {
            b'P' => {
                let numbers = String::from_utf8_lossy(asked).split('$').skip(1).filter_map(number).max();
                self.parameters = numbers.unwrap_or(0);
                self.message(b'1', &[], out);
            }
            b'D' => self.described(out),
            b'B' => self.message(b'2', &[], out),
            b'C' => self.message(b'3', &[], out),
            b'E' if self.below(20) == 0 => self.complaint(out),
            b'E' => self.rows(out),
            b'Q' if asked.starts_with(b"copy") && self.below(8) > 0 => {
                self.message(b'G', &[0, 0, 0], out);
                return;
            }
            b'Q' if asked.starts_with(b"s") => {
                self.columns = 1 + self.below(4) as usize;
                self.rows(out);
            }
            b'c' => self.message(b'C', b"COPY 1\0", out),
            _ => {}
        }
        if matches!(kind, b'Q' | b'S' | b'c') {
            self.message(b'Z', b"I", out);
        }
    }
}

/// The number that a text begins with.
fn number(text: &str) -> Option<u16> {
    text.split(|one: char| !one.is_ascii_digit()).next()?.parse().ok()
}

fn greet(socket: &mut TcpStream, chance: &mut Chance) -> std::io::Result<()> {
    let mut length = [0; 4];
    socket.read_exact(&mut length)?;
    let mut rest = vec![0; u32::from_be_bytes(length).saturating_sub(4) as usize];
    socket.read_exact(&mut rest)?;
    let mut out = Vec::new();
    chance.message(b'R', &0u32.to_be_bytes(), &mut out);
    chance.message(b'S', b"client_encoding\0UTF8\0", &mut out);
    chance.message(b'K', &[0, 0, 0, 1, 0, 0, 0, 2], &mut out);
    chance.message(b'Z', b"I", &mut out);
    socket.write_all(&out)
}

/// Answers each message of a client until it is quiet.
fn serve(mut socket: TcpStream, seed: u64) -> std::io::Result<()> {
    let mut chance = Chance::new(seed);
    socket.set_read_timeout(Some(QUIET))?;
    socket.set_nodelay(true)?;
    greet(&mut socket, &mut chance)?;
    loop {
        let mut head = [0; 5];
        socket.read_exact(&mut head)?;
        let [kind, length @ ..] = head;
        let mut body = vec![0; u32::from_be_bytes(length).saturating_sub(4) as usize];
        socket.read_exact(&mut body)?;
        let mut out = Vec::new();
        chance.answer(kind, &body, &mut out);
        socket.write_all(&out)?;
    }
}

fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        // Every connection is another seed: what a store asks in one does not shift the answers of the next.
        for (seed, socket) in listener.incoming().flatten().enumerate() {
            CONNECTIONS.store(seed as u64 + 1, Relaxed);
            thread::spawn(move || serve(socket, seed as u64));
        }
    });
    port
}

/// All that a run asks of a server, beginning with what is asked first.
fn asked(store: &PostgresStore) -> [Result<()>; 6] {
    [
        store.version().map(|_| ()),
        store.durability().map(|_| ()),
        store.orders_taken(&SCALE).map(|_| ()),
        store.check(&SCALE, 0).map(|_| ()),
        store.load(&SCALE, 1, &mut |_| std::ops::ControlFlow::Continue(())),
        work(store),
    ]
}

fn work(store: &PostgresStore) -> Result<()> {
    let constants = NonUniform::for_run(&NonUniform::for_load(1), 9);
    let mix = input::Mix::default();
    let mut asker = input::Asker::new(SCALE, input::Choice::Uniform, &mix, constants, 0, 1).unwrap();
    let mut session = store.session()?;
    for date in 1..=20 {
        let done = execute(&mut session, &asker.ask(date));
        done.map(|_| ()).or_else(|_| session.abort())?;
    }
    Ok(())
}

/// Ends the test where a turn is stuck: nobody else could say where.
fn watch() {
    thread::spawn(|| {
        let (mut seen, mut since) = (0, Instant::now());
        loop {
            thread::sleep(Duration::from_secs(1));
            let turn = TURN.load(Relaxed);
            if turn != seen {
                (seen, since) = (turn, Instant::now());
            }
            if since.elapsed() > STUCK {
                let connections = CONNECTIONS.load(Relaxed);
                let _ = writeln!(std::io::stderr(), "turn {turn} is stuck, after {connections} connections");
                std::process::abort();
            }
        }
    });
}

#[test]
fn whatever_a_server_answers_is_an_error_in_words() {
    let port = server();
    let connection = format!("host=127.0.0.1 port={port} user=u dbname=d");
    let options = serde_json::from_value(serde_json::json!({"connection": connection})).unwrap();
    let options: PostgresOptions = options;
    let store = PostgresStore::new(options).unwrap();
    let mut said: BTreeMap<String, u32> = BTreeMap::new();
    watch();
    for turn in 0..SEEDS {
        TURN.store(turn, Relaxed);
        let begin = Instant::now();
        let results = catch_unwind(AssertUnwindSafe(|| asked(&store)));
        let results = results.unwrap_or_else(|_| panic!("turn {turn} ended with a panic"));
        assert!(begin.elapsed() < AT_MOST, "turn {turn} took {:?}", begin.elapsed());
        for result in results {
            let words = result.map_or_else(|error| error.to_string(), |()| "fine".to_owned());
            assert!(!words.is_empty());
            *said.entry(words.chars().filter(|one| !one.is_ascii_digit()).take(60).collect()).or_default() += 1;
        }
    }
    println!("{said:#?}");
    assert!(said.len() > 5, "{said:#?}");
}
