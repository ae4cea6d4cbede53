//! Every block of every data file by itself: it is whole, where it belongs, and what its kind is.
//!
//! Blocks that no segment has, or that a former life of a segment has left, are checked too: their
//! last writer left them in order.
//!
//! Callers: `closed`, `live`.

use std::collections::BTreeMap;
use txn::block;

use access::{check_free_map, check_heap_block, check_index_block};
use format::{BlockHeader, BlockKind};
use ids::{Dba, Scn, TxnId};
use space::{Holds, kind_before_extents, look_at_directory, look_at_free, look_at_header};
use stop::Stop;
use txn::undo::{check_table, check_undo_block};

use crate::Kind;
use crate::segments::Segment;
use crate::source::{Check, Seen};

/// The number of blocks after which progress is told.
const TELL_EVERY: u32 = 512;

/// How often each slot of each undo segment was used. No other transactions have existed.
pub(crate) type Used = BTreeMap<u16, Vec<u32>>;

/// What all blocks must agree with; known only if no session changes them meanwhile.
#[derive(Clone, Copy, Default)]
pub(crate) struct Expected<'u> {
    /// The transactions that have existed.
    pub(crate) used: Option<&'u Used>,
    /// The last SCN: no block was changed later.
    pub(crate) last_scn: Option<Scn>,
    /// All segments: a block that none of them uses holds nothing.
    pub(crate) segments: Option<&'u [Segment]>,
}

/// The blocks of a file that were changed after the last SCN.
struct Ahead {
    count: u64,
    first: (Dba, Scn),
}

/// Checks every block of every file.
pub(crate) fn check(check: &mut Check<'_, '_, '_>, known: Expected<'_>) -> Result<(), Stop> {
    let source = check.source;
    for file in source.files() {
        let mut ahead: Option<Ahead> = None;
        for number in 0..file.blocks {
            if number % TELL_EVERY == 0 {
                check.go_on()?;
            }
            check.run.report.blocks += 1;
            let address = Dba::new(file.number.get(), number);
            match source.read(address)? {
                Seen::Whole(bytes) => {
                    if let Err(what) = inspect(&bytes, address, known.used) {
                        check.find(Kind::Structure, address, what);
                    }
                    let changed = BlockHeader::at(&bytes, 0).changed();
                    if known.last_scn.is_some_and(|last| changed > last) {
                        ahead.get_or_insert(Ahead { count: 0, first: (address, changed) }).count +=
                            1;
                    }
                }
                Seen::Unwritten => {
                    check.run.report.blocks_unwritten += 1;
                    if let Some(kind) = kind_before_extents(address) {
                        check.find(
                            Kind::Block,
                            address,
                            format!("was never written: {kind} was expected"),
                        );
                    }
                }
                Seen::Damaged(what) => damaged(check, address, what, known.segments),
                Seen::Nowhere => {
                    check.find(Kind::File, address, "isn't there: the file ends before")
                }
            }
        }
        if let (Some(ahead), Some(last)) = (ahead, known.last_scn) {
            let (address, changed) = ahead.first;
            let others = match ahead.count {
                1 => String::new(),
                count => format!(", as {} more of the file were later than that", count - 1),
            };
            let what = format!(
                "was changed at SCN {changed}{others}, and the redo and the control file end with \
                 SCN {last}: they are older than the file"
            );
            check.find(Kind::Ahead, address, what);
        }
    }
    Ok(())
}

/// Tells of a damaged block what it is of, as far as that is known.
fn damaged(check: &mut Check<'_, '_, '_>, block: Dba, what: String, segments: Option<&[Segment]>) {
    let owner = segments.and_then(|all| all.iter().find(|segment| segment.uses(block)));
    match (kind_before_extents(block), owner) {
        (Some(kind), _) => check.find(Kind::Block, block, format!("{what}, where {kind} belongs")),
        (None, Some(owner)) => {
            let what = format!("of {} {what}", owner.described());
            let kind = if owner.is_users_index() { Kind::Index } else { Kind::Block };
            if owner.holds == Holds::Index {
                check.run.damaged_indexes.insert(owner.object);
            }
            check.find_in(&owner.name, kind, block, what);
        }
        (None, None) if segments.is_some() => check.find(Kind::Unused, block, what),
        (None, None) => check.find(Kind::Block, block, what),
    }
}

/// Checks the body of a block whose header and checksum are right.
fn inspect(bytes: &[u8], address: Dba, used: Option<&Used>) -> Result<(), String> {
    let kind = BlockHeader::at(bytes, 0).kind();
    let expected = kind_before_extents(address);
    if expected.is_some_and(|expected| expected != kind) {
        return Err(format!("is a {kind} block, where {} belongs", expected.unwrap_or(kind)));
    }
    match kind {
        BlockKind::Heap => {
            check_heap_block(bytes)?;
            check_transactions(bytes, used)
        }
        BlockKind::Leaf | BlockKind::Branch => {
            check_index_block(bytes)?;
            check_transactions(bytes, used)
        }
        BlockKind::Free => look_at_free(bytes).map(|_| ()),
        BlockKind::FreeMap => check_free_map(bytes),
        BlockKind::Undo => check_undo_block(bytes).map(|_| ()),
        BlockKind::TransactionTable => check_table(bytes).map(|_| ()),
        BlockKind::SegmentHeader => look_at_header(bytes).map(|_| ()),
        BlockKind::Directory => look_at_directory(bytes).map(|_| ()),
        // Both are checked with the control file's entries.
        BlockKind::FileHeader | BlockKind::ExtentMap if expected == Some(kind) => Ok(()),
        _ => Err(format!("is a {kind} block, and there is none in such a place")),
    }
}

/// Checks that the transactions of the block's ITL have existed.
fn check_transactions(bytes: &[u8], used: Option<&Used>) -> Result<(), String> {
    let Some(used) = used else { return Ok(()) };
    let has_been = |id: TxnId| {
        let times = used.get(&id.segment).and_then(|slots| slots.get(usize::from(id.slot)));
        times.is_some_and(|times| id.sequence <= *times)
    };
    let list = (0..block::entries(bytes)).filter_map(|n| block::entry(bytes, n).transaction.get());
    match list.into_iter().find(|id| !has_been(*id)) {
        Some(id) => Err(format!("names transaction {id}, which undo knows nothing of")),
        None => Ok(()),
    }
}
