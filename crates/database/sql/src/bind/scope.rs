//! The columns that an expression may name, and which one a name means.
//!
//! ```text
//!   statement ─ scope: emp, dept           a column of its row
//!      └─ subquery ─ scope: bonus          a name that isn't there: a slot, and the value for it
//!            └─ lateral ─ scope: …         goes from frame to frame
//! ```
//!
//! Invariants
//!   * a name is looked for from the innermost level outwards, and the first level that has it
//!     decides, also if it has it twice (42702)
//!   * a column of an outer level is a slot here; each frame in between has it as a slot too
//!   * a frame begins with a level of its own, which has no columns and notes what comes from
//!     outside; a query that isn't lateral doesn't see the level that it stands in
//!
//! Callers: `from`, `expression`, `select`.

use std::ops::{Deref, Range};
use std::rc::Rc;
use std::sync::Arc;

use expression::{Expression, Kind, Typed};
use relation::TableDefinition;
use stop::{SqlState, did_you_mean};
use value::Type;

use crate::names::Name;
use crate::refuse::{At, Bind, Refused};
use crate::schema::TableInfo;

/// A column that can be named.
#[derive(Clone, Debug)]
pub(super) struct ScopeColumn {
    /// The table that has it, by the name that the statement knows it by; none if it is of none.
    pub(super) table: Option<Rc<Name>>,
    /// Its name.
    pub(super) name: ColumnName,
    /// What it is in the row.
    pub(super) value: Expression,
    /// The kind of its values.
    pub(super) kind: Kind,
    /// Its type, if it is a column of a table.
    pub(super) declared: Option<Type>,
    /// Whether it is found by its name alone, and shown by `*`: one of two that USING has merged
    /// isn't.
    pub(super) is_plain: bool,
}

/// The name of a column: a statement names few of the columns that it may name.
#[derive(Clone, Debug)]
pub(super) enum ColumnName {
    /// That of a column of a table, which has this place there.
    Defined { table: Rc<Definition>, place: usize },
    /// Another one.
    Given(Rc<str>),
}

/// The definition that names of columns stand in: for all of them it is counted once.
#[derive(Debug)]
pub(super) struct Definition(Arc<TableDefinition>);

impl ColumnName {
    /// The names of a table's columns, by their places.
    pub(super) fn of(definition: &Arc<TableDefinition>) -> impl Fn(usize) -> ColumnName {
        let table = Rc::new(Definition(Arc::clone(definition)));
        move |place| ColumnName::Defined { table: Rc::clone(&table), place }
    }
}

impl Deref for ColumnName {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            ColumnName::Defined { table, place } => &table.0.columns[*place].name,
            ColumnName::Given(name) => name,
        }
    }
}

impl From<&str> for ColumnName {
    fn from(name: &str) -> ColumnName {
        ColumnName::Given(Rc::from(name))
    }
}

/// A table of the dictionary whose columns are in the row.
#[derive(Clone, Debug)]
pub(super) struct Base {
    /// The name by which the statement knows it.
    pub(super) name: Name,
    pub(super) table: Arc<TableInfo>,
    /// The number of its first column in the row.
    pub(super) first: usize,
    /// What its columns in the row are of the table, in their order.
    pub(super) places: Vec<usize>,
    /// The number of the column with the addresses of its rows, if the row has it.
    pub(super) address: Option<usize>,
}

impl Base {
    /// Whether a column of the row is the table's.
    pub(super) fn has(&self, column: usize) -> bool {
        (self.first..self.first + self.places.len()).contains(&column)
    }

    /// The number in the row of a column of the table.
    pub(super) fn column_of(&self, place: usize) -> Option<usize> {
        self.places.iter().position(|one| *one == place).map(|at| self.first + at)
    }
}

/// A table, a subquery or a function of FROM.
#[derive(Clone, Debug)]
pub(super) struct ScopeTable {
    /// The name by which the statement knows it.
    pub(super) name: Name,
    /// All columns of the row that are its, also those that can't be named.
    pub(super) columns: Range<usize>,
}

/// The columns of one level.
#[derive(Clone, Default, Debug)]
pub(super) struct Scope {
    pub(super) columns: Vec<ScopeColumn>,
    /// The tables of the level, also those without columns.
    pub(super) tables: Vec<ScopeTable>,
    /// Those of them that the dictionary has.
    pub(super) bases: Vec<Base>,
}

impl Scope {
    /// The columns of both sides of a join; those of `right` lie behind `width` others.
    pub(super) fn joined(mut self, right: Scope, width: usize) -> Scope {
        for mut column in right.columns {
            column.value.remap(&|place| place + width);
            self.columns.push(column);
        }
        self.tables.extend(right.tables.into_iter().map(|table| ScopeTable {
            columns: table.columns.start + width..table.columns.end + width,
            ..table
        }));
        let moved = right.bases.into_iter().map(|base| Base {
            first: base.first + width,
            address: base.address.map(|address| address + width),
            ..base
        });
        self.bases.extend(moved);
        self
    }

    /// The same columns, with this many others before them.
    pub(super) fn joined_behind(self, width: usize) -> Scope {
        Scope::default().joined(self, width)
    }

    /// The columns that a name, qualified or not, may mean.
    pub(super) fn named<'s>(&'s self, wanted: &Wanted) -> Vec<&'s ScopeColumn> {
        let is_it = |column: &&ScopeColumn| *column.name == *wanted.column && wanted.is_of(column);
        self.columns.iter().filter(is_it).collect()
    }

    /// Whether there is such a column.
    fn has(&self, wanted: &Wanted) -> bool {
        self.columns.iter().any(|column| *column.name == *wanted.column && wanted.is_of(column))
    }

    /// Whether a table of this name is there.
    pub(super) fn has_table(&self, wanted: &Name) -> bool {
        self.tables.iter().any(|table| is_called(&table.name, wanted))
    }

    /// The numbers of the tables that a name may mean.
    pub(super) fn tables_named(&self, wanted: &Name) -> Vec<usize> {
        let is_it = |number: &usize| is_called(&self.tables[*number].name, wanted);
        (0..self.tables.len()).filter(is_it).collect()
    }

    /// The columns that `*` stands for, or `table.*`.
    pub(super) fn starred(&self, table: Option<&Name>) -> Vec<&ScopeColumn> {
        let is_in = |column: &&ScopeColumn| match (table, &column.table) {
            (None, _) => column.is_plain,
            (Some(wanted), Some(table)) => is_called(table, wanted),
            (Some(_), None) => false,
        };
        self.columns.iter().filter(is_in).collect()
    }
}

/// Whether a table of this name is meant: a name without a schema fits every schema.
fn is_called(table: &Name, wanted: &Name) -> bool {
    table.name == wanted.name
        && (wanted.schema.is_none() || table.schema.is_none() || table.schema == wanted.schema)
}

/// The name of a column, as a statement writes it.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) table: Option<Name>,
    pub(super) column: String,
}

impl Wanted {
    fn is_of(&self, column: &ScopeColumn) -> bool {
        match (&self.table, &column.table) {
            (None, _) => column.is_plain,
            (Some(wanted), Some(table)) => is_called(table, wanted),
            (Some(_), None) => false,
        }
    }
}

impl std::fmt::Display for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(table) = &self.table {
            write!(f, "{table}.")?;
        }
        f.write_str(&self.column)
    }
}

/// What separates a level from the one outside of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Border {
    /// A frame begins here: a subquery in an expression runs by itself, with slots of its own.
    Frame,
    /// It runs in the same plan, and shares its slots: a column of a level outside is one of the
    /// left side of a lateral join.
    Plan,
}

/// A value that a level takes from the one outside of it.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Capture {
    /// What it is, in the row of the level outside.
    pub(super) value: Expression,
    /// Its kind.
    pub(super) kind: Kind,
    /// The slot that has it.
    pub(super) slot: usize,
}

/// A level of a statement: a query, and what it can name.
#[derive(Debug)]
pub(super) struct Level {
    pub(super) border: Border,
    pub(super) scope: Scope,
    /// What it takes from outside.
    pub(super) captures: Vec<Capture>,
    /// How many levels, counted from the outermost, it sees beside itself.
    pub(super) outer: usize,
    /// Whether the rows of its tables have their addresses, because they are locked.
    pub(super) has_addresses: bool,
}

/// The levels of the query that is being bound, the innermost last.
#[derive(Default, Debug)]
pub(super) struct Levels {
    pub(super) levels: Vec<Level>,
    /// The kinds of the slots of each frame: the statement, and each subquery in it. The innermost
    /// is the last.
    pub(super) frames: Vec<Vec<Kind>>,
}

impl Levels {
    /// Enters a level that sees the outermost `outer` ones.
    pub(super) fn enter(&mut self, border: Border, scope: Scope, outer: usize) {
        let (captures, has_addresses) = (Vec::new(), false);
        self.levels.push(Level { border, scope, captures, outer, has_addresses });
    }

    /// The number of levels.
    pub(super) fn depth(&self) -> usize {
        self.levels.len()
    }

    /// The numbers of the levels that the innermost one sees, itself first.
    fn seen(&self) -> impl Iterator<Item = usize> + '_ {
        let innermost = self.levels.len().checked_sub(1);
        std::iter::successors(innermost, |number| self.levels[*number].outer.checked_sub(1))
    }

    /// Leaves the innermost level.
    pub(super) fn leave(&mut self) -> Level {
        self.levels.pop().expect("a level that was entered")
    }

    /// The innermost level's scope.
    pub(super) fn scope(&self) -> &Scope {
        &self.levels.last().expect("an expression has a level").scope
    }

    /// The column of this name; a slot if it is of a level outside.
    pub(super) fn column(&mut self, wanted: &Wanted, at: At) -> Bind<Typed> {
        let has_it = |number: &usize| {
            let scope = &self.levels[*number].scope;
            let is_of = |table: &Name| scope.has_table(table);
            scope.has(wanted) || wanted.table.as_ref().is_some_and(is_of)
        };
        let Some(number) = self.seen().find(has_it) else { return Err(self.unknown(wanted, at)) };
        let found = self.levels[number].scope.named(wanted);
        let typed = match &found[..] {
            [one] => Typed::new(one.value.clone(), one.kind),
            [] => return Err(self.unknown(wanted, at)),
            _ => return Err(ambiguous(wanted, &found, at)),
        };
        Ok(self.carried(typed, number))
    }

    /// A value of the row of level `from`, as the innermost level has it.
    fn carried(&mut self, typed: Typed, from: usize) -> Typed {
        let Typed { expression: mut value, kind } = typed;
        // The frame of the level that is being entered.
        let outer = self.levels[from + 1..].iter();
        let borders = outer.filter(|level| level.border == Border::Frame).count();
        let mut frame = self.frames.len() - 1 - borders;
        for level in &mut self.levels[from + 1..] {
            if level.border == Border::Frame {
                frame += 1;
            }
            // A slot of the same plan is a slot on the right side of a join too.
            if level.border == Border::Plan && matches!(value, Expression::Slot(_)) {
                continue;
            }
            let known = level.captures.iter().find(|capture| capture.value == value);
            let slot = known.map(|capture| capture.slot).unwrap_or_else(|| {
                let slots = &mut self.frames[frame];
                slots.push(kind);
                let slot = slots.len() - 1;
                level.captures.push(Capture { value: value.clone(), kind, slot });
                slot
            });
            value = Expression::Slot(slot);
        }
        Typed::new(value, kind)
    }

    fn unknown(&self, wanted: &Wanted, at: At) -> Refused {
        let scopes = || self.seen().map(|number| &self.levels[number].scope);
        if let Some(table) = &wanted.table
            && !scopes().any(|scope| scope.has_table(table))
        {
            let tables = scopes().flat_map(|scope| &scope.tables);
            let meant = did_you_mean(&table.name, tables.map(|one| one.name.name.as_str()));
            let message = format!("there is no table {table} in FROM{meant}");
            return Refused::new(SqlState::UNDEFINED_TABLE, at, message);
        }
        let columns = scopes().flat_map(|scope| &scope.columns);
        let meant = did_you_mean(&wanted.column, columns.map(|one| &*one.name));
        Refused::new(SqlState::UNDEFINED_COLUMN, at, format!("there is no column {wanted}{meant}"))
    }
}

fn ambiguous(wanted: &Wanted, found: &[&ScopeColumn], at: At) -> Refused {
    let of = |column: &&ScopeColumn| match &column.table {
        Some(table) => format!("{table}.{}", &*column.name),
        None => column.name.to_string(),
    };
    let all: Vec<String> = found.iter().map(of).collect();
    let message = format!("column {wanted} may be {}: say which one", all.join(" or "));
    Refused::new(SqlState::AMBIGUOUS_COLUMN, at, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(table: &str, name: &str, place: usize) -> ScopeColumn {
        ScopeColumn {
            table: Some(Rc::new(Name::plain(table))),
            name: name.into(),
            value: Expression::Column(place),
            kind: Kind::Whole,
            declared: None,
            is_plain: true,
        }
    }

    fn scope(table: &str, names: &[&str]) -> Scope {
        let columns = names.iter().enumerate().map(|(place, name)| column(table, name, place));
        let tables = vec![ScopeTable { name: Name::plain(table), columns: 0..names.len() }];
        Scope { columns: columns.collect(), tables, bases: Vec::new() }
    }

    fn wanted(table: Option<&str>, column: &str) -> Wanted {
        Wanted { table: table.map(Name::plain), column: column.into() }
    }

    /// A statement over emp.
    fn levels() -> Levels {
        let mut levels = Levels { frames: vec![Vec::new()], ..Levels::default() };
        levels.enter(Border::Frame, Scope::default(), 0);
        levels.enter(Border::Plan, scope("emp", &["id", "boss"]), 1);
        levels
    }

    #[test]
    fn a_column_of_an_outer_level_is_a_slot_in_each_frame_between() {
        let mut levels = levels();
        levels.frames.push(Vec::new());
        levels.enter(Border::Frame, Scope::default(), 2);
        levels.enter(Border::Plan, scope("dept", &["no"]), 3);
        levels.enter(Border::Plan, scope("bonus", &["amount"]), 4);
        let mut find = |name| levels.column(&wanted(None, name), At::NOWHERE).expect("found");
        assert_eq!(find("amount").expression, Expression::Column(0));
        // Of the same plan: one slot, which the join sets.
        assert_eq!(find("no").expression, Expression::Slot(0));
        // Of the statement: a slot of the subquery, which the join's right side shares.
        assert_eq!(find("boss").expression, Expression::Slot(1));
        assert_eq!(find("boss").expression, Expression::Slot(1));
        let lateral = levels.leave();
        assert_eq!((lateral.captures.len(), lateral.captures[0].slot), (1, 0));
        assert!(levels.leave().captures.is_empty());
        let frame = levels.leave();
        assert_eq!(frame.captures.len(), 1);
        assert_eq!(frame.captures[0].value, Expression::Column(1));
    }

    #[test]
    fn a_query_that_is_not_lateral_does_not_see_its_neighbours() {
        let mut levels = levels();
        levels.enter(Border::Plan, scope("dept", &["no"]), 1);
        let hidden = levels.column(&wanted(None, "boss"), At::NOWHERE);
        assert!(hidden.is_err(), "emp is a neighbour");
    }

    #[test]
    fn a_name_that_two_columns_have_is_refused_and_one_that_none_has_is_helped() {
        let mut levels = levels();
        let both = scope("emp", &["id"]).joined(scope("dept", &["id"]), 1);
        levels.enter(Border::Plan, both, 2);
        let say = |levels: &mut Levels, wanted| {
            levels.column(&wanted, At::NOWHERE).expect_err("refused").within("").to_string()
        };
        let found = say(&mut levels, wanted(None, "id"));
        assert!(found.contains("emp.id or dept.id"), "{found}");
        let found = say(&mut levels, wanted(None, "bos"));
        assert!(found.contains("did you mean boss?"), "{found}");
        let found = say(&mut levels, wanted(Some("dep"), "id"));
        assert!(found.contains("no table dep") && found.contains("dept?"), "{found}");
        let one = levels.column(&wanted(Some("dept"), "id"), At::NOWHERE).expect("it is one");
        assert_eq!(one.expression, Expression::Column(1));
    }
}
