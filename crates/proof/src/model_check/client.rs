//! A session: transactions one after the other, of random statements, told to the model.
//!
//! Callers: `bed`.

use std::collections::BTreeSet;

use access::{Heap, HeapInserter};
use instance::{CommitMode, CommitWait, Instance, Transaction};
use os::Session;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sim::{Outside, World};
use stop::{RefusalKind, Stop};
use txn::Patience;
use waits::{Nanos, WaitEvent};

use super::known::{InModel, Key, Known};
use super::plan::Plan;
use super::statement::{Act, Work};
use crate::snapshot::{Table, Txn};

/// Marks of transactions follow those of statements.
const TRANSACTION_MARK: u32 = 1_000;

/// A session.
pub(super) struct Client<'a> {
    pub(super) number: u32,
    pub(super) instance: &'a Instance,
    pub(super) world: &'a World,
    pub(super) session: &'a Session,
    pub(super) known: Outside<Known>,
    pub(super) plan: &'a Plan,
    pub(super) heaps: Vec<Heap>,
    pub(super) inserters: Vec<HeapInserter>,
    pub(super) random: Xoshiro256PlusPlus,
    pub(super) block_bytes: usize,
}

/// A transaction under way.
pub(super) struct Open {
    pub(super) transaction: Transaction,
    pub(super) txn: Txn,
    /// Keys that it has changed or locked.
    pub(super) touched: BTreeSet<(Table, Key)>,
    savepoints: Vec<(txn::Savepoint, InModel)>,
}

/// The name of a heap.
pub(super) fn heap_name(table: usize) -> String {
    format!("heap{table}")
}

/// The heaps of an open database.
pub(crate) fn heaps(
    plan: &Plan,
    instance: &Instance,
    session: &Session,
) -> Result<Vec<Heap>, Stop> {
    let heap = |table| {
        let found = instance.space().find(&heap_name(table), session)?;
        let segment = found.expect("it was made with the database");
        Ok(Heap::new(&segment, instance.space(), instance.transactions(), session))
    };
    (0..plan.heaps).map(heap).collect()
}

impl<'a> Client<'a> {
    pub(super) fn new(
        (number, seed): (u32, u64),
        (instance, plan): (&'a Instance, &'a Plan),
        known: &Outside<Known>,
        world: &'a World,
        session: &'a Session,
    ) -> Result<Client<'a>, Stop> {
        let heaps = heaps(plan, instance, session)?;
        Ok(Client {
            number,
            instance,
            world,
            session,
            known: known.clone(),
            plan,
            inserters: heaps.iter().map(|_| HeapInserter::default()).collect(),
            heaps,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            block_bytes: plan.creation.db_block_size.bytes(),
        })
    }

    /// Works until the round's operations are done or the instance stops.
    pub(super) fn run(&mut self) -> Result<(), Stop> {
        while self.known.with(|known| known.operations > 0) {
            self.transaction()?;
        }
        Ok(())
    }

    /// Ends the machine at once if something wrong was found.
    pub(super) fn check(&self) {
        if self.known.with(|known| known.breach.is_some()) {
            self.world.cut_power();
        }
    }

    pub(super) fn finds(&self, what: String) {
        self.known.with(|known| known.finds(what));
        self.check();
    }

    fn any(&mut self, below: u64) -> u64 {
        self.random.random_range(0..below)
    }

    fn transaction(&mut self) -> Result<(), Stop> {
        let is_serializable = self.any(8) < u64::from(self.plan.serializable);
        let own = TRANSACTION_MARK + self.number;
        let mut transaction = Transaction::new();
        if is_serializable {
            let newest = self.known.with(|known| known.mark(own));
            transaction = self.instance.transactions().begin_serializable(self.session)?;
            let view = self.instance.transactions().view(Some(&transaction), self.session)?;
            self.known.with(|known| {
                known.tally.serializable += 1;
                known.snapshot(view.scn.get(), newest);
            });
        }
        let txn = self.known.with(Known::begin);
        let mut open = Open { transaction, txn, touched: BTreeSet::new(), savepoints: Vec::new() };
        let statements = 1 + self.any(8);
        let mut refused = false;
        for _ in 0..statements {
            if let Err(stop) = self.step(&mut open) {
                refused = true;
                let Some(kind) = self.refused(stop)? else { continue };
                if kind == RefusalKind::Serialization || self.any(2) == 0 {
                    break;
                }
            }
        }
        let ended = self.end(open, refused);
        self.known.with(|known| known.unmark(own));
        self.check();
        ended
    }

    /// Counts a refusal; a halt is handed on, and so is what must not be refused.
    fn refused(&mut self, stop: Stop) -> Result<Option<RefusalKind>, Stop> {
        let Some(kind) = stop.refusal() else { return Err(stop) };
        let tight = self.plan.tight;
        let is_expected = self.known.with(|known| {
            let tally = &mut known.tally;
            let count = match kind {
                RefusalKind::Deadlock => &mut tally.deadlocks,
                RefusalKind::Serialization => &mut tally.conflicts,
                RefusalKind::Busy => &mut tally.busy,
                RefusalKind::LockTimeout => &mut tally.timeouts,
                RefusalKind::SnapshotTooOld if tight => &mut tally.too_old,
                RefusalKind::NoSpace => &mut tally.no_space,
                _ => return false,
            };
            *count += 1;
            true
        });
        if !is_expected {
            self.finds(format!("it was refused: {stop}"));
        }
        Ok(Some(kind))
    }

    fn step(&mut self, open: &mut Open) -> Result<(), Stop> {
        self.known.with(|known| {
            known.tally.operations += 1;
            known.operations = known.operations.saturating_sub(1);
        });
        let table = self.any(self.plan.heaps as u64) as Table;
        let live = self.known.with(|known| known.keys_of(table).len() as u64);
        match self.any(32) {
            _ if live < self.plan.rows / 2 => self.insert(open, table),
            0..4 if live < self.plan.rows * 2 => self.insert(open, table),
            4..6 => self.each(open, &[Act::Delete]),
            6 | 7 => self.statement(open, &Work::Scan(table)),
            8 | 9 => {
                let act = [Act::Update(self.length()), Act::Delete][usize::from(self.any(4) == 0)];
                let which = self.any(8) as u32;
                self.statement(open, &Work::Where(act, table, which))
            }
            10..14 => {
                let patience = match self.any(3) {
                    0 => Patience::NoWait,
                    1 => Patience::For(Nanos::from_micros(1 + self.any(20_000))),
                    _ => Patience::Forever,
                };
                self.each(open, &[Act::Lock(patience)])
            }
            14..18 => {
                self.known.with(|known| known.tally.fetches += 1);
                self.each(open, &[Act::Read, Act::Read])
            }
            18 | 19 => {
                open.savepoints.push(self.savepoint(open));
                Ok(())
            }
            20 | 21 => self.back(open),
            22 => {
                let (first, second) = (self.length(), self.length());
                self.each(open, &[Act::Update(first), Act::Read, Act::Update(second), Act::Read])
            }
            23 => {
                let length = Nanos::from_micros(self.any(3_000));
                let waiting = self.session.waiting(WaitEvent::PlSqlLockTimer);
                self.session.pause(length, waiting);
                Ok(())
            }
            _ => {
                let length = self.length();
                self.each(open, &[Act::Update(length)])
            }
        }
    }

    /// These acts, on rows drawn at random; what is changed is now and then read again.
    fn each(&mut self, open: &mut Open, acts: &[Act]) -> Result<(), Stop> {
        let mut all = Vec::new();
        let mut last = None;
        for act in acts {
            let table = self.any(self.plan.heaps as u64) as Table;
            let draw = self.any(1 << 32);
            let drawn = self.known.with(|known| {
                let places = &known.places[table as usize];
                let at = draw as usize % places.len().max(1);
                places.keys().nth(at).map(|key| (table, *key))
            });
            // One that it has changed, say: it sees it as it was before.
            let again = last.filter(|_| !draw.is_multiple_of(3) && matches!(act, Act::Read));
            last = again.or(drawn);
            all.extend(last.map(|(table, key)| (*act, table, key)));
        }
        self.statement(open, &Work::Each(all))
    }

    fn insert(&mut self, open: &mut Open, table: Table) -> Result<(), Stop> {
        let length = self.length();
        let key = self.known.with(Known::new_key);
        let row = self.known.with(|known| known.new_row(key, length));
        let (heap, inserter) = (&self.heaps[table as usize], &mut self.inserters[table as usize]);
        let address = heap.insert(&mut open.transaction, inserter, &row, self.session)?;
        let txn = open.txn;
        open.touched.insert((table, key));
        self.known.with(|known| {
            known.tally.inserts += 1;
            known.tally.chained += u64::from(row.len() > self.block_bytes);
            known.places[table as usize].insert(key, address);
            known.wrote(txn, (table, key), Some(&row));
        });
        self.check();
        Ok(())
    }

    fn back(&mut self, open: &mut Open) -> Result<(), Stop> {
        let count = open.savepoints.len() as u64;
        if count == 0 {
            return Ok(());
        }
        let at = self.any(count) as usize;
        let savepoint = open.savepoints[at];
        open.savepoints.truncate(at + 1);
        self.known.with(|known| known.tally.savepoints += 1);
        self.rollback_to(open, savepoint)
    }

    fn end(&mut self, open: Open, refused: bool) -> Result<(), Stop> {
        self.known.with(|known| known.tally.operations += 1);
        let draw = self.any(16);
        let Open { transaction, txn, touched, .. } = open;
        if draw == 0 {
            self.known.with(|known| {
                known.model.rollback(txn);
                known.tally.vanished += 1;
                known.forget_keys(&touched);
            });
            drop(transaction);
            return Ok(());
        }
        if draw < 4 || refused && draw < 10 {
            self.known.with(|known| {
                known.model.rollback(txn);
                known.tally.rollbacks += 1;
                known.forget_keys(&touched);
            });
            return self.instance.rollback(transaction, self.session);
        }
        self.commit(transaction, txn, &touched)
    }

    fn commit(
        &mut self,
        transaction: Transaction,
        txn: Txn,
        touched: &BTreeSet<(Table, Key)>,
    ) -> Result<(), Stop> {
        let mode = match self.plan.nowait {
            true => CommitMode::ALL[self.any(4) as usize],
            false => CommitMode::ALL[self.any(2) as usize],
        };
        let own = self.number;
        self.known.with(|known| {
            known.mark(own);
            known.commit_called(txn, touched);
        });
        let waits = mode.wait == CommitWait::Wait;
        match self.instance.commit_with(transaction, mode, self.session) {
            Ok(scn) => self.known.with(|known| {
                known.tally.commits += 1;
                known.tally.nowait += u64::from(!waits);
                known.ended(txn, scn.map(ids::Scn::get));
                if let Some(scn) = scn.filter(|_| waits) {
                    known.durable = known.durable.max(scn.get());
                }
                known.forget_keys(touched);
            }),
            Err(Stop::Refused(_)) => self.known.with(|known| {
                known.refused(txn);
                known.tally.no_space += 1;
            }),
            Err(halted) => return Err(halted),
        }
        self.known.with(|known| known.unmark(own));
        Ok(())
    }
}
