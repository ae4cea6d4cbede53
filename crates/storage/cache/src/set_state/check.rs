//! The check of a working set: the invariants of `set_state`, of its lists and its frames.
//!
//! Caller: the latch of the set, when a session that has changed the set lets go of it.

use super::{Membership, SetState};
use crate::frame::{DIRTY, FAILED, Frame, NO_ADDRESS, VACANT, WRITING};

impl SetState {
    /// Checks the whole set. Returns its number of slots. `frames` are all frames of the cache.
    ///
    /// # Panics
    /// When an invariant doesn't hold.
    pub(crate) fn assert_consistent(&self, set: u32, frames: &[Frame]) -> usize {
        if let Err(what) = self.check(set, frames) {
            panic!("working set {set} is broken: {what}");
        }
        self.memberships.len()
    }

    fn check(&self, set: u32, frames: &[Frame]) -> Result<(), String> {
        self.check_memberships()?;
        let queued = self.check_queue()?;
        let flying = self.check_flights()?;
        let mut is_here = vec![true; self.memberships.len()];
        for slot in &self.vacated {
            let was_here = std::mem::replace(&mut is_here[*slot as usize], false);
            if !was_here || self.memberships[*slot as usize] != Membership::None {
                return Err(format!("slot {slot}, whose frame has left, is in use"));
            }
        }
        if let Some((slot, _)) = self.requested.iter().find(|(slot, _)| !is_here[*slot as usize]) {
            return Err(format!("a write is requested of slot {slot}, whose frame has left"));
        }
        for slot in (0..is_here.len()).filter(|slot| is_here[*slot]) {
            let frame = &frames[self.frames[slot] as usize];
            let expected = (u16::from(queued[slot]) * DIRTY) | (u16::from(flying[slot]) * WRITING);
            let (flags, address, status) =
                (frame.flags.peek(), frame.address.peek(), frame.status.peek());
            if flags != expected {
                return Err(format!("slot {slot} has flags {flags}, and its lists say {expected}"));
            }
            if frame.home_to_check() != Some((set, slot as u32)) {
                return Err(format!("the frame of slot {slot} says that its home is elsewhere"));
            }
            let is_sound = match self.memberships[slot] {
                Membership::None => true,
                Membership::Free => address == NO_ADDRESS && status == VACANT,
                Membership::Replacement(_) | Membership::Write => {
                    address != NO_ADDRESS && status & (VACANT | FAILED) == 0
                }
            };
            if !is_sound || (address == NO_ADDRESS && flags != 0) {
                let place = self.memberships[slot];
                return Err(format!(
                    "slot {slot} is in {place:?} with address {address:x}, status {status} and \
                     flags {flags}"
                ));
            }
        }
        Ok(())
    }

    /// Every slot is in the list that its membership names, and in no other.
    fn check_memberships(&self) -> Result<(), String> {
        let mut found = vec![Membership::None; self.memberships.len()];
        let halves = self.replacement.halves();
        let halves = halves.map(|(half, list)| (Membership::Replacement(half), list));
        let others = [(Membership::Free, &self.free), (Membership::Write, &self.write)];
        for (place, list) in halves.into_iter().chain(others) {
            for slot in list.check(&self.links)? {
                let other = std::mem::replace(&mut found[slot as usize], place);
                if other != Membership::None {
                    return Err(format!("slot {slot} is in the lists {other:?} and {place:?}"));
                }
            }
        }
        let wrong = (0..found.len()).find(|slot| found[*slot] != self.memberships[*slot]);
        wrong.map_or(Ok(()), |slot| {
            let (found, place) = (found[slot], self.memberships[slot]);
            Err(format!("slot {slot} is in the list {found:?}, and its membership is {place:?}"))
        })
    }

    /// The checkpoint queue is sorted (CB10). Returns which slots are in it.
    fn check_queue(&self) -> Result<Vec<bool>, String> {
        let queue = self.queue.check(&self.queue_links)?;
        let low = |slot: u32| self.lows[slot as usize];
        if let Some(pair) = queue.windows(2).find(|pair| low(pair[0]) > low(pair[1])) {
            let (older, younger) = (low(pair[0]), low(pair[1]));
            return Err(format!("the checkpoint queue has {older} before {younger} (CB10)"));
        }
        Ok(self.members(&queue))
    }

    /// The number and the low of each batch's frames are right. Returns which slots are being
    /// written.
    fn check_flights(&self) -> Result<Vec<bool>, String> {
        let flying = self.in_flight.check(&self.flight_links)?;
        let counted: u32 = self.flights.iter().map(|flight| flight.frames).sum();
        if counted as usize != flying.len() || self.flights.iter().any(|flight| flight.frames == 0)
        {
            let flights = self.flights.len();
            return Err(format!(
                "{} frames are being written, and {flights} batches count {counted}",
                flying.len()
            ));
        }
        let low = self.flights.iter().map(|flight| flight.low).min();
        let lows = flying.iter().map(|slot| self.flight_lows[*slot as usize]);
        match lows.min() {
            Some(least) if low > Some(least) => {
                Err(format!("a frame in flight is dirty from {least}, and no batch says so"))
            }
            _ => Ok(self.members(&flying)),
        }
    }

    fn members(&self, slots: &[u32]) -> Vec<bool> {
        let mut is_member = vec![false; self.memberships.len()];
        slots.iter().for_each(|slot| is_member[*slot as usize] = true);
        is_member
    }
}

#[cfg(test)]
mod tests {
    use ids::{Dba, Rba};
    use latch::ReaderCounts;
    use os::Session;
    use sim::Simulation;

    use super::*;
    use crate::replacement::Half;
    use crate::set_state::Link;

    /// Six frames: two free, two in the list, one to be written and one being written.
    fn sound(session: &Session) -> (SetState, Vec<Frame>) {
        let counts = ReaderCounts::new(session.os(), 6);
        let frames: Vec<_> = (0..6).map(|at| Frame::absent(session.os(), &counts, at)).collect();
        let mut state = SetState::new();
        for (at, frame) in (0..).zip(&frames) {
            frame.settle(3, state.add(at), session);
            state.put_free(at);
        }
        for (slot, frame) in (0..).zip(&frames).skip(2) {
            state.take_out(slot);
            frame.address.store(Dba::new(1, slot).pack(), session);
            frame.status.store(0, session);
            state.put_hot(slot);
        }
        for (slot, low) in [(4, 1), (5, 2), (3, 3)] {
            state.enter_queue(slot, &frames[slot as usize], Rba::block(1, low), session);
            if slot == 5 {
                state.begin_write(slot, &frames[5], 7, session);
            }
        }
        state.put_write(4);
        (state, frames)
    }

    type Break = fn(&mut SetState, &[Frame], &Session);

    /// Each invariant is broken in turn, and the check names it.
    #[test]
    fn what_is_broken_in_a_set_is_named() {
        let cases: [(&str, Break); 12] = [
            ("slot 0 doesn't link back", |state, _, _| state.links[0] = Link::FREE),
            ("ends after", |state, _, _| {
                let first = state.free.first().expect("two are free");
                state.links[first as usize] = Link::FREE;
            }),
            ("its membership is Write", |state, _, _| state.memberships[2] = Membership::Write),
            ("is in the lists", |state, _, _| {
                [0, 1, 4].into_iter().for_each(|slot| state.take_out(slot));
                state.free.push_last(&mut state.links, 0);
                state.write.push_last(&mut state.links, 0);
            }),
            ("its membership is Replacement(Cold)", |state, _, _| {
                state.memberships[0] = Membership::Replacement(Half::Cold);
            }),
            ("(CB10)", |state, _, _| state.lows[4] = Rba::block(9, 1)),
            ("slot 3 has flags 0", |_, frames, session| frames[3].flags.store(0, session)),
            ("slot 2 has flags 1", |_, frames, session| frames[2].flags.store(DIRTY, session)),
            ("batches count 2", |state, _, _| state.flights[0].frames = 2),
            ("no batch says so", |state, _, _| state.flights[0].low = Rba::block(9, 1)),
            ("home is elsewhere", |state, _, _| state.frames.swap(0, 1)),
            ("slot 1, whose frame has left", |state, _, _| state.vacated.push(1)),
        ];
        let report = Simulation::new(1).run(move |_, session| {
            let (state, frames) = sound(session);
            state.assert_consistent(3, &frames);
            for (named, break_it) in cases {
                let (mut state, frames) = sound(session);
                break_it(&mut state, &frames, session);
                let said = state.check(3, &frames).expect_err(named);
                assert!(said.contains(named), "{named}: {said}");
            }
        });
        report.result.expect("every fault is named");
    }
}
