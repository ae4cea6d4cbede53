//! Each kind of statement, ended at every moment of the time that it takes: cancelled by another
//! thread, or for it has had its time.

use std::sync::Arc;

use database::SqlState;
use sim::fs::FileSystem;
use waits::Nanos;

use crate::bed::{How, in_world, open, shut};
use crate::kinds::{Class, Kind};
use crate::neighbour::Expected;
use crate::probe::Probe;
use crate::stage::{Came, Disturbance, Mode, Stage};

/// Of so many moments one is a time-out rather than a cancel.
const TIME_OUT_ONE_IN: u64 = 10;

/// What came up.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Ended {
    pub(crate) tries: u64,
    /// Statements that were ended.
    pub(crate) ended: u64,
    pub(crate) worlds: u64,
    /// Turns that another session had meanwhile.
    pub(crate) turns: u64,
}

impl Ended {
    /// Adds what came up of another kind.
    pub(crate) fn add(&mut self, other: &Ended) {
        let Ended { tries, ended, worlds, turns } = *other;
        self.tries += tries;
        self.ended += ended;
        self.worlds += worlds;
        self.turns += turns;
    }
}

/// Moments of a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moments {
    /// So many its time has.
    pub(crate) count: u64,
    /// The first one that is tried, and after how many the next.
    pub(crate) from: u64,
    pub(crate) stride: u64,
}

/// Tries it at each of these moments. Where it is done all the same, a new world goes on.
pub(crate) fn cancelled(
    kind: &Arc<Kind>,
    probe: &Arc<Probe>,
    moments: Moments,
    base: &FileSystem,
) -> Result<Ended, String> {
    let (mut all, mut left) = (Ended::default(), moments);
    while left.from < left.count {
        let (inside, known) = (Arc::clone(kind), Arc::clone(probe));
        let how = How::of(left.from);
        let ended = in_world(how, base, move |world, session| {
            let database = open(how.failpoints, world, session)?;
            let sums = match inside.class {
                Class::Definition => Vec::new(),
                Class::Rows | Class::Query | Class::Lock => known.sums.to_vec(),
            };
            let expected = Expected { sums, may_fail: false };
            let mut stage = Stage::new(world, &database, expected, session)?;
            let mut ended = until_done(&mut stage, &inside, &known, left)?;
            ended.counts.turns = stage.neighbours_turns();
            stage.end()?;
            shut(database, world, session)?;
            Ok(ended)
        })?;
        all.add(&Ended { worlds: 1, ..ended.counts });
        left.from = ended.next;
    }
    Ok(all)
}

/// What came up in a world.
struct InWorld {
    /// The first moment that is left.
    next: u64,
    counts: Ended,
}

/// Ends it moment by moment, until it is done: then what it does is there.
fn until_done(
    stage: &mut Stage<'_>,
    kind: &Kind,
    probe: &Probe,
    moments: Moments,
) -> Result<InWorld, String> {
    let base = stage.picture()?;
    let Moments { count, from, stride } = moments;
    let mut counts = Ended::default();
    for moment in (from..count).step_by(stride as usize) {
        let number = moment / stride;
        let mode = kind.class.mode(number);
        let after = Nanos(probe.took.0 * moment / count);
        let disturbance = match number % TIME_OUT_ONE_IN {
            9 => Disturbance::TimeOut(after),
            _ => Disturbance::Cancel(after),
        };
        let told = |what: String| format!("{what}\n{mode:?}, {disturbance:?} of {}", probe.took);
        counts.tries += 1;
        match stage.try_once(kind, &(kind.whole)(), mode, disturbance, &base).map_err(told)? {
            Came::Refused(refused) if refused.state() == SqlState::QUERY_CANCELED => {
                counts.ended += 1;
            }
            Came::Done if mode == Mode::Within || kind.class == Class::Query => {}
            Came::Done => {
                stage.picture()?.lasts_as(&probe.after).map_err(told)?;
                return Ok(InWorld { next: moment + stride, counts });
            }
            came => return Err(told(format!("it came to {came:?}"))),
        }
    }
    Ok(InWorld { next: count, counts })
}
