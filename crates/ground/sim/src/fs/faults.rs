//! The faults that the file system makes on purpose: a plan of rules that is asked at every
//! operation.
//!
//! A rule is a fault, a scope (which operations, under which path) and a trigger: the n-th
//! operation that it could hit, every one from the n-th on, or a chance per million drawn from the
//! plan's seed. Only operations that the fault *can* hit count (a one-byte read cannot be short),
//! so this sweep visits every place once and ends:
//!
//! ```text
//!   for n in 1.. {
//!       let plan = FaultPlan::new(seed).nth(n, Fault::Eio, Scope::all());
//!       run the load with the plan; check the oracle
//!       if nothing was injected { break }
//!   }
//! ```
//!
//! The effects of the faults
//!   * `Eio`, `Enospc`: the operation fails and changes nothing that reads can see. A write that
//!     failed with EIO may be on the medium in part. A sync that failed leaves its writes in doubt
//!     for good: the next sync succeeds and does not write them. So for a directory's sync.
//!   * `Short`: a read or write stops early. A write stops between two of its sectors if it has
//!     several: direct I/O goes by the device's blocks, and a copy into the page cache by pages,
//!     unless the caller's memory is missing (Linux, `generic_perform_write`).
//!   * `Rot`: a bit of what is read flips, on the medium, until it is overwritten.
//!   * `MisdirectedRead`: the bytes of another place of the file, whole blocks away.
//!   * `MisdirectedWrite`: the bytes go to another place, whole blocks away; acknowledged.
//!   * `LostWrite`: acknowledged, flushed later without complaint, never stored. The size grows.
//!
//! Invariant: the same plan over the same operations injects the same faults.

use std::fmt;

use super::mix::Random;
use super::system::Operation;

/// Misdirected reads and writes miss by a multiple of this.
pub const MISDIRECTION_BLOCK_BYTES: u64 = 4096;

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The device reports an error.
    Eio,
    /// No space, whatever the capacity says.
    Enospc,
    /// Fewer bytes than asked for.
    Short,
    /// A bit flips on the medium.
    Rot,
    /// The bytes of another place are read.
    MisdirectedRead,
    /// The bytes go to another place.
    MisdirectedWrite,
    /// The bytes go nowhere.
    LostWrite,
}

impl Fault {
    fn can_hit(self, request: &Request) -> bool {
        let reads = request.operation == Operation::Read;
        let writes = request.operation == Operation::Write;
        match self {
            Fault::Eio => true,
            Fault::Enospc => request.operation.is_crash_point(),
            Fault::Short => (reads || writes) && request.bytes >= 2,
            Fault::Rot => reads && request.bytes >= 1,
            Fault::MisdirectedRead => reads && request.bytes >= 1 && request.places >= 1,
            Fault::MisdirectedWrite => writes && request.bytes >= 1 && request.places >= 1,
            Fault::LostWrite => writes && request.bytes >= 1,
        }
    }
}

/// One operation as the plan sees it.
pub(crate) struct Request {
    pub(crate) operation: Operation,
    pub(crate) path: String,
    pub(crate) offset: u64,
    /// The number of bytes to be read or written.
    pub(crate) bytes: u64,
    /// The number of other offsets in the file that the request fits.
    pub(crate) places: u64,
}

/// The operations that a rule may hit.
#[derive(Clone, Debug)]
pub struct Scope {
    operations: Vec<Operation>,
    under: String,
}

impl Scope {
    /// Every operation.
    #[must_use]
    pub fn all() -> Scope {
        Scope::of(&Operation::ALL)
    }

    /// Operations of these kinds.
    #[must_use]
    pub fn of(operations: &[Operation]) -> Scope {
        Scope { operations: operations.to_vec(), under: String::new() }
    }

    /// Only the file or directory `path`, given from the root ("/redo"), and what is below it.
    #[must_use]
    pub fn under(mut self, path: &str) -> Scope {
        self.under = path.trim_end_matches('/').to_owned();
        self
    }

    fn holds(&self, request: &Request) -> bool {
        self.operations.contains(&request.operation)
            && request
                .path
                .strip_prefix(&self.under)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

#[derive(Clone, Debug)]
enum Trigger {
    Nth(u64),
    FromNth(u64),
    PerMillion(u32),
}

#[derive(Clone, Debug)]
struct Rule {
    trigger: Trigger,
    fault: Fault,
    scope: Scope,
    /// The number of operations so far that the rule could have hit.
    seen: u64,
}

/// One fault that was injected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Injection {
    /// Number of the operation since the file system began, from 1.
    pub ordinal: u64,
    /// Its kind.
    pub operation: Operation,
    /// Its subject.
    pub path: String,
    /// The offset in the file; zero for operations without one.
    pub offset: u64,
    /// The fault.
    pub fault: Fault,
    /// The details, where the fault alone doesn't give them.
    pub detail: String,
}

impl fmt::Display for Injection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Injection { ordinal, operation, path, offset, fault, detail } = self;
        write!(f, "operation {ordinal}: {operation:?} {path} at {offset}: {fault:?}{detail}")
    }
}

/// The rules, and the injected faults.
#[derive(Clone, Debug)]
pub struct FaultPlan {
    rules: Vec<Rule>,
    random: Random,
    injected: Vec<Injection>,
}

impl FaultPlan {
    /// A plan without rules; `seed` decides chances, bits, lengths and misdirections.
    #[must_use]
    pub fn new(seed: u64) -> FaultPlan {
        FaultPlan { rules: Vec::new(), random: Random::from_seed(seed), injected: Vec::new() }
    }

    /// Adds a fault at the n-th operation (from 1) in scope that `fault` can hit, once.
    #[must_use]
    pub fn nth(self, n: u64, fault: Fault, scope: Scope) -> FaultPlan {
        self.rule(Trigger::Nth(n), fault, scope)
    }

    /// Adds a fault at the n-th operation (from 1) in scope that `fault` can hit, and at every
    /// later one.
    #[must_use]
    pub fn from_nth(self, n: u64, fault: Fault, scope: Scope) -> FaultPlan {
        self.rule(Trigger::FromNth(n), fault, scope)
    }

    /// Adds a fault at each operation in scope with this chance.
    #[must_use]
    pub fn per_million(self, chance: u32, fault: Fault, scope: Scope) -> FaultPlan {
        self.rule(Trigger::PerMillion(chance), fault, scope)
    }

    /// The faults injected so far, in order.
    #[must_use]
    pub fn injected(&self) -> &[Injection] {
        &self.injected
    }

    fn rule(mut self, trigger: Trigger, fault: Fault, scope: Scope) -> FaultPlan {
        self.rules.push(Rule { trigger, fault, scope, seen: 0 });
        self
    }

    /// The fault for this operation, if any. Every rule counts it; the first rule that fires wins.
    pub(crate) fn decide(&mut self, ordinal: u64, request: Request) -> Option<Fault> {
        let mut decided = None;
        for rule in &mut self.rules {
            if !rule.fault.can_hit(&request) || !rule.scope.holds(&request) {
                continue;
            }
            rule.seen += 1;
            let fires = match rule.trigger {
                Trigger::Nth(n) => rule.seen == n,
                Trigger::FromNth(n) => rule.seen >= n,
                Trigger::PerMillion(chance) => self.random.chance(chance),
            };
            if fires && decided.is_none() {
                decided = Some(rule.fault);
            }
        }
        let fault = decided?;
        let Request { operation, path, offset, .. } = request;
        let detail = String::new();
        self.injected.push(Injection { ordinal, operation, path, offset, fault, detail });
        Some(fault)
    }

    pub(crate) fn draw_below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    /// Adds details to the fault injected last.
    pub(crate) fn explain(&mut self, detail: String) {
        self.injected.last_mut().expect("a fault was just injected").detail = detail;
    }
}
