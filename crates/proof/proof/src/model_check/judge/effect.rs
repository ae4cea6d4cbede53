//! What a statement makes of rows, foreign keys included.
//!
//! A row that follows a deleted one is deleted, or loses what it refers to, as it is now and not as
//! a snapshot has it (rule relation/RL6). As the statement has it locked when it returns, now is
//! what all commits have left that were called before.
//!
//! Callers: the judge.

use std::collections::BTreeMap;

use database::OnDelete;

use super::super::cell::{Cell, Row};
use super::super::schema::{ID, Schema};
use super::history::{History, Open, Place};

/// What becomes of rows.
#[derive(Default)]
pub(super) struct Effect {
    pub(super) rows: BTreeMap<Place, Option<Row>>,
    pub(super) cascades: u64,
    pub(super) set_null: u64,
}

/// The primary key of a row.
pub(super) fn id(row: &Row) -> i64 {
    row[ID].int().expect("a primary key is a number")
}

impl Effect {
    /// These rows are put in.
    pub(super) fn insert(table: usize, rows: &[Row]) -> Effect {
        let rows = rows.iter().map(|row| ((table, id(row)), Some(row.clone())));
        Effect { rows: rows.collect(), ..Effect::default() }
    }

    /// These rows become those.
    pub(super) fn update(table: usize, pairs: &[(Row, Row)]) -> Effect {
        let gone = pairs.iter().map(|(old, _)| ((table, id(old)), None));
        let mut rows: BTreeMap<Place, Option<Row>> = gone.collect();
        rows.extend(pairs.iter().map(|(_, new)| ((table, id(new)), Some(new.clone()))));
        Effect { rows, ..Effect::default() }
    }

    /// These rows go, and what follows from it.
    pub(super) fn delete(
        table: usize,
        rows: &[Row],
        schema: &Schema,
        history: &History,
        open: &Open,
    ) -> Effect {
        let mut effect = Effect::default();
        let mut left: Vec<(usize, Row)> = rows.iter().map(|row| (table, row.clone())).collect();
        for (table, row) in &left {
            effect.rows.insert((*table, id(row)), None);
        }
        while let Some((table, gone)) = left.pop() {
            for one in schema.references.iter().filter(|one| one.to == table) {
                let key = one.referred(&gone);
                if key.is_null() || one.on_delete == OnDelete::NoAction {
                    continue;
                }
                for child in effect.now(one.table, history, open) {
                    if one.refers(&child) != key {
                        continue;
                    }
                    let place = (one.table, id(&child));
                    if one.on_delete == OnDelete::Cascade {
                        effect.rows.insert(place, None);
                        effect.cascades += 1;
                        left.push((one.table, child));
                    } else {
                        let mut cells = child.to_vec();
                        cells[one.column] = Cell::Null;
                        effect.rows.insert(place, Some(cells.into()));
                        effect.set_null += 1;
                    }
                }
            }
        }
        effect
    }

    /// All rows of a table as they are after what was done so far.
    fn now(&self, table: usize, history: &History, open: &Open) -> Vec<Row> {
        let others = open.rows(history, table, u64::MAX).into_iter();
        let others = others.filter(|row| !self.rows.contains_key(&(table, id(row)))).cloned();
        let own = self.rows.range((table, i64::MIN)..=(table, i64::MAX));
        others.chain(own.filter_map(|(_, row)| row.clone())).collect()
    }
}
