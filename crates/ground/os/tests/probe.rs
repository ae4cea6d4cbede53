//! The probe of durable writes: its result, and that it leaves nothing behind.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test looks at the real file system from outside"
)]

mod common;

use std::path::Path;
use std::sync::Arc;

use common::{FakeDisk, FakeResult, Scratch, session, world};
use os::probe::{DurableWrite, ProbeConfig, durable_writes};
use os::{Cause, Disk, DiskPort};
use waits::Nanos;

const SHORT: ProbeConfig = ProbeConfig { rounds_min: 16, length: Nanos::from_millis(100) };

/// On a file system with direct I/O all four ways are timed equally often, and one of the fastest
/// is picked; the directory is as it was.
#[test]
fn every_way_is_timed_equally_often() {
    let scratch = Scratch::new("probe");
    std::fs::write(scratch.join("other"), b"mine").expect("written");
    let (os, _) = world();
    let session = session(&os);
    let found = durable_writes(&os::linux::disk(), scratch.path(), &session, &SHORT).expect("fine");
    let ways: Vec<DurableWrite> = found.timings.iter().map(|timing| timing.way).collect();
    assert_eq!(ways, DurableWrite::ALL);
    let writes = found.timings[0].writes;
    assert!(writes >= 2 && found.timings.iter().all(|timing| timing.writes == writes));
    let sane = |t: &os::probe::WayTiming| t.median > Nanos::ZERO && t.median <= t.p99;
    assert!(found.timings.iter().all(sane), "{found}");
    let least = found.timings.iter().map(|timing| timing.median.0).min().expect("four of them");
    let picked = found.timings.iter().find(|timing| timing.way == found.pick).expect("timed");
    assert!(picked.median.0 as f64 <= least as f64 * 1.05, "{found}");
    assert!(found.reason.starts_with(found.pick.name()), "{found}");
    assert!(found.direct.expect("ext4 and its like have it").offset >= 512);
    assert_eq!(scratch.names(), ["other"]);
}

/// Without direct I/O the other ways are timed, and the report says so.
#[test]
fn without_direct_io_only_the_buffered_ways_are_timed() {
    const TEST: &str = "without_direct_io_only_the_buffered_ways_are_timed";
    let Some(place) = common::child() else {
        let scratch = Scratch::new("probe-ramfs");
        return common::in_a_child_with_mount(TEST, "mount -t ramfs none", scratch.path());
    };
    let (os, _) = world();
    let session = session(&os);
    let found =
        durable_writes(&os::linux::disk(), Path::new(&place), &session, &SHORT).expect("fine");
    let ways: Vec<DurableWrite> = found.timings.iter().map(|timing| timing.way).collect();
    assert_eq!(ways, [DurableWrite::BufferedWriteThrough, DurableWrite::BufferedThenSync]);
    let refused = found.direct.expect_err("ramfs has none");
    assert_eq!(refused.cause(), Cause::DirectIoUnsupported);
    assert_eq!(std::fs::read_dir(&place).expect("mounted").count(), 0);
}

/// Whatever fails on the way, the scratch file is gone and the error names the attempt.
#[test]
fn a_probe_that_fails_leaves_nothing() {
    let (os, _) = world();
    let session = session(&os);
    let fails = |fill: &[FakeResult], syncs: &[FakeResult], cause: Cause| {
        let fake = FakeDisk::new(512);
        *fake.newborn.lock().expect("not poisoned") = (fill.to_vec(), syncs.to_vec());
        let disk = Disk::new(Arc::clone(&fake) as Arc<dyn DiskPort>);
        let error = durable_writes(&disk, Path::new("/fake"), &session, &SHORT).expect_err("fails");
        assert_eq!(error.cause(), cause, "{error}");
        assert!(error.to_string().starts_with("cannot probe /fake: cannot "), "{error}");
        assert!(fake.files.lock().expect("not poisoned").is_empty(), "{error}");
    };
    use FakeResult::{Fail, Whole};
    fails(&[Fail(libc::ENOSPC)], &[], Cause::NoSpace);
    fails(&[Whole, Whole, Fail(libc::EIO)], &[], Cause::Device);
    fails(&[], &[Fail(libc::EIO)], Cause::Device);
    fails(&[], &[Whole, Whole, Whole, Fail(libc::EIO)], Cause::Device);
    fails(&[Whole; 30], &[Fail(libc::ENOSPC)], Cause::NoSpace);
}

/// O76: a place has the same surroundings each time, and two places have different ones.
#[test]
fn surroundings_tell_places_apart() {
    let (scratch, other) = (Scratch::new("surroundings"), Scratch::new("surroundings-other"));
    let disk = os::linux::disk();
    let here = disk.surroundings(scratch.path()).expect("proc tells");
    assert_eq!(disk.surroundings(scratch.path()), Some(here.clone()));
    assert_ne!(disk.surroundings(other.path()), Some(here.clone()));
    assert!(here.starts_with("boot ") && here.contains(" on "), "{here}");
    assert!(here.contains(", file system "), "a device's number is used again: {here}");
    assert_eq!(disk.surroundings(&scratch.join("missing")), None);
    let wrapping = Disk::new(FakeDisk::new(512) as Arc<dyn DiskPort>);
    assert_eq!(wrapping.surroundings(scratch.path()), None);
}

/// A path that doesn't exist, or isn't a directory, is named.
#[test]
fn a_place_that_is_no_directory_is_named() {
    let scratch = Scratch::new("probe-nowhere");
    std::fs::write(scratch.join("file"), b"mine").expect("written");
    let (os, _) = world();
    let session = session(&os);
    for name in ["missing", "file"] {
        let place = scratch.join(name);
        let error = durable_writes(&os::linux::disk(), &place, &session, &SHORT).expect_err(name);
        assert_eq!(error.cause(), Cause::NotFound, "{error}");
        assert!(error.to_string().contains(&place.display().to_string()), "{error}");
    }
    assert_eq!(scratch.names(), ["file"]);
}
