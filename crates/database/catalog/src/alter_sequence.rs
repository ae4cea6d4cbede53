//! ALTER SEQUENCE, and setting a sequence's value.
//!
//! ```text
//!   the old sequence gives no more values ─▶ its row says what comes behind its range ─▶ the new
//!   one begins there, or where RESTART says
//! ```
//!
//! Invariants
//!   * no value of the old sequence's range is given once the new one is made: what is left of it
//!     is lost, as when the instance stops (DC27)
//!   * who holds the old sequence goes on with the new one (DC29)
//!
//! Callers: the embedded API; SQL.

use std::sync::Arc;

use os::Session;
use stop::{Refusal, RefusalKind, SqlState, Stop};
use txn::LockWait;

use crate::dictionary::Dictionary;
use crate::draft_parts::WholeBounds;
use crate::edit::Edit;
use crate::sequence::Sequence;
use crate::spec::{Restart, SequenceAlteration, SequenceBound};
use crate::{Catalog, SequenceDefinition, SequenceOptions};

/// A sequence that is altered.
pub(crate) struct AlteredSequence {
    old: Arc<Sequence>,
    pub(crate) definition: SequenceDefinition,
    restart: Option<Restart>,
}

impl AlteredSequence {
    /// This sequence, to begin again at its first value.
    pub(crate) fn restarted(old: &Arc<Sequence>) -> AlteredSequence {
        let (definition, restart) = (old.definition().clone(), Some(Restart::AtStart));
        AlteredSequence { old: Arc::clone(old), definition, restart }
    }

    /// The sequence in its new form. The old one has been told to give no more values.
    pub(crate) fn make(&self, session: &Session) -> Result<Arc<Sequence>, Stop> {
        let SequenceDefinition { name, start, min, max, .. } = &self.definition;
        let next = match self.restart {
            Some(Restart::AtStart) => Some(*start),
            Some(Restart::At(value)) => Some(value),
            None => self.old.stored(session).or_else(|| self.behind()),
        };
        if let Some(value) = next.filter(|next| !(min..=max).contains(&next)) {
            let message = format!(
                "cannot alter sequence {name}: its next value {value} wouldn't be within {min} and \
                 {max}; say RESTART too"
            );
            return Err(Stop::refuse(RefusalKind::Invalid, message));
        }
        Ok(Arc::new(Sequence::new(self.definition.clone(), next, session)))
    }

    /// The value behind the end of the old sequence, which is at its end; none if that is no value
    /// of the new one.
    fn behind(&self) -> Option<i64> {
        let (old, new) = (self.old.definition(), &self.definition);
        let end = if old.increment > 0 { old.max } else { old.min };
        let behind = end.checked_add(old.increment.signum());
        behind.filter(|value| (new.min..=new.max).contains(value))
    }
}

impl Catalog {
    /// Alters a sequence, durably when this returns. It goes on where it was, up to CACHE values
    /// further on.
    pub fn alter_sequence(
        &self,
        name: &str,
        alteration: &SequenceAlteration,
        session: &Session,
    ) -> Result<(), Stop> {
        self.run(LockWait::Forever, session, |statement| {
            statement.publish(|dictionary| edit_of(name, alteration, dictionary), &[])
        })
    }

    /// Sets the value of a sequence, durably and at once for all sessions; a rollback doesn't take
    /// it back. If the value counts as given (`is_given`), the next one is that behind it. Values
    /// that were taken into memory are lost.
    pub fn set_value(
        &self,
        sequence: &Sequence,
        value: i64,
        is_given: bool,
        session: &Session,
    ) -> Result<(), Stop> {
        let Catalog { store, transactions, .. } = self;
        self.with_sequence(sequence, session, |one| {
            let SequenceDefinition { name, min, max, .. } = one.definition();
            if !(min..=max).contains(&&value) {
                let message = format!(
                    "cannot set sequence {name} to {value}: its values are from {min} to {max}"
                );
                let refusal = Refusal::new(RefusalKind::Invalid, message);
                return Err(refusal.with_state(SqlState::NUMERIC_VALUE_OUT_OF_RANGE).into());
            }
            let next = if is_given { one.definition().behind(value) } else { Some(value) };
            one.set_next(next, store, transactions, session)
        })
    }
}

fn edit_of(
    name: &str,
    alteration: &SequenceAlteration,
    dictionary: &Dictionary,
) -> Result<Edit, Stop> {
    let old = Arc::clone(dictionary.sequence(name)?);
    let definition = altered(old.definition(), alteration)?;
    check_identity(&definition, dictionary)?;
    let altered =
        AlteredSequence { old: Arc::clone(&old), definition, restart: alteration.restart };
    Ok(Edit { dropped_sequences: vec![old], altered_sequences: vec![altered], ..Edit::default() })
}

/// The definition with what the statement says.
fn altered(
    before: &SequenceDefinition,
    alteration: &SequenceAlteration,
) -> Result<SequenceDefinition, Stop> {
    let SequenceAlteration { start, increment, min, max, cycles, cache, .. } = alteration;
    let bound = |said: &Option<SequenceBound>, has: i64| match said {
        None => Some(has),
        Some(SequenceBound::At(value)) => Some(*value),
        Some(SequenceBound::Default) => None,
    };
    let options = SequenceOptions {
        start: Some(start.unwrap_or(before.start)),
        increment: Some(increment.unwrap_or(before.increment)),
        min: bound(min, before.min),
        max: bound(max, before.max),
        cycles: cycles.unwrap_or(before.cycles),
        cache: Some(cache.unwrap_or(before.cache)),
    };
    options.define(before.object, &before.name)
}

/// Refuses numbers of an identity column that the column's type doesn't have.
fn check_identity(sequence: &SequenceDefinition, dictionary: &Dictionary) -> Result<(), Stop> {
    let column = dictionary.tables().find_map(|table| {
        let is_its = |column: &&relation::ColumnDefinition| {
            column.default.sequence() == Some(sequence.object)
        };
        table.columns.iter().find(is_its)
    });
    let Some(column) = column else { return Ok(()) };
    let WholeBounds { least, most } = WholeBounds::of(column.kind);
    if sequence.min >= least && sequence.max <= most {
        return Ok(());
    }
    let message = format!(
        "cannot alter sequence {}: it numbers the column {}, which is {}, and would have values \
         from {} to {}; give it a MINVALUE and a MAXVALUE within {least} and {most}",
        sequence.name, column.name, column.kind, sequence.min, sequence.max
    );
    Err(Stop::refuse(RefusalKind::Invalid, message))
}
