//! Each kind of statement while the disk fails: each operation of the disk in turn, once.
//!
//! | the statement | then |
//! |---|---|
//! | is done | all that it does is there |
//! | is refused | nothing of it is there, and the session goes on |
//! | meets a halt | behind the next opening all of it is there, or nothing |

use std::sync::Arc;

use database::Database;
use os::Session;
use sim::World;
use sim::fs::FileSystem;
use sim::fs::faults::Fault;

use crate::bed::{How, in_world, open, shut};
use crate::kinds::{Class, Halfway, Kind};
use crate::neighbour::Expected;
use crate::picture::Picture;
use crate::probe::Probe;
use crate::stage::{Came, Disturbance, Mode, Said, Stage};

/// Faults that an operation has in turn.
const FAULTS: [Fault; 2] = [Fault::Eio, Fault::Enospc];

/// What came up.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Failed {
    pub(crate) tries: u64,
    pub(crate) refused: u64,
    pub(crate) halted: u64,
    pub(crate) worlds: u64,
}

/// Operations that fail: the first one, and after how many the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    pub(crate) from: u64,
    pub(crate) stride: u64,
}

/// Has each of these operations fail, until the statement has no so many.
pub(crate) fn failing(
    kind: &Arc<Kind>,
    probe: &Arc<Probe>,
    places: Places,
    base: &FileSystem,
) -> Result<Failed, String> {
    let (mut all, mut left) = (Failed::default(), Some(places));
    while let Some(places) = left {
        let (inside, known) = (Arc::clone(kind), Arc::clone(probe));
        let how = How::of(places.from);
        let in_one = in_world(how, base, move |world, session| {
            let database = open(how.failpoints, world, session)?;
            until_it_ends(database, &inside, &known, places, world, session)
        })?;
        all.worlds += 1;
        all.tries += in_one.counts.tries;
        all.refused += in_one.counts.refused;
        all.halted += in_one.counts.halted;
        left = in_one.next.map(|from| Places { from, ..places });
    }
    Ok(all)
}

/// What came up in a world.
struct InWorld {
    /// The first place that is left, if there are more.
    next: Option<u64>,
    counts: Failed,
}

/// Tries it at one place after the other, until it is done, or the instance halts.
fn until_it_ends(
    database: Database,
    kind: &Kind,
    probe: &Probe,
    places: Places,
    world: &World,
    session: &Session,
) -> Result<InWorld, String> {
    let sums = match kind.class {
        Class::Definition => Vec::new(),
        Class::Rows | Class::Query | Class::Lock => probe.sums.to_vec(),
    };
    let mut stage = Stage::new(world, &database, Expected { sums, may_fail: true }, session)?;
    let base = stage.picture()?;
    let (mut counts, mut n) = (Failed::default(), places.from);
    loop {
        let number = n / places.stride;
        let fault = FAULTS[(number % 2) as usize];
        let mode = kind.class.mode(number / 2);
        let disturbance = Disturbance::Fault(n, fault);
        let came = stage.try_once(kind, &(kind.whole)(), mode, disturbance, &base);
        counts.tries += 1;
        let injected = stage.injected.clone();
        let told = |what: String| format!("{what}\n{mode:?}, place {n}: {injected:?}");
        let next = (!injected.is_empty()).then_some(n + places.stride);
        if stage.is_halted() {
            let (said, after_all) = (stage.said, allowed(stage.said, mode, probe, kind));
            counts.halted += 1;
            stage.abandon()?;
            drop(database);
            let opened = opens_as(&after_all, world, session);
            opened.map_err(|what| told(format!("it said {said:?}, and behind a halt {what}")))?;
            return Ok(InWorld { next, counts });
        }
        match came.map_err(told)? {
            Came::Refused(refused) => {
                counts.refused += 1;
                let text = refused.to_string();
                if text.is_empty() || text.contains('\n') {
                    return Err(told(format!("it doesn't say in one line what failed: {text}")));
                }
            }
            Came::Done if mode == Mode::Within || kind.class == Class::Query => {}
            Came::Done => {
                stage.picture()?.lasts_as(&probe.after).map_err(told)?;
                stage.end()?;
                shut(database, world, session)?;
                return Ok(InWorld { next, counts });
            }
            Came::Halted => return Err(told("a call said that the instance has halted".into())),
        }
        let Some(next) = next else {
            stage.end()?;
            shut(database, world, session)?;
            return Ok(InWorld { next: None, counts });
        };
        n = next;
    }
}

/// What may be there behind a halt.
fn allowed(said: Said, mode: Mode, probe: &Probe, kind: &Kind) -> Vec<Picture> {
    let (before, after) = (probe.before.clone(), probe.after.clone());
    match (said, mode) {
        (Said::Nothing | Said::Refused, _) | (_, Mode::Within) => vec![before],
        (Said::Done, Mode::Alone) => vec![after],
        (Said::Halted, Mode::Alone) => {
            let halfway = kind.halfway.map(|Halfway::Empty(table)| after.emptied(table));
            [Some(before), Some(after), halfway].into_iter().flatten().collect()
        }
    }
}

/// The database opens, has one of these in it, and is in order.
fn opens_as(allowed: &[Picture], world: &World, session: &Session) -> Result<(), String> {
    let database = open(stop::Failpoints::NONE, world, session)?;
    let mut connection = database.connect_with(session);
    let found = Picture::take(&mut connection, &database, world, session)?;
    drop(connection);
    let differences: Vec<String> =
        allowed.iter().filter_map(|picture| found.lasts_as(picture).err()).collect();
    shut(database, world, session)?;
    match differences.len() < allowed.len() {
        true => Ok(()),
        false => Err(format!("none of what may be there is: {}", differences.join("; or "))),
    }
}
