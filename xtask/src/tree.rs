//! The workspace as `tidy` reads it: crates, their source files and manifests, and the documents.
//!
//! Left out: `target`, and everything under a `fixtures` folder, which is wrong on purpose.
//!
//! Callers: `tidy`, `docs`; in tests, [`SourceFile::new`] makes a file out of a string.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use xtask::workspace;

use crate::rust_text::{self, Halves};

/// One Rust file.
pub(crate) struct SourceFile {
    /// The crate it belongs to.
    pub(crate) krate: String,
    /// Its path from the workspace root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) halves: Halves,
}

impl SourceFile {
    pub(crate) fn new(krate: &str, path: &str, text: &str) -> SourceFile {
        SourceFile {
            krate: krate.to_string(),
            path: path.to_string(),
            text: text.to_string(),
            halves: rust_text::split(text),
        }
    }

    /// Whether the whole file is test code.
    pub(crate) fn is_test(&self) -> bool {
        let in_folder = self.path.split('/').any(|part| matches!(part, "tests" | "benches"));
        in_folder || self.path.ends_with("/tests.rs")
    }

    /// Whether the file is the root of a library or a binary.
    pub(crate) fn is_root(&self) -> bool {
        self.path.ends_with("/src/lib.rs")
            || self.path.ends_with("/src/main.rs")
            || self.path.contains("/src/bin/")
    }

    /// Its code with the items under `#[cfg(test)]` blanked; nothing if all of it is test code.
    pub(crate) fn code_outside_tests(&self) -> String {
        if self.is_test() {
            return String::new();
        }
        rust_text::without_tests(&self.halves.code)
    }
}

/// A crate of the workspace, from its manifest.
pub(crate) struct Member {
    pub(crate) name: String,
    /// The folder, from the workspace root, with `/`.
    pub(crate) folder: String,
    pub(crate) manifest: String,
    pub(crate) arrows: Vec<Arrow>,
}

/// One dependency of a member on a member.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Arrow {
    pub(crate) to: String,
    pub(crate) is_dev: bool,
}

/// One page of Markdown.
pub(crate) struct Document {
    /// The crate whose README it is, if it is one's.
    pub(crate) krate: Option<String>,
    /// Its path from the workspace root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Document {
    fn read(path: &Path, root: &Path, members: &[Member]) -> Result<Document, String> {
        let text = read(path)?;
        let path = relative(path, root);
        let is_readme = |member: &&Member| path == format!("{}/README.md", member.folder);
        let krate = members.iter().find(is_readme).map(|member| member.name.clone());
        Ok(Document { krate, path, text })
    }
}

/// The whole workspace.
pub(crate) struct Tree {
    pub(crate) members: Vec<Member>,
    pub(crate) files: Vec<SourceFile>,
    pub(crate) documents: Vec<Document>,
}

impl Tree {
    pub(crate) fn read(root: &Path) -> Result<Tree, String> {
        let mut members = members(&workspace::metadata(root)?, root)?;
        let mut files = Vec::new();
        for member in &mut members {
            let folder = root.join(&member.folder);
            member.manifest = read(&folder.join("Cargo.toml"))?;
            for path in list(&folder, ".rs")? {
                let text = read(&path)?;
                files.push(SourceFile::new(&member.name, &relative(&path, root), &text));
            }
        }
        let paths = list(root, ".md")?;
        let documents =
            paths.iter().map(|path| Document::read(path, root, &members)).collect::<Result<_, _>>();
        Ok(Tree { documents: documents?, members, files })
    }
}

/// Reads a text file; the error names it.
pub(crate) fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

fn relative(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

/// The files under a folder whose names end so, in order.
fn list(folder: &Path, end: &str) -> Result<Vec<PathBuf>, String> {
    let fail = |error| format!("cannot list {}: {error}", folder.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !matches!(name.as_str(), "target" | "fixtures") && !name.starts_with('.') {
                found.extend(list(&path, end)?);
            }
        } else if name.ends_with(end) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The members in cargo's description of the workspace, manifests still unread.
///
/// A dependency is on a member when it has a path; renames and target tables are resolved.
pub(crate) fn members(metadata: &Value, root: &Path) -> Result<Vec<Member>, String> {
    let text = |value: &Value| value.as_str().map(str::to_string);
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut found = Vec::new();
    for package in list(&metadata["packages"]) {
        let name = text(&package["name"]).ok_or("cargo metadata: a package without a name")?;
        let manifest = text(&package["manifest_path"])
            .ok_or_else(|| format!("cargo metadata: package {name} has no manifest path"))?;
        let folder = relative(Path::new(&manifest).parent().unwrap_or(root), root);
        let arrows = list(&package["dependencies"])
            .iter()
            .filter(|dependency| dependency["path"].is_string())
            .filter_map(|dependency| {
                let is_dev = dependency["kind"] == "dev";
                text(&dependency["name"]).map(|to| Arrow { to, is_dev })
            })
            .collect();
        found.push(Member { name, folder, manifest: String::new(), arrows });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_path_dependencies_are_arrows_and_dev_is_told_apart() {
        let metadata = serde_json::json!({ "packages": [{
        "name": "os", "manifest_path": "/r/crates/ground/os/Cargo.toml", "dependencies": [
            { "name": "waits", "kind": null, "path": "/r/crates/ground/waits" },
            { "name": "sim", "kind": "dev", "path": "/r/crates/ground/sim" },
            { "name": "libc", "kind": null, "path": null },
        ]}]});
        let members = members(&metadata, Path::new("/r")).expect("sound metadata");
        assert_eq!(members[0].folder, "crates/ground/os");
        let arrow = |to: &str, is_dev| Arrow { to: to.to_string(), is_dev };
        assert_eq!(members[0].arrows, [arrow("waits", false), arrow("sim", true)]);
    }

    #[test]
    fn test_files_are_known_by_their_place() {
        let is_test = |path| SourceFile::new("os", path, "").is_test();
        assert!(
            is_test("crates/ground/os/tests/a.rs") && is_test("crates/ground/os/src/disk/tests.rs")
        );
        assert!(!is_test("crates/ground/os/src/lib.rs"));
    }
}
