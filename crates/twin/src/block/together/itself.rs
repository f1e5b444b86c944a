//! What a customer meets of its own class.

use super::{Class, ROOM, Search, other_turn};
use crate::block::bunch::Bunch;
use crate::block::network::{FULLER, STATIONS, met};

/// Most of a station that other classes take where requests crowd, or wait behind a customer or one another.
pub(super) const OTHERS_AT_MOST: f64 = 0.9;
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
        let beyond = self.met_beyond_chance(class, place);
        // At a station that is full all others stand before who comes, however soon that is.
        let beyond = if beyond < 0.0 { beyond * self.room_at(place) } else { beyond.min(most) };
        let found = (wait_ns + beyond).max(0.0);
        let bunched = self.bunched(class, place);
        let mine = own(found + bunched);
        let gone = if mine > 0.0 { (mine * self.knock_on(class, place)).min(found) } else { mine };
        gone - beyond - bunched
    }

    /// What an operation meets of its own bunch, over the times that it meets the wait, ns.
    pub(super) fn bunched(&self, class: &Class, place: usize) -> f64 {
        let weight = class.weights[place];
        let bunch = Bunch::of(self.group, class.customer).filter(|_| place < STATIONS && weight > 0.0);
        // What the other part of the drive's attention takes is part of the bunch's pace there.
        let left = if other_turn(place).is_some() { self.serving() } else { self.left(place) };
        bunch.map_or(0.0, |bunch| bunch.wait_ns(place) / weight / left)
    }

    /// How much of a wait goes with a customer that goes, over its own work in it: others have waited behind that, and are no
    /// longer there either. A station of which others take the share a drains 1 / (1 - a) times of what came. As far as
    /// customers of a closed class spend their time in this very wait, they only come back sooner; and at a station that is
    /// full others take what one leaves.
    fn knock_on(&self, class: &Class, place: usize) -> f64 {
        let left = self.left(place);
        let others = self.classes.iter().filter(|other| !std::ptr::eq(*other, class));
        let behind: f64 = others.map(|other| other.rate * other.demands[place] / left * self.moves(other, place)).sum();
        1.0 + (1.0 / (1.0 - behind.min(OTHERS_AT_MOST)) - 1.0) * self.room_at(place)
    }

    /// How far a station is from full, for what holds where it has room: 1 as long as it does, and 0 where it is full.
    pub(super) fn room_at(&self, place: usize) -> f64 {
        let all: f64 = self.classes.iter().map(|class| class.rate * self.work(class, place)).sum();
        let left = if place == ROOM { 1.0 } else { self.left(place) };
        1.0 - (all / left).min(1.0).powi(FULLER)
    }

    /// How far a class keeps its rate where a wait becomes shorter: all of it where a rate of its own limits it, otherwise
    /// but for the share of its time that it spends there.
    fn moves(&self, class: &Class, place: usize) -> f64 {
        if class.rate >= class.customer.rate * (1.0 - 1e-9) {
            return 1.0;
        }
        let here = class.weights[place] * (class.residuals[place] + self.wait_of(class, place));
        1.0 - (class.rate * here / class.customer.in_flight).min(1.0)
    }

    /// Time of a server that an operation takes at a place; room is drained like a station that serves in order.
    pub(super) fn work(&self, class: &Class, place: usize) -> f64 {
        if place < STATIONS {
            return class.demands[place];
        }
        let [programs, link] = self.asks(class, ROOM, class.customer.behind);
        if class.weights[ROOM] > 0.0 { programs.max(link) } else { 0.0 }
    }
}
