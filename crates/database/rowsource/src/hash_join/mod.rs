//! Joins by a hash of the keys: the rows of one input, the build side, are kept by their hash, and
//! those of the other, the probe side, are looked up one by one.
//!
//! ```text
//!   Start ──all fit──────────▶ Probing ──no more probe rows──▶ BuildAlone ──▶ next table?
//!     │                          ▲  ▲                                          │   │ none
//!     │ memory ends: both inputs │  └───── of a partition, or a block of it ───┘   ▼
//!     └─▶ are dealt to partitions ┘                                               Over
//!
//!   Start → Probing        [start]       builds the table, or deals both inputs
//!   Probing → BuildAlone   [probe_rows]  pairs, and probe rows without a match
//!   BuildAlone → Probing   [next_table]  the next partition; dealt again while it is too large
//! ```
//!
//! A partition that gets no smaller by being dealt again has many rows with equal keys. Its build
//! rows are taken in blocks that fit in memory, and its probe rows are read once for each block.
//!
//! Invariants
//!   * the result doesn't depend on the memory, nor on which side is built (rule RS7)
//!   * a build row without a match is known when all probe rows were seen with its table, a probe
//!     row without one when the last block of its partition was seen
//!
//! Callers: plans. Sources: DeWitt et al. (SIGMOD '84), for partitions; PostgreSQL's hash join, for
//! the kinds of joins.

mod build;
mod probe;
mod shape;
mod tables;

use expression::Rows;
use stop::Stop;

use crate::memory::Memory;
use crate::partitions::{Aside, ReadRows};
use crate::source::{has_room, with_whole_batches};
use crate::table::RowTable;
use crate::{JoinPlan, Side, Source, WorkArea, World};
use probe::{Paused, Probe};
use shape::Shape;
use tables::{Current, Pair};

/// The two inputs of a join.
struct Inputs<L, R> {
    left: L,
    right: R,
}

impl<L, R> Inputs<L, R> {
    fn open<W: World>(&mut self, is_left: bool, world: &mut W) -> Result<(), Stop>
    where
        L: Source<W>,
        R: Source<W>,
    {
        if is_left { self.left.open(world) } else { self.right.open(world) }
    }

    fn fetch<W: World>(
        &mut self,
        is_left: bool,
        world: &mut W,
        into: &mut Rows,
    ) -> Result<bool, Stop>
    where
        L: Source<W>,
        R: Source<W>,
    {
        if is_left { self.left.fetch(world, into) } else { self.right.fetch(world, into) }
    }
}

/// What comes next.
#[derive(Clone, Copy, Debug, Default)]
enum Phase {
    Start,
    Probing,
    /// From this build row on.
    BuildAlone(u32),
    #[default]
    Over,
}

/// What was seen of both inputs, for NOT IN.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    build_rows: bool,
    build_null: bool,
    probe_rows: bool,
    probe_null: bool,
}

/// What a join has while it runs.
#[derive(Default)]
struct State {
    phase: Phase,
    memory: Memory,
    table: RowTable,
    probe: Probe,
    seen: Seen,
    /// The temporary file, once the memory has ended.
    aside: Option<Aside>,
    /// The partitions that are to be joined yet.
    pairs: Vec<Pair>,
    /// The partition that is being joined.
    current: Option<Current>,
    /// Rows on their way from one place to another.
    moving: ReadRows,
    temp_bytes: u64,
}

impl State {
    /// Gives memory and files back.
    fn give_back<W: World>(&mut self, world: &W) {
        self.phase = Phase::Over;
        self.table.clear();
        (self.probe, self.moving) = (Probe::default(), ReadRows::default());
        (self.pairs, self.current) = (Vec::new(), None);
        if let Some(mut aside) = self.aside.take() {
            self.temp_bytes += aside.temp_bytes();
            aside.close(world);
        }
        self.memory.close(world);
    }
}

/// The rows of two inputs whose keys are equal.
pub struct HashJoin<L, R> {
    inputs: Inputs<L, R>,
    shape: Shape,
    state: State,
}

impl<L, R> HashJoin<L, R> {
    /// Joins `left` and `right`; the rows of the side `build` are kept in memory.
    ///
    /// # Panics When a NOT IN has a condition, or not one key.
    pub fn new(left: L, right: R, plan: JoinPlan, build: Side) -> HashJoin<L, R> {
        let inputs = Inputs { left, right };
        HashJoin { inputs, shape: Shape::new(plan, build), state: State::default() }
    }

    /// Builds the table from the build side. If it doesn't fit, both inputs are dealt.
    fn start<W: World>(&mut self, world: &mut W) -> Result<(), Stop>
    where
        L: Source<W>,
        R: Source<W>,
    {
        let HashJoin { inputs, shape, state } = self;
        let dealt = build::build(inputs, shape, state, world)?;
        if shape.is_empty_now(&state.seen) {
            state.give_back(world);
            return Ok(());
        }
        inputs.open(!shape.build_is_left, world)?;
        match dealt {
            None => {
                state.table.index();
                state.probe.begin(None, shape.probe_width);
                state.phase = Phase::Probing;
            }
            Some(dealt) => {
                build::deal_probe(inputs, shape, state, dealt, world)?;
                state.next_phase(shape, world)?;
            }
        }
        Ok(())
    }
}

impl<W: World, L: Source<W>, R: Source<W>> Source<W> for HashJoin<L, R> {
    fn open(&mut self, world: &mut W) -> Result<(), Stop> {
        self.state.give_back(world);
        let widths = [self.inputs.left.width(), self.inputs.right.width()];
        self.shape.set_widths(widths);
        self.state.seen = Seen::default();
        self.state.phase = Phase::Start;
        self.inputs.open(self.shape.build_is_left, world)
    }

    fn fetch(&mut self, world: &mut W, into: &mut Rows) -> Result<bool, Stop> {
        let most = world.batch();
        while has_room(into, most) {
            world.check()?;
            world.reset_arena();
            match self.state.phase {
                Phase::Start => with_whole_batches(world, |world| self.start(world))?,
                Phase::Probing => {
                    let (shape, state) = (&self.shape, &mut self.state);
                    let paused = state.probe_rows(shape, world, into, most)?;
                    match paused {
                        Paused::Full | Paused::Tired => {}
                        Paused::Dry if state.probe.is_over => state.phase = Phase::BuildAlone(0),
                        Paused::Dry => probe::next_rows(&mut self.inputs, shape, state, world)?,
                    }
                }
                Phase::BuildAlone(from) => {
                    let (shape, state) = (&self.shape, &mut self.state);
                    match state.build_rows_alone(from, shape, into, most) {
                        Some(next) => state.phase = Phase::BuildAlone(next),
                        None => state.next_phase(shape, world)?,
                    }
                }
                Phase::Over => return Ok(false),
            }
        }
        Ok(true)
    }

    fn close(&mut self, world: &mut W) {
        self.state.give_back(world);
        self.inputs.left.close(world);
        self.inputs.right.close(world);
    }

    fn width(&self) -> usize {
        let right = if self.shape.gives_both { self.inputs.right.width() } else { 0 };
        self.inputs.left.width() + right
    }

    fn work_area(&self) -> WorkArea {
        let now = self.state.aside.as_ref().map_or(0, Aside::temp_bytes);
        WorkArea {
            memory_bytes_max: self.state.memory.bytes_max(),
            temp_bytes: self.state.temp_bytes + now,
        }
    }
}
