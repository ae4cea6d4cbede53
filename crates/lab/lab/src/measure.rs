//! One run, in either world: open, load, measure between two marks, crash, open again, audit.

use std::path::Path;

use database::{Database, Options};
use experiment::{Commits, Measured};
use instance::Parameters;
use os::{Disk, Session};
use report::{SessionInterval, Snapshot};
use stop::{RefusalKind, Stop};
use waits::SessionKind;
use workload::{Mixture, Watch};

use crate::crash::crash;

/// The figures of a run.
pub(crate) struct RunMeasured {
    pub(crate) measured: Measured,
    pub(crate) intervals: Vec<SessionInterval>,
}

/// Makes a run and measures it. None if it was told to stop meanwhile.
pub(crate) fn measure(
    disk: &Disk,
    directory: &Path,
    parameters: &Parameters,
    mixture: Mixture,
    told_to_stop: &dyn Fn() -> bool,
    session: &Session,
) -> Result<Option<RunMeasured>, Stop> {
    let options = Options { parameters: parameters.clone(), ..Options::default() };
    let database = Database::open_in(disk, directory, &options, session)?;
    let mut marks = Vec::new();
    let mut mark = |session: &Session| marks.push(Snapshot::take(session, SessionKind::Background));
    let watch =
        Watch { told_to_stop: Some(told_to_stop), at_bound: Some(&mut mark), ..Watch::default() };
    let ran = workload::run(&database, mixture, watch, session);
    let halted = crash(database, session);
    let ran = ran?;
    halted?;
    if told_to_stop() {
        return Ok(None);
    }
    let [begin, end] = &marks[..] else { unreachable!("a run has two marks") };
    let mut intervals = end.intervals_since(begin);
    intervals.extend(ran.sessions.iter().map(|session| session.interval.clone()));
    let commits = check(disk, directory, &options, &ran.acknowledged(), session)?;
    let (elapsed, transactions) = (ran.elapsed, ran.counted());
    let measured = Measured { elapsed, transactions, latency: None, commits: Some(commits) };
    Ok(Some(RunMeasured { measured, intervals }))
}

/// Opens the database after its crash and compares it with what sessions were told (LB2).
fn check(
    disk: &Disk,
    directory: &Path,
    options: &Options,
    acknowledged: &[(u32, u64)],
    session: &Session,
) -> Result<Commits, Stop> {
    let database = Database::open_in(disk, directory, options, session)?;
    let audit = workload::audit(&mut database.connect_with(session), acknowledged, false);
    let halted = crash(database, session);
    let audit = audit?;
    halted?;
    if let Some(first) = audit.unbalanced.iter().chain(&audit.untold).next() {
        let message = format!("the books don't balance after the run: {first}");
        return Err(Stop::refuse(RefusalKind::Corrupt, message));
    }
    Ok(Commits { acknowledged: audit.acknowledged, found: audit.acknowledged - audit.lost })
}
