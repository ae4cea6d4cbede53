//! Scans: every row of a table, in the order of its blocks.
//!
//! ```text
//!   small: runs of blocks into the cache        db file scattered read   each row fetched there
//!   large: SCN, who is active, checkpoint of    enq: KO - fast object checkpoint
//!          the table's blocks; then blocks      direct path read         each row out of a buffer
//!          around the cache                                              of the session's own
//! ```
//!
//! A block that was read around the cache is a copy, so nobody can be asked while it holds still.
//! What can be taken out of it is decided by what was noted before the checkpoint, in this order:
//! the SCN, then the transactions that were active.
//!
//! * A block whose newest change is above that SCN was changed since: it is got through the cache.
//! * In any other, a row that names a transaction that was active may be taken back or changed
//!   again: it is fetched, which waits for the transaction to end.
//! * All other rows are as they were committed: who changed them had ended before the checkpoint,
//!   so what was taken back was taken back before, and is on disk (AC5).
//!
//! Callers: users of tables.

use cache::{Span, is_unwritten};
use format::{BlockHeader, BlockKind, HeapBlock, Row};
use ids::{BlockSize, Dba, Scn, TxnId};
use latch::FrameOrder;
use os::{Cost, Session};
use stop::Stop;
use txn::Transaction;

use crate::Table;
use crate::apply::{USED, row_at};
use crate::row::{RowAddress, RowView};

/// A table is read around the cache if it has more blocks than this share of the buffers: one
/// in ...
const LARGE_SHARE: u32 = 10;

/// What was true before the checkpoint of the blocks.
struct Before {
    scn: Scn,
    active: Vec<TxnId>,
}

impl Table {
    /// Reads every row, in the order of the blocks, each as [`fetch`](Table::fetch) does. Rows that
    /// are inserted meanwhile may come or not. For who has changed no row of the table: it would
    /// wait for itself. See [`scan_within`](Table::scan_within).
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
        let cache = self.changes().cache();
        let size = self.block_size(session);
        let spans = self.spans(session)?;
        let blocks: u64 = spans.iter().map(|span| u64::from(span.count)).sum();
        match blocks > u64::from(cache.buffers(size, session) / LARGE_SHARE) {
            true => self.scan_direct(transaction, &mut read, session),
            false => self.scan_cached(transaction, (&spans, size), &mut read, session),
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

    /// Through the cache.
    fn scan_cached(
        &self,
        transaction: Option<&Transaction>,
        (spans, size): (&[Span], BlockSize),
        read: &mut impl FnMut(RowAddress, RowView<'_>),
        session: &Session,
    ) -> Result<(), Stop> {
        let mut visit = |block| self.scan_block(transaction, block, read, session).map(|()| true);
        self.through_cache((spans, size), &mut visit, session)
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
        transaction: Option<&Transaction>,
        block: Dba,
        read: &mut impl FnMut(RowAddress, RowView<'_>),
        session: &Session,
    ) -> Result<(), Stop> {
        for slot in 0..self.rows_in(block, session)? {
            let address = RowAddress { block, slot };
            self.fetch(transaction, address, |row| read(address, row), session)?;
        }
        Ok(())
    }

    /// How many rows a block has room for given out.
    pub(crate) fn rows_in(&self, block: Dba, session: &Session) -> Result<u16, Stop> {
        Ok(rows_of(&self.changes().cache().pin_shared(block, FrameOrder::Heap, session)?))
    }

    /// Around the cache.
    fn scan_direct(
        &self,
        transaction: Option<&Transaction>,
        read: &mut impl FnMut(RowAddress, RowView<'_>),
        session: &Session,
    ) -> Result<(), Stop> {
        // AC5: in this order. A transaction that changed something by this SCN has entered before.
        let scn = self.changes().redo().last_scn(session);
        let active = self.transactions().active().all(session);
        let before = Before { scn, active };
        let spans = self.spans(session)?;
        let mut reader = self.changes().cache().direct_reader(&spans, session)?;
        while let Some(run) = reader.next_run()? {
            for (address, block) in run.blocks() {
                self.scan_copy(transaction, (address, block), &before, read, session)?;
            }
        }
        Ok(())
    }

    /// One block's rows, out of a copy of it.
    fn scan_copy(
        &self,
        transaction: Option<&Transaction>,
        (address, block): (Dba, &[u8]),
        before: &Before,
        read: &mut impl FnMut(RowAddress, RowView<'_>),
        session: &Session,
    ) -> Result<(), Stop> {
        if is_unwritten(block) {
            // As of the checkpoint it had no rows.
            return Ok(());
        }
        let header = BlockHeader::at(block, 0);
        if header.changed() > before.scn {
            return self.scan_block(transaction, address, read, session);
        }
        let head = HeapBlock::at(block, HeapBlock::START);
        if header.kind() != BlockKind::Heap || head.segment.get() != self.segment().header {
            return Ok(());
        }
        let (rows, row_bytes) = (head.rows.get(), self.shape().bytes());
        session.charge(Cost::RowRead, rows.into());
        for slot in 0..rows {
            let at = row_at(block, slot);
            let row = Row::at(block, at);
            if row.state != USED {
                continue;
            }
            let place = RowAddress { block: address, slot };
            let holder = row.transaction.get();
            if holder.is_some_and(|holder| before.active.binary_search(&holder).is_ok()) {
                self.fetch(transaction, place, |row| read(place, row), session)?;
                continue;
            }
            let bytes = &block[at + Row::BYTES..][..row_bytes];
            read(place, RowView { shape: self.shape(), bytes });
        }
        Ok(())
    }
}

/// How many rows a block of the cache has room for given out.
fn rows_of(block: &[u8]) -> u16 {
    if is_unwritten(block) || BlockHeader::at(block, 0).kind() != BlockKind::Heap {
        return 0;
    }
    HeapBlock::at(block, HeapBlock::START).rows.get()
}

fn after(first: Dba, blocks: u32) -> Dba {
    Dba::new(first.file.get(), first.block.get() + blocks)
}
