//! Gives the program the commit that it is built from: every row of the lab carries it.
//!
//! What isn't just a commit, built as a release is, has a hash behind that: figures of two programs
//! aren't put together (`forebay lab resume`).
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
const SOURCES: [&str; 5] = [
    "../..",
    "../../../Cargo.toml",
    "../../../Cargo.lock",
    "../../../rust-toolchain.toml",
    "../../../.cargo",
];

/// How the program is compiled, as far as the file of the workspace doesn't say it.
#[derive(Hash)]
struct Build {
    /// The folder that cargo builds in has the profile's name.
    profile: String,
    opt_level: String,
    /// Of the environment or a configuration file.
    flags: String,
}

impl Build {
    fn of_this() -> Build {
        let of = |name: &str| std::env::var(name).unwrap_or_default();
        // target/PROFILE/build/forebay-HASH/out
        let out = PathBuf::from(of("OUT_DIR"));
        let folder = out.ancestors().nth(3).and_then(Path::file_name);
        let profile = folder.unwrap_or_default().to_string_lossy().into_owned();
        Build { profile, opt_level: of("OPT_LEVEL"), flags: of("CARGO_ENCODED_RUSTFLAGS") }
    }

    /// What `cargo build --release` makes: Cargo.toml has this crate at level 1.
    fn is_usual(&self) -> bool {
        self.profile == "release" && self.opt_level == "1" && self.flags.is_empty()
    }
}

fn main() {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_string())
    };
    // A module may be used that nobody has added.
    let status = ["status", "--porcelain", "--untracked-files=normal", "--"];
    let status = [&status[..], &SOURCES].concat();
    let is_clean = git(&status).is_some_and(|changed| changed.is_empty());
    let build = Build::of_this();
    let commit = match git(&["rev-parse", "--short=12", "HEAD"]) {
        Some(commit) if is_clean && build.is_usual() => commit,
        Some(commit) if is_clean => format!("{commit} built otherwise {:016x}", hash(&build, &[])),
        Some(commit) => format!("{commit} with changes {:016x}", hash(&build, &SOURCES)),
        None => format!("unknown {:016x}", hash(&build, &SOURCES)),
    };
    println!("cargo::rustc-env=FOREBAY_COMMIT={commit}");
    // Without lines for the sources the script would run again only after a commit.
    SOURCES.iter().for_each(|path| println!("cargo::rerun-if-changed={path}"));
    for flags in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"] {
        println!("cargo::rerun-if-env-changed={flags}");
    }
    if let Some(directory) = git(&["rev-parse", "--absolute-git-dir"]) {
        println!("cargo::rerun-if-changed={directory}/HEAD");
        println!("cargo::rerun-if-changed={directory}/logs/HEAD");
    }
}

fn hash(build: &Build, sources: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    build.hash(&mut hasher);
    sources.iter().for_each(|path| add(Path::new(path), &mut hasher));
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
