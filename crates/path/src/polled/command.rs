//! Commands as they stand in a submission queue, and answers as they stand in a completion queue.

/// Bytes of a command.
pub(super) const COMMAND_BYTES: usize = 64;
/// Bytes of an answer.
pub(super) const ANSWER_BYTES: usize = 16;

/// A command: 64 bytes in the order of the machine, which is little-endian as NVMe wants it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(64))]
pub(super) struct Command(pub [u32; 16]);

const _: () = assert!(size_of::<Command>() == COMMAND_BYTES && cfg!(target_endian = "little"));

const FLUSH: u32 = 0x00;
const WRITE: u32 = 0x01;
const READ: u32 = 0x02;
const DELETE_SUBMISSIONS: u32 = 0x00;
const CREATE_SUBMISSIONS: u32 = 0x01;
const DELETE_COMPLETIONS: u32 = 0x04;
const CREATE_COMPLETIONS: u32 = 0x05;
const IDENTIFY: u32 = 0x06;
const SET_FEATURES: u32 = 0x09;
const NUMBER_OF_QUEUES: u32 = 0x07;
/// The queue lies in memory without gaps.
const CONTIGUOUS: u32 = 1;
/// Forced unit access: the write is on the medium before it completes.
const FORCE_UNIT_ACCESS: u32 = 1 << 30;
/// The data pointer is a scatter-gather descriptor in the command itself.
const SGL: u32 = 1 << 14;

/// A read or a write, in blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    pub write: bool,
    pub namespace: u32,
    pub first: u64,
    pub blocks: u32,
    pub force_unit_access: bool,
    pub data: Data,
}

/// Where the data of a command lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Data {
    /// Two physical region page entries; the second may be a list.
    Pages(u64, u64),
    /// One piece of the bus's address space.
    Piece(u64, u32),
}

/// What `Identify` asks about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Subject {
    /// The controller.
    Controller,
    /// A namespace.
    Namespace(u32),
    /// Numbers of the active namespaces.
    Active,
}

impl Command {
    fn new(opcode: u32, namespace: u32) -> Self {
        let mut command = Self::default();
        (command.0[0], command.0[1]) = (opcode, namespace);
        command
    }

    /// Names the command: what its answer will carry.
    #[inline(always)]
    pub fn named(mut self, id: u16) -> Self {
        self.0[0] |= u32::from(id) << 16;
        self
    }

    #[inline(always)]
    fn wide(mut self, at: usize, value: u64) -> Self {
        (self.0[at], self.0[at + 1]) = (value as u32, (value >> 32) as u32);
        self
    }

    /// A read or a write.
    #[inline(always)]
    pub fn transfer(transfer: Transfer) -> Self {
        let force = if transfer.write && transfer.force_unit_access { FORCE_UNIT_ACCESS } else { 0 };
        let mut command = Self::new(if transfer.write { WRITE } else { READ }, transfer.namespace);
        command = match transfer.data {
            Data::Pages(first, second) => command.wide(6, first).wide(8, second),
            Data::Piece(at, bytes) => {
                command.0[0] |= SGL;
                command.0[8] = bytes;
                command.wide(6, at)
            }
        };
        command.0[12] = (transfer.blocks - 1) | force;
        command.wide(10, transfer.first)
    }

    /// A flush of the namespace's volatile cache.
    pub fn flush(namespace: u32) -> Self {
        Self::new(FLUSH, namespace)
    }

    /// Asks for 4 KiB about a subject, to be put to `data`.
    pub fn identify(subject: Subject, data: u64) -> Self {
        let (namespace, what) = match subject {
            Subject::Controller => (0, 1),
            Subject::Namespace(id) => (id, 0),
            Subject::Active => (0, 2),
        };
        let mut command = Self::new(IDENTIFY, namespace).wide(6, data);
        command.0[10] = what;
        command
    }

    /// Asks for I/O queues of both kinds.
    pub fn ask_for_queues(count: u16) -> Self {
        let less_one = u32::from(count - 1);
        let mut command = Self::new(SET_FEATURES, 0);
        (command.0[10], command.0[11]) = (NUMBER_OF_QUEUES, less_one | less_one << 16);
        command
    }

    /// Makes a completion queue that raises no interrupts.
    pub fn create_completions(queue: u16, entries: u16, at: u64) -> Self {
        let mut command = Self::new(CREATE_COMPLETIONS, 0).wide(6, at);
        (command.0[10], command.0[11]) = (u32::from(queue) | u32::from(entries - 1) << 16, CONTIGUOUS);
        command
    }

    /// Makes a submission queue that answers to the completion queue of the same number.
    pub fn create_submissions(queue: u16, entries: u16, at: u64) -> Self {
        let mut command = Self::new(CREATE_SUBMISSIONS, 0).wide(6, at);
        command.0[10] = u32::from(queue) | u32::from(entries - 1) << 16;
        command.0[11] = CONTIGUOUS | u32::from(queue) << 16;
        command
    }

    /// Removes a submission queue.
    pub fn delete_submissions(queue: u16) -> Self {
        let mut command = Self::new(DELETE_SUBMISSIONS, 0);
        command.0[10] = u32::from(queue);
        command
    }

    /// Removes a completion queue, whose submission queue is gone.
    pub fn delete_completions(queue: u16) -> Self {
        let mut command = Self::new(DELETE_COMPLETIONS, 0);
        command.0[10] = u32::from(queue);
        command
    }
}

/// An answer of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Completion {
    /// Of which command.
    pub id: u16,
    /// Status without the phase bit; 0 is success.
    pub status: u16,
    /// The command's own result.
    pub result: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transfer(write: bool, data: Data) -> Command {
        let first = (5 << 32) | 8;
        Command::transfer(Transfer { write, namespace: 3, first, blocks: 8, force_unit_access: true, data }).named(9)
    }

    #[test]
    fn a_read_names_pages_first_block_and_count_less_one() {
        let Command(words) = transfer(false, Data::Pages(0x1_2345_6000, 0x1_2345_7000));
        assert_eq!(words[0], 0x02 | 9 << 16);
        assert_eq!((words[1], words[6], words[7], words[8], words[9]), (3, 0x2345_6000, 1, 0x2345_7000, 1));
        assert_eq!((words[10], words[11], words[12]), (8, 5, 7));
    }

    #[test]
    fn a_durable_write_forces_unit_access() {
        assert_eq!(transfer(true, Data::Pages(0, 0)).0[12], 7 | 1 << 30);
    }

    #[test]
    fn a_piece_is_a_descriptor_in_the_command() {
        let Command(words) = transfer(true, Data::Piece(0x1_2345_6000, 65_536));
        assert_eq!(words[0], 0x01 | 1 << 14 | 9 << 16);
        assert_eq!((words[6], words[7], words[8], words[9]), (0x2345_6000, 1, 65_536, 0));
    }

    #[test]
    fn queues_are_contiguous_and_raise_no_interrupts() {
        let Command(words) = Command::create_completions(2, 256, 0xabc_0000);
        assert_eq!((words[0], words[6], words[10], words[11]), (0x05, 0xabc_0000, 2 | 255 << 16, 1));
        let Command(words) = Command::create_submissions(2, 256, 0xabc_0000);
        assert_eq!((words[0], words[10], words[11]), (0x01, 2 | 255 << 16, 1 | 2 << 16));
        assert_eq!(Command::ask_for_queues(64).0[11], 63 | 63 << 16);
    }
}
