//! What is there of the tables after a crash.
//!
//! Each table was made by one CREATE TABLE AS, whose commit was acknowledged. So after a crash each
//! has the rows of the file: as many, with the same sums (LB82).
//!
//! Callers: `run`.

use database::{Connection, OwnedValue};
use experiment::Commits;
use stop::{RefusalKind, SqlState, Stop};

use super::load::EXTERNAL;
use super::setting::{BLOCK_SIZES, table_of};

/// What a table has: its rows counted, and three columns added up.
type Content = Vec<OwnedValue>;

/// Counts the loads that are there, in a database that was opened after its crash. Other rows than
/// those of the file are refused as Corrupt.
pub(super) fn audit(connection: &mut Connection<'_>) -> Result<Commits, Stop> {
    let expected = content(connection, EXTERNAL)?;
    let mut found = 0;
    for table in BLOCK_SIZES.map(table_of) {
        match content(connection, &table) {
            Ok(there) => check(&table, &there, &expected)?,
            Err(stop) if stop.state() == SqlState::UNDEFINED_TABLE => continue,
            Err(stop) => return Err(stop),
        }
        found += 1;
    }
    Ok(Commits { acknowledged: BLOCK_SIZES.len() as u64, found })
}

fn content(connection: &mut Connection<'_>, table: &str) -> Result<Content, Stop> {
    let text = format!(
        "select count(*), sum(wr_order_number), sum(wr_return_amt), sum(wr_net_loss) from {table}"
    );
    let mut cursor = connection.query(&text, &[])?;
    let row = cursor.next_row()?.map(database::CursorRow::to_owned);
    Ok(row.unwrap_or_default())
}

fn check(table: &str, there: &[OwnedValue], expected: &[OwnedValue]) -> Result<(), Stop> {
    if there == expected {
        return Ok(());
    }
    let shown = |content: &[OwnedValue]| {
        let values: Vec<String> = content.iter().map(|value| value.get().to_string()).collect();
        values.join(", ")
    };
    let message = format!(
        "table {table} isn't the file's: rows and sums are {} after the crash, and those of the \
         file {}",
        shown(there),
        shown(expected)
    );
    Err(Stop::refuse(RefusalKind::Corrupt, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(rows: i64, sum: i64) -> Content {
        [rows, sum].map(|number| database::Value::Int(number).to_owned()).to_vec()
    }

    #[test]
    fn a_row_less_or_another_value_is_no_load() {
        assert!(check("t", &content(9, 50), &content(9, 50)).is_ok());
        for there in [content(8, 50), content(9, 51), Content::new()] {
            let stop = check("t", &there, &content(9, 50)).expect_err("it is another table");
            assert_eq!(stop.refusal(), Some(RefusalKind::Corrupt), "{there:?}");
        }
    }
}
