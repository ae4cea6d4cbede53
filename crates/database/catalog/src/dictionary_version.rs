//! The version of a dictionary: which tables it consists of.
//!
//! | version | since | what is new |
//! |---|---|---|
//! | 1 | the first | `_tables` to `_sequences`; no row says the version |
//! | 2 | views and statistics | `_texts`, `_statistics` |
//!
//! ```text
//!   version 1 ── first statement that needs a new table ──▶ tables made, temporary ─▶ kept
//!                                                              └─▶ the row, committed: version 2
//! ```
//!
//! The row is one of `_tables`, with a number that no table has. So a program of version 1, which
//! knows of no version, can't make sense of it, and refuses the database instead of passing over
//! what it doesn't know.
//!
//! Invariants (rules DC32 and DC33)
//!   * the commit of the row is the switch: before it, tables of later versions are nobody's
//!   * a database of version 1 stays one until a statement needs more
//!
//! Callers: `store`, `dictionary_check`.

use stop::{RefusalKind, Stop};
use value::Value;

use crate::dictionary_table::DictionaryTable::Tables;
use crate::rows::{Cells, Row, Rows};

/// The version of a dictionary without a row that says one.
pub const DICTIONARY_VERSION_FIRST: u32 = 1;

/// The newest version, which this program makes.
pub const DICTIONARY_VERSION: u32 = 2;

/// The number in the row, which no table has.
const OBJECT: i64 = 0;

/// The name in the row, which no table has.
const NAME: &str = "_version";

/// The row that says this version.
pub(crate) fn row_of(version: u32) -> Row {
    let values = [Value::Int(OBJECT), Value::Text(NAME), Value::Int(version.into())];
    values.map(Value::to_owned).into()
}

/// The rows with no other row than the one that says this version; none for the first version.
pub(crate) fn rows_of(version: u32) -> Rows {
    let row = (version > DICTIONARY_VERSION_FIRST).then(|| row_of(version));
    row.into_iter().map(|row| ((Tables, vec![OBJECT]), row)).collect()
}

/// Takes the row that says the version away from the others. An error says what is wrong with it.
pub(crate) fn take(rows: &mut Rows) -> Result<u32, String> {
    let Some(row) = rows.remove(&(Tables, vec![OBJECT])) else {
        return Ok(DICTIONARY_VERSION_FIRST);
    };
    let cells = Cells::new(Tables, &row);
    let version = cells.int(2).and_then(|version| u32::try_from(version).ok());
    match version.filter(|version| *version > DICTIONARY_VERSION_FIRST) {
        Some(version) if cells.text(1).as_deref() == Some(NAME) => Ok(version),
        _ => Err(format!("the row [{OBJECT}] of _tables says no version")),
    }
}

/// Refuses a version that this program doesn't know.
pub(crate) fn check_known(version: u32) -> Result<(), Stop> {
    if version <= DICTIONARY_VERSION {
        return Ok(());
    }
    let message = format!(
        "the dictionary of this database has version {version}, and this program knows those up to \
         {DICTIONARY_VERSION}: open the database with a newer program"
    );
    Err(Stop::refuse(RefusalKind::WrongState, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_from_its_row_and_no_row_is_the_first() {
        assert_eq!(take(&mut Rows::new()), Ok(1));
        for version in [2, 3, u32::MAX] {
            let mut rows = rows_of(version);
            assert_eq!(take(&mut rows), Ok(version));
            assert!(rows.is_empty(), "no other code meets the row");
        }
        assert!(rows_of(1).is_empty());
        for (column, value) in [(1, Value::Text("t")), (2, Value::Int(1)), (2, Value::Int(-2))] {
            let mut rows = rows_of(2);
            rows.values_mut().for_each(|row| row[column] = value.to_owned());
            let said = take(&mut rows).expect_err("no version");
            assert!(said.contains("says no version"), "{said}");
        }
    }

    #[test]
    fn a_version_of_the_future_is_refused() {
        assert!(check_known(1).is_ok() && check_known(2).is_ok());
        let refused = check_known(3).expect_err("refused").to_string();
        assert!(refused.contains("version 3") && refused.contains("a newer program"), "{refused}");
    }
}
