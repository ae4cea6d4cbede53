//! Texts and patterns: LIKE, SIMILAR TO, regular expressions, SUBSTRING.
//!
//! Callers: `expression`.

use expression::build::{self, LikeOptions};
use expression::{Expression, Kind, Typed};
use sqlparser::ast::{BinaryOperator, Expr};
use stop::SqlState;
use value::Value;

use super::Binder;
use crate::refuse::{At, Bind, Refused};

impl Binder<'_> {
    /// LIKE and ILIKE.
    pub(super) fn like(&mut self, expr: &Expr) -> Bind<Typed> {
        let ignore_case = matches!(expr, Expr::ILike { .. });
        let (Expr::Like { negated, any, expr, pattern, escape_char }
        | Expr::ILike { negated, any, expr, pattern, escape_char }) = expr
        else {
            unreachable!("the caller has looked")
        };
        let options = LikeOptions { ignore_case, negated: *negated };
        if *any && let Some(escape) = escape_char {
            let instead = "combine several LIKEs by OR";
            return Err(Refused::unsupported(
                At::begin(escape.span),
                "LIKE ANY with ESCAPE",
                instead,
            ));
        }
        if *any {
            return self.like_any(expr, pattern, options);
        }
        let (value, pattern) = (self.expression(expr)?, self.expression(pattern)?);
        let escape = escape_char.as_ref().map(|escape| self.literal(&escape.value)).transpose()?;
        Ok(build::like(value, pattern, escape, options)?)
    }

    /// `x LIKE ANY (ARRAY[...])`.
    fn like_any(&mut self, expr: &Expr, patterns: &Expr, options: LikeOptions) -> Bind<Typed> {
        let what = "LIKE ANY";
        let Some(patterns) = self.elements(patterns)? else {
            let instead = "write ARRAY['a%', 'b%'], or combine several LIKEs by OR";
            return Err(Refused::unsupported(At::of(patterns), what, instead));
        };
        let value = self.expression(expr)?;
        self.count_copies(std::slice::from_ref(&value), patterns.len().saturating_sub(1), what)?;
        let mut any = Vec::with_capacity(patterns.len());
        for pattern in patterns {
            any.push(build::like(value.clone(), pattern, None, options)?);
        }
        Ok(build::or(any)?)
    }

    /// SIMILAR TO.
    pub(super) fn similar(&mut self, expr: &Expr) -> Bind<Typed> {
        let Expr::SimilarTo { negated, expr, pattern, escape_char } = expr else {
            unreachable!("the caller has looked")
        };
        let mut arguments = vec![self.expression(expr)?, self.expression(pattern)?];
        if let Some(escape) = escape_char {
            arguments.push(self.literal(&escape.value)?);
        }
        let is_similar = build::call("similar_to", arguments)?;
        Ok(if *negated { build::not(is_similar)? } else { is_similar })
    }

    /// SUBSTRING: from a place on, or what a regular expression matches. A parameter is a place.
    /// SUBSTR, and SUBSTRING of bytes, know places only.
    pub(super) fn substring(&mut self, expr: &Expr) -> Bind<Typed> {
        let Expr::Substring { expr, substring_from, substring_for, shorthand, .. } = expr else {
            unreachable!("the caller has looked")
        };
        let text = self.expression(expr)?;
        let from = match substring_from {
            Some(from) => self.expression(from)?,
            None => Typed::value(Value::Int(1)),
        };
        let length = substring_for.as_ref().map(|length| self.expression(length)).transpose()?;
        let has_places_only = *shorthand || text.kind == Kind::Bytes;
        if has_places_only || !is_pattern(&from) {
            let arguments = [text, from].into_iter().chain(length).collect();
            return Ok(build::call("substr", arguments)?);
        }
        if length.is_some() {
            let what = "SUBSTRING by a pattern of SIMILAR TO";
            let instead = "leave FOR out, and write a regular expression";
            return Err(Refused::unsupported(At::NOWHERE, what, instead));
        }
        let pattern = from.implicit(Kind::Text)?;
        Ok(build::call("substring", vec![text, pattern])?)
    }
}

/// Whether what stands behind FROM is a pattern: a text, or a literal in quotes.
fn is_pattern(from: &Typed) -> bool {
    match &from.expression {
        Expression::Constant(value) if from.kind == Kind::Unknown => !value.get().is_null(),
        _ => from.kind.is_text(),
    }
}

/// An operator that matches a text with a pattern, or that isn't there.
pub(super) fn matched(left: Typed, op: &BinaryOperator, right: Typed) -> Bind<Typed> {
    let (ignores_case, negated) = match op {
        BinaryOperator::PGRegexMatch => (false, false),
        BinaryOperator::PGRegexIMatch => (true, false),
        BinaryOperator::PGRegexNotMatch => (false, true),
        BinaryOperator::PGRegexNotIMatch => (true, true),
        _ => {
            let message = format!("there is no operator {op}");
            return Err(Refused::new(SqlState::UNDEFINED_FUNCTION, At::NOWHERE, message));
        }
    };
    let mut arguments = vec![left, right];
    if ignores_case {
        arguments.push(Typed::literal("i"));
    }
    let matches = build::call("regexp_like", arguments)?;
    Ok(if negated { build::not(matches)? } else { matches })
}
