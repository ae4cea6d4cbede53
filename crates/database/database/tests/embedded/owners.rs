//! One owner: files of a database that is open, or is being made, are nobody else's, under
//! whatever name.

use std::path::Path;
use std::time::{Duration, Instant};

use database::{Database, ErrorKind, Options};
use instance::{DataFileSpec, LogGroupSpec, TablespaceSpec};
use os::{FileOptions, Session};
use waits::SessionKind;

use crate::common::{Folder, filled, options};

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).expect("made");
    for entry in std::fs::read_dir(from).expect("there") {
        let entry = entry.expect("listed");
        if entry.file_type().expect("known").is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name())).expect("copied");
        }
    }
}

fn refused(directory: &Path, options: &Options, names: &str) {
    let opened = Database::open(directory, options);
    let stop = opened.err().expect("it opens, though another has its files");
    assert_eq!(stop.refusal(), Some(ErrorKind::WrongState), "{stop}");
    assert!(stop.to_string().contains(names), "'{stop}' doesn't name {names}");
}

/// A copied directory whose control file names files by absolute paths.
#[test]
fn a_copy_of_a_database_does_not_open_the_files_of_the_original_while_that_is_open() {
    for shared in ["data", "redo"] {
        let scratch = Folder::absent(&format!("copied-{shared}"));
        std::fs::create_dir(&scratch.0).expect("made");
        let at = |name: &str| scratch.0.join(name).display().to_string();
        let mut options = options();
        match shared {
            "data" => options.creation.data_files.push(file(&at("elsewhere.dbf"))),
            _ => {
                let group = |name| LogGroupSpec { bytes: 1 << 20, members: vec![at(name)] };
                options.creation.log_files = vec![group("one.log"), group("two.log")];
            }
        }
        let original = scratch.0.join("original");
        let database = Database::create(&original, &options).expect("created");
        filled(&database);
        database.shutdown().expect("in good order");
        let other = scratch.0.join("other");
        copy(&original, &other);

        let database = Database::open(&original, &options).expect("opened");
        let before = std::fs::read(other.join("control01.ctl")).expect("there");
        let name = if shared == "data" { "elsewhere.dbf" } else { "one.log" };
        refused(&other, &options, name);
        let after = std::fs::read(other.join("control01.ctl")).expect("there");
        assert!(before == after, "the copy was written before its files were its own");
        database.shutdown().expect("the original doesn't notice");
        Database::open(&original, &options).expect("nor later").shutdown().expect("shut");
    }
}

/// A process that was killed has its files until its last write has landed: here another handle of
/// the file stands for it.
#[test]
fn opening_waits_a_moment_for_the_files_of_a_process_that_was_killed() {
    for name in ["data01.dbf", "doublewrite01.dbl", "redo01.log", "control02.ctl"] {
        let scratch = Folder::absent(&format!("in-flight-{name}"));
        let options = options();
        Database::create(&scratch.0, &options).expect("created").shutdown().expect("shut");
        let file = std::fs::File::open(scratch.0.join(name)).expect("there");
        file.lock().expect("locked");
        let begun = Instant::now();
        refused(&scratch.0, &options, name);
        assert!(begun.elapsed() > Duration::from_millis(200), "{name}: it didn't wait");
        let landing = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(200));
            drop(file);
        });
        let database = Database::open(&scratch.0, &options).expect("opened when it has landed");
        landing.join().expect("it landed");
        database.shutdown().expect("in good order");
    }
}

fn file(path: &str) -> DataFileSpec {
    DataFileSpec { path: path.into(), bytes: 1 << 20, bytes_max: 1 << 20, growth_bytes: 0 }
}

fn session() -> Session {
    os::linux::start().adopt("administrator", SessionKind::Foreground)
}

#[test]
fn one_file_under_two_spellings_is_refused_and_leaves_nothing() {
    let scratch = Folder::absent("spellings");
    let options = options();
    let database = Database::create(&scratch.0, &options).expect("created");
    let session = session();
    std::fs::create_dir(scratch.0.join("folder")).expect("made");
    std::os::unix::fs::symlink(".", scratch.0.join("link")).expect("made");
    let listed = || {
        let names = std::fs::read_dir(&scratch.0).expect("there").map(|entry| entry.expect("one"));
        let mut names: Vec<_> = names.map(|entry| entry.file_name()).collect();
        names.sort();
        names
    };
    let before = listed();
    let absolute = scratch.0.join("x.dbf").display().to_string();
    for other in ["./x.dbf", "folder/../x.dbf", "link/x.dbf", &absolute] {
        let twice = TablespaceSpec {
            name: "twice".into(),
            block_size: ids::BlockSize::KIB_8,
            extent_blocks: 8,
            files: vec![file("x.dbf"), file(other)],
        };
        let made = database.instance().create_tablespace(&twice, &session);
        let stop = made.expect_err("a file is one file");
        assert_eq!(stop.refusal(), Some(ErrorKind::AlreadyExists), "{other}: {stop}");
        let group = LogGroupSpec { bytes: 1 << 20, members: vec!["x.dbf".into(), other.into()] };
        let made = database.instance().add_log_group(&group, &session);
        let stop = made.expect_err("a file is one file");
        assert_eq!(stop.refusal(), Some(ErrorKind::AlreadyExists), "{other}: {stop}");
        assert_eq!(listed(), before, "{other}");
    }
    database.shutdown().expect("in good order");
    Database::open(&scratch.0, &options).expect("opened").shutdown().expect("shut");
}

/// A member that is invalid may have no file, and its place is taken all the same.
#[test]
fn the_place_of_a_member_that_has_gone_is_taken_under_every_spelling() {
    let scratch = Folder::absent("spelled-member");
    let mut options = options();
    options.creation.log_members = 2;
    Database::create(&scratch.0, &options).expect("created").shutdown().expect("shut");
    std::fs::remove_file(scratch.0.join("redo02b.log")).expect("removed");
    let database = Database::open(&scratch.0, &options).expect("the others go on");
    let made = database.instance().add_log_member(2, "./redo02b.log", &session());
    let stop = made.expect_err("it is a member");
    assert_eq!(stop.refusal(), Some(ErrorKind::AlreadyExists), "{stop}");
    database.shutdown().expect("in good order");
    Database::open(&scratch.0, &options).expect("opened").shutdown().expect("shut");
}

/// Hard and symbolic links are seen when the files are opened.
#[test]
fn two_names_of_one_file_are_told_at_opening() {
    for hard in [true, false] {
        let scratch = Folder::absent(&format!("linked-{hard}"));
        let mut options = options();
        options.creation.log_members = 2;
        Database::create(&scratch.0, &options).expect("created").shutdown().expect("shut");
        let (first, second) = (scratch.0.join("redo01.log"), scratch.0.join("redo01b.log"));
        std::fs::remove_file(&second).expect("removed");
        match hard {
            true => std::fs::hard_link(&first, &second).expect("linked"),
            false => std::os::unix::fs::symlink(&first, &second).expect("linked"),
        }
        let opened = Database::open(&scratch.0, &options);
        let stop = opened.err().expect("a copy that is the original is none");
        let says = stop.to_string();
        assert!(says.contains("redo01b.log") && says.contains("one file"), "{says}");
    }
}

#[test]
fn a_creation_that_fails_leaves_no_directory_and_takes_nothing_of_others() {
    let scratch = Folder::absent("failed-creation");
    let mut bad = options();
    bad.parameters.db_cache_size = 64 << 10;
    Database::create(&scratch.0, &bad).err().expect("refused");
    assert!(!scratch.0.exists(), "an empty directory is left");
    // A directory that was there stays.
    std::fs::create_dir(&scratch.0).expect("made");
    Database::create(&scratch.0, &bad).err().expect("refused");
    assert_eq!(std::fs::read_dir(&scratch.0).expect("it stays").count(), 0);
}

/// Two groups with these members.
fn with_logs(first: &[&str], second: &[&str]) -> Options {
    let group = |members: &[&str]| LogGroupSpec {
        bytes: 1 << 20,
        members: members.iter().map(ToString::to_string).collect(),
    };
    let mut options = options();
    options.creation.log_files = vec![group(first), group(second)];
    options
}

/// A member that was lost is dropped; the file that lies in its place by now is another database's.
#[test]
fn dropping_a_lost_member_removes_no_file_of_another_database() {
    let scratch = Folder::absent("lost-member-dropped");
    std::fs::create_dir(&scratch.0).expect("made");
    let shared = scratch.0.join("x.log").display().to_string();
    let (first, second) = (scratch.0.join("first"), scratch.0.join("second"));
    let of_first = with_logs(&["redo01.log", &shared], &["redo02.log"]);
    Database::create(&first, &of_first).expect("created").shutdown().expect("shut");
    std::fs::remove_file(&shared).expect("the member is lost");
    let one = Database::open(&first, &of_first).expect("the other member goes on");

    // The name is free, and another database takes it for its own redo.
    let of_second = with_logs(&[&shared], &["redo02.log"]);
    let other = Database::create(&second, &of_second).expect("created");
    filled(&other);

    let administrator = one.connect("administrator");
    let dropped = one.instance().drop_log_member(&shared, administrator.session());
    dropped.expect("its group has another good member");
    assert!(std::path::Path::new(&shared).exists(), "the other database's redo is gone");

    // Killed: what was committed is in that log only.
    drop(other);
    let other = Database::open(&second, &of_second).expect("its redo is there");
    let mut connection = other.connect("reader");
    let account = connection.table("account").expect("there");
    let mut rows = 0;
    connection.scan(&account, |_| rows += 1).expect("read");
    assert_eq!(rows, 100);
    drop((connection, administrator));
    other.shutdown().expect("in good order");
    one.shutdown().expect("in good order");
}

/// The same with a file of anybody's (rule space/SP10: nothing else is ever removed).
#[test]
fn dropping_a_member_removes_no_file_that_was_never_it() {
    let scratch = Folder::absent("never-a-member");
    let mut options = options();
    options.creation.log_members = 2;
    Database::create(&scratch.0, &options).expect("created").shutdown().expect("shut");
    let path = scratch.0.join("redo03b.log");
    std::fs::write(&path, "a letter").expect("somebody writes there");
    let database = Database::open(&scratch.0, &options).expect("the other member goes on");
    let connection = database.connect("administrator");
    database.instance().drop_log_member("redo03b.log", connection.session()).expect("dropped");
    let found = std::fs::read(&path).expect("it isn't the database's file");
    assert_eq!(found, b"a letter");
    drop(connection);
    database.shutdown().expect("in good order");
}

/// A member was lost; another program (another database whose files lie there) is just making a
/// file that is to have that name, under the name of a leftover, locked (rule space/SP21).
#[test]
fn an_opening_gives_no_name_to_a_file_that_another_is_just_making() {
    let scratch = Folder::absent("made-by-another");
    let mut options = options();
    options.creation.log_members = 2;
    Database::create(&scratch.0, &options).expect("created").shutdown().expect("shut");
    let path = scratch.0.join("redo01b.log");
    let bytes = std::fs::metadata(&path).expect("there").len();
    std::fs::remove_file(&path).expect("the member is lost");
    let (os, disk) = (os::linux::start(), os::linux::disk());
    let session = os.adopt("maker", SessionKind::Foreground);
    let plain = FileOptions { direct: false, write_through: false };
    let new = scratch.0.join("redo01b.log.forebay-new");
    // Locked until it is closed.
    let making = disk.create(&new, bytes, plain, &session).expect("made");
    let opened = Database::open(&scratch.0, &options);
    assert!(disk.has_its_name(&making, &session).expect("known"), "it was given another name");
    let database = opened.expect("the other member goes on");
    database.shutdown().expect("in good order");
}

/// The application changes its directory after the opening, as daemons do.
#[test]
fn a_database_stays_where_it_was_opened_when_the_process_changes_its_directory() {
    let scratch = Folder::absent("relative");
    let elsewhere = scratch.0.join("elsewhere");
    std::fs::create_dir_all(elsewhere.join("db")).expect("made");
    let before = std::env::current_dir().expect("there is one");
    std::env::set_current_dir(&scratch.0).expect("it is there");
    let database = Database::create("db", &options()).expect("created");
    std::env::set_current_dir(&elsewhere).expect("it is there");
    let connection = database.connect("administrator");
    let file = DataFileSpec {
        path: "more.dbf".into(),
        bytes: 1 << 20,
        bytes_max: 1 << 20,
        growth_bytes: 0,
    };
    let added = database.instance().add_data_file("system", &file, connection.session());
    drop(connection);
    let shut = database.shutdown();
    std::env::set_current_dir(&before).expect("it is there");
    added.expect("added");
    shut.expect("in good order");
    assert!(scratch.0.join("db/more.dbf").exists(), "the file lies in another directory");
    let database = Database::open(scratch.0.join("db"), &options()).expect("its files are there");
    database.shutdown().expect("in good order");
}

/// A file that is listed and not yet named, as a crash leaves it (rule space/SP10), is its
/// database's, wherever it lies.
#[test]
fn an_opening_removes_no_file_that_another_database_lists() {
    let scratch = Folder::absent("listed-by-another");
    let (first, second) = (scratch.0.join("first"), scratch.0.join("second"));
    std::fs::create_dir_all(&scratch.0).expect("made");
    Database::create(&first, &options()).expect("created").shutdown().expect("shut");
    let other = Database::create(&second, &options()).expect("created");
    let path = first.join("more.dbf");
    let administrator = other.connect("administrator");
    let spec = file(path.to_str().expect("a name"));
    other.instance().add_data_file("system", &spec, administrator.session()).expect("added");
    drop(administrator);
    other.shutdown().expect("in good order");
    std::fs::rename(&path, first.join("more.dbf.forebay-new")).expect("renamed");
    Database::open(&first, &options()).expect("opened").shutdown().expect("shut");
    let other = Database::open(&second, &options()).expect("its listed file is there");
    other.shutdown().expect("in good order");
}

/// Files for which there is no room aren't begun.
#[test]
fn a_creation_that_finds_no_room_is_refused_before_its_first_byte() {
    let scratch = Folder::absent("no-room");
    let directory = scratch.0.join("db");
    std::fs::create_dir_all(&scratch.0).expect("made");
    let mut options = options();
    // 3.5 TB of redo.
    options.creation.log_file_bytes = 1 << 40;
    options.creation.log_groups = 3;
    let stop = Database::create(&directory, &options).map(drop).expect_err("no room");
    assert_eq!(stop.refusal(), Some(ErrorKind::NoSpace), "{stop}");
    assert!(stop.to_string().contains("MB are needed"), "{stop}");
    assert!(!directory.exists());
}

/// What somebody else has put into the directory meanwhile stays.
#[test]
fn a_database_that_cannot_be_filled_is_removed_and_nothing_else() {
    let scratch = Folder::absent("unfilled");
    std::fs::create_dir(&scratch.0).expect("made");
    let (os, disk) = (os::linux::start(), os::linux::disk());
    let session = os.adopt("filler", waits::SessionKind::Foreground);
    let names = || {
        let all = std::fs::read_dir(&scratch.0).expect("there");
        all.map(|entry| entry.expect("read").file_name()).collect::<Vec<_>>()
    };
    let fill = |database: &Database| {
        filled(database);
        assert!(names().len() > 4, "{:?}", names());
        std::fs::write(scratch.0.join("mine"), "mine").expect("written");
        Err(database::Error::refuse(ErrorKind::Invalid, "there is no more of it"))
    };
    let made = Database::create_filled(&disk, &scratch.0, &options(), fill, &session);
    let stop = made.map(drop).expect_err("it wasn't filled");
    assert!(stop.to_string().contains("no more of it"), "{stop}");
    assert_eq!(names(), ["mine"]);
}

/// Somebody removes a file of a database that is just being made, and another database takes the
/// name: the creation that is given up leaves that one's file alone.
#[test]
fn a_creation_that_is_taken_back_removes_no_file_that_took_a_name_of_its_own() {
    let scratch = Folder::absent("taken-name");
    std::fs::create_dir(&scratch.0).expect("made");
    let shared = scratch.0.join("x.dbf");
    let (first, second) = (scratch.0.join("first"), scratch.0.join("second"));
    let other = Database::create(&second, &options()).expect("created");
    let mut of_first = options();
    of_first.creation.data_files.push(file(shared.to_str().expect("a name")));
    let fill = |_: &Database| {
        std::fs::remove_file(&shared).expect("it is there");
        let spec = file(shared.to_str().expect("a name"));
        other.instance().add_data_file("system", &spec, &session())?;
        Err(database::Error::refuse(ErrorKind::Invalid, "there is no more of it"))
    };
    let (os, disk) = (os::linux::start(), os::linux::disk());
    let creator = os.adopt("creator", SessionKind::Foreground);
    let made = Database::create_filled(&disk, &first, &of_first, fill, &creator);
    let stop = made.map(drop).expect_err("it was given up");
    assert!(stop.to_string().contains("no more of it"), "{stop}");
    assert!(!first.exists(), "something of it is left");
    assert!(shared.exists(), "the file of the other database is gone");
    other.shutdown().expect("in good order");
    Database::open(&second, &options()).expect("its files are there").shutdown().expect("shut");
}

/// Rule space/SP22: their names are fixed, so a link is how they come to lie elsewhere.
#[test]
fn a_copy_with_links_to_the_originals_control_or_doublewrite_file_is_refused() {
    for name in ["control01.ctl", "control02.ctl", "doublewrite01.dbl"] {
        let scratch = Folder::absent(&format!("owners-links-{name}"));
        let (original, copied) = (scratch.0.join("original"), scratch.0.join("copy"));
        std::fs::create_dir_all(&scratch.0).expect("made");
        Database::create(&original, &options()).expect("made").shutdown().expect("shut");
        let elsewhere = scratch.0.join(name);
        std::fs::rename(original.join(name), &elsewhere).expect("moved");
        std::os::unix::fs::symlink(&elsewhere, original.join(name)).expect("linked");
        let opened = Database::open(&original, &options()).expect("the original opens");
        opened.shutdown().expect("shut");
        copy(&original, &copied);
        std::os::unix::fs::symlink(&elsewhere, copied.join(name)).expect("linked");
        let before = std::fs::read(&elsewhere).expect("there");
        refused(&copied, &options(), name);
        assert!(std::fs::read(&elsewhere).expect("there") == before, "{name} was written to");
    }
}
