//! Forebay against a rival: the same cases on both, every answer compared.
//!
//! ```text
//!   seeds ─▶ cases ─▶ Forebay, all of a batch in one simulation ─▶ answers ─┐
//!                └──▶ the rival, case by case ────────────────────▶ answers ─┴─▶ judge
//!                                                                                 │
//!                            shrink, each try in a simulation of its own ◀── different
//! ```
//!
//! A batch shares a database, so that making one doesn't cost more than the statements. What a case
//! leaves is dropped before the next one. If a batch doesn't come to its end, its cases run again,
//! each alone, and the one that doesn't either is told.
//!
//! Invariants
//!   * one difference of a case is told: what follows it may follow from it
//!   * a difference is told with a script that shows it, and with its seed
//!
//! Callers: the test `differential`; the example of that name for millions of statements.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{AddAssign, Range};

use crate::answer::Answer;
use crate::bed::{Engine, Forebay, Lie, Lying, on_machine};
use crate::generate::{Case, Dialect, Rival, Step};
use crate::judge::{Verdict, judge};
use crate::rivals::Program;
use crate::shrink::shrink;

/// How often a case that fails is run again to make it smaller.
const TRIES: u32 = 400;

/// Forebay beside a rival.
pub struct Differential<'p> {
    /// Whom it is compared with.
    pub against: Rival,
    /// The rival.
    pub program: &'p mut dyn Program,
    /// What alters Forebay's answers, to show that it is seen.
    pub lie: Option<Lie>,
}

/// What was compared, and what came of it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Compared {
    /// The number of cases.
    pub cases: u64,
    /// The number of statements that were drawn.
    pub statements: u64,
    /// The rows that were compared.
    pub rows: u64,
    /// The statements that both refused.
    pub refused: u64,
    /// The differences by choice, by its name.
    pub chosen: BTreeMap<&'static str, u64>,
    /// The differences that are bugs, of one side or of this crate.
    pub differences: Vec<Difference>,
}

/// Answers that differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The seed of the case.
    pub seed: u64,
    /// With whom.
    pub against: &'static str,
    /// How the answers differ.
    pub what: String,
    /// Statements that show it.
    pub script: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { seed, against, what, script } = self;
        write!(
            f,
            "seed {seed} differs from {against}:\n{what}\nto see it:\n{script}to repeat it: cargo \
             run --profile proof -p statements --example differential -- {against} {seed} {}",
            seed + 1
        )
    }
}

impl AddAssign for Compared {
    fn add_assign(&mut self, other: Compared) {
        self.cases += other.cases;
        self.statements += other.statements;
        self.rows += other.rows;
        self.refused += other.refused;
        for (choice, count) in other.chosen {
            *self.chosen.entry(choice).or_default() += count;
        }
        self.differences.extend(other.differences);
    }
}

impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Compared { cases, statements, rows, refused, .. } = self;
        let differences = self.differences.len();
        write!(
            f,
            "{cases} cases, {statements} statements, {rows} rows, {refused} refused by both, \
             {differences} differences"
        )?;
        self.chosen.iter().try_for_each(|(choice, count)| write!(f, ", {count} by {choice}"))
    }
}

/// A statement whose answers differ.
struct Found {
    /// Its number in the script.
    step: usize,
    /// In which way they differ, in a few words. A smaller case that differs in another way isn't
    /// this one: one statement less, and the rival refuses a COMMIT without a BEGIN.
    manner: String,
    what: String,
}

/// In which way the answers to a statement differ.
fn manner(text: &str, ours: &Answer, theirs: &Answer) -> String {
    let outcome = |answer: &Answer| match answer {
        Answer::Rows(_) => "rows".to_owned(),
        Answer::Done(_) => "done".to_owned(),
        // SQLite says no SQLSTATE.
        Answer::Refused(refused) if refused.class().is_empty() => {
            refused.message.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
        }
        Answer::Refused(refused) => refused.class().to_owned(),
    };
    let word = text.split_whitespace().next().unwrap_or_default();
    format!("{word}: {} and {}", outcome(ours), outcome(theirs))
}

/// In which way a case fails whose simulation doesn't come to its end.
const ENDED: &str = "ended";

impl Differential<'_> {
    /// Compares the cases of these seeds.
    ///
    /// # Errors
    /// What keeps the rival from running cases.
    pub fn run(&mut self, seeds: Range<u64>) -> Result<Compared, String> {
        let cases: Vec<Case> = seeds.map(|seed| Case::drawn(seed, self.against)).collect();
        let mut compared = Compared::default();
        let ours = match self.ours(&cases) {
            Ok(all) => all.into_iter().map(Ok).collect(),
            Err(_) => cases.iter().map(|case| self.ours_alone(case)).collect::<Vec<_>>(),
        };
        for (case, ours) in cases.iter().zip(ours) {
            compared.cases += 1;
            let found = match ours {
                Ok(answers) => self.compare(case, &answers, &mut compared)?,
                Err(what) => Some(Found { step: usize::MAX, manner: ENDED.into(), what }),
            };
            if found.is_some() {
                compared.differences.push(self.shown(case));
            }
        }
        Ok(compared)
    }

    /// Forebay's answers to the scripts of cases.
    fn ours(&self, cases: &[Case]) -> Result<Vec<Vec<Answer>>, String> {
        let lie = self.lie;
        let scripts: Vec<(Vec<Step>, Vec<String>)> =
            cases.iter().map(|case| (case.script(Dialect::Forebay), case.dropped())).collect();
        let seed = cases.first().map_or(0, |case| case.seed);
        on_machine(seed, move |database, session| {
            let mut forebay = Forebay::new(database, session);
            let mut all = Vec::with_capacity(scripts.len());
            for (steps, dropped) in scripts {
                let answers = match lie {
                    None => answers(&mut forebay, &steps),
                    Some(lie) => answers(&mut Lying::new(&mut forebay, lie), &steps),
                };
                all.push(answers);
                dropped.iter().for_each(|text| _ = forebay.run(text));
            }
            all
        })
    }

    fn ours_alone(&self, case: &Case) -> Result<Vec<Answer>, String> {
        let all = self.ours(std::slice::from_ref(case))?;
        all.into_iter().next().ok_or_else(|| "Forebay gave no answers".into())
    }

    /// Compares our answers with the rival's, up to the first that differs.
    fn compare(
        &mut self,
        case: &Case,
        ours: &[Answer],
        compared: &mut Compared,
    ) -> Result<Option<Found>, String> {
        self.program.clear()?;
        let steps = case.script(self.against.dialect());
        for (number, (step, own)) in steps.iter().zip(ours).enumerate() {
            let theirs = self.program.run(&step.text);
            compared.statements += u64::from(step.judged.is_drawn);
            match own {
                Answer::Rows(rows) => compared.rows += rows.len() as u64,
                Answer::Refused(_) => compared.refused += 1,
                Answer::Done(_) => {}
            }
            match judge(own, &theirs, &step.judged, self.against) {
                Verdict::Same => {}
                Verdict::Chosen(choice) => {
                    *compared.chosen.entry(choice.name()).or_default() += 1;
                    // The tables may hold different rows from here on.
                    if !matches!((own, &theirs), (Answer::Rows(_), _) | (_, Answer::Rows(_))) {
                        return Ok(None);
                    }
                }
                Verdict::Different(what) => {
                    let what = format!("  {}\n{what}", step.text);
                    let manner = manner(&step.text, own, &theirs);
                    return Ok(Some(Found { step: number, manner, what }));
                }
            }
        }
        Ok(None)
    }

    /// What is found in a case that runs alone; a simulation that doesn't end is found too.
    fn found(&mut self, case: &Case) -> Option<Found> {
        match self.ours_alone(case) {
            Err(what) => Some(Found {
                step: usize::MAX,
                manner: ENDED.into(),
                what: format!("  Forebay: {what}"),
            }),
            // A rival that has gone shows nothing.
            Ok(answers) => {
                self.compare(case, &answers, &mut Compared::default()).unwrap_or_default()
            }
        }
    }

    /// A case that fails, made smaller and shown.
    fn shown(&mut self, case: &Case) -> Difference {
        let wanted = self.found(case).map(|found| found.manner);
        let small = shrink(case, TRIES, &mut |smaller| {
            let found = self.found(smaller).map(|found| found.manner);
            found.is_some() && found == wanted
        });
        let found = self.found(&small).unwrap_or(Found {
            step: usize::MAX,
            manner: String::new(),
            what: "  it fails in a batch, and not alone".into(),
        });
        let steps = small.script(Dialect::Forebay);
        let shown = steps.iter().take(found.step.saturating_add(1));
        let script: String = shown.map(|step| format!("{};\n", step.text)).collect();
        Difference { seed: case.seed, against: self.against.name(), what: found.what, script }
    }
}

/// An engine's answers to a script.
pub(crate) fn answers(engine: &mut dyn Engine, steps: &[Step]) -> Vec<Answer> {
    steps.iter().map(|step| engine.run(&step.text)).collect()
}
