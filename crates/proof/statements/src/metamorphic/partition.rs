//! Ternary logic partitioning: each row of a query is in exactly one of three others.
//!
//! ```text
//!   SELECT x FROM t  =  SELECT x FROM t WHERE p
//!                     + SELECT x FROM t WHERE NOT p
//!                     + SELECT x FROM t WHERE p IS NULL          as multisets
//! ```
//!
//! | the query | how the parts come together |
//! |---|---|
//! | plain | all rows of the three |
//! | DISTINCT | their distinct rows |
//! | an aggregate | the sum of counts and sums, the least and the greatest of the others |
//!
//! Callers: `run`.

use std::cmp::Ordering;

use database::Kind;

use crate::answer::{Answer, Cell, Row};
use crate::bed::Engine;
use crate::generate::{Body, Dialect, Judged, Query, Rival, Select, Term, text_of};
use crate::judge::{Verdict, judge};

/// What a check of a query came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// It holds.
    Holds,
    /// The query isn't one of those that the check is about, or was refused.
    NotAsked,
    /// It doesn't hold.
    Broken(String),
}

/// Checks a query whose last condition is the one that parts the rows.
pub(super) fn check(engine: &mut dyn Engine, query: &Query, judged: &Judged) -> Outcome {
    let Some(Parted { whole, parts, merge }) = parted(query) else { return Outcome::NotAsked };
    let Answer::Rows(all) = engine.run(&text_of(&whole, Dialect::Forebay)) else {
        return Outcome::NotAsked;
    };
    let mut together = Vec::new();
    for part in &parts {
        let text = text_of(part, Dialect::Forebay);
        match engine.run(&text) {
            Answer::Rows(rows) => together.extend(rows),
            // It may be refused where the whole isn't: the condition meets other rows.
            Answer::Refused(_) if judged.is_risky => return Outcome::NotAsked,
            other => return Outcome::Broken(format!("  {text}\n  {other}")),
        }
    }
    let together = Answer::Rows(merge.of(together));
    let judged = Judged { is_ordered: false, ..judged.clone() };
    match judge(&Answer::Rows(all), &together, &judged, Rival::Nobody) {
        Verdict::Same | Verdict::Chosen(_) => Outcome::Holds,
        Verdict::Different(why) => {
            let text = text_of(&whole, Dialect::Forebay);
            let texts: Vec<String> =
                parts.iter().map(|part| text_of(part, Dialect::Forebay)).collect();
            Outcome::Broken(format!("  {text}\nin parts:\n  {}\n{why}", texts.join("\n  ")))
        }
    }
}

/// A query, and the three that it consists of.
struct Parted {
    whole: Query,
    parts: [Query; 3],
    merge: Merge,
}

/// How the rows of parts become those of the whole.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Merge {
    All,
    Distinct,
    /// One row of aggregates.
    Aggregates(Vec<Fold>),
}

/// How the values of an aggregate over parts become that over all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fold {
    /// The sum of counts, of which none is NULL.
    Count,
    /// The sum of sums, in which NULL stands for no rows.
    Sum,
    Least,
    Greatest,
}

/// Parts a query by its last condition; none if it isn't one that can be parted.
fn parted(query: &Query) -> Option<Parted> {
    let Body::Select(select) = &query.body else { return None };
    let is_parted = query.limit.is_none() && select.groups.is_empty() && select.having.is_empty();
    let condition = select.filter.last()?;
    if !is_parted || select.from.is_empty() {
        return None;
    }
    let folds: Option<Vec<Fold>> = select.items.iter().map(fold_of).collect();
    let has_aggregates = select.items.iter().any(has_aggregate);
    let merge = match (folds, has_aggregates, select.is_distinct) {
        (Some(folds), true, false) => Merge::Aggregates(folds),
        (_, true, _) => return None,
        (_, false, true) => Merge::Distinct,
        (_, false, false) => Merge::All,
    };
    let rest = &select.filter[..select.filter.len() - 1];
    let with = |condition: Option<Term>| {
        let filter = rest.iter().cloned().chain(condition).collect();
        let select = Select { filter, ..(**select).clone() };
        let body = Body::Select(Box::new(select));
        Query { body, order: Vec::new(), limit: None, offset: None, ..query.clone() }
    };
    let parts = [
        with(Some(condition.clone())),
        with(Some(Term::negated(condition.clone()))),
        with(Some(Term::is_null(condition.clone()))),
    ];
    Some(Parted { whole: with(None), parts, merge })
}

/// How an item of a query over parts becomes that over all; none if it can't.
fn fold_of(item: &Term) -> Option<Fold> {
    let Term::Aggregate { name, is_distinct, kind, .. } = item else { return None };
    match (*name, is_distinct) {
        ("count", false) => Some(Fold::Count),
        // Doubles are quarters, so that their sum doesn't depend on the order.
        ("sum", false) if matches!(kind, Kind::Number | Kind::Double) => Some(Fold::Sum),
        ("min", _) => Some(Fold::Least),
        ("max", _) => Some(Fold::Greatest),
        _ => None,
    }
}

impl Merge {
    fn of(&self, mut rows: Vec<Row>) -> Vec<Row> {
        match self {
            Merge::All => rows,
            Merge::Distinct => {
                rows.sort_unstable();
                rows.dedup();
                rows
            }
            Merge::Aggregates(folds) => {
                let column = |place: usize| rows.iter().map(move |row| &row[place]);
                let folded = folds.iter().enumerate();
                vec![folded.map(|(place, fold)| fold.of(&mut column(place))).collect()]
            }
        }
    }
}

impl Fold {
    fn of(self, cells: &mut dyn Iterator<Item = &Cell>) -> Cell {
        let known = cells.filter(|cell| **cell != Cell::Null).cloned();
        let folded = match self {
            Fold::Count | Fold::Sum => known.reduce(|a, b| sum(&a, &b)),
            Fold::Least => known.reduce(|a, b| if a.cmp(&b) == Ordering::Greater { b } else { a }),
            Fold::Greatest => known.reduce(|a, b| if a.cmp(&b) == Ordering::Less { b } else { a }),
        };
        folded.unwrap_or(Cell::Null)
    }
}

fn sum(a: &Cell, b: &Cell) -> Cell {
    match (a, b) {
        (Cell::Number(a), Cell::Number(b)) => a.checked_add(*b).map_or(Cell::Null, Cell::Number),
        (Cell::Double(a), Cell::Double(b)) => Cell::Double(a + b),
        _ => Cell::Null,
    }
}

/// Whether an expression has an aggregate outside of its subqueries.
pub(super) fn has_aggregate(term: &Term) -> bool {
    matches!(term, Term::Aggregate { .. }) || term.parts().into_iter().any(has_aggregate)
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::answer::Refused;
    use crate::generate::{Column, Held, Join, JoinKind, Literal, Source, SourceOf};

    fn number(int: i64) -> Cell {
        Cell::Number(int.into())
    }

    /// Gives these answers, one after the other.
    struct Told(Vec<Answer>);

    impl Engine for Told {
        fn run(&mut self, _: &str) -> Answer {
            self.0.remove(0)
        }
    }

    /// `SELECT q1.k from t as q1 where true`.
    fn query(is_distinct: bool) -> Query {
        let column =
            Column { name: "k".into(), held: Held::Whole, is_not_null: false, is_unique: false };
        let (of, kind, is_wide) = ("q1".to_string(), column.held.kind(), false);
        let item = Term::Column { of: of.clone(), name: column.name, kind, is_wide };
        let source = Source { alias: of, of: SourceOf::Name("t".into()) };
        let select = Select {
            is_distinct,
            items: vec![item],
            from: vec![Join { kind: JoinKind::Cross, source, on: Vec::new() }],
            filter: vec![Term::Literal(Literal::Truth(true))],
            groups: Vec::new(),
            having: Vec::new(),
        };
        let body = Body::Select(Box::new(select));
        Query { with: Vec::new(), body, order: Vec::new(), limit: None, offset: None }
    }

    fn outcome(is_distinct: bool, answers: &[&[i64]]) -> Outcome {
        let rows = |row: &&[i64]| Answer::Rows(row.iter().map(|int| vec![number(*int)]).collect());
        let mut engine = Told(answers.iter().map(rows).collect());
        check(&mut engine, &query(is_distinct), &Judged::default())
    }

    /// RA10: a row that is in no part, in two, or in another form, is told.
    #[test]
    fn a_row_that_is_not_in_exactly_one_part_is_told() {
        assert_eq!(outcome(false, &[&[1, 2, 2, 3], &[2, 1], &[2], &[3]]), Outcome::Holds);
        let wrong: [[&[i64]; 3]; 4] = [
            [&[2, 1], &[2], &[]],
            [&[2, 1], &[2], &[3, 3]],
            [&[2, 1], &[2], &[4]],
            [&[], &[], &[]],
        ];
        for parts in wrong {
            let [a, b, c] = parts;
            let told = outcome(false, &[&[1, 2, 2, 3], a, b, c]);
            assert!(matches!(told, Outcome::Broken(_)), "{parts:?}");
        }
        assert_eq!(outcome(true, &[&[1, 2, 3], &[2, 1], &[2], &[3]]), Outcome::Holds);
        assert!(matches!(outcome(true, &[&[1, 2], &[2], &[2], &[]]), Outcome::Broken(_)));
    }

    #[test]
    fn a_part_that_is_refused_is_told_unless_it_may_be() {
        let refused = Refused { state: "22012".into(), message: String::new() };
        let answers = vec![Answer::Rows(Vec::new()), Answer::Refused(refused)];
        let of = |is_risky| {
            let judged = Judged { is_risky, ..Judged::default() };
            check(&mut Told(answers.clone()), &query(false), &judged)
        };
        assert!(matches!(of(false), Outcome::Broken(_)));
        assert_eq!(of(true), Outcome::NotAsked);
    }

    #[test]
    fn aggregates_of_parts_become_those_of_all() {
        let folds = vec![Fold::Count, Fold::Sum, Fold::Least, Fold::Greatest];
        let rows = vec![
            vec![number(2), number(7), number(3), number(4)],
            vec![number(0), Cell::Null, Cell::Null, Cell::Null],
            vec![number(1), number(-2), number(-2), number(-2)],
        ];
        let all = vec![vec![number(3), number(5), number(-2), number(4)]];
        assert_eq!(Merge::Aggregates(folds).of(rows), all);
        let twice = vec![vec![number(2)], vec![number(1)], vec![number(2)]];
        let once = vec![vec![number(1)], vec![number(2)]];
        assert_eq!(Merge::Distinct.of(twice.clone()), once);
        assert_eq!(Merge::All.of(twice.clone()), twice);
    }
}
