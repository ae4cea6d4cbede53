//! Rows in order: all of them, by a sort of crate `sort`, or the first few, by a list of those that
//! may be among them.
//!
//! ```text
//!   Start ──all wanted──▶ SortState ──▶ Sorted ──▶ Over
//!     │                      ▲
//!     └──few wanted──▶ Top ──┴─(memory ends)
//!                       └──────────────▶ First ──▶ Over
//! ```
//!
//! A row is sorted by the bytes of its keys, and its own bytes go with them. A row that is too long
//! for a record of a sort goes in parts with the same key: the sort is stable, so they stay
//! together.
//!
//! Invariants
//!   * equal keys keep the order of the input, whether all rows are wanted or few
//!   * keys that are equal in SQL have equal bytes, whatever their kinds were (rule RS9)
//!
//! Callers: plans, for ORDER BY, and below merge joins and sorted groups; `ordered`, for its keys.

use expression::{Kind, RowOf, Rows};
use sort::{RECORD_BYTES_MAX, SortConfig, SortState, SortedState};
use stop::{RefusalKind, Stop};
use value::{Timestamp, Value, key_push};

use crate::limit::CutRows;
use crate::memory::Memory;
use crate::source::{has_room, with_whole_batches};
use crate::top::{First, Kept, Top};
use crate::{Cut, SortKey, Source, Spill, WorkArea, World};

/// The longest key, in bytes: half a record, so that parts of a row are not too short.
const KEY_BYTES_MAX: usize = RECORD_BYTES_MAX / 2;

/// In front of a row's bytes, or of a part of them: the row ends with it, or goes on.
const ENDS: u8 = 0;
const GOES_ON: u8 = 1;

/// The most rows that are kept without a sort, if there is memory for them.
const TOP_ROWS_MAX: u64 = 1 << 20;

/// What comes next.
enum Phase {
    Start,
    Sorted(SortedState),
    First(First),
    Over,
}

/// The rows of an input in the order of some columns.
pub struct Sort<S> {
    input: S,
    keys: Vec<SortKey>,
    /// Which rows are wanted at all.
    cut: Option<Cut>,
    phase: Phase,
    /// The memory of the first rows; a sort has its own grant.
    memory: Memory,
    /// A row of several parts.
    row: Vec<u8>,
    most: WorkArea,
}

impl<S> Sort<S> {
    /// All rows of `input` in the order of `keys`. Rows with equal keys stay in the order of the
    /// input.
    pub fn new(input: S, keys: Vec<SortKey>) -> Sort<S> {
        let (phase, memory, most) = (Phase::Over, Memory::default(), WorkArea::default());
        Sort { input, keys, cut: None, phase, memory, row: Vec::new(), most }
    }

    /// The first rows in that order, as many as a [`crate::Limit`] above with the same cut needs.
    pub fn top(input: S, keys: Vec<SortKey>, cut: Cut) -> Sort<S> {
        Sort { cut: Some(cut), ..Sort::new(input, keys) }
    }

    /// Takes all rows of the input.
    fn start<W: World>(&mut self, world: &mut W) -> Result<(), Stop>
    where
        S: Source<W>,
    {
        let wanted = match &self.cut {
            Some(cut) => {
                let CutRows { offset, count } = CutRows::read(cut, world)?;
                if count == 0 { 0 } else { offset.saturating_add(count) }
            }
            None => u64::MAX,
        };
        let few = usize::try_from(wanted).ok().filter(|_| wanted <= TOP_ROWS_MAX);
        let mut taking = Taking {
            keys: &self.keys,
            top: few.map(Top::new),
            sort: None,
            key: Vec::new(),
            record: Vec::new(),
            part: Vec::new(),
        };
        let width = self.input.width();
        let taken = take_all(&mut self.input, width, &mut taking, &mut self.memory, world);
        if let Some(sort) = &taking.sort {
            self.most.memory_bytes_max = self.most.memory_bytes_max.max(sort.used_bytes());
        }
        let finished = taken.and_then(|()| taking.finish(world));
        if let Some(mut sort) = taking.sort {
            self.most.memory_bytes_max = self.most.memory_bytes_max.max(sort.used_bytes());
            sort.close(world.session());
        }
        self.phase = finished?;
        if let Phase::Sorted(sorted) = &self.phase {
            self.most.memory_bytes_max = self.most.memory_bytes_max.max(sorted.used_bytes());
            self.most.temp_bytes += sorted.temp_bytes();
        }
        Ok(())
    }

    /// Appends the next row. Returns false if there is none.
    fn give<W: World>(&mut self, world: &W, into: &mut Rows) -> Result<bool, Stop> {
        match &mut self.phase {
            Phase::Sorted(sorted) => {
                self.row.clear();
                loop {
                    let Some((_, payload)) = sorted.next_row(world.session())? else {
                        assert!(self.row.is_empty(), "a row's last part follows its others");
                        return Ok(false);
                    };
                    let (mark, part) = payload.split_first().expect("a mark and a row");
                    if *mark == ENDS && self.row.is_empty() {
                        into.read_row(part)?;
                        return Ok(true);
                    }
                    self.row.extend_from_slice(part);
                    if *mark == ENDS {
                        into.read_row(&self.row)?;
                        return Ok(true);
                    }
                }
            }
            Phase::First(first) => match first.next() {
                Some(kept) => into.read_row(kept.row()).map(|()| true).map_err(Stop::from),
                None => Ok(false),
            },
            Phase::Start | Phase::Over => Ok(false),
        }
    }

    fn give_back<W: World>(&mut self, world: &W) {
        if let Phase::Sorted(sorted) = &mut self.phase {
            sorted.close(world.session());
        }
        self.phase = Phase::Over;
        self.row = Vec::new();
        self.memory.close(world);
        let first_bytes = self.memory.bytes_max();
        self.most.memory_bytes_max = self.most.memory_bytes_max.max(first_bytes);
    }
}

/// Gives all rows of an input to the first rows or a sort.
fn take_all<W: World, S: Source<W>>(
    input: &mut S,
    width: usize,
    taking: &mut Taking<'_>,
    memory: &mut Memory,
    world: &mut W,
) -> Result<(), Stop> {
    if taking.top.as_ref().is_some_and(Top::wants_none) {
        return Ok(());
    }
    let mut batch = Rows::new(width);
    let mut more = true;
    while more {
        batch.clear();
        more = input.fetch(world, &mut batch)?;
        world.check()?;
        for row in 0..batch.len() {
            taking.take(&batch, row, memory, world)?;
        }
    }
    Ok(())
}

/// Rows on their way to the first rows or into a sort.
struct Taking<'k> {
    keys: &'k [SortKey],
    top: Option<Top>,
    sort: Option<SortState>,
    key: Vec<u8>,
    /// A mark, and a row's bytes.
    record: Vec<u8>,
    part: Vec<u8>,
}

impl Taking<'_> {
    /// Takes a row.
    fn take<W: World>(
        &mut self,
        rows: &Rows,
        row: usize,
        memory: &mut Memory,
        world: &W,
    ) -> Result<(), Stop> {
        push_key(rows.row(row), self.keys, &mut self.key)?;
        if self.top.as_ref().is_some_and(|top| !top.wants(&self.key)) {
            return Ok(());
        }
        if self.sort.is_none() {
            if self.keep(rows, row, memory, world) {
                return Ok(());
            }
            self.sort = Some(new_sort(world)?);
            for kept in self.top.as_mut().map(Top::take_all).unwrap_or_default() {
                self.push_kept(&kept, world)?;
            }
            memory.close(world);
        }
        self.record.clear();
        self.record.push(ENDS);
        rows.write_row(row, &mut self.record);
        let key = std::mem::take(&mut self.key);
        let pushed = self.push(&key, world);
        self.key = key;
        pushed
    }

    /// Adds the row to the first rows. Returns false if these aren't kept, or memory has no room.
    fn keep<W: World>(&mut self, rows: &Rows, row: usize, memory: &mut Memory, world: &W) -> bool {
        let Some(top) = &mut self.top else { return false };
        self.record.clear();
        rows.write_row(row, &mut self.record);
        let mut bytes = top.bytes_with(&self.key, &self.record);
        if !memory.ask(bytes, world) && !top.is_empty() {
            if !top.make_room() {
                return false;
            }
            bytes = top.bytes_with(&self.key, &self.record);
            if !memory.ask(bytes, world) {
                return false;
            }
        }
        memory.need(bytes, world);
        top.add(&self.key, &self.record);
        true
    }

    /// Gives a row that was kept to the sort.
    fn push_kept<W: World>(&mut self, kept: &Kept, world: &W) -> Result<(), Stop> {
        self.record.clear();
        self.record.push(ENDS);
        self.record.extend_from_slice(kept.row());
        self.push(kept.key(), world)
    }

    /// Gives `record` to the sort, in parts if it is too long.
    fn push<W: World>(&mut self, key: &[u8], world: &W) -> Result<(), Stop> {
        let sort = self.sort.as_mut().expect("it was just made");
        let session = world.session();
        let most = RECORD_BYTES_MAX - key.len();
        if self.record.len() <= most {
            return sort.push(key, &self.record, session);
        }
        let mut parts = self.record[1..].chunks(most - 1).peekable();
        while let Some(part) = parts.next() {
            self.part.clear();
            self.part.push(if parts.peek().is_some() { GOES_ON } else { ENDS });
            self.part.extend_from_slice(part);
            sort.push(key, &self.part, session)?;
        }
        Ok(())
    }

    /// Ends the taking. The sort, if there is one, keeps nothing.
    fn finish<W: World>(&mut self, world: &W) -> Result<Phase, Stop> {
        match (&mut self.sort, self.top.take()) {
            (Some(sort), _) => Ok(Phase::Sorted(sort.finish(world.session())?)),
            (None, Some(top)) => Ok(Phase::First(top.finish())),
            (None, None) => Ok(Phase::Over),
        }
    }
}

fn new_sort<W: World>(world: &W) -> Result<SortState, Stop> {
    let Spill { disk, config, halt } = world.spill();
    let config = SortConfig { budget: Some(world.budget().clone()), ..config.clone() };
    SortState::new(disk, config, halt)
}

/// Replaces `key` by that of a row.
fn push_key(row: RowOf<'_>, keys: &[SortKey], key: &mut Vec<u8>) -> Result<(), Stop> {
    key.clear();
    for by in keys {
        key_push(as_kind(row.get(by.column), by.kind), by.direction, by.nulls, key);
    }
    if key.len() > KEY_BYTES_MAX {
        let message = format!(
            "cannot sort by a key of {} bytes: {KEY_BYTES_MAX} at most; sort by less, such as the \
             first characters of a text",
            key.len()
        );
        return Err(Stop::refuse(RefusalKind::Invalid, message));
    }
    Ok(())
}

/// The value as one of this kind, so that the bytes of all keys have one order.
///
/// # Panics When the kind has no such value: the planner has said the wrong one.
pub(crate) fn as_kind(value: Value<'_>, kind: Kind) -> Value<'_> {
    match (kind, value) {
        (_, Value::Null) => Value::Null,
        (Kind::Number, Value::Int(int)) => Value::Number(int.into()),
        (Kind::Double, Value::Int(int)) => Value::Double(int as f64),
        (Kind::Double, Value::Number(number)) => Value::Double(number.to_f64()),
        (Kind::Timestamp, Value::Date(day)) => Value::Timestamp(Timestamp::midnight(day)),
        (Kind::Char, Value::Text(text)) => Value::Text(text.trim_end_matches(' ')),
        (Kind::Text, Value::Text(_)) => value,
        // The planner knows nothing of a column only if all its values are of one kind.
        (Kind::Unknown, _) => value,
        _ => {
            assert!(Kind::of(value) == kind, "a key of kind {kind} has a value of another kind");
            value
        }
    }
}

impl<W: World, S: Source<W>> Source<W> for Sort<S> {
    fn open(&mut self, world: &mut W) -> Result<(), Stop> {
        self.give_back(world);
        self.phase = Phase::Start;
        self.input.open(world)
    }

    fn fetch(&mut self, world: &mut W, into: &mut Rows) -> Result<bool, Stop> {
        world.check()?;
        if matches!(self.phase, Phase::Start) {
            with_whole_batches(world, |world| self.start(world))?;
        }
        let most = world.batch();
        while has_room(into, most) {
            if !self.give(world, into)? {
                self.give_back(world);
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn close(&mut self, world: &mut W) {
        self.give_back(world);
        self.input.close(world);
    }

    fn width(&self) -> usize {
        self.input.width()
    }

    fn work_area(&self) -> WorkArea {
        let memory_bytes_max = self.most.memory_bytes_max.max(self.memory.bytes_max());
        WorkArea { memory_bytes_max, ..self.most }
    }
}

#[cfg(test)]
mod tests {
    use value::{Direction, NullOrdering};

    use super::*;

    fn key(value: Value<'_>, kind: Kind) -> Vec<u8> {
        let mut rows = Rows::new(1);
        rows.push([value]);
        let (direction, nulls) = (Direction::Ascending, NullOrdering::Last);
        let mut key = Vec::new();
        let by = SortKey { column: 0, kind, direction, nulls };
        push_key(rows.row(0), &[by], &mut key).expect("not too long");
        key
    }

    /// Keys of mixed kinds are in the order of their values, once they are of one kind.
    #[test]
    fn keys_of_one_kind_compare_as_the_values_do() {
        let number = |text: &str| Value::Number(text.parse().expect("a number"));
        let rising = [Value::Int(-5), number("-4.5"), Value::Int(0), number("0.25"), Value::Int(7)];
        for kind in [Kind::Number, Kind::Double] {
            assert!(rising.windows(2).all(|two| key(two[0], kind) < key(two[1], kind)), "{kind}");
            assert_eq!(key(Value::Int(7), kind), key(number("7.0"), kind));
        }
        assert_eq!(key(Value::Text("a "), Kind::Char), key(Value::Text("a"), Kind::Char));
        assert!(key(Value::Text("a "), Kind::Text) > key(Value::Text("a"), Kind::Text));
        assert!(key(Value::Null, Kind::Whole) > key(Value::Int(i64::MAX), Kind::Whole));
    }

    #[test]
    fn a_key_that_is_too_long_is_refused() {
        let text = "a".repeat(KEY_BYTES_MAX);
        let mut rows = Rows::new(1);
        rows.push([Value::Text(&text)]);
        let (direction, nulls) = (Direction::Ascending, NullOrdering::Last);
        let by = SortKey { column: 0, kind: Kind::Text, direction, nulls };
        let refused = push_key(rows.row(0), &[by], &mut Vec::new()).expect_err("too long");
        assert_eq!(refused.refusal(), Some(RefusalKind::Invalid));
        assert!(refused.to_string().contains("first characters"), "{refused}");
    }

    #[test]
    #[should_panic(expected = "a value of another kind")]
    fn a_kind_that_the_planner_got_wrong_is_no_order() {
        key(Value::Text("1"), Kind::Whole);
    }
}
