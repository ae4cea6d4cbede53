//! Each failpoint is asked for by the engine, and noticed by the tests that it names.
//!
//! The list is [`Failpoint::ALL`]; a failpoint without a test doesn't compile. A test is named by
//! its file's path and its function, is marked as a test, and has the failpoint in its body.
//!
//! Rule stop/K6.

use stop::Failpoint;

use super::Finding;
use crate::rust_text::{item_end, words};
use crate::tree::{SourceFile, Tree};

/// Where failpoints are declared.
const HOME: &str = "crates/ground/stop/src/failpoint.rs";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let listed = Failpoint::ALL.iter().map(|point| (format!("{point:?}"), point.tests()));
    listed.flat_map(|(name, tests)| judge(&name, tests, &tree.files)).collect()
}

/// What is wrong with one failpoint.
fn judge(name: &str, tests: &[&str], files: &[SourceFile]) -> Vec<Finding> {
    let find = |message: String| Finding::new(HOME, 0, message);
    let mut findings = Vec::new();
    let asks = |file: &SourceFile| file.path != HOME && has(&file.code_outside_tests(), name);
    if !files.iter().any(asks) {
        findings.push(find(format!("no code asks for `{name}`: ask for it, or take it out")));
    }
    for test in tests {
        let body = test.split_once(' ').and_then(|(path, function)| {
            let file = files.iter().find(|file| file.path == path)?;
            body_of_test(&file.halves.code, function)
        });
        match body {
            None => findings.push(find(format!("`{name}` names a test that isn't there: {test}"))),
            Some(body) if !has(body, name) => {
                findings.push(find(format!("`{name}` isn't switched on by its test {test}")));
            }
            Some(_) => {}
        }
    }
    findings
}

/// Whether the code names the failpoint.
fn has(code: &str, name: &str) -> bool {
    words(code, name).any(|at| code[..at].ends_with("Failpoint::"))
}

/// The function of this name, if it is a test.
fn body_of_test<'c>(code: &'c str, function: &str) -> Option<&'c str> {
    let at = words(code, function).find(|at| code[..*at].ends_with("fn "))?;
    let start = at - "fn ".len();
    let is_test = code[..start].trim_end().ends_with("#[test]");
    is_test.then(|| &code[start..item_end(code, start)])
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST: &str = "crates/storage/redo/tests/a.rs is_noticed";

    fn found(code: &str, test: &str) -> Vec<String> {
        let files = [
            SourceFile::new("redo", "crates/storage/redo/src/a.rs", code),
            SourceFile::new("redo", "crates/storage/redo/tests/a.rs", test),
        ];
        judge("Skip", &[TEST], &files).into_iter().map(|finding| finding.message).collect()
    }

    const CODE: &str = "fn f() { points.has(Failpoint::Skip) }";
    const NOTICES: &str = "#[test]\nfn is_noticed() { run(Failpoint::Skip); }";

    #[test]
    fn a_failpoint_that_is_asked_for_and_noticed_is_in_order() {
        assert_eq!(found(CODE, NOTICES), [""; 0]);
    }

    #[test]
    fn a_failpoint_that_no_code_asks_for_is_found() {
        let say = "no code asks for `Skip`: ask for it, or take it out";
        assert_eq!(found("fn f() { points.has(Failpoint::SkipNot) }", NOTICES), [say]);
        let only_in_tests = "#[cfg(test)]\nmod tests { fn f() { Failpoint::Skip } }";
        assert_eq!(found(only_in_tests, NOTICES), [say]);
    }

    #[test]
    fn a_test_that_is_not_there_is_found() {
        let say = format!("`Skip` names a test that isn't there: {TEST}");
        for text in [
            "#[test]\nfn is_noticed_too() { run(Failpoint::Skip); }",
            "fn is_noticed() { run(Failpoint::Skip); }",
            "// #[test] fn is_noticed() { run(Failpoint::Skip); }",
        ] {
            assert_eq!(found(CODE, text), [say.as_str()]);
        }
    }

    #[test]
    fn a_test_that_switches_on_another_failpoint_is_found() {
        let say = format!("`Skip` isn't switched on by its test {TEST}");
        let other = "#[test]\nfn is_noticed() { run(Failpoint::SkipNot); }\n\
                     fn f() { Failpoint::Skip }";
        assert_eq!(found(CODE, other), [say]);
    }
}
