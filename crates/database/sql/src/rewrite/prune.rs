//! Columns that nobody asks for are neither read nor computed.
//!
//! Callers: `rewrite`.

use std::collections::BTreeSet;
use std::sync::Arc;

use expression::Expression;

use super::conditions::columns_of;
use crate::logical::{
    AggregateCall, Join, Logical, Scan, SetKind, SetOperation, Ties, VirtualScan, is_volatile,
};

/// A tree without some of its columns, and where the others are.
struct Pruned {
    logical: Logical,
    /// The new number of each column that was asked for; of others any number.
    places: Vec<usize>,
}

impl Pruned {
    fn same(logical: Logical) -> Pruned {
        let places = (0..logical.width()).collect();
        Pruned { logical, places }
    }

    /// The expression over the new columns.
    fn over(&self, mut expression: Expression) -> Expression {
        expression.remap(&|column| self.places[column]);
        expression
    }

    fn all_over(&self, expressions: Vec<Expression>) -> Vec<Expression> {
        expressions.into_iter().map(|one| self.over(one)).collect()
    }
}

/// Takes columns out of a tree all of whose own columns are asked for, in their order.
pub(super) fn prune_all(logical: Logical) -> Logical {
    let width = logical.width();
    let wanted: BTreeSet<usize> = (0..width).collect();
    let Pruned { logical, places } = prune(logical, &wanted);
    logical.projected(places.into_iter().map(Expression::Column).collect())
}

fn prune(logical: Logical, wanted: &BTreeSet<usize>) -> Pruned {
    match logical {
        Logical::Scan(Scan { table, alias, columns }) => {
            let kept = wanted.iter().map(|column| columns[*column]).collect();
            let places = numbered(columns.len(), wanted);
            Pruned { logical: Logical::Scan(Scan { table, alias, columns: kept }), places }
        }
        Logical::Virtual(VirtualScan { table, columns }) => {
            let kept = wanted.iter().map(|column| columns[*column]).collect();
            let places = numbered(columns.len(), wanted);
            Pruned { logical: Logical::Virtual(VirtualScan { table, columns: kept }), places }
        }
        Logical::Nothing { width } => {
            let places = numbered(width, wanted);
            Pruned { logical: Logical::Nothing { width: wanted.len() }, places }
        }
        Logical::Values { rows, width } => prune_values(rows, width, wanted),
        Logical::Project { input, expressions } => prune_project(*input, expressions, wanted),
        Logical::Filter { input, conditions } => {
            let input = prune(*input, &with(wanted, &conditions));
            let conditions = input.all_over(conditions);
            let Pruned { logical, places } = input;
            Pruned { logical: logical.filtered(conditions), places }
        }
        Logical::Sort { input, keys } => {
            let input = prune(*input, &with(wanted, keys.iter().map(|key| &key.value)));
            let mut keys = keys;
            for key in &mut keys {
                key.value.remap(&|column| input.places[column]);
            }
            let Pruned { logical, places } = input;
            Pruned { logical: Logical::Sort { input: Box::new(logical), keys }, places }
        }
        Logical::Limit { input, limit, offset } => {
            let Pruned { logical, places } = prune(*input, wanted);
            let input = Box::new(logical);
            Pruned { logical: Logical::Limit { input, limit, offset }, places }
        }
        Logical::Ties(ties) => prune_ties(ties, wanted),
        Logical::Join(join) => prune_join(join, wanted),
        Logical::Apply { .. } => prune_apply(logical, wanted),
        Logical::Aggregate { input, groups, aggregates } => {
            prune_aggregate(*input, groups, aggregates, wanted)
        }
        Logical::Set(set) => prune_set(set, wanted),
        Logical::Distinct { input } => {
            let input = Box::new(prune_all(*input));
            Pruned::same(Logical::Distinct { input })
        }
        Logical::DistinctOn { input, columns } => {
            let input = Box::new(prune_all(*input));
            Pruned::same(Logical::DistinctOn { input, columns })
        }
        Logical::Series { .. } | Logical::Shared { .. } => Pruned::same(logical),
    }
}

/// The columns that are wanted, and those that expressions read.
fn with<'e>(
    wanted: &BTreeSet<usize>,
    expressions: impl IntoIterator<Item = &'e Expression>,
) -> BTreeSet<usize> {
    let mut all = columns_of(expressions);
    all.extend(wanted);
    all
}

/// The new numbers of columns of which only the wanted ones are kept, in their order.
fn numbered(width: usize, wanted: &BTreeSet<usize>) -> Vec<usize> {
    let mut places = vec![0; width];
    for (new, old) in wanted.iter().enumerate() {
        places[*old] = new;
    }
    places
}

fn prune_values(rows: Arc<[Vec<Expression>]>, width: usize, wanted: &BTreeSet<usize>) -> Pruned {
    if wanted.len() == width {
        return Pruned::same(Logical::Values { rows, width });
    }
    let mut wanted = wanted.clone();
    // What takes a value of a sequence takes it for each row, also if nobody looks.
    for column in 0..width {
        if rows.iter().any(|row| is_volatile(&row[column])) {
            wanted.insert(column);
        }
    }
    let places = numbered(width, &wanted);
    let keep = |row: &Vec<Expression>| -> Vec<Expression> {
        wanted.iter().map(|column| row[*column].clone()).collect()
    };
    let rows = rows.iter().map(keep).collect();
    Pruned { logical: Logical::Values { rows, width: wanted.len() }, places }
}

fn prune_project(input: Logical, expressions: Vec<Expression>, wanted: &BTreeSet<usize>) -> Pruned {
    let mut wanted = wanted.clone();
    let volatile = (0..expressions.len()).filter(|column| is_volatile(&expressions[*column]));
    wanted.extend(volatile);
    let places = numbered(expressions.len(), &wanted);
    let kept = expressions.into_iter().enumerate();
    let kept: Vec<Expression> =
        kept.filter(|(column, _)| wanted.contains(column)).map(|(_, one)| one).collect();
    let input = prune(input, &columns_of(&kept));
    let kept = input.all_over(kept);
    Pruned { logical: input.logical.projected(kept), places }
}

fn prune_ties(ties: Ties, wanted: &BTreeSet<usize>) -> Pruned {
    let Ties { input, mut keys, limit, offset } = ties;
    let input = prune(*input, &with(wanted, keys.iter().map(|key| &key.value)));
    for key in &mut keys {
        key.value.remap(&|column| input.places[column]);
    }
    let Pruned { logical, places } = input;
    let logical = Logical::Ties(Ties { input: Box::new(logical), keys, limit, offset });
    Pruned { logical, places }
}

fn prune_join(join: Join, wanted: &BTreeSet<usize>) -> Pruned {
    let Join { kind, left, right, mut on } = join;
    let width = left.width();
    let all = with(wanted, &on);
    let (left, right) = prune_sides(*left, *right, &all);
    let new_width = left.logical.width();
    let place = |column: usize| match column.checked_sub(width) {
        None => left.places[column],
        Some(column) => new_width + right.places[column],
    };
    on.iter_mut().for_each(|one| one.remap(&place));
    let old = if kind.has_right() { width + right.places.len() } else { width };
    let places = (0..old).map(place).collect();
    let (left, right) = (Box::new(left.logical), Box::new(right.logical));
    Pruned { logical: Logical::Join(Join { kind, left, right, on }), places }
}

fn prune_apply(logical: Logical, wanted: &BTreeSet<usize>) -> Pruned {
    let Logical::Apply { left, right, is_outer, mut slots, mut on } = logical else {
        unreachable!("the caller has looked")
    };
    let width = left.width();
    let all = with(wanted, on.iter().chain(slots.iter().map(|slot| &slot.value)));
    let (left, right) = prune_sides(*left, *right, &all);
    let new_width = left.logical.width();
    let place = |column: usize| match column.checked_sub(width) {
        None => left.places[column],
        Some(column) => new_width + right.places[column],
    };
    on.iter_mut().for_each(|one| one.remap(&place));
    slots.iter_mut().for_each(|slot| slot.value.remap(&place));
    let places = (0..width + right.places.len()).map(place).collect();
    let (left, right) = (Box::new(left.logical), Box::new(right.logical));
    Pruned { logical: Logical::Apply { left, right, is_outer, slots, on }, places }
}

/// The two sides of a join of whose pairs these columns are wanted.
fn prune_sides(left: Logical, right: Logical, wanted: &BTreeSet<usize>) -> (Pruned, Pruned) {
    let width = left.width();
    let of_left: BTreeSet<usize> = wanted.range(..width).copied().collect();
    let of_right: BTreeSet<usize> = wanted.range(width..).map(|column| column - width).collect();
    (prune(left, &of_left), prune(right, &of_right))
}

fn prune_aggregate(
    input: Logical,
    groups: Vec<Expression>,
    aggregates: Vec<AggregateCall>,
    wanted: &BTreeSet<usize>,
) -> Pruned {
    let count = groups.len();
    let mut places: Vec<usize> = (0..count).collect();
    let mut kept = Vec::with_capacity(aggregates.len());
    for (number, call) in aggregates.into_iter().enumerate() {
        places.push(count + kept.len());
        if wanted.contains(&(count + number)) {
            kept.push(call);
        }
    }
    let later = Box::new(Logical::no_rows(0));
    let node = Logical::Aggregate { input: later, groups, aggregates: kept };
    let mut read = Vec::new();
    node.each_expression(&mut |one| read.push(one.clone()));
    let input = prune(input, &columns_of(&read));
    let mut node = node;
    node.each_expression_mut(&mut |one| one.remap(&|column| input.places[column]));
    if let Logical::Aggregate { input: below, .. } = &mut node {
        **below = input.logical;
    }
    Pruned { logical: node, places }
}

fn prune_set(set: SetOperation, wanted: &BTreeSet<usize>) -> Pruned {
    let SetOperation { kind, all, left, right } = set;
    if kind != SetKind::Union || !all {
        let (left, right) = (Box::new(prune_all(*left)), Box::new(prune_all(*right)));
        return Pruned::same(Logical::Set(SetOperation { kind, all, left, right }));
    }
    let places = numbered(left.width(), wanted);
    let side = |side: Logical| {
        let Pruned { logical, places } = prune(side, wanted);
        let kept = wanted.iter().map(|column| Expression::Column(places[*column])).collect();
        Box::new(logical.projected(kept))
    };
    let (left, right) = (side(*left), side(*right));
    Pruned { logical: Logical::Set(SetOperation { kind, all, left, right }), places }
}
