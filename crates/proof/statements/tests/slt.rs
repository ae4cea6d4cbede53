//! Files of sqllogictest: ours, and the form of SQLite's corpus (rules RA1 to RA4).
#![forbid(unsafe_code)]
#![expect(clippy::disallowed_methods, reason = "it reads the files of the test from the real disk")]

use std::path::{Path, PathBuf};

use statements::bed::on_machine;
use statements::slt::{Style, Tally, run_text};

/// The folder of the tests.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn text_of(path: &str) -> String {
    let path = folder().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Runs a text as a file of this name on a database of its own.
fn run(name: &str, text: String, style: Style) -> Tally {
    let file = name.to_string();
    let ran = on_machine(1, move |database, _| run_text(database, &file, &text, style));
    ran.unwrap_or_else(|why| panic!("{name}: {why}"))
}

/// Fails unless all records of a file of ours pass, none of which is skipped.
fn passes(name: &str) {
    let path = format!("slt/{name}.slt");
    let tally = run(&path, text_of(&path), Style::Own);
    let faults: Vec<String> = tally.faults.iter().map(ToString::to_string).collect();
    assert_eq!(tally.failed, 0, "{path}: {tally}\n{}", faults.join("\n"));
    assert!(tally.passed >= 10 && tally.skipped == 0, "{path}: {tally}");
}

/// A test for each file.
macro_rules! files {
    ($($name:ident)+) => {
        const FILES: &[&str] = &[$(stringify!($name)),+];

        $(
            #[test]
            fn $name() {
                passes(stringify!($name));
            }
        )+
    };
}

files! {
    aggregates changes conflict definitions joins logic moments nulls numbers order plans ported
    refused series sets subqueries texts transactions types with
}

#[test]
fn every_file_is_run() {
    let listed = std::fs::read_dir(folder().join("slt")).expect("the folder is there");
    let mut found: Vec<String> = listed
        .map(|entry| entry.expect("it can be read").path())
        .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
        .collect();
    found.sort_unstable();
    assert_eq!(found, FILES);
}

/// Values, hashes, sorts and conditions of SQLite's corpus are understood, and what is refused by
/// design is counted apart (RA3).
#[test]
fn the_form_of_sqlites_corpus_is_read() {
    let tally = run("corpus/form.test", text_of("corpus/form.test"), Style::Corpus);
    assert_eq!(tally.faults, []);
    assert_eq!((tally.passed, tally.failed, tally.skipped), (14, 0, 2), "{tally}");
    assert_eq!(tally.out_of_scope.values().sum::<u64>(), 2, "{tally}");
}

/// Each record is wrong in its own way, and each is found (RA2).
#[test]
fn a_wrong_answer_is_found_whatever_is_wrong() {
    let own = "\
        query I\nselect 1\n----\n2\n\n\
        query I\nselect 1\n----\n1\n1\n\n\
        query I\nselect 1\n----\n\n\
        query T\nselect 1\n----\n1\n\n\
        query II\nselect 1\n----\n1\n\n\
        query I nosort\nselect g from generate_series(1, 2) g order by g\n----\n2\n1\n\n\
        query error (22012)\nselect 1\n\n\
        query error (22012)\nselect nothing\n\n\
        statement ok\nselect nothing\n\n\
        statement count 1\ncreate table t (a integer)\n\n\
        query T\nselect ''\n----\nNULL\n\n";
    let tally = run("wrong.slt", own.to_string(), Style::Own);
    assert_eq!((tally.passed, tally.failed), (0, 11), "{tally}: {:?}", tally.faults);
    let corpus = "\
        hash-threshold 2\n\n\
        query I nosort\nSELECT 1\n----\n0\n\n\
        query R nosort\nSELECT 1.2345\n----\n1.235\n\n\
        query II nosort\nSELECT 1\n----\n1\n\n\
        query III nosort\nSELECT 1, 2, 3\n----\n3 values hashing to 0\n\n\
        query I rowsort\nSELECT nothing\n----\n1\n\n";
    let tally = run("wrong.test", corpus.to_string(), Style::Corpus);
    // 1.2345 is a little less than that as a double: 1.234.
    assert_eq!((tally.passed, tally.failed), (0, 5), "{tally}: {:?}", tally.faults);
}

/// What is no record of sqllogictest is told, with its place.
#[test]
fn what_cannot_be_read_is_a_fault() {
    let tally = run("bad.slt", "query\nwhat is this\n\nnonsense here\n".into(), Style::Own);
    assert_eq!((tally.passed, tally.failed), (0, 1));
    assert!(tally.faults[0].what.contains("nonsense"), "{:?}", tally.faults);
}
