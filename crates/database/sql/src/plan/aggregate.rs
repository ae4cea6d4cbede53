//! Plans of groups: GROUP BY, aggregates, DISTINCT.
//!
//! ```text
//!   rows group by group already (by an index)     sorted aggregate, no memory
//!   else                                          a table of groups
//!   min(a) or max(a) alone, with an index on a    the first entry of the index
//! ```
//!
//! Callers: `tree`.

use expression::{Aggregate, Expression, Kind};
use rowsource::{AggregateCall as SourceCall, CallKey, CallKeyValue};
use value::Value;

use super::access::tests;
use super::columns::{ColumnInfo, kind_of, row_bytes};
use super::cost::{self, Estimate};
use super::node::Operation;
use super::planner::{Planned, Planner, Wanted};
use super::sorted::{Order, OrderKey, direction_of, nulls_of};
use super::tree::node;
use crate::logical::{AggregateCall, Logical, SortKey};

impl Planner<'_> {
    /// A row for each group.
    pub(super) fn aggregate(
        &mut self,
        input: &Logical,
        groups: &[Expression],
        aggregates: &[AggregateCall],
    ) -> Planned {
        let plain = self.grouped(input, groups, aggregates);
        match first_of_order(input, groups, aggregates) {
            Some(first) => {
                let first = self.grouped(&first, groups, aggregates);
                let is_better = first.node.estimate.all < plain.node.estimate.all;
                if is_better { first } else { plain }
            }
            None => plain,
        }
    }

    fn grouped(
        &mut self,
        input: &Logical,
        groups: &[Expression],
        aggregates: &[AggregateCall],
    ) -> Planned {
        // The rows of a group come in the longest order. A call whose own isn't the beginning of
        // that sorts by itself.
        let order = aggregates.iter().map(|call| &call.order).max_by_key(|order| order.len());
        let order = order.filter(|order| !order.is_empty());
        let wanted = match order {
            // The order of an aggregate's own comes behind that of the groups.
            Some(_) => Wanted::default(),
            None => Wanted::order(group_order(groups)),
        };
        let mut planned = self.plan(input, &wanted);
        let keys = self.columns_for(&mut planned, groups);
        let given: &[SortKey] = match order {
            Some(order) => order,
            None => &[],
        };
        if !given.is_empty() {
            self.put_in_order(&mut planned, &keys, given);
        }
        let call = |call: &AggregateCall| self.source_call(call, given, &planned);
        let calls = aggregates.iter().map(call).collect();
        self.aggregated(planned, keys, calls)
    }

    /// A call over planned rows, which come in the order `given` within their groups.
    fn source_call(
        &self,
        call: &AggregateCall,
        given: &[SortKey],
        planned: &Planned,
    ) -> SourceCall {
        let is_given = given.starts_with(&call.order);
        let own: &[SortKey] = if is_given { &[] } else { &call.order };
        SourceCall {
            aggregate: call.aggregate,
            arguments: planned.all_over(&call.arguments),
            filter: call.filter.as_ref().map(|filter| planned.over(filter)),
            distinct: call.distinct,
            together: call.distinct && is_given && !call.order.is_empty(),
            order: own.iter().map(|key| self.own_key(key, call, planned)).collect(),
        }
    }

    /// A part of the order of a call's own.
    fn own_key(&self, key: &SortKey, call: &AggregateCall, planned: &Planned) -> CallKey {
        let value = planned.over(&key.value);
        let kind = kind_of(&value, &planned.node.columns, &self.slots);
        let argument = call.arguments.iter().position(|one| *one == key.value);
        CallKey {
            value: argument.map_or(CallKeyValue::Computed(value), CallKeyValue::Argument),
            kind,
            direction: direction_of(key.descending),
            nulls: nulls_of(key.nulls_first),
        }
    }

    /// The node of an aggregate over a planned input.
    fn aggregated(
        &mut self,
        planned: Planned,
        keys: Vec<usize>,
        calls: Vec<SourceCall>,
    ) -> Planned {
        let Planned { node: input, order, .. } = planned;
        let own = input.estimate;
        let rows = groups_expected(&keys, &input.columns, own.rows);
        let mut columns: Vec<ColumnInfo> =
            keys.iter().map(|key| input.columns[*key].clone()).collect();
        let each: f64 = calls.iter().map(|call| tests(&call.arguments) + cost::TEST).sum();
        for call in &calls {
            columns.push(ColumnInfo::computed(self.result_kind(call, &input.columns)));
        }
        let is_sorted = order.groups(&keys) || keys.is_empty();
        let wants_hash = self.surroundings.methods.hash_aggregate || keys.is_empty();
        if is_sorted || !wants_hash {
            let (input, order) = match is_sorted {
                true => (input, order),
                false => {
                    let wanted: Vec<OrderKey> = keys.iter().map(|key| rising(*key)).collect();
                    let sorted = self.sorted(input, &wanted, None, None);
                    (sorted, Order { keys: wanted, constant: Vec::new() })
                }
            };
            let own = input.estimate;
            let all = own.all + own.rows * (each + cost::COMPARE);
            let first = if keys.is_empty() { all } else { own.first };
            let estimate = Estimate { rows, first, all };
            let order = order.over(&|column| keys.iter().position(|key| *key == column));
            let operation = Operation::SortedAggregate { input: Box::new(input), keys, calls };
            return Planned::straight(node(operation, columns, estimate), order);
        }
        let bytes = rows * (row_bytes(&columns) + 64.0);
        let all = own.all
            + own.rows * (each + cost::HASH_LOOK)
            + rows * cost::HASH_PUT
            + cost::spill(bytes, self.surroundings.memory_bytes);
        let estimate = Estimate { rows, first: all, all: all + rows * cost::VALUE };
        let operation = Operation::HashAggregate { input: Box::new(input), keys, calls };
        Planned::straight(node(operation, columns, estimate), Order::none())
    }

    /// The columns that have these expressions; what isn't a column becomes one.
    pub(super) fn columns_for(
        &mut self,
        planned: &mut Planned,
        expressions: &[Expression],
    ) -> Vec<usize> {
        let width = planned.node.width();
        let (mut more, mut columns) = (Vec::new(), Vec::with_capacity(expressions.len()));
        for expression in expressions {
            columns.push(match planned.over(expression) {
                Expression::Column(column) => column,
                value => {
                    more.push(value);
                    width + more.len() - 1
                }
            });
        }
        if !more.is_empty() {
            let taken = std::mem::replace(&mut planned.node, super::tree::nothing());
            planned.node = self.with_columns(taken, more);
        }
        columns
    }

    /// Puts rows in the order of their groups, and within a group in that of an aggregate.
    fn put_in_order(&mut self, planned: &mut Planned, keys: &[usize], order: &[SortKey]) {
        let values: Vec<Expression> = order.iter().map(|key| key.value.clone()).collect();
        let columns = self.columns_for(planned, &values);
        let mut wanted: Vec<OrderKey> = keys.iter().map(|key| rising(*key)).collect();
        wanted.extend(columns.iter().zip(order).map(|(column, key)| OrderKey {
            column: *column,
            descending: key.descending,
            nulls_first: key.nulls_first,
            no_nulls: false,
        }));
        let taken = std::mem::replace(&mut planned.node, super::tree::nothing());
        planned.node = self.sorted(taken, &wanted, None, None);
        planned.order = Order { keys: wanted, constant: Vec::new() };
    }

    fn result_kind(&self, call: &SourceCall, columns: &[ColumnInfo]) -> Kind {
        let kinds: Vec<Kind> =
            call.arguments.iter().map(|one| kind_of(one, columns, &self.slots)).collect();
        // All values are NULL, and so is what they come to. COUNT counts them.
        let counts = ["count", "regr_count"].contains(&call.aggregate.name());
        if kinds.first() == Some(&Kind::Unknown) && !counts {
            return Kind::Unknown;
        }
        let resolved = Aggregate::resolve(call.aggregate.name(), &kinds);
        resolved.map_or(Kind::Unknown, |resolved| resolved.kind)
    }

    /// Each different row once.
    pub(super) fn distinct(&mut self, input: &Logical) -> Planned {
        let columns: Vec<Expression> = (0..input.width()).map(Expression::Column).collect();
        let planned = self.plan(input, &Wanted::order(group_order(&columns)));
        self.distinct_of(planned)
    }

    pub(super) fn distinct_of(&mut self, planned: Planned) -> Planned {
        let columns = planned.places.clone();
        if planned.order.groups(&columns) {
            return self.unique(planned, columns);
        }
        let Planned { node: input, places, .. } = planned;
        let own = input.estimate;
        let rows = groups_expected(&columns, &input.columns, own.rows);
        let bytes = rows * (row_bytes(&input.columns) + 16.0);
        let all = own.all
            + own.rows * cost::HASH_LOOK
            + rows * cost::HASH_PUT
            + cost::spill(bytes, self.surroundings.memory_bytes);
        let estimate = Estimate { rows, first: own.first, all };
        let infos = input.columns.clone();
        let operation = Operation::Distinct { input: Box::new(input), columns };
        Planned { node: node(operation, infos, estimate), places, order: Order::none() }
    }

    /// The first of rows that are equal in these columns and follow one another.
    pub(super) fn unique(&mut self, planned: Planned, columns: Vec<usize>) -> Planned {
        let Planned { node: input, places, order } = planned;
        let own = input.estimate;
        let rows = groups_expected(&columns, &input.columns, own.rows);
        let estimate = own.then(cost::COMPARE, rows);
        let infos = input.columns.clone();
        let operation = Operation::Unique { input: Box::new(input), columns };
        Planned { node: node(operation, infos, estimate), places, order }
    }
}

fn rising(column: usize) -> OrderKey {
    OrderKey { column, descending: false, nulls_first: false, no_nulls: false }
}

/// An order in which equal groups follow one another, if all are columns.
fn group_order(groups: &[Expression]) -> Vec<OrderKey> {
    let column = |group: &Expression| match group {
        Expression::Column(column) => Some(rising(*column)),
        _ => None,
    };
    let order: Option<Vec<OrderKey>> = groups.iter().map(column).collect();
    order.unwrap_or_default()
}

/// How many groups `rows` rows make by these columns.
fn groups_expected(keys: &[usize], columns: &[ColumnInfo], rows: f64) -> f64 {
    let product: f64 = keys.iter().map(|key| columns[*key].distinct(rows)).product();
    // Columns have to do with one another as a rule.
    let most = if keys.len() > 1 { rows * 0.8 } else { rows };
    product.min(most.max(1.0)).max(1.0)
}

/// `min(a)` and `max(a)` alone are the first row of an order: a tree that says so.
fn first_of_order(
    input: &Logical,
    groups: &[Expression],
    aggregates: &[AggregateCall],
) -> Option<Logical> {
    let ([], [call]) = (groups, aggregates) else { return None };
    let descending = match call.aggregate {
        Aggregate::Min => false,
        Aggregate::Max => true,
        _ => return None,
    };
    let ([Expression::Column(column)], None) = (&call.arguments[..], &call.filter) else {
        return None;
    };
    let is_table = match input {
        Logical::Scan(_) => true,
        Logical::Filter { input, .. } => matches!(**input, Logical::Scan(_)),
        _ => false,
    };
    if !is_table {
        return None;
    }
    let value = Expression::Column(*column);
    let not_null = Expression::IsNull { value: Box::new(value.clone()), negated: true };
    let key = SortKey { value, descending, nulls_first: descending };
    let input = Box::new(input.clone().filtered(vec![not_null]));
    let sorted = Logical::Sort { input, keys: vec![key] };
    let limit = Some(Expression::from(Value::Int(1)));
    Some(Logical::Limit { input: Box::new(sorted), limit, offset: None })
}
