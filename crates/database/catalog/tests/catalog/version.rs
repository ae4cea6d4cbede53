//! A dictionary has a version: it stays what it was until a statement needs more, it isn't brought
//! up by halves, and one of the future is refused.

use std::sync::Arc;

use catalog::{DICTIONARY_VERSION, DICTIONARY_VERSION_FIRST, DictionaryTable};
use instance::{Creation, Instance, Transaction};
use os::Session;
use relation::{Relation, RowChange, Scratch, Selection, Work};
use sim::World;
use sim::fs::FileSystem;
use stop::RefusalKind;
use value::{RowView, Type, Value};

use crate::common::{
    Db, WAIT, column, creation, customer, database, database_with, directory, fill, machine,
    parameters, primary, refused, run, run_kept, table, text, with,
};

#[test]
fn a_dictionary_has_the_first_version_until_a_statement_needs_more() {
    let disk = database(|db, session| {
        let version = || db.catalog.dictionary_version(session);
        assert_eq!(version(), DICTIONARY_VERSION_FIRST);
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        fill(db, 0..5, session);
        // What takes nothing away needs nothing.
        db.catalog.comment_on("customer", None, None, session).expect("there is none");
        let table = db.catalog.object("customer", session).expect("there");
        db.catalog.set_statistics(table, None, session).expect("there are none");
        let spec = db.view_of("v", "customer", &[0], session);
        let bad = catalog::ViewSpec { columns: vec![], ..spec };
        refused(db.catalog.create_view(&bad, session), RefusalKind::Invalid, "0 columns");
        assert_eq!(version(), DICTIONARY_VERSION_FIRST);
    });
    let disk = with(disk, |db, session| {
        assert_eq!(db.catalog.dictionary_version(session), DICTIONARY_VERSION_FIRST);
        db.catalog.comment_on("customer", None, Some("who buys"), session).expect("set");
        assert_eq!(db.catalog.dictionary_version(session), DICTIONARY_VERSION);
        db.catalog.comment_on("customer", None, None, session).expect("taken away");
        assert_eq!(db.catalog.dictionary_version(session), DICTIONARY_VERSION);
        db.check(session);
    });
    with(disk, |db, session| {
        assert_eq!(db.catalog.dictionary_version(session), DICTIONARY_VERSION);
        assert_eq!(db.rows("customer", session).len(), 5);
        assert_eq!(db.catalog.opened().tables, 1, "the version is no table");
        db.catalog
            .create_table(&table("t", vec![column("a", Type::Text)], vec![]), WAIT, session)
            .expect("created");
    });
}

/// Sets the version that the dictionary's row says, below the catalog.
fn set_version(world: &World, version: i64, session: &Session) {
    let opened = Instance::open(&world.disk(), directory(), &parameters(), session);
    let instance = opened.expect("opened");
    let (space, transactions) = (instance.space(), instance.transactions());
    let find = |name: &str| space.find(name, session).expect("read").expect("there").object;
    let own = DictionaryTable::Tables;
    let definition = own.definition(find(own.name()), find(&own.index_name()));
    let own = Relation::open(Arc::new(definition), space, transactions, session).expect("opened");
    let (mut transaction, mut scratch) = (Transaction::new(), Scratch::default());
    let relations = &Nobody;
    let mut work =
        Work { transaction: &mut transaction, scratch: &mut scratch, relations, session };
    let key = [Value::Int(0)];
    let mut change = |_: &RowView<'_>, row: &mut RowChange<'_>| row.set(2, Value::Int(version));
    let changed = own.update_where(&mut work, Selection::Key(0, &key), None, &mut change);
    assert_eq!(changed.expect("changed"), 1, "a row says the version");
    instance.commit(transaction, session).expect("committed");
    drop(own);
    instance.shutdown(session).expect("shut in good order");
}

struct Nobody;

impl relation::Relations for Nobody {
    fn relation(&self, object: ids::ObjectNo, _: &Session) -> Result<Arc<Relation>, stop::Stop> {
        unreachable!("somebody asks for table {object}")
    }
}

#[test]
fn a_version_of_the_future_is_refused_and_the_database_opens_with_its_own_program() {
    let disk = database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        db.catalog.comment_on("customer", None, Some("who buys"), session).expect("set");
    });
    let ((), disk) = run_kept(machine(2, disk), |world, session| {
        set_version(world, 3, session);
        let opened = Db::open(world, session).map(|db| db.shut(session));
        refused(opened, RefusalKind::WrongState, "version 3, and this program knows those up to 2");
    });
    let ((), disk) = run_kept(machine(3, disk), |world, session| {
        set_version(world, 1, session);
        let opened = Db::open(world, session).map(|db| db.shut(session));
        refused(opened, RefusalKind::Corrupt, "says no version");
        set_version(world, DICTIONARY_VERSION.into(), session);
    });
    with(disk, |db, session| {
        let customer = db.named("customer", session);
        assert_eq!(db.catalog.comment(customer, None, session).as_deref(), Some("who buys"));
    });
}

/// A statement that needs tables of the dictionary is refused where there is no room for them, and
/// all others go on.
#[test]
fn without_room_for_its_tables_the_version_stays() {
    let bytes = 300 * 2048;
    let small = Creation { data_bytes: bytes, data_bytes_max: bytes, ..creation() };
    let disk = database_with(small, |db, session| {
        let spec = table(
            "t",
            vec![column("id", Type::BigInt), column("name", text(2_000))],
            vec![primary(&["id"])],
        );
        db.catalog.create_table(&spec, WAIT, session).expect("created");
        let long = "x".repeat(1_500);
        let full = (0..10_000)
            .find_map(|id| {
                let row = [Value::Int(id), Value::Text(&long)];
                db.insert("t", &row, session).err()
            })
            .expect("it gets full");
        assert_eq!(full.refusal(), Some(RefusalKind::NoSpace), "{full}");
        let commented = db.catalog.comment_on("t", None, Some("full"), session);
        refused(commented, RefusalKind::NoSpace, "need tables of the dictionary");
        assert_eq!(db.catalog.dictionary_version(session), DICTIONARY_VERSION_FIRST);
        db.check(session);
        let rename = catalog::Alteration::RenameTable("s".into());
        db.catalog.alter_table("t", &rename, WAIT, session).expect("renamed");
    });
    with(disk, |db, session| {
        assert_eq!(db.catalog.dictionary_version(session), DICTIONARY_VERSION_FIRST);
        db.catalog.drop_table("s", false, WAIT, session).expect("dropped");
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        db.catalog.comment_on("customer", None, Some("there is room"), session).expect("set");
    });
}

/// A small new database has room for the tables of the newest version, and for users'.
#[test]
fn a_small_new_database_has_room_for_every_table_of_the_dictionary() {
    run(machine(1, FileSystem::new(1 << 30)), |world, session| {
        let disk = world.disk();
        let bytes = 100 * 2048;
        let small = Creation { data_bytes: bytes, data_bytes_max: bytes, ..creation() };
        Instance::create(&disk, directory(), &small, &parameters(), session).expect("created");
        let db = Db::open(world, session).expect("opened");
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        let spec = db.view_of("v", "customer", &[0], session);
        db.catalog.create_view(&spec, session).expect("created");
        fill(&db, 0..10, session);
        db.check(session);
        db.shut(session);
    });
}
