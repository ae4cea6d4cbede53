//! The space of an open database: segments by name and number, and blocks handed out to them (rules
//! SP4, SP6, SP15).
//!
//! Callers: `undo` and `access`, for their segments; `instance`.

use std::path::PathBuf;
use std::sync::Arc;

use cache::{Blocks, ExclusiveBlock, Pin};
use change::{Changes, Group, credits_for};
use format::{SegmentHeader, U32Le};
use ids::{BlockNo, Dba, FileNo, ObjectNo};
use latch::{FrameOrder, Latch, LatchKind};
use os::{Disk, File, FileOptions, Session};
use stop::Stop;
use waits::WaitEvent;

use crate::apply::{Count, HAND_OUT, LAYER};
use crate::index::{Entry, Index};
use crate::room::Skipped;
use crate::segment::{check_live, extents, is_live, next_blocks, object_of};
use crate::tablespace::Tablespaces;
use crate::{Ahead, ControlFile, Emptied, Enqueue, Filling, Holds, Segment, SegmentState};

/// The space of an open database.
#[derive(Clone)]
pub struct Space {
    changes: Changes,
    pub(crate) shared: Arc<Shared>,
}

/// The part that all clones share.
pub(crate) struct Shared {
    pub(crate) disk: Disk,
    pub(crate) directory: PathBuf,
    pub(crate) options: FileOptions,
    pub(crate) control: Arc<Enqueue<ControlFile>>,
    pub(crate) tablespaces: Latch<Tablespaces>,
    /// Held by the session that makes a file grow.
    pub(crate) growing: Enqueue<()>,
    pub(crate) ahead: Arc<Ahead>,
    /// Held by the session that makes tablespaces and data files.
    pub(crate) describing: Enqueue<()>,
    /// The segment directory.
    pub(crate) index: Latch<Index>,
    /// Held by the session that gives the directory another block.
    pub(crate) extending: Enqueue<()>,
    pub(crate) filling: Filling,
    pub(crate) emptied: Emptied,
    /// Free extents whose first block the device couldn't read (SP31).
    pub(crate) unreadable: Latch<Skipped>,
}

/// The files of an open database, and the means to make more.
pub struct Storage {
    /// The disk.
    pub disk: Disk,
    /// The database's directory, to which paths are relative.
    pub directory: PathBuf,
    /// The options with which data files are opened.
    pub options: FileOptions,
    /// The control file.
    pub control: Arc<Enqueue<ControlFile>>,
    /// The data files, in the order of the control file.
    pub files: Vec<File>,
}

/// A latched segment header, and the blocks that a group hands out.
pub struct HandOut<'a> {
    /// The blocks.
    pub blocks: Blocks,
    /// The number of the first of them in the segment, of which the header is block 0.
    pub number: u32,
    header: ExclusiveBlock<'a>,
}

impl<'a> HandOut<'a> {
    /// The payload bytes of the change.
    pub const PAYLOAD_BYTES: usize = size_of::<Count>();

    /// Adds the handing out to the group.
    pub fn add_to(self, group: &mut Group<'a>) {
        let count = Count { count: U32Le::new(self.blocks.count) };
        group.change(self.header, &LAYER, HAND_OUT, &[count.bytes()]);
    }
}

impl Space {
    /// Opens the space of a database and reads the directory. Before other sessions work, the
    /// caller has [`finish_drops`](Space::finish_drops) end the drops that a crash cut off.
    pub fn open(changes: Changes, storage: Storage, session: &Session) -> Result<Space, Stop> {
        let Storage { disk, directory, options, control, files } = storage;
        let os = session.os();
        let tablespaces = {
            let control = control.hold(0, session);
            Tablespaces::new(control.content(), files)
        };
        let shared = Shared {
            disk,
            directory,
            options,
            control,
            tablespaces: Latch::new(os, LatchKind::Innermost, tablespaces),
            ahead: Ahead::new(os),
            growing: Enqueue::new(os, *b"HW", WaitEvent::EnqHwContention, ()),
            describing: Enqueue::new(os, *b"TT", WaitEvent::EnqTtContention, ()),
            index: Latch::new(os, LatchKind::Innermost, Index::new()),
            extending: Enqueue::new(os, *b"HW", WaitEvent::EnqHwContention, ()),
            filling: Filling::new(os),
            emptied: Emptied::new(os),
            unreadable: Latch::new(os, LatchKind::Innermost, Skipped::new()),
        };
        let space = Space { changes, shared: Arc::new(shared) };
        *space.shared.index.exclusive(session) = space.read_directory(session)?;
        Ok(space)
    }

    /// The changes, by which its groups are made.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Which blocks are being filled, and so are nobody else's to fill.
    pub fn filling(&self) -> &Filling {
        &self.shared.filling
    }

    /// Which blocks may have become empty.
    pub fn emptied(&self) -> &Emptied {
        &self.shared.emptied
    }

    /// The segment of this name.
    pub fn find(&self, name: &str, session: &Session) -> Result<Option<Segment>, Stop> {
        let found = self.shared.index.shared(session).find(name).cloned();
        found.map_or(Ok(None), |entry| self.describe_segment(&entry, session))
    }

    /// The segment with this number.
    pub fn segment(&self, object: ObjectNo, session: &Session) -> Result<Option<Segment>, Stop> {
        let found = self.shared.index.shared(session).get(object).cloned();
        found.map_or(Ok(None), |entry| self.describe_segment(&entry, session))
    }

    /// The state of the segment with this number; `None` if there is none.
    pub fn state(&self, object: ObjectNo, session: &Session) -> Option<SegmentState> {
        self.shared.index.shared(session).get(object)?.state()
    }

    /// Every segment that holds rows, entries or undo and isn't being dropped, in the order of
    /// their numbers. This reads the header of each.
    pub fn list(&self, session: &Session) -> Result<Vec<Segment>, Stop> {
        self.list_where(|holds| holds != Holds::Directory, session)
    }

    /// Number and name of every segment that isn't being dropped, from memory.
    pub fn names(&self, session: &Session) -> Vec<(ObjectNo, String)> {
        let index = self.shared.index.shared(session);
        let is_there = |entry: &&Entry| {
            entry.holds != Holds::Directory
                && entry.at.is_some_and(|(_, state)| state != SegmentState::Dropping)
        };
        index.all().filter(is_there).map(|entry| (entry.object, entry.name.clone())).collect()
    }

    /// Every segment that holds this and isn't being dropped.
    pub fn list_of(&self, holds: Holds, session: &Session) -> Result<Vec<Segment>, Stop> {
        self.list_where(|one| one == holds, session)
    }

    fn list_where(
        &self,
        wanted: impl Fn(Holds) -> bool,
        session: &Session,
    ) -> Result<Vec<Segment>, Stop> {
        let entries: Vec<Entry> = {
            let index = self.shared.index.shared(session);
            index.all().filter(|entry| wanted(entry.holds)).cloned().collect()
        };
        let described = entries.iter().map(|entry| self.describe_segment(entry, session));
        described.filter_map(Result::transpose).collect()
    }

    /// The segment of an entry; `None` if it isn't made yet, or is being dropped.
    fn describe_segment(&self, entry: &Entry, session: &Session) -> Result<Option<Segment>, Stop> {
        let Some((header, state)) = entry.at else { return Ok(None) };
        if state == SegmentState::Dropping {
            return Ok(None);
        }
        let pin = self.changes.cache().pin(header, session)?;
        let block = pin.shared(FrameOrder::SegmentHeader, session);
        // It may have been dropped since, and the block may be another segment's header.
        if !is_live(&block) || object_of(&block) != Some(entry.object) {
            return Ok(None);
        }
        let Entry { name, object, holds, .. } = entry.clone();
        Ok(Some(Segment { name, object, header, holds }))
    }

    /// Latches the header of a segment and finds up to `count` neighbouring blocks to hand out in
    /// the caller's group. `None` if the segment has no room: the caller lets go of everything and
    /// calls [`ensure_room`](Space::ensure_room).
    pub fn next<'a>(
        &self,
        header: &'a Pin<'_>,
        count: u32,
        session: &'a Session,
    ) -> Option<HandOut<'a>> {
        let guard = header.exclusive(FrameOrder::SegmentHeader, session);
        if !is_live(&guard) {
            return None;
        }
        let blocks = next_blocks(&guard, count)?;
        let number = SegmentHeader::at(&guard, SegmentHeader::START).high_water.get();
        Some(HandOut { blocks, number, header: guard })
    }

    /// Hands out up to `count` neighbouring blocks, at least one, in a group of its own.
    pub fn hand_out(&self, segment: Dba, count: u32, session: &Session) -> Result<Blocks, Stop> {
        let _held = session.hold_off();
        let pin = self.changes.cache().pin(segment, session)?;
        loop {
            self.ensure_room(segment, session)?;
            let credits = credits_for(&[HandOut::PAYLOAD_BYTES]);
            let mut group = self.changes.begin(credits, session)?;
            let Some(next) = self.next(&pin, count, session) else { continue };
            let blocks = next.blocks;
            next.add_to(&mut group);
            group.commit(session);
            return Ok(blocks);
        }
    }

    /// The blocks that a segment has handed out, in runs, its header first.
    pub fn blocks(&self, segment: Dba, session: &Session) -> Result<Vec<Blocks>, Stop> {
        let pin = self.changes.cache().pin(segment, session)?;
        let header = pin.shared(FrameOrder::SegmentHeader, session);
        check_live(&header, segment)?;
        let mut left = SegmentHeader::at(&header, SegmentHeader::START).high_water.get();
        let mut runs = Vec::new();
        for extent in extents(&header) {
            let count = extent.count.min(left);
            left -= count;
            if count > 0 {
                runs.push(Blocks { count, ..extent });
            }
        }
        Ok(runs)
    }

    /// How many blocks a segment has handed out, its header among them: by one get, however many
    /// runs they are.
    pub fn handed_out(&self, segment: Dba, session: &Session) -> Result<u32, Stop> {
        let pin = self.changes.cache().pin(segment, session)?;
        let header = pin.shared(FrameOrder::SegmentHeader, session);
        check_live(&header, segment)?;
        Ok(SegmentHeader::at(&header, SegmentHeader::START).high_water.get())
    }

    pub(crate) fn pin<'a>(
        &'a self,
        file: FileNo,
        block: BlockNo,
        session: &'a Session,
    ) -> Result<Pin<'a>, Stop> {
        self.changes.cache().pin(Dba { file, block }, session)
    }
}
