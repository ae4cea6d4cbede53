//! Expressions, drawn.
//!
//! Invariant: an expression has the kind that is asked for, reads columns that are in sight, and
//! computes with no number whose digits may run out ([`Wish::is_plain`]).
//!
//! Callers: `draw`, `change`.

use database::Kind;

use super::draw::{Drawer, Seen};
use super::operations::{OPERATIONS, Operation};
use super::schema::{Held, Literal};
use super::term::{Arm, Quantity, Term};
use super::{chance, pick};

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    pub(super) kind: Kind,
    /// Whether numbers with as many digits as there can be are left out.
    pub(super) is_plain: bool,
}

impl Wish {
    /// Any expression of this kind.
    pub(super) fn of(kind: Kind) -> Wish {
        Wish { kind, is_plain: false }
    }
}

/// The operation that compares two values of this kind for equality, if there is one.
pub(super) fn equality(kind: Kind) -> Option<&'static Operation> {
    let is_it = |one: &&Operation| one.takes[..] == [kind, kind] && one.usual == "({0} = {1})";
    OPERATIONS.iter().find(is_it)
}

/// The operation with these words and whole numbers as arguments.
pub(super) fn of_wholes(usual: &str) -> &'static Operation {
    let is_it = |one: &&Operation| one.takes[0] == Kind::Whole && one.usual == usual;
    OPERATIONS.iter().find(is_it).expect("the table has it")
}

impl Drawer<'_> {
    /// An expression.
    pub(super) fn term(&mut self, wish: Wish, seen: &[Seen], depth: u32) -> Term {
        if depth == 0 || chance(self.dice, 25) {
            return self.leaf(wish, seen);
        }
        match (wish.kind, self.dice.below(100)) {
            (Kind::Boolean, 0..12) => self.several(seen, depth, Term::And),
            (Kind::Boolean, 12..22) => self.several(seen, depth, Term::Or),
            (Kind::Boolean, 22..28) => self.in_list(seen, depth),
            (Kind::Boolean, 28..40) if self.subqueries > 0 => self.of_query(seen),
            (Kind::Boolean, _) => self.call(wish, seen, depth),
            (_, 0..8) => self.case(wish, seen, depth),
            (kind, 8..14) if self.subqueries > 0 => {
                let query = Box::new(self.inner(|drawer| drawer.one_row(wish, seen)));
                Term::Scalar { query, kind }
            }
            _ => self.call(wish, seen, depth),
        }
    }

    /// A column, or a value.
    fn leaf(&mut self, wish: Wish, seen: &[Seen]) -> Term {
        let fits = |one: &&Seen| one.kind == wish.kind && !(wish.is_plain && one.is_wide);
        let columns: Vec<&Seen> = seen.iter().filter(fits).collect();
        if !columns.is_empty() && chance(self.dice, 80) {
            return (*pick(self.dice, &columns)).term();
        }
        self.literal(wish.kind)
    }

    fn literal(&mut self, kind: Kind) -> Term {
        if chance(self.dice, 6) {
            return Term::Literal(Literal::Null(kind));
        }
        let held = match kind {
            Kind::Number => Held::Number,
            Kind::Double => Held::Double,
            Kind::Text => Held::Text,
            Kind::Date => Held::Date,
            Kind::Boolean => Held::Truth,
            _ => Held::Whole,
        };
        Term::Literal(Literal::drawn(self.dice, held, self.rival))
    }

    fn call(&mut self, wish: Wish, seen: &[Seen], depth: u32) -> Term {
        let rival = self.rival;
        let may_differ = self.may_differ;
        let fits = |one: &&'static Operation| {
            one.gives == wish.kind && one.is_for(rival) && (may_differ || !one.is_approximate)
        };
        let all: Vec<&'static Operation> = OPERATIONS.iter().filter(fits).collect();
        if all.is_empty() {
            return self.leaf(wish, seen);
        }
        let operation = *pick(self.dice, &all);
        // What differs in its last digits isn't computed with, compared or tested.
        let before = std::mem::replace(&mut self.may_differ, false);
        let is_plain = wish.is_plain || operation.computes_numbers();
        let takes = operation.takes.iter();
        let arguments =
            takes.map(|kind| self.term(Wish { kind: *kind, is_plain }, seen, depth - 1)).collect();
        self.may_differ = before;
        Term::Call { operation, arguments }
    }

    fn several(&mut self, seen: &[Seen], depth: u32, of: fn(Vec<Term>) -> Term) -> Term {
        let count = 2 + self.dice.below(2);
        of((0..count).map(|_| self.term(Wish::of(Kind::Boolean), seen, depth - 1)).collect())
    }

    fn case(&mut self, wish: Wish, seen: &[Seen], depth: u32) -> Term {
        let mut arms = Vec::new();
        for _ in 0..1 + self.dice.below(2) {
            let when = self.term(Wish::of(Kind::Boolean), seen, depth - 1);
            arms.push(Arm { when, then: self.term(wish, seen, depth - 1) });
        }
        let has_else = chance(self.dice, 60);
        let otherwise = has_else.then(|| Box::new(self.term(wish, seen, depth - 1)));
        Term::Case { arms, otherwise, kind: wish.kind }
    }

    fn in_list(&mut self, seen: &[Seen], depth: u32) -> Term {
        let kind = self.comparable();
        let tested = Box::new(self.term(Wish::of(kind), seen, depth - 1));
        let count = 1 + self.dice.below(3);
        let list = (0..count).map(|_| self.leaf(Wish::of(kind), seen)).collect();
        Term::InList { tested, list, is_not: chance(self.dice, 40) }
    }

    /// A condition with a subquery.
    fn of_query(&mut self, seen: &[Seen]) -> Term {
        let kind = self.comparable();
        let wish = Wish::of(kind);
        match self.dice.below(10) {
            0..3 => {
                let query = Box::new(self.inner(|drawer| drawer.query(seen, None)));
                Term::Exists { query, is_not: chance(self.dice, 40) }
            }
            3..5 if self.rival.is_complete() => {
                let tested = Box::new(self.leaf(wish, seen));
                let query = Box::new(self.inner(|drawer| drawer.query(seen, Some(&[wish]))));
                let comparison = *pick(self.dice, &["=", "<>", "<", ">="]);
                let quantity = *pick(self.dice, &[Quantity::Any, Quantity::All]);
                Term::Quantified { tested, comparison, quantity, query }
            }
            _ => {
                let tested = Box::new(self.leaf(wish, seen));
                let query = Box::new(self.inner(|drawer| drawer.query(seen, Some(&[wish]))));
                Term::InQuery { tested, query, is_not: chance(self.dice, 40) }
            }
        }
    }

    /// A kind whose values are compared in lists and subqueries.
    fn comparable(&mut self) -> Kind {
        *pick(self.dice, &[Kind::Whole, Kind::Whole, Kind::Text, Kind::Number, Kind::Date])
    }

    /// A kind of a column of a result.
    pub(super) fn kind(&mut self) -> Kind {
        use Kind::{Boolean, Date, Double, Number, Text, Whole};
        *pick(self.dice, &[Whole, Whole, Whole, Text, Text, Number, Date, Boolean, Double])
    }

    /// Draws a part of a subquery, which may have fewer subqueries itself.
    pub(super) fn inner<T>(&mut self, draw: impl FnOnce(&mut Self) -> T) -> T {
        self.subqueries -= 1;
        let before = std::mem::replace(&mut self.may_differ, false);
        let drawn = draw(self);
        self.may_differ = before;
        self.subqueries += 1;
        drawn
    }
}

impl Seen {
    /// The column as an expression.
    pub(super) fn term(&self) -> Term {
        let Seen { of, name, kind, is_wide } = self;
        Term::Column { of: of.clone(), name: name.clone(), kind: *kind, is_wide: *is_wide }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operations_that_are_asked_for_by_name_are_there() {
        for kind in [Kind::Whole, Kind::Number, Kind::Text, Kind::Date, Kind::Boolean] {
            assert!(equality(kind).is_some(), "{kind:?}");
        }
        assert_eq!(of_wholes("({0} >= {1})").gives, Kind::Boolean);
    }
}
