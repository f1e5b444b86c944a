//! What a customer meets of its own class.

use super::{Class, ROOM, Search};
use crate::block::network::{STATIONS, met};

/// Most of a station that other classes take where requests crowd.
const OTHERS_AT_MOST: f64 = 0.9;
/// A wait is no more than a hundred times of what chance would lay.
const SHARE_AT_LEAST: f64 = -0.99;

impl Search<'_> {
    /// What of a wait is a customer itself: Schweitzer's share of the work of its own class, which waits as long. Below zero
    /// where it meets more than others do.
    pub(super) fn itself(&self, class: &Class, place: usize) -> f64 {
        let own = class.rate * self.work(class, place);
        let all: f64 = self.classes.iter().map(|class| class.rate * self.work(class, place)).sum();
        if own <= 0.0 {
            return 0.0;
        }
        let left = if place == ROOM { 1.0 } else { self.left(place) };
        let met = met(class.customer, own / all.max(1e-30), all / left);
        let crowd = class.customer.crowd;
        let stays = 1.0 / (1.0 - crowd.gathered(((all - own) / left).min(OTHERS_AT_MOST)));
        let share = own * ((1.0 + crowd.denser) * (1.0 - met) - crowd.denser * stays) / left;
        let share = share.max(SHARE_AT_LEAST);
        if place == ROOM {
            return share * self.waits[place] / (1.0 + share);
        }
        let own = |wait_ns: f64| share * (class.residuals[place] + wait_ns) / (1.0 + share);
        let wait_ns = self.waits[place];
        let most = (self.longest(class, place) - (wait_ns - own(wait_ns))).max(0.0);
        let beyond = self.met_beyond_chance(class, place).min(most);
        own((wait_ns + beyond).max(0.0)) - beyond
    }

    /// Time of a server that an operation takes at a place; room is drained like a station that serves in order.
    fn work(&self, class: &Class, place: usize) -> f64 {
        if place < STATIONS {
            return class.demands[place];
        }
        let [programs, link] = self.asks(class, ROOM, class.customer.behind);
        if class.weights[ROOM] > 0.0 { programs.max(link) } else { 0.0 }
    }
}
