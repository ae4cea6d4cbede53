//! Statements of SQL are atomic (PF23): each kind of statement, refused by each row in turn, while
//! each operation of the disk in turn fails, and cancelled at each of 200 moments.
//!
//! ```text
//!   kinds ─▶ probe: what is there before and behind, and how long it takes
//!     │
//!     ├─▶ refused    by row 1, 2, ...          ┐                 ┌─ rows, indexes, dictionary,
//!     ├─▶ failing    operation 1, 2, ... fails ├─▶ pictures are ─┤  locks, snapshots, memory,
//!     └─▶ cancelled  at moment 1, 2, ...       ┘   the same      └─ temporary space; `verify`
//! ```
//!
//! Every second try is one of several statements of a transaction, which goes on: it sees what it
//! saw, does the statement after all, goes back to a savepoint, and commits. Another session works
//! beside it all the time, and notices nothing.
//!
//! Of rows, operations and moments one in six is tried in release, fewer in debug, all of them by
//! `cargo xbench soak atomic`.
#![forbid(unsafe_code)]
#![expect(clippy::disallowed_methods, reason = "kinds are tried by threads outside simulations")]

mod bed;
mod cancelled;
mod failing;
mod kinds;
mod neighbour;
mod picture;
mod probe;
mod refused;
mod stage;

use std::sync::Arc;

use sim::fs::FileSystem;

use bed::{How, in_world, open, say, says, shut};
use cancelled::{Ended, Moments};
use failing::{Failed, Places};
use kinds::{Class, Kind, kinds};
use neighbour::Expected;
use stage::Stage;

/// Moments of the time of a statement.
const MOMENTS: u64 = 200;

/// Kinds are tried by so many threads.
const THREADS: usize = 2;

/// The soak says by this how many rows, operations and moments it wants: one in so many.
const STRIDE: &str = "FOREBAY_ATOMIC_STRIDE";

fn stride() -> u64 {
    let asked = std::env::var(STRIDE).ok().and_then(|stride| stride.parse().ok());
    asked.unwrap_or(if cfg!(debug_assertions) { 40 } else { 6 }).clamp(1, MOMENTS)
}

/// A kind, and what came of its tries.
struct Tried<T> {
    kind: Arc<Kind>,
    came: T,
}

/// Tries each kind, whose number `act` is given too.
fn over_kinds<T: Send>(act: impl Fn(u64, &Arc<Kind>) -> Result<T, String> + Sync) -> Vec<Tried<T>> {
    let all: Vec<Arc<Kind>> = kinds().into_iter().map(Arc::new).collect();
    let of_thread = |first: usize| {
        let mut tried = Vec::new();
        for (number, kind) in all.iter().enumerate().skip(first).step_by(THREADS) {
            match act(number as u64, kind) {
                Ok(came) => tried.push(Tried { kind: Arc::clone(kind), came }),
                Err(what) => panic!("{}: {what}", kind.name),
            }
        }
        tried
    };
    std::thread::scope(|scope| {
        let of_thread = &of_thread;
        let threads = (0..THREADS).map(|first| scope.spawn(move || of_thread(first)));
        let threads: Vec<_> = threads.collect();
        let joined = threads.into_iter().map(|thread| thread.join().expect("no kind is wrong"));
        joined.flatten().collect()
    })
}

/// A CHECK, a key, a foreign key, a division or a text that is too long refuses the statement at
/// its first row, at its last, and at each between.
#[test]
fn what_a_row_refuses_leaves_nothing() {
    let (base, stride) = (bed::base(), stride());
    let tried = over_kinds(|number, kind| {
        refused::refused(kind, How::of(number), stride, &base)
            .map_err(|what| format!("{what}\nin the world of seed {number}"))
    });
    let places: usize = tried.iter().map(|one| one.kind.places()).sum();
    let count: u64 = tried.iter().map(|one| one.came).sum();
    println!("{} kinds, {places} places, {count} of them tried", tried.len());
    assert!(count * stride * 2 > places as u64, "only {count} of {places}");
}

/// EIO and ENOSPC, once each, of whatever the statement, the writers behind it and the other
/// session do meanwhile.
#[test]
fn what_the_disk_ends_leaves_nothing_or_is_done() {
    let (base, stride) = (bed::base(), stride());
    let tried = over_kinds(|number, kind| {
        let probe = Arc::new(probe::probe(kind, &base)?);
        failing::failing(kind, &probe, Places { from: 1 + number % stride, stride }, &base)
    });
    let mut all = Failed::default();
    for Tried { kind, came } in &tried {
        println!("{}: {came:?}", kind.name);
        all.tries += came.tries;
        all.refused += came.refused;
        all.halted += came.halted;
        all.worlds += came.worlds;
    }
    println!("{all:?}");
    assert!(all.tries * stride > 1_000, "only {} places", all.tries);
    let is_sampled = cfg!(debug_assertions);
    assert!(is_sampled || all.refused > 0 && all.halted > 0, "{all:?}");
}

/// By another thread, or for want of time; commits and what holds the end of a call off go on.
#[test]
fn what_is_cancelled_at_any_moment_leaves_nothing() {
    let (base, stride) = (bed::base(), stride());
    let tried = over_kinds(|number, kind| {
        let probe = Arc::new(probe::probe(kind, &base)?);
        let moments = Moments { count: MOMENTS, from: number % stride, stride };
        cancelled::cancelled(kind, &probe, moments, &base)
    });
    let (mut all, mut long) = (Ended::default(), Ended::default());
    for Tried { kind, came } in &tried {
        println!("{}: {came:?}", kind.name);
        if matches!(kind.class, Class::Rows | Class::Query) {
            let is_ended = came.ended > 0 || stride >= 10;
            assert!(is_ended, "{}: no moment has ended it: {came:?}", kind.name);
            long.add(came);
        }
        all.add(came);
    }
    println!("{all:?}, of statements about many rows {long:?}");
    assert!(long.ended * 5 > long.tries, "too few are ended: {long:?}");
    assert!(all.turns > 0, "another session has done nothing meanwhile");
}

/// What is left behind, and a label of the lines that have to differ then.
const LEFT: &[(&str, &[&str])] = &[
    ("rows of o", &["update o set extra = 6 where id = 3"]),
    ("rows of t", &["insert into t (id, code, v, up) values (200, 'x', 1, 1)"]),
    ("rows of k", &["insert into k values (1, 2)"]),
    ("indexes", &["create index n on p (name)"]),
    ("columns of indexes", &["create index n on p (name)"]),
    ("columns", &["alter table p add column n integer"]),
    ("tables", &["comment on table p is 'other'"]),
    ("constraints", &["alter table p add constraint n check (id > 0)"]),
    ("columns of constraints", &["alter table p add constraint n unique (name)"]),
    ("sequences", &["create sequence n"]),
    ("sequences", &["alter sequence s restart with 9"]),
    ("views", &["create view n as select 1 as one"]),
    ("kinds of objects", &["create table n (id bigint primary key)"]),
    ("here: numbers of objects", &["truncate table k"]),
    ("here: statistics", &["analyze p"]),
    ("here: statistics of columns", &["analyze table o delete statistics"]),
    ("comments on columns", &["comment on column p.name is 'other'"]),
    ("here: segments", &["create index n on p (name)"]),
    ("held: locks", &["begin", "update p set name = 'n' where id = 1"]),
    ("held: transactions", &["begin", "update p set name = 'n' where id = 1"]),
    ("held: rows of t that are free", &["begin", "select id from t where id = 5 for update"]),
];

/// The comparison can fail: it sees whatever a statement could leave.
#[test]
fn the_comparison_sees_whatever_is_left() {
    let base = bed::base();
    for (label, texts) in LEFT {
        let differing =
            differing_by(&base, move |app| texts.iter().try_for_each(|text| say(app, text)));
        assert!(differing.iter().any(|one| one == label), "{label}: {differing:?}");
    }
    // A query that nobody reads to its end, and a commit since: what it sees is old by then.
    let differing = differing_by(&base, |app| {
        let sorted = "select a.id, b.code from t a, t b order by a.pad, b.pad, a.id, b.id";
        let cursor = app.open(sorted, &[]).map_err(says(sorted))?;
        let mut batch = database::Batch::default();
        app.fetch(&cursor, 1, &mut batch).map_err(says(sorted))?;
        say(app, "update beside set n = n + 1 where id = 1")
    });
    for label in ["held: snapshots", "held: memory", "held: temporary space"] {
        assert!(differing.iter().any(|one| one == label), "{label}: {differing:?}");
    }
}

/// The labels of the lines that differ when a session has done this, and goes on.
fn differing_by(
    base: &FileSystem,
    act: impl FnOnce(&mut database::Connection<'_>) -> Result<(), String> + Send + 'static,
) -> Vec<String> {
    let how = How::of(0);
    let differing = in_world(how, base, move |world, session| {
        let database = open(how.failpoints, world, session)?;
        let mut app = database.connect_with(session);
        let mut stage = Stage::new(world, &database, Expected::default(), session)?;
        let before = stage.picture()?;
        act(&mut app)?;
        let differing = stage.picture()?.differing(&before);
        drop(app);
        stage.end()?;
        shut(database, world, session)?;
        Ok(differing)
    });
    differing.unwrap_or_else(|what| panic!("{what}"))
}

/// An engine that leaves one change of what it takes back is noticed: of a statement alone, and of
/// one within a transaction. In debug an assertion of the engine may come before.
#[cfg(not(debug_assertions))]
#[test]
fn a_change_that_a_refused_statement_leaves_is_noticed() {
    use stop::{Failpoint, Failpoints};

    let base = bed::base();
    let named = |name: &str| {
        let found = kinds().into_iter().find(|kind| kind.name == name);
        Arc::new(found.expect(name))
    };
    for failpoint in [Failpoint::SkipRollbackRecord, Failpoint::SkipSavepointRecord] {
        for name in ["insert values", "update", "delete returning", "merge"] {
            let how = How { failpoints: Failpoints::only(failpoint), ..How::of(0) };
            let wrong = refused::refused(&named(name), how, 1, &base).expect_err(name);
            println!("{failpoint:?}, {name}: {wrong}");
            assert!(!wrong.starts_with("in the machine"), "the engine stops itself: {wrong}");
        }
    }
}

/// Several actions of one ALTER TABLE are one thing, whichever of them is refused.
#[test]
fn of_several_actions_none_is_done_if_one_is_refused() {
    const TEXTS: &[&str] = &[
        "alter table o add column n integer, add constraint x check (id <> 7)",
        "alter table o add column n integer, add column n text",
        "alter table o drop column extra, alter column t type number(20,2) using 1 / (t - 5)",
        "alter table o drop column extra, drop column id",
        "alter table o alter column extra set default 1, alter column nothing set default 1",
        "alter table o alter column t set not null, add primary key (t)",
        "alter table o drop primary key, add constraint n unique (extra), add primary key (extra)",
        "alter table o alter column t type text, add foreign key (t) references t",
        "alter table o alter column t type smallint, alter column t type text",
        "alter table i drop column id, drop column p",
        "alter table t add column n integer, drop constraint t_pkey",
        "alter table t add column n integer, drop column v",
        "alter table t drop constraint t_v, add constraint t_v check (v > 1)",
        "alter table src rename to n, add column n integer",
        "alter table o modify (extra integer default 7, t smallint, id null)",
    ];
    let differing = differing_by(&bed::base(), |app| {
        TEXTS.iter().try_for_each(|text| match app.execute(text, &[]) {
            Ok(_) => Err(format!("{text}: it isn't refused")),
            Err(_) => Ok(()),
        })
    });
    assert_eq!(differing, Vec::<String>::new());
}

/// Several names of one DROP are one thing: each is dropped or none, for every kind of object.
#[test]
fn of_several_names_none_is_dropped_if_one_is_refused() {
    const TEXTS: &[&str] = &[
        "drop table o, nothing",
        "drop table if exists o, nothing, w",
        "drop table e, o, t",
        "drop external table e, o",
        "drop view z, nothing",
        "drop view w, y",
        "drop index o_by_t, t_by_v, t_pkey",
        "drop sequence s, nothing",
        "drop sequence s, i_id_seq",
        "drop schema public, nothing",
    ];
    let differing = differing_by(&bed::base(), |app| {
        TEXTS.iter().try_for_each(|text| match app.execute(text, &[]) {
            Ok(_) => Err(format!("{text}: it isn't refused")),
            Err(_) => Ok(()),
        })
    });
    assert_eq!(differing, Vec::<String>::new());
}
