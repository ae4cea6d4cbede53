//! Scans: every row of a table, in the order of its blocks (AC5).
//!
//! ```text
//!   small: runs of blocks into the cache       db file scattered read   rows read in the cache
//!   large: a checkpoint of the table's         enq: KO - fast object checkpoint
//!          blocks; then blocks around the      direct path read         rows read in a buffer of
//!          cache                                                        the session's own
//! ```
//!
//! A block that was read around the cache has every change that was committed by the snapshot, and
//! may have more: changes that are too new are taken back in it, as in any copy.
//!
//! Callers: tables.

use cache::{Blocks, DirectBlock};
use ids::Dba;
use os::Session;
use stop::{Stop, check_call};
use txn::{CrCopy, View};

use super::Heap;
use crate::RowAddress;
use crate::inserter::after;

/// A table is read around the cache if it has more blocks than one in this many of the buffers.
const LARGE_SHARE: u32 = 10;

impl Heap {
    /// Visits all rows as the view sees them, in the order of their blocks. The view's snapshot was
    /// taken before. Waits for no other transaction. Ends with the session's call, between two
    /// blocks.
    pub fn visit(
        &self,
        view: View,
        visit: &mut dyn FnMut(RowAddress, &[u8]),
        session: &Session,
    ) -> Result<(), Stop> {
        let spans = self.spans(session)?;
        let blocks: u64 = spans.iter().map(|span| u64::from(span.count)).sum();
        let cache = self.transactions.changes().cache();
        let buffers = cache.buffers(self.block_size, session);
        if blocks > u64::from(buffers / LARGE_SHARE) {
            return self.visit_direct(view, &spans, visit, session);
        }
        let mut visit = |block| self.visit_block(view, block, visit, session).map(|()| true);
        self.each_of(&spans, &mut visit, session).map(drop)
    }

    /// Does a checkpoint of the table's segment: returns when every change made to it before is on
    /// disk.
    pub fn checkpoint(&self, session: &Session) -> Result<(), Stop> {
        let mut spans = self.spans(session)?;
        spans.push(Blocks { first: self.header, count: 1 });
        self.transactions.changes().cache().checkpoint_blocks(&spans, session)
    }

    /// Visits each block that may have rows, after it was read into the cache with its neighbours,
    /// until `visit` returns false. Returns whether all blocks were visited.
    pub fn through_cache(
        &self,
        visit: &mut dyn FnMut(Dba) -> Result<bool, Stop>,
        session: &Session,
    ) -> Result<bool, Stop> {
        self.each_of(&self.spans(session)?, visit, session)
    }

    fn each_of(
        &self,
        spans: &[Blocks],
        visit: &mut dyn FnMut(Dba) -> Result<bool, Stop>,
        session: &Session,
    ) -> Result<bool, Stop> {
        let cache = self.transactions.changes().cache();
        let mut reader = cache.multiblock_reader(session);
        let run_max = cache.run_max(self.block_size, session);
        for span in spans {
            let mut read = 0;
            for at in 0..span.count {
                check_call(session)?;
                let block = after(span.first, at);
                if at == read {
                    read += reader.read_run(block, run_max.min(span.count - at))?;
                }
                let goes_on = match visit(block) {
                    // A block that was handed out and not formatted has no rows (AC21).
                    Err(stop) if stop.is_of_medium() && self.has_no_rows(block, session)? => true,
                    visited => visited?,
                };
                if !goes_on {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Visits all rows of blocks that are read around the cache.
    fn visit_direct(
        &self,
        view: View,
        spans: &[Blocks],
        visit: &mut dyn FnMut(RowAddress, &[u8]),
        session: &Session,
    ) -> Result<(), Stop> {
        let transactions = &self.transactions;
        let mut reader = transactions.changes().cache().direct_reader(spans, session)?;
        let (mut copy, mut foreign) = (Vec::new(), Vec::new());
        while let Some(mut run) = reader.next_run()? {
            while let Some(DirectBlock { address, bytes }) = run.next_block()? {
                check_call(session)?;
                let Some(block) = bytes else {
                    if !self.has_no_rows(address, session)? {
                        self.visit_block(view, address, visit, session)?;
                    }
                    continue;
                };
                // It wasn't formatted by the checkpoint, or its rows are lost, or the table is.
                if !self.is_its(block) {
                    foreign.push(address);
                    continue;
                }
                let parts = if transactions.is_current(block, view, session) {
                    self.visit_whole(address, block, visit, session)
                } else {
                    transactions.copy_of_old(block, &mut copy);
                    match transactions.make_consistent(address, &mut copy, view, session)? {
                        CrCopy::Consistent => self.visit_whole(address, &copy, visit, session),
                        // The change was rolled back since the block was written.
                        CrCopy::UndoGone(_) => {
                            self.visit_block(view, address, visit, session)?;
                            continue;
                        }
                    }
                };
                self.visit_parts(view, parts, visit, session)?;
            }
        }
        foreign.into_iter().try_for_each(|address| self.check_foreign(address, session))
    }

    /// The heap's blocks without the segment's header, neighbours together.
    fn spans(&self, session: &Session) -> Result<Vec<Blocks>, Stop> {
        let mut spans: Vec<Blocks> = Vec::new();
        for run in self.runs(session)? {
            let (first, count) = match run.first == self.header {
                true => (after(run.first, 1), run.count - 1),
                false => (run.first, run.count),
            };
            match spans.last_mut() {
                Some(last) if after(last.first, last.count) == first => last.count += count,
                _ if count == 0 => {}
                _ => spans.push(Blocks { first, count }),
            }
        }
        Ok(spans)
    }
}
