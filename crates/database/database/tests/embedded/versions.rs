//! Two transactions at a time do statements at random that never have to wait; whatever they read,
//! by a scan and by each index, is held against a model of versions.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use database::{
    Bounds, ColumnSpec, Connection, Database, Direction, Error, ErrorKind, ForUpdate, IndexSpec,
    Row, Savepoint, Selection, Table, TableSpec, Tx, Type, Value,
};
use os::Session;
use sim::{Outside, Perturbation};
use testbed::Dice;

use crate::simulated::{made, racing_as};

const KEYS: i64 = 30;
const KINDS: i64 = 4;
const STATEMENTS: usize = 80;
const SEEDS: u64 = 150;

/// A row but for its key: kind, size, length of its note.
type Item = (i64, i64, usize);
type Items = BTreeMap<i64, Item>;

/// Numbers that follow from a seed.
struct Luck(Dice);

impl Luck {
    fn below(&mut self, limit: i64) -> i64 {
        self.0.below(limit as u64) as i64
    }

    fn item(&mut self) -> Item {
        // Now and then longer than a block.
        let note = if self.below(12) == 0 { 3_000 } else { self.below(200) };
        (self.below(KINDS), self.below(1_000), note as usize)
    }
}

/// What is committed, and when each key's row was changed last.
#[derive(Default)]
struct Committed {
    items: Items,
    changed: BTreeMap<i64, u64>,
    commits: u64,
}

/// A transaction of the model.
#[derive(Clone)]
struct Open {
    /// What was committed when it began, and after how many commits; none at read committed.
    snapshot: Option<(Items, u64)>,
    /// What it has written.
    written: BTreeMap<i64, Option<Item>>,
    /// Keys that it may have locked.
    touched: BTreeSet<i64>,
}

impl Open {
    fn sees(&self, committed: &Committed) -> Items {
        let mut seen = self.snapshot.as_ref().map_or(&committed.items, |(items, _)| items).clone();
        for (key, item) in &self.written {
            match item {
                Some(item) => _ = seen.insert(*key, *item),
                None => _ = seen.remove(key),
            }
        }
        seen
    }

    /// Whether others have committed a new version of this key's row since the snapshot.
    fn is_newer(&self, key: i64, committed: &Committed) -> bool {
        let Some((_, at)) = &self.snapshot else { return false };
        !self.written.contains_key(&key)
            && committed.changed.get(&key).is_some_and(|changed| changed > at)
    }

    /// What an insert of this key has to come to.
    fn expects(&self, key: i64, committed: &Committed) -> Option<ErrorKind> {
        let is_there = match self.written.get(&key) {
            Some(own) => own.is_some(),
            None => committed.items.contains_key(&key),
        };
        match is_there {
            true => Some(ErrorKind::UniqueViolation),
            false if self.sees(committed).contains_key(&key) => Some(ErrorKind::Serialization),
            false => None,
        }
    }
}

fn tag(size: i64) -> String {
    format!("{size:060}")
}

fn note(length: usize) -> String {
    "n".repeat(length)
}

fn make(database: &Database, session: &Session) {
    let mut connection = database.connect_with(session);
    let spec = TableSpec::new("item")
        .column(ColumnSpec::new("id", Type::BigInt))
        .column(ColumnSpec::new("kind", Type::BigInt))
        .column(ColumnSpec::new("tag", Type::Text))
        .column(ColumnSpec::new("note", Type::Text))
        .primary_key(["id"]);
    connection.create_table(&spec).expect("made");
    connection.create_index(&IndexSpec::new("by_kind", "item", ["kind"])).expect("made");
    connection.create_index(&IndexSpec::new("by_tag", "item", ["kind", "tag"])).expect("made");
}

fn read(row: Row<'_>) -> (i64, Item) {
    let text = |column| row.get_text(column).expect("a text").expect("not NULL").to_owned();
    let size = text(2).parse().expect("a number");
    let (id, kind) = (row.get_i64(0).expect("a number"), row.get_i64(1).expect("a number"));
    (id, (kind, size, text(3).len()))
}

/// One connection's transaction, and the model's.
struct Side<'c, 's> {
    tx: Tx<'c, 's>,
    open: Open,
    savepoint: Option<(Savepoint, Open)>,
}

/// Compares one statement's outcome with what it has to be. True if it was refused to serialize
/// without need: a ITL may have been full.
fn agree<T: PartialEq + std::fmt::Debug>(
    done: Result<T, Error>,
    expected: Result<T, ErrorKind>,
) -> bool {
    match (done, expected) {
        (Ok(done), Ok(expected)) => assert_eq!(done, expected),
        (Err(stop), Err(kind)) => assert_eq!(stop.refusal(), Some(kind), "{stop}"),
        (Err(stop), Ok(_)) => {
            assert_eq!(stop.refusal(), Some(ErrorKind::Serialization), "{stop}");
            return true;
        }
        (Ok(done), Err(kind)) => panic!("{done:?} instead of {kind:?}"),
    }
    false
}

impl Side<'_, '_> {
    /// All that it reads is as the model says.
    fn check(&mut self, table: &Table, committed: &Committed, luck: &mut Luck) {
        let expected = self.open.sees(committed);
        let mut found = Vec::new();
        self.tx.scan(table, |row| found.push(read(row))).expect("read");
        found.sort_unstable();
        assert_eq!(found, expected.clone().into_iter().collect::<Vec<_>>(), "by a scan");
        let kind = luck.below(KINDS);
        let equal = [Value::Int(kind)];
        let by = ["by_kind", "by_tag"].map(|name| table.index(name).expect("there"));
        let by_id = table.primary().expect("it has one");
        for index in [by_id, by[0], by[1]] {
            let is_all = index == by_id;
            let bounds = if is_all { Bounds::equal(&[]) } else { Bounds::equal(&equal) };
            let way = [Direction::Ascending, Direction::Descending][luck.below(2) as usize];
            let mut found = Vec::new();
            let look = |row: Row<'_>| {
                found.push(read(row));
                ControlFlow::Continue(())
            };
            self.tx.range(table, index, &bounds, way, look).expect("read");
            found.sort_unstable();
            let of_kind = expected.iter().filter(|(_, item)| is_all || item.0 == kind);
            let of_kind: Vec<_> = of_kind.map(|(key, item)| (*key, *item)).collect();
            assert_eq!(found, of_kind, "by index {index:?}, {way:?}");
        }
        for _ in 0..3 {
            let key = luck.below(KEYS);
            let found = self.tx.get(table, &[Value::Int(key)], read).expect("read");
            assert_eq!(found.map(|(_, item)| item), expected.get(&key).copied(), "key {key}");
        }
    }

    fn insert(&mut self, table: &Table, keys: &[i64], committed: &Committed, item: Item) -> bool {
        let expected = keys.iter().find_map(|key| self.open.expects(*key, committed));
        let (tag, note) = (tag(item.1), note(item.2));
        let row = |key: &i64| {
            [Value::Int(*key), Value::Int(item.0), Value::Text(&tag), Value::Text(&note)]
        };
        let rows: Vec<_> = keys.iter().map(row).collect();
        let done = match &rows[..] {
            [row] => self.tx.insert(table, row).map(|_| 1),
            _ => self.tx.insert_many(table, rows.iter().map(|row| &row[..])),
        };
        let is_done = done.is_ok();
        let spurious = agree(done, expected.map_or(Ok(keys.len() as u64), Err));
        if is_done {
            self.open.written.extend(keys.iter().map(|key| (*key, Some(item))));
        }
        spurious
    }

    /// Gives a row another key, and other values.
    fn update(&mut self, table: &Table, (key, to): (i64, i64), new: Item, now: &Committed) -> bool {
        let seen = self.open.sees(now).get(&key).copied();
        let expected = match seen {
            None => Ok(false),
            Some(_) if self.open.is_newer(key, now) => Err(ErrorKind::Serialization),
            Some(_) if key == to => Ok(true),
            Some(_) => self.open.expects(to, now).map_or(Ok(true), Err),
        };
        let (tag, note) = (tag(new.1), note(new.2));
        let done = self.tx.update(table, &[Value::Int(key)], |_, set| {
            set.set(0, Value::Int(to))?;
            set.set(1, Value::Int(new.0))?;
            set.set(2, Value::Text(&tag))?;
            set.set(3, Value::Text(&note))
        });
        if matches!(done, Ok(true)) {
            self.open.written.insert(key, None);
            self.open.written.insert(to, Some(new));
        }
        agree(done, expected)
    }

    fn delete(&mut self, table: &Table, key: i64, now: &Committed) -> bool {
        let expected = match self.open.sees(now).contains_key(&key) {
            true if self.open.is_newer(key, now) => Err(ErrorKind::Serialization),
            is_there => Ok(is_there),
        };
        let done = self.tx.delete(table, &[Value::Int(key)]);
        if matches!(done, Ok(true)) {
            self.open.written.insert(key, None);
        }
        agree(done, expected)
    }

    fn lock(&mut self, table: &Table, key: i64, now: &Committed) -> bool {
        let expected = match self.open.sees(now).contains_key(&key) {
            true if self.open.is_newer(key, now) => Err(ErrorKind::Serialization),
            is_there => Ok(is_there),
        };
        let how = ForUpdate::nowait();
        let done = self.tx.get_for_update(table, &[Value::Int(key)], how, |_| ());
        agree(done.map(|found| found.is_some()), expected)
    }

    /// Changes all rows, or those of a kind, by one statement.
    fn update_many(
        &mut self,
        table: &Table,
        kind: Option<i64>,
        new: Item,
        now: &Committed,
    ) -> bool {
        let rows = self.open.sees(now).into_iter();
        let rows: Vec<_> = rows.filter(|(_, item)| kind.is_none_or(|k| k == item.0)).collect();
        let expected = match rows.iter().any(|(key, _)| self.open.is_newer(*key, now)) {
            true => Err(ErrorKind::Serialization),
            false => Ok(rows.len() as u64),
        };
        let (tag, note) = (tag(new.1), note(new.2 % 200));
        let equal = [Value::Int(kind.unwrap_or(0))];
        let by_kind = table.index("by_kind").expect("there");
        let selection = match kind {
            Some(_) => Selection::Range(by_kind, Bounds::equal(&equal)),
            None => Selection::All,
        };
        let done = self.tx.update_where(table, selection, None, |_, set| match kind {
            Some(_) => set.set(2, Value::Text(&tag)),
            None => set.set(3, Value::Text(&note)),
        });
        if done.is_ok() {
            for (key, (of, size, length)) in rows {
                let item =
                    if kind.is_some() { (of, new.1, length) } else { (of, size, note.len()) };
                self.open.written.insert(key, Some(item));
            }
        }
        agree(done, expected)
    }

    /// Does a statement at random; `others` are keys that the other transaction may have locked.
    /// Whether it was refused without need.
    fn step(
        &mut self,
        (table, others): (&Table, &BTreeSet<i64>),
        now: &Committed,
        luck: &mut Luck,
    ) -> bool {
        let (key, to, item) = (luck.below(KEYS), luck.below(KEYS), luck.item());
        let mut is_free = |key: i64| {
            !others.contains(&key) && {
                self.open.touched.insert(key);
                true
            }
        };
        match luck.below(10) {
            0 | 1 if is_free(key) => self.insert(table, &[key], now, item),
            2 if key != to && is_free(key) && is_free(to) => {
                self.insert(table, &[key, to], now, item)
            }
            3 | 4 if is_free(key) => self.update(table, (key, key), item, now),
            5 if is_free(key) && is_free(to) => self.update(table, (key, to), item, now),
            6 if is_free(key) => self.delete(table, key, now),
            7 if is_free(key) => self.lock(table, key, now),
            8 if others.is_empty() => {
                self.open.touched.extend(0..KEYS);
                let kind = (luck.below(3) > 0).then_some(item.0);
                self.update_many(table, kind, item, now)
            }
            9 => {
                match self.savepoint.take() {
                    Some((savepoint, before)) => {
                        self.tx.rollback_to(savepoint).expect("taken back");
                        self.open.written = before.written;
                    }
                    None => self.savepoint = Some((self.tx.savepoint(), self.open.clone())),
                }
                false
            }
            _ => false,
        }
    }

    fn end(self, commits: bool, committed: &mut Committed) {
        if !commits {
            return self.tx.rollback().expect("taken back");
        }
        self.tx.commit().expect("committed");
        committed.commits += 1;
        for (key, item) in self.open.written {
            committed.changed.insert(key, committed.commits);
            match item {
                Some(item) => _ = committed.items.insert(key, item),
                None => _ = committed.items.remove(&key),
            }
        }
    }
}

fn begin<'c, 's>(
    connection: &'c mut Connection<'s>,
    committed: &Committed,
    serializable: bool,
) -> Side<'c, 's> {
    let (tx, snapshot) = match serializable {
        true => {
            let tx = connection.begin_serializable().expect("begun");
            (tx, Some((committed.items.clone(), committed.commits)))
        }
        false => (connection.begin(), None),
    };
    let open = Open { snapshot, written: BTreeMap::new(), touched: BTreeSet::new() };
    Side { tx, open, savepoint: None }
}

/// A long transaction beside several short ones, again and again. How many statements were refused
/// without need.
fn run(database: &Database, session: &Session, seed: u64) -> u64 {
    let mut luck = Luck(Dice(seed));
    let (mut one, mut other) = (database.connect_with(session), database.connect_with(session));
    let table = one.table("item").expect("there");
    let (mut committed, mut spurious, mut left) = (Committed::default(), 0, STATEMENTS);
    while left > 0 {
        let mut long = begin(&mut one, &committed, luck.below(4) > 0);
        for _ in 0..luck.below(6) {
            let mut short = begin(&mut other, &committed, luck.below(3) == 0);
            for _ in 0..luck.below(6) {
                left = left.saturating_sub(1);
                let is_refused = match luck.below(3) {
                    0 => long.step((&table, &short.open.touched), &committed, &mut luck),
                    _ => short.step((&table, &long.open.touched), &committed, &mut luck),
                };
                spurious += u64::from(is_refused);
                long.check(&table, &committed, &mut luck);
                short.check(&table, &committed, &mut luck);
            }
            short.end(luck.below(4) > 0, &mut committed);
            long.check(&table, &committed, &mut luck);
        }
        long.end(luck.below(3) > 0, &mut committed);
    }
    let mut last = begin(&mut one, &committed, false);
    last.check(&table, &committed, &mut luck);
    last.tx.rollback().expect("ended");
    spurious
}

#[test]
fn whatever_two_transactions_read_is_what_the_versions_say() {
    let base = made(make);
    let spurious = Outside::new(0);
    for seed in 0..SEEDS {
        let all = spurious.clone();
        let body = move |database: &Database, session: &Session| {
            let refused = run(database, session, seed);
            all.with(|all| *all += refused);
        };
        racing_as(Perturbation::NONE, seed, base.clone(), body);
    }
    let spurious = spurious.take();
    assert!(spurious < SEEDS * 4, "{spurious} statements were refused without need");
}
