//! The verdict as a page: one HTML file, which opens anywhere without a network.
//!
//! ```text
//!   header      is it real? does it matter? A, B, and the figures
//!   warnings    and notes
//!   levels      of more than two settings: a figure for each
//!   speed       the yardsticks: forest plots, and their table
//!   runs        each run: densities, over time, and the estimate as rounds came in
//!   time        the waterfall of a transaction's time, and the tables
//!   machine     CPU of each process, the load profile
//!   after       the mean block: does a setting's effect go on after it?
//!   samples     the runs as textbooks compare them
//!   foot        how to reproduce
//! ```
//!
//! Answers and sentences are those of the text, and charts show the same figures (rule V30). What a
//! chart can't show (an interval without an end) is left out of it, and its caption says so.
//!
//! Callers: `forebay lab`.

mod after;
mod foot;
mod levels;
mod machine;
mod runs;
mod samples;
mod speed;
mod time;

use page::{Estimate, Page};
use report::number::counted;

use super::Verdict;
use super::warnings::Worst;
use crate::decision::judged;
use crate::rounds::Rounds;
use crate::{Level, Run};

/// Figures beyond this size aren't shown in a chart.
const FIGURE_MAX: f64 = 1e12;

impl Verdict {
    /// For people with a browser: a whole file. `rows` are those that the verdict is of.
    pub fn html(&self, rows: &[Run]) -> String {
        let runs = counted(self.runs as u64, "run");
        let title = format!("{}: {runs} of {}", self.experiment, self.run_length());
        let mut page = Page::new(title);
        self.write_header(&mut page);
        self.write_warnings(&mut page);
        let rounds = judged(rows, &self.rule);
        if let Some(of) = &self.levels {
            levels::write(of, page.section("The settings"));
        }
        speed::write(self, page.section("By how much do they differ?"));
        runs::write(self, rows, &rounds, page.section("The runs"));
        time::write(self, page.section("Where does a transaction's time go?"));
        machine::write(self, &rounds, page.section("What does the instance do?"));
        if let Some(carry_over) = &self.carry_over {
            after::write(
                carry_over,
                &Rounds::of(rows),
                self.level,
                page.section(super::carry_over::QUESTION),
            );
        }
        samples::write(self, &mut page);
        foot::write(self, page.foot("How to reproduce"));
        page.html()
    }

    fn write_header(&self, page: &mut Page) {
        let b = self.level;
        if let Some(levels) = &self.levels {
            page.answer("Which is best?", levels.best_words(), levels.detail());
        }
        for (question, answer) in self.headline.answers(b) {
            let (answer, detail) = split(&answer);
            page.answer(question, answer, detail);
        }
        let settings = [(Level::A, &self.headline.setting_a), (b, &self.headline.setting_b)];
        let mut facts: Vec<(String, String)> =
            settings.map(|(side, of)| (side.to_string(), of.clone())).into();
        facts.extend(self.headline.figures(b));
        facts.push(("commits lost".to_owned(), self.commits.sentence()));
        facts.push(("unaccounted".to_owned(), Worst::sentence(self.unaccounted_worst.as_ref())));
        page.facts(facts);
    }

    fn write_warnings(&self, page: &mut Page) {
        if !self.warnings.is_empty() || !self.notes.is_empty() {
            let heading = match (self.warnings.is_empty(), self.notes.is_empty()) {
                (false, true) => "Warnings",
                (true, _) => "Notes",
                (false, false) => "Warnings and notes",
            };
            let section = page.section(heading);
            for warning in &self.warnings {
                section.warning(format!("WARNING: {warning}"));
            }
            for note in &self.notes {
                section.paragraph(note);
            }
        }
        if let Some(lines) = self.origin.model_lines(self.headline.comparison(), self.level) {
            let section = page.section(super::origin::MODELLED);
            let (last, others) = lines.split_last().expect("it says what the model stands for");
            for line in others {
                section.paragraph(line);
            }
            match self.origin.depends(self.headline.comparison()) {
                true => section.warning(last),
                false => section.paragraph(last),
            };
        }
    }

    /// `A: db_writer_processes = 1`, and B likewise.
    fn side_names(&self) -> [String; 2] {
        let (a, b) = (&self.headline.setting_a, &self.headline.setting_b);
        [format!("A: {a}"), format!("{}: {b}", self.level)]
    }
}

/// An answer that is longer than this is split: its first words are large, the others below.
const ANSWER_MAX: usize = 45;

/// `Can't tell: it is too early.` becomes `Can't tell.` and `It is too early.`
fn split(answer: &str) -> (String, String) {
    let end = [". ", ": "].iter().filter_map(|end| answer.find(end)).min();
    let Some(end) = end.filter(|_| answer.len() > ANSWER_MAX) else {
        return (answer.to_owned(), String::new());
    };
    let mut rest = answer[end + 1..].trim().chars();
    let first = rest.next().map(|letter| letter.to_ascii_uppercase());
    (format!("{}.", &answer[..end]), first.into_iter().chain(rest).collect())
}

/// Whether a chart can show it.
fn is_shown(figure: f64) -> bool {
    figure.is_finite() && figure.abs() < FIGURE_MAX
}

/// An estimate, with its interval if that has ends.
fn estimate(value: f64, [low, high]: [f64; 2]) -> Option<Estimate> {
    match is_shown(low) && is_shown(high) && low <= high {
        _ if !is_shown(value) => None,
        true => Some(Estimate::new(value, low, high)),
        false => Some(Estimate::exact(value)),
    }
}

/// A ratio as a change in per cent.
fn percent(ratio: f64) -> f64 {
    (ratio - 1.0) * 100.0
}

/// The unit as a page writes it: text is plain ASCII, a page isn't.
fn unit(plain: &str) -> String {
    plain.replace("us", "µs")
}

/// The interval of a ratio of sums of numerators and denominators, with 95 % of certainty.
fn of_sums(parts: &[[f64; 2]]) -> Option<Estimate> {
    let sum = |of: usize| parts.iter().map(|part| part[of]).sum::<f64>();
    let (ratio, mean) = (sum(0) / sum(1), sum(1) / parts.len() as f64);
    if !is_shown(ratio) {
        return None;
    }
    let figure = |[n, m]: &[f64; 2]| {
        let difference = ratio + (n - ratio * m) / mean;
        stats::adjusted::Pair::bare(difference)
    };
    let figures: Vec<_> = parts.iter().map(figure).collect();
    let Some(of) = stats::adjusted::Estimate::of(&figures, &[]) else {
        return Some(Estimate::exact(ratio));
    };
    let margin = stats::sequential::student_critical(1.96, of.degrees) * of.standard_error;
    estimate(ratio, [ratio - margin, ratio + margin])
}
