//! The answer: a curve, and whether it is a saw-tooth.

use experiment::Commits;
use report::paragraph;
use serde::Serialize;
use stats::Interval;
use stats::sawtooth::{Sawtooth, fit_rounds};

use super::NAME;
use super::measure::Measured;
use super::run::Curve;
use crate::RunOn;
use crate::checks::{commits_line, lost_warning};

const MIB: f64 = (1 << 20) as f64;
/// The range of periods, in MiB.
const PERIODS: Interval = Interval { low: 0.3, high: 2.2 };
/// How many times rounds are resampled for the interval.
const DRAWS: u32 = 200;
/// Teeth that explain a smaller share of the residue of a line don't count.
const EXPLAINED_LEAST: f64 = 0.5;
/// What a tooth is, for who reads that there are none.
const TOOTH: &str = "A tooth would be a stretch in which a commit takes the longer, the more redo \
                     was made since the last one, with a fall at its end: there the log writer had \
                     written most of it before the commit.";
/// Characters of the longest bar.
const BAR: f64 = 48.0;

/// The answer.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    experiment: &'static str,
    points: Vec<Point>,
    rounds: usize,
    teeth: Option<Teeth>,
    modelled: bool,
    commits: Commits,
    commits_lost: u64,
    redo_write: &'static str,
    log_writes_in_flight: u32,
    #[serde(skip)]
    chosen: String,
    machine: String,
    commit: String,
    command: String,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Point {
    redo_mib: f64,
    commit_us: f64,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Teeth {
    period_mib: f64,
    period_mib_low: f64,
    period_mib_high: f64,
    first_fall_mib: f64,
    rise_us_per_mib: f64,
    explained: f64,
}

impl Teeth {
    fn of(best: Sawtooth, interval: Interval) -> Teeth {
        Teeth {
            period_mib: best.period,
            period_mib_low: interval.low,
            period_mib_high: interval.high,
            // A phase just below the period is one just below 0.
            first_fall_mib: best.period
                + if best.phase > best.period / 2.0 {
                    best.phase - best.period
                } else {
                    best.phase
                },
            rise_us_per_mib: best.rise,
            explained: best.explained,
        }
    }

    /// Whether they explain enough not to be chance.
    fn are_seen(&self) -> bool {
        self.explained >= EXPLAINED_LEAST
    }
}

impl Report {
    pub(super) fn of(measured: Measured, curve: &Curve, machine: String) -> Report {
        let Measured { curve: measured, commits, chosen } = measured;
        let xs: Vec<f64> = measured.redo.iter().map(|bytes| bytes / MIB).collect();
        let fitted = fit_rounds(&xs, &measured.rounds, PERIODS, DRAWS, curve.seed);
        let teeth = fitted.map(|(best, interval)| Teeth::of(best, interval));
        let point = |(at, redo_mib): (usize, &f64)| {
            let times: Vec<f64> = measured.rounds.iter().map(|round| round[at]).collect();
            Point { redo_mib: *redo_mib, commit_us: stats::median(&times) }
        };
        Report {
            experiment: NAME,
            points: xs.iter().enumerate().map(point).collect(),
            rounds: measured.rounds.len(),
            teeth,
            modelled: matches!(curve.run_on, RunOn::Model { .. }),
            commits,
            commits_lost: commits.lost(),
            redo_write: chosen.redo_write.name(),
            log_writes_in_flight: chosen.log_writes_in_flight,
            chosen: chosen.words(),
            machine,
            commit: curve.commit.clone(),
            command: curve.command.clone(),
        }
    }

    /// The fitted period in MiB and its interval, if there are teeth to speak of.
    pub fn period_mib(&self) -> Option<(f64, (f64, f64))> {
        let teeth = self.teeth.filter(Teeth::are_seen)?;
        Some((teeth.period_mib, (teeth.period_mib_low, teeth.period_mib_high)))
    }

    /// For people: 80 columns of plain text, with a line end at the end.
    pub fn text(&self) -> String {
        let longest = self.points.iter().map(|point| point.commit_us).fold(1.0, f64::max);
        let line = |point: &Point| {
            let bar = "#".repeat((point.commit_us / longest * BAR).round() as usize);
            format!("{:8.3} {:10.0}  {bar}\n", point.redo_mib, point.commit_us)
        };
        let lines: String = self.points.iter().map(line).collect();
        let modelled = if self.modelled { ", modelled" } else { "" };
        format!(
            "{NAME}: one session, {} rounds{modelled}\n{}\n{}\n\n\
             redo/MiB  commit/us (median)\n{lines}\n{}{}{}commit {}\nto repeat it: {}\n",
            self.rounds,
            lost_warning(self.commits),
            paragraph(&answer(self.teeth.as_ref(), self.rounds), "").trim_end(),
            commits_line(self.commits, "the crash at the end"),
            paragraph(&self.chosen, ""),
            paragraph(&self.machine, ""),
            self.commit,
            self.command
        )
    }

    /// The acknowledged commits, and those that were there after the crash.
    pub fn commits(&self) -> Commits {
        self.commits
    }

    /// For programs: one line, all figures unrounded, without a line end.
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers always serialize")
    }
}

/// What the curve says, with teeth that fit best, if any do, to so many rounds.
fn answer(teeth: Option<&Teeth>, rounds: usize) -> String {
    let Some(teeth) = teeth else {
        return format!(
            "No teeth are seen. {TOOTH} The time of a commit is a straight line over its redo."
        );
    };
    let share = teeth.explained * 100.0;
    if !teeth.are_seen() {
        return format!(
            "No teeth are seen. {TOOTH} Around a straight line over the redo the times of commits \
             scatter, and of that the teeth that fit best explain {share:.0} %: under {:.0} % they \
             may be chance.",
            EXPLAINED_LEAST * 100.0
        );
    }
    let interval = match rounds {
        1 => "one round, so no interval".to_string(),
        _ => format!("95 %: {:.3} to {:.3}", teeth.period_mib_low, teeth.period_mib_high),
    };
    format!(
        "A saw-tooth: the time of a commit falls back every {:.3} MiB of redo ({interval}), first \
         at {:.3}; within a tooth it rises by {:.0} us per MiB. The teeth explain {share:.0} % of \
         how the times scatter around a straight line.",
        teeth.period_mib, teeth.first_fall_mib, teeth.rise_us_per_mib
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who asked what a commit takes didn't ask for teeth.
    #[test]
    fn who_reads_that_there_are_no_teeth_is_told_what_one_is() {
        let says = |explained: f64, rise: f64| {
            let best = Sawtooth { period: 1.0, phase: 0.0, rise, explained };
            let interval = Interval { low: 0.9, high: 1.1 };
            answer(Some(&Teeth::of(best, interval)), 9)
        };
        for none in [says(0.15, 20.0), answer(None, 9)] {
            assert!(none.starts_with("No teeth are seen. A tooth would be a stretch"), "{none}");
        }
        assert!(says(0.15, 20.0).contains("explain 15 %: under 50 % they may be chance."));
        assert!(says(0.9, 20.0).starts_with("A saw-tooth: "));
    }
}
