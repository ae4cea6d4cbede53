//! The verb `docs`: writes the documents that are generated from code.
//!
//! A fact has one home; a document that repeats it is generated from there, and `tidy` refuses it
//! when it is stale. A generated document is one line of [`DOCUMENTS`].

use std::fs;
use std::path::Path;

use crate::tidy::Finding;
use crate::{Outcome, house, tree};

/// How much of a file is generated.
enum Part {
    /// All of it; the generator says so in the text.
    Whole,
    /// The lines between `<!-- generated: NAME -->` and `<!-- end of NAME -->`.
    Section(&'static str),
}

/// A generated document: where it is, how much of it, and what generates it.
struct Document(&'static str, Part, fn() -> String);

const DOCUMENTS: &[Document] = &[
    Document("docs/ARCHITECTURE.md", Part::Section("the house table"), house::markdown),
    Document("docs/COSTS.md", Part::Whole, sim::model::costs_markdown),
    Document("docs/FORMAT.md", Part::Whole, format::markdown),
    Document("docs/PARAMETERS.md", Part::Whole, instance::markdown),
    Document("docs/WAITS.md", Part::Whole, waits::markdown),
];

/// Writes every generated document that is stale, and says which.
pub(crate) fn run(root: &Path) -> Outcome {
    for document in DOCUMENTS {
        let path = root.join(document.0);
        let old = fs::read_to_string(&path).ok();
        let new = fresh(document, old.as_deref())?;
        if old.as_deref() != Some(&new) {
            fs::write(&path, new).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
            println!("docs: wrote {}", document.0);
        }
    }
    println!("docs: {} documents are fresh", DOCUMENTS.len());
    Ok(())
}

/// The documents that aren't what their generator says now.
pub(crate) fn stale(root: &Path) -> Vec<Finding> {
    let judge = |document: &Document| {
        let old = tree::read(&root.join(document.0)).ok();
        verdict(document, old.as_deref()).map(|say| Finding::new(document.0, 0, say))
    };
    DOCUMENTS.iter().filter_map(judge).collect()
}

/// Why a document isn't fresh; nothing if it is.
fn verdict(document: &Document, old: Option<&str>) -> Option<String> {
    match fresh(document, old) {
        Ok(new) if Some(new.as_str()) == old => None,
        Ok(_) => Some("is stale: run `cargo xtask docs`".to_string()),
        Err(why) => Some(why),
    }
}

/// What the document must contain, given what it contains now.
fn fresh(Document(path, part, generate): &Document, old: Option<&str>) -> Result<String, String> {
    let body = generate();
    let body = body.trim();
    let name = match part {
        Part::Whole => return Ok(format!("{body}\n")),
        Part::Section(name) => name,
    };
    let (open, close) = (format!("<!-- generated: {name} -->"), format!("<!-- end of {name} -->"));
    let old = old.unwrap_or_default();
    let sides = old.split_once(&open).and_then(|(before, rest)| {
        rest.split_once(&close).map(|(_, after)| format!("{before}{open}\n{body}\n{close}{after}"))
    });
    sides.ok_or_else(|| format!("{path} needs the lines `{open}` and `{close}`, in that order"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> String {
        "| new |\n".to_string()
    }

    const SECTION: Document = Document("a.md", Part::Section("t"), table);

    #[test]
    fn a_section_is_replaced_and_its_surroundings_stay() {
        let old = "Before\n<!-- generated: t -->\n| old |\n<!-- end of t -->\nAfter\n";
        let new = fresh(&SECTION, Some(old)).expect("both marks are there");
        assert_eq!(new, old.replace("old", "new"));
        assert_eq!(fresh(&SECTION, Some(&new)), Ok(new.clone()));
    }

    #[test]
    fn a_stale_or_missing_document_is_told_and_a_fresh_one_is_not() {
        let whole = Document("b.md", Part::Whole, table);
        let new = fresh(&whole, None).expect("needs nothing");
        assert_eq!(verdict(&whole, Some(&new)), None);
        let stale = verdict(&whole, Some(&new.replace("new", "old"))).expect("it is stale");
        assert!(stale.contains("cargo xtask docs"));
        assert!(verdict(&whole, None).is_some());
    }

    #[test]
    fn a_document_without_the_marks_of_its_section_is_refused() {
        let why = fresh(&SECTION, Some("nothing here")).expect_err("no marks");
        assert!(why.contains("<!-- generated: t -->"));
    }
}
