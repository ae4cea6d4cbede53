//! The state under redo allocation: where the next record goes, the credits, and who waits.
//!
//! ```text
//!            append            take              land
//!   active ─────────▶ active ────────▶ in flight ──────▶ spare ──(at some take)──▶ active
//! ```
//!
//! Invariants, with C the redo blocks of credits that are out, R those of the largest record, L
//! those left in the current log, B those of a log in a free group
//!   * blocks begun in the active batch + C <= blocks of a batch (RD3)
//!   * C <= L + the sum of B - R over the free groups (RD4)
//!   * the active batch has number `number`; all before it are durable but for those in `flights`
//!
//! README shows that appending and taking keep both bounds. This is plain data: no I/O, no waiting.
//! Callers: `credits`, `commit`, `writer`, `lgwr`.

mod check;

use std::sync::Arc;

use format::{RedoRecord, ScnLe};
use ids::{Rba, Scn};
use os::{IO_ALIGNMENT, IoPool};
use stop::Stop;

use crate::batch::Batch;
use crate::config::{RECORD_BLOCKS_MAX, RedoConfig, blocks_of};
use crate::flights::{Flights, Landed, WRITES_IN_FLIGHT_MAX};
use crate::gather::Gather;
use crate::groups::Groups;
use crate::log_file::Beginning;
use crate::queue::{Lanes, Queue};
use crate::{CommitLeader, LogStart, RecordPosition};

/// Why a request for room can't be granted now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Blocked {
    /// The log buffer has no room: a write will help.
    Buffer,
    /// The logs have no room: a checkpoint will help.
    Logs,
}

/// What a session asks for in the room queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RoomRequest {
    /// Credits for this many redo blocks.
    Blocks(u32),
    /// That the next log begins.
    Switch,
}

/// A batch in flight.
pub(crate) struct Flight {
    pub(crate) batch: Batch,
    pub(crate) number: u64,
    /// SCN of its last record.
    pub(crate) through: Scn,
    /// The SCN through which redo was durable when the batch was taken.
    pub(crate) durable: Scn,
    /// The lanes of sessions that got room when the batch was taken.
    pub(crate) lanes: Lanes,
}

/// Which side writes the active batch after another one has landed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NextWriter {
    Nobody,
    /// One of the sessions that wait for the active batch.
    Waiter,
    /// The log writer.
    Lgwr,
}

pub(crate) struct State {
    database: u64,
    pub(crate) groups: Groups,
    batch_blocks: u32,
    /// The number of spares at the start: so many batches can be in flight.
    writes_max: u32,
    /// From this many blocks on the log writer is posted: a third of the log buffer, at most two
    /// thirds of the active batch.
    post_blocks: u32,

    pub(crate) active: Batch,
    spares: Vec<Batch>,
    flights: Flights,
    /// Number of the active batch.
    pub(crate) number: u64,
    pub(crate) next_scn: Scn,

    /// The next block to begin in the current log.
    next_block: u32,

    /// Redo blocks of credits that are out (C).
    credits: u64,
    pub(crate) queue: Queue,

    /// The waiters for each batch that isn't durable, the active one included, by its lane.
    pub(crate) waiters: [Waiters; LANES],
    pub(crate) gather: Gather,
    pub(crate) leader: CommitLeader,
    pub(crate) lgwr: Lgwr,
}

/// How many sessions wait for a batch.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Waiters {
    /// Sessions that want it written as soon as possible.
    pub(crate) urgent: u32,
    /// Sessions that leave the write to others (RD14).
    pub(crate) patient: u32,
}

impl Waiters {
    pub(crate) fn of(&mut self, urgent: bool) -> &mut u32 {
        if urgent { &mut self.urgent } else { &mut self.patient }
    }

    pub(crate) fn all(self) -> u32 {
        self.urgent + self.patient
    }
}

/// What the redo knows about the log writer.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Lgwr {
    /// It runs, so it can be posted.
    pub(crate) runs: bool,
    /// It has to write everything and end.
    pub(crate) stops: bool,
    /// It found too many writes in flight, and is posted when one has landed.
    pub(crate) wants: bool,
    /// It was posted because the active batch is large.
    posted: bool,
    /// It has to write the active batch though no session waits: for a commit that doesn't wait
    /// (RD14), or because its clock has struck.
    asked: bool,
}

/// From this much redo on that isn't in flight the log writer is posted, however large the log
/// buffer is.
const POST_BYTES: u64 = 1 << 20;

/// The parts of the log buffer, in one piece of memory. Where it is made of huge pages, a write is
/// one request to the device: in small pages a MiB has as many parts as one takes (os/buffer.rs).
fn batches(config: &RedoConfig) -> Result<Vec<Batch>, Stop> {
    let bytes = config.part_blocks() as usize * format::REDO_BLOCK.bytes();
    let pool = IoPool::new(config.writes_in_flight + 1, bytes.next_multiple_of(IO_ALIGNMENT))?;
    Ok(std::iter::from_fn(|| pool.take()).map(Batch::new).collect())
}

impl State {
    /// The state at the opening. `start` was checked against the configuration, and its log has
    /// begun in one of the groups.
    pub(crate) fn new(
        config: &RedoConfig,
        start: &LogStart,
        groups: Groups,
    ) -> Result<State, Stop> {
        let batch_blocks = config.part_blocks();
        let mut spares = batches(config)?;
        let active = spares.pop().expect("one more than the writes in flight");
        let third = config.log_buffer_bytes / 3 / format::REDO_BLOCK.bytes();
        let last = Scn::new(start.next_scn.get() - 1);
        Ok(State {
            database: config.database,
            groups,
            batch_blocks,
            writes_max: config.writes_in_flight,
            post_blocks: u32::try_from(third).unwrap_or(u32::MAX).min(batch_blocks * 2 / 3).max(1),
            active,
            spares,
            flights: Flights::new(config.writes_in_flight, last),
            number: 1,
            next_scn: start.next_scn,
            next_block: 1,
            credits: 0,
            queue: Queue::default(),
            waiters: [Waiters::default(); LANES],
            gather: Gather::new(),
            leader: config.commit_leader,
            lgwr: Lgwr::default(),
        })
    }

    // Room

    /// Whether this request could be granted now if no other session waited.
    pub(crate) fn check(&self, request: RoomRequest) -> Result<(), Blocked> {
        let free_room = self.groups.free_room();
        match request {
            RoomRequest::Blocks(blocks) => {
                let credits = self.credits + u64::from(blocks);
                if u64::from(self.active.blocks()) + credits > u64::from(self.batch_blocks) {
                    return Err(Blocked::Buffer);
                }
                let left = u64::from(self.blocks_left()) + free_room;
                if credits <= left { Ok(()) } else { Err(Blocked::Logs) }
            }
            RoomRequest::Switch if self.groups.free() == 0 => Err(Blocked::Logs),
            RoomRequest::Switch => {
                // A free log becomes the current one, with B - 1 blocks left in it.
                let left = free_room + u64::from(RECORD_BLOCKS_MAX) - 1;
                if self.credits <= left { Ok(()) } else { Err(Blocked::Logs) }
            }
        }
    }

    /// Grants a request that `check` accepted.
    pub(crate) fn grant(&mut self, request: RoomRequest) {
        match request {
            RoomRequest::Blocks(blocks) => self.credits += u64::from(blocks),
            RoomRequest::Switch if self.next_block == 1 => {}
            RoomRequest::Switch => self.switch(),
        }
    }

    /// Grants requests in the order of the room queue, as far as there is room. Returns the lanes
    /// to wake: of all sessions that were served, and of the one that is first now, which has to
    /// ask for what it still lacks.
    pub(crate) fn serve_queue(&mut self) -> Lanes {
        let mut lanes = self.queue.first_lane();
        while let Some(request) = self.queue.first().filter(|request| self.check(*request).is_ok())
        {
            self.grant(request);
            self.queue.serve_first();
            lanes = lanes.and(self.queue.first_lane());
        }
        lanes
    }

    /// What the first request in the room queue lacks, and with it all behind.
    pub(crate) fn queue_is_blocked_by(&self) -> Option<Blocked> {
        self.check(self.queue.first()?).err()
    }

    /// Takes credits back that were used or dropped.
    pub(crate) fn return_credits(&mut self, blocks: u32) {
        let left = self.credits.checked_sub(u64::from(blocks));
        self.credits = left.expect("no more credits come back than went out");
    }

    /// Frees the logs below this address.
    pub(crate) fn advance_checkpoint(&mut self, rba: Rba) {
        assert!(
            rba.sequence <= self.sequence(),
            "the checkpoint {rba} lies beyond the current log, {}",
            self.sequence()
        );
        self.groups.advance(rba.sequence);
    }

    /// The current log.
    pub(crate) fn sequence(&self) -> u32 {
        self.groups.sequence()
    }

    /// Blocks that can still be begun in the current log (L).
    fn blocks_left(&self) -> u32 {
        self.groups.blocks() - self.next_block
    }

    /// Lets no log begin in this group any more, if the credits fit into the others. The log before
    /// the first one without a durable header is needed: reading begins with its end.
    pub(crate) fn retire(&mut self, group: u16) -> Result<(), Stop> {
        let promised = self.credits.saturating_sub(self.blocks_left().into());
        let needed = self.sequence() - self.logs_not_begun();
        self.groups.retire(group, promised, needed)
    }

    // Appending

    /// Copies a record into the active batch, sets its SCN, and returns its position. May begin a
    /// log.
    pub(crate) fn append(&mut self, record: &[u8]) -> RecordPosition {
        let scn = self.next_scn;
        if self.blocks_to_begin(record.len()) > self.blocks_left() {
            self.switch();
        }
        if self.active.room() == 0 {
            self.begin_block();
        }
        let rba = Rba {
            sequence: self.sequence(),
            block: self.next_block - 1,
            offset: self.active.offset(),
        };
        self.active.begin_record();
        let mut head = *RedoRecord::at(record, 0);
        head.scn = ScnLe::new(scn);
        self.put(head.bytes());
        self.put(&record[RedoRecord::BYTES..]);
        self.next_scn = scn.next();
        RecordPosition { scn, rba }
    }

    /// The block in which, or after which, the next record will begin.
    pub(crate) fn position(&self) -> Rba {
        let open = u32::from(self.active.is_open());
        Rba::block(self.sequence(), self.next_block - open)
    }

    /// How many blocks a record of this length begins if it stays in the current log.
    fn blocks_to_begin(&self, bytes: usize) -> u32 {
        blocks_of(bytes.saturating_sub(self.active.room()))
    }

    fn put(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.active.room() == 0 {
                self.begin_block();
            }
            let taken = self.active.fill(bytes);
            bytes = &bytes[taken..];
        }
    }

    fn begin_block(&mut self) {
        assert!(self.active.blocks() < self.batch_blocks, "the log buffer is full (rule RD3)");
        assert!(self.blocks_left() > 0, "the log is full (rule RD4)");
        self.active.close_block();
        let (group, sequence) = (self.groups.current(), self.sequence());
        self.active.begin_block(group, sequence, self.next_block, self.database);
        self.next_block += 1;
    }

    /// Closes the current log and begins the next.
    fn switch(&mut self) {
        self.active.close_block();
        let beginning = Beginning { first_scn: self.next_scn, previous_end: self.next_block };
        self.groups.begin_next();
        self.next_block = 1;
        self.active.begin_log(self.groups.current(), self.sequence(), beginning);
    }

    // Writing

    /// Allows this many batches in flight, within the parts of the log buffer.
    pub(crate) fn set_writes_in_flight(&mut self, writes: u32) {
        self.flights.set_depth(writes.clamp(1, self.writes_max));
    }

    /// Whether a batch is in flight.
    pub(crate) fn is_writing(&self) -> bool {
        !self.flights.is_empty()
    }

    /// Whether the active batch can be taken now.
    pub(crate) fn can_take(&self) -> bool {
        let is_full = self.is_large() || self.queue_wants_write();
        let alone = self.active.begins_log() || self.gather.shares() && !is_full;
        self.flights.have_room(alone)
    }

    /// Whether the header of the current log isn't durable yet.
    pub(crate) fn is_switching(&self) -> bool {
        self.logs_not_begun() > 0
    }

    /// How many logs, up to the current one, have no durable header yet.
    fn logs_not_begun(&self) -> u32 {
        self.flights.logs_begun() + self.active.logs_begun()
    }

    /// The number of the batch that has the record with this SCN, which isn't durable.
    pub(crate) fn number_of(&self, scn: Scn) -> u64 {
        self.flights.number_of(scn).unwrap_or(self.number)
    }

    /// Takes the active batch to be written. A spare becomes the active one, and the room that this
    /// makes is handed out.
    pub(crate) fn take(&mut self) -> Flight {
        let mut batch = self.spares.pop().expect("for each batch in flight there is one");
        self.gather.end(self.waiting_for_active());
        batch.clear();
        std::mem::swap(&mut self.active, &mut batch);
        batch.close_block();
        batch.find_groups(|number| Arc::clone(self.groups.of_number(number)));
        let (number, durable) = (self.number, self.flights.durable());
        let through = Scn::new(self.next_scn.get() - 1);
        self.flights.take(through, batch.logs_begun());
        self.number += 1;
        (self.lgwr.posted, self.lgwr.asked) = (false, false);
        let lanes = self.serve_queue();
        Flight { batch, number, through, durable, lanes }
    }

    /// Notes that this batch is written. Returns the SCN through which redo is durable now, and the
    /// batches that became durable.
    pub(crate) fn land(&mut self, batch: Batch, number: u64) -> (Scn, Landed) {
        self.spares.push(batch);
        let landed = self.flights.written(number);
        (self.flights.durable(), landed)
    }

    /// Removes and returns the count of waiters for a batch that has become durable.
    pub(crate) fn told(&mut self, number: u64) -> Waiters {
        std::mem::take(&mut self.waiters[lane(number)])
    }

    /// Which side has to write the active batch, after another one has landed.
    pub(crate) fn next_writer(&self) -> NextWriter {
        if !self.can_take() {
            // The next landing decides again. Only the log writer's end waits for all of them.
            return NextWriter::Nobody;
        }
        if self.waiting_for_active() > 0 && self.sessions_lead() {
            NextWriter::Waiter
        } else if self.lgwr.runs && (self.lgwr.wants || self.lgwr_is_due()) {
            NextWriter::Lgwr
        } else {
            NextWriter::Nobody
        }
    }

    /// How many urgent waiters the active batch has.
    pub(crate) fn waiting_for_active(&self) -> u32 {
        self.waiters[lane(self.number)].urgent
    }

    /// Asks the log writer to write the active batch, if there is anything in it. Returns whether
    /// the log writer has to be posted.
    pub(crate) fn ask_lgwr(&mut self) -> bool {
        let asks = self.lgwr.runs && !self.active.is_empty();
        asks && !std::mem::replace(&mut self.lgwr.asked, true) && self.can_take()
    }

    /// Whether the log writer should write the active batch now, apart from its clock.
    pub(crate) fn lgwr_is_due(&self) -> bool {
        let large = self.is_large();
        let waits = self.waiting_for_active() > 0 || self.queue_wants_write();
        !self.active.is_empty() && (large || waits || self.lgwr.asked || self.lgwr.stops)
    }

    /// Whether the active batch is large enough to be written though no session asks.
    fn is_large(&self) -> bool {
        self.active.blocks() >= self.post_blocks || self.active.filled() >= POST_BYTES
    }

    /// Whether sessions in the room queue wait for a write. A checkpoint makes redo durable by
    /// itself.
    fn queue_wants_write(&self) -> bool {
        self.queue_is_blocked_by() == Some(Blocked::Buffer)
    }

    /// Whether to post the log writer after a record: once for a large batch, and for each record
    /// while a session waits for room in the log buffer.
    pub(crate) fn posts_after_append(&mut self) -> bool {
        if self.queue_wants_write() {
            return true;
        }
        self.is_large() && !std::mem::replace(&mut self.lgwr.posted, true)
    }

    /// Whether a session that needs room has to write the active batch: no log writer runs, and no
    /// write in flight would wake the session.
    pub(crate) fn is_up_to_sessions(&self) -> bool {
        !self.lgwr.runs && self.can_take() && !self.active.is_empty()
    }

    /// Whether a session may write, rather than the log writer alone.
    pub(crate) fn sessions_lead(&self) -> bool {
        self.leader == CommitLeader::Session || !self.lgwr.runs
    }
}

/// One lane for the active batch and for each one in flight.
pub(crate) const LANES: usize = 16;
const _: () = assert!(LANES > WRITES_IN_FLIGHT_MAX as usize);

/// The lane in which the waiters for a batch are counted and sleep. Only batches that aren't
/// durable have waiters, and their numbers follow each other.
pub(crate) fn lane(number: u64) -> usize {
    (number % LANES as u64) as usize
}
