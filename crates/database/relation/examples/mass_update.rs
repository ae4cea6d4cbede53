//! Measures what an update of all rows costs on this machine: sessions at once change every row of
//! their own table by one statement, again and again.
//!
//! `cargo run --release -p relation --example mass_update [FOLDER [SESSIONS [ROWS [CACHE_MIB
//! [ROUNDS]]]]]` makes a database in the folder, which has to be removed afterwards.

use std::path::PathBuf;
use std::sync::Arc;

use ids::ObjectNo;
use instance::{Creation, Instance, Parameters, Transaction};
use latch::{Latch, LatchKind};
use os::{Session, ThreadSpec};
use relation::{
    ColumnDefinition, Relation, Relations, RowChange, Scratch, Selection, TableDefinition, Work,
};
use space::Holds;
use stop::{RefusalKind, Stop};
use value::{RowView, Type, Value};
use waits::{SessionKind, Statistic};

const PER_COMMIT: u64 = 1_000;

/// No other tables.
struct Alone;

impl Relations for Alone {
    fn relation(&self, _: ObjectNo, _: &Session) -> Result<Arc<Relation>, Stop> {
        Err(Stop::refuse(RefusalKind::NotFound, "there are no other tables"))
    }
}

fn argument(place: usize, default: u64) -> u64 {
    std::env::args().nth(place).map_or(default, |text| text.parse().expect("a number"))
}

fn main() -> Result<(), Stop> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".into()));
    let (sessions, rows) = (argument(2, 15), argument(3, 20_000));
    let (cache_mib, rounds) = (argument(4, 512), argument(5, 5));
    let os = os::linux::start();
    let session = os.adopt("mass_update", SessionKind::Foreground);
    let (disk, folder) = (os::linux::disk(), folder.join("mass-database.tmp"));
    let parameters = Parameters { db_cache_size: cache_mib << 20, ..Parameters::default() };
    let creation = Creation {
        data_bytes: 512 << 20,
        undo_bytes: 256 << 20,
        undo_bytes_max: 4 << 30,
        log_file_bytes: 512 << 20,
        ..Creation::default()
    };
    Instance::create(&disk, &folder, &creation, &parameters, &session)?;
    let instance = Arc::new(Instance::open(&disk, &folder, &parameters, &session)?);
    let tables = (0..sessions).map(|number| table(&instance, number, rows, &session));
    let tables = tables.collect::<Result<Vec<_>, Stop>>()?;
    instance.checkpoint(&session)?;
    for _ in 0..rounds {
        round(&instance, &tables, rows, &session)?;
    }
    drop(tables);
    instance.shutdown(&session)
}

/// id BIGINT, x BIGINT, filler VARCHAR(84), filled.
fn table(
    instance: &Instance,
    number: u64,
    rows: u64,
    session: &Session,
) -> Result<Arc<Relation>, Stop> {
    let (space, transactions) = (instance.space(), instance.transactions());
    let name = format!("t{number}");
    let segment = space.create(&name, Holds::Table, session)?;
    let varchar = Type::varchar(84)?;
    let column = |(name, kind): (&str, Type)| ColumnDefinition::new(name, kind, true);
    let columns = [("id", Type::BigInt), ("x", Type::BigInt), ("filler", varchar)];
    let definition = TableDefinition {
        columns: columns.into_iter().map(column).collect(),
        ..TableDefinition::new(segment.object, &name, segment.object)
    };
    let relation = Relation::open(Arc::new(definition), space, transactions, session)?;
    let (mut scratch, filler) = (Scratch::default(), "f".repeat(84));
    for first in (0..rows).step_by(PER_COMMIT as usize) {
        let mut transaction = Transaction::new();
        let mut work = work(&mut transaction, &mut scratch, session);
        for id in first..rows.min(first + PER_COMMIT) {
            let row = [Value::Int(id as i64), Value::Int(0), Value::Text(&filler)];
            relation.insert(&mut work, &row)?;
        }
        instance.commit(transaction, session)?;
    }
    Ok(Arc::new(relation))
}

fn work<'a>(
    transaction: &'a mut Transaction,
    scratch: &'a mut Scratch,
    session: &'a Session,
) -> Work<'a> {
    Work { transaction, scratch, relations: &Alone, session }
}

fn round(
    instance: &Arc<Instance>,
    tables: &[Arc<Relation>],
    rows: u64,
    session: &Session,
) -> Result<(), Stop> {
    let done = Arc::new(Latch::new(session.os(), LatchKind::Innermost, 0));
    let redo = session.os().totals().statistic(Statistic::RedoSize);
    let (began, mut threads) = (session.now(), Vec::new());
    for (number, table) in tables.iter().enumerate() {
        let (instance, table, done) = (Arc::clone(instance), Arc::clone(table), Arc::clone(&done));
        let body = move |session: &Session| {
            let started = session.thread_times().cpu;
            let changed = update(&instance, &table, session).expect("nobody is in the way");
            assert_eq!(changed, rows);
            *done.exclusive(session) += session.thread_times().cpu.0.saturating_sub(started.0);
        };
        threads.push(session.spawn(ThreadSpec::foreground(format!("s{number}")), body)?);
    }
    for thread in threads {
        thread.join(session).expect("it has ended well");
    }
    let elapsed = session.now().since(began).0 as f64;
    let all = (rows * tables.len() as u64) as f64;
    let cpu = *done.exclusive(session) as f64;
    let redo = (session.os().totals().statistic(Statistic::RedoSize) - redo) as f64;
    println!(
        "elapsed {:.0} ns/row  cpu {:.0} ns/row  redo {:.0} bytes/row  elapsed {:.3} s",
        elapsed / all,
        cpu / all,
        redo / all,
        elapsed / 1e9
    );
    Ok(())
}

/// `update t set x = x + 1`.
fn update(instance: &Instance, table: &Relation, session: &Session) -> Result<u64, Stop> {
    let (mut transaction, mut scratch) = (Transaction::new(), Scratch::default());
    let mut work = work(&mut transaction, &mut scratch, session);
    let mut add = |row: &RowView<'_>, change: &mut RowChange<'_>| {
        change.set(1, Value::Int(row.get_i64(1).expect("not NULL") + 1))
    };
    let changed = table.update_where(&mut work, Selection::All, None, &mut add)?;
    instance.commit(transaction, session)?;
    Ok(changed)
}
