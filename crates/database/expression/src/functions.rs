//! The table of functions: names, kinds of arguments and results, and what computes them.
//!
//! ```text
//!   resolve("substr", [Text, Whole])
//!        │  all entries of that name that take so many arguments
//!        ▼
//!   the one that needs the fewest conversions, and of those the one with the nearest ones
//! ```
//!
//! | module | functions of |
//! |---|---|
//! | `text` | texts and bytes |
//! | `numbers` | numbers |
//! | `moments` | days, moments and spans |
//! | `formats` | TO_CHAR, TO_DATE, TO_NUMBER |
//! | `general` | values of any kind, and the session |
//! | `catalogue` | PostgreSQL's catalogue, as far as one answer is right for all |
//! | `regex` | regular expressions |
//!
//! Invariants
//!   * an entry's body gets as many values as the entry takes, each of its kind or NULL; NULL only
//!     if the entry takes NULLs, for else the result is NULL without the body
//!   * entries of one name and number of arguments are tried in order: the first of the best wins
//!
//! Callers: `build`, which resolves calls; `evaluate`, which makes them.
//! Sources: PostgreSQL's documentation, "Functions and Operators", and its rules for the choice
//! among functions of one name; Oracle's for the names that PostgreSQL doesn't have.

mod catalogue;
mod formats;
mod general;
mod md5;
mod moments;
mod number_pattern;
mod numbers;
mod regex;
mod text;

use std::fmt;

use stop::{SqlState, did_you_mean};
use value::Value;

use crate::kind::IMPOSSIBLE;
use crate::{Evaluation, Fault, Kind};

/// How long a function's value stays the same for the same arguments.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Volatility {
    /// For ever: it may be computed before the statement runs.
    Immutable,
    /// For a statement: now().
    Stable,
    /// Not even for a row: random().
    Volatile,
}

/// What computes a function.
type Body = for<'a> fn(&[Value<'a>], &Evaluation<'a>) -> Result<Value<'a>, Fault>;

/// An entry of the table.
struct Entry {
    name: &'static str,
    /// The kinds of the arguments; `Unknown` takes any kind.
    takes: &'static [Kind],
    /// The kind of any number of further arguments; none: there are no further ones.
    more: Option<Kind>,
    /// The kind of the result; `Unknown`: that of the arguments together.
    gives: Kind,
    volatility: Volatility,
    /// Whether the body is called for NULLs too.
    takes_nulls: bool,
    body: Body,
}

/// An immutable function that is NULL for NULLs.
const fn entry(name: &'static str, takes: &'static [Kind], gives: Kind, body: Body) -> Entry {
    let volatility = Volatility::Immutable;
    Entry { name, takes, more: None, gives, volatility, takes_nulls: false, body }
}

impl Entry {
    const fn stable(self) -> Entry {
        Entry { volatility: Volatility::Stable, ..self }
    }

    const fn volatile(self) -> Entry {
        Entry { volatility: Volatility::Volatile, ..self }
    }

    const fn with_nulls(self) -> Entry {
        Entry { takes_nulls: true, ..self }
    }

    const fn and_more(self, kind: Kind) -> Entry {
        Entry { more: Some(kind), ..self }
    }

    /// The kind that argument number `at` has to have; none if the entry takes fewer.
    fn wanted(&self, at: usize) -> Option<Kind> {
        self.takes.get(at).copied().or(self.more)
    }

    /// How well the entry fits arguments of these kinds; none if it doesn't.
    fn fit(&self, arguments: &[Kind]) -> Option<Fit> {
        let count = arguments.len();
        if count < self.takes.len() || (count > self.takes.len() && self.more.is_none()) {
            return None;
        }
        let mut fit = Fit { conversions: 0, cost: 0 };
        for (at, kind) in arguments.iter().enumerate() {
            let cost = kind.cost_as(self.wanted(at)?);
            if cost == IMPOSSIBLE {
                return None;
            }
            fit.conversions += u32::from(cost > 0);
            fit.cost += cost;
        }
        Some(fit)
    }
}

/// How well an entry fits a call; lower is better.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Fit {
    /// The arguments that aren't of the kind that is asked for.
    conversions: u32,
    cost: u32,
}

/// All tables.
fn tables() -> [&'static [Entry]; 7] {
    let own = [text::TABLE, numbers::TABLE, moments::TABLE, formats::TABLE, general::TABLE];
    let [text, numbers, moments, formats, general] = own;
    [text, numbers, moments, formats, general, regex::TABLE, catalogue::TABLE]
}

/// A function.
#[derive(Clone, Copy)]
pub struct Function(&'static Entry);

impl Function {
    /// Its name.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// How long its value stays the same.
    pub fn volatility(self) -> Volatility {
        self.0.volatility
    }

    /// The kind of the result for arguments of these kinds.
    pub fn result(self, arguments: &mut dyn Iterator<Item = Kind>) -> Kind {
        match self.0.gives {
            Kind::Unknown => arguments.fold(Kind::Unknown, |a, b| a.with(b).unwrap_or(a)),
            kind => kind,
        }
    }

    /// The value of a call with these arguments.
    #[inline]
    pub(crate) fn call<'a>(
        self,
        arguments: &[Value<'a>],
        with: &Evaluation<'a>,
    ) -> Result<Value<'a>, Fault> {
        if !self.0.takes_nulls && arguments.iter().any(|value| value.is_null()) {
            return Ok(Value::Null);
        }
        (self.0.body)(arguments, with)
    }

    /// The kinds that the arguments are of.
    fn arguments(self) -> &'static [Kind] {
        self.0.takes
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Function) -> bool {
        // An entry is told from others by its name and its arguments.
        self.name() == other.name() && self.arguments() == other.arguments()
    }
}

impl Eq for Function {}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}", self.name(), self.arguments())
    }
}

/// All functions, for whoever lists them.
pub fn functions() -> impl Iterator<Item = Function> {
    tables().into_iter().flatten().map(Function)
}

/// What a call means.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The function.
    pub function: Function,
    /// The kind that each argument is converted to ([`crate::Typed::implicit`]); `Unknown`: it
    /// stays what it is.
    pub arguments: Vec<Kind>,
    /// The kind of the result.
    pub kind: Kind,
}

/// The function of that name for arguments of these kinds: 42883 if there is none.
pub fn resolve(name: &str, arguments: &[Kind]) -> Result<Resolved, Fault> {
    let all = tables().into_iter().flatten();
    let named: Vec<&'static Entry> = all.filter(|entry| entry.name == name).collect();
    let fits = named.iter().filter_map(|entry| Some((entry.fit(arguments)?, *entry)));
    // Of equals the first one is taken.
    let best = fits.min_by_key(|(fit, _)| *fit);
    let Some((_, entry)) = best else { return Err(undefined(name, arguments, &named)) };
    let wanted = (0..arguments.len()).filter_map(|at| entry.wanted(at)).collect();
    let function = Function(entry);
    let kind = function.result(&mut arguments.iter().copied());
    Ok(Resolved { function, arguments: wanted, kind })
}

/// No function of that name takes arguments of these kinds.
#[cold]
fn undefined(name: &str, arguments: &[Kind], named: &[&'static Entry]) -> Fault {
    let list = |kinds: &[Kind]| kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
    let say = format!("function {name}({}) does not exist", list(arguments));
    let hint = if named.is_empty() {
        let meant = did_you_mean(name, functions().map(Function::name));
        format!("there is no function of that name{meant}")
    } else {
        let takes = |entry: &&'static Entry| {
            let more = entry.more.map_or("", |_| ", ...");
            format!("{name}({}{more})", list(entry.takes)).replace("unknown", "any")
        };
        let forms: Vec<String> = named.iter().map(takes).collect();
        format!("there is {}; make the arguments fit with CAST", forms.join(" and "))
    };
    Fault::new(SqlState::UNDEFINED_FUNCTION, say).with_hint(hint)
}

/// A body was given other kinds than its entry says, which is a mistake of this crate.
#[cold]
fn unexpected(arguments: &[Value<'_>]) -> ! {
    let kinds: Vec<Kind> = arguments.iter().map(|value| Kind::of(*value)).collect();
    panic!("a function was called with arguments of the kinds {kinds:?}, which it doesn't take")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, kinds: &[Kind]) -> Option<(&'static [Kind], Kind)> {
        resolve(name, kinds).ok().map(|found| (found.function.arguments(), found.kind))
    }

    #[test]
    fn the_entry_that_needs_the_fewest_conversions_is_taken() {
        let (whole, number, double) = (Kind::Whole, Kind::Number, Kind::Double);
        assert_eq!(found("abs", &[whole]), Some((&[whole][..], whole)));
        assert_eq!(found("sqrt", &[whole]), Some((&[double][..], double)));
        assert_eq!(found("sqrt", &[number]), Some((&[number][..], number)));
        assert_eq!(found("power", &[number, whole]), Some((&[number, number][..], number)));
        assert_eq!(found("power", &[whole, whole]), Some((&[double, double][..], double)));
        assert_eq!(found("round", &[double, whole]), None);
        assert_eq!(found("round", &[whole, whole]), Some((&[number, whole][..], number)));
        assert_eq!(found("lower", &[Kind::Unknown]), Some((&[Kind::Text][..], Kind::Text)));
        assert_eq!(found("lower", &[Kind::Char]), Some((&[Kind::Text][..], Kind::Text)));
        assert_eq!(found("lower", &[whole]), None);
        assert_eq!(found("date_trunc", &[Kind::Unknown, Kind::Date]).map(|found| found.1), {
            Some(Kind::Timestamp)
        });
    }

    #[test]
    fn what_does_not_exist_is_refused_with_what_does() {
        let said = |name: &str, kinds: &[Kind]| {
            let fault = resolve(name, kinds).expect_err("there is none");
            assert_eq!(fault.state(), SqlState::UNDEFINED_FUNCTION);
            fault.to_string()
        };
        assert!(said("lower", &[Kind::Whole]).contains("lower(text)"));
        assert!(said("lowr", &[Kind::Text]).contains("lower"));
        assert!(said("substr", &[Kind::Text]).contains("substr(text, bigint)"));
    }

    /// Two entries with one name and the same arguments would be one function.
    #[test]
    fn entries_differ() {
        let all: Vec<Function> = functions().collect();
        for (at, one) in all.iter().enumerate() {
            assert!(all[at + 1..].iter().all(|other| other != one), "{one:?}");
            assert_eq!(one.name(), one.name().to_lowercase());
        }
        assert!(all.len() > 100);
    }
}
