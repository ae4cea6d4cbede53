//! The memory of the texts that expressions make.
//!
//! Invariants
//!   * what was made lives until [`Arena::reset`], which needs the arena alone: no text outlives it
//!
//! Callers: functions, casts and `||`; a row source resets its arena after each batch.

use std::fmt;

use bumpalo::Bump;
use value::Value;

/// A text that is being written into an arena. Its type's `into_bump_str` ends it.
pub(crate) type TextIn<'a> = bumpalo::collections::String<'a>;

/// Values that are being gathered in an arena.
pub(crate) type ValuesIn<'a> = bumpalo::collections::Vec<'a, Value<'a>>;

/// Memory for the texts and bytes of one batch of rows, given back at once.
#[derive(Default)]
pub struct Arena(Bump);

impl Arena {
    /// An arena without memory yet.
    pub fn new() -> Arena {
        Arena::default()
    }

    /// Gives everything back that was made in the arena, and keeps its largest piece of memory.
    pub fn reset(&mut self) {
        self.0.reset();
    }

    /// The bytes that the arena takes.
    pub fn bytes(&self) -> usize {
        self.0.allocated_bytes()
    }

    /// A copy of the text.
    pub fn text(&self, text: &str) -> &str {
        self.0.alloc_str(text)
    }

    /// A copy of the bytes.
    pub fn copy(&self, bytes: &[u8]) -> &[u8] {
        self.0.alloc_slice_copy(bytes)
    }

    /// The bytes of both, one after the other.
    pub(crate) fn joined(&self, first: &[u8], second: &[u8]) -> &[u8] {
        let length = first.len() + second.len();
        let mut all = bumpalo::collections::Vec::with_capacity_in(length, &self.0);
        all.extend_from_slices_copy(&[first, second]);
        all.into_bump_slice()
    }

    /// An empty text that can be written to.
    pub(crate) fn writer(&self) -> TextIn<'_> {
        TextIn::new_in(&self.0)
    }

    /// An empty text with room for this many bytes.
    pub(crate) fn writer_for(&self, bytes: usize) -> TextIn<'_> {
        TextIn::with_capacity_in(bytes, &self.0)
    }

    /// Room for this many values.
    pub(crate) fn values(&self, count: usize) -> ValuesIn<'_> {
        ValuesIn::with_capacity_in(count, &self.0)
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
