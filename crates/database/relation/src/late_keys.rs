//! Late keys: the new keys of a statement over several rows in unique indexes, until its end
//! (RL28).
//!
//! ```text
//!   each row:  its old entry is deleted ─▶ its new key ─▶ memory ──(many)──▶ sort     by index
//!   the end:   entries in the order of their keys ─▶ foreign keys
//! ```
//!
//! So a key may pass from one row to another in whatever order the rows come, and an index never
//! has a key twice.
//!
//! Invariant: a table has late keys only in its unique indexes, and none with a NULL.
//!
//! Callers: `driver`, whose statements have them; `insert`, which puts keys here.

use access::RowAddress;
use ids::ObjectNo;
use os::Session;
use sort::Sorter;
use stop::Stop;

use crate::Relation;
use crate::kept_entries::{Entries, Target};
use crate::load::KeySort;
use crate::scratch::{Relations, Work};
use crate::sort_key::ordered_bytes;

/// The late keys of a statement. Those of an index are in memory, and in a sort once they are many
/// (RL55).
#[derive(Default)]
pub(crate) struct LateKeys<'a>(Vec<LateIndex<'a>>);

/// The late keys of one index.
struct LateIndex<'a> {
    /// The number of its table.
    table: ObjectNo,
    /// Its place in the table's definition.
    index: usize,
    kept: Entries,
    sorter: Option<Sorter<'a>>,
}

impl<'a> LateKeys<'a> {
    /// Takes the new key of a row in the index at this place.
    pub(crate) fn push(
        &mut self,
        relation: &Relation,
        index: usize,
        key: &[u8],
        row: RowAddress,
        relations: &'a dyn Relations,
        session: &'a Session,
    ) -> Result<(), Stop> {
        let table = relation.definition().object;
        let found = self.0.iter().position(|of| (of.table, of.index) == (table, index));
        let at = found.unwrap_or_else(|| {
            self.0.push(LateIndex { table, index, kept: Entries::default(), sorter: None });
            self.0.len() - 1
        });
        let of = &mut self.0[at];
        of.kept.push(key, row);
        match of.kept.is_full() {
            true => of.sort_kept(relation, relations, session),
            false => Ok(()),
        }
    }

    /// Inserts the entries of a table's late keys, index by index. All rows of the statement are
    /// changed.
    pub(crate) fn insert_into(
        &mut self,
        relation: &Relation,
        work: &mut Work<'a>,
    ) -> Result<(), Stop> {
        if self.0.is_empty() {
            return Ok(());
        }
        let table = relation.definition().object;
        let mut own: Vec<_> = self.0.extract_if(.., |of| of.table == table).collect();
        own.sort_unstable_by_key(|of| of.index);
        for of in own {
            let number = of.index;
            of.insert_into(&mut Target { relation, work, number })?;
        }
        Ok(())
    }
}

impl<'a> LateIndex<'a> {
    /// Gives the keys in memory to the sort, if statements have one.
    #[cold]
    fn sort_kept(
        &mut self,
        relation: &Relation,
        relations: &'a dyn Relations,
        session: &'a Session,
    ) -> Result<(), Stop> {
        if self.sorter.is_none() {
            let Some(KeySort { disk, config }) = relations.key_sort() else { return Ok(()) };
            let halt = relation.transactions().changes().halt();
            self.sorter = Some(Sorter::new(disk, config.clone(), halt, session)?);
        }
        let sorter = self.sorter.as_mut().expect("it was made above");
        let mut with_row = Vec::new();
        for entry in self.kept.iter() {
            with_row.clear();
            with_row.extend_from_slice(entry.key);
            with_row.extend_from_slice(&ordered_bytes(entry.row));
            sorter.push(&with_row, &[])?;
        }
        self.kept.clear();
        Ok(())
    }

    fn insert_into(mut self, to: &mut Target<'_, 'a>) -> Result<(), Stop> {
        if self.sorter.is_none() {
            return self.kept.insert_unsorted(to);
        }
        self.sort_kept(to.relation, to.work.relations, to.work.session)?;
        let sorter = self.sorter.expect("it was there above");
        self.kept.insert_sorted(sorter.finish()?, to)
    }
}
