//! Operators and functions, in the words of each program.
//!
//! `{0}` and `{1}` are the arguments. A program without words for an operation isn't asked for it.
//!
//! Callers: `draw_term` chooses, `term` writes.

use database::Kind;
use database::Kind::{Boolean, Date, Double, Number, Text, Whole};

use super::dialect::{Dialect, Rival};

/// When an operation is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Refuses {
    /// Never.
    Never,
    /// With values near the limits of their types.
    AtLimits,
    /// With values that come up anywhere, such as 0.
    Often,
}

/// An operation.
#[derive(PartialEq, Debug)]
pub struct Operation {
    /// The kinds of its arguments.
    pub(super) takes: &'static [Kind],
    /// The kind of its value.
    pub(super) gives: Kind,
    /// How Forebay and PostgreSQL write it.
    pub(super) usual: &'static str,
    /// How SQLite writes it, if it can.
    pub(super) sqlite: Option<&'static str>,
    pub(super) refuses: Refuses,
    /// Whether programs give different digits behind the first fifteen.
    pub(super) is_approximate: bool,
}

/// An operation that all programs write in one way, and that is never refused.
const fn all(takes: &'static [Kind], gives: Kind, usual: &'static str) -> Operation {
    let (sqlite, refuses) = (Some(usual), Refuses::Never);
    Operation { takes, gives, usual, sqlite, refuses, is_approximate: false }
}

/// One that SQLite writes in another way.
const fn own(
    takes: &'static [Kind],
    gives: Kind,
    usual: &'static str,
    sqlite: &'static str,
) -> Operation {
    Operation { sqlite: Some(sqlite), ..all(takes, gives, usual) }
}

/// One that SQLite doesn't have, or has with another meaning.
const fn not_sqlite(takes: &'static [Kind], gives: Kind, usual: &'static str) -> Operation {
    Operation { sqlite: None, ..all(takes, gives, usual) }
}

impl Operation {
    const fn at_limits(self) -> Operation {
        Operation { refuses: Refuses::AtLimits, ..self }
    }

    const fn often(self) -> Operation {
        Operation { refuses: Refuses::Often, ..self }
    }

    const fn approximate(self) -> Operation {
        Operation { is_approximate: true, ..self }
    }

    /// Its words in a dialect.
    pub(super) fn words(&self, dialect: Dialect) -> &'static str {
        match dialect {
            Dialect::Sqlite => self.sqlite.expect("it is drawn for SQLite only if it has words"),
            Dialect::Forebay | Dialect::Postgresql => self.usual,
        }
    }

    /// Whether it is drawn in a comparison with this rival.
    pub(super) fn is_for(&self, rival: Rival) -> bool {
        rival != Rival::Sqlite || self.sqlite.is_some()
    }

    /// Whether its arguments are numbers whose digits may run out.
    pub(super) fn computes_numbers(&self) -> bool {
        self.gives == Number && self.takes.contains(&Number)
    }
}

/// All operations.
pub(super) const OPERATIONS: &[Operation] = &[
    // Whole numbers.
    all(&[Whole, Whole], Whole, "({0} + {1})").at_limits(),
    all(&[Whole, Whole], Whole, "({0} - {1})").at_limits(),
    all(&[Whole, Whole], Whole, "({0} * {1})").at_limits(),
    all(&[Whole], Whole, "(- {0})").at_limits(),
    all(&[Whole], Whole, "abs({0})").at_limits(),
    all(&[Whole], Whole, "({0} / 7)"),
    all(&[Whole], Whole, "({0} / 2)"),
    all(&[Whole], Whole, "({0} % 5)"),
    not_sqlite(&[Whole, Whole], Whole, "({0} / {1})").often(),
    not_sqlite(&[Whole, Whole], Whole, "({0} % {1})").often(),
    all(&[Boolean], Whole, "(case when {0} then 1 else 0 end)"),
    all(&[Text], Whole, "length({0})"),
    own(&[Text], Whole, "position('a' in {0})", "instr({0}, 'a')"),
    own(
        &[Date, Date],
        Whole,
        "cast({0} - {1} as bigint)",
        "cast(julianday({0}) - julianday({1}) as integer)",
    ),
    own(
        &[Date],
        Whole,
        "cast(extract(year from {0}) as bigint)",
        "cast(strftime('%Y', {0}) as integer)",
    ),
    own(
        &[Date],
        Whole,
        "cast(extract(month from {0}) as bigint)",
        "cast(strftime('%m', {0}) as integer)",
    ),
    not_sqlite(&[Number], Whole, "cast({0} as bigint)").often(),
    // Decimals. With SQLite they are quarters, which doubles hold exactly.
    all(&[Number, Number], Number, "({0} + {1})"),
    all(&[Number, Number], Number, "({0} - {1})"),
    not_sqlite(&[Number, Number], Number, "({0} * {1})"),
    all(&[Number], Number, "(- {0})"),
    all(&[Number], Number, "abs({0})"),
    not_sqlite(&[Number, Number], Number, "({0} / {1})").often().approximate(),
    not_sqlite(&[Number], Number, "round({0}, 1)"),
    not_sqlite(&[Number], Number, "floor({0})"),
    not_sqlite(&[Whole], Number, "cast({0} as numeric)"),
    // Doubles, quarters too.
    all(&[Double, Double], Double, "({0} + {1})"),
    all(&[Double, Double], Double, "({0} - {1})"),
    all(&[Double], Double, "(- {0})"),
    all(&[Double], Double, "abs({0})"),
    // Texts.
    all(&[Text, Text], Text, "({0} || {1})"),
    all(&[Text], Text, "upper({0})"),
    all(&[Text], Text, "lower({0})"),
    all(&[Text], Text, "substr({0}, 2, 2)"),
    all(&[Text], Text, "substr({0}, 1, 1)"),
    all(&[Text], Text, "replace({0}, 'a', 'bb')"),
    all(&[Text], Text, "trim({0})"),
    all(&[Whole], Text, "cast({0} as text)"),
    all(&[Date], Text, "cast({0} as text)"),
    // Days.
    own(&[Date], Date, "({0} + 3)", "date({0}, '+3 days')").at_limits(),
    own(&[Date], Date, "({0} - 40)", "date({0}, '-40 days')").at_limits(),
    // Truth.
    all(&[Boolean], Boolean, "(not {0})"),
    all(&[Boolean, Boolean], Boolean, "({0} = {1})"),
    all(&[Boolean], Boolean, "({0} is true)"),
    all(&[Boolean], Boolean, "({0} is not true)"),
    all(&[Boolean], Boolean, "({0} is false)"),
    all(&[Boolean], Boolean, "({0} is null)"),
    all(&[Whole], Boolean, "({0} is null)"),
    all(&[Number], Boolean, "({0} is not null)"),
    all(&[Text], Boolean, "({0} is null)"),
    all(&[Date], Boolean, "({0} is not null)"),
    all(&[Whole, Whole], Boolean, "({0} = {1})"),
    all(&[Whole, Whole], Boolean, "({0} < {1})"),
    all(&[Whole, Whole], Boolean, "({0} >= {1})"),
    all(&[Whole, Whole], Boolean, "({0} <> {1})"),
    all(&[Whole, Whole], Boolean, "({0} is distinct from {1})"),
    all(&[Whole, Whole], Boolean, "({0} is not distinct from {1})"),
    all(&[Whole, Whole, Whole], Boolean, "({0} between {1} and {2})"),
    all(&[Whole, Whole, Whole], Boolean, "({0} not between {1} and {2})"),
    all(&[Whole, Number], Boolean, "({0} = {1})"),
    all(&[Number, Whole], Boolean, "({0} > {1})"),
    all(&[Number, Number], Boolean, "({0} = {1})"),
    all(&[Number, Number], Boolean, "({0} <= {1})"),
    all(&[Number, Number], Boolean, "({0} <> {1})"),
    all(&[Number, Number, Number], Boolean, "({0} between {1} and {2})"),
    all(&[Double, Double], Boolean, "({0} = {1})"),
    all(&[Double, Double], Boolean, "({0} < {1})"),
    all(&[Text, Text], Boolean, "({0} = {1})"),
    all(&[Text, Text], Boolean, "({0} < {1})"),
    all(&[Text, Text], Boolean, "({0} <> {1})"),
    all(&[Text, Text], Boolean, "({0} is distinct from {1})"),
    all(&[Text], Boolean, "({0} like 'a%')"),
    all(&[Text], Boolean, "({0} like '%b%')"),
    all(&[Text], Boolean, "({0} like '_a')"),
    all(&[Text], Boolean, "({0} not like '%B')"),
    all(&[Date, Date], Boolean, "({0} = {1})"),
    all(&[Date, Date], Boolean, "({0} < {1})"),
    all(&[Date, Date], Boolean, "({0} >= {1})"),
    all(&[Date, Date, Date], Boolean, "({0} between {1} and {2})"),
    // For each kind.
    all(&[Whole, Whole], Whole, "coalesce({0}, {1})"),
    all(&[Number, Number], Number, "coalesce({0}, {1})"),
    all(&[Double, Double], Double, "coalesce({0}, {1})"),
    all(&[Text, Text], Text, "coalesce({0}, {1})"),
    all(&[Date, Date], Date, "coalesce({0}, {1})"),
    all(&[Boolean, Boolean], Boolean, "coalesce({0}, {1})"),
    all(&[Whole, Whole], Whole, "nullif({0}, {1})"),
    all(&[Number, Number], Number, "nullif({0}, {1})"),
    all(&[Text, Text], Text, "nullif({0}, {1})"),
    all(&[Date, Date], Date, "nullif({0}, {1})"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_argument_is_in_the_words() {
        for operation in OPERATIONS {
            for dialect in [Dialect::Forebay, Dialect::Sqlite] {
                if dialect == Dialect::Sqlite && operation.sqlite.is_none() {
                    continue;
                }
                let words = operation.words(dialect);
                for place in 0..3 {
                    let is_in = words.contains(&format!("{{{place}}}"));
                    assert_eq!(is_in, place < operation.takes.len(), "{words}");
                }
            }
        }
    }

    #[test]
    fn every_kind_of_a_column_can_be_compared_and_made() {
        for kind in [Whole, Number, Double, Text, Date, Boolean] {
            let is_made = |operation: &Operation| operation.gives == kind;
            assert!(OPERATIONS.iter().any(is_made), "{kind:?}");
            let is_tested =
                |operation: &Operation| operation.gives == Boolean && operation.takes[0] == kind;
            assert!(OPERATIONS.iter().any(is_tested), "{kind:?}");
        }
    }
}
