//! One run, in either world: open, load, measure between two marks, crash, open again, audit.

use std::path::Path;

use database::{Database, Options};
use experiment::{Commits, Measured, Surroundings};
use instance::Parameters;
use os::{Disk, Session};
use report::{SessionInterval, Snapshot};
use stop::Stop;
use waits::{Nanos, SessionKind};
use workload::{Latencies, Watch};

use crate::alternate::latency_of;
use crate::crash::crash;
use crate::load::Load;
use crate::watcher::{PROBE, Watcher};

/// The figures of a run.
pub(crate) struct RunMeasured {
    pub(crate) measured: Measured,
    pub(crate) intervals: Vec<SessionInterval>,
    pub(crate) surroundings: Surroundings,
}

/// Makes a run and measures it. None if it was told to stop meanwhile.
pub(crate) fn measure(
    disk: &Disk,
    directory: &Path,
    parameters: &Parameters,
    load: &Load,
    lengths: [Nanos; 2],
    told_to_stop: &dyn Fn() -> bool,
    session: &Session,
) -> Result<Option<RunMeasured>, Stop> {
    let options = Options { parameters: parameters.clone(), ..Options::default() };
    let database = Database::open_in(disk, directory, &options, session)?;
    let watcher = Watcher::begin(disk, directory, session)?;
    let mut marks = Vec::new();
    let mut mark = |session: &Session| {
        marks.push((Snapshot::take(session, SessionKind::Background), watcher.moment(session)));
    };
    let watch =
        Watch { told_to_stop: Some(told_to_stop), at_bound: Some(&mut mark), ..Watch::default() };
    let ran = load.run(&database, lengths, watch, session);
    let watched = watcher.end(session);
    let halted = crash(database, session);
    // What the load failed with comes first.
    let ran = ran?;
    halted?;
    watched?;
    if told_to_stop() {
        return Ok(None);
    }
    let [begin, end] = &marks[..] else { unreachable!("a run has two marks") };
    let mut intervals = end.0.intervals_since(&begin.0);
    intervals.retain(|interval| interval.name != PROBE);
    intervals.extend(ran.sessions.iter().map(|session| session.interval.clone()));
    let commits = check(disk, directory, &options, load, &ran.acknowledged(), session)?;
    let mut latencies = Latencies::default();
    ran.types().values().for_each(|of_type| latencies.add(of_type));
    let (elapsed, transactions, latency) = (ran.elapsed, ran.counted(), latency_of(&latencies));
    let measured = Measured { elapsed, transactions, latency, commits: Some(commits) };
    let surroundings = begin.1.until(&end.1);
    Ok(Some(RunMeasured { measured, intervals, surroundings }))
}

/// Opens the database after its crash and compares it with what sessions were told (LB2).
pub(crate) fn check(
    disk: &Disk,
    directory: &Path,
    options: &Options,
    load: &Load,
    acknowledged: &[(u32, u64)],
    session: &Session,
) -> Result<Commits, Stop> {
    let database = Database::open_in(disk, directory, options, session)?;
    let audit = load.audit(&mut database.connect_with(session), acknowledged);
    let halted = crash(database, session);
    let lost = audit?;
    halted?;
    let told: u64 = acknowledged.iter().map(|(_, commits)| commits).sum();
    Ok(Commits { acknowledged: told, found: told - lost })
}
