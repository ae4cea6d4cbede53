//! The memory of the texts that expressions make.
//!
//! Invariants
//!   * what was made lives until [`Arena::reset`], which needs the arena alone: no text outlives it
//!   * what makes a text of any length asks [`Arena::check`] first, so one row makes so much and no
//!     more; between two rows of a batch whoever evaluates resets an arena that is large
//!
//! Callers: functions, casts and `||`; a row source resets its arena after each batch.

use std::fmt;

use bumpalo::Bump;
use stop::SqlState;
use value::{BYTES_MAX, Value};

use crate::Fault;

/// A text that is being written into an arena. Its type's `into_bump_str` ends it.
pub(crate) type TextIn<'a> = bumpalo::collections::String<'a>;

/// Values that are being gathered in an arena.
pub(crate) type ValuesIn<'a> = bumpalo::collections::Vec<'a, Value<'a>>;

/// The bytes of an arena that a row makes at most, if nobody says less: one text of any length, and
/// others.
const ROW_BYTES_MAX: usize = BYTES_MAX + ROW_BYTES_MIN;

/// The bytes of an arena that a row may make whatever memory there is.
const ROW_BYTES_MIN: usize = 64 << 20;

/// An arena of more bytes is large.
const LARGE_BYTES: usize = 1 << 20;

/// The most bytes that an arena keeps when it is reset.
const KEPT_BYTES_MAX: usize = LARGE_BYTES / 4;

/// Memory for the texts and bytes of one batch of rows, given back at once.
pub struct Arena {
    bump: Bump,
    /// The most bytes that may be made between two resets.
    limit: usize,
}

impl Default for Arena {
    fn default() -> Arena {
        Arena::limited(ROW_BYTES_MAX)
    }
}

impl Arena {
    /// An arena without memory yet.
    pub fn new() -> Arena {
        Arena::default()
    }

    /// An arena in which about as many bytes may be made, between two resets.
    pub fn limited(bytes: usize) -> Arena {
        Arena { bump: Bump::new(), limit: bytes }
    }

    /// Has about as many bytes be made between two resets from now on: what the work areas of the
    /// instance have together, but not less than each row may have, and no more than any needs.
    pub fn set_limit(&mut self, bytes: u64) {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        self.limit = bytes.clamp(ROW_BYTES_MIN, ROW_BYTES_MAX);
    }

    /// Gives everything back that was made in the arena, and keeps its largest piece of memory if
    /// that is small.
    pub fn reset(&mut self) {
        self.bump.reset();
        if self.bytes() > KEPT_BYTES_MAX {
            self.bump = Bump::new();
        }
    }

    /// Whether whoever evaluates resets the arena before the next row of a batch. It isn't large
    /// when it was reset.
    pub fn is_large(&self) -> bool {
        self.bytes() > LARGE_BYTES
    }

    /// Refuses a text or bytes that no value could hold, or for which the arena has no room.
    pub fn check(&self, bytes: usize) -> Result<(), Fault> {
        if bytes > BYTES_MAX {
            let say = format!("a text can't have {bytes} bytes: {BYTES_MAX} is the most");
            return Err(Fault::new(SqlState::PROGRAM_LIMIT_EXCEEDED, say));
        }
        if self.bytes().saturating_add(bytes) > self.limit {
            let say = format!("the texts of one row have more than {} bytes together", self.limit);
            let hint = "make them one by one, or set pga_aggregate_target higher";
            return Err(Fault::new(SqlState::PROGRAM_LIMIT_EXCEEDED, say).with_hint(hint));
        }
        Ok(())
    }

    /// The bytes that the arena takes.
    pub fn bytes(&self) -> usize {
        self.bump.allocated_bytes()
    }

    /// A copy of the text.
    pub fn text(&self, text: &str) -> &str {
        self.bump.alloc_str(text)
    }

    /// A copy of the bytes.
    pub fn copy(&self, bytes: &[u8]) -> &[u8] {
        self.bump.alloc_slice_copy(bytes)
    }

    /// The bytes of both, one after the other.
    pub(crate) fn joined(&self, first: &[u8], second: &[u8]) -> &[u8] {
        let length = first.len() + second.len();
        let mut all = bumpalo::collections::Vec::with_capacity_in(length, &self.bump);
        all.extend_from_slices_copy(&[first, second]);
        all.into_bump_slice()
    }

    /// An empty text that can be written to.
    pub(crate) fn writer(&self) -> TextIn<'_> {
        TextIn::new_in(&self.bump)
    }

    /// An empty text with room for this many bytes.
    pub(crate) fn writer_for(&self, bytes: usize) -> TextIn<'_> {
        TextIn::with_capacity_in(bytes, &self.bump)
    }

    /// Room for this many values.
    pub(crate) fn values(&self, count: usize) -> ValuesIn<'_> {
        ValuesIn::with_capacity_in(count, &self.bump)
    }

    /// What these arguments are written as.
    pub(crate) fn written(&self, arguments: fmt::Arguments<'_>) -> &str {
        let mut text = self.writer();
        fmt::Write::write_fmt(&mut text, arguments).expect("a text takes whatever is written");
        text.into_bump_str()
    }
}

impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Arena").field(&self.bytes()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_makes_so_much_and_no_more() {
        let mut arena = Arena::limited(3 << 20);
        assert!(arena.check(BYTES_MAX + 1).is_err() && arena.check(4 << 20).is_err());
        arena.check(2 << 20).expect("there is room");
        arena.text(&"x".repeat(2 << 20));
        assert!(arena.is_large() && arena.check(2 << 20).is_err());
        arena.reset();
        assert!(!arena.is_large());
        arena.check(2 << 20).expect("all was given back");
    }
}
