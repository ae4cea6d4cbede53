//! The tables of a model check: typed columns, keys, foreign keys, a CHECK.
//!
//! ```text
//!   parent ◀── child.up        each has a boss of its own table;
//!     ▲  ▲      ▲              the codes of `parent` are referred to as well
//!     │  └──────┼── child.code_up
//!     └─────────┴── third.code_up, third.up
//! ```
//!
//! All tables have the same columns; what refers to what, and what a delete does, a seed decides.
//!
//! Callers: `bed`, which makes them; `client`, `judge`.

use database::{
    Alteration, ColumnSpec, ConstraintSpec, Error, ErrorKind, ForeignKeySpec, IndexSpec, OnDelete,
    Rule, SequenceOptions, TableSpec, Type, Value,
};
use relation::{Comparison, Condition, Operand};

use super::cell::{Cell, Row};
use super::ticket;
use crate::defining::Defining;

/// Columns of each table when it is made.
pub(super) const COLUMNS: usize = 9;
/// Columns that are added later, at most.
pub(super) const LATER: usize = 2;

pub(super) const ID: usize = 0;
pub(super) const KIND: usize = 1;
pub(super) const PART: usize = 2;
pub(super) const CODE: usize = 3;
pub(super) const UP: usize = 4;
pub(super) const CODE_UP: usize = 5;
pub(super) const BOSS: usize = 6;
pub(super) const NOTE: usize = 7;
pub(super) const COUNT: usize = 8;

const NAMES: [&str; COLUMNS] =
    ["id", "kind", "part", "code", "up", "code_up", "boss", "note", "count"];

/// No row has this kind: the CHECK says so.
pub(super) const FORBIDDEN: i64 = 13;

/// No row has this code either: the same in a CHAR without its blank, and only so in a VARCHAR.
pub(super) const FORBIDDEN_CODE: &str = "no ";

const CODE_CHARS: u16 = 20;

/// A table.
pub(super) const PARENT: usize = 0;
pub(super) const CHILD: usize = 1;
pub(super) const THIRD: usize = 2;
pub(super) const TABLES: [&str; 3] = ["parent", "child", "third"];

/// Which type a code has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CodeKind {
    Varchar,
    Char,
}

impl CodeKind {
    fn kind(self) -> Type {
        let made = match self {
            CodeKind::Varchar => Type::varchar(CODE_CHARS),
            CodeKind::Char => Type::char(CODE_CHARS),
        };
        made.expect("a text may have so many characters")
    }
}

/// A column that refers to a column of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reference {
    pub(super) table: usize,
    pub(super) column: usize,
    pub(super) to: usize,
    pub(super) to_column: usize,
    pub(super) on_delete: OnDelete,
    /// Blanks at the end don't count.
    pub(super) trims: bool,
}

impl Reference {
    /// What of the row refers, in the form in which it is compared.
    pub(super) fn refers(&self, row: &Row) -> Cell {
        self.form(&row[self.column])
    }

    /// What of the row is referred to.
    pub(super) fn referred(&self, row: &Row) -> Cell {
        self.form(&row[self.to_column])
    }

    fn form(&self, cell: &Cell) -> Cell {
        if self.trims { cell.trimmed() } else { cell.clone() }
    }
}

/// What the tables are.
#[derive(Clone, Debug)]
pub(super) struct Schema {
    pub(super) codes: CodeKind,
    /// Of columns that refer to a code.
    pub(super) code_ups: CodeKind,
    pub(super) references: Vec<Reference>,
    /// Whether no two rows are alike in part and kind.
    pub(super) pairs: bool,
    /// Whether `child` is made before `parent`, and refers to it later.
    pub(super) child_first: bool,
    /// The sequence of tickets.
    pub(super) stamps: SequenceOptions,
}

impl Schema {
    /// The unique keys of each table, the primary key first.
    pub(super) fn keys(&self) -> &'static [&'static [usize]] {
        if self.pairs { &[&[ID], &[CODE], &[PART, KIND]] } else { &[&[ID], &[CODE]] }
    }

    /// What a row has in columns that are added later.
    pub(super) fn later() -> [Cell; LATER] {
        [Cell::Int(7), Cell::Null]
    }

    /// What references of a table are.
    pub(super) fn of(&self, table: usize) -> impl Iterator<Item = &Reference> {
        self.references.iter().filter(move |one| one.table == table)
    }

    /// The value as its column keeps it.
    pub(super) fn kept(&self, column: usize, cell: &Cell) -> Cell {
        let is_char = match column {
            CODE => self.codes == CodeKind::Char,
            CODE_UP => self.code_ups == CodeKind::Char,
            _ => false,
        };
        if is_char { cell.trimmed() } else { cell.clone() }
    }

    /// The type of a column.
    pub(super) fn kind(&self, column: usize) -> Type {
        match column {
            CODE => self.codes.kind(),
            CODE_UP => self.code_ups.kind(),
            ID | UP | BOSS => Type::BigInt,
            NOTE => Type::Text,
            _ => Type::Integer,
        }
    }

    /// Whether the CHECKs hold.
    pub(super) fn checks(&self, row: &Row) -> bool {
        row[KIND] != Cell::Int(FORBIDDEN)
            && row[CODE] != self.kept(CODE, &Cell::text(FORBIDDEN_CODE))
    }

    /// Makes the tables. A foreign key between a CHAR and a VARCHAR may be refused; then all are
    /// made again with one type, which is told.
    pub(super) fn make(&mut self, connection: &mut Defining<'_, '_>) -> Result<(), Error> {
        match self.make_all(connection) {
            Err(stop)
                if stop.refusal() == Some(ErrorKind::Invalid) && self.codes != self.code_ups =>
            {
                self.use_one_type();
                for name in TABLES.iter().rev() {
                    if connection.table(name).is_ok() {
                        connection.drop_table(name, true)?;
                    }
                }
                self.make_all(connection)?;
            }
            made => made?,
        }
        ticket::make(connection, &self.stamps)?;
        check_references(connection)
    }

    fn make_all(&self, connection: &mut Defining<'_, '_>) -> Result<(), Error> {
        let order = if self.child_first { [CHILD, PARENT, THIRD] } else { [PARENT, CHILD, THIRD] };
        for table in order {
            connection.create_table(&self.spec(table))?;
            if self.child_first && table == PARENT {
                self.add_references(connection)?;
            }
            let name = TABLES[table];
            let by_kind = IndexSpec::new(&format!("{name}_by_kind"), name, ["kind"]);
            connection.create_index(&by_kind)?;
            let both = IndexSpec::new(&format!("{name}_by_both"), name, ["kind", "part", "id"]);
            connection.create_index(&both.descending(0))?;
        }
        Ok(())
    }

    /// Codes and what refers to them are of one type.
    fn use_one_type(&mut self) {
        self.code_ups = self.codes;
        self.references.iter_mut().for_each(|one| one.trims = one.is_of_codes(self.codes));
    }

    /// What `child` refers to `parent` by, which was made after it.
    fn add_references(&self, connection: &mut Defining<'_, '_>) -> Result<(), Error> {
        for one in self.of(CHILD).filter(|one| one.to == PARENT) {
            let constraint = ConstraintSpec { name: None, rule: one.rule() };
            connection.alter_table(TABLES[CHILD], &Alteration::AddConstraint(constraint))?;
        }
        Ok(())
    }

    fn spec(&self, table: usize) -> TableSpec {
        let mut spec = TableSpec::new(TABLES[table]);
        for (column, name) in NAMES.iter().enumerate() {
            spec = spec.column(ColumnSpec::new(name, self.kind(column)));
        }
        let forbidden = Operand::Constant(Value::Int(FORBIDDEN).to_owned());
        let check = Condition::Compare(Operand::Column(KIND), Comparison::NotEqual, forbidden);
        let no_code = Operand::Constant(Value::Text(FORBIDDEN_CODE).to_owned());
        let codes = Condition::Compare(Operand::Column(CODE), Comparison::NotEqual, no_code);
        spec = spec.primary_key(["id"]).check(check).check(codes).unique(["code"]);
        if self.pairs {
            spec = spec.unique(["part", "kind"]);
        }
        let is_later = |one: &Reference| self.child_first && table == CHILD && one.to == PARENT;
        for one in self.of(table).filter(|one| !is_later(one)) {
            spec.constraints.push(ConstraintSpec { name: None, rule: one.rule() });
        }
        spec
    }
}

/// A table knows each foreign key that refers to it once.
fn check_references(connection: &Defining<'_, '_>) -> Result<(), Error> {
    for name in TABLES {
        let table = connection.table(name)?;
        let keys = &table.definition().referenced_by;
        let mut names: Vec<_> = keys.iter().map(|key| (key.table, &key.name)).collect();
        names.sort_unstable();
        if names.windows(2).any(|two| two[0] == two[1]) {
            let message = format!("table {name} has a foreign key twice: {names:?}");
            return Err(Error::refuse(ErrorKind::WrongState, message));
        }
    }
    Ok(())
}

impl Reference {
    fn rule(&self) -> Rule {
        Rule::ForeignKey(ForeignKeySpec {
            columns: vec![NAMES[self.column].into()],
            references: TABLES[self.to].into(),
            referenced_columns: vec![NAMES[self.to_column].into()],
            on_delete: self.on_delete,
        })
    }

    fn is_of_codes(&self, codes: CodeKind) -> bool {
        self.column == CODE_UP && codes == CodeKind::Char
    }
}

/// A column of the table, by its number; later ones have names that say it.
pub(super) fn name_of(column: usize) -> String {
    NAMES.get(column).map_or_else(|| format!("later{column}"), |name| (*name).to_string())
}

/// How long the text of a row is.
pub(super) fn note_bytes(row: &Row) -> usize {
    match &row[NOTE] {
        Cell::Text(text) => text.len(),
        Cell::Null | Cell::Int(_) => 0,
    }
}
