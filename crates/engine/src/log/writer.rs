//! The one who writes the log.

use std::sync::{Arc, atomic::Ordering::SeqCst};

use assay_buffer::{
    BufferError,
    disk::{Action, Completion, Disk, Memory, ONE, Queue, Request},
    stage,
};

use super::{
    IDLE, Log, Pace, Tail, WRITER,
    area::BLOCK,
    record::{self, HEADER, Kind},
};
use crate::error::{EngineError, Failure, Result};

/// Bytes of one write, at most.
const CHUNK: u64 = 1 << 20;
const DEPTH: u32 = 16;

/// The thread that writes a log. Dropping it writes what is left and ends it.
#[derive(Debug)]
pub struct Writer {
    log: Arc<Log>,
    thread: Option<stage::Handle>,
}

impl Writer {
    /// Starts it.
    ///
    /// # Errors
    /// Where there is no thread to be had.
    pub fn start(log: Arc<Log>, disk: Arc<dyn Disk>) -> Result<Self> {
        let worker = Arc::clone(&log);
        let thread = stage::spawn("log", move || {
            if let Err(error) = serve(&worker, &disk) {
                worker.stop(Failure::of("the log could not be written", &error));
            }
        });
        let thread = thread
            .map_err(|error| EngineError::unfit(format!("no thread could be had: {error}"), "end other processes"))?;
        Ok(Self { log, thread: Some(thread) })
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.log.bell().stop = true;
        self.log.work.notify_all();
        if let Some(thread) = self.thread.take() {
            // It has no way to panic that would not have stopped the log already.
            thread.join();
        }
    }
}

fn serve(log: &Log, disk: &Arc<dyn Disk>) -> Result<()> {
    let mut hand = Hand::new(log, Arc::clone(disk))?;
    loop {
        let ending = {
            let mut bell = log.bell();
            log.asleep.store(true, SeqCst);
            while !bell.stop && bell.wanted <= log.written.load(SeqCst) && !(log.pace == Pace::Eager && log.due()) {
                log.check()?;
                bell = log.work.wait(&log.bell, bell);
            }
            log.asleep.store(false, SeqCst);
            bell.stop
        };
        log.check()?;
        if !ending || log.pace == Pace::Eager {
            hand.write_batch(log)?;
        }
        if ending {
            return Ok(());
        }
    }
}

/// Queue and memory of the writing thread.
struct Hand {
    disk: Arc<dyn Disk>,
    memory: Arc<Memory>,
    queue: Box<dyn Queue>,
    done: Vec<Completion>,
}

impl Hand {
    fn new(log: &Log, disk: Arc<dyn Disk>) -> Result<Self> {
        let memory = match &log.tail {
            Tail::Volatile(memory) => Arc::clone(memory),
            Tail::Persistent(_) => Arc::new(Memory::new((CHUNK * u64::from(DEPTH)) as usize)?),
        };
        let queue = disk.queue(DEPTH, &memory)?;
        Ok(Self { disk, memory, queue, done: Vec::with_capacity(DEPTH as usize) })
    }

    /// Closes the block that is being filled, and makes everything up to its end durable.
    fn write_batch(&mut self, log: &Log) -> Result<()> {
        let from = log.written.load(SeqCst);
        if is_content(log, from) {
            return Ok(());
        }
        let end = close(log);
        self.write(log, from, end)?;
        if log.durability.flushes() {
            self.flush()?;
            log.flushes.fetch_add(1, SeqCst);
        }
        log.bytes.fetch_add(end - from, SeqCst);
        log.batches.fetch_add(1, SeqCst);
        log.written.store(end, SeqCst);
        log.durable.store(end, SeqCst);
        drop(log.bell());
        log.done.notify_all();
        Ok(())
    }

    fn write(&mut self, log: &Log, from: u64, end: u64) -> Result<()> {
        let mut position = from;
        while position < end {
            let (ring, area) = (log.tail.bytes(), log.area.bytes);
            let bytes = CHUNK.min(end - position).min(ring - position % ring).min(area - position % area);
            let memory = match &log.tail {
                Tail::Volatile(_) => (position % ring) as usize,
                Tail::Persistent(_) => self.copy_out(&log.tail, position, bytes as usize)?,
            };
            let offset = log.area.offset(position);
            let request = Request { action: Action::Write, offset, memory, bytes: bytes as u32, token: position };
            // SAFETY: the ring's range is filled and is not reserved again before it has been written; of the copy
            // nobody else knows, and it is not used again before the write has ended.
            unsafe { self.queue.push(request) };
            position += bytes;
        }
        self.reap_all()
    }

    /// Copies a part of the tail to where a queue can write it from.
    fn copy_out(&mut self, tail: &Tail, position: u64, bytes: usize) -> Result<usize> {
        if self.queue.in_flight() == DEPTH {
            self.reap_all()?;
        }
        let at = self.queue.in_flight() as usize * CHUNK as usize;
        // SAFETY: the chunk is one of `DEPTH`, and no request in flight uses it: they took those before it.
        let into = unsafe { std::slice::from_raw_parts_mut(self.memory.start().add(at), bytes) };
        tail.read(position, into);
        Ok(at)
    }

    fn reap_all(&mut self) -> Result<()> {
        let mut failed = None;
        while self.queue.in_flight() > 0 {
            self.done.clear();
            self.queue.reap(ONE, &mut self.done)?;
            failed = failed.or(self.done.iter().find_map(|done| done.result.err().map(|errno| (done.token, errno))));
        }
        match failed {
            None => Ok(()),
            Some((token, errno)) => {
                let request = Request { action: Action::Write, offset: token, memory: 0, bytes: 0, token };
                Err(BufferError::io(&*self.disk, request, errno).into())
            }
        }
    }

    fn flush(&mut self) -> Result<()> {
        // SAFETY: a flush uses no memory.
        unsafe { self.queue.push(Request::flush(0)) };
        self.done.clear();
        self.queue.reap(ONE, &mut self.done)?;
        match self.done.first().map(|done| done.result) {
            Some(Err(errno)) => Err(BufferError::io(&*self.disk, Request::flush(0), errno).into()),
            _ => Ok(()),
        }
    }
}

/// Whether nothing was added since the last batch: whoever asked has it.
fn is_content(log: &Log, from: u64) -> bool {
    // Who asks has reserved before: nobody who asks now is forgotten.
    let mut bell = log.bell();
    let content = log.reserved() == from + HEADER as u64;
    if content {
        bell.wanted = 0;
    }
    content
}

/// Pads to the end of the block, begins the next batch with its mark, and waits for those who still copy: the end.
pub(super) fn close(log: &Log) -> u64 {
    let filling = &log.filling[WRITER].0;
    let (start, end) = loop {
        let start = log.reserved();
        let end = start.next_multiple_of(BLOCK);
        filling.store(start, SeqCst);
        if log.reserved.compare_exchange(start, end + HEADER as u64, SeqCst, SeqCst).is_ok() {
            break (start, end);
        }
    };
    if end > start {
        let mut padding = vec![0; (end - start) as usize];
        record::seal(&mut padding, log.area.identity, start, 0, Kind::Padding, 0);
        // SAFETY: the range was reserved just now, and `SLACK` kept it free of what is not written out yet.
        unsafe { log.tail.append(start, &padding) };
    }
    // The mark says that everything before it is durable: where filling is what makes durable, that must be so first.
    filling.store(end, SeqCst);
    while log.filled() < end {
        stage::give_way();
    }
    log.mark(end);
    filling.store(IDLE, SeqCst);
    end
}
