//! IN and EXISTS become joins, where they stand alone among the conditions of a filter.
//!
//! ```text
//!   Filter exists (subquery: Project ─ Filter b.x = $1 ─ b), $1 is a.x
//!     a
//!                         ─▶   Semi join a.x = b.x
//!                                a
//!                                b
//! ```
//!
//! | condition | join |
//! |---|---|
//! | EXISTS | semi |
//! | NOT EXISTS | anti |
//! | x IN (...) | semi, with x equal to the column |
//! | x NOT IN (...) | anti that minds NULLs; a plain anti join where neither side can be NULL |
//!
//! What the subquery takes from the row outside may stand in its filter and in its columns alone;
//! else it stays a subquery, and is asked for each row. So does one with shared queries of its own
//! in a shared query: those would get numbers behind the one that reads them.
//!
//! Callers: `rewrite`.

use std::collections::{BTreeMap, BTreeSet};

use expression::{Comparison, Expression, Question, Subquery};

use super::conditions::{grows_little, reads_no_row, substituted};
use super::fold::fold;
use crate::logical::{
    FrameParts, Join, JoinKind, Logical, ScanColumn, Subplan, host_call_of, is_volatile,
};

/// Makes joins of subqueries in the tree of a frame.
pub(super) fn unnest(logical: Logical, frame: &mut FrameParts) -> Logical {
    unnested(logical, frame, Within::Tree)
}

/// The same in the tree of a shared query.
pub(super) fn unnest_shared(logical: Logical, frame: &mut FrameParts) -> Logical {
    unnested(logical, frame, Within::Shared)
}

/// Which of a frame's trees it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    /// Its own, which may read all its shared queries.
    Tree,
    /// That of a shared query, which may read those before it.
    Shared,
}

fn unnested(mut logical: Logical, frame: &mut FrameParts, within: Within) -> Logical {
    for input in logical.inputs_mut() {
        let inner = std::mem::replace(input, Logical::no_rows(0));
        *input = unnested(inner, frame, within);
    }
    let Logical::Filter { mut input, conditions } = logical else { return logical };
    let mut left = Vec::with_capacity(conditions.len());
    for condition in conditions {
        match asked(&condition).and_then(|asked| joined(*input.clone(), asked, frame, within)) {
            Some(join) => *input = join,
            None => left.push(condition),
        }
    }
    input.filtered(left)
}

/// The numbers of the subqueries that the trees of a frame ask.
pub(super) fn asked_in(logical: &Logical, frame: &FrameParts) -> BTreeSet<usize> {
    let mut numbers = BTreeSet::new();
    add_asked(logical, &mut numbers);
    frame.shared.iter().for_each(|shared| add_asked(&shared.logical, &mut numbers));
    numbers
}

fn add_asked(logical: &Logical, numbers: &mut BTreeSet<usize>) {
    logical.each_expression(&mut |one| {
        one.walk(&mut |part| {
            if let Expression::Subquery(subquery) = part {
                numbers.insert(subquery.number);
            }
        });
    });
    logical.inputs().for_each(|input| add_asked(input, numbers));
}

/// Whether a tree reads a shared query.
fn reads_shared(logical: &Logical) -> bool {
    matches!(logical, Logical::Shared { .. }) || logical.inputs().any(reads_shared)
}

/// A condition that is a question to a subquery.
struct Asked<'e> {
    subquery: &'e Subquery,
    kind: JoinKind,
}

fn asked(condition: &Expression) -> Option<Asked<'_>> {
    let (subquery, negated) = match condition {
        Expression::Subquery(subquery) => (subquery, false),
        Expression::Not(inner) => match &**inner {
            Expression::Subquery(subquery) => (subquery, true),
            _ => return None,
        },
        _ => return None,
    };
    let kind = match (subquery.question, negated) {
        (Question::Exists, false) => JoinKind::Semi,
        (Question::Exists, true) => JoinKind::Anti,
        (Question::Any(Comparison::Equal), false) => JoinKind::Semi,
        (Question::All(Comparison::NotEqual), false) => JoinKind::AntiNullAware,
        (Question::Any(Comparison::Equal), true) => JoinKind::AntiNullAware,
        _ => return None,
    };
    Some(Asked { subquery, kind })
}

/// The rows of `left` joined with those of the subquery; none if it has to stay one.
fn joined(
    left: Logical,
    asked: Asked<'_>,
    frame: &mut FrameParts,
    within: Within,
) -> Option<Logical> {
    let Asked { subquery, mut kind } = asked;
    let subplan = frame.subqueries.get(subquery.number)?;
    if subplan.logical.is_volatile() || subquery.tested.iter().any(is_volatile) {
        return None;
    }
    let arguments: BTreeMap<usize, &Expression> =
        subplan.arguments.iter().copied().zip(&subquery.arguments).collect();
    let reads_argument =
        |logical: &Logical| logical.reads_slots(&|slot| arguments.contains_key(&slot));
    if reads_shared(&subplan.logical)
        && (within == Within::Shared
            || subplan.frame.shared.iter().any(|shared| reads_argument(&shared.logical)))
    {
        return None;
    }
    // An uncorrelated EXISTS has one answer for all rows.
    if subquery.question == Question::Exists && arguments.is_empty() {
        return None;
    }
    let mut opened = open(&subplan.logical, &|slot| arguments.contains_key(&slot))?;
    fold(&mut opened.rows);
    if kind == JoinKind::AntiNullAware {
        let [tested] = &subquery.tested[..] else { return None };
        // The join has columns as its keys.
        let reads_row = |one: &Expression| !reads_no_row(one);
        if !reads_row(tested) || !opened.columns.first().is_some_and(reads_row) {
            return None;
        }
        let can_not_be_null = !can_be_null(tested, &left)
            && opened.columns.first().is_some_and(|column| !can_be_null(column, &opened.rows));
        match can_not_be_null {
            true => kind = JoinKind::Anti,
            false if opened.conditions.is_empty() && arguments.is_empty() => {}
            false => return None,
        }
    }
    let Opened { rows, conditions, columns } = opened;
    let arguments: BTreeMap<usize, Expression> =
        arguments.into_iter().map(|(slot, value)| (slot, value.clone())).collect();
    let TakenIn { logical: right, moved } = taken_in(rows, frame, subquery.number);
    let inward = Inward { width: left.width(), arguments, moved };
    let mut on = Vec::with_capacity(subquery.tested.len() + conditions.len());
    for (tested, column) in subquery.tested.iter().zip(columns) {
        on.push(Expression::Compare {
            comparison: Comparison::Equal,
            left: Box::new(tested.clone()),
            right: Box::new(inward.over_pair(column)),
        });
    }
    on.extend(conditions.into_iter().map(|condition| inward.over_pair(condition)));
    let (left, right) = (Box::new(left), Box::new(unnested(right, frame, within)));
    Some(Logical::Join(Join { kind, left, right, on }))
}

/// A subquery's rows without what reads the row outside.
struct Opened {
    rows: Logical,
    /// The conditions that read the row outside, over these rows.
    conditions: Vec<Expression>,
    /// The subquery's columns, over these rows.
    columns: Vec<Expression>,
}

/// Takes the conditions off a subquery that read the row outside; none if something else reads it.
fn open(logical: &Logical, is_outside: &dyn Fn(usize) -> bool) -> Option<Opened> {
    let mut columns: Vec<Expression> = (0..logical.width()).map(Expression::Column).collect();
    let (mut conditions, mut rows) = (Vec::new(), logical);
    loop {
        match rows {
            Logical::Project { input, expressions } => {
                if !columns.iter().chain(&conditions).all(|one| grows_little(one, expressions)) {
                    return None;
                }
                let below = |one: Expression| substituted(one, expressions);
                columns = columns.into_iter().map(below).collect();
                conditions = conditions.into_iter().map(below).collect();
                rows = input;
            }
            Logical::Filter { input, conditions: own } => {
                // What stands below is tested first.
                conditions = own.iter().cloned().chain(conditions).collect();
                rows = input;
            }
            // Neither the order nor how often a row comes makes a difference.
            Logical::Sort { input, .. } | Logical::Distinct { input } => rows = input,
            _ => break,
        }
    }
    if rows.reads_slots(is_outside) {
        return None;
    }
    let reads_outside = |one: &Expression| {
        let mut reads = false;
        one.walk(&mut |part| {
            if let Expression::Slot(slot) = part {
                reads |= is_outside(*slot);
            }
        });
        reads
    };
    // A subquery within it would have to be given the row outside too.
    let asks = |one: &Expression| reads_outside(one) && one.has_subquery();
    if conditions.iter().any(asks) || columns.iter().any(asks) {
        return None;
    }
    let (outside, inside): (Vec<_>, Vec<_>) = conditions.into_iter().partition(reads_outside);
    Some(Opened { rows: rows.clone().filtered(inside), conditions: outside, columns })
}

/// How an expression over a subquery's row becomes one over a pair.
struct Inward {
    /// The width of the left row.
    width: usize,
    /// What is in the slots that the subquery takes from the left row.
    arguments: BTreeMap<usize, Expression>,
    moved: Moved,
}

impl Inward {
    /// The expression with its columns behind those of the left row, and the left row's values in
    /// place of slots.
    fn over_pair(&self, mut expression: Expression) -> Expression {
        expression.remap(&|column| column + self.width);
        // A part that is put in isn't visited: it belongs to the frame outside.
        expression.change(&mut |part| match part {
            Expression::Slot(slot) if self.arguments.contains_key(slot) => {
                *part = self.arguments[slot].clone();
            }
            _ => self.moved.renumber_part(part),
        });
        expression
    }
}

/// Rows of a subquery within the frame outside, and where its subqueries and slots are by now.
struct TakenIn {
    logical: Logical,
    moved: Moved,
}

/// The new numbers of what belonged to a frame that is no more.
struct Moved {
    slots: BTreeMap<usize, usize>,
    subqueries: usize,
    calls: usize,
    shared: usize,
}

/// Makes the rows of a subquery a part of the frame outside: its slots, subqueries and shared
/// queries get numbers there.
fn taken_in(mut rows: Logical, frame: &mut FrameParts, number: usize) -> TakenIn {
    frame.subqueries[number].is_join = true;
    let Subplan { frame: own, arguments, .. } = frame.subqueries[number].clone();
    let mut moved = Moved {
        slots: BTreeMap::new(),
        subqueries: frame.subqueries.len(),
        calls: frame.calls.len(),
        shared: frame.shared.len(),
    };
    for (slot, kind) in own.slots.iter().enumerate().skip(own.binds) {
        if !arguments.contains(&slot) {
            frame.slots.push(*kind);
            moved.slots.insert(slot, frame.slots.len() - 1);
        }
    }
    frame.calls.extend(own.calls);
    // What a subquery takes from its row stands in the questions, which are renumbered.
    frame.subqueries.extend(own.subqueries);
    if reads_shared(&rows) {
        for mut shared in own.shared {
            moved.renumber(&mut shared.logical);
            frame.shared.push(shared);
        }
    }
    moved.renumber(&mut rows);
    TakenIn { logical: rows, moved }
}

impl Moved {
    fn renumber(&self, logical: &mut Logical) {
        logical.each_expression_mut(&mut |one| one.change(&mut |part| self.renumber_part(part)));
        match logical {
            Logical::Shared { number, .. } => *number += self.shared,
            Logical::Apply { slots, .. } => {
                for slot in slots {
                    slot.slot = self.slots.get(&slot.slot).copied().unwrap_or(slot.slot);
                }
            }
            _ => {}
        }
        for input in logical.inputs_mut() {
            self.renumber(input);
        }
    }

    fn renumber_part(&self, part: &mut Expression) {
        match part {
            Expression::Slot(slot) => *slot = self.slots.get(slot).copied().unwrap_or(*slot),
            Expression::Subquery(subquery) => {
                subquery.number += match host_call_of(subquery.number) {
                    Some(_) => self.calls,
                    None => self.subqueries,
                };
            }
            _ => {}
        }
    }
}

/// Whether an expression over the rows of a tree may be NULL. May say yes where it can't.
fn can_be_null(expression: &Expression, rows: &Logical) -> bool {
    match expression {
        Expression::Constant(value) => value.get().is_null(),
        Expression::Column(column) => column_can_be_null(*column, rows),
        _ => true,
    }
}

fn column_can_be_null(column: usize, rows: &Logical) -> bool {
    match rows {
        Logical::Scan(scan) => match scan.columns[column] {
            ScanColumn::Table(place) => !scan.table.definition.columns[place].not_null,
            ScanColumn::Address => false,
        },
        Logical::Filter { input, .. }
        | Logical::Sort { input, .. }
        | Logical::Limit { input, .. }
        | Logical::Distinct { input } => column_can_be_null(column, input),
        Logical::Project { input, expressions } => can_be_null(&expressions[column], input),
        Logical::Join(Join { kind, left, right, .. }) => {
            let width = left.width();
            match column.checked_sub(width) {
                None => kind.keeps_right() || column_can_be_null(column, left),
                Some(column) => kind.keeps_left() || column_can_be_null(column, right),
            }
        }
        _ => true,
    }
}
