//! The experiments that are built in, as files like those of users.
//!
//! Callers: `experiment_file`; the binary's `lab list`.

/// A file to begin with that has every key, with the value that holds without it.
pub const TEMPLATE: &str = include_str!("../experiments/template.toml");
/// A built-in experiment: its name, and its file.
pub const BUILT_IN: [(&str, &str); 4] = [
    ("dbwr-count", include_str!("../experiments/dbwr-count.toml")),
    ("dbwr-counts", include_str!("../experiments/dbwr-counts.toml")),
    ("commit-leader", include_str!("../experiments/commit-leader.toml")),
    ("lgwr-priority", include_str!("../experiments/lgwr-priority.toml")),
];
