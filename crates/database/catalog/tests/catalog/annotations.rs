//! Comments and statistics: they are there after a restart, and go with what they are about.

use catalog::{
    Alteration, ColumnStatistics, IndexStatistics, ObjectId, SequenceOptions, TableStatistics,
};
use ids::{ObjectNo, Scn};
use os::Session;
use relation::OnDelete;
use stop::RefusalKind;
use value::{Timestamp, Type, Value};

use crate::common::{Db, WAIT, customer, database, index, orders, refused, with};

/// Statistics of a table with these rows, of all its columns and indexes.
pub(crate) fn statistics(db: &Db, table: &str, rows: u64, session: &Session) -> TableStatistics {
    let table = db.catalog.table(table, session).expect("there");
    let column = |place: usize| ColumnStatistics {
        distinct: place as u64 + 1,
        low: Value::Int(-5).to_owned(),
        high: Value::Text("zürich").to_owned(),
        histogram: vec![place as u8; 300],
        ..ColumnStatistics::default()
    };
    let of_index =
        IndexStatistics { height: 2, leaf_blocks: 10, distinct_keys: rows, clustering_factor: 7 };
    TableStatistics {
        rows,
        blocks: 12,
        row_bytes: 40,
        sampled: rows,
        scn: Scn::new(99),
        analyzed: Timestamp::parse("2026-11-22 13:19:28").expect("a moment"),
        columns: (0..table.columns.len()).map(|place| (place, column(place))).collect(),
        indexes: table.indexes.iter().map(|index| (index.object, of_index)).collect(),
    }
}

fn object(db: &Db, table: &str, session: &Session) -> ObjectNo {
    db.catalog.object(table, session).expect("there")
}

#[test]
fn comments_are_kept_and_go_with_what_they_are_on() {
    let disk = database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        db.catalog.create_sequence("s", &SequenceOptions::default(), session).expect("created");
        let comment = |name, column, text| db.catalog.comment_on(name, column, text, session);
        comment("customer", None, Some("who buys")).expect("set");
        comment("customer", Some("name"), Some("as in letters")).expect("set");
        comment("customer", Some("city"), Some("a town")).expect("set");
        comment("customer", Some("city"), Some("größer als ein Dorf")).expect("set again");
        comment("s", None, Some("numbers")).expect("set");
        let (none, invalid) = (RefusalKind::NotFound, RefusalKind::Invalid);
        refused(comment("custmer", None, Some("x")), none, "did you mean customer?");
        refused(comment("customer", Some("nam"), Some("x")), none, "did you mean name?");
        refused(comment("s", Some("c"), Some("x")), invalid, "it is a sequence");
        let long = "x".repeat(catalog::TEXT_BYTES_MAX + 1);
        refused(comment("customer", None, Some(&long)), invalid, "the most is");
    });
    let disk = with(disk, |db, session| {
        let (customer, s) = (db.named("customer", session), db.named("s", session));
        let on = |object, column| db.catalog.comment(object, column, session);
        assert_eq!(on(customer, None).as_deref(), Some("who buys"));
        assert_eq!(on(customer, Some(2)).as_deref(), Some("größer als ein Dorf"));
        assert_eq!(on(s, None).as_deref(), Some("numbers"));
        assert_eq!(on(customer, Some(0)), None);
        for text in [None, Some("")] {
            db.catalog.comment_on("customer", Some("name"), text, session).expect("taken away");
            assert_eq!(on(customer, Some(1)), None);
        }
        let drop = Alteration::DropColumn("city".into());
        db.catalog.alter_table("customer", &drop, WAIT, session).expect("dropped");
        assert_eq!(on(customer, Some(2)), None);
        db.catalog.drop_sequence("s", session).expect("dropped");
        // Another sequence may get the number after the next opening.
        assert_eq!(on(s, None), None);
        let rename = Alteration::RenameTable("client".into());
        db.catalog.alter_table("customer", &rename, WAIT, session).expect("renamed");
    });
    with(disk, |db, session| {
        let client = db.named("client", session);
        let of = db.catalog.comment(client, None, session);
        assert_eq!(of.as_deref(), Some("who buys"), "it is the same table");
        db.catalog.drop_table("client", false, WAIT, session).expect("dropped");
        assert_eq!(db.catalog.comment(client, None, session), None);
    });
}

#[test]
fn statistics_are_kept_and_go_with_what_they_are_about() {
    let disk = database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        let by_city = index("by_city", "customer", &["city"], false);
        db.catalog.create_index(&by_city, WAIT, session).expect("created");
        let (table, relation) = (object(db, "customer", session), db.relation("customer", session));
        let of = statistics(db, "customer", 50, session);
        let before = db.catalog.generation(session);
        db.catalog.set_statistics(table, Some(of.clone()), session).expect("set");
        assert!(db.catalog.version(ObjectId::Table(table), session) > Some(before));
        assert!(!relation.is_stale(session), "a definition is as it was");
        assert_eq!(db.catalog.statistics(table, session).as_deref(), Some(&of));
        // Others take their place, and what isn't there has none.
        let mut more = statistics(db, "customer", 70, session);
        more.columns.insert(55, ColumnStatistics::default());
        let of_first = more.indexes[&relation.definition().indexes[0].object];
        more.indexes.insert(ObjectNo::new(4_711), of_first);
        db.catalog.set_statistics(table, Some(more), session).expect("set");
        let found = db.catalog.statistics(table, session);
        assert_eq!(found.as_deref(), Some(&statistics(db, "customer", 70, session)));
    });
    let disk = with(disk, |db, session| {
        let table = object(db, "customer", session);
        let found = db.catalog.statistics(table, session).expect("there");
        assert_eq!(*found, statistics(db, "customer", 70, session), "read as they were written");
        db.catalog.drop_index("by_city", WAIT, session).expect("dropped");
        let found = db.catalog.statistics(table, session).expect("there");
        assert_eq!((found.columns.len(), found.indexes.len()), (3, 1));
        let drop = Alteration::DropColumn("city".into());
        db.catalog.alter_table("customer", &drop, WAIT, session).expect("dropped");
        let set = Alteration::SetType { column: "name".into(), kind: Type::Text };
        db.catalog.alter_table("customer", &set, WAIT, session).expect("altered");
        let found = db.catalog.statistics(table, session).expect("there");
        assert_eq!(found.columns.keys().copied().collect::<Vec<_>>(), [0]);
        db.catalog.truncate_table("customer", WAIT, session).expect("truncated");
        assert!(db.catalog.statistics(table, session).is_some(), "until the next ones");
    });
    with(disk, |db, session| {
        let table = object(db, "customer", session);
        assert_eq!(db.catalog.statistics(table, session).expect("there").columns.len(), 1);
        db.catalog.set_statistics(table, None, session).expect("taken away");
        assert_eq!(db.catalog.statistics(table, session), None);
        db.catalog.create_table(&orders(OnDelete::NoAction), WAIT, session).expect("created");
        let other = object(db, "orders", session);
        let of = statistics(db, "orders", 5, session);
        db.catalog.set_statistics(other, Some(of.clone()), session).expect("set");
        db.catalog.drop_table("orders", false, WAIT, session).expect("dropped");
        assert_eq!(db.catalog.statistics(other, session), None);
        let late = db.catalog.set_statistics(other, Some(of), session);
        refused(late, RefusalKind::DefinitionChanged, "was dropped meanwhile");
    });
}
