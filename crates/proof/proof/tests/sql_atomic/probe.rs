//! What a kind of statement does when nothing is in its way: what is there then, and how long it
//! takes.

use std::sync::Arc;

use sim::Perturbation;
use sim::fs::FileSystem;
use waits::Nanos;

use crate::bed::{How, in_world, open, shut};
use crate::kinds::Kind;
use crate::neighbour::{Expected, sum};
use crate::picture::Picture;
use crate::stage::{Came, Disturbance, Stage};

/// What is known of a kind.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    pub(crate) before: Picture,
    pub(crate) after: Picture,
    /// The time of a statement.
    pub(crate) took: Nanos,
    /// What a session sees of the rows before and after.
    pub(crate) sums: [String; 2],
}

/// Does a statement of this kind, alone if it can be.
pub(crate) fn probe(kind: &Arc<Kind>, base: &FileSystem) -> Result<Probe, String> {
    let inside = Arc::clone(kind);
    let how = How { perturbation: Perturbation::NONE, ..How::of(0) };
    in_world(how, base, move |world, session| {
        let database = open(how.failpoints, world, session)?;
        let mut stage = Stage::new(world, &database, Expected::default(), session)?;
        let before = stage.picture()?;
        // A statement that drops the table has no sum behind it.
        let sum_before = sum(stage.observer())?;
        let (mode, nothing) = (inside.class.mode(0), Disturbance::Nothing);
        let came = stage.try_once(&inside, &(inside.whole)(), mode, nothing, &before)?;
        if !matches!(came, Came::Done) {
            return Err(format!("a sound statement isn't done: {came:?}"));
        }
        let took = stage.took;
        let after = stage.picture()?;
        let sum_after = sum(stage.observer()).unwrap_or_default();
        stage.end()?;
        shut(database, world, session)?;
        Ok(Probe { before, after, took, sums: [sum_before, sum_after] })
    })
}
