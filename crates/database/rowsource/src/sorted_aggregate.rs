//! Groups of an input that has the rows of each together; or one group of all rows, without keys.
//!
//! Invariants
//!   * NULL equals NULL among the keys
//!   * one group is in hand; it comes when a row of another does
//!   * without keys one row comes, also if there are no rows
//!
//! Callers: plans, for GROUP BY above a sort or an index, and for aggregates without GROUP BY.

use expression::Rows;
use stop::Stop;

use crate::calls::{Calls, Target};
use crate::hash::group_equal;
use crate::ordered::CallState;
use crate::passes::Area;
use crate::source::{has_room, with_whole_batches};
use crate::{AggregateCall, Source, WorkArea, World};

/// A row for each group of neighbouring rows: its keys, and what the aggregates make of its rows.
pub struct SortedAggregate<S> {
    input: S,
    state: State,
}

struct State {
    keys: Vec<usize>,
    calls: Calls,
    /// The keys of the group in hand; empty if there is none.
    group: Rows,
    accumulators: Vec<CallState>,
    /// The bytes of texts in accumulators.
    beside: u64,
    area: Area,
    batch: Rows,
    at: usize,
    is_input_over: bool,
    is_over: bool,
}

impl<S> SortedAggregate<S> {
    /// Groups the rows of `input`, which has those together that are equal in the columns `keys`.
    pub fn new(input: S, keys: Vec<usize>, calls: Vec<AggregateCall>) -> SortedAggregate<S> {
        let calls = Calls::new(calls);
        let state = State {
            group: Rows::new(keys.len()),
            keys,
            accumulators: Vec::new(),
            beside: 0,
            area: Area::new(calls.distinct().max(1)),
            calls,
            batch: Rows::new(0),
            at: 0,
            is_input_over: true,
            is_over: true,
        };
        SortedAggregate { input, state }
    }

    /// Gets the next rows: whole batches where all are needed before a row comes.
    fn next_rows<W: World>(&mut self, world: &mut W) -> Result<(), Stop>
    where
        S: Source<W>,
    {
        let SortedAggregate { input, state } = self;
        state.batch.clear();
        state.at = 0;
        let batch = &mut state.batch;
        let more = match state.keys.is_empty() {
            true => with_whole_batches(world, |world| input.fetch(world, batch))?,
            false => input.fetch(world, batch)?,
        };
        state.is_input_over = !more;
        Ok(())
    }
}

impl State {
    fn give_back<W: World>(&mut self, world: &W) {
        self.group.clear();
        self.accumulators = Vec::new();
        self.calls.clear();
        self.beside = 0;
        self.batch = Rows::new(0);
        self.at = 0;
        (self.is_input_over, self.is_over) = (true, true);
        self.area.give_back(world);
    }

    /// Begins a group, of the row in hand or of no row.
    fn begin(&mut self) {
        self.group.clear();
        let row = || self.batch.row(self.at);
        self.group.push(self.keys.iter().map(|column| row().get(*column)));
        self.accumulators = self.calls.accumulators().collect();
        self.beside = 0;
    }

    /// Gives the rows in hand to the group in hand, until one is of another group.
    fn take<W: World>(&mut self, world: &mut W) -> Result<(), Stop> {
        let is_one_group = self.keys.is_empty() && self.at == 0;
        if is_one_group && self.calls.take_all(&self.batch, &mut self.accumulators)? {
            self.at = self.batch.len();
            return Ok(());
        }
        let mut with = world.evaluation();
        while self.at < self.batch.len() {
            if with.arena.is_large() {
                world.check()?;
                world.reset_arena();
                with = world.evaluation();
            }
            let world = &*world;
            let row = self.batch.row(self.at);
            if !group_equal(row, &self.keys, self.group.row(0)) {
                break;
            }
            if self.calls.take_plain(row, &mut self.accumulators)? {
                self.at += 1;
                continue;
            }
            let before = self.beside;
            let target = Target {
                group: 0,
                accumulators: &mut self.accumulators,
                used: before,
                beside: &mut self.beside,
            };
            self.calls.take(row, target, &mut self.area, &with, world)?;
            if self.beside > before {
                self.area.memory.need(self.beside, world);
            }
            self.at += 1;
        }
        Ok(())
    }

    /// Ends the group in hand, and appends its row.
    fn end<W: World>(&mut self, world: &W, into: &mut Rows) -> Result<(), Stop> {
        self.calls.end_pass(&mut self.accumulators, self.beside, &mut self.area, world)?;
        into.begin_row();
        let keys = self.group.row(0);
        (0..self.keys.len()).for_each(|column| into.push_value(keys.get(column)));
        for accumulator in &self.accumulators {
            into.push_value(accumulator.finish()?.get());
        }
        self.group.clear();
        Ok(())
    }
}

impl<W: World, S: Source<W>> Source<W> for SortedAggregate<S> {
    fn open(&mut self, world: &mut W) -> Result<(), Stop> {
        self.state.give_back(world);
        self.state.batch = Rows::new(self.input.width());
        (self.state.is_input_over, self.state.is_over) = (false, false);
        if self.state.keys.is_empty() {
            self.state.begin();
        }
        self.input.open(world)
    }

    fn fetch(&mut self, world: &mut W, into: &mut Rows) -> Result<bool, Stop> {
        let most = world.batch();
        while !self.state.is_over && has_room(into, most) {
            world.check()?;
            let state = &mut self.state;
            if state.at < state.batch.len() {
                if state.group.is_empty() {
                    state.begin();
                }
                world.reset_arena();
                state.take(world)?;
                if state.at < state.batch.len() {
                    state.end(world, into)?;
                }
            } else if !state.is_input_over {
                self.next_rows(world)?;
            } else {
                if !state.group.is_empty() {
                    state.end(world, into)?;
                }
                state.give_back(world);
            }
        }
        Ok(!self.state.is_over)
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
