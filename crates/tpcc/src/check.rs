//! The twelve consistency conditions (clause 3.3.2), and what is found against them.

use assay_record::WorkCheck;

/// Conditions of the specification.
pub const CONDITIONS: usize = 12;

/// What each condition says. Where one speaks of a row that may be missing, an absent number counts as 0.
pub const WORDS: [&str; CONDITIONS] = [
    "the year's payments of every warehouse are those of its districts",
    "the next order of every district follows its last order, and its last undelivered one",
    "the undelivered orders of every district have no gap",
    "the orders of every district have as many lines as they say, together",
    "an order has no carrier exactly where it is among the undelivered",
    "every order has as many lines as it says",
    "a line has no delivery date exactly where its order has no carrier",
    "the year's payments of every warehouse are those of its history",
    "the year's payments of every district are those of its history",
    "every customer owes what was delivered, less what was paid",
    "as many orders are delivered as were loaded so, and were delivered since",
    "what every customer owes and has paid is what was delivered",
];

/// What was found against the conditions.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    broken: [u64; CONDITIONS],
    first: [Option<String>; CONDITIONS],
}

impl Findings {
    /// Notes that condition `condition` (1 to 12) is broken in one place, where `holds` is false.
    pub fn expect(&mut self, condition: usize, holds: bool, place: impl FnOnce() -> String) {
        if !holds {
            self.broken[condition - 1] += 1;
            self.first[condition - 1].get_or_insert_with(place);
        }
    }

    /// Notes several broken places of a condition at once, with the first of them in words.
    pub fn add(&mut self, condition: usize, places: u64, first: Option<String>) {
        self.broken[condition - 1] += places;
        if self.first[condition - 1].is_none() {
            self.first[condition - 1] = first;
        }
    }

    /// One check per condition.
    pub fn checks(self) -> Vec<WorkCheck> {
        let found = self.broken.into_iter().zip(self.first).zip(WORDS).enumerate();
        found
            .map(|(at, ((broken, first), words))| WorkCheck {
                name: format!("consistency-{}", at + 1),
                passed: broken == 0,
                evidence: match (broken, first) {
                    (0, _) => words.to_owned(),
                    (_, Some(first)) => format!("it should be that {words}; broken in {broken} places, first {first}"),
                    (_, None) => format!("it should be that {words}; broken in {broken} places"),
                },
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_broken_says_where() {
        let mut findings = Findings::default();
        findings.expect(3, true, || unreachable!());
        findings.expect(4, false, || "district 1 of warehouse 2".to_owned());
        findings.expect(4, false, || "another".to_owned());
        let checks = findings.checks();
        assert_eq!(checks.iter().filter(|check| !check.passed).count(), 1);
        assert_eq!(checks[3].name, "consistency-4");
        assert!(checks[3].evidence.ends_with("broken in 2 places, first district 1 of warehouse 2"));
    }
}
