//! The memory of one source, asked of the instance's budget before it is used (rule RS5).
//!
//! Callers: all sources that keep rows.

use expression::{Row, RowOf};
use sort::{GRANT_BYTES_MIN, Grant};
use value::Value;

use crate::World;

/// What is asked for at a time, so that not every row asks the budget.
const STEP_BYTES: u64 = 64 << 10;

/// The grant of a source, and the most that it has been.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    grant: Option<Grant>,
    /// What is for other things than rows: buffers of a temporary file.
    base: u64,
    bytes_max: u64,
}

impl Memory {
    /// Asks for as many bytes of rows in all. Returns whether the source may use them.
    pub(crate) fn ask<W: World>(&mut self, bytes: u64, world: &W) -> bool {
        let wanted = self.base.saturating_add(bytes);
        let grant = self.grant.get_or_insert_with(|| world.budget().grant());
        if wanted <= grant.bytes() {
            return true;
        }
        let has = grant.grow_to(wanted.saturating_add(STEP_BYTES), world.session());
        self.bytes_max = self.bytes_max.max(has);
        wanted <= has
    }

    /// Takes as many bytes of rows in all, which the source can't do without.
    pub(crate) fn need<W: World>(&mut self, bytes: u64, world: &W) {
        if !self.ask(bytes, world) {
            let wanted = self.base + bytes;
            let grant = self.grant.get_or_insert_with(|| world.budget().grant());
            grant.need(wanted, world.session());
            self.bytes_max = self.bytes_max.max(wanted);
        }
    }

    /// Takes as many bytes for buffers, which the source can't do without. What it had for rows
    /// until now is for both, but for the minimum of rows.
    pub(crate) fn set_base<W: World>(&mut self, bytes: u64, world: &W) {
        let rows = self.bytes().min(GRANT_BYTES_MIN);
        self.base = bytes;
        self.need(rows, world);
    }

    /// Gives all back.
    pub(crate) fn close<W: World>(&mut self, world: &W) {
        self.base = 0;
        if let Some(grant) = self.grant.take() {
            grant.close(world.session());
        }
    }

    /// The bytes for rows that it has.
    pub(crate) fn bytes(&self) -> u64 {
        self.grant.as_ref().map_or(0, |grant| grant.bytes().saturating_sub(self.base))
    }

    /// The most bytes that it has had.
    pub(crate) fn bytes_max(&self) -> u64 {
        self.bytes_max
    }
}

/// The bytes of a value in a run of rows.
pub(crate) fn value_bytes(value: Value<'_>) -> u64 {
    let beside = match value {
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    };
    (size_of::<Value<'_>>() + beside) as u64
}

/// The bytes of a row in a run of rows.
pub(crate) fn row_bytes(row: RowOf<'_>) -> u64 {
    (0..row.width()).map(|column| value_bytes(row.get(column))).sum()
}
