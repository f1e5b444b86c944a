//! Threads that bunch up on some modules of an interleave set.
//!
//! A module serves n threads at C g(n), and g falls once n threads write more than its buffer can combine. Where one
//! module has gathered many threads it is slow, so they stay: they bunch up. The set is a closed network of m stations
//! with load-dependent rates; in product form (Gordon and Newell 1967) its throughput with N customers is
//! X = m G(N - 1) / G(N), with G the m-fold convolution of f(n) = 1 / (g(1) ... g(n)). Against the same network without
//! loss, N m / (N + m - 1), that is the share of the capacity that is left.

use crate::document::Collapse;

/// Threads on a group of modules beyond which the loss no longer changes.
const MOST: usize = 96;

/// Loss of one module, at one size of access.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// Share that is left with very many threads.
    pub floor: f64,
    /// Threads at which it begins.
    pub onset: f64,
    /// Threads over which it falls to 1/e of the way.
    pub decay: f64,
}

impl Loss {
    /// No loss.
    pub const NONE: Self = Self { floor: 1.0, onset: 0.0, decay: 1.0 };

    /// The loss at a size.
    pub fn at(collapse: Option<&Collapse>, size_bytes: f64) -> Self {
        collapse.map_or(Self::NONE, |collapse| Self {
            floor: collapse.floor.at(size_bytes).clamp(0.01, 1.0),
            onset: collapse.onset_threads.at(size_bytes),
            decay: collapse.decay_threads.at(size_bytes).max(1e-3),
        })
    }

    /// Share of the capacity of a module with `threads` on it.
    pub fn share(&self, threads: f64) -> f64 {
        self.floor + (1.0 - self.floor) * (-(threads - self.onset).max(0.0) / self.decay).exp()
    }
}

/// Share of the capacity of `modules` that `threads` leave, where they bunch up among groups of `group` modules.
pub fn share(loss: &Loss, modules: u32, threads: f64, group: u32) -> f64 {
    let together = modules.min(group.max(1));
    let here = (threads * f64::from(together) / f64::from(modules)).min(MOST as f64);
    if loss.floor >= 1.0 || here + 1.0 <= loss.onset {
        return 1.0;
    }
    if together == 1 {
        return loss.share(here.max(1.0));
    }
    let whole = here.floor() as usize;
    let forms = product_form(loss, together, whole + 1);
    let low = at(&forms, together, whole);
    low + (at(&forms, together, whole + 1) - low) * (here - whole as f64)
}

fn at(normalisation: &[f64; MOST + 2], modules: u32, customers: usize) -> f64 {
    if customers < 2 {
        return 1.0;
    }
    let even = customers as f64 / (customers as f64 + f64::from(modules) - 1.0);
    normalisation[customers - 1] / normalisation[customers] / even
}

/// G(0) ..= G(customers).
fn product_form(loss: &Loss, modules: u32, customers: usize) -> [f64; MOST + 2] {
    let mut one = [0.0; MOST + 2];
    one[0] = 1.0;
    for n in 1..=customers {
        one[n] = one[n - 1] / loss.share(n as f64);
    }
    let mut all = one;
    for _ in 1..modules {
        let before = all;
        for n in 0..=customers {
            all[n] = before[..=n].iter().zip(one[..=n].iter().rev()).map(|(a, b)| a * b).sum();
        }
    }
    all
}
