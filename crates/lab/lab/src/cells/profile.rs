//! Where a session's time went, and the session that left most of it without a name.
//!
//! Callers: the reports of tables.

use experiment::Run;
use report::{TimeLine, TimeProfile, UNACCOUNTED};
use serde::Serialize;

/// A part of the mean session's time.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Line {
    pub(crate) timesource: String,
    pub(crate) seconds: f64,
    pub(crate) percentage: f64,
}

/// The profile of the mean session of these runs: the total, and below it its parts, the longest
/// first.
pub(crate) fn profile(runs: &[&Run]) -> Vec<Line> {
    let (mut all, mut sessions) = (TimeProfile::default(), 0);
    for run in runs {
        all.add(&run.foreground.profile);
        sessions += run.foreground.count;
    }
    let (total, sessions) = (all.elapsed_ns as f64, f64::from(sessions.max(1)));
    let line = |timesource: &str, ns: f64| Line {
        timesource: timesource.to_owned(),
        seconds: ns / sessions / 1e9,
        percentage: 100.0 * ns / total.max(1.0),
    };
    let part = |of: &TimeLine<'_>| match of.name {
        UNACCOUNTED => line("UNACCOUNTED_TIME", of.ns as f64),
        name => line(name, of.ns as f64),
    };
    let mut lines: Vec<Line> = all.lines().iter().map(part).collect();
    lines.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    lines.insert(0, line("TOTAL_TIME", total));
    lines
}

/// The single session that left the largest share of its time without a name, by size.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Unaccounted {
    pub(crate) session: String,
    /// In which cell.
    pub(crate) setting: String,
    pub(crate) share: f64,
}

impl Unaccounted {
    /// Of all sessions of these runs; none without a session.
    pub(crate) fn of(rows: &[Run]) -> Option<Unaccounted> {
        let worst = rows.iter().filter_map(|run| Some((run, run.foreground.worst.as_ref()?)));
        let (run, worst) = worst.max_by(|(_, a), (_, b)| a.share.total_cmp(&b.share))?;
        Some(Unaccounted {
            session: worst.session.clone(),
            setting: run.identity.setting.clone(),
            share: worst.share,
        })
    }
}
