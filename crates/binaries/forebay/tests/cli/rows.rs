//! Files of rows: what is in them goes on, whatever ended the program that wrote them.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use experiment::{Commits, parse_rows};

use crate::folder::{Folder, text};

/// Six runs of equals on a model, with their rows.
const SMALL: [&str; 10] = [
    "lab",
    "run",
    "x.toml",
    "--simulate",
    "two-core",
    "--seconds",
    "0.02",
    "--equals",
    "--rows",
    "rows",
];

/// A folder with the file of a small experiment.
fn with_experiment(name: &str) -> Folder {
    let folder = Folder::new(name);
    let file = "question = \"one or two?\"\n[factor]\ndb_writer_processes = [1, 2]\n\
                [runs]\nrounds = 2\nequals = 1\n[load]\ndata = \"1m\"\nsessions = 2\n";
    std::fs::write(folder.0.join("x.toml"), file).expect("written");
    folder
}

fn rows(folder: &Folder) -> String {
    std::fs::read_to_string(folder.0.join("rows")).expect("rows")
}

/// As a program leaves it that was killed when it had written so many lines.
fn killed_behind(lines: usize, folder: &Folder) {
    let all = rows(folder);
    assert!(all.lines().count() > lines, "{all}");
    let left: String = all.split_inclusive('\n').take(lines).collect();
    std::fs::write(folder.0.join("rows"), left).expect("written");
}

/// One that was resumed before its first row begins anew, by its own command line.
#[test]
fn an_experiment_that_was_resumed_can_be_resumed_again() {
    let folder = with_experiment("rows-again");
    folder.said(&[&SMALL[..], &["--seed", "5"]].concat());
    killed_behind(1, &folder);
    folder.said(&["lab", "resume", "rows"]);
    // Two lines say what was asked.
    killed_behind(5, &folder);
    let said = folder.said(&["lab", "resume", "rows"]);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let command = "forebay lab run x.toml --seconds 0.02 --equals --seed 5 --simulate two-core";
    assert!(said.contains(command), "{said}");
    let all = rows(&folder);
    let mut runs = parse_rows(&all).expect("rows").runs;
    assert_eq!(runs.len(), 6);
    // A figure of an engine that loses commits is no success.
    runs[0].commits = Some(Commits { acknowledged: 10, found: 7 });
    let asked = all.lines().next().expect("what was asked").to_owned() + "\n";
    let lost = asked + &runs.iter().map(|run| run.to_json_line() + "\n").collect::<String>();
    std::fs::write(folder.0.join("lost"), lost).expect("written");
    for verb in ["report", "resume"] {
        let output = folder.forebay(&["lab", verb, "lost"]);
        let (found, told) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(found.contains("3 LOST") && told.contains("3 commits LOST"), "{found} {told}");
    }
}

/// Else the rows behind a resume that asked for another difference can't be resumed without it.
#[test]
fn what_matters_once_more_is_what_was_asked_for_first() {
    let folder = with_experiment("rows-matters");
    folder.said(&SMALL);
    killed_behind(1, &folder);
    folder.said(&["lab", "resume", "rows", "--matters", "5"]);
    // Two lines say what was asked.
    killed_behind(5, &folder);
    let asked = parse_rows(&rows(&folder)).expect("rows").asked.expect("a line of it");
    assert_eq!(asked.rule.threshold, 0.02);
    folder.said(&["lab", "resume", "rows"]);
    assert_eq!(parse_rows(&rows(&folder)).expect("rows").runs.len(), 6);
}

/// The command line wins over the file, also where it gives a parameter of all settings.
#[test]
fn a_parameter_that_is_given_replaces_what_the_file_gives_all_settings() {
    let folder = with_experiment("rows-both");
    let file = std::fs::read_to_string(folder.0.join("x.toml")).expect("there");
    let file = file + "[both]\ndb_cache_size = \"16m\"\nlock_timeout = 7\n";
    std::fs::write(folder.0.join("x.toml"), file).expect("written");
    folder.said(&[&SMALL[..], &["--set", "DB_Cache_Size=4m"]].concat());
    let runs = parse_rows(&rows(&folder)).expect("rows").runs;
    let parameters = &runs[0].identity.parameters;
    assert_eq!((&*parameters["db_cache_size"], &*parameters["lock_timeout"]), ("4m", "7"));
}

/// What it wrote itself is written over when it goes on, and nothing else. Another difference may
/// matter: that is a question to the same rows.
#[test]
fn an_experiment_that_goes_on_has_the_options_of_one_that_begins() {
    let folder = with_experiment("rows-page");
    folder.said(&[&SMALL[..], &["--html", "page.html"]].concat());
    let read = |name: &str| std::fs::read_to_string(folder.0.join(name)).expect("a page");
    let whole = read("page.html");
    killed_behind(5, &folder);
    // As one that was stopped may have written it: longer than the one to come.
    std::fs::write(folder.0.join("page.html"), "x".repeat(99) + &whole).expect("written");
    std::fs::write(folder.0.join("mine.html"), "mine").expect("written");
    let refused = folder.refused(&["lab", "resume", "rows", "--html", "mine.html"]);
    assert!(refused.contains("only the page that this experiment wrote itself"), "{refused}");
    assert_eq!(read("mine.html"), "mine");
    let said = folder.said(&["lab", "resume", "rows", "--html", "page.html", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&said).expect("it is JSON");
    assert_eq!(json["runs"], 6, "{json}");
    assert_eq!(read("page.html"), whole);
    let said = folder.said(&["lab", "resume", "rows", "--matters", "5"]);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("--equals") && said.contains("--matters 5"), "{said}");
    folder.misused(&["lab", "resume", "rows", "--matters", "0"]);
}

/// Half of a page is none, and would be in the next one's way.
#[test]
fn a_page_without_room_leaves_nothing() {
    let folder = with_experiment("rows-no-room");
    folder.said(&SMALL);
    std::fs::create_dir(folder.0.join("small")).expect("made");
    let script = "mount -t tmpfs -o size=16k none small || exit 99\n\
                  \"$0\" lab report rows --html small/page.html\nstatus=$?\n\
                  echo -----\nls -A small\nexit $status";
    let mut command = std::process::Command::new("unshare");
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|of| of.uid() == 0);
    let unshare: &[&str] = if is_root { &["-m"] } else { &["-r", "-m"] };
    command.args(unshare).args(["sh", "-c", script, env!("CARGO_BIN_EXE_forebay")]);
    command.current_dir(&folder.0);
    let output = command.output().expect("unshare is installed");
    let (found, told) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("no space left on device"), "{told}");
    assert!(found.ends_with("-----\n"), "something is left: {found}");
}

/// Else a changed program has the commit of the one before, and their rows are put together.
#[test]
fn the_commit_is_looked_for_again_when_a_source_changes() {
    let told = Path::new(env!("OUT_DIR")).with_file_name("output");
    let told = std::fs::read_to_string(told).expect("what the build script printed");
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let real = |path: &str| package.join(path).canonicalize();
    let watched = told.lines().filter_map(|line| line.strip_prefix("cargo::rerun-if-changed="));
    let watched: Vec<PathBuf> = watched.filter_map(|path| real(path).ok()).collect();
    let root = ["../../../Cargo.lock", "../../../.cargo/config.toml"];
    for source in ["src/main.rs", "../../lab/lab/src/enough.rs", root[0], root[1]] {
        let source = real(source).expect("it is there");
        assert!(watched.iter().any(|path| source.starts_with(path)), "{source:?}: {told}");
    }
    let commit = told.lines().find_map(|line| line.strip_prefix("cargo::rustc-env="));
    let commit = commit.and_then(|of| of.strip_prefix("FOREBAY_COMMIT=")).expect("it is told");
    let words: Vec<&str> = commit.split(' ').collect();
    // A commit alone, or with a hash of what isn't in it.
    assert!(words.len() == 1 || words.last().is_some_and(|hash| hash.len() == 16), "{commit}");
    // A program with its assertions isn't the one that is measured.
    assert!(words.len() > 1 || !cfg!(debug_assertions), "{commit}");
}

/// Days of short blocks make files that are larger than memory may be.
#[test]
fn a_large_file_is_not_refused_for_its_size() {
    let folder = Folder::new("rows-large");
    let file = std::fs::File::create(folder.0.join("rows")).expect("made");
    // All of it a hole, so it is no file of rows either.
    file.set_len((1 << 30) + 1).expect("sparse");
    let refused = folder.misused(&["lab", "report", "rows"]);
    assert!(refused.contains("a line is over 16 MiB"), "{refused}");
}
