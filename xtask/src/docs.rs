//! The verb `docs`: writes the documents that are generated from code.
//!
//! A fact has one home; a document that repeats it is generated from there. The table of rooms in
//! `docs/ARCHITECTURE.md` and the ranges of rules that each `lib.rs` quotes ("Rules CB1 to CB9")
//! are made here, and `tidy` refuses them when they are stale. The documents that the engine's code
//! makes are written by the test `documents` of `proof`, which fails when one is stale; so this
//! program compiles without the engine.

use std::fs;
use std::path::Path;
use xtask::workspace;

use crate::rules::Rules;
use crate::tidy::Finding;
use crate::tree::{self, Tree};
use crate::{Outcome, house};

const ARCHITECTURE: &str = "docs/ARCHITECTURE.md";
const OPEN: &str = "<!-- generated: the house table -->";
const CLOSE: &str = "<!-- end of the house table -->";

/// Tells the test `documents` to write what is stale.
const WRITE: &str = "FOREBAY_WRITE_DOCUMENTS";

/// Writes every generated document that is stale.
pub(crate) fn run(root: &Path) -> Outcome {
    let path = root.join(ARCHITECTURE);
    let old = tree::read(&path)?;
    let new = with_table(&old, &house::markdown())?;
    if old != new {
        fs::write(&path, new).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
        println!("docs: wrote {ARCHITECTURE}");
    }
    let tree = Tree::read(root)?;
    for (path, fresh) in stale_ranges(&tree, &Rules::read(&tree)) {
        fs::write(root.join(path), fresh).map_err(|e| format!("cannot write {path}: {e}"))?;
        println!("docs: wrote {path}");
    }
    let wrote = workspace::cargo()
        .args(["test", "--quiet", "--package", "proof", "--test", "documents"])
        .args(["--", "--nocapture"])
        .env(WRITE, "1")
        .current_dir(root)
        .status()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    match wrote.success() {
        true => Ok(()),
        false => Err("docs: the documents of the engine couldn't be written; see above".into()),
    }
}

/// The roots of crates that quote a range of rules which isn't fresh, with what they should be.
fn stale_ranges<'t>(tree: &'t Tree, rules: &Rules) -> Vec<(&'t str, String)> {
    let roots = tree.files.iter().filter(|file| file.is_root());
    roots
        .map(|file| (file, rules.with_fresh_ranges(&file.text)))
        .filter(|(file, fresh)| file.text != *fresh)
        .map(|(file, fresh)| (file.path.as_str(), fresh))
        .collect()
}

/// What isn't fresh: the table of rooms, and the ranges of rules.
pub(crate) fn stale(root: &Path, tree: &Tree, rules: &Rules) -> Vec<Finding> {
    let say = "quotes a range of rules that has grown or shrunk: run `cargo xtask docs`";
    let ranges = stale_ranges(tree, rules).into_iter().map(|(path, _)| Finding::new(path, 0, say));
    ranges.chain(stale_table(root)).collect()
}

/// Why the table of rooms isn't fresh; nothing if it is.
fn stale_table(root: &Path) -> Option<Finding> {
    let say = match tree::read(&root.join(ARCHITECTURE)) {
        Err(why) => why,
        Ok(old) => match with_table(&old, &house::markdown()) {
            Err(why) => why,
            Ok(new) if new == old => return None,
            Ok(_) => "is stale: run `cargo xtask docs`".to_string(),
        },
    };
    Some(Finding::new(ARCHITECTURE, 0, say))
}

/// The text with `table` between the two marks.
fn with_table(old: &str, table: &str) -> Result<String, String> {
    let table = table.trim();
    let sides = old.split_once(OPEN).and_then(|(before, rest)| {
        rest.split_once(CLOSE).map(|(_, after)| format!("{before}{OPEN}\n{table}\n{CLOSE}{after}"))
    });
    sides.ok_or_else(|| format!("{ARCHITECTURE} needs the lines `{OPEN}` and `{CLOSE}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_replaced_and_its_surroundings_stay() {
        let old = format!("Before\n{OPEN}\n| old |\n{CLOSE}\nAfter\n");
        let new = with_table(&old, "| new |\n").expect("both marks are there");
        assert_eq!(new, old.replace("old", "new"));
        assert_eq!(with_table(&new, "| new |\n"), Ok(new.clone()));
    }

    #[test]
    fn a_document_without_the_marks_is_refused() {
        let why = with_table("nothing here", "| new |").expect_err("no marks");
        assert!(why.contains(OPEN));
    }
}
