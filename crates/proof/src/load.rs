//! A small load: sessions that insert, update, commit and roll back, and write down what they were
//! told.
//!
//! A row has a version, the number of the transaction that wrote it, and bytes that follow from the
//! two; so a row that is half one thing and half another is seen.

use access::{Inserter, RowAddress, RowMut, RowView, Table};
use instance::{Creation, Instance, Parameters, Transaction};
use os::probe::DurableWrite;
use os::{Disk, Session, ThreadSpec};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use redo::CommitLeader;
use space::Column;
use std::path::Path;
use std::sync::Arc;
use stop::Stop;

use crate::{Change, Journal, Outcome};

/// The table that the load changes.
pub const TABLE: &str = "load";

/// Where the database is.
pub(crate) const DIRECTORY: &str = "/db";

const VERSION: usize = 0;
const WRITER: usize = 1;
const FILLER: usize = 2;
const FILLER_BYTES: usize = 90;

/// The database under a load, and how its instance runs.
#[derive(Clone, Debug)]
pub struct Shape {
    /// What is fixed.
    pub creation: Creation,
    /// What isn't.
    pub parameters: Parameters,
}

impl Shape {
    /// As small as everything still happens: buffers are evicted, logs switch, batches fill.
    pub fn tiny() -> Shape {
        let creation = Creation {
            db_block_size: ids::BlockSize::KIB_2,
            data_bytes: 160 * 2048,
            extent_blocks: 4,
            log_file_bytes: u64::from(redo::LOG_BLOCKS_MIN) * 4096,
            log_groups: 3,
            undo_segments: 2,
            undo_slots: 4,
            doublewrite_slots: 16,
        };
        let parameters = Parameters {
            db_cache_size: 24 * 2048,
            db_writer_processes: 1,
            db_working_sets: 2,
            db_writer_batch: 4,
            log_buffer: redo::LOG_BUFFER_BYTES_MIN as u64,
            commit_leader: CommitLeader::Session,
            redo_write: Some(DurableWrite::DirectThenSync),
            redo_consistency: true,
            ..Parameters::default()
        };
        Shape { creation, parameters }
    }
}

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
}

impl Load {
    /// Runs in an open instance, to its end or to a crash.
    pub fn run(
        &self,
        instance: &Arc<Instance>,
        journal: &Journal,
        session: &Session,
    ) -> Result<(), Stop> {
        let mut threads = Vec::new();
        for number in 1..self.sessions {
            let (load, journal, instance) = (*self, journal.clone(), Arc::clone(instance));
            let spec = ThreadSpec::foreground(format!("session{number}"));
            threads.push(session.spawn(spec, move |session| {
                let ended = load.run_session(number, &instance, &journal, session);
                assert!(ended.is_ok() || instance.halt().is_raised(session), "{ended:?}");
            })?);
        }
        let ended = self.run_session(0, instance, journal, session);
        for thread in threads {
            assert!(thread.join(session).is_ok(), "{} panicked", thread.name());
        }
        ended
    }

    fn run_session(
        &self,
        number: u32,
        instance: &Instance,
        journal: &Journal,
        session: &Session,
    ) -> Result<(), Stop> {
        let seed = self.seed.wrapping_mul(1_000).wrapping_add(u64::from(number));
        let mut client = Client {
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            table: instance.table(TABLE, session)?,
            inserter: Inserter::default(),
            rows: Vec::new(),
            journal: journal.clone(),
        };
        client.table.scan(|row, _| client.rows.push(row), session)?;
        for _ in 0..self.transactions {
            client.transaction(self.changes_max, instance, session)?;
        }
        Ok(())
    }
}

struct Client {
    random: Xoshiro256PlusPlus,
    table: Table,
    inserter: Inserter,
    /// Rows that this session knows of.
    rows: Vec<RowAddress>,
    journal: Journal,
}

impl Client {
    fn transaction(
        &mut self,
        changes_max: u32,
        instance: &Instance,
        session: &Session,
    ) -> Result<(), Stop> {
        let number = self.journal.begin();
        let mut transaction = Transaction::new();
        let mut new_rows = Vec::new();
        let mut refused = None;
        for _ in 0..self.random.random_range(1..=changes_max) {
            match self.change(number, &mut transaction, &mut new_rows, session) {
                Ok(()) => {}
                Err(stop) if stop.refusal().is_some() => refused = Some(stop),
                Err(stop) => return Err(stop),
            }
            if refused.is_some() {
                break;
            }
        }
        if refused.is_some() || self.random.random_range(0..4) == 0 {
            self.journal.outcome(number, Outcome::RolledBack);
            return instance.rollback(transaction, session);
        }
        self.journal.outcome(number, Outcome::CommitCalled);
        instance.commit(transaction, session)?;
        self.journal.outcome(number, Outcome::Acknowledged);
        self.rows.append(&mut new_rows);
        Ok(())
    }

    fn change(
        &mut self,
        number: usize,
        transaction: &mut Transaction,
        new_rows: &mut Vec<RowAddress>,
        session: &Session,
    ) -> Result<(), Stop> {
        if self.rows.is_empty() || self.random.random_range(0..3) == 0 {
            let fill = |row: &mut RowMut<'_>| write(row, number, 1);
            let row = self.table.insert(transaction, &mut self.inserter, fill, session)?;
            new_rows.push(row);
            self.journal.changed(number, Change { row, version: 1 });
            return Ok(());
        }
        let row = self.rows[self.random.random_range(0..self.rows.len())];
        let mut version = 0;
        let change = |row: &mut RowMut<'_>| {
            version = row.view().number(VERSION) + 1;
            write(row, number, version);
        };
        let found = self.table.update(transaction, row, change, session)?;
        assert!(found, "row {row} was committed and isn't there");
        self.journal.changed(number, Change { row, version });
        Ok(())
    }
}

fn write(row: &mut RowMut<'_>, writer: usize, version: i64) {
    row.set_number(VERSION, version);
    row.set_number(WRITER, writer as i64);
    row.set_bytes(FILLER, &[filler(writer, version); FILLER_BYTES]);
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

/// Makes the database and its table.
pub(crate) fn prepare(shape: &Shape, disk: &Disk, session: &Session) -> Result<(), Stop> {
    let directory = Path::new(DIRECTORY);
    Instance::create(disk, directory, &shape.creation, &shape.parameters, session)?;
    let instance = Instance::open(disk, directory, &shape.parameters, session)?;
    let columns = [Column::Number, Column::Number, Column::Bytes(FILLER_BYTES as u16)];
    instance.create_table(TABLE, &columns, session)?;
    instance.shutdown(session)
}
