//! A small database, and the rows of its views.

use std::sync::Arc;

use catalog::{Alteration, Catalog, CatalogConfig, ColumnSpec, IndexSpec, TableSpec};
use ids::FileNo;
use instance::{Creation, Instance, Parameters, Transaction};
use os::{FilesystemIo, Session, ThreadHandle, ThreadSpec};
use relation::{Comparison, Condition, OnDelete, Operand, Scratch, Work};
use sim::World;
use sim::fs::FileSystem;
use sort::SortConfig;
use stop::Stop;
use testbed::bed;
use txn::LockWait;
use value::{OwnedValue, Type, Value};
use views::{Engine, View};

pub(crate) const WAIT: LockWait = LockWait::Forever;

fn creation() -> Creation {
    Creation {
        data_bytes: 600 * 2048,
        data_bytes_max: 4_000 * 2048,
        data_growth_bytes: 32 * 2048,
        ..bed::creation()
    }
}

fn parameters() -> Parameters {
    bed::parameters(200)
}

/// An open database with its catalog.
#[derive(Clone)]
pub(crate) struct Db {
    pub(crate) instance: Arc<Instance>,
    pub(crate) catalog: Arc<Catalog>,
}

/// Runs `body` on a new database with the tables of [`tables`], of which each session is connected.
pub(crate) fn database(body: impl FnOnce(&Db, &Session) + Send + 'static) {
    let machine = testbed::machine(1, FileSystem::new(1 << 30));
    testbed::run_kept(machine, move |world, session| {
        let (disk, directory) = (world.disk(), bed::directory());
        Instance::create(&disk, directory, &creation(), &parameters(), session).expect("created");
        let db = Db::open(world, session);
        tables(&db, session);
        let connected = db.instance.connect(session);
        body(&db, session);
        drop(connected);
        let Db { instance, catalog } = db;
        drop(catalog);
        bed::shut(instance, session);
    });
}

/// `customer`, `orders` which refers to it, an index, a sequence, and rows.
fn tables(db: &Db, session: &Session) {
    let varchar = |chars| Type::varchar(chars).expect("may be declared");
    let number = Type::number(10, 2).expect("may be declared");
    let not_negative = Condition::Compare(
        Operand::Column(3),
        Comparison::GreaterOrEqual,
        Operand::Constant(Value::Int(0).to_owned()),
    );
    let customer = TableSpec::new("customer")
        .column(ColumnSpec::new("id", Type::BigInt).identity(false))
        .column(ColumnSpec::new("name", varchar(40)).not_null())
        .column(ColumnSpec::new("old", Type::Date))
        .column(ColumnSpec::new("balance", number).default_value(Value::Int(0).to_owned()))
        .column(ColumnSpec::new("Big city", Type::Text))
        .primary_key(["id"])
        .unique(["name"])
        .named("one_name")
        .check(not_negative)
        .named("not_negative");
    let orders = TableSpec::new("orders")
        .column(ColumnSpec::new("id", Type::BigInt))
        .column(ColumnSpec::new("line", Type::Integer))
        .column(ColumnSpec::new("customer", Type::BigInt))
        .primary_key(["id", "line"])
        .foreign_key(["customer"], "customer", OnDelete::Cascade)
        .named("of_customer");
    for spec in [customer, orders] {
        db.catalog.create_table(&spec, WAIT, session).expect("created");
    }
    let by_city = IndexSpec::new("by_city", "customer", ["Big city", "id"]).descending(0);
    db.catalog.create_index(&by_city, WAIT, session).expect("created");
    let drop = Alteration::DropColumn("old".into());
    db.catalog.alter_table("customer", &drop, WAIT, session).expect("dropped");
    db.catalog
        .create_sequence("tickets", &catalog::SequenceOptions::default(), session)
        .expect("created");
    for id in 0..20 {
        let name = format!("name {id}");
        let row =
            [Value::Int(id), Value::Text(&name), Value::Null, Value::Int(id), Value::Text("Lech")];
        db.insert("customer", &row, session).expect("inserted");
    }
}

impl Db {
    fn open(world: &World, session: &Session) -> Db {
        let instance = bed::open(&parameters(), world, session);
        let config = CatalogConfig {
            tablespace: "system".into(),
            disk: world.disk(),
            sort: SortConfig {
                directory: bed::directory().into(),
                area_bytes: sort::SORT_AREA_BYTES_MIN,
                filesystem_io: FilesystemIo::SetAll,
                file: FileNo::new(999),
                budget: None,
            },
        };
        let (space, transactions) = (instance.space(), instance.transactions());
        let catalog = Catalog::open(space, transactions, config, session).expect("opened");
        Db { instance, catalog: Arc::new(catalog) }
    }

    /// A connected session in a thread of its own.
    pub(crate) fn start(
        &self,
        name: &str,
        session: &Session,
        body: impl FnOnce(&Db, &Session) + Send + 'static,
    ) -> ThreadHandle {
        let db = self.clone();
        let body = move |session: &Session| {
            let _connected = db.instance.connect(session);
            body(&db, session);
        };
        session.spawn(ThreadSpec::foreground(name), body).expect("started")
    }

    /// Inserts a row with this transaction.
    pub(crate) fn insert_with(
        &self,
        table: &str,
        values: &[Value<'_>],
        transaction: &mut Transaction,
        session: &Session,
    ) -> Result<(), Stop> {
        let (relation, mut scratch) = (self.catalog.relation(table, session)?, Scratch::default());
        let relations = &*self.catalog;
        let mut work = Work { transaction, scratch: &mut scratch, relations, session };
        relation.insert(&mut work, values).map(drop)
    }

    /// Inserts a row and commits it.
    pub(crate) fn insert(
        &self,
        table: &str,
        values: &[Value<'_>],
        session: &Session,
    ) -> Result<(), Stop> {
        let mut transaction = Transaction::new();
        match self.insert_with(table, values, &mut transaction, session) {
            Ok(()) => self.instance.commit(transaction, session),
            Err(stop) => {
                self.instance.rollback(transaction, session)?;
                Err(stop)
            }
        }
    }

    /// What views look at.
    pub(crate) fn engine<'a>(&'a self, session: &'a Session) -> Engine<'a> {
        Engine { instance: &self.instance, catalog: &self.catalog, session, sql: None }
    }

    /// The rows of the view of this name.
    pub(crate) fn rows(&self, name: &str, session: &Session) -> Vec<Row> {
        rows(named(name), &self.engine(session))
    }

    /// The rows of which a column has this text.
    pub(crate) fn rows_with(
        &self,
        name: &str,
        column: &str,
        text: &str,
        session: &Session,
    ) -> Vec<Row> {
        let mut rows = self.rows(name, session);
        rows.retain(|row| row.text_or_null(column) == Some(text));
        rows
    }

    /// The one row of which a column has this text.
    #[track_caller]
    pub(crate) fn row(&self, name: &str, column: &str, text: &str, session: &Session) -> Row {
        let rows = self.rows_with(name, column, text, session);
        let [row] = &rows[..] else { panic!("{} rows of {name} have {text}", rows.len()) };
        row.clone()
    }
}

/// The view of this name, which may have its schema before it.
pub(crate) fn named(name: &str) -> &'static View {
    let (schema, name) = name.split_once('.').unwrap_or(("pg_catalog", name));
    views::view_in(schema, name).unwrap_or_else(|| panic!("no view {name}"))
}

/// A row of a view.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    view: &'static View,
    values: Vec<OwnedValue>,
}

impl Row {
    #[track_caller]
    pub(crate) fn get(&self, column: &str) -> Value<'_> {
        let place = self.view.column(column);
        self.values[place.unwrap_or_else(|| panic!("{} has {column}", self.view.name))].get()
    }

    #[track_caller]
    pub(crate) fn int(&self, column: &str) -> i64 {
        match self.get(column) {
            Value::Int(number) => number,
            other => panic!("{}.{column} is {other}", self.view.name),
        }
    }

    #[track_caller]
    pub(crate) fn text(&self, column: &str) -> &str {
        self.text_or_null(column).unwrap_or_else(|| panic!("{}.{column} is NULL", self.view.name))
    }

    #[track_caller]
    pub(crate) fn text_or_null(&self, column: &str) -> Option<&str> {
        match self.get(column) {
            Value::Text(text) => Some(text),
            Value::Null => None,
            other => panic!("{}.{column} is {other}", self.view.name),
        }
    }
}

/// The rows of a view, each value of which is NULL or of its column's type (VW2).
pub(crate) fn rows(view: &'static View, engine: &Engine<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut take = |values: &[Value<'_>]| {
        for (value, column) in values.iter().zip(view.columns) {
            let fits = match (value, column.kind) {
                (Value::Null, _) => true,
                (Value::Int(_), Type::BigInt) => true,
                (Value::Text(_), Type::Text) => true,
                (Value::Boolean(_), Type::Boolean) => true,
                (Value::Double(number), Type::Double) => number.is_finite(),
                (Value::Timestamp(_), Type::Timestamp) => true,
                _ => false,
            };
            assert!(fits, "{}.{} is {value}", view.name, column.name);
        }
        let values = values.iter().copied().map(Value::to_owned).collect();
        rows.push(Row { view, values });
        Ok(())
    };
    view.read(engine, &mut take).expect("read");
    rows
}
