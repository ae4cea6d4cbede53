//! One input after the other.
//!
//! Invariant: an input is started when the one before is over, so a LIMIT above may never start it.
//!
//! Callers: plans, for UNION ALL.

use expression::Rows;
use stop::Stop;

use crate::{Source, World};

/// The rows of several inputs of one width.
#[derive(Debug)]
pub struct Append<S> {
    inputs: Vec<S>,
    /// The input whose rows come now.
    at: usize,
    /// Whether it was started.
    is_started: bool,
}

impl<S> Append<S> {
    /// The rows of these inputs; there is one at least.
    pub fn new(inputs: Vec<S>) -> Append<S> {
        assert!(!inputs.is_empty(), "the first input says how many columns there are");
        Append { inputs, at: 0, is_started: false }
    }
}

impl<W: World, S: Source<W>> Source<W> for Append<S> {
    fn open(&mut self, _: &mut W) -> Result<(), Stop> {
        (self.at, self.is_started) = (0, false);
        Ok(())
    }

    fn fetch(&mut self, world: &mut W, into: &mut Rows) -> Result<bool, Stop> {
        while let Some(input) = self.inputs.get_mut(self.at) {
            world.check()?;
            if !self.is_started {
                input.open(world)?;
                self.is_started = true;
            }
            if input.fetch(world, into)? {
                return Ok(true);
            }
            (self.at, self.is_started) = (self.at + 1, false);
            if !into.is_empty() {
                break;
            }
        }
        Ok(self.at < self.inputs.len())
    }

    fn close(&mut self, world: &mut W) {
        self.at = self.inputs.len();
        for input in &mut self.inputs {
            input.close(world);
        }
    }

    fn width(&self) -> usize {
        self.inputs[0].width()
    }
}
