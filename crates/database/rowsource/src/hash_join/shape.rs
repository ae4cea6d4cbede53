//! What a join gives, in words of the build side and the probe side.
//!
//! Callers: the other files of `hash_join`.

use expression::{Evaluation, Expression, Joined, Nulls, RowOf, Rows};
use stop::Stop;

use super::Seen;
use crate::hash::{KeyColumn, join_equal};
use crate::{JoinKind, JoinPlan, Side};

/// What comes for a pair that matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OnMatch {
    /// The two rows side by side.
    Pair,
    /// The probe row, once.
    ProbeRow,
    /// The build row, once.
    BuildRow,
    /// Nothing.
    Nothing,
}

/// What comes for a row without a match.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Alone {
    /// Nothing.
    No,
    /// The row, with NULLs for the other side.
    Padded,
    /// The row.
    Bare,
}

/// What a join gives.
pub(super) struct Shape {
    pub(super) build_is_left: bool,
    pub(super) gives_both: bool,
    is_not_in: bool,
    pub(super) build_keys: Vec<KeyColumn>,
    pub(super) probe_keys: Vec<KeyColumn>,
    pub(super) condition: Option<Expression>,
    pub(super) on_match: OnMatch,
    pub(super) build_alone: Alone,
    pub(super) probe_alone: Alone,
    pub(super) build_width: usize,
    pub(super) probe_width: usize,
}

impl Shape {
    pub(super) fn new(plan: JoinPlan, build: Side) -> Shape {
        let JoinPlan { kind, keys, condition } = plan;
        let is_not_in = kind == JoinKind::NotIn;
        if is_not_in {
            assert!(keys.len() == 1 && condition.is_none(), "NOT IN has one key and no condition");
        }
        let build_is_left = build == Side::Left;
        let padded = |is: bool| if is { Alone::Padded } else { Alone::No };
        let (left, right) = match kind {
            JoinKind::Anti | JoinKind::NotIn => (Alone::Bare, Alone::No),
            _ => (padded(kind.pads_left()), padded(kind.pads_right())),
        };
        let on_match = match kind {
            JoinKind::Semi if build_is_left => OnMatch::BuildRow,
            JoinKind::Semi => OnMatch::ProbeRow,
            JoinKind::Anti | JoinKind::NotIn => OnMatch::Nothing,
            _ => OnMatch::Pair,
        };
        let [of_left, of_right] = KeyColumn::of_both(&keys);
        let (build_keys, probe_keys) =
            if build_is_left { (of_left, of_right) } else { (of_right, of_left) };
        let (build_alone, probe_alone) = if build_is_left { (left, right) } else { (right, left) };
        Shape {
            build_is_left,
            gives_both: kind.gives_both(),
            is_not_in,
            build_keys,
            probe_keys,
            condition,
            on_match,
            build_alone,
            probe_alone,
            build_width: 0,
            probe_width: 0,
        }
    }

    /// Tells the widths of the left and the right input.
    pub(super) fn set_widths(&mut self, widths: [usize; 2]) {
        let [left, right] = widths;
        (self.build_width, self.probe_width) =
            if self.build_is_left { (left, right) } else { (right, left) };
    }

    /// Whether a build row that has a match needn't be looked at again.
    pub(super) fn one_match_is_enough_for_build(&self) -> bool {
        match self.on_match {
            OnMatch::BuildRow => true,
            OnMatch::Nothing => self.build_alone != Alone::No,
            OnMatch::Pair | OnMatch::ProbeRow => false,
        }
    }

    /// Whether a probe row that has a match needn't be looked at again.
    pub(super) fn one_match_is_enough_for_probe(&self) -> bool {
        match self.on_match {
            OnMatch::ProbeRow => true,
            OnMatch::Nothing => self.probe_alone != Alone::No,
            OnMatch::Pair | OnMatch::BuildRow => false,
        }
    }

    /// Whether build rows are marked when they match.
    pub(super) fn marks_build(&self) -> bool {
        self.build_alone != Alone::No || self.on_match == OnMatch::BuildRow
    }

    /// Whether it has to be known of a probe row whether it matched an earlier block.
    pub(super) fn marks_probe(&self) -> bool {
        self.probe_alone != Alone::No || self.on_match == OnMatch::ProbeRow
    }

    /// Whether no row can come, now that the build side was seen.
    pub(super) fn is_empty_now(&self, seen: &Seen) -> bool {
        let by_null = self.is_not_in && !self.build_is_left && seen.build_null;
        by_null || (!seen.build_rows && self.probe_alone == Alone::No)
    }

    /// Whether the keys of two rows are equal.
    #[inline]
    pub(super) fn are_equal(&self, build: RowOf<'_>, probe: RowOf<'_>) -> bool {
        join_equal(build, &self.build_keys, probe, &self.probe_keys)
    }

    /// Whether the condition is true of two rows.
    #[inline]
    pub(super) fn holds(
        &self,
        build: RowOf<'_>,
        probe: RowOf<'_>,
        with: &Evaluation<'_>,
    ) -> Result<bool, Stop> {
        let Some(condition) = &self.condition else { return Ok(true) };
        let (left, right) = if self.build_is_left { (build, probe) } else { (probe, build) };
        let joined = Joined::new(&left, &right);
        Ok(condition.truth(&joined, with)? == Some(true))
    }

    /// Appends a pair.
    pub(super) fn push_pair(&self, build: RowOf<'_>, probe: RowOf<'_>, into: &mut Rows) {
        if self.build_is_left {
            into.push_joined(&build, &probe);
        } else {
            into.push_joined(&probe, &build);
        }
    }

    /// Appends what comes for a build row without a match. `is_hashed`: it has no NULL key.
    pub(super) fn push_build_alone(
        &self,
        row: RowOf<'_>,
        is_hashed: bool,
        seen: &Seen,
        into: &mut Rows,
    ) {
        if self.is_not_in && (seen.probe_null || (!is_hashed && seen.probe_rows)) {
            return;
        }
        let nulls = Nulls(self.probe_width);
        match self.build_alone {
            Alone::No => {}
            Alone::Bare => into.push_row(&row),
            Alone::Padded if self.build_is_left => into.push_joined(&row, &nulls),
            Alone::Padded => into.push_joined(&nulls, &row),
        }
    }

    /// Appends what comes for a probe row without a match. `is_hashed`: it has no NULL key.
    pub(super) fn push_probe_alone(
        &self,
        row: RowOf<'_>,
        is_hashed: bool,
        seen: &Seen,
        into: &mut Rows,
    ) {
        if self.is_not_in && (seen.build_null || (!is_hashed && seen.build_rows)) {
            return;
        }
        let nulls = Nulls(self.build_width);
        match self.probe_alone {
            Alone::No => {}
            Alone::Bare => into.push_row(&row),
            Alone::Padded if self.build_is_left => into.push_joined(&nulls, &row),
            Alone::Padded => into.push_joined(&row, &nulls),
        }
    }
}
