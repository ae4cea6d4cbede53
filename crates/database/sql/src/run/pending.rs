//! Rows that were read and aren't given yet: a block has more of them than a batch, or fewer, and
//! some of them don't meet the filter.
//!
//! Callers: `scan`, `index`, `virtual_rows`.

use expression::{Expression, Rows};
use rowsource::{BATCH_BYTES_MAX, World};
use sort::Grant;
use stop::Stop;

/// Up to these bytes a source has its rows without asking for memory.
const FREE_BYTES: u64 = 64 << 10;

/// Rows that were read and aren't given yet.
#[derive(Default)]
pub(super) struct Pending {
    pub(super) rows: Rows,
    /// The next one.
    at: usize,
    grant: Option<Grant>,
}

impl Pending {
    /// No rows, of `width` columns.
    pub(super) fn new(width: usize) -> Pending {
        Pending { rows: Rows::new(width), ..Pending::default() }
    }

    /// Forgets rows that weren't given.
    pub(super) fn restart(&mut self) {
        self.rows.clear();
        self.at = 0;
    }

    /// Whether all rows were given.
    pub(super) fn is_empty(&self) -> bool {
        self.at >= self.rows.len()
    }

    /// The rows, without those that were given, for more to be put behind them.
    pub(super) fn refill(&mut self) -> &mut Rows {
        assert!(self.is_empty(), "rows that aren't given stay");
        self.restart();
        &mut self.rows
    }

    /// Reckons the memory of rows that were put in: a run of blocks has many.
    pub(super) fn reckon<W: World>(&mut self, world: &W) {
        let bytes = self.rows.bytes() as u64;
        if bytes > FREE_BYTES {
            let grant = self.grant.get_or_insert_with(|| world.budget().grant());
            grant.need(bytes, world.session());
        }
    }

    /// Gives rows that meet the filter to `into`, until that has `most`.
    pub(super) fn give<W: World>(
        &mut self,
        filter: Option<&Expression>,
        most: usize,
        into: &mut Rows,
        world: &mut W,
    ) -> Result<(), Stop> {
        let Some(filter) = filter else {
            self.give_all(most, into);
            return Ok(());
        };
        world.reset_arena();
        let mut with = world.evaluation();
        while !self.is_empty() && has_room(into, most) {
            if with.arena.is_large() {
                world.check()?;
                world.reset_arena();
                with = world.evaluation();
            }
            let row = self.rows.row(self.at);
            if filter.truth(&row, &with)? == Some(true) {
                into.push_row(&row);
            }
            self.at += 1;
        }
        Ok(())
    }

    fn give_all(&mut self, most: usize, into: &mut Rows) {
        if into.is_empty() && self.at == 0 && self.rows.len() <= most {
            std::mem::swap(into, &mut self.rows);
            self.rows.clear();
            return;
        }
        while !self.is_empty() && has_room(into, most) {
            into.push_row(&self.rows.row(self.at));
            self.at += 1;
        }
    }

    /// Gives the rows' memory back.
    pub(super) fn close<W: World>(&mut self, world: &W) {
        let width = self.rows.width();
        if let Some(grant) = self.grant.take() {
            grant.close(world.session());
        }
        *self = Pending::new(width);
    }
}

/// Whether a batch takes another row.
pub(super) fn has_room(into: &Rows, most: usize) -> bool {
    into.len() < most && into.bytes_used() < BATCH_BYTES_MAX
}

#[cfg(test)]
mod tests {
    use value::Value;

    use super::*;

    fn pending(count: i64) -> Pending {
        let mut pending = Pending::new(1);
        let rows = pending.refill();
        (0..count).for_each(|number| rows.push([Value::Int(number)]));
        pending
    }

    fn numbers(rows: &Rows) -> Vec<Value<'_>> {
        rows.iter().map(|row| row.get(0)).collect()
    }

    #[test]
    fn rows_are_given_once_in_batches_of_any_size() {
        for most in [1, 3, 7, 10, 11] {
            let (mut pending, mut given) = (pending(10), Vec::new());
            while !pending.is_empty() {
                let mut into = Rows::new(1);
                pending.give_all(most, &mut into);
                assert!(!into.is_empty() && into.len() <= most);
                given.extend(numbers(&into).into_iter().map(Value::to_owned));
            }
            let expected: Vec<_> = (0..10).map(|number| Value::Int(number).to_owned()).collect();
            assert_eq!(given, expected, "{most}");
        }
    }

    #[test]
    fn rows_go_behind_those_of_a_batch_that_has_some() {
        let (mut pending, mut into) = (pending(2), Rows::new(1));
        into.push([Value::Int(9)]);
        pending.give_all(10, &mut into);
        assert_eq!(numbers(&into), [9, 0, 1].map(Value::Int));
        assert!(pending.is_empty());
    }
}
