//! A transaction as SQL text, from BEGIN to its end.
//!
//! What becomes of a row follows from its version, and only the load knows how. So a statement that
//! gives each row other values is two: the rows are locked and shown first, and the second has the
//! values of each.
//!
//! Callers: `client`.

use database::{CommitMode, Connection, Type, Value};
use instance::{CommitLogging, CommitWait};
use stop::Stop;

use super::{Change, Hands, Parent, Set, ShownRow, Taking, Which};
use crate::journal::{Content, Numbers};
use crate::tables::{
    CODE, COLUMNS, Derived, ID, KIND, MARK, NOTES, PARENT, SAME_KEYS, TABLES, VERSION, WRITER,
    of_values,
};
use crate::text::Text;

/// A transaction that a text has begun.
pub(crate) struct BySql<'c, 's> {
    connection: &'c mut Connection<'s>,
}

impl<'c, 's> BySql<'c, 's> {
    pub(crate) fn begin(
        is_serializable: bool,
        connection: &'c mut Connection<'s>,
    ) -> Result<BySql<'c, 's>, Stop> {
        let level = if is_serializable { "begin isolation level serializable" } else { "begin" };
        connection.execute(level, &[])?;
        Ok(BySql { connection })
    }

    fn say(&mut self, words: &str) -> Result<(), Stop> {
        self.connection.execute(words, &[]).map(drop)
    }

    /// Runs a statement, and returns how many rows it has changed.
    fn count(&mut self, text: &Text) -> Result<u64, Stop> {
        Ok(self.connection.execute(text.as_str(), &text.binds())?.rows())
    }

    /// The whole rows of a table that a query gives.
    fn rows(&mut self, table: usize, text: &Text) -> Result<Vec<ShownRow>, Stop> {
        let mut rows = Vec::new();
        let mut cursor = self.connection.query(text.as_str(), &text.binds())?;
        while let Some(row) = cursor.next_row()? {
            let values = std::array::from_fn(|place| row.value(place));
            let (id, content) = of_values(table, &values).unwrap_or_else(|torn| panic!("{torn}"));
            rows.push(ShownRow { id, content });
        }
        Ok(rows)
    }

    /// The numbers that a statement gives back of each of its rows.
    fn numbers<const N: usize>(&mut self, text: &Text) -> Result<Vec<[Option<i64>; N]>, Stop> {
        let mut rows = Vec::new();
        let mut cursor = self.connection.query(text.as_str(), &text.binds())?;
        while let Some(row) = cursor.next_row()? {
            let mut numbers = [None; N];
            for (place, number) in numbers.iter_mut().enumerate() {
                *number = row.get(place)?;
            }
            rows.push(numbers);
        }
        Ok(rows)
    }

    /// Rows of a table, locked and shown.
    fn shown(&mut self, table: usize, which: Which<'_>) -> Result<Vec<ShownRow>, Stop> {
        let mut text = whole_rows_of(table);
        of(which, &mut text);
        text.add(" for update");
        self.rows(table, &text)
    }

    /// All rows get the same version; which refer to what, the statement says.
    fn set_version(
        &mut self,
        table: usize,
        which: Which<'_>,
        after: Content,
        parent: Parent,
    ) -> Result<Vec<Change>, Stop> {
        let derived = Derived::of(table, after);
        let mut text = Text::new("update ");
        text.name(TABLES[table].name).add(" set ");
        let values = derived.values(0, after).into_iter().enumerate();
        let is_set = |column: &usize| match *column {
            ID => false,
            PARENT => parent != Parent::Kept,
            _ => true,
        };
        set(&mut text, values.filter(|(column, _)| is_set(column)));
        of(which, &mut text);
        text.add(" returning ").names([COLUMNS[ID], COLUMNS[PARENT]]);
        let changed = self.numbers::<2>(&text)?.into_iter();
        let change = |[id, parent]: [Option<i64>; 2]| Change {
            id: id.expect("a primary key isn't NULL"),
            before: None,
            after: Content { parent, ..after },
        };
        Ok(changed.map(change).collect())
    }

    /// Each row gets another version, with the keys that it has.
    fn set_notes(
        &mut self,
        table: usize,
        which: Which<'_>,
        writer: usize,
    ) -> Result<Vec<Change>, Stop> {
        let shown = self.shown(table, which)?;
        let after =
            |before: Content| Content { version: before.version + SAME_KEYS, writer, ..before };
        let changes: Vec<Change> = shown
            .iter()
            .map(|row| Change { id: row.id, before: Some(row.content), after: after(row.content) })
            .collect();
        if changes.is_empty() {
            return Ok(changes);
        }
        let mut text = Text::new("update ");
        text.name(TABLES[table].name).add(" as own set ");
        text.each([VERSION, NOTES], ", ", |text, column| {
            text.name(COLUMNS[column]).add(" = given.").name(COLUMNS[column]);
        });
        text.add(", ").name(COLUMNS[WRITER]).add(" = ").value(Value::Int(writer as i64));
        text.add(" from (values ").each(&changes, ", ", |text, change| {
            let derived = Derived::of(table, change.after);
            let values = derived.values(change.id, change.after);
            let kinds = [(ID, Type::BigInt), (VERSION, Type::BigInt), (NOTES, Type::Text)];
            text.add("(")
                .each(kinds, ", ", |text, (column, kind)| _ = text.value_as(values[column], kind))
                .add(")");
        });
        text.add(") as given (").names([ID, VERSION, NOTES].map(|column| COLUMNS[column]));
        text.add(") where given.id = own.id returning own.id");
        let mut ids: Vec<_> = self.numbers::<1>(&text)?.into_iter().flatten().flatten().collect();
        ids.sort_unstable();
        let mut all: Vec<i64> = changes.iter().map(|change| change.id).collect();
        all.sort_unstable();
        assert_eq!(ids, all, "rows of {} that were changed", TABLES[table].name);
        Ok(changes)
    }

    /// One row gets another primary key.
    fn set_key(
        &mut self,
        table: usize,
        which: Which<'_>,
        to: i64,
        after: impl Fn(Content) -> Content,
    ) -> Result<Vec<Change>, Stop> {
        let Some(row) = self.shown(table, which)?.pop() else { return Ok(Vec::new()) };
        let after = after(row.content);
        let derived = Derived::of(table, after);
        let mut text = Text::new("update ");
        text.name(TABLES[table].name).add(" set ");
        set(&mut text, derived.values(to, after).into_iter().enumerate());
        of(Which::Key(row.id), &mut text);
        let count = self.count(&text)?;
        assert_eq!(count, 1, "the row of {} that is locked is changed", TABLES[table].name);
        Ok(vec![Change { id: row.id, before: Some(row.content), after }])
    }
}

/// SELECT of whole rows of a table; what follows says which.
fn whole_rows_of(table: usize) -> Text {
    let mut text = Text::new("select ");
    text.names(COLUMNS).add(" from ").name(TABLES[table].name);
    text
}

/// WHERE, if not all rows are meant.
fn of(which: Which<'_>, text: &mut Text) {
    match which {
        Which::All => {}
        Which::Key(id) => {
            text.add(" where ").name(COLUMNS[ID]).add(" = ").value(Value::Int(id));
        }
        Which::Code(code) => {
            text.add(" where ").name(COLUMNS[CODE]).add(" = ").value(Value::Text(code));
        }
    }
}

/// What is set: columns by their numbers.
fn set<'v>(text: &mut Text, values: impl Iterator<Item = (usize, Value<'v>)>) {
    text.each(values, ", ", |text, (column, value)| {
        text.name(COLUMNS[column]).add(" = ").value(value);
    });
}

/// The types of the columns.
const KINDS: [Type; 7] =
    [Type::BigInt, Type::BigInt, Type::BigInt, Type::BigInt, Type::Integer, Type::Text, Type::Text];
const _: () = assert!(KIND == 4 && KINDS.len() == COLUMNS.len());

impl Hands for BySql<'_, '_> {
    fn next_ticket(&mut self) -> Result<i64, Stop> {
        let mut text = Text::new("select nextval(");
        text.add(&format!("'{}')", Numbers::Ticket.name()));
        let value = self.numbers::<1>(&text)?.into_iter().flatten().flatten().next();
        Ok(value.expect("a sequence gives one value"))
    }

    fn mark(&mut self, number: usize, ticket: Option<i64>) -> Result<(), Stop> {
        let mut text = Text::new("insert into ");
        text.name(MARK).add(" values (").value(Value::Int(number as i64)).add(", ");
        text.value(ticket.map_or(Value::Null, Value::Int)).add(")");
        self.count(&text).map(drop)
    }

    fn insert(&mut self, table: usize, id: Option<i64>, content: Content) -> Result<i64, Stop> {
        let derived = Derived::of(table, content);
        let values = derived.values(id.unwrap_or_default(), content).into_iter();
        let without = usize::from(id.is_none());
        let mut text = Text::new("insert into ");
        text.name(TABLES[table].name).add(" (").names(COLUMNS[without..].iter().copied());
        text.add(") values (");
        text.each(values.skip(without), ", ", |text, value| _ = text.value(value)).add(")");
        if let Some(id) = id {
            self.count(&text)?;
            return Ok(id);
        }
        text.add(" returning ").name(COLUMNS[ID]);
        let given = self.numbers::<1>(&text)?.into_iter().flatten().flatten().next();
        Ok(given.expect("the identity column gives a number"))
    }

    fn insert_many(&mut self, table: usize, rows: &[ShownRow], loads: bool) -> Result<(), Stop> {
        let hint = if loads { "insert /*+ append */ into " } else { "insert into " };
        let mut text = Text::new(hint);
        text.name(TABLES[table].name).add(" (").names(COLUMNS).add(") ");
        // The direct path takes the rows of a query.
        text.add(if loads { "select * from (values " } else { "values " });
        text.each(rows, ", ", |text, row| {
            let derived = Derived::of(table, row.content);
            let values = derived.values(row.id, row.content).into_iter().zip(KINDS);
            let one = |text: &mut Text, (value, kind): (Value<'_>, Type)| match loads {
                true => _ = text.value_as(value, kind),
                false => _ = text.value(value),
            };
            text.add("(").each(values, ", ", one).add(")");
        });
        if loads {
            text.add(") as given (").names(COLUMNS).add(")");
        }
        let count = self.count(&text)?;
        assert_eq!(count, rows.len() as u64, "rows of {} that were inserted", TABLES[table].name);
        Ok(())
    }

    fn update(
        &mut self,
        table: usize,
        which: Which<'_>,
        set: Set,
        writer: usize,
    ) -> Result<Vec<Change>, Stop> {
        match set {
            Set::Version { version, parent } => {
                let refers = match parent {
                    Parent::Kept => None,
                    Parent::Is(refers) => refers,
                };
                let after = Content { version, writer, parent: refers };
                self.set_version(table, which, after, parent)
            }
            Set::SameKeys => self.set_notes(table, which, writer),
            Set::Moved { to, version } => {
                let after = |before: Content| Content { version, writer, ..before };
                self.set_key(table, which, to, after)
            }
        }
    }

    fn delete(&mut self, table: usize, which: Which<'_>) -> Result<Vec<i64>, Stop> {
        let mut text = Text::new("delete from ");
        text.name(TABLES[table].name);
        of(which, &mut text);
        text.add(" returning ").name(COLUMNS[ID]);
        Ok(self.numbers::<1>(&text)?.into_iter().flatten().flatten().collect())
    }

    fn lock(&mut self, table: usize, taking: Taking) -> Result<Vec<ShownRow>, Stop> {
        let mut text = whole_rows_of(table);
        match taking {
            Taking::Waiting => text.add(" for update"),
            Taking::NoWait => text.add(" for update nowait"),
            Taking::Free(most) => text.add(&format!(" limit {most} for update skip locked")),
        };
        self.rows(table, &text)
    }

    fn get(&mut self, table: usize, id: i64) -> Result<Option<Content>, Stop> {
        let mut text = whole_rows_of(table);
        of(Which::Key(id), &mut text);
        Ok(self.rows(table, &text)?.pop().map(|row| row.content))
    }

    fn savepoint(&mut self) -> Result<(), Stop> {
        self.say("savepoint here")
    }

    fn go_back(&mut self) -> Result<(), Stop> {
        self.say("rollback to savepoint here")
    }

    fn commit(mut self: Box<Self>, mode: CommitMode) -> Result<(), Stop> {
        let wait = if mode.wait == CommitWait::Wait { "wait" } else { "nowait" };
        let is_batch = mode.logging == CommitLogging::Batch;
        let logging = if is_batch { "batch" } else { "immediate" };
        self.say(&format!("commit write {wait} {logging}"))
    }

    fn roll_back(mut self: Box<Self>) -> Result<(), Stop> {
        self.say("rollback")
    }

    fn leave(self: Box<Self>) {}
}
