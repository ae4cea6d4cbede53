//! The database after each commit: no change was lost, and all constraints hold.
//!
//! Callers: the judge.

use std::collections::BTreeMap;

use super::super::cell::{Cell, Row};
use super::super::known::Txn;
use super::super::schema::Schema;
use super::history::Place;
use super::uniques::two_alike;
use super::{Commit, Round};

type Rows = BTreeMap<Place, Row>;

impl Round<'_, '_> {
    /// Follows the commits, in the order of their SCNs.
    pub(super) fn follow(&self, mut rows: Rows) -> Result<(), (String, Txn)> {
        for commit in &self.commits {
            let Commit { scn, txn, between, .. } = commit;
            let wrong = |what: String| (format!("the commit at {scn}: {what}"), *txn);
            for (place, own) in &commit.rows {
                if rows.get(place) != own.base.as_ref() {
                    return Err(wrong(format!(
                        "{place:?} was {:?} when transaction {txn} had it locked, which had met \
                         {:?}",
                        rows.get(place),
                        own.base
                    )));
                }
            }
            for (place, own) in commit.rows.iter().filter(|(_, own)| own.is_changed) {
                match &own.now {
                    Some(row) => rows.insert(*place, row.clone()),
                    None => rows.remove(place),
                };
            }
            if commit.rows.iter().any(|(_, own)| own.is_changed) {
                check(&self.judge.plan.schema, &rows).map_err(wrong)?;
                for extra in self.surely_unique(between.0, between.1) {
                    let of = rows.range((extra.table, i64::MIN)..=(extra.table, i64::MAX));
                    let of = of.map(|(_, row)| row);
                    let found = two_alike(of, &extra.columns);
                    found.map_or(Ok(()), |two| Err(wrong(format!("by {extra:?}: {two:?}"))))?;
                }
            }
        }
        Ok(())
    }
}

/// Whether all constraints hold.
fn check(schema: &Schema, rows: &Rows) -> Result<(), String> {
    if let Some((place, row)) = rows.iter().find(|(_, row)| !schema.checks(row)) {
        return Err(format!("a CHECK doesn't hold for {place:?}: {row:?}"));
    }
    for columns in &schema.keys()[1..] {
        let mut seen: BTreeMap<(usize, Vec<&Cell>), &Row> = BTreeMap::new();
        for ((table, _), row) in rows {
            let key: Vec<&Cell> = columns.iter().map(|column| &row[*column]).collect();
            if key.iter().any(|cell| cell.is_null()) {
                continue;
            }
            if let Some(other) = seen.insert((*table, key), row) {
                return Err(format!("two rows of table {table} with one key: {other:?}, {row:?}"));
            }
        }
    }
    for one in &schema.references {
        let parents = rows.range((one.to, i64::MIN)..=(one.to, i64::MAX));
        let mut keys: Vec<Cell> = parents.map(|(_, row)| one.referred(row)).collect();
        keys.sort_unstable();
        for ((_, _), child) in rows.range((one.table, i64::MIN)..=(one.table, i64::MAX)) {
            let key = one.refers(child);
            if !key.is_null() && keys.binary_search(&key).is_err() {
                return Err(format!("an orphan: {child:?} refers to none by {one:?}"));
            }
        }
    }
    Ok(())
}
