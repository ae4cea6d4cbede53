//! Where results go: checked before the work that gives them, and never lost without a word.

use std::io::BufReader;
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use crate::folder::{Folder, heard, interrupt, text};

/// An experiment takes hours if it is asked to; none of them pass before a file is refused that
/// can't be made.
#[test]
fn a_rows_file_that_cant_be_made_is_refused_before_the_experiment() {
    let folder = Folder::new("rows");
    std::fs::write(folder.0.join("there"), "mine").expect("it is written");
    for (file, says) in [
        ("there", "exists"),
        ("no/such/rows", "no such file or directory"),
        (".", "is a directory"),
    ] {
        let run = ["lab", "run", "dbwr-count", "--seconds", "600", "--rows", file];
        let output = folder.briefly(&run).output().expect("it starts");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(says) && said.lines().count() == 1, "{said}");
    }
    assert_eq!(std::fs::read(folder.0.join("there")).expect("it is there"), b"mine");
    assert_eq!(folder.names(), ["there"], "nothing is left");
}

/// A file of one's own is named by its path, and there is one to begin with.
#[test]
fn a_file_that_is_no_experiment_is_named_and_a_template_is_one() {
    let folder = Folder::new("own-file");
    std::fs::write(folder.0.join("empty.toml"), "").expect("it is written");
    for verb in ["run", "show"] {
        let refused = folder.misused(&["lab", verb, "empty.toml"]);
        assert!(refused.contains("empty.toml: ") && refused.contains("missing field"), "{refused}");
    }
    std::fs::write(folder.0.join("mine"), folder.said(&["lab", "show", "template"])).expect("room");
    assert!(folder.said(&["lab", "show", "mine"]).contains("[factor]"));
    let refused = folder.misused(&["lab", "show", "redo-size"]);
    assert!(refused.contains("lab show template"), "{refused}");
}

/// What would count for nothing, or write over itself, is refused before anything is made.
#[test]
fn what_contradicts_itself_is_refused_before_the_experiment() {
    let folder = Folder::new("contradictions");
    let compare =
        ["lab", "compare", "--set", "commit_leader=lgwr", "--vs", "commit_leader=session"];
    let run = ["lab", "run", "dbwr-count", "--simulate", "two-core"];
    for (asked, more, says) in [
        (&compare[..], &["--both", "Commit_Leader=lgwr"][..], "leave --both commit_leader out"),
        (&compare, &["--vs", "commit_leader=lgwr"], "--vs gives commit_leader twice"),
        (&compare, &["--both", "lock_timeout=1", "--both", "lock_timeout=2"], "twice"),
        (&compare, &["--both", "lock_timeout"], "--both takes NAME=VALUE"),
        (&compare[..4], &[], "required arguments were not provided: --vs"),
        (&compare[..4], &["--equals", "--html", "-"], "--html wants the name of a file"),
        (&run, &["--set", "lock_timeout=1", "--set", "LOCK_TIMEOUT=2"], "gives LOCK_TIMEOUT twice"),
        (&run, &["--rows", "a.html", "--html", "./a.html"], "--html names the file of rows"),
        (&run, &["--html", "-"], "--html wants the name of a file"),
        (&run, &["--dir", "."], "cannot be used with"),
        (&run, &["--block", "1"], "leave --block out"),
        (&compare, &["--design", "alternate", "--rounds", "8"], "leave --rounds out"),
    ] {
        let refused = folder.misused(&[asked, more].concat());
        assert!(refused.contains(says), "{refused}");
    }
    assert!(folder.names().is_empty(), "{:?}", folder.names());
}

/// Rows are written where they were promised; an experiment without an answer leaves none.
#[test]
fn rows_are_there_with_an_answer_and_only_then() {
    let folder = Folder::new("rows-written");
    let short = ["lab", "run", "dbwr-count", "--simulate", "two-core", "--seconds", "0.01"];
    let rounds = ["--design", "restarts", "--rounds", "2", "--equal-rounds", "1", "--rows", "rows"];
    let asked = [&short[..], &rounds[..]].concat();
    let output = folder.forebay(&[&asked[..], &["--simulated-disk", "bogus"]].concat());
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(folder.names().is_empty(), "{:?}", folder.names());
    let output = folder.forebay(&asked);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let rows = std::fs::read_to_string(folder.0.join("rows")).expect("they were written");
    assert!(rows.lines().count() >= 6 && rows.starts_with('{'), "{rows}");
}

/// A page and rows are there with an answer; the report can be made again from the rows.
#[test]
fn a_report_is_made_again_from_rows() {
    let folder = Folder::new("report-again");
    let short = ["lab", "run", "dbwr-count", "--simulate", "two-core", "--seconds", "0.01"];
    let rounds = ["--design", "restarts", "--rounds", "6", "--equal-rounds", "1"];
    let files = ["--rows", "rows", "--html", "page.html"];
    let output = folder.forebay(&[&short[..], &rounds[..], &files[..]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let page = |name: &str| std::fs::read_to_string(folder.0.join(name)).expect("it was written");
    assert!(page("page.html").contains("Is it real?"));
    let output = folder.forebay(&["lab", "report", "rows", "--html", "again.html"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("Is it real?"), "{}", text(&output.stdout));
    assert!(page("again.html").contains("Is it real?"));
    let output = folder.forebay(&["lab", "report", "page.html", "--html", "third.html"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert_eq!(folder.names(), ["again.html", "page.html", "rows"]);
    // Nobody is shown figures of an engine that lost its books (rule LB2).
    let rows = page("rows") + &experiment::corrupt_line("district 3 is off by 1") + "\n";
    std::fs::write(folder.0.join("rows"), rows).expect("written");
    for verb in ["report", "resume"] {
        let refused = folder.misused(&["lab", verb, "rows"]);
        assert!(refused.contains("corrupt (district 3 is off by 1)"), "{refused}");
    }
}

/// Ctrl-C keeps the rows that are there, and `resume` goes on behind them.
#[test]
fn an_experiment_that_was_stopped_goes_on() {
    let folder = Folder::new("rows-resumed");
    let asked = ["lab", "run", "dbwr-count", "--simulate", "two-core", "--seconds", "0.02"];
    let rounds = ["--design", "restarts", "--rounds", "12", "--equal-rounds", "6", "--equals"];
    let asked = [&asked[..], &rounds, &["--matters", "0.01", "--rows", "rows"]].concat();
    let mut command = folder.command(&asked);
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
    let mut running = command.spawn().expect("it starts");
    let rows = || std::fs::read_to_string(folder.0.join("rows")).unwrap_or_default();
    let began = Instant::now();
    while rows().lines().count() < 8 {
        assert!(began.elapsed() < Duration::from_secs(300), "no rows: {}", rows());
        assert!(running.try_wait().expect("it is ours").is_none(), "it ends: {}", rows());
        std::thread::sleep(Duration::from_millis(5));
    }
    // Two that append would write over each other.
    let second = folder.misused(&["lab", "resume", "rows"]);
    assert!(second.contains("is being written by an experiment"), "{second}");
    interrupt(running.id());
    let mut said = String::new();
    let mut told = running.stderr.take().expect("it is piped");
    std::io::Read::read_to_string(&mut told, &mut said).expect("it is text");
    assert_eq!(running.wait().expect("it ends").code(), Some(130), "{said}");
    assert!(said.contains("'forebay lab resume rows' goes on with it"), "{said}");
    let before = rows();
    let output = folder.forebay(&["lab", "resume", "rows"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let after = rows();
    assert!(after.starts_with(&before), "rows that were there are gone");
    // The first line says what was asked; it has rows of 12 rounds and 6 of equals. A round that
    // was broken off is made again.
    let rows = experiment::parse_rows(&after).expect("rows").runs.len();
    assert_eq!(rows, 2 * 18, "{after}");
    assert!(after.lines().count() <= 1 + 2 * 18 + 1, "{after}");
    let is_whole = |output: &Output| {
        let words = text(&output.stdout);
        words.split_whitespace().collect::<Vec<_>>().join(" ").contains("over 12 rounds")
    };
    assert!(is_whole(&output), "{}", text(&output.stdout));
    // One that has ended isn't run again, and says what it has found.
    let again = folder.forebay(&["lab", "resume", "rows"]);
    assert!(again.status.success() && text(&again.stderr).contains("nothing is run"));
    assert!(text(&again.stderr).contains("leave it open"), "{}", text(&again.stderr));
    assert!(is_whole(&again), "{}", text(&again.stdout));
    let model = "machine two-core: 2 CPUs";
    assert!(text(&output.stdout).contains(model), "{}", text(&output.stdout));
    assert!(text(&again.stdout).contains(model), "{}", text(&again.stdout));
    let rows_now = std::fs::read_to_string(folder.0.join("rows")).expect("rows");
    assert_eq!(experiment::parse_rows(&rows_now).expect("rows").runs.len(), 2 * 18);
    let other = folder.forebay(&["lab", "resume", "nowhere"]);
    assert_eq!(other.status.code(), Some(1), "{}", text(&other.stderr));
    std::fs::write(folder.0.join("rows"), "{}\n").expect("it is written");
    let none = folder.forebay(&["lab", "resume", "rows"]);
    assert_eq!(none.status.code(), Some(2), "{}", text(&none.stderr));
}

/// Rows and looks are of one plan and one rule: who changes the file can't go on by another one.
#[test]
fn an_experiment_whose_file_was_changed_does_not_go_on() {
    let folder = Folder::new("rows-changed");
    let file = |matters: f64, rounds: u32, writers: u32, sessions: u32| {
        let text = format!(
            "question = \"one or more?\"\nmatters = {matters}\n[factor]\n\
             db_writer_processes = [1, {writers}]\n[runs]\nrounds = {rounds}\nequals = 1\n\
             [load]\nsessions = {sessions}\n"
        );
        std::fs::write(folder.0.join("x.toml"), text).expect("it is written");
    };
    file(2.0, 6, 2, 8);
    let asked = ["lab", "run", "x.toml", "--simulate", "two-core", "--seconds", "0.02"];
    let output = folder.forebay(&[&asked[..], &["--rows", "rows"]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let rows = || std::fs::read_to_string(folder.0.join("rows")).expect("there");
    let before = rows();
    let others = [(1.0, 6, 2, 8), (2.0, 7, 2, 8), (2.0, 6, 4, 8), (2.0, 6, 2, 9)];
    for (matters, rounds, writers, sessions) in others {
        file(matters, rounds, writers, sessions);
        let refused = folder.misused(&["lab", "resume", "rows"]);
        assert!(refused.contains("the rows that are there are of another"), "{refused}");
        assert_eq!(rows(), before);
    }
    file(2.0, 6, 2, 8);
    // As an editor leaves it that writes no last line end.
    std::fs::write(folder.0.join("rows"), before.trim_end()).expect("it is written");
    let output = folder.forebay(&["lab", "resume", "rows"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    folder.said(&["lab", "report", "rows"]);
}

/// What the instance refuses while a load runs is told; what the load has found is told too.
#[test]
fn a_change_that_is_refused_under_load_costs_no_result() {
    let folder = Folder::with_database("alter-refused");
    let alters = ["--alter", "0.2:db_writer_processes=9", "--alter", "0.4:db_writer_processes=2"];
    let output =
        folder.forebay(&[&["load", "run", "db", "--seconds", "1"][..], &alters[..]].concat());
    let (found, said) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(found.contains(" transactions a second"), "{found}");
    assert!(
        said.contains("db_writer_processes = 9: 9 writers can't share 8 working sets"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
}

/// What can be known to be wrong with a change is said before the load begins.
#[test]
fn a_change_that_cant_be_made_is_refused_before_the_load() {
    let folder = Folder::with_database("alter-wrong");
    for (alter, says) in [
        ("1:db_writer_processes=2", "is due after the load's 1 seconds"),
        ("0.5:db_working_sets=4", "chosen when an instance opens"),
        ("0.5:db_block_size=2k", "db_block_size is fixed when a database is created"),
        ("0.5:process_affinity=foo:0", "process_affinity is foo:0: choose"),
        ("0.5:drop_log_group=x", "drop_log_group takes NUMBER"),
        ("nan:db_writer_processes=2", "--alter takes SECONDS:NAME=VALUE"),
    ] {
        let output = folder.forebay(&["load", "run", "db", "--seconds", "1", "--alter", alter]);
        let said = text(&output.stderr);
        assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{alter}: {said}");
        assert!(said.contains(says) && output.stdout.is_empty(), "{alter}: {said}");
    }
}

/// A full device is no place for a result, and says so in the exit status, whatever was asked.
#[test]
fn output_to_a_full_device_is_a_failure_of_every_command() {
    let folder = Folder::with_database("full");
    for command in [
        &["parameters"][..],
        &["--help"],
        &["load"],
        &["load", "run", "--help"],
        &["lab", "list"],
        &["probe", "."],
        &["probe", "--json", "."],
        &["logs", "db"],
        &["verify", "db"],
        &["verify", "--json", "db"],
        &["load", "audit", "db"],
        &["load", "run", "db", "--seconds", "1"],
        // Nobody can be told of commits any more, so none are made.
        &["load", "run", "db", "--seconds", "3600", "--acknowledge"],
        &["load", "create", "other", "--megabytes", "1"],
        &["sql", "db", "-c", "select 1"],
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("Linux has it");
        let output = folder.briefly(command).stdout(full).output().expect("it starts");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{command:?}: {said}");
        assert!(said.contains("cannot write to standard output: no space left"), "{said}");
    }
}

/// A load whose reader of commits has gone away ends: nobody can be told of further ones.
#[test]
fn a_load_ends_when_nobody_reads_its_commits() {
    let folder = Folder::with_database("unread");
    let mut run = folder.briefly(&["load", "run", "db", "--seconds", "3600", "--acknowledge"]);
    let piped = std::process::Stdio::piped;
    let mut running = run.stdout(piped()).stderr(piped()).spawn().expect("it starts");
    heard(&mut BufReader::new(running.stdout.take().expect("it is piped")), " ");
    let output = running.wait_with_output().expect("it ends");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("interrupted after ") && said.contains(" of 3600 s"), "{said}");
    assert!(said.contains("forebay: cannot write to standard output: "), "{said}");
    let checked = folder.forebay(&["verify", "db"]);
    assert!(checked.status.success(), "{}", text(&checked.stdout));
}

/// Nothing depends on standard error: a full one isn't even a reason to panic.
#[test]
fn a_full_standard_error_changes_no_exit_status() {
    let folder = Folder::new("full-error");
    for (command, status) in
        [(&["verify", "nowhere"][..], 1), (&["prob"], 2), (&["load", "run", "nowhere"], 1)]
    {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("Linux has it");
        let output = folder.command(command).stderr(full).status().expect("it starts");
        assert_eq!(output.code(), Some(status), "{command:?}");
    }
}

/// What an experiment is told wrongly is found before anything is made.
#[test]
fn a_disk_that_nobody_knows_is_refused_before_anything_is_made() {
    let folder = Folder::new("paced");
    for (options, status, says) in [
        (&["free-buffer-waits", "--paced", "bogus"][..], 2, "no disk model is called \"bogus\""),
        (&["dbwr-count", "--paced", "array"], 2, "only free-buffer-waits"),
        (&["redo-size", "--paced", "array"], 2, "only free-buffer-waits"),
        (&["block-size-scan", "--paced", "array"], 2, "only free-buffer-waits"),
        (&["redo-size", "--table-rows", "5000"], 2, "only block-size-scan"),
        (&["dbwr-count", "--table-rows", "5000"], 2, "only block-size-scan"),
        (&["block-size-scan", "--rounds", "9"], 2, "leave --rounds out"),
        (&["block-size-scan", "--set", "db_cache_size=8m"], 2, "leave --set out"),
        (&["block-size-scan", "--dir", "nowhere"], 1, "nowhere"),
        (&["dbwr-count", "--simulate", "bogus"], 2, "bogus"),
        (
            &["dbwr-count", "--set", "DB_writer_processes = 3"],
            2,
            "gives db_writer_processes itself",
        ),
        (&["dbwr-count", "--dir", "nowhere"], 1, "nowhere"),
    ] {
        let run = [&["lab", "run"][..], options].concat();
        let output = folder.briefly(&run).output().expect("it starts");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{options:?}: {said}");
        assert!(said.contains(says) && said.lines().count() == 1, "{options:?}: {said}");
        assert!(folder.names().is_empty(), "{options:?}: {:?}", folder.names());
    }
}

/// An experiment that was killed leaves its folder; the next one takes it away, and says so. What
/// an experiment has that runs stays.
#[test]
fn what_a_killed_experiment_left_is_removed_by_the_next() {
    let folder = Folder::new("leftovers");
    let lab = ["lab", "run", "dbwr-count"];
    let is_there = || folder.names().iter().any(|name| name.starts_with("forebay-lab-"));
    let mut killed =
        folder.command(&lab).stderr(std::process::Stdio::null()).spawn().expect("starts");
    let began = Instant::now();
    while !folder.0.join(folder.names().first().map_or("", |name| name)).join("owner").exists() {
        assert!(killed.try_wait().expect("it is ours").is_none(), "it ends without a folder");
        assert!(began.elapsed() < Duration::from_secs(300), "the experiment makes no folder");
        std::thread::sleep(Duration::from_millis(5));
    }
    // While it lives, another experiment leaves its folder alone.
    let left = folder.names();
    let mut second = folder.command(&["lab", "run", "redo-size"]);
    let mut second = second.stderr(std::process::Stdio::piped()).spawn().expect("it starts");
    hear_and_interrupt(&mut second, "is in use by another experiment");
    assert_eq!(folder.names(), left);
    killed.kill().expect("it runs");
    killed.wait().expect("it ends");
    assert!(is_there());
    let mut next = folder.command(&lab);
    let mut next = next.stderr(std::process::Stdio::piped()).spawn().expect("it starts");
    let removed = "that an experiment had left when it was killed, is removed";
    assert_eq!(hear_and_interrupt(&mut next, removed), Some(130));
    assert!(!is_there(), "{:?}", folder.names());
}

/// What was asked is in the file of rows before the load begins, so an experiment that was killed
/// while it loaded goes on, and takes away what it had left.
#[test]
fn an_experiment_that_was_killed_while_it_loaded_goes_on() {
    let folder = Folder::new("killed-loading");
    let is_there = || folder.names().iter().any(|name| name.starts_with("forebay-lab-"));
    let rows = || std::fs::read_to_string(folder.0.join("rows")).unwrap_or_default();
    let mut killed = folder.command(&["lab", "run", "dbwr-count", "--rows", "rows"]);
    let mut killed = killed.stderr(std::process::Stdio::null()).spawn().expect("starts");
    let began = Instant::now();
    while !rows().ends_with('\n') {
        assert!(killed.try_wait().expect("it is ours").is_none(), "it ends without a row");
        assert!(began.elapsed() < Duration::from_secs(300), "nothing is written");
        std::thread::sleep(Duration::from_millis(5));
    }
    killed.kill().expect("it runs");
    killed.wait().expect("it ends");
    let left = experiment::parse_rows(&rows()).expect("rows");
    assert!(left.runs.is_empty() && is_there(), "it had loaded before it said what was asked");
    assert!(left.asked.is_some_and(|asked| asked.call.arguments.contains(&"dbwr-count".into())));
    let mut resumed = folder.command(&["lab", "resume", "rows"]);
    let mut resumed = resumed.stderr(std::process::Stdio::piped()).spawn().expect("it starts");
    let removed = "that an experiment had left when it was killed, is removed";
    assert_eq!(hear_and_interrupt(&mut resumed, removed), Some(130));
    assert_eq!(folder.names(), ["rows"]);
    assert!(experiment::parse_rows(&rows()).expect("rows").asked.is_some());
}

/// Ctrl-C once this was said on standard error; the status that it ends with.
fn hear_and_interrupt(running: &mut Child, sought: &str) -> Option<i32> {
    let mut told = BufReader::new(running.stderr.take().expect("it is piped"));
    heard(&mut told, sought);
    interrupt(running.id());
    std::io::copy(&mut told, &mut std::io::sink()).expect("it is read to its end");
    running.wait().expect("it ends").code()
}

/// A signal ends a load in good order: what it has found is told, and the status says so.
#[test]
fn a_load_that_is_interrupted_says_what_it_found() {
    let folder = Folder::with_database("interrupted");
    let mut run = Command::new("env");
    let program = env!("CARGO_BIN_EXE_forebay");
    // Who runs tests in the background may have had SIGINT ignored, and that is inherited.
    run.args(["--default-signal=INT", program, "load", "run", "db", "--seconds", "60"]);
    let running = run
        .current_dir(&folder.0)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    std::thread::sleep(Duration::from_secs(2));
    interrupt(running.id());
    let output = running.wait_with_output().expect("it ends");
    let (found, said) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(
        found.contains("interrupted after") && found.contains("transactions a second"),
        "{found}"
    );
    let checked = folder.forebay(&["verify", "db"]);
    assert!(checked.status.success(), "{}", text(&checked.stdout));
}

/// What every command says of itself fits a terminal of 80 columns, also on one that is wider.
#[test]
fn every_help_fits_a_terminal() {
    let folder = Folder::new("help");
    let help = folder.said(&["--help"]);
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    let name = |line: &str| line.strip_prefix("  ")?.split(' ').next().map(str::to_string);
    let commands: Vec<String> =
        listed.filter_map(name).filter(|name| !name.is_empty() && name != "help").collect();
    assert!(commands.len() > 8, "{commands:?}");
    let commands = commands.iter().map(|name| vec![&**name]).chain([
        vec![],
        vec!["load", "create"],
        vec!["load", "run"],
        vec!["load", "audit"],
        vec!["lab", "run"],
        vec!["lab", "list"],
    ]);
    for command in commands {
        for option in ["--help", "-h"] {
            let mut arguments = command.clone();
            arguments.push(option);
            let output = folder.command(&arguments).env("COLUMNS", "200").output();
            let help = text(&output.expect("it starts").stdout);
            assert!(help.contains("Usage:"), "{command:?}: {help}");
            assert_fits(&help);
        }
    }
    for command in [&["parameters"][..], &["parameters", "process_affinity"], &["lab", "list"]] {
        assert_fits(&folder.said(command));
    }
}

fn assert_fits(text: &str) {
    let long: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(long.is_empty(), "{long:?}");
}

/// A load says how much was done, how long each type of transaction took, and where the time went;
/// with --acknowledge on standard error.
#[test]
fn a_load_says_what_it_came_to() {
    for (name, filling, option, types) in [
        ("load-result", &["--megabytes", "1"][..], &[][..], &["debit-credit", "mass update"][..]),
        (
            "load-result-orders",
            &["--order-entry", "1", "--customers", "10", "--items", "10"],
            &["--order-entry"],
            &["new order", "payment"],
        ),
    ] {
        let folder = Folder::filled(name, filling);
        let run = [&["load", "run", "db", "--seconds", "1"][..], option].concat();
        let acknowledged = [&run[..], &["--acknowledge"]].concat();
        let output = folder.forebay(&acknowledged);
        let (printed, told) = (text(&output.stdout), text(&output.stderr));
        assert!(printed.lines().all(|line| line.split(' ').count() == 2), "{printed}");
        for said in [folder.said(&run), told] {
            assert!(said.contains(" transactions a second"), "{said}");
            assert!(said.contains("p99") && said.contains("log file sync"), "{said}");
            assert!(types.iter().all(|kind| said.contains(kind)), "{said}");
            assert_fits(&said);
        }
        let said = folder.said(&[&run[..], &["--json"]].concat());
        let json: serde_json::Value = serde_json::from_str(&said).expect("it is JSON");
        let count = |kind: &serde_json::Value| kind["count"].as_u64().expect("a number");
        let counted: u64 = json["types"].as_array().expect("a list").iter().map(count).sum();
        assert!(counted >= json["transactions"].as_u64().expect("a number"), "{json}");
        assert!(json["types"][0]["p50_us"].as_f64() <= json["types"][0]["p99_us"].as_f64());
    }
}

/// One parameter in full, by any spelling; a name that is nearly right is suggested.
#[test]
fn a_parameter_is_shown_alone() {
    let folder = Folder::new("parameter");
    let said = folder.said(&["parameters", "DB_CACHE_SIZE"]);
    assert!(said.starts_with("db_cache_size\n") && said.contains("32k to 1t bytes"), "{said}");
    assert!(said.contains("--alter 3:db_cache_size=VALUE"), "{said}");
    let said = folder.said(&["parameters", "log_file_bytes"]);
    assert!(said.contains("'forebay load create' chooses another value: 16m."), "{said}");
    let said = folder.misused(&["parameters", "db_cash_size"]);
    assert!(said.contains("did you mean db_cache_size?"), "{said}");
}

/// Rows of a shape are of the type of other experiments, but make no verdict.
#[test]
fn the_table_of_cells_writes_rows_that_are_no_comparison() {
    let folder = Folder::new("table-rows");
    let run = ["lab", "run", "free-buffer-waits", "--simulate", "two-core"];
    let said = folder.said(&[&run[..], &["--rows", "rows"]].concat());
    assert!(said.contains("a model repeats itself"), "{said}");
    let too_long = said.lines().find(|line| line.chars().count() > 80);
    assert_eq!(too_long, None, "{said}");
    let rows = std::fs::read_to_string(folder.0.join("rows")).expect("written");
    assert_eq!(rows.lines().count(), 20);
    assert_eq!(experiment::parse_rows(&rows).expect("they are rows").runs.len(), 20);
    let refused = folder.misused(&["lab", "report", "rows"]);
    assert!(refused.contains("has a shape of its own"), "{refused}");
    assert!(folder.misused(&["lab", "resume", "rows"]).contains("can't be resumed"));
    let refused = folder.misused(&[&run[..], &["--html", "page"]].concat());
    assert!(refused.contains("leave --html out"), "{refused}");
    let scan = ["lab", "run", "block-size-scan", "--simulate", "two-core", "--rows", "scans"];
    let said = folder.said(&[&scan[..], &["--table-rows", "5000"]].concat());
    assert!(said.contains("Spread between block sizes"), "{said}");
    let rows = std::fs::read_to_string(folder.0.join("scans")).expect("written");
    assert_eq!(experiment::parse_rows(&rows).expect("they are rows").runs.len(), 16);
    assert!(folder.misused(&["lab", "report", "scans"]).contains("has a shape of its own"));
    let curve = ["lab", "run", "redo-size", "--simulate", "two-core", "--rows", "other"];
    assert!(folder.misused(&curve).contains("leave --rows out"));
}

/// Who stops the table of cells before its first row is told that nothing is there, and so it is.
#[test]
fn a_table_that_was_stopped_while_it_loaded_leaves_no_rows() {
    let folder = Folder::new("table-stopped");
    let mut command = folder.command(&["lab", "run", "free-buffer-waits", "--rows", "rows"]);
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
    let running = command.spawn().expect("it starts");
    let is_there = || folder.names().iter().any(|name| name.starts_with("forebay-lab-"));
    let began = Instant::now();
    while !is_there() && began.elapsed() < Duration::from_secs(100) {
        std::thread::sleep(Duration::from_millis(5));
    }
    interrupt(running.id());
    let output = running.wait_with_output().expect("it ends");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("nothing is left behind"), "{said}");
    assert!(folder.names().is_empty(), "{:?}", folder.names());
}

/// Every key that a command prints is listed in docs/JSON.md.
#[test]
fn keys_of_json_are_documented() {
    let folder = Folder::new("json");
    let create = ["load", "create", "db", "--megabytes", "1mb", "--json"];
    let run =
        ["load", "run", "db", "--seconds", "1", "--json", "--alter", "0.1:db_cache_size=8MiB"];
    let lab = ["lab", "run", "dbwr-count", "--simulate", "two-core", "--seconds", "0.01", "--json"];
    let few = ["--design", "restarts", "--rounds", "2", "--equal-rounds", "1"];
    let lab = [&lab[..], &few].concat();
    let three = "question = \"which?\"\n[factor]\ndb_writer_processes = [1, 2, 3]\n";
    std::fs::write(folder.0.join("three.toml"), three).expect("it is written");
    let scan = ["lab", "run", "block-size-scan", "--simulate", "two-core", "--json"];
    let scan = [&scan[..], &["--table-rows", "5000"]].concat();
    let mut of_three = lab.clone();
    of_three[2] = "three.toml";
    of_three.push("--equals");
    for command in [
        &create[..],
        &run,
        &["load", "audit", "db", "--json"],
        &["recover", "db", "--json"],
        &["logs", "db", "--json"],
        &["parameters", "--json"],
        &["parameters", "log_buffer", "--json"],
        &["lab", "list", "--json"],
        &["verify", "db", "--json"],
        &["probe", ".", "--json"],
        &lab,
        &of_three,
        &["lab", "run", "redo-size", "--simulate", "two-core", "--json"],
        &["lab", "run", "free-buffer-waits", "--simulate", "two-core", "--json"],
        &scan,
    ] {
        let said = folder.said(command);
        let json: serde_json::Value = serde_json::from_str(&said).expect("it is JSON");
        let mut keys = std::collections::BTreeSet::new();
        collect_keys(&json, &mut keys);
        assert!(!keys.is_empty());
        let listed = listed_keys(&command[..2]);
        let missing: Vec<_> = keys.iter().filter(|key| !listed.contains(*key)).collect();
        assert!(missing.is_empty(), "{command:?}: {missing:?} aren't listed");
    }
}

/// The keys that docs/JSON.md lists under the heading of a command: what stands in the first column
/// of its tables.
fn listed_keys(command: &[&str]) -> Vec<String> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/JSON.md");
    let page = std::fs::read_to_string(page).expect("it is there");
    let is_it = |section: &&str| {
        let name = section.split('`').nth(1).unwrap_or_default();
        name == command.join(" ") || name == command[0]
    };
    let own = page.split("\n## ").skip(1).find(is_it).expect("it has a heading");
    // An audit tells of its recovery too.
    let others = page
        .split("\n## ")
        .filter(|section| own.contains("| as `recover` |") && section.starts_with("`recover`"));
    let rows = others.chain([own]).flat_map(str::lines).filter_map(|line| line.split('|').nth(1));
    rows.flat_map(|first| first.split('`').skip(1).step_by(2)).map(str::to_string).collect()
}

fn collect_keys(json: &serde_json::Value, keys: &mut std::collections::BTreeSet<String>) {
    match json {
        serde_json::Value::Array(all) => all.iter().for_each(|one| collect_keys(one, keys)),
        serde_json::Value::Object(map) => map.iter().for_each(|(key, value)| {
            keys.insert(key.clone());
            // What these have are parameters' names.
            if !key.starts_with("parameters") {
                collect_keys(value, keys);
            }
        }),
        _ => {}
    }
}

/// The manual and the completions know every command and its options.
#[test]
fn the_manual_and_the_completions_are_of_these_commands() {
    let folder = Folder::new("manual");
    folder.said(&["man", "."]);
    let page = std::fs::read_to_string(folder.0.join("forebay-load-run.1")).expect("written");
    assert!(page.contains("acknowledge"), "{page}");
    let head = page.lines().find(|line| line.starts_with(".TH"));
    assert!(head.is_some_and(|head| head.contains("\"forebay 0.")), "{head:?}");
    assert!(folder.names().contains(&"forebay.1".to_string()));
    let said = folder.refused(&["man", "nowhere"]);
    assert!(said.contains("cannot write the manual's pages to nowhere"), "{said}");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = folder.said(&["completions", shell]);
        assert!(script.contains("acknowledge") && script.contains("recover"), "{shell}");
    }
}
