//! A row source that charges for its work, in the simulator: for each start, and each row that it
//! gives (rule SQ67).
//!
//! Invariant: it charges once a call and not once a row, with no latch held. On Linux a charge is a
//! branch.
//!
//! Callers: `build`.

use expression::Rows;
use os::Cost;
use rowsource::{Source, WorkArea, World};
use stop::Stop;

/// A source whose work is charged.
pub(super) struct Charged<S> {
    source: S,
}

impl<S> Charged<S> {
    /// The rows of `source`.
    pub(super) fn new(source: S) -> Charged<S> {
        Charged { source }
    }
}

impl<W: World, S: Source<W>> Source<W> for Charged<S> {
    fn open(&mut self, world: &mut W) -> Result<(), Stop> {
        world.session().charge(Cost::SourceStart, 1);
        self.source.open(world)
    }

    fn fetch(&mut self, world: &mut W, into: &mut Rows) -> Result<bool, Stop> {
        let fetched = self.source.fetch(world, into);
        // The batch was empty (rule rowsource/RS1). A refused source has given some rows, too.
        world.session().charge(Cost::RowPassed, into.len() as u64);
        fetched
    }

    fn close(&mut self, world: &mut W) {
        self.source.close(world);
    }

    fn width(&self) -> usize {
        self.source.width()
    }

    fn work_area(&self) -> WorkArea {
        self.source.work_area()
    }
}
