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
//!   * rows that were taken out of the frame are put back, also when a panic goes through
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
        let SharedReader { number, reader, .. } = self;
        lent(
            world,
            |world| &mut world.frame.shared[*number],
            |rows, world| work(reader, rows, world),
        )
    }
}

/// Does `work` with what is at a place of the world, which hasn't it meanwhile. It is put back,
/// also when `work` panics: who closes what the world has comes to it again.
fn lent<W, T, R, P>(world: &mut W, place: P, work: impl FnOnce(&mut T, &mut W) -> R) -> R
where
    P: Fn(&mut W) -> &mut Option<T>,
{
    let taken = place(world).take().expect("a query of WITH doesn't read itself");
    let mut lent = Lent { world, place, taken: Some(taken) };
    let Lent { world, taken, .. } = &mut lent;
    work(taken.as_mut().expect("it was just put there"), world)
}

/// What was taken out of the world, until it is put back.
struct Lent<'w, W, T, P>
where
    P: Fn(&mut W) -> &mut Option<T>,
{
    world: &'w mut W,
    place: P,
    taken: Option<T>,
}

impl<W, T, P> Drop for Lent<'_, W, T, P>
where
    P: Fn(&mut W) -> &mut Option<T>,
{
    fn drop(&mut self) {
        let taken = self.taken.take();
        *(self.place)(self.world) = taken;
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

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    fn second(world: &mut [Option<i32>; 2]) -> &mut Option<i32> {
        &mut world[1]
    }

    #[test]
    fn what_was_lent_is_put_back_also_behind_a_panic() {
        let mut world = [None, Some(3)];
        let seen = lent(&mut world, second, |three, world| {
            *three += 1;
            world[1].is_none()
        });
        assert!(seen, "it is out meanwhile");
        assert_eq!(world, [None, Some(4)]);
        let within = |three: &mut i32, _: &mut [Option<i32>; 2]| assert!(*three < 0, "it panics");
        let panics = AssertUnwindSafe(|| lent(&mut world, second, within));
        assert!(catch_unwind(panics).is_err());
        assert_eq!(world, [None, Some(4)]);
    }
}
