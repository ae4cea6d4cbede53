//! What a session waits for that wants room: each event where it belongs, with its parameters and
//! its time.

use os::{Session, ThreadSpec};
use redo::{RECORD_BYTES_MAX, Redo, RedoConfig};
use sim::Outside;
use testbed::run;
use waits::{Level, Nanos, WaitEvent, WaitRecord, WaitSink};

use crate::common::{Checkpoints, fresh, open, put, small};

/// How long the device takes for a write.
const WRITE: Nanos = Nanos::from_micros(100);

fn config() -> RedoConfig {
    let durable_write = os::probe::DurableWrite::DirectWriteThrough;
    RedoConfig { durable_write, ..small() }
}

struct Sink(Outside<Vec<WaitRecord>>);

impl WaitSink for Sink {
    fn wait_ended(&mut self, record: &WaitRecord) {
        self.0.with(|records| records.push(*record));
    }
}

/// The session's waits while `act` runs: each with its parameters and its length, in order. Its
/// account adds up to the nanosecond.
fn waits_of(session: &Session, act: impl FnOnce()) -> Vec<(WaitEvent, [u64; 3], Nanos)> {
    let records = Outside::default();
    session.os().set_level(Level::Trace);
    session.set_wait_sink(Some(Box::new(Sink(records.clone()))));
    let begin = session.reading();
    act();
    let account = session.time_account_since(&begin);
    session.set_wait_sink(None);
    let found = records.take();
    let total: u64 = found.iter().map(|record| record.elapsed.0).sum();
    assert_eq!(account.unaccounted_ns, 0, "{account:?}");
    let of_account: u64 = account.waits.iter().map(|line| line.total.0).sum();
    assert_eq!(of_account, total, "what was traced is what was counted");
    found.iter().map(|record| (record.event, record.p, record.elapsed)).collect()
}

/// Between one write and two, with what the calls cost.
fn is_a_write(length: Nanos) -> bool {
    (WRITE.0..WRITE.0 * 3 / 2).contains(&length.0)
}

/// Fills a part of the log buffer, but for less than a block: two records.
fn fill(redo: &Redo, session: &Session) {
    put(redo, 1, 60_000, session);
    put(redo, 2, RECORD_BYTES_MAX - 60_100, session);
}

fn reserve(redo: &Redo, session: &Session) {
    drop(redo.reserve(100, session).expect("room in the end"));
}

/// The buffer is full and no write is in flight: the session writes itself, and that is its wait.
#[test]
fn a_full_buffer_is_log_buffer_space() {
    let found = run(fresh(&config(), 1), |world, session| {
        let redo = open(world, &config(), session);
        fill(&redo, session);
        waits_of(session, || reserve(&redo, session))
    });
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].0, found[0].1), (WaitEvent::LogBufferSpace, [0; 3]));
    assert!(is_a_write(found[0].2), "{found:?}");
}

/// The buffer is full while another session writes a new log's header and what follows it; then
/// the log has begun, and the next write is a matter of space again.
#[test]
fn a_full_buffer_while_a_log_begins_is_log_file_switch_completion() {
    let found = run(fresh(&config(), 1), |world, session| {
        let redo = open(world, &config(), session);
        put(&redo, 1, 100, session);
        redo.switch(session).expect("a log is free");
        let last = put(&redo, 2, 100, session).scn;
        let inside = redo.clone();
        let body = move |session: &Session| {
            let event = WaitEvent::LogFileSync;
            inside.make_durable(last, session, event).expect("no halt");
        };
        let other = session.spawn(ThreadSpec::foreground("other"), body).expect("a thread");
        // Until the other session has taken the batch.
        session.pause(Nanos::from_micros(60), session.waiting(WaitEvent::PlSqlLockTimer));
        fill(&redo, session);
        let found = waits_of(session, || reserve(&redo, session));
        other.join(session).expect("no panic");
        found
    });
    let events: Vec<_> = found.iter().map(|(event, p, _)| (*event, *p)).collect();
    let expected =
        [(WaitEvent::LogFileSwitchCompletion, [0; 3]), (WaitEvent::LogBufferSpace, [0; 3])];
    assert_eq!(events, expected);
    // Three writes: the old log's last, the header, the new log's first; some of it has passed.
    assert!(found[0].2 > WRITE && found[0].2.0 < 4 * WRITE.0, "{found:?}");
    assert!(is_a_write(found[1].2), "{found:?}");
}

/// All logs are needed: the session waits for the checkpoint, as long as that takes.
#[test]
fn logs_that_are_needed_are_checkpoint_incomplete() {
    let checkpoint = Nanos::from_millis(5);
    let found = run(fresh(&config(), 1), move |world, session| {
        let checkpoints = Checkpoints::new();
        let (redo, signal, ckpt) = checkpoints.open(world, &config(), checkpoint, session);
        let found = waits_of(session, || {
            while redo.position(session).sequence < 4 {
                put(&redo, 1, 60_000, session);
            }
        });
        checkpoints.stop(&signal, session);
        ckpt.join(session).expect("no panic");
        found
    });
    let event = WaitEvent::LogFileSwitchCheckpointIncomplete;
    let waited: Vec<_> = found.iter().filter(|wait| wait.0 == event).collect();
    assert_eq!(waited.len(), 1, "{found:?}");
    assert_eq!(waited[0].1, [0; 3]);
    // The checkpoint, which begins while the session that asked for it is on its way to sleep, and
    // the redo that it needs to be durable before.
    let length = waited[0].2;
    let on_its_way = Nanos::from_micros(20);
    assert!(
        length.0 + on_its_way.0 > checkpoint.0 && length.0 < checkpoint.0 + 3 * WRITE.0,
        "{length:?}"
    );
}
