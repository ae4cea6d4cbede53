//! What a person who waits is told.
//!
//! Callers: `session`.

use experiment::{News, Plan, Progress, RoundKind, Rule, Run, decide, foremost, whole_rounds};
use waits::{Nanos, Timestamp};

use crate::Follower;

/// Tells the progress of an experiment, with the estimate so far, and hands its rows on.
pub(crate) struct Teller<'a> {
    rule: Rule,
    plan: Plan,
    /// How long it may take, where that is bounded.
    budget: Option<Nanos>,
    follower: &'a mut dyn Follower,
    /// The rows that the driver has, too.
    rows: Vec<Run>,
    estimate: String,
    /// When a line was told last, since the begin.
    told: Option<Nanos>,
    /// Which of how many executions of the plan this is.
    part: usize,
    parts: usize,
}

/// Lines for a log are this far apart.
const TELL_EVERY: Nanos = Nanos::from_secs(10);

impl<'a> Teller<'a> {
    /// Of the rows that were there before, those of a round that was broken off are made again
    /// (EX15).
    pub(crate) fn new(
        rule: Rule,
        plan: Plan,
        budget: Option<Nanos>,
        done: &[Run],
        follower: &'a mut dyn Follower,
    ) -> Teller<'a> {
        let kept = whole_rounds(done, &plan.steps());
        Teller {
            rule,
            plan,
            budget,
            follower,
            rows: done[..kept].to_vec(),
            estimate: String::new(),
            told: None,
            part: 1,
            parts: 1,
        }
    }

    /// The same, of a plan that is carried out so many times: this is part `part`, from 1.
    pub(crate) fn of_part(self, part: usize, parts: usize) -> Teller<'a> {
        Teller { part, parts, ..self }
    }

    pub(crate) fn tell(&mut self, news: &News<'_>) {
        match news {
            News::Ended(_, run) => {
                self.follower.row(run);
                self.rows.push((*run).clone());
            }
            News::Begins(progress) => {
                if progress.step.place == 1 {
                    self.look();
                }
                let line = self.line(progress);
                self.follower.shows(&line, self.share(progress));
                let due = self.told.is_none_or(|told| progress.elapsed.0 >= told.0 + TELL_EVERY.0);
                if due {
                    self.told = Some(progress.elapsed);
                    self.follower.tell(&line);
                }
            }
        }
    }

    /// Takes the estimate of the last look, and how far an answer is. Between two looks nothing
    /// changes.
    fn look(&mut self) {
        if !self.rule.is_look(&self.rows) {
            return;
        }
        let (figure, level) = (self.rule.measure.figure(), foremost(&self.rows, &self.rule));
        let Some(decision) = decide(&self.rows, level, figure, &self.rule) else {
            return;
        };
        let percent = |ratio: f64| format!("{:+.1}", (ratio - 1.0) * 100.0);
        self.estimate = match decision.interval.high < 10.0 {
            true => format!(
                "; {level}/A {} % ({} to {})",
                percent(decision.ratio),
                percent(decision.interval.low),
                percent(decision.interval.high)
            ),
            false => "; nothing can be told yet".to_owned(),
        };
        let left = decision.planned - decision.rounds;
        if let Some(more) = decision.more_rounds().filter(|more| *more < left) {
            self.estimate += &format!("; an answer in some {more} rounds");
        }
    }

    /// How much of it is over.
    fn share(&self, progress: &Progress<'_>) -> f64 {
        let of_part = match self.budget {
            Some(budget) => progress.elapsed.0 as f64 / budget.0.max(1) as f64,
            None if self.rule.is_open_ended => 0.0,
            None => f64::from(progress.done) / f64::from(progress.total.max(1)),
        };
        ((self.part - 1) as f64 + of_part) / self.parts as f64
    }

    fn line(&self, progress: &Progress<'_>) -> String {
        let step = progress.step;
        let estimate = &self.estimate;
        if self.rule.is_open_ended {
            let so_far = clock(progress.elapsed.0 / 1_000_000_000);
            return format!("run {}{estimate}; {so_far} so far", progress.done + 1);
        }
        let (kind, of) = match step.kind {
            RoundKind::Compared => ("round", self.plan.rounds),
            RoundKind::Equals => ("equals", self.plan.equals),
        };
        // The budget knows better where a block took longer than it should.
        let left = match self.budget {
            Some(budget) => Some(Nanos(budget.0.saturating_sub(progress.elapsed.0))),
            None => progress.left,
        };
        let left = left.map_or_else(String::new, |left| {
            let most = clock(left.0 / 1_000_000_000);
            let part = match self.parts {
                1 => String::new(),
                parts => format!(" of part {} of {parts}", self.part),
            };
            format!("; at most {most} left{part}")
        });
        format!("{kind} {} of {of}, setting {}{estimate}{left}", step.round, step.level)
    }
}

/// `1:02 min`, `23:59:59 h`.
fn clock(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02} min"),
        _ => format!("{hours}:{minutes:02}:{seconds:02} h"),
    }
}

/// What is told of the loading, before the budget begins if there is one.
pub(crate) struct Loading {
    /// Whether a budget ends the experiment, so that the loading isn't in it.
    pub(crate) has_budget: bool,
    /// When it began.
    pub(crate) began: Timestamp,
    /// The tenths that were told last, in per cent.
    pub(crate) percent: Option<u64>,
}

impl Loading {
    /// The line of each tenth, when so many of all rows are there: with the time left, by the pace
    /// so far.
    pub(crate) fn line(&mut self, done: u64, all: u64, now: Timestamp) -> Option<String> {
        let percent = done * 10 / all.max(1) * 10;
        if self.percent == Some(percent) {
            return None;
        }
        self.percent = Some(percent);
        let of_a_row = now.since(self.began).as_secs_f64() / done.max(1) as f64;
        let seconds = (of_a_row * all.saturating_sub(done) as f64).ceil() as u64;
        let before = if self.has_budget { ", before the budget" } else { "" };
        let left = match percent {
            0 | 100 => String::new(),
            _ => format!("; about {} left{before}", clock(seconds)),
        };
        Some(format!("loading {all} rows: {percent} %{left}"))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use experiment::{Level, Measure, Measured, Step};

    use super::*;
    use crate::tests::origin;

    const PLAN: Plan = Plan { levels: 2, rounds: 6, equals: 1, stretches: 1, together: 1, seed: 1 };

    const RULE: Rule = Rule {
        threshold: 0.02,
        error: 0.025,
        rounds: PLAN.rounds,
        is_device_neutral: false,
        measure: Measure::Throughput,
        is_open_ended: false,
    };

    /// B is about ten per cent better.
    fn row(step: &Step) -> Run {
        let better = if step.level == Level::A { 0 } else { 100 };
        let measured = Measured {
            elapsed: Nanos::from_secs(1),
            transactions: 1_000 + better + u64::from(step.round * step.place),
            latency: None,
            commits: None,
        };
        Run::new(origin().identity(step, "setting", BTreeMap::new()), measured, &[])
    }

    /// LB32: the budget doesn't count the loading, so a person is told how long that takes.
    #[test]
    fn each_tenth_of_the_loading_is_told_with_the_time_left() {
        let mut loading = Loading { has_budget: true, began: Timestamp::ZERO, percent: None };
        let at = |seconds| Timestamp::ZERO.after(Nanos::from_secs(seconds));
        let first = loading.line(1, 1_000, at(0));
        assert_eq!(first.as_deref(), Some("loading 1000 rows: 0 %"));
        assert_eq!(loading.line(99, 1_000, at(9)), None);
        let tenth = loading.line(100, 1_000, at(10));
        let said = "loading 1000 rows: 10 %; about 1:30 min left, before the budget";
        assert_eq!(tenth.as_deref(), Some(said));
        loading.has_budget = false;
        let fifth = loading.line(200, 1_000, at(20));
        assert_eq!(fifth.as_deref(), Some("loading 1000 rows: 20 %; about 1:20 min left"));
        let last = loading.line(1_000, 1_000, at(100));
        assert_eq!(last.as_deref(), Some("loading 1000 rows: 100 %"));
    }

    /// A budget of a day, in minutes alone, is no length that a person reads.
    #[test]
    fn lengths_have_a_unit_and_hours() {
        let lengths = [9, 62, 3_599, 3_600, 86_399].map(clock);
        assert_eq!(lengths, ["0:09 min", "1:02 min", "59:59 min", "1:00:00 h", "23:59:59 h"]);
    }

    /// LB21: of three executions of a plan the time left is that of one.
    #[test]
    fn the_time_left_says_of_which_part_it_is() {
        let steps = PLAN.steps();
        let left = Some(Nanos::from_secs(62));
        let step = &steps[0];
        let progress = Progress { step, done: 0, total: 14, elapsed: Nanos::ZERO, left };
        let mut quiet = |_: &str| {};
        let teller = Teller::new(RULE, PLAN, None, &[], &mut quiet);
        let line = teller.line(&progress);
        assert!(line.ends_with("at most 1:02 min left"), "{line}");
        let teller = teller.of_part(2, 4);
        let line = teller.line(&progress);
        assert!(line.ends_with("at most 1:02 min left of part 2 of 4"), "{line}");
        assert_eq!(teller.share(&progress), 0.25);
    }

    /// EX15: else the round that was broken off would have three rows, and be left out.
    #[test]
    fn a_round_that_was_broken_off_and_made_again_counts() {
        let steps = PLAN.steps();
        let is_last = |step: &Step| step.kind == RoundKind::Compared && step.round == PLAN.rounds;
        let last = steps.iter().position(is_last).expect("it has a last round");
        // Of the last round one row is there.
        let done: Vec<Run> = steps[..=last].iter().map(row).collect();
        let mut quiet = |_: &str| {};
        let mut teller = Teller::new(RULE, PLAN, None, &done, &mut quiet);
        for step in &steps[last..=last + 1] {
            let progress = Progress { step, done: 0, total: 0, elapsed: Nanos::ZERO, left: None };
            teller.tell(&News::Ended(progress, &row(step)));
        }
        teller.look();
        assert_ne!(teller.estimate, "", "the last round has a look");
    }
}
