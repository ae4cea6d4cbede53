//! Expressions of a kind, and conditions.
//!
//! Callers: `queries`, `changes`, `definitions`.

use super::functions::LONG;
use super::kinds::Kind;
use super::writer::{Column, Writer};

/// How many characters a text is made to have by a number.
const LENGTHS: &[&str] = &["0", "1", "3", "40", "-1", "1000", "20000"];

const COMPARISONS: &[&str] = &["=", "<>", "<", "<=", ">", ">="];

impl Writer {
    /// An expression of a kind.
    pub(super) fn term(&mut self, kind: Kind) -> String {
        if self.one_in(3) || !self.take_fuel() {
            return self.leaf(kind);
        }
        if self.grouped.is_some() && self.one_in(2) {
            return self.aggregate(kind);
        }
        match self.below(10) {
            0..=2 => self.operation(kind),
            3..=6 => self.call(kind),
            7 => self.conditional(kind),
            8 if self.scopes.len() < 4 => format!("({})", self.one_value(kind)),
            8 => self.leaf(kind),
            _ => self.cast(kind),
        }
    }

    /// A column, a parameter or a constant.
    pub(super) fn leaf(&mut self, kind: Kind) -> String {
        if self.one_in(4)
            && let Some(parameter) = self.parameter()
        {
            return match self.one_in(2) {
                true => parameter,
                false => format!("cast({parameter} as {})", kind.types()[0]),
            };
        }
        if !self.one_in(4)
            && let Some(column) = self.column(Some(kind))
        {
            return column.name;
        }
        match self.below(30) {
            0 => "null".into(),
            // Of another kind, which is refused or converted.
            1 => {
                let other = self.kind();
                self.pick(other.literals()).into()
            }
            _ => self.pick(kind.literals()).into(),
        }
    }

    /// A column that can be named here, of this kind if one is said; mostly of the innermost query.
    pub(super) fn column(&mut self, kind: Option<Kind>) -> Option<Column> {
        let levels = self.scopes.len();
        let place = match self.one_in(6) && levels > 1 {
            true => self.below(levels),
            false => levels.checked_sub(1)?,
        };
        let fits = |column: &&Column| kind.is_none_or(|kind| column.kind == kind);
        let found: Vec<Column> = self.scopes[place].iter().filter(fits).cloned().collect();
        match found.is_empty() {
            true => None,
            false => Some(found[self.below(found.len())].clone()),
        }
    }

    fn operation(&mut self, kind: Kind) -> String {
        let (left, right) = (self.term(kind), self.term(kind));
        match kind {
            Kind::Whole => {
                let signs = ["+", "-", "*", "/", "%", "&", "|", "#", "<<", ">>"];
                format!("({left} {} {right})", self.pick(&signs))
            }
            Kind::Number => format!("({left} {} {right})", self.pick(&["+", "-", "*", "/", "^"])),
            Kind::Double => format!("({left} {} {right})", self.pick(&["+", "-", "*", "/"])),
            Kind::Text | Kind::Bytes => format!("({left} || {right})"),
            Kind::Boolean => self.condition(),
            Kind::Date => format!("({left} {} {})", self.pick(&["+", "-"]), self.term(Kind::Whole)),
            Kind::Timestamp => {
                format!("({left} {} {})", self.pick(&["+", "-"]), self.term(Kind::Interval))
            }
            Kind::Interval => match self.below(3) {
                0 => format!("({left} + {right})"),
                1 => format!("({left} * {})", self.term(Kind::Whole)),
                _ => format!("({} - {})", self.term(Kind::Timestamp), self.term(Kind::Timestamp)),
            },
        }
    }

    fn call(&mut self, kind: Kind) -> String {
        let fits: Vec<usize> =
            (0..self.functions.len()).filter(|at| self.functions[*at].gives == kind).collect();
        let place = fits[self.below(fits.len())];
        let function = self.functions[place].clone();
        let mut arguments = Vec::with_capacity(function.takes.len());
        for takes in &function.takes {
            arguments.push(match LONG.contains(&function.name) && *takes == Kind::Whole {
                true => self.pick(LENGTHS).to_string(),
                false => self.term(*takes),
            });
        }
        format!("{}({})", function.name, arguments.join(", "))
    }

    fn conditional(&mut self, kind: Kind) -> String {
        match self.below(4) {
            0 => format!(
                "case when {} then {} else {} end",
                self.condition(),
                self.term(kind),
                self.term(kind)
            ),
            1 => {
                let of = self.kind();
                format!(
                    "case {} when {} then {} when {} then {} end",
                    self.term(of),
                    self.term(of),
                    self.term(kind),
                    self.term(of),
                    self.term(kind)
                )
            }
            2 => format!("coalesce({}, {}, null)", self.term(kind), self.term(kind)),
            _ => format!("nullif({}, {})", self.term(kind), self.term(kind)),
        }
    }

    fn cast(&mut self, kind: Kind) -> String {
        let from = match self.one_in(2) {
            true => Kind::Text,
            false => self.kind(),
        };
        let to = self.pick(kind.types());
        match self.one_in(2) {
            true => format!("cast({} as {to})", self.term(from)),
            false => format!("({})::{to}", self.term(from)),
        }
    }

    /// An aggregate over the columns that it may read here.
    fn aggregate(&mut self, kind: Kind) -> String {
        let Some(columns) = self.grouped.take() else { return self.leaf(kind) };
        self.scopes.push(columns);
        let distinct = if self.one_in(4) { "distinct " } else { "" };
        let made = match kind {
            Kind::Whole if self.one_in(2) => "count(*)".to_string(),
            Kind::Whole => {
                let of = self.kind();
                format!("count({distinct}{})", self.term(of))
            }
            Kind::Number => {
                let name = self.pick(&["sum", "avg", "min", "stddev", "variance"]);
                format!("{name}({distinct}{})", self.term(Kind::Whole))
            }
            Kind::Text if self.one_in(2) => {
                let (of, between) = (self.term(Kind::Text), self.leaf(Kind::Text));
                match self.one_in(2) {
                    true => format!("string_agg({of}, {between} order by {of})"),
                    false => format!("string_agg({distinct}{of}, ',')"),
                }
            }
            Kind::Boolean => {
                format!("{}({})", self.pick(&["bool_and", "bool_or"]), self.condition())
            }
            Kind::Bytes => format!("max({})", self.leaf(kind)),
            kind => format!("{}({distinct}{})", self.pick(&["min", "max"]), self.term(kind)),
        };
        let filter = match self.one_in(6) {
            true => format!(" filter (where {})", self.condition()),
            false => String::new(),
        };
        self.grouped = self.scopes.pop();
        format!("{made}{filter}")
    }

    /// A condition.
    pub(super) fn condition(&mut self) -> String {
        if !self.take_fuel() {
            return match self.column(None) {
                Some(column) => format!("{} is not null", column.name),
                None => self.pick(&["true", "1 = 1", "null", "1 > 2"]).into(),
            };
        }
        let kind = self.kind();
        match self.below(14) {
            0..=3 => {
                let (left, right) = (self.term(kind), self.term(kind));
                format!("{left} {} {right}", self.pick(COMPARISONS))
            }
            4 => format!("({} and {})", self.condition(), self.condition()),
            5 => format!("({} or {})", self.condition(), self.condition()),
            6 => format!("not ({})", self.condition()),
            7 => self.membership(kind),
            8 => format!("{} between {} and {}", self.term(kind), self.term(kind), self.term(kind)),
            9 => {
                let like = ["like", "not like", "ilike", "~", "!~", "~*"];
                let (left, right) = (self.term(Kind::Text), self.leaf(Kind::Text));
                format!("{left} {} {right}", self.pick(&like))
            }
            10 => {
                let is = ["is null", "is not null"];
                format!("{} {}", self.term(kind), self.pick(&is))
            }
            11 => {
                let is = ["is true", "is not false", "is unknown", "is not unknown"];
                format!("({}) {}", self.condition(), self.pick(&is))
            }
            12 => format!("{} is distinct from {}", self.term(kind), self.term(kind)),
            _ => self.row_condition(kind),
        }
    }

    /// IN, EXISTS, ANY, ALL.
    fn membership(&mut self, kind: Kind) -> String {
        let not = self.pick(&["", "not "]);
        let left = self.term(kind);
        if self.scopes.len() >= 4 || self.one_in(3) {
            let list: Vec<String> = (0..=self.below(5)).map(|_| self.leaf(kind)).collect();
            return format!("{left} {not}in ({})", list.join(", "));
        }
        match self.below(3) {
            0 => format!("{left} {not}in ({})", self.query(&[kind])),
            1 => format!("{not}exists ({})", self.query(&[kind])),
            _ => {
                let (comparison, all) = (self.pick(COMPARISONS), self.pick(&["any", "all"]));
                format!("{left} {comparison} {all} ({})", self.query(&[kind]))
            }
        }
    }

    /// Rows that are compared.
    fn row_condition(&mut self, kind: Kind) -> String {
        let other = self.kind();
        let row = |writer: &mut Writer| format!("({}, {})", writer.term(kind), writer.term(other));
        match self.below(3) {
            0 => format!("{} in ({}, {})", row(self), row(self), row(self)),
            1 if self.scopes.len() < 4 => {
                let left = row(self);
                format!("{left} {} ({})", self.pick(&["in", "not in"]), self.query(&[kind, other]))
            }
            _ => {
                let (left, right) = (row(self), row(self));
                format!("{left} {} {right}", self.pick(COMPARISONS))
            }
        }
    }
}
