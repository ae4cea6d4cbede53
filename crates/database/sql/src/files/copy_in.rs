//! COPY FROM: an INSERT of the rows that a file has.
//!
//! ```text
//!   COPY t (a, b) FROM 'f' WHERE …  ─▶  INSERT INTO t (a, b) SELECT a, b FROM the file WHERE …
//! ```
//!
//! So defaults, constraints and the direct path are those of INSERT: many rows into a table without
//! blocks are loaded. Values are given to identities as they are in the file.
//!
//! Callers: the session.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use catalog::ObjectId;
use ids::ObjectNo;
use latch::Shared64;
use relation::{ColumnDefinition, TableDefinition};
use sqlparser::ast::{Expr, Ident};
use stop::{SqlState, Stop, did_you_mean};
use syntax::{Compression, Copy, CopyEnd, CopyWhat, quote_ident};

use super::form::Form;
use super::output::full_path;
use super::reader::{FileColumn, FileReader, Layout};
use super::rejects::RejectRule;
use crate::bind::Binder;
use crate::dictionary::Dictionary;
use crate::engine::Frame;
use crate::names::{Name, fold};
use crate::plan::{Plan, plan_statement};
use crate::refuse::refuse;
use crate::run::{Opened, Ran};
use crate::schema::{
    Found, Schema, VirtualColumn, VirtualContext, VirtualReader, VirtualTable, give_each,
};
use crate::session::{Outcome, TRIES, Written, changes_all_the_time};

/// The name of the file's rows in the INSERT. No other statement finds them by it.
const SCHEMA: &str = "forebay copy";
const ROWS: &str = "rows";

/// How many rows a file is taken to have: it is read to load many.
const ROWS_EXPECTED: f64 = 1e6;

impl Frame<'_> {
    /// COPY.
    pub(crate) fn copy(&mut self, copy: &Copy, written: Written<'_>) -> Result<Outcome, Stop> {
        written.check()?;
        let form = Form::of(&copy.options)?;
        match &copy.what {
            CopyWhat::Into { table, columns } => {
                self.copy_into(&Name::of_users(table)?, columns, copy, form)
            }
            CopyWhat::OutOf { .. } | CopyWhat::Query(_) => self.copy_out(copy, &form, written),
        }
    }

    fn copy_into(
        &mut self,
        table: &str,
        columns: &[Ident],
        copy: &Copy,
        form: Form,
    ) -> Result<Outcome, Stop> {
        let files: Vec<PathBuf> = match &copy.end {
            CopyEnd::File(path) => vec![full_path(path)?],
            CopyEnd::Client if form.compression == Some(Compression::Gzip) => {
                let message =
                    "COPY FROM STDIN isn't unpacked here: the client unpacks what it sends";
                return Err(refuse(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
            CopyEnd::Client => Vec::new(),
        };
        let relation = self.catalog.relation(table, self.session)?;
        let columns = columns_of(relation.definition(), columns)?;
        drop(relation);
        let text = insert_text(table, &columns, copy.filter.as_ref());
        let (rejects, line, asked) = (RejectRule::default(), Shared64::new(0), Shared64::new(0));
        let layout = Layout { columns, form, files, rejects, line, asked };
        let rows = Arc::new(FileRows::new(ROWS.to_string(), Arc::new(layout)));
        let done = self.copy_by(&text, &rows);
        let layout = &rows.layout;
        done.map_err(|stop| match layout.line.load(self.session) {
            0 => stop,
            line => {
                let file = layout.file_name(0);
                let say = format!("{file} was read up to line {line}");
                stop.map_refusal(|refusal| refusal.saying(&say))
            }
        })
    }

    /// Runs the INSERT.
    fn copy_by(&mut self, text: &str, rows: &Arc<FileRows>) -> Result<Outcome, Stop> {
        for _ in 0..TRIES {
            let plan = self.plan_copy(text, rows)?;
            let opened = Rc::new(Opened::open(Arc::new(plan), self.catalog, self.session)?);
            if let Ran::Done(changed) = self.changed(&opened, &[], None)? {
                return Ok(Outcome { rows: changed.rows, ..Outcome::done("COPY") });
            }
        }
        Err(changes_all_the_time())
    }

    fn plan_copy(&self, text: &str, rows: &Arc<FileRows>) -> Result<Plan, Stop> {
        let parsed = syntax::parse(text).map_err(Stop::from)?;
        let ground = self.ground();
        let generation = ground.catalog.generation(ground.session);
        let schema = WithRows { dictionary: ground.dictionary(), rows };
        let bound = Binder::new(&schema, 0).statement(&parsed.statement);
        // A place would be one of the INSERT, which nobody has written.
        let bound = bound.map_err(|refused| refused.elsewhere().within(text))?;
        let methods = self.state.own.settings.used.methods;
        Ok(plan_statement(bound, generation, ground.surroundings(methods)))
    }
}

/// The columns of the file: those that are named, or all.
fn columns_of(definition: &TableDefinition, named: &[Ident]) -> Result<Vec<FileColumn>, Stop> {
    let there = || definition.columns.iter().filter(|column| !column.is_dropped());
    let of = |column: &ColumnDefinition| FileColumn {
        name: column.name.clone(),
        kind: column.kind,
        // That is a matter of the INSERT, which says the constraint.
        not_null: false,
    };
    if named.is_empty() {
        return Ok(there().map(of).collect());
    }
    let mut columns: Vec<FileColumn> = Vec::with_capacity(named.len());
    for ident in named {
        let name = fold(ident);
        let Some(found) = there().find(|column| column.name == name) else {
            let meant = did_you_mean(&name, there().map(|column| column.name.as_str()));
            let message = format!("table {} has no column {name}{meant}", definition.name);
            return Err(refuse(SqlState::UNDEFINED_COLUMN, message));
        };
        if columns.iter().any(|column| column.name == name) {
            let message = format!("column {name} is named twice");
            return Err(refuse(SqlState::DUPLICATE_COLUMN, message));
        }
        columns.push(of(found));
    }
    Ok(columns)
}

fn insert_text(table: &str, columns: &[FileColumn], filter: Option<&Expr>) -> String {
    let names: Vec<_> = columns.iter().map(|column| quote_ident(&column.name)).collect();
    let (table, names) = (quote_ident(table), names.join(", "));
    let filter = filter.map(|filter| format!(" where {filter}")).unwrap_or_default();
    format!(
        "insert into {table} ({names}) overriding system value \
         select {names} from \"{SCHEMA}\".\"{ROWS}\"{filter}"
    )
}

/// The rows of files, as a table that isn't stored.
pub(super) struct FileRows {
    name: String,
    columns: Vec<VirtualColumn>,
    layout: Arc<Layout>,
    object: Option<ObjectId>,
}

impl FileRows {
    pub(super) fn new(name: String, layout: Arc<Layout>) -> FileRows {
        let column = |column: &FileColumn| VirtualColumn {
            name: Cow::Owned(column.name.clone()),
            kind: column.kind,
        };
        let columns = layout.columns.iter().map(column).collect();
        FileRows { name, columns, layout, object: None }
    }

    /// The same, of this object of the dictionary.
    pub(super) fn of_object(self, object: ObjectId) -> FileRows {
        FileRows { object: Some(object), ..self }
    }
}

impl fmt::Debug for FileRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileRows of {}", self.layout.file_name(0))
    }
}

impl VirtualTable for FileRows {
    fn schema(&self) -> &str {
        ""
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }

    fn object(&self) -> Option<ObjectId> {
        self.object
    }

    fn rows_expected(&self) -> f64 {
        ROWS_EXPECTED
    }

    fn rows(
        &self,
        of: &VirtualContext<'_>,
        give: &mut dyn FnMut(&[value::Value<'_>]) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let all: Vec<usize> = (0..self.columns.len()).collect();
        give_each(&mut FileReader::new(&self.layout, &all), all.len(), of, give)
    }

    fn reader(&self, columns: &[usize]) -> Option<Box<dyn VirtualReader>> {
        Some(Box::new(FileReader::new(&self.layout, columns)))
    }
}

/// The dictionary, with the rows of a file under their name.
struct WithRows<'a> {
    dictionary: Dictionary<'a>,
    rows: &'a Arc<FileRows>,
}

impl Schema for WithRows<'_> {
    fn find(&self, name: &Name) -> Result<Option<Found>, Stop> {
        if name.schema.as_deref() == Some(SCHEMA) {
            let rows = Arc::clone(self.rows);
            return Ok(Some(Found::Virtual(rows)));
        }
        self.dictionary.find(name)
    }

    fn sequence(&self, name: &str) -> Result<Option<ObjectNo>, Stop> {
        self.dictionary.sequence(name)
    }

    fn names(&self) -> Vec<String> {
        self.dictionary.names()
    }
}

#[cfg(test)]
mod tests {
    use value::Type;

    use super::*;

    #[test]
    fn a_copy_is_an_insert_of_the_files_rows() {
        let column =
            |name: &str| FileColumn { name: name.to_string(), kind: Type::BigInt, not_null: false };
        let text = insert_text("t", &[column("a"), column("Odd one")], None);
        let expected = "insert into t (a, \"Odd one\") overriding system value \
                        select a, \"Odd one\" from \"forebay copy\".\"rows\"";
        assert_eq!(text, expected);
        assert!(syntax::parse(&text).is_ok(), "{text}");
    }
}
