//! A table that is open: its definition, its rows, its indexes.
//!
//! ```text
//!   open ──▶ in use ── DDL, under TM X ──▶ stale      changes are refused; reads go on
//!                └──── its segments go ──▶ gone       reads are refused too
//! ```
//!
//! Invariants (rules RL1 to RL3 in the README)
//!   * as of each view, a row has one entry in each index, and an entry has a row
//!   * a relation's definition never changes: a new definition gets a new relation, and makes this
//!     one stale
//!
//! Callers: the catalog, which opens relations; the embedded API, which runs statements on them.

use std::sync::Arc;

use access::{Heap, Index, RowAddress};
use ids::{ObjectNo, Scn, TxnId};
use latch::SharedFlag;
use os::Session;
use space::Space;
use stop::{RefusalKind, Stop};
use txn::{LockWait, TableMode, Transactions, View};
use value::{Damaged, RowLayout, RowView};

use crate::expression::Compiled;
use crate::{
    CheckCompiler, IndexColumn, IndexDefinition, IndexId, NoExpressions, TableDefinition, Work,
};

/// A table that is open.
pub struct Relation {
    definition: Arc<TableDefinition>,
    layout: RowLayout,
    heap: Heap,
    indexes: Vec<OpenIndex>,
    /// What evaluates the CHECK expressions of the definition, in its order (RL80).
    predicates: Vec<Compiled>,
    transactions: Transactions,
    /// Raised by DDL that changes the definition, under a table lock that keeps changes out (RL3).
    stale: SharedFlag,
    /// Raised before a segment of the table is dropped (RL30).
    gone: SharedFlag,
}

/// An open index; its definition has the same place and the same identifier.
pub(crate) struct OpenIndex {
    pub(crate) id: IndexId,
    pub(crate) index: Index,
    pub(crate) columns: Vec<IndexColumn>,
    pub(crate) since: Scn,
}

impl OpenIndex {
    /// Whether `columns` holds for one of the index's columns.
    pub(crate) fn has_any(&self, columns: impl Fn(usize) -> bool) -> bool {
        self.columns.iter().any(|of| columns(of.column))
    }
}

impl Relation {
    /// Opens the table of this definition. Refused if one of its segments isn't there. If it has a
    /// CHECK that is an expression, it can be read and not changed.
    pub fn open(
        definition: Arc<TableDefinition>,
        space: &Space,
        transactions: &Transactions,
        session: &Session,
    ) -> Result<Relation, Stop> {
        Relation::open_with(definition, &NoExpressions, space, transactions, session)
    }

    /// As [`Relation::open`], with what makes predicates of CHECK expressions. One that can't be
    /// compiled has changes refused, and not the opening (RL80).
    pub fn open_with(
        definition: Arc<TableDefinition>,
        compiler: &dyn CheckCompiler,
        space: &Space,
        transactions: &Transactions,
        session: &Session,
    ) -> Result<Relation, Stop> {
        let find = |object: ObjectNo, what: &str, name: &str| {
            let found = space.segment(object, session)?;
            found.ok_or_else(|| {
                let message = format!(
                    "cannot open {what} {name}: its segment {object} isn't there; verify the \
                     database"
                );
                Stop::refuse(RefusalKind::Corrupt, message)
            })
        };
        let segment = find(definition.segment, "table", &definition.name)?;
        let heap = Heap::new(&segment, space, transactions, session);
        let open = |of: &IndexDefinition| {
            let segment = find(of.segment, "index", &of.name)?;
            let index = Index::of(segment, of.unique, space, transactions, session);
            let index = index.called(&format!("{} of table {}", of.name, definition.name));
            Ok(OpenIndex { id: of.id(), index, columns: of.columns.clone(), since: of.since })
        };
        let indexes: Result<Vec<_>, Stop> = definition.indexes.iter().map(open).collect();
        let expressions = definition.expressions.iter();
        let predicates = expressions.map(|check| compiler.compile(check, &definition)).collect();
        Ok(Relation {
            layout: definition.layout(),
            heap,
            indexes: indexes?,
            predicates,
            transactions: transactions.clone(),
            stale: SharedFlag::new(false),
            gone: SharedFlag::new(false),
            definition,
        })
    }

    /// The table's definition.
    pub fn definition(&self) -> &Arc<TableDefinition> {
        &self.definition
    }

    /// The places of the columns in the bytes of rows.
    pub fn layout(&self) -> &RowLayout {
        &self.layout
    }

    /// The table's heap, for callers that build an index or verify rows.
    pub fn heap(&self) -> &Heap {
        &self.heap
    }

    /// The index at this place in the definition.
    ///
    /// # Panics
    /// When there is none.
    #[expect(clippy::should_implement_trait, reason = "an index of a table is no element of it")]
    pub fn index(&self, number: usize) -> &Index {
        &self.indexes[number].index
    }

    /// The place of the index with this object number.
    pub fn index_number(&self, object: ObjectNo) -> Option<usize> {
        self.definition.indexes.iter().position(|index| index.object == object)
    }

    /// The place of an index. Refused if the table doesn't have it, or doesn't any more.
    #[inline]
    pub fn place_of(&self, index: IndexId) -> Result<usize, Stop> {
        let place = self.indexes.iter().position(|open| open.id == index);
        place.ok_or_else(|| self.has_no_index())
    }

    #[cold]
    fn has_no_index(&self) -> Stop {
        let message = format!(
            "cannot use an index of table {}: it was dropped since it was asked for, or is of \
             another table; ask for the table and its indexes again",
            self.definition.name
        );
        Stop::refuse(RefusalKind::NotFound, message)
    }

    /// The transactions of the table's database.
    pub fn transactions(&self) -> &Transactions {
        &self.transactions
    }

    /// Refuses changes through this relation from now on. Called under a table lock that keeps
    /// changes out (RL3).
    pub fn set_stale(&self, session: &Session) {
        self.stale.raise(session);
    }

    /// Whether another definition has taken the place of this one.
    pub fn is_stale(&self, session: &Session) -> bool {
        self.stale.is_raised(session)
    }

    /// Refuses changes and reads from now on. Called before a segment of the table is dropped
    /// (RL30).
    pub fn set_gone(&self, session: &Session) {
        self.stale.raise(session);
        self.gone.raise(session);
    }

    pub(crate) fn indexes(&self) -> &[OpenIndex] {
        &self.indexes
    }

    /// What evaluates the CHECK expressions, in the order of the definition.
    pub(crate) fn predicates(&self) -> &[Compiled] {
        &self.predicates
    }

    pub(crate) fn index_definition(&self, number: usize) -> &IndexDefinition {
        &self.definition.indexes[number]
    }

    /// Locks the table in RX, for a transaction that may have changed nothing yet. Until the
    /// transaction ends, the definition stays.
    pub fn lock_for_changes(&self, work: &mut Work<'_>) -> Result<(), Stop> {
        self.lock_for_changes_within(TableMode::RowExclusive, work.transaction.lock_wait(), work)
    }

    /// Locks the table in another mode, or with another lock wait than the transaction's.
    pub(crate) fn lock_for_changes_within(
        &self,
        mode: TableMode,
        lock_wait: LockWait,
        work: &mut Work<'_>,
    ) -> Result<(), Stop> {
        let (object, session) = (self.definition.object.get(), work.session);
        self.transactions.lock_table(work.transaction, object, mode, lock_wait, session)?;
        self.check_stale(session)
    }

    /// Locks the table for a transaction, and refuses a stale relation (RL3).
    pub(crate) fn lock_table(
        &self,
        id: TxnId,
        mode: TableMode,
        lock_wait: LockWait,
        session: &Session,
    ) -> Result<(), Stop> {
        let (object, locks) = (self.definition.object.get(), self.transactions.locks());
        locks.lock_table(id, object, mode, lock_wait, session)?;
        self.check_stale(session)
    }

    fn check_stale(&self, session: &Session) -> Result<(), Stop> {
        if self.is_stale(session) {
            let message = format!(
                "cannot change table {}: its definition was changed since the statement was \
                 prepared; prepare it again",
                self.definition.name
            );
            return Err(Stop::refuse(RefusalKind::DefinitionChanged, message));
        }
        Ok(())
    }

    /// Refuses a view that is too old for the rows (RL26).
    pub(crate) fn check_view(&self, view: View) -> Result<(), Stop> {
        let TableDefinition { truncated, promised, .. } = &*self.definition;
        match view.scn {
            scn if scn < *truncated => Err(self.too_old("was truncated or rewritten")),
            scn if scn < *promised => Err(self.too_old("got a NOT NULL, a CHECK or another type")),
            _ => Ok(()),
        }
    }

    /// Refuses a view that is too old for the rows or the index (RL26).
    pub(crate) fn check_index_view(&self, index: &OpenIndex, view: View) -> Result<(), Stop> {
        self.check_view(view)?;
        match view.scn < index.since {
            false => Ok(()),
            true => {
                let is_it = |of: &&IndexDefinition| of.id() == index.id;
                let of = self.definition.indexes.iter().find(is_it);
                let of = of.expect("an open index has a definition of the same number");
                Err(self.too_old(&format!("got index {}", of.name)))
            }
        }
    }

    fn too_old(&self, what: &str) -> Stop {
        let message = format!(
            "cannot read table {} as of the snapshot: the table {what} since; begin a new \
             transaction",
            self.definition.name
        );
        Stop::refuse(RefusalKind::SnapshotTooOld, message)
    }

    /// Refuses what was just read if the relation is gone: it may not have been the table's (RL30).
    #[inline]
    pub(crate) fn check_there(&self, session: &Session) -> Result<(), Stop> {
        if !self.gone.is_raised(session) {
            return Ok(());
        }
        let message = format!(
            "cannot read table {}: it, or an index of it, was dropped or truncated since the \
             statement was prepared; prepare it again",
            self.definition.name
        );
        Err(Stop::refuse(RefusalKind::DefinitionChanged, message))
    }

    /// A row by its bytes.
    #[inline]
    pub(crate) fn row<'a>(&'a self, bytes: &'a [u8]) -> Result<RowView<'a>, Stop> {
        RowView::new(&self.layout, bytes).map_err(|damaged| self.damaged(&damaged))
    }

    #[cold]
    pub(crate) fn damaged(&self, damaged: &Damaged) -> Stop {
        let message = format!(
            "cannot read a row of table {}: {damaged}; verify the database",
            self.definition.name
        );
        Stop::refuse(RefusalKind::Corrupt, message)
    }

    /// Refuses a row that this view has shown and that isn't there as of the same view: its block
    /// was lost. A statement that began again would meet it for ever.
    #[cold]
    pub(crate) fn check_seen(
        &self,
        view: View,
        row: RowAddress,
        session: &Session,
    ) -> Result<(), Stop> {
        match self.fetch(view, row, &mut |_| (), session)? {
            Some(()) => Ok(()),
            None => Err(self.row_is_missing(row, None)),
        }
    }

    #[cold]
    pub(crate) fn row_is_missing(&self, row: RowAddress, index: Option<usize>) -> Stop {
        let index = index.map_or("an index", |index| &self.definition.indexes[index].name);
        let message = format!(
            "table {} has no row at {row}, and {index} leads there: the rows of this block are \
             lost, or the index is wrong; verify the database, and don't make the index again \
             before you know, for that would hide lost rows",
            self.definition.name
        );
        Stop::refuse(RefusalKind::Corrupt, message)
    }

    #[cold]
    pub(crate) fn index_disagrees(&self, number: usize, what: &str) -> Stop {
        let message = format!(
            "cannot change table {}: index {} {what}; drop the index and make it again",
            self.definition.name, self.definition.indexes[number].name
        );
        Stop::refuse(RefusalKind::Corrupt, message)
    }
}
