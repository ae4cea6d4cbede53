//! How many rows pass a condition: counted behind the filter, and computed for each row without it.
//!
//! ```text
//!   SELECT count(*) FROM t WHERE p
//!     = the number of ones in  SELECT CASE WHEN p THEN 1 ELSE 0 END FROM t
//! ```
//!
//! Nothing of the second query can be done by an index or pushed down: what it says is what the
//! expression says.
//!
//! Callers: `run`.

use database::Kind;

use super::partition::{Outcome, has_aggregate};
use crate::answer::{Answer, Cell};
use crate::bed::Engine;
use crate::generate::{Body, Dialect, Judged, Query, Select, Term, text_of};

/// Checks the conditions of a query.
pub(super) fn check(engine: &mut dyn Engine, query: &Query, judged: &Judged) -> Outcome {
    let Some([counted, computed]) = both(query) else { return Outcome::NotAsked };
    let (text, other) = (text_of(&counted, Dialect::Forebay), text_of(&computed, Dialect::Forebay));
    let (count, ones) = match (engine.run(&text), engine.run(&other)) {
        (Answer::Rows(count), Answer::Rows(ones)) => (count, ones),
        (Answer::Refused(_), _) | (_, Answer::Refused(_)) if judged.is_risky => {
            return Outcome::NotAsked;
        }
        (Answer::Refused(_), Answer::Refused(_)) => return Outcome::NotAsked,
        (count, ones) => {
            return Outcome::Broken(format!("  {text}\n  {count}\n  {other}\n  {ones}"));
        }
    };
    let one = Cell::Number(1_i64.into());
    let found = ones.iter().filter(|row| row.first() == Some(&one)).count();
    let counted = count.first().and_then(|row| row.first());
    let expected = i64::try_from(found).expect("rows in memory are fewer");
    if counted == Some(&Cell::Number(expected.into())) {
        return Outcome::Holds;
    }
    let counted = counted.map_or("no row".into(), Cell::to_string);
    Outcome::Broken(format!("  {text}\n  says {counted}\n  {other}\n  has {found} ones"))
}

/// The query that counts, and the one that computes; none if there is no condition, or if rows
/// become groups.
fn both(query: &Query) -> Option<[Query; 2]> {
    let Body::Select(select) = &query.body else { return None };
    let is_asked = select.groups.is_empty()
        && select.having.is_empty()
        && !select.from.is_empty()
        && !select.items.iter().any(has_aggregate);
    let condition = match &select.filter[..] {
        [] => return None,
        [one] => one.clone(),
        several => Term::And(several.to_vec()),
    };
    if !is_asked {
        return None;
    }
    let of = |item: Term, filter: Vec<Term>| {
        let select = Select { items: vec![item], filter, is_distinct: false, ..(**select).clone() };
        let body = Body::Select(Box::new(select));
        Query { body, order: Vec::new(), limit: None, offset: None, ..query.clone() }
    };
    let count = Term::Aggregate {
        name: "count",
        argument: None,
        is_distinct: false,
        filter: None,
        kind: Kind::Whole,
    };
    Some([of(count, select.filter.clone()), of(Term::one_if(condition), Vec::new())])
}
