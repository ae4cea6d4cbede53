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
use crate::change::Set;
use crate::foreign::Pending;
use crate::keys::Keys;

/// A session keeps places for inserts into so many tables.
const INSERTERS_MAX: usize = 64;

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
    pub(crate) made: Vec<(Vec<u8>, Keys)>,
    /// A key that is looked for.
    pub(crate) key: Vec<u8>,
    pub(crate) set: Set,
    /// What the statement has to look for at its end.
    pub(crate) pending: Pending,
    values: Vec<Value<'static>>,
}

impl Scratch {
    /// Exchanges the new row and its keys with those of this number among rows that are inserted
    /// together.
    pub(crate) fn swap_made(&mut self, number: usize) {
        if number == self.made.len() {
            self.made.push(Default::default());
        }
        let (row, keys) = &mut self.made[number];
        std::mem::swap(&mut self.new_row, row);
        std::mem::swap(&mut self.new_keys, keys);
    }

    /// Room for values that borrow from anything; given back with [`Scratch::give_values`].
    pub(crate) fn take_values<'a>(&mut self) -> Vec<Value<'a>> {
        emptied(std::mem::take(&mut self.values))
    }

    pub(crate) fn give_values(&mut self, values: Vec<Value<'_>>) {
        self.values = emptied(values);
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
