//! What the instance's own processes wait for: the redo writer, the database writers and their
//! slaves, the checkpoint process, the space process.

use super::*;

/// A wait of somebody's.
#[derive(Clone, Debug)]
struct Theirs {
    process: String,
    event: WaitEvent,
    p: [u64; 3],
    elapsed: u64,
}

struct Named(String, Outside<Vec<Theirs>>);

impl WaitSink for Named {
    fn wait_ended(&mut self, record: &WaitRecord) {
        let WaitRecord { event, p, elapsed, .. } = *record;
        let wait = Theirs { process: self.0.clone(), event, p, elapsed: elapsed.0 };
        self.1.with(|waits| waits.push(wait));
    }
}

/// The waits of every process that begins after this, and ends before they are asked for.
fn listen(os: &os::Os) -> Outside<Vec<Theirs>> {
    let records = Outside::default();
    let all = records.clone();
    os.set_level(Level::Trace);
    os.set_wait_sinks(Some(Arc::new(move |name: &str| {
        Some(Box::new(Named(name.to_string(), all.clone())) as Box<dyn WaitSink>)
    })));
    records
}

/// All waits of an instance's processes while it works in phases, each with its own list. Between
/// two phases it is left alone, so that each process is alone with the disk.
fn heard<const N: usize>(
    parameters: Parameters,
    phases: [fn(&Database, &Session); N],
) -> [Vec<Theirs>; N] {
    let (waits, _) = run(filled(4).1, move |world, session| {
        let records = listen(world.os());
        let database = open_as(parameters, world, session);
        pause(50_000, session);
        let waits = phases.map(|phase| {
            let _ = records.take();
            phase(&database, session);
            pause(50_000, session);
            records.take()
        });
        shut(database, session);
        waits
    });
    waits
}

/// Which of them are of this process and event, if any.
fn of<'w>(waits: &'w [Theirs], process: &str, event: WaitEvent) -> Vec<&'w Theirs> {
    let these: Vec<_> =
        waits.iter().filter(|wait| wait.process == process && wait.event == event).collect();
    assert!(!these.is_empty(), "{process} has no {event:?}: {waits:?}");
    these
}

/// One request of the disk, and what the call costs.
fn is_a_request(wait: &Theirs) -> bool {
    (REQUEST..REQUEST + 40_000).contains(&wait.elapsed)
}

fn nothing(_: &Database, _: &Session) {}

/// Seven seconds in which nobody asks for anything.
fn idle(_: &Database, session: &Session) {
    pause(7_000_000, session);
}

/// Three commits, a while apart.
fn commit_three(database: &Database, session: &Session) {
    for id in 0..3 {
        insert(database, 1_000 + id, 1, session);
        pause(5_000, session);
    }
}

/// Twelve blocks and more become dirty, and are written.
fn write(database: &Database, first: i64, session: &Session) {
    insert(database, first, 60, session);
    pause(50_000, session);
    database.instance().checkpoint(session).expect("written");
}

/// The log writer: one write for each commit, and the header of a log that begins.
#[test]
fn the_log_writer_waits_for_its_writes() {
    let parameters = Parameters { commit_leader: redo::CommitLeader::Lgwr, ..parameters() };
    let fill_a_log: fn(&Database, &Session) = |database, session| {
        for turn in 0..30 {
            insert(database, 2_000 + 20 * turn, 20, session);
        }
    };
    let [commits, switch] = heard(parameters, [commit_three, fill_a_log]);
    let writes = of(&commits, "fb_lgwr", WaitEvent::LogFileParallelWrite);
    assert_eq!(writes.len(), 3, "{commits:?}");
    assert!(writes.iter().all(|wait| wait.p == [1, 1, 1]), "{writes:?}");
    // Beside some of them a file grows.
    assert!(writes.iter().any(|wait| is_a_request(wait)), "{writes:?}");
    assert!(writes.iter().all(|wait| wait.elapsed < 3 * REQUEST), "{writes:?}");
    let idle = of(&commits, "fb_lgwr", WaitEvent::RdbmsIpcMessage);
    assert!(idle.iter().all(|wait| wait.p[0] <= 300 && wait.p[1..] == [0, 0]), "{idle:?}");
    let headers = of(&switch, "fb_lgwr", WaitEvent::LogFileSingleWrite);
    for header in headers {
        let [group, block, blocks] = header.p;
        assert!((1..=3).contains(&group) && (block, blocks) == (0, 1), "{header:?}");
        // Others use the disk too: at most a few requests of theirs come first.
        assert!((REQUEST..10 * REQUEST).contains(&header.elapsed), "{header:?}");
    }
}

/// A database writer: for copies, blocks and syncs, and for the redo before them.
#[test]
fn a_database_writer_waits_for_its_writes_and_for_redo() {
    let [_, written, uncommitted] = heard(
        parameters(),
        [
            nothing,
            |database, session| write(database, 1_000, session),
            |database, session| {
                // Dirty, and its redo not durable yet: the writer has to ask for that.
                let (mut connection, table) = connect(database, session);
                let instance = database.instance();
                let mut tx = connection.begin();
                insert_one(&mut tx, &table, 2_000);
                let low = instance.redo().position(session);
                instance.cache().request_checkpoint(ids::Rba::block(low.sequence + 1, 0), session);
                pause(10_000, session);
                tx.commit().expect("committed");
            },
        ],
    );
    let writes = of(&written, "fb_dbw0", WaitEvent::DbFileParallelWrite);
    for wait in &writes {
        let [requests, interrupt, timeout] = wait.p;
        assert!((1..=4).contains(&requests) && (interrupt, timeout) == (0, 0), "{wait:?}");
        // The disk does one request after the other.
        let most = requests * REQUEST + 40_000;
        assert!((REQUEST - 30_000..most).contains(&wait.elapsed), "{wait:?}");
    }
    // Four at once, of which it waits for half.
    let half = |wait: &Theirs| wait.p[0] == 4 && wait.elapsed > REQUEST + 40_000;
    assert!(writes.iter().any(|wait| half(wait)), "four at once: {writes:?}");
    let replies = of(&uncommitted, "fb_dbw0", WaitEvent::RdbmsIpcReply);
    assert!(replies.iter().all(|wait| wait.p == [0; 3] && is_a_request(wait)), "{replies:?}");
}

/// I/O slaves: idle until they have a request, which they wait for as its owner does.
#[test]
fn a_slave_without_a_request_is_idle() {
    // Every block stays in the cache, so that the session reads none beside the writes.
    let db_cache_size = 400 * BLOCK;
    let parameters = Parameters { dbwr_io_slaves: 2, db_cache_size, ..parameters() };
    let [slept, written] = heard(
        parameters,
        [idle, |database, session| {
            // Ends the sleep.
            write(database, 1_000, session);
            pause(500_000, session);
            write(database, 2_000, session);
        }],
    );
    assert!(slept.iter().all(|wait| !wait.process.starts_with("fb_i")), "{slept:?}");
    for slave in ["fb_i000", "fb_i001"] {
        let idle = of(&written, slave, WaitEvent::IoSlaveWait);
        assert!(idle.iter().all(|wait| wait.p == [0; 3]), "{idle:?}");
        assert!(idle[0].elapsed > 7_000_000_000, "since it began: {idle:?}");
        let half = idle.iter().filter(|wait| (500_000_000..700_000_000).contains(&wait.elapsed));
        assert_eq!(half.count(), 1, "between the checkpoints: {idle:?}");
        // Two slaves and one disk: each waits for one request of the other's at most, and for one
        // of another process's, since redo is written beside a batch.
        let writes = of(&written, slave, WaitEvent::DbFileParallelWrite);
        let right = |wait: &&Theirs| (REQUEST..3 * REQUEST + 40_000).contains(&wait.elapsed);
        let wrong: Vec<_> = writes.iter().filter(|w| !right(w)).collect();
        assert!(wrong.is_empty(), "{wrong:?} of {}", writes.len());
    }
}

/// The checkpoint process: its heartbeat is three seconds to the microsecond, and both copies of
/// the control file are written.
#[test]
fn the_checkpoint_process_has_a_heartbeat() {
    let [_, slept] =
        heard(parameters(), [|database, session| write(database, 1_000, session), idle]);
    let beats = of(&slept, "fb_ckpt", WaitEvent::RdbmsIpcMessage);
    assert!(beats.iter().all(|wait| wait.p == [300, 0, 0]), "{beats:?}");
    let whole = beats.iter().filter(|wait| wait.elapsed.abs_diff(3_000_000_000) < 10_000);
    assert_eq!(whole.count(), 2, "{beats:?}");
    let control = of(&slept, "fb_ckpt", WaitEvent::ControlFileParallelWrite);
    assert_eq!(control.len(), 2, "the checkpoint moved before, once: {control:?}");
    assert!(control.iter().all(|wait| wait.p == [1, 1, 1] && is_a_request(wait)), "{control:?}");
}

/// The process monitor looks around every second.
#[test]
fn the_process_monitor_looks_around_every_second() {
    let [_, slept] =
        heard(parameters(), [|database, session| write(database, 1_000, session), idle]);
    let turns = of(&slept, "fb_pmon", WaitEvent::PmonTimer);
    assert!(turns.iter().all(|wait| wait.p == [100, 0, 0]), "{turns:?}");
    let whole = turns.iter().filter(|wait| wait.elapsed.abs_diff(1_000_000_000) < 10_000);
    assert!((5..=8).contains(&whole.count()), "{turns:?}");
}

/// The space process: zeros for what files grow by.
#[test]
fn the_space_process_writes_zeros() {
    let [grown] = heard(parameters(), [|database, session| insert(database, 1_000, 400, session)]);
    let zeros = of(&grown, "fb_smco", WaitEvent::DataFileInitWrite);
    assert!(zeros.iter().all(|wait| wait.p == [1, 256, 0]), "{zeros:?}");
    // Beside at most the writer's four, the log writer's and a session's.
    let right = |wait: &&&Theirs| (REQUEST..8 * REQUEST).contains(&wait.elapsed);
    assert!(zeros.iter().all(|wait| right(&wait)), "{zeros:?}");
    let control = of(&grown, "fb_smco", WaitEvent::ControlFileParallelWrite);
    assert!(control.iter().all(|wait| wait.p == [1, 1, 1]), "{control:?}");
}
