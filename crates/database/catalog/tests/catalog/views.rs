//! Views and external tables: what they read stays, and who made a plan of them comes to know.

use catalog::{
    Alteration, Dependency, Dropping, ExternalColumn, ExternalSpec, ObjectId, SequenceOptions,
    ViewSpec,
};
use os::Session;
use relation::OnDelete;
use stop::{RefusalKind, Stop};
use value::Type;

use crate::common::{
    Db, WAIT, alter_together, column, customer, database, join, orders, racy, refused, table, with,
    with_db,
};

fn alter(db: &Db, table: &str, what: Alteration, session: &Session) -> Result<(), Stop> {
    db.catalog.alter_table(table, &what, WAIT, session)
}

pub(crate) fn external(name: &str) -> ExternalSpec {
    let columns = vec![ExternalColumn { name: "line".into(), kind: Type::Text }];
    ExternalSpec { name: name.into(), columns, options: "location 'lines.csv'".into() }
}

#[test]
fn views_and_external_tables_are_there_after_a_restart_and_go() {
    let disk = database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        let spec = db.view_of("names", "customer", &[0, 1], session);
        db.catalog.create_view(&spec, session).expect("created");
        db.catalog.create_external(&external("lines"), session).expect("created");
        let mut both = db.view_of("both", "names", &[1], session);
        let object = db.named("lines", session);
        both.depends_on.push(Dependency { object, columns: vec![0] });
        db.catalog.create_view(&both, session).expect("created");
    });
    let disk = with(disk, |db, session| {
        let view = db.catalog.view("names", session).expect("there");
        assert_eq!((&view.text[..], view.columns.len()), ("select [0, 1] from customer", 2));
        let customer = db.named("customer", session);
        assert_eq!(view.depends_on, [Dependency { object: customer, columns: vec![0, 1] }]);
        let lines = db.catalog.external("lines", session).expect("there");
        assert_eq!(lines.columns[0].kind, Type::Text);
        let names: Vec<_> = db.catalog.views(session).iter().map(|one| one.name.clone()).collect();
        assert_eq!(names, ["both", "names"]);
        let drop = db.catalog.drop_external("lines", false, session);
        refused(drop, RefusalKind::WrongState, "view both depends on it");
        let drop = db.catalog.drop_view("names", false, session);
        refused(drop, RefusalKind::WrongState, "view both depends on it");
        db.catalog.drop_external("lines", true, session).expect("dropped");
        refused(db.catalog.view("both", session), RefusalKind::NotFound, "no view");
        db.catalog.drop_view("names", false, session).expect("dropped");
        refused(db.catalog.drop_view("names", false, session), RefusalKind::NotFound, "no view");
    });
    with(disk, |db, session| {
        assert!(db.catalog.views(session).is_empty() && db.catalog.externals(session).is_empty());
        // Numbers of what has gone are given again, to other things.
        db.catalog.create_view(&db.view_of("v", "customer", &[2], session), session).expect("made");
    });
}

#[test]
fn tables_views_sequences_and_external_tables_have_one_name_space() {
    database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        db.catalog.create_external(&external("lines"), session).expect("created");
        let view = db.view_of("names", "customer", &[0], session);
        db.catalog.create_view(&view, session).expect("created");
        db.catalog.create_sequence("s", &SequenceOptions::default(), session).expect("created");
        let taken = RefusalKind::AlreadyExists;
        for name in ["customer", "lines", "names", "s"] {
            let options = SequenceOptions::default();
            refused(db.catalog.create_sequence(name, &options, session), taken, name);
            let spec = table(name, vec![column("a", Type::BigInt)], vec![]);
            refused(db.catalog.create_table(&spec, WAIT, session), taken, name);
            refused(db.catalog.create_external(&external(name), session), taken, name);
            let spec = db.view_of(name, "customer", &[0], session);
            refused(db.catalog.create_view(&spec, session), taken, name);
            let rename = Alteration::RenameTable(name.into());
            refused(alter(db, "customer", rename, session), taken, name);
            let replace = ViewSpec { replace: true, ..spec };
            let replaced = db.catalog.create_view(&replace, session);
            match name {
                "names" => drop(replaced.expect("a view of that name is replaced")),
                _ => refused(replaced, taken, name),
            }
        }
        let none = RefusalKind::NotFound;
        refused(db.catalog.relation("names", session), none, "this is a view");
        refused(db.catalog.view("lines", session), none, "this is an external table");
        refused(db.catalog.sequence("customer", session), none, "this is a table");
        refused(db.catalog.view("name", session), none, "did you mean names?");
    });
}

#[test]
fn what_a_view_reads_is_not_dropped_or_renamed_under_it() {
    let disk = database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        db.catalog.create_table(&orders(OnDelete::NoAction), WAIT, session).expect("created");
        let spec = db.view_of("names", "customer", &[0, 1], session);
        db.catalog.create_view(&spec, session).expect("created");
        let spec = db.view_of("above", "names", &[0], session);
        db.catalog.create_view(&spec, session).expect("created");
        db.catalog.comment_on("above", Some("c0"), Some("a number"), session).expect("commented");
        let used = RefusalKind::WrongState;
        let drop = db.catalog.drop_table("customer", false, WAIT, session);
        refused(drop, used, "depends on it; drop that first, or say CASCADE");
        let rename = Alteration::RenameTable("client".into());
        refused(alter(db, "customer", rename, session), used, "view names depends on it");
        let (from, to) = ("name".into(), "called".into());
        let rename = Alteration::RenameColumn { from, to };
        refused(alter(db, "customer", rename, session), used, "view names depends on it");
        let drop = Alteration::DropColumn("name".into());
        refused(alter(db, "customer", drop, session), used, "view names depends on it");
        let (column, kind) = ("name".into(), Type::Text);
        let set = Alteration::SetType { column, kind };
        refused(alter(db, "customer", set, session), used, "view names depends on it");
        // Nobody reads this column.
        let drop = Alteration::DropColumn("city".into());
        alter(db, "customer", drop, session).expect("dropped");
        let add = Alteration::AddColumn(column_of("town"));
        alter(db, "customer", add, session).expect("added");
        db.catalog.truncate_table("orders", WAIT, session).expect("truncated");
    });
    let disk = with(disk, |db, session| {
        let above = db.named("above", session);
        assert_eq!(db.catalog.comment(above, Some(0), session).as_deref(), Some("a number"));
        db.catalog.drop_table("customer", true, WAIT, session).expect("dropped");
        assert!(db.catalog.views(session).is_empty(), "the one that reads the other went too");
        assert_eq!(db.catalog.comment(above, Some(0), session), None);
        let orders = db.catalog.table("orders", session).expect("there");
        assert!(orders.foreign_keys.is_empty());
    });
    with(disk, |db, session| assert!(db.catalog.views(session).is_empty()));
}

fn column_of(name: &str) -> catalog::ColumnSpec {
    column(name, Type::Text)
}

#[test]
fn a_sequence_that_a_view_reads_is_dropped_only_with_it() {
    database(|db, session| {
        db.catalog.create_sequence("s", &SequenceOptions::default(), session).expect("created");
        let spec = db.view_of("next", "s", &[], session);
        let spec = ViewSpec { columns: vec!["nextval".into()], ..spec };
        db.catalog.create_view(&spec, session).expect("created");
        let drop = db.catalog.drop_sequence("s", session);
        refused(drop, RefusalKind::WrongState, "view next depends on it");
        let sequence = db.catalog.sequence("s", session).expect("there");
        assert_eq!(db.catalog.next_value(&sequence, session).expect("it goes on"), 1);
        let how = Dropping { cascade: true, if_exists: false };
        db.catalog.drop_sequences(&["s"], how, session).expect("dropped");
        assert!(db.catalog.views(session).is_empty());
    });
}

#[test]
fn a_view_is_replaced_if_those_that_read_it_can_go_on() {
    database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        let names = db.view_of("names", "customer", &[0, 1], session);
        let number = db.catalog.create_view(&names, session).expect("created");
        let above = db.view_of("above", "names", &[1], session);
        db.catalog.create_view(&above, session).expect("created");
        let replace = |columns: &[usize]| {
            let spec = db.view_of("names", "customer", columns, session);
            db.catalog.create_view(&ViewSpec { replace: true, ..spec }, session)
        };
        // Who reads it reads its second column, called c1.
        refused(replace(&[1]), RefusalKind::WrongState, "view above depends on it");
        refused(replace(&[1, 2]), RefusalKind::WrongState, "view above depends on it");
        assert_eq!(replace(&[2, 1, 0]).expect("replaced"), number, "it is the same view");
        assert_eq!(db.catalog.view("names", session).expect("there").columns.len(), 3);
        let retyped = |columns: &[usize]| {
            let spec = db.view_of("names", "customer", &[2, 1, 0], session);
            ViewSpec { replace: true, retyped: columns.to_vec(), ..spec }
        };
        let other = db.catalog.create_view(&retyped(&[0, 1]), session);
        refused(other, RefusalKind::WrongState, "view above depends on it");
        let late = retyped(&[0]);
        db.catalog.create_view(&retyped(&[0, 2]), session).expect("nobody reads these");
        let late = db.catalog.create_view(&late, session);
        refused(late, RefusalKind::DefinitionChanged, "it was changed meanwhile");
        let circle = db.view_of("names", "above", &[0], session);
        let circle = ViewSpec { columns: vec!["c2".into(), "c1".into()], replace: true, ..circle };
        refused(db.catalog.create_view(&circle, session), RefusalKind::Invalid, "read itself");
        let itself = db.view_of("names", "names", &[0], session);
        let itself = ViewSpec { columns: vec!["c2".into(), "c1".into()], replace: true, ..itself };
        refused(db.catalog.create_view(&itself, session), RefusalKind::Invalid, "read itself");
        // Nobody has looked at a view that has come meanwhile.
        let before = retyped(&[]);
        let reader = db.view_of("reader", "names", &[1], session);
        db.catalog.create_view(&reader, session).expect("created");
        let late = db.catalog.create_view(&before, session);
        refused(late, RefusalKind::DefinitionChanged, "view reader, or what it reads, was changed");
        db.catalog.create_view(&retyped(&[]), session).expect("replaced");
    });
}

/// DC44: who has looked at the views of a table is refused once one of them, or what it reads, is
/// another one.
#[test]
fn a_column_is_not_added_under_a_view_that_nobody_has_looked_at() {
    database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        db.catalog.create_table(&orders(OnDelete::NoAction), WAIT, session).expect("created");
        let now = || db.catalog.generation(session);
        let alter_one = |alteration, seen_in| {
            alter_together(db, "customer", vec![alteration], Some(seen_in), session)
        };
        let add =
            |name: &str, seen_in: u64| alter_one(Alteration::AddColumn(column_of(name)), seen_in);
        let rename = |seen_in: u64| {
            let (from, to) = ("city".into(), "town".into());
            alter_one(Alteration::RenameColumn { from, to }, seen_in)
        };
        let alone = now();
        alter(db, "orders", Alteration::AddColumn(column_of("note")), session).expect("altered");
        add("a", alone).expect("no view reads it");
        let before = now();
        let spec = db.view_of("names", "customer", &[0], session);
        db.catalog.create_view(&spec, session).expect("created");
        let changed = RefusalKind::DefinitionChanged;
        refused(add("b", before), changed, "view names, or what it reads");
        refused(rename(before), changed, "view names, or what it reads");
        let mut both = db.view_of("both", "customer", &[0], session);
        let object = db.named("orders", session);
        both.depends_on.push(Dependency { object, columns: vec![0] });
        db.catalog.create_view(&both, session).expect("created");
        let before = now();
        alter(db, "orders", Alteration::AddColumn(column_of("more")), session).expect("altered");
        refused(add("b", before), changed, "view both, or what it reads");
        add("b", now()).expect("added");
        rename(now()).expect("renamed");
    });
}

#[test]
fn a_view_that_could_never_be_made_says_why() {
    database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        let spec = || db.view_of("v", "customer", &[0], session);
        let create = |spec: ViewSpec| db.catalog.create_view(&spec, session);
        let invalid = RefusalKind::Invalid;
        refused(create(ViewSpec { name: "_v".into(), ..spec() }), invalid, "first letter");
        refused(create(ViewSpec { text: String::new(), ..spec() }), invalid, "is empty");
        refused(create(ViewSpec { columns: vec![], ..spec() }), invalid, "0 columns");
        let twice = vec!["a".to_string(), "a".to_string()];
        refused(create(ViewSpec { columns: twice, ..spec() }), invalid, "two columns a");
        let mut reads = spec().depends_on;
        reads.extend(spec().depends_on);
        refused(create(ViewSpec { depends_on: reads, ..spec() }), invalid, "listed twice");
        let object = db.named("customer", session);
        let reads = vec![Dependency { object, columns: vec![7] }];
        let changed = RefusalKind::DefinitionChanged;
        refused(create(ViewSpec { depends_on: reads, ..spec() }), changed, "a column of it");
        let long = ExternalSpec { options: String::new(), ..external("x") };
        refused(db.catalog.create_external(&long, session), invalid, "is empty");
    });
}

#[test]
fn who_keeps_a_plan_comes_to_know_what_has_changed() {
    database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        db.catalog.create_table(&orders(OnDelete::NoAction), WAIT, session).expect("created");
        let spec = db.view_of("names", "customer", &[0, 1], session);
        db.catalog.create_view(&spec, session).expect("created");
        let (customer, orders) = (db.named("customer", session), db.named("orders", session));
        let names = db.named("names", session);
        let planned = db.catalog.generation(session);
        let holds = |object| db.catalog.version(object, session).is_some_and(|it| it <= planned);
        assert!(holds(customer) && holds(orders) && holds(names));
        let add = Alteration::AddColumn(column_of("note"));
        alter(db, "orders", add, session).expect("altered");
        assert!(db.catalog.generation(session) > planned);
        assert!(holds(customer) && holds(names) && !holds(orders));
        let bound = db.view_of("late", "customer", &[0], session);
        alter(db, "customer", Alteration::AddColumn(column_of("note")), session).expect("altered");
        let late = db.catalog.create_view(&bound, session);
        refused(late, RefusalKind::DefinitionChanged, "the table customer that it reads");
        assert!(holds(names) && !holds(customer));
        let replace = db.view_of("names", "customer", &[0, 1], session);
        db.catalog.create_view(&ViewSpec { replace: true, ..replace }, session).expect("replaced");
        assert!(!holds(names));
        db.catalog.drop_view("names", false, session).expect("dropped");
        assert_eq!(db.catalog.version(names, session), None);
        // A comment is in no plan.
        let (before, of) = (db.catalog.generation(session), db.catalog.version(customer, session));
        db.catalog.comment_on("customer", None, Some("them"), session).expect("commented");
        assert!(db.catalog.generation(session) > before);
        assert_eq!(db.catalog.version(customer, session), of);
    });
}

/// One session drops a table or makes it anew, another makes views of it: whatever they meet, a
/// view reads what is there.
#[test]
fn a_view_is_made_of_what_is_there_whoever_drops_it_meanwhile() {
    let disk = database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        let spec = db.view_of("first", "customer", &[0], session);
        db.catalog.create_view(&spec, session).expect("created");
    });
    let (mut made, mut late) = (0, 0);
    for seed in 0..30 {
        let (made_now, late_now) = with_db(racy(seed, disk.clone()), move |db, session| {
            let drops = db.start("drops", session, |db, session| {
                for _ in 0..3 {
                    db.catalog.drop_table("customer", true, WAIT, session).expect("dropped");
                    db.catalog.create_table(&customer(), WAIT, session).expect("created");
                }
            });
            let (mut made, mut late) = (0, 0);
            for number in 0..6 {
                let bound_in = db.catalog.generation(session);
                let Some(object @ ObjectId::Table(_)) = db.catalog.named("customer", session)
                else {
                    continue;
                };
                let reads = Dependency { object, columns: vec![0] };
                let spec = ViewSpec {
                    name: format!("v{number}"),
                    text: "select id from customer".into(),
                    columns: vec!["id".into()],
                    depends_on: vec![reads],
                    bound_in,
                    replace: false,
                    retyped: vec![],
                };
                match db.catalog.create_view(&spec, session) {
                    Ok(_) => made += 1,
                    Err(stop) => {
                        let kind = stop.refusal();
                        assert_eq!(kind, Some(RefusalKind::DefinitionChanged), "{stop}");
                        late += 1;
                    }
                }
            }
            join(vec![drops], session);
            (made, late)
        })
        .0;
        (made, late) = (made + made_now, late + late_now);
    }
    assert!(made > 0 && late > 0, "{made} were made, {late} came too late");
}
