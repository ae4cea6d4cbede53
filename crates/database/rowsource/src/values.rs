//! Rows that are listed in the statement.
//!
//! Callers: plans, for VALUES and INSERT; one row without columns for a SELECT without FROM.

use std::sync::Arc;

use expression::{Expression, NoRow, Rows};
use stop::Stop;

use crate::source::has_room;
use crate::{Source, World};

/// Rows of expressions that read no columns.
#[derive(Debug)]
pub struct Values {
    width: usize,
    /// The plan's own: a statement may have many rows.
    rows: Arc<[Vec<Expression>]>,
    next: usize,
}

impl Values {
    /// These rows, each of `width` expressions.
    pub fn new(width: usize, rows: Arc<[Vec<Expression>]>) -> Values {
        assert!(rows.iter().all(|row| row.len() == width), "all rows have {width} columns");
        Values { width, rows, next: 0 }
    }
}

impl<W: World> Source<W> for Values {
    fn open(&mut self, _: &mut W) -> Result<(), Stop> {
        self.next = 0;
        Ok(())
    }

    fn fetch(&mut self, world: &mut W, into: &mut Rows) -> Result<bool, Stop> {
        world.check()?;
        world.reset_arena();
        let most = world.batch();
        let mut with = world.evaluation();
        while let Some(row) = self.rows.get(self.next)
            && has_room(into, most)
        {
            if with.arena.is_large() {
                world.check()?;
                world.reset_arena();
                with = world.evaluation();
            }
            into.begin_row();
            for expression in row {
                into.push_value(expression.evaluate(&NoRow, &with)?);
            }
            self.next += 1;
        }
        Ok(self.next < self.rows.len())
    }

    fn close(&mut self, _: &mut W) {
        self.next = self.rows.len();
    }

    fn width(&self) -> usize {
        self.width
    }
}
