//! Expressions as trees.
//!
//! Invariant: what is written is in brackets wherever a neighbour might take a part of it.
//!
//! Callers: `draw_term` makes them, `query` writes them, `shrink` takes parts out.

use std::fmt::Write;

use database::Kind;

use super::dialect::Dialect;
use super::operations::{OPERATIONS, Operation, Refuses};
use super::query::Query;
use super::schema::Literal;

/// An expression.
#[derive(Clone, PartialEq, Debug)]
pub enum Term {
    /// A value.
    Literal(Literal),
    /// A column of a source.
    Column {
        /// The source's name in the statement.
        of: String,
        /// Its own name.
        name: String,
        /// The kind of its values.
        kind: Kind,
        /// Whether its numbers have so many digits that they are better not computed with.
        is_wide: bool,
    },
    /// An operator or a function.
    Call {
        /// Which one.
        operation: &'static Operation,
        /// Its arguments.
        arguments: Vec<Term>,
    },
    /// All of these.
    And(Vec<Term>),
    /// One of these.
    Or(Vec<Term>),
    /// CASE.
    Case {
        /// WHEN and THEN.
        arms: Vec<Arm>,
        /// ELSE.
        otherwise: Option<Box<Term>>,
        /// The kind of its values.
        kind: Kind,
    },
    /// `x IN (a, b)`.
    InList {
        /// What is looked for.
        tested: Box<Term>,
        /// Among which values.
        list: Vec<Term>,
        /// NOT IN.
        is_not: bool,
    },
    /// `x IN (SELECT ...)`.
    InQuery {
        /// What is looked for.
        tested: Box<Term>,
        /// Among which rows.
        query: Box<Query>,
        /// NOT IN.
        is_not: bool,
    },
    /// EXISTS.
    Exists {
        /// The query.
        query: Box<Query>,
        /// NOT EXISTS.
        is_not: bool,
    },
    /// `x < ANY (SELECT ...)`, or ALL.
    Quantified {
        /// What is compared.
        tested: Box<Term>,
        /// How.
        comparison: &'static str,
        /// With how many rows.
        quantity: Quantity,
        /// With which rows.
        query: Box<Query>,
    },
    /// A query of one row and one column.
    Scalar {
        /// The query.
        query: Box<Query>,
        /// The kind of its value.
        kind: Kind,
    },
    /// An aggregate.
    Aggregate {
        /// Its name, or `string_agg`.
        name: &'static str,
        /// What it is of; none: `*`.
        argument: Option<Box<Term>>,
        /// DISTINCT.
        is_distinct: bool,
        /// FILTER.
        filter: Option<Box<Term>>,
        /// The kind of its value.
        kind: Kind,
    },
}

/// An arm of a CASE.
#[derive(Clone, PartialEq, Debug)]
pub struct Arm {
    /// The condition.
    pub when: Term,
    /// The value.
    pub then: Term,
}

/// ANY or ALL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantity {
    /// One row at least.
    Any,
    /// Every row.
    All,
}

impl Term {
    /// The condition that is false where this one is true, and unknown where it is.
    pub fn negated(condition: Term) -> Term {
        Term::Call { operation: of_truth("(not {0})"), arguments: vec![condition] }
    }

    /// The condition that is true where this one is unknown.
    pub fn is_null(condition: Term) -> Term {
        Term::Call { operation: of_truth("({0} is null)"), arguments: vec![condition] }
    }

    /// 1 where a condition is true, else 0.
    pub fn one_if(condition: Term) -> Term {
        let operation = of_truth("(case when {0} then 1 else 0 end)");
        Term::Call { operation, arguments: vec![condition] }
    }

    /// The kind of its values.
    pub fn kind(&self) -> Kind {
        match self {
            Term::Literal(literal) => literal.kind(),
            Term::Call { operation, .. } => operation.gives,
            Term::Column { kind, .. }
            | Term::Case { kind, .. }
            | Term::Scalar { kind, .. }
            | Term::Aggregate { kind, .. } => *kind,
            Term::And(_)
            | Term::Or(_)
            | Term::InList { .. }
            | Term::InQuery { .. }
            | Term::Exists { .. }
            | Term::Quantified { .. } => Kind::Boolean,
        }
    }

    /// The terms right below this one, those of subqueries left out.
    pub fn parts(&self) -> Vec<&Term> {
        match self {
            Term::Literal(_) | Term::Column { .. } | Term::Exists { .. } | Term::Scalar { .. } => {
                Vec::new()
            }
            Term::Call { arguments: parts, .. } | Term::And(parts) | Term::Or(parts) => {
                parts.iter().collect()
            }
            Term::Case { arms, otherwise, .. } => {
                let of_arms = arms.iter().flat_map(|arm| [&arm.when, &arm.then]);
                of_arms.chain(otherwise.as_deref()).collect()
            }
            Term::InList { tested, list, .. } => std::iter::once(&**tested).chain(list).collect(),
            Term::InQuery { tested, .. } | Term::Quantified { tested, .. } => vec![tested],
            Term::Aggregate { argument, filter, .. } => {
                argument.as_deref().into_iter().chain(filter.as_deref()).collect()
            }
        }
    }

    /// The same, to be changed.
    pub(crate) fn parts_mut(&mut self) -> Vec<&mut Term> {
        match self {
            Term::Literal(_) | Term::Column { .. } | Term::Exists { .. } | Term::Scalar { .. } => {
                Vec::new()
            }
            Term::Call { arguments: parts, .. } | Term::And(parts) | Term::Or(parts) => {
                parts.iter_mut().collect()
            }
            Term::Case { arms, otherwise, .. } => {
                let of_arms = arms.iter_mut().flat_map(|arm| [&mut arm.when, &mut arm.then]);
                of_arms.chain(otherwise.as_deref_mut()).collect()
            }
            Term::InList { tested, list, .. } => {
                std::iter::once(&mut **tested).chain(list).collect()
            }
            Term::InQuery { tested, .. } | Term::Quantified { tested, .. } => vec![tested],
            Term::Aggregate { argument, filter, .. } => {
                argument.as_deref_mut().into_iter().chain(filter.as_deref_mut()).collect()
            }
        }
    }

    /// The query that is asked here, to be changed.
    pub(crate) fn query_mut(&mut self) -> Option<&mut Query> {
        match self {
            Term::InQuery { query, .. }
            | Term::Exists { query, .. }
            | Term::Quantified { query, .. }
            | Term::Scalar { query, .. } => Some(query),
            _ => None,
        }
    }

    /// The query that is asked here, if there is one.
    pub fn query(&self) -> Option<&Query> {
        match self {
            Term::InQuery { query, .. }
            | Term::Exists { query, .. }
            | Term::Quantified { query, .. }
            | Term::Scalar { query, .. } => Some(query),
            _ => None,
        }
    }

    /// Whether this or a part of it, subqueries included, is so.
    pub(super) fn has(&self, is: &dyn Fn(&Term) -> bool) -> bool {
        is(self)
            || self.parts().into_iter().any(|part| part.has(is))
            || self.query().is_some_and(|query| query.has(is))
    }

    /// Whether its value may have other digits in another program.
    pub(super) fn is_approximate(&self) -> bool {
        self.has(&|term| match term {
            Term::Aggregate { name, .. } => *name == "avg",
            Term::Call { operation, .. } => operation.is_approximate,
            _ => false,
        })
    }

    /// Whether it is refused for some values, as this says of operations.
    pub(super) fn refuses(&self, risky: &dyn Fn(Refuses) -> bool) -> bool {
        self.has(&|term| matches!(term, Term::Call { operation, .. } if risky(operation.refuses)))
    }

    /// Writes it.
    pub(super) fn write(&self, dialect: Dialect, out: &mut String) {
        match self {
            Term::Literal(literal) => literal.write(dialect, out),
            Term::Column { of, name, .. } => {
                // A text takes whatever is written.
                let _ = write!(out, "{of}.{name}");
            }
            Term::Call { operation, arguments } => {
                write_call(operation.words(dialect), arguments, dialect, out);
            }
            Term::And(parts) => list(parts, " and ", dialect, out),
            Term::Or(parts) => list(parts, " or ", dialect, out),
            Term::Case { arms, otherwise, .. } => {
                out.push_str("(case");
                for arm in arms {
                    out.push_str(" when ");
                    arm.when.write(dialect, out);
                    out.push_str(" then ");
                    arm.then.write(dialect, out);
                }
                if let Some(otherwise) = otherwise {
                    out.push_str(" else ");
                    otherwise.write(dialect, out);
                }
                out.push_str(" end)");
            }
            Term::InList { tested, list: values, is_not } => {
                out.push('(');
                tested.write(dialect, out);
                out.push_str(if *is_not { " not in " } else { " in " });
                list(values, ", ", dialect, out);
                out.push(')');
            }
            Term::InQuery { tested, query, is_not } => {
                out.push('(');
                tested.write(dialect, out);
                out.push_str(if *is_not { " not in " } else { " in " });
                in_brackets(query, dialect, out);
                out.push(')');
            }
            Term::Exists { query, is_not } => {
                out.push_str(if *is_not { "(not exists " } else { "(exists " });
                in_brackets(query, dialect, out);
                out.push(')');
            }
            Term::Quantified { tested, comparison, quantity, query } => {
                out.push('(');
                tested.write(dialect, out);
                let word = if *quantity == Quantity::All { "all" } else { "any" };
                let _ = write!(out, " {comparison} {word} ");
                in_brackets(query, dialect, out);
                out.push(')');
            }
            Term::Scalar { query, .. } => in_brackets(query, dialect, out),
            Term::Aggregate { .. } => self.write_aggregate(dialect, out),
        }
    }

    fn write_aggregate(&self, dialect: Dialect, out: &mut String) {
        let Term::Aggregate { name, argument, is_distinct, filter, .. } = self else { return };
        let is_list = *name == "string_agg";
        out.push_str(if is_list && dialect == Dialect::Sqlite { "group_concat" } else { name });
        out.push_str(if *is_distinct { "(distinct " } else { "(" });
        match argument {
            None => out.push('*'),
            Some(argument) => {
                argument.write(dialect, out);
                if is_list {
                    out.push_str(", ';' order by ");
                    argument.write(dialect, out);
                }
            }
        }
        out.push(')');
        if let Some(filter) = filter {
            out.push_str(" filter (where ");
            filter.write(dialect, out);
            out.push(')');
        }
    }
}

/// The operation with these words and one truth value as its argument.
fn of_truth(usual: &str) -> &'static Operation {
    let is_it = |one: &&Operation| one.takes[..] == [Kind::Boolean] && one.usual == usual;
    OPERATIONS.iter().find(is_it).expect("the table has it")
}

/// The words of a call with its arguments in their places.
fn write_call(words: &str, arguments: &[Term], dialect: Dialect, out: &mut String) {
    let mut rest = words;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        let place = usize::from(rest.as_bytes()[at + 1] - b'0');
        arguments[place].write(dialect, out);
        rest = &rest[at + "{0}".len()..];
    }
    out.push_str(rest);
}

fn list(parts: &[Term], between: &str, dialect: Dialect, out: &mut String) {
    out.push('(');
    for (number, part) in parts.iter().enumerate() {
        out.push_str(if number == 0 { "" } else { between });
        part.write(dialect, out);
    }
    out.push(')');
}

fn in_brackets(query: &Query, dialect: Dialect, out: &mut String) {
    out.push('(');
    query.write(dialect, out);
    out.push(')');
}
