//! Other columns: each is an expression over the input's.
//!
//! Invariants
//!   * one row comes for each row of the input, in its order
//!   * rows may be far larger than those of the input: a batch ends where it is full (rule RS3),
//!     and the rest of the input's batch waits for the next fetch
//!
//! Callers: plans, for the select list, and for what sorts, joins and groups need as columns.

use expression::{Expression, Rows};
use stop::Stop;

use crate::source::has_room;
use crate::{Source, World};

/// The values of expressions over each row of the input.
#[derive(Debug)]
pub struct Project<S> {
    input: S,
    expressions: Vec<Expression>,
    batch: Rows,
    /// The next row of the batch.
    at: usize,
    is_input_over: bool,
}

impl<S> Project<S> {
    /// A column for each of `expressions`, which are over the columns of `input`.
    pub fn new(input: S, expressions: Vec<Expression>) -> Project<S> {
        Project { input, expressions, batch: Rows::new(0), at: 0, is_input_over: true }
    }
}

impl<W: World, S: Source<W>> Source<W> for Project<S> {
    fn open(&mut self, world: &mut W) -> Result<(), Stop> {
        self.batch.set_width(self.input.width());
        (self.at, self.is_input_over) = (0, false);
        self.input.open(world)
    }

    fn fetch(&mut self, world: &mut W, into: &mut Rows) -> Result<bool, Stop> {
        if self.at == self.batch.len() && !self.is_input_over {
            self.batch.clear();
            self.at = 0;
            self.is_input_over = !self.input.fetch(world, &mut self.batch)?;
        }
        world.check()?;
        world.reset_arena();
        let most = world.batch();
        let mut with = world.evaluation();
        while self.at < self.batch.len() && has_room(into, most) {
            if with.arena.is_large() {
                world.check()?;
                world.reset_arena();
                with = world.evaluation();
            }
            let row = self.batch.row(self.at);
            into.begin_row();
            for expression in &self.expressions {
                into.push_value(expression.evaluate(&row, &with)?);
            }
            self.at += 1;
        }
        Ok(self.at < self.batch.len() || !self.is_input_over)
    }

    fn close(&mut self, world: &mut W) {
        self.batch = Rows::new(0);
        (self.at, self.is_input_over) = (0, true);
        self.input.close(world);
    }

    fn width(&self) -> usize {
        self.expressions.len()
    }
}
