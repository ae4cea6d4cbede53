//! Sessions of one kind together, and each process of the instance as `ps` shows it.
//!
//! Callers: rows of experiments; `forebay load run`.

use serde::{Deserialize, Serialize};
use waits::{SessionKind, Statistic};

use crate::number::fixed;
use crate::{SessionInterval, TimeProfile};

/// Sessions of one kind together. Its JSON is part of an experiment's row.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct SessionGroup {
    /// How many sessions there are.
    pub count: u32,
    /// Where their time went.
    #[serde(rename = "account")]
    pub profile: TimeProfile,
    /// The session with the largest unaccounted share.
    pub worst: Option<UnaccountedShare>,
}

/// A session and its unaccounted share.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct UnaccountedShare {
    /// The session's name.
    pub session: String,
    /// The share of its elapsed time without a name: 0.01 is one per cent.
    pub share: f64,
}

impl SessionGroup {
    /// The sessions of this kind among `intervals`.
    pub fn of_kind(kind: SessionKind, intervals: &[SessionInterval]) -> SessionGroup {
        let mut group = SessionGroup::default();
        for interval in intervals.iter().filter(|interval| interval.kind == kind) {
            let share = interval.account.unaccounted_share();
            if group.worst.as_ref().is_none_or(|worst| share > worst.share) {
                let session = interval.name.clone();
                group.worst = Some(UnaccountedShare { session, share });
            }
            group.count += 1;
            group.profile.add(&TimeProfile::from(&interval.account));
        }
        group
    }

    /// The largest unaccounted share in words: `0.12 %, session3`.
    pub fn worst_text(&self) -> String {
        let worst = self.worst.as_ref();
        worst.map_or("none".to_owned(), |worst| {
            let percent = fixed((worst.share * 10_000.0).round() as i64, 2);
            format!("{percent} %, {}", worst.session)
        })
    }
}

/// What one process of the instance used, as `ps` would show it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ProcessUsage {
    /// The process's name.
    pub name: String,
    /// How long it ran in the measured interval, ns.
    pub elapsed_ns: u64,
    /// CPU time, ns.
    pub cpu_ns: i64,
    /// Run-queue delay, ns.
    pub run_queue_ns: i64,
    /// Time without a name, ns.
    pub unaccounted_ns: i64,
    /// Reads handed to files.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes handed to files.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: u64,
}

impl From<&SessionInterval> for ProcessUsage {
    fn from(interval: &SessionInterval) -> ProcessUsage {
        let profile = TimeProfile::from(&interval.account);
        let counted = |statistic| interval.totals.statistic(statistic);
        ProcessUsage {
            name: interval.name.clone(),
            elapsed_ns: profile.elapsed_ns,
            cpu_ns: profile.cpu_in_all_ns(),
            run_queue_ns: profile.run_queue_in_all_ns(),
            unaccounted_ns: profile.unaccounted_ns,
            reads: counted(Statistic::PhysicalReadRequests),
            read_bytes: counted(Statistic::PhysicalReadBytes),
            writes: counted(Statistic::PhysicalWriteRequests),
            write_bytes: counted(Statistic::PhysicalWriteBytes),
        }
    }
}
