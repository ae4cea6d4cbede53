//! Which foreign crates may come in, and from where, as `deny.toml` says.
//!
//! Looked at is every crate that the workspace is built of on one of the platforms that
//! `deny.toml` names, tests included. Its form is cargo-deny's. A key that isn't known here is
//! refused, so that nobody believes something held that isn't.

use serde::Deserialize;
use serde_json::Value;
use spdx::{Expression, Licensee, ParseMode};

use super::Finding;

const DENY: &str = "deny.toml";

/// What `deny.toml` says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Allowed {
    pub(crate) graph: Graph,
    licenses: Licenses,
    bans: Bans,
    sources: Sources,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Graph {
    /// The platforms whose crates are looked at.
    pub(crate) targets: Vec<String>,
    pub(crate) all_features: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Licenses {
    allow: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Bans {
    wildcards: Deny,
    /// Whether a crate of ours may be asked for without a version.
    allow_wildcard_paths: bool,
    deny: Vec<Banned>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Banned {
    #[serde(rename = "crate")]
    name: String,
    reason: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Sources {
    #[expect(dead_code, reason = "all that isn't in `allow_registry` is refused: the only way")]
    unknown_registry: Deny,
    #[expect(dead_code, reason = "as `unknown_registry`")]
    unknown_git: Deny,
    allow_registry: Vec<String>,
}

/// The one answer that is held here.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Deny {
    Deny,
}

impl Allowed {
    /// # Errors
    /// What in `text` isn't sound or isn't known here.
    pub(crate) fn read(text: &str) -> Result<Allowed, String> {
        toml::from_str(text).map_err(|error| format!("{DENY}: {error}"))
    }
}

/// Holds what cargo says of the `built` workspace (`cargo metadata`) against what is `allowed`.
///
/// # Errors
/// Where `allowed` names a licence that doesn't exist.
pub(crate) fn check(built: &Value, allowed: &Allowed) -> Result<Vec<Finding>, String> {
    let licences = allowed.licenses.allow.iter();
    let licences: Vec<Licensee> = licences
        .map(|name| Licensee::parse(name).map_err(|error| format!("{DENY}: {error}")))
        .collect::<Result<_, _>>()?;
    let used = |package: &&Value| {
        let nodes = built["resolve"]["nodes"].as_array();
        nodes.into_iter().flatten().any(|node| node["id"] == package["id"])
    };
    let packages = built["packages"].as_array().into_iter().flatten().filter(used);
    let wrongs = packages.flat_map(|package| {
        let name = format!("`{}` {}", word(package, "name"), word(package, "version"));
        let of_it = [
            licence(package, &licences),
            source(package, &allowed.sources),
            banned(package, &allowed.bans),
            wildcard(package, &allowed.bans),
        ];
        of_it.into_iter().flatten().map(move |wrong| (name.clone(), wrong))
    });
    Ok(wrongs.map(|(name, wrong)| Finding::new(DENY, 0, format!("{name} {wrong}"))).collect())
}

fn word<'a>(of: &'a Value, key: &str) -> &'a str {
    of[key].as_str().unwrap_or_default()
}

fn licence(package: &Value, allowed: &[Licensee]) -> Option<String> {
    let licence = word(package, "license");
    // The slash is how licences were written before there were expressions.
    match Expression::parse_mode(licence, ParseMode::LAX) {
        Ok(asked) if asked.evaluate(|one| allowed.iter().any(|ours| ours.satisfies(one))) => None,
        Ok(_) => Some(format!("is under {licence}: none of it is allowed, use another crate")),
        Err(_) => Some(format!("names no licence that is known ({licence:?}): use another crate")),
    }
}

/// Crates of this workspace have no source.
fn source(package: &Value, allowed: &Sources) -> Option<String> {
    let source = package["source"].as_str()?;
    let registry = source.strip_prefix("registry+");
    let known = registry.is_some_and(|url| allowed.allow_registry.iter().any(|ours| ours == url));
    (!known).then(|| format!("comes from {source}: use a registry in `allow-registry`"))
}

fn banned(package: &Value, bans: &Bans) -> Option<String> {
    let ban = bans.deny.iter().find(|ban| ban.name == word(package, "name"))?;
    Some(format!("is refused: {}", ban.reason))
}

/// A dependency of a crate of ours on any version of another.
fn wildcard(package: &Value, bans: &Bans) -> Option<String> {
    let Deny::Deny = bans.wildcards;
    let ours = package["source"].is_null();
    let dependencies = package["dependencies"].as_array().filter(|_| ours).into_iter().flatten();
    let mut any = dependencies.filter(|one| {
        word(one, "req") == "*" && !(bans.allow_wildcard_paths && one["path"].is_string())
    });
    any.next().map(|one| format!("takes any version of `{}`: name one", word(one, "name")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const INDEX: &str = "https://github.com/rust-lang/crates.io-index";

    fn allowed(extra: &str) -> Result<Allowed, String> {
        Allowed::read(&format!(
            "[graph]\ntargets = []\nall-features = true\n[licenses]\nallow = [\"MIT\"]\n{extra}
             [bans]\nwildcards = \"deny\"\nallow-wildcard-paths = true
             deny = [{{ crate = \"flume\", reason = \"a wait without an event\" }}]
             [sources]\nunknown-registry = \"deny\"\nunknown-git = \"deny\"
             allow-registry = [\"{INDEX}\"]"
        ))
    }

    /// What is found of one crate.
    fn found(name: &str, license: &str, source: Value, dependencies: Value) -> Vec<String> {
        let built = json!({
            "packages": [
                { "id": 1, "name": name, "version": "1.2.0", "license": license,
                  "source": source, "dependencies": dependencies },
                { "id": 2, "name": "of-another-platform", "license": "GPL-3.0-only" },
            ],
            "resolve": { "nodes": [{ "id": 1 }] },
        });
        let allowed = allowed("").expect("a sound deny.toml");
        let found = check(&built, &allowed).expect("known licences");
        found.into_iter().map(|one| one.message).collect()
    }

    fn of_licence(license: &str) -> Vec<String> {
        found("csv", license, json!(format!("registry+{INDEX}")), json!([]))
    }

    #[test]
    fn a_licence_that_is_not_allowed_is_found() {
        for fine in ["MIT", "MIT OR Apache-2.0", "Apache-2.0/MIT", "(MIT OR GPL-2.0-only)"] {
            assert_eq!(of_licence(fine), [""; 0], "{fine}");
        }
        let wrong = ["GPL-3.0-only", "MIT AND GPL-3.0-only", "MIT WITH LLVM-exception", ""];
        for wrong in wrong {
            let found = of_licence(wrong);
            assert!(found.len() == 1 && found[0].contains("use another crate"), "{found:?}");
        }
    }

    #[test]
    fn a_crate_from_elsewhere_is_found() {
        let of = |source: Value| found("csv", "MIT", source, json!([]));
        assert_eq!(of(Value::Null), [""; 0]);
        for elsewhere in ["git+https://github.com/x/csv#1234", "registry+https://example.org/"] {
            assert!(of(json!(elsewhere))[0].contains(elsewhere));
        }
    }

    #[test]
    fn a_refused_crate_and_any_version_of_one_are_found() {
        let refused = found("flume", "MIT", Value::Null, json!([]));
        assert_eq!(refused, ["`flume` 1.2.0 is refused: a wait without an event"]);
        let any = json!([{ "name": "csv", "req": "*", "path": null }]);
        assert!(found("lab", "MIT", Value::Null, any)[0].contains("any version of `csv`"));
        let ours = json!([{ "name": "stats", "req": "*", "path": "/stats" }]);
        assert_eq!(found("lab", "MIT", Value::Null, ours), [""; 0]);
    }

    #[test]
    fn what_is_not_held_here_is_refused() {
        let why = allowed("confidence-threshold = 0.9\n").err().expect("a key that nobody reads");
        assert!(why.contains("confidence-threshold"), "{why}");
    }
}
