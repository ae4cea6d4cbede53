//! A check of the dictionary's rows that believes none of them. Their bytes may come from anywhere,
//! also from a database that isn't open; contradictions are reported.
//!
//! ```text
//!   rows' bytes ──take──▶ rows ──look──▶ contradictions (`contradictions`)
//!                         └▶ version └──▶ definitions of the tables that none of them is about
//! ```
//!
//! Invariants
//!   * any bytes can be added, and any rows checked: nothing here panics
//!   * everything that keeps the catalog from opening is reported
//!
//! Callers: `verify`.

use std::collections::{BTreeMap, BTreeSet};

use access::RowAddress;
use relation::TableDefinition;
use value::{Damaged, RowLayout, RowView, Value};

use crate::contradictions::{Contradiction, contradictions};
use crate::dictionary_table::DictionaryTable::{
    self, Columns, ConstraintColumns, Constraints, IndexColumns, Indexes, Tables, Texts,
};
use crate::dictionary_version::{self, DICTIONARY_VERSION, DICTIONARY_VERSION_FIRST};
use crate::rows::{self, Row, Rows, beginning, key_of};
use crate::{SequenceDefinition, texts};

/// The rows of the dictionary's tables, and what is wrong with them.
#[derive(Default)]
pub struct DictionaryCheck {
    rows: Rows,
    places: BTreeMap<(DictionaryTable, Vec<i64>), RowAddress>,
    faults: Vec<DictionaryFault>,
}

/// Something that is wrong with the dictionary.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DictionaryFault {
    /// The table of the dictionary.
    pub table: DictionaryTable,
    /// The row, if there is one.
    pub row: Option<RowAddress>,
    /// What is wrong with the row, in a sentence that begins behind its name.
    pub what: String,
}

/// What the dictionary says, as far as it makes sense.
#[derive(Default)]
pub struct DictionaryContents {
    /// Its version. Of one that this program doesn't know nothing else is said, but that.
    pub version: u32,
    /// The tables that make sense.
    pub tables: Vec<TableDefinition>,
    /// The sequences that make sense, each with its next value that no range has yet; none for a
    /// sequence at its end.
    pub sequences: Vec<(SequenceDefinition, Option<i64>)>,
    /// What makes no sense.
    pub faults: Vec<DictionaryFault>,
}

impl DictionaryCheck {
    /// Adds a row of one of the dictionary's tables, by its bytes in this layout.
    pub fn add(
        &mut self,
        table: DictionaryTable,
        layout: &RowLayout,
        at: RowAddress,
        bytes: &[u8],
    ) {
        let row = match read(table, layout, bytes) {
            Ok(row) => row,
            Err(what) => return self.fault(table, Some(at), what),
        };
        let key = (table, key_of(table, &row));
        if let Some(other) = self.places.insert(key.clone(), at) {
            let what = format!("has key {:?}, as the row {other} has", key.1);
            self.fault(table, Some(at), what);
        }
        self.rows.insert(key, row);
    }

    fn fault(&mut self, table: DictionaryTable, row: Option<RowAddress>, what: String) {
        self.faults.push(DictionaryFault { table, row, what });
    }

    /// Checks all rows against each other, and returns what they say.
    pub fn finish(mut self) -> DictionaryContents {
        let version = match dictionary_version::take(&mut self.rows) {
            Ok(version) => version,
            Err(what) => {
                self.fault(Tables, None, format!("can't be understood: {what}"));
                DICTIONARY_VERSION_FIRST
            }
        };
        if version > DICTIONARY_VERSION {
            let what = format!(
                "says that the dictionary has version {version}, and this program knows those up \
                 to {DICTIONARY_VERSION}: check it with a newer program"
            );
            self.fault(Tables, None, what);
            let faults = self.faults;
            return DictionaryContents { version, faults, ..DictionaryContents::default() };
        }
        let has = DictionaryTable::of(version);
        // What an attempt to get a later version has left means nothing.
        self.rows.retain(|(table, _), _| has.contains(table));
        let found = contradictions(&self.rows);
        let spoilt: BTreeSet<i64> = found.iter().filter_map(|one| one.spoils).collect();
        for Contradiction { table, key, what, .. } in found {
            let row = self.places.get(&(table, key)).copied();
            self.fault(table, row, what);
        }
        let mut tables = Vec::new();
        for object in beginning(&self.rows, Tables, &[]).map(|(key, _)| key[0]) {
            if spoilt.contains(&object) {
                continue;
            }
            match rows::read_apart(&rows_of(&self.rows, object)) {
                Ok(found) => tables.extend(found.tables.into_values()),
                Err(what) => {
                    let row = self.places.get(&(Tables, vec![object])).copied();
                    let what = format!("is of a table that isn't whole: {what}");
                    self.faults.push(DictionaryFault { table: Tables, row, what });
                }
            }
        }
        if self.faults.is_empty()
            && let Err(what) = rows::read(&self.rows)
        {
            self.fault(Tables, None, format!("isn't as opening wants it: {what}"));
        }
        let sequences = rows::sequences(&self.rows);
        DictionaryContents { version, tables, sequences, faults: self.faults }
    }
}

/// A row's columns, if they have the values that they must have.
fn read(table: DictionaryTable, layout: &RowLayout, bytes: &[u8]) -> Result<Row, String> {
    let cannot = |damaged: Damaged| format!("can't be read: {damaged}");
    let view = RowView::new(layout, bytes).map_err(cannot)?;
    let mut row = Row::new();
    for (column, (name, _, nullable)) in table.columns().iter().enumerate() {
        let value = view.get(column).map_err(cannot)?;
        if value == Value::Null && !nullable {
            return Err(format!("has no {name}"));
        }
        row.push(value.to_owned());
    }
    Ok(row)
}

/// The rows of one table's definition.
fn rows_of(all: &Rows, object: i64) -> Rows {
    let mut rows = Rows::new();
    let mut add = |table: DictionaryTable, key: &[i64]| {
        let found = beginning(all, table, key).map(|(key, cells)| (key, cells.row()));
        rows.extend(found.map(|(key, row)| ((table, key.to_vec()), row.clone())));
    };
    let direct = [Tables, Columns, Constraints, ConstraintColumns];
    direct.into_iter().for_each(|table| add(table, &[object]));
    [texts::DEFAULT, texts::CHECK].into_iter().for_each(|kind| add(Texts, &[kind, object]));
    for (key, cells) in beginning(all, Indexes, &[]) {
        if cells.int(1) == Some(object) {
            add(Indexes, key);
            add(IndexColumns, key);
        }
    }
    rows
}
