//! Gives the program the commit that it is built from: every race carries it.
#![forbid(unsafe_code)]
#![expect(clippy::disallowed_types, reason = "a build script runs before there is a program")]

use std::process::Command;

fn main() {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_string())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).map(|commit| {
        let changed = git(&["status", "--porcelain", "--untracked-files=no"]);
        match changed.is_some_and(|changed| !changed.is_empty()) {
            true => format!("{commit} with changes"),
            false => commit,
        }
    });
    println!("cargo::rustc-env=FOREBAY_COMMIT={}", commit.unwrap_or_else(|| "unknown".into()));
    // Without a line for the sources the script would run again only after a commit.
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=../crates");
    if let Some(directory) = git(&["rev-parse", "--absolute-git-dir"]) {
        println!("cargo::rerun-if-changed={directory}/HEAD");
        println!("cargo::rerun-if-changed={directory}/logs/HEAD");
    }
}
