//! Definitions as rows of the dictionary's tables, and back.
//!
//! A statement says what a table is to be, and the rows that differ are written (DC2). So there is
//! one way from a definition to rows, and one back.
//!
//! Invariants
//!   * reading the rows of a definition gives that definition; `referenced_by` follows from the
//!     foreign keys of all tables
//!   * SCNs aren't stored: every snapshot after a restart is newer than all that one can be too old
//!     for (DC21)
//!   * rows are here without the one that says the dictionary's version
//!
//! Callers: `store`; `edit`; `dictionary_check`.

use std::collections::BTreeMap;

use ids::{ObjectNo, Scn};
use relation::{
    CheckExpression, ColumnDefinition, Condition, Default, ForeignKey, IndexColumn,
    IndexDefinition, NamedCondition, OnDelete, TableDefinition,
};
use value::{COLUMNS_MAX, Direction, NullOrdering, OwnedValue, Type, Value};

use crate::dictionary_table::DictionaryTable::{
    self, Columns, ConstraintColumns, Constraints, IndexColumns, Indexes, Sequences, Statistics,
    Tables, Texts,
};
use crate::texts::{self, CommentOn};
use crate::{ExternalDefinition, SequenceDefinition, TableStatistics, ViewDefinition};
use crate::{bytes, statistics};

/// A row of one of the dictionary's tables.
pub(crate) type Row = Vec<OwnedValue>;

/// Rows by their table and their key.
pub(crate) type Rows = BTreeMap<(DictionaryTable, Vec<i64>), Row>;

/// Definitions by their numbers.
#[derive(Default)]
pub(crate) struct Definitions {
    pub(crate) tables: BTreeMap<ObjectNo, TableDefinition>,
    /// Each sequence with its next value that no range has yet.
    pub(crate) sequences: BTreeMap<ObjectNo, (SequenceDefinition, Option<i64>)>,
    pub(crate) views: BTreeMap<ObjectNo, ViewDefinition>,
    pub(crate) externals: BTreeMap<ObjectNo, ExternalDefinition>,
    pub(crate) comments: BTreeMap<CommentOn, String>,
    /// Statistics by their tables.
    pub(crate) statistics: BTreeMap<ObjectNo, TableStatistics>,
}

pub(crate) fn int(value: impl TryInto<i64>) -> OwnedValue {
    let Ok(value) = value.try_into() else { unreachable!("numbers here are below 2^32") };
    Value::Int(value).to_owned()
}

pub(crate) fn number(object: ObjectNo) -> OwnedValue {
    Value::Int(object.get().into()).to_owned()
}

pub(crate) fn text(text: &str) -> OwnedValue {
    Value::Text(text).to_owned()
}

fn flag(is: bool) -> OwnedValue {
    Value::Boolean(is).to_owned()
}

pub(crate) fn binary(bytes: &[u8]) -> OwnedValue {
    Value::Bytes(bytes).to_owned()
}

fn optional<T>(value: Option<T>, of: impl FnOnce(T) -> OwnedValue) -> OwnedValue {
    value.map_or(OwnedValue::NULL, of)
}

pub(crate) fn put(rows: &mut Rows, table: DictionaryTable, row: Row) {
    let key = key_of(table, &row);
    let before = rows.insert((table, key), row);
    assert!(before.is_none(), "two rows of {} have one key", table.name());
}

/// The key of a row.
pub(crate) fn key_of(table: DictionaryTable, row: &[OwnedValue]) -> Vec<i64> {
    let int = |value: &OwnedValue| match value.get() {
        Value::Int(int) => int,
        other => panic!("{other} is in the key of {}, whose columns are BIGINT", table.name()),
    };
    row[..table.key_columns()].iter().map(int).collect()
}

/// Adds the rows of a table's definition.
pub(crate) fn of_table(table: &TableDefinition, rows: &mut Rows) {
    let object = number(table.object);
    put(rows, Tables, vec![object.clone(), text(&table.name), number(table.segment)]);
    for (place, column) in table.columns.iter().enumerate() {
        let kind = column.kind;
        let bytes = |value: &OwnedValue| {
            let value = value.get();
            (!value.is_null()).then(|| bytes::of_value(kind, value))
        };
        let (default, sequence, always) = match &column.default {
            Default::Constant(value) => (bytes(value), None, false),
            Default::Identity { sequence, always } => (None, Some(*sequence), *always),
            Default::Expression(expression) => {
                texts::of_default(table.object, place, expression, rows);
                (None, None, false)
            }
        };
        let row = vec![
            object.clone(),
            int(place),
            text(&column.name),
            binary(&kind.stored()),
            flag(column.not_null),
            optional(default, |bytes| binary(&bytes)),
            optional(sequence, number),
            flag(always),
            optional(bytes(&column.missing), |bytes| binary(&bytes)),
        ];
        put(rows, Columns, row);
    }
    for (place, index) in table.indexes.iter().enumerate() {
        of_index(place, index, &object, rows);
    }
    of_constraints(table, &object, rows);
}

fn of_index(place: usize, index: &IndexDefinition, table: &OwnedValue, rows: &mut Rows) {
    let row = vec![
        number(index.object),
        table.clone(),
        int(place),
        text(&index.name),
        number(index.segment),
        flag(index.unique),
        flag(index.primary),
    ];
    put(rows, Indexes, row);
    for (place, column) in index.columns.iter().enumerate() {
        let row = vec![
            number(index.object),
            int(place),
            int(column.column),
            flag(column.direction == Direction::Descending),
            flag(column.nulls == NullOrdering::First),
        ];
        put(rows, IndexColumns, row);
    }
}

/// Adds the rows of constraints: checks first, then foreign keys, in the definition's order.
fn of_constraints(table: &TableDefinition, object: &OwnedValue, rows: &mut Rows) {
    let check_row = |place: usize, name: &str, condition| {
        let mut row = vec![object.clone(), int(place), text(name), condition];
        row.resize(Constraints.columns().len(), OwnedValue::NULL);
        row
    };
    for (place, check) in table.checks.iter().enumerate() {
        let bytes = bytes::of_condition(&check.condition);
        let bytes = bytes.expect("a condition is looked at before it gets into a definition");
        put(rows, Constraints, check_row(place, &check.name, binary(&bytes)));
    }
    for (place, check) in (table.checks.len()..).zip(&table.expressions) {
        put(rows, Constraints, check_row(place, &check.name, OwnedValue::NULL));
        texts::of_check(table.object, place, check, rows);
    }
    let checks = table.checks.len() + table.expressions.len();
    for (place, key) in (checks..).zip(&table.foreign_keys) {
        let row = vec![
            object.clone(),
            int(place),
            text(&key.name),
            OwnedValue::NULL,
            number(key.index),
            number(key.references),
            number(key.referenced_index),
            int(match key.on_delete {
                OnDelete::NoAction => 0,
                OnDelete::Cascade => 1,
                OnDelete::SetNull => 2,
            }),
        ];
        put(rows, Constraints, row);
        let pairs = key.columns.iter().zip(&key.referenced_columns);
        for (number, (column, referenced)) in pairs.enumerate() {
            let row = vec![object.clone(), int(place), int(number), int(*column), int(*referenced)];
            put(rows, ConstraintColumns, row);
        }
    }
}

/// The row of a sequence; `next` is its next value that no range has yet.
pub(crate) fn of_sequence(sequence: &SequenceDefinition, next: Option<i64>) -> Row {
    vec![
        number(sequence.object),
        text(&sequence.name),
        int(sequence.start),
        int(sequence.increment),
        int(sequence.min),
        int(sequence.max),
        flag(sequence.cycles),
        int(sequence.cache),
        optional(next, int),
    ]
}

/// The definitions that the rows say; an error says what is wrong with them.
pub(crate) fn read(rows: &Rows) -> Result<Definitions, String> {
    let mut found = read_apart(rows)?;
    refer_back(&mut found.tables)?;
    Ok(found)
}

/// The definitions without `referenced_by`, which other tables' rows say.
pub(crate) fn read_apart(rows: &Rows) -> Result<Definitions, String> {
    let mut found = Definitions::default();
    for ((table, key), row) in rows {
        let cells = Cells { table: *table, row };
        let said = match table {
            Tables => cells.table(&mut found),
            Columns => cells.column(&mut found),
            Indexes => Some(()),
            IndexColumns => Some(()),
            Constraints => Some(()),
            ConstraintColumns => Some(()),
            Sequences => cells.sequence(&mut found),
            Texts => texts::read(cells, &mut found),
            Statistics => {
                statistics::read(cells, &mut found.statistics);
                Some(())
            }
        };
        said.ok_or_else(|| format!("the row {key:?} of {} makes no sense", table.name()))?;
    }
    read_indexes(rows, &mut found)?;
    read_constraints(rows, &mut found)?;
    Ok(found)
}

/// The sequences whose rows make sense, with their next values.
pub(crate) fn sequences(rows: &Rows) -> Vec<(SequenceDefinition, Option<i64>)> {
    let mut found = Definitions::default();
    for (_, cells) in beginning(rows, Sequences, &[]) {
        // A row that makes no sense is reported by `read`.
        let _ = cells.sequence(&mut found);
    }
    found.sequences.into_values().collect()
}

/// Fills in `referenced_by`: the foreign keys that refer to each table.
pub(crate) fn refer_back(tables: &mut BTreeMap<ObjectNo, TableDefinition>) -> Result<(), String> {
    let keys: Vec<ForeignKey> =
        tables.values().flat_map(|table| table.foreign_keys.iter().cloned()).collect();
    tables.values_mut().for_each(|table| table.referenced_by.clear());
    for key in keys {
        let to = tables.get_mut(&key.references);
        let to = to.ok_or_else(|| format!("{} refers to a table that isn't there", key.name))?;
        to.referenced_by.push(key);
    }
    Ok(())
}

/// The rows of a table whose keys begin with `key`, in the order of their keys.
pub(crate) fn beginning<'a>(
    rows: &'a Rows,
    table: DictionaryTable,
    key: &'a [i64],
) -> impl Iterator<Item = (&'a [i64], Cells<'a>)> {
    let from = (table, key.to_vec());
    let of_it = move |((at, has), _): &(&(DictionaryTable, Vec<i64>), _)| {
        *at == table && has.starts_with(key)
    };
    let cells = move |((_, key), row): (&'a (DictionaryTable, Vec<i64>), &'a Row)| {
        (&**key, Cells { table, row })
    };
    rows.range(from..).take_while(of_it).map(cells)
}

fn read_indexes(rows: &Rows, found: &mut Definitions) -> Result<(), String> {
    let mut all: Vec<Cells<'_>> = beginning(rows, Indexes, &[]).map(|(_, cells)| cells).collect();
    all.sort_by_key(|cells| (cells.int(1), cells.int(2)));
    for cells in all {
        let said = cells.index(rows, found);
        said.ok_or_else(|| format!("the row {:?} of _indexes makes no sense", cells.int(0)))?;
    }
    Ok(())
}

fn read_constraints(rows: &Rows, found: &mut Definitions) -> Result<(), String> {
    for (_, cells) in beginning(rows, Constraints, &[]) {
        let said = cells.constraint(rows, found);
        said.ok_or_else(|| {
            format!("the row {:?} of _constraints makes no sense", (cells.int(0), cells.int(1)))
        })?;
    }
    Ok(())
}

/// A row that is read column by column; none where a column has a value that it can't have.
#[derive(Clone, Copy)]
pub(crate) struct Cells<'a> {
    table: DictionaryTable,
    row: &'a Row,
}

impl<'a> Cells<'a> {
    pub(crate) fn new(table: DictionaryTable, row: &'a Row) -> Cells<'a> {
        Cells { table, row }
    }

    pub(crate) fn row(&self) -> &'a Row {
        self.row
    }

    fn get(&self, column: usize) -> Value<'a> {
        assert!(column < self.table.columns().len(), "{} has no such column", self.table.name());
        self.row.get(column).map_or(Value::Null, OwnedValue::get)
    }

    pub(crate) fn int(&self, column: usize) -> Option<i64> {
        match self.get(column) {
            Value::Int(int) => Some(int),
            _ => None,
        }
    }

    pub(crate) fn place(&self, column: usize) -> Option<usize> {
        self.int(column)?.try_into().ok()
    }

    pub(crate) fn object(&self, column: usize) -> Option<ObjectNo> {
        let number = u32::try_from(self.int(column)?).ok()?;
        (number > 0).then(|| ObjectNo::new(number))
    }

    pub(crate) fn text(&self, column: usize) -> Option<String> {
        match self.get(column) {
            Value::Text(text) => Some(text.into()),
            _ => None,
        }
    }

    pub(crate) fn flag(&self, column: usize) -> Option<bool> {
        match self.get(column) {
            Value::Boolean(is) => Some(is),
            _ => None,
        }
    }

    /// The condition in a column, if it can be read.
    pub(crate) fn condition(&self, column: usize) -> Option<Condition> {
        bytes::condition_in(self.bytes(column)?)
    }

    /// The type in a row of `_columns`.
    pub(crate) fn column_kind(&self) -> Option<Type> {
        Type::from_stored(self.bytes(3)?.try_into().ok()?)
    }

    pub(crate) fn bytes(&self, column: usize) -> Option<&'a [u8]> {
        match self.get(column) {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The value of this type in a column, which may be NULL.
    fn value(&self, column: usize, kind: Type) -> Option<OwnedValue> {
        match self.get(column) {
            Value::Null => Some(OwnedValue::NULL),
            Value::Bytes(bytes) => bytes::value_in(kind, bytes),
            _ => None,
        }
    }

    fn table(&self, found: &mut Definitions) -> Option<()> {
        let table = TableDefinition::new(self.object(0)?, &self.text(1)?, self.object(2)?);
        found.tables.insert(table.object, table);
        Some(())
    }

    fn column(&self, found: &mut Definitions) -> Option<()> {
        let table = found.tables.get_mut(&self.object(0)?)?;
        let kind = self.column_kind()?;
        let default = match self.get(6) {
            Value::Null => Default::Constant(self.value(5, kind)?),
            _ => Default::Identity { sequence: self.object(6)?, always: self.flag(7)? },
        };
        let column = ColumnDefinition {
            name: self.text(2)?,
            kind,
            not_null: self.flag(4)?,
            default,
            missing: self.value(8, kind)?,
        };
        let place = table.columns.len();
        let follows = self.place(1)? == place && place < COLUMNS_MAX;
        follows.then(|| table.columns.push(column))
    }

    fn sequence(&self, found: &mut Definitions) -> Option<()> {
        let sequence = SequenceDefinition {
            object: self.object(0)?,
            name: self.text(1)?,
            start: self.int(2)?,
            increment: self.int(3)?,
            min: self.int(4)?,
            max: self.int(5)?,
            cycles: self.flag(6)?,
            cache: self.int(7)?.try_into().ok()?,
        };
        found.sequences.insert(sequence.object, (sequence, self.int(8)));
        Some(())
    }

    fn index(&self, rows: &Rows, found: &mut Definitions) -> Option<()> {
        let object = self.object(0)?;
        let table = found.tables.get_mut(&self.object(1)?)?;
        let has = table.columns.len();
        let column = |(_, cells): (&[i64], Cells<'_>)| {
            let direction = match cells.flag(3)? {
                true => Direction::Descending,
                false => Direction::Ascending,
            };
            let nulls = if cells.flag(4)? { NullOrdering::First } else { NullOrdering::Last };
            let column = cells.place(2).filter(|place| *place < has)?;
            Some(IndexColumn { column, direction, nulls })
        };
        let key = [i64::from(object.get())];
        let columns: Option<Vec<_>> = beginning(rows, IndexColumns, &key).map(column).collect();
        table.indexes.push(IndexDefinition {
            object,
            name: self.text(3)?,
            segment: self.object(4)?,
            columns: columns.filter(|columns| !columns.is_empty())?,
            unique: self.flag(5)?,
            primary: self.flag(6)?,
            since: Scn::ZERO,
        });
        Some(())
    }

    fn constraint(&self, rows: &Rows, found: &mut Definitions) -> Option<()> {
        let table = found.tables.get_mut(&self.object(0)?)?;
        let name = self.text(2)?;
        if self.bytes(3).is_some() {
            let condition = self.condition(3)?;
            table.checks.push(NamedCondition { name, condition });
            return Some(());
        }
        if let Some(row) = texts::check_row(rows, self.int(0)?, self.int(1)?) {
            let check = texts::check_of(row)?;
            let has = table.columns.len();
            let is_sound = check.columns.iter().all(|column| *column < has);
            return is_sound.then(|| table.expressions.push(CheckExpression { name, ..check }));
        }
        let key = [self.int(0)?, self.int(1)?];
        let pair = |(_, cells): (&[i64], Cells<'_>)| Some((cells.place(3)?, cells.place(4)?));
        let pairs: Option<Vec<(usize, usize)>> =
            beginning(rows, ConstraintColumns, &key).map(pair).collect();
        let (columns, referenced_columns) = pairs?.into_iter().unzip();
        table.foreign_keys.push(ForeignKey {
            name,
            table: table.object,
            columns,
            index: self.object(4)?,
            references: self.object(5)?,
            referenced_columns,
            referenced_index: self.object(6)?,
            on_delete: match self.int(7)? {
                0 => OnDelete::NoAction,
                1 => OnDelete::Cascade,
                2 => OnDelete::SetNull,
                _ => return None,
            },
        });
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use relation::{Comparison, Operand};

    use super::*;
    use crate::SequenceOptions;

    fn column(name: &str, kind: Type, default: Default) -> ColumnDefinition {
        let missing = Value::Null.to_owned();
        ColumnDefinition { name: name.into(), kind, not_null: true, default, missing }
    }

    fn index(object: u32, columns: &[usize], unique: bool) -> IndexDefinition {
        let columns = columns.iter().map(|column| IndexColumn {
            column: *column,
            direction: if *column == 1 { Direction::Descending } else { Direction::Ascending },
            nulls: if *column == 2 { NullOrdering::First } else { NullOrdering::Last },
        });
        IndexDefinition {
            object: ObjectNo::new(object),
            name: format!("i{object}"),
            segment: ObjectNo::new(object + 1),
            columns: columns.collect(),
            unique,
            primary: false,
            since: Scn::ZERO,
        }
    }

    /// A table with something of everything, and twelve columns, so that places aren't sorted as
    /// texts.
    fn table(object: u32) -> TableDefinition {
        let (own, other) = (ObjectNo::new(object), ObjectNo::new(50));
        let identity = Default::Identity { sequence: ObjectNo::new(7), always: true };
        let mut columns = vec![column("id", Type::BigInt, identity)];
        for number in 1..12 {
            let kind = Type::varchar(number * 10).expect("a type");
            let value = Value::Text("it's").to_owned();
            let mut column = column(&format!("c{number}"), kind, Default::Constant(value.clone()));
            column.missing = if number > 5 { value } else { OwnedValue::NULL };
            column.not_null = number % 2 == 0;
            columns.push(column);
        }
        columns[4].default = Default::Expression("upper('x')".into());
        let key = |name: &str, on_delete| ForeignKey {
            name: name.into(),
            table: own,
            columns: vec![1, 2],
            index: ObjectNo::new(object + 30),
            references: other,
            referenced_columns: vec![2, 0],
            referenced_index: ObjectNo::new(80),
            on_delete,
        };
        let check = Condition::Compare(
            Operand::Column(1),
            Comparison::NotEqual,
            Operand::Constant(Value::Text("").to_owned()),
        );
        TableDefinition {
            columns,
            // The indexes aren't in the order of their numbers.
            indexes: vec![index(object + 30, &[1, 2], false), index(object + 10, &[0], true)],
            checks: vec![NamedCondition { name: "k".into(), condition: check }],
            expressions: vec![CheckExpression {
                name: "e".into(),
                text: "c1 <> c2".into(),
                columns: vec![1, 2],
            }],
            foreign_keys: vec![key("f", OnDelete::SetNull), key("g", OnDelete::Cascade)],
            ..TableDefinition::new(own, &format!("t{object}"), ObjectNo::new(object + 1))
        }
    }

    #[test]
    fn what_is_read_from_the_rows_of_definitions_is_these() {
        let mut tables = BTreeMap::new();
        for object in [50, 100, 200] {
            tables.insert(ObjectNo::new(object), table(object));
        }
        refer_back(&mut tables).expect("all are there");
        let mut rows = Rows::new();
        tables.values().for_each(|table| of_table(table, &mut rows));
        let options = SequenceOptions { cycles: true, ..SequenceOptions::default() };
        let sequence = options.define(ObjectNo::new(7), "s").expect("sound");
        put(&mut rows, Sequences, of_sequence(&sequence, Some(-4)));
        let found = read(&rows).expect("sense");
        assert_eq!(format!("{:?}", found.tables), format!("{tables:?}"));
        assert_eq!(found.sequences[&ObjectNo::new(7)], (sequence, Some(-4)));
        assert_eq!(found.tables[&ObjectNo::new(50)].referenced_by.len(), 6);
    }

    #[test]
    fn rows_fit_their_tables() {
        let mut rows = Rows::new();
        of_table(&table(50), &mut rows);
        for ((table, _), row) in &rows {
            assert_eq!(row.len(), table.columns().len(), "{}", table.name());
            for (value, (name, kind, nullable)) in row.iter().zip(table.columns()) {
                let fitted = kind.fit(name, value.get()).expect("fits");
                assert_eq!(fitted, value.get());
                assert!(*nullable || !fitted.is_null(), "{name}");
            }
        }
    }

    /// A row that is lost makes nothing panic, and mostly is noticed.
    #[test]
    fn rows_that_are_missing_make_no_sense_or_another_definition() {
        let mut rows = Rows::new();
        of_table(&table(50), &mut rows);
        let whole = format!("{:?}", read(&rows).expect("sense").tables);
        for key in rows.keys() {
            let mut fewer = rows.clone();
            fewer.remove(key);
            if let Ok(found) = read(&fewer) {
                assert_ne!(format!("{:?}", found.tables), whole, "without {key:?}");
            }
        }
    }
}
