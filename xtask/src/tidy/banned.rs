//! Words and marks that mean "not finished" or "don't look", and files without an essay.
//!
//! Strings don't count, so that a message may speak of them. A crate that may not touch the real
//! world may not switch off the lints that say so either, except in its tests.

use super::Finding;
use crate::house;
use crate::rust_text::{attributes, line_at, words};
use crate::tree::SourceFile;

/// Calls that stand for code which isn't there, or which was never meant to stay.
const MACROS: [&str; 3] = ["todo", "unimplemented", "dbg"];

/// The word for work left undone, spelled so that this file doesn't contain it in a comment.
const UNDONE: &str = "FIXME";

/// The lints that keep the world outside.
const DOOR_LINTS: [&str; 2] = ["disallowed_methods", "disallowed_types"];

/// Names that only some crates may use, and why.
const RESERVED: [(&str, &[&str], &str); 1] = [(
    "bytes_for_apply",
    // `xtask` races the cache without an engine around it.
    &["cache", "change", "bench"],
    "block bytes are changed by the `apply` of a layer only (joint J4): build a group",
)];

pub(crate) fn check(file: &SourceFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut find = |line, say: String| findings.push(Finding::new(&file.path, line, say));
    let code = &file.halves.code;
    for name in MACROS {
        for at in words(code, name) {
            if code[at + name.len()..].starts_with('!') {
                find(line_at(code, at), format!("`{name}!` must not be committed: finish it"));
            }
        }
    }
    for at in words(&file.halves.comments, UNDONE) {
        let line = line_at(&file.halves.comments, at);
        find(line, format!("{UNDONE}: do it now, or open an issue and say nothing here"));
    }
    for (at, attribute) in attributes(code) {
        if let Some(say) = attribute_refusal(attribute) {
            find(line_at(code, at), say);
        }
    }
    // A build script runs before there is a program.
    let opens_world = house::room(&file.krate).is_some_and(|(_, room)| room.opens_world)
        || file.path.ends_with("/build.rs");
    let outside_tests = file.code_outside_tests();
    for (at, attribute) in attributes(&outside_tests) {
        if !opens_world && DOOR_LINTS.iter().any(|lint| words(attribute, lint).next().is_some()) {
            let say = "only the rooms that may touch the real world switch this lint off: take \
                       what you need from `os`";
            find(line_at(&outside_tests, at), say.to_string());
        }
    }
    for (name, crates, say) in RESERVED {
        if !crates.contains(&file.krate.as_str()) {
            for at in words(code, name) {
                find(line_at(code, at), say.to_string());
            }
        }
    }
    let is_source = file.path.contains("/src/");
    if is_source && !file.text.starts_with("//!") {
        find(
            1,
            "begin the file with a `//!` essay: what it is, its invariants, who calls it".into(),
        );
    }
    findings
}

fn attribute_refusal(attribute: &str) -> Option<String> {
    let inside = attribute.trim_start_matches(['#', '!', '[', ' ', '\n']);
    if words(inside, "ignore").next() == Some(0) {
        return Some("an ignored test proves nothing: mend it or remove it".to_string());
    }
    let is_allow = words(inside, "allow").next() == Some(0);
    (is_allow && words(inside, "reason").next().is_none())
        .then(|| "write `#[expect(lint, reason = \"...\")]` instead of a bare allow".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_bytes_are_out_of_reach_of_all_but_their_crates() {
        let text = "//! An essay.\nfn f() { block.bytes_for_apply(); }";
        let of =
            |krate: &str| check(&SourceFile::new(krate, &format!("crates/{krate}/src/a.rs"), text));
        assert_eq!((of("access").len(), of("access")[0].line), (1, 2));
        assert!(of("change").is_empty());
    }

    fn found(krate: &str, text: &str) -> Vec<Finding> {
        let text = format!("//! An essay.\n{text}");
        check(&SourceFile::new(krate, &format!("crates/{krate}/src/a.rs"), &text))
    }

    #[test]
    fn unfinished_code_is_found_on_its_line() {
        for call in MACROS {
            let found = found("ids", &format!("fn f() {{\n    {call}!()\n}}"));
            assert_eq!((found.len(), found[0].line), (1, 3));
        }
        assert_eq!(found("ids", &format!("// {UNDONE}: later")).len(), 1);
    }

    #[test]
    fn ignored_tests_are_found_with_or_without_a_reason() {
        assert_eq!(found("ids", "#[ignore]\nfn f() {}").len(), 1);
        assert_eq!(found("ids", "#[ignore = \"slow\"]\nfn f() {}").len(), 1);
    }

    #[test]
    fn an_allow_needs_a_reason_also_over_several_lines() {
        assert_eq!(found("ids", "#![allow(dead_code)]").len(), 1);
        assert_eq!(found("ids", "#[allow(\n    dead_code,\n    reason = \"x\"\n)]\nfn f() {}"), []);
    }

    #[test]
    fn the_door_lints_stay_on_outside_the_rooms_that_touch_the_world() {
        let text = "#![expect(clippy::disallowed_methods, reason = \"I like clocks\")]";
        assert_eq!(found("cache", text).len(), 1);
        assert_eq!(found("os", text), []);
        assert_eq!(found("ids", &format!("#[cfg(test)]\nmod tests {{ {text} }}")), []);
    }

    #[test]
    fn a_file_without_an_essay_is_found() {
        assert_eq!(
            check(&SourceFile::new("ids", "crates/ground/ids/src/a.rs", "fn f() {}\n")).len(),
            1
        );
    }

    #[test]
    fn the_words_in_strings_and_names_are_harmless() {
        assert_eq!(found("ids", "fn todo() -> &'static str { \"todo!()\" }"), []);
    }
}
