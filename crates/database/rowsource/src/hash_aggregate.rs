//! Groups by a hash table: rows with equal keys are one group, whatever their order.
//!
//! ```text
//!   Start ──▶ Giving ──▶ Giving ──▶ … ──▶ Over
//!   the input  groups of   groups of a
//!              that        partition of what was set aside
//! ```
//!
//! Invariants
//!   * NULL equals NULL among the keys
//!   * when the memory ends no group is added any more: rows of others are set aside, and done in
//!     later passes
//!
//! Callers: plans, for GROUP BY with keys.

use expression::{Row, Rows};
use stop::Stop;

use crate::calls::{Calls, Target};
use crate::groups::Groups;
use crate::hash::group_hash;
use crate::ordered::CallState;
use crate::partitions::ReadRows;
use crate::passes::{Area, Passes};
use crate::source::{has_room, with_whole_batches};
use crate::{AggregateCall, Source, WorkArea, World};

const ACCUMULATOR_BYTES: u64 = size_of::<CallState>() as u64;

/// What comes next.
#[derive(Clone, Copy, Debug)]
enum Phase {
    Start,
    /// The groups of a pass, from this one on.
    Giving(u32),
    Over,
}

/// A row for each group: its keys, and what the aggregates make of its rows.
pub struct HashAggregate<S> {
    input: S,
    state: State,
}

struct State {
    keys: Vec<usize>,
    calls: Calls,
    groups: Groups,
    /// The accumulators of each group, one after the other.
    accumulators: Vec<CallState>,
    /// The bytes of texts in accumulators.
    beside: u64,
    area: Area,
    passes: Passes,
    batch: ReadRows,
    phase: Phase,
}

impl<S> HashAggregate<S> {
    /// Groups the rows of `input` by the columns `keys`, of which there is one at least.
    ///
    /// # Panics Without keys: then [`crate::SortedAggregate`] gives the one group. With a call
    /// whose equal arguments come together.
    pub fn new(input: S, keys: Vec<usize>, calls: Vec<AggregateCall>) -> HashAggregate<S> {
        assert!(!keys.is_empty(), "a group without keys comes also without rows");
        assert!(!calls.iter().any(|call| call.together), "a table of groups has no order");
        let calls = Calls::new(calls);
        let state = State {
            groups: Groups::new(keys.len()),
            keys,
            accumulators: Vec::new(),
            beside: 0,
            area: Area::new(1 + calls.distinct()),
            calls,
            passes: Passes::default(),
            batch: ReadRows::default(),
            phase: Phase::Over,
        };
        HashAggregate { input, state }
    }

    /// Takes all rows of the input.
    fn start<W: World>(&mut self, world: &mut W) -> Result<(), Stop>
    where
        S: Source<W>,
    {
        let HashAggregate { input, state } = self;
        state.batch = ReadRows::new(input.width());
        let mut more = true;
        while more {
            state.batch.clear();
            more = input.fetch(world, &mut state.batch.rows)?;
            let hashes = state.batch.rows.iter().map(|row| Some(group_hash(row, &state.keys)));
            state.batch.hashes.extend(hashes);
            state.take_batch(world)?;
        }
        state.end_pass(world)
    }
}

impl State {
    fn give_back<W: World>(&mut self, world: &W) {
        self.forget();
        self.calls.clear();
        self.passes = Passes::default();
        self.batch = ReadRows::default();
        self.phase = Phase::Over;
        self.area.give_back(world);
    }

    /// Forgets the groups.
    fn forget(&mut self) {
        self.groups.clear();
        self.accumulators = Vec::new();
        self.beside = 0;
    }

    /// The bytes in use, but for the tables of DISTINCT calls.
    fn used(&self) -> u64 {
        let accumulators = self.accumulators.capacity() as u64 * ACCUMULATOR_BYTES;
        self.groups.bytes() + accumulators + self.beside
    }

    /// Gives the rows in hand to their groups, or sets them aside.
    fn take_batch<W: World>(&mut self, world: &mut W) -> Result<(), Stop> {
        world.check()?;
        world.reset_arena();
        let mut with = world.evaluation();
        let calls = self.calls.len();
        for number in 0..self.batch.rows.len() {
            if with.arena.is_large() {
                world.check()?;
                world.reset_arena();
                with = world.evaluation();
            }
            let world = &*world;
            let hash = self.batch.hashes[number].expect("each row has a hash");
            let found = self.groups.find(self.batch.rows.row(number), &self.keys, hash);
            let Some(group) = found.or_else(|| self.add_group(number, hash, world)) else {
                let (rows, area) = (&self.batch.rows, &mut self.area);
                self.passes.set_aside(rows, number, hash, area, world)?;
                continue;
            };
            let at = group as usize * calls;
            let row = self.batch.rows.row(number);
            if self.calls.take_plain(row, &mut self.accumulators[at..at + calls])? {
                continue;
            }
            let used = self.used();
            let before = self.beside;
            let target = Target {
                group,
                accumulators: &mut self.accumulators[at..at + calls],
                used,
                beside: &mut self.beside,
            };
            self.calls.take(row, target, &mut self.area, &with, world)?;
            if self.beside > before {
                self.area.memory.need(self.used(), world);
            }
        }
        Ok(())
    }

    /// Adds the group of a row, if there is memory for it, or none yet.
    fn add_group<W: World>(&mut self, number: usize, hash: u64, world: &W) -> Option<u32> {
        let row = self.batch.rows.row(number);
        let calls = self.calls.len() as u64;
        let mut bytes = self.groups.bytes_with(row, &self.keys) + self.beside;
        let (has, holds) = (self.accumulators.len() as u64, self.accumulators.capacity() as u64);
        // A list that grows has twice its length, and while it is copied three times.
        bytes += ACCUMULATOR_BYTES * if has + calls > holds { 3 * has + 4 * calls } else { holds };
        // Values of DISTINCT calls need memory too.
        let wanted = if self.calls.distinct() > 0 { bytes * 2 } else { bytes };
        let fits = !self.passes.is_full()
            && self.groups.has_numbers()
            && (self.area.memory.ask(wanted, world) || self.groups.count() == 0);
        if !fits {
            return None;
        }
        self.area.memory.need(bytes, world);
        self.accumulators.extend(self.calls.accumulators());
        Some(self.groups.add(row, &self.keys, hash))
    }

    /// Ends a pass: its groups are whole.
    fn end_pass<W: World>(&mut self, world: &W) -> Result<(), Stop> {
        let used = self.used();
        self.calls.end_pass(&mut self.accumulators, used, &mut self.area, world)?;
        self.phase = Phase::Giving(0);
        Ok(())
    }

    /// Appends groups from this one on. Returns where to go on; none: behind the last.
    fn give(&self, from: u32, into: &mut Rows, most: usize) -> Result<Option<u32>, Stop> {
        let calls = self.calls.len();
        for group in from..self.groups.count() {
            if !has_room(into, most) {
                return Ok(Some(group));
            }
            let keys = self.groups.group(group);
            into.begin_row();
            (0..keys.width()).for_each(|column| into.push_value(keys.get(column)));
            for accumulator in &self.accumulators[group as usize * calls..][..calls] {
                into.push_value(accumulator.finish()?.get());
            }
        }
        Ok(None)
    }

    /// Does the next pass, or ends.
    fn next_pass<W: World>(&mut self, world: &mut W) -> Result<(), Stop> {
        self.forget();
        if !self.passes.next(&mut self.area, world)? {
            self.give_back(world);
            return Ok(());
        }
        let mut more = true;
        while more {
            more = self.passes.read(&mut self.batch, &mut self.area, world)?;
            self.take_batch(world)?;
        }
        self.end_pass(world)
    }
}

impl<W: World, S: Source<W>> Source<W> for HashAggregate<S> {
    fn open(&mut self, world: &mut W) -> Result<(), Stop> {
        self.state.give_back(world);
        self.state.phase = Phase::Start;
        self.input.open(world)
    }

    fn fetch(&mut self, world: &mut W, into: &mut Rows) -> Result<bool, Stop> {
        let most = world.batch();
        while has_room(into, most) {
            world.check()?;
            match self.state.phase {
                Phase::Start => with_whole_batches(world, |world| self.start(world))?,
                Phase::Giving(from) => match self.state.give(from, into, most)? {
                    Some(next) => self.state.phase = Phase::Giving(next),
                    None => self.state.next_pass(world)?,
                },
                Phase::Over => return Ok(false),
            }
        }
        Ok(true)
    }

    fn close(&mut self, world: &mut W) {
        self.state.give_back(world);
        self.input.close(world);
    }

    fn width(&self) -> usize {
        self.state.keys.len() + self.state.calls.len()
    }

    fn work_area(&self) -> WorkArea {
        self.state.area.most()
    }
}
