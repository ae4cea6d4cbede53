//! The room queue: sessions that wait for room, served in the order in which they came (RD16).
//!
//! A session that makes room hands it out to all for whom it is enough, and wakes them: they
//! needn't take it themselves. If each had to take its room and wake the next, a queue once formed
//! would go on at the pace of wake-ups, with room for everybody. Sleeping sessions are spread over
//! a few conditions by their tickets. Callers: `state`, `credits`.

use std::collections::VecDeque;

use crate::state::RoomRequest;

/// The number of conditions on which sessions sleep.
pub(crate) const LANES: usize = 8;

/// A session's place in the room queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ticket(u64);

/// The requests of the waiting sessions, and how many sessions were served before them.
#[derive(Clone, Default, Debug)]
pub(crate) struct Queue {
    requests: VecDeque<RoomRequest>,
    served: u64,
}

/// The conditions to be notified.
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

    /// Whether the session with this ticket has got what it asked for.
    pub(crate) fn is_served(&self, ticket: Ticket) -> bool {
        ticket.0 < self.served
    }

    /// The request of the first session in the queue.
    pub(crate) fn first(&self) -> Option<RoomRequest> {
        self.requests.front().copied()
    }

    /// Lets a session that isn't served leave: its place asks for nothing from now on, and so is
    /// served as soon as it is the first. The caller serves the queue.
    pub(crate) fn leave(&mut self, ticket: Ticket) {
        let place = ticket.0.checked_sub(self.served).expect("it isn't served");
        self.requests[place as usize] = RoomRequest::Blocks(0);
    }

    /// Removes the first request, which was granted.
    pub(crate) fn serve_first(&mut self) {
        self.requests.pop_front().expect("somebody is first");
        self.served += 1;
    }

    /// The lane of the first session in the queue, if there is one.
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
