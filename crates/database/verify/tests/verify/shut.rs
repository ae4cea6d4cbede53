//! Databases that are shut, whole or not.

use access::HeapInserter;
use format::{BlockHeader, BlockKind, LogHeader, ScnLe, U16Le, U32Le, U64Le};
use ids::{BlockNo, Dba, FileNo, Scn};
use instance::{Instance, LogChange, LogStatus, LogView, Transaction};
use os::{Disk, FileOptions};
use sim::BadPlaces;
use sim::fs::Operation;
use sim::fs::faults::{Fault, FaultPlan, Scope};
use space::Holds;
use verify::{Finding, Kind};

use crate::common::{
    BLOCK, Blocks, DATA, DIRECTORY, Schema, check, database, directory, kinds, length, machine,
    parameters, read, row, run_kept, with_database, write,
};

/// Everything is looked at, nothing is found, and nothing is written.
#[test]
fn a_database_in_order_has_no_findings_and_is_not_written_to() {
    let (disk, objects) = database();
    let hash = disk.image_hash();
    let ((report, told), after) = run_kept(machine(2, disk), move |world, session| {
        let (report, told) = check(&world.disk(), Some(objects), session);
        (report.expect("checked"), told)
    });
    assert_eq!(told, []);
    assert!(report.is_clean(), "{report}");
    assert!(report.rows > 200 && report.entries > 400 && report.segments == 4, "{report}");
    assert_eq!(after.image_hash(), hash);
}

#[test]
fn a_database_that_needs_recovery_is_told_so_and_its_blocks_are_checked() {
    let (disk, objects) = database();
    let ((), disk) = run_kept(machine(3, disk), |world, session| {
        let instance =
            Instance::open(&world.disk(), directory(), &parameters(), session).expect("opened");
        let schema = Schema::find(&instance, session);
        let (mut transaction, mut inserter) = (Transaction::new(), HeapInserter::default());
        let new = row(100_000, 100);
        schema.insert(&mut transaction, &mut inserter, &new, session).expect("inserted");
        instance.commit(transaction, session).expect("committed");
        instance.abort(session);
    });
    with_database(disk, move |world, session| {
        let (report, told) = check(&world.disk(), Some(objects), session);
        let report = report.expect("checked");
        assert_eq!(told, []);
        assert!(report.skipped.is_some() && !report.is_clean() && report.blocks > 100, "{report}");
        let opened = Instance::open(&world.disk(), directory(), &parameters(), session);
        opened.expect("recovered").shutdown(session).expect("shut in good order");
        let (report, told) = check(&world.disk(), Some(objects), session);
        assert_eq!(told, []);
        assert!(report.expect("checked").is_clean());
    });
}

/// Where the directory's last block is damaged, that is said, and of no extent that it is lost.
#[test]
fn a_damaged_last_block_of_the_directory_is_one_finding() {
    let ((), disk) = run_kept(machine(1, database().0), |world, session| {
        let instance =
            Instance::open(&world.disk(), directory(), &parameters(), session).expect("opened");
        for number in 0..60 {
            let made = instance.space().create(&format!("s{number}"), Holds::Table, session);
            made.expect("room");
        }
        instance.shutdown(session).expect("shut in good order");
    });
    with_database(disk, |world, session| {
        let disk = world.disk();
        let blocks = Blocks::load(&disk, DATA, session).all(BlockKind::Directory, None);
        let last = *blocks.last().expect("there are some");
        assert!(blocks.len() > 1, "{blocks:?}");
        write(&disk, DATA, ((last * BLOCK + 100) as u64, &[0xA5; 4]), session);
        let (_, told) = check(&disk, None, session);
        assert_eq!(kinds(&told), [(Kind::Block, 1)].into(), "{told:?}");
    });
}

/// A place that can't be read is told of its own block, and the others beside it are read.
#[test]
fn a_read_of_many_blocks_that_fails_tells_of_none_that_is_sound() {
    let scope = Scope::of(&[Operation::Read]).under(&format!("{DIRECTORY}/{DATA}"));
    let mut alone_failed = 0;
    for nth in 1..60 {
        let (mut disk, objects) = database();
        disk.plan_faults(FaultPlan::new(3).nth(nth, Fault::Eio, scope.clone()));
        let told = with_database(disk, move |world, session| {
            let (report, told) = check(&world.disk(), Some(objects), session);
            report.map(|_| told).unwrap_or_default()
        });
        // A block is told of if it was read alone.
        let alone = format!("cannot read {BLOCK} bytes");
        for finding in told.iter().map(Finding::to_string).filter(|f| f.contains(" cannot read ")) {
            assert!(finding.contains(&alone), "{finding}");
            alone_failed += 1;
        }
    }
    assert!((1..50).contains(&alone_failed), "{alone_failed} of 59 reads were of one block");
}

#[test]
fn a_file_that_is_missing_is_found_and_the_others_are_checked() {
    for (name, kind) in
        [(DATA, Kind::File), ("control02.ctl", Kind::Control), ("redo02.log", Kind::LostLog)]
    {
        let (mut disk, objects) = database();
        disk.remove(format!("{DIRECTORY}/{name}")).expect("it was there");
        with_database(disk, move |world, session| {
            let (report, told) = check(&world.disk(), Some(objects), session);
            let report = report.expect("checked");
            assert_eq!(kinds(&told), [(kind, 1)].into(), "{told:?}");
            assert!(report.blocks > 0 && !report.is_clean(), "{report}");
        });
    }
}

/// A file that a running instance has locked is the original's of a copy: it isn't judged, and
/// nobody is advised to write over it (VF27).
#[test]
fn a_file_that_is_in_use_is_not_checked() {
    let (disk, objects) = database();
    with_database(disk, move |world, session| {
        let disk = world.disk();
        let plain = FileOptions { direct: false, write_through: false };
        for name in ["redo01.log", "redo02.log", "redo03.log", DATA] {
            let other = disk.open(&directory().join(name), plain, session).expect("there");
            other.lock(session).expect("nobody has it");
            let (report, told) = check(&disk, Some(objects), session);
            assert!(!report.expect("checked").is_clean(), "{name}");
            assert_eq!(kinds(&told), [(Kind::InUse, 1)].into(), "{told:?}");
            let line = told[0].to_string();
            let says = ["in use by a running instance, and isn't checked", "leave this file", name];
            assert!(says.iter().all(|says| line.contains(says)), "{line}");
            assert!(!line.contains("restore") && !line.contains("over it"), "{line}");
        }
        let (report, told) = check(&disk, Some(objects), session);
        assert_eq!(told, []);
        assert!(report.expect("checked").is_clean());
    });
}

/// Of a group that is lost the command is named that makes it anew, if no recovery needs it.
#[test]
fn a_lost_log_that_nobody_needs_is_no_reason_to_restore_anything() {
    let mut needed = 0;
    for group in 1..=3 {
        let (mut disk, objects) = database();
        disk.remove(format!("{DIRECTORY}/redo0{group}.log")).expect("it was there");
        needed += with_database(disk, move |world, session| {
            let disk = world.disk();
            let (report, told) = check(&disk, Some(objects), session);
            assert!(!report.expect("checked").is_clean());
            let line = told[0].to_string();
            let cleared = instance::clear_log_group(&disk, directory(), group, &|| true, session);
            if cleared.is_err() {
                assert_eq!(kinds(&told), [(Kind::Log, 1)].into(), "{told:?}");
                return 1;
            }
            assert_eq!(kinds(&told), [(Kind::LostLog, 1)].into(), "{told:?}");
            assert!(
                line.contains(&format!("clear_log_group={group}")) && !line.contains("restore"),
                "{line}"
            );
            let (report, told) = check(&disk, Some(objects), session);
            assert_eq!(told, []);
            assert!(report.expect("checked").is_clean());
            0
        });
    }
    assert_eq!(needed, 1, "one of three is current");
}

/// A copy of a data file from before the last change; then copies of the control file.
#[test]
fn files_of_an_earlier_time_are_found() {
    let (disk, objects) = database();
    with_database(disk, move |world, session| {
        let disk = world.disk();
        let whole = |name| {
            let bytes = length(&disk, name, session) as usize;
            read(&disk, name, (0, bytes), session)
        };
        let controls = ["control01.ctl", "control02.ctl"];
        let (older, older_controls) = (whole(DATA), controls.map(whole));
        let instance = Instance::open(&disk, directory(), &parameters(), session).expect("opened");
        let schema = Schema::find(&instance, session);
        let (mut transaction, mut inserter) = (Transaction::new(), HeapInserter::default());
        let new = row(100_000, 100);
        schema.insert(&mut transaction, &mut inserter, &new, session).expect("inserted");
        instance.commit(transaction, session).expect("committed");
        instance.shutdown(session).expect("shut in good order");
        drop((schema, instance));
        let newer = whole(DATA);
        let found = |says: &str| {
            let (_, told) = check(&disk, Some(objects), session);
            told.iter().filter(|one| one.kind == Kind::File && one.what.contains(says)).count()
        };
        write(&disk, DATA, (0, &older), session);
        assert_eq!(found("is an older copy"), 1);
        write(&disk, DATA, (0, &newer), session);
        assert_eq!(found("is an older copy"), 0);
        for (name, bytes) in controls.iter().zip(&older_controls) {
            write(&disk, name, (0, bytes), session);
        }
        assert_eq!(found("is newer than the control file"), 2);
    });
}

/// An opening and a shutdown without a change leave data files as they are: a copy from before is
/// the file (rule space/SP51).
#[test]
fn files_from_before_an_opening_without_a_change_are_in_order() {
    let (disk, objects) = database();
    with_database(disk, move |world, session| {
        let disk = world.disk();
        let whole = || read(&disk, DATA, (0, length(&disk, DATA, session) as usize), session);
        let older = whole();
        let opened = Instance::open(&disk, directory(), &parameters(), session);
        opened.expect("opened").shutdown(session).expect("shut in good order");
        assert!(whole() == older);
        let (report, told) = check(&disk, Some(objects), session);
        assert_eq!(told, []);
        assert!(report.expect("checked").is_clean());
    });
}

/// Headers of logs that are whole, and of another database or incarnation: also where the redo is
/// read to its end all the same, for nobody needs that log.
#[test]
fn logs_of_another_owner_are_found() {
    let (disk, objects) = database();
    with_database(disk, move |world, session| {
        let disk = world.disk();
        type Change = fn(&mut LogHeader);
        let changes: [(Change, &str); 3] = [
            (|header| header.database = U64Le::new(5), "is a log of database 0000000000000005"),
            (|header| header.incarnation = U32Le::new(2), "is a log of incarnation 2"),
            (|header| header.incarnation_scn = ScnLe::new(Scn::new(77)), "began at SCN 77"),
        ];
        let mut begun = 0;
        for group in 1..=3 {
            let name = format!("redo0{group}.log");
            let own = read(&disk, &name, (0, 4096), session);
            let address = |group| Dba { file: FileNo::redo(group), block: BlockNo::new(0) };
            if own.iter().all(|byte| *byte == 0) {
                continue;
            }
            begun += 1;
            for (change, says) in changes {
                // For this group, and for another one of that owner.
                for moved in [group, group % 3 + 1] {
                    let mut other = own.clone();
                    *BlockHeader::of_mut(&mut other) =
                        BlockHeader::new(BlockKind::LogHeader, address(moved));
                    let header = LogHeader::at_mut(&mut other, LogHeader::START);
                    header.group = U16Le::new(moved);
                    change(header);
                    format::seal(&mut other, address(moved));
                    write(&disk, &name, (0, &other), session);
                    let (report, told) = check(&disk, Some(objects), session);
                    assert!(!report.expect("checked").is_clean());
                    let is_it =
                        |one: &&verify::Finding| one.kind == Kind::Log && one.file.ends_with(&name);
                    let found: Vec<_> = told.iter().filter(is_it).collect();
                    assert_eq!(found.len(), 1, "{told:?}");
                    let line = found[0].to_string();
                    for says in [says, "put the right file back", "restore all files"] {
                        assert!(line.contains(says), "'{line}' doesn't say '{says}'");
                    }
                }
            }
            write(&disk, &name, (0, &own), session);
        }
        assert!(begun > 1, "{begun} logs");
        let (report, told) = check(&disk, Some(objects), session);
        assert_eq!(told, []);
        assert!(report.expect("checked").is_clean());
    });
}

/// The header of a log that nobody needs can't be read: nothing is to be restored, and what is said
/// helps. If the log is needed, it is another matter.
#[test]
fn a_free_log_whose_header_can_not_be_read_is_no_reason_to_restore_anything() {
    with_database(database().0, |world, session| {
        let open = |disk: &Disk| {
            Instance::open(disk, directory(), &parameters(), session).expect("opened")
        };
        let group = |instance: &Instance, status| {
            let groups = instance.log_groups(session);
            groups.into_iter().find(|group| group.status == status).expect("there is one")
        };
        // The disk when the header of this group can't be read, and the one line that is told.
        let without_header = |group: &LogView, kind: Kind| {
            let bad = BadPlaces::default();
            let disk = bad.over(&world.disk());
            bad.add(&group.members[0].0, 0..512);
            let (report, told) = check(&disk, None, session);
            assert!(!report.expect("checked").is_clean());
            assert_eq!(kinds(&told), [(kind, 1)].into(), "{told:?}");
            (disk, told[0].to_string())
        };
        let instance = open(&world.disk());
        let current = group(&instance, LogStatus::Current);
        instance.abort(session);
        drop(instance);
        let (_, line) = without_header(&current, Kind::Log);
        assert!(line.contains("restore all files"), "{line}");
        let instance = open(&world.disk());
        let free = group(&instance, LogStatus::Inactive);
        instance.shutdown(session).expect("shut in good order");
        drop(instance);
        let (disk, line) = without_header(&free, Kind::FreeLog);
        let is_named = line.contains(&format!("of group {} ", free.number));
        assert!(is_named && line.contains(&format!("drop_log_group={}", free.number)), "{line}");
        assert!(!line.contains("restore"), "{line}");
        let instance = open(&disk);
        let more = format!("{}:redo04.log", u64::from(redo::LOG_BLOCKS_MIN) * 4096);
        let changes = [("add_log_group", more), ("drop_log_group", free.number.to_string())];
        for (name, value) in changes {
            let change = LogChange::read(name, &value).expect("there is one").expect("a change");
            instance.change_logs_while(&change, &|| true, session).expect("changed");
        }
        instance.shutdown(session).expect("shut in good order");
        drop(instance);
        let (report, told) = check(&disk, None, session);
        assert_eq!(told, []);
        assert!(report.expect("checked").is_clean());
    });
}

/// A file that a crash has left without its name isn't lost: the next opening names it, and that is
/// what is said.
#[test]
fn a_file_that_has_not_got_its_name_yet_is_not_said_to_be_lost() {
    let (disk, objects) = database();
    for (name, is_shut) in
        [(DATA, true), ("redo01.log", true), (DATA, false), ("redo01.log", false)]
    {
        with_database(disk.clone(), move |world, session| {
            let disk = world.disk();
            let open = || Instance::open(&disk, directory(), &parameters(), session);
            if !is_shut {
                open().expect("opened").abort(session);
            }
            let path = directory().join(name);
            disk.rename(&path, &space::new_path(&path), session).expect("renamed");
            let (report, told) = check(&disk, Some(objects), session);
            assert_eq!(told, [], "{name}");
            let skipped = report.expect("checked").skipped.expect("it isn't clean");
            assert!(skipped.contains("Open it once"), "{skipped}");
            open().expect("opened").shutdown(session).expect("shut in good order");
            let (report, told) = check(&disk, Some(objects), session);
            assert_eq!(told, [], "{name}");
            assert!(report.expect("checked").is_clean());
        });
    }
}
