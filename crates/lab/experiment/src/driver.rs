//! Carries a plan out.
//!
//! ```text
//!   ┌─▶ told to stop? ──yes──▶ Stopped
//!   │        │ no
//!   │    runner.run ──error──▶ Failed
//!   │        │ └──────none───▶ Stopped (broken off inside)
//!   └── row kept ── last, or enough? ──▶ Complete
//! ```
//!
//! The driver restores nothing and cleans nothing up (EX10).
//!
//! Callers: `lab`.

use os::Clock;
use waits::{Nanos, Timestamp};

use crate::{Plan, Run, Step};

/// Makes runs. By restarts each goes from restored files to its audit; where settings alternate, it
/// is a block of an instance that is open already.
pub trait Runner {
    /// Why a run failed.
    type Error;

    /// Makes the run of `step`. It asks `told_to_stop` several times a second; if told to stop it
    /// returns `None` (rule EX9). Nothing is left running then by restarts; where settings
    /// alternate, sessions work until [`carry_out`] has returned (rule EX10).
    fn run(
        &mut self,
        step: &Step,
        told_to_stop: &dyn Fn() -> bool,
    ) -> Result<Option<Run>, Self::Error>;

    /// The length of a run, if it is known before the first.
    fn expected(&self) -> Option<Nanos> {
        None
    }
}

/// A message about the progress, for a person who waits.
#[derive(Debug)]
pub enum News<'a> {
    /// A run begins.
    Begins(Progress<'a>),
    /// A run has ended, with this row.
    Ended(Progress<'a>, &'a Run),
}

/// How far an experiment has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress<'a> {
    /// The run that begins or has ended.
    pub step: &'a Step,
    /// The number of runs that have ended.
    pub done: u32,
    /// The number of runs in all.
    pub total: u32,
    /// Since the experiment began.
    pub elapsed: Nanos,
    /// The time left, estimated from the mean run so far; before the first has ended, from what the
    /// runner expects; else unknown.
    pub left: Option<Nanos>,
}

/// An experiment that has ended.
#[derive(Debug)]
pub struct Execution<E> {
    /// The rows of whole runs, in the order of the runs.
    pub runs: Vec<Run>,
    /// How it ended.
    pub end: End<E>,
}

/// How an experiment ended.
#[derive(Debug, PartialEq, Eq)]
pub enum End<E> {
    /// All runs were made, or as many as were enough.
    Complete,
    /// It was told to stop.
    Stopped,
    /// A run failed.
    Failed {
        /// Which one.
        step: Step,
        /// Why.
        error: E,
    },
}

/// Makes the runs of `plan` that `done` doesn't hold yet, until all are made, one has failed, it is
/// `told_to_stop`, or `enough`, which is asked first and after each round, says that no more are
/// needed.
/// Reports each to `news`.
pub fn carry_out<R: Runner>(
    plan: &Plan,
    done: Vec<Run>,
    runner: &mut R,
    clock: &Clock,
    told_to_stop: &dyn Fn() -> bool,
    enough: &mut dyn FnMut(&[Run]) -> bool,
    news: &mut dyn FnMut(News<'_>),
) -> Execution<R::Error> {
    let steps = plan.steps();
    let mut runs = done;
    let ends_round = |at: usize| match (steps.get(at), steps.get(at + 1)) {
        (Some(this), Some(next)) => (this.kind, this.round) != (next.kind, next.round),
        _ => true,
    };
    let whole = whole_rounds(&runs, &steps);
    runs.truncate(whole);
    if whole > 0 && enough(&runs) {
        return Execution { runs, end: End::Complete };
    }
    let (began, expected) = (clock.now(), runner.expected());
    let pace = Pace { began, before: whole, expected, total: plan.run_count() };
    for (at, step) in steps.iter().enumerate().skip(whole) {
        if told_to_stop() {
            return Execution { runs, end: End::Stopped };
        }
        news(News::Begins(pace.progress(step, runs.len(), clock.now())));
        match runner.run(step, told_to_stop) {
            Ok(Some(run)) => runs.push(run),
            Ok(None) => return Execution { runs, end: End::Stopped },
            Err(error) => return Execution { runs, end: End::Failed { step: *step, error } },
        }
        let run = runs.last().expect("one was just pushed");
        news(News::Ended(pace.progress(step, runs.len(), clock.now()), run));
        if ends_round(at) && enough(&runs) {
            break;
        }
    }
    Execution { runs, end: End::Complete }
}

/// How many of the first steps these runs are, up to the end of a round.
pub fn whole_rounds(runs: &[Run], steps: &[Step]) -> usize {
    let is_of = |(run, step): &(&Run, &Step)| {
        let identity = &run.identity;
        let place = (identity.kind, identity.round, identity.place, identity.level);
        let seeds = (identity.load_seed, identity.world_seed);
        place == (step.kind, step.round, step.place, step.level)
            && seeds == (step.load_seed, step.world_seed)
    };
    let same = runs.iter().zip(steps).take_while(is_of).count();
    let mut whole = same;
    while whole > 0
        && steps.get(whole).is_some_and(|next| {
            let last = &steps[whole - 1];
            (last.kind, last.round) == (next.kind, next.round)
        })
    {
        whole -= 1;
    }
    whole
}

struct Pace {
    began: Timestamp,
    /// The runs that were there at the begin.
    before: usize,
    expected: Option<Nanos>,
    total: u32,
}

impl Pace {
    /// Runs are alike, so the mean so far tells how long the others take.
    fn progress<'a>(&self, step: &'a Step, done: usize, now: Timestamp) -> Progress<'a> {
        let (elapsed, since) = (now.since(self.began), (done - self.before) as u64);
        let a_run = elapsed.0.checked_div(since).map(Nanos).or(self.expected);
        let done = u32::try_from(done).expect("a plan has a few hundred thousand runs at most");
        let left = a_run.map(|a_run| Nanos(a_run.0.saturating_mul((self.total - done).into())));
        Progress { step, done, total: self.total, elapsed, left }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;

    use os::{Cost, VirtualClock};

    use super::*;
    use crate::row::tests::run_of;

    /// Takes ten seconds a run; fails at one, is broken off inside one.
    struct Fake {
        time: Arc<VirtualClock>,
        made: Vec<Step>,
        fails_at: Option<usize>,
        stops_inside: Option<usize>,
    }

    impl Runner for Fake {
        type Error = &'static str;

        fn run(
            &mut self,
            step: &Step,
            told_to_stop: &dyn Fn() -> bool,
        ) -> Result<Option<Run>, &'static str> {
            self.time.charge(10_000_000_000);
            self.made.push(*step);
            if self.fails_at == Some(self.made.len()) {
                return Err("no space");
            }
            if self.stops_inside == Some(self.made.len()) || told_to_stop() {
                return Ok(None);
            }
            Ok(Some(run_of(step, 1_000)))
        }
    }

    fn fake() -> (Fake, Clock) {
        let time = Arc::new(VirtualClock::new([0; Cost::COUNT]));
        let clock = Clock::virtual_time(Arc::clone(&time));
        let made = Vec::new();
        (Fake { time, made, fails_at: None, stops_inside: None }, clock)
    }

    const PLAN: Plan = Plan { levels: 2, rounds: 4, equals: 2, stretches: 2, together: 1, seed: 1 };

    fn all(
        runner: &mut Fake,
        clock: &Clock,
        told_to_stop: &dyn Fn() -> bool,
        news: &mut dyn FnMut(News<'_>),
    ) -> Execution<&'static str> {
        carry_out(&PLAN, Vec::new(), runner, clock, told_to_stop, &mut |_| false, news)
    }

    #[test]
    fn all_runs_are_made_in_the_order_of_the_plan() {
        let (mut runner, clock) = fake();
        let done = all(&mut runner, &clock, &|| false, &mut |_| {});
        assert_eq!(done.end, End::Complete);
        assert_eq!(runner.made, PLAN.steps());
        assert_eq!(done.runs.len(), 12);
    }

    /// Rows that have decided already need no more.
    #[test]
    fn nothing_is_run_where_the_rows_that_are_there_are_enough() {
        let done: Vec<Run> = PLAN.steps()[..4].iter().map(|step| run_of(step, 1_000)).collect();
        let (mut runner, clock) = fake();
        let enough = &mut |runs: &[Run]| runs.len() == 4;
        let now = carry_out(&PLAN, done, &mut runner, &clock, &|| false, enough, &mut |_| {});
        assert_eq!((now.runs.len(), now.end), (4, End::Complete));
        assert_eq!(runner.made, []);
    }

    #[test]
    fn progress_says_how_much_time_is_left() {
        let (mut runner, clock) = fake();
        let mut told = Vec::new();
        let _ = all(&mut runner, &clock, &|| false, &mut |news| {
            let (News::Begins(progress) | News::Ended(progress, _)) = news;
            told.push((progress.done, progress.elapsed.0 / 1_000_000_000, progress.left));
        });
        assert_eq!(told[0], (0, 0, None), "nothing is known before the first run");
        assert_eq!(told[1], (1, 10, Some(Nanos::from_secs(110))));
        assert_eq!(told[2], (1, 10, Some(Nanos::from_secs(110))));
        assert_eq!(told.last(), Some(&(12, 120, Some(Nanos::ZERO))));
    }

    /// Four runs were there at the begin: they took no time of this one.
    #[test]
    fn the_time_left_is_by_the_runs_since_the_begin() {
        let done: Vec<Run> = PLAN.steps()[..4].iter().map(|step| run_of(step, 1_000)).collect();
        let (mut runner, clock) = fake();
        let mut left = Vec::new();
        let mut news = |news: News<'_>| {
            let (News::Begins(progress) | News::Ended(progress, _)) = news;
            left.push(progress.left);
        };
        let enough = &mut |_: &[Run]| false;
        let _ = carry_out(&PLAN, done, &mut runner, &clock, &|| false, enough, &mut news);
        assert_eq!((left[0], left[1]), (None, Some(Nanos::from_secs(70))));
    }

    /// A plan that goes on until it knows has hundreds of thousands of runs, of a day each.
    #[test]
    fn the_time_left_of_a_long_plan_does_not_overflow() {
        let expected = Some(Nanos::from_secs(86_400));
        let pace = Pace { began: Timestamp::ZERO, before: 0, expected, total: 300_000 };
        let step = PLAN.steps()[0];
        assert_eq!(pace.progress(&step, 0, Timestamp::ZERO).left, Some(Nanos(u64::MAX)));
    }

    /// Rule EX4: between runs.
    #[test]
    fn told_between_runs_it_stops_before_the_next_and_keeps_the_rows() {
        let (mut runner, clock) = fake();
        let stop = Cell::new(false);
        let done = all(&mut runner, &clock, &|| stop.get(), &mut |news| {
            if let News::Ended(progress, _) = news {
                stop.set(progress.done == 3);
            }
        });
        assert_eq!((done.end, done.runs.len(), runner.made.len()), (End::Stopped, 3, 3));
    }

    /// Rule EX4: inside a run, which leaves no row.
    #[test]
    fn told_inside_a_run_it_stops_without_that_row() {
        let (mut runner, clock) = fake();
        runner.stops_inside = Some(4);
        let done = all(&mut runner, &clock, &|| false, &mut |_| {});
        assert_eq!((done.end, done.runs.len(), runner.made.len()), (End::Stopped, 3, 4));
    }

    #[test]
    fn a_run_that_fails_ends_the_experiment_with_its_step_and_the_rows_before() {
        let (mut runner, clock) = fake();
        runner.fails_at = Some(2);
        let done = all(&mut runner, &clock, &|| false, &mut |_| {});
        assert_eq!(done.end, End::Failed { step: PLAN.steps()[1], error: "no space" });
        assert_eq!(done.runs.len(), 1);
    }
}
