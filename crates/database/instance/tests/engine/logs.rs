//! Redo log groups with several members, of several sizes, that come and go: under load, through
//! crashes and faults, and when a member isn't what it should be.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use instance::{Creation, Instance, LogChange, LogGroupSpec, LogStatus, LogView, Transaction};
use os::Session;
use sim::fs::crash::CrashStates;
use sim::fs::faults::{Fault, FaultPlan, Scope};
use sim::fs::{FileSystem, Operation};
use sim::model::DiskParameters;
use sim::{DiskSpec, Simulation};
use stop::{RefusalKind, Stop};
use waits::Nanos;

use crate::common::{
    Dice, TABLE, abort, add, bytes_of, check, creation, database_with, directory, ended, fill,
    join, left, machine, number, open, parameters, pause, put, racy, rows, run, run_kept, shut,
    start,
};
use crate::rows::Rows;

const ROWS: u64 = 24;
/// The smallest log.
const LOG: u64 = redo::LOG_BLOCKS_MIN as u64 * 4096;

/// Three groups with two members each, and a table whose numbers are all 0.
fn base() -> FileSystem {
    let creation = Creation { log_members: 2, ..creation() };
    database_with(creation, parameters(), |instance, session| {
        let table = Rows::create(instance, TABLE, session).expect("made");
        fill(instance, &table, ROWS, session);
    })
}

/// What was asked for, and what was acknowledged.
type Told = Arc<[AtomicU64; 2]>;

/// So many transactions, each of which adds 1 to a row of this session's.
fn work(
    instance: &Instance,
    (who, of): (u64, u64),
    count: u64,
    told: &Told,
    session: &Session,
) -> Result<(), Stop> {
    let table = Rows::open(instance, TABLE, session)?;
    let all = rows(&table, session);
    let mine: Vec<_> = all.iter().skip(who as usize).step_by(of as usize).collect();
    for step in 0..count {
        let mut transaction = Transaction::new();
        add(&table, &mut transaction, *mine[step as usize % mine.len()], 1, session)?;
        told[0].fetch_add(1, SeqCst);
        instance.commit(transaction, session)?;
        told[1].fetch_add(1, SeqCst);
    }
    Ok(())
}

/// Opens, holds what is there against what was told, and shuts. What the groups are then.
fn holds(seed: u64, disk: FileSystem, told: &Told, what: &str) -> Vec<LogView> {
    let (asked, acknowledged) = (told[0].load(SeqCst), told[1].load(SeqCst));
    let report = machine(seed, disk).run(move |world, session| {
        let instance = open(world, session);
        let table = Rows::open(&instance, TABLE, session).expect("there");
        let numbers = rows(&table, session).into_iter().map(|row| number(&table, row, session));
        let sum = numbers.sum::<i64>() as u64;
        assert!((acknowledged..=asked).contains(&sum), "{acknowledged} <= {sum} <= {asked}");
        check(&instance, session);
        let views = instance.log_groups(session);
        drop(table);
        shut(instance, session);
        views
    });
    ended(report, format!("seed {seed}: {what}"))
}

fn change(name: &str, value: &str) -> LogChange {
    LogChange::read(name, value).expect("it is one").expect("it can be read")
}

/// Some change of the groups.
fn any_change(dice: &mut Dice) -> LogChange {
    let name = ["x", "y", "z", "redo02b", "redo03"][dice.below(5) as usize];
    let group = 1 + dice.below(5) as u16;
    match dice.below(6) {
        0 | 1 => {
            let members = (0..1 + dice.below(3)).map(|copy| format!("{name}{copy}.log")).collect();
            LogChange::AddGroup(LogGroupSpec { bytes: LOG + 4096 * dice.below(60), members })
        }
        2 => LogChange::DropGroup(group),
        3 => LogChange::AddMember(group, format!("{name}.log")),
        4 => LogChange::DropMember(format!("{name}.log")),
        _ => LogChange::Switch,
    }
}

/// Each file of the directory that is a log is a member, and the other way round.
fn only_members_are_there(views: &[LogView], disk: &FileSystem) {
    let mut listed: Vec<_> = views
        .iter()
        .flat_map(|view| &view.members)
        .map(|(path, _)| path.file_name().expect("a file").to_string_lossy().into_owned())
        .collect();
    listed.sort();
    let mut there = disk.clone().list("/db").expect("read");
    there.retain(|name| name.contains(".log"));
    there.sort();
    assert_eq!(listed, there);
}

/// Whatever is added and dropped while sessions work, nothing is lost, and nobody waits for ever.
#[test]
fn groups_and_members_come_and_go_under_load() {
    let (base, mut done, mut refusals) = (base(), 0, 0);
    for seed in 0..60 {
        let told = Told::default();
        let inside = Arc::clone(&told);
        let ((did, refused), disk) = run_kept(racy(seed, base.clone()), move |world, session| {
            let instance = open(world, session);
            let mut threads: Vec<_> = (0..3)
                .map(|who| {
                    let told = Arc::clone(&inside);
                    start(&format!("user{who}"), &instance, session, move |instance, session| {
                        work(instance, (who, 3), 120, &told, session).expect("no halt");
                    })
                })
                .collect();
            let counts: Told = Told::default();
            for dba in 0..2 {
                let (mut dice, counts) = (Dice(seed * 10 + dba), Arc::clone(&counts));
                threads.push(start("dba", &instance, session, move |instance, session| {
                    for _ in 0..12 {
                        match instance.change_logs(&any_change(&mut dice), session) {
                            Ok(()) => _ = counts[0].fetch_add(1, SeqCst),
                            Err(stop) => {
                                assert!(stop.refusal().is_some(), "{stop}");
                                counts[1].fetch_add(1, SeqCst);
                            }
                        }
                        pause(Nanos::from_millis(2), session);
                    }
                }));
            }
            join(threads, session);
            if seed % 2 == 0 {
                shut(instance, session)
            } else {
                abort(instance, session)
            }
            (counts[0].load(SeqCst), counts[1].load(SeqCst))
        });
        (done, refusals) = (done + did, refusals + refused);
        let views = holds(seed, disk.clone(), &told, "after changes");
        only_members_are_there(&views, &disk);
    }
    assert!(done > 400 && refusals > 200, "{done} done, {refusals} refused");
}

/// A little of everything, with what it takes to switch through all groups between.
fn script(instance: &Instance, told: &Told, session: &Session) -> Result<(), Stop> {
    // What an attempt before has done, or left, isn't done again.
    let again = |kind| {
        [RefusalKind::AlreadyExists, RefusalKind::NotFound, RefusalKind::WrongState].contains(&kind)
    };
    let steps = [
        ("add_log_group", "220k:x1.log,x2.log"),
        ("add_log_member", "1:y.log"),
        ("switch_log", "next"),
        ("drop_log_group", "3"),
        ("drop_log_member", "redo02b.log"),
        ("add_log_group", "300k:z.log"),
        ("drop_log_member", "y.log"),
    ];
    for (name, value) in steps {
        match instance.change_logs(&change(name, value), session) {
            Err(Stop::Refused(refusal)) if again(refusal.kind()) => {}
            done => done?,
        }
        work(instance, (0, 1), 3, told, session)?;
        instance.checkpoint(session)?;
    }
    Ok(())
}

/// The power goes at each operation of changes, and some images of that are opened, with the same
/// changes after it: a file that was half made or half removed is in nobody's way.
#[test]
fn a_crash_anywhere_in_a_change_leaves_it_done_or_not() {
    let (base, mut cuts) = (base(), 0);
    // In debug here and there.
    let stride = if cfg!(debug_assertions) { 5 } else { 1 };
    for cut in (1..).step_by(stride) {
        let mut dying = base.clone();
        dying.lose_power_at(dying.crash_points() + cut);
        let told = Told::default();
        let inside = Arc::clone(&told);
        let mut report = machine(cut, dying).run(move |world, session| {
            let instance = open(world, session);
            script(&instance, &inside, session).expect("the power goes before anything else");
            shut(instance, session);
        });
        if !report.was_cut(format_args!("cut {cut}")) {
            break;
        }
        cuts += 1;
        let disk = left(&mut report);
        let states = CrashStates::of(&disk);
        for draw in 0..3 {
            let state = states.sample(draw);
            holds(cut, state.clone(), &told, &states.describe_sample(draw));
            let again = Told::default();
            let inside = Arc::clone(&again);
            let mut report = machine(cut, state).run(move |world, session| {
                let instance = open(world, session);
                script(&instance, &inside, session).expect("it goes");
                shut(instance, session);
            });
            let mut disk = left(&mut report);
            ended(report, format!("cut {cut}, state {draw}, again"));
            let names = disk.list("/db").expect("read");
            assert!(!names.iter().any(|name| name.ends_with("-new")), "{names:?}");
        }
    }
    assert!(cuts > 150 / stride, "{cuts} cuts");
}

/// What can't be done is refused in one line, and nothing has changed.
#[test]
fn what_cannot_be_changed_is_refused_and_leaves_nothing() {
    let mut content = base();
    let (used, _) = content.space();
    content.set_capacity(used + (1 << 22));
    run(machine(1, content), |world, session| {
        let instance = open(world, session);
        let names = || world.disk().list(directory(), session).expect("read");
        let refused = |name: &str, value: &str, says: &str| {
            let before = (names(), instance.log_groups(session));
            let stop = match LogChange::read(name, value).expect("a change") {
                Ok(change) => instance.change_logs(&change, session).expect_err(says),
                Err(stop) => stop,
            };
            let text = stop.to_string();
            assert!(text.contains(says) && !text.contains('\n'), "'{text}' doesn't say '{says}'");
            assert_eq!((names(), instance.log_groups(session)), before, "{name} = {value}");
        };
        let current = |instance: &Instance| {
            let views = instance.log_groups(session);
            let current = views.iter().find(|view| view.status == LogStatus::Current);
            current.expect("one is").number.to_string()
        };
        refused("add_log_group", "64m", "add_log_group takes SIZE:PATH");
        refused("add_log_group", "100:a.log", "a redo log of 100 bytes is too small");
        refused("add_log_group", "100k:a.log", "a redo log of 102400 bytes is too small");
        refused("add_log_group", "1m:a.log,a.log", "is a file of the database already");
        refused("add_log_group", "1m:a.log,redo02b.log", "is a file of the database already");
        refused("add_log_group", "1m:a.log,./redo02b.log", "is a file of the database already");
        refused("add_log_group", "1m:a.log,control01.ctl", "there is a file of this name");
        refused("add_log_group", "3m:a.log,b.log", "MB are free");
        refused("add_log_group", "1m:a.log,/nowhere/b.log", "/nowhere/b.log");
        refused("add_log_group", "1m:1,2,3,4,5,6,7,8,9", "has 1 to 8 members");
        refused("add_log_member", "9:a.log", "there is no redo log group 9");
        refused("add_log_member", "1:redo03.log", "is a file of the database already");
        refused("drop_log_group", "9", "there is no redo log group 9");
        refused("drop_log_group", &current(&instance), "it is the current one");
        refused("drop_log_member", "a.log", "is no member of a redo log group");
        instance.redo().switch(session).expect("there is a free one");
        work(&instance, (0, 1), 1, &Told::default(), session).expect("no halt");
        let active = instance.log_groups(session);
        let active = active.iter().find(|view| view.status == LogStatus::Active);
        if let Some(active) = active {
            let active = active.number.to_string();
            refused("drop_log_group", &active, "recovery needs its log");
            refused("drop_log_group", &active, "forebay logs DIR --change drop_log_group=NUMBER");
        }
        // Two are left, and of the one that isn't current a member.
        pause(Nanos::from_secs(10), session);
        let free = |session: &Session| {
            let views = instance.log_groups(session);
            let free = views.into_iter().find(|view| view.status == LogStatus::Inactive);
            free.expect("the checkpoint has passed").number
        };
        let (first, second) = (free(session), current(&instance));
        instance.drop_log_group(first, session).expect("three were there");
        refused("drop_log_group", &free(session).to_string(), "there must be two");
        instance.drop_log_member(&format!("redo0{second}.log"), session).expect("there is another");
        refused("drop_log_member", &format!("redo0{second}b.log"), "no other good member");
        work(&instance, (0, 1), 200, &Told::default(), session).expect("two groups will do");
        shut(instance, session);
    });
}

/// An instance that was killed after some work, and what it had told; with the group in which it
/// was, and a member of that as it was in an earlier life of the group.
fn killed(seed: u64) -> (FileSystem, Told, u16, Vec<u8>) {
    let told = Told::default();
    let inside = Arc::clone(&told);
    let (group, disk) = run_kept(machine(seed, base()), move |world, session| {
        let instance = open(world, session);
        work(&instance, (0, 1), 70 + seed, &inside, session).expect("no halt");
        let views = instance.log_groups(session);
        let current = views.iter().find(|view| view.status == LogStatus::Current);
        abort(instance, session);
        current.expect("one is").number
    });
    let old = bytes_of(&mut base(), &format!("/db/redo0{group}b.log"));
    (disk, told, group, old)
}

/// A member that is gone, cut off, spoilt, foreign or from an old copy is left out, and the other
/// has everything. Then it is good again, if it is a file that may be written over.
#[test]
fn a_member_that_is_not_what_it_should_be_is_left_out() {
    let (disk, told, group, old) = killed(1);
    let foreign = {
        let creation = Creation { log_members: 2, ..creation() };
        let ((), mut disk) =
            run_kept(machine(77, FileSystem::new(1 << 30)), move |world, session| {
                let place = (&world.disk(), directory());
                Instance::create(place.0, place.1, &creation, &parameters(), session)
                    .expect("made");
                let instance = open(world, session);
                instance.redo().switch(session).expect("free");
                instance.redo().switch(session).expect("free");
                shut(instance, session);
            });
        bytes_of(&mut disk, "/db/redo02.log")
    };
    for copy in ["", "b"] {
        let path = format!("/db/redo0{group}{copy}.log");
        let good = bytes_of(&mut disk.clone(), &path);
        let mut rotten = good.clone();
        rotten[4096 * 7 + 100] ^= 1;
        let mut headless = good.clone();
        headless[100] ^= 1;
        let cases: [(&str, Option<Vec<u8>>, bool, bool); 7] = [
            // What is found, whether it is invalid then, and whether for good.
            ("gone", None, true, true),
            ("cut off", Some(good[..8192].to_vec()), true, true),
            ("from an old copy", Some(old.clone()), true, false),
            ("of another database", Some(foreign.clone()), true, true),
            ("zeros", Some(vec![0; good.len()]), true, false),
            ("without a header", Some(headless), true, false),
            ("rotten in one block", Some(rotten), false, false),
        ];
        for (what, bytes, is_invalid, for_good) in cases {
            let mut content = disk.clone();
            match &bytes {
                Some(bytes) => put(&mut content, &path, bytes),
                None => content.remove(&path).expect("there"),
            }
            let views = holds(1, content.clone(), &told, what);
            let invalid = |views: &[LogView]| {
                let members = views.iter().flat_map(|view| &view.members);
                members.filter(|(_, good)| !good).count()
            };
            // The opening may have begun its log in this very group.
            assert!(invalid(&views) <= usize::from(is_invalid), "{what}: {views:?}");
            let told = Told::default();
            let report = machine(1, content).run(move |world, session| {
                let instance = open(world, session);
                work(&instance, (0, 1), 250, &told, session).expect("no halt");
                let views = instance.log_groups(session);
                shut(instance, session);
                views
            });
            let views = ended(report, what);
            assert_eq!(invalid(&views), usize::from(for_good), "{what}: {views:?}");
        }
    }
    // Without any the one line names them.
    let mut content = disk.clone();
    for copy in ["", "b"] {
        content.remove(format!("/db/redo0{group}{copy}.log")).expect("there");
    }
    let text = run(machine(1, content), move |world, session| {
        let opened = Instance::open(&world.disk(), directory(), &parameters(), session);
        opened.err().expect("refused").to_string()
    });
    assert!(text.contains(&format!("redo0{group}.log")) && !text.contains('\n'), "{text}");
}

/// The N-th write, sync or read of one member fails, once or for good: the instance goes on, and
/// nothing is lost, also not when the other member is lost after that, if it was good.
#[test]
fn an_error_of_one_member_stops_nobody() {
    let base = base();
    let stride = if cfg!(debug_assertions) { 7 } else { 1 };
    for operation in [Operation::Write, Operation::Sync, Operation::Read] {
        for for_good in [false, true] {
            let mut places = 0;
            for n in (1..).step_by(stride) {
                let told = Told::default();
                let inside = Arc::clone(&told);
                let mut content = base.clone();
                // Of the second group: it is begun after one switch.
                let scope = Scope::of(&[operation]).under("/db/redo02b.log");
                let plan = FaultPlan::new(n);
                content.plan_faults(match for_good {
                    true => plan.from_nth(n, Fault::Eio, scope),
                    false => plan.nth(n, Fault::Eio, scope),
                });
                let mut report = machine(n, content).run(move |world, session| {
                    let instance = open(world, session);
                    work(&instance, (0, 1), 160, &inside, session).expect("it goes on");
                    abort(instance, session);
                    let instance = open(world, session);
                    work(&instance, (0, 1), 60, &inside, session).expect("it goes on");
                    let views = instance.log_groups(session);
                    abort(instance, session);
                    views
                });
                let mut disk = left(&mut report);
                let hit = !disk.injected().is_empty();
                let views = ended(report, format!("{operation:?} {n}"));
                disk.plan_faults(FaultPlan::new(0));
                holds(n, disk.clone(), &told, "both members");
                if views[1].members[1].1 {
                    disk.remove("/db/redo02.log").expect("there");
                    holds(n, disk, &told, "the one that had failed alone");
                }
                if !hit {
                    break;
                }
                places += 1;
            }
            assert!(places > 1, "{operation:?}: {places} places");
        }
    }
}

/// When both fail the instance halts, and what it had acknowledged is there.
#[test]
fn an_error_of_both_members_halts() {
    let base = base();
    let mut halts = 0;
    for n in 1..40 {
        let told = Told::default();
        let inside = Arc::clone(&told);
        let mut content = base.clone();
        let scope = |path| Scope::of(&[Operation::Write]).under(path);
        let plan = FaultPlan::new(n).from_nth(n, Fault::Eio, scope("/db/redo02.log"));
        content.plan_faults(plan.from_nth(n + n % 3, Fault::Eio, scope("/db/redo02b.log")));
        let mut report = machine(n, content).run(move |world, session| {
            let instance = open(world, session);
            let worked = work(&instance, (0, 1), 160, &inside, session);
            let halted = worked.is_err();
            if let Err(stop) = worked {
                let text = stop.to_string();
                assert!(text.contains("redo02") && !text.contains('\n'), "{text}");
            }
            abort(instance, session);
            halted
        });
        let mut disk = left(&mut report);
        halts += u32::from(ended(report, n));
        disk.plan_faults(FaultPlan::new(0));
        holds(n, disk, &told, "after the halt");
    }
    assert!(halts > 20, "{halts} halts");
}

/// An abort doesn't wait until a log that is being made has been written to its end.
#[test]
fn an_abort_does_not_wait_for_a_log_that_is_being_made() {
    let slow = DiskParameters::builtin("disk-7200").expect("it is built in");
    let disk = DiskSpec { content: base(), ..DiskSpec::empty("disk", slow) };
    let mut report =
        Simulation { disks: vec![disk], ..Simulation::new(3) }.run(|world, session| {
            let instance = open(world, session);
            let maker = start("maker", &instance, session, move |instance, session| {
                let spec = LogGroupSpec { bytes: 400 << 20, members: vec!["long.log".into()] };
                let stop = instance.add_log_group(&spec, session).expect_err("it was aborted");
                assert_eq!(stop.refusal(), None, "{stop}");
            });
            pause(Nanos::from_millis(50), session);
            let before = session.now();
            abort(Arc::clone(&instance), session);
            let took = session.now().since(before);
            join(vec![maker], session);
            took
        });
    let disk = left(&mut report);
    let took = ended(report, "aborted");
    assert!(took < Nanos::from_millis(300), "it took {took}");
    holds(1, disk, &Told::default(), "after the abort");
}
