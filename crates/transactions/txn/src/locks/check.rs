//! Checks of the queues, whenever their latch is released (TX12 to TX14), and of a seat, whenever
//! its latch is.
//!
//! Callers: the latches.

use std::collections::BTreeMap;

use ids::TxnId;

use crate::locks::LockWanted;
use crate::locks::queues::Queues;
use crate::locks::seat::{Holdings, Seat};
use crate::locks::table::Table;

/// How many sessions wait for the end of each segment's transaction.
type Counts = BTreeMap<u16, u32>;

impl Queues {
    /// Checks every table and every wait. Returns how many checks that were.
    ///
    /// # Panics
    /// When an invariant doesn't hold.
    pub(super) fn assert_consistent(&self, seats: &[Seat]) -> usize {
        if let Err(what) = self.check(|segment| seats[segment].waiters.peek()) {
            panic!("the lock queues are broken: {what}");
        }
        // From each waiter a cycle is looked for.
        let waiting = self.waits.iter().flatten().count();
        let tables: usize = self.tables.values().map(Table::length).sum();
        1 + self.waits.len() + tables + waiting * waiting
    }

    fn check(&self, counted: impl Fn(usize) -> u32) -> Result<(), String> {
        for (object, table) in &self.tables {
            table.check().map_err(|what| format!("table {object}: {what}"))?;
            if let Some(waiter) = table.waiters().find(|id| !self.waits_for(*id, *object)) {
                return Err(format!("table {object}: {waiter} is in its lists, and doesn't wait"));
            }
        }
        let mut waiting = Counts::new();
        for (segment, wait) in self.waits.iter().enumerate() {
            let Some(wait) = wait else { continue };
            let waiter = wait.waiter;
            if usize::from(waiter.segment) != segment {
                return Err(format!("the wait of {waiter} is with segment {segment}"));
            }
            match wait.wanted {
                LockWanted::Row { holder, .. } => *waiting.entry(holder.segment).or_default() += 1,
                LockWanted::Table { object, .. } => {
                    let table = self.tables.get(&object);
                    if !table.is_some_and(|table| table.waiters().any(|id| id == waiter)) {
                        return Err(format!("{waiter} waits for table {object}, not in its lists"));
                    }
                }
            }
            if self.cycle(waiter).is_some() {
                return Err(format!("{waiter} waits for itself (TX14)"));
            }
        }
        for segment in 0..self.waits.len() {
            let (count, found) = (counted(segment), waiting.get(&(segment as u16)).copied());
            if count != found.unwrap_or(0) {
                let found = found.unwrap_or(0);
                return Err(format!("seat {segment} counts {count} waiters, and {found} wait"));
            }
        }
        Ok(())
    }

    fn waits_for(&self, id: TxnId, table: u32) -> bool {
        let wanted = self.wait_of(id).map(|wait| &wait.wanted);
        matches!(wanted, Some(LockWanted::Table { object, .. }) if *object == table)
    }
}

impl Holdings {
    /// Checks every table of the seat. Returns how many checks that were.
    ///
    /// # Panics
    /// When an invariant doesn't hold.
    pub(super) fn assert_consistent(&self) -> usize {
        if let Err(what) = self.check() {
            panic!("a seat is broken: {what}");
        }
        1 + self.length()
    }
}

#[cfg(test)]
mod tests {
    use os::Session;
    use sim::Simulation;
    use waits::Timestamp;

    use super::*;
    use crate::locks::TableMode::{Exclusive, RowExclusive, Share};
    use crate::locks::seat::ModeAt;
    use crate::locks::table::Request;
    use crate::locks::wanted::{SessionName, Wait};
    use crate::locks::{RowWait, RowWanted, TableMode};

    const ONE: TxnId = TxnId { segment: 1, slot: 0, sequence: 1 };
    const TWO: TxnId = TxnId { segment: 2, slot: 0, sequence: 1 };
    const THREE: TxnId = TxnId { segment: 3, slot: 0, sequence: 1 };
    const TABLE: u32 = 17;

    fn waits(queues: &mut Queues, waiter: TxnId, wanted: LockWanted, session: &Session) {
        let (who, since) = (SessionName::of(session), Timestamp::ZERO);
        queues.waits[usize::from(waiter.segment)] = Some(Wait { waiter, who, since, wanted });
    }

    fn row_of(holder: TxnId) -> LockWanted {
        let block = ids::Dba::new(1, 1);
        let wanted = RowWanted { what: RowWait::Row, object: TABLE, block, slot: 0 };
        LockWanted::Row { holder, wanted }
    }

    fn request(owner: TxnId, mode: TableMode) -> Request {
        Request { owner, mode }
    }

    /// The first transaction has the table alone, the second waits for it, the third for a row of
    /// the second.
    fn sound(session: &Session) -> Queues {
        let mut queues = Queues::new(4);
        let table = queues.table(TABLE);
        table.watched = true;
        table.grant(request(ONE, Exclusive));
        table.enqueue(request(TWO, RowExclusive));
        let wanted = LockWanted::Table { object: TABLE, mode: RowExclusive, converts: false };
        waits(&mut queues, TWO, wanted, session);
        waits(&mut queues, THREE, row_of(TWO), session);
        queues
    }

    fn count(segment: usize) -> u32 {
        u32::from(segment == 2)
    }

    type Break = fn(&mut Queues, &Session);

    /// Each invariant is broken in turn, and the check says which.
    #[test]
    fn what_is_broken_in_the_queues_is_named() {
        let cases: [(&str, Break); 12] = [
            ("no transaction has it", |queues, _| {
                queues.table(18);
            }),
            ("waits twice", |queues, _| queues.table(TABLE).enqueue(request(TWO, Share))),
            ("converts, and has nothing", |queues, _| {
                queues.table(TABLE).enqueue(request(ONE, Exclusive));
                queues.table(TABLE).release(ONE);
            }),
            ("is in the queue, and has it", |queues, _| {
                queues.table(TABLE).grant(request(TWO, RowExclusive));
            }),
            ("waits for no transaction (TX13)", |queues, _| queues.table(TABLE).release(ONE)),
            ("that don't go together", |queues, _| {
                queues.table(TABLE).grant(request(THREE, RowExclusive));
            }),
            ("against its need (TX12)", |queues, _| queues.table(TABLE).watched = false),
            ("is in its lists, and doesn't wait", |queues, _| queues.waits[2] = None),
            ("is with segment 0", |queues, _| queues.waits.swap(0, 3)),
            ("not in its lists", |queues, _| queues.table(TABLE).give_up(TWO)),
            ("waits for itself (TX14)", |queues, session| {
                waits(queues, ONE, row_of(TWO), session);
            }),
            ("counts 1 waiters, and 0 wait", |queues, _| queues.waits[3] = None),
        ];
        let report = Simulation::new(1).run(move |_, session| {
            assert_eq!(sound(session).check(count), Ok(()));
            for (named, break_it) in cases {
                let mut queues = sound(session);
                break_it(&mut queues, session);
                let said = queues.check(count).expect_err(named);
                assert!(said.contains(named), "{named}: {said}");
            }
        });
        report.result.expect("every fault is named");
    }

    type BreakSeat = fn(&mut Holdings, &Session);

    /// Each invariant of a seat is broken in turn, and the check says which.
    #[test]
    fn what_is_broken_at_a_seat_is_named() {
        let now = Timestamp::ZERO;
        let cases: [(&str, BreakSeat); 3] = [
            ("no owner, with 2 tables", Holdings::forget_owner),
            ("in order", |seat, _| seat.tables_mut().reverse()),
            ("it keeps Exclusive of table 18 (TX12)", |seat, _| {
                seat.tables_mut()[1].place = ModeAt::Seat(Exclusive);
            }),
        ];
        let report = Simulation::new(1).run(move |_, session| {
            for (named, break_it) in cases {
                let mut seat = Holdings::default();
                seat.enter(ONE, session);
                seat.put(TABLE, ModeAt::Seat(RowExclusive), now);
                seat.put(18, ModeAt::Table, now);
                assert_eq!(seat.check(), Ok(()));
                break_it(&mut seat, session);
                let said = seat.check().expect_err(named);
                assert!(said.contains(named), "{named}: {said}");
            }
        });
        report.result.expect("every fault is named");
    }
}
