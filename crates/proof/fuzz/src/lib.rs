//! Statements that nobody would write, against the front door: none may take the instance down.
//!
//! ```text
//!   seed ─ generate ─▶ texts with a structure ─┐
//!                      mutate: texts spoiled ──┴─▶ Script ─ play ─▶ Tally, or a Finding
//!                                                    ▲                          │
//!                                                    └───────── shrink ◀────────┘
//! ```
//!
//! Answers aren't looked at: room `statements` does that. Looked at are panics, halts, time, memory
//! and whether the instance still answers.
//!
//! | module | what it has |
//! |---|---|
//! | `script` | [`Act`], [`Script`]: what a session does, and its lines in a file |
//! | `generate` | scripts that follow from a seed |
//! | `mutate`, `tokens` | a text with some of its tokens and bytes changed, or nested |
//! | `values` | the values that parameters have |
//! | `play` | [`Player`]: a script on a new database, and what is wrong after each act |
//! | `resident` | the memory of this process |
//! | `shrink` | [`shrink`]: the shortest script that does the same |
//!
//! Rules FZ1 to FZ6 are in the README. Only tests use this crate, and `cargo xbench soak fuzz`.

#![forbid(unsafe_code)]

mod generate;
mod mutate;
mod play;
mod resident;
mod script;
mod shrink;
mod tokens;
mod values;

pub use generate::script_of;
pub use play::{Finding, Limits, Player, Tally, Trouble, on_a_session_thread};
pub use script::{Act, How, Script, lines_of, script_of_lines};
pub use shrink::shrink;
