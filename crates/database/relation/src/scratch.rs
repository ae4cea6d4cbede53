//! What a statement works with: its transaction, its session, other relations, and buffers that are
//! used again, so that a row that is found or changed by its key costs no allocation here.
//!
//! Callers: all of this crate; programs that have sessions.

use std::collections::BTreeMap;
use std::sync::Arc;

use access::HeapInserter;
use ids::ObjectNo;
use os::Session;
use stop::Stop;
use txn::Transaction;
use value::Value;

use crate::change::Assignments;
use crate::foreign::Pending;
use crate::keys::Keys;
use crate::{KeySort, Relation};

/// The number of tables for which a session remembers where it inserts (RL11).
const INSERTERS_MAX: usize = 64;

/// The bytes that a buffer keeps for the statements that follow; a larger one is given back (RL23).
pub(crate) const KEPT_BYTES: usize = 32 << 10;

/// The bytes that each buffer of a batch keeps; there are many of them.
const BATCH_KEPT_BYTES: usize = 1 << 10;

/// What a statement asks of the database that its table is in.
pub trait Relations {
    /// The relation of this table, as it is now; refused if there is none.
    fn relation(&self, object: ObjectNo, session: &Session) -> Result<Arc<Relation>, Stop>;

    /// How statements sort the late keys of an index once they are many (RL55). None: late keys
    /// stay in memory, however many there are.
    fn key_sort(&self) -> Option<KeySort<'_>> {
        None
    }
}

/// What a statement works with.
pub struct Work<'a> {
    /// The transaction that the statement belongs to.
    pub transaction: &'a mut Transaction,
    /// The session's buffers.
    pub scratch: &'a mut Scratch,
    /// Other tables, for foreign keys, and how late keys are sorted.
    pub relations: &'a dyn Relations,
    /// The session that runs the statement.
    pub session: &'a Session,
}

/// What a session keeps from statement to statement, on whatever tables: where it inserts, and
/// buffers (RL11).
#[derive(Default)]
pub struct Scratch {
    pub(crate) inserters: Inserters,
    /// The bytes of a row before the change, and after it.
    pub(crate) old_row: Vec<u8>,
    pub(crate) new_row: Vec<u8>,
    /// The keys of the old row, and of the new one.
    pub(crate) old_keys: Keys,
    pub(crate) new_keys: Keys,
    /// The bytes and keys of a batch of rows that are inserted together.
    pub(crate) batch: Vec<(Vec<u8>, Keys)>,
    /// Whether rows were put into the batch since it was last shrunk.
    has_batch: bool,
    /// The key of a search or of an entry.
    pub(crate) key: Vec<u8>,
    pub(crate) assignments: Assignments,
    /// Foreign-key work for the end of the statement.
    pub(crate) pending: Pending,
    values: Vec<Value<'static>>,
}

impl Scratch {
    /// The number of bytes that the buffers of rows, keys and pending keys take.
    pub fn bytes(&self) -> usize {
        let own = [&self.old_row, &self.new_row, &self.key].map(Vec::capacity);
        let made = self.batch.iter().map(|(row, keys)| row.capacity() + keys.bytes());
        let keys = self.old_keys.bytes() + self.new_keys.bytes();
        let lists = self.assignments.bytes() + self.pending.bytes();
        own.iter().sum::<usize>() + keys + lists + made.sum::<usize>()
    }

    /// Exchanges the new row and its keys with those at this place in the batch.
    pub(crate) fn swap_with_batch(&mut self, number: usize) {
        self.has_batch = true;
        if number == self.batch.len() {
            self.batch.push(Default::default());
        }
        let (row, keys) = &mut self.batch[number];
        std::mem::swap(&mut self.new_row, row);
        std::mem::swap(&mut self.new_keys, keys);
    }

    /// Gives back what long rows, or many, have taken of memory (RL23).
    pub(crate) fn shrink(&mut self) {
        let Scratch { old_row, new_row, key, old_keys, new_keys, .. } = self;
        shrink(old_row, KEPT_BYTES);
        shrink(new_row, KEPT_BYTES);
        shrink(key, KEPT_BYTES);
        old_keys.shrink(KEPT_BYTES);
        new_keys.shrink(KEPT_BYTES);
        self.assignments.shrink(KEPT_BYTES);
        self.pending.shrink(KEPT_BYTES);
        self.shrink_batch();
    }

    /// Gives back what long rows of a batch have taken (RL23).
    pub(crate) fn shrink_batch(&mut self) {
        if !std::mem::take(&mut self.has_batch) {
            return;
        }
        for (row, keys) in &mut self.batch {
            shrink(row, BATCH_KEPT_BYTES);
            keys.shrink(BATCH_KEPT_BYTES);
        }
    }

    /// Takes the buffer of values, which may borrow from anything; [`Scratch::give_values`] gives
    /// it back.
    pub(crate) fn take_values<'a>(&mut self) -> Vec<Value<'a>> {
        emptied(std::mem::take(&mut self.values))
    }

    pub(crate) fn give_values(&mut self, values: Vec<Value<'_>>) {
        self.values = emptied(values);
    }
}

/// Frees a buffer that takes more than `most` bytes.
#[inline]
pub(crate) fn shrink<T>(buffer: &mut Vec<T>, most: usize) {
    if buffer.capacity() * size_of::<T>() > most {
        *buffer = Vec::new();
    }
}

/// Empties a buffer, and keeps its allocation for values that borrow from something else: a
/// collected vector reuses that of the one it is made of.
pub(crate) fn emptied<'b>(mut values: Vec<Value<'_>>) -> Vec<Value<'b>> {
    values.clear();
    values.into_iter().map(|_| Value::Null).collect()
}

/// The places where a session inserts, by the segments of tables.
#[derive(Default)]
pub(crate) struct Inserters(BTreeMap<ObjectNo, HeapInserter>);

impl Inserters {
    pub(crate) fn of(&mut self, segment: ObjectNo) -> &mut HeapInserter {
        if self.0.len() >= INSERTERS_MAX && !self.0.contains_key(&segment) {
            self.0.pop_first();
        }
        self.0.entry(segment).or_default()
    }
}
