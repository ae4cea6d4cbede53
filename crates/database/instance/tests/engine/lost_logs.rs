//! A redo log group whose files are lost (IN37, IN38): what opening says of it, and how it is made
//! anew.

use instance::{Creation, Instance, LogChange, LogStatus, clear_log_group};
use os::Session;
use sim::World;
use sim::fs::FileSystem;
use sim::fs::crash::CrashStates;
use stop::{RefusalKind, Stop};

use crate::common::{
    TABLE, abort, check, creation, database_with, directory, ended, fill, left, machine, open,
    parameters, run, run_kept, shut,
};
use crate::rows::Rows;

const ROWS: u64 = 40;

/// A database that was shut, of so many groups with so many members, and the number of its current
/// group.
fn base(log_groups: u16, log_members: u16) -> (FileSystem, u16) {
    let creation = Creation { log_groups, log_members, ..creation() };
    let disk = database_with(creation, parameters(), |instance, session| {
        let table = Rows::create(instance, TABLE, session).expect("made");
        fill(instance, &table, ROWS, session);
    });
    let (current, disk) = run_kept(machine(2, disk), |world, session| {
        let instance = open(world, session);
        let current = current(&instance, session);
        shut(instance, session);
        current
    });
    (disk, current)
}

fn current(instance: &Instance, session: &Session) -> u16 {
    let views = instance.log_groups(session);
    views.iter().find(|view| view.status == LogStatus::Current).expect("one is").number
}

fn paths(group: u16, members: u16) -> Vec<String> {
    let names = ["", "b"].into_iter().take(members.into());
    names.map(|copy| format!("/db/redo0{group}{copy}.log")).collect()
}

fn try_open(world: &World, session: &Session) -> Result<Instance, Stop> {
    Instance::open(&world.disk(), directory(), &parameters(), session)
}

fn clear(world: &World, group: u16, session: &Session) -> Result<(), Stop> {
    clear_log_group(&world.disk(), directory(), group, session)
}

/// Opens, and holds the rows against what was inserted.
fn is_whole(world: &World, session: &Session) {
    let instance = open(world, session);
    let table = Rows::open(&instance, TABLE, session).expect("there");
    let mut count = 0;
    table.scan(|_, _| count += 1, session).expect("scanned");
    assert_eq!(count, ROWS);
    check(&instance, session);
    drop(table);
    shut(instance, session);
}

/// Opening names the group and the command, and after that the database opens as before.
#[test]
fn a_group_that_no_recovery_needs_is_made_anew() {
    for (groups, members) in [(2, 1), (3, 1), (3, 2)] {
        let (mut disk, current) = base(groups, members);
        let lost = current % groups + 1;
        paths(lost, members).iter().for_each(|path| disk.remove(path).expect("there"));
        let mut report = machine(3, disk).run(move |world, session| {
            let stop = try_open(world, session).err().expect("a group is lost");
            assert_eq!(stop.refusal(), Some(RefusalKind::NotFound), "{stop}");
            let path = &paths(lost, members)[0];
            let command = format!("'forebay logs /db --change clear_log_group={lost}'");
            for says in [path, &command, "no recovery needs this group"] {
                assert!(stop.to_string().contains(says), "'{stop}' doesn't say '{says}'");
            }
            assert!(!stop.to_string().contains("restore"), "{stop}");
            clear(world, lost, session).expect("nobody needs it");
            let again = clear(world, lost, session).expect_err("it is there now");
            assert!(again.to_string().contains(&format!("{path} is there")), "{again}");
            for _ in 0..4 {
                is_whole(world, session);
            }
            let instance = open(world, session);
            let views = instance.log_groups(session);
            assert!(views.iter().all(|view| view.status != LogStatus::Unused), "{views:?}");
            shut(instance, session);
        });
        let names = left(&mut report).list("/db").expect("read");
        assert!(!names.iter().any(|name| name.contains("forebay-")), "{names:?}");
        ended(report, format!("{groups} groups of {members}"));
    }
}

/// What could be needed isn't cleared, and what is there isn't written over.
#[test]
fn a_group_that_may_be_needed_is_not_made_anew() {
    let (disk, current) = base(3, 1);
    let other = current % 3 + 1;
    let refused = |disk: FileSystem, group: u16, says: &'static str| {
        let mut before = disk.clone();
        let ((), mut after) = run_kept(machine(4, disk), move |world, session| {
            let stop = clear(world, group, session).expect_err(says).to_string();
            assert!(stop.contains(says) && !stop.contains('\n'), "'{stop}' doesn't say '{says}'");
        });
        assert_eq!(before.list("/db").expect("read"), after.list("/db").expect("read"));
    };
    refused(disk.clone(), 9, "there is no redo log group 9");
    refused(disk.clone(), other, "move that away first");
    let mut lost = disk.clone();
    lost.remove(&paths(current, 1)[0]).expect("there");
    refused(lost.clone(), current, "opening needs log");
    // The same where another group is lost too.
    lost.remove(&paths(other, 1)[0]).expect("there");
    refused(lost, other, "opening needs log");
    // After a crash nobody knows which log it held.
    let ((), mut killed) = run_kept(machine(5, disk.clone()), move |world, session| {
        let instance = open(world, session);
        let stop = instance.change_logs(&LogChange::ClearGroup(other), session);
        assert!(stop.expect_err("it is open").to_string().contains("the database is open"));
        let stop = clear(world, other, session).expect_err("it is open");
        assert!(stop.to_string().contains("another program has it open"), "{stop}");
        abort(instance, session);
    });
    killed.remove(&paths(other, 1)[0]).expect("there");
    refused(killed.clone(), other, "wasn't shut in good order");
    let said = run(machine(6, killed), |world, session| {
        try_open(world, session).err().expect("a group is lost").to_string()
    });
    assert!(said.contains("put it back") && said.contains("restore the whole database"), "{said}");
}

/// The power goes at each operation of a clearing. The group is lost as before, and is cleared
/// then, or the database opens; nothing of it is missing.
#[test]
fn a_crash_in_a_clearing_leaves_the_group_lost_or_mended() {
    for members in [1, 2] {
        let (mut lost, current) = base(3, members);
        let group = current % 3 + 1;
        paths(group, members).iter().for_each(|path| lost.remove(path).expect("there"));
        let (mut cuts, mut as_before, mut mended) = (0, 0, 0);
        for cut in 1.. {
            let mut dying = lost.clone();
            dying.lose_power_at(dying.crash_points() + cut);
            let mut report = machine(cut, dying).run(move |world, session| {
                clear(world, group, session).expect("the power goes before anything else");
            });
            if !report.was_cut(format_args!("cut {cut}")) {
                break;
            }
            cuts += 1;
            let states = CrashStates::of(&left(&mut report));
            for draw in 0..4 {
                let what = states.describe_sample(draw);
                let mut report = machine(cut, states.sample(draw)).run(move |world, session| {
                    let is_lost = match try_open(world, session) {
                        Ok(instance) => {
                            instance.shutdown(session).expect("shut in good order");
                            false
                        }
                        Err(stop) => {
                            assert!(stop.to_string().contains("clear_log_group"), "{stop}");
                            clear(world, group, session).expect("nobody needs it");
                            true
                        }
                    };
                    is_whole(world, session);
                    is_lost
                });
                let names = left(&mut report).list("/db").expect("read");
                assert!(!names.iter().any(|name| name.contains("forebay-")), "{what}: {names:?}");
                match ended(report, what) {
                    true => as_before += 1,
                    false => mended += 1,
                }
            }
        }
        assert!(cuts > 5 && as_before > 5, "{cuts} cuts, {as_before} as before, {mended} mended");
        assert!(members == 1 || mended > 0, "{mended} mended");
    }
}
