//! A file port that does half of its work, or fails, behind a [`File`] that makes it whole or
//! returns an error.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the fake world of this test is shared between threads as std shares"
)]

mod common;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use common::{BUFFERED, DIRECT, FakeDisk, FakeFile, FakeResult, WRITE_THROUGH, session, world};
use os::{
    Cause, Disk, DiskPort, Error, File, FileOptions, FilesystemIo, IoBuf, IoKind, OwnedFiles,
    Request, Ring, RingConfig, Session, ThreadSpec,
};
use waits::{Statistic, WaitEvent};

const READ: WaitEvent = WaitEvent::DbFileSequentialRead;
const WRITE: WaitEvent = WaitEvent::DbFileParallelWrite;

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 7 + i / 251) as u8).collect()
}

/// Writes the pattern under one script and reads it back under the same.
fn survives(options: FileOptions, length: usize, outcomes: &[FakeResult]) -> (Session, Vec<u64>) {
    let (os, _) = world();
    let session = session(&os);
    let (_, file, fake) = FakeDisk::new(512).file(options, length, &session);
    let written = IoBuf::copy_of(&pattern(length));
    fake.will(outcomes.iter().copied());
    file.write_at(0, &written, session.waiting(WRITE)).expect("made whole");
    assert_eq!(*fake.bytes.lock().expect("not poisoned"), pattern(length));
    fake.will(outcomes.iter().copied());
    let mut read = IoBuf::zeroed(length);
    file.read_at(0, &mut read, session.waiting(READ)).expect("made whole");
    assert_eq!(read[..], pattern(length)[..]);
    let offsets = fake.calls().iter().map(|(_, offset, _)| *offset).collect();
    drop(file);
    (session, offsets)
}

/// Short, interrupted and momentarily refused I/O is finished, whatever the mixture.
#[test]
fn partial_io_is_made_whole() {
    use FakeResult::{AtMost, Fail, Half, Whole};
    let again = [Fail(libc::EINTR), Fail(libc::EAGAIN), Half, Fail(libc::EINTR), AtMost(512)];
    for options in [BUFFERED, DIRECT, WRITE_THROUGH] {
        for script in [
            &[AtMost(512)][..],
            &[Half, Half, Half],
            &[Fail(libc::EINTR)],
            &[Fail(libc::EAGAIN), Whole],
            &again,
            &[AtMost(1), AtMost(1), AtMost(513), Half],
        ] {
            let _ = survives(options, 16 * 1024, script);
        }
    }
}

/// Buffered I/O goes on where it stopped, byte by byte if need be.
#[test]
fn buffered_io_goes_on_from_the_next_byte() {
    let (session, offsets) = survives(BUFFERED, 64, &[FakeResult::AtMost(1); 63]);
    assert_eq!(offsets[..64], (0..64).collect::<Vec<u64>>()[..]);
    assert_eq!(session.account().statistic(Statistic::ShortIo), 2 * 63);
    assert_eq!(session.account().totals().event(WRITE).count, 1, "one call is one wait");
}

/// Direct I/O goes on from the last whole unit: the fake refuses anything else, as a kernel does.
#[test]
fn direct_io_goes_on_from_an_aligned_place() {
    let script = [FakeResult::AtMost(1), FakeResult::AtMost(700), FakeResult::AtMost(1536)];
    let (_, offsets) = survives(DIRECT, 4096, &script);
    assert_eq!(offsets[..4], [0, 0, 512, 2048]);
}

/// A storm of EAGAIN or EINTR ends, one way or the other.
#[test]
fn a_storm_of_refusals_ends() {
    for (number, many, survived) in
        [(libc::EAGAIN, 900, true), (libc::EINTR, 900, true), (libc::EAGAIN, 100_000, false)]
    {
        let (os, _) = world();
        let session = session(&os);
        let (_, file, fake) = FakeDisk::new(512).file(BUFFERED, 4096, &session);
        fake.will(vec![FakeResult::Fail(number); many]);
        let result = file.write_at(0, &IoBuf::zeroed(4096), session.waiting(WRITE));
        assert_eq!(result.is_ok(), survived, "{number} x {many}: {result:?}");
        assert!(fake.calls().len() <= many + 1);
    }
}

/// A write that moves nothing without an error is an error, not an endless loop.
#[test]
fn a_write_of_nothing_is_an_error() {
    let (os, _) = world();
    let session = session(&os);
    let (_, file, fake) = FakeDisk::new(512).file(DIRECT, 4096, &session);
    fake.will([FakeResult::AtMost(512), FakeResult::AtMost(0)]);
    let error = file
        .write_at(0, &IoBuf::zeroed(4096), session.waiting(WRITE))
        .expect_err("nothing was moved");
    assert!(error.to_string().starts_with("cannot write 4096 bytes at 0 of /fake/file: "));
    assert_eq!(fake.calls().len(), 2);
}

/// No space is an error of the statement: the file goes on working.
#[test]
fn no_space_is_not_the_end_of_a_file() {
    let (os, _) = world();
    let session = session(&os);
    let (_, file, fake) =
        FakeDisk::new(512).file(FilesystemIo::DirectIo.file_options(), 4096, &session);
    fake.will([FakeResult::Half, FakeResult::Fail(libc::ENOSPC)]);
    let block = IoBuf::zeroed(4096);
    let error = file.write_at(0, &block, session.waiting(WRITE)).expect_err("full");
    assert_eq!(error.cause(), Cause::NoSpace);
    file.write_at(0, &block, session.waiting(WRITE)).expect("space was freed");
}

/// A write that the kernel refused for want of memory didn't begin, so it may be tried again.
#[test]
fn a_write_without_memory_is_not_the_end_of_a_write_through_file() {
    for options in [WRITE_THROUGH, FilesystemIo::DirectIo.file_options()] {
        let (os, _) = world();
        let session = session(&os);
        let (_, file, fake) = FakeDisk::new(512).file(options, 4096, &session);
        fake.will([FakeResult::Fail(libc::ENOMEM)]);
        let write = || file.write_at(0, &IoBuf::zeroed(4096), session.waiting(WRITE));
        let error = write().expect_err("there is no memory");
        assert_eq!((error.cause(), file.is_failed()), (Cause::NoMemory, false), "{error}");
        write().expect("there is memory again");
    }
}

/// Every call on `file` returns `FailedForGood`, none of them reaches the port.
fn is_failed_for_good(file: &File, fake: &FakeFile, ring: &mut Ring, session: &Session) {
    let (calls, syncs) = (fake.calls().len(), *fake.sync_calls.lock().expect("not poisoned"));
    let mut buffer = IoBuf::zeroed(4096);
    let failed = |result: Result<(), Error>, what: &str| {
        let error = result.expect_err(what);
        assert_eq!(error.cause(), Cause::FailedForGood, "{what}: {error}");
        assert!(error.to_string().ends_with("stop, check the device, and open again"), "{error}");
    };
    for _ in 0..2 {
        failed(file.read_at(0, &mut buffer, session.waiting(READ)), "read");
        failed(file.write_at(0, &buffer, session.waiting(WRITE)), "write");
        failed(file.sync(session.waiting(WRITE)), "sync");
        failed(file.clone().set_len(0, session.waiting(WRITE)), "resize");
        for kind in [IoKind::Read, IoKind::Write] {
            let buffer = IoBuf::zeroed(4096);
            let request = Request { file: file.clone(), kind, offset: 0, buffer, tag: 1 };
            failed(ring.push(request, session), "push");
        }
        failed(ring.push(Request::sync(file.clone(), 1), session), "push a sync");
    }
    assert!(file.is_failed() && ring.in_flight() == 0);
    assert_eq!(fake.calls().len(), calls, "the port was asked");
    assert_eq!(*fake.sync_calls.lock().expect("not poisoned"), syncs, "the port was asked");
}

/// A sync that failed once fails the file for good: the next one would "succeed" (rule O8).
#[test]
fn a_failed_sync_fails_the_file_for_good() {
    for number in [libc::EIO, libc::ENOSPC, libc::EINTR] {
        let (os, _) = world();
        let session = session(&os);
        let (disk, file, fake) = FakeDisk::new(512).file(DIRECT, 8192, &session);
        let mut ring = disk.ring(&RingConfig::new(4), &session).expect("the fake has one");
        fake.sync_will(FakeResult::Fail(number));
        let error = file.sync(session.waiting(WRITE)).expect_err("it failed");
        assert!(error.to_string().contains("recover from what is durable"), "{error}");
        is_failed_for_good(&file, &fake, &mut ring, &session);
    }
}

/// A failed sync that was a request of a ring isn't retried either, whatever the error.
#[test]
fn a_failed_sync_of_a_ring_fails_the_file_for_good() {
    for number in [libc::EIO, libc::ENOSPC, libc::EINTR, libc::EAGAIN] {
        let (os, _) = world();
        let session = session(&os);
        let (disk, file, fake) = FakeDisk::new(512).file(DIRECT, 8192, &session);
        let mut ring = disk.ring(&RingConfig::new(4), &session).expect("the fake has one");
        fake.sync_will(FakeResult::Fail(number));
        ring.push(Request::sync(file.clone(), 1), &session).expect("usable");
        let mut done = Vec::new();
        ring.reap(1, None, &mut done, session.waiting(WRITE)).expect("reaped");
        let error = done.remove(0).result.expect_err("it failed");
        assert!(error.to_string().contains("recover from what is durable"), "{error}");
        is_failed_for_good(&file, &fake, &mut ring, &session);
    }
}

/// A device error on a write-through write leaves the same doubt, from a call or from a ring.
#[test]
fn a_failed_write_through_write_fails_the_file_for_good() {
    let told = [
        libc::EIO,
        libc::ENODATA,
        libc::EREMOTEIO,
        libc::EILSEQ,
        libc::ETIMEDOUT,
        libc::ENOLINK,
        libc::ENODEV,
    ];
    for (by_ring, number) in told.iter().flat_map(|number| [(false, *number), (true, *number)]) {
        let (os, _) = world();
        let session = session(&os);
        let (disk, file, fake) = FakeDisk::new(512).file(WRITE_THROUGH, 8192, &session);
        let mut ring = disk.ring(&RingConfig::new(4), &session).expect("the fake has one");
        fake.will([FakeResult::Half, FakeResult::Fail(number)]);
        let buffer = IoBuf::zeroed(4096);
        let error = if by_ring {
            let kind = IoKind::Write;
            let request = Request { file: file.clone(), kind, offset: 0, buffer, tag: 1 };
            ring.push(request, &session).expect("usable");
            let mut done = Vec::new();
            ring.reap(1, None, &mut done, session.waiting(WRITE)).expect("reaped");
            done.remove(0).result.expect_err("it failed")
        } else {
            file.write_at(0, &buffer, session.waiting(WRITE)).expect_err("it failed")
        };
        assert_eq!(error.cause(), Cause::Device, "{error}");
        is_failed_for_good(&file, &fake, &mut ring, &session);
    }
}

/// A device error on a read, or on a write that isn't durable yet, is reported and no more.
#[test]
fn a_failed_read_is_not_the_end_of_a_file() {
    let (os, _) = world();
    let session = session(&os);
    let (_, file, fake) = FakeDisk::new(512).file(DIRECT, 4096, &session);
    fake.will([FakeResult::Fail(libc::EIO)]);
    let mut buffer = IoBuf::zeroed(4096);
    let error = file.read_at(0, &mut buffer, session.waiting(READ)).expect_err("EIO");
    assert_eq!(error.cause(), Cause::Device, "{error}");
    file.read_at(0, &mut buffer, session.waiting(READ)).expect("the next one is well");
}

/// A file that can't be filled or synced at creation is an error and is removed; an older file is
/// left alone.
#[test]
fn a_file_that_fails_at_birth_is_removed() {
    let (os, _) = world();
    let session = session(&os);
    let fake = FakeDisk::new(512);
    let (disk, file, first) = fake.file(DIRECT, 4096, &session);
    drop((file, first));
    let there = std::path::Path::new("/fake/file");
    let error = disk.create(there, 4096, DIRECT, &session).expect_err("it is there");
    assert_eq!(error.cause(), Cause::AlreadyExists);
    let fail = |number| vec![FakeResult::Fail(number)];
    let fails = [
        ((fail(libc::ENOSPC), vec![]), Cause::NoSpace, "cannot write 4096 bytes at 0 of /fake/new"),
        ((fail(libc::EIO), vec![]), Cause::Device, "cannot write 4096 bytes at 0 of /fake/new"),
        ((vec![], fail(libc::EIO)), Cause::Device, "cannot sync /fake/new"),
    ];
    for (newborn, cause, what) in fails {
        *fake.newborn.lock().expect("not poisoned") = newborn;
        let new = std::path::Path::new("/fake/new");
        let error = disk.create(new, 4096, DIRECT, &session).expect_err("it fails");
        assert_eq!(error.cause(), cause, "{error}");
        let begins = format!("cannot create /fake/new of 4096 bytes: {what}: ");
        assert!(error.to_string().starts_with(&begins), "{error}");
        let files = fake.files.lock().expect("not poisoned");
        assert_eq!(files.keys().collect::<Vec<_>>(), [there], "not just the old one");
    }
}

/// A file that has lost its name before its maker could lock it doesn't count as made, and a new
/// owner of the name is left alone.
#[test]
fn a_file_that_lost_its_name_before_it_was_locked_is_not_made() {
    let (os, _) = world();
    let session = session(&os);
    let fake = FakeDisk::new(512);
    let (disk, file, first) = fake.file(DIRECT, 4096, &session);
    drop((file, first));
    fake.takes_name.store(true, SeqCst);
    let new = std::path::Path::new("/fake/new");
    let error = disk.create(new, 4096, DIRECT, &session).expect_err("it has no name");
    assert_eq!(error.cause(), Cause::InUse, "{error}");
    drop(disk.create(new, 4096, DIRECT, &session).expect("nothing is left of it"));
}

/// Where a file system has no locks, a file that was to be made is removed.
#[test]
fn a_file_that_cannot_be_locked_leaves_nothing() {
    let (os, _) = world();
    let session = session(&os);
    let fake = FakeDisk::new(512);
    let (disk, file, first) = fake.file(DIRECT, 4096, &session);
    drop((file, first));
    fake.has_locks.store(false, SeqCst);
    let new = std::path::Path::new("/fake/new");
    let error = disk.create(new, 4096, DIRECT, &session).expect_err("it can't be locked");
    assert!(error.to_string().contains("lock"), "{error}");
    fake.has_locks.store(true, SeqCst);
    drop(disk.create(new, 4096, DIRECT, &session).expect("nothing is left of it"));
}

/// When a file fails for good while a short write of it is in flight, the rest isn't written: the
/// completion says why (rule O8).
#[test]
fn the_rest_of_a_short_write_is_not_written_to_a_failed_file() {
    let (os, _) = world();
    let session = session(&os);
    let (disk, file, fake) = FakeDisk::new(512).file(DIRECT, 8192, &session);
    let mut ring = disk.ring(&RingConfig::new(4), &session).expect("the fake has one");
    let buffer = IoBuf::copy_of(&[9; 8192]);
    let request = Request { file: file.clone(), kind: IoKind::Write, offset: 0, buffer, tag: 1 };
    ring.push(request, &session).expect("usable");
    ring.submit().expect("started");
    fake.sync_will(FakeResult::Fail(libc::EIO));
    let _ = file.sync(session.waiting(WRITE)).expect_err("it fails now");
    fake.will([FakeResult::Half]);
    let mut done = Vec::new();
    ring.reap(1, None, &mut done, session.waiting(WRITE)).expect("reaped");
    let error = done.remove(0).result.expect_err("half was written, then the file had failed");
    assert_eq!(error.cause(), Cause::FailedForGood, "{error}");
    assert_eq!(fake.calls().len(), 1, "the rest was written");
}

/// The kernel reports a failed write-back to one of the waiters (MEDIA, M11), also where a file
/// system found no space for a block that existed before.
#[test]
fn a_write_through_write_that_ends_well_beside_one_that_failed_is_not_believed() {
    for error in [libc::EIO, libc::ENOSPC, libc::EDQUOT, libc::EFBIG] {
        is_not_believed_beside(error);
    }
}

fn is_not_believed_beside(error: i32) {
    let (os, _) = world();
    let session = session(&os);
    let (_, file, fake) = FakeDisk::new(512).file(WRITE_THROUGH, 8192, &session);
    fake.will([FakeResult::UntilCalls(2), FakeResult::Fail(error)]);
    let other = file.clone();
    let slow = session.spawn(ThreadSpec::foreground("slow"), move |session| {
        let written = other.write_at(0, &IoBuf::zeroed(4096), session.waiting(WRITE));
        assert!(written.is_err(), "its error may have been told to the other");
    });
    while fake.calls().is_empty() {
        std::thread::yield_now();
    }
    let failed = file.write_at(4096, &IoBuf::zeroed(4096), session.waiting(WRITE));
    failed.expect_err("it failed");
    assert!(slow.expect("a thread").join(&session).is_ok());
}

/// The same holds for a write that goes to several files at once.
#[test]
fn a_copy_that_ends_well_beside_a_write_that_failed_is_not_believed() {
    let (os, _) = world();
    let session = session(&os);
    let (disk, file, fake) = FakeDisk::new(512).file(WRITE_THROUGH, 8192, &session);
    let (_, second, _) = FakeDisk::new(512).file(WRITE_THROUGH, 8192, &session);
    fake.will([FakeResult::UntilCalls(2), FakeResult::Fail(libc::EIO)]);
    let other = file.clone();
    let slow = session.spawn(ThreadSpec::foreground("slow"), move |session| {
        let bytes = IoBuf::zeroed(4096);
        let written = disk.write_copies(&[&other, &second], 0, &bytes, session.waiting(WRITE));
        assert!(written[0].is_err(), "its error may have been told to the other");
        assert!(written[1].is_ok(), "nothing failed there");
    });
    while fake.calls().is_empty() {
        std::thread::yield_now();
    }
    let failed = file.write_at(4096, &IoBuf::zeroed(4096), session.waiting(WRITE));
    failed.expect_err("EIO");
    assert!(slow.expect("a thread").join(&session).is_ok());
}

/// Each file that an opening locks is compared with all before it, and asked for its identity once
/// (O10).
#[test]
fn a_file_that_is_owned_is_asked_for_its_identity_once() {
    let (os, _) = world();
    let session = session(&os);
    let fakes = FakeDisk::new(512);
    let disk = Disk::new(Arc::clone(&fakes) as Arc<dyn DiskPort>);
    let made = (0..8).map(|number| {
        let path = format!("/fake/{number}");
        disk.create(Path::new(&path), 512, BUFFERED, &session).expect("the fake goes well")
    });
    let files: Vec<File> = made.collect();
    let asked = || -> u64 {
        let fakes = fakes.files.lock().expect("not poisoned");
        fakes.values().map(|fake| *fake.identity_calls.lock().expect("not poisoned")).sum()
    };
    let (before, mut owned) = (asked(), OwnedFiles::default());
    for file in &files {
        owned.lock(file, &session).expect("no two are one");
    }
    assert_eq!(asked() - before, files.len() as u64);
    let again = disk.open(Path::new("/fake/3"), BUFFERED, &session).expect("there");
    let refused = owned.lock(&again, &session).expect_err("it is one of them");
    assert_eq!(refused.cause(), Cause::SameFile, "{refused}");
}
