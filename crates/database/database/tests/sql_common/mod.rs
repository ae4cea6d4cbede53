//! A small database for tests of SQL, and rows of it as lines.

use database::{Connection, Database, Error, Options, OwnedValue, Parameters, SqlState, Value};
pub(crate) use testbed::Folder;

/// A database with a small cache, in a folder of this name. The folder goes with it.
pub(crate) struct Small {
    database: Option<Database>,
    _folder: Folder,
}

impl Small {
    pub(crate) fn new(name: &str) -> Small {
        let folder = Folder::absent(name);
        let parameters = Parameters { db_cache_size: 8 << 20, ..Parameters::default() };
        let options = Options { parameters, ..Options::default() };
        let database = Database::create(&folder.0, &options).expect("created");
        Small { database: Some(database), _folder: folder }
    }

    pub(crate) fn connect(&self, name: &str) -> Connection<'static> {
        self.database.as_ref().expect("it is open").connect(name)
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        if let Some(database) = self.database.take()
            && !std::thread::panicking()
        {
            database.shutdown().expect("shut in good order");
        }
    }
}

/// Runs a statement without parameters, and returns how many rows it has changed.
pub(crate) fn run(connection: &mut Connection<'_>, text: &str) -> u64 {
    run_with(connection, text, &[])
}

pub(crate) fn run_with(connection: &mut Connection<'_>, text: &str, binds: &[Value<'_>]) -> u64 {
    let done = connection.execute(text, binds);
    done.unwrap_or_else(|stop| panic!("{text}: {stop}")).rows()
}

/// The rows of a query without parameters, a line for each: values with `|` between them.
pub(crate) fn rows(connection: &mut Connection<'_>, text: &str) -> Vec<String> {
    rows_with(connection, text, &[])
}

pub(crate) fn rows_with(
    connection: &mut Connection<'_>,
    text: &str,
    binds: &[Value<'_>],
) -> Vec<String> {
    let found = found(connection, text, binds);
    found.unwrap_or_else(|stop| panic!("{text}: {stop}"))
}

fn found(
    connection: &mut Connection<'_>,
    text: &str,
    binds: &[Value<'_>],
) -> Result<Vec<String>, Error> {
    let mut lines = Vec::new();
    for row in connection.query(text, binds)? {
        lines.push(line(&row?));
    }
    Ok(lines)
}

/// The one value of a query of one row.
pub(crate) fn value(connection: &mut Connection<'_>, text: &str) -> String {
    let mut rows = rows(connection, text);
    assert_eq!(rows.len(), 1, "{text}: {rows:?}");
    rows.remove(0)
}

/// The SQLSTATE with which a statement, or a query on the way through it, is refused.
pub(crate) fn refused(connection: &mut Connection<'_>, text: &str) -> SqlState {
    refused_with(connection, text, &[])
}

pub(crate) fn refused_with(
    connection: &mut Connection<'_>,
    text: &str,
    binds: &[Value<'_>],
) -> SqlState {
    let is_query = text.trim_start().to_lowercase().starts_with("select");
    let done = match is_query {
        true => found(connection, text, binds).map(|_| ()),
        false => connection.execute(text, binds).map(|_| ()),
    };
    done.expect_err(text).state()
}

pub(crate) fn line(row: &[OwnedValue]) -> String {
    let shown = row.iter().map(|value| match value.get() {
        Value::Text(text) => text.to_string(),
        other => other.to_string(),
    });
    shown.collect::<Vec<_>>().join("|")
}
