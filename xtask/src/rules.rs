//! The rules of the house: the numbered sentences of READMEs and of pages in `docs/`.
//!
//! A document declares a rule where a line begins with its number in stars, perhaps behind a list
//! mark: one or two capital letters and a number, as in `**CB7** A session ...`. The rule ends at
//! the next empty line or at the next rule. A number is declared once in the whole house, so it
//! means one thing wherever it is cited.
//!
//! Callers: `tidy::citations`, `docs`, `figures`.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::tidy::Finding;
use crate::tidy::sizes::COLUMNS_MAX;
use crate::tree::{Document, Tree};

/// The longest rule, in lines. Reasons and measurements stand elsewhere.
const RULE_LINES_MAX: usize = 4;

/// A rule's declaration.
pub(crate) struct Rule {
    /// The document that declares it.
    pub(crate) path: String,
    /// The crate whose README that is, if it is one's.
    pub(crate) krate: Option<String>,
    /// The line, counted from 1.
    pub(crate) line: usize,
    /// How many lines the rule has.
    pub(crate) lines: usize,
}

/// All rules, by their numbers.
pub(crate) struct Rules {
    declared: BTreeMap<String, Rule>,
    /// Rules that are declared again, and rules that are too long.
    pub(crate) findings: Vec<Finding>,
}

impl Rules {
    /// Reads the rules of all documents.
    pub(crate) fn read(tree: &Tree) -> Rules {
        let mut rules = Rules { declared: BTreeMap::new(), findings: Vec::new() };
        for document in &tree.documents {
            rules.add(document);
        }
        rules
    }

    fn add(&mut self, document: &Document) {
        let lines: Vec<&str> = document.text.lines().collect();
        for (at, number) in lines.iter().enumerate().filter_map(|(i, l)| Some((i, declared(l)?))) {
            let goes_on = |line: &&&str| !line.trim().is_empty() && declared(line).is_none();
            let rest = lines[at + 1..].iter().take_while(goes_on);
            let length = rest.chain([&lines[at]]).map(|line| lines_of(line)).sum();
            let (path, krate) = (document.path.clone(), document.krate.clone());
            let rule = Rule { path, krate, line: at + 1, lines: length };
            let say = match self.declared.entry(number) {
                Entry::Occupied(entry) => format!(
                    "rule {} is declared in {}:{} too: give one another number",
                    entry.key(),
                    entry.get().path,
                    entry.get().line
                ),
                Entry::Vacant(entry) if length > RULE_LINES_MAX => {
                    let number = entry.key().clone();
                    entry.insert(rule);
                    format!(
                        "rule {number} has {length} lines (limit {RULE_LINES_MAX}): say what must \
                         hold, and move the reason to \"Why\""
                    )
                }
                Entry::Vacant(entry) => {
                    entry.insert(rule);
                    continue;
                }
            };
            self.findings.push(Finding::new(&document.path, at + 1, say));
        }
    }

    /// All declarations, in the order of their numbers.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Rule> {
        self.declared.values()
    }

    /// The declaration of a number.
    pub(crate) fn get(&self, number: &str) -> Option<&Rule> {
        self.declared.get(number)
    }

    /// Whether some rule has these letters in its number.
    pub(crate) fn has_series(&self, letters: &str) -> bool {
        self.last_of(letters).is_some()
    }

    /// The highest number of a series.
    fn last_of(&self, letters: &str) -> Option<u32> {
        self.declared
            .keys()
            .filter_map(|number| number.strip_prefix(letters)?.parse::<u32>().ok())
            .max()
    }

    /// A text in which each range that begins with the first rule of a series ("CB1 to CB9") ends
    /// with the last one that there is.
    pub(crate) fn with_fresh_ranges(&self, text: &str) -> String {
        let mut fresh = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find("1 to ") {
            let (before, behind) = (&rest[..at], &rest[at + 5..]);
            let letters = trailing_capitals(before);
            fresh.push_str(before);
            fresh.push_str("1 to ");
            rest = behind;
            let old = behind.strip_prefix(letters).map(leading_digits).unwrap_or_default();
            if letters.is_empty() || old.is_empty() {
                continue;
            }
            if let Some(last) = self.last_of(letters) {
                fresh.push_str(&format!("{letters}{last}"));
                rest = &behind[letters.len() + old.len()..];
            }
        }
        fresh + rest
    }
}

/// How many lines a line is, where one has at most a hundred columns.
fn lines_of(line: &str) -> usize {
    line.chars().count().div_ceil(COLUMNS_MAX)
}

/// The number of the rule that a line declares.
fn declared(line: &str) -> Option<String> {
    line.trim_start_matches("- ").strip_prefix("**").and_then(leading_number)
}

/// The rule number that a text begins with.
pub(crate) fn leading_number(text: &str) -> Option<String> {
    let letters = text.chars().take_while(char::is_ascii_uppercase).count();
    let digits = leading_digits(&text[letters..]).len();
    let end = letters + digits;
    let ends = !text[end..].starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-'));
    ((1..=2).contains(&letters) && (1..=3).contains(&digits) && ends)
        .then(|| text[..end].to_string())
}

fn leading_digits(text: &str) -> &str {
    &text[..text.chars().take_while(char::is_ascii_digit).count()]
}

/// The capital letters that a text ends with, if a word begins with them.
fn trailing_capitals(text: &str) -> &str {
    let count = text.chars().rev().take_while(char::is_ascii_uppercase).count();
    let (before, letters) = text.split_at(text.len() - count);
    match before.ends_with(|c: char| c.is_alphanumeric()) {
        true => "",
        false => letters,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(texts: &[(&str, &str)]) -> Rules {
        let document = |&(krate, text): &(&str, &str)| Document {
            krate: Some(krate.to_string()),
            path: format!("crates/{krate}/README.md"),
            text: text.to_string(),
        };
        let documents = texts.iter().map(document).collect();
        Rules::read(&Tree { members: Vec::new(), files: Vec::new(), documents })
    }

    #[test]
    fn a_rule_is_declared_in_stars_at_the_beginning_of_a_line() {
        let text = "**W1** a\nmore\n\n- **W2 b.** c\nW3 d\n| W4 | e |\nsee **W5**\n**Word**\n";
        let found = rules(&[("waits", text)]);
        let lengths: Vec<_> = found.declared.iter().map(|(n, r)| (n.as_str(), r.lines)).collect();
        assert_eq!(lengths, [("W1", 2), ("W2", 5)]);
        assert_eq!(found.findings.iter().map(|f| f.line).collect::<Vec<_>>(), [4]);
    }

    #[test]
    fn a_number_that_two_documents_declare_is_found_in_the_second() {
        let found = rules(&[("waits", "**W1** a"), ("os", "**O1** b\n\n**W1** c")]).findings;
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].path.as_str(), found[0].line), ("crates/os/README.md", 3));
    }

    #[test]
    fn a_rule_of_five_lines_is_found() {
        let found = rules(&[("waits", "**W1** a\nb\nc\nd\n\n**W2** a\nb\nc\nd\ne")]).findings;
        assert_eq!(found.iter().map(|finding| finding.line).collect::<Vec<_>>(), [6]);
    }

    #[test]
    fn a_range_from_the_first_rule_ends_with_the_last_one() {
        let found = rules(&[("waits", "**W1** a\n\n**W2** b\n\n**W110** c")]);
        let fresh = |text| found.with_fresh_ranges(text);
        assert_eq!(fresh("Rules W1 to W7 and W2 to W3."), "Rules W1 to W110 and W2 to W3.");
        assert_eq!(fresh("W1 to W2, 1 to 5, X1 to X2"), "W1 to W110, 1 to 5, X1 to X2");
    }
}
