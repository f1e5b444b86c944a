//! When a call fails, and how.

use std::time::Duration;

/// What a call is, as rules name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    Read,
    Write,
    Sync,
    Open,
    Create,
    Close,
    Size,
    Remove,
    Rename,
    List,
}

impl Operation {
    pub const ALL: [(Self, &'static str); 10] = [
        (Self::Read, "read"),
        (Self::Write, "write"),
        (Self::Sync, "sync"),
        (Self::Open, "open"),
        (Self::Create, "create"),
        (Self::Close, "close"),
        (Self::Size, "size"),
        (Self::Remove, "remove"),
        (Self::Rename, "rename"),
        (Self::List, "list"),
    ];

    fn named(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|(_, known)| *known == name);
        found.map(|(operation, _)| operation).ok_or_else(|| format!("there is no operation {name}"))
    }
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It fails with this number.
    Error(i32),
    /// It does a half.
    Short,
    /// It does a part of an odd number of bytes.
    Ragged,
    /// It says that it is done, and does nothing: a sync that makes nothing durable.
    Lie,
    /// It answers later.
    Slow(Duration),
}

const ERRORS: [(&str, i32); 7] = [
    ("eio", libc::EIO),
    ("enospc", libc::ENOSPC),
    ("edquot", libc::EDQUOT),
    ("erofs", libc::EROFS),
    ("emfile", libc::EMFILE),
    ("eacces", libc::EACCES),
    ("eintr", libc::EINTR),
];

fn effect(name: &str) -> Result<Effect, String> {
    if let Some(ms) = name.strip_prefix("slow:") {
        return Ok(Effect::Slow(Duration::from_millis(number(ms)?)));
    }
    match (name, ERRORS.iter().find(|(known, _)| *known == name)) {
        (_, Some((_, errno))) => Ok(Effect::Error(*errno)),
        ("short", _) => Ok(Effect::Short),
        ("ragged", _) => Ok(Effect::Ragged),
        ("lie", _) => Ok(Effect::Lie),
        _ => Err(format!("there is no effect {name}")),
    }
}

pub fn number(word: &str) -> Result<u64, String> {
    word.parse().map_err(|_| format!("{word} is no number"))
}

impl Effect {
    /// How many of so many bytes a call moves; a device moves whole blocks.
    pub fn part(fate: Option<Self>, bytes: usize, block: usize) -> usize {
        match fate {
            Some(Self::Short) => bytes.div_ceil(2).next_multiple_of(block),
            Some(Self::Ragged) => (bytes / 2 + 1) | 1,
            _ => bytes,
        }
        .min(bytes)
    }
}

/// From the `from`-th call of its kind on, `count` times.
#[derive(Clone, Debug)]
pub struct Rule {
    operation: Operation,
    pub effect: Effect,
    from: u64,
    count: u64,
    part: String,
    seen: u64,
}

impl Rule {
    /// Reads `OPERATION EFFECT [from=N] [count=N] [name=PART]`.
    pub fn parse(words: &[&str]) -> Result<Self, String> {
        let [operation, effect_name, more @ ..] = words else { return Err("rule OPERATION EFFECT".to_owned()) };
        let (operation, effect) = (Operation::named(operation)?, effect(effect_name)?);
        let mut rule = Self { operation, effect, from: 1, count: u64::MAX, part: String::new(), seen: 0 };
        for word in more {
            match word.split_once('=') {
                Some(("from", value)) => rule.from = number(value)?,
                Some(("count", value)) => rule.count = number(value)?,
                Some(("name", value)) => value.clone_into(&mut rule.part),
                _ => return Err(format!("a rule has from, count and name, not {word}")),
            }
        }
        Ok(rule)
    }

    /// What becomes of this call.
    pub fn hits(&mut self, operation: Operation, name: &str) -> Option<Effect> {
        if operation != self.operation || !name.contains(&self.part) {
            return None;
        }
        self.seen += 1;
        let since = self.seen.checked_sub(self.from)?;
        (since < self.count).then_some(self.effect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_holds_for_the_calls_that_it_names() {
        let mut rule = Rule::parse(&["write", "enospc", "from=2", "count=2", "name=log"]).unwrap();
        let mut hits = |operation, name| rule.hits(operation, name).is_some();
        assert!(!hits(Operation::Write, "log"), "the first");
        assert!(!hits(Operation::Read, "log") && !hits(Operation::Write, "data"), "not its kind");
        assert!(hits(Operation::Write, "a-log") && hits(Operation::Write, "log"));
        assert!(!hits(Operation::Write, "log"), "the fourth");
        assert!(Rule::parse(&["write", "nothing"]).is_err() && Rule::parse(&["write", "eio", "x=1"]).is_err());
    }
}
