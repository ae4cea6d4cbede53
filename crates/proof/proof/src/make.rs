//! The statements by which a session defines something, alters it and drops it again, each with
//! what the journal is to know of it.
//!
//! Callers: `define`.

use database::{
    Alteration, ColumnSpec, Condition, ConstraintSpec, ForeignKeySpec, IndexSpec, OnDelete,
    OwnedValue, Rule, SequenceOptions, TableSpec, Type, Value,
};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use relation::{Comparison, Operand};
use stop::Stop;

use crate::Journal;
use crate::client::{KEYS, refused};
use crate::define::{COLUMN_ALTERED, Made, RENAMED, done};
use crate::defining::Defining;
use crate::found::{
    PLAIN, PRIMARY, UNIQUE, column_name, column_text, constraint_name, foreign_text, index_name,
    index_text, sequence_name, sequence_text, table_name,
};
use crate::tables::{COLUMNS, ID, ITEM, KIND, PARENT, TABLES, USERS, VERSION, WIDE, WRITER};

/// Of which table, and how it is called.
type Name = (usize, String);

pub(crate) fn make_index(
    (table, name): Name,
    connection: &mut Defining<'_, '_>,
    session: u32,
    journal: &Journal,
) -> Result<Option<Made>, Stop> {
    let on = TABLES[table].name;
    // Other columns each time, for there may be only one index of the same.
    let mut columns: Vec<&str> = COLUMNS[1..6].to_vec();
    let from = name.bytes().map(usize::from).sum::<usize>();
    columns.rotate_left(from % 5);
    columns.truncate(1 + from % 3);
    let is_unique = from % 4 == 1;
    // Without the primary key it is refused where two rows have the same; only one session makes
    // such, for two could make the same at once.
    if !is_unique || session != 0 {
        columns.push(COLUMNS[0]);
    }
    let definition = connection.table(on)?;
    let has = definition.definition().indexes.iter().any(|index| {
        let same = index.columns.iter().map(|of| of.column);
        let wanted = columns.iter().map(|column| definition.column(column).unwrap_or(0));
        same.eq(wanted)
    });
    if has {
        return Ok(None);
    }
    let spec = IndexSpec::new(&name, on, columns.iter().copied());
    let (spec, kind) = if is_unique { (spec.unique(), UNIQUE) } else { (spec, PLAIN) };
    let text = index_text(kind, &columns);
    let changes = vec![(index_name(on, &name), Some(text.clone()))];
    let made = done(changes, journal, || connection.create_index(&spec))?;
    Ok(made.then_some(Made::Index { table, name, text }))
}

/// The columns of a UNIQUE that a session adds: others than any other session's or any index's.
const UNIQUE_OF: [[&str; 2]; 4] = [
    [COLUMNS[VERSION], "kind"],
    [COLUMNS[WRITER], COLUMNS[VERSION]],
    ["code", COLUMNS[WRITER]],
    ["kind", COLUMNS[WRITER]],
];

pub(crate) fn make_unique(
    (table, name): Name,
    connection: &mut Defining<'_, '_>,
    session: u32,
    journal: &Journal,
) -> Result<Option<Made>, Stop> {
    let (on, columns) = (TABLES[table].name, UNIQUE_OF[session as usize % UNIQUE_OF.len()]);
    let definition = connection.table(on)?;
    let wanted = columns.map(|column| definition.column(column).unwrap_or(0));
    let mut indexes = definition.definition().indexes.iter();
    if indexes.any(|index| index.columns.iter().map(|of| of.column).eq(wanted)) {
        return Ok(None);
    }
    let rule = Rule::Unique(columns.map(str::to_string).to_vec());
    let constraint = ConstraintSpec { name: Some(name.clone()), rule };
    let changes = vec![(index_name(on, &name), Some(index_text(UNIQUE, &columns)))];
    let alteration = Alteration::AddConstraint(constraint);
    let made = done(changes, journal, || connection.alter_table(on, &alteration))?;
    Ok(made.then_some(Made::Unique { table, name, columns }))
}

/// A second foreign key of the column that refers. It takes nothing with it when a row goes, so a
/// delete does what the load knows of, or is refused.
pub(crate) fn make_foreign_key(
    (table, name): Name,
    connection: &mut Defining<'_, '_>,
    journal: &Journal,
) -> Result<Option<Made>, Stop> {
    let on = TABLES[table].name;
    if TABLES[table].refers.is_none() {
        return Ok(None);
    }
    // Half of them refer to a table that the column doesn't mean, and are mostly refused.
    let parent = TABLES[[ITEM, WIDE][name.len() % 2]].name;
    let key = ForeignKeySpec {
        columns: vec![COLUMNS[PARENT].to_string()],
        references: parent.to_string(),
        referenced_columns: Vec::new(),
        on_delete: OnDelete::NoAction,
    };
    let text = foreign_text(COLUMNS[PARENT], parent, COLUMNS[ID], OnDelete::NoAction);
    let rule = Rule::ForeignKey(key);
    let constraint = ConstraintSpec { name: Some(name.clone()), rule };
    let changes = vec![(constraint_name(on, &name), Some(text.clone()))];
    let alteration = Alteration::AddConstraint(constraint);
    let made = done(changes, journal, || connection.alter_table(on, &alteration))?;
    Ok(made.then_some(Made::Constraint { table, name, text }))
}

/// A column that is NULL in one of eleven rows may not be any more. Only the first session does
/// so, for the column is everybody's.
pub(crate) fn make_not_null(
    table: usize,
    connection: &mut Defining<'_, '_>,
    session: u32,
    journal: &Journal,
) -> Result<Option<Made>, Stop> {
    if session != 0 {
        return Ok(None);
    }
    let (on, column) = (TABLES[table].name, COLUMNS[KIND]);
    let changes = vec![(column_name(on, column), Some(kind_text(true)))];
    let alteration = Alteration::SetNotNull(column.to_string());
    let made = done(changes, journal, || connection.alter_table(on, &alteration))?;
    Ok(made.then_some(Made::NotNull { table }))
}

/// The text of the column of kinds.
fn kind_text(not_null: bool) -> String {
    let null = OwnedValue::NULL;
    column_text(Type::Integer, not_null, &format!("{null:?}"), &null)
}

/// The default of a column that is made.
const SEVEN: i64 = 7;

/// The text of a column that was made.
fn made_column(not_null: bool, default: i64) -> String {
    let of = |value| Value::Int(value).to_owned();
    column_text(Type::Integer, not_null, &format!("{:?}", of(default)), &of(SEVEN))
}

pub(crate) fn make_column(
    (table, name): Name,
    connection: &mut Defining<'_, '_>,
    journal: &Journal,
) -> Result<Option<Made>, Stop> {
    let on = TABLES[table].name;
    let seven = Value::Int(SEVEN).to_owned();
    let column = ColumnSpec::new(&name, Type::Integer).not_null().default_value(seven);
    let changes = vec![(column_name(on, &name), Some(made_column(true, SEVEN)))];
    let alteration = Alteration::AddColumn(column);
    let made = done(changes, journal, || connection.alter_table(on, &alteration))?;
    Ok(made.then_some(Made::Column { table, name, not_null: true, default: SEVEN }))
}

pub(crate) fn make_check(
    (table, name): Name,
    connection: &mut Defining<'_, '_>,
    journal: &Journal,
) -> Result<Option<Made>, Stop> {
    let on = TABLES[table].name;
    let zero = Operand::Constant(Value::Int(0).to_owned());
    let condition = Condition::Compare(Operand::Column(VERSION), Comparison::NotEqual, zero);
    let text = connection.check_text(&condition, &COLUMNS);
    let changes = vec![(constraint_name(on, &name), Some(text.clone()))];
    let constraint = ConstraintSpec { name: Some(name.clone()), rule: Rule::Check(condition) };
    let alteration = Alteration::AddConstraint(constraint);
    let made = done(changes, journal, || connection.alter_table(on, &alteration))?;
    Ok(made.then_some(Made::Constraint { table, name, text }))
}

/// A table that was made, its columns and constraints: these by the table's first name.
fn of_table(name: &str, first: &str, connection: &Defining<'_, '_>) -> [(String, String); 7] {
    let column = |not_null: bool| {
        let null = OwnedValue::NULL;
        column_text(Type::BigInt, not_null, &format!("{null:?}"), &null)
    };
    let refers = foreign_text("item", TABLES[0].name, COLUMNS[0], OnDelete::SetNull);
    let of = |what: &str| format!("{first}_{what}");
    [
        (table_name(name), String::new()),
        (column_name(name, "id"), column(true)),
        (column_name(name, "item"), column(false)),
        (index_name(name, &of("pk")), index_text(PRIMARY, &["id"])),
        (index_name(name, &of("unique")), index_text(UNIQUE, &["item"])),
        (constraint_name(name, &of("item")), refers),
        (
            constraint_name(name, &of("check")),
            connection.check_text(&is_positive(), &["id", "item"]),
        ),
    ]
}

/// What the CHECK of a table says that is made.
fn is_positive() -> Condition {
    let zero = Operand::Constant(Value::Int(0).to_owned());
    Condition::Compare(Operand::Column(0), Comparison::Greater, zero)
}

pub(crate) fn make_table(
    name: String,
    connection: &mut Defining<'_, '_>,
    journal: &Journal,
    random: &mut Xoshiro256PlusPlus,
) -> Result<Option<Made>, Stop> {
    let [key, unique, refers, check] =
        ["pk", "unique", "item", "check"].map(|what| format!("{name}_{what}"));
    let spec = TableSpec::new(&name)
        .in_tablespace(USERS)
        .column(ColumnSpec::new("id", Type::BigInt))
        .column(ColumnSpec::new("item", Type::BigInt))
        .primary_key(["id"])
        .named(&key)
        .unique(["item"])
        .named(&unique)
        .foreign_key(["item"], TABLES[0].name, OnDelete::SetNull)
        .named(&refers)
        .check(is_positive())
        .named(&check);
    let all = of_table(&name, &name, connection).into_iter();
    let changes = all.map(|(what, is)| (what, Some(is))).collect();
    if !done(changes, journal, || connection.create_table(&spec))? {
        return Ok(None);
    }
    let ids = [1, 2, 3].map(|id| (id, random.random_range(1..=KEYS)));
    fill(&name, &ids, connection, journal)?;
    Ok(Some(Made::Table { first: name.clone(), name }))
}

/// Rows that the journal doesn't know: their constraints hold, whatever becomes of them.
fn fill(
    name: &str,
    ids: &[(i64, i64)],
    connection: &mut Defining<'_, '_>,
    journal: &Journal,
) -> Result<(), Stop> {
    let table = connection.table(name)?;
    let mut tx = connection.connection().begin();
    for (id, item) in ids {
        if let Err(stop) = tx.insert(&table, &[Value::Int(*id), Value::Int(*item)]) {
            refused(stop, journal)?;
            return tx.rollback();
        }
    }
    tx.commit()
}

pub(crate) fn make_sequence(
    name: String,
    connection: &mut Defining<'_, '_>,
    journal: &Journal,
) -> Result<Option<Made>, Stop> {
    let text = sequence_text(1, 1, 1, i64::MAX, false, 20);
    let changes = vec![(sequence_name(&name), Some(text))];
    let options = SequenceOptions::default();
    let made = done(changes, journal, || connection.create_sequence(&name, &options))?;
    Ok(made.then_some(Made::Sequence { name }))
}

/// Another name for what was made, or something else about it.
pub(crate) fn alter_again(
    made: &mut Made,
    new: String,
    connection: &mut Defining<'_, '_>,
    journal: &Journal,
) -> Result<(), Stop> {
    let renames = |from: &str| Alteration::RenameConstraint { from: from.into(), to: new.clone() };
    let both = |old: String, new: String, text: &str| vec![(old, None), (new, Some(text.into()))];
    let (on, changes, alteration, note) = match made {
        Made::Index { table, name, text } => {
            let on = TABLES[*table].name;
            let changes = both(index_name(on, name), index_name(on, &new), text);
            (on, changes, renames(name), RENAMED)
        }
        Made::Unique { table, name, columns } => {
            let (on, text) = (TABLES[*table].name, index_text(UNIQUE, columns));
            let changes = both(index_name(on, name), index_name(on, &new), &text);
            (on, changes, renames(name), RENAMED)
        }
        Made::Constraint { table, name, text } => {
            let on = TABLES[*table].name;
            let changes = both(constraint_name(on, name), constraint_name(on, &new), text);
            (on, changes, renames(name), RENAMED)
        }
        Made::Table { name, first } => {
            let gone = of_table(name, first, connection).into_iter();
            let gone = gone.map(|(what, _)| (what, None));
            let come = of_table(&new, first, connection).into_iter();
            let come = come.map(|(what, is)| (what, Some(is)));
            let changes = gone.chain(come).collect();
            (name.as_str(), changes, Alteration::RenameTable(new.clone()), RENAMED)
        }
        Made::Column { .. } => return alter_column(made, new, connection, journal),
        Made::NotNull { .. } | Made::Sequence { .. } => return Ok(()),
    };
    if done(changes, journal, || connection.alter_table(on, &alteration))? {
        journal.note(note);
        match made {
            Made::Index { name, .. }
            | Made::Unique { name, .. }
            | Made::Constraint { name, .. }
            | Made::Table { name, .. } => *name = new,
            Made::Column { .. } | Made::NotNull { .. } | Made::Sequence { .. } => {}
        }
    }
    Ok(())
}

/// Another name, another default, or NULL is allowed, or isn't any more.
fn alter_column(
    made: &mut Made,
    new: String,
    connection: &mut Defining<'_, '_>,
    journal: &Journal,
) -> Result<(), Stop> {
    let Made::Column { table, name, not_null, default } = made else { return Ok(()) };
    let (on, called) = (TABLES[*table].name, column_name(TABLES[*table].name, name));
    let text = |not_null, default| Some(made_column(not_null, default));
    let (other, column) = (*default + 1, name.clone());
    match new.bytes().map(usize::from).sum::<usize>() % 3 {
        0 => {
            let changes = vec![(called, None), (column_name(on, &new), text(*not_null, *default))];
            let alteration = Alteration::RenameColumn { from: column, to: new.clone() };
            if done(changes, journal, || connection.alter_table(on, &alteration))? {
                *name = new;
                journal.note(RENAMED);
            }
        }
        1 => {
            let value = Value::Int(other).to_owned();
            let changes = vec![(called, text(*not_null, other))];
            let alteration = Alteration::SetDefault { column, value };
            if done(changes, journal, || connection.alter_table(on, &alteration))? {
                *default = other;
                journal.note(COLUMN_ALTERED);
            }
        }
        _ => {
            let changes = vec![(called, text(!*not_null, *default))];
            let alteration = match *not_null {
                true => Alteration::DropNotNull(column),
                false => Alteration::SetNotNull(column),
            };
            if done(changes, journal, || connection.alter_table(on, &alteration))? {
                *not_null = !*not_null;
                journal.note(COLUMN_ALTERED);
            }
        }
    }
    Ok(())
}

pub(crate) fn drop_again(
    made: &Made,
    connection: &mut Defining<'_, '_>,
    journal: &Journal,
) -> Result<(), Stop> {
    let gone = |what: String| vec![(what, None)];
    let dropped = match made {
        Made::Index { table, name, .. } => {
            let changes = gone(index_name(TABLES[*table].name, name));
            done(changes, journal, || connection.drop_index(name))
        }
        Made::Column { table, name, .. } => {
            let on = TABLES[*table].name;
            let drop = Alteration::DropColumn(name.clone());
            done(gone(column_name(on, name)), journal, || connection.alter_table(on, &drop))
        }
        Made::Constraint { table, name, .. } => {
            let on = TABLES[*table].name;
            let drop = Alteration::DropConstraint { name: name.clone(), cascade: false };
            done(gone(constraint_name(on, name)), journal, || connection.alter_table(on, &drop))
        }
        Made::Unique { table, name, .. } => {
            let on = TABLES[*table].name;
            let drop = Alteration::DropConstraint { name: name.clone(), cascade: false };
            done(gone(index_name(on, name)), journal, || connection.alter_table(on, &drop))
        }
        Made::NotNull { table } => {
            let (on, column) = (TABLES[*table].name, COLUMNS[KIND]);
            let changes = vec![(column_name(on, column), Some(kind_text(false)))];
            let drop = Alteration::DropNotNull(column.to_string());
            done(changes, journal, || connection.alter_table(on, &drop))
        }
        Made::Table { name, first } => {
            let all = of_table(name, first, connection).into_iter();
            let changes = all.map(|(what, _)| (what, None)).collect();
            done(changes, journal, || connection.drop_table(name, false))
        }
        Made::Sequence { name } => {
            done(gone(sequence_name(name)), journal, || connection.drop_sequence(name))
        }
    };
    dropped.map(|_| ())
}
