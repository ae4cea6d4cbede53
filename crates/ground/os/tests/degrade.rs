//! A feature that the machine refuses costs one notice and some speed, not the work.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test starts threads and processes to take their rights away"
)]

mod common;

use common::{DIRECT, Scratch, session, world};
use os::{Cause, IoBuf, IoKind, IoPool, Request, RingBackend, RingConfig};
use waits::WaitEvent;

/// Makes io_uring_setup give EPERM in this thread and those that it starts, as containers do.
fn refuse_io_uring() {
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    let arch = TargetArch::try_from(std::env::consts::ARCH).expect("a known processor");
    let rules = [(libc::SYS_io_uring_setup, vec![])].into_iter().collect();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).expect("good");
    let program: BpfProgram = filter.try_into().expect("good");
    seccompiler::apply_filter(&program).expect("filters are allowed");
}

/// Writes and reads one block through `ring`.
fn works(ring: &mut os::Ring, scratch: &Scratch, pool: Option<&IoPool>, session: &os::Session) {
    let disk = os::linux::disk();
    let file = disk.create(&scratch.join("f"), 4096, DIRECT, session).expect("created");
    let mut done = Vec::new();
    for (kind, byte) in [(IoKind::Write, 0x5A), (IoKind::Read, 0)] {
        let pooled = pool.and_then(IoPool::take);
        let mut buffer = pooled.unwrap_or_else(|| IoBuf::zeroed(4096));
        buffer.fill(byte);
        let request = Request { file: file.clone(), kind, offset: 0, buffer, tag: 0 };
        ring.push(request, session).expect("usable");
        let waiting = session.waiting(WaitEvent::DbFileParallelWrite);
        ring.reap(1, None, &mut done, waiting).expect("reaped");
        let completion = done.remove(0);
        completion.result.expect("done");
        assert!(completion.buffer.iter().all(|b| *b == 0x5A));
    }
}

/// Where io_uring is refused, `Auto` gives one notice, with the fallback and the remedy, and works;
/// `Native` returns an error that mentions no fallback.
#[test]
fn refused_io_uring_means_slaves_and_one_notice() {
    let refused = std::thread::spawn(|| {
        refuse_io_uring();
        let scratch = Scratch::new("refused");
        let (os, notices) = world();
        let (session, disk) = (session(&os), os::linux::disk());
        let mut ring = disk.ring(&RingConfig::new(3), &session).expect("slaves");
        assert_eq!(ring.description(), "3 I/O slaves");
        works(&mut ring, &scratch, None, &session);
        let lines = notices.lines();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].starts_with("I/O slaves do the work"), "{lines:?}");
        assert!(lines[0].contains("cannot use io_uring: operation not permitted"), "{lines:?}");
        assert!(lines[0].contains("kernel.io_uring_disabled=0"), "{lines:?}");
        let native = RingConfig { backend: RingBackend::Native, ..RingConfig::new(3) };
        let error = disk.ring(&native, &session).expect_err("refused");
        assert_eq!(error.cause(), Cause::IoUringUnavailable);
        assert!(!error.to_string().contains("slaves do the work"), "{error}");
        assert_eq!(notices.lines().len(), 1, "an error is no notice");
    });
    refused.join().expect("no panic");
}

/// Under a small limit on locked memory there is one notice, and plain buffers do the work. The
/// limit applies to a process, and not to root, so this runs in a child without root.
#[test]
fn a_small_limit_on_locked_memory_means_plain_buffers_and_one_notice() {
    if common::child().is_none() {
        return common::in_a_child(
            "a_small_limit_on_locked_memory_means_plain_buffers_and_one_notice",
            "exec prlimit --memlock=65536 \"$@\"",
            "limited",
        );
    }
    let scratch = Scratch::new("limited");
    open_to_all(scratch.path());
    let limited = std::thread::spawn(move || {
        common::become_nobody_in_this_thread();
        let (os, notices) = world();
        let (session, disk) = (session(&os), os::linux::disk());
        let pool = IoPool::new(1024, 4096).expect("a good size");
        let config = RingConfig { pool: Some(pool.clone()), ..RingConfig::new(8) };
        let mut ring = disk.ring(&config, &session).expect("opened");
        assert_eq!(ring.description(), "io_uring");
        works(&mut ring, &scratch, Some(&pool), &session);
        // An instance has several, and an experiment opens instances again and again.
        drop(disk.ring(&config, &session).expect("opened"));
        let lines = notices.lines();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].starts_with("cannot lock 4096 KiB of I/O buffers in memory: "));
        assert!(lines[0].contains("; plain buffers are used"), "{lines:?}");
        assert!(lines[0].ends_with("(ulimit -l)"), "{lines:?}");
        scratch
    });
    drop(limited.join().expect("no panic"));
}

/// With enough room the ring's description says that its buffers are registered, and there is no
/// notice.
#[test]
fn registered_buffers_are_said_in_the_description() {
    let scratch = Scratch::new("registered");
    let (os, notices) = world();
    let (session, disk) = (session(&os), os::linux::disk());
    let pool = IoPool::new(4, 4096).expect("a good size");
    let config = RingConfig { pool: Some(pool.clone()), ..RingConfig::new(8) };
    let mut ring = disk.ring(&config, &session).expect("opened");
    assert_eq!(ring.description(), "io_uring with registered buffers");
    works(&mut ring, &scratch, Some(&pool), &session);
    assert_eq!(notices.lines(), [""; 0]);
}

fn open_to_all(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).expect("mine");
}
