//! Whether SQL answers rightly: held against files of answers, against rivals, and against itself.
//!
//! ```text
//!                    generate: seeds ─▶ cases
//!                        │                 │
//!   slt: files           ▼                 ▼
//!   of answers     differential       metamorphic
//!        │          │        │         │
//!        ▼          ▼        ▼         ▼
//!      Forebay   Forebay   rivals   Forebay, asked in several ways        bed: where it runs
//!        │          └───┬────┘         │
//!        ▼              ▼              ▼
//!      as the        judge: the same rows, counts, classes of refusals
//!      file says        └─▶ shrink: a case that fails, made smaller
//! ```
//!
//! | module | what it is |
//! |---|---|
//! | [`slt`] | files of sqllogictest: ours, and SQLite's corpus |
//! | [`generate`] | schemas, data and statements that follow from a seed |
//! | [`differential`], [`rivals`] | the same statements on Forebay and on SQLite or PostgreSQL |
//! | [`metamorphic`] | queries whose answers have to agree with each other |
//! | [`judge`], [`choices`] | answers compared, and where they differ by choice |
//! | [`shrink`] | a failing case made smaller |
//! | [`answer`], [`bed`] | an answer as data; a database on a simulated machine |
//!
//! Everything runs through the front door, as an application would: `database::Connection`.
//!
//! Rules RA1 to RA10 are in the README. Only tests use this crate.
//!
//! Callers: its tests and examples; `cargo xbench soak sqllogictest`, `differential` and
//! `metamorphic`.

#![forbid(unsafe_code)]

pub mod answer;
pub mod bed;
pub mod choices;
pub mod differential;
pub mod generate;
pub mod judge;
pub mod metamorphic;
pub mod rivals;
pub mod shrink;
pub mod slt;
