//! Words that mean something: which ones can't be names without quotes, and which ones a shell
//! completes.
//!
//! Invariants
//!   * all words are in small letters
//!
//! Callers: `dialect`, `reader`; the shell; whoever writes a name into SQL.
//! Sources: PostgreSQL's documentation, "SQL Key Words", column "reserved".

use crate::scan::{is_name_part, is_name_start};

/// Whether a word in small letters is no name unless it stands in double quotes.
#[expect(clippy::match_like_matches_macro, reason = "a macro gives each word its own line")]
pub fn is_reserved(word: &str) -> bool {
    match word {
        "all" | "analyse" | "analyze" | "and" | "any" | "array" | "as" | "asc" | "asymmetric"
        | "between" | "both" | "case" | "cast" | "check" | "collate" | "column" | "constraint"
        | "create" | "cross" | "current_catalog" | "current_date" | "current_time"
        | "current_timestamp" | "current_user" | "default" | "deferrable" | "desc" | "distinct"
        | "do" | "else" | "end" | "except" | "exists" | "false" | "fetch" | "for" | "foreign"
        | "from" | "full" | "grant" | "group" | "having" | "in" | "initially" | "inner"
        | "intersect" | "into" | "is" | "join" | "lateral" | "leading" | "like" | "limit"
        | "localtime" | "localtimestamp" | "natural" | "not" | "null" | "offset" | "on"
        | "only" | "or" | "order" | "outer" | "placing" | "primary" | "references"
        | "returning" | "select" | "session_user" | "some" | "symmetric" | "table" | "then"
        | "to" | "trailing" | "true" | "union" | "unique" | "user" | "using" | "variadic"
        | "when" | "where" | "window" | "with" => true,
        _ => false,
    }
}

/// The words that statements of Forebay are written with, in small letters, for completion.
pub fn keywords() -> impl Iterator<Item = &'static str> {
    KEYWORDS.split_whitespace()
}

/// The keywords of the statements, beside functions and parameters, which their rooms list.
const KEYWORDS: &str = "\
    add all alter always analyze and any as asc autoextend avg begin between bigint \
    blocksize boolean buffer_cache by bytea cache cascade case cast char check checkpoint \
    coalesce column comment commit conflict constraint copy count create cross csv current \
    current_date current_timestamp cycle data datafile date deallocate default delete \
    delimiter desc distinct do double drop else end escape except excluded exclusive execute \
    exists explain external extract false fetch filter first flush for foreign format from \
    full generated group having header identity if immediate in including increment index \
    inner insert integer intersect interval into is isolation join key kill last lateral \
    left level like limit location lock locked logfile matched max maxsize maxvalue merge \
    min minvalue mode natural next nocache nocycle not nothing nowait null nulls number of \
    offset on online only or order outer partition percent precision prepare primary quote \
    read references reject release rename replace reset restart returning right rollback row \
    rows savepoint schema select sequence serializable session set share show size skip \
    smallint start statistics stdin stdout sum switch system table tablespace temporary text \
    then timestamp to transaction true truncate type union unique unlimited update using \
    values varchar varchar2 view wait when where with work write";

/// A name as it is written in SQL: in double quotes if it needs them.
pub fn quote_ident(name: &str) -> String {
    let is_plain = name.starts_with(is_name_start)
        && name.chars().all(is_name_part)
        && name.to_lowercase() == name
        && !is_reserved(name);
    match is_plain {
        true => name.into(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

/// A text as it is written in SQL, in single quotes.
pub fn quote_text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_come_once_and_in_order() {
        let words: Vec<&str> = keywords().collect();
        assert!(words.is_sorted_by(|a, b| a < b));
        assert!(words.iter().all(|word| *word == word.to_ascii_lowercase()));
    }

    #[test]
    fn reserved_words_are_postgresqls() {
        assert!(["select", "from", "order", "user", "join"].into_iter().all(is_reserved));
        assert!(!["value", "date", "name", "level", "Select"].into_iter().any(is_reserved));
    }

    #[test]
    fn a_name_is_quoted_if_it_has_to_be() {
        for plain in ["orders", "v$log", "serial#", "a1", "naïve", "value"] {
            assert_eq!(quote_ident(plain), plain);
        }
        for (name, quoted) in [
            ("Orders", "\"Orders\""),
            ("order", "\"order\""),
            ("1a", "\"1a\""),
            ("a b", "\"a b\""),
            ("a\"b", "\"a\"\"b\""),
            ("", "\"\""),
            ("$a", "\"$a\""),
        ] {
            assert_eq!(quote_ident(name), quoted);
        }
        assert_eq!(quote_text("it's"), "'it''s'");
    }
}
