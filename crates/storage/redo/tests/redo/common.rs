//! A small redo, records that can be checked by their content, and reading back what is left.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use format::{ChangeVector, DbaLe, RedoRecord, ScnLe, U16Le, U32Le};
use ids::{Dba, Rba, Scn};
use latch::Signal;
use os::probe::DurableWrite;
use os::{Disk, Session, ThreadSpec};
use redo::{
    CheckpointWanted, CommitLeader, Hooks, LOG_BLOCKS_MIN, LOG_BUFFER_BYTES_MIN, LogEnd, LogGroup,
    LogMember, LogStart, Reader, Record, RecordPosition, Redo, RedoConfig,
};
use sim::fs::FileSystem;
use sim::fs::crash::CrashStates;
use sim::{Simulation, World};
use stop::{Failpoints, Halt, Stop};
use waits::{Nanos, WaitEvent};

pub(crate) const DATABASE: u64 = 0xF0_2EBA;

/// The smallest configuration: three logs of 204 KiB.
pub(crate) fn small() -> RedoConfig {
    RedoConfig {
        database: DATABASE,
        incarnation: (1, ids::Scn::new(1)),
        newest_log: 0,
        groups: groups(LOG_BLOCKS_MIN),
        log_buffer_bytes: LOG_BUFFER_BYTES_MIN,
        durable_write: DurableWrite::DirectThenSync,
        writes_in_flight: 1,
        commit_leader: CommitLeader::Session,
        owned: os::OwnedFiles::default(),
        failpoints: Failpoints::NONE,
    }
}

/// Three groups of one member, with logs of `blocks` blocks.
pub(crate) fn groups(blocks: u32) -> Vec<LogGroup> {
    LogGroup::usual(Path::new("/"), 3, blocks)
}

/// Groups with logs of these sizes and `members` members each: `/a/1.log`, `/b/1.log` …
pub(crate) fn mirrored(sizes: &[u32], members: usize) -> Vec<LogGroup> {
    let path = |number, member: usize| {
        PathBuf::from(format!("/{}/{number}.log", char::from(b'a' + member as u8)))
    };
    let member = |number, member| LogMember { path: path(number, member), good: true };
    let group = |(blocks, number): (&u32, u16)| LogGroup {
        number,
        blocks: *blocks,
        members: (0..members).map(|place| member(number, place)).collect(),
    };
    sizes.iter().zip(1..).map(group).collect()
}

/// Hooks that don't write down what becomes of members.
pub(crate) fn hooks(checkpoint_wanted: CheckpointWanted) -> Hooks {
    Hooks { checkpoint_wanted, keep_members: Box::new(|_, _, _| Ok(())) }
}

/// A simulation over the files of a new database.
pub(crate) fn fresh(config: &RedoConfig, seed: u64) -> Simulation {
    let config = config.clone();
    let report = Simulation::new(seed).run(move |world, session| {
        let paths = config.groups.iter().flat_map(|group| &group.members);
        let folders: BTreeSet<_> = paths.filter_map(|member| member.path.parent()).collect();
        for folder in folders.into_iter().filter(|folder| *folder != Path::new("/")) {
            world.disk().create_dir(folder, session)?;
        }
        redo::create(&world.disk(), &config.groups, session).map(drop)
    });
    report.result.as_ref().expect("it runs").as_ref().expect("there is room");
    over(CrashStates::of(&report.disks["disk"]).sample(0), seed)
}

/// A simulation over these files.
pub(crate) fn over(files: FileSystem, seed: u64) -> Simulation {
    testbed::machine(seed, files)
}

pub(crate) const FIRST: LogStart =
    LogStart { sequence: 1, next_scn: Scn::new(1), checkpoint: Rba::block(1, 1), previous_end: 0 };

/// Opens with log 1. No checkpoints are made.
pub(crate) fn open(world: &World, config: &RedoConfig, session: &Session) -> Redo {
    open_at(world, config, FIRST, session)
}

pub(crate) fn open_at(
    world: &World,
    config: &RedoConfig,
    start: LogStart,
    session: &Session,
) -> Redo {
    let halt = Halt::new(world.os());
    Redo::open(&world.disk(), config, start, &halt, hooks(Box::new(|_| ())), session)
        .expect("it opens")
}

/// A record of one vector whose payload has this length and follows from `tag`.
pub(crate) fn record(tag: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; RedoRecord::BYTES];
    let head = ChangeVector {
        address: DbaLe::new(Dba::new(1, (tag % 1_000) as u32)),
        before_scn: ScnLe::new(Scn::new(tag)),
        before_sequence: U32Le::new(length as u32),
        image: U32Le::ZERO,
        layer: 1,
        opcode: 2,
        length: U16Le::new(length as u16),
        block_units: 4,
        anew: 0,
        reserved: [0; 2],
    };
    bytes.extend(head.bytes());
    bytes.extend((0..length).map(|at| payload_byte(tag, at)));
    let whole = bytes.len() as u32;
    let head = RedoRecord::at_mut(&mut bytes, 0);
    (head.length, head.vectors) = (U32Le::new(whole), U16Le::new(1));
    bytes
}

fn payload_byte(tag: u64, at: usize) -> u8 {
    (tag.wrapping_mul(31).wrapping_add(at as u64 * 7) % 251) as u8
}

/// The tag of a record made by `record`.
pub(crate) fn tag_of(record: &Record<'_>) -> u64 {
    let mut vectors = record.vectors();
    let vector = vectors.next().expect("it has one vector");
    assert!(vectors.next().is_none());
    let tag = vector.before_scn.get();
    assert_eq!(vector.payload.len(), vector.before_sequence as usize);
    let right = |(at, byte): (usize, &u8)| *byte == payload_byte(tag, at);
    assert!(vector.payload.iter().enumerate().all(right), "the payload of {tag} was changed");
    tag
}

/// Reserves and appends one record.
pub(crate) fn put(redo: &Redo, tag: u64, length: usize, session: &Session) -> RecordPosition {
    let mut record = record(tag, length);
    let credits = redo.reserve(record.len() - RedoRecord::BYTES, session).expect("room");
    redo.append(credits, &mut record, session)
}

/// Commits one record and waits until it is durable.
pub(crate) fn commit(redo: &Redo, tag: u64, length: usize, session: &Session) -> RecordPosition {
    let placed = put(redo, tag, length, session);
    redo.make_durable(placed.scn, session, WaitEvent::LogFileSync).expect("no halt");
    placed
}

/// Commits a small record for each of these tags.
pub(crate) fn commit_all(redo: &Redo, tags: std::ops::Range<u64>, session: &Session) {
    for tag in tags {
        commit(redo, tag, 100, session);
    }
}

/// What reading back gave.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) records: Vec<(Scn, Rba, u64)>,
    pub(crate) end: LogEnd,
}

pub(crate) fn read(
    world: &World,
    config: &RedoConfig,
    from: Rba,
    first_scn: Scn,
    session: &Session,
) -> Result<Found, Stop> {
    read_from(&world.disk(), config, from, first_scn, session)
}

/// Reads from a disk that may be spoiled.
pub(crate) fn read_from(
    disk: &Disk,
    config: &RedoConfig,
    from: Rba,
    first_scn: Scn,
    session: &Session,
) -> Result<Found, Stop> {
    let from = RecordPosition { scn: first_scn, rba: from };
    let mut reader = Reader::open(disk, config, from, session)?;
    let mut records = Vec::new();
    while let Some(record) = reader.next(session)? {
        records.push((record.scn, record.rba, tag_of(&record)));
    }
    let end = reader.end().expect("no record follows");
    let holes = records.windows(2).filter(|pair| pair[0].0.next() != pair[1].0).count();
    assert_eq!(holes, 0, "SCNs follow each other");
    if let Some((last, _, _)) = records.last() {
        assert_eq!(*last, end.last_scn);
    }
    Ok(Found { records, end })
}

/// Reads after a crash, from the files that are left.
pub(crate) fn read_files(
    files: FileSystem,
    config: &RedoConfig,
    from: Rba,
    first_scn: Scn,
) -> Result<Found, Stop> {
    let config = config.clone();
    let report =
        over(files, 1).run(move |world, session| read(world, &config, from, first_scn, session));
    report.result.expect("reading ends")
}

/// A control file in memory, and the process that makes checkpoints when it is asked to.
#[derive(Clone, Default)]
pub(crate) struct Checkpoints {
    /// Packed block address of the checkpoint, and the SCN from which on redo is needed. There is
    /// no interleaving point between the two.
    pub(crate) rba: Arc<AtomicU64>,
    pub(crate) first_scn: Arc<AtomicU64>,
    stop: Arc<AtomicU64>,
}

impl Checkpoints {
    pub(crate) fn new() -> Checkpoints {
        let checkpoints = Checkpoints::default();
        checkpoints.rba.store(Rba::block(1, 1).pack_block(), SeqCst);
        checkpoints.first_scn.store(1, SeqCst);
        checkpoints
    }

    /// Opens with log 1; checkpoints take `slow`.
    pub(crate) fn open(
        &self,
        world: &World,
        config: &RedoConfig,
        slow: Nanos,
        session: &Session,
    ) -> (Redo, Arc<Signal>, os::ThreadHandle) {
        let signal = Arc::new(Signal::new(world.os()));
        let asked = Arc::clone(&signal);
        let hook = Box::new(move |session: &Session| asked.post(session));
        let halt = Halt::new(world.os());
        let redo = Redo::open(&world.disk(), config, FIRST, &halt, hooks(hook), session);
        let redo = redo.expect("it opens");
        let (inside, me, posted) = (redo.clone(), self.clone(), Arc::clone(&signal));
        let body = move |session: &Session| me.run(&inside, &posted, slow, session);
        let thread = session.spawn(ThreadSpec::background("fb_ckpt"), body).expect("a thread");
        (redo, signal, thread)
    }

    fn run(&self, redo: &Redo, signal: &Signal, slow: Nanos, session: &Session) {
        loop {
            let _ = signal.wait(session.waiting(WaitEvent::RdbmsIpcMessage), None);
            if self.stop.load(SeqCst) == 1 {
                return;
            }
            let rba = redo.position(session);
            let scn = redo.last_scn(session);
            // Log before block.
            if redo.make_durable(scn, session, WaitEvent::RdbmsIpcReply).is_err() {
                return;
            }
            session.pause(slow, session.waiting(WaitEvent::PlSqlLockTimer));
            self.rba.store(rba.pack_block(), SeqCst);
            self.first_scn.store(scn.get() + 1, SeqCst);
            redo.checkpoint_advanced(rba, session);
        }
    }

    pub(crate) fn stop(&self, signal: &Signal, session: &Session) {
        self.stop.store(1, SeqCst);
        signal.post(session);
    }

    pub(crate) fn from(&self) -> (Rba, Scn) {
        let rba = Rba::unpack_block(self.rba.load(SeqCst));
        (rba, Scn::new(self.first_scn.load(SeqCst)))
    }
}
