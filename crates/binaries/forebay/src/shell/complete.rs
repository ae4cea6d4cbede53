//! What the Tab key offers: commands, keywords, tables, columns, functions, parameters. Views of
//! the system come with their first letter only, because there are many.
//!
//! Callers: `terminal`.

use super::backend::{Names, TableNames};
use super::command::{self, is_command};

/// Words that can stand at a place.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Offered {
    /// The byte of the line at which they begin.
    pub(crate) start: usize,
    /// The words, in order.
    pub(crate) words: Vec<String>,
}

/// Words behind which a table stands.
const BEFORE_TABLES: [&str; 8] =
    ["from", "join", "into", "update", "table", "truncate", "analyze", "copy"];
/// Words behind which a parameter stands.
const BEFORE_PARAMETERS: [&str; 2] = ["set", "show"];

/// The words that can stand at this byte of the text.
pub(crate) fn offered(text: &str, at: usize, names: &Names) -> Offered {
    let before = text.get(..at).unwrap_or(text);
    let start = word_start(before);
    let typed = &before[start..];
    let words = match () {
        () if is_command(text) => of_command(before, start, names),
        () if is_within_quotes(before) => Vec::new(),
        () => of_statement(text, before, start, names),
    };
    let folded = typed.to_lowercase();
    let mut words: Vec<String> = words
        .into_iter()
        .filter(|word| word.to_lowercase().starts_with(&folded) && *word != typed)
        .collect();
    words.sort();
    words.dedup();
    Offered { start, words }
}

/// Where the word that ends here begins. A period ends one: what stands behind it is a column.
fn word_start(before: &str) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '#' | '\\' | '"');
    let letters = before.char_indices().rev().take_while(|(_, c)| is_part(*c));
    letters.last().map_or(before.len(), |(at, _)| at)
}

fn is_within_quotes(before: &str) -> bool {
    // What is open would be closed by a quote, and what isn't would be opened.
    !syntax::is_complete(&format!("{before};")) && syntax::is_complete(&format!("{before}';"))
}

fn of_command(before: &str, start: usize, names: &Names) -> Vec<String> {
    let called = before[..start].split_whitespace().next();
    match called {
        None => command::all().map(|[name, ..]| (*name).to_owned()).collect(),
        Some("\\d" | "\\d+" | "desc" | "describe") => {
            objects(names).chain(system(names, &before[start..])).collect()
        }
        Some("\\dt" | "\\dv" | "\\copy") => tables(names).collect(),
        Some("\\di" | "\\ds") => names.others.clone(),
        Some("\\timing" | "\\waits" | "\\t" | "\\pager") => vec!["on".into(), "off".into()],
        Some("\\format") => command::formats().collect(),
        Some("\\x") => vec!["on".into(), "off".into(), "auto".into()],
        _ => Vec::new(),
    }
}

fn tables(names: &Names) -> impl Iterator<Item = String> {
    names.tables.iter().map(|table| table.name.clone())
}

/// Views of the system, if something of the name is typed.
fn system<'n>(names: &'n Names, typed: &str) -> impl Iterator<Item = String> + use<'n> {
    let all: &[TableNames] = if typed.is_empty() { &[] } else { &names.system };
    all.iter().map(|view| view.name.clone())
}

fn objects(names: &Names) -> impl Iterator<Item = String> {
    tables(names).chain(names.others.iter().cloned())
}

fn of_statement(text: &str, before: &str, start: usize, names: &Names) -> Vec<String> {
    let left = &before[..start];
    if let Some(owner) = left.strip_suffix('.') {
        return columns_of(&owner[word_start(owner)..], text, names);
    }
    let previous = left.trim_end();
    let previous = previous[word_start(previous)..].to_lowercase();
    match previous.as_str() {
        word if BEFORE_TABLES.contains(&word) => {
            tables(names).chain(system(names, &before[start..])).collect()
        }
        word if BEFORE_PARAMETERS.contains(&word) => {
            let keywords = syntax::keywords().map(|word| cased(word, &before[start..]));
            let columns = named_tables(text, names).flat_map(|table| table.columns.iter().cloned());
            names.parameters.iter().cloned().chain(keywords).chain(columns).collect()
        }
        "index" | "sequence" | "tablespace" => names.others.clone(),
        _ => {
            let keywords = syntax::keywords().map(|word| cased(word, &before[start..]));
            let columns = named_tables(text, names).flat_map(|table| table.columns.iter().cloned());
            let functions = names.functions.iter().cloned();
            keywords.chain(columns).chain(objects(names)).chain(functions).collect()
        }
    }
}

/// A keyword in capitals, if what is typed of it is.
fn cased(word: &str, typed: &str) -> String {
    let is_capital =
        typed.chars().any(char::is_uppercase) && !typed.chars().any(char::is_lowercase);
    match is_capital {
        true => word.to_uppercase(),
        false => word.into(),
    }
}

/// The tables that a text names; all, if it names none.
fn named_tables<'n>(text: &str, names: &'n Names) -> impl Iterator<Item = &'n TableNames> {
    let words = words(text);
    let is_named = move |table: &TableNames| words.contains(&table.name);
    let any = names.tables.iter().chain(&names.system).any(&is_named);
    let others: &[TableNames] = if any { &names.system } else { &[] };
    names.tables.iter().chain(others).filter(move |table| !any || is_named(table))
}

fn words(text: &str) -> Vec<String> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '#');
    text.split(|c| !is_part(c)).filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// The columns of a table, by its name or by the name that the text gives it: `FROM orders o`.
fn columns_of(owner: &str, text: &str, names: &Names) -> Vec<String> {
    let owner = owner.trim_matches('"').to_lowercase();
    let words = words(text);
    let is_alias_of = |table: &TableNames| {
        let followed = |pair: &[String]| pair[0] == table.name && pair[1] == owner;
        let named =
            |three: &[String]| three[0] == table.name && three[1] == "as" && three[2] == owner;
        words.windows(2).any(followed) || words.windows(3).any(named)
    };
    let all = || names.tables.iter().chain(&names.system);
    let table = all().find(|table| table.name == owner);
    match table.or_else(|| all().find(|table| is_alias_of(table))) {
        Some(table) => table.columns.clone(),
        None => views_of(&owner, names),
    }
}

/// The views of the system that are in this schema.
fn views_of(schema: &str, names: &Names) -> Vec<String> {
    let within = |view: &TableNames| {
        let name = view.name.strip_prefix(schema)?.strip_prefix('.')?;
        Some(name.to_owned())
    };
    names.system.iter().filter_map(within).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let table = |name: &str, columns: &[&str]| TableNames {
            name: name.into(),
            columns: columns.iter().map(|column| column.to_string()).collect(),
        };
        Names {
            tables: vec![
                table("orders", &["o_id", "o_total"]),
                table("customer", &["c_id", "c_name"]),
            ],
            system: vec![
                table("v$session", &["sid", "status"]),
                table("information_schema.tables", &["table_name"]),
            ],
            others: vec!["orders_key".into()],
            functions: vec!["upper".into()],
            parameters: vec!["statement_timeout".into()],
        }
    }

    /// What is offered at the end of a text.
    fn at_end(text: &str) -> Vec<String> {
        offered(text, text.len(), &names()).words
    }

    #[test]
    fn tables_stand_behind_from_and_columns_elsewhere() {
        assert_eq!(at_end("select * from ord"), ["orders"]);
        assert_eq!(at_end("select * from "), ["customer", "orders"]);
        assert_eq!(at_end("select * from orders where o_"), ["o_id", "o_total"]);
        assert!(!at_end("select * from orders where ").contains(&"c_id".to_string()));
        assert!(at_end("select ").contains(&"c_id".to_string()));
        assert!(at_end("select up").contains(&"upper".to_string()));
        assert_eq!(at_end("set statement_t"), ["statement_timeout"]);
    }

    #[test]
    fn columns_of_a_table_stand_behind_its_name_and_its_alias() {
        assert_eq!(at_end("select orders."), ["o_id", "o_total"]);
        assert_eq!(at_end("select * from customer c, orders as o where c."), ["c_id", "c_name"]);
        assert_eq!(at_end("select * from customer c, orders as o where o.o_t"), ["o_total"]);
        assert_eq!(at_end("select x."), [""; 0]);
    }

    #[test]
    fn views_of_the_system_come_with_their_first_letter() {
        assert_eq!(at_end("select * from v"), ["v$session"]);
        assert!(at_end("select sid from v$session where s").contains(&"status".to_string()));
        assert_eq!(at_end("select * from v$session s where s.st"), ["status"]);
        assert_eq!(at_end("select * from information_schema."), ["tables"]);
        assert_eq!(at_end("\\d v$"), ["v$session"]);
        assert!(!at_end("select ").contains(&"sid".to_string()));
    }

    #[test]
    fn keywords_are_in_capitals_if_they_were_begun_so() {
        assert_eq!(at_end("sel"), ["select"]);
        assert_eq!(at_end("SEL"), ["SELECT"]);
        assert_eq!(offered("SEL", 3, &names()).start, 0);
        assert_eq!(at_end("select"), [""; 0]);
    }

    #[test]
    fn commands_and_what_stands_behind_them_are_completed() {
        assert_eq!(at_end("\\ti"), ["\\timing"]);
        assert_eq!(at_end("\\timing o"), ["off", "on"]);
        assert_eq!(at_end("\\format c"), ["csv"]);
        assert_eq!(at_end("desc ord"), ["orders", "orders_key"]);
        assert_eq!(at_end("\\d ord"), ["orders", "orders_key"]);
        assert!(at_end("\\").len() > 10);
    }

    #[test]
    fn nothing_is_offered_within_a_text() {
        assert_eq!(at_end("select 'ord"), [""; 0]);
        assert!(!at_end("select 'a' || o").is_empty());
    }
}
