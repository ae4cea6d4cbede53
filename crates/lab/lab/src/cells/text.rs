//! What the texts of tables share: 80 columns.
//!
//! Callers: the texts of tables.

use report::number::{change_size, counted, decimal, share, signed};
use report::paragraph;

use super::profile::Unaccounted;
use super::rest::Rest;
use super::statements::{Answer, Equals, Part, Statement};
use crate::checks::commits_line;

/// A smaller part of a difference is none, as printed.
const SECONDS_SHOWN: f64 = 0.0005;
/// From this share on, time without a name is warned of.
const UNACCOUNTED_MAX: f64 = 0.01;

/// How the cells were measured, as the end of a sentence.
pub(crate) fn rounds_text(rest: &Rest) -> String {
    match rest.modelled {
        true => "modelled, once: a model repeats itself, so no figure has an interval".to_owned(),
        false => format!(
            "{}, in each of which every cell is measured once and one twice, in an order drawn by \
             lot",
            counted(rest.rounds.into(), "round")
        ),
    }
}

/// All statements by their questions, and how sure they are, where a factor over `matters` matters.
pub(crate) fn statements_text(rest: &Rest, matters: f64) -> String {
    let (mut text, mut question) = (String::new(), "");
    for statement in &rest.statements {
        if statement.question != question {
            question = statement.question;
            text += &format!("{question}\n");
        }
        text += &paragraph(&sentence(statement), "  ");
    }
    if rest.modelled || rest.statements.is_empty() {
        return text;
    }
    let count = rest.statements.len();
    let few = match rest.rounds < rest.rounds_least {
        true => format!(
            " Of fewer than {} none can be certain: these are {}.",
            counted(rest.rounds_least.into(), "round"),
            rest.rounds
        ),
        false => String::new(),
    };
    text + &paragraph(
        &format!(
            "Each compares cells of the same rounds. The declared error of {} is shared over these \
             {count} (Bonferroni): every interval is one of {} %. A difference under {} doesn't \
             matter, and one that equals show too isn't told. The parts of a session's time have \
             the interval of their statement each.{few}",
            share(rest.error),
            decimal(100.0 * (1.0 - rest.error / count as f64), 2),
            change_size(matters),
        ),
        "",
    )
}

/// A statement without its question.
fn sentence(statement: &Statement) -> String {
    let Statement { cells, times_as_fast, .. } = statement;
    let interval = match (statement.times_low, statement.times_high) {
        (Some(low), Some(high)) => format!(" ({} to {})", factor(low), factor(high)),
        _ => String::new(),
    };
    let times = format!("{} times as fast{interval}", factor(*times_as_fast));
    let says = match statement.answer {
        Answer::Faster => format!("faster, {times}."),
        Answer::Slower => format!("slower, {times}."),
        Answer::NoDifference => format!("no difference that matters: {times}."),
        Answer::CantTell => format!("can't tell: {times}."),
        Answer::Modelled => format!("modelled, {times}, without an interval."),
    };
    format!("{cells}: {says}{}", cause(statement))
}

fn cause(statement: &Statement) -> String {
    let seconds = |seconds: f64| signed((seconds * 1e3).round() as i64, 3);
    let size = |part: &Part| match (part.seconds_low, part.seconds_high) {
        (Some(low), Some(high)) => {
            format!("{} s a session ({} to {})", seconds(part.seconds), seconds(low), seconds(high))
        }
        _ => format!("{} s a session", seconds(part.seconds)),
    };
    let named = |name: &String| statement.parts.iter().find(|part| part.name == *name);
    match (statement.answer, statement.cause.as_ref().and_then(named), statement.parts.first()) {
        (Answer::Faster | Answer::Slower, Some(part), _) => {
            format!(" The largest certain part of it: {}, {}.", part.name, size(part))
        }
        (Answer::Faster | Answer::Slower, None, _) => {
            " Which part of the time makes it can't be told.".to_owned()
        }
        (Answer::Modelled, _, Some(part)) if part.seconds.abs() >= SECONDS_SHOWN => {
            format!(" The part that differs most: {}, {}.", part.name, size(part))
        }
        _ => String::new(),
    }
}

/// A ratio with two decimals, or with more digits than anybody needs none.
fn factor(ratio: f64) -> String {
    match ratio {
        ratio if ratio >= 1e3 => "over 1,000".to_owned(),
        ratio => decimal(ratio, 2),
    }
}

/// How far equals lie apart; nothing of a model, which has none.
pub(crate) fn equals_text(rest: &Rest) -> String {
    let Some(equals) = rest.equals else {
        let none = "There were no two rounds of equals, so how far equals lie apart isn't known.\n";
        return if rest.modelled { String::new() } else { none.to_owned() };
    };
    let Equals { rounds, ratio, ratio_low, ratio_high, floor } = equals;
    let warning = match equals.differ() {
        true => {
            " WARNING: equals differ for certain, so runs of one round depend on their order: \
             don't trust the statements."
        }
        false => "",
    };
    paragraph(
        &format!(
            "Equals, one cell of each of {rounds} rounds: the later took {} times as long ({} to \
             {}, 95 %). Equals of as many rounds could lie {} apart.{warning}",
            decimal(ratio, 3),
            decimal(ratio_low, 3),
            decimal(ratio_high, 3),
            change_size(floor)
        ),
        "",
    )
}

/// The end of a report, from its commits on: they were looked for after the crash that `after`
/// names. `synchronous` says what comes of it if asynchronous I/O isn't asynchronous on files.
pub(crate) fn end_text(rest: &Rest, after: &str, synchronous: &str) -> String {
    let mut text = commits_line(rest.commits, after);
    text += &unaccounted_text(rest.unaccounted.as_ref());
    text += &paragraph(&rest.chosen, "");
    if !rest.asynchronous_files {
        let what = "This system's asynchronous I/O isn't asynchronous on files";
        text += &paragraph(&format!("{what}{synchronous}."), "");
    }
    text += &paragraph(&rest.machine, "");
    text + &format!("commit {}\nto repeat it: {}\n", rest.commit, rest.command)
}

/// The session that left most of its time without a name, if there is one.
fn unaccounted_text(most: Option<&Unaccounted>) -> String {
    let Some(most) = most else { return String::new() };
    let warning = if most.share > UNACCOUNTED_MAX { "WARNING: " } else { "" };
    paragraph(
        &format!(
            "{warning}Without a name: {} of a single session's time at most ({}, {}).",
            share(most.share),
            most.session,
            most.setting
        ),
        "",
    )
}
