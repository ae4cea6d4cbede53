//! A transaction by calls of the API: rows by their numbers in indexes, changes by closures.
//!
//! Callers: `client`.

use std::collections::BTreeMap;

use database::{
    Bounds, CommitMode, Connection, ForUpdate, Row, RowChange, Savepoint, Selection, Table, Tx,
    Value,
};
use stop::Stop;

use super::{Change, Hands, Parent, Set, ShownRow, Taking, Which};
use crate::journal::{Content, Journal, Numbers};
use crate::tables::{
    COLUMNS, Derived, ID, NOTES, SAME_KEYS, TABLES, VERSION, WRITER, by_code, read,
};

/// A transaction by the API.
pub(crate) struct ByApi<'a, 's> {
    tx: Tx<'a, 's>,
    tables: &'a [Table],
    mark: &'a Table,
    journal: &'a Journal,
    savepoint: Option<Savepoint>,
}

impl<'a, 's> ByApi<'a, 's> {
    pub(crate) fn begin(
        is_serializable: bool,
        tables: &'a [Table],
        mark: &'a Table,
        journal: &'a Journal,
        connection: &'a mut Connection<'s>,
    ) -> Result<ByApi<'a, 's>, Stop> {
        let tx = match is_serializable {
            true => connection.begin_serializable()?,
            false => connection.begin(),
        };
        Ok(ByApi { tx, tables, mark, journal, savepoint: None })
    }

    /// Keeps of these rows those that are as they were to become: if the statement began again,
    /// some weren't among those any more.
    fn still<T>(
        &mut self,
        table: usize,
        seen: BTreeMap<i64, T>,
        is_left: impl Fn(&T, Option<Content>) -> bool,
    ) -> Result<BTreeMap<i64, T>, Stop> {
        let mut left = BTreeMap::new();
        for (id, of) in seen {
            if is_left(&of, self.get(table, id)?) {
                left.insert(id, of);
            }
        }
        Ok(left)
    }
}

/// Does `act` with the rows of this table that are meant.
fn with<T>(
    number: usize,
    table: &Table,
    which: Which<'_>,
    act: impl FnOnce(Selection<'_>) -> Result<T, Stop>,
) -> Result<T, Stop> {
    let key;
    let selection = match which {
        Which::All => Selection::All,
        Which::Key(id) => {
            key = [Value::Int(id)];
            Selection::Key(table.primary().expect("it has a primary key"), &key)
        }
        Which::Code(code) => {
            key = [Value::Text(code)];
            Selection::Range(table.index(&by_code(number))?, Bounds::equal(&key))
        }
    };
    act(selection)
}

/// What a row becomes, and which of its columns are set.
struct New {
    id: i64,
    after: Content,
    sets: fn(usize) -> bool,
}

fn new_of(set: Set, id: i64, before: Content, writer: usize) -> New {
    match set {
        Set::Version { version, parent } => {
            let parent = match parent {
                Parent::Kept => before.parent,
                Parent::Is(parent) => parent,
            };
            let after = Content { version, writer, parent };
            New { id, after, sets: |column| column != ID }
        }
        Set::SameKeys => {
            let after = Content { version: before.version + SAME_KEYS, writer, ..before };
            New { id, after, sets: |column| matches!(column, VERSION | WRITER | NOTES) }
        }
        Set::Moved { to, version } => {
            let after = Content { version, writer, ..before };
            New { id: to, after, sets: |_| true }
        }
    }
}

impl Hands for ByApi<'_, '_> {
    fn next_ticket(&mut self) -> Result<i64, Stop> {
        self.tx.next_value(Numbers::Ticket.name())
    }

    fn mark(&mut self, number: usize, ticket: Option<i64>) -> Result<(), Stop> {
        let ticket = ticket.map_or(Value::Null, Value::Int);
        self.tx.insert(self.mark, &[Value::Int(number as i64), ticket]).map(drop)
    }

    fn insert(&mut self, table: usize, id: Option<i64>, content: Content) -> Result<i64, Stop> {
        let derived = Derived::of(table, content);
        let values = derived.values(id.unwrap_or_default(), content);
        let named = COLUMNS.iter().copied().zip(values);
        let named: Vec<_> = named.skip(usize::from(id.is_none())).collect();
        let row = self.tx.insert_named(&self.tables[table], &named)?;
        Ok(row.identity.or(id).expect("it has a key of its own, or is given one"))
    }

    fn insert_many(&mut self, table: usize, rows: &[ShownRow], loads: bool) -> Result<(), Stop> {
        let derived: Vec<_> = rows.iter().map(|row| Derived::of(table, row.content)).collect();
        let values = rows.iter().zip(&derived);
        let values: Vec<_> = values.map(|(row, of)| of.values(row.id, row.content)).collect();
        let (tx, into) = (&mut self.tx, &self.tables[table]);
        let count = match loads {
            true => tx.load(into, |load| values.iter().try_for_each(|row| load.push(row)))?,
            false => tx.insert_many(into, values.iter().map(|row| &row[..]))?,
        };
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
        let (mut seen, mut torn) = (BTreeMap::new(), None);
        let change = |row: &Row<'_>, change: &mut RowChange<'_>| {
            let (id, before) = match read(table, row) {
                Ok(read) => read,
                Err(what) => {
                    torn = Some(what);
                    return Ok(());
                }
            };
            let New { id: to, after, sets } = new_of(set, id, before, writer);
            let derived = Derived::of(table, after);
            for (column, value) in derived.values(to, after).into_iter().enumerate() {
                if sets(column) {
                    change.set(column, value)?;
                }
            }
            seen.insert(id, (before, after));
            Ok(())
        };
        let of = &self.tables[table];
        let count =
            with(table, of, which, |selection| self.tx.update_where(of, selection, None, change))?;
        assert_eq!(torn, None, "table {}", TABLES[table].name);
        if seen.len() as u64 != count && !matches!(set, Set::Moved { .. }) {
            let is_left =
                |(_, after): &(Content, Content), now: Option<Content>| now == Some(*after);
            seen = self.still(table, seen, is_left)?;
        } else if count == 0 {
            seen.clear();
        }
        assert_eq!(seen.len() as u64, count, "rows of {} that were changed", TABLES[table].name);
        let change = |(id, (before, after))| Change { id, before: Some(before), after };
        Ok(seen.into_iter().map(change).collect())
    }

    fn delete(&mut self, table: usize, which: Which<'_>) -> Result<Vec<i64>, Stop> {
        let of = &self.tables[table];
        if let Which::Key(id) = which {
            let is_gone = self.tx.delete(of, &[Value::Int(id)])?;
            return Ok(is_gone.then_some(id).into_iter().collect());
        }
        let mut seen = BTreeMap::new();
        let mut filter = |row: &Row<'_>| {
            seen.extend(row.get_i64(ID).map(|id| (id, ())));
            true
        };
        let count = with(table, of, which, |selection| {
            self.tx.delete_where(of, selection, Some(&mut filter))
        })?;
        if seen.len() as u64 != count {
            let was_there = |id: &i64| self.journal.is_now((table, *id)).is_some();
            seen.retain(|id, ()| was_there(id));
            seen = self.still(table, seen, |(), now| now.is_none())?;
        }
        let name = TABLES[table].name;
        assert!(seen.len() as u64 >= count, "rows of {name} that were deleted");
        Ok(seen.into_keys().collect())
    }

    fn lock(&mut self, table: usize, taking: Taking) -> Result<Vec<ShownRow>, Stop> {
        let how = match taking {
            Taking::Waiting => ForUpdate::wait(),
            Taking::NoWait => ForUpdate::nowait(),
            Taking::Free(most) => ForUpdate::skip_locked().limit(most),
        };
        let (mut seen, mut torn) = (Vec::new(), None);
        let look = |row: Row<'_>| match read(table, &row) {
            Ok((id, content)) => seen.push(ShownRow { id, content }),
            Err(what) => torn = Some(what),
        };
        self.tx.lock_where(&self.tables[table], Selection::All, None, how, look)?;
        assert_eq!(torn, None, "table {}", TABLES[table].name);
        Ok(seen)
    }

    fn get(&mut self, table: usize, id: i64) -> Result<Option<Content>, Stop> {
        let key = [Value::Int(id)];
        let found = self.tx.get(&self.tables[table], &key, |row| read(table, &row))?;
        Ok(found.map(|read| read.unwrap_or_else(|torn| panic!("{torn}")).1))
    }

    fn savepoint(&mut self) -> Result<(), Stop> {
        self.savepoint = Some(self.tx.savepoint());
        Ok(())
    }

    fn go_back(&mut self) -> Result<(), Stop> {
        self.tx.rollback_to(self.savepoint.expect("it was made"))
    }

    fn commit(self: Box<Self>, mode: CommitMode) -> Result<(), Stop> {
        self.tx.commit_with(mode).map(drop)
    }

    fn roll_back(self: Box<Self>) -> Result<(), Stop> {
        self.tx.rollback()
    }

    fn leave(self: Box<Self>) {
        std::mem::forget(self.tx);
    }
}
