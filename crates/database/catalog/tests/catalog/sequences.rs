//! Sequences give no value twice, whichever sessions ask and whatever crashes.

use std::collections::BTreeSet;
use std::sync::Arc;

use catalog::{Alteration, Restart, Sequence, SequenceAlteration, SequenceBound, SequenceOptions};
use sim::Outside;
use sim::fs::crash::CrashStates;
use stop::RefusalKind;
use value::{Type, Value};
use waits::WaitEvent;

use crate::common::{
    Db, Run, WAIT, column, database, ended, join, left, machine, primary, racy, refused, table,
    with_db,
};

fn cached(cache: u32) -> SequenceOptions {
    SequenceOptions { cache: Some(cache), ..SequenceOptions::default() }
}

#[test]
fn a_sequence_ends_and_is_dropped() {
    database(|db, session| {
        let options = SequenceOptions { max: Some(3), ..cached(2) };
        db.catalog.create_sequence("s", &options, session).expect("created");
        let again = db.catalog.create_sequence("s", &options, session);
        refused(again, RefusalKind::AlreadyExists, "s exists already");
        let sequence = db.catalog.sequence("s", session).expect("there");
        for value in 1..=3 {
            assert_eq!(db.catalog.sequences(session)[0].next, Some(value));
            assert_eq!(db.catalog.next_value(&sequence, session).expect("a value"), value);
        }
        assert_eq!(db.catalog.sequences(session)[0].next, None);
        let behind = db.catalog.next_value(&sequence, session);
        refused(behind, RefusalKind::NoSpace, "no value behind 3");
        db.catalog.drop_sequence("s", session).expect("dropped");
        refused(db.catalog.next_value(&sequence, session), RefusalKind::NotFound, "any more");
        refused(db.catalog.drop_sequence("s", session), RefusalKind::NotFound, "no sequence");
        db.catalog.create_sequence("s", &cached(5), session).expect("created");
        let bad = db.catalog.create_sequence("t", &cached(0), session);
        refused(bad, RefusalKind::Invalid, "CACHE");
    });
}

#[test]
fn a_sequence_is_altered_and_goes_on_where_it_was() {
    let disk = database(|db, session| {
        db.catalog.create_sequence("s", &cached(5), session).expect("created");
        let old = db.catalog.sequence("s", session).expect("there");
        let next = || db.catalog.next_value(&old, session);
        let alter = |alteration| db.catalog.alter_sequence("s", &alteration, session);
        let plain = SequenceAlteration::default;
        assert_eq!((next().expect("a value"), next().expect("a value")), (1, 2));
        alter(SequenceAlteration { increment: Some(10), cache: Some(1), ..plain() })
            .expect("altered");
        // Behind the range of five; who holds the old one goes on with the new one.
        assert_eq!((next().expect("a value"), next().expect("a value")), (6, 16));
        let low = alter(SequenceAlteration { max: Some(SequenceBound::At(20)), ..plain() });
        refused(low, RefusalKind::Invalid, "its next value 26 wouldn't be within 1 and 20");
        assert_eq!(next().expect("it is as it was"), 26);
        let max = Some(SequenceBound::At(50));
        alter(SequenceAlteration { max, restart: Some(Restart::At(45)), ..plain() })
            .expect("altered");
        assert_eq!(next().expect("a value"), 45);
        refused(next(), RefusalKind::NoSpace, "no value behind 50");
        alter(SequenceAlteration { max: Some(SequenceBound::Default), ..plain() }).expect("more");
        assert_eq!(next().expect("behind the old end"), 51);
        let restart = Some(Restart::AtStart);
        alter(SequenceAlteration { restart, increment: Some(1), ..plain() }).expect("altered");
        assert_eq!(next().expect("from the beginning"), 1);
        let bad = alter(SequenceAlteration { increment: Some(0), ..plain() });
        refused(bad, RefusalKind::Invalid, "its increment is 0");
        let none = db.catalog.alter_sequence("t", &plain(), session);
        refused(none, RefusalKind::NotFound, "no sequence");
    });
    let disk = crate::common::with(disk, |db, session| {
        let sequence = db.catalog.sequence("s", session).expect("there");
        let set = |value, is_given| db.catalog.set_value(&sequence, value, is_given, session);
        let next = || db.catalog.next_value(&sequence, session).expect("a value");
        assert_eq!(next(), 2, "one value a range");
        set(100, true).expect("set");
        assert_eq!(next(), 101);
        set(7, false).expect("set back");
        assert_eq!((next(), next()), (7, 8));
        refused(set(0, true), RefusalKind::Invalid, "its values are from 1 to");
        set(i64::MAX, true).expect("the last one");
        let behind = db.catalog.next_value(&sequence, session);
        refused(behind, RefusalKind::NoSpace, "no value behind");
        set(40, true).expect("set");
    });
    crate::common::with(disk, |db, session| {
        let sequence = db.catalog.sequence("s", session).expect("there");
        assert_eq!(db.catalog.next_value(&sequence, session).expect("a value"), 41);
        db.catalog.drop_sequence("s", session).expect("dropped");
        let late = db.catalog.set_value(&sequence, 5, true, session);
        refused(late, RefusalKind::NotFound, "any more");
    });
}

#[test]
fn a_sequence_of_an_identity_column_keeps_to_the_columns_type() {
    database(|db, session| {
        let id = catalog::ColumnSpec::new("id", Type::Integer).identity(true);
        let spec = table("t", vec![id], vec![]);
        db.catalog.create_table(&spec, WAIT, session).expect("created");
        let max = Some(SequenceBound::Default);
        let wide = SequenceAlteration { max, ..SequenceAlteration::default() };
        let wide = db.catalog.alter_sequence("t_id_seq", &wide, session);
        refused(wide, RefusalKind::Invalid, "it numbers the column id, which is INTEGER");
        let restart = Some(Restart::At(9));
        let again = SequenceAlteration { restart, ..SequenceAlteration::default() };
        db.catalog.alter_sequence("t_id_seq", &again, session).expect("altered");
        let table = db.catalog.table("t", session).expect("there");
        let row = db.catalog.fill_row(&table, &[], session).expect("filled");
        assert_eq!(row.identity, Some(9));
    });
}

/// Sessions ask while another one alters the sequence: no value is given twice.
#[test]
fn no_value_comes_twice_while_a_sequence_is_altered() {
    let disk = database(|db, session| {
        db.catalog.create_sequence("s", &cached(4), session).expect("created");
    });
    for seed in 0..20 {
        let found = Outside::<Vec<i64>>::default();
        let inside = found.clone();
        with_db(racy(seed, disk.clone()), move |db, session| {
            let mut sessions: Vec<_> = (0..3)
                .map(|_| {
                    let found = inside.clone();
                    db.start("asks", session, move |db, session| {
                        let sequence = db.catalog.sequence("s", session).expect("there");
                        for _ in 0..12 {
                            let value = db.catalog.next_value(&sequence, session);
                            found.with(|found| found.push(value.expect("a value")));
                        }
                    })
                })
                .collect();
            sessions.push(db.start("alters", session, |db, session| {
                for cache in [2, 7, 3] {
                    let cache = Some(cache);
                    let what = SequenceAlteration { cache, ..SequenceAlteration::default() };
                    db.catalog.alter_sequence("s", &what, session).expect("altered");
                }
            }));
            join(sessions, session);
        });
        let found = found.take();
        let different: BTreeSet<i64> = found.iter().copied().collect();
        assert_eq!((found.len(), different.len()), (36, 36), "seed {seed}: {found:?}");
    }
}

/// What drops the sequence of an identity column.
const DROPS: [Run; 2] = [
    |db, session| db.catalog.drop_table("t", false, WAIT, session),
    |db, session| {
        let drop = Alteration::DropColumn("id".into());
        db.catalog.alter_table("t", &drop, WAIT, session)
    },
];

/// A sequence that is altered while its table waits to be dropped goes too, and not as it was
/// before: nobody has a value of it any more (DC29).
#[test]
fn a_sequence_that_was_altered_before_it_is_dropped_gives_no_value() {
    let disk = database(|db, session| {
        let id = catalog::ColumnSpec::new("id", Type::Integer).identity(true);
        let spec = table("t", vec![id, column("note", Type::Integer)], vec![]);
        db.catalog.create_table(&spec, WAIT, session).expect("created");
    });
    let alterations = Outside::new(0);
    for seed in 0..40 {
        for drop in DROPS {
            let all = alterations.clone();
            with_db(racy(seed, disk.clone()), move |db, session| {
                let kept = Outside::<Option<Arc<Sequence>>>::default();
                let inside = kept.clone();
                let alters = db.start("alters", session, move |db, session| {
                    let cache = Some(9);
                    let what = SequenceAlteration { cache, ..SequenceAlteration::default() };
                    // Refused if it comes too late.
                    let altered = db.catalog.alter_sequence("t_id_seq", &what, session);
                    all.with(|all| *all += u32::from(altered.is_ok()));
                    let asked = altered.and_then(|()| {
                        let sequence = db.catalog.sequence("t_id_seq", session)?;
                        db.catalog.next_value(&sequence, session).map(|_| sequence)
                    });
                    inside.with(|kept| *kept = asked.ok());
                });
                drop(db, session).expect("dropped");
                join(vec![alters], session);
                if let Some(sequence) = kept.take() {
                    let behind = db.catalog.next_value(&sequence, session);
                    refused(behind, RefusalKind::NotFound, "any more");
                }
            });
        }
    }
    assert!(alterations.take() > 0, "none came before the drop");
}

#[test]
fn sessions_that_ask_at_once_get_different_values_without_gaps() {
    let disk = database(|db, session| {
        db.catalog.create_sequence("s", &cached(3), session).expect("created");
    });
    let waits = Outside::new(0);
    for seed in 0..20 {
        let all_waits = waits.clone();
        let found = Outside::<Vec<i64>>::default();
        let inside = found.clone();
        with_db(racy(seed, disk.clone()), move |db, session| {
            let sessions = (0..4).map(|_| {
                let found = inside.clone();
                db.start("asks", session, move |db, session| {
                    let sequence = db.catalog.sequence("s", session).expect("there");
                    for _ in 0..10 {
                        let value = db.catalog.next_value(&sequence, session).expect("a value");
                        found.with(|found| found.push(value));
                    }
                })
            });
            join(sessions.collect(), session);
            let waited = session.os().totals().event(WaitEvent::EnqSqContention).count;
            all_waits.with(|all| *all += waited);
        });
        let mut found = found.take();
        found.sort_unstable();
        assert_eq!(found, (1..=40).collect::<Vec<_>>(), "seed {seed}");
    }
    assert!(waits.take() > 0, "nobody waited for who took a range");
}

/// Values are put into a table by transactions that wait; the power goes anywhere; what is asked
/// for then is in no row that was committed.
#[test]
fn no_committed_value_comes_twice_after_a_crash() {
    let base = database(|db, session| {
        db.catalog.create_sequence("s", &cached(2), session).expect("created");
        let spec = table("t", vec![column("n", Type::BigInt)], vec![primary(&["n"])]);
        db.catalog.create_table(&spec, WAIT, session).expect("created");
    });
    let mut cuts = 0;
    for cut in (1..).step_by(3) {
        let mut content = base.clone();
        content.lose_power_at(content.crash_points() + cut);
        let told = Outside::<BTreeSet<i64>>::default();
        let inside = told.clone();
        let mut report = racy(cut, content).run(move |world, session| {
            let db = Db::open(world, session).expect("opened");
            let sessions = (0..2).map(|_| {
                let told = inside.clone();
                db.start("inserts", session, move |db, session| {
                    let sequence = db.catalog.sequence("s", session).expect("there");
                    for _ in 0..6 {
                        let value = db.catalog.next_value(&sequence, session).expect("a value");
                        db.insert("t", &[Value::Int(value)], session).expect("inserted");
                        told.with(|told| told.insert(value));
                    }
                })
            });
            join(sessions.collect(), session);
            db.shut(session);
        });
        if !report.was_cut(format_args!("cut {cut}")) {
            break;
        }
        cuts += 1;
        let (disk, told) = (left(&mut report), told.take());
        for draw in 0..2 {
            let mut again = CrashStates::of(&disk).sample(draw);
            again.lose_power_at(u64::MAX);
            let told = told.clone();
            let report = machine(cut, again).run(move |world, session| {
                let db = Db::open(world, session).expect("opened");
                let there: BTreeSet<i64> = db
                    .rows("t", session)
                    .iter()
                    .map(|row| row.parse().expect("a number"))
                    .collect();
                assert!(there.is_superset(&told), "{told:?} were committed, {there:?} are there");
                let sequence = db.catalog.sequence("s", session).expect("there");
                for _ in 0..6 {
                    let value = db.catalog.next_value(&sequence, session).expect("a value");
                    assert!(!there.contains(&value), "{value} comes again: {there:?}");
                    db.insert("t", &[Value::Int(value)], session).expect("inserted");
                }
                db.check(session);
                db.shut(session);
            });
            ended(report, format!("cut {cut}, draw {draw}"));
        }
    }
    assert!(cuts > 10, "{cuts} cuts");
}
