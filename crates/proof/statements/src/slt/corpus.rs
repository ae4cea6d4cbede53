//! What of SQLite's corpus is in scope.
//!
//! A file is out of scope if what it is about isn't there or is SQLite's alone. A record is out of
//! scope if Forebay refuses it by design, and only then: where there is an answer, it has to be the
//! right one. Both are counted, with the reason.
//!
//! Callers: `run`; the example `sqllogictest`.

/// Whether a file is in scope.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// It runs.
    In,
    /// It doesn't, for this reason.
    Out(&'static str),
}

/// The files that are left out, by the end of their path without extension.
const FILES: &[(&str, &str)] = &[
    ("evidence/slt_lang_createtrigger", "there are no triggers"),
    ("evidence/slt_lang_droptrigger", "there are no triggers"),
    ("evidence/slt_lang_reindex", "REINDEX is SQLite's"),
    (
        "evidence/slt_lang_replace",
        "REPLACE and INSERT OR REPLACE are SQLite's and MySQL's; here it is ON CONFLICT",
    ),
    (
        "evidence/slt_lang_update",
        "it sets a column three times in one UPDATE, which the standard refuses, and goes on from \
         what SQLite makes of it",
    ),
];

/// The scope of a file.
pub fn scope_of(path: &str) -> Scope {
    let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
    let found = FILES.iter().find(|(end, _)| stem.ends_with(end));
    found.map_or(Scope::In, |(_, why)| Scope::Out(why))
}

/// Why a statement that SQLite accepts is refused by design with this SQLSTATE; none: it shouldn't
/// be.
pub(super) fn refused_by_design(sql: &str, state: &str) -> Option<&'static str> {
    match state {
        "22012" => Some("a division by zero is refused; in SQLite it is NULL"),
        "22003" => Some("a number out of range is refused; in SQLite it becomes a double"),
        "42601" if sql.contains("IN ()") => Some("an empty list behind IN is SQLite's"),
        "42601" if has_table_behind_in(sql) => Some("a table behind IN is SQLite's"),
        _ => None,
    }
}

/// Whether a text says `x IN t1`.
fn has_table_behind_in(sql: &str) -> bool {
    let mut words = sql.split_whitespace().skip_while(|word| !word.eq_ignore_ascii_case("in"));
    let behind = words.nth(1).and_then(|word| word.chars().next());
    behind.is_some_and(|first| first.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_wherever_the_corpus_lies() {
        let trigger = "/tmp/test/evidence/slt_lang_createtrigger.test";
        assert_eq!(scope_of(trigger), Scope::Out("there are no triggers"));
        assert!(matches!(scope_of("evidence/slt_lang_reindex.slt"), Scope::Out(_)));
        assert_eq!(scope_of("test/select1.test"), Scope::In);
    }

    #[test]
    fn a_record_is_out_of_scope_only_if_it_is_refused_for_that_reason() {
        assert!(refused_by_design("select 1 / 0", "22012").is_some());
        assert!(refused_by_design("SELECT 1 IN ()", "42601").is_some());
        assert!(refused_by_design("SELECT 1 IN t4", "42601").is_some());
        assert!(refused_by_design("SELECT 1 NOT IN t4n", "42601").is_some());
        assert!(refused_by_design("SELECT 1 IN (SELECT * FROM t4)", "42601").is_none());
        assert!(refused_by_design("SELECT 1 IN ()", "42883").is_none());
        assert!(refused_by_design("select a from t", "42703").is_none());
    }
}
