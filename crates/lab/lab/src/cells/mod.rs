//! What the tables of cells share: the order of their runs, what is said of cells, and the parts of
//! a report that aren't the table's own.
//!
//! ```text
//!   rounds ──each step──▶ a run ──▶ a row ──┐
//!                                           ├──▶ statements, each of two sides of the same rounds
//!   what is asked: sides ───────────────────┘    equals: how far apart the same cell lies
//! ```
//!
//! Callers: `free_buffer_waits`, `block_size_scan`.

mod place;
mod profile;
mod rest;
mod statements;
mod text;
mod turns;

pub(crate) use place::Place;
pub(crate) use profile::{Line, profile};
pub(crate) use rest::Rest;
pub(crate) use statements::{
    Answer, Asked, CellTime, Certainty, Side, Statement, compared, rounds_least,
};
pub(crate) use text::{end_text, equals_text, rounds_text, statements_text};
pub(crate) use turns::{WORLD_SEED, rounds};

#[cfg(test)]
pub(crate) use statements::tests as made_rows;
