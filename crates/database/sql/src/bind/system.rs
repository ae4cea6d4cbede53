//! What PostgreSQL's clients write to ask the catalogue: casts to `regclass`, operators with a
//! schema, elements of arrays.
//!
//! There are no arrays: the catalogue has them as texts, such as `{1,2}`, and so they are texts
//! here. One that is written out behind ANY or ALL is a list.
//!
//! Callers: `expression`, `call`, `subquery`, `pattern`.

use expression::{CastTo, Comparison, Kind, Typed, build};
use sqlparser::ast::{AccessExpr, ArrayElemTypeDef, BinaryOperator, DataType, Expr, Subscript};
use stop::SqlState;

use super::Binder;
use super::expression::strip;
use super::literal::cast_as;
use crate::logical::HostCall;
use crate::names::parts_of;
use crate::refuse::{At, Bind, Refused};
use crate::system::{CatalogQuestion, SystemCast, system_cast};

impl Binder<'_> {
    /// A question to the catalogue.
    pub(super) fn catalog_call(
        &mut self,
        question: CatalogQuestion,
        arguments: Vec<Typed>,
    ) -> Bind<Typed> {
        let mut given = Vec::with_capacity(arguments.len());
        for (argument, kind) in arguments.into_iter().zip(question.arguments()) {
            given.push(argument.implicit(*kind)?.expression);
        }
        Ok(self.host_call(HostCall::Catalog(question), given))
    }

    /// CAST, and `::`.
    pub(super) fn cast(&mut self, expr: &Expr, to: &DataType) -> Bind<Typed> {
        let value = self.expression(expr)?;
        let name = system_type(to)?;
        match name.and_then(|name| system_cast(&name, &value)) {
            None => cast_as(value, to),
            Some(SystemCast::To(to)) => Ok(value.cast(CastTo::Type(to))?),
            Some(SystemCast::Asks(question)) => self.catalog_call(question, vec![value]),
            Some(SystemCast::Role) => Ok(build::call("pg_get_userbyid", vec![value])?),
        }
    }

    /// The elements of an array that is written out: `ARRAY['a', 'b']`, also with a CAST behind it.
    pub(super) fn elements(&mut self, expr: &Expr) -> Bind<Option<Vec<Typed>>> {
        let (inner, of) = match strip(expr) {
            Expr::Cast { expr, data_type: DataType::Array(of), .. } => match of {
                ArrayElemTypeDef::SquareBracket(of, _) => (strip(expr), Some(&**of)),
                _ => return Ok(None),
            },
            other => (other, None),
        };
        let Expr::Array(array) = inner else { return Ok(None) };
        let mut elements = Vec::with_capacity(array.elem.len());
        for element in &array.elem {
            let value = self.expression(element)?;
            elements.push(match of {
                Some(of) => cast_as(value, of)?,
                None => value,
            });
        }
        Ok(Some(elements))
    }

    /// `x < ANY (ARRAY[a, b])`, and ALL: `x` is compared with each of them.
    pub(super) fn compared_with_each(
        &mut self,
        left: &Expr,
        comparison: Comparison,
        elements: Vec<Typed>,
        is_all: bool,
    ) -> Bind<Typed> {
        let value = self.expression(left)?;
        let negated = match (comparison, is_all) {
            (Comparison::Equal, false) => Some(false),
            (Comparison::NotEqual, true) => Some(true),
            _ => None,
        };
        if let Some(negated) = negated
            && !elements.is_empty()
        {
            return Ok(self.compared(build::in_list(value, elements, negated)?));
        }
        let (one, more) = (std::slice::from_ref(&value), elements.len().saturating_sub(1));
        self.count_copies(one, more, "ANY and ALL of an array")?;
        let mut each = Vec::with_capacity(elements.len());
        for element in elements {
            each.push(build::compare(value.clone(), comparison, element)?);
        }
        let all = if is_all { build::and(each)? } else { build::or(each)? };
        Ok(self.compared(all))
    }

    /// `x = ANY (array)`. The elements are read as values of the kind of `x`.
    pub(super) fn in_array(&mut self, left: &Expr, array: &Expr) -> Bind<Typed> {
        let text = CastTo::Kind(Kind::Text);
        let (value, array) = (self.expression(left)?, self.expression(array)?);
        if array.kind != Kind::Unknown && !array.kind.is_text() {
            let message = format!("ANY needs an array or a subquery, and this is {}", array.kind);
            return Err(Refused::new(SqlState::WRONG_OBJECT_TYPE, At::NOWHERE, message));
        }
        let value = if value.kind == Kind::Unknown { value.cast(text)? } else { value };
        Ok(build::call("array_contains", vec![array.cast(text)?, value])?)
    }

    /// `array[n]`.
    pub(super) fn element(&mut self, array: &Expr, accesses: &[AccessExpr]) -> Bind<Typed> {
        let [AccessExpr::Subscript(Subscript::Index { index })] = accesses else {
            let instead = "take one element, as in a[1]";
            return Err(Refused::unsupported(At::of(array), "a part of this value", instead));
        };
        let (array, index) = (self.expression(array)?, self.expression(index)?);
        Ok(build::call("array_element", vec![array, index])?)
    }
}

/// The operator that `OPERATOR(schema.sign)` names.
pub(super) fn plain_operator(parts: &[String]) -> Bind<BinaryOperator> {
    let sign = parts.last().map_or("", String::as_str);
    Ok(match sign {
        "=" => BinaryOperator::Eq,
        "<>" | "!=" => BinaryOperator::NotEq,
        "<" => BinaryOperator::Lt,
        "<=" => BinaryOperator::LtEq,
        ">" => BinaryOperator::Gt,
        ">=" => BinaryOperator::GtEq,
        "+" => BinaryOperator::Plus,
        "-" => BinaryOperator::Minus,
        "*" => BinaryOperator::Multiply,
        "/" => BinaryOperator::Divide,
        "%" => BinaryOperator::Modulo,
        "||" => BinaryOperator::StringConcat,
        "~" => BinaryOperator::PGRegexMatch,
        "~*" => BinaryOperator::PGRegexIMatch,
        "!~" => BinaryOperator::PGRegexNotMatch,
        "!~*" => BinaryOperator::PGRegexNotIMatch,
        "~~" => BinaryOperator::PGLikeMatch,
        "!~~" => BinaryOperator::PGNotLikeMatch,
        "~~*" => BinaryOperator::PGILikeMatch,
        "!~~*" => BinaryOperator::PGNotILikeMatch,
        _ => {
            let message = format!("there is no operator {}", parts.join("."));
            return Err(Refused::new(SqlState::UNDEFINED_FUNCTION, At::NOWHERE, message));
        }
    })
}

/// The name of a type of PostgreSQL's catalogue; none if it can't be one.
fn system_type(written: &DataType) -> Bind<Option<String>> {
    Ok(match written {
        DataType::Regclass => Some("regclass".to_string()),
        DataType::Array(_) => Some("array".to_string()),
        DataType::Custom(name, modifiers) if modifiers.is_empty() => {
            let mut parts = parts_of(name)?;
            let last = parts.pop();
            let is_of_system = match &parts[..] {
                [] => true,
                [schema] => schema == "pg_catalog",
                _ => false,
            };
            last.filter(|_| is_of_system)
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_may_be_named_with_its_schema() {
        let named = |parts: &[&str]| {
            let parts: Vec<String> = parts.iter().map(|part| (*part).to_string()).collect();
            plain_operator(&parts)
        };
        assert_eq!(named(&["pg_catalog", "~"]).expect("there"), BinaryOperator::PGRegexMatch);
        assert_eq!(named(&["="]).expect("there"), BinaryOperator::Eq);
        assert!(named(&["pg_catalog", "@@"]).is_err());
    }
}
