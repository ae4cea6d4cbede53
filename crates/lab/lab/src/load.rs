//! The loads that experiments put on a database.
//!
//! Callers: `form`, both ways of running.

use database::{Connection, Database};
use experiment::RATE;
use os::Session;
use stop::{RefusalKind, Stop};
use waits::Nanos;
use workload::{Mixture, Run, Scale, Watch, order_entry};

/// Bytes of a row of order entry with its index entries, on average: a warehouse has half a million
/// rows in 110 MB.
const ORDER_ENTRY_ROW_BYTES: u64 = 220;

/// A load: which, how much data, how many sessions.
#[derive(Clone, PartialEq, Debug)]
pub enum Load {
    /// Debit-credit with mass updates among it.
    DebitCredit {
        /// The rows.
        scale: Scale,
        /// What sessions do.
        mixture: Mixture,
    },
    /// Order entry.
    OrderEntry {
        /// The rows.
        scale: order_entry::Scale,
        /// Sessions at once.
        sessions: u32,
        /// Seeds the choice of rows.
        seed: u64,
        /// Transactions that arrive a second ([`workload::Drive::rate`]).
        rate: Option<u32>,
    },
}

impl Load {
    /// Bytes of its rows, as they lie in blocks.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Load::DebitCredit { scale, .. } => scale.bytes(),
            Load::OrderEntry { scale, .. } => scale.rows() * ORDER_ENTRY_ROW_BYTES,
        }
    }

    /// Fills a new database. False if `go_on` said no.
    pub(crate) fn fill(
        &self,
        connection: &mut Connection<'_>,
        mut go_on: impl FnMut(u64, u64) -> bool,
    ) -> Result<bool, Stop> {
        let filled = match self {
            Load::DebitCredit { scale, .. } => workload::load(connection, *scale, go_on),
            Load::OrderEntry { scale, .. } => {
                let all = scale.rows();
                order_entry::load(connection, *scale, 1, &mut |done| go_on(done, all))
            }
        };
        // No setting is on yet, so only what all of them share can be at fault.
        let of_loading = |stop: Stop| stop.map_refusal(|refusal| refusal.led_by("loading: "));
        filled.map_err(of_loading)
    }

    /// The same with another seed.
    #[must_use]
    pub(crate) fn seeded(&self, load_seed: u64) -> Load {
        let mut load = self.clone();
        match &mut load {
            Load::DebitCredit { mixture, .. } => mixture.seed = load_seed,
            Load::OrderEntry { seed, .. } => *seed = load_seed,
        }
        load
    }

    /// Runs it.
    pub(crate) fn run(
        &self,
        database: &Database,
        [warm_up, length]: [Nanos; 2],
        watch: Watch<'_>,
        session: &Session,
    ) -> Result<Run, Stop> {
        match *self {
            Load::DebitCredit { mixture, .. } => {
                let mixture = Mixture { warm_up, length, ..mixture };
                workload::run(database, mixture, watch, session)
            }
            Load::OrderEntry { sessions, seed, rate, .. } => {
                let drive = workload::Drive { sessions, first_session: 0, warm_up, length, rate };
                let plan = order_entry::Plan { drive, seed, serializable: 0 };
                order_entry::run(database, plan, watch, session)
            }
        }
    }

    /// Looks for what sessions were told, after the database was opened again. Returns how many of
    /// these commits are gone; refused if the books don't balance.
    pub(crate) fn audit(
        &self,
        connection: &mut Connection<'_>,
        acknowledged: &[(u32, u64)],
    ) -> Result<u64, Stop> {
        let audit = match self {
            Load::DebitCredit { .. } => workload::audit(connection, acknowledged, false)?,
            Load::OrderEntry { .. } => order_entry::audit(connection, acknowledged)?,
        };
        match audit.unbalanced.into_iter().chain(audit.untold).next() {
            Some(first) => {
                let message = format!("the books don't balance after the run: {first}");
                Err(Stop::refuse(RefusalKind::Corrupt, message))
            }
            None => Ok(audit.lost),
        }
    }

    /// Sessions at once.
    pub(crate) fn sessions(&self) -> u32 {
        match self {
            Load::DebitCredit { mixture, .. } => mixture.sessions,
            Load::OrderEntry { sessions, .. } => *sessions,
        }
    }

    /// Transactions that arrive a second, of an open loop.
    pub(crate) fn rate(&self) -> Option<u32> {
        match self {
            Load::DebitCredit { mixture, .. } => mixture.rate,
            Load::OrderEntry { rate, .. } => *rate,
        }
    }

    /// Its name and sizes, for rows.
    pub(crate) fn describe(&self) -> Vec<(&'static str, String)> {
        let sessions = ("sessions", self.sessions().to_string());
        let mut of_kind = match self {
            Load::DebitCredit { scale: s, mixture: m } => vec![
                ("load", "debit-credit".to_owned()),
                ("branches", s.branches.to_string()),
                ("tellers", s.tellers.to_string()),
                ("accounts", s.accounts.to_string()),
                ("stock", s.stock.to_string()),
                sessions,
                (
                    "mass_update",
                    format!("{} rows, 1 in {}", m.mass_update_rows, m.mass_update_every),
                ),
            ],
            Load::OrderEntry { scale: s, .. } => vec![
                ("load", "order-entry".to_owned()),
                ("warehouses", s.warehouses.to_string()),
                ("customers", s.customers.to_string()),
                ("items", s.items.to_string()),
                sessions,
            ],
        };
        of_kind.extend(self.rate().map(|rate| (RATE, rate.to_string())));
        of_kind
    }
}
