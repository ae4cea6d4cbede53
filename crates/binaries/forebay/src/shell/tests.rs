//! The shell over a database and a console in memory.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, FromArgMatches};

use super::Sql;
use super::backend::{
    Answer, Backend, CANCELLED, Column, Describe, Doing, Failure, Give, Names, Take, Transaction,
    Watch,
};
use super::console::{Console, Typed};
use super::display::{Display, Format};
use super::session::{Origin, Session};
use crate::output::CommandResult;

/// What a database in memory answers.
enum Canned {
    Rows(Vec<&'static str>, Vec<Vec<&'static str>>),
    Done(&'static str),
    Fails(Failure),
}

/// A database that knows some statements, and notes all that it is given.
#[derive(Default)]
struct Memory {
    answers: BTreeMap<String, Canned>,
    ran: Vec<String>,
    /// The data that it has taken.
    taken: String,
    profile: Option<String>,
}

struct NoWatch;

impl Watch for NoWatch {
    fn cancel(&self, _session: &os::Session) {}

    fn doing(&self) -> Doing {
        Doing::default()
    }
}

impl Memory {
    fn knows(mut self, statement: &str, answer: Canned) -> Memory {
        self.answers.insert(statement.into(), answer);
        self
    }

    fn answer(&mut self, statement: &str) -> Result<Answer<'_>, Failure> {
        self.ran.push(statement.into());
        match self.answers.get(statement) {
            Some(Canned::Rows(columns, rows)) => {
                let column = |name: &&str| Column {
                    name: name.to_string(),
                    kind: "text".into(),
                    right_aligned: false,
                };
                let columns = columns.iter().map(column).collect();
                let value = |value: &&str| (*value != "NULL").then(|| value.to_string());
                let rows = rows.iter().map(move |row| Ok(row.iter().map(value).collect()));
                Ok(Answer::Rows { columns, rows: Box::new(rows) })
            }
            Some(Canned::Done(tag)) => Ok(done(tag)),
            Some(Canned::Fails(failure)) => Err(failure.clone()),
            None => Ok(done("DONE")),
        }
    }
}

fn done(tag: &str) -> Answer<'static> {
    let notice = tag.strip_suffix('!').map(|_| "it was done already".to_owned());
    Answer::Done { tag: tag.trim_end_matches('!').to_owned(), notice }
}

impl Backend for Memory {
    fn run(&mut self, statement: &str) -> Result<Answer<'_>, Failure> {
        self.answer(statement)
    }

    fn copy_in(
        &mut self,
        statement: &str,
        give: &mut Give<'_>,
    ) -> Result<Answer<'static>, Failure> {
        self.ran.push(statement.into());
        if let Some(Canned::Fails(failure)) = self.answers.get(statement) {
            return Err(failure.clone());
        }
        loop {
            let mut data = Vec::new();
            give(&mut data)?;
            if data.is_empty() {
                return Ok(done("COPY"));
            }
            self.taken.push_str(&String::from_utf8(data).expect("text"));
        }
    }

    fn copy_out(
        &mut self,
        statement: &str,
        take: &mut Take<'_>,
    ) -> Result<Answer<'static>, Failure> {
        self.ran.push(statement.into());
        let _ = take("1\ta\n") && take("2\tb\n");
        Ok(done("COPY"))
    }

    fn describe(&mut self, what: &Describe) -> Result<Answer<'_>, Failure> {
        self.answer(&format!("{what:?}"))
    }

    fn names(&mut self) -> Names {
        Names::default()
    }

    fn last_profile(&mut self) -> Option<String> {
        self.profile.clone()
    }

    fn transaction(&self) -> Transaction {
        match self.ran.iter().any(|statement| statement == "begin") {
            true => Transaction::Open,
            false => Transaction::None,
        }
    }

    fn watch(&mut self) -> Arc<dyn Watch> {
        Arc::new(NoWatch)
    }
}

/// A console in memory.
#[derive(Default)]
struct Paper {
    typed: VecDeque<Typed>,
    data: VecDeque<Typed>,
    input: VecDeque<String>,
    files: BTreeMap<PathBuf, String>,
    columns: Option<usize>,
    prompts: Vec<String>,
    out: String,
    told: String,
    /// Both in the order in which they came, as on a terminal.
    screen: String,
    output: Option<PathBuf>,
    /// How often a pause is waited out, before Ctrl-C.
    pauses: usize,
    /// How often somebody asks for Ctrl-C until it was pressed; none: it never is.
    cancelled_after: Option<usize>,
    now: Duration,
}

impl Console for Paper {
    fn ask(&mut self, prompt: &str, _names: &Names) -> Result<Typed, Failure> {
        self.prompts.push(prompt.into());
        Ok(self.typed.pop_front().unwrap_or(Typed::End))
    }

    fn ask_data(&mut self) -> Result<Typed, Failure> {
        Ok(self.data.pop_front().unwrap_or(Typed::End))
    }

    fn edit(&mut self, text: &str) -> Result<String, Failure> {
        Ok(text.replace("1", "2"))
    }

    fn input_line(&mut self) -> Result<Option<String>, Failure> {
        Ok(self.input.pop_front())
    }

    fn columns(&self) -> Option<usize> {
        self.columns
    }

    fn begin_answer(&mut self) {}

    fn put(&mut self, text: &str) -> bool {
        match &self.output {
            Some(path) => self.files.entry(path.clone()).or_default().push_str(text),
            None => {
                self.out.push_str(text);
                self.screen.push_str(text);
            }
        }
        true
    }

    fn end_answer(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn set_output(&mut self, to: Option<&str>) -> Result<(), Failure> {
        self.output = to.map(PathBuf::from);
        Ok(())
    }

    fn set_pager(&mut self, on: Option<bool>) -> bool {
        on.unwrap_or(false)
    }

    fn tell(&mut self, text: &str) {
        self.told.push_str(text);
        self.screen.push_str(text);
    }

    fn read_file(&mut self, path: &Path) -> Result<String, Failure> {
        let missing = || Failure::of_shell(format!("can't open {}", path.display()));
        self.files.get(path).cloned().ok_or_else(missing)
    }

    fn absolute(&self, path: &str) -> Result<PathBuf, Failure> {
        Ok(Path::new("/here").join(path))
    }

    fn now(&self) -> Duration {
        self.now
    }

    fn clock(&self) -> String {
        "noon".into()
    }

    fn pause(&mut self, _length: Duration) -> bool {
        self.pauses = self.pauses.saturating_sub(1);
        self.pauses > 0
    }

    fn take_cancel(&mut self) -> bool {
        let left = self.cancelled_after;
        self.cancelled_after = left.and_then(|left| left.checked_sub(1));
        left == Some(0)
    }

    fn begin_statement(&mut self, _watch: Arc<dyn Watch>) {
        self.now += Duration::from_micros(1_500);
    }

    fn end_statement(&mut self) {
        self.now += Duration::from_micros(1_500);
    }
}

/// What came of a shell's work.
struct Came {
    result: CommandResult,
    memory: Memory,
    paper: Paper,
}

impl Came {
    fn is_failed(&self) -> bool {
        self.result.is_err()
    }
}

fn work(
    mut memory: Memory,
    mut paper: Paper,
    display: Display,
    keeps_going: bool,
    does: impl FnOnce(&mut Session<'_>),
) -> Came {
    let mut session = Session::new(&mut memory, &mut paper, display, keeps_going);
    does(&mut session);
    let result = session.end();
    Came { result, memory, paper }
}

/// A script's work.
fn script(memory: Memory, text: &str, keeps_going: bool) -> Came {
    let origin = Origin::Script("a.sql".into());
    work(memory, Paper::default(), Display::default(), keeps_going, |session| {
        session.run_text(text, &origin);
    })
}

/// A person's work, who types these texts.
fn talk(memory: Memory, paper: Paper, texts: &[&str]) -> Came {
    let typed = texts.iter().map(|text| Typed::Text(text.to_string())).collect();
    let paper = Paper { typed, ..paper };
    work(memory, paper, Display::default(), false, |session| session.talk())
}

fn failure(position: usize) -> Failure {
    Failure {
        sqlstate: "42601".into(),
        message: "it is wrong".into(),
        position: Some(position),
        ..Failure::default()
    }
}

#[test]
fn statements_run_in_order_and_answers_are_shown() {
    let memory = Memory::default()
        .knows("select 1", Canned::Rows(vec!["a", "b"], vec![vec!["x", "NULL"]]))
        .knows("create table t (a int)", Canned::Done("CREATE TABLE"));
    let came = script(memory, "create table t (a int);\nselect 1;", false);
    assert!(!came.is_failed());
    assert_eq!(came.memory.ran, ["create table t (a int)", "select 1"]);
    assert_eq!(came.paper.out, "CREATE TABLE\n a | b\n---+------\n x | NULL\n(1 row)\n");
}

#[test]
fn a_script_stops_at_its_first_failure_with_its_place() {
    let memory = || Memory::default().knows("bad\n one", Canned::Fails(failure(5)));
    let text = "good;\n\nbad\n one;\nnever;";
    let came = script(memory(), text, false);
    assert!(came.is_failed());
    assert_eq!(came.memory.ran, ["good", "bad\n one"]);
    assert!(came.paper.told.starts_with("a.sql:4: ERROR 42601: it is wrong\nLINE 2:  one\n"));
    let came = script(memory(), text, true);
    assert!(came.is_failed());
    assert_eq!(came.memory.ran.len(), 3);
}

#[test]
fn a_person_goes_on_behind_a_failure() {
    let memory = Memory::default().knows("bad", Canned::Fails(failure(0)));
    let came = talk(memory, Paper::default(), &["bad; begin;", "select 2;", "\\q", "never;"]);
    assert!(!came.is_failed());
    assert_eq!(came.memory.ran, ["bad", "begin", "select 2"]);
    assert_eq!(came.paper.prompts, ["forebay=> ", "forebay*> ", "forebay*> "]);
    assert!(came.paper.told.starts_with("ERROR 42601: it is wrong\nLINE 1: bad\n        ^\n"));
}

#[test]
fn an_instance_that_has_halted_ends_the_shell() {
    let halted = Failure { is_final: true, ..failure(0) };
    let memory = Memory::default().knows("bad", Canned::Fails(halted));
    let came = talk(memory, Paper::default(), &["bad;", "never;"]);
    assert!(came.is_failed());
    assert_eq!(came.memory.ran, ["bad"]);
}

#[test]
fn a_cancel_ends_a_script_and_no_person() {
    let cancelled = || Failure { sqlstate: CANCELLED.into(), ..failure(0) };
    let memory = || Memory::default().knows("long", Canned::Fails(cancelled()));
    assert_eq!(script(memory(), "long; never;", true).memory.ran, ["long"]);
    let came = talk(memory(), Paper::default(), &["long;", "next;"]);
    assert_eq!(came.memory.ran, ["long", "next"]);
    assert!(!came.is_failed());
    let files = [(PathBuf::from("/a.sql"), "long; never;".to_string())].into();
    let came = talk(memory(), Paper { files, ..Paper::default() }, &["\\i /a.sql", "next;"]);
    assert_eq!(came.memory.ran, ["long", "next"]);
}

/// Ctrl-C between two statements of a script ends it too.
#[test]
fn a_script_of_short_statements_can_be_cancelled() {
    let origin = Origin::Script("a.sql".into());
    let paper = Paper { cancelled_after: Some(2), ..Paper::default() };
    let came = work(Memory::default(), paper, Display::default(), true, |session| {
        session.run_text("one; two; three; four;", &origin);
    });
    assert_eq!(came.memory.ran, ["one", "two"]);
    assert!(came.is_failed());
    assert!(came.paper.told.starts_with("a.sql:1: ERROR 57014: "), "{}", came.paper.told);
}

/// Nobody has cancelled what took too long: the script says whether it goes on.
#[test]
fn a_time_out_is_a_failure_as_others_are() {
    let slow = Failure { sqlstate: CANCELLED.into(), is_timeout: true, ..failure(0) };
    let memory = Memory::default().knows("slow", Canned::Fails(slow));
    assert_eq!(script(memory, "slow; next;", true).memory.ran, ["slow", "next"]);
}

#[test]
fn a_notice_and_a_transaction_that_is_left_open_are_told() {
    let memory = Memory::default().knows("begin", Canned::Done("BEGIN!"));
    let came = script(memory, "begin;", false);
    assert!(!came.is_failed());
    assert_eq!(came.paper.out, "BEGIN\n");
    let told = "NOTICE: it was done already\nNOTICE: the open transaction is rolled back";
    assert!(came.paper.told.starts_with(told), "{}", came.paper.told);
}

/// Rows for a program have nothing behind them.
#[test]
fn time_and_waits_of_rows_for_a_program_are_told_beside_them() {
    let memory = Memory { profile: Some("CPU 3 ms\n".into()), ..Memory::default() }
        .knows("x", Canned::Rows(vec!["a"], vec![vec!["1"]]));
    let texts = ["\\timing on", "\\waits on", "\\format csv", "x;"];
    let came = talk(memory, Paper::default(), &texts);
    assert!(came.paper.out.ends_with("waits is on\na\n1\n"), "{}", came.paper.out);
    assert_eq!(came.paper.told, "Time: 3.000 ms\nCPU 3 ms\n");
}

#[test]
fn time_and_waits_are_shown_behind_each_answer() {
    let memory = Memory { profile: Some("CPU 3 ms\n".into()), ..Memory::default() };
    let came = talk(memory, Paper::default(), &["\\timing on", "\\waits", "x;", "\\waits off"]);
    let expected = "timing is on\nwaits is on\nDONE\nTime: 3.000 ms\nCPU 3 ms\nwaits is off\n";
    assert_eq!(came.paper.out, expected);
}

#[test]
fn time_and_waits_are_shown_behind_a_failure() {
    let memory = Memory { profile: Some("CPU 3 ms\n".into()), ..Memory::default() }
        .knows("bad", Canned::Fails(failure(0)));
    let came = talk(memory, Paper::default(), &["\\waits on", "bad;"]);
    let expected = "waits is on\nERROR 42601: it is wrong\nLINE 1: bad\n        ^\nCPU 3 ms\n";
    assert_eq!(came.paper.screen, expected);
}

#[test]
fn files_are_included_and_told_apart() {
    let files = [("/a.sql", "one;\n\\i /b.sql\nthree;"), ("/b.sql", "two;\nbad;\n")];
    let files = files.map(|(path, text)| (PathBuf::from(path), text.to_string()));
    let paper = Paper { files: files.into(), ..Paper::default() };
    let memory = Memory::default().knows("bad", Canned::Fails(failure(0)));
    let came = talk(memory, paper, &["\\i /a.sql", "four;", "\\i /none.sql"]);
    assert_eq!(came.memory.ran, ["one", "two", "bad", "four"]);
    assert!(came.paper.told.contains("/b.sql:2: ERROR"), "{}", came.paper.told);
    assert!(came.paper.told.contains("can't open /none.sql"));
    let files = [(PathBuf::from("/c.sql"), "five;\nbad;".to_string())].into();
    let memory = Memory::default().knows("bad", Canned::Fails(failure(0)));
    let came = talk(memory, Paper { files, ..Paper::default() }, &["@/c", "@/d"]);
    assert_eq!(came.memory.ran, ["five", "bad"], "the end of a file's name may be left out");
    assert!(came.paper.told.contains("/c.sql:2: ERROR"), "{}", came.paper.told);
    assert!(came.paper.told.contains("can't open /d\n"), "{}", came.paper.told);
    let paper = Paper {
        files: [(PathBuf::from("/r.sql"), "\\i /r.sql".to_string())].into(),
        ..Paper::default()
    };
    let came = talk(Memory::default(), paper, &["\\i /r.sql"]);
    assert!(came.paper.told.contains("include each other"), "{}", came.paper.told);
}

#[test]
fn answers_go_into_a_file_and_back() {
    let came = talk(Memory::default(), Paper::default(), &["\\o /f", "x;", "\\o", "y;"]);
    assert_eq!(came.paper.files[Path::new("/f")], "DONE\n");
    assert_eq!(came.paper.out, "DONE\n");
}

#[test]
fn copy_has_its_path_from_here_on() {
    let texts = ["\\copy t from a.csv csv", "\\copy t to 'b'", "\\copy t frm 'x'"];
    let came = talk(Memory::default(), Paper::default(), &texts);
    assert_eq!(came.memory.ran, ["COPY t from '/here/a.csv' csv", "COPY t to '/here/b'"]);
    assert!(came.paper.told.contains("needs FROM or TO"), "{}", came.paper.told);
}

/// The data of a script stand behind their statement; what is left of them when it fails is no
/// statement, and places behind them are right.
#[test]
fn a_script_has_its_data_in_it() {
    let text = "copy t from stdin;\n1\ta;\n2\tb\n\\.\ngood;\n\\copy t from stdin\n3\n\\.\nbad;\n";
    let memory = || Memory::default().knows("bad", Canned::Fails(failure(0)));
    let came = script(memory(), text, false);
    assert_eq!(came.memory.ran, ["copy t from stdin", "good", "COPY t from STDIN", "bad"]);
    assert_eq!(came.memory.taken, "1\ta;\n2\tb\n3\n");
    assert!(came.paper.told.starts_with("a.sql:9: ERROR"), "{}", came.paper.told);
    let refuses = memory().knows("copy t from stdin", Canned::Fails(failure(0)));
    let came = script(refuses, text, true);
    assert_eq!(came.memory.ran, ["copy t from stdin", "good", "COPY t from STDIN", "bad"]);
    assert_eq!(came.memory.taken, "3\n");
}

#[test]
fn a_person_types_data_and_may_think_again() {
    let lines = |texts: &[&str]| texts.iter().map(|text| Typed::Text(text.to_string())).collect();
    let paper = Paper { data: lines(&["2", "", "\\.", "never"]), ..Paper::default() };
    let came = talk(Memory::default(), paper, &["copy t from stdin;\n1\n", "next;"]);
    assert_eq!(came.memory.taken, "1\n2\n\n");
    assert!(came.paper.told.contains("Data end with"), "{}", came.paper.told);
    let paper = Paper { data: [Typed::Nothing].into(), ..Paper::default() };
    let came = talk(Memory::default(), paper, &["copy t from stdin; dropped;", "next;"]);
    assert_eq!(came.memory.ran, ["next"]);
}

/// On the command line there is no place for data.
#[test]
fn data_of_a_command_come_from_standard_input() {
    let paper = Paper { input: ["1\n".into(), "2\n".into()].into(), ..Paper::default() };
    let came = work(Memory::default(), paper, Display::default(), false, |session| {
        session.run_text("copy t from stdin; copy t to stdout", &Origin::Command);
    });
    assert_eq!(came.memory.taken, "1\n2\n");
    assert_eq!(came.paper.out, "COPY\n1\ta\n2\tb\n");
}

#[test]
fn watch_runs_the_last_statement_until_ctrl_c() {
    let paper = Paper { pauses: 3, ..Paper::default() };
    let came = talk(Memory::default(), paper, &["\\watch", "x;", "\\watch 1", "\\watch no"]);
    assert_eq!(came.memory.ran, ["x", "x", "x", "x"]);
    assert!(came.paper.out.starts_with("DONE\nnoon, every 1 s\nDONE\n"), "{}", came.paper.out);
    assert!(came.paper.told.contains("no statement yet"));
    assert!(came.paper.told.contains("waits for seconds"));
    let paper = Paper { pauses: 2, ..Paper::default() };
    let came = talk(Memory::default(), paper, &["x \\watch 0.5", "\\g"]);
    assert_eq!(came.memory.ran, ["x", "x", "x"]);
}

#[test]
fn the_last_statement_is_run_again_and_changed() {
    let answer = || Canned::Rows(vec!["n"], vec![vec!["1"]]);
    let memory = Memory::default().knows("select 1", answer()).knows("select 2", answer());
    let came = talk(memory, Paper::default(), &["\\g", "select 1 \\gx", "\\g", "\\e", "\\e"]);
    assert_eq!(came.memory.ran, ["select 1", "select 1", "select 2"]);
    assert_eq!(came.paper.out.matches("RECORD 1").count(), 1, "{}", came.paper.out);
    assert!(came.paper.told.contains("no statement yet"));
}

#[test]
fn the_form_of_rows_is_changed_between_statements() {
    let memory = Memory::default().knows("x", Canned::Rows(vec!["n"], vec![vec!["1"]]));
    let texts =
        ["\\format csv", "x;", "\\t", "x;", "\\echo so", "\\format", "\\t off", "exit", "x;"];
    let came = talk(memory, Paper::default(), &texts);
    assert_eq!(came.paper.out, "n\n1\n1\nso\n");
}

/// What was typed behind a statement that was cancelled isn't run.
#[test]
fn a_cancel_drops_what_was_typed_with_it() {
    let cancelled = Failure { sqlstate: CANCELLED.into(), ..failure(0) };
    let memory = Memory::default().knows("long", Canned::Fails(cancelled));
    let came = talk(memory, Paper::default(), &["long; drop table t;", "next;"]);
    assert_eq!(came.memory.ran, ["long", "next"]);
}

#[test]
fn objects_are_described_by_the_database() {
    let answer = Canned::Rows(vec!["name"], vec![vec!["orders"]]);
    let memory = Memory::default().knows("Tables(Some(\"ord*\"))", answer);
    let came = talk(memory, Paper::default(), &["\\dt ord*", "\\dx"]);
    assert_eq!(came.paper.out, " name\n--------\n orders\n(1 row)\n");
    assert!(came.paper.told.contains("there is no command \\dx"));
}

#[test]
fn a_terminal_gets_lines_that_fit() {
    let wide: &'static str = "word ".repeat(60).leak();
    let rows = Canned::Rows(vec!["a", "b"], vec![vec![wide, "x"]]);
    let memory = Memory::default().knows("w", rows);
    let paper = Paper { columns: Some(80), ..Paper::default() };
    let came = talk(memory, paper, &["w;", "\\x", "w;", "\\x off", "\\?"]);
    assert!(came.paper.out.lines().all(|line| super::width::width(line) <= 80));
    assert!(came.paper.out.contains("RECORD 1"));
}

#[test]
fn a_program_gets_rows_and_nothing_else() {
    let memory = Memory::default()
        .knows("a", Canned::Done("INSERT 1"))
        .knows("b", Canned::Rows(vec!["n"], vec![vec!["1"]]));
    let display = Display { format: Format::Csv, ..Display::default() };
    let came = work(memory, Paper::default(), display, false, |session| {
        session.run_text("\\x on\na; b;", &Origin::Command);
    });
    assert_eq!(came.paper.out, "n\n1\n");
}

#[test]
fn standard_input_is_a_script() {
    let input = ["one;\n", "two\n", "three; four"].map(str::to_string).into();
    let paper = Paper { input, ..Paper::default() };
    let memory = Memory::default().knows("four", Canned::Fails(failure(0)));
    let came = work(memory, paper, Display::default(), false, |session| {
        session.run_input();
    });
    assert_eq!(came.memory.ran, ["one", "two\nthree", "four"]);
    assert!(came.paper.told.starts_with("stdin:3: ERROR"), "{}", came.paper.told);
}

/// The command line behind `forebay`.
fn parsed(arguments: &[&str]) -> Result<Sql, clap::Error> {
    let command = Sql::augment_args(clap::Command::new("sql"));
    Sql::from_arg_matches(&command.try_get_matches_from(arguments)?)
}

#[test]
fn the_command_line_says_what_is_run_and_how_it_is_shown() {
    let arguments = [
        "sql",
        "/db",
        "-c",
        "one",
        "-c",
        "two",
        "-f",
        "/a.sql",
        "--format",
        "json",
        "--no-header",
        "--keep-going",
        "--set",
        "db_cache_size=1G",
    ];
    let sql = parsed(&arguments).expect("sound");
    let mut memory = Memory::default().knows("one", Canned::Fails(failure(0)));
    let files = [(PathBuf::from("/a.sql"), "three;".to_string())].into();
    let mut paper = Paper { files, ..Paper::default() };
    assert!(sql.run(&mut memory, &mut paper).is_err());
    assert_eq!(memory.ran, ["one", "two", "three"]);
    assert_eq!(paper.out, "");
    for wrong in [vec!["sql"], vec!["sql", "/db", "--format", "xml"]] {
        assert!(parsed(&wrong).is_err());
    }
}
