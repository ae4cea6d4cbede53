//! `forebay load` as a person meets it: made, worked on, audited; refused in one line.

use std::process::Stdio;

use crate::folder::{Folder, interrupt, refused, said, text};

/// Work, and all of it is there again.
#[test]
fn what_a_load_was_told_is_found_by_the_audit() {
    let folder = Folder::with_database("load-audit");
    let told = said(&folder.forebay(&["load", "run", "db", "--seconds", "1", "--acknowledge"]));
    assert!(told.lines().count() > 10, "{told}");
    std::fs::write(folder.0.join("told"), &told).expect("it is written");
    let audit = said(&folder.forebay(&["load", "audit", "db", "--acknowledged", "told"]));
    assert!(audit.starts_with("none of "), "{audit}");
    // One more that nobody was told of by the database: that one is lost.
    std::fs::write(folder.0.join("told"), told + "0 1000000\n").expect("it is written");
    let lost = refused(&folder.forebay(&["load", "audit", "db", "--acknowledged", "told"]));
    assert!(lost.contains("acknowledged commits") && lost.contains("are lost"), "{lost}");
}

/// What is changed under way is said where it doesn't get among the commits.
#[test]
fn a_load_that_is_altered_can_be_audited() {
    let folder = Folder::with_database("load-altered");
    let run = ["load", "run", "db", "--seconds", "1", "--acknowledge"];
    let altered = ["--alter", "0.2:db_writer_processes=2"];
    let output = folder.forebay(&[&run[..], &altered].concat());
    let told = said(&output);
    assert!(text(&output.stderr).contains("db_writer_processes = 2"), "{output:?}");
    std::fs::write(folder.0.join("told"), &told).expect("it is written");
    let audit = said(&folder.forebay(&["load", "audit", "db", "--acknowledged", "told"]));
    assert!(audit.starts_with("none of "), "{audit}");
    let refused = ["--alter", "0.1:db_8k_cache_size=1m"];
    let output = folder.forebay(&[&run[..], &refused, &altered].concat());
    let told = text(&output.stderr);
    assert!(told.contains("that were to follow and aren't made: 1"), "{told}");
}

/// Five seconds of work, and the books of each session and each process close to one per cent. What
/// a hypervisor takes of the CPUs has no name: where it takes more than half a per cent the books
/// prove nothing, whatever they say, and others are made.
#[test]
fn the_account_of_everyone_closes() {
    let folder = Folder::with_database("load-account");
    for _ in 0..6 {
        let before = stolen_s();
        let told = said(&folder.forebay(&["load", "run", "db", "--seconds", "5"]));
        let stolen = (stolen_s() - before) * 20.0;
        if stolen > 0.5 {
            println!("{stolen} % were stolen");
            continue;
        }
        for kind in ["session", "process"] {
            let head = format!("largest unaccounted share of a {kind}: ");
            let share = told.lines().find_map(|line| line.strip_prefix(&head)?.split(' ').next());
            let share: f64 = share.expect("there is such a line").parse().expect("a number");
            assert!(share <= 1.0, "{stolen} % were stolen: {told}");
        }
        return;
    }
    panic!("the hypervisor is too busy: each time it took more than 0.5 % of the CPUs");
}

/// Seconds that the hypervisor took from this machine's CPUs, all together, so far.
fn stolen_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/stat").expect("Linux");
    let steal = stat.lines().next().and_then(|line| line.split_whitespace().nth(8));
    steal.expect("the eighth column").parse::<f64>().expect("a number") / 100.0
}

/// Rule space/SP7: a database that is open isn't opened again.
#[test]
fn a_second_program_on_the_same_database_is_refused() {
    let folder = Folder::with_database("load-twice");
    let mut first = folder.command(&["load", "run", "db", "--seconds", "3600", "--acknowledge"]);
    let mut first = first.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut line = String::new();
    let out = first.stdout.as_mut().expect("a pipe");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).expect("a commit");
    let second = folder.forebay(&["load", "run", "db", "--seconds", "1"]);
    let error = refused(&second);
    assert!(error.contains("another program has it open"), "{error}");
    first.kill().expect("it runs");
    first.wait().expect("it ends");
    said(&folder.forebay(&["load", "run", "db", "--seconds", "1"]));
}

/// Parameters change while sessions work, and what can't be changed is said before they begin.
#[test]
fn parameters_change_under_load() {
    let folder = Folder::with_database("load-alter");
    let mut run = vec!["load", "run", "db", "--seconds", "2", "--set", "sga_max_size=128m"];
    for change in ["0.5:db_writer_processes=4", "1:db_cache_size=96m", "1.2:commit_leader=lgwr"] {
        run.extend(["--alter", change]);
    }
    let ran = said(&folder.forebay(&run));
    let changes: Vec<&str> = ran.lines().take(3).collect();
    for (change, says, at) in [
        (changes[0], " s: db_writer_processes = 4, in ", 0.5),
        (changes[1], " s: db_cache_size = 96m, in ", 1.0),
        (changes[2], " s: commit_leader = lgwr, in ", 1.2),
    ] {
        // A busy machine is late.
        let after = change.strip_prefix("after ").and_then(|rest| rest.split_once(says));
        let after = after.unwrap_or_else(|| panic!("{ran}")).0.parse::<f64>();
        assert!(after.is_ok_and(|after| after >= at), "{ran}");
    }
    for (change, answer) in [
        ("db_writer_processes=4", "--alter takes SECONDS:NAME=VALUE"),
        ("1:db_writer_processes=0", "choose 1 to 100"),
        ("0:db_working_sets=4", "chosen when an instance opens"),
    ] {
        let arguments = ["load", "run", "db", "--seconds", "1", "--alter", change];
        let said = folder.misused(&arguments);
        assert!(said.contains(answer), "{said}");
    }
}

/// A wrong place, a full directory, no database: one line each, and nothing changed.
#[test]
fn wrong_input_is_one_clear_line() {
    let folder = Folder::new("load-wrong");
    let none = refused(&folder.forebay(&["load", "run", "nothing"]));
    assert!(none.contains("there is no directory nothing; check the path"), "{none}");
    std::fs::create_dir(folder.0.join("full")).expect("a folder");
    std::fs::write(folder.0.join("full/letter"), "mine").expect("it is written");
    let full = refused(&folder.forebay(&["load", "create", "full"]));
    assert!(full.contains("isn't empty"), "{full}");
    assert_eq!(std::fs::read(folder.0.join("full/letter")).expect("it is there"), b"mine");
    folder.create(&["--megabytes", "1"]);
    for (setting, answer) in [
        ("db_writer_processes=0", "db_writer_processes is 0: choose 1 to 100"),
        ("db_writer_processes", "--set takes NAME=VALUE, not 'db_writer_processes'"),
        ("db_riter_processes=1", "did you mean db_writer_processes?"),
        ("db_block_size=4k", "db_block_size is chosen when a database is created"),
    ] {
        let said = folder.misused(&["load", "run", "db", "--set", setting]);
        assert!(said.contains(answer), "{said}");
    }
    for (setting, answer) in [
        ("data_bytes=8t", "at most 256 data files, and this would have "),
        ("undo_growth_bytes=0", "undo_growth_bytes); this is for undo01.dbf"),
    ] {
        let said = folder.refused(&["load", "create", "new", "--set", setting]);
        assert!(said.contains(answer), "{said}");
    }
    let said = folder.refused(&["load", "run", "db", "--set", "db_8k_cache_size=1m"]);
    assert!(said.contains("db_8k_cache_size is for a database of other blocks"), "{said}");
    // The most that a column of order entry's holds, and more.
    let said = folder.misused(&["load", "run", "db", "--first-session", "2147483647"]);
    assert!(said.contains("choose 0 to 2000000000"), "{said}");
    let doublewrite =
        std::fs::File::options().write(true).open(folder.0.join("db/doublewrite01.dbl"));
    doublewrite.and_then(|file| file.set_len(500 << 10)).expect("cut off");
    let said = folder.refused(&["load", "run", "db"]);
    assert!(said.contains("lower db_working_sets"), "{said}");
    let unknown = folder.forebay(&["lab", "run", "perpetual-motion"]);
    assert_eq!(unknown.status.code(), Some(2));
    let error = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(error.contains("no experiment 'perpetual-motion'"), "{error}");
}

/// As the README has it: without what was acknowledged, the tables are held against themselves.
#[test]
fn an_audit_needs_nothing_but_the_database() {
    let folder = Folder::with_database("load-audit-alone");
    said(&folder.forebay(&["load", "run", "db", "--seconds", "1"]));
    let audit = said(&folder.forebay(&["load", "audit", "db"]));
    assert!(audit.contains("nothing is said of commits"), "{audit}");
    assert!(audit.contains("the books balance"), "{audit}");
    assert!(audit.lines().all(|line| line.chars().count() <= 80), "{audit}");
}

/// A database that was made for the other load is told from one that is whole.
#[test]
fn the_tables_of_another_load_are_refused_by_name() {
    let folder = Folder::with_database("load-other");
    for verb in ["run", "audit"] {
        let error = refused(&folder.forebay(&["load", verb, "db", "--order-entry"]));
        assert!(
            error.contains("cannot open the tables of order entry: there is no table"),
            "{error}"
        );
        assert!(error.ends_with("of the debit-credit load: leave --order-entry out"), "{error}");
    }
    let folder = Folder::filled("load-other-orders", &ORDERS);
    for verb in ["run", "audit"] {
        let error = refused(&folder.forebay(&["load", verb, "db"]));
        assert!(error.ends_with("of the load of order entry: give --order-entry"), "{error}");
    }
}

/// What can't be had at opening is said, and is in no way of parameters that change later.
#[test]
fn parameters_change_where_the_opening_could_not_give_its_processes_cpus() {
    let folder = Folder::with_database("load-affinity");
    let set = ["--set", "process_affinity=lgwr:100", "--alter", "0.5:db_cache_size=32m"];
    let ran = folder.forebay(&[&["load", "run", "db", "--seconds", "2"][..], &set].concat());
    assert!(text(&ran.stderr).contains("the background processes run as any others"));
    assert!(said(&ran).starts_with("after 0.5 s: db_cache_size = 32m, in "));
}

/// Numbers that no load can have printed are refused, and those that none has are lost commits.
#[test]
fn an_audit_is_told_numbers_beyond_all_counting() {
    let folder = Folder::with_database("load-numbers");
    for (told, answer) in [
        ("1 9223372036854775808\n", "line 1 of told isn't \"SESSION NUMBER\""),
        ("7 1\n1 18446744073709551615\n", "line 2 of told isn't \"SESSION NUMBER\""),
        ("1 9223372036854775807\n2 9223372036854775807\n3 9\n", "acknowledged commits"),
    ] {
        std::fs::write(folder.0.join("told"), told).expect("it is written");
        let said = folder.refused(&["load", "audit", "db", "--acknowledged", "told"]);
        assert!(said.contains(answer), "{said}");
    }
}

/// A file that no memory holds is refused.
#[test]
fn an_audit_refuses_a_file_that_no_load_has_printed() {
    let folder = Folder::with_database("load-endless");
    let file = std::fs::File::create(folder.0.join("told")).expect("it is made");
    file.set_len(1 << 40).expect("nothing is written");
    let said = folder.refused(&["load", "audit", "db", "--acknowledged", "told"]);
    assert!(said.contains("told has 1099511627776 bytes, and at most"), "{said}");
}

/// Ctrl-C ends an audit. Where it has ended before the signal came, that is tried again.
#[test]
fn an_audit_is_ended_by_the_first_signal() {
    let folder = Folder::filled("load-audit-interrupted", &["--megabytes", "4"]);
    let began = std::time::Instant::now();
    said(&folder.forebay(&["load", "audit", "db"]));
    let half = began.elapsed() / 2;
    let is_ended = |_| {
        let mut audit = std::process::Command::new("env");
        audit.args(["--default-signal=INT", env!("CARGO_BIN_EXE_forebay"), "load", "audit", "db"]);
        audit.current_dir(&folder.0).stdout(Stdio::null());
        let mut audit = audit.spawn().expect("it starts");
        std::thread::sleep(half);
        interrupt(audit.id());
        !audit.wait().expect("it ends").success()
    };
    assert!((0..8).any(is_ended), "signals were ignored");
    said(&folder.forebay(&["load", "audit", "db"]));
}

/// Commits of two sessions with one number couldn't be told apart afterwards.
#[test]
fn a_load_refuses_numbers_of_sessions_that_an_earlier_one_had() {
    for (name, filling, option) in [
        ("load-again", &["--megabytes", "1"][..], &[][..]),
        ("load-again-orders", &ORDERS, &["--order-entry"]),
    ] {
        let folder = Folder::filled(name, filling);
        let run = ["load", "run", "db", "--seconds", "1", "--sessions", "2", "--first-session"];
        let numbered = |first| [&run[..], &[first], option].concat();
        folder.said(&numbered("5"));
        for first in ["4", "5", "6"] {
            let said = folder.refused(&numbered(first));
            assert!(said.contains("has worked in an earlier load"), "{first}: {said}");
            assert!(said.contains("--first-session"), "{said}");
        }
        folder.said(&numbered("7"));
        folder.said(&[&["load", "audit", "db"], option].concat());
    }
}

const ORDERS: [&str; 6] = ["--order-entry", "1", "--customers", "10", "--items", "10"];

/// What a load printed, and was cut short, isn't taken for damage alone.
#[test]
fn a_file_of_acknowledged_commits_that_was_cut_short_is_called_so() {
    for (name, filling, option) in [
        ("load-short", &["--megabytes", "1"][..], &[][..]),
        ("load-short-orders", &ORDERS, &["--order-entry"]),
    ] {
        let folder = Folder::filled(name, filling);
        let run = ["load", "run", "db", "--seconds", "2", "--sessions", "2", "--acknowledge"];
        let told = folder.said(&[&run[..], option].concat());
        let first: String = told.split_inclusive('\n').take(4).collect();
        let audit = [&["load", "audit", "db", "--acknowledged", "told"][..], option].concat();
        std::fs::write(folder.0.join("told"), &first).expect("it is written");
        let said = folder.refused(&audit);
        assert!(said.contains("is shorter than what the load printed"), "{said}");
        std::fs::write(folder.0.join("told"), first + "1").expect("it is written");
        let said = folder.refused(&audit);
        assert!(
            said.contains("line 5 of told is its last") && said.contains("cut short"),
            "{said}"
        );
        std::fs::write(folder.0.join("told"), &told).expect("it is written");
        folder.said(&audit);
    }
}

/// What is fixed when a database is created is said to be.
#[test]
fn a_parameter_of_creation_is_not_altered() {
    let folder = Folder::with_database("load-alter-fixed");
    let alter = ["load", "run", "db", "--alter", "1:db_block_size=4k"];
    let said = folder.misused(&alter);
    assert!(said.contains("db_block_size is fixed when a database is created"), "{said}");
}

/// What has the name of a file and is none is called what it is.
#[test]
fn what_is_no_file_in_a_files_place_is_called_what_it_is() {
    let folder = Folder::with_database("load-no-file");
    // Where it was, and, as of a copy, elsewhere: there it is not the original's (rule space/SP22).
    for (file, put, says) in [
        ("data01.dbf", "mkfifo db/data01.dbf", "it is a pipe, and must be a file"),
        ("data01.dbf", "mkdir db/data01.dbf", "it is a directory, and must be a file"),
        ("control01.ctl", "mkfifo db/control01.ctl", "it is a pipe, and must be a file"),
        ("doublewrite01.dbl", "mkdir db/doublewrite01.dbl", "it is a directory, and must be"),
    ] {
        let script = format!("mv db/{file} kept && {put}");
        let back = format!("rm -rf db/{file} && mv kept db/{file}");
        let shell = |script: &str| {
            let mut shell = std::process::Command::new("sh");
            let done = shell.args(["-c", script]).current_dir(&folder.0).status();
            assert!(done.expect("it runs").success(), "{script}");
        };
        shell(&script);
        for (place, next) in [("db", "other"), ("other", "db")] {
            let audit = ["load", "audit", place];
            let said = refused(&folder.briefly(&audit).output().expect("it starts"));
            assert!(said.contains(says), "{put}: {said}");
            std::fs::rename(folder.0.join(place), folder.0.join(next)).expect("moved");
        }
        shell(&back);
    }
    let mut fed = std::process::Command::new("bash");
    let line = "\"$0\" load audit db --acknowledged <(echo 1 1)";
    let fed = fed.args(["-c", line, env!("CARGO_BIN_EXE_forebay")]).current_dir(&folder.0).output();
    let said = refused(&fed.expect("it starts"));
    assert!(said.contains("it is a pipe, and must be a file; write what comes"), "{said}");
}

/// Under a limit on processes the kernel has no threads for io_uring, and gives requests up: they
/// are done all the same. Whatever else can't be had is refused, and nothing halts.
#[test]
fn a_load_under_a_limit_on_processes_is_refused_or_runs() {
    let folder = Folder::with_database("load-processes");
    let own = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").expect("Linux"));
    let mut given = std::process::Command::new("chmod");
    let given = given.args(["-R", "a+rwX", "."]).current_dir(&folder.0).status();
    assert!(given.expect("it runs").success());
    let (mut refused, mut ran) = (false, false);
    for limit in 10..30 {
        let mut command = std::process::Command::new("prlimit");
        command.arg(format!("--nproc={limit}")).current_dir(&folder.0);
        if own == 0 {
            // A user of its own: root isn't held to the limit.
            command.args(["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups"]);
        }
        command.args([env!("CARGO_BIN_EXE_forebay"), "load", "run", "db", "--seconds", "1"]);
        let output = command.output().expect("prlimit is installed");
        let told = text(&output.stderr);
        assert!(!told.contains("halted") && !told.contains("cancel"), "{limit}: {told}");
        refused |= !output.status.success();
        ran |= output.status.success();
        if ran {
            break;
        }
    }
    assert!((refused && ran) || own != 0, "no limit was met");
}
