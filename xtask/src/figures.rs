//! The verb `figures`: how large the house is, in numbers that show whether it gets simpler.
//!
//! Code lines are lines with code on them, outside of tests and of comments. A public item is one
//! that another crate may name, if its modules let it.
//!
//! Callers: people, before and after a change of the house.

use std::collections::BTreeSet;
use std::path::Path;

use crate::Outcome;
use crate::rules::Rules;
use crate::rust_text::{functions, words};
use crate::tidy::signatures::tuple_parameters;
use crate::tree::{SourceFile, Tree};

/// What may be public.
const ITEMS: [&str; 8] = ["fn", "struct", "enum", "trait", "const", "type", "mod", "use"];

pub(crate) fn run(root: &Path) -> Outcome {
    let tree = Tree::read(root)?;
    let code: Vec<String> = tree.files.iter().map(SourceFile::code_outside_tests).collect();
    let sum = |of: &dyn Fn(&String) -> usize| code.iter().map(of).sum::<usize>();
    let all_lines: usize = tree.files.iter().map(|file| lines_of(&file.halves.code)).sum();
    let source_lines = sum(&|code| lines_of(code));
    let tuples: Vec<_> = code.iter().flat_map(|code| tuple_parameters(code)).collect();
    let arrows = tree.members.iter().flat_map(|m| &m.arrows).filter(|arrow| !arrow.is_dev);
    let rules: Vec<usize> = Rules::read(&tree).all().map(|rule| rule.lines).collect();
    let readmes: usize =
        tree.documents.iter().filter(|d| d.krate.is_some()).map(|d| d.text.lines().count()).sum();
    let folders: BTreeSet<&str> =
        tree.members.iter().filter_map(|m| m.folder.rsplit_once('/').map(|(f, _)| f)).collect();
    let mean = rules.iter().sum::<usize>() as f64 / rules.len().max(1) as f64;
    for (what, figure) in [
        ("crates", tree.members.len().to_string()),
        ("floors (folders of crates)", folders.len().to_string()),
        ("arrows between crates", arrows.count().to_string()),
        ("source lines (code, without tests)", source_lines.to_string()),
        ("test lines (code)", (all_lines - source_lines).to_string()),
        ("functions", sum(&|code| functions(code).len()).to_string()),
        ("parameters that are tuples", tuples.len().to_string()),
        (
            "of which of more than two",
            tuples.iter().filter(|tuple| tuple.elements > 2).count().to_string(),
        ),
        ("public items", sum(&|code| public_items(code)).to_string()),
        ("rules", rules.len().to_string()),
        ("lines of a rule, mean", format!("{mean:.1}")),
        ("rules of more than four lines", rules.iter().filter(|n| **n > 4).count().to_string()),
        ("lines of READMEs", readmes.to_string()),
    ] {
        println!("{figure:>8}  {what}");
    }
    Ok(())
}

/// Lines with something on them.
fn lines_of(code: &str) -> usize {
    code.lines().filter(|line| !line.trim().is_empty()).count()
}

/// Items that are `pub` without a restriction, re-exports included.
fn public_items(code: &str) -> usize {
    words(code, "pub")
        .filter(|at| {
            let rest = code[at + 3..].trim_start();
            let word = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            ITEMS.contains(&word)
        })
        .count()
}
