//! ANALYZE.
//!
//! ```text
//!   ANALYZE [VERBOSE] [table [(columns)], ...] [SAMPLE n PERCENT]
//!   ANALYZE TABLE table {COMPUTE STATISTICS | ESTIMATE STATISTICS [SAMPLE n PERCENT]
//!                        | DELETE STATISTICS}
//! ```
//!
//! Callers: `statement`.
//! Sources: PostgreSQL's and Oracle's documentation, "ANALYZE".

use sqlparser::ast::Ident;

use crate::error::{INVALID_PARAMETER, SyntaxError};
use crate::names::Name;
use crate::reader::Reader;

/// ANALYZE.
#[derive(Clone, PartialEq, Debug)]
pub struct Analyze {
    /// The tables; none for all.
    pub tables: Vec<AnalyzeTable>,
    /// What is done.
    pub how: AnalyzeHow,
}

/// A table whose statistics are gathered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnalyzeTable {
    /// The table.
    pub name: Name,
    /// The columns; empty for all.
    pub columns: Vec<Ident>,
}

/// What ANALYZE does.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum AnalyzeHow {
    /// Looks at as much as the engine thinks fit.
    AsFit,
    /// Looks at all rows.
    All,
    /// Looks at this part of the blocks, in percent.
    Sample(f64),
    /// Forgets the statistics.
    Delete,
}

impl Analyze {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Analyze, SyntaxError> {
        if !reader.take("analyze") {
            reader.expect("analyse")?;
        }
        reader.refuse("index, cluster")?;
        let is_oracles = reader.take("table");
        reader.take("verbose");
        let tables = match is_oracles || reader.sees_name_but(&["sample"]) {
            true => reader.list(AnalyzeTable::read)?,
            false => Vec::new(),
        };
        let how = match () {
            () if reader.take("compute statistics") => AnalyzeHow::All,
            () if reader.take("estimate statistics") => sample(reader)?,
            () if reader.take("delete statistics") => AnalyzeHow::Delete,
            () => sample(reader)?,
        };
        Ok(Analyze { tables, how })
    }
}

impl AnalyzeTable {
    fn read(reader: &mut Reader<'_>) -> Result<AnalyzeTable, SyntaxError> {
        let name = reader.object("the name of a table")?;
        reader.refuse("partition, validate, list")?;
        let columns = match reader.sees_open() {
            true => reader.names("the name of a column")?,
            false => Vec::new(),
        };
        Ok(AnalyzeTable { name, columns })
    }
}

/// SAMPLE n PERCENT, if it is there.
fn sample(reader: &mut Reader<'_>) -> Result<AnalyzeHow, SyntaxError> {
    if !reader.take("sample") {
        return Ok(AnalyzeHow::AsFit);
    }
    let place = reader.place();
    let Some(digits) = reader.take_digits() else {
        return Err(reader.wrong_for("a number of percent"));
    };
    let percent: f64 = digits.parse().unwrap_or(f64::NAN);
    let is_possible = percent > 0.0 && percent <= 100.0;
    if !is_possible {
        let say = format!("a sample of {digits} percent isn't possible: it is above 0, up to 100");
        return Err(SyntaxError::new(INVALID_PARAMETER, say).with_position(place));
    }
    reader.expect("percent")?;
    Ok(AnalyzeHow::Sample(percent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Statement;
    use crate::testing::{refused, statement};

    fn analyze(text: &str) -> Analyze {
        match statement(text) {
            Statement::Analyze(analyze) => analyze,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn all_or_some_tables_are_looked_at() {
        let found = analyze("analyze");
        assert_eq!((found.tables.len(), found.how), (0, AnalyzeHow::AsFit));
        let found = analyze("analyze verbose a (x, y), s.b");
        assert_eq!((found.tables.len(), found.tables[0].columns.len()), (2, 2));
        assert_eq!(analyze("analyze t sample 2.5 percent").how, AnalyzeHow::Sample(2.5));
        assert_eq!(analyze("analyze table t compute statistics").how, AnalyzeHow::All);
        assert_eq!(analyze("analyze table t delete statistics").how, AnalyzeHow::Delete);
        let found = analyze("analyze table t estimate statistics sample 10 percent").how;
        assert_eq!(found, AnalyzeHow::Sample(10.0));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(refused("analyze t sample 0 percent").contains("up to 100"));
        assert!(refused("analyze t sample x").contains("a number of percent"));
        assert!(refused("analyze index i").contains("INDEX isn't supported"));
    }
}
