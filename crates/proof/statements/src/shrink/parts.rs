//! Queries and expressions with one part less, or with a smaller part.
//!
//! Invariant: a smaller expression has the kind of the one that it stands for.
//!
//! Callers: `shrink`.

use crate::generate::{Body, Literal, Query, Select, SourceOf, Term};
use database::Kind;

/// A list without each of its elements in turn.
pub(super) fn without_each<T: Clone>(list: &[T]) -> Vec<Vec<T>> {
    let without = |place: usize| {
        let mut fewer = list.to_vec();
        fewer.remove(place);
        fewer
    };
    (0..list.len()).map(without).collect()
}

/// A list of conditions with one less, or one smaller.
pub(super) fn smaller_lists(terms: &[Term]) -> Vec<Vec<Term>> {
    let mut all = without_each(terms);
    for (place, term) in terms.iter().enumerate() {
        for smaller in smaller_terms(term) {
            let mut changed = terms.to_vec();
            changed[place] = smaller;
            all.push(changed);
        }
    }
    all
}

/// An expression made smaller in every way.
pub(super) fn smaller_terms(term: &Term) -> Vec<Term> {
    if matches!(term, Term::Literal(_) | Term::Column { .. }) {
        return Vec::new();
    }
    let mut all: Vec<Term> =
        term.parts().into_iter().filter(|part| part.kind() == term.kind()).cloned().collect();
    match term {
        Term::And(parts) if parts.len() > 2 => {
            all.extend(without_each(parts).into_iter().map(Term::And));
        }
        Term::Or(parts) if parts.len() > 2 => {
            all.extend(without_each(parts).into_iter().map(Term::Or));
        }
        Term::Aggregate { name, argument, is_distinct, filter, kind } => {
            let plain = Term::Aggregate {
                name,
                argument: argument.clone(),
                is_distinct: false,
                filter: None,
                kind: *kind,
            };
            if *is_distinct || filter.is_some() {
                all.push(plain);
            }
        }
        _ => {}
    }
    // An aggregate that goes makes another query of it.
    if term.kind() == Kind::Boolean && !matches!(term, Term::Aggregate { .. }) {
        all.push(Term::Literal(Literal::Truth(true)));
    }
    if let Some(query) = term.query() {
        for smaller in smaller_queries(query) {
            let mut changed = term.clone();
            if let Some(query) = changed.query_mut() {
                *query = smaller;
            }
            all.push(changed);
        }
    }
    for (place, part) in term.parts().into_iter().enumerate() {
        for smaller in smaller_terms(part) {
            let mut changed = term.clone();
            if let Some(part) = changed.parts_mut().into_iter().nth(place) {
                *part = smaller;
            }
            all.push(changed);
        }
    }
    all
}

/// A query made smaller in every way.
pub(super) fn smaller_queries(query: &Query) -> Vec<Query> {
    let mut all = Vec::new();
    if let Body::Set { left, right, .. } = &query.body {
        all.extend([(**left).clone(), (**right).clone()]);
        for smaller in smaller_queries(left) {
            all.push(with_side(query, smaller, true));
        }
        for smaller in smaller_queries(right) {
            all.push(with_side(query, smaller, false));
        }
    }
    for with in without_each(&query.with) {
        all.push(Query { with, ..query.clone() });
    }
    if !query.order.is_empty() {
        all.push(Query { order: Vec::new(), limit: None, offset: None, ..query.clone() });
    }
    if query.limit.is_some() || query.offset.is_some() {
        all.push(Query { limit: None, offset: None, ..query.clone() });
    }
    for (place, common) in query.with.iter().enumerate() {
        for smaller in smaller_queries(&common.query) {
            let mut changed = query.clone();
            changed.with[place].query = smaller;
            all.push(changed);
        }
    }
    if let Body::Select(select) = &query.body {
        for (select, gone) in smaller_selects(select) {
            let mut order = query.order.clone();
            if let Some(place) = gone.filter(|place| *place < order.len()) {
                order.remove(place);
            }
            all.push(Query { body: Body::Select(Box::new(select)), order, ..query.clone() });
        }
    }
    all
}

fn with_side(query: &Query, side: Query, is_left: bool) -> Query {
    let mut changed = query.clone();
    if let Body::Set { left, right, .. } = &mut changed.body {
        **(if is_left { left } else { right }) = side;
    }
    changed
}

/// A SELECT made smaller in every way, each with the place of the column that went.
fn smaller_selects(select: &Select) -> Vec<(Select, Option<usize>)> {
    let mut all = Vec::new();
    let mut add = |select: Select| all.push((select, None));
    if !select.from.is_empty() {
        add(Select { from: select.from[..select.from.len() - 1].to_vec(), ..select.clone() });
    }
    if select.is_distinct {
        add(Select { is_distinct: false, ..select.clone() });
    }
    for having in smaller_lists(&select.having) {
        add(Select { having, ..select.clone() });
    }
    for filter in smaller_lists(&select.filter) {
        add(Select { filter, ..select.clone() });
    }
    for groups in without_each(&select.groups) {
        add(Select { groups, ..select.clone() });
    }
    for (place, join) in select.from.iter().enumerate() {
        for on in smaller_lists(&join.on) {
            let mut changed = select.clone();
            changed.from[place].on = on;
            add(changed);
        }
        let SourceOf::Query { query, is_lateral } = &join.source.of else { continue };
        for smaller in smaller_queries(query) {
            let mut changed = select.clone();
            let is_lateral = *is_lateral;
            changed.from[place].source.of =
                SourceOf::Query { query: Box::new(smaller), is_lateral };
            add(changed);
        }
    }
    for (place, item) in select.items.iter().enumerate() {
        for smaller in smaller_terms(item) {
            let mut changed = select.clone();
            changed.items[place] = smaller;
            add(changed);
        }
    }
    if select.items.len() > 1 {
        for (place, items) in without_each(&select.items).into_iter().enumerate() {
            all.push((Select { items, ..select.clone() }, Some(place)));
        }
    }
    all
}
