//! One SELECT.
//!
//! ```text
//!   FROM ─▶ WHERE ─▶ GROUP BY, aggregates ─▶ HAVING ─▶ SELECT ─▶ DISTINCT ─▶ ORDER BY
//!                                                       └ and what is only sorted by
//! ```
//!
//! Callers: `query`.

use std::collections::BTreeSet;
use std::sync::Arc;

use expression::{Expression, Kind, Typed};
use sqlparser::ast::{
    Distinct, Expr, GroupByExpr, OrderByExpr, Select, SelectItem, SelectItemQualifiedWildcardKind,
    Spanned, WildcardAdditionalOptions,
};
use stop::SqlState;

use super::expression::{row_of, strip};
use super::group::{Collector, over_groups};
use super::label::name_of;
use super::order::{Cut, RowOrder, directed, in_order, output_of, projected_in_order};
use super::scope::{Border, Scope, ScopeColumn};
use super::{AGGREGATES, Binder, OutputColumn, Query, check_width};
use crate::logical::{AggregateCall, Logical, SortKey, conjuncts, is_volatile};
use crate::names::{Name, fold, parts_of};
use crate::refuse::{At, Bind, Refused};

/// What a SELECT gives: its columns, behind them what it is only sorted by, and last the addresses
/// of rows that are locked.
struct Targets {
    expressions: Vec<Expression>,
    columns: Vec<OutputColumn>,
    addresses: usize,
}

impl Targets {
    /// The column that a part of a clause means by its number or its name.
    fn output(&self, expr: &Expr, clause: &str) -> Bind<Option<usize>> {
        let same = |a: usize, b: usize| {
            self.expressions[a] == self.expressions[b] && !is_volatile(&self.expressions[a])
        };
        output_of(expr, &self.columns, &same, clause)
    }

    /// The place of a value; it is appended if it isn't there.
    fn place_of(&mut self, value: Expression) -> usize {
        let known = self.expressions.iter().position(|target| *target == value);
        known.unwrap_or_else(|| {
            self.expressions.push(value);
            self.expressions.len() - 1
        })
    }
}

/// Expressions, and the columns that they are.
pub(super) type Items = (Vec<Expression>, Vec<OutputColumn>);

impl Binder<'_> {
    /// A SELECT with its ORDER BY.
    pub(super) fn select(
        &mut self,
        select: &Select,
        order: RowOrder<'_>,
        outer: usize,
    ) -> Bind<Query> {
        check_extras(select)?;
        self.levels.enter(Border::Plan, Scope::default(), outer);
        self.groups.push(Collector::forbidding("FROM"));
        let is_locked = std::mem::take(&mut self.locks_next);
        self.levels.levels.last_mut().expect("it was entered").has_addresses = is_locked;
        let mut logical = self.from(&select.from)?;
        if let Some(selection) = &select.selection {
            let condition =
                self.without_aggregates("WHERE", |binder| binder.condition(selection, "WHERE"))?;
            logical = logical.filtered(conjuncts(condition));
        }
        logical = self.with_series(logical, &select.projection)?;
        let bound = self.selected(logical, select, order)?;
        self.groups.pop();
        self.levels.leave();
        Ok(bound)
    }

    /// Everything from GROUP BY on.
    fn selected(&mut self, logical: Logical, select: &Select, order: RowOrder<'_>) -> Bind<Query> {
        self.collector().forbidden = None;
        let mut targets = self.targets(select)?;
        let width = targets.expressions.len();
        check_width(width, At::NOWHERE)?;
        let having = match &select.having {
            Some(having) => conjuncts(self.condition(having, "HAVING")?),
            None => Vec::new(),
        };
        let on = self.distinct_on(select, &mut targets)?;
        let keys = self.keys(order.keys, select, &mut targets)?;
        self.collector().forbidden = Some("GROUP BY");
        let groups = self.group_by(select, &targets)?;
        let mut calls = std::mem::take(&mut self.collector().calls);
        let logical = self.marked(logical, &mut calls);
        let is_grouped = groups.is_some() || !calls.is_empty() || select.having.is_some();
        let has_series = self.collector().series.is_some();
        if is_grouped && has_series {
            let instead = "group in a subquery of FROM";
            return Err(Refused::unsupported(At::NOWHERE, "a series beside groups", instead));
        }
        let makes_rows = is_grouped || has_series || select.distinct.is_some();
        self.add_addresses(makes_rows, &mut targets)?;
        let logical = match is_grouped {
            false => logical,
            true => {
                let groups = groups.unwrap_or_default();
                self.grouped(logical, groups, calls, &mut targets, having)?
            }
        };
        let Targets { expressions, columns, addresses } = targets;
        let logical = match &select.distinct {
            None | Some(Distinct::All) => {
                projected_in_order(logical, expressions, keys, order.ties)
            }
            Some(Distinct::Distinct) if expressions.len() > width => {
                let message = "with DISTINCT, ORDER BY can only name what is selected";
                return Err(Refused::new(SqlState::INVALID_COLUMN_REFERENCE, At::NOWHERE, message));
            }
            Some(Distinct::Distinct) => {
                let input = Box::new(logical.projected(expressions));
                in_order(Logical::Distinct { input }, keys, order.ties)
            }
            Some(Distinct::On(_)) => {
                ordered(logical.projected(expressions), keys, on.unwrap_or_default(), order.ties)?
            }
        };
        let addresses = logical.width() - addresses..logical.width();
        let cut = (0..width).chain(addresses).map(Expression::Column).collect();
        Ok(Query { logical: logical.projected(cut), columns })
    }

    /// Appends the addresses of the rows that the statement locks.
    fn add_addresses(&mut self, makes_rows: bool, targets: &mut Targets) -> Bind<()> {
        let bases = &self.levels.scope().bases;
        let found: Vec<usize> = bases.iter().filter_map(|base| base.address).collect();
        if makes_rows && !found.is_empty() {
            let instead = "lock the rows by a statement of their own";
            let what = "FOR UPDATE with GROUP BY, DISTINCT, aggregates or a series";
            return Err(Refused::unsupported(At::NOWHERE, what, instead));
        }
        self.locked = bases
            .iter()
            .filter(|base| base.address.is_some())
            .map(|base| (base.name.clone(), Arc::clone(&base.table)))
            .collect();
        targets.addresses = found.len();
        targets.expressions.extend(found.into_iter().map(Expression::Column));
        Ok(())
    }

    fn collector(&mut self) -> &mut Collector {
        self.groups.last_mut().expect("a query has a collector")
    }

    /// The items of the SELECT.
    fn targets(&mut self, select: &Select) -> Bind<Targets> {
        let (expressions, columns) = self.items(&select.projection)?;
        Ok(Targets { expressions, columns, addresses: 0 })
    }

    /// Items of a SELECT or a RETURNING: their expressions and their columns.
    pub(super) fn items(&mut self, items: &[SelectItem]) -> Bind<Items> {
        let mut targets = Targets { expressions: Vec::new(), columns: Vec::new(), addresses: 0 };
        for item in items {
            match item {
                SelectItem::UnnamedExpr(expr) => {
                    self.item(expr, name_of(expr), &mut targets)?;
                }
                SelectItem::ExprWithAlias { expr, alias } => {
                    self.item(expr, fold(alias), &mut targets)?;
                }
                SelectItem::ExprWithAliases { .. } => {
                    let instead = "give one name";
                    return Err(Refused::unsupported(At::of(item), "several names", instead));
                }
                SelectItem::Wildcard(options) => {
                    check_wildcard(options)?;
                    self.star(None, item, &mut targets)?;
                }
                SelectItem::QualifiedWildcard(kind, options) => {
                    check_wildcard(options)?;
                    let SelectItemQualifiedWildcardKind::ObjectName(written) = kind else {
                        let instead = "write table.*";
                        return Err(Refused::unsupported(At::of(item), "this kind of *", instead));
                    };
                    let table = table_of(parts_of(written)?);
                    self.star(Some(&table), item, &mut targets)?;
                }
            }
        }
        Ok((targets.expressions, targets.columns))
    }

    fn item(&mut self, expr: &Expr, name: String, targets: &mut Targets) -> Bind<()> {
        let Typed { expression, kind } = self.expression(expr)?;
        self.note_kinds(&expression);
        let declared = self.declared(&expression);
        targets.columns.push(OutputColumn { name, kind, declared });
        targets.expressions.push(expression);
        Ok(())
    }

    /// The type of an expression that is a column of a table, or a CAST.
    pub(super) fn declared(&self, expression: &Expression) -> Option<value::Type> {
        match expression {
            Expression::Cast { to: expression::CastTo::Type(of), .. } => Some(*of),
            Expression::Column(_) => {
                let columns = &self.levels.scope().columns;
                let found = columns.iter().find(|column| column.value == *expression);
                found.and_then(|column| column.declared)
            }
            _ => None,
        }
    }

    /// `*` and `table.*`.
    fn star(
        &mut self,
        table: Option<&Name>,
        item: &impl Spanned,
        targets: &mut Targets,
    ) -> Bind<()> {
        let scope = self.levels.scope();
        let columns: Vec<ScopeColumn> = scope.starred(table).into_iter().cloned().collect();
        match table {
            None if scope.tables.is_empty() => {
                let message = "* needs a FROM: it stands for the columns of its tables";
                return Err(Refused::new(SqlState::SYNTAX_ERROR, At::of(item), message));
            }
            Some(table) if !scope.has_table(table) => {
                let message = format!("there is no table {table} in FROM");
                return Err(Refused::new(SqlState::UNDEFINED_TABLE, At::of(item), message));
            }
            _ => {}
        }
        for ScopeColumn { name, value, kind, declared, .. } in columns {
            targets.expressions.push(value);
            let name = name.to_string();
            targets.columns.push(OutputColumn { name, kind, declared });
        }
        Ok(())
    }

    /// ORDER BY: a column of the result by its name or number, or an expression over FROM, which is
    /// appended to the targets if it isn't one of them.
    fn keys(
        &mut self,
        order: &[OrderByExpr],
        select: &Select,
        targets: &mut Targets,
    ) -> Bind<Vec<SortKey>> {
        let mut keys = Vec::with_capacity(order.len());
        for key in order {
            if let Some(place) = targets.output(&key.expr, "ORDER BY")? {
                keys.push(directed(key, Expression::Column(place))?);
                continue;
            }
            let value = self.expression(&key.expr)?.settled().expression;
            // The value of a constant is the same for all rows.
            if value.constant().is_some() && select.distinct.is_none() {
                continue;
            }
            keys.push(directed(key, Expression::Column(targets.place_of(value)))?);
        }
        Ok(keys)
    }

    /// The columns of DISTINCT ON, among the targets: found as those of ORDER BY are, and appended
    /// like those.
    fn distinct_on(&mut self, select: &Select, targets: &mut Targets) -> Bind<Option<Vec<usize>>> {
        let Some(Distinct::On(exprs)) = &select.distinct else { return Ok(None) };
        let mut places = Vec::with_capacity(exprs.len());
        for expr in exprs {
            if let Some(place) = targets.output(expr, "DISTINCT ON")? {
                places.push(place);
                continue;
            }
            let value = self.expression(expr)?.settled().expression;
            places.push(targets.place_of(value));
        }
        Ok(Some(places))
    }

    /// GROUP BY: none if there is no such clause.
    fn group_by(&mut self, select: &Select, targets: &Targets) -> Bind<Option<Vec<Expression>>> {
        let exprs = match &select.group_by {
            GroupByExpr::Expressions(exprs, modifiers) if modifiers.is_empty() => exprs,
            _ => {
                let instead = "group by each of the sets in a query of its own, and UNION ALL them";
                let what = "GROUP BY with ROLLUP, CUBE, GROUPING SETS or ALL";
                return Err(Refused::unsupported(At::NOWHERE, what, instead));
            }
        };
        if exprs.is_empty() {
            return Ok(None);
        }
        let mut groups: Vec<Expression> = Vec::with_capacity(exprs.len());
        for expr in exprs.iter().flat_map(parts_of_group) {
            let group = self.group(expr, targets)?;
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
        Ok(Some(groups))
    }

    /// One expression of GROUP BY: a number of a column of the result; a name of a column of FROM
    /// first, and then of the result; any other expression over FROM.
    fn group(&mut self, expr: &Expr, targets: &Targets) -> Bind<Expression> {
        let inner = strip(expr);
        if let Expr::Rollup(_) | Expr::Cube(_) | Expr::GroupingSets(_) = inner {
            let instead = "group by each of the sets in a query of its own, and UNION ALL them";
            return Err(Refused::unsupported(At::of(expr), "a set of groups", instead));
        }
        let is_name = matches!(inner, Expr::Identifier(_));
        let is_of_from = match inner {
            Expr::Identifier(name) => self
                .levels
                .scope()
                .columns
                .iter()
                .any(|column| column.is_plain && *column.name == *fold(name)),
            _ => false,
        };
        if is_name && is_of_from {
            return Ok(self.expression(expr)?.expression);
        }
        let Some(place) = targets.output(inner, "GROUP BY")? else {
            return Ok(self.expression(expr)?.expression);
        };
        let group = targets.expressions[place].clone();
        let mut read = BTreeSet::new();
        group.columns(&mut read);
        if read.last().is_some_and(|column| *column >= AGGREGATES) {
            let message = "an aggregate can't stand in GROUP BY, also by its number or its name";
            return Err(Refused::new(SqlState::GROUPING_ERROR, At::of(expr), message));
        }
        Ok(group)
    }

    /// The rows of groups, and the targets over them.
    fn grouped(
        &mut self,
        input: Logical,
        mut groups: Vec<Expression>,
        aggregates: Vec<AggregateCall>,
        targets: &mut Targets,
        mut having: Vec<Expression>,
    ) -> Bind<Logical> {
        let mut loose = Vec::new();
        for expression in targets.expressions.iter().chain(&having) {
            find_loose(expression, &groups, &mut loose);
        }
        for column in loose {
            let determined = self.determined_by(&groups, column);
            let Some(others) = determined else { return Err(self.not_grouped(column)) };
            groups.extend(others);
        }
        for expression in targets.expressions.iter_mut().chain(&mut having) {
            over_groups(expression, &groups).map_err(|column| self.not_grouped(column))?;
        }
        let input = Box::new(input);
        Ok(Logical::Aggregate { input, groups, aggregates }.filtered(having))
    }

    /// The columns of the table of this column, if its primary key is in the groups.
    fn determined_by(&self, groups: &[Expression], column: usize) -> Option<Vec<Expression>> {
        let scope = self.levels.scope();
        let base = scope.bases.iter().find(|base| base.has(column))?;
        let definition = &base.table.definition;
        let primary = definition.indexes.iter().find(|index| index.primary)?;
        let is_grouped = |place: usize| {
            base.column_of(place).is_some_and(|own| groups.contains(&Expression::Column(own)))
        };
        let has_key = primary.columns.iter().all(|of| is_grouped(of.column));
        has_key.then(|| vec![Expression::Column(column)])
    }

    fn not_grouped(&self, column: usize) -> Refused {
        let value = Expression::Column(column);
        let columns = &self.levels.scope().columns;
        let name = columns.iter().find(|one| one.value == value).map_or_else(
            || format!("number {column}"),
            |one| match &one.table {
                Some(table) => format!("{table}.{}", &*one.name),
                None => one.name.to_string(),
            },
        );
        let message = format!(
            "column {name} is neither in GROUP BY nor in an aggregate: rows of a group may differ \
             in it"
        );
        Refused::new(SqlState::GROUPING_ERROR, At::NOWHERE, message)
    }
}

/// What a part of GROUP BY names: `(a, b)` is `a, b`, and `()` makes one group of all rows.
fn parts_of_group(expr: &Expr) -> &[Expr] {
    row_of(expr).unwrap_or(std::slice::from_ref(expr))
}

/// Appends the columns that an expression reads outside of groups and aggregates.
fn find_loose(expression: &Expression, groups: &[Expression], loose: &mut Vec<usize>) {
    if groups.contains(expression) {
        return;
    }
    match expression {
        Expression::Column(column) if *column < AGGREGATES => {
            if !loose.contains(column) {
                loose.push(*column);
            }
        }
        _ => expression.each_part(&mut |part| find_loose(part, groups, loose)),
    }
}

/// The rows in order, of equal ones by the columns `on` the first, and of these what WITH TIES
/// leaves.
fn ordered(
    logical: Logical,
    mut keys: Vec<SortKey>,
    on: Vec<usize>,
    ties: Option<Cut>,
) -> Bind<Logical> {
    let written = keys.clone();
    let is_on = |key: &SortKey| on.iter().any(|place| key.value == Expression::Column(*place));
    let leading = keys.iter().take_while(|key| is_on(key)).count();
    let leads =
        |place: &usize| keys[..leading].iter().any(|key| key.value == Expression::Column(*place));
    if leading < keys.len() && !on.iter().all(leads) {
        let message = "ORDER BY has to begin with what DISTINCT ON names";
        return Err(Refused::new(SqlState::INVALID_COLUMN_REFERENCE, At::NOWHERE, message));
    }
    let has = |place: &usize| keys.iter().any(|key| key.value == Expression::Column(*place));
    let missing: Vec<usize> = on.iter().copied().filter(|place| !has(place)).collect();
    keys.extend(missing.into_iter().map(|place| SortKey::ascending(Expression::Column(place))));
    // The columns that decide come first, and are put back behind.
    let width = logical.width();
    let others = (0..width).filter(|place| !on.contains(place));
    let order: Vec<usize> = on.iter().copied().chain(others).collect();
    let sorted = Logical::Sort { input: Box::new(logical), keys };
    let turned = sorted.projected(order.iter().map(|place| Expression::Column(*place)).collect());
    let first = Logical::DistinctOn { input: Box::new(turned), columns: on.len() };
    let back = (0..width).map(|place| {
        let now = order.iter().position(|one| *one == place);
        Expression::Column(now.expect("all columns were turned"))
    });
    let given = first.projected(back.collect());
    // What ties is equal in the order that is written.
    Ok(if ties.is_some() { in_order(given, written, ties) } else { given })
}

/// A table's name of its parts.
pub(super) fn table_of(mut parts: Vec<String>) -> Name {
    let name = parts.pop().unwrap_or_default();
    Name { schema: parts.pop(), name }
}

fn check_wildcard(options: &WildcardAdditionalOptions) -> Bind<()> {
    let WildcardAdditionalOptions {
        wildcard_token: _,
        opt_ilike,
        opt_exclude,
        opt_except,
        opt_replace,
        opt_rename,
        opt_alias,
    } = options;
    let has_more = opt_ilike.is_some()
        || opt_exclude.is_some()
        || opt_except.is_some()
        || opt_replace.is_some()
        || opt_rename.is_some()
        || opt_alias.is_some();
    match has_more {
        true => Err(Refused::unsupported(At::of(options), "* with options", "name the columns")),
        false => Ok(()),
    }
}

/// Refuses clauses of other databases, and what a query engine would do.
fn check_extras(select: &Select) -> Bind<()> {
    let windows = "a query engine for them isn't there yet; group in a subquery and join it";
    let found = [
        (!select.named_window.is_empty() || select.qualify.is_some(), "a window", windows),
        (select.into.is_some(), "SELECT INTO", "write CREATE TABLE name AS SELECT"),
        (select.top.is_some(), "TOP", "write LIMIT or FETCH FIRST"),
        (!select.connect_by.is_empty(), "CONNECT BY", "loop in the application"),
        (!select.lateral_views.is_empty(), "LATERAL VIEW", "leave it out"),
        (select.prewhere.is_some(), "PREWHERE", "write WHERE"),
        (!select.cluster_by.is_empty(), "CLUSTER BY", "leave it out"),
        (!select.distribute_by.is_empty(), "DISTRIBUTE BY", "leave it out"),
        (!select.sort_by.is_empty(), "SORT BY", "write ORDER BY"),
        (select.value_table_mode.is_some(), "AS STRUCT and AS VALUE", "leave it out"),
        (select.exclude.is_some(), "EXCLUDE", "name the columns"),
    ];
    match found.into_iter().find(|(is, ..)| *is) {
        Some((_, what, instead)) => Err(Refused::unsupported(At::NOWHERE, what, instead)),
        None => Ok(()),
    }
}

/// Kinds that met nothing become texts: of a result that others read. Columns behind those that are
/// shown stay as they are.
pub(super) fn settle(query: Query) -> Bind<Query> {
    if query.columns.iter().all(|column| column.kind != Kind::Unknown) {
        return Ok(query);
    }
    let Query { logical, mut columns } = query;
    let mut expressions: Vec<Expression> = (0..logical.width()).map(Expression::Column).collect();
    for (place, column) in columns.iter_mut().enumerate() {
        let typed = Typed::column(place, column.kind).settled();
        column.kind = typed.kind;
        expressions[place] = typed.expression;
    }
    Ok(Query { logical: logical.projected(expressions), columns })
}
