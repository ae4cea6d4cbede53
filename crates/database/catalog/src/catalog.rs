//! The catalog of an open database: how it is opened, and what it is asked for.
//!
//! ```text
//!   open: dictionary's tables ─▶ rows ─▶ definitions in memory; segments that no row names go
//!   ask:  name or number ─▶ relation, opened when it is first asked for
//! ```
//!
//! Callers: the embedded API; SQL; tools.

use std::collections::BTreeSet;
use std::sync::Arc;

use ids::{ObjectNo, TxnId};
use latch::{Latch, LatchKind, Shared32};
use os::{Disk, Session};
use relation::{KeySort, Relation, Relations, TableDefinition};
use sort::SortConfig;
use space::{Enqueue, NAMED_BY_NUMBER, SegmentState, Space};
use stop::{RefusalKind, Stop};
use txn::Transactions;
use waits::WaitEvent;

use crate::dictionary::Dictionary;
use crate::rows;
use crate::sequence::Sequence;
use crate::store::{Store, corrupt};

/// How a catalog is opened.
#[derive(Clone, Debug)]
pub struct CatalogConfig {
    /// The tablespace of the dictionary, and of tables that name none.
    pub tablespace: String,
    /// The disk for temporary files.
    pub disk: Disk,
    /// How index builds sort: with how much memory, and where.
    pub sort: SortConfig,
}

/// What opening found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CatalogOpened {
    /// Whether there was no dictionary, and it was made.
    pub is_new: bool,
    /// The number of tables.
    pub tables: usize,
    /// The number of sequences.
    pub sequences: usize,
    /// The number of orphans that were dropped: segments that no row named, because of a crash
    /// before the commit of their row or after that of its delete (DC12).
    pub orphans: usize,
}

/// The data dictionary of an open database.
pub struct Catalog {
    pub(crate) space: Space,
    pub(crate) transactions: Transactions,
    pub(crate) config: CatalogConfig,
    pub(crate) store: Arc<Store>,
    pub(crate) dictionary: Latch<Dictionary>,
    /// The row cache lock: the DDL statement that holds it writes the dictionary (DC4).
    pub(crate) row_cache_lock: Enqueue<()>,
    /// The dead transactions: those that were active when the instance stopped.
    pub(crate) dead: Vec<TxnId>,
    /// The number of the next new sequence.
    next_sequence: Shared32,
    opened: CatalogOpened,
}

impl Catalog {
    /// Opens the catalog of a database that was just opened, before any session works there.
    pub fn open(
        space: &Space,
        transactions: &Transactions,
        config: CatalogConfig,
        session: &Session,
    ) -> Result<Catalog, Stop> {
        // No session has begun a transaction yet, so all active ones are dead.
        let dead = transactions.active().all(session);
        let (store, is_new) = Store::open(&config.tablespace, space, transactions, session)?;
        let found = rows::read(&store.read(session)?).map_err(|what| corrupt(&what))?;
        let orphans = drop_orphans(space, found.tables.values(), session)?;
        let opened = CatalogOpened {
            is_new,
            tables: found.tables.len(),
            sequences: found.sequences.len(),
            orphans,
        };
        let last = found.sequences.last_key_value().map_or(0, |(object, _)| object.get());
        let mut dictionary = Dictionary::default();
        found.tables.into_values().for_each(|table| dictionary.add_table(table));
        for (definition, next) in found.sequences.into_values() {
            dictionary.add_sequence(Arc::new(Sequence::new(definition, next, session)));
        }
        let os = session.os();
        Ok(Catalog {
            space: space.clone(),
            transactions: transactions.clone(),
            config,
            store: Arc::new(store),
            dictionary: Latch::new(os, LatchKind::Innermost, dictionary),
            row_cache_lock: Enqueue::new(os, *b"QQ", WaitEvent::RowCacheLock, ()),
            dead,
            next_sequence: Shared32::new(last + 1),
            opened,
        })
    }

    /// How loads, and statements with late keys, sort the keys of their rows: as index builds do.
    pub fn key_sort(&self) -> KeySort<'_> {
        KeySort { disk: &self.config.disk, config: &self.config.sort }
    }

    /// What opening found.
    pub fn opened(&self) -> CatalogOpened {
        self.opened
    }

    /// The number of the table of this name.
    pub fn object(&self, name: &str, session: &Session) -> Result<ObjectNo, Stop> {
        Ok(self.dictionary.shared(session).table(name)?.object)
    }

    /// The table of this name, as it is now. A caller that keeps it asks before each statement
    /// whether it is stale: that costs a load, and this call a latch that all sessions share.
    pub fn relation(&self, name: &str, session: &Session) -> Result<Arc<Relation>, Stop> {
        loop {
            let object = self.object(name, session)?;
            let relation = match self.relation_of(object, session) {
                // The table was dropped while it was opened; by now another table may have its
                // name.
                Err(stop) if stop.refusal() == Some(RefusalKind::DefinitionChanged) => continue,
                found => found?,
            };
            // The table may have been renamed while it was opened, and another may have its name.
            if relation.definition().name == name {
                return Ok(relation);
            }
        }
    }

    /// The table of this number, as it is now.
    pub fn relation_of(&self, object: ObjectNo, session: &Session) -> Result<Arc<Relation>, Stop> {
        loop {
            let (definition, changing) = {
                let dictionary = self.dictionary.shared(session);
                let definition = dictionary.table_of(object)?;
                let entry = dictionary.entry(object).expect("it has a definition");
                if let (Some(relation), false) = (&entry.relation, entry.changing) {
                    return Ok(Arc::clone(relation));
                }
                (Arc::clone(definition), entry.changing)
            };
            if changing {
                // Waits until the definition was replaced. The holder of this lock waits for redo
                // at most.
                drop(self.row_cache_lock.hold_in_call(object.get().into(), session)?);
                continue;
            }
            let Catalog { space, transactions, .. } = self;
            let opened = Relation::open(Arc::clone(&definition), space, transactions, session);
            let mut dictionary = self.dictionary.exclusive(session);
            let Some(entry) = dictionary.entry_mut(object) else { continue };
            if entry.changing || !Arc::ptr_eq(&entry.definition, &definition) {
                continue;
            }
            if let Some(relation) = &entry.relation {
                return Ok(Arc::clone(relation));
            }
            return Ok(Arc::clone(entry.relation.insert(Arc::new(opened?))));
        }
    }

    /// The definition of the table of this name, as it is now.
    pub fn table(&self, name: &str, session: &Session) -> Result<Arc<TableDefinition>, Stop> {
        self.dictionary.shared(session).table(name).cloned()
    }

    /// The sequence of this name.
    pub fn sequence(&self, name: &str, session: &Session) -> Result<Arc<Sequence>, Stop> {
        self.dictionary.shared(session).sequence(name).cloned()
    }

    /// The sequence of this number, such as that of an identity column.
    pub fn sequence_of(&self, object: ObjectNo, session: &Session) -> Result<Arc<Sequence>, Stop> {
        self.dictionary.shared(session).sequence_of(object).cloned()
    }

    /// Reserves `count` numbers for sequences, and returns the first. Since the opening none is
    /// given twice.
    pub(crate) fn number_sequences(&self, count: u32, session: &Session) -> u32 {
        self.next_sequence.fetch_add(count, session)
    }

    /// The sequence's next value, which no other caller gets (DC7).
    pub fn next_value(&self, sequence: &Sequence, session: &Session) -> Result<i64, Stop> {
        loop {
            if let Some(value) = sequence.next(&self.store, &self.transactions, session)? {
                return Ok(value);
            }
            // A drop that isn't committed may be given up, so its end is waited for (DC29).
            let object = sequence.object().get().into();
            let changing = self.row_cache_lock.hold_in_call(object, session)?;
            let is_dropped = sequence.is_dropped(session);
            drop(changing);
            if is_dropped {
                return Err(sequence.gone());
            }
        }
    }
}

impl Relations for Catalog {
    fn relation(&self, object: ObjectNo, session: &Session) -> Result<Arc<Relation>, Stop> {
        self.relation_of(object, session)
    }

    fn key_sort(&self) -> Option<KeySort<'_>> {
        Some(Catalog::key_sort(self))
    }
}

/// Drops segments of users' tables and indexes that no definition names (DC12), and returns how
/// many.
fn drop_orphans<'a>(
    space: &Space,
    tables: impl Iterator<Item = &'a TableDefinition>,
    session: &Session,
) -> Result<usize, Stop> {
    let segments = tables.flat_map(|table| {
        let indexes = table.indexes.iter().map(|index| index.segment);
        std::iter::once(table.segment).chain(indexes)
    });
    let mut named: BTreeSet<ObjectNo> = segments.collect();
    let mut orphans = Vec::new();
    // A header that can't be read is a fault of its own table only. A segment that is temporary
    // still couldn't be dropped a moment ago.
    for (object, name) in space.names(session) {
        let is_kept = || space.state(object, session) == Some(SegmentState::Permanent);
        if !named.remove(&object) && name.starts_with(NAMED_BY_NUMBER) && is_kept() {
            orphans.push(object);
        }
    }
    if let Some(lost) = named.first() {
        return Err(corrupt(&format!("segment {lost}, of a table or index, isn't there")));
    }
    let mut dropped = 0;
    for orphan in orphans {
        dropped += usize::from(space.drop_leftover(orphan, session)?);
    }
    if dropped > 0 {
        let redo = space.changes().redo();
        redo.make_durable(redo.last_scn(session), session, WaitEvent::LogFileSync)?;
    }
    Ok(dropped)
}
