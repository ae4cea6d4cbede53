//! Reading redo back: every record from a checkpoint to the end of redo, and why it ends.
//!
//! ```text
//!   enter log ─▶ block ─▶ block ─▶ … ─▶ a block that isn't redo, or the log is full
//!      ▲                                           │
//!      └── the next log says that it goes on ──────┴──▶ end, or damage   (tail.rs)
//! ```
//!
//! Invariants
//!   * what the reader returns is durable, but for a look: a log is synced before it is read (RD9)
//!   * every length from disk is checked before it is used: any bytes give an end or an error
//!   * records come without a gap: each SCN is one above that of the record before
//!
//! Callers: `recovery`; checkers of logs.

use std::path::PathBuf;

use format::{REDO_BLOCK, REDO_PAYLOAD_BYTES, RESTORE_ALL, RedoRecord};
use ids::{Rba, Scn};
use os::{Cause, Disk, Error, IoBuf, Session};
use stop::Stop;

use crate::batch::BLOCK_HEAD;
use crate::log_file::{corrupt, redo_is_missing};
use crate::log_files::{LogFiles, ReadBlock};
use crate::read_ahead::{Piece, ReadAhead};
use crate::record;
use crate::tail::check_newest;
use crate::{EndReason, LogEnd, RECORD_BYTES_MAX, Record, RecordPosition, RedoConfig};

/// The SCN that the next record must have.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Expected {
    /// The SCN of the first record is at most this: reading may begin at an earlier record of a
    /// block.
    AtMost(Scn),
    Exactly(Scn),
}

impl Expected {
    pub(crate) fn allows(self, found: Scn) -> bool {
        match self {
            Expected::AtMost(scn) => found <= scn,
            Expected::Exactly(scn) => found == scn,
        }
    }

    pub(crate) fn scn(self) -> Scn {
        match self {
            Expected::AtMost(scn) | Expected::Exactly(scn) => scn,
        }
    }
}

/// Where the reader is in a log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor {
    pub(crate) sequence: u32,
    /// The present block; before the first, the block before it.
    pub(crate) block: u32,
    /// Where the next bytes of records begin in the present block.
    offset: usize,
    used: usize,
    first_record: usize,
    /// Whether the present block was entered within a record that hasn't ended yet.
    within: bool,
    /// Whether no record has begun yet. Records that began before the start are skipped.
    seeking: bool,
}

/// Why there is no redo at the place where it is looked for.
#[derive(Debug)]
pub(crate) enum NoRedo {
    /// What lies there isn't redo, or isn't the next record.
    Because(EndReason),
    /// The block can't be read.
    Unread(Error),
}

impl From<EndReason> for NoRedo {
    fn from(reason: EndReason) -> NoRedo {
        NoRedo::Because(reason)
    }
}

/// The piece that was read last, with its bytes.
#[derive(Debug)]
struct Loaded {
    piece: Piece,
    bytes: IoBuf,
    /// Whether the blocks that it lacked were taken from other members.
    complete: bool,
}

impl Loaded {
    /// The bytes of one of its blocks.
    fn block(&self, number: u32) -> &[u8] {
        let start = (number - self.piece.first) as usize * REDO_BLOCK.bytes();
        &self.bytes[start..start + REDO_BLOCK.bytes()]
    }
}

/// Reads redo in order.
#[derive(Debug)]
pub struct Reader {
    pub(crate) logs: LogFiles,
    /// Whether a log is made durable before it is read (RD9).
    syncs: bool,
    /// Members that can't be relied on.
    lost: Vec<PathBuf>,
    /// How far behind the end writes may have reached that were in flight when it became durable,
    /// in blocks.
    pub(crate) flight_blocks: u32,
    /// The largest number of blocks whose writes a power cut can cut off at once.
    pub(crate) cut_blocks: u32,
    ahead: ReadAhead,
    loaded: Option<Loaded>,
    pub(crate) cursor: Cursor,
    pub(crate) expected: Expected,
    record: Vec<u8>,
    /// The block at which reading stopped because no member can read it, with the device's error.
    pub(crate) unreadable: Option<(u32, Error)>,
    end: Option<LogEnd>,
}

impl Reader {
    /// Opens the logs to read from this position on: from this record if the RBA lies within a
    /// block, else from the first record that begins in this block or later. The position's SCN is
    /// above that of every record below its RBA.
    pub fn open(
        disk: &Disk,
        config: &RedoConfig,
        from: RecordPosition,
        session: &Session,
    ) -> Result<Reader, Stop> {
        Reader::open_syncing(disk, config, from, true, session)
    }

    /// As [`Reader::open`], but makes no log durable: a power cut may take back what this reader
    /// hands out. It tells whether there is a record at all, before anything else is done.
    pub fn open_to_look(
        disk: &Disk,
        config: &RedoConfig,
        from: RecordPosition,
        session: &Session,
    ) -> Result<Reader, Stop> {
        Reader::open_syncing(disk, config, from, false, session)
    }

    fn open_syncing(
        disk: &Disk,
        config: &RedoConfig,
        from: RecordPosition,
        syncs: bool,
        session: &Session,
    ) -> Result<Reader, Stop> {
        let RecordPosition { scn: first_scn, rba: from } = from;
        config.check()?;
        let logs = LogFiles::open(disk, config, session)?;
        check_newest(&logs, from, config.newest_log)?;
        let blocks = logs.holding(from.sequence).map_or(logs.blocks_max(), |group| group.blocks);
        if from.sequence == 0 || from.block > blocks || first_scn == Scn::ZERO {
            return Err(corrupt(format!(
                "redo can't be read from block {} of {} and SCN {first_scn} on: logs, their blocks \
                 of redo and SCNs count from 1, and the log has {blocks} blocks; put the control \
                 file and the redo logs back that belong together; if they are lost, {RESTORE_ALL}",
                from.block,
                logs.named(from.sequence)
            )));
        }
        let mut reader = Reader {
            logs,
            syncs,
            lost: Vec::new(),
            flight_blocks: config.buffer_blocks(),
            cut_blocks: config.part_blocks().saturating_mul(config.writes_in_flight),
            ahead: ReadAhead::new(disk, session),
            loaded: None,
            cursor: Cursor::before(from.sequence, from.block.max(1)),
            expected: Expected::AtMost(first_scn),
            record: Vec::with_capacity(RECORD_BYTES_MAX),
            unreadable: None,
            end: None,
        };
        reader.sync(from.sequence, session)?;
        if reader.first_log_is_there(from, session)? {
            reader.enter_log(from.sequence, from.block.max(1));
            reader.go_to(from, session)?;
        } else {
            reader.set_end(from.sequence, 1, EndReason::NotBegun);
        }
        Ok(reader)
    }

    /// The next record; `None` at the end of redo.
    pub fn next(&mut self, session: &Session) -> Result<Option<Record<'_>>, Stop> {
        let position = loop {
            if self.end.is_some() {
                self.ahead.forget(&self.logs, session)?;
                return Ok(None);
            }
            match self.read_record(session) {
                Ok(position) => break position,
                Err(NoRedo::Because(reason)) => self.leave_log(reason, session)?,
                Err(NoRedo::Unread(error)) => return Err(error.into()),
            }
        };
        Ok(Some(Record::new(position, &self.record)))
    }

    /// Ends reading, and waits for reads in flight.
    pub fn close(mut self, session: &Session) -> Result<(), Stop> {
        Ok(self.ahead.forget(&self.logs, session)?)
    }

    /// Where redo ends. It is known once there is no next record.
    pub fn end(&self) -> Option<LogEnd> {
        self.end
    }

    pub(crate) fn set_end(&mut self, sequence: u32, block: u32, reason: EndReason) {
        self.end = Some(LogEnd { sequence, block, last_scn: self.last_scn(), reason });
    }

    /// SCN of the last record; if there is none, the SCN before the expected one.
    pub(crate) fn last_scn(&self) -> Scn {
        Scn::new(self.expected.scn().get() - 1)
    }

    /// Goes on in this log, which was synced, with this block.
    pub(crate) fn enter_log(&mut self, sequence: u32, block: u32) {
        let seeking = self.cursor.seeking;
        self.cursor = Cursor { seeking, ..Cursor::before(sequence, block) };
    }

    /// Makes what will be read of this log durable, if it has begun (RD9). Members that can't be
    /// synced are lost; if only those have its header, the log hasn't begun.
    pub(crate) fn sync(&mut self, sequence: u32, session: &Session) -> Result<(), Stop> {
        match self.syncs {
            true => self.logs.sync(sequence, &mut self.lost, session),
            false => Ok(()),
        }
    }

    /// Members that could not be synced, of groups that have another. What they hold is in doubt.
    pub fn lost_members(&self) -> &[PathBuf] {
        &self.lost
    }

    /// Goes to the record that begins within a block, if the address says so.
    fn go_to(&mut self, from: Rba, session: &Session) -> Result<(), Stop> {
        if usize::from(from.offset) <= BLOCK_HEAD {
            return Ok(());
        }
        let offset = usize::from(from.offset) - BLOCK_HEAD;
        match self.enter_block(session) {
            Ok(()) => {}
            // The block was never written: that is an end like any other.
            Err(NoRedo::Because(_)) => return Ok(()),
            Err(NoRedo::Unread(error)) => return Err(error.into()),
        }
        if !self.begins_at(offset) {
            return Err(redo_is_missing(&format!(
                "recovery begins at byte {} of block {} of {}, and no record begins there",
                from.offset,
                from.block,
                self.logs.named(from.sequence)
            )));
        }
        let cursor = &mut self.cursor;
        (cursor.offset, cursor.seeking) = (offset, false);
        Ok(())
    }

    /// Whether a record begins at this byte of the present block.
    fn begins_at(&self, offset: usize) -> bool {
        let Cursor { block, used, first_record, .. } = self.cursor;
        let bytes = &self.block_bytes(block)[BLOCK_HEAD..];
        let mut at = first_record;
        while at < offset && at + RedoRecord::BYTES <= used {
            match record::length(RedoRecord::at(bytes, at)) {
                Ok(length) => at += length,
                Err(_) => return false,
            }
        }
        at == offset && at < used
    }

    /// Reads the next record into `record`.
    pub(crate) fn read_record(&mut self, session: &Session) -> Result<RecordPosition, NoRedo> {
        self.record.clear();
        while self.cursor.offset == self.cursor.used {
            self.enter_block(session)?;
        }
        let rba = self.rba();
        self.collect(RedoRecord::BYTES, rba, session)?;
        let head = *RedoRecord::at(&self.record, 0);
        let length = record::length(&head).map_err(|fault| EndReason::BadRecord { rba, fault })?;
        self.collect(length, rba, session)?;
        Ok(self.accept(&head, rba)?)
    }

    /// Checks that the record that was read is the next one.
    fn accept(&mut self, head: &RedoRecord, rba: Rba) -> Result<RecordPosition, EndReason> {
        let Cursor { block, offset, first_record, within, .. } = self.cursor;
        if within && first_record != offset {
            return Err(EndReason::BrokenRecord { rba, block });
        }
        if let Err(fault) = record::check(&self.record) {
            return Err(EndReason::BadRecord { rba, fault });
        }
        let (found, expected) = (head.scn.get(), self.expected);
        // The last SCN has no successor, so it was never given to a record.
        if !expected.allows(found) || found.get() == u64::MAX {
            return Err(EndReason::WrongScn { rba, expected: expected.scn(), found });
        }
        self.cursor.within = false;
        self.expected = Expected::Exactly(found.next());
        Ok(RecordPosition { scn: found, rba })
    }

    /// Reads on until the record that begins at `rba` has `total` bytes.
    fn collect(&mut self, total: usize, rba: Rba, session: &Session) -> Result<(), NoRedo> {
        while self.record.len() < total {
            let Cursor { offset, used, block, within, first_record, .. } = self.cursor;
            if offset == used {
                if within && first_record != used {
                    return Err(EndReason::BrokenRecord { rba, block }.into());
                }
                self.enter_block(session).map_err(|none| match none {
                    NoRedo::Because(_) => EndReason::CutOff { rba, block: block + 1 }.into(),
                    unread => unread,
                })?;
                continue;
            }
            let taken = (total - self.record.len()).min(used - offset);
            let start = BLOCK_HEAD + offset;
            let Reader { loaded, record, .. } = self;
            let loaded = loaded.as_ref().expect("the present block was loaded");
            record.extend_from_slice(&loaded.block(block)[start..start + taken]);
            self.cursor.offset += taken;
        }
        Ok(())
    }

    /// Goes to the next block of the log, if it is redo.
    fn enter_block(&mut self, session: &Session) -> Result<(), NoRedo> {
        self.unreadable = None;
        let number = self.cursor.block + 1;
        if number >= self.logs.of(self.cursor.sequence).blocks {
            return Err(EndReason::EndOfLastLog.into());
        }
        let sequence = self.cursor.sequence;
        let head = match self.block(sequence, number, session) {
            Ok(block) => block.head,
            // A device may report a block as unreadable whose write the power cut off (RD26).
            Err(NoRedo::Unread(error)) if error.cause() == Cause::Device => {
                session.os().notice(&format!("redo is read only up to a block: {error}"));
                self.unreadable = Some((number, error));
                let address = self.logs.of(sequence).address(number);
                return Err(EndReason::Unreadable { address }.into());
            }
            Err(none) => return Err(none),
        };
        let (used, first_record) = (head.used.get().into(), head.first_record.get().into());
        let (within, seeking) = (!self.record.is_empty(), self.cursor.seeking);
        let whole = used > 0 && used <= REDO_PAYLOAD_BYTES && first_record <= used;
        if !whole || (!within && !seeking && first_record != 0) {
            return Err(NoRedo::Because(EndReason::BadBlock {
                address: self.logs.of(sequence).address(number),
                used: head.used.get(),
                first_record: head.first_record.get(),
            }));
        }
        let offset = if seeking { first_record } else { 0 };
        let seeking = seeking && first_record == used;
        let block = number;
        self.cursor = Cursor { sequence, block, offset, used, first_record, within, seeking };
        Ok(())
    }

    /// A block of redo of this log, from any member that has it.
    pub(crate) fn block(
        &mut self,
        sequence: u32,
        number: u32,
        session: &Session,
    ) -> Result<ReadBlock, NoRedo> {
        self.load(sequence, number, session).map_err(NoRedo::Unread)?;
        let found = self.look(sequence, number, session);
        let loaded = self.loaded.as_mut().expect("the block was loaded");
        if found.is_ok() || std::mem::replace(&mut loaded.complete, true) {
            return Ok(found?);
        }
        self.logs.complete(sequence, loaded.piece.first, &mut loaded.bytes, session);
        Ok(self.look(sequence, number, session)?)
    }

    fn look(&self, sequence: u32, number: u32, session: &Session) -> Result<ReadBlock, EndReason> {
        let (group, owner) = (self.logs.of(sequence), &self.logs.medium.owner);
        group.check_redo(owner, self.block_bytes(number), sequence, number, session)
    }

    /// Loads a block, with those that follow it.
    fn load(&mut self, sequence: u32, number: u32, session: &Session) -> Result<(), Error> {
        let holds = |loaded: &Loaded| loaded.piece.holds(sequence, number);
        if self.loaded.as_ref().is_some_and(holds) {
            return Ok(());
        }
        // Until the read has ended nothing is loaded.
        if let Some(loaded) = self.loaded.take() {
            self.ahead.give_back(loaded.bytes);
        }
        let (piece, bytes) = self.ahead.take(&self.logs, sequence, number, session)?;
        self.loaded = Some(Loaded { piece, bytes, complete: false });
        Ok(())
    }

    /// The bytes of a block that was loaded.
    fn block_bytes(&self, block: u32) -> &[u8] {
        self.loaded.as_ref().expect("the block was loaded").block(block)
    }

    fn rba(&self) -> Rba {
        let Cursor { sequence, block, offset, .. } = self.cursor;
        let offset = u16::try_from(BLOCK_HEAD + offset).expect("a redo block has 4 KiB");
        Rba { sequence, block, offset }
    }

    /// The first block without redo, if redo ends for this reason.
    pub(crate) fn first_without_redo(&self, reason: EndReason) -> u32 {
        match reason {
            EndReason::WrongScn { rba, .. }
            | EndReason::BadRecord { rba, .. }
            | EndReason::BrokenRecord { rba, .. }
            | EndReason::CutOff { rba, .. } => {
                rba.block + u32::from(usize::from(rba.offset) > BLOCK_HEAD)
            }
            _ => self.cursor.block + 1,
        }
    }
}

impl Cursor {
    /// The cursor before this block.
    pub(crate) fn before(sequence: u32, block: u32) -> Cursor {
        Cursor {
            sequence,
            block: block - 1,
            offset: 0,
            used: 0,
            first_record: 0,
            within: false,
            seeking: true,
        }
    }
}
