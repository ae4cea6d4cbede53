//! The line of those who wait for room: first come, first served, so that none starves.
//!
//! Whoever makes room hands it out, to all for whom there is enough, and wakes them: they need not
//! come by for it. If each had to take its own and wake the next, a line once formed would go on
//! at the pace of wake-ups, with room for everybody. Sleepers are spread over a few conditions by
//! their tickets. Callers: `state`, `credits`.

use std::collections::VecDeque;

use crate::state::RoomRequest;

/// On so many conditions they sleep.
pub(crate) const LANES: usize = 8;

/// A place in the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ticket(u64);

/// Those who wait, and how many were served before the first of them.
#[derive(Clone, Default, Debug)]
pub(crate) struct Queue {
    requests: VecDeque<RoomRequest>,
    served: u64,
}

/// Conditions to be notified.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[must_use = "who isn't woken sleeps on"]
pub(crate) struct Lanes(u8);

impl Queue {
    pub(crate) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    pub(crate) fn enter(&mut self, request: RoomRequest) -> Ticket {
        self.requests.push_back(request);
        Ticket(self.served + self.requests.len() as u64 - 1)
    }

    pub(crate) fn is_first(&self, ticket: Ticket) -> bool {
        ticket.0 == self.served
    }

    /// Whether it has got what it wanted.
    pub(crate) fn is_served(&self, ticket: Ticket) -> bool {
        ticket.0 < self.served
    }

    /// What the first waits for.
    pub(crate) fn first(&self) -> Option<RoomRequest> {
        self.requests.front().copied()
    }

    /// The first has what it wanted.
    pub(crate) fn serve_first(&mut self) {
        self.requests.pop_front().expect("somebody is first");
        self.served += 1;
    }

    /// Where the first sleeps, if there is one.
    pub(crate) fn first_lane(&self) -> Lanes {
        let mut lanes = Lanes::default();
        if !self.is_empty() {
            lanes.add(Ticket(self.served));
        }
        lanes
    }
}

impl Ticket {
    pub(crate) fn lane(self) -> usize {
        (self.0 % LANES as u64) as usize
    }
}

impl Lanes {
    fn add(&mut self, ticket: Ticket) {
        self.0 |= 1 << ticket.lane();
    }

    pub(crate) fn and(self, others: Lanes) -> Lanes {
        Lanes(self.0 | others.0)
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = usize> {
        (0..LANES).filter(move |lane| self.0 >> lane & 1 == 1)
    }
}
