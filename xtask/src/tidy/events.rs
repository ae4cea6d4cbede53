//! Each wait event can happen: code outside of crate `waits` names it.
//!
//! An event that no code raises would stand in views and documents as if it could be waited for.
//! The list is read from the source of crate `waits`, as text.

use super::Finding;
use crate::rust_text::words;
use crate::tree::Tree;

/// Where wait events are declared.
const HOME: &str = "crates/ground/waits/src/event.rs";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let home = tree.files.iter().find(|file| file.path == HOME);
    let listed = home.map(|file| listed(&file.text)).unwrap_or_default();
    if listed.is_empty() {
        return vec![Finding::new(
            HOME,
            0,
            "no wait event is read from its list: tidy looks there",
        )];
    }
    let others = tree.files.iter().filter(|file| file.krate != "waits");
    let code: Vec<String> = others.map(|file| file.code_outside_tests()).collect();
    let is_named = |event: &String| code.iter().any(|code| words(code, event).next().is_some());
    let unnamed = listed.into_iter().filter(|(_, event)| !is_named(event));
    let say = |event| format!("no code raises `{event}`: raise it, or take it off the list");
    unnamed.map(|(line, event)| Finding::new(HOME, line, say(event))).collect()
}

/// The events that the source declares, each with its line: a name, and then a text in quotes.
fn listed(source: &str) -> Vec<(usize, String)> {
    let lines = source.lines().enumerate().skip_while(|(_, line)| *line != "wait_events! {");
    let list = lines.take_while(|(_, line)| *line != "}");
    let event = |line: &str| {
        let (name, _) = line.strip_prefix("        ")?.split_once(" \"")?;
        name.starts_with(|c: char| c.is_ascii_uppercase()).then(|| name.to_string())
    };
    list.filter_map(|(i, line)| Some((i + 1, event(line)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::SourceFile;

    const LIST: &str = r#"use x;
wait_events! {
    UserIo {
        ReadOne "read one" ["p1"]
            "a block";
        ReadMany "read many"
            ["p1"] "blocks";
    }
}
"#;

    fn found(code: &str) -> Vec<usize> {
        let file = |krate, path, text| SourceFile::new(krate, path, text);
        let files = vec![file("waits", HOME, LIST), file("os", "crates/ground/os/src/a.rs", code)];
        let tree = Tree { members: Vec::new(), files, documents: Vec::new() };
        check(&tree).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn an_event_that_no_code_outside_tests_names_is_found_on_its_line() {
        assert_eq!(found("fn f() { a(WaitEvent::ReadOne); b(WaitEvent::ReadMany) }"), [0; 0]);
        assert_eq!(found("fn f() { a(WaitEvent::ReadMany) }"), [4]);
        let test =
            "fn f() { a(E::ReadOne) }\n#[cfg(test)]\nmod tests { fn g() { b(E::ReadMany) } }";
        assert_eq!(found(test), [6]);
    }

    #[test]
    fn a_list_that_cannot_be_read_is_a_finding() {
        let tree = Tree { members: Vec::new(), files: Vec::new(), documents: Vec::new() };
        assert_eq!(check(&tree).len(), 1);
    }
}
