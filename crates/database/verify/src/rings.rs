//! Undo: the transaction tables are linked, each ring is closed, every block that was handed out is
//! a table's or in a ring, and an active transaction has all its records.
//!
//! Callers: `closed`, `live`.

use std::collections::BTreeSet;

use format::{TransactionSlot, TransactionTable};
use ids::{Dba, TxnId};
use space::{Blocks, HeaderSeen, Holds};
use stop::Stop;
use txn::undo::{TableContents, check_table, check_undo_block, record_link};

use crate::Kind;
use crate::blocks::Used;
use crate::segments::Segment;
use crate::source::{Check, Looks, Seen, Suspicion, within_files};

/// One look at undo.
struct UndoLook<'c, 'l, 's> {
    looks: &'c Looks<'l>,
    suspicions: &'s mut Vec<Suspicion>,
    header: Dba,
    /// The blocks that are linked.
    linked: BTreeSet<Dba>,
    tables: Vec<(Dba, TableContents)>,
    used: Used,
}

/// Checks undo. Returns how often slots were used; none if undo isn't whole.
pub(crate) fn check(
    check: &mut Check<'_, '_, '_>,
    segments: &[Segment],
) -> Result<Option<Used>, Stop> {
    let Some(undo) = segments.iter().find(|segment| segment.holds == Holds::Undo) else {
        return Ok(None);
    };
    let is_live = check.source.is_live();
    let (tables, used) = check.settle(|looks, suspicions| {
        let (linked, header) = (BTreeSet::from([undo.header]), undo.header);
        let (tables, used) = (Vec::new(), Used::new());
        let mut look = UndoLook { looks, suspicions, header, linked, tables, used };
        let is_whole = look.tables()?;
        if is_whole {
            // Read again here, so that the header belongs to this look.
            let bytes = looks.bytes(undo.header)?;
            let header = bytes.and_then(|bytes| space::look_at_header(&bytes));
            let header = header.ok().map(|header| within_files(looks.source, header));
            look.handed_out(header);
        }
        Ok((look.tables, is_whole.then_some(look.used)))
    })?;
    for (at, table) in tables {
        if let Some(id) = table.active {
            match is_live {
                true => check.settle(|looks, suspicions| chain(looks, suspicions, at))?,
                false => {
                    let what = format!("has transaction {id} active, and the database is shut");
                    check.find(Kind::Undo, at, what);
                }
            }
        }
    }
    Ok(used)
}

impl UndoLook<'_, '_, '_> {
    fn suspect(&mut self, block: Dba, table: Dba, what: impl Into<String>) {
        let suspicion = Suspicion::new(Kind::Undo, block, what);
        self.suspicions.push(suspicion.and(table).and(self.header));
    }

    /// Goes from table to table. False if one can't be used.
    fn tables(&mut self) -> Result<bool, Stop> {
        let mut next = Some(Dba::new(self.header.file.get(), self.header.block.get() + 1));
        let mut is_whole = true;
        while let Some(at) = next {
            if !self.linked.insert(at) {
                self.suspect(at, at, "is linked twice");
                return Ok(false);
            }
            let bytes = self.looks.bytes(at)?;
            let seen = bytes.and_then(|bytes| Ok((check_table(&bytes)?, bytes)));
            let (table, bytes) = match seen {
                Ok(seen) => seen,
                Err(what) => {
                    self.suspect(at, at, format!("is linked as a transaction table, and {what}"));
                    return Ok(false);
                }
            };
            let number = self.tables.len();
            if usize::from(table.segment) != number {
                self.suspect(
                    at,
                    at,
                    format!("is linked as table {number}, and says {}", table.segment),
                );
            }
            let slots = TransactionTable::at(&bytes, TransactionTable::START).slots.get();
            let of_slot = |slot: u16| {
                let at = TransactionTable::SLOTS + usize::from(slot) * TransactionSlot::BYTES;
                TransactionSlot::at(&bytes, at).sequence.get()
            };
            self.used.insert(table.segment, (0..slots).map(of_slot).collect());
            is_whole &= self.ring(at, &table)?;
            next = table.next_segment;
            self.tables.push((at, table));
        }
        Ok(is_whole)
    }

    fn ring(&mut self, table_at: Dba, table: &TableContents) -> Result<bool, Stop> {
        if let Some((first, count)) = table.spare {
            for number in 0..u32::from(count) {
                let spare = Dba::new(first.file.get(), first.block.get().saturating_add(number));
                if !self.linked.insert(spare) {
                    self.suspect(spare, table_at, "is kept for a ring, and linked too");
                }
            }
        }
        let Some(first) = table.current else { return Ok(true) };
        let mut at = first;
        for number in 0..table.blocks {
            if !self.linked.insert(at) {
                self.suspect(
                    at,
                    table_at,
                    format!("is in a ring of undo a second time, as {number}th"),
                );
                return Ok(false);
            }
            let bytes = self.looks.bytes(at)?;
            let seen = bytes.and_then(|bytes| check_undo_block(&bytes));
            match seen.and_then(|seen| seen.next.ok_or_else(|| "has no next block".to_string())) {
                Ok(next) => at = next,
                Err(what) => {
                    self.suspect(at, table_at, format!("is in the ring of {table_at}, and {what}"));
                    return Ok(false);
                }
            }
        }
        if at != first {
            let what =
                format!("has a ring of {} blocks that leads to {at} and not back", table.blocks);
            self.suspect(table_at, table_at, what);
            return Ok(false);
        }
        Ok(true)
    }

    /// Checks that the linked blocks are those that were handed out.
    fn handed_out(&mut self, header: Option<HeaderSeen>) {
        let Some(HeaderSeen { extents, high_water, .. }) = header else { return };
        let each = extents.into_iter().flat_map(Blocks::addresses);
        let handed_out: BTreeSet<Dba> = each.take(high_water as usize).collect();
        let all: Vec<Dba> = self.tables.iter().map(|(at, _)| *at).collect();
        let mut differ = Vec::new();
        for block in handed_out.difference(&self.linked) {
            differ.push((*block, "was handed out to undo, and no ring has it"));
        }
        for block in self.linked.difference(&handed_out) {
            differ.push((*block, "is linked in undo, and wasn't handed out"));
        }
        for (block, what) in differ {
            let mut suspicion = Suspicion::new(Kind::Undo, self.header, format!("{block} {what}"));
            suspicion.rests_on.extend(&all);
            self.suspicions.push(suspicion);
        }
    }
}

/// Checks that the transaction that is active in this table has all its records.
fn chain(looks: &Looks<'_>, suspicions: &mut Vec<Suspicion>, at: Dba) -> Result<(), Stop> {
    let mut visited = vec![at];
    let Ok(Ok(table)) = looks.bytes(at)?.map(|bytes| check_table(&bytes)) else { return Ok(()) };
    let (Some(id), Some(current)) = (table.active, table.current) else { return Ok(()) };
    if let Some(Break { block, what }) = follow(looks, id, current, table.blocks, &mut visited)? {
        let (rests_on, exactly) = (Vec::new(), visited);
        let what = format!("breaks the undo of transaction {id}: {what}");
        suspicions.push(Suspicion { kind: Kind::Undo, block, what, rests_on, exactly });
    }
    Ok(())
}

/// The block where the undo of a transaction can't be followed any further, and why.
struct Break {
    block: Dba,
    what: String,
}

impl Break {
    fn at(block: Dba, what: impl Into<String>) -> Option<Break> {
        Some(Break { block, what: what.into() })
    }
}

/// Follows the undo records of a transaction from the newest to the first.
fn follow(
    looks: &Looks<'_>,
    id: TxnId,
    current: Dba,
    blocks: u32,
    visited: &mut Vec<Dba>,
) -> Result<Option<Break>, Stop> {
    let mut read = |at: Dba| -> Result<Option<Vec<u8>>, Stop> {
        if !visited.contains(&at) {
            visited.push(at);
        }
        Ok(match looks.read(at)? {
            Seen::Whole(bytes) if check_undo_block(&bytes).is_ok() => Some(bytes),
            _ => None,
        })
    };
    // Back to the block with the newest record.
    let (mut at, mut newest) = (current, None);
    for _ in 0..=blocks {
        let Some(bytes) = read(at)? else { return Ok(Break::at(at, "is no undo block")) };
        let Ok(seen) = check_undo_block(&bytes) else { break };
        if seen.transaction != Some(id) {
            break;
        }
        newest = seen.newest.map(|record| (at, record));
        match seen.previous {
            Some(previous) if newest.is_none() => at = previous,
            _ => break,
        }
    }
    let mut expected = None;
    while let Some((at, record)) = newest {
        let Some(bytes) = read(at)? else { return Ok(Break::at(at, "is no undo block")) };
        let Some(seen) = record_link(&bytes, record, id) else {
            return Ok(Break::at(at, format!("its record {record} isn't there")));
        };
        if expected.is_some_and(|expected| expected != seen.ordinal) {
            return Ok(Break::at(at, format!("its record {record} has number {}", seen.ordinal)));
        }
        expected = seen.ordinal.checked_sub(1);
        newest = seen.previous.map(|previous| (previous.block, previous.record));
    }
    Ok(None)
}
