//! A whole race, from its header to its last line.
//!
//! Standard output: what is raced, on which terms, where, against which version with which
//! settings; the table; the JSON line last. Standard error: a line after each pair with the time
//! that is left. So a program reads the last line of standard output and a person reads all.
//!
//! Nothing runs before the plan and the goals are checked, and no ratio is computed before all runs
//! of its workload are done: there is no looking early and stopping when it pleases.
//!
//! Callers: `xbench race`.

use std::cell::RefCell;
use std::io::{BufRead, Write};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use report::paragraph;

use crate::race::build::{Build, serve};
use crate::race::case::{Case, CaseResult};
use crate::race::pairs::{Metrics, Samples, Turn, check_pairs, run_pairs};
use crate::race::report::Outcome;
use crate::race::terms::Terms;
use crate::{Error, Result, machine};

/// How a race is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How many pairs: even, ten or more.
    pub pairs: u32,
    /// From which every random choice follows: offsets through [`Turn::seed`], and the bootstrap.
    pub seed: u64,
    /// How long each run is measured, where the race has no amount of work of its own.
    pub length: Duration,
}

/// One side's way to run a workload once.
pub type Runner<'a> = Box<dyn FnMut(Turn) -> Result<Metrics> + 'a>;

/// Two ways to do the same work, and what is asked of them.
pub struct Workload<'a> {
    /// Its name.
    pub name: String,
    /// Exact settings of both sides, a line each, such as fio's command line.
    pub settings: Vec<String>,
    /// What is claimed; each case picks one metric of the runs.
    pub cases: Vec<Case>,
    /// Ours.
    pub ours: Runner<'a>,
    /// The rival's.
    pub rival: Runner<'a>,
}

/// A race that can be run.
pub struct Race<'a> {
    /// Its name, as `xbench race` takes it.
    pub name: String,
    /// What it compares, in a line.
    pub description: String,
    /// What a reader has to know before its figures mean anything.
    pub terms: Terms,
    /// Versions of the rival and what else holds for all workloads, a line each.
    pub settings: Vec<String>,
    /// The workloads, run one after the other.
    pub workloads: Vec<Workload<'a>>,
}

impl Race<'_> {
    /// Runs all of it; the last line written to `out` is the JSON line.
    pub fn run(
        &mut self,
        plan: Plan,
        out: &mut dyn Write,
        progress: &mut dyn Write,
    ) -> Result<Outcome> {
        self.run_and_derive(plan, &|_| Ok(Vec::new()), out, progress)
    }

    /// As [`Race::run`], with more cases, which `derive` makes from the runs of all workloads.
    pub fn run_and_derive(
        &mut self,
        plan: Plan,
        derive: &dyn Fn(&[Samples]) -> Result<Vec<CaseResult>>,
        out: &mut dyn Write,
        progress: &mut dyn Write,
    ) -> Result<Outcome> {
        self.check(plan)?;
        say(out, &self.header(plan))?;
        let total = plan.pairs * u32::try_from(self.workloads.len()).expect("workloads are few");
        let mut clock = Clock { start: Instant::now(), done: 0, total };
        let (mut cases, mut all) = (Vec::new(), Vec::new());
        for workload in &mut self.workloads {
            let place = format!("race {}, {}", self.name, workload.name);
            let ran = run_workload(workload, plan, &mut |pairs| {
                let left = clock.tick();
                // Progress that nobody can read is no reason to stop.
                let _ = writeln!(progress, "{place}: pair {pairs} of {} done, {left}", plan.pairs);
            });
            let samples = ran.map_err(|error| error.within(&place))?;
            let judged = workload.cases.iter().map(|case| case.judge(&samples, plan.seed));
            for result in judged {
                cases.push(result.map_err(|error| error.within(&place))?);
            }
            all.push(samples);
        }
        cases.extend(derive(&all)?);
        let outcome = self.outcome(plan, cases);
        let (table, summary) = (outcome.table(), outcome.summary());
        say(out, &format!("\n{table}\n{summary}\n{}\n", outcome.line().text()))?;
        Ok(outcome)
    }

    /// Runs all of it against another build of ours, whose `program` serves with these `arguments`.
    /// In place of its own goal each case is to reach `goal`. Each build runs each workload once
    /// before, which isn't counted: the first run after a load took half the speed of the others.
    pub fn run_against(
        &mut self,
        program: &Path,
        arguments: &[String],
        goal: f64,
        plan: Plan,
        out: &mut dyn Write,
        progress: &mut dyn Write,
    ) -> Result<Outcome> {
        self.check(plan)?;
        let build = Rc::new(RefCell::new(Build::start(program, arguments)?));
        for workload in &mut self.workloads {
            workload.cases.iter_mut().for_each(|case| case.goal = Some(goal));
            let (name, cases) = (workload.name.clone(), workload.cases.clone());
            let other = Rc::clone(&build);
            workload.rival = Box::new(move |turn| other.borrow_mut().run(&name, &cases, turn));
            let turn = Turn { pair: 0, first: true, seed: plan.seed };
            (workload.ours)(turn)?;
            (workload.rival)(turn)?;
        }
        self.terms = Terms::AGAINST_A_BUILD;
        self.settings.push(format!("the rival is another build of ours: {}", program.display()));
        self.run(plan, out, progress)
    }

    /// Runs ours alone, whenever a line of `requests` asks: the other side of
    /// [`Race::run_against`].
    pub fn serve(&mut self, requests: &mut dyn BufRead, out: &mut dyn Write) -> Result<()> {
        serve(&mut self.workloads, requests, out)
    }

    /// The race with these results.
    fn outcome(&self, plan: Plan, cases: Vec<CaseResult>) -> Outcome {
        let mut settings = self.settings.clone();
        for Workload { name, settings: own, .. } in &self.workloads {
            settings.extend(own.iter().map(|line| format!("{name}: {line}")));
        }
        Outcome { race: self.name.clone(), cases, plan, terms: self.terms, settings }
    }

    fn check(&self, plan: Plan) -> Result<()> {
        check_pairs(plan.pairs)?;
        let mut names = std::collections::BTreeSet::new();
        for case in self.workloads.iter().flat_map(|workload| &workload.cases) {
            case.check()?;
            if !names.insert(&case.name) {
                return Err(Error::Refused(format!("two cases are called {}", case.name)));
            }
        }
        if names.is_empty() {
            return Err(Error::Refused(format!("race {} has no cases", self.name)));
        }
        Ok(())
    }

    fn header(&self, plan: Plan) -> String {
        let mut lines = vec![
            format!("race {}: {}", self.name, self.description),
            paragraph(&self.terms.paragraph(), "").trim_end().to_owned(),
            format!("commit: {}", env!("FOREBAY_COMMIT")),
            format!("machine: {}", machine::line()),
            format!("{} pairs of runs in ABBA order, seed {}", plan.pairs, plan.seed),
        ];
        lines.extend(self.settings.iter().cloned());
        for workload in &self.workloads {
            lines.push(format!("{}:", workload.name));
            lines.extend(workload.settings.iter().map(|line| format!("  {line}")));
        }
        lines.join("\n") + "\n"
    }
}

fn run_workload(
    workload: &mut Workload<'_>,
    plan: Plan,
    after_pair: &mut dyn FnMut(u32),
) -> Result<Samples> {
    let (ours, rival) = (&mut *workload.ours, &mut *workload.rival);
    run_pairs(plan.pairs, plan.seed, ours, rival, after_pair)
}

fn say(out: &mut dyn Write, text: &str) -> Result<()> {
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|cause| Error::cannot("write the race's report", cause))
}

/// Guesses the time that is left from the pairs that are done.
struct Clock {
    start: Instant,
    done: u32,
    total: u32,
}

impl Clock {
    fn tick(&mut self) -> String {
        self.done += 1;
        time_left(self.start.elapsed(), self.done, self.total)
    }
}

fn time_left(elapsed: Duration, done: u32, total: u32) -> String {
    assert!(0 < done && done <= total);
    let seconds = (elapsed / done * (total - done)).as_secs_f64().round() as u64;
    match seconds {
        0..60 => format!("about {seconds} s left"),
        _ => format!("about {} min {} s left", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::Verdict;

    fn case(name: &str, metric: &'static str, higher_is_better: bool) -> Case {
        Case { name: name.into(), metric, unit: "u", higher_is_better, goal: Some(1.0) }
    }

    /// Ours does twice the work for the same CPU per item, a few per cent of wobble on both.
    fn race<'a>() -> Race<'a> {
        let run = |speed: f64| -> Runner<'a> {
            Box::new(move |turn: Turn| {
                let wobble = 1.0 + (turn.seed % 7) as f64 * if turn.first { 0.01 } else { 0.005 };
                Ok(Metrics::from([("speed", speed * wobble), ("cpu", 5.0 * wobble)]))
            })
        };
        let workload = Workload {
            name: "counting".into(),
            settings: vec!["rival --fast".into()],
            cases: vec![case("speed", "speed", true), case("cpu per item", "cpu", false)],
            ours: run(200.0),
            rival: run(100.0),
        };
        Race {
            name: "count".into(),
            description: "we count".into(),
            terms: Terms { compared: "Counts are compared.", ..Terms::default() },
            settings: vec!["rival: rival-1.2".into()],
            workloads: vec![workload],
        }
    }

    const PLAN: Plan = Plan { pairs: 10, seed: 1, length: Duration::from_secs(1) };

    #[test]
    fn a_race_ends_with_its_json_line_after_versions_settings_and_machine() {
        let (mut out, mut progress) = (Vec::new(), Vec::new());
        let outcome = race().run(PLAN, &mut out, &mut progress).expect("nothing fails");
        let out = String::from_utf8(out).expect("it is text");
        assert_eq!(out.lines().last(), Some(outcome.line().text().as_str()));
        let parts = ["race count: we count", "Counts are compared.", "commit: ", "machine: Linux"];
        for part in parts.into_iter().chain(["rival-1.2", "  rival --fast"]) {
            assert!(out.contains(part), "{part} is missing in {out}");
        }
        let progress = String::from_utf8(progress).expect("it is text");
        assert_eq!(progress.lines().count(), 10);
        assert!(progress.contains("race count, counting: pair 3 of 10 done, about 0 s left"));
    }

    #[test]
    fn one_run_feeds_several_cases() {
        let outcome = race().run(PLAN, &mut Vec::new(), &mut Vec::new()).expect("nothing fails");
        let [speed, cpu] = outcome.cases.as_slice() else { panic!("two cases were asked for") };
        assert_eq!((speed.verdict, cpu.verdict), (Some(Verdict::Met), Some(Verdict::Undecided)));
        assert!((speed.ratio - 2.0).abs() < 0.1 && (cpu.ratio - 1.0).abs() < 0.1);
    }

    #[test]
    fn a_wrong_plan_or_double_name_is_refused_before_the_header() {
        let refused = |mut race: Race<'_>, plan: Plan| {
            let mut out = Vec::new();
            let error = race.run(plan, &mut out, &mut Vec::new()).expect_err("it is wrong");
            assert!(out.is_empty());
            error.to_string()
        };
        assert!(refused(race(), Plan { pairs: 4, ..PLAN }).contains("too few"));
        let mut double = race();
        double.workloads[0].cases.push(case("speed", "cpu", false));
        assert_eq!(refused(double, PLAN), "two cases are called speed");
        let mut empty = race();
        empty.workloads.clear();
        assert_eq!(refused(empty, PLAN), "race count has no cases");
    }

    #[test]
    fn an_error_is_told_with_race_workload_side_and_pair() {
        let mut broken = race();
        broken.workloads[0].ours = Box::new(|_| Err(Error::Failed("no".into())));
        let error = broken.run(PLAN, &mut Vec::new(), &mut Vec::new()).expect_err("it fails");
        assert_eq!(error.to_string(), "race count, counting: ours, pair 1 of 10: no");
    }

    #[test]
    fn the_time_left_follows_the_pairs_done() {
        let minute = Duration::from_secs(60);
        assert_eq!(time_left(minute, 10, 10), "about 0 s left");
        assert_eq!(time_left(minute, 4, 6), "about 30 s left");
        assert_eq!(time_left(minute, 1, 3), "about 2 min 0 s left");
    }
}
