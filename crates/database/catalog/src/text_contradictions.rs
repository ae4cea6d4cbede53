//! Contradictions of rows of `_texts` and `_statistics` with other rows.
//!
//! Callers: `contradictions`.

use relation::is_dropped;

use crate::contradictions::{ConsistencyCheck, Contradiction};
use crate::dictionary_table::DictionaryTable::{
    Columns, Constraints, Indexes, Sequences, Statistics, Tables, Texts,
};
use crate::rows::Cells;
use crate::statistics::{About, about};
use crate::texts::{self, CHECK, CommentOn, DEFAULT, EXTERNAL, VIEW};
use crate::{Dependency, ObjectId};

impl ConsistencyCheck<'_> {
    /// Each text is of something that is there.
    pub(crate) fn texts(&mut self) {
        for (key, cells) in self.all(Texts) {
            let what = match key[0] {
                VIEW => self.view(cells),
                EXTERNAL => texts::external(cells).map(|_| None),
                DEFAULT => Some(self.default(key)),
                CHECK => Some(self.check_of_text(key, cells)),
                _ => texts::comment_on(cells).map(|on| self.commented(on)),
            };
            let what = match what {
                None => Some("makes no sense".to_string()),
                Some(found) => found,
            };
            let Some(what) = what else { continue };
            // The table of an expression can't be read with it.
            let spoils = matches!(key[0], DEFAULT | CHECK).then_some(key[1]);
            let found = Contradiction { table: Texts, key: key.to_vec(), what, spoils };
            self.found.push(found);
        }
    }

    /// What is wrong with a view, if anything is. None of that if its row makes no sense.
    fn view(&self, cells: Cells<'_>) -> Option<Option<String>> {
        let view = texts::view(cells)?;
        let missing = view.depends_on.iter().find_map(|Dependency { object, columns }| {
            if !self.is_there(*object) {
                return Some(format!(
                    "is of a view that reads {} {}, which isn't there",
                    object.kind(),
                    object.number()
                ));
            }
            let has = |column: &&usize| self.has_column(*object, **column);
            let column = columns.iter().find(|column| !has(column))?;
            Some(format!(
                "is of a view that reads column {column} of {} {}, which isn't there",
                object.kind(),
                object.number()
            ))
        });
        Some(missing)
    }

    fn default(&self, key: &[i64]) -> Option<String> {
        let (table, column) = (key[1], key[2]);
        let Some(cells) = self.get(Columns, &[table, column]) else {
            return Some(format!(
                "is the default of column {column} of table {table}, which isn't there"
            ));
        };
        let has_other = cells.bytes(5).is_some() || cells.int(6).is_some();
        has_other.then(|| {
            format!("is the default of column {column} of table {table}, which has another one")
        })
    }

    fn check_of_text(&self, key: &[i64], cells: Cells<'_>) -> Option<String> {
        let (table, place) = (key[1], key[2]);
        let Some(constraint) = self.get(Constraints, &[table, place]) else {
            return Some(format!("is of constraint {place} of table {table}, which isn't there"));
        };
        if constraint.bytes(3).is_some() || constraint.int(5).is_some() {
            return Some(format!(
                "is of constraint {place} of table {table}, which is no expression"
            ));
        }
        let Some(check) = texts::check_of(cells) else { return Some("makes no sense".into()) };
        let mut columns = check.columns.iter();
        columns.find_map(|column| {
            self.column(table, *column as i64).err().map(|what| format!("asks for {what}"))
        })
    }

    fn commented(&self, on: CommentOn) -> Option<String> {
        let of = || format!("{} {}", on.object.kind(), on.object.number());
        if !self.is_there(on.object) {
            return Some(format!("is a comment on {}, which isn't there", of()));
        }
        let column = on.column.filter(|column| !self.has_column(on.object, *column))?;
        Some(format!("is a comment on column {column} of {}, which isn't there", of()))
    }

    fn is_there(&self, object: ObjectId) -> bool {
        let number = i64::from(object.number().get());
        let found = match object {
            ObjectId::Table(_) => self.get(Tables, &[number]),
            ObjectId::Sequence(_) => self.get(Sequences, &[number]),
            ObjectId::View(_) => self.get(Texts, &[VIEW, number, 0]),
            ObjectId::External(_) => self.get(Texts, &[EXTERNAL, number, 0]),
        };
        found.is_some()
    }

    fn has_column(&self, object: ObjectId, column: usize) -> bool {
        let number = i64::from(object.number().get());
        let count = match object {
            ObjectId::Table(_) => return self.column(number, column as i64).is_ok(),
            ObjectId::Sequence(_) => None,
            ObjectId::View(_) => {
                let cells = self.get(Texts, &[VIEW, number, 0]);
                cells.and_then(texts::view).map(|view| view.columns.len())
            }
            ObjectId::External(_) => {
                let cells = self.get(Texts, &[EXTERNAL, number, 0]);
                cells.and_then(texts::external).map(|external| external.columns.len())
            }
        };
        count.is_some_and(|count| column < count)
    }

    /// Statistics are of tables, columns and indexes that are there.
    pub(crate) fn statistics(&mut self) {
        for (key, cells) in self.all(Statistics) {
            let table = key[0];
            let is_dropped = |cells: Cells<'_>| cells.text(2).is_some_and(|name| is_dropped(&name));
            let what = match about(cells) {
                None => Some("are about nothing".to_string()),
                Some(_) if self.get(Tables, &[table]).is_none() => {
                    Some(format!("are of table {table}, which isn't there"))
                }
                Some(About::Table) => None,
                Some(About::Column(place)) => match self.get(Columns, &[table, place]) {
                    Some(column) if !is_dropped(column) => None,
                    _ => Some(format!("are of column {place} of table {table}, which isn't there")),
                },
                Some(About::Index(index)) => match self.get(Indexes, &[index]) {
                    Some(cells) if cells.int(1) == Some(table) => None,
                    _ => Some(format!("are of index {index} of table {table}, which isn't there")),
                },
            };
            let what = what.map(|what| format!("has statistics that {what}"));
            let found = what.map(|what| Contradiction {
                table: Statistics,
                key: key.to_vec(),
                what,
                spoils: None,
            });
            self.found.extend(found);
        }
    }
}
