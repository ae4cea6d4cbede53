//! `unsafe` has its rooms, and each block says why it is sound.
//!
//! Rooms that may not hold it forbid it in their root file, so that the compiler holds the rule
//! too; this check makes sure that the line stays there, and covers tests and benches, which are
//! crates of their own.

use super::Finding;
use crate::house;
use crate::rust_text::{line_at, words};
use crate::tree::SourceFile;

/// How far above an `unsafe` its reason may begin.
const REASON_LINES_MAX: usize = 12;

pub(crate) fn check(file: &SourceFile) -> Vec<Finding> {
    let code = &file.halves.code;
    let allowed = house::room(&file.krate).is_some_and(|(_, room)| room.holds_unsafe);
    let mut findings = Vec::new();
    let is_empty = code.trim().is_empty();
    if !allowed && file.is_root() && !is_empty && !code.contains("#![forbid(unsafe_code)]") {
        findings.push(Finding::new(&file.path, 1, "add `#![forbid(unsafe_code)]` below the essay"));
    }
    let comments: Vec<&str> = file.halves.comments.lines().collect();
    for at in words(code, "unsafe") {
        let line = line_at(code, at);
        if !allowed {
            let say = "`unsafe` is for the rooms `os` and `latch`: move it there, behind a safe \
                       function";
            findings.push(Finding::new(&file.path, line, say));
            continue;
        }
        let rest = code[at + "unsafe".len()..].trim_start();
        let above = &comments[line.saturating_sub(REASON_LINES_MAX)..line];
        let promises = rest.starts_with('{') || rest.starts_with("impl");
        if promises && !above.iter().any(|comment| comment.contains("SAFETY:")) {
            let say = "say above, in a `// SAFETY:` comment, which rule makes this sound";
            findings.push(Finding::new(&file.path, line, say));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(krate: &str, text: &str) -> Vec<Finding> {
        check(&SourceFile::new(krate, &format!("crates/{krate}/src/lib.rs"), text))
    }

    #[test]
    fn unsafe_outside_its_rooms_is_found_on_its_line() {
        let text = "#![forbid(unsafe_code)]\n// SAFETY: sure\nfn f() { unsafe { g() } }";
        let found = found("ids", text);
        assert_eq!((found.len(), found[0].line), (1, 3));
    }

    #[test]
    fn a_root_that_does_not_forbid_unsafe_is_found_unless_it_is_empty() {
        assert!(found("ids", "pub struct Scn;")[0].message.contains("forbid(unsafe_code)"));
        assert_eq!(found("ids", "//! An essay.\n"), []);
        assert_eq!(found("os", "pub struct Disk;"), []);
    }

    #[test]
    fn an_unsafe_block_or_impl_without_its_reason_is_found() {
        assert_eq!(found("os", "fn f() { unsafe { g() } }").len(), 1);
        assert_eq!(found("latch", "unsafe impl Sync for A {}").len(), 1);
        assert_eq!(found("os", "// SAFETY: one thread\nunsafe impl Sync for A {}"), []);
    }

    #[test]
    fn the_word_in_comments_strings_and_other_names_is_not_unsafe() {
        let text = "#![forbid(unsafe_code)]\n// unsafe\nconst A: &str = \"unsafe\";";
        assert_eq!(found("ids", text), []);
    }
}
