//! Expressions.
//!
//! Callers: all of `bind`; `define`, for CHECKs and defaults.

use expression::build::{self, LikeOptions, TypedBranch};
use expression::{CastTo, Comparison, Expression, Kind, Operator, Typed};
use sqlparser::ast::{
    BinaryOperator, CaseWhen, CeilFloorKind, DateTimeField, Expr, Ident, TrimWhereField,
    UnaryOperator,
};
use stop::SqlState;
use value::Value;

use super::Binder;
use super::pattern::matched;
use super::scope::Wanted;
use super::system::plain_operator;
use crate::names::{Name, fold};
use crate::refuse::{At, Bind, Placed, Refused};

/// Oracle's functions that are called without brackets.
const CALLED_BY_NAME: [&str; 2] = ["sysdate", "systimestamp"];

impl Binder<'_> {
    /// An expression over the innermost level's row.
    pub(super) fn expression(&mut self, expr: &Expr) -> Bind<Typed> {
        self.deeper(|binder| binder.any(expr)).at(expr)
    }

    /// An expression that has to be a truth value: WHERE, ON, HAVING.
    pub(super) fn condition(&mut self, expr: &Expr, clause: &str) -> Bind<Expression> {
        let typed = self.expression(expr)?;
        let condition = typed.condition(clause).at(expr)?;
        self.note_kinds(&condition);
        Ok(condition)
    }

    fn expressions(&mut self, all: &[Expr]) -> Bind<Vec<Typed>> {
        all.iter().map(|one| self.expression(one)).collect()
    }

    fn any(&mut self, expr: &Expr) -> Bind<Typed> {
        match expr {
            Expr::Identifier(name) => self.column(std::slice::from_ref(name)),
            Expr::CompoundIdentifier(names) => self.column(names),
            Expr::Value(literal) => self.literal(&literal.value),
            Expr::TypedString(written) => self.typed_string(written),
            Expr::Interval(written) => self.interval(written),
            Expr::Nested(inner) => self.expression(inner),
            Expr::BinaryOp { left, op, right } => self.binary(left, op, right),
            Expr::UnaryOp { op, expr } => self.unary(op, expr),
            Expr::Cast { expr, data_type, .. } => self.cast(expr, data_type),
            Expr::CompoundFieldAccess { root, access_chain } => self.element(root, access_chain),
            Expr::Function(call) => self.call(call),
            Expr::Case { operand, conditions, else_result, .. } => {
                self.case(operand.as_deref(), conditions, else_result.as_deref())
            }
            Expr::InList { expr, list, negated } => self.in_list(expr, list, *negated),
            Expr::InSubquery { expr, subquery, negated } => {
                self.in_subquery(expr, subquery, *negated)
            }
            Expr::Between { expr, negated, low, high } => self.between(expr, low, high, *negated),
            Expr::Exists { subquery, negated } => self.exists(subquery, *negated),
            Expr::Subquery(query) => self.scalar(query),
            Expr::AnyOp { left, compare_op, right, .. } => {
                self.quantified(left, compare_op, right, false)
            }
            Expr::AllOp { left, compare_op, right } => {
                self.quantified(left, compare_op, right, true)
            }
            Expr::Like { .. } | Expr::ILike { .. } => self.like(expr),
            Expr::IsNull(_)
            | Expr::IsNotNull(_)
            | Expr::IsTrue(_)
            | Expr::IsNotTrue(_)
            | Expr::IsFalse(_)
            | Expr::IsNotFalse(_)
            | Expr::IsUnknown(_)
            | Expr::IsNotUnknown(_) => self.is(expr),
            Expr::IsDistinctFrom(left, right) => self.is_distinct(left, right, false),
            Expr::IsNotDistinctFrom(left, right) => self.is_distinct(left, right, true),
            _ => self.as_call(expr),
        }
    }

    /// What has a syntax of its own, and is the call of a function.
    fn as_call(&mut self, expr: &Expr) -> Bind<Typed> {
        match expr {
            Expr::Extract { field, expr, .. } => {
                let field = match field {
                    // In quotes, or a word that the parser doesn't know.
                    DateTimeField::Custom(name) => name.value.to_lowercase(),
                    known => known.to_string().to_lowercase(),
                };
                let value = self.expression(expr)?;
                Ok(build::call("extract", vec![Typed::literal(&field), value])?)
            }
            Expr::Ceil { expr, field } => self.rounded("ceil", expr, field),
            Expr::Floor { expr, field } => self.rounded("floor", expr, field),
            Expr::Position { expr, r#in } => {
                let (part, text) = (self.expression(expr)?, self.expression(r#in)?);
                Ok(build::call("strpos", vec![text, part])?)
            }
            Expr::Substring { .. } => self.substring(expr),
            Expr::SimilarTo { .. } => self.similar(expr),
            Expr::Trim { trim_where, trim_what, expr, trim_characters } => {
                let name = match trim_where {
                    Some(TrimWhereField::Leading) => "ltrim",
                    Some(TrimWhereField::Trailing) => "rtrim",
                    Some(TrimWhereField::Both) | None => "btrim",
                };
                let mut arguments = vec![self.expression(expr)?];
                if let Some(what) = trim_what {
                    arguments.push(self.expression(what)?);
                }
                arguments.extend(self.expressions(trim_characters.as_deref().unwrap_or(&[]))?);
                Ok(build::call(name, arguments)?)
            }
            Expr::Collate { expr, collation } => {
                if syntax::is_bytewise(&collation.to_string()) {
                    return self.expression(expr);
                }
                let instead = "texts compare by their bytes (collation C)";
                Err(Refused::unsupported(At::NOWHERE, "a collation", instead))
            }
            Expr::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
                let mut arguments = vec![
                    self.expression(expr)?,
                    self.expression(overlay_what)?,
                    self.expression(overlay_from)?,
                ];
                if let Some(length) = overlay_for {
                    arguments.push(self.expression(length)?);
                }
                Ok(build::call("overlay", arguments)?)
            }
            other => Err(no_such(other)),
        }
    }

    fn rounded(&mut self, name: &str, expr: &Expr, field: &CeilFloorKind) -> Bind<Typed> {
        let value = self.expression(expr)?;
        match field {
            CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) => {
                Ok(build::call(name, vec![value])?)
            }
            _ => {
                let what = format!("{name} to a part");
                Err(Refused::unsupported(At::NOWHERE, &what, "use trunc or round"))
            }
        }
    }

    /// A column by its name, qualified or not; the next value of a sequence as Oracle writes it.
    fn column(&mut self, names: &[Ident]) -> Bind<Typed> {
        let at = names.first().map_or(At::NOWHERE, |name| At::begin(name.span));
        let parts: Vec<String> = names.iter().map(fold).collect();
        let wanted = match &parts[..] {
            [column] => Wanted { table: None, column: column.clone() },
            [table, column] => {
                Wanted { table: Some(Name::plain(table.clone())), column: column.clone() }
            }
            [.., schema, table, column] => {
                let table = Name { schema: Some(schema.clone()), name: table.clone() };
                Wanted { table: Some(table), column: column.clone() }
            }
            [] => return Err(Refused::new(SqlState::SYNTAX_ERROR, at, "a name is missing")),
        };
        if let Some(value) = self.oracle_sequence(&parts)? {
            return Ok(value);
        }
        match (self.levels.column(&wanted, at), &parts[..]) {
            (Ok(found), _) => Ok(found),
            (Err(_), [name]) if CALLED_BY_NAME.contains(&name.as_str()) => {
                Ok(build::call(name, Vec::new())?)
            }
            (Err(refused), _) => Err(refused),
        }
    }

    /// `s.nextval` and `s.currval`; none if that is a column, or no sequence.
    fn oracle_sequence(&mut self, parts: &[String]) -> Bind<Option<Typed>> {
        let [.., sequence, what] = parts else { return Ok(None) };
        let is_next = what == "nextval";
        if (!is_next && what != "currval")
            || self.levels.scope().has_table(&Name::plain(sequence.clone()))
        {
            return Ok(None);
        }
        let found = self.schema.sequence(sequence)?;
        Ok(found.map(|object| self.sequence_value(object, is_next)))
    }

    fn binary(&mut self, left: &Expr, op: &BinaryOperator, right: &Expr) -> Bind<Typed> {
        if let BinaryOperator::And | BinaryOperator::Or = op {
            let mut parts = Vec::new();
            for part in chain(left, op, right) {
                parts.push(self.expression(part)?);
            }
            return Ok(match op {
                BinaryOperator::And => build::and(parts)?,
                _ => build::or(parts)?,
            });
        }
        if let BinaryOperator::PGCustomBinaryOperator(parts) = op {
            return self.binary(left, &plain_operator(parts)?, right);
        }
        if let Some(comparison) = comparison_of(op) {
            return self.comparison(left, comparison, right);
        }
        let (left, right) = (self.expression(left)?, self.expression(right)?);
        if let Some(operator) = operator_of(op) {
            return Ok(build::arithmetic(left, operator, right)?);
        }
        let like = |ignore_case, negated| LikeOptions { ignore_case, negated };
        Ok(match op {
            BinaryOperator::StringConcat => build::concat(left, right)?,
            BinaryOperator::PGLikeMatch => build::like(left, right, None, like(false, false))?,
            BinaryOperator::PGNotLikeMatch => build::like(left, right, None, like(false, true))?,
            BinaryOperator::PGILikeMatch => build::like(left, right, None, like(true, false))?,
            BinaryOperator::PGNotILikeMatch => build::like(left, right, None, like(true, true))?,
            BinaryOperator::PGStartsWith => build::call("starts_with", vec![left, right])?,
            other => matched(left, other, right)?,
        })
    }

    /// A comparison of two values, or of two rows column by column.
    fn comparison(&mut self, left: &Expr, comparison: Comparison, right: &Expr) -> Bind<Typed> {
        match (row_of(left), row_of(right)) {
            (Some(left), Some(right)) => {
                let (left, right) = (self.expressions(left)?, self.expressions(right)?);
                self.rows_compared(left, comparison, right)
            }
            (Some(row), None) if let Expr::Subquery(query) = strip(right) => {
                let left = self.expressions(row)?;
                let right = self.row_of_subquery(query, row.len())?;
                self.rows_compared(left, comparison, right)
            }
            (None, Some(row)) if let Expr::Subquery(query) = strip(left) => {
                let left = self.row_of_subquery(query, row.len())?;
                let right = self.expressions(row)?;
                self.rows_compared(left, comparison, right)
            }
            (None, None) => {
                let (left, right) = (self.expression(left)?, self.expression(right)?);
                Ok(self.compared(build::compare(left, comparison, right)?))
            }
            _ => Err(Refused::new(
                SqlState::SYNTAX_ERROR,
                At::NOWHERE,
                "a row can only be compared with a row of as many columns",
            )),
        }
    }

    /// A comparison of two rows column by column.
    fn rows_compared(
        &mut self,
        left: Vec<Typed>,
        comparison: Comparison,
        right: Vec<Typed>,
    ) -> Bind<Typed> {
        if !matches!(comparison, Comparison::Equal | Comparison::NotEqual) {
            let more = left.len().saturating_sub(1);
            self.count_copies(&left, more, "a comparison of rows")?;
            self.count_copies(&right, more, "a comparison of rows")?;
        }
        Ok(self.compared(compare_rows(left, comparison, right)?))
    }

    fn unary(&mut self, op: &UnaryOperator, expr: &Expr) -> Bind<Typed> {
        // The smallest number can't be written as a positive one with a minus before it.
        if let (UnaryOperator::Minus, Expr::Value(literal)) = (op, strip(expr))
            && let sqlparser::ast::Value::Number(digits, _) = &literal.value
            && let Ok(whole) = format!("-{digits}").parse::<i64>()
        {
            return Ok(Typed::value(Value::Int(whole)));
        }
        let value = self.expression(expr)?;
        Ok(match op {
            UnaryOperator::Not | UnaryOperator::BangNot => build::not(value)?,
            UnaryOperator::Minus => build::negate(value)?,
            UnaryOperator::Plus => {
                build::arithmetic(Typed::value(Value::Int(0)), Operator::Add, value)?
            }
            UnaryOperator::BitwiseNot => build::complement(value)?,
            UnaryOperator::PGAbs => build::call("abs", vec![value])?,
            UnaryOperator::PGSquareRoot => build::call("sqrt", vec![value])?,
            other => {
                let message = format!("there is no operator {other}");
                return Err(Refused::new(SqlState::UNDEFINED_FUNCTION, At::NOWHERE, message));
            }
        })
    }

    fn case(
        &mut self,
        operand: Option<&Expr>,
        conditions: &[CaseWhen],
        otherwise: Option<&Expr>,
    ) -> Bind<Typed> {
        let operand = operand.map(|operand| self.expression(operand)).transpose()?;
        let mut branches = Vec::with_capacity(conditions.len());
        for CaseWhen { condition, result } in conditions {
            let (when, then) = (self.expression(condition)?, self.expression(result)?);
            branches.push(TypedBranch { when, then });
        }
        let otherwise = otherwise.map(|otherwise| self.expression(otherwise)).transpose()?;
        Ok(build::case(operand, branches, otherwise)?)
    }

    fn in_list(&mut self, expr: &Expr, list: &[Expr], negated: bool) -> Bind<Typed> {
        match row_of(expr) {
            None => {
                let value = self.expression(expr)?;
                let list = self.expressions(list)?;
                Ok(self.compared(build::in_list(value, list, negated)?))
            }
            Some(row) => self.row_in_list(row, list, negated),
        }
    }

    fn row_in_list(&mut self, row: &[Expr], list: &[Expr], negated: bool) -> Bind<Typed> {
        let row = self.expressions(row)?;
        self.count_copies(&row, list.len().saturating_sub(1), "IN of rows")?;
        let mut any = Vec::with_capacity(list.len());
        for one in list {
            let Some(other) = row_of(one) else {
                let message = "each part of the list has to be a row of as many columns";
                return Err(Refused::new(SqlState::SYNTAX_ERROR, At::of(one), message));
            };
            let other = self.expressions(other)?;
            any.push(compare_rows(row.clone(), Comparison::Equal, other).at(one)?);
        }
        let any = build::or(any)?;
        Ok(if negated { build::not(any)? } else { any })
    }

    fn between(&mut self, expr: &Expr, low: &Expr, high: &Expr, negated: bool) -> Bind<Typed> {
        if let Some(low) = syntax::symmetric_bound(low) {
            return self.between_symmetric(expr, [low, high], negated);
        }
        let value = self.expression(expr)?;
        self.count_copies(std::slice::from_ref(&value), 1, "BETWEEN")?;
        let (low, high) = (self.expression(low)?, self.expression(high)?);
        Ok(self.compared(build::between(value, low, high, negated)?))
    }

    /// BETWEEN SYMMETRIC: between two bounds in either order.
    fn between_symmetric(&mut self, expr: &Expr, bounds: [&Expr; 2], negated: bool) -> Bind<Typed> {
        let (value, [low, high]) = (self.expression(expr)?, bounds);
        let bounds = [self.expression(low)?, self.expression(high)?];
        self.count_copies(std::slice::from_ref(&value), 3, "BETWEEN SYMMETRIC")?;
        self.count_copies(&bounds, 1, "BETWEEN SYMMETRIC")?;
        let [low, high] = bounds;
        let rising = build::between(value.clone(), low.clone(), high.clone(), false)?;
        let falling = build::between(value, high, low, false)?;
        let any = build::or(vec![rising, falling])?;
        Ok(self.compared(if negated { build::not(any)? } else { any }))
    }

    /// IS NULL, IS TRUE and the like.
    fn is(&mut self, expr: &Expr) -> Bind<Typed> {
        let truth = |binder: &mut Self, value: &Expr, truth, negated| {
            Ok(build::is_truth(binder.expression(value)?, truth, negated)?)
        };
        match expr {
            Expr::IsNull(value) => self.is_null(value, false),
            Expr::IsNotNull(value) => self.is_null(value, true),
            Expr::IsTrue(value) => truth(self, value, Some(true), false),
            Expr::IsNotTrue(value) => truth(self, value, Some(true), true),
            Expr::IsFalse(value) => truth(self, value, Some(false), false),
            Expr::IsNotFalse(value) => truth(self, value, Some(false), true),
            Expr::IsUnknown(value) => truth(self, value, None, false),
            Expr::IsNotUnknown(value) => truth(self, value, None, true),
            _ => unreachable!("the caller has looked"),
        }
    }

    fn is_distinct(&mut self, left: &Expr, right: &Expr, negated: bool) -> Bind<Typed> {
        if let (Some(left), Some(right)) = (row_of(left), row_of(right)) {
            return self.rows_distinct(left, right, negated);
        }
        let (left, right) = (self.expression(left)?, self.expression(right)?);
        Ok(self.compared(build::is_distinct(left, right, negated)?))
    }

    /// A comparison in which parameters that are numbers or moments are compared as they are given:
    /// a CAST to the other side's kind would lose digits. A run takes no other values for them
    /// (rule SQ13).
    pub(super) fn compared(&mut self, mut typed: Typed) -> Typed {
        self.note_kinds(&typed.expression);
        let kinds = &self.bind_kinds;
        let bare = |operand: &mut Expression| {
            if let Expression::Cast { to: CastTo::Kind(kind), value } = operand
                && let Expression::Slot(slot) = **value
                && kinds.get(slot).is_some_and(|own| are_alike(*own, *kind))
            {
                *operand = Expression::Slot(slot);
            }
        };
        typed.expression.change(&mut |part| match part {
            Expression::Compare { left, right, .. }
            | Expression::IsDistinct { left, right, .. } => {
                bare(left);
                bare(right);
            }
            Expression::InList { value, list, .. } => {
                bare(value);
                list.iter_mut().for_each(bare);
            }
            _ => {}
        });
        typed
    }
}

/// Whether values of both kinds are compared as they are.
fn are_alike(one: Kind, other: Kind) -> bool {
    (one.is_number() && other.is_number()) || (one.is_moment() && other.is_moment())
}

/// The refusal of an expression that isn't there.
#[cold]
fn no_such(expr: &Expr) -> Refused {
    let (what, instead) = match expr {
        Expr::Tuple(_) => {
            let instead = "compare rows by =, <>, <, <=, >, >= or IN, or name their columns";
            ("a row as a value".to_string(), instead)
        }
        Expr::AtTimeZone { .. } => {
            ("a time zone".to_string(), "keep moments in UTC, and add an INTERVAL")
        }
        other => {
            let instead = "see which expressions there are in the documentation of SQL";
            (format!("the expression {other}"), instead)
        }
    };
    Refused::unsupported(At::NOWHERE, &what, instead)
}

/// The operands of a chain of one operator, left to right: `a AND b AND c` is nested to the left.
fn chain<'e>(left: &'e Expr, op: &BinaryOperator, right: &'e Expr) -> Vec<&'e Expr> {
    let (mut parts, mut first) = (vec![right], left);
    while let Expr::BinaryOp { left, op: inner, right } = first
        && inner == op
    {
        parts.push(right);
        first = left;
    }
    parts.push(first);
    parts.reverse();
    parts
}

/// An expression without the brackets around it.
pub(super) fn strip(mut expr: &Expr) -> &Expr {
    while let Expr::Nested(inner) = expr {
        expr = inner;
    }
    expr
}

/// The columns of a row.
pub(super) fn row_of(expr: &Expr) -> Option<&[Expr]> {
    match strip(expr) {
        Expr::Tuple(columns) => Some(columns),
        _ => None,
    }
}

/// `(a, b) < (c, d)`: the first columns that differ decide.
pub(super) fn compare_rows(
    left: Vec<Typed>,
    comparison: Comparison,
    right: Vec<Typed>,
) -> Bind<Typed> {
    if left.len() != right.len() || left.is_empty() {
        let (one, other) = (left.len(), right.len());
        let message = format!("a row of {one} columns can't be compared with one of {other}");
        return Err(Refused::new(SqlState::SYNTAX_ERROR, At::NOWHERE, message));
    }
    let pairs: Vec<(Typed, Typed)> = left.into_iter().zip(right).collect();
    let equal = |pairs: &[(Typed, Typed)]| -> Result<Vec<Typed>, expression::Fault> {
        let each = pairs.iter();
        each.map(|(a, b)| build::compare(a.clone(), Comparison::Equal, b.clone())).collect()
    };
    let strict = match comparison {
        Comparison::Equal => return Ok(build::and(equal(&pairs)?)?),
        Comparison::NotEqual => return Ok(build::not(build::and(equal(&pairs)?)?)?),
        Comparison::LessOrEqual => Comparison::Less,
        Comparison::GreaterOrEqual => Comparison::Greater,
        strict => strict,
    };
    let mut any = Vec::with_capacity(pairs.len());
    for (place, (a, b)) in pairs.iter().enumerate() {
        let is_last = place + 1 == pairs.len();
        let decides = if is_last { comparison } else { strict };
        let mut all = equal(&pairs[..place])?;
        all.push(build::compare(a.clone(), decides, b.clone())?);
        any.push(build::and(all)?);
    }
    Ok(build::or(any)?)
}

pub(super) fn comparison_of(op: &BinaryOperator) -> Option<Comparison> {
    Some(match op {
        BinaryOperator::Eq => Comparison::Equal,
        BinaryOperator::NotEq => Comparison::NotEqual,
        BinaryOperator::Lt => Comparison::Less,
        BinaryOperator::LtEq => Comparison::LessOrEqual,
        BinaryOperator::Gt => Comparison::Greater,
        BinaryOperator::GtEq => Comparison::GreaterOrEqual,
        _ => return None,
    })
}

fn operator_of(op: &BinaryOperator) -> Option<Operator> {
    Some(match op {
        BinaryOperator::Plus => Operator::Add,
        BinaryOperator::Minus => Operator::Subtract,
        BinaryOperator::Multiply => Operator::Multiply,
        BinaryOperator::Divide => Operator::Divide,
        BinaryOperator::Modulo => Operator::Modulo,
        BinaryOperator::PGExp | BinaryOperator::BitwiseXor => Operator::Power,
        BinaryOperator::BitwiseAnd => Operator::BitAnd,
        BinaryOperator::BitwiseOr => Operator::BitOr,
        BinaryOperator::PGBitwiseXor => Operator::BitXor,
        BinaryOperator::PGBitwiseShiftLeft => Operator::ShiftLeft,
        BinaryOperator::PGBitwiseShiftRight => Operator::ShiftRight,
        _ => return None,
    })
}
