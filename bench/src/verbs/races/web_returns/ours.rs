//! Our side of race `web-returns`: an external table over the file, CREATE TABLE AS from it, and
//! queries by the front door.
//!
//! Callers: `web_returns`.

use std::cell::RefCell;
use std::path::Path;
use std::time::Instant;

use bench::race::Metrics;
use database::{Connection, Error, OwnedValue, Value};
use workload::web_returns::{ROWS, columns};

use super::ITEM;
use super::answer::{Answer, plain};
use crate::verbs::races::embedded::{Embedded, with_checkpoint};
use crate::verbs::races::profile::profiled;
use crate::verbs::races::told;

/// A session on the tables.
pub(super) struct Ours<'a> {
    embedded: &'a Embedded,
    connection: RefCell<Connection<'a>>,
}

impl<'a> Ours<'a> {
    /// Makes the tables and fills them: `web_returns` from the file, `item` by a query.
    pub(super) fn load(embedded: &'a Embedded, file: &Path) -> bench::Result<Ours<'a>> {
        let ours = Ours { embedded, connection: RefCell::new(embedded.connect()) };
        let external = format!(
            "create external table web_returns_file ({}) location '{}' \
             format text delimiter '|' null ''",
            columns(),
            file.display()
        );
        ours.execute(&external)?;
        ours.execute("create table web_returns as select * from web_returns_file")?;
        ITEM.iter().try_for_each(|text| ours.execute(text))?;
        ours.execute("analyze web_returns, item")?;
        embedded.checkpoint()?;
        Ok(ours)
    }

    /// The rows of a query.
    pub(super) fn query(&self, text: &str) -> bench::Result<Answer> {
        let mut connection = self.connection.borrow_mut();
        rows(&mut connection, text).map_err(told)
    }

    /// The plan of a query.
    pub(super) fn plan(&self, text: &str) -> bench::Result<String> {
        let lines = self.query(&format!("explain {text}"))?;
        let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
        Ok(format!("plan of ours: {}", lines.join("; ")))
    }

    /// Where the time of a query goes.
    pub(super) fn profile(&self, text: &str) -> bench::Result<String> {
        profiled(&self.embedded.session, || self.query(text).map(drop))
    }

    /// Where the time of a load goes.
    pub(super) fn profile_of_load(&self) -> bench::Result<String> {
        self.forget()?;
        let profile = profiled(&self.embedded.session, || self.load_again());
        self.embedded.checkpoint()?;
        profile
    }

    /// Loads another table from the file, and measures it.
    pub(super) fn measure_load(&self) -> bench::Result<Metrics> {
        self.forget()?;
        let began = Instant::now();
        self.load_again()?;
        let took = began.elapsed();
        with_checkpoint(ROWS as f64 / took.as_secs_f64(), took, || self.embedded.checkpoint())
    }

    fn load_again(&self) -> bench::Result<()> {
        self.execute("create table loaded as select * from web_returns_file")
    }

    /// Drops the table that was loaded before, and writes what that leaves.
    fn forget(&self) -> bench::Result<()> {
        self.execute("drop table if exists loaded")?;
        self.embedded.checkpoint()
    }

    fn execute(&self, text: &str) -> bench::Result<()> {
        self.connection.borrow_mut().execute(text, &[]).map(drop).map_err(told)
    }
}

fn rows(connection: &mut Connection<'_>, text: &str) -> Result<Answer, Error> {
    let mut lines = Vec::new();
    for row in connection.query(text, &[])? {
        lines.push(line(&row?));
    }
    Ok(lines)
}

/// A row as psql shows it: values with `|` between them, and nothing for NULL.
fn line(row: &[OwnedValue]) -> String {
    let shown = row.iter().map(|value| match value.get() {
        Value::Null => String::new(),
        Value::Text(text) => text.to_owned(),
        other => plain(&other.to_string()),
    });
    shown.collect::<Vec<_>>().join("|")
}
