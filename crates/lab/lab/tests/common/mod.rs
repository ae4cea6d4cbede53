//! A table of cells that nobody stops, and what holds of the rows of each.

use std::sync::Arc;

use experiment::Run;
use lab::Follower;
use os::Session;
use stop::Stop;
use waits::SessionKind;

/// Keeps the rows.
#[derive(Default)]
struct Rows(Vec<Run>);

impl Follower for Rows {
    fn tell(&mut self, _: &str) {}

    fn row(&mut self, run: &Run) {
        self.0.push(run.clone());
    }
}

/// The report of `run`, and its rows.
pub(crate) fn report_of<R>(
    run: impl FnOnce(&mut dyn Follower, &Session) -> Result<Option<R>, Stop>,
) -> (R, Vec<Run>) {
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("test", SessionKind::Foreground);
    let mut rows = Rows::default();
    match run(&mut rows, &session) {
        Ok(Some(report)) => (report, rows.0),
        Ok(None) => panic!("nobody told it to stop"),
        Err(stop) => panic!("{stop}"),
    }
}

/// There is a row for each cell, of the type of other experiments.
pub(crate) fn check_rows(rows: &[Run], cells: usize) {
    assert_eq!(rows.len(), cells);
    let lines: String = rows.iter().map(|run| run.to_json_line() + "\n").collect();
    assert_eq!(experiment::parse_rows(&lines).expect("they are rows").runs.len(), cells);
    let mut settings: Vec<&str> = rows.iter().map(|run| run.identity.setting.as_str()).collect();
    settings.sort_unstable();
    settings.dedup();
    assert_eq!(settings.len(), cells);
}

pub(crate) fn fits(text: &str) {
    let long = text.lines().find(|line| line.chars().count() > 80);
    assert_eq!(long, None, "{text}");
}
