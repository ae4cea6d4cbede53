//! Gives the program the commit that it is built from: every row of the lab carries it.
//!
//! What isn't just a commit has a hash of its sources behind that: figures of two programs aren't
//! put together (`forebay lab resume`).
#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a build script runs before there is a program"
)]

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the program is compiled from.
const SOURCES: [&str; 4] =
    ["../..", "../../../Cargo.toml", "../../../Cargo.lock", "../../../rust-toolchain.toml"];

fn main() {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_string())
    };
    let status = [&["status", "--porcelain", "--untracked-files=no", "--"][..], &SOURCES].concat();
    let is_clean = git(&status).is_some_and(|changed| changed.is_empty());
    let commit = match git(&["rev-parse", "--short=12", "HEAD"]) {
        Some(commit) if is_clean => commit,
        Some(commit) => format!("{commit} with changes {:016x}", hash_of_sources()),
        None => format!("unknown {:016x}", hash_of_sources()),
    };
    println!("cargo::rustc-env=FOREBAY_COMMIT={commit}");
    // Without lines for the sources the script would run again only after a commit.
    SOURCES.iter().for_each(|path| println!("cargo::rerun-if-changed={path}"));
    if let Some(directory) = git(&["rev-parse", "--absolute-git-dir"]) {
        println!("cargo::rerun-if-changed={directory}/HEAD");
        println!("cargo::rerun-if-changed={directory}/logs/HEAD");
    }
}

fn hash_of_sources() -> u64 {
    let mut hasher = DefaultHasher::new();
    SOURCES.iter().for_each(|path| add(Path::new(path), &mut hasher));
    hasher.finish()
}

/// Adds a file, or all files of a folder in the order of their names.
fn add(path: &Path, hasher: &mut DefaultHasher) {
    match std::fs::read_dir(path) {
        Ok(entries) => {
            let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
            paths.sort();
            paths.iter().for_each(|path| add(path, hasher));
        }
        Err(_) => (path, std::fs::read(path).unwrap_or_default()).hash(hasher),
    }
}
