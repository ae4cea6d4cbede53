//! Two answers, compared.
//!
//! ```text
//!   rows    in their order where the query has one, which is total; else as a multiset
//!   cells   equal in SQL; numbers that are approximate agree in twelve digits
//!   done    as many rows
//!   refused the same class of SQLSTATE, as far as both have one
//! ```
//!
//! Invariant: a difference is either said, or is a [`Choice`] that is counted. Nothing else is
//! passed over.
//!
//! Callers: `differential`, `metamorphic`.

use crate::answer::{Answer, Cell, Row, line};
use crate::choices::{Choice, choice};
use crate::generate::{Judged, Rival};

/// What two answers are to each other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// They say the same.
    Same,
    /// They differ, and should.
    Chosen(Choice),
    /// They differ, in this way.
    Different(String),
}

/// The digits that approximate numbers have in common.
const RELATIVE: f64 = 1e-12;

/// Compares an answer of ours with one of theirs.
pub fn judge(ours: &Answer, theirs: &Answer, judged: &Judged, rival: Rival) -> Verdict {
    let theirs = &theirs.clone().read_like(ours);
    let Some(why) = difference(ours, theirs, judged) else { return Verdict::Same };
    match choice(ours, theirs, judged.is_risky, rival) {
        Some(choice) => Verdict::Chosen(choice),
        None => Verdict::Different(why),
    }
}

/// How two answers differ; none: they don't.
fn difference(ours: &Answer, theirs: &Answer, judged: &Judged) -> Option<String> {
    match (ours, theirs) {
        (Answer::Rows(own), Answer::Rows(other)) => {
            let cells = Cells { approximate: &judged.approximate };
            let why = match judged.is_ordered {
                true => cells.in_order(own, other),
                false => cells.in_any_order(own, other),
            };
            why.map(|why| format!("{why}\n  ours: {ours}\n  theirs: {theirs}"))
        }
        (Answer::Done(own), Answer::Done(other)) if own == other => None,
        (Answer::Refused(own), Answer::Refused(other)) => {
            let (own, other) = (own.class(), other.class());
            let is_same = own == other || own.is_empty() || other.is_empty();
            (!is_same).then(|| format!("  ours: {ours}\n  theirs: {theirs}"))
        }
        _ => Some(format!("  ours: {ours}\n  theirs: {theirs}")),
    }
}

/// How cells are compared.
struct Cells<'j> {
    approximate: &'j [bool],
}

impl Cells<'_> {
    fn in_order(&self, own: &[Row], other: &[Row]) -> Option<String> {
        if own.len() != other.len() {
            return Some(format!("  {} rows instead of {}", own.len(), other.len()));
        }
        let mut pairs = own.iter().zip(other).enumerate();
        let (number, (one, another)) =
            pairs.find(|(_, (one, other))| !self.are_same(one, other))?;
        Some(format!("  row {}: {} instead of {}", number + 1, line(one), line(another)))
    }

    /// Each row is paired with one that is the same. Sorted, most rows stand beside their pair; the
    /// others are looked for.
    fn in_any_order(&self, own: &[Row], other: &[Row]) -> Option<String> {
        let (mut own, mut other): (Vec<&Row>, Vec<&Row>) =
            (own.iter().collect(), other.iter().collect());
        own.sort_unstable();
        other.sort_unstable();
        let is_same = |(one, other): (&&Row, &&Row)| self.are_same(one, other);
        if own.len() == other.len() && own.iter().zip(&other).all(is_same) {
            return None;
        }
        let mut without = Vec::new();
        // From the end, where taking one out moves few others.
        while let Some(row) = own.pop() {
            match other.iter().rposition(|one| self.are_same(row, one)) {
                Some(place) => _ = other.remove(place),
                None => without.push(row),
            }
        }
        let shown = |rows: &[&Row]| {
            let lines: Vec<String> = rows.iter().take(5).map(|row| line(row)).collect();
            lines.join("; ")
        };
        let is_none = without.is_empty() && other.is_empty();
        (!is_none)
            .then(|| format!("  only ours: {}\n  only theirs: {}", shown(&without), shown(&other)))
    }

    fn are_same(&self, own: &Row, other: &Row) -> bool {
        let is_same = |(place, (one, other)): (usize, (&Cell, &Cell))| {
            let is_approximate = self.approximate.get(place).copied().unwrap_or(false);
            one == other || (is_approximate && are_close(one, other))
        };
        own.len() == other.len() && own.iter().zip(other).enumerate().all(is_same)
    }
}

fn are_close(one: &Cell, other: &Cell) -> bool {
    let double = |cell: &Cell| match cell {
        Cell::Number(number) => Some(number.to_f64()),
        Cell::Double(double) => Some(*double),
        _ => None,
    };
    let (Some(one), Some(other)) = (double(one), double(other)) else { return false };
    (one - other).abs() <= RELATIVE * one.abs().max(other.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Refused;

    fn number(text: &str) -> Cell {
        Cell::Number(text.parse().expect("a number"))
    }

    fn rows(rows: &[&[&str]]) -> Answer {
        let cell = |text: &&str| match *text {
            "NULL" => Cell::Null,
            text if text.parse::<f64>().is_ok() => number(text),
            text => Cell::Text(text.to_string()),
        };
        Answer::Rows(rows.iter().map(|row| row.iter().map(cell).collect()).collect())
    }

    fn is_same(ours: &Answer, theirs: &Answer, judged: &Judged) -> bool {
        judge(ours, theirs, judged, Rival::Sqlite) == Verdict::Same
    }

    /// RA5: each way of being wrong is seen.
    #[test]
    fn altered_rows_are_different() {
        let right = rows(&[&["1", "a"], &["2", "NULL"], &["2", "NULL"], &["3", "c"]]);
        let any = Judged::default();
        let ordered = Judged { is_ordered: true, ..Judged::default() };
        for judged in [&any, &ordered] {
            assert!(is_same(&right, &right, judged));
            for wrong in [
                rows(&[&["1", "a"], &["2", "NULL"], &["3", "c"]]),
                rows(&[&["1", "a"], &["2", "NULL"], &["2", "NULL"], &["2", "NULL"], &["3", "c"]]),
                rows(&[&["1", "a"], &["2", "NULL"], &["3", "c"], &["3", "c"]]),
                rows(&[&["1", "a"], &["2", "NULL"], &["2", "0"], &["3", "c"]]),
                rows(&[&["1", "a"], &["2", "NULL"], &["2", "NULL"], &["3", "C"]]),
                rows(&[&["1"], &["2"], &["2"], &["3"]]),
                rows(&[]),
                Answer::Done(4),
                Answer::Refused(Refused { state: String::new(), message: "no".into() }),
            ] {
                assert!(!is_same(&right, &wrong, judged), "{wrong}");
                assert!(!is_same(&wrong, &right, judged), "{wrong}");
            }
        }
        let other_order = rows(&[&["2", "NULL"], &["1", "a"], &["3", "c"], &["2", "NULL"]]);
        assert!(is_same(&right, &other_order, &any));
        assert!(!is_same(&right, &other_order, &ordered));
    }

    #[test]
    fn last_digits_count_unless_a_column_is_approximate() {
        let third = rows(&[&["0.33333333333333333333333333333333333333"], &["2"]]);
        let double = Answer::Rows(vec![vec![Cell::Double(2.0)], vec![Cell::Double(1.0 / 3.0)]]);
        let close = Judged { approximate: vec![true], ..Judged::default() };
        assert!(is_same(&third, &double, &close));
        assert!(!is_same(&third, &double, &Judged::default()));
        let off = Answer::Rows(vec![vec![Cell::Double(2.0)], vec![Cell::Double(0.3334)]]);
        assert!(!is_same(&third, &off, &close));
        let none = Answer::Rows(vec![vec![Cell::Null], vec![Cell::Double(2.0)]]);
        assert!(!is_same(&third, &none, &close));
    }

    #[test]
    fn truth_is_one_and_nothing_else() {
        let one = |cell: Cell| Answer::Rows(vec![vec![cell]]);
        let any = Judged::default();
        assert!(is_same(&one(Cell::Truth(true)), &one(number("1")), &any));
        assert!(!is_same(&one(Cell::Truth(true)), &one(number("0")), &any));
        assert!(!is_same(&one(Cell::Truth(false)), &one(Cell::Null), &any));
    }

    #[test]
    fn refusals_are_compared_by_class() {
        let refused =
            |state: &str| Answer::Refused(Refused { state: state.into(), message: String::new() });
        let any = Judged::default();
        assert!(is_same(&refused("23505"), &refused("23"), &any));
        assert!(is_same(&refused("3B001"), &refused(""), &any));
        assert!(!is_same(&refused("23505"), &refused("22012"), &any));
        assert!(!is_same(&refused("23505"), &Answer::Done(0), &any));
        assert!(!is_same(&Answer::Done(1), &Answer::Done(2), &any));
    }
}
