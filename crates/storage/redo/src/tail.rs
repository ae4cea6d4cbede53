//! The end of a log: does redo end here, does the next log go on, or is redo missing?
//!
//! A crash can leave any part of the batches in flight, and nothing else. So a block that was
//! written *after* a batch was durable proves that there was more:
//!
//! | found                                                      | then                        |
//! |------------------------------------------------------------|-----------------------------|
//! | no later log has begun                                     | the end                     |
//! | the next log says that it goes on exactly here             | it is read                  |
//! | a later log has begun, but not from here                   | damage: redo is missing     |
//! | a block behind the end that knew more SCNs to be durable   | damage: redo is missing     |
//! | no header of the next log, but its first block             | damage: redo is missing     |
//! | no header of a log that the control file knows             | damage: redo is missing     |
//! | nothing where reading begins, nor in the block before      | damage: redo is missing     |
//!
//! The fourth line uses the stamp of a redo block (RD8): a block lost from a batch that was durable
//! is found out if a later batch left a block. The search goes as far as the log buffer reaches.
//!
//! A block that no member can read counts as a damaged one, if the device works otherwise and the
//! block stays unreadable (RD26). Callers: the reader.

use format::{LogHeader, REDO_BLOCK, RESTORE_ALL};
use ids::Rba;
use os::{Cause, IoBuf, Session};
use stop::{RefusalKind, Stop};

use crate::log_file::{HeaderBlock, OpenGroup, corrupt, redo_is_missing};
use crate::log_files::LogFiles;
use crate::reader::{Cursor, Expected, NoRedo, Reader};
use crate::{EndReason, LogEnd};

impl Reader {
    /// Whether the log where reading begins exists. If not, it is the one after the newest, and
    /// reading begins at its start.
    pub(crate) fn first_log_is_there(
        &mut self,
        from: Rba,
        session: &Session,
    ) -> Result<bool, Stop> {
        if let Some(header) = self.logs.header(from.sequence) {
            return self.check_first_scn(header).map(|()| true);
        }
        let before = from.sequence - 1;
        // The log before isn't needed any more: so its header needn't be readable either (RD28).
        let is_next = self.logs.newest() == before
            || self.logs.newest() < before && self.logs.unreadable().next().is_some();
        if is_next && from.block <= 1 && from.offset == 0 {
            return self.check_not_begun(from.sequence, session).map(|()| false);
        }
        Err(self.logs.missing(format!(
            "redo is missing: recovery begins in log {}, at block {}, and {}; put the redo logs \
             back that belong to this control file; if they are lost, {RESTORE_ALL}",
            from.sequence,
            from.block,
            self.logs.contents()
        )))
    }

    /// Checks that the log where reading begins had begun before the expected record.
    fn check_first_scn(&self, header: &LogHeader) -> Result<(), Stop> {
        let (first, expected) = (header.first_scn.get(), self.expected.scn());
        if first <= expected {
            return Ok(());
        }
        let log = self.logs.named(header.log_sequence.get());
        Err(redo_is_missing(&format!(
            "{log} begins with SCN {first}, and redo from SCN {expected} on is needed: the control \
             file and the redo logs are of different times"
        )))
    }

    /// Leaves the present log, in which there is no more redo for this reason. Goes on in the next
    /// log, sets the end, or refuses because redo is missing, with what the device says.
    pub(crate) fn leave_log(&mut self, reason: EndReason, session: &Session) -> Result<(), Stop> {
        let unreadable = self.unreadable.take();
        let left = self.leave_log_at(unreadable.as_ref().map(|(block, _)| *block), reason, session);
        match (left, unreadable) {
            (Err(Stop::Refused(refusal)), Some((_, error))) => {
                let message = format!("{refusal}; the device says: {error}");
                Err(Stop::refuse(RefusalKind::Io, message))
            }
            (left, _) => left,
        }
    }

    fn leave_log_at(
        &mut self,
        unreadable: Option<u32>,
        reason: EndReason,
        session: &Session,
    ) -> Result<(), Stop> {
        let sequence = self.cursor.sequence;
        let block = self.first_without_redo(reason);
        self.sync(sequence + 1, session)?;
        let newest = self.logs.newest();
        let is_empty = matches!(self.expected, Expected::AtMost(_));
        if is_empty {
            self.read_from_before(sequence, block, session)?;
        }
        if newest <= sequence {
            if is_empty {
                self.check_written_before(sequence, block, session)?;
            }
            self.check_not_begun(sequence + 1, session)?;
            self.find_lost_redo(block, unreadable, reason, session)?;
            self.set_end(sequence, block, reason);
            return Ok(());
        }
        let end = LogEnd { sequence, block, last_scn: self.last_scn(), reason };
        let missing = |found: String| {
            let next = self.logs.named(sequence + 1);
            redo_is_missing(&format!("{end}, in {}; but {next} {found}", self.logs.named(sequence)))
        };
        let Some(next) = self.logs.header(sequence + 1) else {
            return Err(self.logs.missing(format!(
                "redo is missing: {end}; but log {newest} has begun, and log {} is gone: {}; put \
                 the log back; if it is lost, {RESTORE_ALL}",
                sequence + 1,
                self.logs.contents()
            )));
        };
        let (previous_end, first_scn) = (next.previous_end.get(), next.first_scn.get());
        if ends_within_record(reason) || (previous_end != block && previous_end != 0) {
            return Err(missing(format!("says that it ended at block {previous_end}")));
        }
        if !self.expected.allows(first_scn) {
            return Err(missing(format!("begins with SCN {first_scn}")));
        }
        self.expected = Expected::Exactly(first_scn);
        self.enter_log(sequence + 1, 1);
        Ok(())
    }

    /// Learns the expected SCN from records before this block, where reading has begun without
    /// finding a record: a stamp behind the block would prove nothing otherwise. The records must
    /// be readable up to the block, but needn't be there: they aren't needed for anything else.
    fn read_from_before(&mut self, sequence: u32, end: u32, session: &Session) -> Result<(), Stop> {
        let (expected, cursor) = (self.expected, self.cursor);
        let first = self.logs.header(sequence).map(|header| header.first_scn.get());
        for start in (0..).map(|power| end.saturating_sub(1 << power).max(1)) {
            self.cursor = Cursor::before(sequence, start);
            if start == 1 {
                self.expected = first.map_or(expected, Expected::Exactly);
            }
            let reason = loop {
                match self.read_record(session) {
                    Ok(_) => {}
                    Err(NoRedo::Because(reason)) => break reason,
                    Err(NoRedo::Unread(error)) => return Err(error.into()),
                }
            };
            let is_known = matches!(self.expected, Expected::Exactly(_));
            if is_known && self.first_without_redo(reason) == end {
                break;
            }
            // The records don't begin there, or don't reach the block.
            self.expected = expected;
            if is_known || start == 1 {
                break;
            }
        }
        (self.cursor, self.unreadable) = (cursor, None);
        Ok(())
    }

    /// Checks that the block before this one, where reading has begun, was written. If it is an
    /// earlier log's, or was never written, the log is an older copy of itself (RD54). A block that
    /// can't be read, or isn't whole, proves nothing.
    fn check_written_before(
        &mut self,
        sequence: u32,
        block: u32,
        session: &Session,
    ) -> Result<(), Stop> {
        let before = block - 1;
        if before == 0 {
            return Ok(());
        }
        match self.block(sequence, before, session) {
            Err(NoRedo::Because(
                reason @ (EndReason::EarlierLife { .. } | EndReason::NeverWritten { .. }),
            )) => Err(redo_is_missing(&format!(
                "the checkpoint is at block {block} of {}, and {reason}: the log is an older copy \
                 of itself",
                self.logs.named(sequence)
            ))),
            _ => Ok(()),
        }
    }

    /// Checks that this log, which has no header in any group, has no first block either: a header
    /// is durable before that is written (RD6).
    fn check_not_begun(&self, sequence: u32, session: &Session) -> Result<(), Stop> {
        self.check_unreadable(sequence, session)?;
        for group in self.logs.groups() {
            let begins = match group.has_block(&self.logs.medium.owner, sequence, 1, session) {
                // A block that can't be read proves nothing.
                Err(error) if error.cause() == Cause::Device => {
                    let told = "the first block of a log that isn't needed is passed over:";
                    session.os().notice(&format!("{told} {error}"));
                    false
                }
                begins => begins?,
            };
            if begins {
                return Err(has_begun(group, sequence, 1));
            }
        }
        Ok(())
    }

    /// Checks the groups whose header can't be read. Such a header counts as a torn one only if the
    /// device works otherwise and the header stays unreadable (RD49).
    fn check_unreadable(&self, sequence: u32, session: &Session) -> Result<(), Stop> {
        for group in self.logs.unreadable() {
            self.check_behind_header(group, sequence, session)?;
            if let HeaderBlock::Log(header) = group.read_header(&self.logs.medium.owner, session)?
                && header.log_sequence.get() > self.logs.newest()
            {
                let message = format!(
                    "the header of {} can be read now, and couldn't before: look at the kernel's \
                     log and at the device, and try again",
                    group.first().path().display()
                );
                return Err(Stop::refuse(RefusalKind::Io, message));
            }
        }
        Ok(())
    }

    /// Checks that the first block behind a header that can be read isn't of this log. The power
    /// may have cut off the first redo of a log, too. Each step goes twice as far, so that a device
    /// that is gone isn't asked for each block.
    fn check_behind_header(
        &self,
        group: &OpenGroup,
        sequence: u32,
        session: &Session,
    ) -> Result<(), Stop> {
        let mut failed = None;
        for block in (0..u32::BITS).map(|power| 1 << power).take_while(|no| *no < group.blocks) {
            match group.has_block(&self.logs.medium.owner, sequence, block, session) {
                Ok(false) => return Ok(()),
                Ok(true) => return Err(has_begun(group, sequence, block)),
                Err(error) if error.cause() == Cause::Device => failed = failed.or(Some(error)),
                Err(error) => return Err(error.into()),
            }
        }
        Err(failed.expect("a log has blocks of redo").into())
    }

    /// Looks behind the end for a block with a stamp above the last SCN. A block that can't be
    /// read, or isn't whole, proves nothing. If redo ends at a block that can't be read, one behind
    /// it must be readable, and that one must stay unreadable (RD26).
    fn find_lost_redo(
        &mut self,
        end: u32,
        unreadable: Option<u32>,
        reason: EndReason,
        session: &Session,
    ) -> Result<(), Stop> {
        let (sequence, last) = (self.cursor.sequence, self.last_scn());
        let until = end.saturating_add(self.flight_blocks).saturating_add(1);
        let mut works = false;
        for number in end..until.min(self.logs.of(sequence).blocks) {
            let durable = match self.block(sequence, number, session) {
                Ok(block) => Some(block.durable),
                Err(NoRedo::Because(_)) => None,
                Err(NoRedo::Unread(error)) => {
                    session.os().notice(&format!(
                        "a block behind the end of the redo, at block {end} of log {sequence}, \
                         can't be read: {error}"
                    ));
                    continue;
                }
            };
            works |= unreadable.is_some_and(|block| number > block);
            if let Some(durable) = durable
                && durable > last
            {
                return Err(redo_is_missing(&format!(
                    "it can be read through SCN {last} only, to block {end} of {} ({reason}), but \
                     block {number} was written when SCN {durable} was durable",
                    self.logs.named(sequence)
                )));
            }
        }
        match unreadable {
            Some(block) => self.check_unreadable_end(block, works, session),
            None => Ok(()),
        }
    }

    /// Checks an end of redo at a block that can't be read: the device must work otherwise, and the
    /// block must stay unreadable. Behind the blocks in flight at the end of a log nothing lies
    /// that could be read, so there the log's header is read (RD53).
    fn check_unreadable_end(
        &mut self,
        block: u32,
        works: bool,
        session: &Session,
    ) -> Result<(), Stop> {
        let (sequence, last) = (self.cursor.sequence, self.last_scn());
        let group = self.logs.of(sequence);
        let log = self.logs.named(sequence);
        let is_last = group.blocks - block <= self.cut_blocks;
        let mut header = IoBuf::zeroed(REDO_BLOCK.bytes());
        let works = works || is_last && group.read_any(0, &mut header, session).is_ok();
        if !works {
            return Err(corrupt(format!(
                "redo can be read through SCN {last} only, because block {block} of {log} can't \
                 be read, nor any behind it that would tell whether the device works: look at the \
                 kernel's log and at the device, and try again; if log_buffer was larger when the \
                 database was open, open it with that (--set log_buffer=SIZE)"
            )));
        }
        match self.block(sequence, block, session) {
            Err(NoRedo::Unread(_)) => Ok(()),
            _ => Err(corrupt(format!(
                "block {block} of {log} can be read now, and couldn't before: look at the \
                 kernel's log and at the device, and try again"
            ))),
        }
    }
}

/// Checks that a log that is known to have begun, or a newer one, is there, unless reading begins
/// behind it (RD27).
pub(crate) fn check_newest(logs: &LogFiles, from: Rba, known: u32) -> Result<(), Stop> {
    if logs.newest() >= known || from.sequence > known {
        return Ok(());
    }
    Err(logs.missing(format!(
        "redo is missing: log {known} has begun, the control file says, and {}: the current log \
         was lost, or an older copy of it lies there; put it back; if it is lost, {RESTORE_ALL}",
        logs.contents()
    )))
}

fn has_begun(group: &OpenGroup, sequence: u32, block: u32) -> Stop {
    redo_is_missing(&format!(
        "{} has no header of log {sequence}, but block {block} of that log",
        group.first().path().display()
    ))
}

fn ends_within_record(reason: EndReason) -> bool {
    matches!(
        reason,
        EndReason::WrongScn { .. }
            | EndReason::BadRecord { .. }
            | EndReason::BrokenRecord { .. }
            | EndReason::CutOff { .. }
    )
}
