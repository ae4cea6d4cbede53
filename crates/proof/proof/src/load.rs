//! A small load: sessions with transactions on typed tables, and statements that define something,
//! checkpoints, other parameters and redo logs between them. They write down what they were told.

use database::Database;
use instance::{Instance, LogChange};
use os::{Session, ThreadSpec};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use stop::Stop;
use waits::{Nanos, Statistic, WaitEvent};

use crate::client::{Doing, Who, tables_of};
use crate::define::Definer;
use crate::tables::{TABLES, read};
use crate::{By, Journal, Told};

/// Parameters that change while the instance runs, and values for them.
const PARAMETERS: [(&str, &[&str]); 7] = [
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
    /// Of how many tables the rows are: 1 to 4.
    pub tables: usize,
    /// Every so many transactions, about, a session asks for a checkpoint, often in one's midst.
    pub checkpoint_every: Option<u32>,
    /// Every so many transactions, about, a session pauses for up to four seconds: what happens by
    /// the clock happens then, incremental checkpoints above all.
    pub pauses_every: Option<u32>,
    /// Sessions change parameters of the instance between transactions.
    pub alters: bool,
    /// Sessions define things between transactions: tables, columns, indexes, constraints,
    /// sequences, data files; and truncate a table.
    pub defines: bool,
    /// Some transactions have one snapshot.
    pub serializable: bool,
    /// Commits are made in all the ways there are, rather than all durable and at once.
    pub commit_modes: bool,
    /// The last transaction stays open and its changes are written; then the instance is aborted.
    pub leaves_open: bool,
    /// How sessions ask for what they do.
    pub by: By,
}

/// What happened, in a tally.
pub(crate) const CHECKPOINTS: &str = "a checkpoint that a session asked for";
pub(crate) const ALTERED: &str = "a parameter changed";
pub(crate) const LOGS_CHANGED: &str = "a redo log group changed";
pub(crate) const LOG_SWITCHES: &str = "a log switch";
pub(crate) const GROWN: &str = "a block by which a data file grew";
pub(crate) const INCREMENTAL: &str = "an incremental checkpoint";

/// Of so many seeds one loads rows into new blocks instead of inserting them by arrays.
const LOADS_ONE_IN: u64 = 4;

impl Load {
    /// Whether rows are loaded into new blocks, rather than inserted by arrays.
    pub(crate) fn loads(&self) -> bool {
        self.seed % LOADS_ONE_IN == 2
    }

    /// Runs in an open database, to its end or to a crash, and ends it.
    pub fn run(
        &self,
        database: Database,
        journal: &Journal,
        session: &Session,
    ) -> Result<(), Stop> {
        let began = Began::now(database.instance(), session);
        let mut threads = Vec::new();
        for number in 1..self.sessions {
            let (load, journal, database) = (*self, journal.clone(), database.clone());
            let spec = ThreadSpec::foreground(format!("session{number}"));
            threads.push(session.spawn(spec, move |session| {
                let ended = load.run_session(number, &database, &journal, session);
                let halted = database.instance().halt().is_raised(session);
                assert!(ended.is_ok() || halted, "{ended:?}");
            })?);
        }
        let ended = self.run_session(0, &database, journal, session);
        for thread in threads {
            assert!(thread.join(session).is_ok(), "{} panicked", thread.name());
        }
        ended?;
        began.note(database.instance(), journal, session);
        if !self.leaves_open {
            return database.shutdown_by(session);
        }
        self.leave_open(database, journal, session)
    }

    fn run_session(
        &self,
        number: u32,
        database: &Database,
        journal: &Journal,
        session: &Session,
    ) -> Result<(), Stop> {
        let seed = self.seed.wrapping_mul(1_000).wrapping_add(u64::from(number));
        let mut client = Client {
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            definer: Definer::new(number, self.by),
            number,
            load: self,
            database,
            journal,
        };
        client.look_around(session)?;
        for _ in 0..self.transactions {
            client.transaction(session)?;
        }
        Ok(())
    }

    /// Leaves a transaction open whose changes are written, as if the process were killed.
    fn leave_open(
        &self,
        database: Database,
        journal: &Journal,
        session: &Session,
    ) -> Result<(), Stop> {
        let mut connection = database.connect_with(session);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let (tables, mark) = tables_of(&connection)?;
        let who = Who { load: self, session: 0, journal, random: &mut random };
        Doing::begin(who, &tables, &mark, &mut connection)?.leave(self.changes_max)?;
        journal.note(CHECKPOINTS);
        database.instance().checkpoint(session)?;
        drop((connection, tables, mark));
        drop(database);
        Ok(())
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

    fn note(&self, instance: &Instance, journal: &Journal, session: &Session) {
        let now = Began::now(instance, session);
        let log_switches = u64::from(now.sequence - self.sequence);
        let checkpoints = session.os().totals().statistic(Statistic::DbwrCheckpoints);
        let asked = journal.times(CHECKPOINTS) + log_switches;
        journal.note_times(LOG_SWITCHES, log_switches);
        journal.note_times(GROWN, now.blocks - self.blocks);
        journal.note_times(INCREMENTAL, checkpoints.saturating_sub(asked));
    }
}

struct Client<'a> {
    load: &'a Load,
    database: &'a Database,
    journal: &'a Journal,
    random: Xoshiro256PlusPlus,
    definer: Definer,
    /// Which session it is.
    number: u32,
}

impl Client<'_> {
    fn one_in(&mut self, times: u32) -> bool {
        self.random.random_range(0..times) == 0
    }

    /// Reads the tables, in no transaction.
    fn look_around(&mut self, session: &Session) -> Result<(), Stop> {
        let mut connection = self.database.connect_with(session);
        for (number, shape) in TABLES[..self.load.tables].iter().enumerate() {
            let table = connection.table(shape.name)?;
            let mut rows = Vec::new();
            connection.scan(&table, |row| rows.push(read(number, &row)))?;
            for row in rows {
                let (id, content) = row.unwrap_or_else(|torn| panic!("{}: {torn}", shape.name));
                let (version, writer) = (content.version, content.writer);
                self.journal.told(Told { reader: None, row: (number, id), version, writer });
            }
        }
        Ok(())
    }

    fn transaction(&mut self, session: &Session) -> Result<(), Stop> {
        let load = self.load;
        let instance = self.database.instance();
        if load.pauses_every.is_some_and(|every| self.one_in(every)) {
            let length = Nanos::from_millis(self.random.random_range(0..4_000));
            session.pause(length, session.waiting(WaitEvent::PlSqlLockTimer));
        }
        if load.alters && self.one_in(4) {
            self.alter(instance, session)?;
        }
        if load.defines && self.one_in(3) {
            let tables = load.tables;
            self.definer.define(self.database, tables, self.journal, &mut self.random, session)?;
        }
        let changes = self.random.random_range(1..=load.changes_max);
        let checkpoint = load.checkpoint_every.is_some_and(|every| self.one_in(every));
        let checkpoint_at = self.random.random_range(0..=changes);
        let mut connection = self.database.connect_with(session);
        let (tables, mark) = tables_of(&connection)?;
        let who =
            Who { load, session: self.number, journal: self.journal, random: &mut self.random };
        let doing = Doing::begin(who, &tables, &mark, &mut connection)?;
        doing.run(changes, &mut |at| {
            if !checkpoint || at != checkpoint_at {
                return Ok(());
            }
            self.journal.note(CHECKPOINTS);
            instance.checkpoint(session)
        })
    }

    /// Another value for one of the parameters that change while the instance runs, or other log
    /// groups.
    fn alter(&mut self, instance: &Instance, session: &Session) -> Result<(), Stop> {
        if self.one_in(2) {
            return self.change_logs(instance, session);
        }
        let (name, values) = PARAMETERS[self.random.random_range(0..PARAMETERS.len())];
        let value = values[self.random.random_range(0..values.len())];
        let set = match self.load.by {
            By::Api => instance.set_parameter(name, value, session),
            By::Sql => {
                let text = format!("alter system set {name} = {value}");
                self.database.connect_with(session).execute(&text, &[]).map(drop)
            }
        };
        match set {
            // More writes at once than the log buffer was divided for, or another block size.
            Err(stop) if stop.refusal().is_some() => Ok(()),
            done => done.map(|()| self.journal.note(ALTERED)),
        }
    }

    fn change_logs(&mut self, instance: &Instance, session: &Session) -> Result<(), Stop> {
        let (name, values) = LOG_CHANGES[self.random.random_range(0..LOG_CHANGES.len())];
        let value = values[self.random.random_range(0..values.len())];
        let change = LogChange::read(name, value).expect("it is one")?;
        match instance.change_logs(&change, session) {
            // It is there already, or gone, or needed.
            Err(stop) if stop.refusal().is_some() => Ok(()),
            done => done.map(|()| self.journal.note(LOGS_CHANGED)),
        }
    }
}
