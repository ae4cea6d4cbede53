//! Any text is read or refused: nothing panics, overflows the stack, or takes time that doubles
//! with each level (rules SY1 and SY6).

#![forbid(unsafe_code)]

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, Tokenizer};
use syntax::{
    NOT_SUPPORTED, Place, SYNTAX_ERROR, TOO_COMPLEX, is_complete, parse, parse_expression,
    parse_query, split,
};

/// Everything that is done with a text, and what holds of each.
fn use_text(text: &str) {
    let mut end = 0;
    for part in split(text) {
        assert!(end <= part.start && part.start < part.end && part.end <= text.len());
        assert_eq!(part.text, &text[part.start..part.end]);
        end = part.end;
        use_statement(part.text);
    }
    let _ = is_complete(text);
    let _ = parse_expression(text);
    use_statement(text);
}

fn use_statement(text: &str) {
    let Err(error) = parse(text) else { return };
    assert_eq!(error.sqlstate().len(), 5);
    assert!(!error.message().contains('\n'), "{error}");
    assert!(error.message().chars().count() < 400, "{error}");
    if let Some(position) = error.position() {
        assert!(position <= text.len(), "{error}");
        let place = Place::of(text, position);
        assert!(place.line >= 1 && place.column >= 1);
    }
}

/// Pieces of which statements are made, and some of which they aren't.
fn pieces() -> Vec<&'static str> {
    let all = "\
        select from where group by order having limit offset union all insert into values update \
        set delete merge using on when matched then not create table index view sequence alter \
        add drop column constraint primary key references check default null case else end cast \
        as interval date timestamp exists in between and or like is distinct join left outer \
        cross lateral with recursive returning for share nowait wait skip locked of explain \
        analyze copy stdin begin commit rollback to savepoint grouping sets over partition rows \
        array row any extract substring trim position tablespace number varchar2 a b t \"Q\" 'x' \
        E'\\n' $$y$$ 1 2.5 1e3 ? :n $1 ( ) , . = < :: || * - + ;";
    all.split_whitespace().collect()
}

/// Statements that are whole, to be damaged.
const STATEMENTS: [&str; 12] = [
    "select a, count(*) filter (where b > 1) from t left join u using (i) where a in (1, 2) \
     group by a having count(*) > 1 order by a desc nulls last limit 10 offset 5 for update",
    "with w (x) as (select 1 union all values (2)) select * from w, lateral (select x) l",
    "select case when a between 1 and 2 then cast(b as number(9, 2)) else -c::int end from t",
    "select extract(year from d), substring(s from 2 for 3), trim(both 'x' from s), \
     position('a' in s), interval '1' day, date '2026-01-31' from dual",
    "insert into t (a, b) values (1, default), (?, ?) on conflict (a) do update set \
     b = excluded.b where t.b <> 1 returning *",
    "update t x set a = 1, (b, c) = (select 1, 2) from u where x.i = u.i returning x.a as n",
    "merge into t using (select 1 as i) s on t.i = s.i when matched and s.i > 0 then delete \
     when not matched then insert values (s.i)",
    "create table t (a number(9) generated always as identity primary key, b varchar2(9 char) \
     default 'x' not null, constraint c check (a > 0), foreign key (b) references u (b) on \
     delete cascade) tablespace x",
    "alter table t add (c int, d date), modify (a null), rename to u",
    "create external table w (a int, b text) location ('/f') delimiter '|' reject limit 10",
    "copy (select * from t) to stdout with (format csv, header true, null '\\N')",
    "alter system set db_cache_size = 100M commit_wait = nowait scope = memory",
];

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: None, cases, ..Default::default() }
}

proptest! {
    #![proptest_config(config(2048))]

    #[test]
    fn any_characters_are_read_or_refused(text in vec(any::<char>(), 0..60)) {
        use_text(&text.into_iter().collect::<String>());
    }

    #[test]
    fn any_pieces_are_read_or_refused(pieces in vec(select(pieces()), 0..60)) {
        use_text(&pieces.join(" "));
        use_text(&pieces.concat());
    }

    #[test]
    fn a_damaged_statement_is_read_or_refused(
        text in select(STATEMENTS.to_vec()),
        cuts in vec((0_usize..400, 0_usize..20, select(pieces())), 1..4),
    ) {
        let mut damaged: Vec<char> = text.chars().collect();
        for (at, length, put) in cuts {
            let start = at.min(damaged.len());
            let end = (start + length).min(damaged.len());
            damaged.splice(start..end, put.chars());
        }
        use_text(&damaged.into_iter().collect::<String>());
    }
}

/// The names and literals of a text, sorted. Names that are keywords somewhere are left out.
fn names_and_literals(text: &str) -> Vec<String> {
    let dialect = PostgreSqlDialect {};
    let tokens = Tokenizer::new(&dialect, text).tokenize().expect("it was read");
    let mut found = Vec::new();
    for token in tokens {
        match token {
            Token::Word(word) if word.keyword == Keyword::NoKeyword => found.push(word.value),
            // `3 . a` is shown as `3.a`, and `2 . 3` as `2.3`.
            Token::Number(number, _) => {
                found.extend(number.split('.').filter(|part| !part.is_empty()).map(str::to_owned));
            }
            Token::SingleQuotedString(_) => found.push(token.to_string()),
            _ => {}
        }
    }
    found.sort();
    found
}

/// Pieces of queries whose names and literals a tree shows as they are written.
fn query_pieces() -> Vec<&'static str> {
    let all = "\
        select select from from where group by order having limit offset union all values and or \
        not null case when then else end cast as exists in between like is distinct on using join \
        left right full outer inner cross natural lateral with table filter over partition rows \
        asc desc nulls first last fetch next only row for update of a a a b b t t u \"Q\" 'x' 'y' \
        1 2 3 ( ( ) ) , , , . = < :: || * - + int text date interval extract substring trim \
        position overlay leading placing count any some escape collate at time zone window top \
        into value";
    all.split_whitespace().collect()
}

proptest! {
    #![proptest_config(config(20_000))]

    /// What the parser reads is in its tree: it has passed over nothing (rule SY4).
    #[test]
    fn nothing_of_a_query_is_lost(
        query in select(QUERIES.to_vec()),
        changes in vec((0_usize..60, 0_usize..2, select(query_pieces())), 1..4),
    ) {
        let mut words: Vec<&str> = query.split_whitespace().collect();
        for (at, drops, put) in changes {
            let start = at.min(words.len());
            let end = (start + drops).min(words.len());
            words.splice(start..end, [put]);
        }
        let text = words.join(" ");
        if let Ok(query) = parse_query(&text) {
            let shown = query.to_string();
            let (there, here) = (names_and_literals(&text), names_and_literals(&shown));
            prop_assert_eq!(there, here, "{}\n{}", text, shown);
        }
    }
}

/// Queries in which each word stands by itself.
const QUERIES: [&str; 12] = [
    "select a , b as c from t where a = 1 and b in ( 1 , 2 ) order by a desc nulls last limit 3",
    "select count ( * ) filter ( where a > 1 ) , sum ( distinct b ) over ( partition by a ) from t",
    "select t . * , u . a from t left join u on t . a = u . a cross join ( select 1 ) as x ( y )",
    "with a ( b ) as ( select 1 union all select 2 ) select * from a offset 1 rows fetch next 2 \
     rows only",
    "select case a when 1 then 'x' else 'y' end , cast ( a as int ) , a :: text from t group by a",
    "select substring ( a from 2 for 3 ) , trim ( both 'x' from a ) , extract ( year from b ) \
     from t",
    "select position ( 'x' in a ) , overlay ( a placing b from 1 ) , interval '1' day , date \
     '2026'",
    "select a like 'x' escape 'y' , a between 1 and 2 , a is distinct from b , a is not null \
     from t",
    "select a = any ( select 1 ) , exists ( select 1 ) , ( a , b ) in ( select 1 , 2 ) from t , u",
    "( select a from t for update ) union ( values ( 1 , 'x' ) , ( 2 , 'y' ) ) except table u",
    "select string_agg ( a , ',' order by b ) , f ( ) , g ( a => 1 ) from h ( 1 , 2 ) as k , \
     lateral ( select 2 ) l",
    "select distinct on ( a ) a , array [ 1 , 2 ] , row ( 1 , 2 ) from t join u using ( a ) having \
     a > 1 window w as ( order by a )",
];

#[test]
fn the_statements_are_sound_before_they_are_damaged() {
    for text in STATEMENTS {
        parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
}

/// Texts whose parts nest or go on, so often.
fn towers(count: usize) -> Vec<String> {
    let repeat = |open: &str, middle: &str, close: &str| {
        format!("{}{middle}{}", open.repeat(count), close.repeat(count))
    };
    vec![
        repeat("select (", "1", ")"),
        repeat("select ", "1", ""),
        format!("select {}", repeat("(", "1", ")")),
        format!("select {}", repeat("(", "", "")),
        format!("select {}", repeat("f(", "1", ")")),
        format!("select {}", repeat("cast(", "1", " as int)")),
        format!("select {}", repeat("cast(", "1 +", " as int)")),
        format!("select {}", repeat("coalesce(cast(substr(", "from", ", 1) as int))")),
        format!("select {}", repeat("case when ", "1", " then 1 end")),
        format!("select {}", repeat("case ", "", "")),
        format!("select {}", repeat("not ", "true", "")),
        format!("select {}", repeat("- ", "1", "")),
        format!("select {}", repeat("interval ", "'1'", "")),
        format!("select {}", repeat("interval (", "'1'", ")")),
        format!("select {}", repeat("array[", "1", "]")),
        format!("select 1 in {}", repeat("(1 in (", "1", "))")),
        format!("select 1 in {}", repeat("((select 1), ", "1", ")")),
        format!("select {}", repeat("exists (select ", "1", ")")),
        format!("select 1 {}", repeat("+ 1 ", "", "")),
        format!("select 1 {}", repeat("and 1 ", "", "")),
        format!("select 1 {}", repeat("is distinct from 1 ", "", "")),
        format!("select 1 {}", repeat("between 1 and 1 ", "", "")),
        format!("select 1 {}", repeat("union select 1 ", "", "")),
        format!("select 1 {}", repeat("::int ", "", "")),
        format!("select a{}", repeat(".a", "", "")),
        format!("select cast(1 as int{})", repeat("[]", "", "")),
        format!("select cast(1 as {})", repeat("array<", "int", ">")),
        format!("select cast(1 as {})", repeat("table(a ", "int", ")")),
        format!("select * from {}", repeat("(", "t", ")")),
        format!("select * from {}", repeat("(t join ", "t", " on true)")),
        format!("select * from {}", repeat("((select * from ", "t", ") a join b on true)")),
        format!("select * from {}", repeat("((select from ", "t", ") a join b on true)")),
        format!("select * from {}", repeat("(select * from ", "t", ")")),
        format!("select * from t {}", repeat("join t on a = b ", "", "")),
        format!("with a as {} select 1", repeat("(with a as ", "(select 1)", " select 1)")),
        format!("insert into t values {}", repeat("(", "1", ")")),
        format!("create table t (a int default {})", repeat("(", "1", ")")),
        repeat("explain ", "select 1", ""),
        repeat("prepare p as ", "select 1", ""),
        repeat("/*", "", "*/"),
        repeat("'", "", ""),
        repeat("$a$", "", ""),
        repeat(";", "", ""),
        repeat("select 1 for update ", "", ""),
    ]
}

/// 2,000 levels are refused, and 50 aren't tried in two ways each: that would take 2^50 steps.
#[test]
fn towers_are_read_or_refused_in_time() {
    for count in [1, 2, 10, 30, 50, 70, 200, 2_000, 20_000] {
        for text in towers(count) {
            use_statement(&text);
        }
    }
}

#[test]
fn what_is_too_deep_is_called_so() {
    for text in [
        format!("select {}1{}", "(".repeat(90), ")".repeat(90)),
        format!("select {}1{}", "(".repeat(200), ")".repeat(200)),
        format!("select 1{}", " + 1".repeat(2_000)),
    ] {
        let error = parse(&text).expect_err("too deep");
        assert_eq!(error.sqlstate(), TOO_COMPLEX, "{error}");
        assert!(error.hint().is_some());
    }
    let error = parse("select * from t where").expect_err("no condition");
    assert_eq!(error.sqlstate(), SYNTAX_ERROR);
    let error = parse("vacuum t").expect_err("not ours");
    assert_eq!(error.sqlstate(), NOT_SUPPORTED);
}

/// A long statement that isn't deep is read: its time grows with its length.
#[test]
fn long_statements_are_read() {
    let rows = vec!["(1, 'text', 2.5, null, date '2026-01-31')"; 5_000].join(", ");
    parse(&format!("insert into t values {rows}")).expect("rows");
    let list = vec!["'x'"; 50_000].join(", ");
    parse(&format!("select * from t where a in ({list})")).expect("a list");
    let columns = (0..1_000).map(|n| format!("c{n} number(9) default {n} not null"));
    let columns = columns.collect::<Vec<_>>().join(", ");
    parse(&format!("create table t ({columns})")).expect("columns");
}
