//! How to reproduce: the command, the machine, the parameters.
//!
//! Callers: `html`.

use std::collections::BTreeMap;

use page::{Section, Table};
use report::number::counted;

use crate::verdict::Verdict;

pub(super) fn write(of: &Verdict, section: &mut Section) {
    let origin = &of.origin;
    section.preformatted(&origin.command);
    let hashes = format!("A {}, B {}", origin.parameter_hash_a, origin.parameter_hash_b);
    section.definitions([
        ("runs", format!("{} of {} on average", counted(of.runs as u64, "run"), of.run_length())),
        ("seed", origin.plan_seed.to_string()),
        ("commit of the source", origin.commit.clone()),
        ("machine", origin.machine.clone()),
        ("world", origin.world.clone()),
        ("parameter hash", hashes),
    ]);
    let (a, b) = (&origin.parameters_a, &origin.parameters_b);
    let mut names: Vec<&String> = a.keys().chain(b.keys()).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        section.paragraph("A and B have the same parameters.");
    } else {
        let heads = ["parameter", "A", "B"];
        let mut table = Table::new("Parameters in which A and B differ", heads);
        for name in names {
            table.row([name, &value(a, name), &value(b, name)]);
        }
        section.table(table);
    }
    if !origin.parameters.is_empty() {
        let count = counted(origin.parameters.len() as u64, "parameter");
        let list = origin.parameters.keys().map(|name| (name, value(&origin.parameters, name)));
        section.folded(format!("{count} that A and B share"), list);
    }
}

/// Empty values are shown as such.
fn value(parameters: &BTreeMap<String, String>, name: &str) -> String {
    match parameters.get(name).map(String::as_str) {
        None => "-".to_owned(),
        Some("") => "''".to_owned(),
        Some(value) => value.to_owned(),
    }
}
