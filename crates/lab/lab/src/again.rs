//! The verdict of an experiment again, from its rows alone.
//!
//! Callers: the binary's `lab report`.

use experiment::{
    Asked, Measure, NoVerdict, Question, RATE, RoundKind, Rows, Rule, Run, Untried, Verdict,
};

use crate::experiment_file::{ERROR, MATTERS};
use crate::setting::is_device_neutral;

/// The verdict on rows that were kept, by the rule that they were asked by; `threshold` is another
/// one, as a share. Of rows that don't say what was asked, the rounds that were planned are taken
/// to be those that are there, and the error is that of an experiment that doesn't say.
pub fn report_again(
    rows: &Rows,
    threshold: Option<f64>,
    command: String,
) -> Result<Verdict, NoVerdict> {
    let asked = rows.asked.as_ref();
    let mut rule = asked.map_or_else(|| guessed(&rows.runs), |asked| asked.rule);
    rule.threshold = threshold.unwrap_or(rule.threshold);
    let of = |text: fn(&Asked) -> &String, otherwise: &str| {
        asked.map_or_else(|| otherwise.to_owned(), |asked| text(asked).clone())
    };
    let mut notes = asked.map_or_else(
        || vec!["Made again from rows that don't say what was asked of them.".to_owned()],
        |asked| asked.notes.clone(),
    );
    notes.extend(rows.notes.iter().cloned());
    let question = Question {
        rule,
        most_rounds: None,
        command: of(|asked| &asked.call.command, &command),
        model: of(
            |asked| &asked.model,
            "The rows don't say what the model stands for: the first report does.",
        ),
        sensitivity: Vec::new(),
        untried: Untried::NotInRows,
        audits: rows.audits.clone(),
        notes,
    };
    Verdict::of(&rows.runs, &question)
}

fn guessed(rows: &[Run]) -> Rule {
    let compared = rows.iter().filter(|run| run.identity.kind == RoundKind::Compared);
    Rule {
        threshold: MATTERS / 100.0,
        error: ERROR / 100.0,
        rounds: compared.map(|run| run.identity.round).max().unwrap_or(0),
        is_device_neutral: differing(rows).all(is_device_neutral),
        measure: match rows.iter().any(|run| run.identity.parameters.contains_key(RATE)) {
            true => Measure::Percentile99,
            false => Measure::Throughput,
        },
        is_open_ended: false,
    }
}

/// The parameters that aren't the same in all rows.
fn differing(rows: &[Run]) -> impl Iterator<Item = &str> {
    let first = rows.first().map(|run| &run.identity.parameters);
    let of = move |run: &Run, name: &str| {
        run.identity.parameters.get(name) == first.and_then(|first| first.get(name))
    };
    let names = rows.iter().flat_map(|run| run.identity.parameters.keys());
    let mut names: Vec<&str> = names.map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().filter(move |name| rows.iter().any(|run| !of(run, name)))
}
