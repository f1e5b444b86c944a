//! The one who writes the log.

use std::sync::{Arc, atomic::Ordering::SeqCst};

use assay_buffer::{
    BufferError,
    disk::{Action, Completion, Disk, DiskRequest, Memory, ONE, Queue},
    stage,
};

use super::{
    IDLE, Log, Pace, Tail, WRITER,
    area::BLOCK,
    record::{self, HEADER, RecordKind},
    turn::{CHUNK, DirectWriter, Lead},
};
use crate::error::{EngineError, Failure, Result};

const DEPTH: u32 = 16;

/// The thread that writes a log where nobody who waits for it does. Dropping it writes what is left and ends it.
#[derive(Debug)]
pub struct Writer {
    log: Arc<Log>,
    thread: Option<stage::Handle>,
}

impl Writer {
    /// Starts it, and lets those who wait for the log write as well.
    ///
    /// # Errors
    /// Where there is no thread to be had, or no way to the disk.
    pub fn start(log: Arc<Log>, disk: Arc<dyn Disk>) -> Result<Self> {
        let direct = DirectWriter::take(&log, &disk)?;
        *log.turn().direct() = direct;
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
        // The disk is let go of, whoever keeps the log.
        *self.log.turn().direct() = None;
    }
}

fn serve(log: &Log, disk: &Arc<dyn Disk>) -> Result<()> {
    let mut hand = BatchWriter::new(log, Arc::clone(disk))?;
    loop {
        let ending = {
            let mut bell = log.bell();
            log.asleep.store(true, SeqCst);
            while !bell.stop && !is_wanted(log, bell.wanted) {
                log.check()?;
                bell = log.work.wait(&log.bell, bell);
            }
            log.asleep.store(false, SeqCst);
            bell.stop
        };
        let turn = log.turn();
        log.check()?;
        // Somebody may have written it meanwhile.
        let wanted = log.bell().wanted;
        let anything = if ending { log.pace == Pace::Eager } else { is_wanted(log, wanted) };
        if anything {
            let mut direct = turn.direct();
            let short = log.backlog() <= CHUNK;
            match direct.as_mut().filter(|_| short) {
                Some(direct) => write_batch(log, |from, end| direct.write(log, from, end))?,
                None => write_batch(log, |from, end| hand.write_out(log, from, end))?,
            }
        }
        if ending {
            return Ok(());
        }
    }
}

/// Whether the thread has something to do.
fn is_wanted(log: &Log, wanted: u64) -> bool {
    wanted > log.written.load(SeqCst) || log.pace == Pace::Eager && log.due()
}

impl Log {
    /// Writes what is there, if nobody else does and it is little.
    pub(super) fn lead(&self) -> Lead {
        if self.backlog() > CHUNK {
            return Lead::Ask;
        }
        let Some(turn) = self.try_turn() else { return Lead::Busy };
        let mut direct = turn.direct();
        let Some(direct) = direct.as_mut() else { return Lead::Ask };
        if self.check().is_ok() {
            // An error has stopped the log, which those who wait hear of.
            let _ = write_batch(self, |from, end| direct.write(self, from, end));
        }
        Lead::Done
    }
}

/// Closes the block that is being filled, and makes everything up to its end durable, which `write` writes. In a turn.
fn write_batch(log: &Log, write: impl FnOnce(u64, u64) -> Result<()>) -> Result<()> {
    let from = log.written.load(SeqCst);
    if is_content(log, from) {
        return Ok(());
    }
    let end = close(log);
    log.tell(from);
    if let Err(error) = write(from, end) {
        // Before the turn ends: nobody writes after what failed.
        log.stop(Failure::of("the log could not be written", &error));
        return Err(error);
    }
    log.flushes.fetch_add(u64::from(log.durability.flushes()), SeqCst);
    log.bytes.fetch_add(end - from, SeqCst);
    log.batches.fetch_add(1, SeqCst);
    log.written.store(end, SeqCst);
    log.durable.store(end, SeqCst);
    Ok(())
}

/// Queue and memory of the writing thread.
struct BatchWriter {
    disk: Arc<dyn Disk>,
    memory: Arc<Memory>,
    queue: Box<dyn Queue>,
    done: Vec<Completion>,
}

impl BatchWriter {
    fn new(log: &Log, disk: Arc<dyn Disk>) -> Result<Self> {
        let memory = match &log.tail {
            Tail::Volatile(memory) => Arc::clone(memory),
            Tail::Persistent(_) => Arc::new(Memory::new((CHUNK * u64::from(DEPTH)) as usize)?),
        };
        let queue = disk.queue(DEPTH, &memory)?;
        Ok(Self { disk, memory, queue, done: Vec::with_capacity(DEPTH as usize) })
    }

    /// Writes a range, as much as there is room for in the queue at once, and makes it durable.
    fn write_out(&mut self, log: &Log, from: u64, end: u64) -> Result<()> {
        for (position, bytes) in log.pieces(from, end) {
            let memory = match &log.tail {
                Tail::Volatile(_) => (position % log.tail.bytes()) as usize,
                Tail::Persistent(_) => self.copy_out(&log.tail, position, bytes as usize)?,
            };
            let offset = log.area.offset(position);
            let request = DiskRequest { action: Action::Write, offset, memory, bytes: bytes as u32, token: position };
            // SAFETY: the ring's range is filled and is not reserved again before it has been written; of the copy
            // nobody else knows, and it is not used again before the write has ended.
            unsafe { self.queue.push(request) };
        }
        self.reap_all()?;
        if log.durability.flushes() { self.flush() } else { Ok(()) }
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
                let request = DiskRequest { action: Action::Write, offset: token, memory: 0, bytes: 0, token };
                Err(BufferError::io(&*self.disk, request, errno).into())
            }
        }
    }

    fn flush(&mut self) -> Result<()> {
        // SAFETY: a flush uses no memory.
        unsafe { self.queue.push(DiskRequest::flush(0)) };
        self.done.clear();
        self.queue.reap(ONE, &mut self.done)?;
        match self.done.first().map(|done| done.result) {
            Some(Err(errno)) => Err(BufferError::io(&*self.disk, DiskRequest::flush(0), errno).into()),
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
        let mut block = [0; BLOCK as usize];
        let padding = &mut block[..(end - start) as usize];
        record::seal(padding, log.area.seal(), start, 0, RecordKind::Padding, 0);
        // SAFETY: the range was reserved just now, and `SLACK` kept it free of what is not written out yet.
        unsafe { log.tail.append(start, padding) };
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
