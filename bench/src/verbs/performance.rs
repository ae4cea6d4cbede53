//! The verb `performance`: writes docs/PERFORMANCE.md from the races that were saved.
//!
//! ```text
//!   xbench race NAME --save ──▶ docs/races/NAME.json    the race's JSON line
//!   xbench performance ───────▶ docs/PERFORMANCE.md     from all lines
//! ```
//!
//! The page is for somebody who wonders whether this engine is fast enough for their work: what is
//! slower than elsewhere comes first. Nothing on it is written by hand but what each race means for
//! a user, which stands in [`MEANINGS`]; a test holds the page against the saved lines.
//!
//! Callers: people; `races`, to save a race.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use bench::race::{Ahead, CaseLine, Line};

use crate::Outcome;

const FOLDER: &str = "docs/races";
const PAGE: &str = "docs/PERFORMANCE.md";

/// Each race, in the order of the page among equals, and what it means for a user.
const MEANINGS: [(&str, &str); 16] = [
    ("tpcb", "short transactions of an application in the same process"),
    ("sql-tpcb", "what SQL costs short transactions, beside calls of the embedded API"),
    ("lookup", "rows found by their keys"),
    ("sql-lookup", "rows found by their keys, by prepared SQL"),
    ("sql-unprepared", "rows found by their keys, by SQL whose text is given each time"),
    ("web-returns", "queries over millions of rows, and their load from a file"),
    ("sql-explain", "what it costs to see where a statement's time goes"),
    ("insert", "rows loaded into a table"),
    ("update", "statements over whole tables, by many sessions at once"),
    ("commit", "the wait for a durable commit"),
    ("scan", "full scans of tables that are larger than the cache"),
    ("recover", "the time until a database is open after a crash"),
    ("dbwr", "changed blocks written in the background"),
    ("io", "the engine's way to the disk"),
    ("get", "a block that is in the cache, the step of which lookups consist"),
    ("waits", "what it costs to know where the time goes"),
];

/// The verb's arguments.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Say whether the page is fresh, and write nothing
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(root: &Path, arguments: &Arguments) -> Outcome {
    let text = page(&saved(root)?)?;
    let path = root.join(PAGE);
    if !arguments.check {
        return fs::write(&path, text).map_err(|cause| format!("cannot write {PAGE}: {cause}"));
    }
    match fs::read_to_string(&path).unwrap_or_default() == text {
        true => Ok(()),
        false => Err(format!("{PAGE} isn't fresh: run cargo xbench performance")),
    }
}

/// Keeps the result of a race in place of the one before.
pub(crate) fn save(root: &Path, line: &Line) -> Outcome {
    let path = root.join(FOLDER).join(format!("{}.json", line.race));
    let kept =
        fs::create_dir_all(root.join(FOLDER)).and_then(|()| fs::write(&path, line.text() + "\n"));
    kept.map_err(|cause| format!("cannot write {}: {cause}", path.display()))
}

/// The races that were saved, in the order of [`MEANINGS`].
fn saved(root: &Path) -> Result<Vec<Line>, String> {
    let mut lines = Vec::new();
    for (race, _) in MEANINGS {
        let path = root.join(FOLDER).join(format!("{race}.json"));
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let line = Line::read(&text).map_err(|why| format!("{}: {why}", path.display()))?;
        lines.push(line);
    }
    Ok(lines)
}

fn page(lines: &[Line]) -> Result<String, String> {
    let mut page = String::from(
        "# Performance\n\n\
         Written by `cargo xbench performance` from the races saved in [races](races); don't edit \
         it.\n\n\
         Every figure is of a race: ours and a rival at its best do the same work in turn, in ten \
         pairs of runs or more. A ratio above 1 means that ours is better, whichever way the unit \
         points; its 95 % interval stands behind it. The rules of measuring are those of [bench]\
         (../bench/README.md).\n",
    );
    if lines.is_empty() {
        page += "\nNo race has been saved yet: `cargo xbench race NAME --save`.\n";
        return Ok(page);
    }
    page += "\n## What to conclude\n\n";
    let mut conclusions = lines.iter().map(conclusion).collect::<Result<Vec<_>, _>>()?;
    conclusions.sort_by(|a, b| a.least.total_cmp(&b.least));
    for Conclusion { text, .. } in conclusions {
        page += &text;
    }
    for (ahead, title) in [
        (Ahead::Rival, "Where the rival is faster"),
        (Ahead::Neither, "Where no difference was seen"),
        (Ahead::Ours, "Where ours is faster"),
    ] {
        page += &table(lines, ahead, title);
    }
    page += "\n## The races\n";
    for line in lines {
        page += &race(line);
    }
    Ok(page)
}

/// What a user should conclude from a race.
struct Conclusion {
    /// Its least ratio: the greatest loss comes first.
    least: f64,
    text: String,
}

fn conclusion(line: &Line) -> Result<Conclusion, String> {
    let meaning = MEANINGS.iter().find(|(race, _)| *race == line.race);
    let (_, meaning) = meaning.ok_or_else(|| format!("race {} has no meaning yet", line.race))?;
    let counted = |ahead: Ahead, words: &str| {
        let count = line.cases.iter().filter(|case| case.ahead() == ahead).count();
        (count > 0).then(|| format!("{words} in {count}"))
    };
    let parts: Vec<String> = [
        counted(Ahead::Rival, "slower than the rival"),
        counted(Ahead::Neither, "no difference seen"),
        counted(Ahead::Ours, "faster"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let ratios = line.cases.iter().map(|case| case.ratio);
    let least = ratios.clone().fold(f64::INFINITY, f64::min);
    let most = ratios.fold(0.0, f64::max);
    let text = format!(
        "- **{}** ([`{}`](#{})): {} of {} cases; {} to {} times the rival's.\n",
        capitalised(meaning),
        line.race,
        line.race,
        parts.join(", "),
        line.cases.len(),
        ratio(least),
        ratio(most)
    );
    Ok(Conclusion { least, text })
}

/// The cases with this outcome, the lowest ratio first.
fn table(lines: &[Line], ahead: Ahead, title: &str) -> String {
    let all = lines.iter().flat_map(|line| line.cases.iter().map(move |case| (line, case)));
    let mut rows: Vec<(&Line, &CaseLine)> = all.filter(|(_, case)| case.ahead() == ahead).collect();
    if rows.is_empty() {
        return String::new();
    }
    rows.sort_by(|(_, a), (_, b)| a.ratio.total_cmp(&b.ratio));
    let mut text = format!(
        "\n## {title}\n\n| race | case | ours | rival | unit | ratio | 95 % | goal | |\n\
         |---|---|---:|---:|---|---:|---:|---:|---|\n"
    );
    for (line, case) in rows {
        let goal = case.goal.map_or(String::new(), ratio);
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {} | {} | {}-{} | {goal} | {} |",
            line.race,
            case.case,
            figure(case.ours),
            figure(case.rival),
            case.unit,
            ratio(case.ratio),
            ratio(case.ci[0]),
            ratio(case.ci[1]),
            case.verdict()
        );
    }
    text
}

/// What a race's figures rest on.
fn race(line: &Line) -> String {
    let Line { race, commit, machine, pairs, seconds, seed, terms, settings, .. } = line;
    let mut text = format!(
        "\n### {race}\n\n{}\n\nCommit {commit}, {pairs} pairs, {seconds} s a run where a run has a \
         length, seed {seed}, {machine}. The JSON line: \
         [races/{race}.json](races/{race}.json).\n\n",
        terms.paragraph()
    );
    for setting in settings {
        let _ = writeln!(text, "- {setting}");
    }
    text
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(characters).collect()
}

fn ratio(value: f64) -> String {
    match value {
        v if v >= 9.995 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// Four figures, or all those before the point.
fn figure(value: f64) -> String {
    match value {
        v if v >= 999.5 => format!("{v:.0}"),
        v if v >= 9.995 => format!("{v:.1}"),
        v => format!("{v:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(race: &str, ratios: &[f64]) -> Line {
        let case = |ratio: &f64| {
            serde_json::json!({
                "case": format!("at {ratio}"), "ours": 12345.6, "rival": 12.3, "unit": "u/s",
                "higher_is_better": true, "ratio": ratio, "ci": [ratio * 0.9, ratio * 1.1],
                "goal": 1.5, "met": "undecided"
            })
        };
        let cases: Vec<_> = ratios.iter().map(case).collect();
        let terms = serde_json::json!({
            "compared": "All.", "rival": "Its best.", "timed": "Both.", "favours": "Nobody."
        });
        let text = serde_json::json!({
            "race": race, "cases": cases, "commit": "abc", "machine": "m", "pairs": 10,
            "seconds": 1.5, "seed": 7, "terms": terms, "settings": ["as it is"]
        });
        Line::read(&text.to_string()).expect("it is a line")
    }

    #[test]
    fn losses_come_first() {
        let page = page(&[line("tpcb", &[3.0, 1.02]), line("insert", &[0.5, 0.25])])
            .expect("both races are known");
        let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} in {page}"));
        let order = [
            "- **Rows loaded into a table** ([`insert`](#insert)): slower than the rival in 2 of 2 \
             cases; 0.25 to 0.50 times the rival's.",
            "- **Short transactions of an application in the same process** ([`tpcb`](#tpcb)): no \
             difference seen in 1, faster in 1 of 2 cases; 1.02 to 3.00 times the rival's.",
            "## Where the rival is faster",
            "| `insert` | at 0.25 | 12346 | 12.3 | u/s | 0.25 | 0.23-0.28 | 1.50 | undecided |",
            "| `insert` | at 0.5 |",
            "## Where no difference was seen",
            "| `tpcb` | at 1.02 |",
            "## Where ours is faster",
            "| `tpcb` | at 3 |",
            "### tpcb",
            "All. Its best. Both. Nobody.",
            "Commit abc, 10 pairs, 1.5 s a run where a run has a length, seed 7, m.",
            "- as it is",
            "### insert",
        ];
        assert!(order.map(place).is_sorted(), "{page}");
        assert!(super::page(&[line("unheard of", &[1.0])]).is_err());
    }

    #[test]
    fn the_page_is_what_the_saved_races_say() {
        let arguments = Arguments { check: true };
        let fresh = run(&xtask::workspace::root(), &arguments);
        fresh.unwrap_or_else(|why| panic!("{why}"));
    }
}
