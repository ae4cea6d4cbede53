//! Oracle's views of the dictionary: `user_`, `all_` and `dba_`.
//!
//! | view | one row for each |
//! |---|---|
//! | `tables`, `tab_columns` | table, column |
//! | `indexes`, `ind_columns` | index, column of one |
//! | `constraints`, `cons_columns` | constraint, column of one |
//! | `sequences`, `views`, `objects` | sequence, view, object of any kind |
//! | `segments`, `extents` | segment, extent: the only ones that read blocks (VW1) |
//!
//! There is one user, so `all_` has the rows of `dba_`. `user_` has them without what the instance
//! keeps for itself, and without the first columns, which name owners.

mod columns;
mod constraints;
mod indexes;
mod objects;
mod sizes;
mod tables;

/// The views, each kind three times.
pub(crate) const GROUPS: &[&[crate::view::View]] = &[
    tables::VIEWS,
    columns::VIEWS,
    indexes::VIEWS,
    indexes::COLUMN_VIEWS,
    constraints::VIEWS,
    constraints::COLUMN_VIEWS,
    objects::SEQUENCES,
    objects::VIEWS,
    objects::OBJECTS,
    sizes::SEGMENTS,
    sizes::EXTENTS,
];

/// Whose objects a view shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Whose {
    /// Those that users have made.
    Own,
    /// All.
    All,
}

/// Declares the three views of one kind: their name and meaning, about how many rows, the columns,
/// how many of these name owners, and what makes the rows.
macro_rules! of_owners {
    ($name:literal, $meaning:literal, $expected:literal, $columns:ident, $owners:literal,
        $rows:ident) => {
        &[
            View::new(
                concat!("user_", $name),
                $meaning,
                without_first($columns, $owners),
                |engine, give| $rows(Whose::Own, engine, &mut |row| give(&row[$owners..])),
            )
            .expecting($expected),
            View::new(concat!("all_", $name), $meaning, $columns, |engine, give| {
                $rows(Whose::All, engine, give)
            })
            .expecting($expected),
            View::new(concat!("dba_", $name), $meaning, $columns, |engine, give| {
                $rows(Whose::All, engine, give)
            })
            .expecting($expected),
        ]
    };
}

pub(crate) use of_owners;
