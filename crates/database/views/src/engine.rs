//! What a view looks at, and what several views ask of it.
//!
//! Callers: all views; SQL makes an [`Engine`] for each reading.

use std::collections::BTreeMap;
use std::sync::Arc;

use catalog::Catalog;
use ids::TxnId;
use instance::{Connected, Instance};
use os::{RunningSession, Session, SessionNo};
use txn::TransactionSeen;
use value::Value;
use waits::{SessionKind, Timestamp};

use crate::SqlCache;
use crate::cells;

/// What a view looks at.
#[derive(Clone, Copy)]
pub struct Engine<'a> {
    /// The instance.
    pub instance: &'a Instance,
    /// The dictionary.
    pub catalog: &'a Catalog,
    /// The session that asks.
    pub session: &'a Session,
    /// The statements that SQL has in memory; none where there is no SQL.
    pub sql: Option<&'a dyn SqlCache>,
}

/// A session of the instance.
pub(crate) struct SessionSeen {
    pub(crate) running: RunningSession,
    /// Of a session that is connected.
    pub(crate) connected: Option<Arc<Connected>>,
}

impl SessionSeen {
    pub(crate) fn is_background(&self) -> bool {
        self.running.account.kind() == SessionKind::Background
    }
}

impl Engine<'_> {
    /// The sessions of the instance, by number: the processes, the connected sessions, and the one
    /// that asks (VW4).
    pub(crate) fn sessions(&self) -> Vec<SessionSeen> {
        let connected = self.instance.connected(self.session);
        let of = |one: Arc<Connected>| (one.session.number, one);
        let mut connected: BTreeMap<SessionNo, Arc<Connected>> =
            connected.into_iter().map(of).collect();
        let own = self.session.number();
        let seen = |running: RunningSession| SessionSeen {
            connected: connected.remove(&running.number),
            running,
        };
        let mut all: Vec<SessionSeen> = self.session.os().running().into_iter().map(seen).collect();
        let is_listed = |one: &SessionSeen| {
            one.is_background() || one.connected.is_some() || one.running.number == own
        };
        all.retain(is_listed);
        all.sort_by_key(|one| one.running.number);
        all
    }

    /// The active transactions, by their sessions.
    pub(crate) fn transactions_by_session(&self) -> BTreeMap<SessionNo, TransactionSeen> {
        let seen = self.instance.transactions().all_seen(self.session).into_iter();
        seen.filter_map(|one| Some((one.session?, one))).collect()
    }

    /// The sessions of active transactions.
    pub(crate) fn sessions_of_transactions(&self) -> BTreeMap<TxnId, SessionNo> {
        let seen = self.instance.transactions().all_seen(self.session).into_iter();
        seen.filter_map(|one| Some((one.id, one.session?))).collect()
    }

    /// The calendar's time of a moment of the world's clock.
    pub(crate) fn calendar(&self, at: Timestamp) -> Value<'static> {
        let os = self.session.os();
        let ago = os.now().since(at).as_micros();
        cells::moment(os.calendar_us().saturating_sub(ago))
    }

    /// The whole seconds since a moment of the world's clock.
    pub(crate) fn seconds_since(&self, at: Timestamp) -> Value<'static> {
        cells::count(self.session.now().since(at).0 / 1_000_000_000)
    }
}
