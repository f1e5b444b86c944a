//! A controller: reset, enabled, asked what it is, and given its queues. Section 3.5 of the base specification.

use std::{
    fmt, io,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use super::{
    bus::Bus,
    command::{Command, Subject},
    identify::{ControllerFacts, IDENTIFY_BYTES, NamespaceFacts},
    memory::DmaMemory,
    queue::{self, QueuePair},
    registers::{self as register, Capabilities, Registers},
    status,
};

/// Entries of the admin queues.
const ADMIN_ENTRIES: u16 = 32;
/// Queues that are asked for; controllers grant as many as they have.
const QUEUES_WANTED: u16 = 1024;
/// Namespaces whose numbers one answer holds.
const NAMESPACES_AT_MOST: usize = 1024;

/// Why a controller does not do what it is told.
#[derive(Debug)]
pub(super) enum Fault {
    /// A register or a field says what this driver cannot work with.
    Unfit(String),
    /// It did not do something in time.
    Late { what: &'static str, seconds: u64 },
    /// It says that it has failed, or is gone.
    Failed(&'static str),
    /// A command was refused.
    Status { what: &'static str, status: u16 },
    /// Memory could not be had.
    Memory(io::Error),
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unfit(why) => write!(formatter, "the controller {why}"),
            Self::Late { what, seconds } => {
                write!(formatter, "the controller did not {what} within {seconds} seconds")
            }
            Self::Failed(what) => write!(formatter, "the controller {what}"),
            Self::Status { what, status } => {
                write!(formatter, "the controller refused to {what}: {}", status::words(*status))
            }
            Self::Memory(source) => write!(formatter, "memory for the controller could not be had: {source}"),
        }
    }
}

/// A controller that is enabled. It is shared by all threads behind a lock, and used at opening and closing only.
#[derive(Debug)]
pub(super) struct Controller {
    registers: Registers,
    bus: Arc<Bus>,
    capabilities: Capabilities,
    admin: QueuePair,
    page: DmaMemory,
    patience: Duration,
    /// Numbers of queues that nobody has.
    free: Vec<u16>,
    disabled: bool,
    /// What it is.
    pub facts: ControllerFacts,
}

impl Controller {
    /// Resets and enables a controller, and asks what it is. `patience` is how long a command may take.
    pub fn bring_up(registers: Registers, bus: &Arc<Bus>, patience: Duration) -> Result<Self, Fault> {
        let capabilities = Capabilities(registers.read_wide(register::CAP));
        if registers.read(register::CSTS) == register::GONE {
            return Err(Fault::Failed("is gone: its registers cannot be read"));
        }
        if !capabilities.has_small_pages() || !capabilities.has_blocks() {
            return Err(Fault::Unfit("has no memory pages of 4 KiB, or no NVM command set".to_owned()));
        }
        switch_off(registers, capabilities)?;
        let bytes = queue::bytes_of(ADMIN_ENTRIES);
        let memory = DmaMemory::new(bus, bytes, bytes).map_err(Fault::Memory)?;
        let doorbells = registers.doorbells(0, capabilities.stride_bytes());
        let doorbells = doorbells.ok_or_else(|| Fault::Unfit("has no doorbells".to_owned()))?;
        let admin = QueuePair::new(memory, ADMIN_ENTRIES, doorbells);
        let page = DmaMemory::new(bus, IDENTIFY_BYTES, IDENTIFY_BYTES).map_err(Fault::Memory)?;
        let bus = Arc::clone(bus);
        let facts = ControllerFacts::default();
        let (free, disabled) = (Vec::new(), false);
        let mut controller = Self { registers, bus, capabilities, admin, page, patience, free, disabled, facts };
        controller.switch_on()?;
        controller.ask_for_queues()?;
        controller.facts = ControllerFacts::of(&controller.identify(Subject::Controller, "say what it is")?);
        Ok(controller)
    }

    fn switch_on(&self) -> Result<(), Fault> {
        let [commands, answers] = self.admin.bus_addresses();
        let less_one = u32::from(ADMIN_ENTRIES - 1);
        self.registers.write(register::AQA, less_one | less_one << 16);
        self.registers.write_wide(register::ASQ, commands);
        self.registers.write_wide(register::ACQ, answers);
        self.registers.write(register::INTMS, u32::MAX);
        self.registers.write(register::CC, register::CC_ON);
        await_ready(self.registers, self.capabilities, true)
    }

    /// One admin command from beginning to end.
    fn admin(&mut self, what: &'static str, command: &Command) -> Result<u32, Fault> {
        self.admin.put(&command.named(0));
        self.admin.ring();
        let began = Instant::now();
        loop {
            if let Some(answer) = self.admin.take() {
                self.admin.release();
                let failed = Fault::Status { what, status: answer.status };
                return if status::errno(answer.status) == 0 { Ok(answer.result) } else { Err(failed) };
            }
            self.healthy()?;
            if began.elapsed() > self.patience {
                // Whatever it still does with the memory of this command, it must not do later.
                let _ = self.disable();
                return Err(Fault::Late { what, seconds: self.patience.as_secs() });
            }
            thread::sleep(Duration::from_micros(20));
        }
    }

    /// Looks at the controller's own word on its state.
    pub fn healthy(&self) -> Result<(), Fault> {
        match self.registers.read(register::CSTS) {
            register::GONE => Err(Fault::Failed("is gone: its registers cannot be read")),
            status if status & register::CSTS_FATAL != 0 => Err(Fault::Failed("reports a fatal failure")),
            _ => Ok(()),
        }
    }

    fn ask_for_queues(&mut self) -> Result<(), Fault> {
        let granted = self.admin("give queues", &Command::ask_for_queues(QUEUES_WANTED))?;
        let pairs = (granted & 0xffff).min(granted >> 16) + 1;
        self.free = (1..=pairs.min(u32::from(QUEUES_WANTED)) as u16).rev().collect();
        Ok(())
    }

    fn identify(&mut self, subject: Subject, what: &'static str) -> Result<[u8; IDENTIFY_BYTES], Fault> {
        self.admin(what, &Command::identify(subject, self.page.bus_address(0)))?;
        // SAFETY: the page is as long, and the controller has answered: it does not write any more.
        Ok(unsafe { self.page.start().cast::<[u8; IDENTIFY_BYTES]>().read_volatile() })
    }

    /// A namespace; none where it is not active.
    pub fn namespace(&mut self, id: u32) -> Result<Option<NamespaceFacts>, Fault> {
        let page = self.identify(Subject::Namespace(id), "describe a namespace")?;
        Ok(NamespaceFacts::of(id, &page))
    }

    /// Numbers of its active namespaces.
    pub fn active(&mut self) -> Result<Vec<u32>, Fault> {
        let page = self.identify(Subject::Active, "list its namespaces")?;
        let word = |at: usize| u32::from_le_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]]);
        Ok((0..NAMESPACES_AT_MOST).map(|index| word(index * 4)).take_while(|id| *id != 0).collect())
    }

    /// Entries of an I/O queue at most.
    pub fn entries_at_most(&self) -> u32 {
        self.capabilities.entries_at_most()
    }

    /// Makes a queue pair with `further` bytes of memory behind its queues; returns its number and where that memory
    /// begins. None where the controller has no queues left.
    pub fn make_queue(&mut self, entries: u16, further: usize) -> Result<Option<(u16, QueuePair, usize)>, Fault> {
        let Some(number) = self.free.pop() else { return Ok(None) };
        match self.make_queue_as(number, entries, further) {
            Ok((pair, at)) => Ok(Some((number, pair, at))),
            Err(fault) => {
                self.free.push(number);
                Err(fault)
            }
        }
    }

    fn make_queue_as(&mut self, number: u16, entries: u16, further: usize) -> Result<(QueuePair, usize), Fault> {
        let doorbells = self.registers.doorbells(number, self.capabilities.stride_bytes());
        let doorbells = doorbells.ok_or_else(|| Fault::Unfit(format!("has no doorbells for queue {number}")))?;
        let bytes = queue::bytes_of(entries);
        let memory = DmaMemory::new(&self.bus, bytes + further, bytes).map_err(Fault::Memory)?;
        let pair = QueuePair::new(memory, entries, doorbells);
        let [commands, answers] = pair.bus_addresses();
        self.admin("make a completion queue", &Command::create_completions(number, entries, answers))?;
        let made = self.admin("make a submission queue", &Command::create_submissions(number, entries, commands));
        if let Err(fault) = made {
            let _ = self.admin("remove a completion queue", &Command::delete_completions(number));
            return Err(fault);
        }
        Ok((pair, bytes))
    }

    /// Removes a queue pair. What it was asked for must be over; afterwards its memory is free.
    pub fn remove_queue(&mut self, number: u16) -> Result<(), Fault> {
        if self.disabled {
            return Ok(());
        }
        self.admin("remove a submission queue", &Command::delete_submissions(number))?;
        self.admin("remove a completion queue", &Command::delete_completions(number))?;
        self.free.push(number);
        Ok(())
    }

    /// Stops the controller at once: after this it touches no memory.
    pub fn disable(&mut self) -> Result<(), Fault> {
        if std::mem::replace(&mut self.disabled, true) {
            return Ok(());
        }
        switch_off(self.registers, self.capabilities)
    }

    /// Lets the drive put its caches on the medium, and stops it.
    pub fn shut_down(&mut self) -> Result<(), Fault> {
        if self.disabled {
            return Ok(());
        }
        let configuration = self.registers.read(register::CC) & !(3 << 14);
        self.registers.write(register::CC, configuration | register::CC_SHUT_DOWN);
        let over = |state: u32| state & register::CSTS_SHUTDOWN_MASK == register::CSTS_SHUT_DOWN;
        let outcome = await_state(self.registers, "shut down", self.patience, over);
        outcome.and(self.disable())
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.shut_down();
        let _ = self.disable();
    }
}

fn switch_off(registers: Registers, capabilities: Capabilities) -> Result<(), Fault> {
    let configuration = registers.read(register::CC);
    if configuration & register::CC_ENABLE != 0 {
        // A controller that is being enabled may not be disabled before it is ready.
        let _ = await_ready(registers, capabilities, true);
        registers.write(register::CC, configuration & !register::CC_ENABLE);
    }
    await_ready(registers, capabilities, false)
}

fn await_ready(registers: Registers, capabilities: Capabilities, ready: bool) -> Result<(), Fault> {
    let what = if ready { "become ready" } else { "stop" };
    let patience = Duration::from_millis(capabilities.ready_ms());
    await_state(registers, what, patience, |state| (state & register::CSTS_READY != 0) == ready)
}

fn await_state(
    registers: Registers,
    what: &'static str,
    patience: Duration,
    wanted: impl Fn(u32) -> bool,
) -> Result<(), Fault> {
    let began = Instant::now();
    loop {
        let state = registers.read(register::CSTS);
        if state == register::GONE {
            return Err(Fault::Failed("is gone: its registers cannot be read"));
        }
        if wanted(state) {
            return Ok(());
        }
        if state & register::CSTS_FATAL != 0 && what == "become ready" {
            return Err(Fault::Failed("reports a fatal failure"));
        }
        if began.elapsed() > patience {
            return Err(Fault::Late { what, seconds: patience.as_secs().max(1) });
        }
        thread::sleep(Duration::from_micros(100));
    }
}
