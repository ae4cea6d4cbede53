//! Everything that a statement could have left, as lines: rows by scans and by each index, the
//! dictionary, locks, snapshots, memory, temporary space.
//!
//! | lines | compared |
//! |---|---|
//! | rows, dictionary | also with another world's |
//! | numbers of objects, moments | with those of the same world |
//! | what is held | with those of the same world: nothing |

use std::collections::BTreeMap;

use database::{Connection, Database, Error, ObjectId, OwnedValue, Value};
use os::Session;
use sim::World;

use crate::bed::{BESIDE, TURNS, free_bytes, say, says};

/// What the dictionary says, but for numbers of objects and moments.
const DICTIONARY: &[(&str, &str)] = &[
    (
        "tables",
        "select table_name, column_count, index_count, num_rows, comments from user_tables \
         order by 1",
    ),
    (
        "columns",
        "select table_name, column_name, data_type, data_length, data_precision, data_scale, \
         nullable, data_default, char_length, identity_column from user_tab_columns \
         order by table_name, column_id",
    ),
    (
        "indexes",
        "select index_name, table_name, uniqueness, constraint_index from user_indexes order by 1",
    ),
    (
        "columns of indexes",
        "select index_name, column_position, column_name, descend, \"nulls\" from user_ind_columns \
         order by 1, 2",
    ),
    (
        "constraints",
        "select table_name, constraint_name, constraint_type, search_condition, \
         r_constraint_name, delete_rule from user_constraints order by 1, 2",
    ),
    (
        "columns of constraints",
        "select constraint_name, \"position\", column_name from user_cons_columns order by 1, 2, 3",
    ),
    (
        "sequences",
        "select sequence_name, min_value, max_value, increment_by, cycle_flag, cache_size, \
         start_value, last_number from user_sequences order by 1",
    ),
    ("views", "select view_name, text from user_views order by 1"),
    ("kinds of objects", "select object_type, object_name from user_objects order by 1, 2"),
];

/// What is its own in each world.
const OF_THIS_WORLD: &[(&str, &str)] = &[
    (
        "numbers of objects",
        "select object_type, object_name, object_id, data_object_id from user_objects \
         order by 1, 2",
    ),
    (
        "statistics",
        "select table_name, blocks, avg_row_len, sample_size, last_analyzed from user_tables \
         order by 1",
    ),
    ("segments", "select segment_name, segment_type from dba_segments order by 1, 2"),
];

/// What sessions hold.
const HELD: &[(&str, &str)] = &[
    ("locks", "select \"type\", id1, id2, lmode, request from v$lock order by 1, 2, 3"),
    ("transactions", "select xidusn, xidslot, xidsqn, status from v$transaction order by 1, 2"),
];

/// What labels of lines begin with.
const ROWS: &str = "rows of ";
const WORLD: &str = "here: ";
const HOLDS: &str = "held: ";

/// Everything, by labels.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Picture(BTreeMap<String, String>);

/// A query's rows, a line for each: values with `|` between them.
pub(crate) fn lines(connection: &mut Connection<'_>, text: &str) -> Result<Vec<String>, Error> {
    let mut lines = Vec::new();
    for row in connection.query(text, &[])? {
        lines.push(line(&row?));
    }
    Ok(lines)
}

fn line(row: &[OwnedValue]) -> String {
    let shown = row.iter().map(|value| match value.get() {
        Value::Text(text) => text.to_string(),
        other => other.to_string(),
    });
    shown.collect::<Vec<_>>().join("|")
}

/// The rows of a query as one text.
fn text_of(connection: &mut Connection<'_>, text: &str) -> Result<String, String> {
    Ok(lines(connection, text).map_err(says(text))?.join("\n"))
}

impl Picture {
    /// Everything, as a session sees it that has nothing open. Nobody works meanwhile.
    pub(crate) fn take(
        observer: &mut Connection<'_>,
        database: &Database,
        world: &World,
        session: &Session,
    ) -> Result<Picture, String> {
        let mut picture = Picture::default();
        for (label, text) in DICTIONARY {
            picture.add(label, text_of(observer, text)?);
        }
        for (label, text) in OF_THIS_WORLD {
            picture.add(&format!("{WORLD}{label}"), text_of(observer, text)?);
        }
        picture.add_said(database, session);
        picture.add_rows(observer, database, session)?;
        picture.add_held(observer, database, world, session)?;
        Ok(picture)
    }

    fn add(&mut self, label: &str, text: String) {
        self.0.insert(label.to_string(), text);
    }

    /// What is said of columns and indexes besides their definitions, and no view shows.
    fn add_said(&mut self, database: &Database, session: &Session) {
        let catalog = database.catalog();
        let (mut comments, mut statistics) = (Vec::new(), Vec::new());
        for table in catalog.definitions(session) {
            let object = ObjectId::Table(table.object);
            for (place, column) in table.columns.iter().enumerate() {
                let comment = catalog.comment(object, Some(place), session);
                comments.extend(comment.map(|it| format!("{}|{}|{it}", table.name, column.name)));
            }
            let of = catalog.statistics(table.object, session);
            let said = of.map(|of| format!("{}|{:?}|{:?}", table.name, of.columns, of.indexes));
            statistics.extend(said);
        }
        self.add("comments on columns", comments.join("\n"));
        self.add(&format!("{WORLD}statistics of columns"), statistics.join("\n"));
    }

    /// The rows of all tables but those of the sessions' turns; each index has them too.
    fn add_rows(
        &mut self,
        observer: &mut Connection<'_>,
        database: &Database,
        session: &Session,
    ) -> Result<(), String> {
        let tables = database.catalog().definitions(session);
        for table in tables.iter().map(|table| table.name.as_str()) {
            if [TURNS, BESIDE].contains(&table) {
                continue;
            }
            let key = |row: &database::Row<'_>| -> Result<(i64, ()), String> {
                let id = row.get_i64(0).ok_or("a primary key is NULL")?;
                Ok((id, ()))
            };
            proof::held(observer, table, key).map_err(|wrong| wrong.0)?;
            let mut rows = lines(observer, &format!("select * from {table}"))
                .map_err(says("rows can't be read"))?;
            rows.sort_unstable();
            self.add(&format!("{ROWS}{table}"), rows.join("\n"));
        }
        Ok(())
    }

    fn add_held(
        &mut self,
        observer: &mut Connection<'_>,
        database: &Database,
        world: &World,
        session: &Session,
    ) -> Result<(), String> {
        let holds = |what: &str| format!("{HOLDS}{what}");
        for (label, text) in HELD {
            self.add(&holds(label), text_of(observer, text)?);
        }
        let instance = database.instance();
        let transactions = instance.transactions();
        // In this order: what is visible may grow meanwhile.
        let visible = transactions.visible(session);
        let is_none = transactions.oldest_snapshot(session) >= visible;
        let snapshots = if is_none { "none" } else { "one is kept" };
        self.add(&holds("snapshots"), snapshots.to_string());
        let granted = instance.work_areas().reading(session).granted_bytes;
        self.add(&holds("memory"), granted.to_string());
        self.add(&holds("temporary space"), free_bytes(world)?.to_string());
        for (label, checked) in [
            ("space", instance.space().check(session).map(drop)),
            ("undo", transactions.undo().check(session).map(drop)),
        ] {
            self.add(&holds(label), checked.err().unwrap_or_else(|| "agrees".to_string()));
        }
        say(observer, "begin")?;
        // Where the table has gone, that is what is told.
        let free = text_of(observer, "select id from t order by id for update skip locked");
        say(observer, "rollback")?;
        self.add(&holds("rows of t that are free"), free.unwrap_or_else(|what| what));
        Ok(())
    }

    /// The same without what is this world's own, and without what sessions hold.
    fn lasting(&self) -> impl Iterator<Item = (&String, &String)> {
        self.0.iter().filter(|(label, _)| !label.starts_with(WORLD) && !label.starts_with(HOLDS))
    }

    /// What differs from what was before.
    pub(crate) fn same_as(&self, before: &Picture) -> Result<(), String> {
        first_difference(before.0.iter(), &before.0, &self.0)
    }

    /// What differs of what lasts.
    pub(crate) fn lasts_as(&self, expected: &Picture) -> Result<(), String> {
        let only = |of: &Picture| -> BTreeMap<String, String> {
            of.lasting().map(|(label, text)| (label.clone(), text.clone())).collect()
        };
        let (expected, found) = (only(expected), only(self));
        first_difference(expected.iter(), &expected, &found)
    }

    /// The same with no rows in this table.
    pub(crate) fn emptied(&self, table: &str) -> Picture {
        let mut picture = self.clone();
        picture.add(&format!("{ROWS}{table}"), String::new());
        picture
    }

    /// The labels whose lines differ from those before.
    pub(crate) fn differing(&self, before: &Picture) -> Vec<String> {
        let all = self.0.keys().chain(before.0.keys());
        let mut labels: Vec<String> =
            all.filter(|label| self.0.get(*label) != before.0.get(*label)).cloned().collect();
        labels.sort_unstable();
        labels.dedup();
        labels
    }
}

fn first_difference<'p>(
    mut labels: impl Iterator<Item = (&'p String, &'p String)>,
    expected: &BTreeMap<String, String>,
    found: &BTreeMap<String, String>,
) -> Result<(), String> {
    if let Some((label, was)) = labels.find(|(label, was)| found.get(*label) != Some(*was)) {
        let is = found.get(label).map_or("nothing", String::as_str);
        return Err(format!("{label}: {}", shown(was, is)));
    }
    match found.keys().find(|label| !expected.contains_key(*label)) {
        None => Ok(()),
        Some(label) => Err(format!("{label} is there: {}", shown("", &found[label]))),
    }
}

/// Lines that are in one text and not in the other.
fn shown(was: &str, is: &str) -> String {
    let without = |of: &str, other: &str| {
        let others: Vec<&str> = other.lines().collect();
        let only: Vec<&str> = of.lines().filter(|line| !others.contains(line)).collect();
        let short = only.iter().take(5).map(|line| line.chars().take(200).collect::<String>());
        format!("{:?}", short.collect::<Vec<_>>())
    };
    format!("{} are gone, {} have come", without(was, is), without(is, was))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_told_by_its_lines() {
        let of = |rows: &str| Picture(BTreeMap::from([("rows of t".to_string(), rows.into())]));
        let (before, after) = (of("1|a\n2|b"), of("1|a\n2|c"));
        let told = after.same_as(&before).expect_err("a row has changed");
        assert_eq!(told, "rows of t: [\"2|b\"] are gone, [\"2|c\"] have come");
        assert_eq!(after.differing(&before), ["rows of t"]);
        assert!(after.same_as(&after).is_ok() && after.lasts_as(&after).is_ok());
        assert!(Picture::default().same_as(&before).is_err(), "what is gone");
        assert!(before.lasts_as(&Picture::default()).is_err(), "what has come");
        assert!(before.emptied("t").lasts_as(&of("")).is_ok());
    }
}
