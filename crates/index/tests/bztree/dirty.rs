//! A thread stops just after each of its steps, so that what it stored is not durable; another one meets that, and what
//! it answers must not be undone by a crash.

use crate::common::{
    Action::{Insert, Lookup, Remove, Update, Upsert},
    Case, WIDE, steps,
};
use assay_pmem::crash::{Allowed, CrashCase, Explorer, Recorder, try_mutants};

/// Lines that only a thread reaches which meets what another one has stored and not made durable.
const LINES: [&str; 3] = ["// dirty word", "// dirty word durable", "// earlier record of the tail"];

/// Seven records are in the tail already: the next two lie in different lines.
fn case(pair: usize, stop: u64) -> Case {
    let (first, second) = match pair {
        0 => (vec![(Insert, 20, 0)], vec![(Insert, 21, 0), (Insert, 20, 0)]),
        1 => (vec![(Remove, 3, 0)], vec![(Remove, 3, 0), (Insert, 3, 0)]),
        _ => (vec![(Upsert, 3, 2)], vec![(Insert, 3, 0), (Lookup, 3, 0), (Update, 3, 1)]),
    };
    let threads = vec![steps(1000, &first), steps(2000, &second)];
    let afterwards = steps(9000, &[(Insert, 30, 0), (Insert, 31, 2)]);
    Case { loaded: (0..7).collect(), threads, afterwards, seed: 0, nodes: WIDE, stop: Some(stop) }
}

/// Whether the history reaches a line of code.
fn reached(case: &Case) -> Vec<&'static str> {
    let medium = Recorder::new(case.bytes());
    case.set_up(medium.clone()).unwrap();
    medium.start_recording();
    case.run(medium.clone()).unwrap();
    let sites = medium.stop_recording();
    let line = |text: &&&str| sites.iter().any(|event| crate::common::line_of(event.site).ends_with(**text));
    LINES.iter().filter(line).copied().collect()
}

#[test]
fn what_others_have_not_made_durable_is_before_it_is_acted_upon() {
    let mut caught = [0; LINES.len()];
    let explorer = Explorer { images: 600, nested_every: 64, nested_images: 8, depth: 1, ..Explorer::default() };
    for pair in 0..3 {
        for stop in 0..60 {
            let case = case(pair, stop);
            if reached(&case).is_empty() {
                continue;
            }
            let none: &[Allowed] = &[];
            let report = try_mutants(&case, &explorer, none)
                .unwrap_or_else(|violation| panic!("pair {pair}, stopped before step {stop}: {violation}"));
            for (site, (found, _)) in &report.sites {
                let code = crate::common::code_at(site);
                LINES
                    .iter()
                    .zip(&mut caught)
                    .filter(|(text, _)| code.ends_with(**text))
                    .for_each(|(_, sum)| *sum += found);
            }
        }
    }
    eprintln!("{LINES:?}: caught {caught:?} times");
    assert!(caught.iter().all(|&times| times > 0), "{LINES:?}: {caught:?}");
}
