//! What is said of objects besides their definitions: comments, and statistics.
//!
//! Neither changes a definition: nothing becomes stale, and no lock is needed. New statistics begin
//! another generation, so that plans are made again (DC40).
//!
//! Callers: SQL.

use std::collections::BTreeMap;
use std::sync::Arc;

use ids::ObjectNo;
use os::Session;
use relation::TableDefinition;
use stop::{RefusalKind, Stop};
use txn::LockWait;

use crate::definition_names::place_of;
use crate::dictionary::Dictionary;
use crate::edit::Edit;
use crate::texts::{self, CommentOn};
use crate::{Catalog, ObjectId, TableStatistics, names};

impl Catalog {
    /// Sets the comment on the object of this name, or on a column of it; none, or an empty text,
    /// takes it away.
    pub fn comment_on(
        &self,
        name: &str,
        column: Option<&str>,
        comment: Option<&str>,
        session: &Session,
    ) -> Result<(), Stop> {
        let comment = comment.filter(|comment| !comment.is_empty());
        if let Some(comment) = comment {
            texts::check(&format!("the comment on {name}"), comment)?;
        }
        self.run(LockWait::Forever, session, |statement| {
            let edit = |dictionary: &Dictionary| {
                let on = commented(name, column, dictionary)?;
                let comments = BTreeMap::from([(on, comment.map(str::to_owned))]);
                Ok::<_, Stop>(Edit { comments, ..Edit::default() })
            };
            statement.publish(edit, &[])
        })
    }

    /// The comment on an object, or on the column of it at this place.
    pub fn comment(
        &self,
        object: ObjectId,
        column: Option<usize>,
        session: &Session,
    ) -> Option<String> {
        self.dictionary.shared(session).comment(CommentOn { object, column }).cloned()
    }

    /// Sets the statistics of a table, its columns and its indexes; none takes them away. Those of
    /// columns and indexes that the table doesn't have any more are left out.
    pub fn set_statistics(
        &self,
        table: ObjectNo,
        statistics: Option<TableStatistics>,
        session: &Session,
    ) -> Result<(), Stop> {
        self.change_statistics(table, |_, _| statistics, session)
    }

    /// Sets the statistics of a table to what `change` makes of the table and of those that it has.
    /// `change` is called under the row cache lock and the dictionary's latch, so nothing that
    /// another statement sets meanwhile is lost.
    pub fn change_statistics(
        &self,
        table: ObjectNo,
        change: impl FnOnce(&TableDefinition, Option<&TableStatistics>) -> Option<TableStatistics>,
        session: &Session,
    ) -> Result<(), Stop> {
        self.run(LockWait::Forever, session, |statement| {
            let edit = |dictionary: &Dictionary| {
                let definition = dictionary.table_of(table)?;
                let before = dictionary.statistics(table).map(Arc::as_ref);
                let mut statistics = change(definition, before);
                if let Some(of) = &mut statistics {
                    let columns = &definition.columns;
                    let is_there = |place: usize| {
                        columns.get(place).is_some_and(|column| !column.is_dropped())
                    };
                    let has = |index| definition.indexes.iter().any(|one| one.object == index);
                    of.keep(is_there, has);
                }
                let statistics = BTreeMap::from([(table, statistics)]);
                Ok::<_, Stop>(Edit { statistics, ..Edit::default() })
            };
            statement.publish(edit, &[])
        })
    }

    /// The statistics of a table, if there are any.
    pub fn statistics(&self, table: ObjectNo, session: &Session) -> Option<Arc<TableStatistics>> {
        self.dictionary.shared(session).statistics(table).cloned()
    }
}

/// What a comment is to be on.
fn commented(name: &str, column: Option<&str>, dictionary: &Dictionary) -> Result<CommentOn, Stop> {
    let Some(object) = dictionary.named(name) else {
        return Err(names::unknown("table, view or sequence", name, "", dictionary.all_names()));
    };
    let Some(column) = column else { return Ok(CommentOn { object, column: None }) };
    let place = match object {
        ObjectId::Table(_) => place_of(dictionary.table(name)?, column)?,
        ObjectId::View(_) => {
            let columns = dictionary.view(name)?.columns.iter().map(String::as_str);
            position(name, column, columns)?
        }
        ObjectId::External(_) => {
            let columns = dictionary.external(name)?.columns.iter().map(|one| one.name.as_str());
            position(name, column, columns)?
        }
        ObjectId::Sequence(_) => {
            let message = format!("cannot comment on a column of {name}: it is a sequence");
            return Err(Stop::refuse(RefusalKind::Invalid, message));
        }
    };
    Ok(CommentOn { object, column: Some(place) })
}

/// The place of a column among those of an object.
fn position<'a>(
    of: &str,
    column: &str,
    columns: impl Iterator<Item = &'a str> + Clone,
) -> Result<usize, Stop> {
    let mut all = columns.clone();
    let within = || format!(" of {of}");
    all.position(|one| one == column)
        .ok_or_else(|| names::unknown("column", column, &within(), columns))
}
