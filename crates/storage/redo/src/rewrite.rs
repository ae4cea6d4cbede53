//! Making the end of the redo durable before recovery writes a block (RD17).
//!
//! ```text
//!        … │ durable, a later block says so │ perhaps not: written again │ end
//!                                           ▲ the block with the first record above the last
//!                                             block's stamp
//! ```
//!
//! After a sync that failed, reads show what was written, and no later sync writes it. A recovery
//! that believed them would bring blocks to disk whose redo is lost with the next power cut. The
//! blocks are written as they are: where one is durable already, that changes no byte, torn or not.
//! Where the power cut leaves a block unreadable, only another member has it: so members are
//! written one after the other (RD56).
//!
//! Caller: `recovery`, between reading the redo and the first block that it writes.

use std::path::PathBuf;

use format::{REDO_BLOCK, RedoBlock, RedoRecord};
use ids::{Rba, Scn};
use os::{Disk, IoBuf, Session};
use stop::Stop;
use waits::WaitEvent;

use crate::batch::BLOCK_HEAD;
use crate::log_file::corrupt;
use crate::log_files::LogFiles;
use crate::{EndReason, LogEnd, RedoConfig};

/// What was written again.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct TailRewrite {
    /// Blocks that were written again.
    pub blocks: u32,
    /// Members that could not be written. They are invalid, and the caller has that written down
    /// before it goes on.
    pub lost: Vec<PathBuf>,
}

/// Writes again, durably and to every good member, all redo from `from` to `end` of which no block
/// says that it is durable; of a log without redo its header.
pub fn rewrite_tail(
    disk: &Disk,
    config: &RedoConfig,
    from: Rba,
    end: &LogEnd,
    session: &Session,
) -> Result<TailRewrite, Stop> {
    // The logs before were durable when this one was begun, and its header was when its first block
    // was written (RD6). The header was durable, too, if the control file knows the log (RD27).
    let is_known = end.block == 1 && end.sequence <= config.newest_log;
    if end.reason == EndReason::NotBegun || is_known {
        return Ok(TailRewrite::default());
    }
    // Nobody needs what lies below the place where reading begins, and it may be anything.
    let lowest = if from.sequence == end.sequence { from.block.max(1) } else { 1 };
    if end.block > 1 && end.block <= lowest {
        return Ok(TailRewrite::default());
    }
    let most = (end.block - lowest).max(1);
    let logs = LogFiles::open(disk, config, session)?;
    if logs.holding(end.sequence).is_none() {
        return Err(logs.missing(format!(
            "{end}; and now that log isn't there: {}; look at the kernel's log and at the device, \
             and try again",
            logs.contents()
        )));
    }
    let mut blocks = config.buffer_blocks().min(most);
    loop {
        let first = end.block - blocks;
        let bytes = read(&logs, end, first, session)?;
        let last = logs.of(end.sequence).address(end.block - 1);
        let stamp = format::check(&bytes[bytes.len() - REDO_BLOCK.bytes()..], last)
            .map_err(|fault| {
                let (log, reason) = (logs.named(end.sequence), EndReason::from(fault));
                corrupt(format!(
                    "{end}; and now, in {log}, {reason}; look at the kernel's log and at the \
                     device, and try again"
                ))
            })?
            .changed();
        let count = bytes.len() / REDO_BLOCK.bytes();
        let known = (0..count).rev().find(|at| first_scn(&bytes, *at).is_some_and(|s| s <= stamp));
        match known {
            _ if first == 0 => return write(&logs, end, 0, &bytes, session),
            None if first > lowest => blocks = (2 * blocks).min(most),
            known => {
                let from = known.unwrap_or(0);
                let tail = &bytes[from * REDO_BLOCK.bytes()..];
                return write(&logs, end, first + from as u32, tail, session);
            }
        }
    }
}

fn write(
    logs: &LogFiles,
    end: &LogEnd,
    first: u32,
    bytes: &[u8],
    session: &Session,
) -> Result<TailRewrite, Stop> {
    let (group, blocks) = (logs.of(end.sequence), (bytes.len() / REDO_BLOCK.bytes()) as u32);
    let copies = group.copies();
    let waiting = session.waiting(WaitEvent::LogFileParallelWrite);
    let waiting = waiting.p(copies, copies * u64::from(blocks), copies);
    let failed = group.write_in_turn(&logs.medium, first, bytes, waiting)?;
    for failed in &failed {
        session.os().notice(&format!("a member of a redo log is invalid: {}", failed.error));
    }
    Ok(TailRewrite { blocks, lost: failed.into_iter().map(|failed| failed.path).collect() })
}

/// The blocks of the last log from `first` to the end, each from a member that has it.
fn read(logs: &LogFiles, end: &LogEnd, first: u32, session: &Session) -> Result<IoBuf, Stop> {
    let mut bytes = IoBuf::zeroed((end.block - first) as usize * REDO_BLOCK.bytes());
    let group = logs.of(end.sequence);
    let mut at = first;
    while at < end.block {
        let there = (at - first) as usize * REDO_BLOCK.bytes();
        at += group.read_any(at, &mut bytes[there..], session)?;
    }
    logs.complete(end.sequence, first, &mut bytes, session);
    Ok(bytes)
}

/// The SCN of the first record that begins in this block, if one begins there.
fn first_scn(bytes: &[u8], block: usize) -> Option<Scn> {
    let start = block * REDO_BLOCK.bytes();
    let head = RedoBlock::at(bytes, start + RedoBlock::START);
    let (first, used) = (usize::from(head.first_record.get()), usize::from(head.used.get()));
    let whole = first + RedoRecord::BYTES <= used && BLOCK_HEAD + used <= REDO_BLOCK.bytes();
    whole.then(|| RedoRecord::at(bytes, start + BLOCK_HEAD + first).scn.get())
}
