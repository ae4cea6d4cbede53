//! The rows for which a condition is true.
//!
//! Invariant: the rows come in the order of the input, and need no memory but a batch.
//!
//! Callers: plans, for WHERE and HAVING where a scan can't ask the condition itself.

use expression::{Expression, Rows};
use stop::Stop;

use crate::{Source, World};

/// The rows of the input for which the condition is true: not false, and not NULL.
#[derive(Debug)]
pub struct Filter<S> {
    input: S,
    condition: Expression,
    batch: Rows,
}

impl<S> Filter<S> {
    /// The rows of `input` for which `condition`, over its columns, is true.
    pub fn new(input: S, condition: Expression) -> Filter<S> {
        Filter { input, condition, batch: Rows::new(0) }
    }
}

impl<W: World, S: Source<W>> Source<W> for Filter<S> {
    fn open(&mut self, world: &mut W) -> Result<(), Stop> {
        self.batch.set_width(self.input.width());
        self.input.open(world)
    }

    fn fetch(&mut self, world: &mut W, into: &mut Rows) -> Result<bool, Stop> {
        loop {
            self.batch.clear();
            let more = self.input.fetch(world, &mut self.batch)?;
            world.check()?;
            world.reset_arena();
            let mut with = world.evaluation();
            for row in self.batch.iter() {
                if with.arena.is_large() {
                    world.check()?;
                    world.reset_arena();
                    with = world.evaluation();
                }
                if self.condition.truth(&row, &with)? == Some(true) {
                    into.push_row(&row);
                }
            }
            if !more || !into.is_empty() {
                return Ok(more);
            }
        }
    }

    fn close(&mut self, world: &mut W) {
        self.batch = Rows::new(0);
        self.input.close(world);
    }

    fn width(&self) -> usize {
        self.input.width()
    }
}
