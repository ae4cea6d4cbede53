//! What a user can do wrong, and what a machine can refuse, to the real program: one clear line
//! that says what failed and what to do, the right exit status, and nothing left behind.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::folder::Folder;

const FOREBAY: &str = env!("CARGO_BIN_EXE_forebay");

/// A directory of this test alone, gone when it ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let name = format!("{name}-{}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("the build's directory is writable");
        Scratch(path)
    }

    fn text(&self) -> String {
        self.0.display().to_string()
    }

    fn is_empty(&self) -> bool {
        std::fs::read_dir(&self.0).expect("it exists").count() == 0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::set_permissions(&self.0, std::fs::Permissions::from_mode(0o755));
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn forebay(arguments: &[&str]) -> Output {
    Command::new(FOREBAY).args(arguments).output().expect("it starts")
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").expect("Linux").uid() == 0
}

/// Probes `place` after `mount` in mounts of its own; then what is left there goes to standard
/// output, after a line of dashes.
fn probe_mounted(mount: &str, place: &str, option: &str) -> Output {
    let unshare: &[&str] = if is_root() { &["-m"] } else { &["-r", "-m"] };
    let script = format!(
        "{mount} {place} || exit 99; {FOREBAY} probe {option} {place}; status=$?; \
         echo -----; ls -A {place}; exit $status"
    );
    let mut command = Command::new("unshare");
    command.args(unshare).args(["sh", "-c", &script]).output().expect("unshare is installed")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("plain text")
}

/// The one line on standard error of a run that ended with `status`.
fn one_line(output: &Output, status: i32) -> String {
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.starts_with("forebay: cannot "), "{stderr}");
    assert!(stderr.contains("; "), "no advice: {stderr}");
    stderr.trim_end().to_string()
}

/// A wrong command line is told in one line and has a status of its own.
#[test]
fn a_wrong_command_line_is_one_line_and_status_2() {
    for (arguments, said, see) in [
        (&["prob"][..], "unrecognized subcommand 'prob'", ""),
        (&["probe"], "required arguments were not provided: <DIR>", " probe"),
        (&["probe", "/tmp", "/var"], "unexpected argument '/var' found", " probe"),
        (&["probe", "--yaml", "/tmp"], "unexpected argument '--yaml' found", " probe"),
        (&["load", "runs"], "unrecognized subcommand 'runs'", " load"),
        (&["load", "run", "/tmp", "--seconds", "0"], "choose 1 to 86400", " load run"),
        (&["load", "run", "/tmp", "--sessions", "100000"], "choose 1 to 4096", " load run"),
        (&["load", "run", "/tmp", "--sessions", "-3"], "'-3' for '--sessions", " load run"),
        (&["load", "run", "/tmp", "--seed", "-3"], "choose 0 to 184467", " load run"),
        (&["load", "create", "/tmp", "--order-entry", "0"], "choose 1 to 10000", " load create"),
        (&["load", "create", "/tmp", "--megabytes", "0"], "choose 1 to 1048576", " load create"),
        (&["load", "create", "/tmp", "--megabytes", "-1"], "a number of megabytes", " load create"),
        (&["lab", "run", "dbwr-count", "--rounds", "0"], "choose 2 to 1000", " lab run"),
        (&["lab", "run", "dbwr-count", "--equal-rounds", "-1"], "choose 1 to 1000", " lab run"),
        (&["lab", "run", "block-size-scan", "--table-rows", "9"], "choose 1000 to", " lab run"),
        (&["lab", "run", "dbwr-count", "--budget", "soon"], "no unit of time", " lab run"),
        (&["lab", "run", "dbwr-count", "--design", "pairs"], "restarts", " lab run"),
        (&["lab", "run", "dbwr-count", "--seconds", "nan"], "choose 0.01s to 24h", " lab run"),
        (&["lab", "run", "dbwr-count", "--block", "10ms"], "choose 0.02s to 1h", " lab run"),
        (&["lab", "run", "dbwr-count", "--budget", "-1"], "choose 1s to 24h", " lab run"),
        (&["lab", "run", "dbwr-count", "--matters", "-2"], "choose 0.001 to 99.999", " lab run"),
    ] {
        let output = forebay(arguments);
        let line = one_line(&output, 2);
        assert!(line.starts_with("forebay: cannot read the command line: "), "{line}");
        assert!(line.contains(said), "{line}");
        assert!(line.contains(&format!("; see 'forebay{see} --help'")), "{line}");
        assert!(output.stdout.is_empty());
    }
}

/// A command, an option or an experiment that is nearly one is told.
#[test]
fn a_mistyped_word_of_the_command_line_gets_a_suggestion() {
    for (arguments, meant) in [
        (&["verfy", "db"][..], "did you mean verify?"),
        (&["load", "creat", "db"], "did you mean create?"),
        (&["load", "run", "db", "--sesions", "1"], "did you mean --sessions?"),
    ] {
        let line = one_line(&forebay(arguments), 2);
        assert!(line.ends_with(meant), "{line}");
    }
    assert!(!one_line(&forebay(&["something"]), 2).contains("did you mean"));
    let said = text(&forebay(&["lab", "run", "dbwr-coutn"]).stderr);
    assert!(said.ends_with("did you mean dbwr-count?\n"), "{said}");
}

/// Who says nothing, or half of a command, is shown what there is.
#[test]
fn a_command_that_is_missing_is_answered_with_help() {
    for (arguments, shows) in [(&[][..], "verify"), (&["load"], "audit"), (&["lab"], "run")] {
        let output = forebay(arguments);
        assert!(output.status.success() && output.stderr.is_empty(), "{arguments:?}");
        let help = text(&output.stdout);
        assert!(help.contains("Usage:") && help.contains(shows), "{help}");
    }
}

/// Help and version are no errors.
#[test]
fn help_and_version_are_no_errors() {
    for argument in ["--help", "--version"] {
        let output = forebay(&[argument]);
        assert!(output.status.success() && output.stderr.is_empty());
        assert!(text(&output.stdout).contains("forebay"));
    }
}

/// A directory that isn't there is named.
#[test]
fn a_missing_directory_is_named() {
    let scratch = Scratch::new("missing");
    let missing = format!("{}/no/such", scratch.text());
    let output = forebay(&["probe", &missing]);
    let line = one_line(&output, 1);
    assert!(line.starts_with(&format!("forebay: cannot probe {missing}: ")), "{line}");
    assert!(line.ends_with("no such file or directory; check the path"), "{line}");
    assert!(output.stdout.is_empty() && scratch.is_empty());
}

/// A file in place of the directory is named, and is still what it was.
#[test]
fn a_file_in_place_of_the_directory_is_named() {
    let scratch = Scratch::new("file");
    let file = format!("{}/file", scratch.text());
    std::fs::write(&file, b"mine").expect("written");
    let output = forebay(&["probe", &file]);
    let line = one_line(&output, 1);
    assert!(line.contains(&file) && line.ends_with("not a directory; check the path"), "{line}");
    assert_eq!(std::fs::read(&file).expect("still there"), b"mine");
}

/// A directory that can't be written: a read-only mount for root, whom rights don't stop, a missing
/// right for others.
#[test]
fn a_read_only_directory_is_refused() {
    let scratch = Scratch::new("read-only");
    if is_root() {
        let output = probe_mounted("mount -t tmpfs -o ro none", &scratch.text(), "");
        let line = one_line(&output, 1);
        assert!(line.contains("read-only file system; choose a place on a writable"), "{line}");
        assert_eq!(text(&output.stdout), "-----\n");
    } else {
        let read_only = std::fs::Permissions::from_mode(0o555);
        std::fs::set_permissions(&scratch.0, read_only).expect("mine");
        let line = one_line(&forebay(&["probe", &scratch.text()]), 1);
        assert!(line.contains("permission denied; give this user the right"), "{line}");
    }
    assert!(scratch.is_empty());
}

/// Less space than the probe needs: it says so and leaves what there was.
#[test]
fn no_space_is_said_and_nothing_stays() {
    for size in ["1m", "64k"] {
        let scratch = Scratch::new(&format!("space-{size}"));
        let mount = format!("mount -t tmpfs -o size={size} none");
        let output = probe_mounted(&mount, &scratch.text(), "");
        let line = one_line(&output, 1);
        assert!(line.contains("no space left on device; free space there"), "{line}");
        assert_eq!(text(&output.stdout), "-----\n", "something is left");
    }
}

/// A file system without direct I/O is no failure: the buffered ways are timed, and it is said.
#[test]
fn a_file_system_without_direct_io_is_probed_without() {
    let scratch = Scratch::new("ramfs");
    let output = probe_mounted("mount -t ramfs none", &scratch.text(), "--json");
    let stdout = text(&output.stdout);
    assert!(output.status.success(), "{stdout}{}", text(&output.stderr));
    let (json, left) = stdout.split_once("-----\n").expect("the script prints it");
    assert_eq!(left, "", "something is left");
    let found: serde_json::Value = serde_json::from_str(json).expect("JSON");
    assert_eq!(found["direct_io"]["works"], false);
    let refused = found["direct_io"]["refused"].as_str().expect("why not");
    assert!(refused.contains("doesn't do direct I/O"), "{refused}");
    let ways = found["durable_writes"].as_array().expect("a list");
    assert_eq!(ways.len(), 2);
    assert!(ways.iter().all(|way| way["way"].as_str().expect("a name").starts_with("buffered")));
}

/// Where io_uring is refused I/O slaves take over: one notice says so, with what to do.
#[test]
fn refused_io_uring_is_one_notice() {
    for (errno, advice) in [
        (libc::EPERM, "kernel.io_uring_disabled=0"),
        (libc::EMFILE, "ulimit -n"),
        (libc::ENOSYS, "it needs Linux 5.6"),
    ] {
        probe_without_io_uring(errno, advice);
    }
}

fn probe_without_io_uring(errno: i32, advice: &str) {
    let scratch = Scratch::new("uring");
    let place = scratch.text();
    // A program has the filters of the thread that starts it.
    let started = std::thread::spawn(move || {
        use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};
        let refuse = SeccompAction::Errno(errno as u32);
        let arch = TargetArch::try_from(std::env::consts::ARCH).expect("a known processor");
        let rules = [(libc::SYS_io_uring_setup, vec![])].into_iter().collect();
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).expect("good");
        let program: BpfProgram = filter.try_into().expect("good");
        seccompiler::apply_filter(&program).expect("filters are allowed");
        forebay(&["probe", &place])
    });
    let output = started.join().expect("no panic");
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.starts_with("notice: I/O slaves do the work, for I cannot use io_uring: "));
    assert!(stderr.contains(advice), "{stderr}");
    assert!(stdout.contains("asynchronous I/O 32 I/O slaves\n"), "{stdout}");
    assert!(scratch.is_empty());
}

/// Under a small limit on locked memory buffers aren't registered: one notice, and the report says
/// the limit. Root isn't held to the limit, so it is given up first.
#[test]
fn a_small_limit_on_locked_memory_is_one_notice() {
    let scratch = Scratch::new("locked");
    std::fs::set_permissions(&scratch.0, std::fs::Permissions::from_mode(0o777)).expect("mine");
    let mut arguments = vec!["--memlock=65536"];
    if is_root() {
        arguments.extend(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]);
    }
    let place = scratch.text();
    arguments.extend([FOREBAY, "probe", &place]);
    let output = Command::new("prlimit").args(arguments).output().expect("prlimit is installed");
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.starts_with("notice: cannot lock 8192 KiB of I/O buffers in memory: "));
    assert!(stderr.contains("; plain buffers are used"), "{stderr}");
    let said = "locked memory    limit 64.0 KiB, 0 bytes of I/O buffers registered\n";
    assert!(stdout.contains(said), "{stdout}");
    assert!(scratch.is_empty());
}

/// Who has no right to real-time priority needn't wait for the loading to hear that.
#[test]
fn a_priority_that_a_user_cannot_have_is_refused_before_anything_is_loaded() {
    let scratch = Scratch::new("priority");
    std::fs::set_permissions(&scratch.0, std::fs::Permissions::from_mode(0o777)).expect("mine");
    let mut arguments = vec!["--rtprio=0"];
    if is_root() {
        arguments.extend(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]);
    }
    let place = scratch.text();
    arguments.extend([FOREBAY, "lab", "run", "lgwr-priority", "--dir", &place]);
    let output = Command::new("prlimit").args(arguments).output().expect("prlimit is installed");
    let line = text(&output.stderr);
    assert_eq!((output.status.code(), line.lines().count()), (Some(1), 1), "{line}");
    let says = "setting B (high_priority_processes = lgwr): cannot set the priority of fb_";
    assert!(line.contains(says) && line.contains("ulimit -r"), "{line}");
    assert!(scratch.is_empty());
}

/// Ctrl-C, or even kill -9, in the middle of the probe: the scratch file has had no name for long.
#[test]
fn a_probe_that_is_interrupted_leaves_nothing() {
    for signal in [2, 9] {
        let scratch = Scratch::new(&format!("signal-{signal}"));
        // Who runs these tests in the background may have had SIGINT ignored, and that is
        // inherited.
        let mut child = Command::new("env")
            .args(["--default-signal=INT", FOREBAY, "probe", &scratch.text()])
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts");
        let pid = child.id();
        let nameless = || {
            let files = std::fs::read_dir(format!("/proc/{pid}/fd"));
            let targets = files.into_iter().flatten().flatten();
            let mut targets = targets.filter_map(|entry| std::fs::read_link(entry.path()).ok());
            targets.any(|target| {
                let target = target.to_string_lossy().into_owned();
                target.contains("/probe-") && target.ends_with(".forebay-temp (deleted)")
            })
        };
        let started = Instant::now();
        while !nameless() {
            assert!(child.try_wait().expect("it is ours").is_none(), "the probe ends");
            assert!(started.elapsed() < Duration::from_secs(300), "the probe gets nowhere");
        }
        // Into the fill the first time, into the measurement the second.
        std::thread::sleep(Duration::from_millis(if signal == 2 { 200 } else { 5 }));
        let (signal_option, pid) = (format!("-{signal}"), pid.to_string());
        let sent = Command::new("kill").args([signal_option, pid]).status().expect("kill runs");
        assert!(sent.success());
        let status = child.wait().expect("it ends");
        assert_eq!(status.signal(), Some(signal), "{status}");
        assert!(scratch.is_empty());
    }
}

/// A reader that goes away after the first line is no failure.
#[test]
fn a_closed_pipe_is_no_failure() {
    let scratch = Scratch::new("pipe");
    let script = format!("set -o pipefail; {FOREBAY} probe {} | true", scratch.text());
    let output = Command::new("bash").args(["-c", &script]).output().expect("bash is installed");
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
    assert!(scratch.is_empty());
}

/// What people read and what programs read is the same, and fits a terminal.
#[test]
fn the_report_is_complete_and_fits_a_terminal() {
    let scratch = Scratch::new("report");
    let page = text(&forebay(&["probe", &scratch.text()]).stdout);
    for line in page.lines().filter(|line| !line.contains(&scratch.text())) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    for name in ["clock", "CPUs", "run-queue delay", "asynchronous I/O", "locked memory"] {
        assert!(page.lines().any(|line| line.starts_with(name)), "no {name} in\n{page}");
    }
    let output = forebay(&["probe", "--json", &scratch.text()]);
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(found["clock"]["reading_ns"].as_f64().expect("a number") > 0.0);
    assert!(found["cpus"].as_u64().expect("a number") > 0);
    assert!(found["free_bytes"].as_u64().expect("a number") > 0);
    let ways = found["durable_writes"].as_array().expect("a list");
    let names: Vec<&str> = ways.iter().filter_map(|way| way["way"].as_str()).collect();
    assert!(names.contains(&found["pick"].as_str().expect("one of them")));
    assert!(ways.iter().all(|way| way["writes"].as_u64() >= Some(8)));
    assert!(scratch.is_empty());
}

/// A value that a parameter can't have is a wrong command line, whichever command it is given to.
#[test]
fn a_parameter_out_of_its_bounds_is_a_wrong_command_line_everywhere() {
    for command in [
        &["load", "run", "x"][..],
        &["load", "create", "x"],
        &["load", "audit", "x"],
        &["logs", "x"],
        &["verify", "x"],
        &["lab", "run", "dbwr-count"],
    ] {
        let output = forebay(&[command, &["--set", "log_buffer=99999g"]].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{command:?}: {said}");
        assert!(said.contains("log_buffer is") && said.contains("choose 200k to 1g"), "{said}");
    }
}

/// What is lost is said with what to do, and the rest is checked.
#[test]
fn a_lost_or_emptied_file_is_refused_with_what_to_do() {
    let folder = Folder::with_database("bad-lost");
    let db = |name: &str| folder.0.join("db").join(name);
    let restore = "restore the whole database from one copy";
    let refused_with = |begin: &str| {
        let said = folder.refused(&["recover", "db"]);
        assert!(said.contains(begin) && said.matches(restore).count() == 1, "{said}");
    };
    let listed = folder.said(&["logs", "db"]);
    let line = listed.lines().find(|line| line.contains("CURRENT")).expect("one is");
    let log = line.split_whitespace().last().expect("its file");
    for name in [log, "doublewrite01.dbl"] {
        std::fs::rename(db(name), folder.0.join("kept")).expect("moved");
        refused_with("put it back");
        std::fs::create_dir(db(name)).expect("made");
        let output = folder.forebay(&["verify", "db"]);
        let said = text(&output.stdout);
        assert!(said.contains("it is a directory") && said.contains("files, "), "{said}");
        std::fs::remove_dir(db(name)).expect("removed");
        std::fs::rename(folder.0.join("kept"), db(name)).expect("moved");
    }
    for (names, bytes, begin) in [
        (&["data01.dbf"][..], 8192, "put the right one there"),
        (&["control01.ctl", "control02.ctl"], 32768, "put a good copy of the control file there"),
    ] {
        for name in names {
            let mut content = std::fs::read(db(name)).expect("it is read");
            content[..bytes].fill(0);
            std::fs::write(db(name), content).expect("it is written");
        }
        refused_with(begin);
    }
}

/// What can be done about it is said.
#[test]
fn what_cannot_be_chosen_is_refused_with_what_can() {
    let folder =
        Folder::filled("bad-chosen", &["--megabytes", "1", "--set", "doublewrite_slots=128"]);
    let run = ["load", "run", "db", "--seconds", "1", "--sessions", "1"];
    let with =
        |more: &[&str]| folder.command(&[&run[..], more].concat()).output().expect("it runs");
    let said = text(&with(&["--set", "db_working_setz=1"]).stderr);
    assert!(said.contains("'forebay parameters' lists"), "{said}");
    assert!(said.ends_with("did you mean db_working_sets?\n"), "{said}");
    let said = text(&with(&["--set", "db_writer_batch=256"]).stderr);
    assert!(said.contains("choose a smaller db_writer_batch"), "{said}");
    let said = text(&with(&["--alter", "0:log_writes_in_flight=8"]).stderr)
        + &text(&with(&["--alter", "0:log_writes_in_flight=8"]).stdout);
    assert!(said.contains("--set log_writes_in_flight=8"), "{said}");
    // A session is called by its whole number.
    let output = with(&["--first-session", "100000005"]);
    let said = text(&output.stdout);
    assert!(output.status.success() && !said.contains("session5"), "{said}");
}

/// A directory that isn't there, or in which there is no database, isn't a damaged database.
#[test]
fn a_mistyped_directory_is_said_to_be_that() {
    let folder = Folder::new("bad-directory");
    for name in ["empty", "other"] {
        std::fs::create_dir(folder.0.join(name)).expect("made");
    }
    std::fs::write(folder.0.join("other/letter.txt"), b"Dear Ann").expect("written");
    std::fs::write(folder.0.join("file"), b"mine").expect("written");
    for command in [
        &["logs"][..],
        &["logs", "--change", "switch_log=next"],
        &["logs", "--change", "clear_log_group=1"],
        &["verify"],
        &["recover"],
        &["moved"],
        &["load", "run"],
        &["load", "audit"],
    ] {
        for (directory, begin) in [
            ("dbb", "forebay: there is no directory dbb; check the path"),
            ("file", "forebay: file is a file, and no directory; check the path"),
            ("empty", "forebay: there is no database in empty, which is empty; check the path"),
            ("other", "forebay: there is no database in other, because it has no control file"),
        ] {
            let said = folder.refused(&[command, &[directory]].concat());
            assert!(said.starts_with(begin), "{command:?}: {said}");
            let (is_there, create) = (directory == "other", format!("load create {directory}'"));
            assert_eq!(said.contains("restore the whole"), is_there, "{command:?}: {said}");
            assert_eq!(said.contains("remove other"), is_there, "{command:?}: {said}");
            let is_missing = !is_there && directory != "file";
            assert_eq!(said.contains(&create), is_missing, "{command:?}: {said}");
        }
    }
}
