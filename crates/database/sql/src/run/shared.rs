//! Queries that are computed once, however often their rows are read: those of WITH.
//!
//! ```text
//!   reader ─┐
//!   reader ─┼─▶ SharedRows of the frame: computed when the first reader starts, then kept
//!   reader ─┘
//! ```
//!
//! Invariants
//!   * a query is computed once for each start of its frame, also one that calls volatile functions
//!   * a query reads those before it alone, so none reads itself
//!
//! Callers: `machine` keeps them; `build` makes readers.

use expression::Rows;
use rowsource::{BATCH_ROWS_MAX, Source, World};
use stop::Stop;

use super::kept::{KeptReader, KeptRows};
use super::machine::{Boxed, Running};

/// The rows of a query that is computed once.
pub(super) struct SharedRows {
    source: Boxed,
    kept: KeptRows,
    is_computed: bool,
}

impl SharedRows {
    /// The rows of this source, which aren't computed yet, for this many readers.
    pub(super) fn new(source: Boxed, width: usize, readers: usize) -> SharedRows {
        SharedRows { source, kept: KeptRows::new(width, readers), is_computed: false }
    }

    /// Has the rows computed again when they are asked for next.
    pub(super) fn forget(&mut self) {
        self.is_computed = false;
    }

    /// Computes the rows, unless they are.
    fn compute(&mut self, world: &mut Running<'_>) -> Result<(), Stop> {
        if self.is_computed {
            return Ok(());
        }
        self.kept.clear(world.env.host);
        let before = world.batch();
        world.set_batch(BATCH_ROWS_MAX);
        let done = self.keep_all(world);
        world.set_batch(before);
        self.source.close(world);
        self.is_computed = done.is_ok();
        done
    }

    fn keep_all(&mut self, world: &mut Running<'_>) -> Result<(), Stop> {
        let host = world.env.host;
        let mut batch = Rows::new(self.kept.width());
        self.source.open(world)?;
        let mut more = true;
        while more {
            world.check()?;
            batch.clear();
            more = self.source.fetch(world, &mut batch)?;
            self.kept.append(&batch, host)?;
        }
        self.kept.finish(host)
    }

    /// Gives memory and files back.
    pub(super) fn close(&mut self, world: &mut Running<'_>) {
        self.is_computed = false;
        self.kept.clear(world.env.host);
        self.source.close(world);
    }
}

/// A reader of a query that is computed once.
pub(super) struct SharedReader {
    number: usize,
    width: usize,
    reader: KeptReader,
}

impl SharedReader {
    /// A reader of the query with this number.
    pub(super) fn new(number: usize, width: usize) -> SharedReader {
        SharedReader { number, width, reader: KeptReader::default() }
    }

    /// Does `work` with the rows, which are taken out of the frame meanwhile.
    fn with<'a, T>(
        &mut self,
        world: &mut Running<'a>,
        work: impl FnOnce(&mut KeptReader, &mut SharedRows, &mut Running<'a>) -> T,
    ) -> T {
        let taken = world.frame.shared[self.number].take();
        let mut rows = taken.expect("a query of WITH doesn't read itself");
        let done = work(&mut self.reader, &mut rows, world);
        world.frame.shared[self.number] = Some(rows);
        done
    }
}

impl<'a> Source<Running<'a>> for SharedReader {
    fn open(&mut self, world: &mut Running<'a>) -> Result<(), Stop> {
        self.with(world, |reader, rows, world| {
            rows.compute(world)?;
            rows.kept.close_reader(reader, world.env.host);
            *reader = KeptReader::default();
            Ok(())
        })
    }

    fn fetch(&mut self, world: &mut Running<'a>, into: &mut Rows) -> Result<bool, Stop> {
        world.check()?;
        let most = world.batch();
        self.with(world, |reader, rows, world| rows.kept.read(reader, most, into, world.env.host))
    }

    fn close(&mut self, world: &mut Running<'a>) {
        self.with(world, |reader, rows, world| {
            rows.kept.close_reader(reader, world.env.host);
        });
    }

    fn width(&self) -> usize {
        self.width
    }
}
