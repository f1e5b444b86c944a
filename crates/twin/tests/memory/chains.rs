//! Index lookups and updates: sums of steps that were measured one at a time.

use assay_twin::{
    Device,
    memory::chain::{ChainStep, chains_per_s},
};

use crate::catalog::{folder, twin};

/// Chains with reads of 1,024 B are left out: PerMA-Bench has 15 million of them per second on one module, twice the bytes
/// that the module can give, so that they read less than their name says.
const ODD: &str = "rp_1024";

fn steps(chain: &str, place: &mut f64) -> Option<Vec<ChainStep>> {
    chain.split(',').map(|name| step(name, place)).collect()
}

fn step(name: &str, place: &mut f64) -> Option<ChainStep> {
    let fields: Vec<&str> = name.split('_').collect();
    let bytes: f64 = fields[1].parse().ok()?;
    match fields[0] {
        "rp" => {
            *place = 0.0;
            Some(ChainStep::Read { bytes })
        }
        "rd" => Some(ChainStep::DramRead { bytes }),
        "wp" if fields[2] != "none" => {
            *place += fields.get(3).map_or(0.0, |offset| offset.parse().unwrap_or(0.0));
            Some(ChainStep::Write { bytes, offset: *place })
        }
        _ => None,
    }
}

#[test]
fn chains_of_index_operations_follow_from_their_steps() {
    let twin = twin("pmem100-256g");
    let Device::Pmem(pmem) = &twin.device else { panic!("not persistent memory") };
    let chains = pmem.chains.as_ref().expect("steps are in the catalog");
    let path = folder().join("published/optane-pmem100-256g-1-2-modules.csv");
    let text = std::fs::read_to_string(path).expect("the grid is shipped");
    let mut errors = Vec::new();
    for line in text.lines().filter(|line| line.contains("index") && !line.contains(ODD)) {
        let quoted: Vec<&str> = line.split('"').collect();
        let (head, chain, tail) = match quoted[..] {
            [head, chain, tail] => (head, chain, tail),
            _ => {
                let fields: Vec<&str> = line.splitn(7, ',').collect();
                (line, fields[5], &line[line.len() - fields[6].len() - 1..])
            }
        };
        let modules: u32 = head.split(',').next().and_then(|text| text.parse().ok()).expect("modules");
        let numbers: Vec<&str> = tail.split(',').collect();
        let (threads, mops): (f64, f64) = (numbers[2].parse().expect(line), numbers[4].parse().expect(line));
        let Some(steps) = steps(chain, &mut 0.0) else { continue };
        let seen = chains_per_s(pmem, chains, modules, &steps, threads) / 1e6;
        errors.push((
            (seen / mops - 1.0),
            format!("{modules} modules, {threads} threads, {chain}: {seen:.2}, published {mops}"),
        ));
    }
    assert!(errors.len() > 80, "{}", errors.len());
    errors.sort_by(|one, other| one.0.abs().total_cmp(&other.0.abs()));
    let (median, most) = (&errors[errors.len() / 2], &errors[errors.len() * 9 / 10]);
    eprintln!("{} chains: median error {:.3}, ninth decile {:.3}", errors.len(), median.0.abs(), most.0.abs());
    assert!(median.0.abs() < 0.12, "half of the chains are off by more: {}", median.1);
    assert!(most.0.abs() < 0.35, "a tenth of the chains are off by more: {}", most.1);
}
