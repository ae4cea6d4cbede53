//! EXPLAIN ANALYZE on real files: what row sources did, and where the statement's time went.
#![forbid(unsafe_code)]

mod sql_common;

use database::Connection;
use sql_common::{Small, refused, rows, run, value};

fn filled(small: &Small) -> Connection<'static> {
    let mut connection = small.connect("app");
    run(&mut connection, "create table note (id bigint primary key, part bigint, text varchar(9))");
    let fill = "insert into note select n, n % 10, 'x' || n from generate_series(1, 1000) as g(n)";
    assert_eq!(run(&mut connection, fill), 1_000);
    connection
}

/// The one line with this in it.
fn line<'l>(lines: &'l [String], part: &str) -> &'l str {
    let mut found = lines.iter().filter(|line| line.contains(part));
    let one = found.next().unwrap_or_else(|| panic!("no {part:?} in {lines:#?}"));
    assert_eq!(found.next(), None, "{part:?} in {lines:#?}");
    one
}

/// The nanoseconds of a line of the profile.
fn ns(line: &str) -> i64 {
    let mut words = line.split_whitespace().rev().skip_while(|word| *word != "ms");
    words.nth(1).expect("a number before ms").replace('.', "").parse().expect("a number")
}

/// SQ70, SQ72.
#[test]
fn row_sources_say_what_they_did_and_the_profile_adds_up() {
    let small = Small::new("sql-explain-query");
    let mut connection = filled(&small);
    let text = "explain analyze select part, count(*) from note where id > 500 group by part";
    let lines = rows(&mut connection, text);
    let groups = line(&lines, "Groups by hash");
    assert!(groups.contains("(actual rows=10 starts=1 time="), "{lines:#?}");
    let of_note = line(&lines, " of note");
    assert!(of_note.contains("(actual rows=500 starts=1 time="), "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains(" consistent gets")), "{lines:#?}");
    let begin = lines.iter().position(|line| line == "Time profile:").expect("a profile");
    let (last, parts) = lines[begin + 1..].split_last().expect("it has lines");
    assert!(last.contains("elapsed") && ns(last) > 0, "{lines:#?}");
    assert_eq!(parts.iter().map(|line| ns(line)).sum::<i64>(), ns(last), "{lines:#?}");
}

#[test]
fn a_source_that_is_not_needed_is_never_started() {
    let small = Small::new("sql-explain-never");
    let mut connection = filled(&small);
    let text = "explain analyze select id from note where id < 0 and exists \
                (select 1 from note as other where other.part = note.part + 100 and random() > 2)";
    let lines = rows(&mut connection, text);
    assert!(lines.iter().any(|line| line.contains("(never started)")), "{lines:#?}");
}

/// SQ71: outside of a transaction it commits; within one it can be taken back.
#[test]
fn a_change_that_is_measured_is_made() {
    let small = Small::new("sql-explain-change");
    let mut connection = filled(&small);
    let text = "explain analyze update note set part = 77 where id = 7";
    let lines = rows(&mut connection, text);
    assert!(lines[0].starts_with("Update of note (actual rows=1)"), "{lines:#?}");
    assert!(line(&lines, "by note_pkey").contains("(actual rows=1 starts=1"), "{lines:#?}");
    let mut other = small.connect("other");
    assert_eq!(value(&mut other, "select part from note where id = 7"), "77");

    run(&mut connection, "begin");
    let lines =
        rows(&mut connection, "explain analyze delete from note where part = 3 returning id");
    assert!(lines[0].starts_with("Delete from note (actual rows=100)"), "{lines:#?}");
    run(&mut connection, "rollback");
    assert_eq!(value(&mut connection, "select count(*) from note"), "1000");

    let text = "explain analyze insert into note values (2000, 1, 'new'), (2001, 1, 'new')";
    let lines = rows(&mut connection, text);
    assert!(lines[0].starts_with("Insert into note (actual rows=2)"), "{lines:#?}");
    let text = "explain analyze merge into note using (values (2000), (3000)) as s(n) \
                on note.id = s.n when matched then update set part = 5 \
                when not matched then insert (id, part) values (s.n, 6)";
    let lines = rows(&mut connection, text);
    assert!(lines[0].starts_with("Merge into note (actual rows=2)"), "{lines:#?}");
    assert_eq!(value(&mut connection, "select sum(part) from note where id >= 2000"), "12");
    let again = "explain analyze insert into note values (1, 1, 'twice')";
    assert_eq!(refused(&mut connection, again), database::SqlState::UNIQUE_VIOLATION);
}

/// SQ73: views tell what row sources did.
#[test]
fn what_was_measured_is_kept_with_the_plan() {
    let small = Small::new("sql-explain-kept");
    let mut connection = filled(&small);
    let query = "select part, count(*) from note group by part";
    let kept = format!(
        "select s.executions, s.output_rows from v$sql_plan_statistics s join v$sql q
         on q.sql_id = s.sql_id and q.child_number = s.child_number
         where q.sql_text = '{query}' order by s.operation_id"
    );
    assert_eq!(rows(&mut connection, query).len(), 10);
    assert_eq!(rows(&mut connection, &kept), [""; 0], "nothing was measured");
    for _ in 0..2 {
        rows(&mut connection, &format!("explain analyze {query}"));
    }
    let found = rows(&mut connection, &kept);
    assert_eq!(found.first().map(String::as_str), Some("2|20"), "{found:?}");
    assert_eq!(found.last().map(String::as_str), Some("2|2000"), "{found:?}");
    // A statement that wasn't run before has its plan from now on.
    rows(&mut connection, "explain (analyze) select id from note where id = 5");
    let other = "select count(*) from v$sql where sql_text = 'select id from note where id = 5'";
    assert_eq!(value(&mut connection, other), "1");
    run(&mut connection, "prepare part (bigint) as select id from note where part = $1");
    rows(&mut connection, "explain analyze execute part (3)");
    let other = "select max(output_rows) from v$sql_plan_statistics s join v$sql q
                 on q.sql_id = s.sql_id where q.sql_text = 'select id from note where part = $1'";
    assert_eq!(value(&mut connection, other), "100");
}

/// What is switched off isn't said.
#[test]
fn options_say_what_is_said() {
    let small = Small::new("sql-explain-options");
    let mut connection = filled(&small);
    let of = |connection: &mut Connection<'_>, options: &str| {
        let text = format!("explain ({options}) select count(*) from note where part = 3");
        rows(connection, &text).join("\n")
    };
    let parts = ["(cost=", " time=", "Work: ", "Planning time: ", "Time profile:"];
    for (options, has) in [
        ("costs on", [true, false, false, false, false]),
        ("costs off", [false, false, false, false, false]),
        ("costs off, summary", [false, false, false, true, false]),
        ("analyze", [true, true, true, true, true]),
        ("analyze, costs off, timing off, summary off", [false, false, true, false, false]),
        ("analyze, buffers off", [true, true, false, true, true]),
    ] {
        let text = of(&mut connection, options);
        let found = parts.map(|part| text.contains(part));
        assert_eq!(found, has, "{options}: {text}");
        let json = of(&mut connection, &format!("{options}, format json"));
        let parts = ["Total Cost", "Actual Time ns", "Consistent Gets", "Planning Time", "Waits"];
        let found = parts.map(|part| json.contains(part));
        assert_eq!(found, has, "{options}: {json}");
    }
}

/// Long texts and lists are cut, and columns that could be taken for each other have numbers.
#[test]
fn a_plan_can_be_read() {
    let small = Small::new("sql-explain-read");
    let mut connection = filled(&small);
    let long = "explain select id from note where text = repeat('x', 60000)";
    let lines = rows(&mut connection, long);
    assert!(lines.iter().all(|line| line.len() < 200), "{}", lines.join("\n").len());
    let list: Vec<String> = (1..=100).map(|n| n.to_string()).collect();
    let lines = rows(
        &mut connection,
        &format!("explain select id from note where part in ({})", list.join(", ")),
    );
    assert!(line(&lines, "part in").contains(" 20, ... and 80 more)"), "{lines:#?}");
    let twice = "explain with q as materialized (select part from note) \
                 select count(*) from q a join q b on a.part < b.part";
    let lines = rows(&mut connection, twice);
    assert!(line(&lines, " < ").contains("note.part #1 < note.part #2"), "{lines:#?}");
    let unnamed = "explain select part + 1, count(*) from note group by part + 1 order by 2";
    let lines = rows(&mut connection, unnamed);
    let by_second = lines.iter().filter(|line| line.ends_with("By: #2"));
    assert_eq!(by_second.count(), 2, "of the groups and of the sort: {lines:#?}");
    assert!(!lines.iter().any(|line| line.contains("#0")), "{lines:#?}");
}

#[test]
fn json_says_the_same() {
    let small = Small::new("sql-explain-json");
    let mut connection = filled(&small);
    let text = "explain (analyze, format json) select count(*) from note";
    let json = value(&mut connection, text);
    for part in ["\"Actual Rows\": 1000", "\"Starts\": 1", "\"Elapsed ns\": ", "\"Waits\": ["] {
        assert!(json.contains(part), "{part}: {json}");
    }
    run(&mut connection, "prepare part(bigint) as select count(*) from note where part = $1");
    let json = value(&mut connection, "explain (analyze, format json) execute part(3)");
    assert!(json.contains("\"Actual Rows\": 100,"), "{json}");
}

/// SQ70 on Linux: the median of five statements leaves at most a hundredth without a name.
#[test]
fn on_linux_a_hundredth_of_elapsed_time_at_most_has_no_name() {
    let small = Small::new("sql-explain-closes");
    let mut connection = filled(&small);
    let text = "explain analyze select count(*) from note as a, note as b \
                where a.part + b.part > 3 and a.id <> b.id";
    let mut shares: Vec<f64> = (0..5)
        .map(|_| {
            let lines = rows(&mut connection, text);
            let unaccounted = ns(line(&lines, "unaccounted"));
            unaccounted.unsigned_abs() as f64 / ns(line(&lines, "  elapsed")) as f64
        })
        .collect();
    shares.sort_by(f64::total_cmp);
    assert!(shares[2] <= 0.01, "{shares:?}");
}
