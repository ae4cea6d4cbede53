//! EXPLAIN.
//!
//! ```text
//!   EXPLAIN [ANALYZE] [VERBOSE] statement
//!   EXPLAIN (option [value], ...) statement     ANALYZE, FORMAT {TEXT | JSON}, VERBOSE, BUFFERS,
//!                                               COSTS, TIMING, SUMMARY
//!   EXPLAIN PLAN FOR statement                  Oracle's form
//! ```
//!
//! Callers: `statement`.
//! Sources: PostgreSQL's documentation, "EXPLAIN".

use crate::error::{INVALID_PARAMETER, SyntaxError};
use crate::file_options::flag;
use crate::lexer::lex;
use crate::reader::{Reader, Written};
use crate::statement::{Statement, data_statement, statement};

/// EXPLAIN.
#[derive(Clone, PartialEq, Debug)]
pub struct Explain {
    /// Whether the statement is executed and measured.
    pub analyze: bool,
    /// The form of what it says.
    pub format: ExplainFormat,
    /// Whether it says everything that it knows.
    pub verbose: bool,
    /// Whether it says what is expected: costs and numbers of rows.
    pub costs: bool,
    /// Whether it says the gets and reads of each row source, with memory and temporary space.
    pub buffers: bool,
    /// Whether it says the time of each row source.
    pub timing: bool,
    /// Whether it says how long the statement took, and its planning; none: if it is measured.
    pub summary: Option<bool>,
    /// The statement: one that reads or changes rows, CREATE TABLE AS, or EXECUTE.
    pub statement: Box<Statement>,
    /// The statement's own text, with a hint that stands before it.
    pub text: String,
}

/// The form of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ExplainFormat {
    /// Lines for people.
    #[default]
    Text,
    /// JSON, for programs.
    Json,
}

impl Explain {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Explain, SyntaxError> {
        reader.expect("explain")?;
        let (mut analyze, mut verbose, mut format) = (false, false, ExplainFormat::Text);
        let (mut costs, mut buffers, mut timing, mut summary) = (true, true, true, None);
        let begins_with_options = reader.sees_open() && !reader.sees_query_in_brackets();
        match () {
            () if begins_with_options => reader
                .bracketed(|reader| {
                    reader.list(|reader| {
                        match () {
                            () if reader.take("analyze") => analyze = flag(reader)?,
                            () if reader.take("verbose") => verbose = flag(reader)?,
                            () if reader.take("format") => format = ExplainFormat::read(reader)?,
                            () if reader.take("costs") => costs = flag(reader)?,
                            () if reader.take("buffers") => buffers = flag(reader)?,
                            () if reader.take("timing") => timing = flag(reader)?,
                            () if reader.take("summary") => summary = Some(flag(reader)?),
                            () => {
                                reader.refuse("settings, wal, generic_plan, memory, serialize")?;
                                return Err(reader.wrong());
                            }
                        }
                        Ok(())
                    })
                })
                .map(|_| ())?,
            () if reader.take("plan for") => {}
            () => {
                reader.refuse("plan set, plan into")?;
                analyze = reader.take("analyze") || reader.take("analyse");
                verbose = reader.take("verbose");
            }
        }
        let Written { tree, text } = reader.written(explainable)?;
        let statement = Box::new(tree);
        // Without the hint it would be another statement's text.
        let has_hint = |text: &str| lex(text).is_ok_and(|lexed| lexed.asks_append);
        let text = match reader.asks_append && !has_hint(&text) {
            true => format!("/*+ append */ {text}"),
            false => text,
        };
        Ok(Explain { analyze, format, verbose, costs, buffers, timing, summary, statement, text })
    }
}

/// A statement that has a plan.
fn explainable(reader: &mut Reader<'_>) -> Result<Statement, SyntaxError> {
    let has_plan = match reader.word() {
        Some("execute") => true,
        Some("create") => return create_table_as(reader),
        Some("select" | "values" | "table" | "with" | "insert" | "update" | "delete" | "merge") => {
            return data_statement(reader);
        }
        _ => false,
    };
    match () {
        () if has_plan => statement(reader),
        () if reader.sees_open() => data_statement(reader),
        () => Err(reader.wrong_for("a statement with a plan")),
    }
}

fn create_table_as(reader: &mut Reader<'_>) -> Result<Statement, SyntaxError> {
    use crate::create_table::TableContent;
    let place = reader.place();
    match statement(reader)? {
        Statement::CreateTable(create) if matches!(create.content, TableContent::Query { .. }) => {
            Ok(Statement::CreateTable(create))
        }
        other => {
            let say = format!("{} has no plan", other.tag());
            Err(SyntaxError::new(INVALID_PARAMETER, say).with_position(place))
        }
    }
}

impl ExplainFormat {
    fn read(reader: &mut Reader<'_>) -> Result<ExplainFormat, SyntaxError> {
        reader.refuse("xml, yaml")?;
        match () {
            () if reader.take("json") => Ok(ExplainFormat::Json),
            () if reader.take("text") => Ok(ExplainFormat::Text),
            () => Err(reader.wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{refused, statement};
    use crate::{RowLock, parse};

    fn explain(text: &str) -> Explain {
        match statement(text) {
            Statement::Explain(explain) => *explain,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn options_are_written_before_or_in_brackets() {
        let found = explain("explain select 1");
        assert!(!found.analyze && !found.verbose && found.format == ExplainFormat::Text);
        assert!(explain("explain analyze verbose delete from t").verbose);
        let found = explain("explain (analyze, format json, buffers off, timing) (select 1)");
        assert!(found.analyze && found.format == ExplainFormat::Json);
        assert_eq!(found.text, "(select 1)");
        assert!(!found.buffers && found.timing && found.costs && found.summary.is_none());
        let found = explain("explain (costs off, timing off, summary) select 1");
        assert!(!found.costs && !found.timing && found.summary == Some(true));
        assert!(!explain("explain (analyze false) select 1").analyze);
        assert!(!explain("explain plan for update t set a = 1").analyze);
        assert!(matches!(*explain("explain (select 1)").statement, Statement::Query(_)));
        let found = *explain("explain create table t as select 1").statement;
        assert!(matches!(found, Statement::CreateTable(_)));
        assert!(matches!(*explain("explain execute p (1)").statement, Statement::Execute(_)));
    }

    #[test]
    fn the_statement_has_its_lock_and_its_binds() {
        let found = explain("explain select * from t for update");
        let Statement::Query(query) = *found.statement else { panic!() };
        assert_eq!(query.locking.map(|locking| locking.lock), Some(RowLock::Update));
        assert_eq!(parse("explain select ?").expect("sound").binds.count(), 1);
    }

    #[test]
    fn the_text_is_the_statements_with_its_hint() {
        for (text, own) in [
            ("explain analyze select 1 ;", "select 1"),
            ("explain insert into t select 1", "insert into t select 1"),
            (
                "explain /*+ Append */ insert into t select 1",
                "/*+ append */ insert into t select 1",
            ),
            (
                "explain insert /*+ Append */ into t select 1",
                "insert /*+ Append */ into t select 1",
            ),
            ("explain select 1 from only (t)", "select 1 from only (t)"),
        ] {
            assert_eq!(explain(text).text, own);
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(refused("explain").contains("a statement with a plan"));
        assert!(refused("explain explain select 1").contains("a statement with a plan"));
        assert!(refused("explain create table t (a int)").contains("has no plan"));
        assert!(refused("explain (format xml) select 1").contains("XML isn't supported"));
        assert!(refused("explain (anlyze) select 1").contains("expected ANALYZE, VERBOSE"));
    }
}
