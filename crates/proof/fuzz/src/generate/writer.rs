//! What writes texts: dice, what is known of the tables, and what can be named at a place.
//!
//! Invariants
//!   * a statement has so many parts and no more: each takes fuel
//!   * what is known needn't be true: a table may have been dropped, or not been made. Then the
//!     statement is refused, and that is what it is tried for
//!
//! Callers: all of `generate`.

use testbed::Dice;

use super::functions::{Function, functions};
use super::kinds::Kind;
use crate::values;

/// The most fuel of a statement.
const FUEL_MAX: u64 = 60;

/// A column that can be named.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// A table, a view, a query of WITH: something with columns.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) name: String,
    pub(super) columns: Vec<Column>,
}

/// Writes texts.
pub(super) struct Writer {
    pub(super) dice: Dice,
    pub(super) functions: Vec<Function>,
    pub(super) tables: Vec<Source>,
    pub(super) views: Vec<Source>,
    /// The queries of WITH that can be named.
    pub(super) ctes: Vec<Source>,
    /// The columns of each query around the place, the innermost last.
    pub(super) scopes: Vec<Vec<Column>>,
    /// Within a query with groups: the columns that aggregates may read.
    pub(super) grouped: Option<Vec<Column>>,
    /// The values that were given to the parameters so far; none: there are no parameters.
    pub(super) parameters: Option<Vec<u8>>,
    /// How many things of each sort were named.
    made: usize,
    aliases: usize,
    fuel: u64,
}

impl Writer {
    /// A writer that knows nothing.
    pub(super) fn new(seed: u64) -> Writer {
        Writer {
            dice: Dice(seed.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1)),
            functions: functions(),
            tables: Vec::new(),
            views: Vec::new(),
            ctes: Vec::new(),
            scopes: Vec::new(),
            grouped: None,
            parameters: None,
            made: 0,
            aliases: 0,
            fuel: 0,
        }
    }

    /// Begins a statement.
    pub(super) fn begin(&mut self, has_parameters: bool) {
        let some = self.dice.below(FUEL_MAX);
        self.fuel = 3 + if self.one_in(4) { some } else { some / 4 };
        self.parameters = has_parameters.then(Vec::new);
        self.aliases = 0;
        self.scopes.clear();
        self.ctes.clear();
        self.grouped = None;
    }

    /// Takes fuel for a part; false if there is none left.
    pub(super) fn take_fuel(&mut self) -> bool {
        let has = self.fuel > 0;
        self.fuel = self.fuel.saturating_sub(1);
        has
    }

    /// A number below `bound`, which isn't 0.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.dice.below(bound as u64) as usize
    }

    /// True once in so many times.
    pub(super) fn one_in(&mut self, times: u64) -> bool {
        self.dice.below(times) == 0
    }

    /// One of these.
    pub(super) fn pick(&mut self, of: &[&'static str]) -> &'static str {
        self.dice.one_of(of)
    }

    /// A kind of a column.
    pub(super) fn kind(&mut self) -> Kind {
        // Numbers and texts are what tables mostly have.
        match self.below(3) {
            0 => Kind::Whole,
            1 => self.dice.one_of(&[Kind::Whole, Kind::Text, Kind::Number]),
            _ => self.dice.one_of(Kind::of_columns()),
        }
    }

    /// Kinds of some columns.
    pub(super) fn kinds(&mut self, most: usize) -> Vec<Kind> {
        let count = 1 + self.below(most);
        (0..count).map(|_| self.kind()).collect()
    }

    /// A new name of a thing.
    pub(super) fn new_name(&mut self, letter: char) -> String {
        self.made += 1;
        format!("{letter}{}", self.made)
    }

    /// A new alias.
    pub(super) fn alias(&mut self) -> String {
        self.aliases += 1;
        format!("a{}", self.aliases - 1)
    }

    /// A table; one that is certainly missing, if none is known.
    pub(super) fn table(&mut self) -> Source {
        let missing =
            || Source { name: "t0".into(), columns: vec![Column::new("c0", Kind::Whole)] };
        match self.tables.len() {
            0 => missing(),
            count => {
                let place = self.below(count);
                self.tables[place].clone()
            }
        }
    }

    /// A column of the source that can be named; one that is missing, if it has none.
    pub(super) fn column_of(&mut self, source: &Source) -> Column {
        match source.columns.len() {
            0 => Column::new("c9", Kind::Whole),
            count => source.columns[self.below(count)].clone(),
        }
    }

    /// Some columns of the source, each once, in its order; at least one if it has one.
    pub(super) fn columns_of(&mut self, source: &Source) -> Vec<Column> {
        let mut some: Vec<Column> = Vec::new();
        for column in &source.columns {
            if self.one_in(2) {
                some.push(column.clone());
            }
        }
        match some.is_empty() {
            true => vec![self.column_of(source)],
            false => some,
        }
    }

    /// A new parameter, of which a value of the list is given.
    pub(super) fn parameter(&mut self) -> Option<String> {
        let value = self.dice.below(u64::from(values::COUNT)) as u8;
        let parameters = self.parameters.as_mut()?;
        parameters.push(value);
        Some(format!("${}", parameters.len()))
    }
}

impl Column {
    pub(super) fn new(name: impl Into<String>, kind: Kind) -> Column {
        Column { name: name.into(), kind }
    }
}

/// The names of columns, with commas between them.
pub(super) fn names(columns: &[Column]) -> String {
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    names.join(", ")
}
