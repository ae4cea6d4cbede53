//! What the tables of cells share: the order of their runs, and what is said of cells.
//!
//! ```text
//!   rounds ──each step──▶ a run ──▶ a row ──┐
//!                                           ├──▶ statements, each of two sides of the same rounds
//!   what is asked: sides ───────────────────┘    equals: how far apart the same cell lies
//! ```
//!
//! Callers: `free_buffer_waits`, `block_size_scan`.

mod profile;
mod statements;
mod text;
mod turns;

pub(crate) use profile::{Line, Unaccounted, profile};
pub(crate) use statements::{
    Answer, Asked, CellTime, Certainty, ERROR, Equals, Side, Statement, compared, rounds_least,
};
pub(crate) use text::{Shown, equals_text, statements_text, unaccounted_text};
pub(crate) use turns::{WORLD_SEED, rounds};

#[cfg(test)]
pub(crate) use statements::tests as made_rows;
