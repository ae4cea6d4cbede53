//! `docs/WAITS.md`, generated from the two lists.

use std::fmt::Write;

use crate::{Statistic, WaitEvent};

/// The reference of wait events and statistics, as Markdown.
pub fn markdown() -> String {
    let mut out = String::from(
        "# Wait events and statistics\n\n\
         Generated from `crates/ground/waits/src/event.rs` and `statistic.rs` by \
         `cargo xtask docs`.\n\
         Don't edit.\n\n## Wait events\n\n\
         | event | class | p1, p2, p3 | a session is in it when |\n|---|---|---|---|\n",
    );
    let mut events: Vec<WaitEvent> = WaitEvent::ALL.to_vec();
    events.sort_by_key(|event| (event.class().name(), event.name().to_lowercase()));
    for event in events {
        let info = event.info();
        let parameters: Vec<String> = info
            .parameters
            .iter()
            .filter(|p| !p.is_empty())
            .map(|p| p.replace('|', "\\|"))
            .collect();
        let parameters = if parameters.is_empty() { "-".into() } else { parameters.join(", ") };
        push(&mut out, &[info.name, info.class.name(), &parameters, info.meaning]);
    }
    out.push_str("\n## Statistics\n\n| statistic | unit | raised when |\n|---|---|---|\n");
    for statistic in Statistic::ALL {
        let info = statistic.info();
        push(&mut out, &[info.name, info.unit, info.meaning]);
    }
    out
}

fn push(out: &mut String, columns: &[&str]) {
    writeln!(out, "| {} |", columns.join(" | ")).expect("writing to a string can't fail");
}

#[cfg(test)]
mod tests {
    /// Every row of a table has as many columns as its head, whatever a name contains.
    #[test]
    fn every_row_has_as_many_columns_as_its_head() {
        let text = super::markdown();
        let mut columns = 0;
        for line in text.lines() {
            let bars = line.replace("\\|", "").matches('|').count();
            if bars > 0 && columns > 0 {
                assert_eq!(bars, columns, "{line}");
            }
            columns = bars;
        }
    }
}
