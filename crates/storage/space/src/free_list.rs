//! The free blocks of a segment: handed out once, and given back (rules SP18, SP34).
//!
//! ```text
//!   segment header ──▶ free block ──▶ free block ──▶ …       the last one freed is taken first
//! ```
//!
//! Callers: `access`, for blocks of indexes; `verify`.

use cache::{ExclusiveBlock, Pin};
use change::Group;
use format::{BlockHeader, DbaLe, FreeBlock, SegmentHeader, U32Le};
use ids::Dba;
use latch::FrameOrder;
use os::Session;
use stop::Stop;

use crate::Space;
use crate::apply::{Count, FREE, HAND_OUT, LAYER, SET_FREE};
use crate::look::{FreeSeen, look_at_free};
use crate::segment::{check_live, is_live, next_blocks, object_of};

/// A latched segment header that hands out one block: a free one, or a new one.
pub struct OneBlock<'a> {
    header: ExclusiveBlock<'a>,
    opcode: u8,
    payload: Vec<u8>,
}

impl<'a> OneBlock<'a> {
    /// The most payload bytes of the change.
    pub const PAYLOAD_BYTES: usize = size_of::<DbaLe>();

    /// Adds the handing out to the group.
    pub fn add_to(self, group: &mut Group<'a>) {
        group.change(self.header, &LAYER, self.opcode, &[&self.payload]);
    }
}

/// A latched segment header that takes a block back.
pub struct GiveBack<'a> {
    header: ExclusiveBlock<'a>,
}

impl<'a> GiveBack<'a> {
    /// The payload bytes of both changes.
    pub const PAYLOAD_BYTES: [usize; 2] = [size_of::<FreeBlock>(), size_of::<DbaLe>()];

    /// Adds the giving back of the block, whatever it was, to the group.
    pub fn add_to(self, block: ExclusiveBlock<'a>, group: &mut Group<'a>) {
        let header = SegmentHeader::at(&self.header, SegmentHeader::START);
        let next = header.free().map_or(DbaLe::NONE, DbaLe::new);
        let body = FreeBlock { object: U32Le::new(header.object.get()), reserved: [0; 4], next };
        let first = DbaLe::new(block.address());
        group.format(block, &LAYER, FREE, &[body.bytes()]);
        group.change(self.header, &LAYER, SET_FREE, &[first.bytes()]);
    }
}

impl Space {
    /// Pins the block that the segment would hand out now. `None` if it needs an extent first. A
    /// free block is read, since it names the next one; a new one isn't, unless another session has
    /// taken it by then (rule cache/CB64).
    pub fn pin_one<'a>(
        &'a self,
        header: &Pin<'_>,
        session: &'a Session,
    ) -> Result<Option<Pin<'a>>, Stop> {
        let (free, new) = {
            let block = header.shared(FrameOrder::SegmentHeader, session);
            if !is_live(&block) {
                return Ok(None);
            }
            let free = SegmentHeader::at(&block, SegmentHeader::START).free();
            (free, next_blocks(&block, 1).map(|next| next.first))
        };
        let cache = self.changes().cache();
        match (free, new) {
            (Some(free), _) => cache.pin(free, session).map(Some),
            (None, Some(new)) => {
                let is_unused = || {
                    let block = header.shared(FrameOrder::SegmentHeader, session);
                    is_live(&block) && next_blocks(&block, 1).is_some_and(|next| next.first == new)
                };
                cache.pin_unused(new, &is_unused, session).map(Some)
            }
            (None, None) => Ok(None),
        }
    }

    /// Latches the header of a segment, to hand out this block, which the caller has latched, in
    /// the caller's group. `None` if the segment would hand out another block by now.
    pub fn one<'a>(
        &self,
        header: &'a Pin<'_>,
        block: &ExclusiveBlock<'_>,
        session: &'a Session,
    ) -> Option<OneBlock<'a>> {
        let header = header.exclusive(FrameOrder::SegmentHeader, session);
        if !is_live(&header) {
            return None;
        }
        let free = SegmentHeader::at(&header, SegmentHeader::START).free();
        let first = free.or_else(|| next_blocks(&header, 1).map(|next| next.first));
        if first != Some(block.address()) {
            return None;
        }
        let (opcode, payload) = match free {
            None => (HAND_OUT, Count { count: U32Le::new(1) }.bytes().to_vec()),
            Some(_) => {
                let FreeSeen { object, next } =
                    look_at_free(block).expect("a segment lists what is free");
                let own = object_of(&header).map(|object| object.get());
                assert!(own == Some(object), "a segment has another's block free (SP18)");
                (SET_FREE, next.map_or(DbaLe::NONE, DbaLe::new).bytes().to_vec())
            }
        };
        Some(OneBlock { header, opcode, payload })
    }

    /// Latches the header of a segment, to give back one of its blocks in the caller's group, which
    /// removes the last way to the block. `None` if the segment was dropped.
    pub fn give_back<'a>(&self, header: &'a Pin<'_>, session: &'a Session) -> Option<GiveBack<'a>> {
        let header = header.exclusive(FrameOrder::SegmentHeader, session);
        is_live(&header).then_some(GiveBack { header })
    }

    /// The free blocks of a segment.
    pub fn free_blocks(&self, segment: Dba, session: &Session) -> Result<FreeList, Stop> {
        let pin = self.changes().cache().pin(segment, session)?;
        let look = || {
            let header = pin.shared(FrameOrder::SegmentHeader, session);
            check_live(&header, segment)?;
            let (version, stored) = (BlockHeader::at(&header, 0), SegmentHeader::START);
            let stored = SegmentHeader::at(&header, stored);
            let version = (version.changed(), version.sequence());
            Ok::<_, Stop>((version, stored.free(), stored.object.get()))
        };
        for turn in 0.. {
            let (version, first, object) = look()?;
            let mut read = |address| {
                let block =
                    self.changes().cache().pin_shared(address, FrameOrder::Branch, session)?;
                Ok::<_, Stop>(look_at_free(&block))
            };
            let listed = list_of(first, object, &mut read)?;
            // While other sessions take and give back blocks, the reads may be of different times.
            if matches!(listed, FreeList::Sound(_)) || look()?.0 == version {
                return Ok(listed);
            }
            session.relax(turn);
        }
        unreachable!("it ends when nobody is faster")
    }
}

/// The free blocks of a segment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FreeList {
    /// The blocks, in the order of their addresses.
    Sound(Vec<Dba>),
    /// What is wrong with the list.
    Broken(String),
}

impl FreeList {
    /// The blocks, or as an error what is wrong.
    pub fn sound(self) -> Result<Vec<Dba>, String> {
        match self {
            FreeList::Sound(blocks) => Ok(blocks),
            FreeList::Broken(what) => Err(what),
        }
    }
}

/// Follows the free blocks of the segment with number `object` from the first. `read` returns what
/// a block says, or why it is no free block.
pub fn list_of<E>(
    first: Option<Dba>,
    object: u32,
    read: &mut dyn FnMut(Dba) -> Result<Result<FreeSeen, String>, E>,
) -> Result<FreeList, E> {
    let broken = |what: String| Ok(FreeList::Broken(what));
    let (mut at, mut listed) = (first, std::collections::BTreeSet::new());
    while let Some(address) = at {
        if !listed.insert(address) {
            return broken(format!("lists block {address} as free twice"));
        }
        match read(address)? {
            Ok(free) if free.object == object => at = free.next,
            Ok(free) => {
                let of = free.object;
                return broken(format!("lists block {address} as free, which segment {of} has"));
            }
            Err(what) => return broken(format!("lists block {address} as free, which {what}")),
        }
    }
    Ok(FreeList::Sound(listed.into_iter().collect()))
}
