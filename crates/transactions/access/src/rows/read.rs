//! Reading rows as a view sees them.
//!
//! Callers: tables.

use cache::{Get, check_written};
use ids::Dba;
use latch::FrameOrder;
use os::{Cost, Session};
use stop::Stop;
use txn::{CrCopy, View, block};

use super::Heap;
use super::change::SlotKind;
use super::piece::piece_of;
use super::visit::{BlockRows, EachRow, RowVisit};
use crate::RowAddress;
use crate::free_map::map_of;
use crate::inserter::{block_at, number_of};
use crate::inspect::{is_unformatted, was_formatted};
use crate::lost::{check_there, lost};
use crate::outline::Outline;

/// What the first slot of a row had.
enum FirstPiece<T> {
    /// The whole row, and this is what was made of it.
    Whole(T),
    /// The row's first bytes, and the address of its next piece.
    Part(Vec<u8>, RowAddress),
}

/// How a visit to rows of one block ended.
enum Neighbours {
    /// All were visited.
    Visited,
    /// This many were visited, and the next one isn't there.
    Missing(usize),
    /// This many were visited. The next one is in pieces: its first bytes, and the address of its
    /// next piece.
    Part(usize, Vec<u8>, RowAddress),
}

impl Heap {
    /// Gives `look` the row as the view sees it, under the block's latch if possible: so `look`
    /// must only compute. None if there is no such row.
    pub fn fetch<T>(
        &self,
        view: View,
        address: RowAddress,
        look: &mut dyn FnMut(&[u8]) -> T,
        session: &Session,
    ) -> Result<Option<T>, Stop> {
        self.transactions.changes().halt().check_call(session)?;
        session.charge(Cost::RowRead, 1);
        let offsets = Outline::guessed(&self.outline).offsets(address.slot);
        let found = self.read_block(
            address.block,
            &offsets,
            view,
            &mut |block| {
                let slot = self.slot_with(block, address.slot, SlotKind::Row)?;
                Outline::guess(&self.outline, address.block.block.get(), block, 0);
                let piece = piece_of(block, slot);
                Some(match piece.next {
                    None => FirstPiece::Whole(look(piece.data)),
                    Some(next) => FirstPiece::Part(piece.data.to_vec(), next),
                })
            },
            session,
        )?;
        Ok(match found {
            None => None,
            Some(FirstPiece::Whole(made)) => Some(made),
            Some(FirstPiece::Part(mut row, next)) => {
                self.read_pieces(view, &mut row, next, session)?;
                Some(look(&row))
            }
        })
    }

    /// Visits these rows as the view sees them, in this order. Rows that follow one another and lie
    /// in one block are visited together, under its latch if possible. Ends at the first row that
    /// isn't there, and returns it.
    pub fn visit_rows(
        &self,
        view: View,
        rows: &[RowAddress],
        visit: &mut dyn FnMut(RowAddress, &[u8]),
        session: &Session,
    ) -> Result<Option<RowAddress>, Stop> {
        let mut left = rows;
        while let Some(first) = left.first() {
            self.transactions.changes().halt().check(session)?;
            let together = left.iter().take_while(|row| row.block == first.block).count();
            let (these, others) = left.split_at(together);
            if let Some(next) = others.first() {
                self.prefetch(*next, session);
            }
            let visited = match self.visit_neighbours(view, these, visit, session)? {
                Neighbours::Visited => these.len(),
                Neighbours::Missing(before) => return Ok(Some(these[before])),
                Neighbours::Part(before, mut row, next) => {
                    self.read_pieces(view, &mut row, next, session)?;
                    visit(these[before], &row);
                    before + 1
                }
            };
            session.charge(Cost::RowRead, visited as u64);
            left = &left[visited..];
        }
        Ok(None)
    }

    /// Visits rows of one block, up to one that is in pieces or isn't there.
    fn visit_neighbours(
        &self,
        view: View,
        rows: &[RowAddress],
        visit: &mut dyn FnMut(RowAddress, &[u8]),
        session: &Session,
    ) -> Result<Neighbours, Stop> {
        let RowAddress { block: address, slot } = rows[0];
        let offsets = Outline::guessed(&self.outline).offsets(slot);
        let mut look = |block: &[u8]| {
            for (before, row) in rows.iter().enumerate() {
                let Some(slot) = self.slot_with(block, row.slot, SlotKind::Row) else {
                    return Neighbours::Missing(before);
                };
                let piece = piece_of(block, slot);
                match piece.next {
                    None => visit(*row, piece.data),
                    Some(next) => return Neighbours::Part(before, piece.data.to_vec(), next),
                }
            }
            Outline::guess(&self.outline, address.block.get(), block, 0);
            Neighbours::Visited
        };
        self.read_block(address, &offsets, view, &mut look, session)
    }

    /// Prefetches the row at this address, which is going to be read. It waits for nothing.
    #[inline]
    pub fn prefetch(&self, address: RowAddress, session: &Session) {
        let offsets = Outline::guessed(&self.outline).offsets(address.slot);
        self.transactions.changes().cache().prefetch(address.block, &offsets, session);
    }

    /// Appends the pieces of a row from `next` on.
    fn read_pieces(
        &self,
        view: View,
        row: &mut Vec<u8>,
        next: RowAddress,
        session: &Session,
    ) -> Result<(), Stop> {
        let mut next = Some(next);
        while let Some(at) = next {
            let mut look = |block: &[u8]| {
                let slot = self.slot_with(block, at.slot, SlotKind::Piece)?;
                let piece = piece_of(block, slot);
                row.extend_from_slice(piece.data);
                Some(piece.next)
            };
            let found = self.read_block(at.block, &[], view, &mut look, session)?;
            next = found.ok_or_else(|| self.no_piece(at))?;
        }
        Ok(())
    }

    /// Visits the rows of a block as the view sees them: first the whole rows, under the block's
    /// latch if possible, then those in pieces.
    pub fn visit_block(
        &self,
        view: View,
        address: Dba,
        visit: &mut dyn FnMut(RowAddress, &[u8]),
        session: &Session,
    ) -> Result<(), Stop> {
        self.visit_all(view, address, &mut EachRow::new(visit), session)
    }

    /// As [`visit_block`](Self::visit_block), for the rows of a block at once.
    pub(super) fn visit_all(
        &self,
        view: View,
        address: Dba,
        visit: &mut dyn RowVisit,
        session: &Session,
    ) -> Result<(), Stop> {
        let mut look = |block: &[u8]| self.visit_whole(address, block, visit, session);
        let parts = self.read_block(address, &[], view, &mut look, session)?;
        self.visit_parts(view, parts, visit, session)
    }

    /// Visits the whole rows of a block. Returns the addresses of those that are in pieces.
    pub(super) fn visit_whole(
        &self,
        address: Dba,
        block: &[u8],
        visit: &mut dyn RowVisit,
        session: &Session,
    ) -> Vec<RowAddress> {
        if !self.is_its(block) {
            return Vec::new();
        }
        session.charge(Cost::RowRead, block::slots(block).into());
        let mut rows = BlockRows::of(address, block);
        visit.block(&mut rows);
        rows.into_parts()
    }

    /// Visits rows that are in pieces.
    pub(super) fn visit_parts(
        &self,
        view: View,
        parts: Vec<RowAddress>,
        visit: &mut dyn RowVisit,
        session: &Session,
    ) -> Result<(), Stop> {
        for address in parts {
            self.fetch(view, address, &mut |row| visit.row(address, row), session)?;
        }
        Ok(())
    }

    /// Gives `look` the block as the view sees it. If the block is current for the view, or isn't
    /// the heap's, `look` runs under its latch and must only compute; otherwise it gets a copy that
    /// was taken back to the view. `look` is likely to read at these offsets. Refuses if the block
    /// isn't the heap's because the segment was dropped (AC15), or its rows are lost (AC24).
    fn read_block<T>(
        &self,
        address: Dba,
        offsets: &[usize],
        view: View,
        look: &mut dyn FnMut(&[u8]) -> T,
        session: &Session,
    ) -> Result<T, Stop> {
        let transactions = &self.transactions;
        let (cache, order) = (transactions.changes().cache(), FrameOrder::Heap);
        let (mut copy, mut gone_before) = (Vec::new(), None);
        loop {
            {
                let get = Get::Consistent;
                let block = cache.pin_shared_ahead(get, address, offsets, order, session)?;
                if !self.is_its(&block) {
                    let found = look(&block);
                    drop(block);
                    self.check_foreign(address, session)?;
                    return Ok(found);
                }
                if transactions.is_current(&block, view, session) {
                    return Ok(look(&block));
                }
                transactions.copy(&block, &mut copy, session);
            }
            match transactions.make_consistent(address, &mut copy, view, session)? {
                CrCopy::Consistent => return Ok(look(&copy)),
                CrCopy::UndoGone(gone) => transactions.try_again(gone, &mut gone_before)?,
            }
        }
    }

    /// Called by a reader that has met a block that isn't the heap's. A map, or a block that wasn't
    /// formatted yet, is no reason to refuse. Refuses if the block was formatted, for its rows are
    /// lost (AC24), and if the segment was dropped, for the block may be another's (AC15).
    pub(super) fn check_foreign(&self, address: Dba, session: &Session) -> Result<(), Stop> {
        let there = || check_there(&self.space, self.object, session);
        there()?;
        let is_lost = self.is_lost(address, session);
        // If the segment is still there, its maps were its own all the while.
        there()?;
        match is_lost? {
            true => Err(lost("read", address, self.object)),
            false => Ok(()),
        }
    }

    /// Whether a block was formatted, as its map says, and isn't the heap's now.
    fn is_lost(&self, address: Dba, session: &Session) -> Result<bool, Stop> {
        // The block may have been formatted since it was read.
        Ok(self.by_map(address, was_formatted, session)? == Some(true)
            && !self.look_now(address, |block| self.is_its(block), session)?)
    }

    /// Whether a block that can't be read has no rows: it is a map, or its map says that it was
    /// handed out at most.
    pub(super) fn has_no_rows(&self, address: Dba, session: &Session) -> Result<bool, Stop> {
        Ok(self.by_map(address, is_unformatted, session)? != Some(false))
    }

    /// What the map says of a block; none if that is a map itself, or no block of the heap.
    fn by_map(
        &self,
        address: Dba,
        says: fn(&[u8], u32, u32) -> bool,
        session: &Session,
    ) -> Result<Option<bool>, Stop> {
        let runs = self.runs(session)?;
        let Some(number) = number_of(address, &runs).filter(|number| *number > 0) else {
            return Ok(None);
        };
        let map_number = map_of(number, self.block_size.bytes());
        let map = block_at(&runs, map_number).filter(|_| map_number != number);
        let Some(map) = map else { return Ok(None) };
        let cache = self.transactions.changes().cache();
        let block = cache.pin_shared(map, FrameOrder::FreeMap, session)?;
        // A read of many blocks, which takes it for one of rows, leaves zeros in the cache (CB40).
        check_written(map, &block)?;
        Ok(Some(says(&block, self.object, number)))
    }
}
