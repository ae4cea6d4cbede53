//! The verdict of an experiment again, from its rows alone.
//!
//! Callers: the binary's `lab report`.

use experiment::{NoVerdict, Question, RoundKind, Rule, Run, Verdict};

use crate::experiment_file::ERROR;
use crate::setting::is_device_neutral;

/// The verdict on rows that were kept. The threshold is a share. The rounds that were planned are
/// taken to be those that are there, and the error is that of an experiment that doesn't say.
pub fn report_again(rows: &[Run], threshold: f64, command: String) -> Result<Verdict, NoVerdict> {
    let compared = rows.iter().filter(|run| run.identity.kind == RoundKind::Compared);
    let rounds = compared.map(|run| run.identity.round).max().unwrap_or(0);
    let question = Question {
        rule: Rule {
            threshold,
            error: ERROR / 100.0,
            rounds,
            is_device_neutral: differing(rows).all(is_device_neutral),
        },
        command,
        model: "The rows don't say what the model stands for: the first report does.".to_owned(),
        sensitivity: Vec::new(),
        commits: None,
        notes: vec![
            "Made again from the rows. The experiment's own report says whether its commits \
             survived a crash of the instance, and has its command and its notes."
                .to_owned(),
        ],
    };
    Verdict::of(rows, &question)
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
