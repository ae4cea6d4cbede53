//! The probe side: each row is looked up in the table.
//!
//! Invariants
//!   * a row's search can pause behind each pair: the next candidate is kept
//!   * at most 1,024 candidates are looked at between two looks at a cancel (rule RS6)
//!
//! Callers: `HashJoin::fetch`.

use expression::Rows;
use sort::SpoolReader;
use stop::Stop;

use super::build::hash_all;
use super::shape::{Alone, OnMatch, Shape};
use super::{Inputs, State};
use crate::partitions::ReadRows;
use crate::source::has_room;
use crate::table::RowTable;
use crate::{BATCH_BYTES_MAX, BATCH_ROWS_MAX, Source, World};

/// Why the looking up paused.
#[derive(Clone, Copy, Debug)]
pub(super) enum Paused {
    /// The batch is full.
    Full,
    /// Many candidates were looked at, or much was made in the arena.
    Tired,
    /// There are no more probe rows in hand.
    Dry,
}

/// What the table has for a probe row.
struct Found {
    /// The first candidate, and the one behind it.
    first: Option<u32>,
    second: Option<u32>,
    /// Whether the keys of the first one are equal to the row's.
    is_equal: bool,
}

/// The probe rows in hand.
#[derive(Default)]
pub(super) struct Probe {
    /// Where they come from; none: the input.
    reader: Option<SpoolReader>,
    batch: ReadRows,
    /// For each of them.
    found: Vec<Found>,
    /// The row that is looked up.
    at: usize,
    /// How many rows came before those in hand.
    before: u64,
    /// Whether the search for the row has begun, and the next candidate.
    is_begun: bool,
    candidate: Option<u32>,
    /// Whether that is the first one.
    is_first: bool,
    is_matched: bool,
    /// Whether no more rows come.
    pub(super) is_over: bool,
}

impl Probe {
    /// Begins with the rows of a reader, or of the input.
    pub(super) fn begin(&mut self, reader: Option<SpoolReader>, width: usize) {
        let batch = match self.batch.rows.width() == width {
            true => std::mem::take(&mut self.batch),
            false => ReadRows::new(width),
        };
        *self = Probe { reader, batch, ..Probe::default() };
        self.batch.clear();
    }

    /// Looks for the rows in hand: for all of them where their candidates are, and then what these
    /// have. A table lies all over the memory, and so the processor waits for many rows at a time.
    fn look(&mut self, table: &RowTable, shape: &Shape) {
        let Probe { batch, found, .. } = self;
        found.clear();
        found.extend(batch.hashes.iter().map(|hash| {
            let first = hash.and_then(|hash| table.first(hash));
            Found { first, second: None, is_equal: false }
        }));
        for (row, found) in found.iter_mut().enumerate() {
            if let (Some(first), Some(hash)) = (found.first, batch.hashes[row]) {
                found.second = table.next(first, hash);
                found.is_equal = shape.are_equal(table.row(first), batch.rows.row(row));
            }
        }
    }

    /// The reader, which is at its end or isn't needed any more.
    pub(super) fn take_reader(&mut self) -> Option<SpoolReader> {
        self.reader.take()
    }
}

/// Gets more probe rows.
pub(super) fn next_rows<W: World, L: Source<W>, R: Source<W>>(
    inputs: &mut Inputs<L, R>,
    shape: &Shape,
    state: &mut State,
    world: &mut W,
) -> Result<(), Stop> {
    let State { probe, seen, aside, table, .. } = state;
    probe.before += probe.batch.rows.len() as u64;
    probe.at = 0;
    let more = match &mut probe.reader {
        Some(reader) => {
            let aside = aside.as_mut().expect("a reader reads a file");
            aside.read(reader, &mut probe.batch, BATCH_BYTES_MAX as u64, world)?
        }
        None => {
            probe.batch.clear();
            let more = inputs.fetch(!shape.build_is_left, world, &mut probe.batch.rows)?;
            hash_all(&mut probe.batch, &shape.probe_keys);
            seen.probe_rows |= !probe.batch.rows.is_empty();
            seen.probe_null |= probe.batch.hashes.contains(&None);
            more
        }
    };
    probe.is_over = !more;
    probe.look(table, shape);
    Ok(())
}

impl State {
    /// Looks up the probe rows in hand, and appends what comes of them.
    pub(super) fn probe_rows<W: World>(
        &mut self,
        shape: &Shape,
        world: &W,
        into: &mut Rows,
        most: usize,
    ) -> Result<Paused, Stop> {
        let with = world.evaluation();
        let mut looks = 0;
        while self.probe.at < self.probe.batch.rows.len() {
            if !self.probe.is_begun {
                self.begin_row(shape);
            }
            let row = self.probe.batch.rows.row(self.probe.at);
            let hash = self.probe.batch.hashes[self.probe.at];
            while let Some(candidate) = self.probe.candidate {
                if !has_room(into, most) {
                    return Ok(Paused::Full);
                }
                if looks == BATCH_ROWS_MAX || with.arena.is_large() {
                    return Ok(Paused::Tired);
                }
                looks += 1;
                let hash = hash.expect("a row with candidates has a hash");
                let is_first = std::mem::take(&mut self.probe.is_first);
                let found = &self.probe.found[self.probe.at];
                self.probe.candidate = match is_first {
                    true => found.second,
                    false => self.table.next(candidate, hash),
                };
                let is_done = shape.one_match_is_enough_for_build();
                if is_done && self.table.is_marked(candidate) {
                    continue;
                }
                let build = self.table.row(candidate);
                let are_equal = match is_first {
                    true => found.is_equal,
                    false => shape.are_equal(build, row),
                };
                if !are_equal || !shape.holds(build, row, &with)? {
                    continue;
                }
                match shape.on_match {
                    OnMatch::Pair => shape.push_pair(build, row, into),
                    OnMatch::ProbeRow => into.push_row(&row),
                    OnMatch::BuildRow => into.push_row(&build),
                    OnMatch::Nothing => {}
                }
                self.probe.is_matched = true;
                if shape.marks_build() {
                    self.table.mark(candidate);
                }
                if shape.one_match_is_enough_for_probe() {
                    self.probe.candidate = None;
                }
            }
            if !has_room(into, most) {
                return Ok(Paused::Full);
            }
            if !self.probe.is_matched && self.is_last_block() {
                shape.push_probe_alone(row, hash.is_some(), &self.seen, into);
            }
            self.end_row();
        }
        Ok(Paused::Dry)
    }

    /// Begins the search for the matches of a row.
    fn begin_row(&mut self, shape: &Shape) {
        let probe = &mut self.probe;
        let number = probe.before + probe.at as u64;
        let marks = self.current.as_ref().and_then(|current| current.marks.as_ref());
        probe.is_begun = true;
        probe.is_matched = marks.is_some_and(|marks| marks.has(number));
        let is_done = probe.is_matched && shape.one_match_is_enough_for_probe();
        probe.is_first = true;
        probe.candidate = probe.found[probe.at].first.filter(|_| !is_done);
    }

    /// Goes to the next row.
    fn end_row(&mut self) {
        let probe = &mut self.probe;
        if probe.is_matched
            && let Some(marks) = self.current.as_mut().and_then(|current| current.marks.as_mut())
        {
            marks.set(probe.before + probe.at as u64);
        }
        probe.at += 1;
        probe.is_begun = false;
    }

    fn is_last_block(&self) -> bool {
        self.current.as_ref().is_none_or(|current| current.is_last)
    }

    /// Appends what comes for build rows without a match, from this one on. Returns where to go on,
    /// if the batch is full before their end.
    pub(super) fn build_rows_alone(
        &self,
        from: u32,
        shape: &Shape,
        into: &mut Rows,
        most: usize,
    ) -> Option<u32> {
        if shape.build_alone == Alone::No {
            return None;
        }
        let mut next = self.table.unmarked_from(from);
        while let Some(row) = next {
            if !has_room(into, most) {
                return Some(row);
            }
            let is_hashed = self.table.has_hash(row);
            shape.push_build_alone(self.table.row(row), is_hashed, &self.seen, into);
            next = self.table.unmarked_from(row + 1);
        }
        None
    }
}
