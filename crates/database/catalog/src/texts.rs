//! Things that are a text, as rows of `_texts`, and back: views, external tables, expressions and
//! comments.
//!
//! | kind | object | place | name | text | details |
//! |---|---|---|---|---|---|
//! | 1: view | its number | 0 | its name | its query | names of columns; what it reads |
//! | 2: external table | its number | 0 | its name | options | types and names of columns |
//! | 3: DEFAULT | the table | the column | | expression | |
//! | 4: CHECK | the table | of the constraint | | expression | places of columns |
//! | 11 to 14: comment | of this kind, and 10 | 0; 1 and the column's place | | the comment | |
//!
//! Invariants
//!   * a CHECK has a row of `_constraints` too, without condition and index
//!   * a DEFAULT's column has neither a constant nor a sequence in `_columns`
//!
//! Callers: `rows`, `edit`; `text_contradictions`; `dictionary_check`.

use ids::ObjectNo;
use relation::{CheckExpression, Default};
use stop::{RefusalKind, Stop};
use value::{OwnedValue, Type};

use crate::bytes::{Reader, push_count, push_name, push_places};
use crate::dictionary_table::DictionaryTable::Texts;
use crate::rows::{Cells, Definitions, Row, Rows, binary, int, number, put, text};
use crate::{Dependency, ExternalColumn, ExternalDefinition, ObjectId, ViewDefinition};

/// The most bytes of a text of the dictionary.
pub const TEXT_BYTES_MAX: usize = 1 << 20;

/// The most objects that a view reads.
pub(crate) const DEPENDENCIES_MAX: usize = 10_000;

pub(crate) const VIEW: i64 = 1;
pub(crate) const EXTERNAL: i64 = 2;
pub(crate) const DEFAULT: i64 = 3;
pub(crate) const CHECK: i64 = 4;
/// The kind of a comment is this and that of its object.
const COMMENT: i64 = 10;

/// The format of the details.
const FORMAT: u8 = 1;

/// What a comment is on: an object, or a column of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct CommentOn {
    pub(crate) object: ObjectId,
    /// The column's place; none for the object itself.
    pub(crate) column: Option<usize>,
}

/// Refuses a text that is empty or too long. `what` says of what it is the text.
pub(crate) fn check(what: &str, text: &str) -> Result<(), Stop> {
    let wrong = match text.len() {
        0 => "is empty".to_string(),
        length if length > TEXT_BYTES_MAX => {
            format!("has {length} bytes; the most is {TEXT_BYTES_MAX}")
        }
        _ => return Ok(()),
    };
    Err(Stop::refuse(RefusalKind::Invalid, format!("the text of {what} {wrong}")))
}

/// A row, by its first columns and its text.
fn row(kind: i64, object: ObjectNo, place: usize, said: &str) -> Row {
    let (name, details) = (OwnedValue::NULL, OwnedValue::NULL);
    vec![int(kind), number(object), int(place), name, text(said), details]
}

/// A row of an object that has a name.
fn named_row(kind: i64, object: ObjectNo, name: &str, said: &str, details: &[u8]) -> Row {
    let mut row = row(kind, object, 0, said);
    (row[3], row[5]) = (text(name), binary(details));
    row
}

/// Adds the row of a view.
pub(crate) fn of_view(view: &ViewDefinition, rows: &mut Rows) {
    let mut details = vec![FORMAT];
    push_count(view.columns.len(), &mut details);
    view.columns.iter().for_each(|name| push_name(name, &mut details));
    push_count(view.depends_on.len(), &mut details);
    for one in &view.depends_on {
        details.push(one.object.stored_kind());
        details.extend(one.object.number().get().to_le_bytes());
        push_places(&one.columns, &mut details);
    }
    put(rows, Texts, named_row(VIEW, view.object, &view.name, &view.text, &details));
}

/// Adds the row of an external table.
pub(crate) fn of_external(external: &ExternalDefinition, rows: &mut Rows) {
    let mut details = vec![FORMAT];
    push_count(external.columns.len(), &mut details);
    for ExternalColumn { name, kind } in &external.columns {
        details.extend(kind.stored());
        push_name(name, &mut details);
    }
    let ExternalDefinition { object, name, options, .. } = external;
    put(rows, Texts, named_row(EXTERNAL, *object, name, options, &details));
}

/// Adds the row of a column's DEFAULT.
pub(crate) fn of_default(table: ObjectNo, column: usize, expression: &str, rows: &mut Rows) {
    put(rows, Texts, row(DEFAULT, table, column, expression));
}

/// Adds the row of a CHECK, which is at this place among the constraints of its table.
pub(crate) fn of_check(table: ObjectNo, place: usize, check: &CheckExpression, rows: &mut Rows) {
    let mut details = vec![FORMAT];
    push_places(&check.columns, &mut details);
    let mut row = row(CHECK, table, place, &check.text);
    row[5] = binary(&details);
    put(rows, Texts, row);
}

/// Adds the row of a comment.
pub(crate) fn of_comment(on: CommentOn, comment: &str, rows: &mut Rows) {
    let kind = COMMENT + i64::from(on.object.stored_kind());
    let place = on.column.map_or(0, |column| column + 1);
    put(rows, Texts, row(kind, on.object.number(), place, comment));
}

/// Adds what a row of `_texts` says; none if it makes no sense. A CHECK is read with its
/// constraint.
pub(crate) fn read(cells: Cells<'_>, found: &mut Definitions) -> Option<()> {
    let object = cells.object(1)?;
    match cells.int(0)? {
        VIEW => {
            found.views.insert(object, view(cells)?);
        }
        EXTERNAL => {
            found.externals.insert(object, external(cells)?);
        }
        DEFAULT => {
            let column = found.tables.get_mut(&object)?.columns.get_mut(cells.place(2)?)?;
            column.default = Default::Expression(cells.text(4)?);
        }
        CHECK => {}
        _ => {
            found.comments.insert(comment_on(cells)?, cells.text(4)?);
        }
    }
    Some(())
}

/// The reader of a row's details, if they are of a format that is known.
fn details(cells: Cells<'_>) -> Option<Reader<'_>> {
    let mut reader = Reader(cells.bytes(5)?);
    let [format] = reader.array()?;
    (format == FORMAT).then_some(reader)
}

/// The view in a row.
pub(crate) fn view(cells: Cells<'_>) -> Option<ViewDefinition> {
    let mut reader = details(cells)?;
    let columns = reader.list(Reader::name)?;
    let depends_on = reader.list(|reader| {
        let [kind] = reader.array()?;
        let number = u32::from_le_bytes(reader.array()?);
        let object = ObjectId::from_stored(kind, number)?;
        Some(Dependency { object, columns: reader.places()? })
    })?;
    let (object, name, text) = (cells.object(1)?, cells.text(3)?, cells.text(4)?);
    reader.end(ViewDefinition { object, name, text, columns, depends_on })
}

/// The external table in a row.
pub(crate) fn external(cells: Cells<'_>) -> Option<ExternalDefinition> {
    let mut reader = details(cells)?;
    let columns = reader.list(|reader| {
        let kind = Type::from_stored(reader.array()?)?;
        Some(ExternalColumn { name: reader.name()?, kind })
    })?;
    let (object, name, options) = (cells.object(1)?, cells.text(3)?, cells.text(4)?);
    reader.end(ExternalDefinition { object, name, columns, options })
}

/// The CHECK in the row of a constraint, without its name.
pub(crate) fn check_of(cells: Cells<'_>) -> Option<CheckExpression> {
    let mut reader = details(cells)?;
    let columns = reader.places()?;
    reader.end(CheckExpression { name: String::new(), text: cells.text(4)?, columns })
}

/// The row of the CHECK at this place among the constraints of a table.
pub(crate) fn check_row(rows: &Rows, table: i64, place: i64) -> Option<Cells<'_>> {
    let row = rows.get(&(Texts, vec![CHECK, table, place]))?;
    Some(Cells::new(Texts, row))
}

/// What the comment in a row is on; none if the row is no comment's.
pub(crate) fn comment_on(cells: Cells<'_>) -> Option<CommentOn> {
    let kind = u8::try_from(cells.int(0)? - COMMENT).ok()?;
    let object = ObjectId::from_stored(kind, cells.object(1)?.get())?;
    Some(CommentOn { object, column: cells.place(2)?.checked_sub(1) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use value::Value;

    fn view_of_all() -> ViewDefinition {
        let number = ObjectNo::new;
        let depend = |object, columns: &[usize]| Dependency { object, columns: columns.to_vec() };
        ViewDefinition {
            object: number(9),
            name: "v".into(),
            text: "select a, nextval('s') from t, w, x".into(),
            columns: vec!["a".into(), "größe".into()],
            depends_on: vec![
                depend(ObjectId::Table(number(57)), &[0, 999]),
                depend(ObjectId::View(number(8)), &[]),
                depend(ObjectId::Sequence(number(1)), &[]),
                depend(ObjectId::External(number(7)), &[2]),
            ],
        }
    }

    fn external_table() -> ExternalDefinition {
        let column = |name: &str, kind| ExternalColumn { name: name.into(), kind };
        ExternalDefinition {
            object: ObjectNo::new(7),
            name: "x".into(),
            columns: vec![column("a", Type::BigInt), column("b", Type::Text)],
            options: "location 'x.csv'".into(),
        }
    }

    fn all_rows() -> Rows {
        let mut rows = Rows::new();
        of_view(&view_of_all(), &mut rows);
        of_external(&external_table(), &mut rows);
        let check =
            CheckExpression { name: String::new(), text: "a < 5".into(), columns: vec![0, 3] };
        of_check(ObjectNo::new(57), 2, &check, &mut rows);
        let table = ObjectId::Table(ObjectNo::new(57));
        let view = ObjectId::View(ObjectNo::new(57));
        for (object, column) in [(table, None), (table, Some(0)), (view, Some(4))] {
            of_comment(CommentOn { object, column }, &format!("{column:?}"), &mut rows);
        }
        rows
    }

    #[test]
    fn what_is_read_is_what_was_written() {
        let (rows, mut found) = (all_rows(), Definitions::default());
        assert_eq!(rows.len(), 6);
        for ((table, key), row) in &rows {
            read(Cells::new(*table, row), &mut found).unwrap_or_else(|| panic!("{key:?}"));
        }
        assert_eq!(found.views[&ObjectNo::new(9)], view_of_all());
        assert_eq!(found.externals[&ObjectNo::new(7)], external_table());
        let check = check_row(&rows, 57, 2).and_then(check_of).expect("there");
        assert_eq!((check.text.as_str(), &check.columns[..]), ("a < 5", &[0, 3][..]));
        let comments: Vec<_> = found.comments.values().map(String::as_str).collect();
        assert_eq!(comments, ["None", "Some(0)", "Some(4)"]);
    }

    /// Details that are cut off, or changed, make no sense or another, and never a panic.
    #[test]
    fn no_details_make_reading_panic() {
        for ((table, _), row) in &all_rows() {
            let Value::Bytes(whole) = row[5].get() else { continue };
            for place in 0..whole.len() {
                for bytes in [whole[..place].to_vec(), changed(whole, place)] {
                    let mut row = row.clone();
                    row[5] = binary(&bytes);
                    let cells = Cells::new(*table, &row);
                    let makes_sense = match cells.int(0) {
                        Some(VIEW) => view(cells).is_some(),
                        Some(EXTERNAL) => external(cells).is_some(),
                        _ => check_of(cells).is_some(),
                    };
                    let is_whole = bytes.len() == whole.len();
                    assert!(is_whole || !makes_sense, "{place} of {whole:?}");
                }
            }
        }
    }

    fn changed(bytes: &[u8], place: usize) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        bytes[place] ^= 0x41;
        bytes
    }

    #[test]
    fn texts_have_a_length() {
        assert!(check("view v", "select 1").is_ok());
        let refused = |text: &str| check("view v", text).expect_err("refused").to_string();
        assert_eq!(refused(""), "the text of view v is empty");
        assert!(refused(&"x".repeat(TEXT_BYTES_MAX + 1)).contains("the most is 1048576"));
    }
}
