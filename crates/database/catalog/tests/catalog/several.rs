//! DROP of several objects: all of them go or none, and none is in the way of another (DC45).

use catalog::{Alteration, ColumnSpec, DefaultSpec, Dropping, SequenceOptions, TableSpec};
use os::Session;
use relation::OnDelete;
use stop::RefusalKind;
use value::{Type, Value};

use crate::common::{
    Db, WAIT, column, customer, database, fill, foreign, index, orders, primary, refused, table,
    with,
};
use crate::views::external;

const RESTRICT: Dropping = Dropping { cascade: false, if_exists: false };
const CASCADE: Dropping = Dropping { cascade: true, if_exists: false };
const IF_EXISTS: Dropping = Dropping { cascade: false, if_exists: true };

/// `line (id, orders, customer)`, which refers to both.
fn line() -> TableSpec {
    let columns = ["id", "orders", "customer"].map(|name| column(name, Type::BigInt));
    let of_orders = foreign(&["orders"], "orders", OnDelete::NoAction);
    let of_customer = foreign(&["customer"], "customer", OnDelete::NoAction);
    table("line", columns.into(), vec![primary(&["id"]), of_orders, of_customer])
}

/// Customers, their orders and the lines of these.
fn make(db: &Db, session: &Session) {
    for spec in [customer(), orders(OnDelete::NoAction), line()] {
        db.catalog.create_table(&spec, WAIT, session).expect("created");
    }
    fill(db, 0..5, session);
    db.insert("orders", &[Value::Int(1), Value::Int(3)], session).expect("inserted");
}

fn view(db: &Db, name: &str, reads: &str, session: &Session) {
    let spec = db.view_of(name, reads, &[0, 1], session);
    db.catalog.create_view(&spec, session).expect("created");
}

#[test]
fn tables_that_refer_to_each_other_are_dropped_together_or_stay() {
    let disk = database(|db, session| {
        make(db, session);
        view(db, "names", "customer", session);
        let before = db.describe(session);
        let drop = |names: &[&str], how| db.catalog.drop_tables(names, how, WAIT, session);
        let unknown = drop(&["line", "nothing"], RESTRICT);
        refused(unknown, RefusalKind::NotFound, "no table \"nothing\"");
        refused(drop(&["line", "names"], IF_EXISTS), RefusalKind::NotFound, "this is a view");
        let read = drop(&["orders", "customer", "line"], RESTRICT);
        refused(read, RefusalKind::WrongState, "view names depends on it");
        assert_eq!(db.describe(session), before, "nothing of it is done");
        db.check(session);
        db.catalog.drop_view("names", false, session).expect("dropped");
        let referred = drop(&["customer", "orders"], RESTRICT);
        refused(referred, RefusalKind::WrongState, "of table line");
        let names = ["customer", "nothing", "line", "customer", "orders"];
        assert_eq!(drop(&names, IF_EXISTS).expect("dropped"), 1, "a name is passed over");
        assert_eq!(db.describe(session), "");
        assert_eq!(drop(&["customer", "nothing"], IF_EXISTS).expect("there is none"), 2);
    });
    with(disk, |db, session| assert_eq!(db.describe(session), ""));
}

#[test]
fn what_depends_on_several_tables_goes_with_them() {
    database(|db, session| {
        make(db, session);
        view(db, "names", "customer", session);
        view(db, "sold", "orders", session);
        db.catalog.create_external(&external("files"), session).expect("created");
        let names = ["orders", "files", "customer"];
        db.catalog.drop_tables(&names, CASCADE, WAIT, session).expect("dropped");
        assert!(db.catalog.views(session).is_empty() && db.catalog.externals(session).is_empty());
        let line = db.catalog.table("line", session).expect("there");
        assert!(line.foreign_keys.is_empty());
        let row = [Value::Int(1), Value::Int(99), Value::Int(99)];
        db.insert("line", &row, session).expect("it refers to nothing any more");
    });
}

#[test]
fn views_that_read_each_other_are_dropped_together_or_stay() {
    database(|db, session| {
        make(db, session);
        view(db, "names", "customer", session);
        view(db, "above", "names", session);
        view(db, "top", "above", session);
        let before = db.describe(session);
        let drop = |names: &[&str], how| db.catalog.drop_views(names, how, session);
        refused(drop(&["names", "above"], RESTRICT), RefusalKind::WrongState, "view top depends");
        refused(drop(&["top", "nothing"], RESTRICT), RefusalKind::NotFound, "no view");
        refused(drop(&["top", "customer"], IF_EXISTS), RefusalKind::NotFound, "this is a table");
        assert_eq!(db.describe(session), before, "nothing of it is done");
        let generation = db.catalog.generation(session);
        assert_eq!(drop(&["nothing", "no"], IF_EXISTS).expect("there is none"), 2);
        assert_eq!(db.catalog.generation(session), generation, "nothing has changed");
        let names = ["names", "top", "nothing", "names", "above"];
        assert_eq!(drop(&names, IF_EXISTS).expect("dropped"), 1);
        assert!(db.catalog.views(session).is_empty());
    });
}

#[test]
fn sequences_are_dropped_together_or_go_on() {
    database(|db, session| {
        let identity = DefaultSpec::Identity { always: true, options: SequenceOptions::default() };
        let id = ColumnSpec { default: identity, ..column("id", Type::BigInt) };
        let tree = table("tree", vec![id], vec![primary(&["id"])]);
        db.catalog.create_table(&tree, WAIT, session).expect("created");
        for name in ["s", "t"] {
            let options = SequenceOptions::default();
            db.catalog.create_sequence(name, &options, session).expect("created");
        }
        let drop = |names: &[&str], how| db.catalog.drop_sequences(names, how, session);
        let own = drop(&["s", "tree_id_seq"], RESTRICT);
        refused(own, RefusalKind::WrongState, "an identity column of table tree");
        refused(drop(&["s", "tree"], IF_EXISTS), RefusalKind::NotFound, "this is a table");
        let s = db.catalog.sequence("s", session).expect("there");
        assert_eq!(db.catalog.next_value(&s, session).expect("it goes on"), 1);
        assert_eq!(drop(&["s", "t", "s", "nothing"], IF_EXISTS).expect("dropped"), 1);
        assert_eq!(db.catalog.sequences(session).len(), 1, "that of the identity");
    });
}

#[test]
fn indexes_of_several_tables_are_dropped_together_or_stay() {
    database(|db, session| {
        make(db, session);
        let by_customer = index("by_customer", "orders", &["customer", "id"], false);
        for spec in [index("by_city", "customer", &["city"], false), by_customer] {
            db.catalog.create_index(&spec, WAIT, session).expect("created");
        }
        let before = db.describe(session);
        let drop = |names: &[&str], if_exists| {
            let how = Dropping { cascade: false, if_exists };
            db.catalog.drop_indexes(names, how, WAIT, session)
        };
        refused(drop(&["by_city", "nothing"], false), RefusalKind::NotFound, "no index");
        let primary = drop(&["by_city", "orders_pkey"], false);
        refused(primary, RefusalKind::WrongState, "primary key of table orders");
        // Each of the two would do for the foreign key.
        let both = drop(&["by_city", "by_customer", "orders_customer_fkey_idx"], false);
        refused(both, RefusalKind::WrongState, "orders_customer_fkey needs it");
        assert_eq!(db.describe(session), before, "nothing of it is done");
        let names = ["by_city", "nothing", "orders_customer_fkey_idx", "by_city"];
        assert_eq!(drop(&names, true).expect("dropped"), 1);
        db.check(session);
        let name = "orders_customer_fkey".into();
        let key = Alteration::DropConstraint { name, cascade: false };
        db.catalog.alter_table("orders", &key, WAIT, session).expect("dropped");
        assert_eq!(drop(&["nothing", "by_customer"], true).expect("dropped"), 1);
        let indexes = |name| db.catalog.table(name, session).expect("there").indexes.len();
        assert_eq!((indexes("customer"), indexes("orders")), (1, 1), "the primary keys");
        assert_eq!(drop(&["by_city"], true).expect("there is none"), 1);
    });
}

/// CASCADE drops the foreign keys that refer to an index, and those that find rows by it; another
/// index that will do keeps one.
#[test]
fn an_index_is_dropped_with_the_foreign_keys_that_need_it() {
    database(|db, session| {
        make(db, session);
        let by_city = index("by_city", "customer", &["city"], false);
        db.catalog.create_index(&by_city, WAIT, session).expect("created");
        let other = index("by_customer", "orders", &["customer", "id"], false);
        db.catalog.create_index(&other, WAIT, session).expect("created");
        let drop = |names: &[&str], how| db.catalog.drop_indexes(names, how, WAIT, session);
        let keys = || db.catalog.table("orders", session).expect("there").foreign_keys.len();
        assert_eq!(drop(&["orders_customer_fkey_idx"], CASCADE).expect("dropped"), 0);
        assert_eq!(keys(), 1, "the other index will do");
        let refuses = drop(&["by_customer"], RESTRICT);
        refused(refuses, RefusalKind::WrongState, "needs it; drop that first, or say CASCADE");
        assert_eq!(drop(&["by_customer", "by_city"], CASCADE).expect("dropped"), 0);
        assert_eq!(keys(), 0);
        let customer = db.relation("customer", session);
        let keys = &customer.definition().referenced_by;
        assert!(keys.iter().all(|key| key.name != "orders_customer_fkey"));
        db.check(session);
    });
}
