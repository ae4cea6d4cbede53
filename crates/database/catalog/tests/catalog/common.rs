//! A small database with a catalog, and what has to hold of it whatever happened.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use access::RowAddress;
use catalog::{
    Alteration, Catalog, CatalogConfig, ColumnSpec, ConstraintSpec, DefaultSpec, Dependency,
    DictionaryTable, ForeignKeySpec, IndexColumnSpec, IndexSpec, ObjectId, Rule, TableAlterations,
    TableSpec, ViewSpec, place_of,
};
use ids::FileNo;
use instance::{Creation, Instance, Parameters, Transaction};
use os::{FilesystemIo, Session, ThreadHandle, ThreadSpec};
use relation::{
    CheckCompiler, CheckExpression, OnDelete, Predicate, Relation, Scratch, TableDefinition, Truth,
    Work,
};
use sim::fs::FileSystem;
use sim::{Simulation, World};
use sort::SortConfig;
use stop::{RefusalKind, Stop};
use testbed::bed;
pub(crate) use testbed::bed::directory;
pub(crate) use testbed::{ended, join, left, machine, racy, run, run_kept};
use txn::LockWait;
use value::{Direction, OwnedValue, RowView, Type, Value};

pub(crate) const WAIT: LockWait = LockWait::Forever;

/// A statement.
pub(crate) type Run = fn(&Db, &Session) -> Result<(), Stop>;

pub(crate) fn creation() -> Creation {
    Creation {
        data_bytes: 300 * 2048,
        data_bytes_max: 4_000 * 2048,
        data_growth_bytes: 32 * 2048,
        ..bed::creation()
    }
}

pub(crate) fn parameters() -> Parameters {
    bed::parameters(96)
}

/// Plays SQL: it knows the expressions `column < number`.
struct Compiler;

struct Below {
    column: usize,
    most: i64,
}

impl CheckCompiler for Compiler {
    fn compile(
        &self,
        check: &CheckExpression,
        table: &TableDefinition,
    ) -> Result<Box<dyn Predicate>, Stop> {
        let Some((column, most)) = check.text.split_once(" < ") else {
            let message = format!("no expression: {}", check.text);
            return Err(Stop::refuse(RefusalKind::Invalid, message));
        };
        let column = place_of(table, column)?;
        Ok(Box::new(Below { column, most: most.parse().expect("a number") }))
    }
}

impl Predicate for Below {
    fn truth(&self, row: &[Value<'_>]) -> Result<Truth, Stop> {
        Ok(match row[self.column] {
            Value::Int(int) if int < self.most => Truth::True,
            Value::Int(_) => Truth::False,
            _ => Truth::Unknown,
        })
    }
}

/// An open database with its catalog.
#[derive(Clone)]
pub(crate) struct Db {
    pub(crate) instance: Arc<Instance>,
    pub(crate) catalog: Arc<Catalog>,
}

/// A database on which `body` has worked.
pub(crate) fn database(body: impl FnOnce(&Db, &Session) + Send + 'static) -> FileSystem {
    database_with(creation(), body)
}

/// A database that was created so, and on which `body` has worked.
pub(crate) fn database_with(
    creation: Creation,
    body: impl FnOnce(&Db, &Session) + Send + 'static,
) -> FileSystem {
    let (made, disk) = run_kept(machine(1, FileSystem::new(1 << 30)), move |world, session| {
        Instance::create(&world.disk(), directory(), &creation, &parameters(), session).map(drop)
    });
    made.expect("created");
    with(disk, body)
}

/// Runs `body` on a database, and shuts it.
pub(crate) fn with(
    content: FileSystem,
    body: impl FnOnce(&Db, &Session) + Send + 'static,
) -> FileSystem {
    with_db(machine(1, content), body).1
}

/// Runs `body` on the database of a machine, checks and shuts it.
pub(crate) fn with_db<R: Send + 'static>(
    simulation: Simulation,
    body: impl FnOnce(&Db, &Session) -> R + Send + 'static,
) -> (R, FileSystem) {
    run_kept(simulation, move |world, session| {
        let db = Db::open(world, session).expect("opened");
        let result = body(&db, session);
        db.check(session);
        db.shut(session);
        result
    })
}

impl Db {
    pub(crate) fn open(world: &World, session: &Session) -> Result<Db, Stop> {
        let instance = Instance::open(&world.disk(), directory(), &parameters(), session)?;
        let config = CatalogConfig {
            tablespace: "system".into(),
            disk: world.disk(),
            sort: SortConfig {
                directory: directory().into(),
                area_bytes: sort::SORT_AREA_BYTES_MIN,
                filesystem_io: FilesystemIo::SetAll,
                file: FileNo::new(999),
                budget: None,
            },
        };
        let (space, transactions) = (instance.space(), instance.transactions());
        match Catalog::open_with(space, transactions, config, Arc::new(Compiler), session) {
            Ok(catalog) => Ok(Db { instance: Arc::new(instance), catalog: Arc::new(catalog) }),
            Err(stop) => {
                instance.abort(session);
                Err(stop)
            }
        }
    }

    /// Shuts the catalog, which no other session uses any more.
    pub(crate) fn shut(self, session: &Session) {
        let Db { instance, catalog } = self;
        drop(catalog);
        instance.shutdown(session).expect("shut in good order");
    }

    /// One session in a thread of its own.
    pub(crate) fn start(
        &self,
        name: &str,
        session: &Session,
        body: impl FnOnce(&Db, &Session) + Send + 'static,
    ) -> ThreadHandle {
        let db = self.clone();
        let body = move |session: &Session| body(&db, session);
        session.spawn(ThreadSpec::foreground(name), body).expect("started")
    }

    pub(crate) fn relation(&self, name: &str, session: &Session) -> Arc<Relation> {
        self.catalog.relation(name, session).expect("there")
    }

    /// Works with a transaction, and commits it; rolls back if it is refused.
    pub(crate) fn transact<T>(
        &self,
        session: &Session,
        body: impl FnOnce(&mut Work<'_>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let (mut transaction, mut scratch) = (Transaction::new(), Scratch::default());
        let done = body(&mut Work {
            transaction: &mut transaction,
            scratch: &mut scratch,
            relations: &*self.catalog,
            session,
        });
        match done {
            Ok(value) => self.instance.commit(transaction, session).map(|()| value),
            Err(stop) => {
                self.instance.rollback(transaction, session)?;
                Err(stop)
            }
        }
    }

    /// Inserts a row and commits it.
    pub(crate) fn insert(
        &self,
        table: &str,
        values: &[Value<'_>],
        session: &Session,
    ) -> Result<RowAddress, Stop> {
        let relation = self.catalog.relation(table, session)?;
        self.transact(session, |work| relation.insert(work, values))
    }

    /// All committed rows, as text.
    pub(crate) fn rows(&self, table: &str, session: &Session) -> BTreeSet<String> {
        let relation = self.relation(table, session);
        let transactions = self.instance.transactions();
        let snapshot = transactions.snapshot(None, session).expect("a snapshot");
        let view = transactions.view_of(&snapshot, None);
        let mut rows = BTreeSet::new();
        let mut visit = |_, row: RowView<'_>| {
            let mut values = Vec::new();
            row.get_all(&mut values).expect("a row");
            let values: Vec<String> = values.iter().map(ToString::to_string).collect();
            rows.insert(values.join(", "));
        };
        relation.scan(view, &mut visit, session).expect("read");
        rows
    }

    /// All definitions without their numbers, which differ from run to run.
    pub(crate) fn describe(&self, session: &Session) -> String {
        let mut text = String::new();
        for table in self.catalog.definitions(session) {
            writeln!(text, "table {}", table.name).expect("a text takes all");
            for column in &table.columns {
                let default = match &column.default {
                    relation::Default::Constant(value) => value.get().to_string(),
                    relation::Default::Identity { .. } => "identity".into(),
                    relation::Default::Expression(text) => text.clone(),
                };
                let (name, kind, missing) = (&column.name, column.kind, column.missing.get());
                let not_null = column.not_null;
                writeln!(text, "  {name} {kind} {not_null} {default} {missing}").expect("text");
            }
            for index in &table.indexes {
                let (name, columns) = (&index.name, &index.columns);
                let flags = (index.unique, index.primary);
                writeln!(text, "  index {name} {columns:?} {flags:?}").expect("text");
            }
            for check in &table.checks {
                writeln!(text, "  check {check:?}").expect("text");
            }
            for check in &table.expressions {
                writeln!(text, "  check {check:?}").expect("text");
            }
            self.describe_annotations(ObjectId::Table(table.object), &mut text, session);
            for key in &table.foreign_keys {
                let parent = self.catalog.relation_of(key.references, session).expect("there");
                let (parent, columns) = (&parent.definition().name, &key.columns);
                let to = (&key.referenced_columns, key.on_delete);
                writeln!(text, "  {} {columns:?} to {parent} {to:?}", key.name).expect("text");
            }
            let rows = self.rows(&table.name, session);
            writeln!(text, "  {} rows {:?}", rows.len(), rows.first()).expect("text");
        }
        for sequence in self.catalog.sequences(session) {
            let (of, next) = (sequence.definition, sequence.next);
            writeln!(text, "sequence {} by {} to {}", of.name, of.increment, of.max).expect("text");
            writeln!(text, "  next {next:?}").expect("text");
        }
        for view in self.catalog.views(session) {
            let reads: Vec<_> = view.depends_on.iter().map(|one| one.object.kind()).collect();
            writeln!(text, "view {} {:?} {reads:?}", view.name, view.columns).expect("text");
            self.describe_annotations(ObjectId::View(view.object), &mut text, session);
        }
        for external in self.catalog.externals(session) {
            let (name, columns, options) = (&external.name, &external.columns, &external.options);
            writeln!(text, "external {name} {columns:?} {options}").expect("text");
        }
        text
    }

    /// Comments, and how many rows statistics say that there are.
    fn describe_annotations(&self, object: ObjectId, text: &mut String, session: &Session) {
        for column in [None, Some(0), Some(1), Some(2)] {
            if let Some(comment) = self.catalog.comment(object, column, session) {
                writeln!(text, "  comment on {column:?}: {comment}").expect("text");
            }
        }
        if let ObjectId::Table(table) = object
            && let Some(statistics) = self.catalog.statistics(table, session)
        {
            writeln!(text, "  statistics: {} rows", statistics.rows).expect("text");
        }
    }

    /// Asks for all that can be asked for.
    pub(crate) fn describe_all(&self, session: &Session) {
        self.catalog.tables(session).expect("listed");
        self.catalog.definitions(session);
        self.catalog.sequences(session);
    }

    /// Segments are those that definitions name; indexes agree with rows; space with itself.
    pub(crate) fn check(&self, session: &Session) {
        let space = self.instance.space();
        let mut named = BTreeSet::new();
        for table in self.catalog.definitions(session) {
            named.insert(table.segment);
            named.extend(table.indexes.iter().map(|index| index.segment));
            self.check_table(&table.name, session);
        }
        let all = space.list(session).expect("listed");
        let user = all.iter().filter(|segment| segment.name.starts_with('#'));
        let there: BTreeSet<_> = user.map(|segment| segment.object).collect();
        assert_eq!(there, named, "segments are those that the dictionary names");
        for segment in &all {
            let state = space.state(segment.object, session);
            assert_eq!(state, Some(space::SegmentState::Permanent), "{}", segment.name);
        }
        let has = DictionaryTable::of(self.catalog.dictionary_version(session));
        for table in DictionaryTable::ALL {
            for name in [table.name().to_string(), table.index_name()] {
                let is_there = all.iter().any(|segment| segment.name == name);
                assert_eq!(is_there, has.contains(&table), "{name} is there if its version is");
            }
        }
        self.check_views(session);
        space.check(session).expect("space agrees");
        self.instance.transactions().undo().check(session).expect("undo agrees");
    }

    /// What views read is there.
    fn check_views(&self, session: &Session) {
        for view in self.catalog.views(session) {
            for Dependency { object, columns } in &view.depends_on {
                let version = self.catalog.version(*object, session);
                assert!(version.is_some(), "{} reads {object:?}", view.name);
                if let ObjectId::Table(table) = object {
                    let table = self.catalog.relation_of(*table, session).expect("there");
                    let columns_of = &table.definition().columns;
                    assert!(columns.iter().all(|place| !columns_of[*place].is_dropped()));
                }
            }
        }
    }

    /// The object of this name.
    pub(crate) fn named(&self, name: &str, session: &Session) -> ObjectId {
        self.catalog.named(name, session).unwrap_or_else(|| panic!("there is no {name}"))
    }

    /// A view that reads these columns of an object, and has as many.
    pub(crate) fn view_of(
        &self,
        name: &str,
        reads: &str,
        columns: &[usize],
        session: &Session,
    ) -> ViewSpec {
        let bound_in = self.catalog.generation(session);
        let object = self.named(reads, session);
        ViewSpec {
            name: name.into(),
            text: format!("select {columns:?} from {reads}"),
            columns: columns.iter().map(|column| format!("c{column}")).collect(),
            depends_on: vec![Dependency { object, columns: columns.to_vec() }],
            bound_in,
            replace: false,
            retyped: vec![],
        }
    }

    fn check_table(&self, name: &str, session: &Session) {
        let relation = self.relation(name, session);
        let transactions = self.instance.transactions();
        let snapshot = transactions.snapshot(None, session).expect("a snapshot");
        let view = transactions.view_of(&snapshot, None);
        for number in 0..relation.definition().indexes.len() {
            let mut wanted = BTreeSet::new();
            let mut visit = |address, row: RowView<'_>| {
                let mut key = Vec::new();
                relation.push_entry_key(number, address, &row, &mut key).expect("a key");
                wanted.insert((key, address));
            };
            relation.scan(view, &mut visit, session).expect("read");
            let mut found = BTreeSet::new();
            let mut visit = |key: &[u8], row| {
                found.insert((key.to_vec(), row));
            };
            let index = relation.index(number);
            index.check(&mut visit, session).unwrap_or_else(|what| panic!("{name}: {what}"));
            assert_eq!(found, wanted, "index {} agrees with {name}", index.name());
        }
    }
}

/// Alters a table by all of these together; `seen_in` is the generation before it was looked at.
pub(crate) fn alter_together(
    db: &Db,
    table: &str,
    all: Vec<Alteration>,
    seen_in: Option<u64>,
    session: &Session,
) -> Result<(), Stop> {
    let alterations = TableAlterations { all, conversions: BTreeMap::new(), seen_in };
    db.catalog.alter_together(table, alterations, WAIT, session)
}

#[track_caller]
pub(crate) fn refused<T>(result: Result<T, Stop>, kind: RefusalKind, says: &str) {
    let Err(stop) = result else { panic!("it isn't refused ({says})") };
    let text = stop.to_string();
    assert_eq!(stop.refusal(), Some(kind), "{text}");
    assert!(text.contains(says), "{text:?} doesn't say {says:?}");
}

pub(crate) fn column(name: &str, kind: Type) -> ColumnSpec {
    let default = DefaultSpec::Constant(OwnedValue::NULL);
    ColumnSpec { name: name.into(), kind, not_null: false, default }
}

pub(crate) fn text(chars: u16) -> Type {
    Type::varchar(chars).expect("a type")
}

fn names(columns: &[&str]) -> Vec<String> {
    columns.iter().map(ToString::to_string).collect()
}

pub(crate) fn primary(columns: &[&str]) -> ConstraintSpec {
    ConstraintSpec { name: None, rule: Rule::PrimaryKey(names(columns)) }
}

pub(crate) fn unique(columns: &[&str]) -> ConstraintSpec {
    ConstraintSpec { name: None, rule: Rule::Unique(names(columns)) }
}

pub(crate) fn foreign(columns: &[&str], references: &str, on_delete: OnDelete) -> ConstraintSpec {
    let key = ForeignKeySpec {
        columns: names(columns),
        references: references.into(),
        referenced_columns: Vec::new(),
        on_delete,
    };
    ConstraintSpec { name: None, rule: Rule::ForeignKey(key) }
}

pub(crate) fn table(
    name: &str,
    columns: Vec<ColumnSpec>,
    constraints: Vec<ConstraintSpec>,
) -> TableSpec {
    TableSpec { columns, constraints, ..TableSpec::new(name) }
}

pub(crate) fn index(name: &str, table: &str, columns: &[&str], unique: bool) -> IndexSpec {
    let columns = columns.iter().map(|name| IndexColumnSpec {
        name: name.to_string(),
        direction: Direction::Ascending,
        nulls: None,
    });
    let columns = columns.collect();
    IndexSpec { name: name.into(), table: table.into(), columns, unique, tablespace: None }
}

/// `customer (id, name, city)` with its primary key.
pub(crate) fn customer() -> TableSpec {
    let columns =
        vec![column("id", Type::BigInt), column("name", text(40)), column("city", text(40))];
    table("customer", columns, vec![primary(&["id"])])
}

/// `orders (id, customer)`, which refers to customers.
pub(crate) fn orders(on_delete: OnDelete) -> TableSpec {
    let columns = vec![column("id", Type::BigInt), column("customer", Type::Integer)];
    let constraints = vec![primary(&["id"]), foreign(&["customer"], "customer", on_delete)];
    table("orders", columns, constraints)
}

/// Customers of these numbers.
pub(crate) fn fill(db: &Db, numbers: std::ops::Range<i64>, session: &Session) {
    let customer = db.relation("customer", session);
    for number in numbers {
        let name = format!("name {number}");
        let city = format!("city {}", number % 7);
        let row = [Value::Int(number), Value::Text(&name), Value::Text(&city)];
        db.transact(session, |work| customer.insert(work, &row)).expect("inserted");
    }
}
