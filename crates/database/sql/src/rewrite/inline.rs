//! Queries of WITH: one that is read once, that reads a row outside, or that the statement says is
//! NOT MATERIALIZED, stands where it is read. Others are computed once, and so is one that may
//! differ each time, or that is large and NOT MATERIALIZED in several places: a query that reads
//! such a one twice, and so on, would double the tree each time.
//!
//! Callers: `rewrite`.

use std::collections::BTreeMap;

use expression::{Expression, Kind};

use crate::logical::{FrameParts, Logical, SharedQuery};

/// The most nodes and parts of expressions that copies of a query that is NOT MATERIALIZED have.
const COPIED_MAX: usize = 2_000;

/// Puts queries where they are read.
pub(super) fn inline(mut logical: Logical, frame: &mut FrameParts) -> Logical {
    let is_repeatable = |query: &SharedQuery| !frame.is_volatile(&query.logical, false);
    let are_repeatable: Vec<bool> = frame.shared.iter().map(is_repeatable).collect();
    let FrameParts { binds, slots, shared, .. } = frame;
    let mut inlined: Vec<Option<Logical>> = Vec::with_capacity(shared.len());
    for (query, is_repeatable) in shared.iter_mut().zip(are_repeatable) {
        // A query may read those before it.
        replace(&mut query.logical, &inlined, slots);
        // What reads a row outside has other rows for each of those.
        let mut own = BTreeMap::new();
        collect_set(&query.logical, &mut own);
        let is_outside = |slot: usize| slot >= *binds && !own.contains_key(&slot);
        let reads_row = query.logical.reads_slots(&is_outside);
        let is_inlined = match query.said {
            _ if reads_row => true,
            // It is computed once, also where its one reader starts again and again.
            _ if !is_repeatable => false,
            Some(true) => false,
            Some(false) => {
                query.uses <= 1 || query.logical.parts().saturating_mul(query.uses) <= COPIED_MAX
            }
            None => query.uses <= 1,
        };
        inlined.push(is_inlined.then(|| query.logical.clone()));
    }
    replace(&mut logical, &inlined, slots);
    logical
}

/// Replaces reads of queries by these.
fn replace(logical: &mut Logical, inlined: &[Option<Logical>], slots: &mut Vec<Kind>) {
    if let Logical::Shared { number, .. } = logical
        && let Some(Some(query)) = inlined.get(*number)
    {
        *logical = copy(query, slots);
        return;
    }
    for input in logical.inputs_mut() {
        replace(input, inlined, slots);
    }
}

/// A copy of a query that may stand beside another one: the slots that it sets itself are its own.
fn copy(query: &Logical, slots: &mut Vec<Kind>) -> Logical {
    let mut copy = query.clone();
    let mut own = BTreeMap::new();
    collect_set(&copy, &mut own);
    if own.is_empty() {
        return copy;
    }
    for (slot, new) in &mut own {
        let kind = slots[*slot];
        slots.push(kind);
        *new = slots.len() - 1;
    }
    renumber(&mut copy, &own);
    copy
}

/// Adds the slots that a tree sets, with any new number.
fn collect_set(logical: &Logical, own: &mut BTreeMap<usize, usize>) {
    if let Logical::Apply { slots, .. } = logical {
        own.extend(slots.iter().map(|from| (from.slot, 0)));
    }
    logical.inputs().for_each(|input| collect_set(input, own));
}

fn renumber(logical: &mut Logical, own: &BTreeMap<usize, usize>) {
    logical.each_expression_mut(&mut |one| {
        one.change(&mut |part| {
            if let Expression::Slot(slot) = part
                && let Some(new) = own.get(slot)
            {
                *slot = *new;
            }
        });
    });
    if let Logical::Apply { slots, .. } = logical {
        for from in slots {
            from.slot = own.get(&from.slot).copied().unwrap_or(from.slot);
        }
    }
    logical.inputs_mut().for_each(|input| renumber(input, own));
}
