//! Aggregate functions: their names, and the kinds that they take and give.
//!
//! | aggregate | of | gives |
//! |---|---|---|
//! | `count(*)`, `count(x)` | rows; values other than NULL | whole |
//! | `sum` | whole, NUMBER; double; span | NUMBER: no overflow of 64 bits; double; span |
//! | `avg` | whole, NUMBER; double; span | NUMBER; double; span |
//! | `min`, `max` | all but truth values | the same |
//! | `any_value`: the first one that comes | all | the same |
//! | `bool_and`, `every`, `bool_or` | truth values | truth value |
//! | `bit_and`, `bit_or`, `bit_xor` | whole | whole |
//! | `string_agg(text, delimiter)` | texts | text |
//! | `corr`, `covar_pop`, `covar_samp`, `regr_...` | two doubles, y and x | double; a count whole |
//! | `variance`, `stddev` and their `_pop`, `_samp` | whole, NUMBER; double | NUMBER; double |
//!
//! DISTINCT, FILTER and ORDER BY inside of an aggregate are the operator's matter: it gives the
//! accumulator the values that count, in their order.
//!
//! Callers: SQL's binder; row sources.
//! Sources: PostgreSQL's documentation, "Aggregate Functions".

use stop::SqlState;

use crate::{Fault, Kind};

/// An aggregate function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Aggregate {
    /// `count(*)`: rows.
    CountAll,
    /// `count(x)`: values other than NULL.
    Count,
    /// The sum.
    Sum,
    /// The mean.
    Avg,
    /// The smallest value.
    Min,
    /// The largest value.
    Max,
    /// The value that comes first.
    AnyValue,
    /// Whether all are true.
    BoolAnd,
    /// Whether one is true.
    BoolOr,
    /// The bits that all have.
    BitAnd,
    /// The bits that one has.
    BitOr,
    /// The bits that an odd number of values has.
    BitXor,
    /// Texts one after the other, with delimiters between them.
    StringAgg,
    /// The variance of a population.
    VarPop,
    /// The variance of a sample.
    VarSamp,
    /// The standard deviation of a population.
    StddevPop,
    /// The standard deviation of a sample.
    StddevSamp,
    /// How two numbers of a row go together.
    OfPairs(OfPairs),
}

/// An aggregate of pairs y, x; S... are sums of deviations from the means.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum OfPairs {
    /// How many pairs there are without a NULL.
    Count,
    /// The mean of x.
    AvgX,
    /// The mean of y.
    AvgY,
    /// Of the squares of x.
    Sxx,
    /// Of the squares of y.
    Syy,
    /// Of the products.
    Sxy,
    /// The covariance of a population.
    CovarPop,
    /// The covariance of a sample.
    CovarSamp,
    /// The coefficient of correlation.
    Corr,
    /// The slope of the line that fits best.
    Slope,
    /// Where that line meets the y axis.
    Intercept,
    /// The square of the coefficient of correlation.
    R2,
}

/// The names, and the number of arguments that each takes.
const NAMES: &[(&str, Aggregate)] = &[
    ("count", Aggregate::Count),
    ("sum", Aggregate::Sum),
    ("avg", Aggregate::Avg),
    ("min", Aggregate::Min),
    ("max", Aggregate::Max),
    ("any_value", Aggregate::AnyValue),
    ("bool_and", Aggregate::BoolAnd),
    ("every", Aggregate::BoolAnd),
    ("bool_or", Aggregate::BoolOr),
    ("bit_and", Aggregate::BitAnd),
    ("bit_or", Aggregate::BitOr),
    ("bit_xor", Aggregate::BitXor),
    ("string_agg", Aggregate::StringAgg),
    ("listagg", Aggregate::StringAgg),
    ("var_pop", Aggregate::VarPop),
    ("var_samp", Aggregate::VarSamp),
    ("variance", Aggregate::VarSamp),
    ("stddev_pop", Aggregate::StddevPop),
    ("stddev_samp", Aggregate::StddevSamp),
    ("stddev", Aggregate::StddevSamp),
    ("regr_count", Aggregate::OfPairs(OfPairs::Count)),
    ("regr_avgx", Aggregate::OfPairs(OfPairs::AvgX)),
    ("regr_avgy", Aggregate::OfPairs(OfPairs::AvgY)),
    ("regr_sxx", Aggregate::OfPairs(OfPairs::Sxx)),
    ("regr_syy", Aggregate::OfPairs(OfPairs::Syy)),
    ("regr_sxy", Aggregate::OfPairs(OfPairs::Sxy)),
    ("covar_pop", Aggregate::OfPairs(OfPairs::CovarPop)),
    ("covar_samp", Aggregate::OfPairs(OfPairs::CovarSamp)),
    ("corr", Aggregate::OfPairs(OfPairs::Corr)),
    ("regr_slope", Aggregate::OfPairs(OfPairs::Slope)),
    ("regr_intercept", Aggregate::OfPairs(OfPairs::Intercept)),
    ("regr_r2", Aggregate::OfPairs(OfPairs::R2)),
];

/// What a call of an aggregate means.
#[derive(Clone, Debug)]
pub struct ResolvedAggregate {
    /// The aggregate.
    pub aggregate: Aggregate,
    /// The kind that each argument is converted to ([`crate::Typed::implicit`]).
    pub arguments: Vec<Kind>,
    /// The kind of the result.
    pub kind: Kind,
}

impl Aggregate {
    /// Whether an aggregate has this name, whatever its arguments.
    pub fn is_name(name: &str) -> bool {
        NAMES.iter().any(|(one, _)| one.eq_ignore_ascii_case(name))
    }

    /// The aggregate of that name for arguments of these kinds: 42883 if there is none. `count(*)`
    /// is `count` without arguments.
    pub fn resolve(name: &str, arguments: &[Kind]) -> Result<ResolvedAggregate, Fault> {
        let found = NAMES.iter().find(|(one, _)| one.eq_ignore_ascii_case(name));
        let Some((_, aggregate)) = found else { return Err(undefined(name, arguments)) };
        let one = |wanted: Kind, kind: Kind| ResolvedAggregate {
            aggregate: *aggregate,
            arguments: vec![wanted],
            kind,
        };
        let of_texts = |kind: &Kind| kind.is_text() || *kind == Kind::Unknown;
        let as_double = |kind: &Kind| kind.is_number() || *kind == Kind::Unknown;
        let resolved = match (*aggregate, arguments) {
            (Aggregate::Count, []) => ResolvedAggregate {
                aggregate: Aggregate::CountAll,
                arguments: Vec::new(),
                kind: Kind::Whole,
            },
            (Aggregate::Count, [kind]) => one(*kind, Kind::Whole),
            (Aggregate::Sum | Aggregate::Avg, [kind]) => match kind {
                Kind::Whole | Kind::Number => one(*kind, Kind::Number),
                Kind::Double | Kind::Interval => one(*kind, *kind),
                _ => return Err(undefined(name, arguments)),
            },
            (Aggregate::Min | Aggregate::Max, [kind]) => match kind {
                Kind::Boolean => return Err(undefined(name, arguments)),
                Kind::Unknown => one(Kind::Text, Kind::Text),
                kind => one(*kind, *kind),
            },
            (Aggregate::AnyValue, [Kind::Unknown]) => one(Kind::Text, Kind::Text),
            (Aggregate::AnyValue, [kind]) => one(*kind, *kind),
            (
                Aggregate::BitAnd | Aggregate::BitOr | Aggregate::BitXor,
                [Kind::Whole | Kind::Unknown],
            ) => one(Kind::Whole, Kind::Whole),
            (Aggregate::BoolAnd | Aggregate::BoolOr, [Kind::Boolean | Kind::Unknown]) => {
                one(Kind::Boolean, Kind::Boolean)
            }
            (Aggregate::StringAgg, [_, _]) if arguments.iter().all(of_texts) => ResolvedAggregate {
                aggregate: Aggregate::StringAgg,
                arguments: vec![Kind::Text; 2],
                kind: Kind::Text,
            },
            (
                Aggregate::VarPop
                | Aggregate::VarSamp
                | Aggregate::StddevPop
                | Aggregate::StddevSamp,
                [kind],
            ) => match kind {
                Kind::Whole | Kind::Number => one(*kind, Kind::Number),
                Kind::Double => one(*kind, *kind),
                _ => return Err(undefined(name, arguments)),
            },
            (Aggregate::OfPairs(of), [_, _]) if arguments.iter().all(as_double) => {
                let kind = if of == OfPairs::Count { Kind::Whole } else { Kind::Double };
                ResolvedAggregate { aggregate: *aggregate, arguments: vec![Kind::Double; 2], kind }
            }
            _ => return Err(undefined(name, arguments)),
        };
        Ok(resolved)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        let found = NAMES.iter().find(|(_, aggregate)| *aggregate == self);
        found.map_or("count", |(name, _)| name)
    }

    /// Whether DISTINCT changes nothing.
    pub fn ignores_duplicates(self) -> bool {
        matches!(
            self,
            Aggregate::Min
                | Aggregate::Max
                | Aggregate::AnyValue
                | Aggregate::BoolAnd
                | Aggregate::BoolOr
                | Aggregate::BitAnd
                | Aggregate::BitOr
        )
    }

    /// Whether the result depends on the order of the values.
    pub fn minds_order(self) -> bool {
        self == Aggregate::StringAgg
    }
}

/// No aggregate of that name takes arguments of these kinds.
#[cold]
fn undefined(name: &str, arguments: &[Kind]) -> Fault {
    let kinds: Vec<&str> = arguments.iter().map(|kind| kind.name()).collect();
    let say = format!("function {name}({}) does not exist", kinds.join(", "));
    let hint = "no aggregate takes such arguments; make them fit with CAST";
    Fault::new(SqlState::UNDEFINED_FUNCTION, say).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_means_of_exact_numbers_are_exact() {
        let of = |name: &str, kinds: &[Kind]| {
            Aggregate::resolve(name, kinds).map(|found| found.kind).map_err(|fault| fault.state())
        };
        assert_eq!(of("sum", &[Kind::Whole]), Ok(Kind::Number));
        assert_eq!(of("AVG", &[Kind::Whole]), Ok(Kind::Number));
        assert_eq!(of("avg", &[Kind::Double]), Ok(Kind::Double));
        assert_eq!(of("count", &[]), Ok(Kind::Whole));
        assert_eq!(of("max", &[Kind::Char]), Ok(Kind::Char));
        assert_eq!(of("string_agg", &[Kind::Text, Kind::Unknown]), Ok(Kind::Text));
        assert_eq!(of("stddev", &[Kind::Whole]), Ok(Kind::Number));
        assert_eq!(of("any_value", &[Kind::Boolean]), Ok(Kind::Boolean));
        assert_eq!(of("bit_xor", &[Kind::Whole]), Ok(Kind::Whole));
        assert_eq!(of("regr_count", &[Kind::Whole, Kind::Unknown]), Ok(Kind::Whole));
        assert_eq!(of("corr", &[Kind::Whole, Kind::Number]), Ok(Kind::Double));
        let undefined = Err(SqlState::UNDEFINED_FUNCTION);
        for (name, kinds) in [
            ("sum", &[Kind::Text][..]),
            ("sum", &[]),
            ("bool_and", &[Kind::Whole]),
            ("max", &[Kind::Boolean]),
            ("bit_or", &[Kind::Number]),
            ("corr", &[Kind::Number, Kind::Text]),
            ("regr_count", &[Kind::Number]),
            ("count", &[Kind::Whole, Kind::Whole]),
            ("string_agg", &[Kind::Whole, Kind::Text]),
        ] {
            assert_eq!(of(name, kinds), undefined, "{name} {kinds:?}");
        }
        assert_eq!(Aggregate::CountAll.name(), "count");
        assert_eq!(Aggregate::VarSamp.name(), "var_samp");
        assert!(Aggregate::is_name("Every") && !Aggregate::is_name("lower"));
    }
}
