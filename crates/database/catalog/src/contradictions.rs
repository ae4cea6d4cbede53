//! Contradictions between rows of the dictionary: parts of things that aren't there, gaps, names
//! and segments that occur twice, references to nothing.
//!
//! Opening checks less, and stops at the first thing that it can't make sense of. Here everything
//! is reported, in sentences that begin behind the row ("of _columns, …").
//!
//! Those of texts and statistics are in `text_contradictions`.
//!
//! Callers: `dictionary_check`.

use std::collections::{BTreeMap, BTreeSet};

use relation::is_dropped;

use crate::dictionary_table::DictionaryTable::{
    self, Columns, ConstraintColumns, Constraints, IndexColumns, Indexes, Sequences, Statistics,
    Tables, Texts,
};
use crate::rows::{Cells, Rows, beginning};

/// A row that other rows contradict.
#[derive(Debug)]
pub(crate) struct Contradiction {
    pub(crate) table: DictionaryTable,
    pub(crate) key: Vec<i64>,
    pub(crate) what: String,
    /// The table whose index keys can't be computed any more, if there is one.
    pub(crate) spoils: Option<i64>,
}

/// The rows, and what was found in them.
pub(crate) struct ConsistencyCheck<'r> {
    rows: &'r Rows,
    pub(crate) found: Vec<Contradiction>,
}

/// All contradictions between these rows.
pub(crate) fn contradictions(rows: &Rows) -> Vec<Contradiction> {
    let mut check = ConsistencyCheck { rows, found: Vec::new() };
    check.parts(Columns, Tables);
    check.parts(IndexColumns, Indexes);
    check.parts(Constraints, Tables);
    check.parts(ConstraintColumns, Constraints);
    check.indexes();
    check.has_parts(Tables, Columns);
    check.has_parts(Indexes, IndexColumns);
    check.columns_of_indexes();
    check.identities();
    check.checks();
    check.foreign_keys();
    check.pairs_of_foreign_keys();
    check.texts();
    check.statistics();
    check.duplicates();
    check.found
}

/// The word for what a row of this table describes.
fn thing(table: DictionaryTable) -> &'static str {
    match table {
        Tables => "table",
        Columns | IndexColumns | ConstraintColumns => "column",
        Indexes => "index",
        Constraints => "constraint",
        Sequences => "sequence",
        Texts => "text",
        Statistics => "thing with statistics",
    }
}

fn shown(key: &[i64]) -> String {
    key.iter().map(i64::to_string).collect::<Vec<_>>().join(".")
}

impl<'r> ConsistencyCheck<'r> {
    pub(crate) fn all(
        &self,
        table: DictionaryTable,
    ) -> impl Iterator<Item = (&'r [i64], Cells<'r>)> + use<'r> {
        beginning(self.rows, table, &[])
    }

    pub(crate) fn get(&self, table: DictionaryTable, key: &[i64]) -> Option<Cells<'r>> {
        self.rows.get(&(table, key.to_vec())).map(|row| Cells::new(table, row))
    }

    fn report(&mut self, table: DictionaryTable, key: &[i64], what: String) {
        let spoils = match table {
            Columns => Some(key[0]),
            Indexes => self.get(table, key).and_then(|cells| cells.int(1)),
            IndexColumns => self.get(Indexes, &key[..1]).and_then(|cells| cells.int(1)),
            _ => None,
        };
        self.found.push(Contradiction { table, key: key.to_vec(), what, spoils });
    }

    /// Each row belongs to a thing that is there, and the rows of one thing are numbered from 0.
    fn parts(&mut self, parts: DictionaryTable, of: DictionaryTable) {
        let keys = of.key_columns();
        let mut wanted: (&[i64], i64) = (&[], 0);
        for (key, _) in self.all(parts) {
            let (whole, place) = (&key[..keys], key[keys]);
            if wanted.0 != whole {
                wanted = (whole, 0);
            }
            if self.get(of, whole).is_none() {
                let what = format!("is of {} {}, which isn't there", thing(of), shown(whole));
                self.report(parts, key, what);
            } else if place != wanted.1 {
                let what = format!(
                    "is number {place} of {} {}, where number {} isn't there",
                    thing(of),
                    shown(whole),
                    wanted.1
                );
                self.report(parts, key, what);
            }
            wanted.1 = place.saturating_add(1);
        }
    }

    fn has_parts(&mut self, whole: DictionaryTable, parts: DictionaryTable) {
        for (key, _) in self.all(whole) {
            if beginning(self.rows, parts, key).next().is_none() {
                let what = format!("is of a {} that has no columns", thing(whole));
                self.report(whole, key, what);
            }
        }
    }

    /// Each index belongs to a table that is there, and the indexes of one table are numbered.
    fn indexes(&mut self) {
        let mut by_table: BTreeMap<i64, BTreeMap<i64, &[i64]>> = BTreeMap::new();
        for (key, cells) in self.all(Indexes) {
            let (table, place) = (cells.int(1).unwrap_or(0), cells.int(2).unwrap_or(0));
            if self.get(Tables, &[table]).is_none() {
                let what = format!("is of table {table}, which isn't there");
                self.report(Indexes, key, what);
            } else if by_table.entry(table).or_default().insert(place, key).is_some() {
                let what = format!("is number {place} of table {table}, as another one is");
                self.report(Indexes, key, what);
            }
        }
        for (table, places) in by_table {
            for (wanted, (place, key)) in (0..).zip(places) {
                if place != wanted {
                    let what = format!(
                        "is number {place} of table {table}, where number {wanted} isn't there"
                    );
                    self.report(Indexes, key, what);
                    break;
                }
            }
        }
    }

    fn columns_of_indexes(&mut self) {
        for (key, cells) in self.all(IndexColumns) {
            let index = self.get(Indexes, &key[..1]);
            let Some(table) = index.and_then(|index| index.int(1)) else { continue };
            let column = cells.int(2).unwrap_or(0);
            if self.get(Columns, &[table, column]).is_none() {
                let what = format!(
                    "is of index {}, and of column {column} of table {table}, which isn't there",
                    key[0]
                );
                self.report(IndexColumns, key, what);
            }
        }
    }

    fn identities(&mut self) {
        for (key, cells) in self.all(Columns) {
            let Some(sequence) = cells.int(6) else { continue };
            if self.get(Sequences, &[sequence]).is_none() {
                let what = format!("has numbers of sequence {sequence}, which isn't there");
                // The keys of rows don't depend on it.
                let (table, key) = (Columns, key.to_vec());
                self.found.push(Contradiction { table, key, what, spoils: None });
            }
        }
    }

    /// A column that is there and wasn't dropped; an error says why there is none.
    pub(crate) fn column(&self, table: i64, column: i64) -> Result<Cells<'r>, String> {
        match self.get(Columns, &[table, column]) {
            None => Err(format!("column {column} of table {table}, which isn't there")),
            Some(cells) if cells.text(2).is_some_and(|name| is_dropped(&name)) => {
                Err(format!("column {column} of table {table}, which was dropped"))
            }
            Some(cells) => Ok(cells),
        }
    }

    /// A CHECK reads columns that are there.
    fn checks(&mut self) {
        for (key, cells) in self.all(Constraints) {
            // A condition that can't be read keeps its table from being read, which is reported
            // there.
            let Some(condition) = cells.condition(3) else { continue };
            for column in condition.columns() {
                if let Err(what) = self.column(key[0], column as i64) {
                    self.report(Constraints, key, format!("asks for {what}"));
                }
            }
        }
    }

    /// The columns of a foreign key are those of its indexes, and the two sides' types share keys.
    fn pairs_of_foreign_keys(&mut self) {
        for (key, cells) in self.all(Constraints) {
            let (Some(parent), Some(own), Some(other)) = (cells.int(5), cells.int(4), cells.int(6))
            else {
                continue;
            };
            let pairs: Vec<_> = beginning(self.rows, ConstraintColumns, key)
                .filter_map(|(_, cells)| Some((cells.int(3)?, cells.int(4)?)))
                .collect();
            let (columns, referenced): (Vec<i64>, Vec<i64>) = pairs.iter().copied().unzip();
            let is_there =
                |table: i64, column: &i64| self.get(Columns, &[table, *column]).is_some();
            let all_there = columns.iter().all(|column| is_there(key[0], column))
                && referenced.iter().all(|column| is_there(parent, column));
            if pairs.is_empty() || !all_there {
                // This is reported of the column.
                continue;
            }
            let columns_of = |index: i64| -> Vec<i64> {
                let columns = beginning(self.rows, IndexColumns, std::slice::from_ref(&index));
                columns.filter_map(|(_, cells)| cells.int(2)).collect()
            };
            let of_own = columns_of(own);
            let what = if self.get(Indexes, &[own]).is_some() && !of_own.starts_with(&columns) {
                Some(format!("needs an index that begins with its columns, and {own} doesn't"))
            } else if self.get(Indexes, &[other]).is_some() && columns_of(other) != referenced {
                Some(format!("refers to other columns than index {other} has"))
            } else {
                pairs.iter().find_map(|(own, other)| self.pair(key[0], *own, parent, *other).err())
            };
            if let Some(what) = what {
                self.report(Constraints, key, what);
            }
        }
    }

    fn pair(&self, table: i64, own: i64, parent: i64, other: i64) -> Result<(), String> {
        let kind = |table, column| {
            let cells = self.column(table, column).map_err(|what| format!("has {what}"))?;
            Ok::<_, String>(cells.column_kind())
        };
        match (kind(table, own)?, kind(parent, other)?) {
            (Some(one), Some(two)) if !one.shares_keys_with(two) => {
                Err(format!("has a column that is {one}, and refers by it to one that is {two}"))
            }
            _ => Ok(()),
        }
    }

    fn foreign_keys(&mut self) {
        for (key, cells) in self.all(Constraints) {
            let Some(parent) = cells.int(5) else { continue };
            let said = [(4, key[0], false), (6, parent, true)];
            let wrong = said.into_iter().find_map(|(column, table, unique)| {
                self.index_of(cells.int(column), table, unique).err()
            });
            let gone = self.get(Tables, &[parent]).is_none();
            if gone {
                let what = format!("refers to table {parent}, which isn't there");
                self.report(Constraints, key, what);
            } else if let Some(what) = wrong {
                self.report(Constraints, key, what);
            }
            let mut columns = beginning(self.rows, ConstraintColumns, key).peekable();
            if columns.peek().is_none() {
                self.report(Constraints, key, "is a foreign key without columns".into());
            }
            for (own, cells) in columns {
                for (table, column) in [(key[0], cells.int(3)), (parent, cells.int(4))] {
                    let column = column.unwrap_or(0);
                    if !gone && self.get(Columns, &[table, column]).is_none() {
                        let what =
                            format!("is column {column} of table {table}, which isn't there");
                        self.report(ConstraintColumns, own, what);
                    }
                }
            }
        }
    }

    /// Refuses an index that isn't there, or isn't what a constraint of this table needs.
    fn index_of(&self, index: Option<i64>, table: i64, unique: bool) -> Result<(), String> {
        let index = index.unwrap_or(0);
        match self.get(Indexes, &[index]) {
            None => Err(format!("needs index {index}, which isn't there")),
            Some(cells) if cells.int(1) != Some(table) => {
                Err(format!("needs index {index} of table {table}, which another table has"))
            }
            Some(cells) if unique && cells.flag(5) != Some(true) => {
                Err(format!("refers to index {index}, which isn't unique"))
            }
            Some(_) => Ok(()),
        }
    }

    /// Names and segments occur once.
    fn duplicates(&mut self) {
        let mut segments = BTreeSet::new();
        let mut twice = Vec::new();
        let tables = self.all(Tables).map(|row| (Tables, row, 2));
        let indexes = self.all(Indexes).map(|row| (Indexes, row, 4));
        for (table, (key, cells), column) in tables.chain(indexes) {
            if let Some(segment) = cells.int(column)
                && !segments.insert(segment)
            {
                let what = format!("has segment {segment}, as another one has");
                twice.push((table, key, what));
            }
        }
        let objects = [(Tables, 1), (Sequences, 1), (Texts, 3)];
        let others = [(Indexes, 3), (Constraints, 2)];
        for room in [&objects[..], &others[..]] {
            let mut names = BTreeSet::new();
            for (table, column) in room.iter().copied() {
                for (key, cells) in self.all(table) {
                    if let Some(name) = cells.text(column)
                        && !names.insert(name.clone())
                    {
                        twice.push((table, key, format!("is called {name}, as another one is")));
                    }
                }
            }
        }
        for (table, key, what) in twice {
            // Keys don't depend on it.
            self.found.push(Contradiction { table, key: key.to_vec(), what, spoils: None });
        }
    }
}
