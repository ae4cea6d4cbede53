//! How to reproduce: the command, the machine, the parameters.
//!
//! Callers: `html`.

use std::collections::BTreeMap;

use page::{Section, Table};
use report::number::counted;

use crate::verdict::Verdict;

pub(super) fn write(of: &Verdict, section: &mut Section) {
    let (origin, b) = (&of.origin, of.level);
    section.preformatted(&origin.command);
    let hashes = format!("A {}, {b} {}", origin.parameter_hash_a, origin.parameter_hash_b);
    section.definitions([
        ("runs", format!("{} of {} on average", counted(of.runs as u64, "run"), of.run_length())),
        ("seed", origin.plan_seed.to_string()),
        ("commit of the source", origin.commit.clone()),
        ("machine", origin.machine.clone()),
        ("world", origin.world.clone()),
        ("parameter hash", hashes),
    ]);
    let (of_a, of_b) = (&origin.parameters_a, &origin.parameters_b);
    let mut names: Vec<&String> = of_a.keys().chain(of_b.keys()).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        section.paragraph(format!("A and {b} have the same parameters."));
    } else {
        let heads = ["parameter".to_owned(), "A".to_owned(), b.to_string()];
        let caption = format!("Parameters in which A and {b} differ");
        let mut table = Table::new(caption, heads);
        for name in names {
            table.row([name, &value(of_a, name), &value(of_b, name)]);
        }
        section.table(table);
    }
    if !origin.parameters.is_empty() {
        let count = counted(origin.parameters.len() as u64, "parameter");
        let list = origin.parameters.keys().map(|name| (name, value(&origin.parameters, name)));
        section.folded(format!("{count} that A and {b} share"), list);
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
