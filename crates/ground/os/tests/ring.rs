//! Many I/Os in flight from one thread: the same claims over io_uring and over I/O slaves, on real
//! files; and the behaviours of a port, with a fake one.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the fake world of this test is shared between threads as std shares"
)]

mod common;

use std::io::Write;

use common::{BUFFERED, DIRECT, FakeDisk, FakeResult, Scratch, raw_terminal, session, world};
use os::{
    Cause, Completion, File, IoBuf, IoKind, IoPool, Request, Ring, RingBackend, RingConfig, Session,
};
use waits::{Nanos, Statistic, WaitEvent};

const BLOCK: usize = 4096;
const BLOCKS: u64 = 512;
/// Longer than any machine takes: only an event that never comes takes so long.
const LONG: Nanos = Nanos::from_secs(120);
const EVENT: WaitEvent = WaitEvent::DbFileParallelWrite;

/// Every claim of this macro is made of both backends.
macro_rules! over_both_backends {
    ($($test:ident)*) => {
        mod over_io_uring {
            $(#[test] fn $test() { super::$test(super::RingBackend::Native, "uring"); })*
        }
        mod over_slaves {
            $(#[test] fn $test() { super::$test(super::RingBackend::Slaves(8), "slaves"); })*
        }
    };
}

over_both_backends! {
    ten_thousand_random_io_agree_with_a_model
    a_timed_wait_ends_on_time_and_is_counted
    a_read_past_the_end_is_an_error_of_its_own_completion
    dropping_a_ring_waits_for_what_is_in_flight
    a_ring_is_as_deep_as_it_was_asked
    a_misaligned_request_is_refused_before_it_starts
    polling_sees_what_has_completed
    many_files_share_one_ring
    a_sync_is_a_request_as_others_are
}

fn config(depth: u32, backend: RingBackend) -> RingConfig {
    RingConfig { backend, ..RingConfig::new(depth) }
}

/// A small generator (xorshift64, Marsaglia 2003): one seed, one sequence.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Blocks written at random and read back, against their expected content. A block with an I/O in
/// flight is left alone, because the order of two is not defined.
struct Model {
    random: Random,
    /// The last fill of each block.
    holds: Vec<u8>,
    busy: Vec<bool>,
    pool: IoPool,
}

impl Model {
    fn request(&mut self, file: &File) -> Option<Request> {
        let block = self.random.below(BLOCKS) as usize;
        if std::mem::replace(&mut self.busy[block], true) {
            return None;
        }
        let pooled = self.random.below(2) == 0;
        let taken = if pooled { self.pool.take() } else { None };
        let mut buffer = taken.unwrap_or_else(|| IoBuf::zeroed(BLOCK));
        let write = self.random.below(2) == 0;
        if write {
            self.holds[block] = self.random.below(256) as u8;
            buffer.fill(self.holds[block]);
        } else {
            buffer.fill(!self.holds[block]);
        }
        let kind = if write { IoKind::Write } else { IoKind::Read };
        let offset = block as u64 * BLOCK as u64;
        Some(Request { file: file.clone(), kind, offset, buffer, tag: block as u64 })
    }

    fn check(&mut self, completion: Completion) {
        completion.result.expect("every request is good");
        let block = completion.tag as usize;
        let right = completion.buffer.iter().all(|byte| *byte == self.holds[block]);
        assert!(right, "block {block} doesn't hold {}", self.holds[block]);
        self.busy[block] = false;
    }
}

fn ten_thousand_random_io_agree_with_a_model(backend: RingBackend, name: &str) {
    let scratch = Scratch::new(&format!("model-{name}"));
    let (os, notices) = world();
    let (session, disk) = (session(&os), os::linux::disk());
    let length = BLOCKS * BLOCK as u64;
    let file = disk.create(&scratch.join("f"), length, DIRECT, &session).expect("created");
    let mut model = Model {
        random: Random(0x9E37_79B9_7F4A_7C15),
        holds: vec![0; BLOCKS as usize],
        busy: vec![false; BLOCKS as usize],
        pool: IoPool::new(16, BLOCK).expect("a good size"),
    };
    let mut done = Vec::new();
    for depth in [1, 2, 3, 8, 17, 64] {
        let pool = Some(model.pool.clone());
        let config = RingConfig { pool, ..config(depth, backend) };
        let mut ring = disk.ring(&config, &session).expect("opened");
        let mut pushed = 0;
        while pushed < 1_700 {
            while ring.has_room() && pushed < 1_700 {
                if let Some(request) = model.request(&file) {
                    ring.push(request, &session).expect("usable");
                    pushed += 1;
                }
            }
            let at_least = model.random.below(u64::from(depth) + 2) as u32;
            let within = at_least.min(ring.in_flight()) as usize;
            ring.reap(at_least, None, &mut done, session.waiting(EVENT)).expect("reaped");
            assert!(done.len() >= within, "{} of {within}", done.len());
            done.drain(..).for_each(|completion| model.check(completion));
        }
        ring.reap(u32::MAX, None, &mut done, session.waiting(EVENT)).expect("reaped");
        assert_eq!(ring.in_flight(), 0);
        done.drain(..).for_each(|completion| model.check(completion));
    }
    let bytes = std::fs::read(scratch.join("f")).expect("readable");
    let as_modelled = bytes.chunks(BLOCK).zip(&model.holds).all(|(b, h)| b.iter().all(|x| x == h));
    assert!(as_modelled, "the file isn't what the model says");
    assert_eq!(notices.lines(), [""; 0], "nothing was degraded here");
    let totals = session.account().totals();
    let requests = totals.statistic(Statistic::PhysicalReadRequests)
        + totals.statistic(Statistic::PhysicalWriteRequests);
    assert!(requests >= 6 * 1_700, "{requests}");
}

/// Nothing comes from a terminal without input. The wait ends after its time, once, and the time
/// isn't taken twice when requests were still to be submitted.
fn a_timed_wait_ends_on_time_and_is_counted(backend: RingBackend, _name: &str) {
    let (os, _) = world();
    let (session, disk) = (session(&os), os::linux::disk());
    let (mut keyboard, path) = raw_terminal();
    let file = disk.open_read_only(&path, BUFFERED, &session).expect("a device may be read");
    let mut ring = disk.ring(&config(4, backend), &session).expect("opened");
    let buffer = IoBuf::zeroed(BLOCK);
    let kind = IoKind::Read;
    ring.push(Request { file, kind, offset: 0, buffer, tag: 7 }, &session).expect("usable");
    let mut done = Vec::new();
    let before = session.now();
    let length = Nanos::from_millis(60);
    ring.reap(1, Some(length), &mut done, session.waiting(EVENT)).expect("no error");
    let took = session.now().since(before);
    if !done.is_empty() {
        // I/O slaves use pread, which a terminal refuses at once.
        assert!(done[0].result.is_err() && backend != RingBackend::Native);
        return slow_reads_time_out_too(&session);
    }
    let totals = session.account().totals();
    assert_eq!(ring.in_flight(), 1);
    // The rest of the test comes before the claims: a ring waits for its I/O when a claim fails.
    keyboard.write_all(b"x").expect("somebody reads it");
    ring.reap(1, Some(length), &mut done, session.waiting(EVENT)).expect("no error");
    // One byte of 4,096 came: the rest is submitted again, and comes when it is written.
    keyboard.write_all(&[b'y'; BLOCK - 1]).expect("somebody reads it");
    ring.reap(1, Some(LONG), &mut done, session.waiting(EVENT)).expect("no error");
    let Completion { tag, buffer, result } = done.remove(0);
    assert_eq!((tag, result), (7, Ok(())));
    assert_eq!((buffer[0], buffer[1], buffer[BLOCK - 1]), (b'x', b'y', b'y'));
    assert!(took >= length, "{took}");
    let line = totals.event(EVENT);
    assert_eq!((line.count, line.timeouts), (1, 1), "one wait, which timed out");
}

/// The same claim for I/O slaves, with a slow file.
fn slow_reads_time_out_too(session: &Session) {
    let (disk, file, fake) = FakeDisk::new(512).file(DIRECT, 64 * 1024, session);
    let mut ring = disk.ring(&config(8, RingBackend::Slaves(1)), session).expect("opened");
    // The only slave is busy with the first request until it is let go.
    fake.will([FakeResult::UntilCalls(usize::MAX)]);
    for tag in 0..2 {
        ring.push(write(&file, tag), session).expect("usable");
    }
    let mut done = Vec::new();
    let before = session.account().totals();
    let started = session.now();
    let timeout = Nanos::from_millis(10);
    ring.reap(2, Some(timeout), &mut done, session.waiting(EVENT)).expect("no error");
    let took = session.now().since(started);
    assert!(took >= timeout, "{took}");
    let totals = session.account().totals().since(&before);
    let line = totals.event(EVENT);
    assert_eq!((line.count, line.timeouts), (1, 1));
    assert_eq!((ring.in_flight(), done.len()), (2, 0));
    fake.let_go();
    ring.reap(u32::MAX, None, &mut done, session.waiting(EVENT)).expect("no error");
    assert_eq!(done.len(), 2);
}

/// Syncs of several files are in flight beside writes, and are counted as syncs.
fn a_sync_is_a_request_as_others_are(backend: RingBackend, name: &str) {
    let scratch = Scratch::new(&format!("sync-{name}"));
    let (os, _) = world();
    let (session, disk) = (session(&os), os::linux::disk());
    let create = |name: &str| disk.create(&scratch.join(name), 8192, DIRECT, &session);
    let files = ["a", "b", "c"].map(|name| create(name).expect("created"));
    let mut ring = disk.ring(&config(8, backend), &session).expect("opened");
    let before = session.account().totals();
    for (file, tag) in files.iter().zip(0..) {
        ring.push(write(file, tag), &session).expect("usable");
        ring.push(Request::sync(file.clone(), 10 + tag), &session).expect("usable");
    }
    let mut done = Vec::new();
    ring.reap(6, None, &mut done, session.waiting(EVENT)).expect("reaped");
    let mut tags: Vec<u64> = done.iter().map(|completion| completion.tag).collect();
    tags.sort_unstable();
    assert_eq!(tags, [0, 1, 2, 10, 11, 12]);
    assert!(done.iter().all(|completion| completion.result == Ok(())));
    let empty = done.iter().filter(|completion| completion.buffer.is_empty()).count();
    assert_eq!(empty, 3, "a sync moves no bytes");
    let totals = session.account().totals().since(&before);
    let counted = [Statistic::FileSyncRequests, Statistic::PhysicalWriteRequests];
    assert_eq!(counted.map(|statistic| totals.statistic(statistic)), [3, 3]);
}

fn a_read_past_the_end_is_an_error_of_its_own_completion(backend: RingBackend, name: &str) {
    let scratch = Scratch::new(&format!("past-end-{name}"));
    let (os, _) = world();
    let (session, disk) = (session(&os), os::linux::disk());
    let file = disk.create(&scratch.join("f"), 8192, DIRECT, &session).expect("created");
    let read_only = disk.open_read_only(&scratch.join("f"), DIRECT, &session).expect("exists");
    let mut ring = disk.ring(&config(8, backend), &session).expect("opened");
    let request = |file: &File, kind, offset, tag| Request {
        file: file.clone(),
        kind,
        offset,
        buffer: IoBuf::zeroed(8192),
        tag,
    };
    ring.push(request(&file, IoKind::Read, 0, 0), &session).expect("usable");
    ring.push(request(&file, IoKind::Read, 4096, 1), &session).expect("usable");
    ring.push(request(&file, IoKind::Read, 8192, 2), &session).expect("usable");
    ring.push(request(&read_only, IoKind::Write, 0, 3), &session).expect("usable");
    let mut done = Vec::new();
    ring.reap(4, None, &mut done, session.waiting(EVENT)).expect("no error of the ring");
    done.sort_by_key(|completion| completion.tag);
    let causes: Vec<Option<Cause>> =
        done.iter().map(|c| c.result.as_ref().err().map(os::Error::cause)).collect();
    let end = Some(Cause::EndOfFile);
    assert_eq!(causes[..3], [None, end, end]);
    assert!(causes[3].is_some(), "a read-only file was written");
    let text = done[1].result.as_ref().expect_err("seen above").to_string();
    assert!(text.starts_with("cannot read 8192 bytes at 4096 of "), "{text}");
}

/// A dropped ring has nothing in flight: what was pushed is in the file.
fn dropping_a_ring_waits_for_what_is_in_flight(backend: RingBackend, name: &str) {
    let scratch = Scratch::new(&format!("drop-{name}"));
    let (os, _) = world();
    let (session, disk) = (session(&os), os::linux::disk());
    let file = disk.create(&scratch.join("f"), 16 << 20, DIRECT, &session).expect("created");
    for turn in 1..=4 {
        let mut ring = disk.ring(&config(64, backend), &session).expect("opened");
        for tag in 0..64 {
            let mut buffer = IoBuf::zeroed(256 * 1024);
            buffer.fill(turn);
            let (kind, offset) = (IoKind::Write, tag * 256 * 1024);
            ring.push(Request { file: file.clone(), kind, offset, buffer, tag }, &session)
                .expect("usable");
            if tag == 40 {
                ring.submit().expect("started");
            }
        }
        drop(ring);
        // The last one is checked first, because it is the most likely to be late.
        let mut last = IoBuf::zeroed(256 * 1024);
        file.read_at(63 * 256 * 1024, &mut last, session.waiting(EVENT)).expect("read");
        assert!(
            last.iter().all(|b| *b == turn),
            "turn {turn}: a write came after the ring was gone"
        );
        let bytes = std::fs::read(scratch.join("f")).expect("readable");
        let missing = bytes.chunks(256 * 1024).filter(|c| c.iter().any(|b| *b != turn)).count();
        assert_eq!(missing, 0, "turn {turn}: {missing} of 64 writes came after the ring was gone");
    }
}

fn a_ring_is_as_deep_as_it_was_asked(backend: RingBackend, name: &str) {
    let scratch = Scratch::new(&format!("deep-{name}"));
    let (os, _) = world();
    let (session, disk) = (session(&os), os::linux::disk());
    let file = disk.create(&scratch.join("f"), 4096, BUFFERED, &session).expect("created");
    for depth in [0, RingConfig::DEPTH_MAX + 1] {
        let error = disk.ring(&config(depth, backend), &session).expect_err("out of range");
        assert_eq!(
            error.to_string(),
            format!("cannot open a ring: its depth is 1 to 4096, not {depth}")
        );
    }
    let mut ring = disk.ring(&config(5, backend), &session).expect("opened");
    for tag in 0..5 {
        assert!(ring.has_room());
        let (kind, buffer) = (IoKind::Write, IoBuf::zeroed(100));
        let file = file.clone();
        ring.push(Request { file, kind, offset: tag * 100, buffer, tag }, &session)
            .expect("usable");
    }
    assert!(!ring.has_room() && ring.in_flight() == 5);
    let mut done = Vec::new();
    ring.reap(0, None, &mut done, session.waiting(EVENT)).expect("never waits");
    while done.len() < 5 {
        ring.reap(1, None, &mut done, session.waiting(EVENT)).expect("reaped");
    }
    ring.reap(3, None, &mut done, session.waiting(EVENT)).expect("nothing in flight: no wait");
    let mut tags: Vec<u64> = done.iter().map(|completion| completion.tag).collect();
    tags.sort_unstable();
    assert_eq!(tags, [0, 1, 2, 3, 4]);
}

fn polling_sees_what_has_completed(backend: RingBackend, name: &str) {
    let scratch = Scratch::new(&format!("polling-{name}"));
    let (os, _) = world();
    let (session, disk) = (session(&os), os::linux::disk());
    let file = disk.create(&scratch.join("f"), 4096, DIRECT, &session).expect("created");
    let mut ring = disk.ring(&config(2, backend), &session).expect("opened");
    let (kind, buffer) = (IoKind::Read, IoBuf::zeroed(4096));
    ring.push(Request { file, kind, offset: 0, buffer, tag: 0 }, &session).expect("usable");
    ring.submit().expect("started");
    let (mut done, from) = (Vec::new(), session.now());
    while done.is_empty() && session.now().since(from) < LONG {
        ring.reap(0, None, &mut done, session.waiting(EVENT)).expect("never waits");
    }
    assert_eq!(done.len(), 1, "it ended long ago");
}

fn a_misaligned_request_is_refused_before_it_starts(backend: RingBackend, name: &str) {
    let scratch = Scratch::new(&format!("misaligned-{name}"));
    let (os, _) = world();
    let (session, disk) = (session(&os), os::linux::disk());
    let file = disk.create(&scratch.join("f"), 8192, DIRECT, &session).expect("created");
    let mut ring = disk.ring(&config(2, backend), &session).expect("opened");
    for (offset, length) in [(5, 4096), (0, 100)] {
        for kind in [IoKind::Read, IoKind::Write] {
            let buffer = IoBuf::zeroed(length);
            let request = Request { file: file.clone(), kind, offset, buffer, tag: 0 };
            let error = ring.push(request, &session).expect_err("misaligned");
            assert_eq!(error.cause(), Cause::Invalid);
            assert!(error.to_string().contains(" in multiples of "), "{error}");
        }
    }
    assert_eq!(ring.in_flight(), 0);
}

/// More files than a ring registers, opened, used and closed in turn.
fn many_files_share_one_ring(backend: RingBackend, name: &str) {
    let scratch = Scratch::new(&format!("files-{name}"));
    let (os, _) = world();
    let (session, disk) = (session(&os), os::linux::disk());
    let mut ring = disk.ring(&config(16, backend), &session).expect("opened");
    let mut done = Vec::new();
    let mut kept = Vec::new();
    for number in 0..200_u64 {
        let path = scratch.join(&format!("f{number}"));
        std::fs::write(&path, number.to_le_bytes()).expect("written");
        let file = disk.open(&path, BUFFERED, &session).expect("exists");
        let (kind, buffer) = (IoKind::Read, IoBuf::zeroed(8));
        let request = Request { file: file.clone(), kind, offset: 0, buffer, tag: number };
        ring.push(request, &session).expect("usable");
        if number % 2 == 0 {
            kept.push(file);
        }
        if !ring.has_room() {
            ring.reap(9, None, &mut done, session.waiting(EVENT)).expect("reaped");
        }
    }
    ring.reap(u32::MAX, None, &mut done, session.waiting(EVENT)).expect("reaped");
    assert_eq!(done.len(), 200);
    for completion in done {
        completion.result.expect("read");
        assert_eq!(completion.buffer[..], completion.tag.to_le_bytes());
    }
}

/// A fake file and a ring over it.
fn fake(
    session: &Session,
) -> (std::sync::Arc<FakeDisk>, File, std::sync::Arc<common::FakeFile>, Ring) {
    let fake_disk = FakeDisk::new(512);
    let (disk, file, fake) = fake_disk.file(DIRECT, 64 * 1024, session);
    let ring = disk.ring(&RingConfig::new(8), session).expect("the fake has one");
    (fake_disk, file, fake, ring)
}

fn write(file: &File, tag: u64) -> Request {
    let mut buffer = IoBuf::zeroed(8192);
    buffer.fill(tag as u8 + 1);
    Request { file: file.clone(), kind: IoKind::Write, offset: tag * 8192, buffer, tag }
}

/// Short, interrupted and refused completions are submitted again, from an aligned offset, until
/// they are whole. One with an error takes no other with it.
#[test]
fn short_completions_are_made_whole() {
    let (os, _) = world();
    let session = session(&os);
    let (_, file, fake, mut ring) = fake(&session);
    use FakeResult::{AtMost, Fail, Half};
    fake.will([AtMost(512), Half, Fail(libc::EINTR), Fail(libc::EAGAIN), AtMost(1)]);
    fake.will([Half, Half, Fail(libc::EINTR), AtMost(513), Fail(libc::ENOSPC)]);
    for tag in 0..8 {
        ring.push(write(&file, tag), &session).expect("usable");
    }
    let mut done = Vec::new();
    ring.reap(8, None, &mut done, session.waiting(EVENT)).expect("reaped");
    let failed: Vec<u64> = done.iter().filter(|c| c.result.is_err()).map(|c| c.tag).collect();
    assert_eq!(failed.len(), 1, "{done:?}");
    let bytes = fake.bytes.lock().expect("not poisoned");
    for (tag, chunk) in bytes.chunks(8192).enumerate().filter(|(tag, _)| *tag as u64 != failed[0]) {
        assert!(chunk.iter().all(|byte| *byte == tag as u8 + 1), "{tag}");
    }
    assert_eq!(session.account().statistic(Statistic::ShortIo), 6);
}

/// A write that never moves a byte ends as an error.
#[test]
fn a_completion_of_nothing_is_an_error() {
    let (os, _) = world();
    let session = session(&os);
    let (_, file, fake, mut ring) = fake(&session);
    fake.will([FakeResult::Half, FakeResult::AtMost(0)]);
    ring.push(write(&file, 0), &session).expect("usable");
    let mut done = Vec::new();
    ring.reap(1, None, &mut done, session.waiting(EVENT)).expect("reaped");
    assert!(done[0].result.is_err());
    assert_eq!(fake.calls().len(), 2);
}

/// Pushed requests start with the next reap, also when that finds enough completions at its first
/// look and waits for nothing.
#[test]
fn a_reap_starts_what_was_pushed() {
    let (os, _) = world();
    let session = session(&os);
    let (fake_disk, file, _, mut ring) = fake(&session);
    let started = || *fake_disk.ring.started.lock().expect("not poisoned");
    ring.push(write(&file, 0), &session).expect("usable");
    ring.submit().expect("started");
    ring.push(write(&file, 1), &session).expect("usable");
    assert_eq!(started(), 1);
    let mut done = Vec::new();
    ring.reap(1, None, &mut done, session.waiting(EVENT)).expect("reaped");
    assert_eq!((done.len(), started()), (1, 2), "the second write still lies in the ring");
    assert_eq!(session.account().totals().event(EVENT).count, 0, "the first look was enough");
}

/// Waits that return early for no reason don't stretch a timeout: each gets the remaining time.
/// Each takes a millisecond at least, so a timeout of fifty has no more of them.
#[test]
fn a_timeout_is_not_stretched_by_idle_wakes() {
    let (os, _) = world();
    let session = session(&os);
    let (fake_disk, file, _, mut ring) = fake(&session);
    *fake_disk.ring.empty_waits.lock().expect("not poisoned") = 300;
    ring.push(write(&file, 0), &session).expect("usable");
    let mut done = Vec::new();
    let (started, timeout) = (session.now(), Nanos::from_millis(50));
    ring.reap(1, Some(timeout), &mut done, session.waiting(EVENT)).expect("no error");
    let took = session.now().since(started);
    assert!(took >= timeout, "{took}");
    let waits = fake_disk.ring.waits.lock().expect("not poisoned").clone();
    let waits: Vec<Nanos> = waits.into_iter().map(|wait| wait.expect("it has an end")).collect();
    assert!((2..=60).contains(&waits.len()) && waits[0] <= timeout, "{waits:?}");
    assert!(waits.is_sorted_by(|a, b| a > b), "{waits:?}");
    assert_eq!(session.account().totals().event(EVENT).timeouts, 1);
    assert_eq!(ring.in_flight(), 1);
}

/// A disk without a ring of its own gives one notice and I/O slaves.
#[test]
fn a_disk_without_a_ring_gets_slaves_and_one_notice() {
    let (os, notices) = world();
    let session = session(&os);
    let mut fake_disk = FakeDisk::new(512);
    std::sync::Arc::get_mut(&mut fake_disk).expect("nobody else has it").has_ring = false;
    let (disk, file, fake) = fake_disk.file(DIRECT, 8192, &session);
    let mut ring = disk.ring(&RingConfig::new(2), &session).expect("slaves");
    assert_eq!(ring.description(), "2 I/O slaves");
    assert_eq!(notices.lines().len(), 1, "{:?}", notices.lines());
    fake.will([FakeResult::Half, FakeResult::Fail(libc::EINTR)]);
    ring.push(write(&file, 0), &session).expect("usable");
    let mut done = Vec::new();
    ring.reap(1, None, &mut done, session.waiting(EVENT)).expect("reaped");
    assert_eq!(done.remove(0).result, Ok(()));
    assert!(fake.bytes.lock().expect("not poisoned").iter().all(|byte| *byte == 1));
}
