//! The verb `tidy`: holds the tree against the rules of the house, and changes nothing.
//!
//! Each check is one file and one function from the tree to [`Finding`]s, so that its tests can
//! hand it a small tree that is wrong on purpose. A finding says where, what, and what to do.
//!
//!   layers      arrows between crates point down; every crate has a room, in its floor's folder
//!   manifests   lints are inherited; every foreign crate has its reason written down
//!   foreign     foreign crates have a licence that is allowed, and come from where they may
//!   unsafety    `unsafe` has its rooms, and each block its reason
//!   citations   a rule that a comment or a document cites exists, is declared once, and is short
//!   sizes       functions, files and lines stay short; exceptions only shrink
//!   signatures  arguments have names: no parameter is an anonymous tuple
//!   failpoints  each is asked for, and its tests exist and switch it on
//!   events      each wait event is raised by code
//!   banned      words and marks that mean "not finished" or "don't look"
//!
//! Then the generated table of rooms is compared (`docs`) and clippy's refusals shown (`refusals`).

use std::fmt;
use std::path::Path;

use xtask::workspace;

use crate::rules::Rules;
use crate::tree::{self, Tree};
use crate::{Outcome, docs, refusals};

mod banned;
mod citations;
mod events;
mod failpoints;
mod foreign;
mod layers;
mod manifests;
pub(crate) mod signatures;
pub(crate) mod sizes;
mod unsafety;

/// One thing that is not as the house wants it.
#[derive(Debug, PartialEq)]
pub(crate) struct Finding {
    pub(crate) path: String,
    /// Counted from 1; 0 when the finding is about the file as a whole.
    pub(crate) line: usize,
    /// What is wrong, and what to do.
    pub(crate) message: String,
}

impl Finding {
    pub(crate) fn new(path: &str, line: usize, message: impl Into<String>) -> Finding {
        Finding { path: path.to_string(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}

/// Runs every check and prints what they found.
pub(crate) fn run(root: &Path) -> Outcome {
    let tree = Tree::read(root)?;
    let text = |path: &str| tree::read(&root.join(path));
    let held = sizes::held(&text("xtask/ratchet.toml")?)?;
    let reasons = text("docs/decisions/0002-dependencies.md")?;

    let mut findings = layers::check(&tree.members);
    findings.extend(manifests::check(&tree.members, &text("Cargo.toml")?, &reasons)?);
    let allowed = foreign::Allowed::read(&text("deny.toml")?)?;
    let built = workspace::built_of(root, &allowed.graph.targets, allowed.graph.all_features)?;
    findings.extend(foreign::check(&built, &allowed)?);
    let rules = Rules::read(&tree);
    findings.extend(citations::check(&tree, &rules));
    findings.extend(failpoints::check(&tree));
    findings.extend(events::check(&tree));
    findings.extend(sizes::check(&tree.files, &held));
    for file in &tree.files {
        findings.extend(unsafety::check(file));
        findings.extend(banned::check(file));
        findings.extend(signatures::check(file));
    }
    findings.extend(docs::stale(root, &tree, &rules));
    findings.extend(rules.findings);
    for finding in &findings {
        println!("{finding}");
    }
    let (crates, files) = (tree.members.len(), tree.files.len());
    println!("tidy: {crates} crates, {files} files, {} findings", findings.len());
    let refused = refusals::run(root);
    match findings.len() {
        0 => refused,
        n => Err(format!("tidy: {n} findings, listed above")),
    }
}
