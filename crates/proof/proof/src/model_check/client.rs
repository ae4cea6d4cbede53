//! A session: transactions one after the other, and definitions between.
//!
//! Callers: `bed`.

use std::time::Duration;

use database::{
    Alteration, ColumnSpec, CommitMode, Connection, Error, ErrorKind, IndexSpec, LockWait, Nanos,
    Savepoint, Table, Tx, Type, WaitEvent,
};
use instance::CommitWait;
use os::Session;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sim::{Outside, World};

use super::ask::{Act, Ask, Told};
use super::call::{How, call};
use super::known::{Deed, Define, EXTRA, Extra, Known, Txn};
use super::plan::Plan;
use super::schema::{BOSS, CODE_UP, COLUMNS, LATER, Schema, TABLES, UP, name_of};
use super::ticket;
use crate::By;
use crate::defining::Defining;

/// Indexes that are made and dropped have one of so many names.
const EXTRAS: u64 = 3;

/// A session.
pub(super) struct Client<'a> {
    pub(super) plan: &'a Plan,
    pub(super) known: Outside<Known>,
    pub(super) world: &'a World,
    pub(super) session: &'a Session,
    pub(super) random: Xoshiro256PlusPlus,
    /// As the session has looked them up, now or long ago.
    pub(super) tables: Vec<Table>,
    tickets: Option<Table>,
    /// And when.
    pub(super) looked_up: u64,
    /// Whether the transaction under way has one snapshot.
    serializable: bool,
    /// Of an earlier transaction.
    stale: Option<Savepoint>,
}

/// A transaction under way.
struct Open<'t, 'c, 's> {
    tx: &'t mut Tx<'c, 's>,
    txn: Txn,
    savepoints: Vec<Savepoint>,
}

/// Whether a transaction goes on after a statement.
#[derive(PartialEq, Eq)]
enum Going {
    On,
    /// It is better rolled back.
    Back,
}

/// Works until the round's operations are done or the instance stops.
pub(super) fn run(client: &mut Client<'_>, connection: &mut Connection<'_>) -> Result<(), Error> {
    while client.known.with(|known| known.operations > 0 && !known.closing) {
        let define = client.plan.define;
        if define > 0 && client.any(define) == 0 {
            client.define(connection)?;
        }
        if client.any(8) == 0 {
            client.look_up(connection)?;
        }
        if client.plan.by == By::Sql {
            client.vary(connection)?;
        }
        client.limit(connection);
        client.transaction(connection)?;
        connection.set_statement_timeout(None);
    }
    Ok(())
}

/// Repeats what is cancelled: nobody cancels it for ever.
fn uncancelled<T>(mut act: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    loop {
        match act() {
            Err(stop) if stop.is_cancelled() => {}
            done => return done,
        }
    }
}

impl<'a> Client<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        known: &Outside<Known>,
        world: &'a World,
        session: &'a Session,
        seed: u64,
        connection: &Connection<'_>,
    ) -> Result<Client<'a>, Error> {
        let mut client = Client {
            plan,
            known: known.clone(),
            world,
            session,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            tables: Vec::new(),
            tickets: None,
            looked_up: 0,
            serializable: false,
            stale: None,
        };
        client.look_up(connection)?;
        Ok(client)
    }

    pub(super) fn any(&mut self, below: u64) -> u64 {
        self.random.random_range(0..below)
    }

    fn look_up(&mut self, connection: &Connection<'_>) -> Result<(), Error> {
        self.looked_up = self.known.with(|known| known.now());
        let tables: Result<Vec<Table>, Error> =
            TABLES.iter().map(|name| uncancelled(|| connection.table(name))).collect();
        self.tables = tables?;
        self.tickets = Some(uncancelled(|| ticket::table(connection))?);
        Ok(())
    }

    /// Has the statements of the next transactions planned otherwise, now and then: by what is
    /// known of a table, or by the ways that are allowed. What they give is the same.
    fn vary(&mut self, connection: &mut Connection<'_>) -> Result<(), Error> {
        match self.any(32) {
            0 => {
                let text = format!("analyze {}", TABLES[self.any(TABLES.len() as u64) as usize]);
                match connection.execute(&text, &[]) {
                    // It changes nothing that anybody sees, so it needs no reason.
                    Err(stop) if stop.refusal().is_some() => Ok(()),
                    done => done.map(drop),
                }
            }
            1..8 => {
                let way = ["enable_seqscan", "enable_indexscan"][self.any(2) as usize];
                let text = format!("set {way} = {}", ["on", "off"][self.any(2) as usize]);
                uncancelled(|| connection.execute(&text, &[]).map(drop))
            }
            _ => Ok(()),
        }
    }

    /// Gives statements of the next transaction little time, now and then.
    fn limit(&mut self, connection: &mut Connection<'_>) {
        if self.plan.cancels && self.any(8) == 0 {
            let most = [10, 1_000, 10_000][self.any(3) as usize];
            let limit = Duration::from_micros(self.any(most));
            connection.set_statement_timeout(Some(limit));
        }
    }

    /// Ends the machine at once.
    fn finds(&self, what: String) {
        self.known.with(|known| known.finds(what));
        self.world.cut_power();
    }

    fn transaction(&mut self, connection: &mut Connection<'_>) -> Result<(), Error> {
        let serializable = self.any(8) < self.plan.serializable;
        self.serializable = serializable;
        let (mut tx, txn) = self.begin(connection, serializable)?;
        let mut open = Open { tx: &mut tx, txn, savepoints: Vec::new() };
        let mut refused = false;
        for _ in 0..1 + self.any(8) {
            if self.step(&mut open)? == Going::Back {
                refused = true;
                if self.any(2) == 0 {
                    break;
                }
            }
        }
        if let Some(savepoint) = open.savepoints.pop() {
            self.stale = Some(savepoint);
        }
        let draw = self.any(16);
        let backs = match (self.plan.rolls_back, self.plan.crams) {
            (true, _) => 14,
            (_, true) => 8,
            _ => 3,
        };
        if draw < backs || refused && draw < 10 {
            if self.plan.misuse && self.any(4) == 0 {
                let call = self.known.with(|known| {
                    known.ends(txn);
                    known.call()
                });
                std::mem::forget(tx);
                drop(connection.begin());
                self.known.with(|known| {
                    known.tally.forgotten += 1;
                    known.returned(call, txn, Deed::Rollback);
                });
                return Ok(());
            }
            return self.roll_back(tx, txn);
        }
        self.commit(tx, txn)
    }

    fn begin<'c, 's>(
        &self,
        connection: &'c mut Connection<'s>,
        serializable: bool,
    ) -> Result<(Tx<'c, 's>, Txn), Error> {
        let (txn, call) = self.known.with(|known| (known.transaction(), known.call()));
        let tx = match serializable {
            true => connection.begin_serializable()?,
            false => connection.begin(),
        };
        self.known.with(|known| {
            known.tally.serializable += u64::from(serializable);
            known.returned(call, txn, Deed::Begin { serializable });
        });
        Ok((tx, txn))
    }

    /// Rows change at once by a new definition.
    fn follow(&mut self, connection: &mut Connection<'_>, table: usize) -> Result<(), Error> {
        self.look_up(connection)?;
        let (mut tx, txn) = self.begin(connection, false)?;
        let ask = self.everywhere(table);
        let mut open = Open { tx: &mut tx, txn, savepoints: Vec::new() };
        match self.statement(&mut open, ask)? {
            Going::On => self.commit(tx, txn),
            Going::Back => self.roll_back(tx, txn),
        }
    }

    fn step(&mut self, open: &mut Open<'_, '_, '_>) -> Result<Going, Error> {
        self.known.with(Known::operation);
        match self.any(32) {
            0 | 1 => {
                let number = open.savepoints.len();
                open.savepoints.push(open.tx.savepoint());
                self.did(open.txn, Deed::Savepoint(number));
            }
            2 | 3 => self.back(open)?,
            4 if self.plan.misuse => self.misuse(open)?,
            5..7 => {
                let length = Nanos::from_micros(self.any(3_000));
                self.session.pause(length, self.session.waiting(WaitEvent::PlSqlLockTimer));
            }
            // The numbers of a sequence are committed as they are taken.
            7 | 8 if open.savepoints.is_empty() && !self.plan.rolls_back => {
                return self.ticket(open);
            }
            _ => {
                for ask in self.asks() {
                    if self.statement(open, ask)? == Going::Back {
                        return Ok(Going::Back);
                    }
                }
            }
        }
        Ok(Going::On)
    }

    /// A row with the next numbers.
    fn ticket(&mut self, open: &mut Open<'_, '_, '_>) -> Result<Going, Error> {
        let table = self.tickets.as_ref().expect("it was looked up with the others");
        let got = match ticket::insert(self.plan.by, open.tx, table, open.txn) {
            Ok(got) => got,
            Err(stop) => {
                let Some(kind) = stop.refusal() else { return Err(stop) };
                if !ticket::may_be(kind, self.serializable, self.plan) {
                    self.finds(format!("a ticket was refused: {stop}"));
                }
                return Ok(Going::Back);
            }
        };
        let wrong = self.known.with(|known| {
            known.tally.tickets += 1;
            known.tickets.got(open.txn, got)
        });
        if let Some(wrong) = wrong {
            self.finds(wrong);
        }
        Ok(Going::On)
    }

    /// Something that takes no time.
    fn did(&self, txn: Txn, deed: Deed) {
        self.known.with(|known| {
            let call = known.call();
            known.returned(call, txn, deed);
        });
    }

    fn statement(&mut self, open: &mut Open<'_, '_, '_>, ask: Ask) -> Result<Going, Error> {
        let called = self.known.with(|known| {
            known.operation();
            known.call()
        });
        let plan = self.plan;
        let literals = plan.by == By::Sql && self.any(4) == 0;
        let how = How { by: plan.by, loads: plan.loads, literals, schema: &plan.schema };
        let told = call(open.tx, &self.tables[ask.table], &ask, &how)?;
        let going = match &told {
            Told::Refused(ErrorKind::Serialization | ErrorKind::Deadlock, _) => Going::Back,
            _ => Going::On,
        };
        let block = self.plan.creation.db_block_size.bytes();
        let is_long = |act: &Act| match act {
            Act::Insert(rows) => rows.iter().any(|row| super::schema::note_bytes(row) > block),
            _ => false,
        };
        self.known.with(|known| {
            known.tally.chained += u64::from(is_long(&ask.act));
            known.tally.texts += u64::from(plan.by == By::Sql);
            known.returned(called, open.txn, Deed::Statement(Box::new(ask), told));
        });
        Ok(going)
    }

    fn back(&mut self, open: &mut Open<'_, '_, '_>) -> Result<(), Error> {
        let count = open.savepoints.len() as u64;
        if count == 0 {
            return Ok(());
        }
        let at = self.any(count) as usize;
        // Later ones aren't savepoints any more.
        if let Some(cut) = open.savepoints.drain(at + 1..).next_back() {
            self.stale = Some(cut);
        }
        let call = self.known.with(|known| known.call());
        open.tx.rollback_to(open.savepoints[at])?;
        self.known.with(|known| {
            known.tally.savepoints += 1;
            known.returned(call, open.txn, Deed::Back(at));
        });
        Ok(())
    }

    /// Uses a savepoint of another transaction, or one that was itself taken back.
    fn misuse(&mut self, open: &mut Open<'_, '_, '_>) -> Result<(), Error> {
        let Some(stale) = self.stale.take() else { return Ok(()) };
        let call = self.known.with(|known| known.call());
        let told = match open.tx.rollback_to(stale) {
            Ok(()) => Told::Count(0),
            Err(stop) => Told::refused(&stop).ok_or(stop)?,
        };
        self.known.with(|known| known.returned(call, open.txn, Deed::Misuse(told)));
        Ok(())
    }

    fn roll_back(&mut self, tx: Tx<'_, '_>, txn: Txn) -> Result<(), Error> {
        let call = self.known.with(|known| {
            known.operation();
            known.ends(txn);
            known.call()
        });
        // Dropped, it is rolled back as well.
        match self.any(3) {
            0 => drop(tx),
            _ => tx.rollback()?,
        }
        self.known.with(|known| {
            known.tally.rollbacks += 1;
            known.returned(call, txn, Deed::Rollback);
        });
        Ok(())
    }

    fn commit(&mut self, tx: Tx<'_, '_>, txn: Txn) -> Result<(), Error> {
        let modes = if self.plan.nowait { 4 } else { 2 };
        let mode = CommitMode::ALL[self.any(modes) as usize];
        let call = self.known.with(|known| {
            known.operation();
            known.ends(txn);
            known.committing += u32::from(!known.closing);
            (!known.closing).then(|| known.call())
        });
        // The power is about to go, and every commit that is called is to be told of.
        let Some(call) = call else { return self.roll_back(tx, txn) };
        let committed = tx.commit_with(mode);
        self.known.with(|known| known.committing -= 1);
        match committed {
            Ok(scn) => self.known.with(|known| {
                known.tally.commits += 1;
                known.tally.nowait += u64::from(mode.wait == CommitWait::Nowait);
                known.returned(call, txn, Deed::Commit(scn.map(ids::Scn::get)));
            }),
            Err(stop) if stop.refusal().is_some_and(|kind| self.plan.may_lack(kind)) => {
                self.known.with(|known| known.returned(call, txn, Deed::Rollback));
            }
            Err(stop) if stop.refusal().is_some() => {
                self.finds(format!("a commit was refused: {stop}"));
            }
            Err(stop) => return Err(stop),
        }
        Ok(())
    }

    /// Makes an index, drops one, or adds a column; rows may change at once by the new definition.
    fn define(&mut self, connection: &mut Connection<'_>) -> Result<(), Error> {
        let table = self.any(TABLES.len() as u64) as usize;
        let lock_wait = match self.any(3) {
            0 => LockWait::NoWait,
            _ => LockWait::For(Nanos::from_millis(self.any(200))),
        };
        connection.set_ddl_lock_wait(lock_wait);
        if self.plan.by == By::Sql {
            // In SQL it is a number of seconds, and none is no wait at all.
            let seconds = u32::from(lock_wait != LockWait::NoWait);
            let text = format!("set ddl_lock_timeout = {seconds}");
            uncancelled(|| connection.execute(&text, &[]).map(drop))?;
        }
        self.look_up(connection)?;
        let Some((define, descending)) = self.definition(table) else { return Ok(()) };
        let is_nowait = lock_wait == LockWait::NoWait;
        let (call, number) = self.known.with(|known| known.defines(&define, is_nowait));
        let mut defining = Defining::new(self.plan.by, connection);
        let done = match &define {
            Define::CreateIndex(extra) => {
                let columns: Vec<String> = extra.columns.iter().map(|at| name_of(*at)).collect();
                let columns = columns.iter().map(String::as_str);
                let spec = IndexSpec::new(&extra.name, TABLES[table], columns);
                let spec = if descending { spec.descending(0) } else { spec };
                defining.create_index(&if extra.unique { spec.unique() } else { spec })
            }
            Define::DropIndex(_, name) => defining.drop_index(name),
            Define::AddColumn(_) => {
                let column = self.tables[table].definition().columns.len();
                let missing = Schema::later()[column - COLUMNS].value().to_owned();
                let spec = ColumnSpec::new(&name_of(column), Type::Integer);
                let spec = Alteration::AddColumn(spec.default_value(missing));
                defining.alter_table(TABLES[table], &spec)
            }
        };
        let told = match done {
            Ok(()) => Told::Count(0),
            Err(stop) => Told::refused(&stop).ok_or(stop)?,
        };
        let is_done = matches!(told, Told::Count(_));
        self.known.with(|known| known.defined(call, number, told));
        if is_done && self.any(2) == 0 { self.follow(connection, table) } else { Ok(()) }
    }

    /// What is defined of a table, and whether an index descends.
    fn definition(&mut self, table: usize) -> Option<(Define, bool)> {
        let name = format!("{}_{EXTRA}{}", TABLES[table], self.any(EXTRAS));
        let descending = self.any(2) == 0;
        let define = match self.any(8) {
            0..4 => {
                let unique = self.any(3) == 0;
                // Often one that is NULL in most rows, or few unique indexes could be made.
                let first = match unique && self.any(2) == 0 {
                    true => [UP, CODE_UP, BOSS][self.any(3) as usize],
                    false => 1 + self.any(6) as usize,
                };
                let second = 1 + self.any(5) as usize;
                let second = if second >= first { second + 1 } else { second };
                let count = if unique { 2 } else { 1 + self.any(2) as usize };
                let columns = [first, second][..count].to_vec();
                Define::CreateIndex(Extra { table, name, columns, unique })
            }
            4..7 => {
                let by = ["kind", "both"][self.any(2) as usize];
                let is_first = self.any(4) == 0;
                let name = if is_first { format!("{}_by_{by}", TABLES[table]) } else { name };
                Define::DropIndex(table, name)
            }
            _ => {
                let columns = self.tables[table].definition().columns.len();
                if columns == COLUMNS + LATER {
                    return None;
                }
                Define::AddColumn(table)
            }
        };
        Some((define, descending))
    }
}
