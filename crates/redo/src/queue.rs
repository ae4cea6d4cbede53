//! The order of those who wait for room: first come, first served, so that none starves.
//!
//! Only the first is ever granted anything, so only the first is woken: sleepers are spread over a
//! few conditions by their tickets. Callers: `credits`.

/// On so many conditions they sleep.
pub(crate) const LANES: usize = 8;

/// A place in the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ticket(u64);

/// Tickets given out, and how many of them were served.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Queue {
    given: u64,
    served: u64,
}

impl Queue {
    pub(crate) fn is_empty(&self) -> bool {
        self.given == self.served
    }

    pub(crate) fn enter(&mut self) -> Ticket {
        self.given += 1;
        Ticket(self.given - 1)
    }

    pub(crate) fn is_first(&self, ticket: Ticket) -> bool {
        ticket.0 == self.served
    }

    /// The first has what it wanted.
    pub(crate) fn leave(&mut self, ticket: Ticket) {
        assert!(self.is_first(ticket), "only the first in the queue is served");
        self.served += 1;
    }

    /// Where the first sleeps, if there is one.
    pub(crate) fn first_lane(&self) -> Option<usize> {
        (!self.is_empty()).then_some(Ticket(self.served).lane())
    }
}

impl Ticket {
    pub(crate) fn lane(self) -> usize {
        (self.0 % LANES as u64) as usize
    }
}
