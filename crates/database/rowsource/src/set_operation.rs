//! INTERSECT and EXCEPT, with and without ALL: a hash table of the left rows, with the number of
//! each on both sides.
//!
//! ```text
//!   left rows ──▶ counted, or set aside ──┐
//!   right rows ──▶ counted if known, or set aside behind the left rows of their partition
//! ```
//!
//! Rows in a table and in a file have one column more, which says from which side they are. So a
//! partition has its left rows first, as the input had.
//!
//! Invariants
//!   * NULL equals NULL here
//!   * the right input isn't started before the left is over
//!
//! Callers: plans.

use expression::Rows;
use stop::Stop;
use value::Value;

use crate::groups::Groups;
use crate::hash::group_hash;
use crate::partitions::ReadRows;
use crate::passes::{Area, Passes};
use crate::source::{has_room, with_whole_batches};
use crate::{SetKind, Source, WorkArea, World};

/// How often a row came from each side.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    left: u64,
    right: u64,
}

const COUNT_BYTES: u64 = size_of::<Count>() as u64;

/// What comes next.
#[derive(Clone, Copy, Debug)]
enum Phase {
    Start,
    /// The rows of a pass are counted, and come out from this one on, so many times yet.
    Giving {
        group: u32,
        times: u64,
    },
    Over,
}

/// The rows that both inputs have, or that the left has and the right hasn't.
pub struct SetOperation<L, R> {
    kind: SetKind,
    left: L,
    right: R,
    /// All columns of both inputs.
    columns: Vec<usize>,
    groups: Groups,
    counts: Vec<Count>,
    area: Area,
    passes: Passes,
    batch: ReadRows,
    phase: Phase,
}

impl<L, R> SetOperation<L, R> {
    /// Of the rows of `left` and `right`, which have the same columns, those that `kind` says.
    pub fn new(kind: SetKind, left: L, right: R) -> SetOperation<L, R> {
        SetOperation {
            kind,
            left,
            right,
            columns: Vec::new(),
            groups: Groups::new(0),
            counts: Vec::new(),
            area: Area::new(1),
            passes: Passes::default(),
            batch: ReadRows::default(),
            phase: Phase::Over,
        }
    }

    fn give_back<W: World>(&mut self, world: &W) {
        self.groups = Groups::new(self.columns.len());
        self.counts = Vec::new();
        self.passes = Passes::default();
        self.batch = ReadRows::default();
        self.phase = Phase::Over;
        self.area.give_back(world);
    }

    /// Counts all rows of both inputs.
    fn count_inputs<W: World>(&mut self, world: &mut W) -> Result<(), Stop>
    where
        L: Source<W>,
        R: Source<W>,
    {
        let mut batch = Rows::new(self.columns.len());
        self.batch = ReadRows::new(self.columns.len() + 1);
        for is_right in [false, true] {
            if is_right {
                self.right.open(world)?;
            }
            let mut more = true;
            while more {
                batch.clear();
                more = match is_right {
                    false => self.left.fetch(world, &mut batch)?,
                    true => self.right.fetch(world, &mut batch)?,
                };
                world.check()?;
                self.batch.clear();
                for row in batch.iter() {
                    self.batch.rows.push_joined(&row, &[Value::Boolean(is_right)]);
                    self.batch.hashes.push(Some(group_hash(row, &self.columns)));
                }
                self.count_batch(world)?;
            }
            if !is_right && self.groups.count() == 0 {
                // Without left rows no row comes, whatever the right ones are.
                return Ok(());
            }
        }
        Ok(())
    }

    /// Counts the rows in hand, or sets them aside.
    fn count_batch<W: World>(&mut self, world: &W) -> Result<(), Stop> {
        let SetOperation { columns, groups, counts, area, passes, batch, .. } = self;
        for number in 0..batch.rows.len() {
            let row = batch.rows.row(number);
            let hash = batch.hashes[number].expect("each row has a hash");
            let is_right = row.get(columns.len()) == Value::Boolean(true);
            let group = match groups.find(row, columns, hash) {
                Some(group) => group,
                None if is_right && !passes.is_full() => continue,
                None => {
                    let bytes = groups.bytes_with(row, columns) + 4 * COUNT_BYTES;
                    let bytes = bytes + 3 * counts.capacity() as u64 * COUNT_BYTES;
                    let fits = !passes.is_full()
                        && groups.has_numbers()
                        && (area.memory.ask(bytes, world) || groups.count() == 0);
                    if !fits {
                        passes.set_aside(&batch.rows, number, hash, area, world)?;
                        continue;
                    }
                    area.memory.need(bytes, world);
                    counts.push(Count::default());
                    groups.add(row, columns, hash)
                }
            };
            let count = &mut counts[group as usize];
            if is_right {
                count.right += 1;
            } else {
                count.left += 1;
            }
        }
        Ok(())
    }

    /// How often a row comes.
    fn times(&self, group: u32) -> u64 {
        let Some(Count { left, right }) = self.counts.get(group as usize).copied() else {
            return 0;
        };
        match self.kind {
            SetKind::Intersect => u64::from(right > 0),
            SetKind::IntersectAll => left.min(right),
            SetKind::Except => u64::from(right == 0),
            SetKind::ExceptAll => left.saturating_sub(right),
        }
    }

    /// Appends rows from this one on. Returns where to go on; none: behind the last.
    fn give(&self, from: u32, times: u64, into: &mut Rows, most: usize) -> Option<Phase> {
        let (mut group, mut times) = (from, times);
        while group < self.groups.count() {
            if times == 0 {
                group += 1;
                times = self.times(group);
                continue;
            }
            if !has_room(into, most) {
                return Some(Phase::Giving { group, times });
            }
            into.push_row(&self.groups.group(group));
            times -= 1;
        }
        None
    }

    /// Counts the rows of the next partition, or ends.
    fn next_pass<W: World>(&mut self, world: &W) -> Result<(), Stop> {
        self.groups.clear();
        self.counts = Vec::new();
        if !self.passes.next(&mut self.area, world)? {
            self.give_back(world);
            return Ok(());
        }
        let mut more = true;
        while more {
            world.check()?;
            more = self.passes.read(&mut self.batch, &mut self.area, world)?;
            self.count_batch(world)?;
        }
        self.phase = Phase::Giving { group: 0, times: self.times(0) };
        Ok(())
    }
}

impl<W: World, L: Source<W>, R: Source<W>> Source<W> for SetOperation<L, R> {
    fn open(&mut self, world: &mut W) -> Result<(), Stop> {
        self.columns = (0..self.left.width()).collect();
        self.give_back(world);
        self.phase = Phase::Start;
        self.left.open(world)
    }

    fn fetch(&mut self, world: &mut W, into: &mut Rows) -> Result<bool, Stop> {
        let most = world.batch();
        while has_room(into, most) {
            world.check()?;
            match self.phase {
                Phase::Start => {
                    with_whole_batches(world, |world| self.count_inputs(world))?;
                    self.phase = Phase::Giving { group: 0, times: self.times(0) };
                }
                Phase::Giving { group, times } => match self.give(group, times, into, most) {
                    Some(phase) => self.phase = phase,
                    None => self.next_pass(world)?,
                },
                Phase::Over => return Ok(false),
            }
        }
        Ok(true)
    }

    fn close(&mut self, world: &mut W) {
        self.give_back(world);
        self.left.close(world);
        self.right.close(world);
    }

    fn width(&self) -> usize {
        self.left.width()
    }

    fn work_area(&self) -> WorkArea {
        self.area.most()
    }
}
