//! The verb `refusals`: shows that clippy refuses what `clippy.toml` says it refuses.
//!
//! The crate in `xtask/fixtures/refused` does every forbidden thing once. A line that must be
//! refused ends in `// refused: method`, `// refused: type`, or `// refused: method, type`. This
//! verb runs clippy over it with the house's `clippy.toml` and holds three things:
//!
//!   1. a marked line has exactly the refusals of its mark;
//!   2. no other line has any;
//!   3. every entry of `clippy.toml` is refused somewhere, so that a misspelt path, which clippy
//!      would pass over, can't stand there as if it protected us.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;
use xtask::workspace;

use crate::{Outcome, tree};

const FIXTURE: &str = "xtask/fixtures/refused";

/// The two lints, with the word for each in a mark.
const LINTS: [(&str, &str); 2] =
    [("clippy::disallowed_methods", "method"), ("clippy::disallowed_types", "type")];

/// Which kinds of refusal each line has.
type Refusals = BTreeMap<usize, BTreeSet<String>>;

/// What clippy said about the fixture.
#[derive(Default)]
struct Heard {
    refusals: Refusals,
    /// The forbidden paths that were named.
    paths: BTreeSet<String>,
    /// Everything else, which shouldn't be there.
    other: Vec<String>,
}

pub(crate) fn run(root: &Path) -> Outcome {
    let config = tree::read(&root.join("clippy.toml"))?;
    let source = tree::read(&root.join(FIXTURE).join("src/lib.rs"))?;
    let heard = hear(&clippy(root)?);
    let complaints = judge(&marked(&source), &forbidden(&config)?, &heard);
    for complaint in &complaints {
        println!("{FIXTURE}/src/lib.rs{complaint}");
    }
    let (lines, paths) = (heard.refusals.len(), heard.paths.len());
    println!("refusals: clippy refused {lines} lines, for {paths} forbidden calls and types");
    match complaints.len() {
        0 => Ok(()),
        n => Err(format!("refusals: {n} complaints, listed above")),
    }
}

/// Runs clippy over the fixture; its messages, one JSON value a line.
fn clippy(root: &Path) -> Result<String, String> {
    let folder = root.join(FIXTURE);
    let mut command = workspace::cargo();
    command
        .args(["clippy", "--quiet", "--offline", "--message-format=json", "--"])
        .args(LINTS.iter().flat_map(|(lint, _)| ["--deny", lint]))
        .current_dir(&folder)
        .env("CLIPPY_CONF_DIR", root)
        .env("CARGO_TARGET_DIR", root.join("target/refused"))
        .env_remove("RUSTFLAGS");
    let output = command.output().map_err(|error| format!("cannot start cargo clippy: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if text.is_empty() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!("cargo clippy said nothing about {}: {why}", folder.display()));
    }
    Ok(text)
}

/// Sorts clippy's messages.
fn hear(messages: &str) -> Heard {
    let mut heard = Heard::default();
    let values = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    for value in values.filter(|value| value["reason"] == "compiler-message") {
        let message = &value["message"];
        let text = message["message"].as_str().unwrap_or_default();
        let code = message["code"]["code"].as_str().unwrap_or_default();
        let spans = message["spans"].as_array().map_or(&[][..], Vec::as_slice);
        let primary = spans.iter().find(|span| span["is_primary"] == true);
        let line = primary.and_then(|span| span["line_start"].as_u64());
        let kind = LINTS.iter().find(|(lint, _)| *lint == code).map(|(_, kind)| kind.to_string());
        match (kind, line.and_then(|line| usize::try_from(line).ok())) {
            (Some(kind), Some(line)) => {
                heard.refusals.entry(line).or_default().insert(kind);
                heard.paths.extend(text.split('`').nth(1).map(str::to_string));
            }
            // The closing "could not compile" has no place; everything else with text matters.
            _ if spans.is_empty() && text.starts_with("aborting due to") => {}
            _ => heard.other.push(text.to_string()),
        }
    }
    heard
}

/// The refusals that the source's marks ask for.
fn marked(source: &str) -> Refusals {
    let mut found = Refusals::new();
    for (text, line) in source.lines().zip(1..) {
        if let Some((_, kinds)) = text.split_once("// refused: ") {
            found.insert(line, kinds.split(',').map(|kind| kind.trim().to_string()).collect());
        }
    }
    found
}

/// The paths that `clippy.toml` forbids.
fn forbidden(config: &str) -> Result<BTreeSet<String>, String> {
    let config: toml::Table = config.parse().map_err(|error| format!("clippy.toml: {error}"))?;
    let lists = ["disallowed-methods", "disallowed-types"].map(|key| config.get(key));
    let entries = lists.into_iter().flatten().filter_map(toml::Value::as_array).flatten();
    let path = |entry: &toml::Value| {
        entry.get("path").and_then(toml::Value::as_str).map(str::to_string).ok_or_else(|| {
            format!("clippy.toml: write {entry:?} as {{ path = \"...\", reason = \"...\" }}")
        })
    };
    entries.map(path).collect()
}

/// What is not as it should be.
fn judge(marked: &Refusals, forbidden: &BTreeSet<String>, heard: &Heard) -> Vec<String> {
    let mut complaints = Vec::new();
    let lines: BTreeSet<&usize> = marked.keys().chain(heard.refusals.keys()).collect();
    for line in lines {
        let list = |refusals: &Refusals| {
            let kinds = refusals.get(line).into_iter().flatten().cloned();
            kinds.collect::<Vec<String>>().join(", ")
        };
        let (asked, got) = (list(marked), list(&heard.refusals));
        if asked != got {
            complaints.push(format!(":{line}: marked \"{asked}\", refused as \"{got}\""));
        }
    }
    for path in forbidden.difference(&heard.paths) {
        complaints.push(format!(
            ": nothing was refused for `{path}` of clippy.toml: add a marked line that uses it, \
             or mend its spelling"
        ));
    }
    complaints.extend(heard.other.iter().map(|text| format!(": clippy also said: {text}")));
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(line: u32, lint: &str, path: &str) -> String {
        serde_json::json!({ "reason": "compiler-message", "message": {
            "message": format!("use of a disallowed thing `{path}`"),
            "code": { "code": lint },
            "spans": [{ "is_primary": true, "line_start": line }],
        }})
        .to_string()
    }

    const CONFIG: &str = "disallowed-methods = [{ path = \"a::f\", reason = \"x\" }]\n\
                          disallowed-types = [{ path = \"a::T\", reason = \"x\" }]\n";
    const SOURCE: &str =
        "fn g() {\n    a::f(); // refused: method\n    a::T; // refused: type\n}\n";

    fn complaints(messages: &[String]) -> Vec<String> {
        let heard = hear(&messages.join("\n"));
        judge(&marked(SOURCE), &forbidden(CONFIG).expect("sound config"), &heard)
    }

    fn sound() -> Vec<String> {
        vec![
            message(2, "clippy::disallowed_methods", "a::f"),
            message(3, "clippy::disallowed_types", "a::T"),
        ]
    }

    #[test]
    fn refusals_that_match_their_marks_pass() {
        assert_eq!(complaints(&sound()), Vec::<String>::new());
    }

    #[test]
    fn a_marked_line_that_clippy_lets_through_fails_twice() {
        let found = complaints(&sound()[..1]);
        assert!(found[0].starts_with(":3: marked \"type\", refused as \"\""));
        assert!(found[1].contains("`a::T`"));
    }

    #[test]
    fn a_refusal_on_an_unmarked_line_or_of_the_wrong_kind_fails() {
        let stray = message(1, "clippy::disallowed_methods", "a::f");
        assert_eq!(complaints(&[sound(), vec![stray]].concat()).len(), 1);
        let wrong = message(3, "clippy::disallowed_methods", "a::T");
        assert_eq!(complaints(&[sound(), vec![wrong]].concat()).len(), 1);
    }

    #[test]
    fn anything_else_that_clippy_says_fails() {
        let other = message(2, "E0425", "nothing");
        assert_eq!(complaints(&[sound(), vec![other]].concat()).len(), 1);
    }

    #[test]
    fn an_entry_without_a_reason_is_refused() {
        assert!(forbidden("disallowed-types = [\"a::T\"]").is_err());
    }
}
