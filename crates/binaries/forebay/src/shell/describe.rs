//! What `\d` and its like show, and the names that can be completed: from the dictionary.
//!
//! ```text
//!   \d, \dt, \di, \ds, \dv   a line for each object, or for those that a pattern means
//!   \d name                  a line for each part of one: columns, indexes, constraints
//! ```
//!
//! Views of the system are listed only by a pattern that begins with a letter, as the Tab key
//! completes them.
//!
//! Callers: `open_database`.

use std::collections::BTreeSet;
use std::sync::Arc;

use database::{
    Catalog, Database, ExternalDefinition, Instance, ObjectId, ObjectNo, Parameters, SequenceView,
    TableDefinition, Type, ViewDefinition,
};
use os::Session;
use stop::{Stop, did_you_mean};
use syntax::quote_ident;
use views::{Schema, View};

use super::backend::{Answer, Column, Describe, Failure, Names, Row, TableNames};
use super::definitions;
use super::open_database::failure_of;

/// SQLSTATE of an object that doesn't exist.
const UNDEFINED: &str = "42P01";

/// The dictionary of an open database, as one session sees it.
pub(crate) struct Dictionary<'s> {
    pub(crate) database: &'s Database,
    pub(crate) instance: &'s Instance,
    pub(crate) catalog: &'s Catalog,
    pub(crate) session: &'s Session,
}

impl Dictionary<'_> {
    /// What is asked for, as rows.
    pub(crate) fn describe(&self, what: &Describe) -> Result<Answer<'static>, Failure> {
        match what {
            Describe::All => Ok(self.all(None)),
            Describe::Object(name) if is_pattern(name) => Ok(self.all(Some(name))),
            Describe::Object(name) => match system_view(name) {
                Some(view) => Ok(system_parts(view)),
                None => self.object(&folded(name)),
            },
            Describe::Tables(pattern) => self.tables(pattern.as_deref()),
            Describe::Indexes(pattern) => self.indexes(pattern.as_deref()),
            Describe::Views(pattern) => Ok(self.views(pattern.as_deref())),
            Describe::Sequences(pattern) => Ok(self.sequences(pattern.as_deref())),
        }
    }

    /// Everything that has a name of its own in the schema.
    fn objects(&self) -> Vec<Object> {
        let (catalog, session) = (self.catalog, self.session);
        let object = |name: &String, id| Object { name: name.clone(), id };
        let tables = catalog.definitions(session);
        let mut all: Vec<Object> =
            tables.iter().map(|of| object(&of.name, ObjectId::Table(of.object))).collect();
        let views = catalog.views(session);
        all.extend(views.iter().map(|of| object(&of.name, ObjectId::View(of.object))));
        let externals = catalog.externals(session);
        all.extend(externals.iter().map(|of| object(&of.name, ObjectId::External(of.object))));
        for of in catalog.sequences(session) {
            all.push(object(&of.definition.name, ObjectId::Sequence(of.definition.object)));
        }
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }

    fn all(&self, pattern: Option<&str>) -> Answer<'static> {
        let row = |of: Object| -> Row {
            let comment = self.catalog.comment(of.id, None, self.session);
            vec![Some(of.name), Some(of.id.kind().into()), comment]
        };
        let meant = self.objects().into_iter().filter(|of| is_meant(pattern, &of.name));
        let system = system_meant(pattern).map(|view| -> Row {
            vec![Some(view.name.into()), Some("view".into()), Some(view.meaning.into())]
        });
        let rows = meant.map(row).chain(system).collect();
        commented(vec![text("name"), text("kind"), text("comment")], rows)
    }

    fn tables(&self, pattern: Option<&str>) -> Result<Answer<'static>, Failure> {
        let (catalog, session) = (self.catalog, self.session);
        let tables = catalog.tables(session).map_err(|stop| failure_of(&stop, None))?;
        let named = tables.iter().filter(|table| is_meant(pattern, &table.definition.name));
        let rows = named.map(|table| {
            let definition = &table.definition;
            let rows = catalog.statistics(definition.object, session).map(|of| of.rows.to_string());
            let comment = catalog.comment(ObjectId::Table(definition.object), None, session);
            let indexes = definition.indexes.len().to_string();
            let blocks = table.blocks.to_string();
            vec![Some(definition.name.clone()), rows, Some(blocks), Some(indexes), comment]
        });
        let rows = rows.collect();
        let columns = vec![
            text("table"),
            number("rows at ANALYZE"),
            number("blocks"),
            number("indexes"),
            text("comment"),
        ];
        Ok(commented(columns, rows))
    }

    fn indexes(&self, pattern: Option<&str>) -> Result<Answer<'static>, Failure> {
        let tables = self.catalog.tables(self.session).map_err(|stop| failure_of(&stop, None))?;
        let mut rows: Vec<Row> = Vec::new();
        for table in &tables {
            let definition = &table.definition;
            for (index, size) in definition.indexes.iter().zip(&table.indexes) {
                if !is_meant(pattern, &index.name) {
                    continue;
                }
                let (name, of) = (index.name.clone(), definition.name.clone());
                let columns = definitions::index(definition, index);
                rows.push(vec![Some(name), Some(of), Some(columns), Some(size.blocks.to_string())]);
            }
        }
        rows.sort();
        let columns = vec![text("index"), text("table"), text("columns"), number("blocks")];
        Ok(answer(columns, rows))
    }

    fn views(&self, pattern: Option<&str>) -> Answer<'static> {
        let views = self.catalog.views(self.session);
        let named = views.iter().filter(|view| is_meant(pattern, &view.name));
        let row = |view: &Arc<ViewDefinition>| -> Row {
            let columns = view.columns.join(", ");
            vec![Some(view.name.clone()), Some(columns), Some(view.text.clone())]
        };
        let system = system_meant(pattern).map(|view| -> Row {
            let names: Vec<&str> = view.columns.iter().map(|column| column.name).collect();
            vec![Some(view.name.into()), Some(names.join(", ")), None]
        });
        let rows = named.map(row).chain(system).collect();
        answer(vec![text("view"), text("columns"), text("query")], rows)
    }

    fn sequences(&self, pattern: Option<&str>) -> Answer<'static> {
        let sequences = self.catalog.sequences(self.session);
        let named = sequences.iter().filter(|one| is_meant(pattern, &one.definition.name));
        let row = |one: &SequenceView| -> Row {
            let (of, next) = (&one.definition, one.next.map(|next| next.to_string()));
            let comment = self.catalog.comment(ObjectId::Sequence(of.object), None, self.session);
            vec![Some(of.name.clone()), next, Some(of.increment.to_string()), comment]
        };
        let rows = named.map(row).collect();
        let columns = vec![text("sequence"), number("next"), number("by"), text("comment")];
        commented(columns, rows)
    }

    /// One object, part by part.
    fn object(&self, name: &str) -> Result<Answer<'static>, Failure> {
        let (catalog, session) = (self.catalog, self.session);
        let unknown = || self.unknown(name);
        let refused = |stop: Stop| failure_of(&stop, None);
        let rows = match catalog.named(name, session) {
            Some(ObjectId::Table(number)) => {
                let all = catalog.definitions(session);
                // It may be dropped meanwhile.
                let table = all.iter().find(|table| table.object == number);
                self.table(table.ok_or_else(unknown)?)
            }
            Some(id @ ObjectId::View(_)) => {
                let view = catalog.view(name, session).map_err(refused)?;
                self.view(id, &view)
            }
            Some(id @ ObjectId::External(_)) => {
                let external = catalog.external(name, session).map_err(refused)?;
                self.external(id, &external)
            }
            Some(ObjectId::Sequence(_)) => {
                let all = catalog.sequences(session);
                let sequence = all.iter().find(|one| one.definition.name == name);
                sequence_parts(sequence.ok_or_else(unknown)?)
            }
            None => self.index(name).ok_or_else(unknown)?,
        };
        Ok(parts(rows))
    }

    fn unknown(&self, name: &str) -> Failure {
        let all = self.objects();
        let there = all.iter().map(|one| one.name.as_str());
        let meant = did_you_mean(name, there.chain(bare_views().map(|view| view.name)));
        Failure {
            sqlstate: UNDEFINED.into(),
            message: format!("there is no table, view, sequence or index {name}{meant}"),
            hint: Some("\\d lists what there is".into()),
            ..Failure::default()
        }
    }

    fn table(&self, table: &TableDefinition) -> Vec<Row> {
        let (catalog, session, id) = (self.catalog, self.session, ObjectId::Table(table.object));
        let mut rows = Vec::new();
        for (place, column) in table.columns.iter().enumerate() {
            if !column.is_dropped() {
                let comment = catalog.comment(id, Some(place), session);
                rows.push(part("column", &column.name, definitions::column(column), comment));
            }
        }
        for index in &table.indexes {
            rows.push(part("index", &index.name, definitions::index(table, index), None));
        }
        for check in &table.checks {
            let condition = definitions::condition(&check.condition, table);
            rows.push(part("check", &check.name, format!("({condition})"), None));
        }
        for check in &table.expressions {
            rows.push(part("check", &check.name, format!("({})", check.text), None));
        }
        let others = catalog.definitions(session);
        let other = |number: ObjectNo| others.iter().find(|other| other.object == number);
        for key in &table.foreign_keys {
            let parent = other(key.references).map(|parent| &**parent);
            let text = definitions::foreign_key(key, table, parent);
            rows.push(part("foreign key", &key.name, text, None));
        }
        for key in &table.referenced_by {
            let Some(child) = other(key.table) else { continue };
            let text = definitions::foreign_key(key, child, Some(table));
            let text = format!("{} {text}", quote_ident(&child.name));
            rows.push(part("referred to by", &key.name, text, None));
        }
        rows.extend(self.comment(id, &table.name));
        rows
    }

    fn view(&self, id: ObjectId, view: &ViewDefinition) -> Vec<Row> {
        let comment = |place| self.catalog.comment(id, Some(place), self.session);
        // What the query reads may have been dropped or changed: then they have none.
        let types = self.database.view_types(view, self.session).unwrap_or_default();
        let kind = |place: usize| types.get(place).map_or_else(String::new, kind_text);
        let columns = view.columns.iter().enumerate();
        let mut rows: Vec<Row> = columns
            .map(|(place, column)| part("column", column, kind(place), comment(place)))
            .collect();
        rows.push(part("query", &view.name, view.text.clone(), None));
        rows.extend(self.comment(id, &view.name));
        rows
    }

    fn external(&self, id: ObjectId, external: &ExternalDefinition) -> Vec<Row> {
        let columns = external.columns.iter();
        let mut rows: Vec<Row> = columns
            .map(|column| part("column", &column.name, kind_text(&column.kind), None))
            .collect();
        rows.push(part("file", &external.name, external.options.clone(), None));
        rows.extend(self.comment(id, &external.name));
        rows
    }

    /// An index, if there is one of this name.
    fn index(&self, name: &str) -> Option<Vec<Row>> {
        let all = self.catalog.definitions(self.session);
        all.iter().find_map(|table| {
            let index = table.indexes.iter().find(|index| index.name == name)?;
            let text = definitions::index(table, index);
            let text = format!("{} {text}", quote_ident(&table.name));
            Some(vec![part("index", name, text, None)])
        })
    }

    fn comment(&self, id: ObjectId, name: &str) -> Option<Row> {
        let comment = self.catalog.comment(id, None, self.session)?;
        Some(part(id.kind(), name, String::new(), Some(comment)))
    }

    /// The names that can be completed.
    pub(crate) fn names(&self) -> Names {
        let (catalog, session) = (self.catalog, self.session);
        let (mut tables, mut others) = (Vec::new(), Vec::new());
        for table in catalog.definitions(session) {
            let columns = table.columns.iter().filter(|column| !column.is_dropped());
            tables.push(named(&table.name, columns.map(|column| column.name.as_str())));
            others.extend(table.indexes.iter().map(|index| quote_ident(&index.name)));
        }
        for view in catalog.views(session) {
            tables.push(named(&view.name, view.columns.iter().map(String::as_str)));
        }
        for external in catalog.externals(session) {
            let columns = external.columns.iter().map(|column| column.name.as_str());
            tables.push(named(&external.name, columns));
        }
        let sequences = catalog.sequences(session);
        others.extend(sequences.iter().map(|one| quote_ident(&one.definition.name)));
        let tablespaces = self.instance.space().tablespaces(session);
        others.extend(tablespaces.iter().map(|one| quote_ident(&one.name)));
        let functions: BTreeSet<&str> = expression::functions().map(|one| one.name()).collect();
        let parameters = Parameters::list();
        Names {
            tables,
            system: views::all().map(system_names).collect(),
            others,
            functions: functions.into_iter().map(str::to_owned).collect(),
            parameters: parameters.iter().map(|info| info.name.to_owned()).collect(),
        }
    }
}

/// A table's name and those of its columns, as statements write them.
fn named<'n>(name: &str, columns: impl Iterator<Item = &'n str>) -> TableNames {
    TableNames { name: quote_ident(name), columns: columns.map(quote_ident).collect() }
}

/// Views of the system whose names need no schema.
fn bare_views() -> impl Iterator<Item = &'static View> {
    views::all().filter(|view| view.schema == Schema::PgCatalog)
}

/// Views of the system that a pattern means, in the order of their names. One that doesn't begin
/// with a letter means those of users alone.
fn system_meant(pattern: Option<&str>) -> impl Iterator<Item = &'static View> {
    let pattern = pattern.filter(|pattern| pattern.starts_with(char::is_alphabetic));
    let is_one = |view: &&View| pattern.is_some_and(|of| is_meant(Some(of), view.name));
    let mut meant: Vec<&View> = bare_views().filter(is_one).collect();
    meant.sort_by_key(|view| view.name);
    meant.into_iter()
}

/// The view of the system that is meant by a name as it is typed. SQL finds it before a user's
/// table of the same name, which is `public.name`.
fn system_view(typed: &str) -> Option<&'static View> {
    let name = typed.to_lowercase();
    match name.split_once('.') {
        Some((schema, name)) => views::view_in(schema, name),
        None => views::view(&name),
    }
}

/// A view of the system, column by column.
fn system_parts(view: &View) -> Answer<'static> {
    let row = |column: &views::ViewColumn| -> Row {
        let kind = column.kind.to_string().to_lowercase();
        vec![Some(column.name.to_owned()), Some(kind), Some(column.meaning.to_owned())]
    };
    let rows = view.columns.iter().map(row).collect();
    answer(vec![text("column"), text("type"), text("meaning")], rows)
}

/// The name of a view of the system, with its schema if it needs that, and those of its columns.
fn system_names(view: &View) -> TableNames {
    let name = match view.schema {
        Schema::PgCatalog => view.name.to_owned(),
        Schema::InformationSchema => format!("{}.{}", view.schema.name(), view.name),
    };
    let columns = view.columns.iter().map(|column| column.name.to_owned()).collect();
    TableNames { name, columns }
}

/// An object with a name of its own in the schema.
struct Object {
    name: String,
    id: ObjectId,
}

fn sequence_parts(sequence: &SequenceView) -> Vec<Row> {
    let of = &sequence.definition;
    let option = |name: &str, value: String| part("option", name, value, None);
    let next = sequence.next.map_or_else(|| "none: it is at its end".into(), |at| at.to_string());
    vec![
        option("START WITH", of.start.to_string()),
        option("INCREMENT BY", of.increment.to_string()),
        option("MINVALUE", of.min.to_string()),
        option("MAXVALUE", of.max.to_string()),
        option("CYCLE", if of.cycles { "yes" } else { "no" }.to_owned()),
        option("CACHE", of.cache.to_string()),
        part("next value", &of.name, next, None),
    ]
}

/// A part of an object: what it is, its name, its definition, a comment on it.
fn part(what: &str, name: &str, definition: String, comment: Option<String>) -> Row {
    vec![Some(what.to_owned()), Some(name.to_owned()), Some(definition), comment]
}

/// An object's parts.
fn parts(rows: Vec<Row>) -> Answer<'static> {
    commented(vec![text("part"), text("name"), text("definition"), text("comment")], rows)
}

/// Rows whose last column is of comments; without it if there are none.
fn commented(mut columns: Vec<Column>, mut rows: Vec<Row>) -> Answer<'static> {
    let last = columns.len() - 1;
    if rows.iter().all(|row| row[last].is_none()) {
        columns.truncate(last);
        rows.iter_mut().for_each(|row| row.truncate(last));
    }
    answer(columns, rows)
}

fn answer(columns: Vec<Column>, rows: Vec<Row>) -> Answer<'static> {
    Answer::Rows { columns, rows: Box::new(rows.into_iter().map(Ok)) }
}

fn text(name: &str) -> Column {
    Column { name: name.to_owned(), kind: "text".to_owned(), right_aligned: false }
}

fn number(name: &str) -> Column {
    Column { name: name.to_owned(), kind: "bigint".to_owned(), right_aligned: true }
}

/// A type, as statements write it.
fn kind_text(kind: &Type) -> String {
    kind.to_string().to_lowercase()
}

/// A name without the schema of users, if it has that before it.
fn without_schema(typed: &str) -> &str {
    match typed.split_once('.') {
        Some((schema, name)) if schema.eq_ignore_ascii_case("public") => name,
        Some(("\"public\"", name)) => name,
        _ => typed,
    }
}

/// A name as it is typed, as the dictionary has it.
fn folded(typed: &str) -> String {
    let typed = without_schema(typed);
    match typed.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) => inner.replace("\"\"", "\""),
        None => typed.to_lowercase(),
    }
}

/// Whether a text means several names. In quotes it means one, whatever letters that has.
fn is_pattern(typed: &str) -> bool {
    typed.contains(['*', '?']) && !typed.contains('"')
}

/// Whether a name is meant by a pattern; all are without one.
fn is_meant(pattern: Option<&str>, name: &str) -> bool {
    let letters = |text: &str| text.chars().collect::<Vec<char>>();
    pattern.is_none_or(|pattern| matches(&letters(&folded(pattern)), &letters(name)))
}

/// Whether a name is as a pattern says: `*` is any letters, `?` is one.
fn matches(pattern: &[char], name: &[char]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, _) => name.is_empty(),
        (Some(('*', rest)), None) => matches(rest, name),
        (Some(('*', rest)), Some((_, behind))) => matches(rest, name) || matches(pattern, behind),
        (Some(_), None) => false,
        (Some((wanted, rest)), Some((letter, behind))) => {
            (*wanted == '?' || wanted == letter) && matches(rest, behind)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_means_names() {
        for (pattern, name, is) in [
            ("ord*", "orders", true),
            ("ORD*", "orders", true),
            ("\"ORD*\"", "orders", false),
            ("\"A\"\"b\"", "A\"b", true),
            ("*", "", true),
            ("o?d*s", "orders", true),
            ("o?", "orders", false),
            ("*der", "orders", false),
            ("public.orders", "orders", true),
            ("PUBLIC.Orders", "orders", true),
            ("\"public\".\"orders\"", "orders", true),
            ("\"public.orders\"", "orders", false),
        ] {
            assert_eq!(is_meant(Some(pattern), name), is, "{pattern} {name}");
        }
        assert!(is_meant(None, "orders"));
        assert!(is_pattern("ord*") && is_pattern("o?") && !is_pattern("orders"));
        assert!(!is_pattern("\"a*\""));
    }

    #[test]
    fn views_of_the_system_are_listed_once_a_letter_is_typed() {
        let names = |pattern| system_meant(pattern).map(|view| view.name).collect::<Vec<_>>();
        assert_eq!(names(Some("V$SESSION_*")), ["v$session_event", "v$session_wait"]);
        assert_eq!(names(Some("*session*")), [""; 0]);
        assert_eq!(names(None), [""; 0]);
    }

    #[test]
    fn a_view_of_the_system_is_found_as_sql_finds_it() {
        let found = |typed: &str| system_view(typed).map(|view| (view.schema.name(), view.name));
        assert_eq!(found("V$Session"), Some(("pg_catalog", "v$session")));
        assert_eq!(found("pg_catalog.pg_class"), Some(("pg_catalog", "pg_class")));
        assert_eq!(found("information_schema.tables"), Some(("information_schema", "tables")));
        for typed in ["tables", "public.dict", "orders", "\"V$SESSION\""] {
            assert_eq!(found(typed), None, "{typed}");
        }
    }
}
