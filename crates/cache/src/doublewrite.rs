//! Mending torn blocks from their copies, before recovery rolls forward.
//!
//! ```text
//!   doublewrite file      region of writer 0      region of writer 1     …
//!                       ┌──────┬──────┬── … ──┬──────┬──────┬── … ──┐
//!                       │ slot │ slot │       │ slot │ slot │       │   one block each, sealed
//!                       └──────┴──────┴── … ──┴──────┴──────┴── … ──┘
//! ```
//!
//! A slot doesn't say whether its block was written home: each holds a sealed block, which names
//! itself. So every copy that is whole and new enough is a candidate, and only where the block at
//! home isn't whole does it matter.
//!
//! Invariants
//!   * a block that is valid at home is never overwritten (CB14)
//!   * of several copies of one block the newest SCN, then sequence, counts
//!   * only a copy that is newer than the checkpoint, and whose redo is there, is used: older and
//!     newer ones are left over from another time
//!
//! Caller: recovery, after it has found the end of the redo and before it changes a block.

use std::collections::BTreeMap;

use format::BlockHeader;
use ids::{BlockSize, Dba, FileNo, Scn};
use os::{Cost, File, IoBuf, Session};
use stop::Stop;
use waits::WaitEvent;

use crate::files::Files;
use crate::get::kib;

/// Slots are read in pieces of so many bytes.
const READ_BYTES: usize = 1 << 20;

/// What a mending found and did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Restored {
    /// Slots that hold a whole block.
    pub copies: u32,
    /// Blocks that had a copy in question, and so were looked at.
    pub examined: u32,
    /// Blocks that were not whole at home, and are now.
    pub restored: Vec<Dba>,
}

/// The newest copy of one block.
struct Newest {
    version: (Scn, u32),
    image: IoBuf,
}

/// Writes the copy of every block home that isn't valid there, and makes it durable. `from` is the
/// checkpoint: every change with that SCN or a lower one is on disk. `through` is the highest SCN
/// in the redo.
pub fn restore(
    files: &[(FileNo, File)],
    doublewrite: &File,
    block_size: BlockSize,
    from: Scn,
    through: Scn,
    session: &Session,
) -> Result<Restored, Stop> {
    let mut found = Restored::default();
    let copies = newest_copies(doublewrite, block_size, (from, through), &mut found, session)?;
    let files = Files::new(files.to_vec(), block_size);
    let mut written = vec![false; files.count()];
    let mut home = IoBuf::zeroed(block_size.bytes());
    for (address, copy) in &copies {
        // A file that the database doesn't have any more.
        let Some(place) = files.place(*address) else { continue };
        found.examined += 1;
        let (file, offset) = files.locate(*address)?;
        let named = (u64::from(address.file.get()), u64::from(address.block.get()));
        let waiting = session.waiting(WaitEvent::DbFileSequentialRead);
        file.read_at(offset, &mut home, waiting.p(named.0, named.1, 1))?;
        session.charge(Cost::ChecksumKib, kib(home.len()));
        // Zeros are mended too: a torn first write may have left nothing.
        if format::check(&home, *address).is_ok() {
            continue;
        }
        let waiting = session.waiting(WaitEvent::DbFileParallelWrite);
        file.write_at(offset, &copy.image, waiting.p(1, 0, 0))?;
        written[place] = true;
        found.restored.push(*address);
    }
    for (place, _) in written.iter().enumerate().filter(|(_, written)| **written) {
        if !files.at(place).options().write_through {
            files.at(place).sync(session.waiting(WaitEvent::DbFileParallelWrite))?;
        }
    }
    Ok(found)
}

/// For each block its newest copy of those whose SCN is above the first and not above the second.
fn newest_copies(
    doublewrite: &File,
    block_size: BlockSize,
    (from, through): (Scn, Scn),
    found: &mut Restored,
    session: &Session,
) -> Result<BTreeMap<Dba, Newest>, Stop> {
    let mut newest: BTreeMap<Dba, Newest> = BTreeMap::new();
    let bytes = block_size.bytes() as u64;
    let end = doublewrite.length()? / bytes * bytes;
    let piece = (READ_BYTES as u64).min(end);
    if piece == 0 {
        return Ok(newest);
    }
    let mut slots = IoBuf::zeroed(piece as usize);
    let mut offset = 0;
    while offset < end {
        let part = &mut slots[..piece.min(end - offset) as usize];
        let blocks = part.len() as u64 / bytes;
        let waiting = session.waiting(WaitEvent::DbFileScatteredRead);
        doublewrite.read_at(offset, part, waiting.p(0, offset / bytes, blocks))?;
        session.charge(Cost::ChecksumKib, kib(part.len()));
        for slot in part.chunks_mut(block_size.bytes()) {
            let header = BlockHeader::of_mut(slot);
            let (address, version) = (header.address(), (header.changed(), header.sequence()));
            if format::check(slot, address).is_err() {
                continue;
            }
            found.copies += 1;
            let in_question = from < version.0 && version.0 <= through;
            if in_question && newest.get(&address).is_none_or(|have| have.version < version) {
                newest.insert(address, Newest { version, image: IoBuf::copy_of(slot) });
            }
        }
        offset += piece;
    }
    Ok(newest)
}
