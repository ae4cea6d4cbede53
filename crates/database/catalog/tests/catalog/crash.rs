//! The power goes at every operation of a statement: it is wholly there or wholly not, no segment
//! is lost or left over, and indexes agree with rows.

use catalog::{
    Alteration, ColumnSpec, DefaultSpec, Dropping, ExternalColumn, ExternalSpec, Restart,
    SequenceAlteration, SequenceOptions, Truncation, ViewSpec,
};
use instance::Instance;
use os::Session;
use relation::OnDelete;
use sim::fs::FileSystem;
use sim::fs::crash::CrashStates;
use sim::{CrashPoints, Outside};
use stop::Stop;
use value::{Type, Value};

use crate::annotations::statistics;
use crate::common::{
    Db, Run, WAIT, alter_together, column, creation, customer, database, directory, ended, fill,
    foreign, index, left, machine, orders, parameters, primary, run_kept, table, unique, with,
};

/// Draws of what a power cut leaves.
const DRAWS: u64 = 2;

fn alter(db: &Db, table: &str, what: Alteration, session: &Session) -> Result<(), Stop> {
    db.catalog.alter_table(table, &what, WAIT, session)
}

const STATEMENTS: [(&str, Run); 31] = [
    ("create table", |db, session| {
        let identity = DefaultSpec::Identity { always: true, options: SequenceOptions::default() };
        let id = ColumnSpec { default: identity, ..column("id", Type::BigInt) };
        let columns = vec![id, column("customer", Type::BigInt)];
        let key = foreign(&["customer"], "customer", OnDelete::NoAction);
        let spec = table("invoice", columns, vec![primary(&["id"]), key]);
        db.catalog.create_table(&spec, WAIT, session).map(|_| ())
    }),
    ("create index", |db, session| {
        let spec = index("by_name", "customer", &["name", "id"], false);
        db.catalog.create_index(&spec, WAIT, session).map(|_| ())
    }),
    ("drop index", |db, session| db.catalog.drop_index("by_city", WAIT, session)),
    ("drop table", |db, session| db.catalog.drop_table("orders", false, WAIT, session)),
    ("drop table cascade", |db, session| db.catalog.drop_table("customer", true, WAIT, session)),
    ("drop tables", |db, session| {
        let how = Dropping::default();
        db.catalog.drop_tables(&["customer", "orders"], how, WAIT, session).map(drop)
    }),
    ("truncate", |db, session| db.catalog.truncate_table("orders", WAIT, session)),
    ("truncate, restart identity", |db, session| {
        let how = Truncation { cascade: false, restart_identity: true };
        db.catalog.truncate_tables(&["orders"], how, WAIT, session)
    }),
    ("add column", |db, session| {
        let default = DefaultSpec::Constant(Value::Int(5).to_owned());
        let spec = ColumnSpec { default, ..column("rank", Type::Integer) };
        alter(db, "customer", Alteration::AddColumn(spec), session)
    }),
    ("rename", |db, session| {
        alter(db, "customer", Alteration::RenameTable("client".into()), session)
    }),
    ("drop column", |db, session| {
        alter(db, "customer", Alteration::DropColumn("name".into()), session)
    }),
    ("drop identity column", |db, session| {
        alter(db, "orders", Alteration::DropColumn("number".into()), session)
    }),
    ("rename column", |db, session| {
        let (from, to) = ("city".into(), "town".into());
        alter(db, "customer", Alteration::RenameColumn { from, to }, session)
    }),
    ("rename foreign key", |db, session| {
        let (from, to) = ("orders_customer_fkey".into(), "of_customer".into());
        alter(db, "orders", Alteration::RenameConstraint { from, to }, session)
    }),
    ("set not null", |db, session| {
        alter(db, "customer", Alteration::SetNotNull("name".into()), session)
    }),
    ("drop not null", |db, session| {
        alter(db, "orders", Alteration::DropNotNull("customer".into()), session)
    }),
    ("add foreign key", |db, session| {
        let key = foreign(&["id"], "customer", OnDelete::Cascade);
        alter(db, "orders", Alteration::AddConstraint(key), session)
    }),
    ("drop foreign key", |db, session| {
        let (name, cascade) = ("orders_customer_fkey".into(), false);
        alter(db, "orders", Alteration::DropConstraint { name, cascade }, session)
    }),
    ("add unique", |db, session| {
        alter(db, "customer", Alteration::AddConstraint(unique(&["name"])), session)
    }),
    ("drop primary key cascade", |db, session| {
        let (name, cascade) = ("customer_pkey".into(), true);
        alter(db, "customer", Alteration::DropConstraint { name, cascade }, session)
    }),
    ("create sequence", |db, session| {
        let options = SequenceOptions::default();
        db.catalog.create_sequence("t", &options, session).map(|_| ())
    }),
    ("drop sequence", |db, session| db.catalog.drop_sequence("s", session)),
    ("alter sequence", |db, session| {
        let (increment, restart) = (Some(3), Some(Restart::At(7)));
        let what = SequenceAlteration { increment, restart, ..SequenceAlteration::default() };
        db.catalog.alter_sequence("s", &what, session)
    }),
    ("set a longer type", |db, session| {
        let (column, kind) = ("name".into(), Type::Text);
        alter(db, "customer", Alteration::SetType { column, kind }, session)
    }),
    ("set a type, and rewrite", |db, session| {
        let (column, kind) = ("id".into(), Type::Integer);
        alter(db, "customer", Alteration::SetType { column, kind }, session)
    }),
    ("alter in several ways", |db, session| {
        let default = DefaultSpec::Constant(Value::Int(5).to_owned());
        let spec = ColumnSpec { default, ..column("name", Type::Integer) };
        let all = vec![
            Alteration::DropColumn("name".into()),
            Alteration::AddColumn(spec),
            Alteration::SetNotNull("name".into()),
            Alteration::AddConstraint(unique(&["name", "id"])),
        ];
        alter_together(db, "customer", all, None, session)
    }),
    ("alter in several ways, and rewrite", |db, session| {
        let (column, kind) = ("id".into(), Type::Integer);
        let all = vec![
            Alteration::SetType { column, kind },
            Alteration::SetNotNull("name".into()),
            Alteration::AddConstraint(unique(&["name"])),
        ];
        alter_together(db, "customer", all, None, session)
    }),
    ("drop a key and an identity, and add a key", |db, session| {
        let (name, cascade) = ("orders_customer_fkey".into(), false);
        let all = vec![
            Alteration::DropConstraint { name, cascade },
            Alteration::DropColumn("number".into()),
            Alteration::AddConstraint(foreign(&["id"], "customer", OnDelete::Cascade)),
        ];
        alter_together(db, "orders", all, None, session)
    }),
    // These bring the dictionary to another version first.
    ("create view", |db, session| {
        let spec = db.view_of("names", "customer", &[0, 1], session);
        db.catalog.create_view(&spec, session).map(drop)
    }),
    ("comment", |db, session| {
        db.catalog.comment_on("customer", Some("name"), Some("as in letters"), session)
    }),
    ("set default expression", |db, session| {
        let (column, text) = ("name".into(), "upper('x')".into());
        alter(db, "customer", Alteration::SetDefaultExpression { column, text }, session)
    }),
];

/// Statements on a database whose dictionary has the newest version, and something of everything.
const STATEMENTS_OF_TEXTS: [(&str, Run); 10] = [
    ("drop table cascade", |db, session| db.catalog.drop_table("customer", true, WAIT, session)),
    ("replace view", |db, session| {
        let spec = db.view_of("names", "customer", &[2, 1, 0], session);
        db.catalog.create_view(&ViewSpec { replace: true, ..spec }, session).map(drop)
    }),
    ("drop view cascade", |db, session| db.catalog.drop_view("names", true, session)),
    ("drop views", |db, session| {
        let how = Dropping::default();
        db.catalog.drop_views(&["names", "above"], how, session).map(drop)
    }),
    ("drop tables, one of them external", |db, session| {
        let how = Dropping::default();
        db.catalog.drop_tables(&["orders", "lines"], how, WAIT, session).map(drop)
    }),
    ("create external table", |db, session| {
        let columns = vec![ExternalColumn { name: "line".into(), kind: Type::Text }];
        let spec = ExternalSpec { name: "more".into(), columns, options: "location 'y'".into() };
        db.catalog.create_external(&spec, session).map(drop)
    }),
    ("drop external table", |db, session| db.catalog.drop_external("lines", false, session)),
    ("take a comment away", |db, session| db.catalog.comment_on("customer", None, None, session)),
    ("set statistics", |db, session| {
        let table = db.catalog.object("customer", session)?;
        let statistics = statistics(db, "customer", 77, session);
        db.catalog.set_statistics(table, Some(statistics), session)
    }),
    ("drop column", |db, session| {
        alter(db, "customer", Alteration::DropColumn("city".into()), session)
    }),
];

fn base_of_texts() -> FileSystem {
    with(base(), |db, session| {
        db.catalog.drop_index("by_city", WAIT, session).expect("dropped");
        let spec = db.view_of("names", "customer", &[0, 1], session);
        db.catalog.create_view(&spec, session).expect("created");
        let spec = db.view_of("above", "names", &[1], session);
        db.catalog.create_view(&spec, session).expect("created");
        let columns = vec![ExternalColumn { name: "line".into(), kind: Type::Text }];
        let spec = ExternalSpec { name: "lines".into(), columns, options: "location 'x'".into() };
        db.catalog.create_external(&spec, session).expect("created");
        for (column, text) in [(None, "who buys"), (Some("city"), "a town")] {
            db.catalog.comment_on("customer", column, Some(text), session).expect("set");
        }
        let table = db.catalog.object("customer", session).expect("there");
        let of = statistics(db, "customer", 40, session);
        db.catalog.set_statistics(table, Some(of), session).expect("set");
    })
}

fn base() -> FileSystem {
    database(|db, session| {
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
        let mut spec = orders(OnDelete::NoAction);
        spec.columns[1].not_null = true;
        let default = DefaultSpec::Identity { always: true, options: SequenceOptions::default() };
        spec.columns.push(ColumnSpec { default, ..column("number", Type::BigInt) });
        db.catalog.create_table(&spec, WAIT, session).expect("created");
        fill(db, 0..40, session);
        let spec = index("by_city", "customer", &["city"], false);
        db.catalog.create_index(&spec, WAIT, session).expect("created");
        for id in 0..10 {
            let row = [Value::Int(id), Value::Int(id), Value::Int(id)];
            db.insert("orders", &row, session).expect("inserted");
        }
        let table = db.catalog.table("orders", session).expect("there");
        let number = table.columns.last().and_then(|column| column.default.sequence());
        let number = db.catalog.sequence_of(number.expect("an identity"), session).expect("there");
        db.catalog.next_value(&number, session).expect("given");
        let options = SequenceOptions::default();
        db.catalog.create_sequence("s", &options, session).expect("created");
    })
}

/// Checks the database on this disk. Returns its definitions and how many orphans there were.
fn found(disk: FileSystem, what: &str) -> (String, usize) {
    let report = machine(7, disk).run(|world, session| {
        let db = Db::open(world, session).unwrap_or_else(|stop| panic!("it doesn't open: {stop}"));
        // The catalog may be asked while the dead are rolled back.
        let text = db.describe(session);
        db.instance.wait_for_dead(session);
        assert_eq!(db.describe(session), text, "rolling back changes nothing that is seen");
        db.check(session);
        let orphans = db.catalog.opened().orphans;
        db.shut(session);
        (text, orphans)
    });
    ended(report, what)
}

/// The disk at each `stride`th operation of `run`, with how far it was: begun, or done; and at the
/// end.
fn shots(
    base: &FileSystem,
    stride: u64,
    run: impl FnOnce(&sim::World, &Session, &Outside<bool>) + Send + 'static,
) -> (Vec<(FileSystem, bool)>, FileSystem) {
    let (taken, done) = (Outside::<Vec<(FileSystem, bool)>>::default(), Outside::new(false));
    let mut machine = machine(3, base.clone());
    let (inside, known) = (taken.clone(), done.clone());
    machine.crash_points = Some(CrashPoints::new(move |_, number, cut| {
        if number % stride == 0 {
            let mut disk = cut().remove(0);
            disk.close_all();
            let is_done = known.with(|done| *done);
            inside.with(|taken| taken.push((disk, is_done)));
        }
    }));
    let mut report = machine.run(move |world, session| run(world, session, &done));
    let disk = left(&mut report);
    ended(report, "without a crash");
    (taken.take(), disk)
}

#[test]
fn a_statement_is_wholly_there_or_wholly_not_wherever_the_power_goes() {
    let orphans = cut_everywhere(&base(), &STATEMENTS);
    assert!(orphans > 0, "no crash came between a commit and its drops, or a keep and its commit");
}

#[test]
fn a_statement_about_texts_is_wholly_there_or_wholly_not_wherever_the_power_goes() {
    cut_everywhere(&base_of_texts(), &STATEMENTS_OF_TEXTS);
}

/// Cuts the power at every other operation of each statement. Returns how many orphans there were.
fn cut_everywhere(base: &FileSystem, statements: &[(&str, Run)]) -> usize {
    let (before, _) = found(base.clone(), "before");
    let (mut undone, mut done, mut orphans) = (0, 0, 0);
    for (number, (name, run)) in statements.iter().copied().enumerate() {
        let (shots, end) = shots(base, 2, move |world, session, done| {
            let db = Db::open(world, session).expect("opened");
            run(&db, session).unwrap_or_else(|stop| panic!("{stop}"));
            done.with(|done| *done = true);
            db.shut(session);
        });
        let (after, _) = found(end, name);
        assert_ne!(before, after, "{name} changes something");
        for (at, (disk, is_done)) in shots.into_iter().enumerate() {
            let states = CrashStates::of(&disk);
            for draw in 0..DRAWS {
                let seed = (number * 1_000 + at) as u64 * DRAWS + draw;
                let what = format!("{name}, shot {at}, draw {seed}");
                let (text, left_over) = found(states.sample(seed), &what);
                assert!(text == after || (text == before && !is_done), "{what}:\n{text}");
                undone += u32::from(text == before);
                done += u32::from(text == after);
                orphans += left_over;
            }
        }
    }
    println!("{undone} states without the statement, {done} with it, {orphans} orphans");
    assert!(undone > 30 && done > 50, "{undone} without, {done} with");
    orphans
}

#[test]
fn a_dictionary_is_made_at_last_wherever_the_power_goes() {
    let ((), base) = run_kept(machine(1, FileSystem::new(1 << 30)), |world, session| {
        let disk = world.disk();
        Instance::create(&disk, directory(), &creation(), &parameters(), session).expect("created");
    });
    let (shots, _) = shots(&base, 3, |world, session, _| {
        Db::open(world, session).expect("opened").shut(session);
    });
    assert!(shots.len() > 5, "{} shots", shots.len());
    for (at, (disk, _)) in shots.into_iter().enumerate() {
        for draw in 0..DRAWS {
            let what = format!("shot {at}, draw {draw}");
            let (text, _) = found(CrashStates::of(&disk).sample(draw), &what);
            assert_eq!(text, "", "{what}");
        }
    }
}
