//! Files outside the database's directory, and copies of that (rule space/SP22).

use std::path::Path;

use instance::{Creation, DataFileSpec, Instance, LogGroupSpec, Parameters, say_moved};
use sim::fs::FileSystem;
use space::{ControlContent, ControlFile, ControlState};
use stop::RefusalKind;

use crate::common::{
    CAPACITY, TABLE, bytes_of, check, creation, directory, fill, machine, parameters, run, run_kept,
};
use crate::rows::Rows;

/// A database of which each log has a member outside of its directory.
fn with_logs() -> Creation {
    let group = |number: u32| LogGroupSpec {
        bytes: creation().log_file_bytes,
        members: vec![format!("redo{number}.log"), format!("/outside/redo{number}.log")],
    };
    Creation { log_files: (1..=3).map(group).collect(), ..creation() }
}

/// One with such a data file.
fn with_data() -> Creation {
    Creation { data_files: vec![file("/outside/data02.dbf")], ..creation() }
}

fn file(path: &str) -> DataFileSpec {
    DataFileSpec { path: path.to_string(), bytes: 64 * 2048, bytes_max: 0, growth_bytes: 0 }
}

/// One whose files all lie in its directory, by absolute paths.
fn with_all_inside() -> Creation {
    let bytes = creation().log_file_bytes;
    let group = |number| LogGroupSpec { bytes, members: vec![format!("/db/redo{number}.log")] };
    let log_files = (1..=3).map(group).collect();
    Creation { log_files, data_files: vec![file("/db/data02.dbf")], ..creation() }
}

/// A disk with such a database that crashed, and a copy of its directory. It was given files inside
/// of that by absolute paths.
fn base(creation: Creation) -> FileSystem {
    let mut content = FileSystem::new(CAPACITY);
    for directory in ["/outside", "/copy"] {
        content.create_dir(directory).expect("made");
    }
    content.sync_dir("/").expect("synced");
    let ((), mut disk) = run_kept(machine(1, content), move |world, session| {
        let disk = world.disk();
        Instance::create(&disk, directory(), &creation, &parameters(), session).expect("created");
        let instance = Instance::open(&disk, directory(), &parameters(), session).expect("opened");
        let table = Rows::create(&instance, TABLE, session).expect("made");
        fill(&instance, &table, 10, session);
        for path in ["/db/data03.dbf", "/outside/../db/data04.dbf"] {
            instance.add_data_file("system", &file(path), session).expect("added");
        }
        let members = vec!["/outside/../db/redo4.log".to_string()];
        let spec = LogGroupSpec { bytes: redo::LOG_BLOCKS_MIN as u64 * 4096, members };
        instance.add_log_group(&spec, session).expect("added");
        drop(table);
        instance.abort(session);
    });
    for name in disk.list("/db").expect("there") {
        let bytes = bytes_of(&mut disk, &format!("/db/{name}"));
        let copy = disk.create(format!("/copy/{name}")).expect("made");
        disk.write(copy, 0, &bytes, false).expect("written");
        disk.sync(copy).expect("synced");
        disk.close(copy).expect("closed");
    }
    disk.sync_dir("/copy").expect("synced");
    disk
}

fn outside(disk: &mut FileSystem) -> Vec<Vec<u8>> {
    let names = disk.list("/outside").expect("there");
    names.iter().map(|name| bytes_of(disk, &format!("/outside/{name}"))).collect()
}

/// Who creates it again must remove those too.
#[test]
fn files_outside_of_a_creation_that_was_cut_off_are_named() {
    run(machine(1, base(with_logs())), |world, session| {
        let disk = world.disk();
        let control = ControlFile::open(&disk, directory(), false, session);
        let cut_off = |content: &mut ControlContent| content.state = ControlState::Creating;
        control.expect("there").update(cut_off, session).expect("written");
        let refused = Instance::open(&disk, directory(), &parameters(), session);
        let said = refused.err().expect("it isn't whole").to_string();
        assert!(said.contains("(/outside/redo1.log, /outside/redo2.log, "), "{said}");
        assert!(!said.contains("/db/redo1.log"), "{said}");
    });
}

/// A copy is refused before anything is written; the original opens. A copy of a database whose
/// files are all in its directory is a database.
#[test]
fn a_copy_whose_files_outside_are_the_originals_is_not_opened() {
    let all = [with_logs(), with_data(), creation(), with_all_inside()];
    for (creation, is_refused) in all.into_iter().zip([true, true, false, false]) {
        let mut disk = base(creation);
        let before = outside(&mut disk);
        let ((), mut disk) = run_kept(machine(2, disk), move |world, session| {
            let copy = Path::new("/copy");
            match Instance::open(&world.disk(), copy, &parameters(), session) {
                Ok(instance) => {
                    assert!(!is_refused, "the copy opens");
                    instance.shutdown(session).expect("shut");
                }
                Err(stop) => {
                    let text = stop.to_string();
                    assert!(is_refused && text.contains("forebay moved /copy"), "{text}");
                    assert!(text.contains("/outside/"), "{text}");
                    assert_eq!(stop.refusal(), Some(RefusalKind::WrongState), "{text}");
                }
            }
        });
        assert!(outside(&mut disk) == before, "the original's files were written to");
        opens(disk, directory(), &parameters());
    }
}

/// A database that was moved opens when somebody has said so, and no more where it was.
#[test]
fn a_database_that_was_moved_opens_when_it_is_said() {
    for creation in [with_logs(), with_data()] {
        let mut disk = base(creation);
        for name in disk.list("/copy").expect("there") {
            disk.remove(format!("/copy/{name}")).expect("removed");
            disk.rename(format!("/db/{name}"), format!("/copy/{name}")).expect("moved");
        }
        let ((), disk) = run_kept(machine(2, disk), |world, session| {
            let (disk, moved) = (world.disk(), Path::new("/copy"));
            let opened = Instance::open(&disk, moved, &parameters(), session);
            assert!(opened.is_err(), "nobody has said so");
            say_moved(&disk, moved, session).expect("said");
        });
        opens(disk, Path::new("/copy"), &parameters());
    }
}

fn opens(disk: FileSystem, directory: &'static Path, parameters: &Parameters) {
    let parameters = parameters.clone();
    run(machine(3, disk), move |world, session| {
        let opened = Instance::open(&world.disk(), directory, &parameters, session);
        let instance = opened.expect("it opens");
        check(&instance, session);
        let views = instance.log_groups(session);
        assert!(views.iter().flat_map(|view| &view.members).all(|(_, good)| *good), "{views:?}");
        instance.shutdown(session).expect("shut");
    });
}
