//! Files of the real world: written data is read back, and each failure is reported in one line.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test looks at the real file system from outside"
)]

mod common;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use common::{BUFFERED, DIRECT, Scratch, WRITE_THROUGH, session, world};
use os::{Cause, FileOptions, FilesystemIo, IoBuf, IoKind, Request, RingConfig};
use waits::{Level, Nanos, Statistic, WaitEvent};

const READ: WaitEvent = WaitEvent::DbFileSequentialRead;
const WRITE: WaitEvent = WaitEvent::DbFileParallelWrite;

/// Data is read back under every way to open a file, and unwritten bytes are zero.
#[test]
fn what_is_written_is_read_back_under_every_filesystemio_option() {
    let scratch = Scratch::new("whole");
    let (os, _) = world();
    let (session, disk) = (session(&os), os::linux::disk());
    for value in FilesystemIo::ALL {
        let options = value.file_options();
        let path = scratch.join(value.name());
        let file = disk.create(&path, 64 * 1024, options, &session).expect("created");
        let written = IoBuf::copy_of(&[0xA5; 8192]);
        file.write_at(8192, &written, session.waiting(WRITE)).expect("written");
        file.sync(session.waiting(WRITE)).expect("synced");
        let mut read = IoBuf::copy_of(&[0xFF; 24576]);
        file.read_at(0, &mut read, session.waiting(READ)).expect("read");
        assert!(read[..8192].iter().all(|b| *b == 0), "{value}");
        assert!(read[8192..16384].iter().all(|b| *b == 0xA5), "{value}");
        assert!(read[16384..].iter().all(|b| *b == 0), "{value}");
        assert_eq!(file.length().expect("known"), 64 * 1024);
        let opened = disk.open_read_only(&path, options, &session).expect("exists");
        opened.read_at(8192, &mut read[..8192], session.waiting(READ)).expect("read");
        assert!(read[..8192].iter().all(|b| *b == 0xA5), "{value}");
        let refused = opened.write_at(0, &written, session.waiting(WRITE)).expect_err("read only");
        assert!(!refused.to_string().contains('\n'), "{refused}");
    }
    let totals = session.account().totals();
    assert_eq!(totals.event(READ).count, 8);
    assert_eq!(totals.statistic(Statistic::PhysicalReadBytes), 4 * (24576 + 8192));
}

/// Each opening of a file has its own counts (O74): a request of a ring has no time, nor has a wait
/// that isn't recorded; a request that failed has no bytes.
#[test]
fn a_file_counts_its_own_requests() {
    let scratch = Scratch::new("counted");
    let (os, _) = world();
    let (session, disk) = (session(&os), os::linux::disk());
    let path = scratch.join("f");
    drop(disk.create(&path, 16384, BUFFERED, &session).expect("created"));
    let file = disk.open(&path, BUFFERED, &session).expect("there");
    assert_eq!(file.totals(), os::FileTotals::default());
    let mut buffer = IoBuf::zeroed(4096);
    file.write_at(0, &buffer, session.waiting(WRITE)).expect("written");
    file.read_at(0, &mut buffer, session.waiting(READ)).expect("read");
    let _ = file.read_at(1 << 30, &mut buffer, session.waiting(READ)).expect_err("past the end");
    session.account().set_level(Level::Off);
    file.clone().read_at(0, &mut buffer, session.waiting(READ)).expect("read");
    session.account().set_level(Level::Stats);
    let mut ring = disk.ring(&RingConfig::new(4), &session).expect("opened");
    let request = Request { file: file.clone(), kind: IoKind::Read, offset: 0, buffer, tag: 1 };
    ring.push(request, &session).expect("usable");
    let mut done = Vec::new();
    ring.reap(1, None, &mut done, session.waiting(READ)).expect("reaped");
    let totals = file.totals();
    assert_eq!((totals.reads.requests, totals.reads.bytes), (4, 3 * 4096));
    assert_eq!((totals.writes.requests, totals.writes.bytes), (1, 4096));
    assert_eq!((totals.reads.waited_for, totals.writes.waited_for), (2, 1));
    let waited = session.account().totals().event(WRITE).total;
    assert!(totals.writes.waited == waited && waited > Nanos::ZERO, "{totals:?}");
    assert_eq!(disk.open(&path, BUFFERED, &session).expect("there").totals().reads.requests, 0);
}

/// A read that goes past the end isn't half a success.
#[test]
fn a_read_past_the_end_is_end_of_file() {
    let scratch = Scratch::new("past-end");
    let (os, _) = world();
    let (session, disk) = (session(&os), os::linux::disk());
    for options in [BUFFERED, DIRECT] {
        let path = scratch.join(if options.direct { "direct" } else { "buffered" });
        let file = disk.create(&path, 8192, options, &session).expect("created");
        let mut buffer = IoBuf::zeroed(8192);
        for offset in [4096, 8192, 1 << 30] {
            let error = file.read_at(offset, &mut buffer, session.waiting(READ)).expect_err("past");
            assert_eq!(error.cause(), Cause::EndOfFile, "{error}");
            let names = error.to_string().contains(&format!("8192 bytes at {offset} of "));
            assert!(names && error.to_string().ends_with("shorter than it should be"), "{error}");
        }
    }
}

/// A file whose length isn't a multiple of the block ends in the middle of a direct read. This is
/// detected after a few tries, not after a thousand.
#[test]
fn a_direct_read_over_a_ragged_end_gives_up_at_once() {
    let scratch = Scratch::new("ragged");
    let (os, _) = world();
    let (session, disk) = (session(&os), os::linux::disk());
    std::fs::write(scratch.join("ragged"), [7; 5000]).expect("written");
    let file = disk.open(&scratch.join("ragged"), DIRECT, &session).expect("opened");
    let mut buffer = IoBuf::zeroed(8192);
    let error = file.read_at(0, &mut buffer, session.waiting(READ)).expect_err("too short");
    assert_eq!(error.cause(), Cause::EndOfFile, "{error}");
    let short = session.account().statistic(Statistic::ShortIo);
    assert!(short < 10, "{short} short reads of the same bytes");
}

/// Direct I/O that isn't aligned is refused with the multiples that it needs, also where a file
/// system would have gone through the page cache without notice.
#[test]
fn misaligned_direct_io_is_a_clear_error() {
    let scratch = Scratch::new("misaligned");
    let (os, _) = world();
    let (session, disk) = (session(&os), os::linux::disk());
    let file = disk.create(&scratch.join("f"), 8192, DIRECT, &session).expect("created");
    let unit = file.alignment().offset;
    assert!(unit.is_power_of_two() && (512..=4096).contains(&unit), "{unit}");
    let mut buffer = IoBuf::zeroed(8192);
    let claims = |error: os::Error| {
        assert_eq!(error.cause(), Cause::Invalid, "{error}");
        assert!(error.to_string().contains(&format!("multiples of {unit} bytes")), "{error}");
    };
    claims(file.read_at(5, &mut buffer[..4096], session.waiting(READ)).expect_err("offset"));
    claims(file.read_at(0, &mut buffer[..100], session.waiting(READ)).expect_err("length"));
    claims(file.write_at(5, &buffer[..4096], session.waiting(WRITE)).expect_err("offset"));
    claims(file.write_at(0, &buffer[..100], session.waiting(WRITE)).expect_err("length"));
    if file.alignment().memory > 1 {
        claims(file.write_at(0, &buffer[1..4097], session.waiting(WRITE)).expect_err("memory"));
    }
    assert_eq!(session.account().totals().event(READ).count, 0, "a refused call is no wait");
}

/// A new file has its full size on disk, every byte of it zero and allocated.
#[test]
fn a_created_file_has_all_its_space() {
    use std::os::unix::fs::MetadataExt;
    let scratch = Scratch::new("space");
    let (os, _) = world();
    let (session, disk) = (session(&os), os::linux::disk());
    for (name, options) in [("d", DIRECT), ("b", BUFFERED), ("w", WRITE_THROUGH)] {
        let length = (2 << 20) + 4096;
        drop(disk.create(&scratch.join(name), length, options, &session).expect("created"));
        let told = std::fs::metadata(scratch.join(name)).expect("exists");
        assert_eq!(told.len(), length);
        assert!(told.blocks() * 512 >= length, "{name}: {} blocks", told.blocks());
        assert!(std::fs::read(scratch.join(name)).expect("readable").iter().all(|b| *b == 0));
    }
}

/// Each way in which a file can't be made is one line that names it, and leaves nothing.
#[test]
fn a_file_that_cannot_be_made_leaves_nothing() {
    let scratch = Scratch::new("cannot");
    let (os, _) = world();
    let (session, disk) = (session(&os), os::linux::disk());
    std::fs::write(scratch.join("there"), b"mine").expect("written");
    let cannot = |path: &Path, length: u64, options: FileOptions, cause: Cause| {
        let error = disk.create(path, length, options, &session).expect_err("refused");
        assert_eq!(error.cause(), cause, "{error}");
        let text = error.to_string();
        assert!(text.starts_with("cannot create ") && !text.contains('\n'), "{text}");
        assert!(text.contains("; "), "no advice: {text}");
    };
    cannot(&scratch.join("there"), 4096, DIRECT, Cause::AlreadyExists);
    cannot(&scratch.join("no/such/f"), 4096, DIRECT, Cause::NotFound);
    cannot(&scratch.join("there/f"), 4096, DIRECT, Cause::NotFound);
    assert_eq!(std::fs::read(scratch.join("there")).expect("still there"), b"mine");
    // Direct I/O can't write this length.
    let error = disk.create(&scratch.join("odd"), 5000, DIRECT, &session).expect_err("odd");
    assert!(error.to_string().contains("multiple of 4096 bytes"), "{error}");
    assert_eq!(scratch.names(), ["there"]);
}

/// Makes a file of 4 MiB in the place that the parent mounted, which fails, and checks that nothing
/// is left.
fn refused_in_the_place(place: &str, options: FileOptions, cause: Cause) {
    let (os, _) = world();
    let made =
        os::linux::disk().create(&Path::new(place).join("f"), 4 << 20, options, &session(&os));
    let error = made.expect_err("refused");
    assert_eq!(error.cause(), cause, "{error}");
    assert_eq!(std::fs::read_dir(place).expect("mounted").count(), 0, "{error}");
}

/// On a full file system nothing is left of a file for which there was no room.
#[test]
fn no_space_leaves_nothing() {
    match common::child() {
        Some(place) => refused_in_the_place(&place, BUFFERED, Cause::NoSpace),
        None => common::in_a_child_with_mount(
            "no_space_leaves_nothing",
            "mount -t tmpfs -o size=1m none",
            Scratch::new("no-space").path(),
        ),
    }
}

/// A read-only file system is named as such.
#[test]
fn a_read_only_file_system_is_refused() {
    match common::child() {
        Some(place) => refused_in_the_place(&place, DIRECT, Cause::ReadOnly),
        None => common::in_a_child_with_mount(
            "a_read_only_file_system_is_refused",
            "mount -t tmpfs -o ro none",
            Scratch::new("read-only").path(),
        ),
    }
}

/// The kernel makes the file before it finds that it can't do direct I/O on it; the file is
/// removed.
#[test]
fn no_direct_io_leaves_nothing() {
    match common::child() {
        Some(place) => refused_in_the_place(&place, DIRECT, Cause::DirectIoUnsupported),
        None => common::in_a_child_with_mount(
            "no_direct_io_leaves_nothing",
            "mount -t ramfs none",
            Scratch::new("no-direct").path(),
        ),
    }
}

/// Without the right to write, a directory is left alone and the message says so.
#[test]
fn a_directory_without_the_right_is_permission_denied() {
    let scratch = Scratch::new("right");
    std::fs::set_permissions(scratch.path(), std::fs::Permissions::from_mode(0o555)).expect("mine");
    let path = scratch.join("f");
    let outcome = std::thread::spawn(move || {
        common::become_nobody_in_this_thread();
        let (os, _) = world();
        let session = session(&os);
        os::linux::disk().create(&path, 4096, DIRECT, &session).map(drop)
    });
    let error = outcome.join().expect("no panic").expect_err("refused");
    assert_eq!(error.cause(), Cause::PermissionDenied, "{error}");
    std::fs::set_permissions(scratch.path(), std::fs::Permissions::from_mode(0o755)).expect("mine");
}

/// Who opens the name finds all of the old text or all of the new one, and nobody reads the new one
/// who couldn't read the old one.
#[test]
fn a_file_is_replaced_in_one_step_by_one_with_its_rights() {
    let scratch = Scratch::new("replaced");
    let (os, _) = world();
    let (session, disk) = (session(&os), os::linux::disk());
    let (path, beside) = (scratch.join("page"), scratch.join("beside"));
    let text = || std::fs::read_to_string(&path).expect("there");
    for rights in [0o600, 0o644] {
        std::fs::write(&path, "the old text").expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(rights)).expect("mine");
        let old = disk.open(&path, BUFFERED, &session).expect("there");
        disk.replace(&old, &beside, b"the new", &session).expect("replaced");
        assert_eq!(text(), "the new");
        assert_eq!(old.length().expect("known"), 12, "it wasn't written over");
        let has = std::fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(has & 0o777, rights, "{has:o}");
        assert_eq!(disk.list(scratch.path(), &session).expect("listed"), ["page"]);
        // Of another file the name isn't taken away.
        let taken = disk.replace(&old, &beside, b"no", &session).expect_err("it is another's");
        assert_eq!(taken.cause(), Cause::AlreadyExists);
        assert_eq!(text(), "the new");
        assert_eq!(disk.list(scratch.path(), &session).expect("listed"), ["page"]);
        disk.remove(&path, &session).expect("removed");
        disk.replace(&old, &beside, b"again", &session).expect("nobody has the name");
        assert_eq!(text(), "again");
    }
}

/// Where a file has a list of rights, its mode says what these are at most: a new file of that mode
/// would show the text to the group.
#[test]
fn a_file_with_a_list_of_rights_is_not_replaced() {
    let scratch = Scratch::new("listed");
    let (os, _) = world();
    let (session, disk) = (session(&os), os::linux::disk());
    let (path, beside) = (scratch.join("page"), scratch.join("beside"));
    std::fs::write(&path, "the old text").expect("written");
    // The version; then a kind, rights and a number: of the owner, a user, the group, the bound of
    // these two, and others.
    let (nobody, mut list) = (u32::MAX, 2_u32.to_le_bytes().to_vec());
    let all = [(1, 6, nobody), (2, 4, 12_345), (4, 0, nobody), (16, 4, nobody), (32, 0, nobody)];
    for (kind, rights, number) in all {
        list.extend([u16::to_le_bytes(kind), u16::to_le_bytes(rights)].concat());
        list.extend(u32::to_le_bytes(number));
    }
    let (name, flags) = ("system.posix_acl_access", rustix::fs::XattrFlags::empty());
    if rustix::fs::setxattr(path.as_path(), name, &list, flags).is_err() {
        // This file system has no such lists.
        return;
    }
    let old = disk.open(&path, BUFFERED, &session).expect("there");
    let refused = disk.replace(&old, &beside, b"the new", &session).expect_err("it has a list");
    assert_eq!(refused.cause(), Cause::PermissionDenied);
    assert_eq!(std::fs::read_to_string(&path).expect("there"), "the old text");
    assert_eq!(disk.list(scratch.path(), &session).expect("listed"), ["page"]);
}

/// Rename, remove and list do what they say, and a missing file is named.
#[test]
fn names_come_and_go() {
    let scratch = Scratch::new("names");
    let (os, _) = world();
    let (session, disk) = (session(&os), os::linux::disk());
    disk.create_dir(&scratch.join("d"), &session).expect("made");
    let (a, b) = (scratch.join("d/a"), scratch.join("d/b"));
    drop(disk.create(&a, 0, BUFFERED, &session).expect("created"));
    disk.rename(&a, &b, &session).expect("renamed");
    assert_eq!(disk.list(&scratch.join("d"), &session).expect("listed"), ["b"]);
    // A rename replaces nothing.
    drop(disk.create(&a, 0, BUFFERED, &session).expect("created"));
    let taken = disk.rename(&a, &b, &session).expect_err("there is a file of this name");
    assert_eq!(taken.cause(), Cause::AlreadyExists);
    assert_eq!(disk.list(&scratch.join("d"), &session).expect("listed"), ["a", "b"]);
    disk.remove(&a, &session).expect("removed");
    let missing = disk.open(&a, BUFFERED, &session).expect_err("removed");
    assert_eq!(missing.cause(), Cause::NotFound);
    assert!(missing.to_string().contains(&a.display().to_string()), "{missing}");
    disk.remove(&b, &session).expect("removed");
    assert!(disk.list(&scratch.join("d"), &session).expect("listed").is_empty());
    assert!(disk.free_bytes(scratch.path()).expect("known") > 0);
}
