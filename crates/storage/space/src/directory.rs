//! The segment directory on disk: its entries, how it is read, and how it gets more blocks.
//!
//! ```text
//!   block 2 of file 1 ──▶ entry, entry, …, in the last slot that of the directory's own segment
//!                                    └──▶ further blocks, in the order of handing out
//! ```
//!
//! The directory's own segment is made when the first block is full; it is object 1, and is never
//! dropped.
//!
//! Invariants
//!   * a block of the segment is handed out in the group that formats it. Older programs did that
//!     in two groups, so a crash may have left the last block unformatted: it is formatted when it
//!     is needed
//!   * a slot of a block has an entry exactly if the index has that entry (SP13)
//!
//! Callers: `space`, at opening; `create`, when there is no free slot; `check`.

use cache::{Blocks, Pin};
use change::credits_for;
use format::{BlockHeader, BlockKind, Directory, DirectoryEntry};
use ids::{Dba, ObjectNo};
use latch::FrameOrder;
use os::Session;
use stop::Stop;

use crate::apply::{FORMAT_DIRECTORY, LAYER, place_at};
use crate::data_file::{DATA_FILE, DIRECTORY};
use crate::index::{DirectorySlot, Entry, Index};
use crate::look::EntrySeen;
use crate::segment::{Holds, SegmentState, next_blocks};
use crate::{HandOut, Space};

const FIRST: Dba = Dba { file: DATA_FILE, block: DIRECTORY };

/// The number of slots of a directory block of this many bytes.
fn slots(block_bytes: usize) -> u32 {
    ((block_bytes - Directory::ENTRIES) / DirectoryEntry::BYTES) as u32
}

/// The slot of the directory's own segment.
fn own_slot(block_bytes: usize) -> DirectorySlot {
    DirectorySlot { block: FIRST, number: slots(block_bytes) - 1 }
}

impl Space {
    /// Reads the whole directory.
    pub(crate) fn read_directory(&self, session: &Session) -> Result<Index, Stop> {
        let mut index = Index::new();
        self.read_directory_block(self.pin(FIRST.file, FIRST.block, session)?, &mut index, session);
        let own = index.get(ObjectNo::DIRECTORY).map(Entry::header);
        let further = own.map_or(Ok(Vec::new()), |header| self.further_blocks(header, session))?;
        if let Some((last, others)) = further.split_last() {
            for block in others {
                let pin = self.pin(block.file, block.block, session)?;
                self.read_directory_block(pin, &mut index, session);
            }
            self.read_directory_block(self.pin_last(*last, session)?, &mut index, session);
        }
        Ok(index)
    }

    /// The blocks of the directory's own segment, without its header.
    fn further_blocks(&self, header: Dba, session: &Session) -> Result<Vec<Dba>, Stop> {
        let runs = self.blocks(header, session)?;
        Ok(runs.into_iter().flat_map(Blocks::addresses).skip(1).collect())
    }

    /// Pins the last of the further blocks. With an older program a crash between handing it out
    /// and formatting it left zeros there, or the block of a former life. If it can't be read this
    /// is refused, since nothing tells whether it has entries.
    fn pin_last<'a>(&'a self, address: Dba, session: &'a Session) -> Result<Pin<'a>, Stop> {
        self.changes().cache().pin_or_unwritten(address, session)
    }

    /// Adds the entries and free slots of a block to the index. An unformatted block has none.
    fn read_directory_block(&self, pin: Pin<'_>, index: &mut Index, session: &Session) {
        let address = pin.address();
        let block = pin.shared(FrameOrder::Directory, session);
        if !is_directory(&block) {
            return;
        }
        index.note_next(Directory::at(&block, Directory::START).next_object.get());
        for number in 0..slots(block.len()) {
            let slot = DirectorySlot { block: address, number };
            let stored = DirectoryEntry::at(&block, place_at(number));
            if stored.state == 0 {
                if slot != own_slot(block.len()) {
                    index.add_free(slot);
                }
                continue;
            }
            let name = stored.name.split(|byte| *byte == 0).next().unwrap_or_default();
            let name = String::from_utf8_lossy(name).into_owned();
            let object = ObjectNo::new(stored.object.get());
            let (header, holds) = (stored.header.get(), Holds::from_number(stored.holds));
            let state = SegmentState::from_number(stored.state);
            let seen = EntrySeen { block: address, name, object, header, holds, state };
            index.add(Entry::read(seen, slot));
        }
    }

    /// Gives the directory another block, unless another session has done so meanwhile.
    pub(crate) fn extend_directory(&self, session: &Session) -> Result<(), Stop> {
        let _extending = self.shared.extending.hold(0, session);
        self.changes().halt().check(session)?;
        if self.shared.index.shared(session).has_free() {
            return Ok(());
        }
        let header = self.own_segment(session)?;
        let own = self.pin(header.file, header.block, session)?;
        let (address, is_new) = match self.further_blocks(header, session)?.last() {
            Some(last) if !self.is_formatted(*last, session)? => (*last, false),
            _ => (self.peek_next(&own, session)?, true),
        };
        let pin = self.changes().cache().pin_new(address, session)?;
        let payloads = [0, HandOut::PAYLOAD_BYTES];
        let mut group = self.changes().begin(credits_for(&payloads), session)?;
        let block = pin.exclusive(FrameOrder::Directory, session);
        let count = slots(block.len());
        group.format(block, &LAYER, FORMAT_DIRECTORY, &[]);
        if is_new {
            let next = self.next(&own, 1, session).expect("only who extends it takes its blocks");
            next.add_to(&mut group);
        }
        group.commit(session);
        let mut index = self.shared.index.exclusive(session);
        (0..count).for_each(|number| index.add_free(DirectorySlot { block: address, number }));
        Ok(())
    }

    /// The block that the directory's own segment hands out next.
    fn peek_next(&self, own: &Pin<'_>, session: &Session) -> Result<Dba, Stop> {
        self.ensure_room(own.address(), session)?;
        let header = own.shared(FrameOrder::SegmentHeader, session);
        Ok(next_blocks(&header, 1).expect("there is room, and nobody else takes it").first)
    }

    fn is_formatted(&self, address: Dba, session: &Session) -> Result<bool, Stop> {
        let pin = self.pin_last(address, session)?;
        let block = pin.shared(FrameOrder::Directory, session);
        Ok(is_directory(&block))
    }

    /// The header of the directory's own segment, which this makes if it isn't there.
    fn own_segment(&self, session: &Session) -> Result<Dba, Stop> {
        let tablespace = self.system(session);
        let entry = {
            let mut index = self.shared.index.exclusive(session);
            let own = index.get(ObjectNo::DIRECTORY);
            if let Some((header, _)) = own.and_then(|entry| entry.at) {
                return Ok(header);
            }
            index.reserve_own(own_slot(tablespace.block_size.bytes()))
        };
        let state = SegmentState::Permanent;
        let made = self.make_segment(&entry, &tablespace, state, session)?;
        Ok(made.header)
    }
}

fn is_directory(block: &[u8]) -> bool {
    !cache::is_unwritten(block) && BlockHeader::at(block, 0).kind() == BlockKind::Directory
}
