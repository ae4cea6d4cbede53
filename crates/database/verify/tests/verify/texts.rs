//! What is kept for SQL: views, external tables, expressions, comments, statistics. A dictionary
//! with them is in order, and what contradicts its other rows is found.

use std::collections::BTreeMap;
use std::sync::Arc;

use catalog::{
    Alteration, Catalog, ColumnStatistics, ConstraintSpec, DICTIONARY_VERSION, Dependency,
    DictionaryTable, ExternalColumn, ExternalSpec, IndexStatistics, ObjectId, Rule,
    TableStatistics, ViewSpec,
};
use ids::{ObjectNo, Scn};
use instance::Instance;
use os::Session;
use relation::{CheckCompiler, CheckExpression, Predicate, TableDefinition, Truth};
use sim::World;
use sim::fs::FileSystem;
use stop::Stop;
use value::{Timestamp, Type, Value};
use verify::Kind;

use crate::common::{check, directory, machine, parameters, run_kept, with_database};
use crate::dictionary::{Damage, WAIT, check_open, config, database, found_in, only};

/// Plays SQL: every expression is true.
struct AlwaysTrue;

impl CheckCompiler for AlwaysTrue {
    fn compile(
        &self,
        _: &CheckExpression,
        _: &TableDefinition,
    ) -> Result<Box<dyn Predicate>, Stop> {
        Ok(Box::new(AlwaysTrue))
    }
}

impl Predicate for AlwaysTrue {
    fn truth(&self, _: &[Value<'_>]) -> Result<Truth, Stop> {
        Ok(Truth::True)
    }
}

/// Works with the catalog of the database that is open in this world, and shuts it.
fn with_catalog(world: &World, session: &Session, work: impl FnOnce(&Catalog, &Instance)) {
    let opened = Instance::open(&world.disk(), directory(), &parameters(), session);
    let instance = opened.expect("opened");
    let (space, transactions) = (instance.space(), instance.transactions());
    let compiler = Arc::new(AlwaysTrue);
    let opened = Catalog::open_with(space, transactions, config(world), compiler, session);
    let catalog = opened.expect("opened");
    work(&catalog, &instance);
    drop(catalog);
    instance.shutdown(session).expect("shut in good order");
}

fn view(name: &str, columns: &[&str], depends_on: Vec<Dependency>, bound_in: u64) -> ViewSpec {
    let columns = columns.iter().map(ToString::to_string).collect();
    let (text, replace, retyped) = (format!("select {name}"), false, vec![]);
    ViewSpec { name: name.into(), text, columns, depends_on, bound_in, replace, retyped }
}

/// Adds something of everything to the tables that there are.
fn add_texts(catalog: &Catalog, session: &Session) {
    let parent = catalog.table("parent", session).expect("there");
    let read = |object, columns: &[usize]| Dependency { object, columns: columns.to_vec() };
    let names = vec![read(ObjectId::Table(parent.object), &[0, 1])];
    let spec = view("names", &["id", "name"], names, catalog.generation(session));
    let names = catalog.create_view(&spec, session).expect("created");
    let short = vec![read(ObjectId::View(names), &[1])];
    let spec = view("short", &["name"], short, catalog.generation(session));
    catalog.create_view(&spec, session).expect("created");
    let columns = vec![ExternalColumn { name: "line".into(), kind: Type::Text }];
    let spec = ExternalSpec { name: "outside".into(), columns, options: "location 'x'".into() };
    catalog.create_external(&spec, session).expect("created");
    let (column, text) = ("parent".into(), "least(1, 2)".into());
    let default = Alteration::SetDefaultExpression { column, text };
    catalog.alter_table("child", &default, WAIT, session).expect("altered");
    let rule = Rule::CheckExpression { text: "name > ''".into(), columns: vec!["name".into()] };
    let check = Alteration::AddConstraint(ConstraintSpec { name: None, rule });
    catalog.alter_table("parent", &check, WAIT, session).expect("altered");
    for (name, column) in [("parent", None), ("parent", Some("name")), ("names", Some("id"))] {
        catalog.comment_on(name, column, Some("a comment"), session).expect("commented");
    }
    let index =
        IndexStatistics { height: 2, leaf_blocks: 3, distinct_keys: 90, clustering_factor: 9 };
    let statistics = TableStatistics {
        rows: 90,
        blocks: 20,
        row_bytes: 100,
        sampled: 90,
        scn: Scn::new(5),
        analyzed: Timestamp::from_us(0).expect("a moment"),
        columns: BTreeMap::from([(1, ColumnStatistics::default())]),
        indexes: BTreeMap::from([(parent.indexes[0].object, index)]),
    };
    let set = catalog.set_statistics(parent.object, Some(statistics), session);
    set.expect("set");
    assert_eq!(catalog.dictionary_version(session), DICTIONARY_VERSION);
}

fn database_with_texts() -> FileSystem {
    let ((), disk) = run_kept(machine(3, database()), |world, session| {
        with_catalog(world, session, |catalog, _| add_texts(catalog, session));
    });
    disk
}

impl Damage<'_> {
    /// The key of the view or external table of this name.
    fn text_of(&self, name: &str) -> [i64; 3] {
        let rows = self.rows(DictionaryTable::Texts);
        let row = rows.iter().find(|row| row[3].trim_matches('\'') == name);
        let row = row.unwrap_or_else(|| panic!("no {name} in {rows:?}"));
        [0, 1, 2].map(|at: usize| row[at].parse().expect("a number"))
    }
}

#[test]
fn a_dictionary_with_texts_and_statistics_is_in_order() {
    with_database(database_with_texts(), |world, session| {
        let (report, told) = check(&world.disk(), None, session);
        let report = report.expect("checked");
        assert_eq!((told, report.is_clean()), (vec![], true), "{report}");
        // Nine of the dictionary, four of `parent`, two of `child`.
        assert_eq!(report.compared, 15, "{report}");
        with_catalog(world, session, |catalog, instance| {
            let (_, told) = check_open(instance, session);
            assert_eq!(told, []);
            let parent = catalog.object("parent", session).expect("there");
            let found = catalog.statistics(parent, session).expect("there are some");
            assert_eq!((found.rows, found.columns.len(), found.indexes.len()), (90, 1, 1));
        });
    });
}

#[test]
fn texts_of_nothing_are_found() {
    use DictionaryTable::{Constraints, Statistics, Texts};
    let disk = database_with_texts();
    let found = |damage: fn(&Damage<'_>)| found_in(disk.clone(), damage);
    // A view that the other one reads, and a column of it that has a comment.
    let gone = found(|damage| damage.delete(Texts, &damage.text_of("names")));
    assert_eq!(gone, only(Kind::Dictionary, 2));
    let gone = found(|damage| {
        let row = damage.text_of("names");
        damage.set(Texts, &row, (5, Value::Bytes(&[1, 0, 0])));
    });
    // It makes no sense, and has no columns.
    assert_eq!(gone, only(Kind::Dictionary, 3));
    let twice = found(|damage| {
        damage.set(Texts, &damage.text_of("outside"), (3, Value::Text("parent")));
    });
    assert_eq!(twice, only(Kind::Dictionary, 1));
    let default = found(|damage| {
        damage.set(Texts, &[3, damage.table("child").0, 1], (2, Value::Int(9)));
    });
    assert_eq!(default, only(Kind::Dictionary, 1));
    // The constraint is the second one: its text, and itself.
    let check = found(|damage| damage.delete(Texts, &[4, damage.table("parent").0, 1]));
    assert_eq!(check, only(Kind::Dictionary, 1));
    let check = found(|damage| damage.delete(Constraints, &[damage.table("parent").0, 1]));
    assert_eq!(check, only(Kind::Dictionary, 1));
    let comment = found(|damage| {
        damage.set(Texts, &[11, damage.table("parent").0, 2], (2, Value::Int(77)));
    });
    assert_eq!(comment, only(Kind::Dictionary, 1));
    let statistics = found(|damage| {
        let key = [damage.table("parent").0, 3, damage.index("parent_pkey").0];
        damage.set(Statistics, &key, (2, Value::Int(4_711)));
    });
    assert_eq!(statistics, only(Kind::Dictionary, 1));
}

#[test]
fn a_version_without_its_tables_and_one_of_the_future_are_found() {
    let disk = database_with_texts();
    for name in ["_texts", "_texts_key", "_statistics", "_statistics_key"] {
        let found = found_in(disk.clone(), move |damage| {
            let found = damage.instance.space().find(name, damage.session);
            damage.drop(found.expect("read").expect("there").object.get().into());
        });
        // While it is open, another session may have brought the dictionary to its version.
        assert_eq!(found, only(Kind::Dictionary, 1), "{name}");
    }
    let found = found_in(disk, |damage| {
        damage.set(DictionaryTable::Tables, &[0], (2, Value::Int(3)));
    });
    assert_eq!(found, only(Kind::Dictionary, 1), "nothing is judged that isn't understood");
}

/// What an attempt has left that was cut off before its commit means nothing.
#[test]
fn tables_of_a_version_that_no_row_says_are_passed_over() {
    let found = found_in(database_with_texts(), |damage| {
        damage.delete(DictionaryTable::Tables, &[0]);
        // The CHECK that is an expression has no text in this version.
        damage.delete(DictionaryTable::Constraints, &[damage.table("parent").0, 1]);
    });
    assert_eq!(found, [].into());
}

#[test]
fn numbers_of_views_and_tables_are_apart() {
    assert_ne!(ObjectId::Table(ObjectNo::new(5)), ObjectId::View(ObjectNo::new(5)));
}
