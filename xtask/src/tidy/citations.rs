//! A rule that a comment cites exists.
//!
//! A rule is declared where a line of a crate's README, of `docs/ARCHITECTURE.md` or of
//! `docs/MEDIA.md` begins with its number: one or two capital letters and a number, perhaps behind
//! a list mark, a table bar or stars. A comment cites a rule in one of three ways:
//!
//!   the word "rule" or "rules" and then numbers, joined by commas or "and";
//!   such numbers, and nothing else, in round brackets;
//!   a comment line that begins with the number and a colon.
//!
//! A number is looked up in the README of the comment's own crate, then in the two documents that
//! hold for all. `os/` before a number looks it up in the README of crate `os`.
//!
//! A README declares each number in stars once.

use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};

use super::Finding;
use crate::rust_text::words;
use crate::tree::{Member, SourceFile, Tree};

pub(crate) fn check(tree: &Tree, common: &[String]) -> Vec<Finding> {
    let common: BTreeSet<String> = common.iter().flat_map(|text| declared(text)).collect();
    let of_crate: BTreeMap<&str, BTreeSet<String>> =
        tree.members.iter().map(|m| (m.name.as_str(), declared(&m.readme))).collect();
    let has = |krate: &str, rule: &str| of_crate.get(krate).is_some_and(|set| set.contains(rule));
    let mut findings: Vec<Finding> = tree.members.iter().flat_map(declared_again).collect();
    for file in &tree.files {
        for (line, cited) in cited(file) {
            let (exists, home) = match cited.split_once('/') {
                Some((krate, rule)) => (has(krate, rule), krate),
                None => (has(&file.krate, &cited) || common.contains(&cited), file.krate.as_str()),
            };
            if !exists {
                let say = format!(
                    "rule {cited} doesn't exist: declare it in the README of `{home}`, or cite \
                     the one that is meant"
                );
                findings.push(Finding::new(&file.path, line, say));
            }
        }
    }
    findings
}

/// The rules that a document declares.
fn declared(text: &str) -> BTreeSet<String> {
    let marks = |c: char| matches!(c, '|' | '*' | '-' | '#' | ' ');
    text.lines().filter_map(|line| leading_number(line.trim_start_matches(marks))).collect()
}

/// The lines of a crate's README that declare, in stars, a rule that a line above declares.
fn declared_again(member: &Member) -> Vec<Finding> {
    let path = format!("{}/README.md", member.folder);
    let mut first = BTreeMap::new();
    let mut findings = Vec::new();
    for (line, text) in (1..).zip(member.readme.lines()) {
        let Some(rule) = text.strip_prefix("**").and_then(leading_number) else { continue };
        match first.entry(rule) {
            Entry::Vacant(entry) => {
                entry.insert(line);
            }
            Entry::Occupied(entry) => {
                let (rule, above) = (entry.key(), entry.get());
                let say = format!("line {above} declares rule {rule} too: give one another number");
                findings.push(Finding::new(&path, line, say));
            }
        }
    }
    findings
}

/// The rule number that a text begins with.
pub(crate) fn leading_number(text: &str) -> Option<String> {
    let letters = text.chars().take_while(char::is_ascii_uppercase).count();
    let digits = text[letters..].chars().take_while(char::is_ascii_digit).count();
    let end = letters + digits;
    let ends = !text[end..].starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-'));
    ((1..=2).contains(&letters) && (1..=2).contains(&digits) && ends)
        .then(|| text[..end].to_string())
}

/// The rules that a file's comments cite, with their lines.
fn cited(file: &SourceFile) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (i, line) in file.halves.comments.lines().enumerate() {
        let body = line.trim().trim_start_matches(['/', '!', '*']).trim_start();
        let first = leading_number(body.trim_start_matches(['-', '*', ' ']));
        let colon = |rule: &String| body.contains(&format!("{rule}:"));
        found.extend(first.filter(colon).map(|rule| (i + 1, rule)));
        for inside in line.split('(').skip(1).filter_map(|rest| rest.split(')').next()) {
            let items = inside.split([',', ' ']).filter(|item| !item.is_empty() && *item != "and");
            let list = numbers_in_list(inside);
            if list.len() == items.count() {
                found.extend(list.into_iter().map(|rule| (i + 1, rule)));
            }
        }
        for word in ["rule", "rules", "Rule", "Rules"] {
            for at in words(line, word) {
                let list = numbers_in_list(line[at + word.len()..].trim_start());
                found.extend(list.into_iter().map(|rule| (i + 1, rule)));
            }
        }
    }
    found
}

/// The numbers of a list such as the one behind the word "rules", up to the first other word.
fn numbers_in_list(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for item in text.split([',', ' ']).filter(|item| !item.is_empty() && *item != "and") {
        let krate: String = item.chars().take_while(|c| c.is_ascii_lowercase()).collect();
        let rest = &item[krate.len()..];
        let (prefix, number) = match rest.strip_prefix('/') {
            Some(number) if !krate.is_empty() => (format!("{krate}/"), number),
            _ => (String::new(), item),
        };
        match leading_number(number) {
            Some(rule) => found.push(prefix + &rule),
            None => break,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(readme: &str, source: &str) -> Tree {
        let member = |name: &str, readme: &str| Member {
            name: name.to_string(),
            folder: format!("crates/{name}"),
            manifest: String::new(),
            readme: readme.to_string(),
            arrows: Vec::new(),
        };
        Tree {
            members: vec![member("waits", readme), member("os", "**O1** Only here.")],
            files: vec![SourceFile::new("waits", "crates/ground/waits/src/cell.rs", source)],
        }
    }

    fn missing(readme: &str, source: &str) -> Vec<usize> {
        let found = check(&tree(readme, source), &["**T1** elapsed = ...".to_string()]);
        found.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn rules_are_declared_in_every_usual_way() {
        let text = "**W1** a\nW2  b\n- W3: c\n| W4 | d |\n### W5 e\n**W6 f.** g\n| `W8` | x |\n";
        let expected = ["W1", "W2", "W3", "W4", "W5", "W6"].map(str::to_string);
        assert_eq!(declared(text), expected.into());
    }

    #[test]
    fn a_cited_rule_that_exists_is_fine() {
        let source = "//! Summed by readers (rules W1, W2 and T1).\n// W2: one writer.\nfn f() {}";
        assert_eq!(missing("**W1** a\n**W2** b", source), Vec::<usize>::new());
    }

    #[test]
    fn a_cited_rule_that_does_not_exist_is_found_on_its_line() {
        assert_eq!(missing("**W1** a", "fn f() {}\n// see rule W7.\n"), [2]);
        assert_eq!(missing("**W1** a", "/// Rules W1 and W9 hold.\n"), [1]);
        assert_eq!(missing("**W1** a", "/// One writer (W1, W9), says he.\n"), [1]);
        assert_eq!(missing("**W1** a", "// W3: the writer goes first.\n"), [1]);
    }

    #[test]
    fn a_rule_that_is_declared_twice_is_found_on_its_second_line() {
        assert_eq!(missing("**W1** a\n\n**W2** b\n\n**W1** c", ""), [5]);
    }

    #[test]
    fn another_crates_rule_is_cited_with_the_crates_name() {
        assert_eq!(missing("", "// rule os/O1 says so"), Vec::<usize>::new());
        assert_eq!(missing("", "// rule os/O2 says so"), [1]);
    }

    #[test]
    fn ordinary_words_and_strings_are_not_citations() {
        let source = "// as a rule SCNs grow; UTF8: text; P1 (a K1 of it); UTC-2: a zone\n\
                      const A: &str = \"rule W9\"; // the rule: M/D/1, CRC32C";
        assert_eq!(missing("", source), Vec::<usize>::new());
    }
}
