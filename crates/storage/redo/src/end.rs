//! Where redo ends, and why, as exactly as it can be said.
//!
//! Callers: the reader; `recovery`, which goes on from there.

use std::fmt;
use std::path::Path;

use format::{BlockFault, BlockKind, RESTORE_ALL};
use ids::{Dba, Rba, Scn};
use stop::Stop;

use crate::log_file::corrupt;
use crate::record::RecordFault;

/// Where redo ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogEnd {
    /// The last log.
    pub sequence: u32,
    /// The first block without redo.
    pub block: u32,
    /// SCN of the last record; if there is none, the SCN before the expected one.
    pub last_scn: Scn,
    /// Why redo ends there.
    pub reason: EndReason,
}

impl LogEnd {
    /// The log to begin next.
    pub fn next_sequence(&self) -> u32 {
        match self.reason {
            EndReason::NotBegun => self.sequence,
            _ => self.sequence.checked_add(1).expect("4 billion logs were written"),
        }
    }

    /// Refuses if the last change of a block lies behind the end. Redo is durable before a block is
    /// written, so redo is missing (RD27).
    pub fn check_reaches(&self, block: Dba, file: &Path, changed: Scn) -> Result<(), Stop> {
        if changed <= self.last_scn {
            return Ok(());
        }
        let file = file.display();
        Err(corrupt(format!(
            "redo is missing: {self}; but block {block}, of {file}, was changed at SCN {changed}: \
             the redo logs, or the file, are a copy of another time; put back what belongs \
             together; if it is lost, {RESTORE_ALL}"
        )))
    }

    /// What the next log says about the end of this one; 0 if it isn't known.
    pub fn previous_end(&self) -> u32 {
        match self.reason {
            EndReason::NotBegun => 0,
            _ => self.block,
        }
    }
}

impl fmt::Display for LogEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LogEnd { sequence, block, last_scn, reason } = self;
        write!(f, "redo ends at log {sequence} block {block}, after SCN {last_scn}: {reason}")
    }
}

/// Why redo ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndReason {
    /// The log is full, and the next was not begun.
    EndOfLastLog,
    /// The log where reading was to begin has not begun; the one before is the newest.
    NotBegun,
    /// The block is all zeros, as it was when the file was made.
    NeverWritten {
        /// The block.
        address: Dba,
    },
    /// The block was written for an earlier log of this group.
    EarlierLife {
        /// The block.
        address: Dba,
        /// The log for which it was written.
        found: u32,
    },
    /// The block was written for a log that isn't there yet.
    LaterLife {
        /// The block.
        address: Dba,
        /// The log for which it was written.
        found: u32,
    },
    /// The block isn't what was sealed: it is torn, has rotted, or was never a block.
    Damaged {
        /// What is wrong with it.
        fault: BlockFault,
    },
    /// No member can read the block.
    Unreadable {
        /// The block.
        address: Dba,
    },
    /// Another block lies in its place.
    WrongAddress {
        /// The block.
        address: Dba,
        /// The block that lies there.
        found: Dba,
    },
    /// The block isn't a block of redo, or no header where a header belongs.
    OtherKind {
        /// The block.
        address: Dba,
        /// The kind that it has.
        found: BlockKind,
    },
    /// The block belongs to another database.
    OtherDatabase {
        /// The block.
        address: Dba,
        /// The database that it belongs to.
        found: u64,
    },
    /// The block is the header of a log of another incarnation of the database.
    OtherIncarnation {
        /// The block.
        address: Dba,
        /// The incarnation that it belongs to.
        found: u32,
        /// The SCN at which that incarnation began.
        began: Scn,
    },
    /// What the block says of its records can't be true.
    BadBlock {
        /// The block.
        address: Dba,
        /// Bytes of records, as the block says.
        used: u16,
        /// Where the first record begins, as the block says.
        first_record: u16,
    },
    /// A record goes on in this block, but the block doesn't say so.
    BrokenRecord {
        /// Where the record begins.
        rba: Rba,
        /// The block in which it goes on.
        block: u32,
    },
    /// A record's SCN isn't the one after that of the record before.
    WrongScn {
        /// Where the record begins.
        rba: Rba,
        /// The expected SCN.
        expected: Scn,
        /// The SCN that was found.
        found: Scn,
    },
    /// The bytes aren't a record.
    BadRecord {
        /// Where the record begins.
        rba: Rba,
        /// What is wrong with it.
        fault: RecordFault,
    },
    /// A record begins, and the block in which it goes on isn't there.
    CutOff {
        /// Where the record begins.
        rba: Rba,
        /// The block that isn't there.
        block: u32,
    },
}

impl EndReason {
    /// Whether a whole block of something else lies there.
    pub(crate) fn is_foreign(&self) -> bool {
        matches!(
            self,
            EndReason::OtherDatabase { .. }
                | EndReason::OtherIncarnation { .. }
                | EndReason::WrongAddress { .. }
                | EndReason::OtherKind { .. }
        )
    }
}

impl fmt::Display for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EndReason::EndOfLastLog => write!(f, "the log is full and the next was not begun"),
            EndReason::NotBegun => write!(f, "this log was not begun"),
            EndReason::NeverWritten { address } => write!(f, "block {address} was never written"),
            EndReason::EarlierLife { address, found } => {
                write!(f, "block {address} is left from log {found}")
            }
            EndReason::LaterLife { address, found } => {
                write!(f, "block {address} belongs to log {found}, which has not begun")
            }
            EndReason::Damaged { fault } => {
                // A crash leaves torn blocks, so what a fault advises doesn't follow.
                let fault = fault.to_string();
                write!(f, "{}", fault.split("; ").next().unwrap_or(&fault))
            }
            EndReason::Unreadable { address } => write!(f, "block {address} can't be read"),
            EndReason::WrongAddress { address, found } => {
                write!(f, "block {found} lies where {address} belongs")
            }
            EndReason::OtherKind { address, found } => {
                write!(f, "block {address} has another kind than it should: {found}")
            }
            EndReason::OtherDatabase { address, found } => {
                write!(f, "block {address} belongs to database {found:016x}")
            }
            EndReason::OtherIncarnation { address, found, began } => write!(
                f,
                "block {address} belongs to incarnation {found} of the database, which began at \
                 SCN {began}"
            ),
            EndReason::BadBlock { address, used, first_record } => write!(
                f,
                "block {address} says that it has {used} bytes of records, the first from \
                 {first_record}"
            ),
            EndReason::BrokenRecord { rba, block } => {
                write!(f, "the record at {rba} goes on in block {block}, which says otherwise")
            }
            EndReason::WrongScn { rba, expected, found } => {
                write!(f, "the record at {rba} has SCN {found} instead of {expected}")
            }
            EndReason::BadRecord { rba, fault } => {
                write!(f, "the record at {rba} can't be one: {fault}")
            }
            EndReason::CutOff { rba, block } => {
                write!(f, "the record at {rba} goes on in block {block}, which isn't there")
            }
        }
    }
}
