//! The source of blocks, and looking at several of them as if at one moment (VF3).
//!
//! ```text
//!   look … look ──▶ suspicion, and the blocks on which it rests
//!                     └── all as they were? ──▶ a finding
//!                                    └── no ──▶ look again
//! ```
//!
//! Blocks are copied one by one, each under its latch. If none on which a suspicion rests has
//! changed between the first look and a second one, all were as seen at the moment in between, and
//! the suspicion is no accident of the order in which they were read.
//!
//! Callers: the checks.

use std::cell::RefCell;
use std::collections::BTreeMap;

use access::{RowAddress, check_heap_block, is_of};
use format::{BlockHeader, BlockKind, TransactionTable};
use ids::{BlockSize, Dba, FileNo, ObjectNo};
use space::{Blocks, HeaderSeen};
use stop::{RefusalKind, Stop};

use crate::report::Run;
use crate::segments::Segment;
use crate::{Finding, Kind, Progress};

/// Judges a block that was read for a heap.
pub(crate) fn of_heap(seen: Seen, object: u32) -> HeapBlock {
    match seen {
        Seen::Whole(bytes) if !is_of(&bytes, &[BlockKind::Heap], object) => HeapBlock::NotIts,
        Seen::Whole(bytes) if check_heap_block(&bytes).is_ok() => HeapBlock::Whole(bytes),
        Seen::Unwritten => HeapBlock::NotIts,
        _ => HeapBlock::Bad,
    }
}

/// Whether the device, or damage on it, has refused.
pub(crate) fn is_unreadable(stop: &Stop) -> bool {
    matches!(stop.refusal(), Some(RefusalKind::Io | RefusalKind::Corrupt))
}

/// The most looks at a place that keeps changing (VF10).
const LOOKS_MAX: u32 = 20;

/// A block as it was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Seen {
    /// The bytes, whose header was checked.
    Whole(Vec<u8>),
    /// The block is all zero.
    Unwritten,
    /// The fault, as a sentence without the block's address.
    Damaged(String),
    /// No file has this block.
    Nowhere,
}

/// A block, to a heap that is said to have it.
pub(crate) enum HeapBlock {
    /// The bytes of a block that is the heap's and in order.
    Whole(Vec<u8>),
    /// The block isn't the heap's: it was never formatted for it (rule space/SP5).
    NotIts,
    /// The block can't be used.
    Bad,
}

/// Called with a row's address, and its bytes or its key.
pub(crate) type Visit<'v> = dyn FnMut(RowAddress, &[u8]) + 'v;

/// A data file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct DataFile {
    pub(crate) number: FileNo,
    pub(crate) path: String,
    pub(crate) block_size: BlockSize,
    pub(crate) blocks: u32,
    pub(crate) extent_blocks: u32,
    pub(crate) tablespace: u16,
}

/// A source of blocks: files, or a cache.
pub(crate) trait Source {
    /// The data files.
    fn files(&self) -> &[DataFile];
    /// A block as it is now.
    fn read(&self, address: Dba) -> Result<Seen, Stop>;
    /// The number of blocks that the file has by now.
    fn blocks_by_now(&self, file: FileNo) -> u32;
    /// Begins a moment: `settled` and `entries` read as of it.
    fn begin_moment(&self) -> Result<(), Stop>;
    /// A block of this heap as of the moment; a whole one has passed its check.
    fn settled(&self, address: Dba, object: u32) -> Result<HeapBlock, Stop>;
    /// Visits the entries of an index as of the moment.
    fn entries(&self, index: &Segment, visit: &mut Visit<'_>) -> Result<(), Stop>;
    /// Whether the segment still exists.
    fn is_there(&self, segment: ObjectNo) -> bool;
    /// Whether there is a segment of this name by now, in a database that is open.
    fn has_segment(&self, name: &str) -> Result<bool, Stop>;
    /// Whether sessions change blocks meanwhile.
    fn is_live(&self) -> bool;
    /// Waits a little, so that sessions can finish their changes.
    fn pause(&self, turn: u32);
}

/// The header without its first extent that isn't in its file and those after it, and with a high
/// water that fits the rest.
pub(crate) fn within_files(source: &dyn Source, mut header: HeaderSeen) -> HeaderSeen {
    let is_in_file = |run: &&Blocks| {
        let end = run.first.block.get().checked_add(run.count);
        end.is_some_and(|end| end <= source.blocks_by_now(run.first.file))
    };
    let sound = header.extents.iter().take_while(is_in_file).count();
    header.extents.truncate(sound);
    let blocks = header.extents.iter().map(|run| run.count).sum();
    header.high_water = header.high_water.min(blocks);
    header
}

/// A suspicion, with the blocks on which it rests (VF3).
pub(crate) struct Suspicion {
    pub(crate) kind: Kind,
    pub(crate) block: Dba,
    pub(crate) what: String,
    /// Blocks that must not have changed for it to be true; of transaction tables only the links.
    pub(crate) rests_on: Vec<Dba>,
    /// Blocks of which nothing may have changed.
    pub(crate) exactly: Vec<Dba>,
}

impl Suspicion {
    pub(crate) fn new(kind: Kind, block: Dba, what: impl Into<String>) -> Suspicion {
        let (rests_on, exactly) = (vec![block], Vec::new());
        Suspicion { kind, block, what: what.into(), rests_on, exactly }
    }

    /// Adds a block on which it rests.
    pub(crate) fn and(mut self, block: Dba) -> Suspicion {
        self.rests_on.push(block);
        self
    }
}

/// A block's bytes, or in words why there are none.
pub(crate) type BytesOrFault = Result<Vec<u8>, String>;

/// The SCN and the number of a change; none for a block that isn't there.
type Version = Option<(u64, u32)>;
/// A version, and the bytes that change only with links to other blocks.
type Signature = (Version, Option<Vec<u8>>);

/// Reads blocks, and remembers the version of each.
pub(crate) struct Looks<'s> {
    pub(crate) source: &'s dyn Source,
    signatures: RefCell<BTreeMap<Dba, Signature>>,
}

impl<'s> Looks<'s> {
    pub(crate) fn new(source: &'s dyn Source) -> Looks<'s> {
        Looks { source, signatures: RefCell::default() }
    }

    /// A block as it is now; its first version is remembered.
    pub(crate) fn read(&self, address: Dba) -> Result<Seen, Stop> {
        let seen = self.source.read(address)?;
        if self.source.is_live() {
            let signature = signature(&seen);
            self.signatures.borrow_mut().entry(address).or_insert(signature);
        }
        Ok(seen)
    }

    /// The bytes of a block.
    pub(crate) fn bytes(&self, address: Dba) -> Result<BytesOrFault, Stop> {
        Ok(match self.read(address)? {
            Seen::Whole(bytes) => Ok(bytes),
            Seen::Unwritten => Err("was never written".to_string()),
            Seen::Damaged(what) => Err(what),
            Seen::Nowhere => Err("is in no data file".to_string()),
        })
    }

    fn is_still(&self, suspicion: &Suspicion) -> Result<bool, Stop> {
        let links = suspicion.rests_on.iter().map(|block| (block, false));
        for (block, exactly) in links.chain(suspicion.exactly.iter().map(|block| (block, true))) {
            let now = signature(&self.source.read(*block)?);
            let signatures = self.signatures.borrow();
            let same = signatures.get(block).is_none_or(|then| match (&then.1, &now.1) {
                (Some(then), Some(now)) if !exactly => then == now,
                _ => then.0 == now.0,
            });
            if !same {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn signature(seen: &Seen) -> Signature {
    let Seen::Whole(bytes) = seen else { return (None, None) };
    let header = BlockHeader::at(bytes, 0);
    let version = Some((header.changed().get(), header.sequence()));
    if header.kind() != BlockKind::TransactionTable {
        return (version, None);
    }
    // The ring and the spare blocks; transactions begin and end all the time.
    let mut links = *TransactionTable::at(bytes, TransactionTable::START);
    (links.newest, links.current) = (format::U16Le::ZERO, format::DbaLe::NONE);
    (version, Some(links.bytes().to_vec()))
}

/// A check on its way through a database.
pub(crate) struct Check<'c, 'r, 'a> {
    pub(crate) run: &'c mut Run<'r, 'a>,
    pub(crate) source: &'c dyn Source,
}

impl Check<'_, '_, '_> {
    /// Calls `look` until its suspicions are confirmed or gone, reports them, and returns its
    /// result.
    pub(crate) fn settle<T>(
        &mut self,
        mut look: impl FnMut(&Looks<'_>, &mut Vec<Suspicion>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        for turn in 0.. {
            let (looks, mut suspicions) = (Looks::new(self.source), Vec::new());
            let made = look(&looks, &mut suspicions)?;
            let mut pending = 0;
            if self.source.is_live() && turn + 1 < LOOKS_MAX {
                for suspicion in &suspicions {
                    pending += u64::from(!looks.is_still(suspicion)?);
                }
                if pending > 0 {
                    self.source.pause(turn);
                    continue;
                }
            }
            for suspicion in suspicions {
                match !self.source.is_live() || looks.is_still(&suspicion)? {
                    true => self.suspect(&suspicion),
                    false => self.run.report.unsettled += 1,
                }
            }
            return Ok(made);
        }
        unreachable!("the last look returns")
    }

    fn suspect(&mut self, suspicion: &Suspicion) {
        self.find(suspicion.kind, suspicion.block, suspicion.what.clone());
    }

    /// A finding about a file.
    pub(crate) fn find(&mut self, kind: Kind, block: Dba, what: impl Into<String>) {
        let object = self.file_of(block);
        self.find_in(&object, kind, block, what);
    }

    /// A finding about a table or an index.
    pub(crate) fn find_in(
        &mut self,
        object: &str,
        kind: Kind,
        block: Dba,
        what: impl Into<String>,
    ) {
        let (file, object) = (self.file_of(block), object.to_string());
        let (what, advice) = (what.into(), kind.advice().to_string());
        self.run.find(&Finding { kind, file, object, block: Some(block), what, advice });
    }

    fn file_of(&self, block: Dba) -> String {
        let file = self.source.files().iter().find(|file| file.number == block.file);
        file.map_or_else(|| format!("file {}", block.file), |file| file.path.clone())
    }

    /// Whether the segment still exists.
    pub(crate) fn is_there(&self, segment: &Segment) -> bool {
        self.source.is_there(ObjectNo::new(segment.object))
    }

    /// Visits the entries of an index as of the moment. False if the index is gone, or can't be
    /// read, which is reported; then the entries prove nothing.
    pub(crate) fn entries(&mut self, index: &Segment, visit: &mut Visit<'_>) -> Result<bool, Stop> {
        match self.source.entries(index, visit) {
            Err(stop) if stop.refusal().is_some() && !self.is_there(index) => Ok(false),
            Err(stop) if is_unreadable(&stop) => {
                let what = format!("is of index {}, which can't be read: {stop}", index.name);
                self.find_in(&index.name, Kind::Index, index.header, what);
                Ok(false)
            }
            entries => entries.map(|()| true),
        }
    }

    /// Tells the progress, and refuses to go on if the caller wants to end.
    pub(crate) fn go_on(&mut self) -> Result<(), Stop> {
        let of = self.source.files().iter().map(|file| u64::from(file.blocks)).sum();
        let report = &self.run.report;
        let progress = Progress { blocks: report.blocks, of, findings: report.count() };
        match (self.run.task.go_on)(progress) {
            true => Ok(()),
            false => Err(Stop::refuse(RefusalKind::WrongState, "verify was stopped; begin again")),
        }
    }
}
