//! Sequences give no value twice, whichever sessions ask and whatever crashes.

use std::collections::BTreeSet;

use catalog::SequenceOptions;
use sim::Outside;
use sim::fs::crash::CrashStates;
use stop::RefusalKind;
use value::{Type, Value};
use waits::WaitEvent;

use crate::common::{
    Db, WAIT, column, database, ended, join, left, machine, primary, racy, refused, table, with_db,
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
