//! The workspace's folders, and the cargo that builds it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The workspace's root folder.
pub fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map_or_else(|| here.clone(), Path::to_path_buf)
}

/// The name of the cargo that runs us.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Cargo's description of the workspace `root`: its members and its target folder.
///
/// # Errors
/// Where cargo can't be started, refuses, or says what isn't JSON.
pub fn metadata(root: &Path) -> Result<Value, String> {
    described(root, &["--no-deps"])
}

/// Cargo's description of all crates that the workspace `root` is built of on `platforms` (in
/// `resolve`), by default or with all features.
///
/// # Errors
/// As [`metadata`], and where a crate can't be had.
pub fn built_of(root: &Path, platforms: &[String], all_features: bool) -> Result<Value, String> {
    let filters = platforms.iter().flat_map(|one| ["--filter-platform", one.as_str()]);
    let features = all_features.then_some("--all-features");
    described(root, &filters.chain(features).collect::<Vec<_>>())
}

fn described(root: &Path, arguments: &[&str]) -> Result<Value, String> {
    let mut command = cargo();
    command.args(["metadata", "--format-version", "1"]).args(arguments).current_dir(root);
    let output = command.output().map_err(|error| format!("cannot start cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    serde_json::from_slice(&output.stdout).map_err(|e| format!("cannot read cargo metadata: {e}"))
}

/// Where cargo puts what it builds.
///
/// # Errors
/// As [`metadata`].
pub fn target_directory(root: &Path) -> Result<PathBuf, String> {
    let metadata = metadata(root)?;
    let path = metadata["target_directory"].as_str();
    path.map(PathBuf::from).ok_or_else(|| "cargo metadata names no target folder".to_string())
}
