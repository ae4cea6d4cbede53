//! The table of functions. (Signatures; the bodies follow.)

use crate::{Fault, Kind};

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

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function(u16);

impl Function {
    /// Its name.
    pub fn name(self) -> &'static str { todo!() }
    /// How long its value stays the same.
    pub fn volatility(self) -> Volatility { todo!() }
    /// The kind of the result for arguments of these kinds.
    pub fn result(self, arguments: &mut dyn Iterator<Item = Kind>) -> Kind { todo!() }
}

/// What a call means.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The function.
    pub function: Function,
    /// The kind that each argument is converted to (`Typed::implicit`).
    pub arguments: Vec<Kind>,
    /// The kind of the result.
    pub kind: Kind,
}

/// The function of that name for arguments of these kinds: 42883 if there is none.
pub fn resolve(name: &str, arguments: &[Kind]) -> Result<Resolved, Fault> { todo!() }
