//! Rows that are kept when they come first, and read again at each further start.
//!
//! Invariant: kept rows are those of the input as long as the slots that it reads are the same.
//!
//! Callers: plans, for the right input of a nested loop, and for a subquery that is asked often.

use expression::{Kind, Rows};
use stop::Stop;
use value::{OwnedValue, Value};

use crate::source::{has_room, with_whole_batches};
use crate::store::Store;
use crate::{Source, WorkArea, World};

/// What comes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Nothing is kept.
    Closed,
    /// The input was started, and is to be read.
    Start,
    /// Rows come from the store.
    Reading,
    /// All have come; they are kept.
    Over,
}

/// The rows of an input, kept for further starts.
pub struct Materialise<S> {
    input: S,
    depends: Vec<usize>,
    /// The values of those slots when the rows were kept.
    slots: Vec<OwnedValue>,
    store: Store,
    phase: Phase,
}

impl<S> Materialise<S> {
    /// The rows of `input`, which reads the slots `depends` and those that are the same for the
    /// whole statement. When one of these slots has another value, the input is started anew.
    pub fn new(input: S, depends: Vec<usize>) -> Materialise<S> {
        let phase = Phase::Closed;
        Materialise { input, depends, slots: Vec::new(), store: Store::new(0), phase }
    }

    /// Keeps all rows of the input.
    fn fill<W: World>(&mut self, world: &mut W) -> Result<(), Stop>
    where
        S: Source<W>,
    {
        let mut batch = Rows::new(self.input.width());
        let mut more = true;
        while more {
            batch.clear();
            more = self.input.fetch(world, &mut batch)?;
            world.check()?;
            for row in 0..batch.len() {
                self.store.append(&batch, row, world)?;
            }
        }
        self.store.finish(world)
    }
}

/// Whether two values are the same in every respect: 0.0 and -0.0 are equal, and not the same.
fn is_same(one: &OwnedValue, other: &OwnedValue) -> bool {
    match (one.get(), other.get()) {
        (Value::Double(one), Value::Double(other)) => one.to_bits() == other.to_bits(),
        (Value::Interval(one), Value::Interval(other)) => one.is_identical(other),
        (one, other) => Kind::of(one) == Kind::of(other) && one == other,
    }
}

impl<W: World, S: Source<W>> Source<W> for Materialise<S> {
    fn open(&mut self, world: &mut W) -> Result<(), Stop> {
        let now: Vec<OwnedValue> =
            self.depends.iter().map(|slot| world.slots()[*slot].clone()).collect();
        let is_kept = matches!(self.phase, Phase::Reading | Phase::Over);
        if is_kept && now.iter().zip(&self.slots).all(|(now, then)| is_same(now, then)) {
            self.store.rewind(world);
            self.phase = Phase::Reading;
            return Ok(());
        }
        self.slots = now;
        match self.phase {
            Phase::Closed => self.store.set_width(self.input.width()),
            Phase::Start | Phase::Reading | Phase::Over => self.store.clear(world),
        }
        self.phase = Phase::Start;
        self.input.open(world)
    }

    fn fetch(&mut self, world: &mut W, into: &mut Rows) -> Result<bool, Stop> {
        world.check()?;
        if self.phase == Phase::Start {
            with_whole_batches(world, |world| self.fill(world))?;
            self.phase = Phase::Reading;
        }
        let most = world.batch();
        while self.phase == Phase::Reading && has_room(into, most) {
            if self.store.advance(world)? {
                into.push_row(&self.store.row());
            } else {
                self.phase = Phase::Over;
            }
        }
        Ok(self.phase == Phase::Reading)
    }

    fn close(&mut self, world: &mut W) {
        self.phase = Phase::Closed;
        self.slots = Vec::new();
        self.store.close(world);
        self.input.close(world);
    }

    fn width(&self) -> usize {
        self.input.width()
    }

    fn work_area(&self) -> WorkArea {
        self.store.most()
    }
}
