//! Which operations are writes.

use assay_record::Operation;

/// Spreads writes evenly: at 20 % every fifth operation is one.
#[derive(Clone, Copy, Debug)]
pub struct Mixer {
    percent: u8,
    due: u8,
}

impl Mixer {
    pub fn new(operation: Operation) -> Self {
        let percent = match operation {
            Operation::Read => 0,
            Operation::Write => 100,
            Operation::Mix { write_percent } => write_percent,
        };
        Self { percent, due: 0 }
    }

    #[inline(always)]
    pub fn next(&mut self) -> bool {
        self.due += self.percent;
        let write = self.due >= 100;
        self.due -= if write { 100 } else { 0 };
        write
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fifth_operation_is_a_write_at_20_percent() {
        let mut mixer = Mixer::new(Operation::Mix { write_percent: 20 });
        let writes: Vec<bool> = (0..10).map(|_| mixer.next()).collect();
        assert_eq!(writes, [false, false, false, false, true, false, false, false, false, true]);
    }

    #[test]
    fn a_hundred_operations_hold_exactly_their_percentage() {
        for percent in 0..=100u8 {
            let mut mixer = Mixer::new(Operation::Mix { write_percent: percent });
            assert_eq!((0..100).filter(|_| mixer.next()).count(), usize::from(percent));
        }
    }
}
