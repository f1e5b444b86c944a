//! What is tried out.

use super::{event::Mark, recorder::Recorder};

/// A structure, a history, and what must hold whatever happens.
pub trait CrashCase {
    /// The structure after recovery.
    type Recovered;

    /// Bytes of persistent memory.
    fn bytes(&self) -> usize;

    /// Makes what is there when the history begins, all of it durable.
    ///
    /// # Errors
    /// What went wrong, which is a defect of the case.
    fn set_up(&self, medium: Recorder) -> Result<(), String>;

    /// The history: opens the structure and works on it, between [`Recorder::begin`] and [`Recorder::end`] of each
    /// operation.
    ///
    /// # Errors
    /// What went wrong, which is a defect of the case.
    fn run(&self, medium: Recorder) -> Result<(), String>;

    /// Recovers as it would after a crash.
    ///
    /// # Errors
    /// Why it could not, which is a violation.
    fn recover(&self, medium: Recorder) -> Result<Self::Recovered, String>;

    /// Goes on working after recovery, marking operations as in [`CrashCase::run`]; another crash may follow.
    ///
    /// # Errors
    /// Why it could not, which is a violation.
    fn go_on(&self, _recovered: &Self::Recovered, _medium: &Recorder) -> Result<(), String> {
        Ok(())
    }

    /// Checks the structure against all that was begun and acknowledged: nothing lost, nothing half, nothing leaked.
    ///
    /// # Errors
    /// What is wrong.
    fn check(&self, recovered: &Self::Recovered, past: &[Mark]) -> Result<(), String>;
}

/// The states that a structure may be in, where operations followed each other: every acknowledged one has happened,
/// every one that a crash (or the end) cut off has happened or has not.
pub fn possible<S: Clone + PartialEq>(start: S, past: &[Mark], apply: impl Fn(&mut S, u64)) -> Vec<S> {
    let mut states = vec![start];
    let mut open: Option<u64> = None;
    for mark in past.iter().chain([&Mark::Crash]) {
        match (*mark, open.take()) {
            (Mark::Begin(operation), _) => open = Some(operation),
            (Mark::End(operation), _) => states.iter_mut().for_each(|state| apply(state, operation)),
            (Mark::Crash, None) => {}
            (Mark::Crash, Some(operation)) => {
                for mut state in states.clone() {
                    apply(&mut state, operation);
                    if !states.contains(&state) {
                        states.push(state);
                    }
                }
            }
        }
    }
    states
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(past: &[Mark]) -> Vec<u64> {
        possible(0, past, |state, operation| *state += operation)
    }

    #[test]
    fn what_was_acknowledged_has_happened_and_what_was_cut_off_may_have() {
        use Mark::{Begin, Crash, End};
        assert_eq!(sums(&[]), [0]);
        assert_eq!(sums(&[Begin(1), End(1)]), [1]);
        assert_eq!(sums(&[Begin(1), End(1), Begin(2)]), [1, 3]);
        assert_eq!(sums(&[Begin(1), Crash, Begin(2), End(2)]), [2, 3]);
        assert_eq!(sums(&[Begin(1), Crash, Begin(2), Crash]), [0, 1, 2, 3]);
    }
}
