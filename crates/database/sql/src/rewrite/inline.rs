//! Queries of WITH: one that is read once, or that the statement says is NOT MATERIALIZED, stands
//! where it is read. Others are computed once.
//!
//! Callers: `rewrite`.

use crate::logical::{FrameParts, Logical};

/// Puts queries where they are read.
pub(super) fn inline(mut logical: Logical, frame: &mut FrameParts) -> Logical {
    let inlined: Vec<Option<Logical>> = {
        let mut found: Vec<Option<Logical>> = Vec::with_capacity(frame.shared.len());
        for number in 0..frame.shared.len() {
            // A query may read those before it.
            let mut own = frame.shared[number].logical.clone();
            replace(&mut own, &found);
            let shared = &mut frame.shared[number];
            let is_repeatable = !own.is_volatile();
            let is_inlined = match shared.said {
                Some(true) => false,
                Some(false) => is_repeatable || shared.uses <= 1,
                None => shared.uses <= 1,
            };
            found.push(is_inlined.then(|| own.clone()));
            shared.logical = own;
        }
        found
    };
    replace(&mut logical, &inlined);
    logical
}

/// Replaces reads of queries by these.
fn replace(logical: &mut Logical, inlined: &[Option<Logical>]) {
    if let Logical::Shared { number, .. } = logical
        && let Some(Some(query)) = inlined.get(*number)
    {
        *logical = query.clone();
        return;
    }
    for input in logical.inputs_mut() {
        replace(input, inlined);
    }
}
