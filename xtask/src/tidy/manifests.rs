//! Every crate inherits the workspace's lints, and every foreign crate has its reason.
//!
//! A foreign crate is declared once, in the root manifest, and has a table row in
//! `docs/decisions/0002-dependencies.md`. Members say `name.workspace = true`.

use toml::{Table, Value};

use super::Finding;
use crate::tree::Member;

const REASONS: &str = "docs/decisions/0002-dependencies.md";

pub(crate) fn check(
    members: &[Member],
    root_manifest: &str,
    reasons: &str,
) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    let root = parse("Cargo.toml", root_manifest)?;
    let declared = root.get("workspace").and_then(|w| w.get("dependencies"));
    for (name, value) in declared.and_then(Value::as_table).into_iter().flatten() {
        if value.get("path").is_none() && !reasons.contains(&format!("| `{name}` |")) {
            let say = format!("`{name}` has no row in {REASONS}: say there why it is worth having");
            findings.push(Finding::new("Cargo.toml", 0, say));
        }
    }
    for member in members {
        let path = format!("{}/Cargo.toml", member.folder);
        let manifest = parse(&path, &member.manifest)?;
        let inherits = |value: &Value| value.get("workspace") == Some(&Value::Boolean(true));
        if !manifest.get("lints").is_some_and(inherits) {
            let say = "doesn't inherit the lints: add `[lints]` with `workspace = true`";
            findings.push(Finding::new(&path, 0, say));
        }
        for (name, value) in dependency_tables(&manifest).into_iter().flatten() {
            if !inherits(value) {
                let say = format!(
                    "`{name}` is declared here: declare it in the root manifest and write \
                     `{name}.workspace = true`"
                );
                findings.push(Finding::new(&path, 0, say));
            }
        }
    }
    Ok(findings)
}

fn parse(path: &str, text: &str) -> Result<Table, String> {
    text.parse().map_err(|error| format!("{path}: {error}"))
}

/// The dependency tables of a manifest, those under `[target.*]` included.
fn dependency_tables(manifest: &Table) -> Vec<&Table> {
    let targets = manifest.get("target").and_then(Value::as_table).into_iter().flatten();
    let places = targets.filter_map(|(_, target)| target.as_table()).chain([manifest]);
    let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
    places.flat_map(|place| kinds.map(|kind| place.get(kind)?.as_table())).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "[workspace.dependencies]\nids = { path = \"x\" }\nlibc = \"0.2\"\n";

    fn found(manifest: &str, reasons: &str) -> Vec<Finding> {
        let member = Member {
            name: "os".to_string(),
            folder: "crates/ground/os".to_string(),
            manifest: manifest.to_string(),
            arrows: Vec::new(),
        };
        check(&[member], ROOT, reasons).expect("sound manifests")
    }

    const SOUND: &str = "[dependencies]\nlibc.workspace = true\n[lints]\nworkspace = true\n";

    #[test]
    fn a_foreign_crate_without_a_written_reason_is_found() {
        assert_eq!(found(SOUND, "| `libc` | system calls |"), []);
        assert!(found(SOUND, "nothing")[0].message.contains("`libc` has no row"));
    }

    #[test]
    fn a_crate_that_does_not_inherit_the_lints_is_found() {
        let found = found("[dependencies]\n", "| `libc` |");
        assert!(found[0].message.contains("doesn't inherit the lints"));
    }

    #[test]
    fn a_dependency_declared_in_a_member_is_found_also_under_a_target() {
        let manifest =
            "[target.'cfg(unix)'.dev-dependencies]\nlibc = \"0.1\"\n[lints]\nworkspace = true";
        let found = found(manifest, "| `libc` |");
        assert!(found[0].message.contains("`libc.workspace = true`"));
    }
}
