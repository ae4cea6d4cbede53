//! Definitions that change beside statements, and beside each other: nobody is told of a definition
//! that isn't committed, or that he has not asked for.

use std::sync::Arc;

use database::{
    Alteration, ColumnSpec, Connection, ErrorKind, IndexSpec, LockWait, Nanos, OnDelete, Selection,
    SequenceOptions, TableSpec, Type, Value, WaitEvent,
};
use latch::SharedFlag;
use sim::{Outside, Perturbation};

use crate::simulated::{join, made, racing, racing_as, racing_to_open, start};

/// Long pauses, so that a session may sleep while another one's definition comes and goes.
const PAUSES: Perturbation = Perturbation {
    choices: true,
    yields_per_1024: 64,
    delays_per_1024: 64,
    delay_ns_max: 2_000_000,
    spurious_per_1024: 16,
};

fn parent() -> TableSpec {
    TableSpec::new("parent").column(ColumnSpec::new("id", Type::BigInt)).primary_key(["id"])
}

fn child() -> TableSpec {
    TableSpec::new("child").column(ColumnSpec::new("parent", Type::BigInt)).foreign_key(
        ["parent"],
        "parent",
        OnDelete::NoAction,
    )
}

fn plain(name: &str) -> TableSpec {
    TableSpec::new(name).column(ColumnSpec::new("a", Type::BigInt))
}

fn rows_of(connection: &mut Connection<'_>, table: &str) -> u32 {
    let table = connection.table(table).expect("there");
    let mut rows = 0;
    connection.scan(&table, |_| rows += 1).expect("read");
    rows
}

fn commit_row(connection: &mut Connection<'_>, table: &str, row: &[Value<'_>]) {
    let table = connection.table(table).expect("there");
    let mut tx = connection.begin();
    if let Err(stop) = tx.insert(&table, row) {
        panic!("{row:?}: {:?}, {stop}", stop.refusal());
    }
    tx.commit().expect("committed");
}

/// An insert fills in its row when it has the table locked: the identity column that another
/// session drops has gone by then, or stays until the insert's transaction ends.
#[test]
fn an_insert_goes_on_while_the_identity_column_that_it_does_not_name_is_dropped() {
    let base = made(|database, session| {
        let spec = TableSpec::new("item")
            .column(ColumnSpec::new("id", Type::BigInt).identity(false))
            .column(ColumnSpec::new("n", Type::BigInt));
        database.connect_with(session).create_table(&spec).expect("made");
    });
    let mut before = 0;
    for seed in 0..100 {
        before += racing(seed, base.clone(), |database, session| {
            let before = Outside::new(0);
            let inserts = (0..3).map(|_| {
                start("inserts", (database, session), |database, session| {
                    let mut connection = database.connect_with(session);
                    let item = connection.table("item").expect("there");
                    for n in 0..10 {
                        let mut tx = connection.begin();
                        let done = tx.insert_named(&item, &[("n", Value::Int(n))]);
                        done.expect("the column that it names is there");
                        tx.commit().expect("committed");
                    }
                })
            });
            let mut threads: Vec<_> = inserts.collect();
            let inside = before.clone();
            threads.push(start("drops", (database, session), move |database, session| {
                let mut connection = database.connect_with(session);
                let goes = Alteration::DropColumn("id".into());
                connection.alter_table("item", &goes).expect("dropped");
                let rows = rows_of(&mut connection, "item");
                inside.with(|before| *before = rows);
            }));
            join(threads, session);
            assert_eq!(rows_of(&mut database.connect_with(session), "item"), 3 * 10);
            u32::from((1..30).contains(&before.take()))
        });
    }
    assert!(before > 50, "the column went among inserts in {before} of 100 runs");
}

/// CREATE INDEX locks the parent in a mode that goes with that of who looks for a parent. So its
/// definition may change again each time that it is asked for.
#[test]
fn a_row_is_inserted_while_the_table_that_it_refers_to_gets_indexes() {
    let base = made(|database, session| {
        let columns = (0..6).map(|number| ColumnSpec::new(&format!("c{number}"), Type::BigInt));
        let parent = columns.fold(parent(), TableSpec::column);
        let mut connection = database.connect_with(session);
        connection.create_table(&parent).expect("made");
        connection.create_table(&child()).expect("made");
        let mut row = [Value::Null; 7];
        row[0] = Value::Int(1);
        commit_row(&mut connection, "parent", &row);
    });
    let mut among = 0;
    for seed in 0..40 {
        among += racing_as(PAUSES, seed, base.clone(), |database, session| {
            let among = Outside::new(0);
            let defines = (0..2).map(|number| {
                let among = among.clone();
                start("defines", (database, session), move |database, session| {
                    let mut connection = database.connect_with(session);
                    for turn in 0..3 {
                        let column = format!("c{}", number * 3 + turn);
                        let name = format!("by_{column}");
                        let index = IndexSpec::new(&name, "parent", [&*column]);
                        connection.create_index(&index).expect("made");
                        let rows = rows_of(&mut connection, "child");
                        among.with(|all| *all += u32::from((1..40).contains(&rows)));
                    }
                })
            });
            let mut threads: Vec<_> = defines.collect();
            threads.extend((0..2).map(|_| {
                start("inserts", (database, session), move |database, session| {
                    let mut connection = database.connect_with(session);
                    (0..20).for_each(|_| commit_row(&mut connection, "child", &[Value::Int(1)]));
                })
            }));
            join(threads, session);
            let mut connection = database.connect_with(session);
            assert_eq!(rows_of(&mut connection, "child"), 2 * 20);
            let parent = connection.table("parent").expect("there");
            assert_eq!(parent.definition().indexes.len(), 1 + 2 * 3);
            among.take()
        });
    }
    assert!(among > 40, "{among} of 240 indexes were made among inserts");
}

/// TRUNCATE looks whether tables that refer to this one have rows. It doesn't lock them, so one of
/// them may get other segments meanwhile, by a TRUNCATE of its own.
#[test]
fn truncates_of_two_tables_of_which_one_refers_to_the_other_are_not_in_each_others_way() {
    let base = made(|database, session| {
        let mut connection = database.connect_with(session);
        connection.create_table(&parent()).expect("made");
        let child = child().column(ColumnSpec::new("note", Type::Text));
        let child = connection.create_table(&child).expect("made");
        // Its rows go and their blocks stay: it takes a while to see that it has none.
        let note = "x".repeat(900);
        let mut tx = connection.begin();
        for _ in 0..60 {
            tx.insert(&child, &[Value::Null, Value::Text(&note)]).expect("inserted");
        }
        tx.commit().expect("committed");
        let mut tx = connection.begin();
        assert_eq!(tx.delete_where(&child, Selection::All, None).expect("deleted"), 60);
        tx.commit().expect("committed");
    });
    for seed in 0..60 {
        racing_as(PAUSES, seed, base.clone(), |database, session| {
            let truncates = |name: &'static str| {
                start(name, (database, session), move |database, session| {
                    let mut connection = database.connect_with(session);
                    for turn in 0..3 {
                        if let Err(stop) = connection.truncate_table(name) {
                            panic!("{name}, turn {turn}: {:?}, {stop}", stop.refusal());
                        }
                    }
                })
            };
            join(vec![truncates("parent"), truncates("child")], session);
        });
    }
}

#[test]
fn a_table_is_given_to_who_made_it_whatever_becomes_of_its_name_meanwhile() {
    let base = made(|_, _| {});
    let counts = Outside::<[u32; 3]>::default();
    for seed in 0..60 {
        let counts = counts.clone();
        racing_as(PAUSES, seed, base.clone(), move |database, session| {
            let (made_it, dropped_it) = (counts.clone(), counts);
            let has_made = Arc::new(SharedFlag::new(false));
            let made = Arc::clone(&has_made);
            let makes = start("makes", (database, session), move |database, session| {
                let mut connection = database.connect_with(session);
                for turn in 0..6 {
                    match connection.create_table(&plain("t")) {
                        Ok(made) => {
                            assert_eq!(made.name(), "t");
                            made_it.with(|[made, ..]| *made += 1);
                        }
                        Err(stop) => {
                            let why = stop.refusal();
                            assert_eq!(why, Some(ErrorKind::AlreadyExists), "turn {turn}: {stop}");
                            made_it.with(|[_, refused, _]| *refused += 1);
                        }
                    }
                }
                made.raise(session);
            });
            let drops = start("drops", (database, session), move |database, session| {
                let mut connection = database.connect_with(session);
                while !has_made.is_raised(session) {
                    match connection.drop_table("t", false) {
                        Ok(()) => dropped_it.with(|[.., dropped]| *dropped += 1),
                        Err(stop) => {
                            assert_eq!(stop.refusal(), Some(ErrorKind::NotFound), "{stop}");
                        }
                    }
                }
            });
            join(vec![makes, drops], session);
        });
    }
    let [made, refused, dropped] = counts.take();
    println!("{made} tables made, {refused} refused, {dropped} dropped");
    assert!(made >= 60 && dropped > 30, "{made} tables made, {dropped} dropped");
    assert!(refused > 0, "nobody met a table that was there");
}

/// CREATE TABLE AS that is refused drops the table that it has made. Another session may have
/// dropped that one before, and made one of the same name, which stays with its row.
#[test]
fn a_create_table_as_that_is_refused_does_not_drop_the_table_of_another_session() {
    let base = made(|_, _| {});
    let mut replaced = 0;
    for seed in 0..100 {
        replaced += racing_as(PAUSES, seed, base.clone(), move |database, session| {
            let replaced = Outside::new(0);
            let has_ended = Arc::new(SharedFlag::new(false));
            let (ended, inside) = (Arc::clone(&has_ended), replaced.clone());
            let makes = start("makes", (database, session), move |database, session| {
                let mut connection = database.connect_with(session);
                connection.execute("set ddl_lock_timeout = 60", &[]).expect("set");
                let text = "create table t as select 1 / (50 - n) as a \
                            from generate_series(1, 50) as g(n)";
                for _ in 0..3 {
                    connection.execute(text, &[]).expect_err("it divides by zero, or is too late");
                }
                ended.raise(session);
            });
            let replaces = start("replaces", (database, session), move |database, session| {
                let mut connection = database.connect_with(session);
                connection.set_ddl_lock_wait(LockWait::Forever);
                while !has_ended.is_raised(session) {
                    let dropped = connection.drop_table("t", false);
                    if dropped.is_ok() && connection.create_table(&plain("t")).is_ok() {
                        commit_row(&mut connection, "t", &[Value::Int(7)]);
                        inside.with(|replaced| *replaced += 1);
                        break;
                    }
                }
            });
            join(vec![makes, replaces], session);
            let replaced = replaced.take();
            if replaced > 0 {
                assert_eq!(rows_of(&mut database.connect_with(session), "t"), 1);
            }
            replaced
        });
    }
    assert!(replaced > 0, "the table was never replaced");
}

/// It is found, or there is none: that one went while it was looked up is nobody's concern.
#[test]
fn a_table_that_comes_and_goes_is_found_by_its_name_or_is_not_there() {
    let base = made(|database, session| {
        database.connect_with(session).create_table(&plain("other")).expect("made");
    });
    for seed in 0..30 {
        racing(seed, base.clone(), |database, session| {
            let defines = start("defines", (database, session), |database, session| {
                let mut connection = database.connect_with(session);
                for _ in 0..10 {
                    connection.create_table(&plain("t")).expect("made");
                    connection.drop_table("t", false).expect("dropped");
                }
            });
            let asks = start("asks", (database, session), |database, session| {
                let mut connection = database.connect_with(session);
                for n in 0..100 {
                    if let Err(stop) = connection.table("t") {
                        assert_eq!(stop.refusal(), Some(ErrorKind::NotFound), "{stop}");
                    }
                    commit_row(&mut connection, "other", &[Value::Int(n)]);
                }
            });
            join(vec![defines, asks], session);
        });
    }
}

/// Both hold the table together (S), so that neither sees the other's index before its own is made.
#[test]
fn of_two_that_make_an_index_of_one_name_one_is_told_that_it_exists() {
    let base = made(|database, session| {
        database.connect_with(session).create_table(&plain("t")).expect("made");
    });
    let told = Outside::new(Vec::new());
    for seed in 0..10 {
        let all = told.clone();
        racing(seed, base.clone(), move |database, session| {
            let both = (0..2).map(|_| {
                let told = all.clone();
                start("defines", (database, session), move |database, session| {
                    let index = IndexSpec::new("by_a", "t", ["a"]);
                    let made = database.connect_with(session).create_index(&index);
                    told.with(|all| all.extend(made.err().map(|stop| stop.refusal())));
                })
            });
            join(both.collect(), session);
        });
    }
    assert_eq!(told.take(), [Some(ErrorKind::AlreadyExists); 10]);
}

#[test]
fn a_table_that_is_truncated_meanwhile_is_listed() {
    let base = made(|database, session| {
        database.connect_with(session).create_table(&parent()).expect("made");
    });
    for seed in 0..30 {
        racing(seed, base.clone(), |database, session| {
            let truncates = start("truncates", (database, session), |database, session| {
                let mut connection = database.connect_with(session);
                for _ in 0..10 {
                    connection.truncate_table("parent").expect("truncated");
                }
            });
            let lists = start("lists", (database, session), |database, session| {
                for _ in 0..200 {
                    let all = database.catalog().tables(session).expect("listed");
                    assert_eq!(all.len(), 1, "its only table is always there");
                    let pause = session.waiting(WaitEvent::PlSqlLockTimer);
                    session.pause(Nanos(20_000), pause);
                }
            });
            join(vec![truncates, lists], session);
        });
    }
}

/// The size of a table is looked at when a statement is planned: if its segment has been dropped by
/// then, that of the new one.
#[test]
fn a_table_that_is_truncated_meanwhile_is_planned() {
    let base = made(|database, session| {
        database.connect_with(session).create_table(&plain("t")).expect("made");
    });
    for seed in 0..30 {
        racing_as(PAUSES, seed, base.clone(), |database, session| {
            let truncates = start("truncates", (database, session), |database, session| {
                let mut connection = database.connect_with(session);
                for _ in 0..10 {
                    connection.truncate_table("t").expect("truncated");
                }
            });
            let plans = start("plans", (database, session), |database, session| {
                let mut connection = database.connect_with(session);
                for number in 0..100 {
                    let text = format!("explain select a from t where a = {number}");
                    let lines = connection.query(&text, &[]).expect("planned").count();
                    assert!(lines > 0, "{text}");
                }
            });
            join(vec![truncates, plans], session);
        });
    }
}

/// The database is aborted as soon as a session is told that there is no such sequence any more.
#[test]
fn a_sequence_is_refused_only_when_its_drop_is_durable() {
    let base = made(|database, session| {
        let mut connection = database.connect_with(session);
        connection.create_sequence("ticket", &SequenceOptions::default()).expect("made");
    });
    for seed in 0..40 {
        let (disk, ()) = racing_to_open(seed, base.clone(), |opened, session| {
            let database = &opened.expect("opened");
            let drops = start("drops", (database, session), |database, session| {
                // The abort may come before it has returned.
                let _ = database.connect_with(session).drop_sequence("ticket");
            });
            let mut connection = database.connect_with(session);
            while connection.next_value("ticket").is_ok() {}
            drop(connection);
            database.clone().abort_by(session);
            join(vec![drops], session);
        });
        racing(seed, disk, |database, session| {
            let told = database.connect_with(session).next_value("ticket");
            let told = told.expect_err("its drop was told");
            assert_eq!(told.refusal(), Some(ErrorKind::NotFound), "{told}");
        });
    }
}

#[test]
fn an_index_is_dropped_though_its_table_gets_another_name_meanwhile() {
    let base = made(|database, session| {
        let mut connection = database.connect_with(session);
        connection.create_table(&parent()).expect("made");
        let alteration = Alteration::AddColumn(ColumnSpec::new("note", Type::Text));
        connection.alter_table("parent", &alteration).expect("altered");
        connection.create_index(&IndexSpec::new("by_note", "parent", ["note"])).expect("made");
    });
    racing(1, base, |database, session| {
        let mut holder = database.connect_with(session);
        let table = holder.table("parent").expect("there");
        let mut tx = holder.begin();
        tx.insert(&table, &[Value::Int(1), Value::Null]).expect("inserted");
        let define = |what: fn(&mut Connection<'_>)| {
            let thread = start("defines", (database, session), move |database, session| {
                let mut connection = database.connect_with(session);
                connection.set_ddl_lock_wait(LockWait::Forever);
                what(&mut connection);
            });
            // The next one waits behind it.
            session.pause(Nanos::from_millis(50), session.waiting(WaitEvent::PlSqlLockTimer));
            thread
        };
        let renames = define(|connection| {
            let to = Alteration::RenameTable("parents".into());
            connection.alter_table("parent", &to).expect("renamed");
        });
        let drops = define(|connection| connection.drop_index("by_note").expect("dropped"));
        tx.commit().expect("committed");
        join(vec![renames, drops], session);
    });
}
