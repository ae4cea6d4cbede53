//! Measures what statements on one row cost on this machine: CPU time of one thread, so that other
//! programs don't count; everything in the cache, one commit for a thousand statements.
//!
//! `cargo run --release -p relation --example costs [FOLDER]` makes a database in the folder, which
//! has to be removed afterwards.

use std::path::PathBuf;
use std::sync::Arc;

use access::Index;
use ids::{ObjectNo, Scn};
use instance::{Creation, Instance, Parameters, Transaction};
use os::Session;
use relation::{
    ColumnDefinition, IndexColumn, IndexDefinition, Relation, Relations, RowChange, Scratch,
    Selection, TableDefinition, Work,
};
use space::Holds;
use stop::{RefusalKind, Stop};
use value::{RowView, Type, Value};
use waits::SessionKind;

const ROWS: i64 = 200_000;
const STATEMENTS: i64 = 400_000;
/// Keys of the second round: what they need fits into a processor's cache.
const FEW: i64 = 2_000;
const PER_COMMIT: i64 = 1_000;

/// No other tables.
struct Alone;

impl Relations for Alone {
    fn relation(&self, _: ObjectNo, _: &Session) -> Result<Arc<Relation>, Stop> {
        Err(Stop::refuse(RefusalKind::NotFound, "there are no other tables"))
    }
}

fn main() -> Result<(), Stop> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".into()));
    let os = os::linux::start();
    let session = os.adopt("costs", SessionKind::Foreground);
    let (disk, folder) = (os::linux::disk(), folder.join("costs-database.tmp"));
    let parameters = Parameters { db_cache_size: 192 << 20, ..Parameters::default() };
    let creation = Creation { data_bytes: 128 << 20, ..Creation::default() };
    Instance::create(&disk, &folder, &creation, &parameters, &session)?;
    let instance = Instance::open(&disk, &folder, &parameters, &session)?;
    let relation = table(&instance, &session)?;
    let mut bench = Bench { instance: &instance, relation, session: &session };
    bench.insert()?;
    for keys in [ROWS, FEW] {
        bench.get(keys)?;
        bench.update(keys)?;
    }
    drop(bench);
    instance.shutdown(&session)
}

/// id BIGINT PRIMARY KEY, balance BIGINT, name VARCHAR(40), filler VARCHAR(60).
fn table(instance: &Instance, session: &Session) -> Result<Relation, Stop> {
    let (space, transactions) = (instance.space(), instance.transactions());
    let segment = space.create("costs", Holds::Table, session)?;
    let system = space.tablespaces(session)[0].name.clone();
    let index = Index::create(&system, "costs_pk", true, space, transactions, session)?;
    let varchar = |count| Type::varchar(count).expect("may be declared");
    let columns = [
        ("id", Type::BigInt),
        ("balance", Type::BigInt),
        ("name", varchar(40)),
        ("filler", varchar(60)),
    ];
    let column = |(name, kind): (&str, Type)| ColumnDefinition::new(name, kind, true);
    let definition = TableDefinition {
        columns: columns.into_iter().map(column).collect(),
        indexes: vec![IndexDefinition {
            object: index.segment().object,
            name: "costs_pk".into(),
            segment: index.segment().object,
            columns: vec![IndexColumn::ascending(0)],
            unique: true,
            primary: true,
            since: Scn::ZERO,
        }],
        ..TableDefinition::new(segment.object, "costs", segment.object)
    };
    Relation::open(Arc::new(definition), space, transactions, session)
}

struct Bench<'a> {
    instance: &'a Instance,
    relation: Relation,
    session: &'a Session,
}

impl Bench<'_> {
    fn insert(&mut self) -> Result<(), Stop> {
        let filler = "f".repeat(50);
        let row = |id: i64| {
            [Value::Int(id), Value::Int(0), Value::Text("somebody's name"), Value::Text(&filler)]
        };
        self.measure("insert with a primary key", ROWS, &mut |work, relation, number| {
            relation.insert(work, &row(number)).map(drop)
        })
    }

    fn update(&mut self, keys: i64) -> Result<(), Stop> {
        let mut add = |row: &RowView<'_>, change: &mut RowChange<'_>| {
            let balance = row.get_i64(1).expect("not NULL");
            change.set(1, Value::Int(balance + 1))
        };
        let what = format!("update of a BIGINT by key, one of {keys}");
        self.measure(&what, STATEMENTS, &mut |work, relation, number| {
            let key = [Value::Int(scattered(number, keys))];
            relation.update_where(work, Selection::Key(0, &key), None, &mut add).map(drop)
        })
    }

    fn get(&mut self, keys: i64) -> Result<(), Stop> {
        let what = format!("get by a BIGINT key, one of {keys}");
        let transactions = self.instance.transactions();
        self.measure(&what, STATEMENTS * 4, &mut |work, relation, number| {
            let key = [Value::Int(scattered(number, keys))];
            let view = transactions.view(None, work.session)?;
            let mut look = |_, row: RowView<'_>| row.get_i64(1);
            let scratch = &mut *work.scratch;
            let found = relation.get(0, &key, view, &mut look, scratch, work.session)?;
            assert!(found.is_some(), "every key is there");
            Ok(())
        })
    }

    fn measure(
        &self,
        what: &str,
        count: i64,
        statement: &mut dyn FnMut(&mut Work<'_>, &Relation, i64) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let (session, mut scratch) = (self.session, Scratch::default());
        let started = session.thread_times().cpu;
        for first in (0..count).step_by(PER_COMMIT as usize) {
            let mut transaction = Transaction::new();
            let (transaction_of, scratch) = (&mut transaction, &mut scratch);
            let mut work =
                Work { transaction: transaction_of, scratch, relations: &Alone, session };
            for number in first..first + PER_COMMIT {
                statement(&mut work, &self.relation, number)?;
            }
            self.instance.commit(transaction, session)?;
        }
        let took = session.thread_times().cpu.0.saturating_sub(started.0);
        println!("{what}: {:.0} ns", took as f64 / count as f64);
        Ok(())
    }
}

/// One of `keys` keys, scattered.
fn scattered(number: i64, keys: i64) -> i64 {
    let mixed = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((u128::from(mixed) * keys as u128) >> 64) as i64
}
