//! The names of files that are made while the database is open: nobody's file is removed or
//! replaced, whoever else makes files or is in the way (rules space/SP10 and space/SP21).

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use ids::BlockSize;
use instance::{Creation, DataFileSpec, Instance, LogGroupSpec, Parameters, TablespaceSpec};
use os::{FileOptions, Session};
use sim::fs::crash::CrashStates;
use sim::fs::faults::{Fault, FaultPlan, Scope};
use sim::fs::{FileSystem, Operation};
use space::ControlFile;
use stop::{RefusalKind, Stop};
use waits::{Nanos, WaitEvent};

use crate::common::{
    CAPACITY, abort, bytes_of, check, creation, database_with, directory, ended, join, left,
    machine, open, open_as, parameters, pause, put, run_kept, shut, start,
};

/// The smallest log.
const LOG: u64 = redo::LOG_BLOCKS_MIN as u64 * 4096;
/// A small data file.
const SMALL: u64 = 16 * 2048;

fn base() -> FileSystem {
    database_with(creation(), parameters(), |_, _| {})
}

fn file(path: impl Into<String>, bytes: u64) -> DataFileSpec {
    DataFileSpec { path: path.into(), bytes, bytes_max: 0, growth_bytes: 0 }
}

fn add(
    instance: &Instance,
    path: impl Into<String>,
    bytes: u64,
    session: &Session,
) -> Result<(), Stop> {
    instance.add_data_file("system", &file(path, bytes), session)
}

fn add_logs(instance: &Instance, members: &[&str], session: &Session) -> Result<u16, Stop> {
    let members = members.iter().map(ToString::to_string).collect();
    instance.add_log_group(&LogGroupSpec { bytes: LOG, members }, session)
}

/// It opens, agrees with itself, and shuts.
fn opens(seed: u64, disk: FileSystem, what: impl std::fmt::Display) {
    let report = machine(seed, disk).run(|world, session| {
        let instance = open(world, session);
        check(&instance, session);
        shut(instance, session);
    });
    ended(report, what);
}

/// A group of which no member can be named is still there: an opening that finds the fault is
/// refused and removes nothing, and the one after it gives both their names.
#[test]
fn a_group_whose_members_cannot_be_named_once_is_still_there() {
    let mut disk = base();
    let renames = Scope::of(&[Operation::Rename]);
    disk.plan_faults(FaultPlan::new(1).from_nth(1, Fault::Eio, renames));
    for round in 0..2 {
        let mut report = machine(1, disk).run(move |world, session| {
            match Instance::open(&world.disk(), directory(), &parameters(), session) {
                Ok(instance) => {
                    assert_eq!(round, 0, "without names it doesn't open, or it would be mended");
                    let added = add_logs(&instance, &["x1.log", "x2.log"], session);
                    added.expect_err("it gets no name");
                    instance.abort(session);
                }
                Err(stop) => assert_eq!(round, 1, "{stop}"),
            }
        });
        disk = left(&mut report);
        ended(report, round);
        let names = disk.list("/db").expect("read");
        for member in ["x1.log", "x2.log"] {
            let is_there = names.iter().any(|name| name.starts_with(member));
            assert!(is_there, "round {round}: {member} isn't in {names:?}");
        }
    }
    disk.plan_faults(FaultPlan::new(0));
    opens(1, disk.clone(), "the fault is gone");
}

/// What somebody else puts under the name of a file that is being made stays as it is. The
/// statement is refused and leaves nothing; or, at the last moment, the instance halts, and the
/// database opens once the name is free.
#[test]
fn a_file_that_came_while_a_data_file_was_made_is_not_written_over() {
    let (base, mut refused, mut halted) = (base(), 0, 0);
    for step in 1..=60 {
        let was_made = Arc::new(AtomicBool::new(false));
        let says = Arc::clone(&was_made);
        let (has_halted, mut disk) =
            run_kept(machine(step, base.clone()), move |world, session| {
                let (instance, disk) = (open(world, session), world.disk());
                let ddl = start("ddl", &instance, session, |instance, session| {
                    let _ = add(instance, "x.dbf", 256 << 10, session);
                });
                let other = start("other", &instance, session, move |_, session| {
                    pause(Nanos::from_micros(50 * step), session);
                    let plain = FileOptions { direct: false, write_through: false };
                    let Ok(file) = disk.create(Path::new("/db/x.dbf"), 4096, plain, session) else {
                        return;
                    };
                    let waiting = session.waiting(WaitEvent::PlSqlLockTimer);
                    file.write_at(0, &[7; 4096], waiting).expect("written");
                    says.store(true, SeqCst);
                });
                join(vec![ddl, other], session);
                let has_halted = instance.halt().cause(session).is_some();
                instance.abort(session);
                has_halted
            });
        if was_made.load(SeqCst) {
            let bytes = bytes_of(&mut disk, "/db/x.dbf");
            assert!(bytes == [7; 4096], "step {step}: somebody's file was replaced");
            *if has_halted { &mut halted } else { &mut refused } += 1;
            disk.remove("/db/x.dbf").expect("there");
        }
        opens(step, disk, format!("step {step}: the name is free again"));
    }
    assert!(refused > 0 && halted > 0, "{refused} refused, {halted} halted");
}

/// Two make files at once, and the control file has room for one: the other is refused, however
/// long ago it was found to have room.
#[test]
fn two_who_want_the_last_room_of_the_control_file_do_not_panic() {
    let name = |lead: &str, length| format!("{lead}{}", "x".repeat(length - lead.len()));
    // 4 and 24 bytes beside the path: in the end there is room for 234 to 267 bytes.
    let base = database_with(creation(), parameters(), move |instance, session| {
        let spare = name("spare", 230);
        instance.add_log_member(1, &spare, session).expect("there is room");
        let fits = |lead, length| {
            move |n: &u32| {
                add(instance, name(&format!("{lead}{n}."), length), SMALL, session).is_ok()
            }
        };
        let long = fits("a", 230);
        assert!((0..).find(|n| !long(n)) > Some(50));
        let short = fits("b", 10);
        let _ = (0..).find(|n| !short(n));
        instance.drop_log_member(&spare, session).expect("there is another");
    });
    let mut refusals = 0;
    for step in 0..20 {
        let report = machine(step, base.clone()).run(move |world, session| {
            let instance = open(world, session);
            let was_refused = Arc::new(AtomicBool::new(false));
            let says = |done: Result<(), Stop>, was_refused: &AtomicBool| {
                if let Err(stop) = done {
                    assert_eq!(stop.refusal(), Some(RefusalKind::NoSpace), "{stop}");
                    was_refused.store(true, SeqCst);
                }
            };
            let refused = Arc::clone(&was_refused);
            let ddl = start("ddl", &instance, session, move |instance, session| {
                says(add(instance, name("big", 150), 2 << 20, session), &refused);
            });
            let refused = Arc::clone(&was_refused);
            let dba = start("dba", &instance, session, move |instance, session| {
                pause(Nanos::from_micros(50 + 200 * step), session);
                says(instance.add_log_member(1, &name("member", 150), session), &refused);
            });
            join(vec![ddl, dba], session);
            check(&instance, session);
            shut(instance, session);
            was_refused.load(SeqCst)
        });
        refusals += u32::from(ended(report, step));
    }
    assert_eq!(refusals, 20, "there is room for one");
}

/// A file that is listed and hasn't its own name yet is nobody's leftover.
#[test]
fn a_file_that_is_listed_is_not_taken_for_a_leftover() {
    const STEPS: u64 = 240;
    let tablespace = || {
        let files = (0..6).map(|n| file(format!("w{n}.dbf"), SMALL)).collect();
        let (name, block_size) = ("w".to_string(), BlockSize::KIB_2);
        TablespaceSpec { name, block_size, extent_blocks: 4, files }
    };
    let base = base();
    let alone = machine(1, base.clone()).run(move |world, session| {
        let instance = open(world, session);
        let began = session.now();
        instance.create_tablespace(&tablespace(), session).expect("made");
        let took = session.now().since(began);
        shut(instance, session);
        took
    });
    let took = ended(alone, "alone").0;
    for step in 0..STEPS {
        // First the tablespace waits for up to twice as long, then the log group.
        let at = 3 * took * step / STEPS;
        let (first, second) = ((2 * took).saturating_sub(at), at.saturating_sub(2 * took));
        let (halted, disk) = run_kept(machine(step, base.clone()), move |world, session| {
            let instance = open(world, session);
            let ddl = start("ddl", &instance, session, move |instance, session| {
                pause(Nanos(first), session);
                let _ = instance.create_tablespace(&tablespace(), session);
            });
            let dba = start("dba", &instance, session, move |instance, session| {
                pause(Nanos(second), session);
                let _ = add_logs(instance, &["b.log", "w5.dbf"], session);
            });
            join(vec![ddl, dba], session);
            let halted = instance.halt().cause(session).map(|cause| cause.to_string());
            instance.abort(session);
            halted
        });
        opens(step, disk, format!("step {step}, opened again after {halted:?}"));
        assert_eq!(halted, None, "step {step}");
    }
}

/// Log groups of which the first has a second member of this name.
fn logs_with(name: &str) -> Vec<LogGroupSpec> {
    let group = |number: u32| {
        let own = format!("r{number}.log");
        let more = (number == 1).then(|| name.to_string());
        LogGroupSpec { bytes: LOG, members: [own].into_iter().chain(more).collect() }
    };
    (1..=3).map(group).collect()
}

/// space/SP10: the names of leftovers are refused at creation too, and nothing is made.
#[test]
fn names_of_leftovers_are_refused_at_creation() {
    for end in [".forebay-temp", ".forebay-new"] {
        let name = format!("x{end}");
        for creation in [
            Creation { log_files: logs_with(&name), ..creation() },
            Creation { data_files: vec![file(name.clone(), SMALL)], ..creation() },
        ] {
            let mut report = machine(1, FileSystem::new(CAPACITY)).run(move |world, session| {
                let disk = world.disk();
                Instance::create(&disk, directory(), &creation, &parameters(), session)
            });
            let disk = left(&mut report);
            let stop = ended(report, "the creation").expect_err("it is a leftover's name");
            assert_eq!(stop.refusal(), Some(RefusalKind::Invalid), "{stop}");
            assert!(stop.to_string().contains("those of leftovers"), "{stop}");
            assert!(!disk.exists("/db"), "nothing is left");
        }
    }
}

/// space/SP10: what a power cut leaves of the file in which the ways of a durable write are tried
/// is removed by the next opening.
#[test]
fn a_probe_that_was_cut_off_leaves_nothing_for_long() {
    let probing = || Parameters { redo_write: None, ..parameters() };
    let mut base = base();
    let names = base.list("/db").expect("read");
    let mut leftovers = 0;
    for cut in 1..=24 {
        let mut dying = base.clone();
        dying.lose_power_at(dying.crash_points() + cut);
        let mut report = machine(cut, dying).run(move |world, session| {
            abort(open_as(&probing(), world, session), session);
        });
        assert!(report.was_cut(format_args!("cut {cut}")));
        let mut cut_off = CrashStates::of(&left(&mut report)).sample(cut);
        cut_off.lose_power_at(u64::MAX);
        leftovers += usize::from(cut_off.list("/db").expect("read") != names);
        // Another seed, or the probe would have the same name.
        let mut report = machine(100 + cut, cut_off).run(move |world, session| {
            shut(open_as(&probing(), world, session), session);
        });
        let mut disk = left(&mut report);
        ended(report, format_args!("cut {cut}"));
        assert_eq!(disk.list("/db").expect("read"), names, "cut {cut}");
    }
    assert!(leftovers > 1, "{leftovers} leftovers");
}

/// A database that lists a member of such a name keeps it, also while it is no good.
#[test]
fn a_member_that_is_listed_is_no_leftover_whatever_it_is_called() {
    let logs = Creation { log_files: logs_with("r1b.log"), ..creation() };
    let mut disk = database_with(logs, parameters(), |_, _| {});
    let (old, new) = ("/db/r1b.log", "/db/r1b.forebay-temp");
    disk.rename(old, new).expect("renamed");
    let mut bytes = bytes_of(&mut disk, new);
    bytes[100] ^= 0xFF;
    put(&mut disk, new, &bytes);
    (_, disk) = run_kept(machine(1, disk), |world, session| {
        let control = ControlFile::open(&world.disk(), directory(), false, session);
        let rename = |content: &mut space::ControlContent| {
            content.log_groups[0].members[1].path = "r1b.forebay-temp".to_string();
        };
        control.expect("opened").update(rename, session).expect("written");
    });
    for round in 0..3 {
        (_, disk) = run_kept(machine(1, disk), |world, session| {
            let instance = open(world, session);
            shut(instance, session);
        });
        assert!(disk.exists(new), "round {round}: it is gone");
    }
}
