//! The checks, run over cases of seeds.
//!
//! ```text
//!   a case:  its tables, its changes ─▶ for each query: partition, counted
//!                                    ─▶ for each way: all queries, against those as planned
//!                                    ─▶ the same without indexes, and with statistics
//! ```
//!
//! Changes run first and queries last, so that every check of a case is about the same rows.
//!
//! Invariants
//!   * one breach of a case is told, with a script that shows it
//!   * a check that was never asked, or a plan that never came up, is seen in [`Checked`]
//!
//! Callers: the test `metamorphic`; the example of that name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::{AddAssign, Range};

use super::partition::Outcome;
use super::ways::WAYS;
use super::{counted, partition};
use crate::answer::{Answer, Cell};
use crate::bed::{Engine, Forebay, Lie, Lying, on_machine};
use crate::generate::{Case, Dialect, Judged, Rival, Statement, text_of};
use crate::judge::{Verdict, judge};
use crate::shrink::shrink;

/// How often a case that fails is run again to make it smaller.
const TRIES: u32 = 300;

/// The checks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Metamorphic {
    /// What alters Forebay's answers, to show that it is seen.
    pub lie: Option<Lie>,
}

/// What was checked, and what came of it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Checked {
    /// The number of cases.
    pub cases: u64,
    /// How often each check was made of a query.
    pub asked: BTreeMap<&'static str, u64>,
    /// The queries that had different plans in different ways.
    pub replanned: u64,
    /// The operations that came up in plans.
    pub plans: BTreeSet<String>,
    /// What doesn't hold.
    pub breaches: Vec<Breach>,
}

/// Answers that don't agree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Breach {
    /// The seed of the case.
    pub seed: u64,
    /// The check, or the way in which a query ran.
    pub check: String,
    /// What doesn't agree.
    pub what: String,
    /// Statements that show it.
    pub script: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Breach { seed, check, what, script } = self;
        write!(
            f,
            "seed {seed}, {check}:\n{what}\nto see it:\n{script}to repeat it: cargo run --profile \
             proof -p statements --example metamorphic -- {seed} {}",
            seed + 1
        )
    }
}

impl AddAssign for Checked {
    fn add_assign(&mut self, other: Checked) {
        self.cases += other.cases;
        self.replanned += other.replanned;
        for (check, count) in other.asked {
            *self.asked.entry(check).or_default() += count;
        }
        self.plans.extend(other.plans);
        self.breaches.extend(other.breaches);
    }
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cases", self.cases)?;
        self.asked.iter().try_for_each(|(check, count)| write!(f, ", {count} {check}"))?;
        let (replanned, breaches) = (self.replanned, self.breaches.len());
        write!(f, ", {replanned} queries with several plans, {breaches} breaches")
    }
}

/// What doesn't hold of a case.
struct Found {
    check: String,
    what: String,
}

impl Metamorphic {
    /// Checks the cases of these seeds.
    pub fn run(&self, seeds: Range<u64>) -> Checked {
        let cases: Vec<Case> = seeds.map(|seed| Case::drawn(seed, Rival::Nobody)).collect();
        let mut checked = Checked::default();
        let mut failed = Vec::new();
        match self.all(cases.clone()) {
            Ok((together, found)) => {
                checked += together;
                failed = found;
            }
            // One of them ends the simulation: each runs alone.
            Err(_) => {
                for (number, case) in cases.iter().enumerate() {
                    match self.all(vec![case.clone()]) {
                        Ok((alone, found)) => {
                            checked += alone;
                            failed.extend(found.first().map(|_| number));
                        }
                        Err(_) => failed.push(number),
                    }
                }
            }
        }
        checked.breaches = failed.iter().map(|number| self.shown(&cases[*number])).collect();
        checked
    }

    /// Checks cases in one simulation. Gives the places of those of which something doesn't hold.
    fn all(&self, cases: Vec<Case>) -> Result<(Checked, Vec<usize>), String> {
        let lie = self.lie;
        let seed = cases.first().map_or(0, |case| case.seed);
        on_machine(seed, move |database, session| {
            let mut forebay = Forebay::new(database, session);
            let (mut checked, mut failed) = (Checked::default(), Vec::new());
            for (number, case) in cases.iter().enumerate() {
                checked.cases += 1;
                let found = checked_by(&mut forebay, lie, case, &mut checked);
                failed.extend(found.map(|_| number));
                case.dropped().iter().for_each(|text| _ = forebay.run(text));
            }
            (checked, failed)
        })
    }

    /// What doesn't hold of a case that runs alone.
    fn found(&self, case: &Case) -> Option<Found> {
        let (lie, own) = (self.lie, case.clone());
        let found = on_machine(case.seed, move |database, session| {
            let mut forebay = Forebay::new(database, session);
            checked_by(&mut forebay, lie, &own, &mut Checked::default())
        });
        found.unwrap_or_else(|what| Some(Found { check: "the run".into(), what }))
    }

    /// A case that fails, made smaller and shown.
    fn shown(&self, case: &Case) -> Breach {
        let wanted = self.found(case).map(|found| found.check);
        let small = shrink(case, TRIES, &mut |smaller| {
            let found = self.found(smaller).map(|found| found.check);
            found.is_some() && found == wanted
        });
        let found = self.found(&small).unwrap_or(Found {
            check: "the run".into(),
            what: "  it fails in a batch, and not alone".into(),
        });
        Breach { seed: case.seed, check: found.check, what: found.what, script: small.to_string() }
    }
}

/// Makes all checks of a case with an engine that may lie.
fn checked_by(
    forebay: &mut Forebay<'_>,
    lie: Option<Lie>,
    case: &Case,
    checked: &mut Checked,
) -> Option<Found> {
    match lie {
        None => check(forebay, case, checked),
        Some(lie) => check(&mut Lying::new(forebay, lie), case, checked),
    }
}

fn check(engine: &mut dyn Engine, case: &Case, checked: &mut Checked) -> Option<Found> {
    set_up(engine, case);
    for query in case.queries() {
        let judged = case.judged(query);
        let outcomes = [
            ("rows in three parts", partition::check(engine, query, &judged)),
            ("conditions counted", counted::check(engine, query, &judged)),
        ];
        for (name, outcome) in outcomes {
            match outcome {
                Outcome::NotAsked => {}
                Outcome::Holds => *checked.asked.entry(name).or_default() += 1,
                Outcome::Broken(what) => return Some(Found { check: name.into(), what }),
            }
        }
    }
    let planned = Planned::of(engine, case);
    let found = planned.in_all_ways(engine, checked);
    engine.run("reset all");
    found
}

/// Makes the tables, and changes them as the case says.
fn set_up(engine: &mut dyn Engine, case: &Case) {
    for step in case.made(Dialect::Forebay) {
        engine.run(&step.text);
    }
    let script = case.script(Dialect::Forebay);
    let drawn = script.iter().filter(|step| step.judged.is_drawn);
    for (step, statement) in drawn.zip(&case.statements) {
        if !matches!(statement, Statement::Query(_)) {
            engine.run(&step.text);
        }
    }
}

/// The queries of a case, and what they come to as planned.
struct Planned<'c> {
    case: &'c Case,
    queries: Vec<Asked>,
}

struct Asked {
    text: String,
    judged: Judged,
    answer: Answer,
}

impl Planned<'_> {
    fn of<'c>(engine: &mut dyn Engine, case: &'c Case) -> Planned<'c> {
        let queries = case.queries().map(|query| {
            let text = text_of(query, Dialect::Forebay);
            let answer = engine.run(&text);
            Asked { judged: case.judged(query), text, answer }
        });
        Planned { case, queries: queries.collect() }
    }

    fn in_all_ways(&self, engine: &mut dyn Engine, checked: &mut Checked) -> Option<Found> {
        let mut plans = vec![BTreeSet::new(); self.queries.len()];
        for way in WAYS {
            for text in way.begin() {
                engine.run(&text);
            }
            if let Some(found) = self.again(engine, way.name, checked, Some(&mut plans)) {
                return Some(found);
            }
        }
        checked.replanned += plans.iter().filter(|plans| plans.len() > 1).count() as u64;
        for text in WAYS[0].begin() {
            engine.run(&text);
        }
        for table in &self.case.tables {
            engine.run(&format!("analyze {}", table.name));
        }
        if let Some(found) = self.again(engine, "with statistics", checked, None) {
            return Some(found);
        }
        for index in self.case.tables.iter().flat_map(|table| &table.indexes) {
            engine.run(&format!("drop index {}", index.name));
        }
        self.again(engine, "without indexes", checked, None)
    }

    /// Runs all queries, and compares what they come to; notes their plans if they are asked for.
    fn again(
        &self,
        engine: &mut dyn Engine,
        way: &'static str,
        checked: &mut Checked,
        mut plans: Option<&mut Vec<BTreeSet<String>>>,
    ) -> Option<Found> {
        for (number, Asked { text, judged, answer }) in self.queries.iter().enumerate() {
            if let Some(plans) = &mut plans {
                let plan = plan_of(engine, text);
                let operation = |line: &str| line.split(" of ").next().unwrap_or(line).to_string();
                checked.plans.extend(plan.lines().map(operation));
                plans[number].insert(plan);
            }
            let other = engine.run(text);
            *checked.asked.entry(way).or_default() += 1;
            if let Verdict::Different(why) = judge(answer, &other, judged, Rival::Nobody) {
                let what = format!("  {text}\n{why}");
                return Some(Found { check: way.into(), what });
            }
        }
        None
    }
}

/// The operations of a query's plan, a line for each, without what differs from run to run.
fn plan_of(engine: &mut dyn Engine, text: &str) -> String {
    let Answer::Rows(rows) = engine.run(&format!("explain {text}")) else { return String::new() };
    let lines = rows.iter().filter_map(|row| match row.first() {
        Some(Cell::Text(line)) => line.split("  (cost").next(),
        _ => None,
    });
    let operations = lines.map(|line| line.trim_start().trim_start_matches("->").trim());
    // Details have a colon.
    operations.filter(|line| !line.contains(':')).collect::<Vec<_>>().join("\n")
}
