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
//! A scan goes to its end in one call ([`Heap::visit`]), or by a block or a run of blocks in each
//! call ([`Heap::scan_next`]). Then a [`HeapScan`] says how far it has come: by whole blocks, each
//! read as the view sees it at one moment (AC50).
//!
//! Callers: tables.

use cache::{Blocks, DirectBlock, DirectRun, DirectScan, MultiblockReader, ReadAhead};
use ids::Dba;
use os::{IoBuf, Session};
use stop::{Stop, check_call};
use txn::{CrCopy, View};
use waits::LongWork;

use super::{Heap, RowVisit};
use crate::inserter::after;
use crate::lost::dropped;

/// A table is read around the cache if it has more blocks than one in this many of the buffers.
const LARGE_SHARE: u32 = 10;

/// A call of a scan around the cache visits about so many bytes: it reads as many meanwhile, for
/// the next call.
const CALL_BYTES: u64 = 1 << 20;

/// A scan between two calls. It borrows nothing, and has no pin, no latch and no I/O in flight.
#[derive(Debug)]
pub struct HeapScan {
    /// The heap's object number.
    object: u32,
    way: Way,
    /// Why a call was refused: it may have visited some rows, so the scan can't go on (AC37).
    refused: Option<Stop>,
}

/// How the blocks of a scan are read, and how far it has come.
#[derive(Debug)]
enum Way {
    /// The first call chooses.
    NotBegun,
    Cached {
        blocks: BlockWay,
        /// The buffer of reads of many blocks.
        buffer: Option<IoBuf>,
    },
    Direct(DirectScan),
    Over,
}

/// The way through a table's blocks, which are read into the cache with their neighbours.
#[derive(Debug)]
struct BlockWay {
    spans: Vec<Blocks>,
    /// The span of the next block, and the block's place in it.
    span: usize,
    at: u32,
    /// How many blocks of the span were read ahead, from its first on.
    read: u32,
}

impl Heap {
    /// Visits all rows as the view sees them, in the order of their blocks. The view's snapshot was
    /// taken before. Waits for no other transaction. Ends with the session's call, between two
    /// blocks.
    pub fn visit(
        &self,
        view: View,
        visit: &mut dyn RowVisit,
        session: &Session,
    ) -> Result<(), Stop> {
        let spans = self.spans(session)?;
        if self.is_large(&spans, session) {
            // In one call the device is kept busy while rows are visited.
            let cache = self.transactions.changes().cache();
            let mut scan = cache.direct_scan(&spans, ReadAhead::Far, session)?;
            let visited = self.visit_runs(&mut scan, view, u64::MAX, visit, session);
            cache.end_direct(scan, session);
            return visited.map(drop);
        }
        let mut visit = |block| self.visit_all(view, block, visit, session).map(|()| true);
        self.each_of(spans, &mut visit, session).map(drop)
    }

    /// A scan that goes on from call to call. Nothing is read yet.
    pub fn begin_scan(&self) -> HeapScan {
        HeapScan { object: self.object, way: Way::NotBegun, refused: None }
    }

    /// Visits the rows of the next block as the view sees them, or those of about a MiB of blocks
    /// that are read around the cache. False if there was no block left. The view is that of the
    /// same snapshot in all calls. After a refusal each further call is refused.
    pub fn scan_next(
        &self,
        scan: &mut HeapScan,
        view: View,
        visit: &mut dyn RowVisit,
        session: &Session,
    ) -> Result<bool, Stop> {
        if scan.object != self.object {
            // The table has got another segment since: this one's blocks are those of that.
            return Err(dropped(scan.object));
        }
        if let Some(stop) = &scan.refused {
            return Err(stop.clone());
        }
        let visited = self.scan_on(&mut scan.way, view, visit, session);
        if !matches!(visited, Ok(true)) {
            let way = std::mem::replace(&mut scan.way, Way::Over);
            if let Way::Direct(direct) = way {
                self.transactions.changes().cache().end_direct(direct, session);
            }
            scan.refused = visited.as_ref().err().cloned();
        }
        visited
    }

    fn scan_on(
        &self,
        way: &mut Way,
        view: View,
        visit: &mut dyn RowVisit,
        session: &Session,
    ) -> Result<bool, Stop> {
        if let Way::NotBegun = way {
            let spans = self.spans(session)?;
            *way = match self.is_large(&spans, session) {
                true => {
                    let cache = self.transactions.changes().cache();
                    Way::Direct(cache.direct_scan(&spans, ReadAhead::Near, session)?)
                }
                false => Way::Cached { blocks: BlockWay::of(spans), buffer: None },
            };
        }
        match way {
            Way::NotBegun => unreachable!("the scan has begun"),
            Way::Over => Ok(false),
            Way::Direct(direct) => self.visit_runs(direct, view, CALL_BYTES, visit, session),
            Way::Cached { blocks, buffer } => {
                let Some(block) = self.next_block(blocks, buffer, session)? else {
                    return Ok(false);
                };
                check_call(session)?;
                let visited = self.visit_all(view, block, visit, session);
                self.or_without_rows(block, visited.map(|()| true), session)
            }
        }
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
        self.each_of(self.spans(session)?, visit, session)
    }

    fn each_of(
        &self,
        spans: Vec<Blocks>,
        visit: &mut dyn FnMut(Dba) -> Result<bool, Stop>,
        session: &Session,
    ) -> Result<bool, Stop> {
        let cache = self.transactions.changes().cache();
        let mut reader = cache.multiblock_reader(session);
        let run_max = cache.run_max(self.block_size, session);
        let work = session.begin_work(LongWork::TableScan, blocks_of(&spans));
        let mut blocks = BlockWay::of(spans);
        while let Some(block) = blocks.next(&mut reader, run_max)? {
            check_call(session)?;
            if !self.or_without_rows(block, visit(block), session)? {
                return Ok(false);
            }
            work.done(1);
        }
        Ok(true)
    }

    /// The next block of a scan that goes on from call to call.
    fn next_block(
        &self,
        blocks: &mut BlockWay,
        buffer: &mut Option<IoBuf>,
        session: &Session,
    ) -> Result<Option<Dba>, Stop> {
        let cache = self.transactions.changes().cache();
        let run_max = match blocks.is_read() {
            true => 0,
            false => cache.run_max(self.block_size, session),
        };
        let mut reader = cache.multiblock_reader(session).with_buffer(buffer.take());
        let next = blocks.next(&mut reader, run_max);
        *buffer = reader.into_buffer();
        next
    }

    /// The result of a visit to a block. A block that can't be read, and was handed out and not
    /// formatted, has no rows, and the scan goes on (AC21).
    pub(super) fn or_without_rows(
        &self,
        block: Dba,
        visited: Result<bool, Stop>,
        session: &Session,
    ) -> Result<bool, Stop> {
        match visited {
            Err(stop) if stop.is_of_medium() && self.has_no_rows(block, session)? => Ok(true),
            visited => visited,
        }
    }

    /// Visits all rows of blocks that are read around the cache, up to the end of the run with
    /// which they have so many bytes. False if there was no block left.
    fn visit_runs(
        &self,
        scan: &mut DirectScan,
        view: View,
        bytes_max: u64,
        visit: &mut dyn RowVisit,
        session: &Session,
    ) -> Result<bool, Stop> {
        let cache = self.transactions.changes().cache();
        let (mut copy, mut foreign, mut bytes) = (Vec::new(), Vec::new(), 0);
        let mut reader = cache.resume(scan, session);
        while bytes < bytes_max
            && let Some(mut run) = reader.next_run()?
        {
            bytes += run.bytes_left() as u64;
            self.visit_run(&mut run, view, &mut copy, &mut foreign, visit, session)?;
        }
        drop(reader);
        foreign.into_iter().try_for_each(|address| self.check_foreign(address, session))?;
        Ok(bytes > 0)
    }

    /// Visits all rows of a run, and adds the blocks that aren't the heap's to `foreign`.
    fn visit_run(
        &self,
        run: &mut DirectRun<'_>,
        view: View,
        copy: &mut Vec<u8>,
        foreign: &mut Vec<Dba>,
        visit: &mut dyn RowVisit,
        session: &Session,
    ) -> Result<(), Stop> {
        let transactions = &self.transactions;
        while let Some(DirectBlock { address, bytes }) = run.next_block()? {
            check_call(session)?;
            let Some(block) = bytes else {
                if !self.has_no_rows(address, session)? {
                    self.visit_all(view, address, visit, session)?;
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
                transactions.copy_of_old(block, copy);
                match transactions.make_consistent(address, copy, view, session)? {
                    CrCopy::Consistent => self.visit_whole(address, copy, visit, session),
                    // The change was rolled back since the block was written.
                    CrCopy::UndoGone(_) => {
                        self.visit_all(view, address, visit, session)?;
                        continue;
                    }
                }
            };
            self.visit_parts(view, parts, visit, session)?;
        }
        Ok(())
    }

    /// Whether a table with these blocks is read around the cache.
    fn is_large(&self, spans: &[Blocks], session: &Session) -> bool {
        let buffers = self.transactions.changes().cache().buffers(self.block_size, session);
        blocks_of(spans) > u64::from(buffers / LARGE_SHARE)
    }

    /// The heap's blocks without the segment's header, neighbours together.
    pub(super) fn spans(&self, session: &Session) -> Result<Vec<Blocks>, Stop> {
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

/// How many blocks these are.
fn blocks_of(spans: &[Blocks]) -> u64 {
    spans.iter().map(|span| u64::from(span.count)).sum()
}

impl BlockWay {
    fn of(spans: Vec<Blocks>) -> BlockWay {
        BlockWay { spans, span: 0, at: 0, read: 0 }
    }

    /// Whether the next block was read ahead.
    fn is_read(&self) -> bool {
        self.at < self.read
    }

    /// The next block, after it was read with its neighbours, of which a run has at most `run_max`.
    fn next(
        &mut self,
        reader: &mut MultiblockReader<'_>,
        run_max: u32,
    ) -> Result<Option<Dba>, Stop> {
        while let Some(span) = self.spans.get(self.span) {
            if self.at == span.count {
                (self.span, self.at, self.read) = (self.span + 1, 0, 0);
                continue;
            }
            let block = after(span.first, self.at);
            if self.at == self.read {
                self.read += reader.read_run(block, run_max.min(span.count - self.at))?;
            }
            self.at += 1;
            return Ok(Some(block));
        }
        Ok(None)
    }
}
