//! Load generators: the work that loads, experiments and races put on an instance.
//!
//! * [`run`]: debit-credit with mass updates among it. Every session runs the same mixture, so
//!   throughput is transactions of that mixture per second. Each transaction leaves a row of
//!   history with its session and its number there, by which [`audit`] shows after a crash that no
//!   acknowledged commit is lost and that the books balance.
//! * [`order_entry`]: nine tables and five transactions, with thirteen conditions to be checked.
//! * [`Tpcb`]: TPC-B by keys, for races with others.
//! * [`bulk`]: rows of 100 bytes by the hundred thousand, for races with others.
//! * [`web_returns`]: the lines of a file of rows of 24 columns, to be loaded.
//!
//! Debit-credit and order entry are made, filled and run by prepared SQL. TPC-B and lookups run by
//! SQL or by the embedded API, so that the two can be compared. All texts stand in `texts`.
//!
//! All run in the same frame: sessions in a loop for a time, closed or open ([`Drive`]), watched
//! from outside ([`Watch`]). [`Run`] is what they did; [`Run::types`] has its
//! transactions by type, with the percentiles of their lengths.
//!
//! Callers: `forebay load`, the lab, races, tests.
//! Sources: Anon et al., "A Measure of Transaction Processing Power" (1985), for debit-credit;
//! TPC-B for its tables and proportions.

#![forbid(unsafe_code)]

mod arrivals;
mod audit;
pub mod bulk;
mod drive;
mod latencies;
mod numbers;
pub mod order_entry;
mod periods;
mod run;
mod sql_client;
mod tables;
mod texts;
mod tpcb;
pub mod web_returns;

pub use audit::{Audit, CUT_SHORT, audit};
pub use drive::{Conduct, Drive, Run, SessionRun, Watch, Witness};
pub use latencies::Latencies;
pub use periods::{Periods, SessionPeriod};
pub use run::{Mixture, run};
pub use sql_client::Way;
pub use tables::{Scale, Tables, load, next_session, used_session};
pub use tpcb::{TELLERS, Tpcb, TpcbChoice, TpcbClient, TpcbScale};
