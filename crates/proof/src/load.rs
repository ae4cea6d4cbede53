//! A small load: sessions that insert, update, read, commit, roll back and ask for checkpoints, and
//! write down what they were told.
//!
//! A row has a version, the number of the transaction that wrote it, and bytes that follow from the
//! two; so a row that is half one thing and half another is seen.

use std::sync::Arc;

use access::{Inserter, RowMut, RowView, Table};
use ids::ObjectNo;
use instance::{CommitMode, CommitWait, Instance, LogChange, Transaction};
use os::{Session, ThreadSpec};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use space::Holds;
use stop::Stop;
use waits::{Nanos, Statistic, WaitEvent};

use crate::shape::{TABLES, USERS};
use crate::{Change, Happened, Journal, Outcome, RowId, Told};

const VERSION: usize = 0;
const WRITER: usize = 1;
const FILLER: usize = 2;

/// Parameters that change while the instance runs, and values for them.
const ALTERED: [(&str, &[&str]); 7] = [
    // Of 16 or 24 buffers, whatever their size; what is too much or too little is refused.
    ("db_cache_size", &["32k", "48k", "64k", "96k", "128k", "192k"]),
    ("db_writer_processes", &["1", "2"]),
    ("commit_leader", &["session", "lgwr"]),
    ("log_writes_in_flight", &["1", "2", "4"]),
    ("log_checkpoint_interval", &["0", "4", "12"]),
    ("log_checkpoint_timeout", &["1", "1800"]),
    ("fast_start_mttr_target", &["0", "1"]),
];

/// Changes of the redo log groups: new ones, and of those that a database has.
const LOG_CHANGES: [(&str, &[&str]); 5] = [
    ("add_log_group", &["208k:x1.log,x2.log", "300k:y.log", "252k:z1.log,z2.log,z3.log"]),
    ("drop_log_group", &["1", "2", "3", "4", "5"]),
    ("add_log_member", &["1:m.log", "3:n.log", "4:m.log"]),
    ("drop_log_member", &["m.log", "redo01b.log", "redo02.log", "x1.log", "z2.log"]),
    ("switch_log", &["next"]),
];

/// What sessions do.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Decides what each session does.
    pub seed: u64,
    /// Sessions at once.
    pub sessions: u32,
    /// Transactions of each.
    pub transactions: u32,
    /// Changes of a transaction, at most.
    pub changes_max: u32,
    /// Of how many tables the rows are: 1 to 3.
    pub tables: usize,
    /// Every so many transactions, about, a session asks for a checkpoint, often in one's midst.
    pub checkpoint_every: Option<u32>,
    /// Every so many transactions, about, a session pauses for up to four seconds: what happens by
    /// the clock happens then, incremental checkpoints above all.
    pub pauses_every: Option<u32>,
    /// Sessions change parameters of the instance between transactions.
    pub alters: bool,
    /// Sessions make, keep and drop segments between transactions, beside the tables.
    pub makes_segments: bool,
    /// Commits are made in all the ways there are, rather than all durable and at once.
    pub commit_modes: bool,
    /// The last transaction stays open and its changes are written; then the instance is aborted.
    pub leaves_open: bool,
}

impl Load {
    /// Runs in an open instance, to its end or to a crash, and ends the instance.
    pub fn run(
        &self,
        instance: Instance,
        journal: &Journal,
        session: &Session,
    ) -> Result<(), Stop> {
        let instance = Arc::new(instance);
        let began = Began::now(&instance, session);
        let mut threads = Vec::new();
        for number in 1..self.sessions {
            let (load, journal, instance) = (*self, journal.clone(), Arc::clone(&instance));
            let spec = ThreadSpec::foreground(format!("session{number}"));
            threads.push(session.spawn(spec, move |session| {
                let ended = load.run_session(number, &instance, &journal, session);
                assert!(ended.is_ok() || instance.halt().is_raised(session), "{ended:?}");
            })?);
        }
        let ended = self.run_session(0, &instance, journal, session);
        for thread in threads {
            assert!(thread.join(session).is_ok(), "{} panicked", thread.name());
        }
        ended?;
        journal.happened(began.since(&instance, journal, session));
        let instance = Arc::into_inner(instance).expect("the load's sessions have ended");
        if !self.leaves_open {
            return instance.shutdown(session);
        }
        let left = self.leave_open(&instance, journal, session);
        instance.abort(session);
        left
    }

    fn run_session(
        &self,
        number: u32,
        instance: &Instance,
        journal: &Journal,
        session: &Session,
    ) -> Result<(), Stop> {
        let mut client = Client::new(self, number, instance, journal, session)?;
        for table in 0..self.tables {
            let mut rows = Vec::new();
            client.tables[table].scan(|at, row| rows.push((at, read(row))), session)?;
            rows.into_iter().for_each(|(at, row)| client.told(None, (table, at), row));
        }
        for _ in 0..self.transactions {
            client.transaction(self, instance, session)?;
        }
        Ok(())
    }

    fn leave_open(
        &self,
        instance: &Instance,
        journal: &Journal,
        session: &Session,
    ) -> Result<(), Stop> {
        let mut client = Client::new(self, self.sessions, instance, journal, session)?;
        let number = journal.begin();
        let mut transaction = Transaction::new();
        for _ in 0..self.changes_max {
            match client.change(number, &mut transaction, session) {
                Ok(()) => {}
                Err(stop) if stop.refusal().is_some() => break,
                Err(stop) => return Err(stop),
            }
        }
        journal.checkpoint();
        instance.checkpoint(session)
    }
}

/// Where an instance stood when the load began.
struct Began {
    sequence: u32,
    blocks: u64,
}

impl Began {
    fn now(instance: &Instance, session: &Session) -> Began {
        let sizes = instance.space().file_blocks(session);
        let blocks = sizes.iter().map(|(_, blocks)| u64::from(*blocks)).sum();
        Began { sequence: instance.redo().position(session).sequence, blocks }
    }

    fn since(&self, instance: &Instance, journal: &Journal, session: &Session) -> Happened {
        let now = Began::now(instance, session);
        let log_switches = u64::from(now.sequence - self.sequence);
        let checkpoints = session.os().totals().statistic(Statistic::DbwrCheckpoints);
        let asked = journal.record().checkpoints + log_switches;
        Happened {
            log_switches,
            grown: now.blocks - self.blocks,
            incremental: checkpoints.saturating_sub(asked),
        }
    }
}

struct Client {
    random: Xoshiro256PlusPlus,
    tables: Vec<Table>,
    inserters: Vec<Inserter>,
    /// Rows that the present transaction has changed.
    changed: Vec<RowId>,
    journal: Journal,
    /// Which session it is.
    number: u32,
    /// Segments that it has made, and how many it ever made.
    made: Vec<ObjectNo>,
    made_count: u32,
}

impl Client {
    fn new(
        load: &Load,
        number: u32,
        instance: &Instance,
        journal: &Journal,
        session: &Session,
    ) -> Result<Client, Stop> {
        let seed = load.seed.wrapping_mul(1_000).wrapping_add(u64::from(number));
        let names = TABLES[..load.tables].iter();
        let tables = names.map(|table| instance.table(table.name, session));
        Ok(Client {
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            tables: tables.collect::<Result<_, _>>()?,
            inserters: (0..load.tables).map(|_| Inserter::default()).collect(),
            changed: Vec::new(),
            journal: journal.clone(),
            number,
            made: Vec::new(),
            made_count: 0,
        })
    }

    fn one_in(&mut self, times: u32) -> bool {
        self.random.random_range(0..times) == 0
    }

    fn transaction(
        &mut self,
        load: &Load,
        instance: &Instance,
        session: &Session,
    ) -> Result<(), Stop> {
        if load.pauses_every.is_some_and(|every| self.one_in(every)) {
            let length = Nanos::from_millis(self.random.random_range(0..4_000));
            session.pause(length, session.waiting(WaitEvent::PlSqlLockTimer));
        }
        if load.alters && self.one_in(4) {
            self.alter(instance, session)?;
        }
        if load.makes_segments && self.one_in(2) {
            self.define(instance, session)?;
        }
        let number = self.journal.begin();
        let mut transaction = Transaction::new();
        self.changed.clear();
        let changes = self.random.random_range(1..=load.changes_max);
        let checkpoint = load.checkpoint_every.is_some_and(|every| self.one_in(every));
        let checkpoint_at = self.random.random_range(0..=changes);
        let mut refused = false;
        for at in 0..changes {
            if checkpoint && at == checkpoint_at {
                self.journal.checkpoint();
                instance.checkpoint(session)?;
            }
            match self.step(number, &mut transaction, session) {
                Ok(()) => {}
                Err(stop) if stop.refusal().is_some() => {
                    refused = true;
                    break;
                }
                Err(stop) => return Err(stop),
            }
        }
        if refused || self.one_in(4) {
            self.journal.outcome(number, Outcome::RolledBack);
            return instance.rollback(transaction, session);
        }
        let mode = match load.commit_modes {
            true => CommitMode::ALL[self.random.random_range(0..CommitMode::ALL.len())],
            false => CommitMode::DURABLE,
        };
        let waits = mode.wait == CommitWait::Wait;
        if !waits {
            self.journal.waits_not(number);
        }
        self.journal.outcome(number, Outcome::CommitCalled);
        instance.commit_with(transaction, mode, session)?;
        let outcome = if waits { Outcome::Acknowledged } else { Outcome::Unawaited };
        self.journal.outcome(number, outcome);
        Ok(())
    }

    /// Another value for one of the parameters that change while the instance runs, or other log
    /// groups.
    fn alter(&mut self, instance: &Instance, session: &Session) -> Result<(), Stop> {
        if self.one_in(2) {
            return self.change_logs(instance, session);
        }
        let (name, values) = ALTERED[self.random.random_range(0..ALTERED.len())];
        let value = values[self.random.random_range(0..values.len())];
        match instance.set_parameter(name, value, session) {
            // More writes at once than the log buffer was divided for, or another block size.
            Err(stop) if stop.refusal().is_some() => Ok(()),
            done => done.map(|()| self.journal.altered()),
        }
    }

    fn change_logs(&mut self, instance: &Instance, session: &Session) -> Result<(), Stop> {
        let (name, values) = LOG_CHANGES[self.random.random_range(0..LOG_CHANGES.len())];
        let value = values[self.random.random_range(0..values.len())];
        let change = LogChange::read(name, value).expect("it is one")?;
        match instance.change_logs(&change, session) {
            // It is there already, or gone, or needed.
            Err(stop) if stop.refusal().is_some() => Ok(()),
            done => done.map(|()| self.journal.logs_changed()),
        }
    }

    /// Makes a segment in the tablespace of the other block size, or drops one that was made. What
    /// isn't kept is there until the next opening.
    fn define(&mut self, instance: &Instance, session: &Session) -> Result<(), Stop> {
        let space = instance.space();
        if self.made.len() > 1 || (!self.made.is_empty() && self.one_in(2)) {
            let object = self.made.swap_remove(0);
            return space.drop_segment(object, session).map(|()| self.journal.segment_dropped());
        }
        self.made_count += 1;
        let name = format!("made{}_{}", self.number, self.made_count);
        // Blocks that nobody formats: a table may have such.
        let what = (&*name, Holds::Table, &[][..]);
        let made = space.create_temporary(USERS, what, session).and_then(|segment| {
            self.made.push(segment.object);
            space.hand_out(segment.header, self.random.random_range(1..20), session)?;
            match self.one_in(3) {
                true => Ok(()),
                false => space.keep(segment.object, session),
            }
        });
        match made {
            Err(stop) if stop.refusal().is_some() => Ok(()),
            done => done,
        }
    }

    /// Perhaps a read, in the transaction or beside it, and then a change.
    fn step(
        &mut self,
        number: usize,
        transaction: &mut Transaction,
        session: &Session,
    ) -> Result<(), Stop> {
        if self.one_in(3)
            && let Some(row) = self.some_row()
        {
            let found = self.tables[row.0].fetch(Some(&*transaction), row.1, read, session)?;
            let found =
                found.unwrap_or_else(|| panic!("row {row:?} was committed and isn't there"));
            self.told(Some(number), row, found);
        }
        self.change(number, transaction, session)
    }

    fn change(
        &mut self,
        number: usize,
        transaction: &mut Transaction,
        session: &Session,
    ) -> Result<(), Stop> {
        // Often the row that was changed just before, a second time.
        let again = self.changed.last().copied().filter(|_| self.one_in(4));
        let row = again.or_else(|| self.some_row()).filter(|_| !self.one_in(3));
        let Some(row) = row else { return self.insert(number, transaction, session) };
        let mut before = None;
        let change = |row: &mut RowMut<'_>| {
            let found = read(row.view());
            if let Ok((version, _)) = &found {
                write(row, number, version + 1);
            }
            before = Some(found);
        };
        let found = self.tables[row.0].update(transaction, row.1, change, session)?;
        assert!(found, "row {row:?} was committed and isn't there");
        let before = before.expect("a row that is found is changed");
        let version = before.as_ref().map_or(0, |(version, _)| version + 1);
        self.told(Some(number), row, before);
        self.journal.changed(number, Change { row, version });
        self.changed.push(row);
        Ok(())
    }

    fn insert(
        &mut self,
        number: usize,
        transaction: &mut Transaction,
        session: &Session,
    ) -> Result<(), Stop> {
        let table = self.random.random_range(0..self.tables.len());
        let fill = |row: &mut RowMut<'_>| write(row, number, 1);
        let inserter = &mut self.inserters[table];
        let row = self.tables[table].insert(transaction, inserter, fill, session)?;
        self.journal.changed(number, Change { row: (table, row), version: 1 });
        self.changed.push((table, row));
        Ok(())
    }

    fn some_row(&mut self) -> Option<RowId> {
        let random = &mut self.random;
        self.journal.some_row(|count| random.random_range(0..count))
    }

    fn told(&self, reader: Option<usize>, row: RowId, found: Result<(i64, usize), String>) {
        match found {
            Ok((version, writer)) => self.journal.told(Told { reader, row, version, writer }),
            Err(torn) => panic!("row {row:?}: {torn}"),
        }
    }
}

fn write(row: &mut RowMut<'_>, writer: usize, version: i64) {
    row.set_number(VERSION, version);
    row.set_number(WRITER, writer as i64);
    let bytes = row.view().column(FILLER).len();
    row.set_bytes(FILLER, &vec![filler(writer, version); bytes]);
}

fn filler(writer: usize, version: i64) -> u8 {
    (writer as i64 * 31 + version * 7) as u8
}

/// Version and writer of a row, if its bytes are those that this writer wrote.
pub(crate) fn read(row: RowView<'_>) -> Result<(i64, usize), String> {
    let (version, writer) = (row.number(VERSION), row.number(WRITER) as usize);
    let expected = filler(writer, version);
    match row.column(FILLER).iter().all(|byte| *byte == expected) {
        true => Ok((version, writer)),
        false => Err(format!("version {version} of transaction {writer} is torn")),
    }
}
