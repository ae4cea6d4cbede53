//! Writes of the same bytes to several files at once, on real files.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test looks at the real file system from outside"
)]

mod common;

use common::{BUFFERED, Scratch, WRITE_THROUGH, session, world};
use os::{COPIES_MAX, Cause, File, IoBuf};
use waits::{Statistic, WaitEvent};

const WRITE: WaitEvent = WaitEvent::LogFileParallelWrite;

/// Each file gets all bytes. A write of any length is one request for each file, and at most one
/// wait for all of them.
#[test]
fn every_file_gets_all_bytes_in_one_wait() {
    let scratch = Scratch::new("copies");
    let (os, _) = world();
    let (session, disk) = (session(&os), os::linux::disk());
    let path = |number: usize| scratch.join(&format!("copy{number}"));
    let create = |number| disk.create(&path(number), 1 << 20, WRITE_THROUGH, &session);
    let files: Vec<File> = (0..COPIES_MAX).map(|n| create(n).expect("created")).collect();
    for count in 1..=COPIES_MAX {
        let these: Vec<&File> = files[..count].iter().collect();
        let before = session.account().totals();
        let bytes = IoBuf::copy_of(&vec![count as u8; 4096 * count]);
        let at = 4096 * (count * count) as u64;
        let results = disk.write_copies(&these, at, &bytes, session.waiting(WRITE));
        assert_eq!(results, vec![Ok(()); count]);
        let done = session.account().totals().since(&before);
        assert_eq!(done.statistic(Statistic::PhysicalWriteRequests), count as u64);
        assert_eq!(done.statistic(Statistic::PhysicalWriteBytes), (4096 * count * count) as u64);
        assert!(done.event(WRITE).count <= 1, "{count}: {} waits", done.event(WRITE).count);
        for number in 0..count {
            let found = std::fs::read(path(number)).expect("there");
            let there = &found[at as usize..at as usize + bytes.len()];
            assert!(there.iter().all(|byte| *byte == count as u8), "copy {number} of {count}");
        }
    }
}

/// A copy that can't be written has its own error; the others are written.
#[test]
fn a_copy_that_fails_is_told_from_the_others() {
    let scratch = Scratch::new("copies-fail");
    let (os, _) = world();
    let (session, disk) = (session(&os), os::linux::disk());
    let create = |name| disk.create(&scratch.join(name), 1 << 16, BUFFERED, &session);
    let (one, three) = (create("one").expect("created"), create("three").expect("created"));
    drop(create("two").expect("created"));
    let two = disk.open_read_only(&scratch.join("two"), BUFFERED, &session).expect("there");
    let bytes = IoBuf::copy_of(&[7; 4096]);
    for _ in 0..3 {
        let waiting = session.waiting(WRITE);
        let results = disk.write_copies(&[&one, &two, &three], 0, &bytes, waiting);
        assert_eq!((&results[0], &results[2]), (&Ok(()), &Ok(())));
        let error = results[1].as_ref().expect_err("it is open for reading");
        assert_eq!(error.cause(), Cause::Other);
        assert!(error.to_string().contains("two"), "{error}");
    }
    assert_eq!(std::fs::read(scratch.join("three")).expect("there")[..4096], [7; 4096]);
}

/// A session that once wrote much to many files doesn't keep it all (rule database/DB7).
#[test]
fn large_copies_are_given_back() {
    const LENGTH: usize = 8 << 20;
    let scratch = Scratch::new("copies-large");
    let (os, _) = world();
    let (session, disk) = (session(&os), os::linux::disk());
    let create = |name: &usize| {
        disk.create(&scratch.join(&name.to_string()), LENGTH as u64, BUFFERED, &session)
    };
    let files: Vec<File> = (0..4).map(|name| create(&name).expect("created")).collect();
    let these: Vec<&File> = files.iter().collect();
    let bytes = IoBuf::zeroed(LENGTH);
    let before = resident();
    let results = disk.write_copies(&these, 0, &bytes, session.waiting(WRITE));
    assert_eq!(results, vec![Ok(()); 4]);
    let grown = resident().saturating_sub(before);
    assert!(grown < LENGTH as u64, "{grown} bytes more after four copies of {LENGTH}");
}

/// VmRSS of the process, in bytes.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("Linux says it");
    let line = text.lines().find(|line| line.starts_with("VmRSS:")).expect("it is there");
    let kib = line.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok());
    kib.expect("a number") << 10
}

/// The space of a file that was written with others and then removed is freed as soon as the file
/// is closed, whether this session writes copies again or not.
#[test]
fn a_file_that_was_removed_gives_its_space_back() {
    let scratch = Scratch::new("copies-removed");
    let (os, _) = world();
    let (session, disk) = (session(&os), os::linux::disk());
    let create = |name| disk.create(&scratch.join(name), 1 << 16, BUFFERED, &session);
    let (one, two) = (create("one").expect("created"), create("two").expect("created"));
    let bytes = IoBuf::copy_of(&[7; 4096]);
    let results = disk.write_copies(&[&one, &two], 0, &bytes, session.waiting(WRITE));
    assert_eq!(results, [Ok(()), Ok(())]);
    disk.remove(one.path(), &session).expect("removed");
    disk.remove(two.path(), &session).expect("removed");
    drop((one, two));
    // The entry of a removed file that is still open is marked as deleted.
    let kept = |entry: std::io::Result<std::fs::DirEntry>| {
        let told = std::fs::read_to_string(entry.expect("readable").path()).unwrap_or_default();
        told.lines().any(|line| line.contains("copies-removed"))
    };
    let open = std::fs::read_dir("/proc/self/fdinfo").expect("Linux has it");
    assert_eq!(open.map(kept).filter(|kept| *kept).count(), 0);
}
