//! Where streams in order find the requests before them.
//!
//! Requests at random meet on members as chance will. Those of a stream in order do not: within a chunk all of them ask
//! one member, and over many chunks they go round all members evenly.

use super::network::{Crowd, MemberChoice};
use crate::{device_load::DeviceLoad, document::StripeKind};

/// How the requests in flight of one load lie on the members.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Share of the members that are at work for it at once; 1 where chance spreads its requests, or better.
    pub reach: f64,
    /// Customers among whom one finds itself on a member that it meets: all of the load where chance spreads them, fewer
    /// where they go round evenly.
    pub peers: f64,
    /// Requests in order that one member serves before they go on to the next; 0 where chance chooses members.
    pub per_chunk: f64,
    /// Which members its customers come to.
    pub members_by: MemberChoice,
}

impl Window {
    /// Requests that lie where chance puts them.
    pub fn random(load: &DeviceLoad) -> Self {
        let per_chunk = f64::from(u8::from(load.sequential));
        Self { reach: 1.0, peers: load.in_flight, per_chunk, members_by: MemberChoice::Chance }
    }

    /// How requests that are not alone crowd on few members.
    pub fn crowd(&self, in_flight: f64) -> Crowd {
        Crowd { denser: 1.0 / self.reach - 1.0, lasts: self.per_chunk / in_flight }
    }

    /// Of a load on `members` with `chunk` bytes side by side. Writes of RAID 5 at random meet in their parity, and stay with
    /// chance; those in order put parity on another member once in a row.
    pub fn of(load: &DeviceLoad, members: f64, chunk: f64, layout: StripeKind) -> Self {
        let places = if layout == StripeKind::Raid10 { members / 2.0 } else { members };
        let row = places - 1.0;
        let writes = layout == StripeKind::Raid5 && load.write_share > 0.0;
        let whole = load.write_share < 1.0 || load.size_bytes >= chunk * row;
        let chunk = if layout == StripeKind::Interleave { load.size_bytes } else { chunk };
        if !load.sequential || writes && whole || places <= 1.0 || load.in_flight <= 1.0 {
            let lone = load.sequential && load.in_flight <= 1.0 && !writes;
            let members_by = match load.size_bytes >= chunk {
                true if lone => MemberChoice::Round,
                false if lone => MemberChoice::Stays,
                _ => MemberChoice::Chance,
            };
            return Self { members_by, ..Self::random(load) };
        }
        let window = Self::in_order(load, places, chunk / load.size_bytes);
        if !writes || window.reach == 1.0 {
            return window;
        }
        Self { reach: (window.reach * places / row).min(1.0), ..window }
    }

    /// Streams on `places`, with `per_chunk` requests in a chunk.
    fn in_order(load: &DeviceLoad, places: f64, per_chunk: f64) -> Self {
        let (many, threads) = (load.in_flight, load.threads.clamp(1.0, load.in_flight));
        let depth = many / threads;
        if per_chunk <= 1.0 {
            // Every request goes on to the next member, and keeps its distance to those of all streams.
            let fork = (1.0 / per_chunk).ceil().min(places);
            return Self { peers: (many * fork / places).max(1.0), ..Self::random(load) };
        }
        let met = places_at_work(depth, per_chunk).min(places);
        if threads == 1.0 {
            return Self { reach: met / places, peers: many / met, per_chunk, members_by: MemberChoice::Chance };
        }
        // How many others of its own stream and of the other ones a request finds on its member, over what lies on each.
        let others = (places * (depth / met - 1.0) + (threads - 1.0) * depth) / many;
        let by_chance = 1.0 - 1.0 / many;
        if others <= by_chance {
            return Self { peers: 1.0 / (1.0 - others.max(0.0)), ..Self::random(load) };
        }
        Self { reach: by_chance / others, peers: many, per_chunk, members_by: MemberChoice::Chance }
    }
}

/// Members that one stream of d requests keeps at work where a chunk holds k of them, each served in the same time.
///
/// While the requests of one chunk are served, those that follow them go to the next one. With few in flight there are
/// two members at most at work, and of the time of a chunk the share in which its member works alone shrinks by a request
/// for each that is in flight: k / (k - (d - 1)). With e at work a chunk begins every k / e services, its j-th request is
/// sent after (j - 1) / e and done after j, so that by Little's law d = (e (k + 1) - (k - 1)) / 2.
fn places_at_work(depth: f64, per_chunk: f64) -> f64 {
    if depth - 1.0 < per_chunk / 2.0 {
        return per_chunk / (per_chunk - (depth - 1.0));
    }
    (2.0 * depth + per_chunk - 1.0) / (per_chunk + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_keeps_as_many_members_at_work_as_its_requests_reach() {
        for (depth, per_chunk, expected) in [(1.0, 32.0, 1.0), (8.0, 4.0, 3.8), (4.0, 32.0, 1.10), (17.0, 32.0, 1.97)] {
            let seen = places_at_work(depth, per_chunk);
            assert!((seen - expected).abs() < 0.02, "{depth} in flight, {per_chunk} in a chunk: {seen}");
        }
    }
}
