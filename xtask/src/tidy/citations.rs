//! A rule that is cited exists, in comments and in Markdown.
//!
//! `rules` says how a rule is declared. A comment, or a line of a document, cites a rule in one of
//! three ways:
//!
//!   the word "rule" or "rules" and then numbers, joined by commas or "and";
//!   such numbers, and nothing else, in round brackets;
//!   a line that begins with the number and a colon.
//!
//! In a document any other number whose letters some rule has is a citation too. Outside of code
//! between backquotes, that is.
//!
//! `os/` before a number says that the README of crate `os` declares it; then it has to.

use super::Finding;
use crate::rules::{Rules, leading_number};
use crate::rust_text::words;
use crate::tree::{Document, SourceFile, Tree};

pub(crate) fn check(tree: &Tree, rules: &Rules) -> Vec<Finding> {
    let of_files = tree.files.iter().map(|file| (file.path.as_str(), cited(file)));
    let of_documents =
        tree.documents.iter().map(|document| (document.path.as_str(), cited_in(document, rules)));
    let all = of_files.chain(of_documents);
    all.flat_map(|(path, cited)| cited.into_iter().map(move |(line, rule)| (path, line, rule)))
        .filter_map(|(path, line, cited)| {
            let (krate, number) = match cited.split_once('/') {
                Some((krate, number)) => (Some(krate), number),
                None => (None, cited.as_str()),
            };
            let say = match (rules.get(number), krate) {
                (None, _) => format!(
                    "rule {number} doesn't exist: declare it in a README, or cite the one that is \
                     meant"
                ),
                (Some(rule), Some(krate)) if rule.krate.as_deref() != Some(krate) => {
                    format!("rule {number} isn't one of `{krate}`: {} declares it", rule.path)
                }
                _ => return None,
            };
            Some(Finding::new(path, line, say))
        })
        .collect()
}

/// The rules that a file's comments cite, with their lines.
fn cited(file: &SourceFile) -> Vec<(usize, String)> {
    let lines = file.halves.comments.lines().enumerate();
    lines.flat_map(|(i, line)| cited_in_line(line).into_iter().map(move |r| (i + 1, r))).collect()
}

/// The rules that a document cites, with their lines; what it declares is among them.
fn cited_in(document: &Document, rules: &Rules) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut is_code = false;
    for (i, line) in document.text.lines().enumerate() {
        is_code ^= line.trim_start().starts_with("```");
        if is_code {
            continue;
        }
        let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join(" ");
        let words = prose.split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '/' | '_')));
        let of_series = |word: &&str| {
            let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
            letters.len() == 2 && leading_number(word).is_some() && rules.has_series(letters)
        };
        let mut cited = cited_in_line(&prose);
        cited.extend(words.filter(of_series).map(str::to_string));
        cited.sort();
        cited.dedup();
        found.extend(cited.into_iter().map(|rule| (i + 1, rule)));
    }
    found
}

/// The rules that a line cites in one of the three ways.
fn cited_in_line(line: &str) -> Vec<String> {
    let body = line.trim().trim_start_matches(['/', '!', '*']).trim_start();
    let first = leading_number(body.trim_start_matches(['-', '*', ' ']));
    let mut found: Vec<String> =
        first.filter(|rule| body.contains(&format!("{rule}:"))).into_iter().collect();
    for inside in line.split('(').skip(1).filter_map(|rest| rest.split(')').next()) {
        let items = inside.split([',', ' ']).filter(|item| !item.is_empty() && *item != "and");
        let list = numbers_in_list(inside);
        if list.len() == items.count() {
            found.extend(list);
        }
    }
    for word in ["rule", "rules", "Rule", "Rules"] {
        for at in words(line, word) {
            found.extend(numbers_in_list(line[at + word.len()..].trim_start()));
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

    /// The lines that are found in a comment of crate `waits`, whose README has `readme`.
    fn missing(readme: &str, source: &str) -> Vec<usize> {
        lines("waits", readme, source)
    }

    fn lines(krate: &str, readme: &str, source: &str) -> Vec<usize> {
        let document = |krate: Option<&str>, path: &str, text: &str| Document {
            krate: krate.map(str::to_string),
            path: path.to_string(),
            text: text.to_string(),
        };
        let tree = Tree {
            members: Vec::new(),
            files: vec![SourceFile::new(krate, "crates/ground/waits/src/cell.rs", source)],
            documents: vec![
                document(Some(krate), "crates/ground/waits/README.md", readme),
                document(Some("os"), "crates/ground/os/README.md", "**O1** Only here."),
                document(None, "docs/ARCHITECTURE.md", "**TT1** elapsed = ..."),
            ],
        };
        check(&tree, &Rules::read(&tree)).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_cited_rule_that_exists_is_fine() {
        let source = "//! Summed by readers (rules W1, W2 and TT1).\n// W2: one writer.\nfn f() {}";
        assert_eq!(missing("**W1** a\n\n**W2** b", source), Vec::<usize>::new());
    }

    #[test]
    fn a_cited_rule_that_does_not_exist_is_found_on_its_line() {
        assert_eq!(missing("**W1** a", "fn f() {}\n// see rule W7.\n"), [2]);
        assert_eq!(missing("**W1** a", "/// Rules W1 and W9 hold.\n"), [1]);
        assert_eq!(missing("**W1** a", "/// One writer (W1, W9), says he.\n"), [1]);
        assert_eq!(missing("**W1** a", "// W3: the writer goes first.\n"), [1]);
    }

    #[test]
    fn another_crates_rule_may_be_cited_with_the_crates_name() {
        assert_eq!(missing("", "// rule os/O1 says so (O1)"), Vec::<usize>::new());
        assert_eq!(missing("", "// rule os/O2 says so"), [1]);
        assert_eq!(missing("**W1** a", "// rule os/W1 says so"), [1]);
    }

    #[test]
    fn a_document_cites_rules_that_exist() {
        assert_eq!(missing("**W1** As rule X1 says.", ""), [1]);
        assert_eq!(missing("**W1** a\n\nSee (W2).\n\nW3: because.", ""), [3, 5]);
        assert_eq!(missing("**WT1** a\n\nWT1 and then WT2", ""), [3]);
        assert_eq!(missing("**WT1** a\n\n```\nWT2\n```\n`WT3`, UTF8, P1", ""), Vec::<usize>::new());
    }

    #[test]
    fn ordinary_words_and_strings_are_not_citations() {
        let source = "// as a rule SCNs grow; UTF8: text; P1 (a K1 of it); UTC-2: a zone\n\
                      const A: &str = \"rule W9\"; // the rule: M/D/1, CRC32C";
        assert_eq!(missing("", source), Vec::<usize>::new());
    }
}
