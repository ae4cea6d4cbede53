//! Settings that alternate in one running instance.
//!
//! ```text
//!   sessions   work on, all the time, all through the experiment
//!   A          B          B          A          ...
//!   ├washout┬──counted──┤├washout┬──counted──┤
//!           ↑           ↑ background, surroundings and statistics are read
//! ```
//!
//! A block ends when each session has ended the turn that it was in when the block's time was over,
//! and has closed its book. So a turn that is long, or a device that stalls, counts as time of the
//! setting under which it began. A block in which the process stood still is made again (LB79).
//!
//! Callers: `session`, in either world.
//! Source: Bojinov, Simchi-Levi & Zhao, "Design and Analysis of Switchback Experiments" (Management
//! Science 2023).

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use database::{Database, Options};
use experiment::{
    Block, Commits, End, Execution, Latency, Level, Measured, News, Origin, Plan, RoundKind, Run,
    Runner, Step, carry_out, whole_rounds,
};
use ids::BlockSize;
use instance::Parameters;
use os::{Disk, Session};
use report::Snapshot;
use report::number::counted;
use stop::{RefusalKind, Stop};
use waits::{Nanos, SessionKind, Statistic, Timestamp, WaitEvent};
use workload::{Latencies, Periods, SessionPeriod, Watch};

use crate::crash::crash;
use crate::full::is_full;
use crate::measure::check;
use crate::setting::run_name;
use crate::standstill::Standstill;
use crate::watcher::{PROBE, Watcher};
use crate::{Form, Setting};

/// The lengths of blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Blocks {
    /// Of a block, washout included.
    pub length: Nanos,
    /// Of its washout: the first part, which isn't counted.
    pub washout: Nanos,
}

impl Blocks {
    /// Whether the blocks of these rows were made as these are. A washout takes whole steps and
    /// never less than it is to; of a few blocks on a busy machine each may take a step more.
    pub(crate) fn are_of(&self, rows: &[Run]) -> bool {
        let step = self.step().0.max(1);
        let blocks = || rows.iter().filter_map(|run| run.block.as_ref());
        let washout = blocks().map(|block| block.washout_ns / step).min();
        let wanted = self.washout.0.div_ceil(step);
        blocks().all(|block| block.step_ns == step)
            && washout.is_none_or(|washout| (wanted..=wanted + 1).contains(&washout))
    }

    fn step(&self) -> Nanos {
        Nanos(self.length.0 / u64::from(STEPS))
    }
}

/// What the note of an experiment begins with that was cut short (LB78, LB79).
pub const CUT_SHORT: &str = "The experiment ended before its time";
/// A block's curve has so many steps.
const STEPS: u32 = 20;
/// How often it is asked whether to stop.
const STOP_LOOK: Nanos = Nanos::from_millis(100);
/// How long a session's book is waited for, where a device stalls; what comes later is left out. A
/// turn that takes long is just what latencies are asked for.
const BOOK_WAIT: Nanos = Nanos::from_secs(30);
const BOOK_LOOK: Nanos = Nanos::from_millis(1);
/// How often a block is tried in which the process stands still, where nothing arrives meanwhile.
const TRIES: u32 = 3;

/// What an experiment in one instance needs.
pub(crate) struct Alternation<'a> {
    pub(crate) plan: Plan,
    pub(crate) blocks: Blocks,
    pub(crate) form: &'a Form,
    pub(crate) settings: &'a [Setting],
    pub(crate) origin: &'a Origin,
    /// The runs that are there already.
    pub(crate) done: Vec<Run>,
}

/// Of each session, the commits that were acknowledged to it.
type Acknowledged = Vec<(u32, u64)>;

/// How the caller follows it.
pub(crate) struct Following<'a> {
    pub(crate) told_to_stop: &'a dyn Fn() -> bool,
    pub(crate) enough: &'a mut dyn FnMut(&[Run]) -> bool,
    pub(crate) news: &'a mut dyn FnMut(News<'_>),
    /// Given, sessions that find no more room, and a process that stands still, end the experiment
    /// with what there is, and it says so here.
    pub(crate) notes: Option<&'a mut Vec<String>>,
}

impl Alternation<'_> {
    /// Which instance it will be: `Block::instance_ns` of its rows.
    pub(crate) fn instance_ns(&self) -> u64 {
        self.done.iter().filter_map(end_ns).max().unwrap_or(0)
    }

    /// Opens the database, carries the plan out, ends the instance as a crash does, and looks for
    /// what sessions were told. Returns the rows, and the commits of all of them.
    pub(crate) fn run(
        self,
        disk: &Disk,
        directory: &Path,
        following: Following<'_>,
        session: &Session,
    ) -> Result<(Execution<Stop>, Commits), Stop> {
        let parameters = with_room(self.form, self.settings)?;
        let options = Options { parameters, ..Options::default() };
        let of_a = |stop| self.of_run(stop, None);
        let database = Database::open_in(disk, directory, &options, session).map_err(of_a)?;
        // The warm-up is A's too.
        let set = self.settings[0].set(&database, session).map_err(of_a);
        let ran = set.and_then(|()| self.conduct(&database, disk, directory, following, session));
        let halted = crash(database, session);
        let (execution, acknowledged) = ran?;
        halted?;
        let commits = check(disk, directory, &options, &self.form.load, &acknowledged, session)?;
        Ok((execution, commits))
    }

    fn conduct(
        &self,
        database: &Database,
        disk: &Disk,
        directory: &Path,
        following: Following<'_>,
        session: &Session,
    ) -> Result<(Execution<Stop>, Acknowledged), Stop> {
        let watcher = Watcher::begin(disk, directory, session)?;
        let periods = Periods::new(session.os());
        let Following { told_to_stop, enough, news, mut notes } = following;
        let (mut execution, mut failure, mut stood) = (None, None, Stood::default());
        let mut last = None;
        let standstill = Standstill::watch(session);
        let mut conduct = |session: &Session, has_ended: &dyn Fn() -> bool| {
            let stop = || told_to_stop() || has_ended();
            let mut conductor = Conductor {
                of: self,
                database,
                periods: &periods,
                watcher: &watcher,
                began: session.now(),
                after_ns: self.instance_ns(),
                session,
                standstill: &standstill,
                stood: Stood::default(),
                last: None,
            };
            let clock = session.os().clock();
            let done = self.done.clone();
            execution =
                Some(carry_out(&self.plan, done, &mut conductor, clock, &stop, enough, news));
            (stood, last) = (conductor.stood, conductor.last);
        };
        // Asked in the warm-up.
        let looking = || {
            standstill.is_seen();
            told_to_stop()
        };
        let watch = Watch {
            periods: Some(Arc::clone(&periods)),
            conduct: Some(&mut conduct),
            told_to_stop: Some(&looking),
            failure: Some(&mut failure),
            ..Watch::default()
        };
        let lengths = [self.form.warm_up, Nanos::ZERO];
        let ran = self.form.load.seeded(self.plan.seed).run(database, lengths, watch, session);
        let watched = watcher.end(session);
        // What the load failed with comes first.
        let acknowledged = ran?.acknowledged();
        let mut execution = execution.expect("a load that ran was conducted");
        notes.iter_mut().for_each(|notes| notes.extend(stood.note()));
        if let Some(refused) = failure {
            let why = is_full(&refused).then_some("there was no more room for rows of history");
            let refused = if why.is_some() { refused } else { self.of_run(refused, last) };
            self.cut_short(&mut execution, why, refused, notes, told_to_stop)?;
        } else if let Some(refused) = self.given_up(&stood) {
            let why = Some("the process stood still");
            self.cut_short(&mut execution, why, refused, notes, told_to_stop)?;
        }
        watched?;
        Ok((execution, acknowledged))
    }

    /// The refusal, which says in which run it came: that of this step, or the warm-up, which is
    /// A's (LB15).
    fn of_run(&self, stop: Stop, step: Option<Step>) -> Stop {
        let run = match step {
            Some(step) => run_name(&step, self.settings),
            None => format!("setting A ({}), warm-up", self.settings[0]),
        };
        stop.map_refusal(|refusal| refusal.led_by(&format!("{run}: ")))
    }

    /// The experiment can't go on. If there is a `why`, what was measured until then holds (LB78,
    /// LB79), if that is a round at least. What had ended before is whole.
    fn cut_short(
        &self,
        execution: &mut Execution<Stop>,
        why: Option<&str>,
        refused: Stop,
        notes: Option<&mut Vec<String>>,
        told_to_stop: &dyn Fn() -> bool,
    ) -> Result<(), Stop> {
        let runs = &execution.runs;
        // What was there comes first, without the rows of a round that was broken off.
        let is_new = |last: &Run| self.done.get(runs.len() - 1) != Some(last);
        let is_compared = |run: &Run| run.identity.kind == RoundKind::Compared;
        let whole = whole_rounds(runs, &self.plan.steps());
        let has_more = runs.last().is_some_and(is_new) && runs[..whole].iter().any(is_compared);
        match (notes, why) {
            (Some(_), Some(_)) if matches!(execution.end, End::Complete) => Ok(()),
            (Some(notes), Some(why)) if has_more => {
                notes.push(format!(
                    "{CUT_SHORT}, after {} blocks: {why}. {refused}",
                    execution.runs.len()
                ));
                if matches!(execution.end, End::Stopped) && !told_to_stop() {
                    execution.end = End::Complete;
                }
                Ok(())
            }
            _ => Err(refused),
        }
    }

    /// How often a block is tried in which the process stands still. Where transactions arrive at a
    /// rate, once: those that arrived meanwhile would be in the next try too.
    fn tries(&self) -> u32 {
        if self.form.load.rate().is_some() { 1 } else { TRIES }
    }

    /// What a block is given up with.
    fn given_up(&self, stood: &Stood) -> Option<Stop> {
        let how = match self.tries() {
            1 => "in it or before it, and what arrived meanwhile waits in it".to_owned(),
            tries => format!("in it {tries} times in a row"),
        };
        stood.has_given_up.then(|| {
            Stop::refuse(
                RefusalKind::WrongState,
                format!(
                    "cannot measure a block: the process stood still {how}; see what stops the \
                     process or pauses its machine, and run the experiment again"
                ),
            )
        })
    }
}

/// The parameters of A, with room for the other settings: an open instance can't get more redo
/// writes in flight or larger caches than it was opened for. Who gives `sga_max_size` itself, or
/// leaves the writes to a probe, gets what that allows.
pub(crate) fn with_room(form: &Form, settings: &[Setting]) -> Result<Parameters, Stop> {
    let of = |setting: &Setting| setting.over(&form.parameters);
    let all = settings.iter().map(of).collect::<Result<Vec<_>, Stop>>()?;
    let mut parameters = all[0].clone();
    let writes = || all.iter().map(|of| of.log_writes_in_flight);
    if writes().all(|writes| writes > 0) {
        parameters.log_writes_in_flight = writes().max().unwrap_or(1);
    }
    // One cache may grow before another one shrinks.
    let room = |all: &[Parameters]| -> u64 {
        let most = |of: &dyn Fn(&Parameters) -> u64| all.iter().map(of).max().unwrap_or(0);
        let others = BlockSize::ALL.into_iter().map(|size| most(&|of| of.bytes_of(size)));
        most(&|of| of.db_cache_size) + others.sum::<u64>()
    };
    if parameters.sga_max_size == 0 && room(&all) > room(&all[..1]) {
        parameters.sga_max_size = room(&all);
    }
    Ok(parameters)
}

/// What became of blocks in which the process stood still.
#[derive(Default)]
struct Stood {
    /// How many were made again, by their setting.
    again: BTreeMap<Level, u32>,
    /// Whether one was tried too often.
    has_given_up: bool,
}

impl Stood {
    /// What the verdict says of those that were made again. If there are many more of one setting,
    /// that setting may have been what held the process up.
    fn note(&self) -> Option<String> {
        let all: u32 = self.again.values().sum();
        let each = self.again.iter().map(|(level, count)| format!("{count} of {level}"));
        let each = each.collect::<Vec<_>>().join(", ");
        (all > 0).then(|| {
            format!(
                "The process stood still while blocks were made (a signal had stopped it, or its \
                 machine was paused). They were dropped and made again: {}, {each}.",
                counted(all.into(), "block")
            )
        })
    }
}

/// When a block ended, since the first setting was set.
fn end_ns(run: &Run) -> Option<u64> {
    run.block.as_ref().map(|block| block.at_ns + block.washout_ns + block.window_ns)
}

/// Makes the blocks, while sessions work.
struct Conductor<'a> {
    of: &'a Alternation<'a>,
    database: &'a Database,
    periods: &'a Periods,
    watcher: &'a Watcher,
    /// When the first setting was set, moved on by the length of each try that was dropped, and of
    /// each standstill between two blocks.
    began: Timestamp,
    /// When the blocks ended that were there before: those to come are behind them.
    after_ns: u64,
    session: &'a Session,
    /// Watches since the warm-up.
    standstill: &'a Standstill<'a>,
    stood: Stood,
    /// The step that began last.
    last: Option<Step>,
}

impl Runner for Conductor<'_> {
    type Error = Stop;

    fn run(&mut self, step: &Step, told_to_stop: &dyn Fn() -> bool) -> Result<Option<Run>, Stop> {
        let (session, standstill) = (self.session, self.standstill);
        self.last = Some(*step);
        let tries = self.of.tries();
        // In the warm-up, or since the last block.
        let before = standstill.take();
        if before > Nanos::ZERO && tries == 1 {
            self.stood.has_given_up = true;
            return Ok(None);
        }
        // Nothing of a setting sinks in while the process stands still.
        self.began = self.began.after(before).min(session.now());
        for tried in 1..=tries {
            let began = session.now();
            self.of.settings[step.level.index()].set(self.database, session)?;
            let run = self.block(step, &|| told_to_stop() || standstill.is_seen());
            if run.is_some() || told_to_stop() {
                return Ok(run);
            }
            standstill.take();
            self.began = self.began.after(session.now().since(began));
            if tried < tries {
                *self.stood.again.entry(step.level).or_default() += 1;
            }
        }
        self.stood.has_given_up = true;
        Ok(None)
    }

    fn expected(&self) -> Option<Nanos> {
        Some(self.of.blocks.length)
    }
}

/// What is read at the begin and at the end of a counted interval.
struct Mark {
    processes: Snapshot,
    moment: crate::watcher::Moment,
}

impl Conductor<'_> {
    /// A block of the setting that was just set; None if it was told to stop.
    fn block(&self, step: &Step, told_to_stop: &dyn Fn() -> bool) -> Option<Run> {
        let session = self.session;
        let setting = &self.of.settings[step.level.index()];
        let Blocks { length, washout } = self.of.blocks;
        let set = session.now();
        self.periods.begin(session);
        let mut curve = Curve::begin(set, self.of.blocks.step(), session);
        // In whole steps.
        let washed = set.after(Nanos(washout.0.div_ceil(curve.step.0) * curve.step.0));
        curve.draw_until(washed, told_to_stop, session);
        let period = self.periods.begin(session);
        let (began, before) = (session.now(), commits(session));
        let begin = self.mark();
        curve.draw_until(set.after(length), told_to_stop, session);
        // What began under the setting ends under it: a stall, or a long turn, is time of it too.
        self.periods.begin(session);
        let books = self.books(period, told_to_stop);
        let (ended, after) = (session.now(), commits(session));
        let end = self.mark();
        if told_to_stop() {
            return None;
        }
        let block = Block {
            at_ns: self.after_ns + set.since(self.began).0,
            instance_ns: self.after_ns,
            washout_ns: began.since(set).0,
            window_ns: ended.since(began).0,
            transactions: after - before,
            step_ns: curve.step.0,
            curve: curve.counts,
        };
        Some(self.row(step, setting, [&begin, &end], books, block))
    }

    fn mark(&self) -> Mark {
        Mark {
            processes: Snapshot::take(self.session, SessionKind::Background),
            moment: self.watcher.moment(self.session),
        }
    }

    /// The closed books of this period, as soon as all sessions are behind it. One that had no turn
    /// in it has none.
    fn books(&self, period: u64, told_to_stop: &dyn Fn() -> bool) -> Vec<SessionPeriod> {
        let session = self.session;
        let (mut books, sessions) = (Vec::new(), self.of.form.load.sessions() as usize);
        let until = session.now().after(BOOK_WAIT);
        loop {
            let are_all = self.periods.behind(period, session) >= sessions;
            let taken = self.periods.take(period, session);
            books.extend(taken.into_iter().filter(|book| book.period == period));
            if are_all || session.now() >= until || told_to_stop() {
                return books;
            }
            session.pause(BOOK_LOOK, session.waiting(WaitEvent::PlSqlLockTimer));
        }
    }

    fn row(
        &self,
        step: &Step,
        setting: &Setting,
        [begin, end]: [&Mark; 2],
        books: Vec<SessionPeriod>,
        block: Block,
    ) -> Run {
        let mut intervals = end.processes.intervals_since(&begin.processes);
        intervals.retain(|interval| interval.name != PROBE);
        let transactions = books.iter().map(|book| book.counted).sum();
        let all = books.iter().map(|book| book.interval.account.elapsed.0).sum::<u64>();
        let elapsed = Nanos(all / (books.len().max(1) as u64));
        let mut latencies = Latencies::default();
        books.iter().for_each(|book| latencies.add(&book.latencies));
        intervals.extend(books.into_iter().map(|book| book.interval));
        let parameters = setting.over(&self.of.form.parameters).expect("it was set");
        let parameters = self.of.form.describe(&parameters);
        let identity = self.of.origin.identity(step, &setting.to_string(), parameters);
        let latency = latency_of(&latencies);
        let measured = Measured { elapsed, transactions, latency, commits: None };
        let mut run = Run::new(identity, measured, &intervals);
        run.surroundings = Some(begin.moment.until(&end.moment));
        run.block = Some(block);
        run
    }
}

/// Percentiles of a run's transactions; None of none.
pub(crate) fn latency_of(latencies: &Latencies) -> Option<Latency> {
    let us = |length: Nanos| length.0 as f64 / 1e3;
    let percentile = |percent| us(latencies.percentile(percent));
    (latencies.count() > 0).then(|| Latency {
        p50_us: percentile(50.0),
        p95_us: percentile(95.0),
        p99_us: percentile(99.0),
        p999_us: percentile(99.9),
        max_us: us(latencies.max()),
        resolution: Latencies::RESOLUTION,
    })
}

/// Commits of all sessions in steps of equal length.
struct Curve {
    step: Nanos,
    next: Timestamp,
    commits: u64,
    counts: Vec<u32>,
}

impl Curve {
    fn begin(at: Timestamp, step: Nanos, session: &Session) -> Curve {
        let next = at.after(step);
        Curve { step, next, commits: commits(session), counts: Vec::new() }
    }

    fn draw_until(&mut self, until: Timestamp, told_to_stop: &dyn Fn() -> bool, session: &Session) {
        while self.next <= until && !told_to_stop() {
            while self.next > session.now() && !told_to_stop() {
                let left = self.next.since(session.now()).min(STOP_LOOK);
                session.pause(left, session.waiting(WaitEvent::PlSqlLockTimer));
            }
            let now = commits(session);
            self.counts.push((now - self.commits) as u32);
            self.commits = now;
            self.next = self.next.after(self.step);
        }
    }
}

fn commits(session: &Session) -> u64 {
    session.os().totals().statistic(Statistic::UserCommits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::origin;

    fn row(step: &Step) -> Run {
        let elapsed = Nanos::from_secs(1);
        let measured = Measured { elapsed, transactions: 1, latency: None, commits: None };
        Run::new(origin().identity(step, "a setting", BTreeMap::new()), measured, &[])
    }

    /// LB78: without a round of all settings the refusal is what there is to say, and of an
    /// experiment that had ended before it there is nothing.
    #[test]
    fn an_experiment_that_is_cut_short_has_a_round_and_one_that_had_ended_is_whole() {
        let plan = Plan { levels: 2, rounds: 3, equals: 1, stretches: 1, together: 1, seed: 1 };
        let rows: Vec<Run> = plan.steps().iter().map(row).collect();
        let is_of_equals = |run: &&Run| run.identity.kind == RoundKind::Equals;
        let before = rows.iter().take_while(is_of_equals).count();
        let (form, origin) = (Form::tiny(), origin());
        let alternation = Alternation {
            plan,
            blocks: Blocks { length: Nanos::from_secs(1), washout: Nanos::ZERO },
            form: &form,
            settings: &[],
            origin: &origin,
            done: Vec::new(),
        };
        let cut = |blocks: usize, end: End<Stop>| {
            let mut execution = Execution { runs: rows[..blocks].to_vec(), end };
            let (why, mut notes) = (Some("it was full"), Vec::new());
            let refused = Stop::refuse(RefusalKind::NoSpace, "full");
            let told = Some(&mut notes);
            let cut = alternation.cut_short(&mut execution, why, refused, told, &|| false);
            (cut.is_ok(), notes.len(), matches!(execution.end, End::Complete))
        };
        assert_eq!(cut(before + 1, End::Stopped), (false, 0, false), "half a round");
        assert_eq!(cut(before + 2, End::Stopped), (true, 1, true), "a round");
        assert_eq!(cut(rows.len(), End::Complete), (true, 0, true), "it had ended");
    }
}
