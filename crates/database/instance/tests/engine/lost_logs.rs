//! A redo log group whose files are lost (IN37, IN38): what opening says of it, and how it is made
//! anew.

use std::path::Path;

use format::LogHeader;
use ids::{BlockNo, Dba, FileNo};
use instance::{
    Creation, Instance, LogChange, LogGroupSpec, LogStatus, check_log_changes, clear_log_group,
};
use os::Session;
use sim::World;
use sim::fs::FileSystem;
use sim::fs::crash::CrashStates;
use stop::{RefusalKind, Stop};

use crate::common::{
    CAPACITY, TABLE, abort, bytes_of, check, creation, directory, ended, fill, left, machine, open,
    parameters, put, run, run_kept, shut,
};
use crate::rows::Rows;

const ROWS: u64 = 40;

/// A database that was shut, of so many groups with so many members, and the number of its current
/// group. Second members lie outside of its directory.
fn base(groups: u16, members: u16) -> (FileSystem, u16) {
    let mut content = FileSystem::new(CAPACITY);
    content.create_dir("/outside").expect("made");
    content.sync_dir("/").expect("synced");
    let bytes = creation().log_file_bytes;
    let group = |number| LogGroupSpec { bytes, members: paths(number, members) };
    let creation = Creation { log_files: (1..=groups).map(group).collect(), ..creation() };
    let (current, disk) = run_kept(machine(1, content), move |world, session| {
        Instance::create(&world.disk(), directory(), &creation, &parameters(), session)
            .expect("created");
        shut(open(world, session), session);
        let instance = open(world, session);
        let table = Rows::create(&instance, TABLE, session).expect("made");
        fill(&instance, &table, ROWS, session);
        drop(table);
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
    let directories = ["/db", "/outside"].into_iter().take(members.into());
    directories.map(|directory| format!("{directory}/redo0{group}.log")).collect()
}

fn try_open(world: &World, session: &Session) -> Result<Instance, Stop> {
    Instance::open(&world.disk(), directory(), &parameters(), session)
}

fn clear(world: &World, group: u16, session: &Session) -> Result<(), Stop> {
    clear_log_group(&world.disk(), directory(), group, &|| true, session)
}

/// The names that files have only while they are made.
fn leftovers(disk: &FileSystem) -> Vec<String> {
    let mut disk = disk.clone();
    let names = ["/db", "/outside"].map(|directory| disk.list(directory).expect("read"));
    names.into_iter().flatten().filter(|name| name.contains("forebay-")).collect()
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
        assert_eq!(leftovers(&left(&mut report)), [""; 0]);
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
                assert_eq!(leftovers(&left(&mut report)), [""; 0], "{what}");
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

/// A header that came to light after its log was begun elsewhere doesn't make a group that log's.
#[test]
fn a_header_without_its_redo_does_not_stand_for_the_lost_log() {
    let (mut disk, current) = base(3, 1);
    let other = current % 3 + 1;
    let [lost, claims] = [current, other].map(|group| paths(group, 1).remove(0));
    let header = |bytes: &[u8]| *LogHeader::at(bytes, LogHeader::START);
    let sequence = header(&bytes_of(&mut disk, &lost)).log_sequence;
    let mut bytes = bytes_of(&mut disk, &claims);
    LogHeader::at_mut(&mut bytes, LogHeader::START).log_sequence = sequence;
    let address = Dba { file: FileNo::redo(other), block: BlockNo::new(0) };
    format::seal(&mut bytes[..4096], address);
    put(&mut disk, &claims, &bytes);
    disk.remove(&lost).expect("there");
    run(machine(4, disk), move |world, session| {
        let stop = clear(world, current, session).expect_err("its redo is lost").to_string();
        assert!(stop.contains("opening needs log"), "{stop}");
        let stop = try_open(world, session).err().expect("its redo is lost").to_string();
        assert!(!stop.contains("no recovery needs this group"), "{stop}");
    });
}

/// What the next opening removes counts as free, wherever the log is to be.
#[test]
fn leftovers_leave_their_room_to_the_repeated_change() {
    let (disk, _) = base(3, 2);
    let bytes = 4 * creation().log_file_bytes;
    for (left_at, path) in [
        ("/db/x.log.forebay-new", "x.log"),
        ("/db/sort.forebay-temp", "x.log"),
        ("/outside/x.log.forebay-new", "/outside/x.log"),
        ("/outside/redo01.log.forebay-temp", "x.log"),
    ] {
        let mut disk = disk.clone();
        let leftover = disk.create(left_at).expect("made");
        disk.set_len(leftover, bytes).expect("room");
        disk.sync(leftover).expect("synced");
        disk.close(leftover).expect("closed");
        disk.set_capacity(disk.space().0 + 4096);
        run(machine(4, disk), move |world, session| {
            let add =
                |bytes| LogChange::AddGroup(LogGroupSpec { bytes, members: vec![path.into()] });
            let look = |changes: &[LogChange]| {
                check_log_changes(&world.disk(), Path::new("/db"), changes, session)
            };
            let stop = look(&[add(2 * bytes)]).expect_err("too large");
            assert_eq!(stop.refusal(), Some(RefusalKind::NoSpace), "{left_at}: {stop}");
            let most = bytes / 4096 * 4096 - 8 * 4096;
            look(&[add(most)]).expect(left_at);
            let instance = open(world, session);
            instance.change_logs(&add(most), session).expect(left_at);
            shut(instance, session);
        });
    }
}

/// Several logs that the disk has room for, but not together, are refused before the first is made.
#[test]
fn the_room_of_several_additions_is_summed() {
    let (mut disk, _) = base(3, 1);
    let bytes = creation().log_file_bytes;
    disk.set_capacity(disk.space().0 + bytes * 3 / 2);
    run(machine(4, disk), move |world, session| {
        let add =
            |name: &str| LogChange::AddGroup(LogGroupSpec { bytes, members: vec![name.into()] });
        let look =
            |changes: &[LogChange]| check_log_changes(&world.disk(), directory(), changes, session);
        look(&[add("x.log")]).expect("there is room for one");
        let stop = look(&[add("x.log"), add("y.log")]).expect_err("not for two");
        assert_eq!(stop.refusal(), Some(RefusalKind::NoSpace), "{stop}");
    });
}

/// A clearing without room is refused before it fills the disk for everybody else, and one that is
/// given up leaves nothing.
#[test]
fn a_clearing_without_room_or_given_up_leaves_nothing() {
    let (mut disk, current) = base(3, 2);
    let lost = current % 3 + 1;
    paths(lost, 2).iter().for_each(|path| disk.remove(path).expect("there"));
    let used = disk.space().0;
    let mut report = machine(4, disk.clone()).run(move |world, session| {
        let no = || false;
        let stop = clear_log_group(&world.disk(), directory(), lost, &no, session);
        let stop = stop.expect_err("it isn't wanted").to_string();
        assert!(stop.contains("it was stopped"), "{stop}");
    });
    assert_eq!(leftovers(&left(&mut report)), [""; 0]);
    ended(report, "given up");
    disk.set_capacity(used + 4096);
    let mut report = machine(4, disk).run(move |world, session| {
        let stop = clear(world, lost, session).expect_err("no room");
        assert_eq!(stop.refusal(), Some(RefusalKind::NoSpace), "{stop}");
        assert!(stop.to_string().contains("cannot make redo logs in"), "{stop}");
    });
    assert_eq!(leftovers(&left(&mut report)), [""; 0]);
    ended(report, "no room");
}

/// Every member that is lost is named.
#[test]
fn all_members_of_a_lost_group_are_named() {
    let (mut disk, current) = base(3, 2);
    let lost = current % 3 + 1;
    paths(lost, 2).iter().for_each(|path| disk.remove(path).expect("there"));
    run(machine(4, disk), move |world, session| {
        let stop = try_open(world, session).err().expect("a group is lost").to_string();
        assert!(paths(lost, 2).iter().all(|path| stop.contains(path)), "{stop}");
    });
}
