//! Where the threads of a class may run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Highest number of a CPU or of a NUMA node, and one.
const NUMBER_BELOW: u32 = 1024;

/// CPUs or NUMA nodes that the threads of a class keep to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Pin {
    /// Each thread keeps to one of these CPUs, in their order and around: with CPUs 0 and 1 thread 2 runs on CPU 0.
    Cpus(Vec<u32>),
    /// Each thread keeps to the CPUs of one of these NUMA nodes, in their order and around, and has its memory there.
    Nodes(Vec<u32>),
}

impl Pin {
    /// What is wrong with it, and what would be right; none where nothing is.
    pub(crate) fn problem(&self) -> Option<(String, &'static str)> {
        let numbers = self.numbers();
        let mut sorted = numbers.to_vec();
        sorted.sort_unstable();
        if let Some(&far) = sorted.last().filter(|&&number| number >= NUMBER_BELOW) {
            return Some((far.to_string(), "use numbers below 1024"));
        }
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Some((format!("{} twice", twice[0]), "name each once: threads go around by themselves"));
        }
        numbers.is_empty().then(|| ("none".to_owned(), "name at least one, or leave pin out"))
    }

    /// The numbers, in their order.
    pub fn numbers(&self) -> &[u32] {
        match self {
            Self::Cpus(numbers) | Self::Nodes(numbers) => numbers,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_named() {
        assert_eq!(Pin::Cpus(vec![3, 0]).problem(), None);
        for (pin, seen) in
            [(Pin::Cpus(vec![]), "none"), (Pin::Nodes(vec![1, 0, 1]), "1 twice"), (Pin::Cpus(vec![1024]), "1024")]
        {
            assert_eq!(pin.problem().map(|problem| problem.0).as_deref(), Some(seen));
        }
    }

    #[test]
    fn it_reads_as_it_is_written() {
        let pin: Pin = serde_json::from_str(r#"{"nodes": [0, 1]}"#).expect("a pin");
        assert_eq!(pin, Pin::Nodes(vec![0, 1]));
        assert!(serde_json::from_str::<Pin>(r#"{"cpus": [0], "nodes": [1]}"#).is_err());
    }
}
