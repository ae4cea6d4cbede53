//! MERGE.
//!
//! ```text
//!   [WITH ...] MERGE INTO table [[AS] alias] USING {table | (query)} [[AS] alias] ON condition
//!     WHEN MATCHED [AND ...] THEN {UPDATE SET ... | DELETE | DO NOTHING}
//!     WHEN NOT MATCHED [BY TARGET] [AND ...] THEN {INSERT [(columns)] VALUES (...) | DO NOTHING}
//!     WHEN NOT MATCHED BY SOURCE [AND ...] THEN {UPDATE SET ... | DELETE | DO NOTHING}
//!     [RETURNING ...]
//! ```
//!
//! Callers: `statement`.
//! Sources: PostgreSQL's documentation, "MERGE"; Oracle's, for WHERE behind UPDATE and INSERT.

use sqlparser::ast::{Expr, Ident, SelectItem, TableFactor, With};

use crate::assignment::{Assignment, Given};
use crate::error::{SYNTAX_ERROR, SyntaxError};
use crate::insert::Overriding;
use crate::names::Name;
use crate::reader::Reader;

/// MERGE.
#[derive(Clone, PartialEq, Debug)]
pub struct Merge {
    /// The WITH clause.
    pub with: Option<With>,
    /// The table that is changed.
    pub table: Name,
    /// That table's name in the statement.
    pub alias: Option<Ident>,
    /// The table or query whose rows say what to change.
    pub source: TableFactor,
    /// Which rows of the two match.
    pub on: Expr,
    /// What to do; for each row the first clause that applies.
    pub clauses: Vec<MergeClause>,
    /// What the statement gives back of its rows; empty for nothing.
    pub returning: Vec<SelectItem>,
}

/// A WHEN of MERGE.
#[derive(Clone, PartialEq, Debug)]
pub struct MergeClause {
    /// Which rows it is for.
    pub rows: MergeRows,
    /// AND: which of those.
    pub condition: Option<Expr>,
    /// What is done with them.
    pub action: MergeAction,
}

/// The rows that a WHEN of MERGE is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MergeRows {
    /// Pairs of rows that match.
    Matched,
    /// Rows of the source that match no row of the table.
    NotMatchedByTarget,
    /// Rows of the table that match no row of the source.
    NotMatchedBySource,
}

/// What MERGE does with a row.
#[derive(Clone, PartialEq, Debug)]
pub enum MergeAction {
    /// The table's row is updated.
    Update(Vec<Assignment>),
    /// The table's row is deleted.
    Delete,
    /// A row is inserted.
    Insert {
        /// The columns that are given; empty for all.
        columns: Vec<Ident>,
        /// What happens to values that are given for an identity column.
        overriding: Option<Overriding>,
        /// The values; empty for DEFAULT VALUES.
        values: Vec<Given>,
    },
    /// Nothing.
    Nothing,
}

impl Merge {
    pub(crate) fn read(reader: &mut Reader<'_>, with: Option<With>) -> Result<Merge, SyntaxError> {
        reader.expect("merge")?;
        reader.expect("into")?;
        reader.refuse("only")?;
        let table = reader.object("the name of a table")?;
        let alias = reader.alias(&[])?;
        reader.expect("using")?;
        let source = reader.table_factor()?;
        reader.expect("on")?;
        let on = reader.expression()?;
        let clauses = MergeClause::read_all(reader)?;
        let returning = reader.returning()?;
        Ok(Merge { with, table, alias, source, on, clauses, returning })
    }
}

impl MergeClause {
    /// All of them. One behind another that takes all of its rows would never be reached.
    fn read_all(reader: &mut Reader<'_>) -> Result<Vec<MergeClause>, SyntaxError> {
        let mut clauses: Vec<MergeClause> = Vec::new();
        loop {
            let place = reader.place();
            let clause = MergeClause::read(reader)?;
            let takes_all = |one: &MergeClause| one.rows == clause.rows && one.condition.is_none();
            if clauses.iter().any(takes_all) {
                let say = "this WHEN is never reached: one before it takes all of its rows";
                return Err(SyntaxError::new(SYNTAX_ERROR, say).with_position(place));
            }
            clauses.push(clause);
            if !reader.sees("when") {
                return Ok(clauses);
            }
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<MergeClause, SyntaxError> {
        reader.expect("when")?;
        let rows = match () {
            () if reader.take("matched") => MergeRows::Matched,
            () if reader.take("not matched by source") => MergeRows::NotMatchedBySource,
            () if reader.take("not matched by target") => MergeRows::NotMatchedByTarget,
            () if reader.take("not matched") => MergeRows::NotMatchedByTarget,
            () => return Err(reader.wrong()),
        };
        let condition = match reader.take("and") {
            true => Some(reader.expression()?),
            false => None,
        };
        reader.expect("then")?;
        let action = MergeAction::read(reader, rows)?;
        // Oracle's place for the condition.
        let condition = match reader.sees("where") {
            true if condition.is_some() => return Err(reader.unsupported("AND with WHERE")),
            true => reader.filter()?,
            false => condition,
        };
        if reader.sees("delete") {
            return Err(reader
                .unsupported("DELETE WHERE behind UPDATE")
                .with_hint("write WHEN MATCHED AND ... THEN DELETE before it"));
        }
        Ok(MergeClause { rows, condition, action })
    }
}

impl MergeAction {
    fn read(reader: &mut Reader<'_>, rows: MergeRows) -> Result<MergeAction, SyntaxError> {
        let inserts = rows == MergeRows::NotMatchedByTarget;
        match () {
            () if reader.take("do nothing") => Ok(MergeAction::Nothing),
            () if inserts && reader.take("insert") => MergeAction::read_insert(reader),
            () if !inserts && reader.take("update set") => {
                Assignment::read_list(reader).map(MergeAction::Update)
            }
            () if !inserts && reader.take("delete") => Ok(MergeAction::Delete),
            () => Err(reader.wrong()),
        }
    }

    fn read_insert(reader: &mut Reader<'_>) -> Result<MergeAction, SyntaxError> {
        let columns = match reader.sees_open() {
            true => reader.bracketed(|reader| {
                reader.list(|reader| reader.object("the name of a column").map(|name| name.name))
            })?,
            false => Vec::new(),
        };
        let overriding = match () {
            () if reader.take("overriding system value") => Some(Overriding::System),
            () if reader.take("overriding user value") => Some(Overriding::User),
            () => None,
        };
        let values = match reader.take("default values") {
            true => Vec::new(),
            false => {
                reader.expect("values")?;
                reader.bracketed(|reader| reader.list(Given::read))?
            }
        };
        Ok(MergeAction::Insert { columns, overriding, values })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Statement;
    use crate::testing::{refused, statement};

    fn merge(text: &str) -> Merge {
        match statement(text) {
            Statement::Merge(merge) => *merge,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_when_has_its_rows_its_condition_and_its_action() {
        let text = "merge into t as d using (select 1 as i) s on d.i = s.i \
                    when matched and s.x > 1 then update set a = s.a, b = default \
                    when matched then delete \
                    when not matched by source then do nothing \
                    when not matched then insert (i, d.a) values (s.i, default) \
                    returning d.i";
        let found = merge(text);
        let rows: Vec<MergeRows> = found.clauses.iter().map(|clause| clause.rows).collect();
        use MergeRows::{Matched, NotMatchedBySource, NotMatchedByTarget};
        assert_eq!(rows, [Matched, Matched, NotMatchedBySource, NotMatchedByTarget]);
        assert!(found.clauses[0].condition.is_some() && found.clauses[1].condition.is_none());
        assert!(matches!(&found.clauses[0].action, MergeAction::Update(set) if set.len() == 2));
        let MergeAction::Insert { columns, values, .. } = &found.clauses[3].action else {
            panic!("{:?}", found.clauses[3])
        };
        assert_eq!((columns.len(), values.len(), found.returning.len()), (2, 2, 1));
    }

    #[test]
    fn oracles_condition_is_read_as_the_clauses() {
        let text = "merge into t using u on (t.i = u.i) \
                    when matched then update set a = u.a where u.a > 0";
        assert!(merge(text).clauses[0].condition.is_some());
        let text = format!("{text} delete where t.a = 1");
        assert!(refused(&text).contains("WHEN MATCHED AND"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(refused("merge into t using u on t.i = u.i").contains("expected WHEN"));
        let text = "merge into t using u on t.i = u.i when matched then insert values (1)";
        assert!(refused(text).contains("DO NOTHING, UPDATE SET or DELETE"));
        let text = "merge into t using u on t.i = u.i when not matched then do nothing \
                    when matched then delete when matched and u.x = 1 then do nothing";
        assert!(refused(text).contains("never reached"));
    }
}
