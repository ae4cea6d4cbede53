//! Scans: every row of a table, in the order of its blocks.
//!
//! ```text
//!   small: runs of blocks into the cache       db file scattered read   each read there
//!   large: snapshot, checkpoint of the         enq: KO - fast object checkpoint
//!          table's blocks; then blocks         direct path read         each read out of a buffer
//!          around the cache                                             of the session's own
//! ```
//!
//! A block that was read around the cache has whatever was committed by the snapshot, and may have
//! more: what is too new is taken back in it, as in any copy (AC5).
//!
//! Callers: users of tables.

use cache::Span;
use ids::{BlockSize, Dba};
use latch::FrameOrder;
use os::{Cost, Session};
use stop::Stop;
use txn::{Transaction, View};

use crate::Table;
use crate::read::read_block;
use crate::row::{RowAddress, RowView};

/// A table is read around the cache if it has more blocks than this share of the buffers: one
/// in ...
const LARGE_SHARE: u32 = 10;

impl Table {
    /// Reads every row as it was committed when this begins, in the order of the blocks. Waits for
    /// nobody.
    pub fn scan(
        &self,
        read: impl FnMut(RowAddress, RowView<'_>),
        session: &Session,
    ) -> Result<(), Stop> {
        self.scan_within(None, read, session)
    }

    /// The same as `transaction` sees the rows.
    pub fn scan_within(
        &self,
        transaction: Option<&Transaction>,
        mut read: impl FnMut(RowAddress, RowView<'_>),
        session: &Session,
    ) -> Result<(), Stop> {
        let snapshot = self.transactions().snapshot(transaction, session)?;
        let view = self.transactions().view_of(&snapshot, transaction);
        let cache = self.changes().cache();
        let size = self.block_size(session);
        let spans = self.spans(session)?;
        let blocks: u64 = spans.iter().map(|span| u64::from(span.count)).sum();
        match blocks > u64::from(cache.buffers(size, session) / LARGE_SHARE) {
            true => self.scan_direct(view, &mut read, session),
            false => {
                let mut visit =
                    |block| self.scan_block((block, view), &mut read, session).map(|()| true);
                self.through_cache((&spans, size), &mut visit, session)
            }
        }
    }

    /// A checkpoint of the table's segment: returns when every change made to it before is on disk.
    pub fn checkpoint(&self, session: &Session) -> Result<(), Stop> {
        let mut spans = self.spans(session)?;
        spans.push(Span { first: self.segment().header, count: 1 });
        self.changes().cache().checkpoint_blocks(&spans, session)
    }

    pub(crate) fn block_size(&self, session: &Session) -> BlockSize {
        let cache = self.changes().cache();
        let size = cache.block_size_of(self.segment().header.file, session);
        size.unwrap_or(cache.block_size())
    }

    /// Its blocks without the segment's header, neighbours together.
    pub(crate) fn spans(&self, session: &Session) -> Result<Vec<Span>, Stop> {
        let mut spans: Vec<Span> = Vec::new();
        for run in self.runs(session)? {
            let is_header = run.first == self.segment().header;
            let (first, count) = match is_header {
                true => (after(run.first, 1), run.count - 1),
                false => (run.first, run.count),
            };
            match spans.last_mut() {
                Some(last) if after(last.first, last.count) == first => last.count += count,
                _ if count == 0 => {}
                _ => spans.push(Span { first, count }),
            }
        }
        Ok(spans)
    }

    /// Visits each block when it has been brought into the cache with its neighbours, as long as
    /// `visit` says to go on.
    pub(crate) fn through_cache(
        &self,
        (spans, size): (&[Span], BlockSize),
        visit: &mut impl FnMut(Dba) -> Result<bool, Stop>,
        session: &Session,
    ) -> Result<(), Stop> {
        let cache = self.changes().cache();
        let mut reader = cache.multiblock_reader(session);
        let run_max = cache.run_max(size, session);
        for span in spans {
            for at in 0..span.count {
                let block = after(span.first, at);
                if at % run_max == 0 {
                    reader.read_run(block, run_max.min(span.count - at))?;
                }
                if !visit(block)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// One block's rows, through the cache.
    fn scan_block(
        &self,
        (address, view): (Dba, View),
        read: &mut impl FnMut(RowAddress, RowView<'_>),
        session: &Session,
    ) -> Result<(), Stop> {
        let mut look = |block: &[u8]| self.rows_of((address, block), read, session);
        let within = (self.transactions(), self.object());
        read_block(within, (address, view), &mut look, session)
    }

    /// All rows of a block as it is given.
    fn rows_of(
        &self,
        (address, block): (Dba, &[u8]),
        read: &mut impl FnMut(RowAddress, RowView<'_>),
        session: &Session,
    ) {
        if !self.is_its(block) {
            return;
        }
        let slots = block::slots(block);
        session.charge(Cost::RowRead, slots.into());
        for number in 0..slots {
            if let Some(slot) = self.row_slot(block, number) {
                let bytes = block::bytes_of(block, slot);
                let place = RowAddress { block: address, slot: number };
                read(place, RowView { shape: self.shape(), bytes });
            }
        }
    }

    /// How many slots a block has.
    pub(crate) fn rows_in(&self, block: Dba, session: &Session) -> Result<u16, Stop> {
        let block = self.changes().cache().pin_shared(block, FrameOrder::Heap, session)?;
        Ok(if self.is_its(&block) { block::slots(&block) } else { 0 })
    }

    /// Around the cache.
    fn scan_direct(
        &self,
        view: View,
        read: &mut impl FnMut(RowAddress, RowView<'_>),
        session: &Session,
    ) -> Result<(), Stop> {
        let spans = self.spans(session)?;
        let mut reader = self.changes().cache().direct_reader(&spans, session)?;
        let mut copy = Vec::new();
        while let Some(run) = reader.next_run()? {
            for (address, block) in run.blocks() {
                let transactions = self.transactions();
                // What isn't the table's was never formatted, as of the checkpoint.
                if !self.is_its(block) || transactions.is_current(block, view, session) {
                    self.rows_of((address, block), read, session);
                    continue;
                }
                transactions.copy_of_old(block, &mut copy);
                match transactions.make_consistent((address, &mut copy), view, session)? {
                    Ok(()) => self.rows_of((address, &copy), read, session),
                    // It was rolled back since it was written.
                    Err(_) => self.scan_block((address, view), read, session)?,
                }
            }
        }
        Ok(())
    }
}

fn after(first: Dba, blocks: u32) -> Dba {
    Dba::new(first.file.get(), first.block.get() + blocks)
}
