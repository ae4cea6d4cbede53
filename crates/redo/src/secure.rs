//! Making the end of the redo durable before anything is done again from it (RD17).
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
//!
//! Caller: `recovery`, between reading the redo and the first block that it writes.

use format::{REDO_BLOCK, RedoBlock, RedoRecord};
use ids::{BlockNo, Scn};
use os::{Disk, IoBuf, Session};
use stop::Stop;
use waits::WaitEvent;

use crate::batch::BLOCK_HEAD;
use crate::log_file::{LogFiles, corrupt};
use crate::{EndReason, LogEnd, RedoConfig};

/// Writes again, durably, all redo before this end of which no block says that it is durable; of a
/// log without redo its header. How many blocks that were.
pub fn secure(
    disk: &Disk,
    config: &RedoConfig,
    end: &LogEnd,
    session: &Session,
) -> Result<u32, Stop> {
    // All of the logs before it was durable when this one was begun (RD6), and its header was when
    // its first block was written.
    if end.reason == EndReason::NotBegun {
        return Ok(0);
    }
    let logs = LogFiles::open(disk, config, session)?;
    let mut blocks = config.buffer_blocks().min(end.block - 1).max(1);
    loop {
        let first = end.block - blocks;
        let bytes = read(&logs, end, first, session)?;
        let stamp = format::check(&bytes[bytes.len() - REDO_BLOCK.bytes()..], address(&logs, end))
            .map_err(|fault| corrupt(format!("{end}: and now {fault}; check the device")))?
            .changed();
        let count = bytes.len() / REDO_BLOCK.bytes();
        let known = (0..count).rev().find(|at| first_scn(&bytes, *at).is_some_and(|s| s <= stamp));
        match known {
            _ if first == 0 => return write(&logs, end, 0, &bytes, session),
            None if first > 1 => blocks = (2 * blocks).min(end.block - 1),
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
) -> Result<u32, Stop> {
    let blocks = (bytes.len() / REDO_BLOCK.bytes()) as u32;
    let waiting = session.waiting(WaitEvent::LogFileParallelWrite).p(1, blocks.into(), 1);
    logs.write(end.sequence, first, bytes, waiting)?;
    Ok(blocks)
}

/// The blocks of the last log from this one to the end.
fn read(logs: &LogFiles, end: &LogEnd, first: u32, session: &Session) -> Result<IoBuf, Stop> {
    let blocks = end.block - first;
    let mut bytes = IoBuf::zeroed(blocks as usize * REDO_BLOCK.bytes());
    let group = logs.group_of(end.sequence);
    let waiting = session.waiting(WaitEvent::LogFileSequentialRead);
    let waiting = waiting.p(group.into(), first.into(), blocks.into());
    logs.of_group(group).read_at(
        BlockNo::new(first).byte_offset(REDO_BLOCK),
        &mut bytes,
        waiting,
    )?;
    Ok(bytes)
}

/// The address of the last block with redo, or of the header.
fn address(logs: &LogFiles, end: &LogEnd) -> ids::Dba {
    logs.address(end.sequence, end.block - 1)
}

/// The SCN of the first record that begins in this block, if one does.
fn first_scn(bytes: &[u8], block: usize) -> Option<Scn> {
    let start = block * REDO_BLOCK.bytes();
    let head = RedoBlock::at(bytes, start + RedoBlock::START);
    let (first, used) = (usize::from(head.first_record.get()), usize::from(head.used.get()));
    let whole = first + RedoRecord::BYTES <= used && BLOCK_HEAD + used <= REDO_BLOCK.bytes();
    whole.then(|| RedoRecord::at(bytes, start + BLOCK_HEAD + first).scn.get())
}
