//! Whether a block with rows or keys is in order.
//!
//! Callers: `access`, for `verify` and for tests.

use format::{DataHead, DataSlot, ItlEntry, ScnLe, TxnIdLe};

use super::list::{entries, entry, kept};
use super::slots::{room_of, slot, slots};

/// Checks the invariants of a block; the error says what is wrong.
pub fn check(block: &[u8]) -> Result<(), String> {
    let list = usize::from(entries(block)) * ItlEntry::BYTES;
    let end = DataHead::LIST + list + usize::from(slots(block)) * DataSlot::BYTES;
    if end > block.len() {
        return Err(format!("its directory ends at {end} of {} bytes", block.len()));
    }
    let lowest = usize::from(DataHead::at(block, DataHead::START).rows.get());
    let mut taken = Vec::new();
    let mut locks = vec![0_u16; usize::from(entries(block))];
    for number in 0..slots(block) {
        let found = slot(block, number);
        let (at, length) = (usize::from(found.at.get()), usize::from(found.length.get()));
        if at == 0 && length != 0 || at != 0 && (at < lowest || at + length > block.len()) {
            return Err(format!("slot {number} has bytes {at} to {}", at + length));
        }
        if at != 0 {
            taken.push((at, at + length, number));
        }
        if found.lock != 0 {
            let by = usize::from(found.lock - 1);
            let Some(count) = locks.get_mut(by) else {
                return Err(format!("slot {number} is locked by entry {by}, which isn't there"));
            };
            *count += 1;
        }
    }
    taken.sort_unstable();
    if let Some(pair) = taken.windows(2).find(|pair| pair[0].1 > pair[1].0) {
        return Err(format!("slots {} and {} have bytes in common", pair[0].2, pair[1].2));
    }
    let used: usize = taken.iter().map(|(from, to, _)| to - from).sum();
    if lowest < end || lowest > block.len() || room_of(block) != block.len() - end - used {
        let free = room_of(block);
        return Err(format!(
            "its head says lowest byte {lowest}, {free} free; {used} are used, and its directory \
             ends at {end}"
        ));
    }
    if kept(block) > room_of(block) {
        let (kept, free) = (kept(block), room_of(block));
        return Err(format!("{kept} bytes are kept for rollbacks, and {free} are free"));
    }
    for (number, count) in (0..).zip(locks) {
        let stored = entry(block, number).locks.get();
        if stored != count {
            return Err(format!("entry {number} says {stored} locks, and there are {count}"));
        }
        check_entry(entry(block, number)).map_err(|what| format!("entry {number} {what}"))?;
    }
    Ok(())
}

fn check_entry(entry: &ItlEntry) -> Result<(), String> {
    let (locks, ended) = (entry.locks.get(), entry.ended.get());
    if locks > 0 && entry.ended != ScnLe::ZERO {
        return Err(format!("ended at {ended}, and has {locks} locks"));
    }
    if locks > 0 && entry.transaction == TxnIdLe::NONE {
        return Err(format!("has {locks} locks, and names no transaction"));
    }
    match entry.inexact <= 1 && entry.reserved == [0; 1] {
        true => Ok(()),
        false => Err("has something where there is nothing".to_string()),
    }
}
