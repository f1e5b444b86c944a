//! Which way of solving a network of stations its customers need.

use super::{
    alone,
    network::{Customer, Flow, Group, State, Waits, first_guess},
    together,
};

/// Finds throughput and latency of all classes; `flows` and `waits` may hold an earlier answer to begin with.
pub fn settle(group: &Group, customers: &[Customer], flows: &mut [Flow], waits: &mut Waits) -> State {
    for (customer, flow) in customers.iter().zip(flows.iter_mut()) {
        if !(flow.rate > 0.0 && flow.rate.is_finite()) {
            flow.rate = first_guess(group, customer);
        }
    }
    match (customers, &mut *flows) {
        ([customer], [flow]) if customer.flushes == 0.0 && customer.background == 0.0 && !customer.turns() => {
            alone::settle(group, customer, flow)
        }
        _ => together::settle(group, customers, flows, waits),
    }
}
