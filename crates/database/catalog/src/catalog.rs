//! The catalog of an open database: how it is opened, and what it is asked for.
//!
//! ```text
//!   open: dictionary's tables ─▶ rows ─▶ definitions in memory; segments that no row names go
//!   ask:  name or number ─▶ relation, opened when it is first asked for
//!         generation: the same as before? then all that was asked before still holds (DC40)
//! ```
//!
//! Callers: the embedded API; SQL; tools.

use std::collections::BTreeSet;
use std::sync::Arc;

use ids::{ObjectNo, TxnId};
use latch::{Latch, LatchKind, Shared32, Shared64};
use os::{Disk, Session};
use relation::{CheckCompiler, KeySort, NoExpressions, Relation, Relations, TableDefinition};
use sort::SortConfig;
use space::{DIRECTORY_FIRST, Enqueue, NAMED_BY_NUMBER, SegmentState, Space};
use stop::{RefusalKind, Stop};
use txn::{LockWait, RowRequest, RowWait, RowWanted, Transaction, Transactions};
use waits::{Nanos, WaitEvent};

use crate::ObjectId;
use crate::dictionary::Dictionary;
use crate::dictionary_table::DictionaryTable;
use crate::rows::{self, Definitions};
use crate::sequence::Sequence;
use crate::store::{Ground, Store, StoreOpened, corrupt};

/// How long opening waits for dead transactions that may have changed an orphan.
const DEAD_WAIT: Nanos = Nanos::from_secs(60);

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
    /// What evaluates CHECKs that are expressions.
    pub(crate) compiler: Arc<dyn CheckCompiler>,
    pub(crate) store: Arc<Store>,
    pub(crate) dictionary: Latch<Dictionary>,
    /// The row cache lock: the DDL statement that holds it writes the dictionary (DC4).
    pub(crate) row_cache_lock: Enqueue<()>,
    /// The dead transactions: those that were active when the instance stopped.
    pub(crate) dead: Vec<TxnId>,
    /// The number of the next new sequence, view or external table.
    next_number: Shared32,
    /// Goes up with each change of the dictionary (DC40).
    generation: Shared64,
    opened: CatalogOpened,
}

impl Catalog {
    /// Opens the catalog of a database that was just opened, before any session works there. Tables
    /// with CHECKs that are expressions can be read and not changed.
    pub fn open(
        space: &Space,
        transactions: &Transactions,
        config: CatalogConfig,
        session: &Session,
    ) -> Result<Catalog, Stop> {
        Catalog::open_with(space, transactions, config, Arc::new(NoExpressions), session)
    }

    /// As [`Catalog::open`], with what evaluates CHECKs that are expressions.
    pub fn open_with(
        space: &Space,
        transactions: &Transactions,
        config: CatalogConfig,
        compiler: Arc<dyn CheckCompiler>,
        session: &Session,
    ) -> Result<Catalog, Stop> {
        // No session has begun a transaction yet, so all active ones are dead.
        let dead = transactions.active().all(session);
        let ground = Ground { tablespace: &config.tablespace, space, transactions, session };
        let StoreOpened { store, rows, is_new, absent } = Store::open(ground)?;
        let found = rows::read(&rows).map_err(|what| corrupt(&what))?;
        let orphans = drop_orphans(ground, found.tables.values(), absent, &dead)?;
        let opened = CatalogOpened {
            is_new,
            tables: found.tables.len(),
            sequences: found.sequences.len(),
            orphans,
        };
        let last = last_number(&found);
        let dictionary = in_memory(found, session);
        let os = session.os();
        Ok(Catalog {
            space: space.clone(),
            transactions: transactions.clone(),
            config,
            compiler,
            store: Arc::new(store),
            dictionary: Latch::new(os, LatchKind::Innermost, dictionary),
            row_cache_lock: Enqueue::new(os, *b"QQ", WaitEvent::RowCacheLock, ()),
            dead,
            next_number: Shared32::new(last + 1),
            generation: Shared64::new(1),
            opened,
        })
    }

    /// Where the dictionary's tables are made and opened.
    pub(crate) fn ground<'a>(&'a self, session: &'a Session) -> Ground<'a> {
        let Catalog { space, transactions, config, .. } = self;
        Ground { tablespace: &config.tablespace, space, transactions, session }
    }

    /// The version of the dictionary. It is [`DICTIONARY_VERSION_FIRST`] until a statement needs
    /// what came later.
    ///
    /// [`DICTIONARY_VERSION_FIRST`]: crate::DICTIONARY_VERSION_FIRST
    pub fn dictionary_version(&self, session: &Session) -> u32 {
        self.store.version(session)
    }

    /// The generation of the dictionary: a number that goes up with each change of a definition or
    /// of statistics, before and after the change is committed. While it is what it was before a
    /// plan was made, the plan still holds; a caller asks after it has its snapshot (DC40).
    pub fn generation(&self, session: &Session) -> u64 {
        self.generation.load(session)
    }

    /// Begins another generation, and returns its number.
    pub(crate) fn next_generation(&self, session: &Session) -> u64 {
        self.generation.fetch_add(1, session) + 1
    }

    /// The generation in which an object, or its statistics, changed last; 0 if it hasn't since the
    /// opening, none if it isn't there. A plan that was made in this generation or a later one
    /// still holds. Waits while a statement that changes the object commits.
    pub fn version(&self, object: ObjectId, session: &Session) -> Option<u64> {
        self.when_settled(object, session, |dictionary| dictionary.version(object))
    }

    /// Asks the dictionary while no statement that changes the object is about to commit.
    pub(crate) fn when_settled<T>(
        &self,
        object: ObjectId,
        session: &Session,
        ask: impl FnOnce(&Dictionary) -> T,
    ) -> T {
        loop {
            {
                let dictionary = self.dictionary.shared(session);
                if !dictionary.is_changing(object) {
                    return ask(&dictionary);
                }
            }
            drop(self.row_cache_lock.hold(object.number().get().into(), session));
        }
    }

    /// The object of this name, of whichever kind.
    pub fn named(&self, name: &str, session: &Session) -> Option<ObjectId> {
        self.dictionary.shared(session).named(name)
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
            let Catalog { space, transactions, compiler, .. } = self;
            let of = Arc::clone(&definition);
            let opened = Relation::open_with(of, &**compiler, space, transactions, session);
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

    /// Reserves `count` numbers for sequences, views and external tables, and returns the first.
    /// Since the opening none is given twice.
    pub(crate) fn number_objects(&self, count: u32, session: &Session) -> u32 {
        self.next_number.fetch_add(count, session)
    }

    /// The sequence's next value, which no other caller gets (DC7). Of a sequence that was altered
    /// since it was asked for, the next value of the sequence as it is now.
    pub fn next_value(&self, sequence: &Sequence, session: &Session) -> Result<i64, Stop> {
        let Catalog { store, transactions, .. } = self;
        self.with_sequence(sequence, session, |one| one.next(store, transactions, session))
    }

    /// Does `work` with a sequence as it is now. It returns none while the sequence is being
    /// dropped or altered: a drop that isn't committed may be given up, so its end is waited for
    /// (DC29).
    pub(crate) fn with_sequence<T>(
        &self,
        sequence: &Sequence,
        session: &Session,
        work: impl Fn(&Sequence) -> Result<Option<T>, Stop>,
    ) -> Result<T, Stop> {
        let object = sequence.object();
        let mut newer: Option<Arc<Sequence>> = None;
        loop {
            let now = newer.as_deref().unwrap_or(sequence);
            if let Some(done) = work(now)? {
                return Ok(done);
            }
            let changing = self.row_cache_lock.hold_in_call(object.get().into(), session)?;
            let is_dropped = now.is_dropped(session);
            let found = self.dictionary.shared(session).sequence_of(object).cloned();
            drop(changing);
            match found {
                _ if !is_dropped => {}
                Ok(found) if !std::ptr::eq(&*found, now) => newer = Some(found),
                _ => return Err(now.gone()),
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

/// The highest number of a sequence, view or external table.
fn last_number(found: &Definitions) -> u32 {
    let sequences = found.sequences.last_key_value().map(|(object, _)| object);
    let views = found.views.last_key_value().map(|(object, _)| object);
    let externals = found.externals.last_key_value().map(|(object, _)| object);
    let all = [sequences, views, externals].into_iter().flatten();
    all.map(|object| object.get()).max().unwrap_or(0)
}

/// The dictionary in memory, of what was read.
fn in_memory(found: Definitions, session: &Session) -> Dictionary {
    let mut dictionary = Dictionary::default();
    found.tables.into_values().for_each(|table| dictionary.add_table(table));
    for (definition, next) in found.sequences.into_values() {
        dictionary.add_sequence(Arc::new(Sequence::new(definition, next, session)));
    }
    found.views.into_values().for_each(|view| dictionary.add_view(view));
    found.externals.into_values().for_each(|external| dictionary.add_external(external));
    dictionary.comments = found.comments;
    let statistics = found.statistics.into_iter();
    dictionary.statistics = statistics.map(|(table, of)| (table, Arc::new(of))).collect();
    dictionary
}

/// Waits for dead transactions: one of them may have put rows into a segment that is to be dropped
/// (DC6, DC39). Returns false if they take too long, or can't be waited for.
fn wait_for(dead: &[TxnId], ground: Ground<'_>) -> Result<bool, Stop> {
    let Ground { transactions, session, .. } = ground;
    let mut transaction = Transaction::new();
    let waited = transactions.prepare(&mut transaction, 0, session).and_then(|waiter| {
        let wanted = RowWanted { what: RowWait::Row, object: 1, block: DIRECTORY_FIRST, slot: 0 };
        let (lock_wait, began) = (LockWait::For(DEAD_WAIT), session.now());
        let request = RowRequest { waiter, wanted, lock_wait, began };
        let is_active = |dead: &&TxnId| transactions.active().is_active(**dead, session);
        let mut dead = dead.iter().filter(is_active);
        dead.try_for_each(|dead| transactions.wait_for(&[*dead], &request, session))
    });
    transactions.rollback(transaction, session)?;
    match waited {
        Err(stop) if stop.refusal().is_some() => Ok(false),
        waited => waited.map(|()| true),
    }
}

/// Drops segments of users' tables and indexes that no definition names (DC12), and returns how
/// many. Drops too what a crash has left of dictionary's tables that its version doesn't have
/// (DC32).
fn drop_orphans<'a>(
    ground: Ground<'_>,
    tables: impl Iterator<Item = &'a TableDefinition>,
    absent: &[DictionaryTable],
    dead: &[TxnId],
) -> Result<usize, Stop> {
    let Ground { space, session, .. } = ground;
    let segments = tables.flat_map(|table| {
        let indexes = table.indexes.iter().map(|index| index.segment);
        std::iter::once(table.segment).chain(indexes)
    });
    let mut named: BTreeSet<ObjectNo> = segments.collect();
    let is_absent =
        |name: &str| absent.iter().any(|table| table.name() == name || table.index_name() == name);
    let (mut orphans, mut leftovers) = (Vec::new(), Vec::new());
    // A header that can't be read is a fault of its own table only. A segment that is temporary
    // still couldn't be dropped a moment ago.
    for (object, name) in space.names(session) {
        let is_kept = || space.state(object, session) == Some(SegmentState::Permanent);
        if !named.remove(&object) && name.starts_with(NAMED_BY_NUMBER) && is_kept() {
            orphans.push(object);
        } else if is_absent(&name) && is_kept() {
            leftovers.push(object);
        }
    }
    if let Some(lost) = named.first() {
        return Err(corrupt(&format!("segment {lost}, of a table or index, isn't there")));
    }
    if !orphans.is_empty() && !dead.is_empty() && !wait_for(dead, ground)? {
        session.os().notice(&format!(
            "{} segments that no table has are left to the next opening: transactions that may \
             have changed them are still rolled back",
            orphans.len()
        ));
        orphans.clear();
    }
    let mut dropped = 0;
    for orphan in orphans {
        dropped += usize::from(space.drop_leftover(orphan, session)?);
    }
    for leftover in &leftovers {
        space.drop_leftover(*leftover, session)?;
    }
    if dropped > 0 || !leftovers.is_empty() {
        let redo = space.changes().redo();
        redo.make_durable(redo.last_scn(session), session, WaitEvent::LogFileSync)?;
    }
    Ok(dropped)
}
