//! A batch: blocks that become durable together, from their copies to the last sync.
//!
//! ```text
//!   Filling ─▶ Copies ─────▶ CopiesSync ───▶ Home ────────▶ HomeSync ─────▶ Durable
//!   (add …)    one write to  a sync of the   a write for    a sync for        │
//!      ▲       its region    doublewrite     each block     each file         │
//!      └──────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! A stage is a number of requests, in any order, and all in flight at once if the ring has room.
//! The next stage begins when all of them are done (rule D1). A stage without requests is skipped.
//!
//! Invariants
//!   * a copy is sealed as it is made, so no frame is touched again; the same image goes to the
//!     doublewrite file and home
//!   * from its launch to its end no other batch uses its region of the doublewrite file (CB12)
//!   * one home write has blocks that are neighbours in their file, in this order in the batch
//!     (CB66)
//!
//! Caller: `pipeline`.

use std::ops::Range;

use format::BlockHeader;
use ids::{Dba, Scn};
use os::{Cost, File, IoArea, IoBuf, IoKind, Request, Session, prefetch_all};
use stop::Failpoint;
use waits::Statistic;

use crate::Cache;
use crate::files::DataFile;
use crate::get::kib;

/// The most bytes of one home write: a longer one isn't faster.
const HOME_BYTES_MAX: usize = 1 << 20;

/// Why a block is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reason {
    /// So that its buffer becomes free.
    Free,
    /// So that the checkpoint can move on.
    Checkpoint,
}

/// A dirty frame that is to be written.
#[derive(Clone, Copy)]
pub(crate) struct DirtyFrame {
    pub(crate) set: u32,
    pub(crate) frame: u32,
    pub(crate) address: Dba,
    pub(crate) reason: Reason,
}

/// One block of a batch.
pub(crate) struct Item {
    pub(crate) source: DirtyFrame,
    /// The place of its file in the batch's list of files.
    file: usize,
    /// Where its copy lies in the images.
    image: Range<usize>,
    /// The SCN of its newest change.
    changed: Scn,
}

/// How far a batch has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Filling,
    Copies,
    CopiesSync,
    Home,
    HomeSync,
    Durable,
}

/// Blocks that become durable together.
pub(crate) struct Batch {
    pub(crate) items: Vec<Item>,
    /// The number of writers when the first block was taken.
    pub(crate) writers: u32,
    /// Unique among the batches of all writers; the tag of its requests.
    pub(crate) number: u64,
    /// The copies side by side, in the order of the items.
    images: IoArea,
    /// Where the last copy ends.
    end: usize,
    /// The highest SCN in the copies.
    pub(crate) newest: Scn,
    /// The files of the blocks.
    files: Vec<DataFile>,
    /// Where its region of the doublewrite file begins.
    region: Option<u64>,
    /// The bytes to be written there: the copies, and zeros behind them.
    written: usize,
    stage: Stage,
    /// The number of requests of the stage.
    requests: usize,
    /// The number of requests made so far.
    made: usize,
    /// The number of items whose home writes were made.
    homeward: usize,
    /// The number of requests done so far.
    pub(crate) done: usize,
}

impl Batch {
    pub(crate) fn new(number: u64, images: IoArea, blocks: u32) -> Batch {
        Batch {
            items: Vec::with_capacity(blocks as usize),
            writers: 0,
            number,
            images,
            end: 0,
            newest: Scn::ZERO,
            files: Vec::new(),
            region: None,
            written: 0,
            stage: Stage::Filling,
            requests: 0,
            made: 0,
            homeward: 0,
            done: 0,
        }
    }

    /// Empties the batch and returns its region, if it had one.
    pub(crate) fn clear(&mut self) -> Option<u64> {
        self.items.clear();
        self.files.clear();
        (self.end, self.newest, self.stage) = (0, Scn::ZERO, Stage::Filling);
        self.region.take()
    }

    // Filling

    /// The number of copies of `bytes` for which there is room if all copies may have `full` bytes.
    pub(crate) fn room(&self, bytes: usize, full: usize) -> usize {
        full.min(self.images.length()).saturating_sub(self.end) / bytes
    }

    /// The number of bytes of its copies.
    pub(crate) fn bytes(&self) -> usize {
        self.end
    }

    /// Takes a copy of a block and seals it while it is in the processor's cache. The caller holds
    /// the latches of its frame and of the frame with `next`, the block that is to be copied next:
    /// that one comes from memory while this one's checksum is computed.
    pub(crate) fn add(
        &mut self,
        source: DirtyFrame,
        block: &[u8],
        next: Option<&[u8]>,
        cache: &Cache,
        session: &Session,
    ) {
        assert_eq!(self.stage, Stage::Filling, "a batch grows that is being written");
        let file = self.place_of_file(source.address, cache, session);
        let image = self.end..self.end + block.len();
        let copy = self.images.bytes(image.clone());
        copy.copy_from_slice(block);
        session.charge(Cost::CopyKib, kib(block.len()));
        next.into_iter().for_each(prefetch_all);
        format::seal(copy, source.address);
        session.charge(Cost::ChecksumKib, kib(block.len()));
        let changed = BlockHeader::of_mut(copy).changed();
        self.newest = self.newest.max(changed);
        self.end = image.end;
        self.items.push(Item { source, file, image, changed });
    }

    fn place_of_file(&mut self, address: Dba, cache: &Cache, session: &Session) -> usize {
        let known = self.files.iter().position(|file| file.number == address.file);
        known.unwrap_or_else(|| {
            let file = cache.files.of(address, session);
            self.files.push(file.expect("a block in the cache is of a data file"));
            self.files.len() - 1
        })
    }

    // In flight

    /// Begins to write the batch: first to this region of the doublewrite file, if it has one.
    pub(crate) fn launch(&mut self, region: Option<u64>, cache: &Cache, session: &Session) {
        assert_eq!(self.stage, Stage::Filling, "a batch is launched twice");
        self.region = region;
        if region.is_some() {
            // CB17: so that nothing is left of the middle of a block of an earlier batch.
            let unit = cache.doublewrite.alignment().offset as usize;
            let cleared = (self.end + cache.left_over_max(session)).next_multiple_of(unit);
            self.written = cleared.min(self.images.length());
            self.images.bytes(self.end..self.written).fill(0);
        }
        self.step(cache);
    }

    /// Begins the next stage if all requests of this one are done. Whether it has.
    pub(crate) fn go_on(&mut self, cache: &Cache) -> bool {
        let goes_on = self.done == self.requests && !self.is_durable();
        if goes_on {
            self.step(cache);
        }
        goes_on
    }

    /// Begins the next stage that has requests.
    fn step(&mut self, cache: &Cache) {
        loop {
            self.stage = match self.stage {
                Stage::Filling => Stage::Copies,
                Stage::Copies => Stage::CopiesSync,
                Stage::CopiesSync => Stage::Home,
                Stage::Home => Stage::HomeSync,
                Stage::HomeSync | Stage::Durable => Stage::Durable,
            };
            (self.made, self.homeward, self.done) = (0, 0, 0);
            self.requests = self.count_requests(cache);
            if self.requests > 0 || self.is_durable() {
                return;
            }
        }
    }

    fn count_requests(&mut self, cache: &Cache) -> usize {
        let failpoints = cache.config.failpoints;
        let has_copies = self.region.is_some() && !failpoints.has(Failpoint::SkipDoublewriteWrite);
        match self.stage {
            Stage::Copies => usize::from(has_copies),
            Stage::CopiesSync => {
                let by_sync = !cache.doublewrite.options().write_through;
                let is_synced = by_sync && !failpoints.has(Failpoint::SkipDoublewriteSync);
                usize::from(has_copies && is_synced)
            }
            Stage::Home => {
                let runs = |from: &usize| {
                    let next = from + self.home_run(*from);
                    (next < self.items.len()).then_some(next)
                };
                std::iter::successors(Some(0), runs).count()
            }
            Stage::HomeSync if failpoints.has(Failpoint::SkipDataSync) => 0,
            // M2: a finished write isn't durable; until the syncs are done nothing may rely on it.
            Stage::HomeSync => self.files_to_sync().count(),
            Stage::Filling | Stage::Durable => 0,
        }
    }

    /// The files that aren't opened write-through.
    fn files_to_sync(&self) -> impl Iterator<Item = &File> {
        let files = self.files.iter().map(|file| &file.file);
        files.filter(|file| !file.options().write_through)
    }

    pub(crate) fn is_durable(&self) -> bool {
        self.stage == Stage::Durable
    }

    /// The number of requests of its stage that aren't done yet.
    pub(crate) fn missing(&self) -> usize {
        self.requests - self.done
    }

    /// The next request of its stage, if one is left.
    pub(crate) fn next_request(&mut self, cache: &Cache, session: &Session) -> Option<Request> {
        if self.made == self.requests {
            return None;
        }
        let (nth, tag) = (self.made, self.number);
        self.made += 1;
        Some(match self.stage {
            Stage::Copies => {
                session.count(Statistic::DoublewriteBlocks, self.items.len() as u64);
                let (file, kind) = (cache.doublewrite.clone(), IoKind::Write);
                let offset = self.region.expect("copies are written to a region");
                Request { file, kind, offset, buffer: self.images.lend(0..self.written), tag }
            }
            Stage::CopiesSync => Request::sync(cache.doublewrite.clone(), tag),
            Stage::Home => self.home_write(session),
            Stage::HomeSync => {
                let file = self.files_to_sync().nth(nth).expect("they were counted");
                Request::sync(file.clone(), tag)
            }
            Stage::Filling | Stage::Durable => unreachable!("these stages have no requests"),
        })
    }

    /// How many blocks, from this item on, one write brings home (CB66).
    fn home_run(&self, from: usize) -> usize {
        let items = &self.items[from..];
        let most = match self.region {
            Some(_) => (HOME_BYTES_MAX / items[0].image.len()).max(1),
            None => 1,
        };
        let follows = |pair: &&[Item]| {
            let [one, next] = [pair[0].source.address, pair[1].source.address];
            one.file == next.file && one.block.get() + 1 == next.block.get()
        };
        1 + items.windows(2).take(most - 1).take_while(follows).count()
    }

    fn home_write(&mut self, session: &Session) -> Request {
        let run = self.homeward..self.homeward + self.home_run(self.homeward);
        self.homeward = run.end;
        let Item { source, file, image, .. } = &self.items[run.start];
        let images = image.start..self.items[run.end - 1].image.end;
        let file = &self.files[*file];
        let (offset, file) = (file.offset(source.address), file.file.clone());
        // With several block sizes a copy may not be aligned as its file needs it.
        let buffer = if images.start.is_multiple_of(file.alignment().memory as usize) {
            self.images.lend(images)
        } else {
            session.charge(Cost::CopyKib, kib(images.len()));
            IoBuf::copy_of(self.images.bytes(images))
        };
        Request { file, kind: IoKind::Write, offset, buffer, tag: self.number }
    }

    /// Notes the versions of the blocks (CB20): before a frame of the batch can be given away, and
    /// its block be read again.
    pub(crate) fn note_versions(&self, session: &Session) {
        for run in self.items.chunk_by(|a, b| a.file == b.file) {
            let blocks = run.iter().map(|item| (item.source.address, item.changed));
            self.files[run[0].file].note_written(blocks, session);
        }
    }
}
