//! `forebay sql` as a script meets it: statements from everywhere, rows in every form, failures
//! with their places, and what is left.

use std::io::Write;
use std::process::{Output, Stdio};
use std::time::Duration;

use crate::folder::{Folder, heard, interrupt, refused, said, text};

/// A folder with a database that has one small table.
fn with_accounts(name: &str) -> Folder {
    let folder = Folder::new(name);
    let made = "create table account (id bigint primary key, owner text, \
                balance number(12,2) not null check (balance >= 0)); \
                insert into account values (1, 'Ann', 100), (2, null, 20.5)";
    let out = folder.said(&["sql", "db", "--create", "-c", made]);
    assert_eq!(out, "CREATE TABLE\nINSERT 2\n");
    folder
}

/// The shell with this on its standard input.
fn fed(folder: &Folder, arguments: &[&str], input: &str) -> Output {
    let mut command = folder.command(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = command.spawn().expect("it starts");
    running.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("it reads");
    running.wait_with_output().expect("it ends")
}

#[test]
fn a_database_is_made_only_if_that_is_wanted() {
    let folder = Folder::new("sql-missing");
    let refusal = folder.refused(&["sql", "db", "-c", "select 1"]);
    assert!(refusal.contains("there is no database in db; --create makes one"), "{refusal}");
    assert!(folder.names().is_empty(), "{:?}", folder.names());
    let chosen = ["--set", "log_file_bytes=1m", "--set", "db_cache_size=8m"];
    let create = [&["sql", "db", "--create", "-c", "create table t (a int)"], &chosen[..]].concat();
    assert_eq!(folder.said(&create), "CREATE TABLE\n");
    // What is there is opened.
    let again = folder.said(&["sql", "db", "--create", "-c", "select count(*) as n from t"]);
    assert_eq!(again, " n\n---\n 0\n(1 row)\n");
    let misuse = folder.misused(&["sql", "db", "--set", "log_file_bytes=1m", "-c", "select 1"]);
    assert!(misuse.contains("is chosen when a database is created"), "{misuse}");
    folder.said(&["verify", "db"]);
}

#[test]
fn rows_are_printed_in_the_form_that_is_asked_for() {
    let folder = with_accounts("sql-forms");
    let query = "select id, owner, balance from account order by id";
    let printed = |format: &str| folder.said(&["sql", "db", "--format", format, "-c", query]);
    let aligned = " id | owner | balance\n----+-------+---------\n  1 | Ann   |     100\n";
    assert!(printed("aligned").starts_with(aligned), "{}", printed("aligned"));
    assert_eq!(printed("csv"), "id,owner,balance\n1,Ann,100\n2,,20.5\n");
    assert_eq!(printed("unaligned"), "id|owner|balance\n1|Ann|100\n2||20.5\n");
    let read: serde_json::Value = serde_json::from_str(&printed("json")).expect("JSON");
    assert_eq!(read[1], serde_json::json!({ "id": 2, "owner": null, "balance": 20.5 }));
    let bare = ["sql", "db", "--format", "csv", "--no-header", "-c", "begin", "-c", query];
    assert_eq!(folder.said(&bare), "1,Ann,100\n2,,20.5\n");
}

#[test]
fn a_failure_has_its_place_and_ends_the_script() {
    let folder = with_accounts("sql-failure");
    let script = "select 1 as one;\n\nselect id,\n  nme from account;\ninsert into account values \
                  (3, 'Eve', 1);\n";
    std::fs::write(folder.0.join("a.sql"), script).expect("written");
    let output = folder.forebay(&["sql", "db", "-f", "a.sql"]);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(text(&output.stdout).contains("(1 row)"), "what came before was printed");
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines[0].starts_with("a.sql:4: ERROR 42703: "), "{told}");
    assert_eq!((lines[1], lines[2]), ("LINE 2:   nme from account", "          ^"), "{told}");
    let count =
        ["sql", "db", "--format", "csv", "--no-header", "-c", "select count(*) from account"];
    assert_eq!(folder.said(&count), "2\n", "nothing followed");
    let output = folder.forebay(&["sql", "db", "--keep-going", "-f", "a.sql"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(folder.said(&count), "3\n", "it went on");
    let output = folder.forebay(&["sql", "db", "-c", "insert into account values (4, 'x', -1)"]);
    assert!(text(&output.stderr).starts_with("ERROR 23514: "), "{}", text(&output.stderr));
    let output = folder.forebay(&["sql", "db", "-c", "selec 1"]);
    let told = text(&output.stderr);
    assert!(
        told.starts_with("ERROR 42601: ") && told.contains("LINE 1: selec 1\n        ^\n"),
        "{told}"
    );
    assert!(refused(&folder.forebay(&["sql", "db", "-f", "no.sql"])).contains("no.sql"));
}

#[test]
fn standard_input_is_a_script() {
    let folder = with_accounts("sql-stdin");
    let input = "begin;\nupdate account\n  set balance = balance + 1;\ncommit;\n\
                 select balance from account where id = 1\n";
    let output = fed(&folder, &["sql", "db", "--format", "csv"], input);
    assert_eq!(said(&output), "balance\n101\n");
    let output = fed(&folder, &["sql", "db"], "select 1 from nothing;\nselect 2;\n");
    assert_eq!(output.status.code(), Some(1));
    let told = text(&output.stderr);
    assert!(told.starts_with("stdin:1: ERROR 42P01: ") && output.stdout.is_empty(), "{told}");
}

/// Whoever forgets COMMIT is told.
#[test]
fn a_transaction_that_is_left_open_is_rolled_back() {
    let folder = with_accounts("sql-left-open");
    let script = "begin; delete from account; begin";
    let output = folder.forebay(&["sql", "db", "-c", script]);
    assert_eq!(said(&output), "BEGIN\nDELETE 2\nBEGIN\n");
    let told = text(&output.stderr);
    assert!(told.contains("NOTICE: a transaction is open already"), "{told}");
    assert!(told.contains("NOTICE: the open transaction is rolled back"), "{told}");
    let count = folder.said(&["sql", "db", "-c", "\\x on", "-c", "select count(*) from account"]);
    assert!(count.contains("2\n"), "{count}");
    let recovered = folder.said(&["recover", "db"]);
    assert!(recovered.contains("nothing was to be recovered"), "{recovered}");
}

#[test]
fn commands_describe_what_there_is() {
    let folder = with_accounts("sql-described");
    folder.said(&[
        "sql",
        "db",
        "-c",
        "create sequence ticket; create view v as select id from account",
    ]);
    let told = |command: &str| folder.said(&["sql", "db", "--format", "unaligned", "-c", command]);
    assert_eq!(told("\\d"), "name|kind\naccount|table\nticket|sequence\nv|view\n");
    let account = told("\\d Account");
    for line in
        ["column|id|bigint NOT NULL", "column|owner|text", "column|balance|number(12,2) NOT NULL"]
    {
        assert!(account.lines().any(|one| one == line), "{line}: {account}");
    }
    assert!(account.contains("|PRIMARY KEY (id)\n") && account.contains("check|"), "{account}");
    assert!(told("\\dt acc*").contains("\naccount|") && !told("\\dt x*").contains("account"));
    assert!(told("\\di").contains("|account|PRIMARY KEY (id)|"));
    assert!(told("\\dv").contains("\nv|id|"));
    folder.said(&["sql", "db", "-c", "comment on table account is 'of customers'"]);
    let commented = "name|kind|comment\naccount|table|of customers\nticket|sequence|\nv|view|\n";
    assert_eq!(told("\\d"), commented);
    let output = folder.forebay(&["sql", "db", "-c", "\\d acount"]);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("acount; did you mean account?"), "{told}");
}

#[test]
fn times_are_told_behind_a_statement() {
    let folder = with_accounts("sql-times");
    let input = "\\timing on\n\\waits on\ninsert into account values (3, 'Eve', 1);\n";
    let out = said(&fed(&folder, &["sql", "db"], input));
    assert!(out.contains("INSERT 1\nTime: ") && out.contains(" ms\n"), "{out}");
    for part in ["log file sync", "CPU", "unaccounted", "elapsed"] {
        assert!(out.contains(part), "{part}: {out}");
    }
}

/// Files are seen from the shell's directory; data stand in scripts, or come from standard input.
#[test]
fn data_are_copied_from_and_to_files_scripts_and_pipes() {
    let folder = with_accounts("sql-copy");
    let script = "copy account (id, balance) from stdin csv;\n7,70\n8,80.5\n\\.\n\\echo copied\n";
    std::fs::write(folder.0.join("a.sql"), script).expect("written");
    assert_eq!(folder.said(&["sql", "db", "-f", "a.sql"]), "COPY 2\ncopied\n");
    let out = "\\copy (select id, balance from account where id > 6 order by id) to out.csv csv";
    assert_eq!(folder.said(&["sql", "db", "-c", out]), "COPY 2\n");
    let written = std::fs::read_to_string(folder.0.join("out.csv")).expect("it is there");
    assert_eq!(written, "7,70\n8,80.5\n");
    folder.said(&["sql", "db", "-c", "delete from account where id > 6"]);
    let output =
        fed(&folder, &["sql", "db", "-c", "\\copy account (id, balance) from stdin csv"], &written);
    assert_eq!(said(&output), "COPY 2\n");
    let back = folder.said(&["sql", "db", "-c", "copy account (id) to stdout"]);
    assert_eq!(back.lines().count(), 4, "{back}");
    // What is refused leaves nothing, and its data are no statements.
    let script = "copy account (id, balance) from stdin csv;\n9,1\n9,2\nselect 1\n\\.\nselect 2;\n";
    let output = fed(&folder, &["sql", "db", "--keep-going", "--format", "csv"], script);
    let told = text(&output.stderr);
    assert_eq!((output.status.code(), told.matches("ERROR").count()), (Some(1), 1), "{told}");
    assert!(told.starts_with("stdin:1: ERROR ") && text(&output.stdout).contains("2\n"), "{told}");
    let back = folder.said(&["sql", "db", "-c", "copy account (id) to stdout"]);
    assert_eq!(back.lines().count(), 4, "{back}");
}

#[test]
fn answers_go_where_they_are_sent() {
    let folder = with_accounts("sql-output");
    let input = "\\o rows.csv\n\\format csv\nselect id from account order by id;\n\\o | sort -r\n\
                 select id from account order by id \\g\n\\o\n\\t\nselect 5;\n\\o /dev/null\n\
                 select 6;\nquit\nselect 7;\n";
    assert_eq!(said(&fed(&folder, &["sql", "db"], input)), "id\n2\n1\n5\n");
    let written = std::fs::read_to_string(folder.0.join("rows.csv")).expect("it is there");
    assert_eq!(written, "id\n1\n2\n");
}

#[test]
fn views_of_the_system_are_described_and_queried() {
    let folder = with_accounts("sql-views");
    let told = |command: &str| folder.said(&["sql", "db", "--format", "unaligned", "-c", command]);
    assert!(told("\\d v$session").starts_with("column|type|meaning\nsid|"));
    assert!(told("desc information_schema.tables").contains("\ntable_name|"));
    assert_eq!(told("select count(*) as n from v$session where sid > 0").lines().count(), 2);
}

/// As `| head` does: nobody wants the other rows, and that is no failure.
#[test]
fn a_reader_that_has_seen_enough_ends_the_rows() {
    let folder = with_accounts("sql-unread");
    let rows = "select g from generate_series(1, 1000000000) g; insert into account values \
                (3, 'Eve', 1)";
    let mut command = folder.briefly(&["sql", "db", "--format", "csv", "-c", rows]);
    let mut running = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut out = std::io::BufReader::new(running.stdout.take().expect("a pipe"));
    heard(&mut out, "1000");
    drop(out);
    assert!(running.wait().expect("it ends").success());
    let count =
        folder.said(&["sql", "db", "--format", "csv", "-c", "select count(*) from account"]);
    assert!(count.ends_with("\n3\n"), "what followed was done: {count}");
}

/// Ctrl-C ends the statement and the script, and the database is shut in good order.
#[test]
fn ctrl_c_cancels_the_statement_that_runs() {
    let folder = with_accounts("sql-cancelled");
    let long = "select 'begun' as it; select count(*) from generate_series(1, 100000) a, \
                generate_series(1, 100000) b; select 'never'";
    // Who runs tests in the background may have had SIGINT ignored, and that is inherited.
    let mut command = std::process::Command::new("env");
    command.args(["--default-signal=INT", env!("CARGO_BIN_EXE_forebay")]);
    command.args(["sql", "db", "--format", "csv", "-c", long]).current_dir(&folder.0);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = command.spawn().expect("it starts");
    let mut out = std::io::BufReader::new(running.stdout.take().expect("a pipe"));
    heard(&mut out, "begun");
    std::thread::sleep(Duration::from_millis(300));
    interrupt(running.id());
    let output = running.wait_with_output().expect("it ends");
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{told}");
    assert!(told.starts_with("ERROR 57014: the statement was cancelled"), "{told}");
    let recovered = folder.said(&["recover", "db"]);
    assert!(recovered.contains("nothing was to be recovered"), "{recovered}");
}

/// A script that waits for its next line ends by Ctrl-C too, and so does a copy of what is typed.
#[test]
fn ctrl_c_ends_a_shell_that_waits_for_input() {
    let folder = with_accounts("sql-waits");
    for begun in ["select 'begun' as it;\n", "\\echo begun\ncopy account (id) from stdin;\n9\n"] {
        let mut command = std::process::Command::new("env");
        command.args(["--default-signal=INT", env!("CARGO_BIN_EXE_forebay")]);
        command.args(["sql", "db", "--format", "csv"]).current_dir(&folder.0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = command.spawn().expect("it starts");
        let mut input = running.stdin.take().expect("a pipe");
        input.write_all(begun.as_bytes()).expect("it reads");
        let mut out = std::io::BufReader::new(running.stdout.take().expect("a pipe"));
        heard(&mut out, "begun");
        std::thread::sleep(Duration::from_millis(300));
        interrupt(running.id());
        let output = running.wait_with_output().expect("it ends");
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{told}");
        assert!(told.contains("ERROR 57014: the statement was cancelled"), "{told}");
        drop(input);
        let count =
            folder.said(&["sql", "db", "--format", "csv", "-c", "select count(*) from account"]);
        assert!(count.ends_with("\n2\n"), "{count}");
    }
}
