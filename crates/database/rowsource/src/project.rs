//! Other columns: each is an expression over the input's.
//!
//! Invariant: one row comes for each row of the input, in its order.
//!
//! Callers: plans, for the select list, and for what sorts, joins and groups need as columns.

use expression::{Expression, Rows};
use stop::Stop;

use crate::{Source, World};

/// The values of expressions over each row of the input.
#[derive(Debug)]
pub struct Project<S> {
    input: S,
    expressions: Vec<Expression>,
    batch: Rows,
}

impl<S> Project<S> {
    /// A column for each of `expressions`, which are over the columns of `input`.
    pub fn new(input: S, expressions: Vec<Expression>) -> Project<S> {
        Project { input, expressions, batch: Rows::new(0) }
    }
}

impl<W: World, S: Source<W>> Source<W> for Project<S> {
    fn open(&mut self, world: &mut W) -> Result<(), Stop> {
        self.batch.set_width(self.input.width());
        self.input.open(world)
    }

    fn fetch(&mut self, world: &mut W, into: &mut Rows) -> Result<bool, Stop> {
        self.batch.clear();
        let more = self.input.fetch(world, &mut self.batch)?;
        world.check()?;
        world.reset_arena();
        let with = world.evaluation();
        for row in self.batch.iter() {
            into.begin_row();
            for expression in &self.expressions {
                into.push_value(expression.evaluate(&row, &with)?);
            }
        }
        Ok(more)
    }

    fn close(&mut self, world: &mut W) {
        self.batch = Rows::new(0);
        self.input.close(world);
    }

    fn width(&self) -> usize {
        self.expressions.len()
    }
}
