//! All that there is, and the rules.

use std::{
    collections::{BTreeMap, HashMap},
    ffi::{OsStr, OsString},
    fmt::Write,
    time::SystemTime,
};

use rand_xoshiro::{Xoshiro256StarStar, rand_core::SeedableRng};

use crate::{
    body::{Body, PAGE},
    node::{Content, Node},
    rule::{Effect, Operation, Rule, number},
};

/// The root's number.
const ROOT: u64 = 1;

/// A number that the kernel knows as an error.
pub type Errno = i32;

pub struct World {
    pub nodes: HashMap<u64, Node>,
    next: u64,
    pub bytes: u64,
    used_pages: u64,
    chance: Xoshiro256StarStar,
    rules: Vec<Rule>,
    calls: BTreeMap<Operation, u64>,
    hits: u64,
}

impl World {
    pub fn new(seed: u64, bytes: u64) -> Self {
        // SAFETY: asks for a number.
        let owner = unsafe { (libc::geteuid(), libc::getegid()) };
        let root = Node::new(Content::Folder(BTreeMap::new()), String::new(), 0o755, owner);
        Self {
            nodes: HashMap::from([(ROOT, root)]),
            next: ROOT + 1,
            bytes,
            used_pages: 0,
            chance: Xoshiro256StarStar::seed_from_u64(seed),
            rules: Vec::new(),
            calls: BTreeMap::new(),
            hits: 0,
        }
    }

    /// Does what a line says; the answer, or what is wrong with it.
    pub fn told(&mut self, line: &str) -> Result<String, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["rule", rule @ ..] => self.rules.push(Rule::parse(rule)?),
            ["clear"] => self.rules.clear(),
            ["space", bytes] => self.bytes = number(bytes)?,
            ["crash", "lose"] => self.crash(false),
            ["crash", "torn"] => self.crash(true),
            ["calls"] => return Ok(self.calls()),
            _ => return Err(format!("{line:?} is nothing that it knows")),
        }
        Ok("ok".to_owned())
    }

    fn calls(&self) -> String {
        let mut said = format!("hits={}", self.hits);
        for (operation, name) in Operation::ALL {
            let _ = write!(said, " {name}={}", self.calls.get(&operation).copied().unwrap_or(0));
        }
        said
    }

    fn crash(&mut self, torn: bool) {
        let mut numbers: Vec<u64> = self.nodes.keys().copied().collect();
        numbers.sort_unstable();
        for number in numbers {
            if let Some(Content::File(body)) = self.nodes.get_mut(&number).map(|node| &mut node.content) {
                body.crash(torn.then_some(&mut self.chance));
            }
        }
        self.used_pages = self.nodes.values().map(Node::pages).sum();
    }

    /// What becomes of a call on a node.
    pub fn fate(&mut self, operation: Operation, number: u64) -> Option<Effect> {
        let name = self.nodes.get(&number).map_or(String::new(), |node| node.name.clone());
        self.fate_of(operation, &name)
    }

    /// What becomes of a call on a name.
    pub fn fate_of(&mut self, operation: Operation, name: &str) -> Option<Effect> {
        *self.calls.entry(operation).or_default() += 1;
        let fates: Vec<Effect> = self.rules.iter_mut().filter_map(|rule| rule.hits(operation, name)).collect();
        self.hits += u64::from(!fates.is_empty());
        fates.into_iter().next()
    }

    /// Whether a rule shortens reads or writes: the page cache would hide it.
    pub fn shortens(&self) -> bool {
        self.rules.iter().any(|rule| matches!(rule.effect, Effect::Short | Effect::Ragged))
    }

    pub fn node(&mut self, number: u64) -> Result<&mut Node, Errno> {
        self.nodes.get_mut(&number).ok_or(libc::ENOENT)
    }

    pub fn body(&mut self, number: u64) -> Result<&mut Body, Errno> {
        match &mut self.node(number)?.content {
            Content::File(body) => Ok(body),
            _ => Err(libc::EISDIR),
        }
    }

    pub fn folder(&mut self, number: u64) -> Result<&mut BTreeMap<OsString, u64>, Errno> {
        match &mut self.node(number)?.content {
            Content::Folder(names) => Ok(names),
            _ => Err(libc::ENOTDIR),
        }
    }

    pub fn find(&mut self, parent: u64, name: &OsStr) -> Result<u64, Errno> {
        self.folder(parent)?.get(name).copied().ok_or(libc::ENOENT)
    }

    pub fn make(&mut self, parent: u64, name: &OsStr, mut node: Node) -> Result<u64, Errno> {
        let number = self.next;
        node.name = name.to_string_lossy().into_owned();
        let names = self.folder(parent)?;
        if names.contains_key(name) {
            return Err(libc::EEXIST);
        }
        names.insert(name.to_owned(), number);
        self.nodes.insert(number, node);
        self.next += 1;
        Ok(number)
    }

    pub fn remove(&mut self, parent: u64, name: &OsStr, folder: bool) -> Result<(), Errno> {
        let number = self.find(parent, name)?;
        match (&self.node(number)?.content, folder) {
            (Content::Folder(names), true) if !names.is_empty() => return Err(libc::ENOTEMPTY),
            (Content::Folder(_), false) => return Err(libc::EISDIR),
            (Content::File(_) | Content::Link(_), true) => return Err(libc::ENOTDIR),
            _ => {}
        }
        self.folder(parent)?.remove(name);
        self.node(number)?.named = false;
        self.forget(number);
        Ok(())
    }

    pub fn rename(&mut self, from: (u64, &OsStr), to: (u64, &OsStr), replace: bool) -> Result<(), Errno> {
        let number = self.find(from.0, from.1)?;
        if let Ok(there) = self.find(to.0, to.1) {
            if !replace {
                return Err(libc::EEXIST);
            }
            if there == number {
                return Ok(());
            }
            let folder = matches!(self.node(there)?.content, Content::Folder(_));
            self.remove(to.0, to.1, folder)?;
        }
        self.folder(from.0)?.remove(from.1);
        self.folder(to.0)?.insert(to.1.to_owned(), number);
        self.node(number)?.name = to.1.to_string_lossy().into_owned();
        Ok(())
    }

    /// Lets a node go that has neither a name nor anybody who has it open.
    pub fn forget(&mut self, number: u64) {
        if self.nodes.get(&number).is_some_and(|node| !node.named && node.opened == 0) {
            if let Some(node) = self.nodes.remove(&number) {
                self.used_pages -= node.pages();
            }
        }
    }

    /// Changes a file; refused where it would take more than there is.
    pub fn change<T>(
        &mut self,
        number: u64,
        (at, bytes): (u64, u64),
        change: impl FnOnce(&mut Body) -> T,
    ) -> Result<T, Errno> {
        let free = (self.bytes / PAGE).saturating_sub(self.used_pages);
        let body = self.body(number)?;
        if body.added_by(at, bytes) > free {
            return Err(libc::ENOSPC);
        }
        let before = body.pages();
        let done = change(body);
        let after = body.pages();
        self.used_pages = self.used_pages + after - before;
        self.node(number)?.changed = SystemTime::now();
        Ok(done)
    }

    /// Pages of the file system, and those that are free.
    pub fn room(&self) -> (u64, u64) {
        let all = self.bytes / PAGE;
        (all, all.saturating_sub(self.used_pages))
    }
}
