//! A database that is open: blocks are read through the instance's cache, each copied under its
//! latch, and no session waits longer than that (VF3, VF4).
//!
//! Callers: owners of an instance; tests.

use std::cell::RefCell;

use access::{Direction, Index, is_of};
use format::{BlockHeader, BlockKind};
use ids::{Dba, FileNo, ObjectNo};
use instance::Instance;
use latch::FrameOrder;
use os::Session;
use space::{SegmentState, TablespaceContent};
use stop::{RefusalKind, Stop};
use txn::{CrCopy, Snapshot};

use crate::pairs::KnownSegments;
use crate::report::Run;
use crate::segments::Segment;
use crate::source::{Check, DataFile, HeapBlock, Seen, Source, Visit, is_unreadable, of_heap};
use crate::{
    Report, Task, blocks, dictionary, foreign, heap, index, pairs, rings, segments, sequences,
};

/// An open database.
struct LiveSource<'i> {
    instance: &'i Instance,
    files: Vec<DataFile>,
    /// The moment as of which heaps and entries are read.
    moment: RefCell<Option<Snapshot<'i>>>,
    session: &'i Session,
}

/// Checks a database that is open, while others work on it. A block in the cache is checked there,
/// not on disk (VF12).
pub fn open(instance: &Instance, task: &mut Task<'_>, session: &Session) -> Result<Report, Stop> {
    instance.halt().check(session)?;
    let mut run = Run::new(task);
    let files = files(instance, session);
    run.report.files = files.len() as u64;
    let source = LiveSource { instance, files, moment: RefCell::new(None), session };
    let mut check = Check { run: &mut run, source: &source };
    let segments = segments::check(&mut check)?.list;
    rings::check(&mut check, &segments)?;
    blocks::check(&mut check, blocks::Expected::default())?;
    heap::check(&mut check, &segments)?;
    let trees = index::check(&mut check, &segments)?;
    let dictionary = dictionary::check(&mut check, &segments)?;
    let segments = segments.iter().map(|one| (one.object, one)).collect();
    let ground = KnownSegments { segments: &segments, trees: &trees };
    pairs::check(&mut check, ground, &dictionary)?;
    foreign::check(&mut check, ground, &dictionary)?;
    sequences::check(&mut check, ground, &dictionary)?;
    Ok(run.report)
}

fn files(instance: &Instance, session: &Session) -> Vec<DataFile> {
    let space = instance.space();
    let tablespaces = space.tablespaces(session);
    let mut files = Vec::new();
    for TablespaceContent { number, name, block_size, extent_blocks } in tablespaces {
        let of = space.files_of_tablespace(&name, session).unwrap_or_default();
        files.extend(of.into_iter().map(|file| DataFile {
            number: file,
            path: format!("file {file} of {name}"),
            block_size,
            blocks: blocks_of(instance, file, session),
            extent_blocks,
            tablespace: number.0,
        }));
    }
    files.sort_by_key(|file| file.number);
    files
}

fn blocks_of(instance: &Instance, file: FileNo, session: &Session) -> u32 {
    let all = instance.space().file_blocks(session);
    all.into_iter().find(|(number, _)| *number == file).map_or(0, |(_, blocks)| blocks)
}

impl LiveSource<'_> {
    /// Calls `look`, which only computes, on a block under its latch.
    fn look(&self, address: Dba, look: &mut dyn FnMut(&[u8]) -> Seen) -> Result<Seen, Stop> {
        if !self.has(address) {
            return Ok(Seen::Nowhere);
        }
        let pin = match self.instance.cache().pin_if_written(address, self.session) {
            Ok(Some(pin)) => pin,
            Ok(None) => return Ok(Seen::Unwritten),
            Err(stop) if stop.refusal() == Some(RefusalKind::Corrupt) => {
                return Ok(Seen::Damaged(stop.to_string()));
            }
            Err(stop) if is_unreadable(&stop) => {
                return Ok(Seen::Damaged(format!("can't be read: {stop}")));
            }
            Err(stop) => return Err(stop),
        };
        // One latch at a time, so its order doesn't matter.
        let block = pin.shared(FrameOrder::Heap, self.session);
        Ok(if cache::is_unwritten(&block) { Seen::Unwritten } else { look(&block) })
    }

    /// Whether the block exists by now: a file may have grown or been added since the check began.
    fn has(&self, address: Dba) -> bool {
        address.block.get() < blocks_of(self.instance, address.file, self.session)
    }
}

impl Source for LiveSource<'_> {
    fn files(&self) -> &[DataFile] {
        &self.files
    }

    fn read(&self, address: Dba) -> Result<Seen, Stop> {
        self.look(address, &mut |block| match BlockHeader::at(block, 0).address() {
            found if found == address => Seen::Whole(block.to_vec()),
            found => Seen::Damaged(format!("says that it is block {found}")),
        })
    }

    fn blocks_by_now(&self, file: FileNo) -> u32 {
        blocks_of(self.instance, file, self.session)
    }

    fn begin_moment(&self) -> Result<(), Stop> {
        self.moment.replace(None);
        let snapshot = self.instance.transactions().snapshot(None, self.session)?;
        self.moment.replace(Some(snapshot));
        Ok(())
    }

    fn settled(&self, address: Dba, object: u32) -> Result<HeapBlock, Stop> {
        let transactions = self.instance.transactions();
        let moment = self.moment.borrow();
        let moment = moment.as_ref().expect("a moment begins before anything is settled");
        let view = transactions.view_of(moment, None);
        let (mut copy, mut gone_before) = (Vec::new(), None);
        loop {
            let mut is_current = true;
            // Asked under the latch, so that it holds for the bytes that are copied.
            let seen = self.look(address, &mut |block| {
                if is_of(block, &[BlockKind::Heap], object) {
                    is_current = transactions.is_current(block, view, self.session);
                    transactions.copy(block, &mut copy, self.session);
                }
                Seen::Whole(block.to_vec())
            })?;
            match of_heap(seen, object) {
                HeapBlock::Whole(_) if !is_current => {}
                other => return Ok(other),
            }
            match transactions.make_consistent(address, &mut copy, view, self.session) {
                Ok(CrCopy::Consistent) => return Ok(HeapBlock::Whole(copy)),
                Ok(CrCopy::UndoGone(gone)) => transactions.try_again(gone, &mut gone_before)?,
                // It is a block of undo, which another check reports.
                Err(stop) if is_unreadable(&stop) => return Ok(HeapBlock::Bad),
                Err(stop) => return Err(stop),
            }
        }
    }

    fn entries(&self, index: &Segment, visit: &mut Visit<'_>) -> Result<(), Stop> {
        let transactions = self.instance.transactions();
        let moment = self.moment.borrow();
        let moment = moment.as_ref().expect("a moment begins before anything is settled");
        let view = transactions.view_of(moment, None);
        let index = Index::open(&index.name, self.instance.space(), transactions, self.session)?;
        let all = (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded);
        let mut cursor = index.cursor(all, Direction::Ascending, view);
        while let Some((key, row)) = cursor.next(self.session)? {
            visit(row, key);
        }
        Ok(())
    }

    fn is_there(&self, segment: ObjectNo) -> bool {
        let state = self.instance.space().state(segment, self.session);
        state.is_some_and(|state| state != SegmentState::Dropping)
    }

    fn has_segment(&self, name: &str) -> Result<bool, Stop> {
        Ok(self.instance.space().find(name, self.session)?.is_some())
    }

    fn is_live(&self) -> bool {
        true
    }

    fn pause(&self, turn: u32) {
        self.session.relax(turn);
    }
}
