//! Which requests go on where another one ended: a drive reads ahead for those, and collects nothing behind them.

/// Streams that are told apart. One is forgotten when as many others have ended at its place of the table.
const PLACES: usize = 64;

/// Where the last requests ended, of reads and of writes.
#[derive(Clone, Debug)]
pub struct Streams {
    ends: [[u64; PLACES]; 2],
}

impl Default for Streams {
    fn default() -> Self {
        Self { ends: [[u64::MAX; PLACES]; 2] }
    }
}

impl Streams {
    /// Whether a request begins where one of the same kind ended; its own end takes the place of that.
    #[inline]
    pub fn goes_on(&mut self, write: bool, offset: u64, bytes: u32) -> bool {
        let ends = &mut self.ends[usize::from(write)];
        let known = &mut ends[place(offset)];
        let found = *known == offset;
        if found {
            *known = u64::MAX;
        }
        let end = offset.wrapping_add(u64::from(bytes));
        ends[place(end)] = end;
        found
    }
}

/// Fibonacci hashing.
#[inline]
fn place(end: u64) -> usize {
    (end.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_told_from_chance() {
        let mut streams = Streams::default();
        let mut seen = [0; 3];
        for step in 0..1000_u64 {
            for stream in 0..4 {
                seen[0] += u32::from(streams.goes_on(false, (stream << 40) + step * 4096, 4096));
            }
            let random = step.wrapping_mul(0xd134_2543_de82_ef95) >> 12 & !4095;
            seen[1] += u32::from(streams.goes_on(true, random, 4096));
        }
        // What reads ended does not make a write go on.
        seen[2] += u32::from(streams.goes_on(true, 1000 * 4096, 4096));
        assert!(seen[0] > 3000 && seen[1] < 5 && seen[2] == 0, "{seen:?}");
    }
}
