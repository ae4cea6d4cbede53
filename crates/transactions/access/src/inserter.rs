//! Where a session's inserts go: a block of its own, which it fills before it looks for the next
//! (rules AC4, AC10 to AC12, AC26 to AC28).
//!
//! ```text
//!   the block that is filled ──full──▶ blocks handed out to it ──none──▶ what the maps offer, from
//!        ▲                                  │   ▲                        where it looked last
//!        └──────────────────────────────────┘   └── a new run ◀──────nothing───────┘ │
//!        └──────────────── one that no inserter fills ◀──────────────────────────────┘
//! ```
//!
//! Callers: `rows`, to insert.

use std::sync::Arc;

use cache::{Pin, check_written};
use change::{Changes, credits_for};
use format::changes::heap::{HeapFormat, MapFormat, MapNote};
use format::{DbaLe, U16Le, U32Le};
use ids::{Dba, TxnId};
use latch::FrameOrder;
use os::Session;
use space::{Blocks, HandOut, Space};
use stop::{RefusalKind, Stop};
use txn::Transaction;

use crate::RowAddress;
use crate::apply::{FORMAT, FORMAT_MAP, LAYER, NOTE};
use crate::free_map::{
    FORMATTED, MapEntry, REFILL, WHOLE, at_least, class_of, entries, entries_of, format_of, is_map,
    map_of, note, note_of, room_of,
};
use crate::inspect::is_heap_block;
use crate::lost::lost;

/// How many neighbouring blocks an inserter gets at a time.
const BLOCKS_AT_ONCE: u32 = 8;
/// How many maps an inserter looks at before it gets new blocks.
const MAPS_AT_ONCE: u32 = 2;
/// How many blocks whose room or ITL other transactions hold an inserter tries before it gets a new
/// one.
const VAIN_MAX: u8 = 4;
/// How many blocks with less room than their maps say an inserter looks at before it gets a new
/// one. Each is met once: then its map says what is true.
const WRONG_MAX: u8 = 32;
/// How many ITL entries a new block has.
pub(crate) const ITL_ENTRIES: u8 = 2;

/// Where one session's inserts into a table go (AC4). Used with another table it begins anew. A
/// block that it hasn't filled when it is dropped is filled by others.
#[derive(Debug, Default)]
pub struct HeapInserter {
    /// The block being filled.
    filling: Option<Dba>,
    /// The last row that was put there.
    last: Option<LastPut>,
    /// The blocks that come next, not formatted yet.
    next: Option<Run>,
    /// The table whose blocks they are.
    object: Option<u32>,
    /// The number, in the segment, of the block where it looks next for room.
    from: u32,
    /// How many blocks it tried in vain, because other transactions hold their room or ITL, since
    /// it last got new blocks or found room.
    vain: u8,
    /// How many blocks it met that had less room than their maps said, since then.
    wrong: u8,
    /// How many blocks it still passes on its way around the whole table, before it says that
    /// there is no space: set when the tablespace had no new blocks.
    around: Option<u32>,
    /// Its end of the claims (see `space::Filling`).
    claims: Arc<()>,
}

/// A row that was put into a block.
#[derive(Clone, Copy, Debug)]
struct LastPut {
    row: RowAddress,
    transaction: TxnId,
    /// How often the transaction had gone back to a savepoint by then.
    times_back: u64,
}

/// Neighbouring blocks, and the map entry of the first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) blocks: Blocks,
    pub(crate) entry: MapEntry,
}

impl Run {
    /// The run without its first block; none if it has no other.
    pub(crate) fn rest(self) -> Option<Run> {
        let Blocks { first, count } = self.blocks;
        let blocks = Blocks { first: after(first, 1), count: count - 1 };
        (count > 1).then(|| Run { blocks, entry: self.entry.next() })
    }
}

/// A block that a map offers and the inserter has claimed.
struct Offer {
    block: Dba,
    entry: MapEntry,
    /// What the entry says.
    class: u8,
}

/// Why the block that is filled didn't take an insert.
#[derive(Clone, Copy)]
pub(crate) struct NoRoom {
    /// How many bytes the insert needed.
    pub(crate) needed: usize,
    /// Whether the block has the room, but keeps it for other transactions.
    pub(crate) is_kept: bool,
}

/// The table whose blocks are filled.
#[derive(Clone, Copy)]
pub(crate) struct Filler<'a> {
    pub(crate) space: &'a Space,
    /// What changes the segment's blocks.
    pub(crate) changes: &'a Changes,
    /// The header of the table's segment.
    pub(crate) header: Dba,
    pub(crate) object: u32,
    pub(crate) block_bytes: usize,
}

impl HeapInserter {
    /// Notes that a row was put into the block that is filled.
    pub(crate) fn found_room(&mut self) {
        (self.vain, self.wrong, self.around) = (0, 0, None);
    }

    /// Notes a row that the transaction has put there.
    pub(crate) fn has_put(&mut self, row: RowAddress, transaction: &Transaction) {
        let times_back = transaction.times_back();
        self.last = transaction.id().map(|transaction| LastPut { row, transaction, times_back });
    }

    /// The slot of this block where the search for a free one begins: behind the slot that the
    /// transaction has filled last. If it has gone back since, slots before may be free.
    pub(crate) fn first_slot(&self, block: Dba, transaction: &Transaction) -> u16 {
        let is_behind = |last: &LastPut| {
            last.row.block == block
                && Some(last.transaction) == transaction.id()
                && last.times_back == transaction.times_back()
        };
        self.last.filter(is_behind).map_or(0, |last| last.row.slot.saturating_add(1))
    }

    /// The block that is filled couldn't be pinned. Unless buffers were short, or the call is to
    /// end, the next insert looks elsewhere. The claim stays, so neither this inserter nor another
    /// meets the block again meanwhile.
    fn not_pinned(&mut self, stop: Stop) -> Stop {
        if stop.refusal() != Some(RefusalKind::NoBuffer) && !stop.is_cancelled() {
            (self.filling, self.around) = (None, None);
        }
        stop
    }

    /// Whether the inserter asks the maps before it gets new blocks.
    fn searches(&self) -> bool {
        self.around.is_some() || self.vain < VAIN_MAX && self.wrong < WRONG_MAX
    }

    /// The inserter looks next at the block of this number, which is behind where it looked.
    fn go_on_from(&mut self, number: u32) {
        if let Some(left) = &mut self.around {
            *left = left.saturating_sub(number - self.from);
        }
        self.from = number;
    }
}

impl<'a> Filler<'a> {
    /// Returns the block that the inserter fills, formatted and pinned; if there is none, another
    /// with about `needed` bytes free.
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
            let pin = self.changes.cache().pin_or_unwritten(block, session);
            return pin.map_err(|stop| inserter.not_pinned(stop));
        }
        // A block that was found is taken into use, whatever becomes of the call (rule stop/K27).
        let _held = session.hold_off();
        loop {
            if let Some(run) = inserter.next {
                return self.next_of(run, inserter, session);
            }
            let searches = inserter.searches();
            if searches && let Some(offer) = self.claim_offered(inserter, needed, session)? {
                inserter.filling = Some(offer.block);
                let pin = match self.open(&offer, session) {
                    // Its room is unknown. It stays claimed, so it isn't offered again.
                    Err(stop) if stop.refusal() == Some(RefusalKind::Corrupt) => {
                        inserter.filling = None;
                        inserter.wrong = inserter.wrong.saturating_add(1);
                        continue;
                    }
                    opened => opened.map_err(|stop| inserter.not_pinned(stop))?,
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
                // The tablespace is full: so the inserter looks at all blocks that the table has.
                Err(_) => {
                    inserter.around = Some(count_of(&self.space.blocks(self.header, session)?))
                }
            }
        }
    }

    /// Has the inserter leave its block and look for another. If the block had no room, that is
    /// noted in its map.
    pub(crate) fn leave(
        &self,
        inserter: &mut HeapInserter,
        pin: &Pin<'_>,
        no_room: Option<NoRoom>,
        session: &Session,
    ) -> Result<(), Stop> {
        let Some(block) = inserter.filling.take() else { return Ok(()) };
        // The block isn't offered for this many bytes again. But if transactions hold its room or
        // its ITL it is, for they will end.
        let is_kept = no_room.is_none_or(|no_room| no_room.is_kept);
        inserter.vain = inserter.vain.saturating_add(u8::from(is_kept));
        let mut noted = Ok(());
        if let Some(NoRoom { needed, .. }) = no_room {
            let most = if is_kept { WHOLE } else { self.wanted(needed) - 1 };
            noted = note(self.changes, pin, most, session);
        }
        // Also if the note failed: otherwise no inserter would fill the block.
        self.space.filling().release(block, session);
        noted
    }

    /// Formats the first block of the inserter's run of new blocks, and pins it.
    fn next_of(
        &self,
        run: Run,
        inserter: &mut HeapInserter,
        session: &'a Session,
    ) -> Result<Pin<'a>, Stop> {
        let first = run.blocks.first;
        let pin = self.changes.cache().pin_new(first, session)?;
        // The run keeps the block until it is formatted: after a refusal the next row tries again.
        self.format(&pin, run.entry, session)?;
        inserter.next = run.rest();
        inserter.filling = Some(first);
        Ok(pin)
    }

    /// Pins a block that a map offered. Formats it if the session that it was handed out to didn't,
    /// which its map entry says.
    fn open(&self, offer: &Offer, session: &'a Session) -> Result<Pin<'a>, Stop> {
        let pin = self.changes.cache().pin_or_unwritten(offer.block, session)?;
        if is_heap_block(&pin.shared(FrameOrder::Heap, session), self.object) {
            return Ok(pin);
        }
        // If it were formatted again, index entries of the lost rows would lead to new ones (AC24).
        if offer.class != WHOLE {
            return Err(lost("put a row into", offer.block, self.object));
        }
        self.format(&pin, offer.entry, session)?;
        Ok(pin)
    }

    /// Formats a block, and notes that in its map, in one group.
    fn format(&self, pin: &Pin<'_>, entry: MapEntry, session: &Session) -> Result<(), Stop> {
        let changes = self.changes;
        let map = match entry.map {
            DbaLe::NONE => None,
            map => Some(changes.cache().pin(map.get(), session)?),
        };
        let credits = credits_for(&[size_of::<HeapFormat>(), size_of::<MapNote>()]);
        let mut group = changes.begin(credits, session)?;
        let block = pin.exclusive(FrameOrder::Heap, session);
        let map = map.as_ref().map(|map| map.exclusive(FrameOrder::FreeMap, session));
        let format = self.head(entry);
        group.format(block, &LAYER, FORMAT, &[format.bytes()]);
        if let Some(map) = map.filter(|map| is_map(map, self.object)) {
            group.change(map, &LAYER, NOTE, &[note_of(entry.number, 1, FORMATTED).bytes()]);
        }
        group.commit(session);
        Ok(())
    }

    /// The head of a new block with this map entry.
    pub(crate) fn head(&self, entry: MapEntry) -> HeapFormat {
        HeapFormat {
            object: U32Le::new(self.object),
            itl_count: ITL_ENTRIES,
            map: entry.map,
            entry: U16Le::new(entry.number),
        }
    }

    /// Claims for the inserter a block that has about `needed` bytes free, as its map says, and
    /// that no other inserter fills.
    fn claim_offered(
        &self,
        inserter: &mut HeapInserter,
        needed: usize,
        session: &Session,
    ) -> Result<Option<Offer>, Stop> {
        let runs = self.space.blocks(self.header, session)?;
        let count = count_of(&runs);
        let (bytes, wanted) = (self.block_bytes, self.wanted(needed));
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
            let pin = self.changes.cache().pin_shared(map, FrameOrder::FreeMap, session)?;
            check_written(map, &pin)?;
            if is_map(&pin, self.object) {
                let entries = &entries(&pin)[..(behind - number - 1) as usize];
                for entry in at_least(wanted, entries, (first - number - 1) as usize) {
                    let at = number + 1 + entry;
                    let block = block_at(&runs, at).expect("it was handed out");
                    if self.space.filling().claim(block, &inserter.claims, session) {
                        inserter.go_on_from(at + 1);
                        let class = entries[entry as usize];
                        let entry = MapEntry::new(map, entry);
                        return Ok(Some(Offer { block, entry, class }));
                    }
                }
            }
            inserter.go_on_from(behind);
        }
        Ok(None)
    }

    /// Hands out up to `wanted` new blocks to an inserter, and notes them in the map as free.
    pub(crate) fn hand_out(
        &self,
        wanted: u32,
        claims: &Arc<()>,
        session: &Session,
    ) -> Result<Run, Stop> {
        let _held = session.hold_off();
        let (cache, bytes) = (self.changes.cache(), self.block_bytes);
        let header = cache.pin(self.header, session)?;
        let mut turn = 0;
        loop {
            self.space.ensure_room(self.header, session)?;
            let peeked = self.space.next(&header, 1, session);
            let Some((number, block)) = peeked.map(|next| (next.number, next.blocks.first)) else {
                continue;
            };
            let map_number = map_of(number, bytes);
            if map_number == number {
                self.make_map(&header, number, block, session)?;
            } else {
                let runs = self.space.blocks(self.header, session)?;
                let map = block_at(&runs, map_number).expect("it was handed out");
                let map = cache.pin(map, session)?;
                let behind = map_number + 1 + entries_of(bytes);
                let wanted = wanted.min(behind - number);
                let run = self.hand_out_within(&header, &map, number, wanted, claims, session)?;
                if let Some(run) = run {
                    return Ok(run);
                }
            }
            turn += 1;
            session.relax(turn);
        }
    }

    /// Makes a map of the segment's next block, unless another session has handed that out by now.
    fn make_map(
        &self,
        header: &Pin<'_>,
        number: u32,
        block: Dba,
        session: &Session,
    ) -> Result<(), Stop> {
        // Read, though it is to be formatted: another session may make the map first.
        let map = self.changes.cache().pin_to_format(block, session)?;
        let credits = credits_for(&[size_of::<MapFormat>(), HandOut::PAYLOAD_BYTES]);
        let mut group = self.changes.begin(credits, session)?;
        let map = map.exclusive(FrameOrder::FreeMap, session);
        let next = self.space.next(header, 1, session);
        let Some(next) = next.filter(|next| next.number == number) else { return Ok(()) };
        group.format(map, &LAYER, FORMAT_MAP, &[format_of(self.object, number + 1).bytes()]);
        next.add_to(&mut group);
        group.commit(session);
        Ok(())
    }

    /// Hands out up to `wanted` blocks that have their entries in this map, from block `number` on.
    /// None if another session has handed that block out by now.
    fn hand_out_within(
        &self,
        header: &Pin<'_>,
        map_pin: &Pin<'_>,
        number: u32,
        wanted: u32,
        claims: &Arc<()>,
        session: &Session,
    ) -> Result<Option<Run>, Stop> {
        let credits = credits_for(&[size_of::<MapNote>(), HandOut::PAYLOAD_BYTES]);
        let mut group = self.changes.begin(credits, session)?;
        let map = map_pin.exclusive(FrameOrder::FreeMap, session);
        check_written(map_pin.address(), &map)?;
        let next = self.space.next(header, wanted, session);
        let Some(next) = next.filter(|next| next.number == number) else { return Ok(None) };
        let blocks = next.blocks;
        let mut entry = MapEntry::NONE;
        if is_map(&map, self.object) {
            entry = MapEntry::new(map_pin.address(), number - map_of(number, map.len()) - 1);
            let whole = note_of(entry.number, blocks.count as u16, WHOLE);
            group.change(map, &LAYER, NOTE, &[whole.bytes()]);
        }
        next.add_to(&mut group);
        // The claim comes before the commit: no other inserter can read of the blocks earlier.
        self.space.filling().claim_new(blocks, claims, session);
        group.commit(session);
        Ok(Some(Run { blocks, entry }))
    }

    /// The least map entry of a block that has `needed` bytes free.
    fn wanted(&self, needed: usize) -> u8 {
        class_of(needed, self.block_bytes).max(REFILL)
    }
}

/// How many blocks the segment has, with its header and its maps.
fn count_of(runs: &[Blocks]) -> u32 {
    runs.iter().map(|run| run.count).sum()
}

/// The block of this number in the segment with these blocks.
pub(crate) fn block_at(runs: &[Blocks], number: u32) -> Option<Dba> {
    let mut passed = 0;
    runs.iter().find_map(|run| {
        let at = number - passed;
        passed += run.count;
        (at < run.count).then(|| after(run.first, at))
    })
}

/// The number of a block in the segment with these blocks; none if it isn't one of them.
pub(crate) fn number_of(block: Dba, runs: &[Blocks]) -> Option<u32> {
    let mut passed = 0;
    runs.iter().find_map(|run| {
        let before = passed;
        passed += run.count;
        let at = block.block.get().checked_sub(run.first.block.get())?;
        (block.file == run.first.file && at < run.count).then_some(before + at)
    })
}

pub(crate) fn after(first: Dba, blocks: u32) -> Dba {
    Dba::new(first.file.get(), first.block.get() + blocks)
}
