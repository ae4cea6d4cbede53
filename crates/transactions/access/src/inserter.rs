//! Where a session's inserts go: a block of its own, that it fills before it looks for the next
//! (rules AC4, AC10 to AC12).
//!
//! ```text
//!   the block that is filled ──full──▶ blocks handed out to it ──none──▶ what the maps offer, from
//!        ▲                                  │   ▲                        where it looked last
//!        └──────────────────────────────────┘   └── as many again ◀──nothing───────┘ │
//!        └──────────────────── one that nobody fills ◀───────────────────────────────┘
//! ```
//!
//! Callers: `rows`, to insert.

use std::sync::Arc;

use cache::Pin;
use change::credits_for;
use format::changes::heap::{HeapFormat, MapFormat, MapNote};
use format::{DbaLe, U16Le, U32Le};
use ids::Dba;
use latch::FrameOrder;
use os::Session;
use space::{Blocks, HandOut, Space};
use stop::{RefusalKind, Stop};

use crate::apply::{FORMAT, FORMAT_MAP, LAYER, NOTE};
use crate::free_map::{
    FORMATTED, MapPlace, REFILL, WHOLE, at_least, class_of, entries, entries_of, format_of, is_map,
    map_of, note, note_of, room_of,
};
use crate::heap::is_of;
use crate::read::lost;

/// An inserter gets so many neighbouring blocks at a time.
const BLOCKS_AT_ONCE: u32 = 8;
/// So many maps it looks at, before it gets new blocks.
const MAPS_AT_ONCE: u32 = 2;
/// So many blocks whose room is kept for others, or whose list is full of them, it tries, before it
/// gets a new one.
const VAIN_MAX: u8 = 4;
/// So many blocks with less room than their maps say it looks at, before it gets a new one. Each is
/// met once: then its map says what is true.
const WRONG_MAX: u8 = 32;
/// A new block has a ITL of so many entries.
pub(crate) const LIST_ENTRIES: u8 = 2;

/// Where one session's inserts into a table go (AC4). Used with another table it begins anew. What
/// it hasn't filled when it is dropped, others fill.
#[derive(Debug, Default)]
pub struct HeapInserter {
    /// The block being filled.
    filling: Option<Dba>,
    /// Blocks that come after it, not formatted yet.
    next: Option<Run>,
    /// The table that they are of.
    object: Option<u32>,
    /// Number in the segment of the block where it looks next for room.
    from: u32,
    /// Blocks that it tried, and whose room or list others have, since it got new ones or found
    /// room.
    vain: u8,
    /// Blocks that it looked at, and that had less room than their maps said, since then.
    wrong: u8,
    /// Blocks that it passes still, once around, before it says that there is no space: set when
    /// the tablespace had no new ones.
    around: Option<u32>,
    /// Its end of the claims (see `space::Filling`).
    claims: Arc<()>,
}

/// Neighbouring blocks, and the first one's place in the map.
#[derive(Clone, Copy, Debug)]
struct Run {
    blocks: Blocks,
    place: MapPlace,
}

/// How an insert was refused by the block that is filled.
#[derive(Clone, Copy)]
pub(crate) struct NoRoom {
    /// Bytes for which it was offered.
    pub(crate) needed: usize,
    /// Whether it had room, which is kept for others.
    pub(crate) is_kept: bool,
}

/// The table whose blocks are filled.
#[derive(Clone, Copy)]
pub(crate) struct Filler<'a> {
    pub(crate) space: &'a Space,
    /// Its segment's header.
    pub(crate) header: Dba,
    pub(crate) object: u32,
}

impl HeapInserter {
    /// A row was put into the block that is filled.
    pub(crate) fn found_room(&mut self) {
        (self.vain, self.wrong, self.around) = (0, 0, None);
    }

    /// The block that is filled wasn't to be had. If that isn't for want of buffers, the next
    /// insert looks elsewhere. The claim stays: so of this inserter, and of others meanwhile, none
    /// meets the block again.
    fn not_had(&mut self, stop: Stop) -> Stop {
        if stop.refusal() != Some(RefusalKind::NoBuffer) {
            (self.filling, self.around) = (None, None);
        }
        stop
    }

    /// Whether the maps are asked, before new blocks are had.
    fn searches(&self) -> bool {
        self.around.is_some() || self.vain < VAIN_MAX && self.wrong < WRONG_MAX
    }

    /// It looks next at the block of this number, which is behind where it looked.
    fn go_on_from(&mut self, number: u32) {
        if let Some(left) = &mut self.around {
            *left = left.saturating_sub(number - self.from);
        }
        self.from = number;
    }
}

impl<'a> Filler<'a> {
    /// The block that the inserter fills, formatted and pinned; if there is none, another with
    /// about so many bytes free.
    pub(crate) fn block(
        &self,
        inserter: &mut HeapInserter,
        needed: usize,
        session: &'a Session,
    ) -> Result<Pin<'a>, Stop> {
        if inserter.object != Some(self.object) {
            *inserter =
                HeapInserter { object: Some(self.object), from: 1, ..HeapInserter::default() };
        }
        if let Some(block) = inserter.filling {
            let pin = self.space.changes().cache().pin_or_unwritten(block, session);
            return pin.map_err(|stop| inserter.not_had(stop));
        }
        loop {
            if let Some(run) = inserter.next {
                return self.next_of(run, inserter, session);
            }
            let searches = inserter.searches();
            if searches
                && let Some((block, place, class)) = self.offered(inserter, needed, session)?
            {
                inserter.filling = Some(block);
                let pin = match self.open(block, (place, class), session) {
                    // Nobody can tell what it has. It stays claimed, so it isn't offered again.
                    Err(stop) if stop.refusal() == Some(RefusalKind::Corrupt) => {
                        inserter.filling = None;
                        inserter.wrong = inserter.wrong.saturating_add(1);
                        continue;
                    }
                    opened => opened.map_err(|stop| inserter.not_had(stop))?,
                };
                let found = room_of(&pin.shared(FrameOrder::Heap, session));
                if found >= needed {
                    return Ok(pin);
                }
                inserter.wrong = inserter.wrong.saturating_add(1);
                self.leave(inserter, &pin, Some(NoRoom { needed, is_kept: false }), session)?;
                continue;
            }
            let wanted = if searches { BLOCKS_AT_ONCE } else { 1 };
            let new = self.hand_out(wanted, &inserter.claims, session);
            let was_around = inserter.around.is_some();
            inserter.found_room();
            match new {
                Ok(run) => inserter.next = Some(run),
                Err(stop) if was_around || stop.refusal() != Some(RefusalKind::NoSpace) => {
                    return Err(stop);
                }
                // There is nothing but what the table has: so all of that is looked at.
                Err(_) => inserter.around = Some(self.count(session)?),
            }
        }
    }

    /// The inserter looks for another block. If this one had no room, its map is told.
    pub(crate) fn leave(
        &self,
        inserter: &mut HeapInserter,
        pin: &Pin<'_>,
        no_room: Option<NoRoom>,
        session: &Session,
    ) -> Result<(), Stop> {
        let Some(block) = inserter.filling.take() else { return Ok(()) };
        // What isn't enough isn't offered for as much again. But those for whom room is kept, or
        // who have its list, will end.
        let is_kept = no_room.is_none_or(|no_room| no_room.is_kept);
        inserter.vain = inserter.vain.saturating_add(u8::from(is_kept));
        let mut noted = Ok(());
        if let Some(NoRoom { needed, .. }) = no_room {
            let most = if is_kept { WHOLE } else { self.wanted(needed, session) - 1 };
            noted = note(self.space.changes(), pin, most, session);
        }
        // Also if nobody could be told of its room: else nobody would fill it.
        self.space.filling().release(block, session);
        noted
    }

    /// The first of a run that is the inserter's alone, and wasn't formatted in this life.
    fn next_of(
        &self,
        run: Run,
        inserter: &mut HeapInserter,
        session: &'a Session,
    ) -> Result<Pin<'a>, Stop> {
        let Blocks { first, count } = run.blocks;
        let pin = self.space.changes().cache().pin_new(first, session)?;
        // Kept until it is formatted: what is refused is tried again with the next row.
        self.format(&pin, run.place, session)?;
        let rest = Blocks { first: after(first, 1), count: count - 1 };
        let place = run.place.next();
        inserter.next = (count > 1).then_some(Run { blocks: rest, place });
        inserter.filling = Some(first);
        Ok(pin)
    }

    /// A block that was claimed: formatted, if whoever it was handed out to didn't come to that, as
    /// its byte says.
    fn open(
        &self,
        block: Dba,
        (place, class): (MapPlace, u8),
        session: &'a Session,
    ) -> Result<Pin<'a>, Stop> {
        let pin = self.space.changes().cache().pin_or_unwritten(block, session)?;
        if is_of(&pin.shared(FrameOrder::Heap, session), self.object) {
            return Ok(pin);
        }
        // Entries of indexes would lead from the lost rows to new ones (AC10).
        if class != WHOLE {
            return Err(lost("put a row into", (block, self.object)));
        }
        self.format(&pin, place, session)?;
        Ok(pin)
    }

    /// Formats a block, and has its map say so.
    fn format(&self, pin: &Pin<'_>, place: MapPlace, session: &Session) -> Result<(), Stop> {
        let changes = self.space.changes();
        let map = match place.map {
            DbaLe::NONE => None,
            map => Some(changes.cache().pin(map.get(), session)?),
        };
        let credits = credits_for(&[size_of::<HeapFormat>(), size_of::<MapNote>()]);
        let mut group = changes.begin(credits, session)?;
        let block = pin.exclusive(FrameOrder::Heap, session);
        let map = map.as_ref().map(|map| map.exclusive(FrameOrder::FreeMap, session));
        let format = HeapFormat {
            object: U32Le::new(self.object),
            itl_count: LIST_ENTRIES,
            map: place.map,
            entry: U16Le::new(place.entry),
        };
        group.format(block, &LAYER, FORMAT, &[format.bytes()]);
        if let Some(map) = map.filter(|map| is_map(map, self.object)) {
            group.change(map, &LAYER, NOTE, &[note_of(place.entry, 1, FORMATTED).bytes()]);
        }
        group.commit(session);
        Ok(())
    }

    /// A block that has about so many bytes free, as its map says, and that nobody else fills: it
    /// is the inserter's now. With its byte.
    fn offered(
        &self,
        inserter: &mut HeapInserter,
        needed: usize,
        session: &Session,
    ) -> Result<Option<(Dba, MapPlace, u8)>, Stop> {
        let runs = self.space.blocks(self.header, session)?;
        let count = count_of(&runs);
        let (bytes, wanted) = (self.block_bytes(session), self.wanted(needed, session));
        let mut maps = 0;
        while inserter.around.map_or(maps < MAPS_AT_ONCE, |left| left > 0) {
            maps += 1;
            if inserter.from >= count {
                inserter.from = 1;
            }
            let number = map_of(inserter.from, bytes);
            let Some(map) = block_at(&runs, number) else { break };
            let first = inserter.from.max(number + 1);
            let behind = count.min(number + 1 + entries_of(bytes));
            let pin = self.space.changes().cache().pin_shared(map, FrameOrder::FreeMap, session)?;
            if is_map(&pin, self.object) {
                let entries = &entries(&pin)[..(behind - number - 1) as usize];
                for entry in at_least(wanted, entries, (first - number - 1) as usize) {
                    let at = number + 1 + entry;
                    let block = block_at(&runs, at).expect("it was handed out");
                    if self.space.filling().claim(block, &inserter.claims, session) {
                        inserter.go_on_from(at + 1);
                        let class = entries[entry as usize];
                        return Ok(Some((block, MapPlace::new(map, entry), class)));
                    }
                }
            }
            inserter.go_on_from(behind);
        }
        Ok(None)
    }

    /// New blocks, which are the inserter's, and which the map has as free.
    fn hand_out(&self, wanted: u32, claims: &Arc<()>, session: &Session) -> Result<Run, Stop> {
        let (cache, bytes) = (self.space.changes().cache(), self.block_bytes(session));
        let header = cache.pin(self.header, session)?;
        let mut turn = 0;
        loop {
            self.space.ensure_room(self.header, session)?;
            let peeked = self.space.next(&header, 1, session);
            let Some((number, block)) = peeked.map(|next| (next.number, next.blocks.first)) else {
                continue;
            };
            let map_number = map_of(number, bytes);
            let run = match map_number == number {
                true => self.make_map(&header, (number, block), session)?,
                false => {
                    let runs = self.space.blocks(self.header, session)?;
                    let map = block_at(&runs, map_number).expect("it was handed out");
                    let map = cache.pin(map, session)?;
                    let behind = map_number + 1 + entries_of(bytes);
                    let within = (number, wanted.min(behind - number));
                    self.hand_out_within([&header, &map], within, claims, session)?
                }
            };
            if let Some(run) = run {
                return Ok(run);
            }
            turn += 1;
            session.relax(turn);
        }
    }

    /// Makes a map of the segment's next block. None: look again.
    fn make_map(
        &self,
        header: &Pin<'_>,
        (number, block): (u32, Dba),
        session: &Session,
    ) -> Result<Option<Run>, Stop> {
        // Read, though it is to be formatted: another session may make it first.
        let map = self.space.changes().cache().pin_to_format(block, session)?;
        let credits = credits_for(&[size_of::<MapFormat>(), HandOut::PAYLOAD_BYTES]);
        let mut group = self.space.changes().begin(credits, session)?;
        let map = map.exclusive(FrameOrder::FreeMap, session);
        let next = self.space.next(header, 1, session);
        let Some(next) = next.filter(|next| next.number == number) else { return Ok(None) };
        group.format(map, &LAYER, FORMAT_MAP, &[format_of(self.object, number + 1).bytes()]);
        next.add_to(&mut group);
        group.commit(session);
        Ok(None)
    }

    /// Up to so many blocks that have their bytes in this map, from block `number` on. None: look
    /// again.
    fn hand_out_within(
        &self,
        [header, map_pin]: [&Pin<'_>; 2],
        (number, wanted): (u32, u32),
        claims: &Arc<()>,
        session: &Session,
    ) -> Result<Option<Run>, Stop> {
        let credits = credits_for(&[size_of::<MapNote>(), HandOut::PAYLOAD_BYTES]);
        let mut group = self.space.changes().begin(credits, session)?;
        let map = map_pin.exclusive(FrameOrder::FreeMap, session);
        let next = self.space.next(header, wanted, session);
        let Some(next) = next.filter(|next| next.number == number) else { return Ok(None) };
        let blocks = next.blocks;
        let mut place = MapPlace::NONE;
        if is_map(&map, self.object) {
            place = MapPlace::new(map_pin.address(), number - map_of(number, map.len()) - 1);
            let whole = note_of(place.entry, blocks.count as u16, WHOLE);
            group.change(map, &LAYER, NOTE, &[whole.bytes()]);
        }
        next.add_to(&mut group);
        // Before anybody else can read of them.
        self.space.filling().claim_new(blocks, claims, session);
        group.commit(session);
        Ok(Some(Run { blocks, place }))
    }

    /// How many blocks the table has, with its header and its maps.
    fn count(&self, session: &Session) -> Result<u32, Stop> {
        Ok(count_of(&self.space.blocks(self.header, session)?))
    }

    /// What a block's byte says at least if so much is free.
    fn wanted(&self, needed: usize, session: &Session) -> u8 {
        class_of(needed, self.block_bytes(session)).max(REFILL)
    }

    fn block_bytes(&self, session: &Session) -> usize {
        let cache = self.space.changes().cache();
        let size = cache.block_size_of(self.header.file, session);
        size.unwrap_or(cache.block_size()).bytes()
    }
}

fn count_of(runs: &[Blocks]) -> u32 {
    runs.iter().map(|run| run.count).sum()
}

/// The segment's block of this number.
pub(crate) fn block_at(runs: &[Blocks], number: u32) -> Option<Dba> {
    let mut passed = 0;
    runs.iter().find_map(|run| {
        let at = number - passed;
        passed += run.count;
        (at < run.count).then(|| after(run.first, at))
    })
}

/// The number in its segment of a block; none if it isn't one of these.
pub(crate) fn number_of(block: Dba, runs: &[Blocks]) -> Option<u32> {
    let mut passed = 0;
    runs.iter().find_map(|run| {
        let before = passed;
        passed += run.count;
        let at = block.block.get().checked_sub(run.first.block.get())?;
        (block.file == run.first.file && at < run.count).then_some(before + at)
    })
}

fn after(first: Dba, blocks: u32) -> Dba {
    Dba::new(first.file.get(), first.block.get() + blocks)
}
