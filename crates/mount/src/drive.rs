//! What is played: a drive that says when it would be done with a request.

/// What a drive is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Bytes come from it.
    Read,
    /// Bytes go to it.
    Write,
    /// Bytes are not needed any more.
    Trim,
}

/// A model of a drive in time of its own, in ns since it was switched on. Requests come in the order of their times.
pub trait DriveModel: Send {
    /// The moment at which a request that comes at `now_ns` is done.
    fn submit(&mut self, now_ns: u64, op: Op, offset: u64, bytes: u64) -> u64;

    /// The moment at which all that was written before `now_ns` is on the medium.
    fn flush(&mut self, now_ns: u64) -> u64;

    /// Bytes that it takes.
    fn capacity_bytes(&self) -> u64;

    /// What a lone read and a lone write of 4 KiB take, ns.
    fn idle_ns(&self) -> (u64, u64);

    /// Bytes of written data that it holds at most, and loses with the power.
    fn volatile_bytes(&self) -> u64;
}

/// Every request takes as long; for tests.
#[derive(Clone, Copy, Debug)]
pub struct Fixed {
    /// A read, ns.
    pub read_ns: u64,
    /// A write, ns.
    pub write_ns: u64,
    /// A flush, ns.
    pub flush_ns: u64,
}

impl DriveModel for Fixed {
    fn submit(&mut self, now_ns: u64, op: Op, _: u64, _: u64) -> u64 {
        now_ns
            + match op {
                Op::Read => self.read_ns,
                Op::Write => self.write_ns,
                Op::Trim => 0,
            }
    }

    fn flush(&mut self, now_ns: u64) -> u64 {
        now_ns + self.flush_ns
    }

    fn capacity_bytes(&self) -> u64 {
        1 << 50
    }

    fn idle_ns(&self) -> (u64, u64) {
        (self.read_ns, self.write_ns)
    }

    fn volatile_bytes(&self) -> u64 {
        1 << 20
    }
}
