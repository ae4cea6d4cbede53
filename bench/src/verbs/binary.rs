//! The binary that users run, as the verbs that watch it from outside need it.
//!
//! Callers: `kill`, `decides`.

use std::path::{Path, PathBuf};

use xtask::workspace;

/// Builds `forebay` for release, and says where it is.
pub(crate) fn built(root: &Path) -> Result<PathBuf, String> {
    let mut cargo = workspace::cargo();
    cargo.args(["build", "--release", "-p", "forebay"]).current_dir(root);
    let built = cargo.status().map_err(|error| format!("cannot start cargo: {error}"))?;
    if !built.success() {
        return Err("forebay can't be built".into());
    }
    Ok(workspace::target_directory(root)?.join("release/forebay"))
}
