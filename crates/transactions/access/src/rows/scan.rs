//! Scans: every row of a table, in the order of its blocks.
//!
//! ```text
//!   small: runs of blocks into the cache       db file scattered read   each read there
//!   large: a checkpoint of the table's         enq: KO - fast object checkpoint
//!          blocks; then blocks around the      direct path read         each read out of a buffer
//!          cache                                                        of the session's own
//! ```
//!
//! A block that was read around the cache has whatever was committed by the snapshot, and may have
//! more: what is too new is taken back in it, as in any copy (AC5).
//!
//! Callers: tables.

use cache::Span;
use ids::{BlockSize, Dba};
use os::Session;
use stop::Stop;
use txn::{CrCopy, View};

use super::Heap;
use crate::RowAddress;

/// A table is read around the cache if it has more blocks than this share of the buffers: one
/// in ...
const LARGE_SHARE: u32 = 10;

impl Heap {
    /// Visits all rows as the view sees them, in the order of their blocks. The view's snapshot was
    /// taken before. Waits for nobody.
    pub fn visit(
        &self,
        view: View,
        visit: &mut dyn FnMut(RowAddress, &[u8]),
        session: &Session,
    ) -> Result<(), Stop> {
        let spans = self.spans(session)?;
        let blocks: u64 = spans.iter().map(|span| u64::from(span.count)).sum();
        let cache = self.transactions.changes().cache();
        let buffers = cache.buffers(self.block_size(session), session);
        if blocks > u64::from(buffers / LARGE_SHARE) {
            return self.visit_direct((view, &spans), visit, session);
        }
        let mut visit = |block| self.visit_block(view, block, visit, session).map(|()| true);
        self.each_of(&spans, &mut visit, session).map(drop)
    }

    /// A checkpoint of the table's segment: returns when every change made to it before is on disk.
    pub fn checkpoint(&self, session: &Session) -> Result<(), Stop> {
        let mut spans = self.spans(session)?;
        spans.push(Span { first: self.header, count: 1 });
        self.transactions.changes().cache().checkpoint_blocks(&spans, session)
    }

    /// Visits each block that may have rows, when it has been brought into the cache with its
    /// neighbours, as long as `visit` says to go on; whether it always did.
    pub fn through_cache(
        &self,
        visit: &mut dyn FnMut(Dba) -> Result<bool, Stop>,
        session: &Session,
    ) -> Result<bool, Stop> {
        self.each_of(&self.spans(session)?, visit, session)
    }

    fn each_of(
        &self,
        spans: &[Span],
        visit: &mut dyn FnMut(Dba) -> Result<bool, Stop>,
        session: &Session,
    ) -> Result<bool, Stop> {
        let cache = self.transactions.changes().cache();
        let mut reader = cache.multiblock_reader(session);
        let run_max = cache.run_max(self.block_size(session), session);
        for span in spans {
            for at in 0..span.count {
                let block = after(span.first, at);
                if at % run_max == 0 {
                    reader.read_run(block, run_max.min(span.count - at))?;
                }
                let goes_on = match visit(block) {
                    // Nobody needs one that was handed out, and not formatted yet (AC15).
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

    /// Around the cache.
    fn visit_direct(
        &self,
        (view, spans): (View, &[Span]),
        visit: &mut dyn FnMut(RowAddress, &[u8]),
        session: &Session,
    ) -> Result<(), Stop> {
        let transactions = &self.transactions;
        let mut reader = transactions.changes().cache().direct_reader(spans, session)?;
        let (mut copy, mut foreign) = (Vec::new(), Vec::new());
        while let Some(run) = reader.next_run()? {
            for (address, block) in run.blocks() {
                if run.misses(address) {
                    if !self.has_no_rows(address, session)? {
                        self.visit_block(view, address, visit, session)?;
                    }
                    continue;
                }
                // What isn't the table's was never formatted, as of the checkpoint; or it is gone.
                if !self.is_its(block) {
                    foreign.push(address);
                    continue;
                }
                let parts = if transactions.is_current(block, view, session) {
                    self.visit_whole((address, block), visit, session)
                } else {
                    transactions.copy_of_old(block, &mut copy);
                    match transactions.make_consistent(address, &mut copy, view, session)? {
                        CrCopy::Consistent => self.visit_whole((address, &copy), visit, session),
                        // It was rolled back since it was written.
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

    fn block_size(&self, session: &Session) -> BlockSize {
        let cache = self.transactions.changes().cache();
        cache.block_size_of(self.header.file, session).unwrap_or(cache.block_size())
    }

    /// Its blocks without the segment's header, neighbours together.
    fn spans(&self, session: &Session) -> Result<Vec<Span>, Stop> {
        let mut spans: Vec<Span> = Vec::new();
        for run in self.runs(session)? {
            let (first, count) = match run.first == self.header {
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
}

fn after(first: Dba, blocks: u32) -> Dba {
    Dba::new(first.file.get(), first.block.get() + blocks)
}
