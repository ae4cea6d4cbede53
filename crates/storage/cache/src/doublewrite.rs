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
//! What a read shows needn't be durable: after a sync that failed nothing is known (M11), and a
//! process that was killed may not have synced yet. So the file is synced before a copy is used;
//! and a block that is at home what its copy is, or older, is written home again as it is: the
//! write that was to follow its copy may have failed, and yet come to the medium, torn, when the
//! power goes. Until then its copy must not be overwritten (CB28).
//!
//! A copy whose block at home is broken, or is what the copy is, was durable before that block was
//! written home. It isn't written again: the power cut might leave it unreadable, and the block has
//! no other. A copy whose block at home is older may be from a batch whose sync failed, and is
//! written again where it lies.
//!
//! Invariants
//!   * a block that is valid at home is never overwritten with anything else (CB14)
//!   * of several copies of one block the newest SCN, then sequence, counts
//!   * only a copy that is newer than the checkpoint, and whose redo is there, is used: older and
//!     newer ones are left over from another time
//!
//! Caller: recovery, after it has found the end of the redo and before it changes a block.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

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
    /// Where it lies in the doublewrite file.
    at: u64,
}

/// What a block is at home, beside its newest copy.
enum Home {
    /// Whole and newer: its copy's time has gone.
    Newer,
    /// Whole, and what its copy is.
    Same(IoBuf),
    /// Whole and older.
    Older(IoBuf),
    Broken,
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
    let mut homes = Vec::with_capacity(copies.len());
    for (address, copy) in copies {
        found.examined += 1;
        homes.push((address, look_home(files, address, &copy, session)?, copy));
    }
    secure(files, doublewrite, &homes, session)?;
    let mut written: Vec<&File> = Vec::new();
    for (address, home, copy) in &homes {
        let image = match home {
            Home::Newer => continue,
            Home::Same(home) | Home::Older(home) => home,
            Home::Broken => &copy.image,
        };
        let (_, file, size) = file_of(files, *address).expect("a copy is of a file");
        let waiting = session.waiting(WaitEvent::DbFileParallelWrite);
        file.write_at(address.block.byte_offset(*size), image, waiting.p(1, 0, 0))?;
        if written.iter().all(|written| written.path() != file.path()) {
            written.push(file);
        }
        if matches!(home, Home::Broken) {
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

/// Reads a block where it is at home, and compares it with its copy.
fn look_home(
    files: &[DataFile],
    address: Dba,
    copy: &Newest,
    session: &Session,
) -> Result<Home, Stop> {
    let (number, file, size) = file_of(files, address).expect("a copy is of a file");
    let mut home = IoBuf::zeroed(size.bytes());
    let named = (u64::from(number.get()), u64::from(address.block.get()));
    let waiting = session.waiting(WaitEvent::DbFileSequentialRead).p(named.0, named.1, 1);
    match file.read_at(address.block.byte_offset(*size), &mut home, waiting) {
        // A device may say so of a block whose write the power cut off (CB14).
        Err(error) if error.cause() == Cause::Device => {
            session.os().notice(&format!("a block is written from its copy, for I {error}"));
            return Ok(Home::Broken);
        }
        read => read?,
    }
    session.charge(Cost::ChecksumKib, kib(home.len()));
    // Zeros are mended too: a torn first write may have left nothing.
    Ok(match format::check(&home, address) {
        Err(_) => Home::Broken,
        Ok(header) => match (header.changed(), header.sequence()).cmp(&copy.version) {
            Ordering::Greater => Home::Newer,
            Ordering::Equal => Home::Same(home),
            Ordering::Less => Home::Older(home),
        },
    })
}

/// Makes the copies durable (CB28). Those are written again, as they are, beside which no home says
/// that their batch was synced.
fn secure(
    files: &[DataFile],
    doublewrite: &File,
    homes: &[(Dba, Home, Newest)],
    session: &Session,
) -> Result<(), Stop> {
    let unit = unit_of(files, doublewrite);
    let units = |copy: &Newest| copy.at / unit..(copy.at + copy.image.len() as u64).div_ceil(unit);
    let of = |is_it: fn(&Home) -> bool| -> BTreeSet<u64> {
        let those = homes.iter().filter(|(_, home, _)| is_it(home));
        those.flat_map(|(.., copy)| units(copy)).collect()
    };
    let synced = of(|home| matches!(home, Home::Same(_) | Home::Broken));
    let doubtful = of(|home| matches!(home, Home::Older(_)));
    let again: Vec<u64> = doubtful.difference(&synced).copied().collect();
    let runs = again.chunk_by(|one, next| one + 1 == *next);
    for run in runs.flat_map(|run| run.chunks((READ_BYTES as u64 / unit) as usize)) {
        let mut bytes = IoBuf::zeroed(run.len() * unit as usize);
        let reads = session.waiting(WaitEvent::DbFileScatteredRead);
        doublewrite.read_at(run[0] * unit, &mut bytes, reads.p(0, run[0], run.len() as u64))?;
        let writes = session.waiting(WaitEvent::DbFileParallelWrite);
        doublewrite.write_at(run[0] * unit, &bytes, writes.p(1, 0, 0))?;
    }
    if !homes.is_empty() && !doublewrite.options().write_through {
        doublewrite.sync(session.waiting(WaitEvent::DbFileParallelWrite))?;
    }
    Ok(())
}

/// The doublewrite file is read and written by multiples of so many bytes: direct I/O may want more
/// than a block (CB17).
fn unit_of(files: &[DataFile], doublewrite: &File) -> u64 {
    let smallest = files.iter().map(|(.., size)| size.bytes()).min().unwrap_or(1);
    (smallest as u64).max(doublewrite.alignment().offset.into())
}

/// The file of this block, if the database has it still.
fn file_of(files: &[DataFile], address: Dba) -> Option<&DataFile> {
    files.iter().find(|(number, ..)| *number == address.file)
}

/// For each block its newest copy of those whose SCN is above the first and not above the second.
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
    let unit = unit_of(files, doublewrite) as usize;
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
        while at < stop {
            let rest = &mut bytes[at..stop];
            match look(files, rest, smallest) {
                Look::Copy(size, address, version) => {
                    found.copies += 1;
                    let in_question = from < version.0 && version.0 <= through;
                    if in_question && newest.get(&address).is_none_or(|have| have.version < version)
                    {
                        let image = IoBuf::copy_of(&rest[..size]);
                        let at = offset - (stop - at) as u64;
                        newest.insert(address, Newest { version, image, at });
                    }
                    at += size;
                }
                Look::Cut if offset < end => break,
                Look::Cut | Look::Nothing => at += smallest,
            }
        }
        kept = stop.saturating_sub(at);
        bytes.copy_within(stop - kept..stop, KEPT_MAX - kept);
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
