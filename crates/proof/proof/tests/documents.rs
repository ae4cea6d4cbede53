//! The documents that are generated from the engine's code say what the code says.
//!
//! `cargo xtask docs` has this test write them, by the environment's `FOREBAY_WRITE_DOCUMENTS`.
#![expect(clippy::disallowed_methods, reason = "it reads and writes the project's documents")]

use std::path::Path;

/// A generated document: where it is, and what generates it.
type Document = (&'static str, fn() -> String);

const DOCUMENTS: [Document; 5] = [
    ("docs/COSTS.md", sim::model::costs_markdown),
    ("docs/FORMAT.md", format::markdown),
    ("docs/PARAMETERS.md", instance::markdown),
    ("docs/VIEWS.md", views::markdown),
    ("docs/WAITS.md", waits::markdown),
];

#[test]
fn documents_say_what_the_code_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).expect("the workspace");
    let writes = std::env::var_os("FOREBAY_WRITE_DOCUMENTS").is_some();
    let mut stale = Vec::new();
    for (path, generate) in DOCUMENTS {
        let new = format!("{}\n", generate().trim());
        let at = root.join(path);
        if std::fs::read_to_string(&at).is_ok_and(|old| old == new) {
            continue;
        }
        if writes {
            std::fs::write(&at, new).expect("the document can be written");
            println!("docs: wrote {path}");
        } else {
            stale.push(path);
        }
    }
    assert!(stale.is_empty(), "stale, run `cargo xtask docs`: {stale:?}");
}
