//! What a source does, measured: for EXPLAIN ANALYZE.
//!
//! Invariants
//!   * the figures of a source include those of the sources below it, but for rows, memory, space
//!   * a source that isn't measured costs nothing
//!
//! Callers: plans of statements that are explained.

use expression::Rows;
use stop::Stop;
use waits::Nanos;

use crate::{Source, WorkArea, World};

/// An input whose figures the world keeps.
#[derive(Debug)]
pub struct Measured<S> {
    input: S,
    place: usize,
}

impl<S> Measured<S> {
    /// The rows of `input`; its figures are those with number `place` ([`World::figures`]).
    pub fn new(input: S, place: usize) -> Measured<S> {
        Measured { input, place }
    }

    /// Does a call of the input, and adds to its figures.
    fn measure<W: World, T>(&mut self, world: &mut W, call: impl FnOnce(&mut S, &mut W) -> T) -> T
    where
        S: Source<W>,
    {
        let (began, before) = (world.session().now(), world.counts());
        let done = call(&mut self.input, world);
        let elapsed = world.session().now().since(began);
        let counts = world.counts().since(before);
        let WorkArea { memory_bytes_max, temp_bytes } = self.input.work_area();
        let figures = world.figures(self.place);
        figures.elapsed = Nanos(figures.elapsed.0 + elapsed.0);
        figures.counts.add(counts);
        figures.memory_bytes_max = figures.memory_bytes_max.max(memory_bytes_max);
        figures.temp_bytes = figures.temp_bytes.max(temp_bytes);
        done
    }
}

impl<W: World, S: Source<W>> Source<W> for Measured<S> {
    fn open(&mut self, world: &mut W) -> Result<(), Stop> {
        world.figures(self.place).starts += 1;
        self.measure(world, |input, world| input.open(world))
    }

    fn fetch(&mut self, world: &mut W, into: &mut Rows) -> Result<bool, Stop> {
        let fetched = self.measure(world, |input, world| input.fetch(world, into));
        if fetched.is_ok() {
            world.figures(self.place).rows += into.len() as u64;
        }
        fetched
    }

    fn close(&mut self, world: &mut W) {
        self.measure(world, |input, world| input.close(world));
    }

    fn width(&self) -> usize {
        self.input.width()
    }

    fn work_area(&self) -> WorkArea {
        self.input.work_area()
    }
}
