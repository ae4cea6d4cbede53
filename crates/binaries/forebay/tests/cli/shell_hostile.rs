//! `forebay sql` in the hands of a person who knows other shells and trusts no number: what is
//! shown is whole, adds up, and agrees with what was done.

use std::io::Write;
use std::process::{Output, Stdio};

use crate::folder::{Folder, said, text};

/// A folder with a database that has one table of ten rows.
fn with_ten(name: &str) -> Folder {
    let folder = Folder::new(name);
    let made = "create table ten (n bigint primary key, t text); \
                insert into ten select n, 'row ' || n from generate_series(1, 10) as g(n)";
    assert_eq!(folder.said(&["sql", "db", "--create", "-c", made]), "CREATE TABLE\nINSERT 10\n");
    folder
}

/// What these statements and commands print, in rows without their names.
fn rows(folder: &Folder, commands: &[&str]) -> String {
    let mut arguments = vec!["sql", "db", "--format", "csv", "--no-header"];
    arguments.extend(commands.iter().flat_map(|command| ["-c", *command]));
    folder.said(&arguments)
}

/// The shell with these bytes on its standard input.
fn fed(folder: &Folder, arguments: &[&str], input: &[u8]) -> Output {
    let mut command = folder.command(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = command.spawn().expect("it starts");
    running.stdin.take().expect("a pipe").write_all(input).expect("it reads");
    running.wait_with_output().expect("it ends")
}

/// The first rows decide the widths of columns. A wider number behind them isn't broken, and in a
/// file no text is.
#[test]
fn wide_values_behind_the_first_rows_are_whole() {
    let folder = with_ten("hostile-wide");
    let query = "select n, 'x' || n as t from generate_series(1, 20000) as g(n)";
    let out = folder.said(&["sql", "db", "-c", query]);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 20_003, "a line for each row");
    assert_eq!(lines[20_001], " 20000 | x20000");
}

#[test]
fn a_statements_gets_and_ends_are_counted() {
    let folder = with_ten("hostile-gets");
    let query = "select count(*) from ten";
    let counted = "select executions, end_of_fetch_count, buffer_gets > 0, disk_reads > 0 \
                   from v$sql where sql_text = 'select count(*) from ten'";
    assert_eq!(rows(&folder, &[query, query, counted]), "10\n10\n2,2,true,true\n");
    let reads = "select sum(buffer_gets) from v$sql where sql_text = 'select count(*) from ten'";
    let gets = "select sum(value) from v$mystat join v$statname using (statistic#) \
                where name = 'session logical reads'";
    let out = rows(&folder, &[query, gets, query, gets, reads]);
    let numbers: Vec<i64> = out.lines().map(|line| line.parse().expect("a number")).collect();
    let second = numbers[3] - numbers[1];
    assert!(second > 0 && numbers[4] >= second, "{numbers:?}");
}

#[test]
fn locks_are_of_objects_of_the_dictionary() {
    let folder = with_ten("hostile-locks");
    let locked = "select object_name, object_type, lmode from v$lock \
                  join dba_objects on object_id = id1 where type = 'TM'";
    let out = rows(&folder, &["begin", "update ten set t = 'x' where n = 1", locked]);
    assert_eq!(out, "ten,TABLE,3\n");
}

/// A table hasn't grown since ANALYZE looked at it just now.
#[test]
fn a_table_is_taken_to_be_as_large_as_analyze_found_it() {
    let folder = with_ten("hostile-analyze");
    let out = rows(&folder, &["analyze ten", "explain select * from ten"]);
    assert!(out.contains(" rows=10)"), "{out}");
}

#[test]
fn no_object_of_a_plans_json_has_a_member_twice() {
    let folder = with_ten("hostile-json");
    let explain = "explain (analyze, format json) select * from ten, (values (1), (2)) as v(a) \
                   where n = a order by t limit 1";
    let out = folder.said(&["sql", "db", "--format", "unaligned", "--no-header", "-c", explain]);
    serde_json::from_str::<serde_json::Value>(&out).expect("JSON");
    for node in out.lines().filter(|line| line.contains("\"Depth\"")) {
        assert_eq!(node.matches("\"Rows\":").count(), 1, "{node}");
    }
    assert!(out.contains("\"Rows written\": \"2\""), "{out}");
}

#[test]
fn times_are_never_among_the_rows_of_a_program() {
    let folder = with_ten("hostile-times");
    let output = folder.forebay(&[
        "sql",
        "db",
        "--format",
        "json",
        "-c",
        "\\timing on",
        "-c",
        "\\waits on",
        "-c",
        "select 1 as a",
    ]);
    let told = text(&output.stderr);
    assert_eq!(text(&output.stdout), "[\n{\"a\": 1}\n]\n");
    assert!(told.starts_with("Time: ") && told.contains("elapsed"), "{told}");
}

/// Of several parameters all are set, or none.
#[test]
fn a_setting_that_is_refused_leaves_those_before_it() {
    let folder = with_ten("hostile-settings");
    let script = "alter system set db_writer_processes = 2 db_cache_size = '1';\n\
                  show db_writer_processes;\n\
                  alter session set statement_timeout = 77 lock_timeout = 'x';\n\
                  show statement_timeout;\n\
                  alter system set statement_timeout = 5;\n";
    let arguments = ["sql", "db", "--keep-going", "--format", "csv", "--no-header"];
    let output = fed(&folder, &arguments, script.as_bytes());
    let told = text(&output.stderr);
    assert_eq!(text(&output.stdout), "1\n0\n", "{told}");
    assert!(told.contains("write ALTER SESSION SET statement_timeout"), "{told}");
}

/// Two tables of Markdown don't become one.
#[test]
fn a_table_of_markdown_ends_with_a_blank_line() {
    let folder = with_ten("hostile-markdown");
    let out = folder.said(&[
        "sql",
        "db",
        "--format",
        "markdown",
        "-c",
        "select 1 as a",
        "-c",
        "select '*x*' as b",
    ]);
    assert_eq!(out, "| a |\n| ---: |\n| 1 |\n\n| b |\n| --- |\n| \\*x\\* |\n\n");
}

/// A line of a CSV file that is the mark behind a client's data is in quotes.
#[test]
fn all_rows_of_a_file_come_back_by_standard_input() {
    let folder = with_ten("hostile-copy");
    let fill = "create table word (w text); insert into word values ('a'), ('\\.'), ('b')";
    folder.said(&["sql", "db", "-c", fill]);
    let written = folder.said(&["sql", "db", "-c", "copy word to stdout csv"]);
    assert_eq!(written, "a\n\"\\.\"\nb\n");
    let output = fed(&folder, &["sql", "db", "-c", "copy word from stdin csv"], written.as_bytes());
    assert_eq!(said(&output), "COPY 3\n");
}

#[test]
fn what_cant_be_read_of_standard_input_has_the_number_of_its_line() {
    let folder = with_ten("hostile-input");
    let output = fed(&folder, &["sql", "db"], b"select 1;\nselect '\xff';\n");
    let told = text(&output.stderr);
    assert!(told.starts_with("stdin:2: ERROR: cannot read standard input"), "{told}");
    assert_eq!(output.status.code(), Some(1), "{told}");
}

#[test]
fn a_statement_of_the_command_line_may_begin_with_a_comment() {
    let folder = with_ten("hostile-comment");
    assert_eq!(rows(&folder, &["-- five\nselect 5", "-- nothing", "select 6"]), "5\n6\n");
}

#[test]
fn objects_are_described_as_other_shells_name_them() {
    let folder = with_ten("hostile-names");
    folder.said(&["sql", "db", "-c", "create view v as select n, t || '!' as loud from ten"]);
    let told = |command: &str| rows(&folder, &[command]);
    assert_eq!(
        told("\\d v"),
        "column,n,bigint\ncolumn,loud,text\nquery,v,\"select n, t || '!' as loud from ten\"\n"
    );
    for name in ["\"public\".ten", "PUBLIC.TEN", "public.\"ten\""] {
        assert!(told(&format!("\\d {name}")).starts_with("column,n,bigint NOT NULL\n"), "{name}");
    }
    assert_eq!(told("\\d te*"), "ten,table\n");
    assert!(told("\\d v$sess*").contains("v$session,view,"));
    assert!(told("\\dv v$sql*").contains("v$sql_plan,\"sql_id, "));
    assert_eq!(told("\\dv *").lines().count(), 1);
}
