//! What the engine is held against: a journal of what sessions were told, an oracle that compares
//! it with what is found after a crash, and the sweep that crashes everywhere.
//!
//! ```text
//!   load ──▶ simulated machine ──▶ at each operation n: what a power cut there can leave
//!    │                                                   │ each
//!    └─▶ journal, as it is at n ───▶ oracle ◀── opened ◀─┤
//!                                                        └▶ at operations of the opening: again
//! ```
//!
//! Apart from these, and without the engine, what judges isolation by what sessions were told:
//!
//! ```text
//!   sessions ──▶ history ──▶ append: did it keep its level? which anomaly?
//!          └──▶ snapshot: the model, which says what each read must be
//! ```
//!
//! Rules PF1 to PF24 are in the README. Only tests use this crate. It builds the engine with its
//! failpoints, so that each check is shown to be able to fail.
//!
//! * [`Sweep`]: one load, crashed everywhere; [`Tally`]: what was seen.
//! * [`Load`], [`Shape`]: what runs, in which database. [`Bases`]: databases to begin with.
//! * [`history`]: what sessions did to lists; [`append`]: whether that was isolated.
//! * [`snapshot`]: a model with versions, which is asked as the engine runs.
//! * [`ModelCheck`]: random sessions on typed tables against a model; [`AppendCheck`]: histories.
//! * [`DamageCheck`]: databases that are damaged in silence, and `verify`.
//! * [`Lives`]: databases that are made, copied, killed and deleted side by side.
//! * [`Journal`], [`Record`]: what sessions know. [`inspect`], [`compare`]: the oracle.
//! * [`Breach`]: what doesn't hold, and which [`Check`] noticed it.
//! * [`By`]: whether sessions call the API, or say what they want in SQL.

#![forbid(unsafe_code)]

pub mod append;
mod append_check;
mod breach;
mod by;
mod client;
mod constraints;
mod damage;
mod define;
mod defining;
mod found;
mod hands;
mod held;
pub mod history;
mod journal;
mod lives;
mod load;
mod make;
mod model_check;
mod oracle;
mod shape;
pub mod snapshot;
mod sweep;
mod tables;
mod tally;
mod text;

pub use append_check::{AppendBases, AppendCheck, AppendTally};
pub use breach::{Breach, Check, Violation};
pub use by::By;
pub use damage::{DamageCheck, DamageTally};
pub use found::{Found, Look, inspect};
pub use held::held;
pub use journal::{Chain, Content, Entry, Journal, Numbers, Outcome, Record, RowId, Told};
pub use lives::{Lives, LivesTally};
pub use load::Load;
pub use model_check::{ModelCheck, ModelTally};
pub use oracle::compare;
pub use shape::{Bases, Shape, machine, machine_for};
pub use sweep::{Kind, Sweep};
pub use tally::Tally;
