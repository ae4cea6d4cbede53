//! Aggregates. (Signatures; the bodies follow.)

use value::{Damaged, OwnedValue, Value};

use crate::{Fault, Kind};

/// An aggregate function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Aggregate {
    /// count(*)
    CountAll,
    /// count(x): values other than NULL
    Count,
    /// sum
    Sum,
    /// avg
    Avg,
    /// min
    Min,
    /// max
    Max,
    /// bool_and, every
    BoolAnd,
    /// bool_or
    BoolOr,
    /// string_agg(text, delimiter)
    StringAgg,
    /// var_pop
    VarPop,
    /// var_samp, variance
    VarSamp,
    /// stddev_pop
    StddevPop,
    /// stddev_samp, stddev
    StddevSamp,
}

/// What a call of an aggregate means.
#[derive(Clone, Debug)]
pub struct ResolvedAggregate {
    /// The aggregate.
    pub aggregate: Aggregate,
    /// The kind that each argument is converted to (`Typed::implicit`).
    pub arguments: Vec<Kind>,
    /// The kind of the result.
    pub kind: Kind,
}

impl Aggregate {
    /// Whether an aggregate has this name, whatever its arguments.
    pub fn is_name(name: &str) -> bool { todo!() }
    /// The aggregate of that name for arguments of these kinds: 42883 if there is none. count(*) is
    /// `count` without arguments.
    pub fn resolve(name: &str, arguments: &[Kind]) -> Result<ResolvedAggregate, Fault> { todo!() }
    /// Its name.
    pub fn name(self) -> &'static str { todo!() }
    /// Whether DISTINCT changes nothing (min, max, bool_and, bool_or).
    pub fn ignores_duplicates(self) -> bool { todo!() }
    /// Whether the result depends on the order of the values (string_agg).
    pub fn minds_order(self) -> bool { todo!() }
}

/// The state of one aggregate of one group.
#[derive(Clone, Debug)]
pub struct Accumulator { aggregate: Aggregate }

impl Accumulator {
    /// The state before the first value.
    pub fn new(aggregate: Aggregate) -> Accumulator { todo!() }
    /// Takes a value; NULLs are passed over (but for count(*)). `second` is the delimiter of string_agg, else NULL.
    pub fn add(&mut self, value: Value<'_>, second: Value<'_>) -> Result<(), Fault> { todo!() }
    /// Takes what another state of the same aggregate has taken, behind its own.
    pub fn merge(&mut self, other: &Accumulator) -> Result<(), Fault> { todo!() }
    /// The result: NULL, or 0 for counts, without values.
    pub fn finish(&self) -> Result<OwnedValue, Fault> { todo!() }
    /// The bytes that it takes besides its own size.
    pub fn bytes(&self) -> usize { todo!() }
    /// Appends the state to `out`, for a spill.
    pub fn write(&self, out: &mut Vec<u8>) { todo!() }
    /// Takes a state that `write` wrote from the beginning of `rest`.
    pub fn read(aggregate: Aggregate, rest: &mut &[u8]) -> Result<Accumulator, Damaged> { todo!() }
}
