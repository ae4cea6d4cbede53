//! The text of SQLite's files as crate `sqllogictest` reads it.
//!
//! The crate doesn't read three things that these files have: words behind the label of a
//! condition, a condition before `halt`, and blanks at the ends of lines. Lines keep their numbers:
//! what goes becomes a comment.
//!
//! Of PostgreSQL's conditions one counts for us: Forebay's GROUP BY is as strict. That PostgreSQL
//! wanted AS before a column's name was true long ago.
//!
//! Callers: `run`.

use super::LABEL;

/// What PostgreSQL is said to refuse and Forebay refuses too.
const STRICT: &str = "strict column usage";

/// A condition.
struct Condition {
    /// The line with it, among those that were taken over.
    line: usize,
    /// Whether the record behind it counts for us.
    holds: bool,
}

/// The text to be read, up to the `halt` that is meant for us.
pub(super) fn prepared(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut conditions: Vec<Condition> = Vec::new();
    for line in text.lines() {
        let line = line.trim_end();
        let mut words = line.split_whitespace();
        let (word, label) = (words.next(), words.next());
        match (word, label) {
            (Some(word @ ("skipif" | "onlyif")), Some(label)) => {
                let (kept, is_ours) = condition(word, label, line);
                let holds = if word == "skipif" { !is_ours } else { is_ours };
                conditions.push(Condition { line: lines.len(), holds });
                lines.push(kept);
            }
            (Some("halt"), None) => {
                if conditions.iter().all(|condition| condition.holds) {
                    conditions.iter().for_each(|one| lines[one.line] = "#".into());
                    lines.push("halt".into());
                    break;
                }
                conditions.drain(..).for_each(|one| lines[one.line] = "#".into());
                lines.push("#".into());
            }
            _ => {
                if !line.starts_with('#') {
                    conditions.clear();
                }
                lines.push(line.to_string());
            }
        }
    }
    lines.join("\n") + "\n"
}

/// A line with a condition as the crate reads it, and whether its label means us.
fn condition(word: &str, label: &str, line: &str) -> (String, bool) {
    if label != "postgresql" {
        return (format!("{word} {label}"), label == LABEL);
    }
    match (word, line.contains(STRICT)) {
        ("skipif", true) => (format!("skipif {LABEL}"), true),
        ("skipif", false) => ("#".into(), false),
        _ => (format!("{word} {label}"), false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_behind_a_label_go_and_lines_keep_their_numbers() {
        let text = "onlyif mysql # DIV\nquery I\nselect 1\n----\n1\n\nstatement ok  \ncreate\r\n";
        let expected = "onlyif mysql\nquery I\nselect 1\n----\n1\n\nstatement ok\ncreate\n";
        assert_eq!(prepared(text), expected);
    }

    #[test]
    fn postgresqls_conditions_count_where_we_are_as_strict() {
        let strict = "skipif postgresql # PostgreSQL has strict column usage for GROUP BY clauses";
        assert_eq!(prepared(strict), "skipif forebay\n");
        let alias = "skipif postgresql # PostgreSQL requires AS when renaming output columns";
        assert_eq!(prepared(alias), "#\n");
        assert_eq!(prepared("onlyif postgresql"), "onlyif postgresql\n");
    }

    #[test]
    fn a_halt_ends_the_file_if_it_is_meant_for_us() {
        let others = "onlyif mssql\nhalt\nonlyif oracle\n# all of it\nhalt\n\nquery I\n";
        assert_eq!(prepared(others), "#\n#\n#\n# all of it\n#\n\nquery I\n");
        assert_eq!(prepared("skipif sqlite\nhalt\nquery I\n"), "#\nhalt\n");
        assert_eq!(prepared("onlyif forebay\nhalt\nquery I\n"), "#\nhalt\n");
        assert_eq!(prepared("skipif forebay\nhalt\nquery I\n"), "#\n#\nquery I\n");
        assert_eq!(prepared("halt\nquery I\n"), "halt\n");
    }
}
