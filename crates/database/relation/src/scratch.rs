//! For whom a statement works, and what it works with: buffers that are used again, so that a row
//! that is found or changed by its key costs no allocation here.
//!
//! Callers: all of this crate; who has sessions.

use std::collections::BTreeMap;
use std::sync::Arc;

use access::HeapInserter;
use ids::ObjectNo;
use os::Session;
use stop::Stop;
use txn::Transaction;
use value::Value;

use crate::Relation;
use crate::change::Assignments;
use crate::foreign::Pending;
use crate::keys::Keys;

/// A session keeps places for inserts into so many tables.
const INSERTERS_MAX: usize = 64;

/// So many bytes a buffer keeps for the statements that follow; one that a longer row, key or list
/// of rows has needed is given back.
pub(crate) const KEPT_BYTES: usize = 32 << 10;

/// So many keeps each of the buffers of rows that are inserted together, of which there are many.
const BATCH_KEPT_BYTES: usize = 1 << 10;

/// How relations are found by the numbers of their tables.
pub trait Relations {
    /// The relation of this table, as it is now; refused if there is none.
    fn relation(&self, object: ObjectNo, session: &Session) -> Result<Arc<Relation>, Stop>;
}

/// For whom a statement works.
pub struct Work<'a> {
    /// Whose changes they are.
    pub transaction: &'a mut Transaction,
    /// The session's buffers.
    pub scratch: &'a mut Scratch,
    /// Other tables, for foreign keys.
    pub relations: &'a dyn Relations,
    /// Who works.
    pub session: &'a Session,
}

/// What a session keeps for its statements, whatever tables they are about: where it inserts, and
/// buffers.
#[derive(Default)]
pub struct Scratch {
    pub(crate) inserters: Inserters,
    /// Bytes of a row as it was, and as it becomes.
    pub(crate) old_row: Vec<u8>,
    pub(crate) new_row: Vec<u8>,
    /// Keys of these.
    pub(crate) old_keys: Keys,
    pub(crate) new_keys: Keys,
    /// Bytes and keys of rows that are inserted together.
    pub(crate) batch: Vec<(Vec<u8>, Keys)>,
    /// Some were put there since what they take was given back.
    has_batch: bool,
    /// A key that is looked for.
    pub(crate) key: Vec<u8>,
    pub(crate) set: Assignments,
    /// What the statement has to look for at its end.
    pub(crate) pending: Pending,
    values: Vec<Value<'static>>,
}

impl Scratch {
    /// How many bytes its buffers of rows and keys take, and what is pending.
    pub fn bytes(&self) -> usize {
        let own = [&self.old_row, &self.new_row, &self.key].map(Vec::capacity);
        let made = self.batch.iter().map(|(row, keys)| row.capacity() + keys.bytes());
        let keys = self.old_keys.bytes() + self.new_keys.bytes();
        let lists = self.set.bytes() + self.pending.bytes();
        own.iter().sum::<usize>() + keys + lists + made.sum::<usize>()
    }

    /// Exchanges the new row and its keys with those of this number among rows that are inserted
    /// together.
    pub(crate) fn swap_with_batch(&mut self, number: usize) {
        self.has_batch = true;
        if number == self.batch.len() {
            self.batch.push(Default::default());
        }
        let (row, keys) = &mut self.batch[number];
        std::mem::swap(&mut self.new_row, row);
        std::mem::swap(&mut self.new_keys, keys);
    }

    /// Gives back what a statement over long rows, or many, has taken (RL11).
    pub(crate) fn shrink(&mut self) {
        let Scratch { old_row, new_row, key, old_keys, new_keys, .. } = self;
        shrink(old_row, KEPT_BYTES);
        shrink(new_row, KEPT_BYTES);
        shrink(key, KEPT_BYTES);
        old_keys.shrink(KEPT_BYTES);
        new_keys.shrink(KEPT_BYTES);
        self.set.shrink(KEPT_BYTES);
        self.pending.shrink(KEPT_BYTES);
        self.shrink_batch();
    }

    /// The same of rows that were inserted together.
    pub(crate) fn shrink_batch(&mut self) {
        if !std::mem::take(&mut self.has_batch) {
            return;
        }
        for (row, keys) in &mut self.batch {
            shrink(row, BATCH_KEPT_BYTES);
            keys.shrink(BATCH_KEPT_BYTES);
        }
    }

    /// Room for values that borrow from anything; given back with [`Scratch::give_values`].
    pub(crate) fn take_values<'a>(&mut self) -> Vec<Value<'a>> {
        emptied(std::mem::take(&mut self.values))
    }

    pub(crate) fn give_values(&mut self, values: Vec<Value<'_>>) {
        self.values = emptied(values);
    }
}

/// Gives a buffer back that takes more than so many bytes.
#[inline]
pub(crate) fn shrink<T>(buffer: &mut Vec<T>, most: usize) {
    if buffer.capacity() * size_of::<T>() > most {
        *buffer = Vec::new();
    }
}

/// The same allocation for values that borrow from something else: a collected vector keeps that of
/// the one it is made of.
pub(crate) fn emptied<'b>(mut values: Vec<Value<'_>>) -> Vec<Value<'b>> {
    values.clear();
    values.into_iter().map(|_| Value::Null).collect()
}

/// Where a session inserts, by the segments of tables.
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
