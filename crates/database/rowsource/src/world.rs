//! What row sources ask of the statement that runs them.
//!
//! Invariants
//!   * one world serves all sources of one plan that runs, and one of them at a time
//!   * the arena belongs to whoever evaluates at the moment (rule RS4)
//!
//! Callers: every source; `sql` implements it.

use expression::Evaluation;
use os::{Disk, Session};
use sort::{Budget, SortConfig};
use stop::{Halt, Stop};
use value::OwnedValue;
use waits::Nanos;

/// The statement that runs a plan, as the plan's sources see it.
pub trait World {
    /// The session that waits and computes.
    fn session(&self) -> &Session;

    /// The memory for work areas, which all statements of the instance share.
    fn budget(&self) -> &Budget;

    /// Where rows go that don't fit in memory.
    fn spill(&self) -> Spill<'_>;

    /// A refusal if the statement was cancelled or has run out of time, and the halt if the
    /// instance has halted. Every loop over rows asks at least every 1,024 rows (RS6).
    fn check(&self) -> Result<(), Stop>;

    /// What expressions are evaluated with: slots, arena, moment, subqueries.
    fn evaluation(&self) -> Evaluation<'_>;

    /// Gives back what expressions have made in the arena.
    fn reset_arena(&mut self);

    /// The slots: parameters, then values of outer rows and of subqueries.
    fn slots(&self) -> &[OwnedValue];

    /// Puts a value into a slot.
    fn set_slot(&mut self, slot: usize, value: OwnedValue);

    /// The most rows that a fetch may append now: 1 to [`crate::BATCH_ROWS_MAX`]. The first fetch
    /// of a statement asks for few, so that a first row comes soon.
    fn batch(&self) -> usize;

    /// Sets the most rows that a fetch may append. A source that changes it for those below it sets
    /// it back before it returns.
    fn set_batch(&mut self, rows: usize);

    /// The blocks that the session has had until now.
    fn counts(&self) -> Counts;

    /// The figures of the source with this number ([`crate::Measured`]).
    fn figures(&mut self, place: usize) -> &mut Figures;
}

/// Where rows go that don't fit in memory.
#[derive(Clone, Copy, Debug)]
pub struct Spill<'a> {
    /// The disk of the temporary files.
    pub disk: &'a Disk,
    /// Their directory, and the most memory of one sort.
    pub config: &'a SortConfig,
    /// The instance's halt, at which I/O looks.
    pub halt: &'a Halt,
}

/// How many blocks a session has had.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Blocks as of a moment.
    pub consistent_gets: u64,
    /// Blocks as they are now.
    pub current_gets: u64,
    /// Blocks from disk.
    pub physical_reads: u64,
}

impl Counts {
    /// What came since an earlier reading.
    #[must_use]
    pub fn since(self, earlier: Counts) -> Counts {
        Counts {
            consistent_gets: self.consistent_gets - earlier.consistent_gets,
            current_gets: self.current_gets - earlier.current_gets,
            physical_reads: self.physical_reads - earlier.physical_reads,
        }
    }

    /// Adds another count.
    pub fn add(&mut self, more: Counts) {
        self.consistent_gets += more.consistent_gets;
        self.current_gets += more.current_gets;
        self.physical_reads += more.physical_reads;
    }
}

/// What a source has done, the sources below it included but for rows, memory and space.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    /// How often it was started.
    pub starts: u64,
    /// The rows that it gave.
    pub rows: u64,
    /// The time in it.
    pub elapsed: Nanos,
    /// The blocks that were had.
    pub counts: Counts,
    /// The most memory that its work area took at once, in bytes.
    pub memory_bytes_max: u64,
    /// The bytes that it wrote to temporary files.
    pub temp_bytes: u64,
}
