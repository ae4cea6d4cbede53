//! External tables: rows that lie in files, as tables that aren't stored.
//!
//! The dictionary keeps the text of CREATE EXTERNAL TABLE. It is read again when a statement names
//! the table; the files are opened when that statement runs.
//!
//! Callers: the binder, by way of [`ExternalTables`]; `define`, which makes them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use catalog::{ExternalDefinition, ObjectId};
use latch::Shared64;
use stop::{SqlState, Stop};
use syntax::{CreateExternalTable, ExternalFiles, RejectLimit, Statement};

use super::copy_in::FileRows;
use super::form::Form;
use super::output::full_path;
use super::reader::{FileColumn, Layout};
use super::rejects::RejectRule;
use crate::define::stored;
use crate::engine::ExternalTables;
use crate::names::fold;
use crate::refuse::refuse;
use crate::schema::VirtualTable;

/// External tables whose files have delimiters, as they are or packed by gzip.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileTables;

impl ExternalTables for FileTables {
    fn table(&self, definition: &ExternalDefinition) -> Result<Arc<dyn VirtualTable>, Stop> {
        let parsed = syntax::parse(&definition.options).map_err(Stop::from)?;
        let Statement::CreateExternalTable(create) = parsed.statement else {
            let name = &definition.name;
            let message = format!("the definition of external table {name} isn't one: drop it");
            return Err(refuse(SqlState::DATA_CORRUPTED, message));
        };
        let layout = Arc::new(layout_of(&create)?);
        let rows = FileRows::new(definition.name.clone(), layout);
        Ok(Arc::new(rows.of_object(ObjectId::External(definition.object))))
    }
}

/// What a statement says of the files of an external table.
pub(crate) fn layout_of(create: &CreateExternalTable) -> Result<Layout, Stop> {
    let mut columns: Vec<FileColumn> = Vec::with_capacity(create.columns.len());
    for column in &create.columns {
        let name = fold(&column.name);
        let kind = stored(column.kind, &name)?;
        columns.push(FileColumn { name, kind, not_null: column.not_null });
    }
    let ExternalFiles { directory, paths, options, reject_file, reject_limit } = &create.files;
    let place = |path: &String| place_of(directory.as_deref(), path);
    let limit = match reject_limit {
        None => 0,
        Some(RejectLimit::Lines(lines)) => *lines,
        Some(RejectLimit::Unlimited) => u64::MAX,
    };
    let files: Vec<PathBuf> = paths.iter().map(place).collect::<Result<_, Stop>>()?;
    let file = reject_file.as_ref().map(place).transpose()?;
    if let Some(file) = file.as_ref().filter(|file| files.contains(file)) {
        let message =
            format!("{} can't be the reject file too: its rows lie in it", file.display());
        return Err(refuse(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    let rejects = RejectRule { limit: Some(limit), file };
    let (form, line, asked) = (Form::of(options)?, Shared64::new(0), Shared64::new(0));
    Ok(Layout { columns, form, files, rejects, line, asked })
}

/// The whole path of a file.
fn place_of(directory: Option<&str>, path: &str) -> Result<PathBuf, Stop> {
    match directory {
        Some(directory) if !Path::new(path).is_absolute() => Ok(full_path(directory)?.join(path)),
        _ => full_path(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(text: &str) -> Result<Layout, Stop> {
        let parsed = syntax::parse(text).expect("it is written right");
        let Statement::CreateExternalTable(create) = parsed.statement else {
            panic!("{text} makes an external table")
        };
        layout_of(&create)
    }

    #[test]
    fn paths_are_of_the_directory_unless_they_begin_with_a_slash() {
        let text = "create external table w (a int not null, b varchar(9)) \
                    location ('a.dat', '/e/b.dat') directory '/d' reject file 'bad' reject limit 3";
        let layout = layout(text).expect("right");
        assert_eq!(layout.files, [PathBuf::from("/d/a.dat"), PathBuf::from("/e/b.dat")]);
        let rule = RejectRule { limit: Some(3), file: Some(PathBuf::from("/d/bad")) };
        assert_eq!(layout.rejects, rule);
        let not_null: Vec<bool> = layout.columns.iter().map(|column| column.not_null).collect();
        assert_eq!(not_null, [true, false]);
    }

    #[test]
    fn a_path_without_a_directory_is_refused() {
        let refused = layout("create external table w (a int) location 'a.dat'").err();
        let state = refused.expect("it is no whole path").state();
        assert_eq!(state, SqlState::INVALID_PARAMETER_VALUE);
    }

    /// Rejected lines would take the place of the rows.
    #[test]
    fn a_file_of_rows_is_no_reject_file() {
        let text = "create external table w (a int) location 'a' directory '/d' reject file '/d/a'";
        let state = layout(text).err().expect("the file is both").state();
        assert_eq!(state, SqlState::INVALID_PARAMETER_VALUE);
    }
}
