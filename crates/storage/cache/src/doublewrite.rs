//! Mending torn blocks from their copies, before recovery rolls forward.
//!
//! ```text
//!   doublewrite file      a region of writer 0    the next region        …
//!                       ┌──────┬───┬─┬── … ──┬──────┬──────┬── … ──┐
//!                       │ copy │   │ │       │ copy │ copy │       │   sealed blocks, each as
//!                       └──────┴───┴─┴── … ──┴──────┴──────┴── … ──┘   long as its file's are
//! ```
//!
//! A batch's copies lie side by side from the start of its region. A copy doesn't say
//! whether its block was written home: it is a sealed block, which names itself. So every copy that
//! is whole and new enough is a candidate, and only where the block at home isn't whole does it
//! matter. Where one ends the next begins, of any size; so the file is read from front to end, and
//! where nothing begins that is a block of the size that its file has, the next place is looked at.
//!
//! What a read shows needn't be durable: after a sync that failed nothing is known (M11), and who
//! was killed may not have synced yet. So copies are written again where they lie, and synced,
//! before one is used; and a block that is at home what its copy is, or older, is written home
//! again as it is: the write that was to follow its copy may have failed, and yet come to the
//! medium, torn, when the power goes. Until then its copy must not be overwritten (CB28).
//!
//! Invariants
//!   * a block that is valid at home is never overwritten with anything else (CB14)
//!   * of several copies of one block the newest SCN, then sequence, counts
//!   * only a copy that is newer than the checkpoint, and whose redo is there, is used: older and
//!     newer ones are left over from another time
//!
//! Caller: recovery, after it has found the end of the redo and before it changes a block.

use std::collections::BTreeMap;

use format::BlockHeader;
use ids::{BlockSize, Dba, FileNo, Scn};
use os::{Cause, Cost, File, IoBuf, Session};
use stop::Stop;
use waits::WaitEvent;

use crate::get::kib;

/// Copies are read in pieces of so many bytes.
const READ_BYTES: usize = 1 << 20;
/// What is left of one piece for the next: a block that may go on there, at most.
const KEPT_MAX: usize = BlockSize::KIB_32.bytes();
/// A file of the database: its number, itself, and its block size.
type DataFile = (FileNo, File, BlockSize);

/// What a mending found and did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Restored {
    /// Copies that are a whole block.
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
    files: &[(FileNo, File, BlockSize)],
    doublewrite: &File,
    from: Scn,
    through: Scn,
    session: &Session,
) -> Result<Restored, Stop> {
    let mut found = Restored::default();
    let copies = newest_copies(files, doublewrite, (from, through), &mut found, session)?;
    let mut written: Vec<&File> = Vec::new();
    if !copies.is_empty() && !doublewrite.options().write_through {
        doublewrite.sync(session.waiting(WaitEvent::DbFileParallelWrite))?;
    }
    for (address, copy) in &copies {
        let (number, file, size) = file_of(files, *address).expect("a copy is of a file");
        found.examined += 1;
        let offset = address.block.byte_offset(*size);
        let mut home = IoBuf::zeroed(size.bytes());
        let named = (u64::from(number.get()), u64::from(address.block.get()));
        let waiting = session.waiting(WaitEvent::DbFileSequentialRead);
        match file.read_at(offset, &mut home, waiting.p(named.0, named.1, 1)) {
            // A device may say so of a block whose write the power cut off (CB14).
            Err(error) if error.cause() == Cause::Device => {
                session.os().notice(&format!("a block is written from its copy, for I {error}"));
                home.fill(0);
            }
            read => read?,
        }
        session.charge(Cost::ChecksumKib, kib(home.len()));
        // Zeros are mended too: a torn first write may have left nothing.
        let is_whole = match format::check(&home, *address) {
            Ok(header) if (header.changed(), header.sequence()) > copy.version => continue,
            checked => checked.is_ok(),
        };
        let image = if is_whole { &home } else { &copy.image };
        let waiting = session.waiting(WaitEvent::DbFileParallelWrite);
        file.write_at(offset, image, waiting.p(1, 0, 0))?;
        if written.iter().all(|written| written.path() != file.path()) {
            written.push(file);
        }
        if !is_whole {
            found.restored.push(*address);
        }
    }
    for file in written {
        if !file.options().write_through {
            file.sync(session.waiting(WaitEvent::DbFileParallelWrite))?;
        }
    }
    Ok(found)
}

/// The file of this block, if the database has it still.
fn file_of(files: &[DataFile], address: Dba) -> Option<&DataFile> {
    files.iter().find(|(number, ..)| *number == address.file)
}

/// For each block its newest copy of those whose SCN is above the first and not above the second.
/// Each is written again where it lies.
fn newest_copies(
    files: &[DataFile],
    doublewrite: &File,
    (from, through): (Scn, Scn),
    found: &mut Restored,
    session: &Session,
) -> Result<BTreeMap<Dba, Newest>, Stop> {
    let mut newest: BTreeMap<Dba, Newest> = BTreeMap::new();
    let Some(smallest) = files.iter().map(|(.., size)| size.bytes()).min() else {
        return Ok(newest);
    };
    // Direct I/O wants multiples of this, which may be longer than a block (CB17).
    let unit = smallest.max(doublewrite.alignment().offset as usize);
    let end = doublewrite.length()? / unit as u64 * unit as u64;
    // What is kept of the piece before lies in front of the next one.
    let piece_max = READ_BYTES.min(usize::try_from(end).unwrap_or(READ_BYTES));
    let mut bytes = IoBuf::zeroed(KEPT_MAX + piece_max);
    let (mut kept, mut offset) = (0, 0);
    while offset < end {
        let piece = (READ_BYTES as u64).min(end - offset) as usize;
        let part = &mut bytes[KEPT_MAX..][..piece];
        let waiting = session.waiting(WaitEvent::DbFileScatteredRead);
        let blocks = (piece / smallest) as u64;
        match doublewrite.read_at(offset, part, waiting.p(0, offset / smallest as u64, blocks)) {
            Err(error) if error.cause() == Cause::Device => {
                read_by_unit(doublewrite, offset, part, unit, session)?;
            }
            read => read?,
        }
        session.charge(Cost::ChecksumKib, kib(piece));
        offset += piece as u64;
        let (mut at, stop) = (KEPT_MAX - kept, KEPT_MAX + piece);
        let mut used: Option<std::ops::Range<usize>> = None;
        while at < stop {
            let rest = &mut bytes[at..stop];
            match look(files, rest, smallest) {
                Look::Copy(size, address, version) => {
                    found.copies += 1;
                    let in_question = from < version.0 && version.0 <= through;
                    if in_question && newest.get(&address).is_none_or(|have| have.version < version)
                    {
                        let image = IoBuf::copy_of(&rest[..size]);
                        newest.insert(address, Newest { version, image });
                        used = Some(used.map_or(at, |used| used.start)..at + size);
                    }
                    at += size;
                }
                Look::Cut if offset < end => break,
                Look::Cut | Look::Nothing => at += smallest,
            }
        }
        if let Some(used) = used {
            let used = used.start / unit * unit..used.end.next_multiple_of(unit);
            let place = offset - (stop - used.start) as u64;
            let waiting = session.waiting(WaitEvent::DbFileParallelWrite);
            let copies = IoBuf::copy_of(&bytes[used]);
            doublewrite.write_at(place, &copies, waiting.p(1, 0, 0))?;
        }
        kept = stop.saturating_sub(at);
        // From a multiple of the unit on, so that it can be written again.
        bytes
            .copy_within((stop - kept) / unit * unit..stop, KEPT_MAX - kept.next_multiple_of(unit));
    }
    Ok(newest)
}

/// Reads a piece unit by unit. One that the device can't read is no copy, as a torn one isn't: the
/// power may have cut off its write, and the next batch writes it. It becomes zeros.
fn read_by_unit(
    doublewrite: &File,
    offset: u64,
    piece: &mut [u8],
    unit: usize,
    session: &Session,
) -> Result<(), Stop> {
    let mut failed = None;
    for (part, nth) in piece.chunks_mut(unit).zip(0..) {
        let at = offset + nth * unit as u64;
        let waiting = session.waiting(WaitEvent::DbFileScatteredRead);
        match doublewrite.read_at(at, part, waiting.p(0, at / unit as u64, 1)) {
            Err(error) if error.cause() == Cause::Device => {
                part.fill(0);
                failed = failed.or(Some(error));
            }
            read => read?,
        }
    }
    if let Some(error) = failed {
        session.os().notice(&format!("a copy that can't be read is passed over, for I {error}"));
    }
    Ok(())
}

/// What begins at some place.
enum Look {
    /// A whole block of so many bytes, and its version.
    Copy(usize, Dba, (Scn, u32)),
    /// The head of a block that doesn't end here.
    Cut,
    Nothing,
}

fn look(files: &[DataFile], bytes: &mut [u8], smallest: usize) -> Look {
    assert!(bytes.len() >= smallest);
    let header = BlockHeader::of_mut(bytes);
    let (address, version) = (header.address(), (header.changed(), header.sequence()));
    // A file that the database doesn't have any more has no copies either.
    let Some((.., size)) = file_of(files, address) else { return Look::Nothing };
    match bytes.get(..size.bytes()) {
        None => Look::Cut,
        Some(block) if format::check(block, address).is_ok() => {
            Look::Copy(size.bytes(), address, version)
        }
        Some(_) => Look::Nothing,
    }
}
