//! An old database: its undo segments have given out almost all names of transactions that they
//! have (rule txn/UN9).
//!
//! Nobody runs four thousand million transactions to get there: in a database that was shut the
//! transaction tables are written as so many transactions would have left them.
//!
//! Callers: `bed`.

use std::path::Path;

use format::{
    BlockHeader, BlockKind, ScnLe, TransactionSlot, TransactionTable, U16Le, U32Le, check, seal,
};
use ids::{BlockSize, Dba, Scn};
use sim::fs::FileSystem;

use crate::Violation;

/// The file of undo, in every database, and its number.
const UNDO_FILE: (&str, u16) = ("undo01.dbf", 2);

/// A transaction that was committed.
const COMMITTED: u8 = 2;

/// Has each segment's slots be used so often that they can be used `left` times more.
pub(super) fn age(
    disk: &mut FileSystem,
    directory: &str,
    size: BlockSize,
    left: u32,
) -> Result<(), Violation> {
    let (name, number) = UNDO_FILE;
    let path = Path::new(directory).join(name);
    let failed = |what: String| Violation(format!("{name} can't be made old: {what}"));
    let io = |error: std::io::Error| failed(error.to_string());
    let file = disk.open(&path).map_err(io)?;
    let blocks = disk.len(file).map_err(io)? / size.bytes() as u64;
    let mut tables = 0;
    for at in 0..blocks {
        let mut block = vec![0; size.bytes()];
        let offset = at * size.bytes() as u64;
        disk.read(file, offset, &mut block).map_err(io)?;
        let address = Dba::new(number, at as u32);
        let is_table = |header: &BlockHeader| header.kind() == BlockKind::TransactionTable;
        if !check(&block, address).is_ok_and(is_table) {
            continue;
        }
        use_up(&mut block, left);
        seal(&mut block, address);
        disk.write(file, offset, &block, true).map_err(io)?;
        tables += 1;
    }
    disk.close(file).map_err(io)?;
    match tables {
        0 => Err(failed("it has no transaction table".to_string())),
        _ => Ok(()),
    }
}

/// Slots are used in turn: those up to the newest once more than the others. One that was never
/// used has had transactions long ago.
fn use_up(block: &mut [u8], left: u32) {
    let head = *TransactionTable::at(block, TransactionTable::START);
    let (slots, newest) = (head.slots.get(), head.newest.get());
    let place = |slot: u16| TransactionTable::SLOTS + usize::from(slot) * TransactionSlot::BYTES;
    let has_begun = TransactionSlot::at(block, place(newest)).sequence.get() > 0;
    let newest = if has_begun { newest } else { slots - 1 };
    TransactionTable::at_mut(block, TransactionTable::START).newest = U16Le::new(newest);
    for number in 0..slots {
        let slot = TransactionSlot::at_mut(block, place(number));
        if slot.sequence.get() == 0 {
            // They ended in turn.
            slot.state = COMMITTED;
            slot.ended = ScnLe::new(Scn::new(u64::from(number) + 1));
        }
        slot.sequence = U32Le::new(u32::MAX - left - u32::from(number > newest));
    }
}
