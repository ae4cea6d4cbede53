//! A process that has as many files open as it may: what is done then is done a moment later, or is
//! refused; no instance halts for it, and nothing is used that isn't locked.

use database::{BlockSize, DataFileSpec, Database, Error, LogGroupSpec, Session, TablespaceSpec};
use os::FileOptions;
use sim::BadPlaces;
use waits::SessionKind;

use crate::common::{Folder, options};

/// No descriptor is left (linux/errno.h: EMFILE).
const NONE_LEFT: i32 = 24;
/// Permission denied (EACCES).
const DENIED: i32 = 13;

/// Each call in turn that needs a descriptor is refused one once.
fn without_one(name: &str, statement: impl Fn(&Database, u32, &Session) -> Result<(), Error>) {
    let (scratch, bad) = (Folder::absent(name), BadPlaces::default());
    let session = os::linux::start().adopt("app", SessionKind::Foreground);
    let disk = bad.over(&os::linux::disk());
    let mut options = options();
    options.creation.log_file_bytes = 1 << 20;
    let database = Database::create_in(&disk, &scratch.0, &options, &session).expect("created");
    for number in 0.. {
        bad.refuse("", NONE_LEFT, number, 1);
        let done = statement(&database, number, &session);
        assert_eq!(database.instance().halt().cause(&session), None, "call {number}: {done:?}");
        done.expect("there is a descriptor a moment later");
        if bad.refuses() {
            assert!(number > 2, "it needs descriptors");
            break;
        }
    }
    bad.refuse("", 0, 0, 0);
    database.shutdown_by(&session).expect("in good order");
}

#[test]
fn a_tablespace_is_made_though_no_descriptor_is_left_for_a_moment() {
    without_one("descriptors-tablespace", |database, number, session| {
        let file = |at| DataFileSpec {
            path: format!("ts{number}_{at}.dbf"),
            bytes: 1 << 20,
            bytes_max: 0,
            growth_bytes: 0,
        };
        let spec = TablespaceSpec {
            name: format!("ts{number}"),
            block_size: BlockSize::KIB_8,
            extent_blocks: 8,
            files: vec![file(0), file(1)],
        };
        database.instance().create_tablespace(&spec, session)
    });
}

#[test]
fn a_redo_log_group_is_made_though_no_descriptor_is_left_for_a_moment() {
    without_one("descriptors-group", |database, number, session| {
        let members = vec![format!("x{number}a.log"), format!("x{number}b.log")];
        let spec = LogGroupSpec { bytes: 1 << 20, members };
        let made = database.instance().add_log_group(&spec, session)?;
        database.instance().drop_log_group(made, session)
    });
}

#[test]
fn a_redo_log_member_is_made_though_no_descriptor_is_left_for_a_moment() {
    without_one("descriptors-member", |database, number, session| {
        let path = format!("m{number}.log");
        database.instance().add_log_member(1, &path, session)?;
        database.instance().drop_log_member(&path, session)
    });
}

/// Rule redo/RD22: a log that can't be opened to be locked isn't used, though it can be opened
/// later.
#[test]
fn a_log_that_is_not_locked_is_not_used() {
    for members in [1, 2] {
        let (scratch, bad) = (Folder::absent("descriptors-lock"), BadPlaces::default());
        let session = os::linux::start().adopt("app", SessionKind::Foreground);
        let (disk, mut options) = (bad.over(&os::linux::disk()), options());
        options.creation.log_members = members;
        Database::create_in(&disk, &scratch.0, &options, &session)
            .expect("created")
            .abort_by(&session);
        bad.refuse("redo01.log", DENIED, 0, 1);
        let opened = Database::open_in(&disk, &scratch.0, &options, &session);
        assert!(!bad.refuses(), "it was opened to be locked");
        let Ok(database) = opened else {
            assert_eq!(members, 1, "there is another");
            continue;
        };
        let plain = FileOptions { direct: false, write_through: false };
        for (path, good) in database.instance().log_groups(&session).iter().flat_map(|v| &v.members)
        {
            let file = disk.open(path, plain, &session).expect("there");
            let is_free = file.try_lock().expect("asked");
            assert!(!good || !is_free, "{} is used and isn't locked", path.display());
        }
        database.abort_by(&session);
    }
}
