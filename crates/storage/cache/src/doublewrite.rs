//! Mending torn blocks from their copies, before recovery rolls forward.
//!
//! ```text
//!   doublewrite file      a region of writer 0    the next region        …
//!                       ┌──────┬───┬─┬── … ──┬──────┬──────┬── … ──┐
//!                       │ copy │   │ │       │ copy │ copy │       │   sealed blocks, each as
//!                       └──────┴───┴─┴── … ──┴──────┴──────┴── … ──┘   long as its file's are
//! ```
//!
//! A batch's copies lie side by side from the start of its region. A copy is a sealed block with
//! its address in it; nothing says whether the block was written home. So every whole copy that is
//! new enough is a candidate, and it is used only if the block at home isn't whole. Where one copy
//! ends the next begins, of any size: the file is read from front to end, and where no block begins
//! that has its file's block size, the scan goes on at the next unit.
//!
//! What a read shows needn't be durable: after a failed sync nothing is known (M11), and a process
//! that was killed may not have synced yet. So the file is synced before a copy is used. A block
//! that is at home equal to its copy, or older, is written home again as it is: a failed write that
//! followed its copy may still come to the medium, torn, when the power goes. Until that rewrite is
//! durable its copy must not be overwritten (CB28).
//!
//! A copy whose block at home is broken or equal to it was durable before that block was written
//! home. It isn't written again: a power cut might leave it unreadable, and the block has no other
//! copy. A copy whose block at home is older may be from a batch whose sync failed, and is written
//! again in its place.
//!
//! Invariants
//!   * a block that is valid at home is never overwritten with anything else (CB14)
//!   * of several copies of one block the one with the newest SCN, then sequence, counts
//!   * only a copy that is newer than the checkpoint, and whose redo exists, is used: older and
//!     newer copies are leftovers
//!
//! Caller: recovery, after it has found the end of the redo and before it changes a block.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use format::BlockHeader;
use ids::{BlockSize, Dba, Scn};
use os::{Cause, Cost, File, IoBuf, Session};
use stop::Stop;
use waits::WaitEvent;

use crate::files::DataFile;
use crate::get::kib;

/// The doublewrite file is read in pieces of this many bytes: the kernel has many requests of one
/// in flight.
const READ_BYTES: usize = 8 << 20;
/// The most bytes of one piece that are kept for the next: a block that goes on there.
const KEPT_MAX: usize = BlockSize::KIB_32.bytes();

/// What [`restore`] found and did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Restored {
    /// Copies that are whole blocks.
    pub copies: u32,
    /// Blocks that were examined at home, since they had a candidate copy.
    pub examined: u32,
    /// Blocks that weren't whole at home and were written from their copies.
    pub restored: Vec<Dba>,
}

/// The newest copy of one block.
struct Newest {
    version: (Scn, u32),
    image: IoBuf,
    /// Its offset in the doublewrite file.
    at: u64,
}

/// A block at home, compared with its newest copy.
enum Home {
    /// It is whole and newer, so the copy isn't needed.
    Newer,
    /// It is whole and equal.
    Same(IoBuf),
    /// It is whole and older.
    Older(IoBuf),
    Broken,
}

/// Writes each block that isn't valid at home from its copy, durably. `from` is the checkpoint:
/// every change with that SCN or a lower one is on disk. `through` is the highest SCN in the redo.
pub fn restore(
    files: &[DataFile],
    doublewrite: &File,
    from: Scn,
    through: Scn,
    session: &Session,
) -> Result<Restored, Stop> {
    let mut found = Restored::default();
    let copies = newest_copies(files, doublewrite, from, through, &mut found, session)?;
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
        let data_file = file_of(files, *address).expect("a copy is of a file");
        let (file, offset) = (&data_file.file, data_file.offset(*address));
        let waiting = session.waiting(WaitEvent::DbFileParallelWrite);
        file.write_at(offset, image, waiting.p(1, 0, 0))?;
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

/// Reads a block at home and compares it with its copy.
fn look_home(
    files: &[DataFile],
    address: Dba,
    copy: &Newest,
    session: &Session,
) -> Result<Home, Stop> {
    let file = file_of(files, address).expect("a copy is of a file");
    let mut home = IoBuf::zeroed(file.block_size.bytes());
    let waiting = session.waiting(WaitEvent::DbFileSequentialRead);
    let waiting = waiting.p(address.file.get().into(), address.block.get().into(), 1);
    match file.file.read_at(file.offset(address), &mut home, waiting) {
        // A device may fail to read a block whose write the power cut off (CB14).
        Err(error) if error.cause() == Cause::Device => {
            session.os().notice(&format!("a block is written from its copy, for I {error}"));
            return Ok(Home::Broken);
        }
        read => read?,
    }
    session.charge(Cost::ChecksumKib, kib(home.len()));
    // Zeros count as broken: a torn first write may have left nothing.
    Ok(match format::check(&home, address) {
        Err(_) => Home::Broken,
        Ok(header) => match (header.changed(), header.sequence()).cmp(&copy.version) {
            Ordering::Greater => Home::Newer,
            Ordering::Equal => Home::Same(home),
            Ordering::Less => Home::Older(home),
        },
    })
}

/// Makes the copies durable (CB28). A copy is written again, as it is, unless a block at home shows
/// that its batch was synced.
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

/// The unit in which the doublewrite file is read and written: direct I/O may need more than a
/// block (CB17).
fn unit_of(files: &[DataFile], doublewrite: &File) -> u64 {
    (smallest_block(files).unwrap_or(1) as u64).max(doublewrite.alignment().offset.into())
}

fn smallest_block(files: &[DataFile]) -> Option<usize> {
    files.iter().map(|file| file.block_size.bytes()).min()
}

/// The file of this block, if the database has such a file.
fn file_of(files: &[DataFile], address: Dba) -> Option<&DataFile> {
    files.iter().find(|file| file.number == address.file)
}

/// For each block the newest of its copies whose SCN is above `from` and not above `through`.
fn newest_copies(
    files: &[DataFile],
    doublewrite: &File,
    from: Scn,
    through: Scn,
    found: &mut Restored,
    session: &Session,
) -> Result<BTreeMap<Dba, Newest>, Stop> {
    let mut newest: BTreeMap<Dba, Newest> = BTreeMap::new();
    let Some(smallest) = smallest_block(files) else { return Ok(newest) };
    let unit = unit_of(files, doublewrite) as usize;
    let end = doublewrite.length()? / unit as u64 * unit as u64;
    // The kept end of the piece before lies in front of the next piece.
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
            match scan(files, rest, smallest) {
                Scanned::Copy { bytes, address, version } => {
                    found.copies += 1;
                    let is_candidate = from < version.0 && version.0 <= through;
                    if is_candidate
                        && newest.get(&address).is_none_or(|have| have.version < version)
                    {
                        let image = IoBuf::copy_of(&rest[..bytes]);
                        let at = offset - (stop - at) as u64;
                        newest.insert(address, Newest { version, image, at });
                    }
                    at += bytes;
                }
                Scanned::Cut if offset < end => break,
                Scanned::Cut | Scanned::Nothing => at += smallest,
            }
        }
        kept = stop.saturating_sub(at);
        bytes.copy_within(stop - kept..stop, KEPT_MAX - kept);
    }
    Ok(newest)
}

/// Reads a piece unit by unit. A unit that the device can't read becomes zeros: like a torn copy it
/// is no copy, since the power may have cut off its write. The next batch overwrites it.
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

/// What begins at a place of the doublewrite file.
enum Scanned {
    /// A whole block.
    Copy {
        bytes: usize,
        address: Dba,
        version: (Scn, u32),
    },
    /// The head of a block that ends behind the bytes at hand.
    Cut,
    Nothing,
}

fn scan(files: &[DataFile], bytes: &mut [u8], smallest: usize) -> Scanned {
    assert!(bytes.len() >= smallest);
    let header = BlockHeader::of_mut(bytes);
    let (address, version) = (header.address(), (header.changed(), header.sequence()));
    // A copy of a file that the database doesn't have counts for nothing.
    let Some(file) = file_of(files, address) else { return Scanned::Nothing };
    match bytes.get(..file.block_size.bytes()) {
        None => Scanned::Cut,
        Some(block) if format::check(block, address).is_ok() => {
            Scanned::Copy { bytes: block.len(), address, version }
        }
        Some(_) => Scanned::Nothing,
    }
}
