//! What a statement runs with: the parts of its connection, lent for one call.
//!
//! Callers: the session makes a [`Host`] for each call; `run` and `change` use it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use catalog::{Catalog, Sequence};
use ids::ObjectNo;
use instance::Instance;
use os::Session;
use relation::{KeySort, Scratch};
use rowsource::Spill;
use sort::Budget;
use stop::{Halt, SqlState, Stop};
use value::Timestamp;

use crate::Engine;
use crate::files::ClientEnd;
use crate::refuse::refuse;
use crate::schema::VirtualContext;

/// The parts of a connection that a statement runs with.
#[derive(Clone, Copy)]
pub(crate) struct Host<'a> {
    /// The session of the connection.
    pub(crate) session: &'a Session,
    /// The instance.
    pub(crate) instance: &'a Instance,
    /// The dictionary.
    pub(crate) catalog: &'a Catalog,
    /// SQL's own: plans, statements, cursors.
    pub(crate) engine: &'a Engine,
    /// The memory for work areas.
    pub(crate) budget: &'a Budget,
    /// The values of sequences that the session has had.
    pub(crate) sequences: &'a SequenceValues,
    /// What else expressions ask of the connection.
    pub(crate) connected: &'a dyn Connected,
    /// The buffers of the session's reads.
    pub(crate) scratch: &'a RefCell<Scratch>,
    /// The state of `random()`.
    pub(crate) dice: &'a Cell<u64>,
    /// The client's end of a COPY, if the call has one.
    pub(crate) client: Option<&'a dyn ClientEnd>,
}

/// What expressions ask of a connection.
pub(crate) trait Connected {
    /// The name of `current_user`.
    fn user(&self) -> &str;

    /// The number of the session.
    fn session_number(&self) -> i64;

    /// The value of a setting or a parameter; none if there is no such one.
    fn setting(&self, name: &str) -> Result<Option<String>, Stop>;

    /// Whether the transaction, or that of a statement alone, may change nothing.
    fn is_read_only(&self) -> bool;
}

impl<'a> Host<'a> {
    /// The instance's halt.
    pub(crate) fn halt(&self) -> &'a Halt {
        self.instance.halt()
    }

    /// A refusal if the statement is to end early, and the halt if the instance has halted.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), Stop> {
        self.halt().check_call(self.session)
    }

    /// Where rows go that don't fit in memory.
    pub(crate) fn spill(&self) -> Spill<'a> {
        let KeySort { disk, config } = self.catalog.key_sort();
        Spill { disk, config, halt: self.halt() }
    }

    /// The most bytes of the texts that are made for one row.
    pub(crate) fn text_bytes(&self) -> u64 {
        self.budget.target(self.session)
    }

    /// The moment of `now()`: that of the call.
    pub(crate) fn moment(&self) -> Timestamp {
        Timestamp::from_us(self.session.call_moment()).unwrap_or(Timestamp::MAX)
    }

    /// What a virtual table may look at.
    pub(crate) fn virtual_context(&self) -> VirtualContext<'a> {
        VirtualContext {
            instance: self.instance,
            catalog: self.catalog,
            engine: self.engine,
            session: self.session,
            client: self.client,
        }
    }
}

/// The values of sequences that a session has had: for `currval` and `lastval`.
#[derive(Default)]
pub(crate) struct SequenceValues {
    known: RefCell<BTreeMap<ObjectNo, KnownSequence>>,
    /// The sequence of which a value was taken last.
    last: Cell<Option<ObjectNo>>,
}

struct KnownSequence {
    /// As it was when it was first asked. The catalog goes on with an altered one by itself.
    sequence: Arc<Sequence>,
    last: Option<i64>,
}

impl SequenceValues {
    /// The next value of a sequence.
    pub(crate) fn next(
        &self,
        object: ObjectNo,
        catalog: &Catalog,
        session: &Session,
    ) -> Result<i64, Stop> {
        let sequence = self.sequence(object, catalog, session)?;
        let value = catalog.next_value(&sequence, session)?;
        self.note(sequence, value);
        self.last.set(Some(object));
        Ok(value)
    }

    /// Sets the value of a sequence. One that counts as given (`is_given`) is the session's current
    /// one.
    pub(crate) fn set(
        &self,
        object: ObjectNo,
        value: i64,
        is_given: bool,
        catalog: &Catalog,
        session: &Session,
    ) -> Result<(), Stop> {
        let sequence = self.sequence(object, catalog, session)?;
        catalog.set_value(&sequence, value, is_given, session)?;
        if is_given {
            self.note(sequence, value);
        }
        Ok(())
    }

    fn sequence(
        &self,
        object: ObjectNo,
        catalog: &Catalog,
        session: &Session,
    ) -> Result<Arc<Sequence>, Stop> {
        let known = self.known.borrow().get(&object).map(|known| Arc::clone(&known.sequence));
        known.map_or_else(|| catalog.sequence_of(object, session), Ok)
    }

    fn note(&self, sequence: Arc<Sequence>, value: i64) {
        let mut known = self.known.borrow_mut();
        match known.get_mut(&sequence.object()) {
            Some(known) => known.last = Some(value),
            None => {
                let object = sequence.object();
                known.insert(object, KnownSequence { sequence, last: Some(value) });
            }
        }
    }

    /// The value that the session was given last of a sequence.
    pub(crate) fn current(&self, object: ObjectNo) -> Result<i64, Stop> {
        let last = self.known.borrow().get(&object).and_then(|known| known.last);
        last.ok_or_else(|| not_yet("this sequence has no current value in this session"))
    }

    /// The current value of the sequence of which one was taken last.
    pub(crate) fn last(&self) -> Result<i64, Stop> {
        match self.last.get() {
            Some(object) => self.current(object),
            None => Err(not_yet("no sequence has a current value in this session")),
        }
    }
}

#[cold]
fn not_yet(what: &str) -> Stop {
    let state = SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE;
    refuse(state, format!("{what}: take a value with nextval first"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_has_no_current_value_before_a_value_was_taken() {
        let values = SequenceValues::default();
        let refused = values.current(ObjectNo::new(7)).expect_err("none was taken");
        assert_eq!(refused.state(), SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE);
        assert!(values.last().is_err());
    }
}
