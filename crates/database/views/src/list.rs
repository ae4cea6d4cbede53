//! The list of all views, and finding one by its name.
//!
//! Callers: SQL; `dict` and `pg_class`; `docs/VIEWS.md`.

use crate::view::{Schema, View};
use crate::{
    buffers, dictionary, files, information_schema, locks, misc, parameters, pg, recovery,
    sessions, sql_views, statistics, waiting,
};

/// The views, in groups as they are declared; those of the dictionary are three times as many.
static GROUPS: &[&[View]] = &[
    sessions::VIEWS,
    waiting::VIEWS,
    statistics::VIEWS,
    sql_views::VIEWS,
    locks::VIEWS,
    buffers::VIEWS,
    files::VIEWS,
    recovery::VIEWS,
    parameters::VIEWS,
    misc::VIEWS,
];

/// Every view, in the order of the list.
pub fn all() -> impl Iterator<Item = &'static View> {
    let groups = [GROUPS, dictionary::GROUPS, information_schema::GROUPS, pg::GROUPS];
    groups.into_iter().flatten().copied().flatten()
}

/// The view that a name without a schema stands for.
pub fn view(name: &str) -> Option<&'static View> {
    view_in(Schema::PgCatalog.name(), name)
}

/// The view of this name in the schema of this name.
pub fn view_in(schema: &str, name: &str) -> Option<&'static View> {
    all().find(|view| view.name == name && view.schema.name() == schema)
}

/// The place of a view in the list.
pub(crate) fn place_of(wanted: &View) -> usize {
    let is_it = |view: &View| view.name == wanted.name && view.schema == wanted.schema;
    all().position(is_it).expect("every view is in the list")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// A name stands for one view, a column's name for one column; both are what an unquoted name
    /// becomes. Each says what it means.
    #[test]
    fn names_are_unique_and_in_small_letters() {
        let small = |name: &str| {
            let may = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_$#".contains(c);
            name.chars().all(may) && name.starts_with(|c: char| c.is_ascii_lowercase())
        };
        let mut names = BTreeSet::new();
        for one in all() {
            assert!(names.insert((one.schema, one.name)), "{} is declared twice", one.name);
            assert!(small(one.name), "{}", one.name);
            assert!(one.meaning.len() > 10 && !one.meaning.ends_with('.'), "{}", one.name);
            let mut columns = BTreeSet::new();
            for column in one.columns {
                let of = format!("{}.{}", one.name, column.name);
                assert!(columns.insert(column.name), "{of} is declared twice");
                assert!(small(column.name), "{of}");
                // One that has always the same value says it.
                assert!(!column.meaning.is_empty() && !column.meaning.ends_with('.'), "{of}");
            }
        }
    }

    /// A name without a schema is one of `pg_catalog`; `information_schema` has to be named.
    #[test]
    fn a_view_is_found_by_its_name() {
        assert_eq!(view("v$session").map(|view| view.name), Some("v$session"));
        assert_eq!(view_in("pg_catalog", "v$session").map(|view| view.name), Some("v$session"));
        assert!(view("schemata").is_none() && view("V$SESSION").is_none());
        assert!(view_in("information_schema", "schemata").is_some());
        assert!(view_in("public", "v$session").is_none());
        let first = all().next().expect("there are views");
        assert_eq!(place_of(first), 0);
        assert_eq!(first.column(first.columns[1].name), Some(1));
    }
}
