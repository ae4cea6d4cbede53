//! What a session sets for itself: SET, SHOW, ALTER SESSION.
//!
//! ```text
//!   SET LOCAL ─▶ until the transaction ends ─┐
//!   SET ───────▶ until the session ends ─────┼─▶ value │ else the default
//!   instance parameters: SHOW only ──────────┘
//! ```
//!
//! Most are PostgreSQL's, which its programs set without being asked. Of some of these one value is
//! possible, and only that one is taken: the answer to another one is a refusal, not silence. Some
//! are about what isn't there, as plans by bitmaps and policies of rows are: any value holds.
//!
//! Invariant: what runs often (methods, times) is kept as values, and made anew with each change.
//!
//! Callers: `session`.

use std::collections::BTreeMap;

use instance::{CommitLogging, CommitMode, CommitWait};
use stop::{SqlState, Stop, did_you_mean};
use syntax::Isolation;
use txn::LockWait;
use waits::Nanos;

use crate::plan::Methods;
use crate::refuse::refuse;

/// What a setting may be.
#[derive(Clone, Copy, Debug)]
enum Rule {
    /// `on` or `off`.
    Switch,
    /// A time in milliseconds, or with a unit; 0: no bound.
    Time,
    /// A number of seconds; 0: not at all.
    Seconds,
    /// One of these words, whatever the case; the first is how it is shown.
    OneOf(&'static [&'static str]),
    /// Any text.
    Text,
    /// A path on which there is nothing but the one schema.
    Path,
    /// It is shown, and can't be set.
    Fixed,
}

/// A setting.
#[derive(Clone, Copy, Debug)]
struct Info {
    name: &'static str,
    default: &'static str,
    rule: Rule,
}

const fn info(name: &'static str, default: &'static str, rule: Rule) -> Info {
    Info { name, default, rule }
}

const ISOLATIONS: &[&str] =
    &["read committed", "read uncommitted", "repeatable read", "serializable"];

/// All settings, in the order of their names.
const SETTINGS: &[Info] = &[
    info("application_name", "", Rule::Text),
    info("bytea_output", "hex", Rule::OneOf(&["hex"])),
    info("check_function_bodies", "on", Rule::Switch),
    info("client_encoding", "UTF8", Rule::OneOf(&["UTF8", "utf-8", "unicode"])),
    info("client_min_messages", "notice", Rule::Text),
    info("commit_logging", "default", Rule::OneOf(&["default", "immediate", "batch"])),
    info("commit_wait", "default", Rule::OneOf(&["default", "wait", "nowait"])),
    info("datestyle", "ISO, MDY", Rule::OneOf(&["ISO, MDY", "iso", "iso,mdy", "iso, ymd"])),
    info("ddl_lock_timeout", "default", Rule::Seconds),
    info("default_table_access_method", "heap", Rule::OneOf(&["heap"])),
    info("default_tablespace", "", Rule::OneOf(&[""])),
    info("default_transaction_isolation", "read committed", Rule::OneOf(ISOLATIONS)),
    info("default_transaction_read_only", "off", Rule::Switch),
    info("enable_bitmapscan", "on", Rule::Switch),
    info("enable_gathermerge", "on", Rule::Switch),
    info("enable_hashagg", "on", Rule::Switch),
    info("enable_hashjoin", "on", Rule::Switch),
    info("enable_indexscan", "on", Rule::Switch),
    info("enable_mergejoin", "on", Rule::Switch),
    info("enable_nestloop", "on", Rule::Switch),
    info("enable_parallel_append", "on", Rule::Switch),
    info("enable_parallel_hash", "on", Rule::Switch),
    info("enable_seqscan", "on", Rule::Switch),
    info("escape_string_warning", "on", Rule::Switch),
    info("extra_float_digits", "1", Rule::OneOf(&["1", "0", "2", "3"])),
    info("idle_in_transaction_session_timeout", "0", Rule::OneOf(&["0"])),
    info("idle_session_timeout", "0", Rule::OneOf(&["0"])),
    info("integer_datetimes", "on", Rule::Fixed),
    info("intervalstyle", "postgres", Rule::OneOf(&["postgres"])),
    info("lock_timeout", "default", Rule::Time),
    info("max_parallel_workers_per_gather", "0", Rule::OneOf(&["0"])),
    info("row_security", "on", Rule::Switch),
    info("search_path", "\"$user\", public", Rule::Path),
    info("server_encoding", "UTF8", Rule::Fixed),
    info("server_version", concat!("15.0 (Forebay ", env!("CARGO_PKG_VERSION"), ")"), Rule::Fixed),
    info("server_version_num", "150000", Rule::Fixed),
    info("standard_conforming_strings", "on", Rule::OneOf(&["on"])),
    info("statement_timeout", "0", Rule::Time),
    info("synchronous_commit", "default", Rule::OneOf(&["default", "on", "off", "local"])),
    info("timezone", "UTC", Rule::OneOf(&["UTC", "gmt", "etc/utc", "z"])),
    info("transaction_timeout", "0", Rule::OneOf(&["0"])),
    info("xmloption", "content", Rule::OneOf(&["content", "document"])),
];

/// The settings of a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    set: BTreeMap<&'static str, String>,
    /// What SET LOCAL has replaced, to be put back when the transaction ends.
    before_local: BTreeMap<&'static str, Option<String>>,
    /// What is set, as it is used.
    pub(crate) used: Used,
}

/// What settings say, as it is used.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Used {
    pub(crate) methods: Methods,
    /// How long a statement may take; none: as long as the connection says.
    pub(crate) statement_timeout: Option<Nanos>,
    /// How long each wait for a lock may take; none: as the connection says.
    pub(crate) lock_wait: Option<LockWait>,
    /// The same of statements that define something.
    pub(crate) ddl_lock_wait: Option<LockWait>,
    pub(crate) commit_wait: Option<CommitWait>,
    pub(crate) commit_logging: Option<CommitLogging>,
    /// Of transactions that begin from now on.
    pub(crate) is_serializable: bool,
    pub(crate) is_read_only: bool,
}

impl Used {
    /// How a transaction commits, if the session doesn't leave it to the instance. What one part
    /// leaves open is as it is safest.
    pub(crate) fn commit_mode(&self) -> Option<CommitMode> {
        let Used { commit_wait, commit_logging, .. } = *self;
        (commit_wait.is_some() || commit_logging.is_some()).then(|| CommitMode {
            wait: commit_wait.unwrap_or(CommitWait::Wait),
            logging: commit_logging.unwrap_or(CommitLogging::Immediate),
        })
    }
}

impl Settings {
    /// The value of a setting; none if there is no such one.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let info = SETTINGS.iter().find(|info| info.name == name)?;
        Some(self.set.get(info.name).map_or(info.default, String::as_str))
    }

    /// All settings with their values.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&'static str, &str)> {
        SETTINGS.iter().map(|info| (info.name, self.get(info.name).unwrap_or(info.default)))
    }

    /// Whether a name is a setting's.
    pub(crate) fn has(name: &str) -> bool {
        SETTINGS.iter().any(|info| info.name == name)
    }

    /// Gives a setting a value, or its default. If `is_local`, until the transaction ends.
    pub(crate) fn set(
        &mut self,
        name: &str,
        value: Option<&str>,
        is_local: bool,
    ) -> Result<(), Stop> {
        if name == "all" && value.is_none() {
            self.set.clear();
            self.before_local.clear();
            self.used = Used::default();
            return Ok(());
        }
        let info = SETTINGS.iter().find(|info| info.name == name).ok_or_else(|| unknown(name))?;
        let value = match value {
            None => None,
            Some(value) if value.eq_ignore_ascii_case("default") => None,
            Some(value) => Some(info.read(value)?),
        };
        let before = match value {
            Some(value) => self.set.insert(info.name, value),
            None => self.set.remove(info.name),
        };
        if is_local {
            self.before_local.entry(info.name).or_insert(before);
        } else {
            self.before_local.remove(info.name);
        }
        self.used = self.read_used();
        Ok(())
    }

    /// The transaction has ended: what was set for it alone is as it was before.
    pub(crate) fn end_transaction(&mut self) {
        if self.before_local.is_empty() {
            return;
        }
        for (name, before) in std::mem::take(&mut self.before_local) {
            self.set.remove(name);
            if let Some(value) = before {
                self.set.insert(name, value);
            }
        }
        self.used = self.read_used();
    }

    fn is_on(&self, name: &'static str) -> bool {
        self.get(name) == Some("on")
    }

    fn read_used(&self) -> Used {
        let value = |name: &'static str| self.set.get(name).map(String::as_str);
        let time = |name: &'static str| value(name).and_then(time_of);
        let wait = |time: Nanos| match time {
            Nanos::ZERO => LockWait::Forever,
            time => LockWait::For(time),
        };
        let seconds = |seconds: &str| match seconds.parse() {
            Ok(0) | Err(_) => LockWait::NoWait,
            Ok(seconds) => LockWait::For(Nanos::from_secs(seconds)),
        };
        let synchronous = value("synchronous_commit").map(|value| match value {
            "off" => CommitWait::Nowait,
            _ => CommitWait::Wait,
        });
        let said = value("commit_wait").map(|value| match value {
            "nowait" => CommitWait::Nowait,
            _ => CommitWait::Wait,
        });
        Used {
            methods: Methods {
                table_scan: self.is_on("enable_seqscan"),
                index_scan: self.is_on("enable_indexscan"),
                nested_loop: self.is_on("enable_nestloop"),
                hash_join: self.is_on("enable_hashjoin"),
                merge_join: self.is_on("enable_mergejoin"),
                hash_aggregate: self.is_on("enable_hashagg"),
            },
            statement_timeout: time("statement_timeout").filter(|time| *time != Nanos::ZERO),
            lock_wait: time("lock_timeout").map(wait),
            ddl_lock_wait: value("ddl_lock_timeout").map(seconds),
            commit_wait: said.or(synchronous),
            commit_logging: value("commit_logging").map(|value| match value {
                "batch" => CommitLogging::Batch,
                _ => CommitLogging::Immediate,
            }),
            is_serializable: matches!(
                self.get("default_transaction_isolation"),
                Some("repeatable read" | "serializable")
            ),
            is_read_only: self.is_on("default_transaction_read_only"),
        }
    }
}

impl Info {
    /// The value as it is kept and shown.
    fn read(&self, value: &str) -> Result<String, Stop> {
        let found = match self.rule {
            Rule::Switch => match value.to_ascii_lowercase().as_str() {
                "on" | "true" | "yes" | "1" | "t" => Some("on".to_string()),
                "off" | "false" | "no" | "0" | "f" => Some("off".to_string()),
                _ => None,
            },
            // A part of a millisecond is one: 0 is no bound.
            Rule::Time => {
                time_of(value).map(|time| format!("{}ms", time.as_micros().div_ceil(1_000)))
            }
            Rule::Seconds => value.trim().parse::<u32>().ok().map(|seconds| seconds.to_string()),
            Rule::OneOf(words) => {
                let word = words.iter().position(|word| word.eq_ignore_ascii_case(value.trim()));
                word.map(|place| match self.is_of_words() {
                    true => words[place].to_string(),
                    // The other words are names of the first one.
                    false => words[0].to_string(),
                })
            }
            Rule::Text => Some(value.to_string()),
            Rule::Path => is_path(value).then(|| value.to_string()),
            Rule::Fixed => {
                let message = format!("{} can't be set: it is as the server is", self.name);
                return Err(refuse(SqlState::CANT_CHANGE_RUNTIME_PARAM, message));
            }
        };
        found.ok_or_else(|| {
            let message = format!("{} can't be set to {value}: {}", self.name, self.allowed());
            refuse(SqlState::INVALID_PARAMETER_VALUE, message)
        })
    }

    /// Whether its words mean different things.
    fn is_of_words(&self) -> bool {
        !matches!(self.name, "client_encoding" | "datestyle" | "timezone")
    }

    fn allowed(&self) -> String {
        match self.rule {
            Rule::Switch => "it is on or off".into(),
            Rule::Time => "it is a time such as 500, 500ms, 2s or 1min; 0 is no bound".into(),
            Rule::Seconds => "it is a number of seconds; 0 doesn't wait at all".into(),
            Rule::OneOf([""]) => "it is empty, and nothing else".into(),
            Rule::OneOf([one]) => format!("it is {one}, and nothing else"),
            Rule::OneOf(words) => format!("it is one of {}", words.join(", ")),
            Rule::Path => "there is one schema, public".into(),
            Rule::Text | Rule::Fixed => "it is a text".into(),
        }
    }
}

/// A time with a unit; without one, in milliseconds.
fn time_of(text: &str) -> Option<Nanos> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..end].parse().ok()?;
    let micros = match text[end..].trim() {
        "us" => 1,
        "" | "ms" => 1_000,
        "s" => 1_000_000,
        "min" => 60_000_000,
        "h" => 3_600_000_000,
        "d" => 86_400_000_000,
        _ => return None,
    };
    let micros = number.checked_mul(micros)?;
    micros.checked_mul(1_000).map(|_| Nanos::from_micros(micros))
}

/// Whether a search path has no schema but the one of users and that of the dictionary.
fn is_path(value: &str) -> bool {
    let is_known = |part: &str| {
        let part = part.trim().trim_matches('"');
        ["", "$user", "public", "pg_catalog"].contains(&part)
    };
    value.split(',').all(is_known)
}

#[cold]
fn unknown(name: &str) -> Stop {
    let meant = did_you_mean(name, SETTINGS.iter().map(|info| info.name));
    let message = format!("there is no setting {name}{meant}; SHOW ALL lists them");
    refuse(SqlState::UNDEFINED_OBJECT, message)
}

/// The word for an isolation level. Two levels are what they are: read committed, and a snapshot
/// for the whole transaction, which both others ask for.
pub(crate) fn isolation_name(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::ReadUncommitted => "read uncommitted",
        Isolation::ReadCommitted => "read committed",
        Isolation::RepeatableRead => "repeatable read",
        Isolation::Serializable => "serializable",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(settings: &mut Settings, name: &str, value: &str) {
        settings.set(name, Some(value), false).expect("allowed");
    }

    #[test]
    fn what_is_set_is_shown_and_used() {
        let mut settings = Settings::default();
        set(&mut settings, "enable_hashjoin", "OFF");
        set(&mut settings, "lock_timeout", "2s");
        set(&mut settings, "statement_timeout", "1500");
        assert_eq!(settings.get("lock_timeout"), Some("2000ms"));
        assert!(!settings.used.methods.hash_join && settings.used.methods.merge_join);
        assert_eq!(settings.used.lock_wait, Some(LockWait::For(Nanos::from_secs(2))));
        assert_eq!(settings.used.statement_timeout, Some(Nanos::from_millis(1_500)));
        set(&mut settings, "statement_timeout", "1us");
        assert_eq!(settings.used.statement_timeout, Some(Nanos::from_millis(1)));
        set(&mut settings, "statement_timeout", "0");
        assert_eq!(settings.used.statement_timeout, None);
        settings.set("all", None, false).expect("all are as at first");
        assert_eq!(settings.used, Used::default());
        assert_eq!(settings.get("nothing"), None);
    }

    #[test]
    fn what_is_set_for_a_transaction_ends_with_it() {
        let mut settings = Settings::default();
        set(&mut settings, "application_name", "a");
        settings.set("application_name", Some("b"), true).expect("allowed");
        settings.set("application_name", Some("c"), true).expect("allowed");
        settings.set("enable_seqscan", Some("off"), true).expect("allowed");
        settings.end_transaction();
        assert_eq!(settings.get("application_name"), Some("a"));
        assert!(settings.used.methods.table_scan);
    }

    #[test]
    fn a_value_that_would_mean_something_else_here_is_refused() {
        let mut settings = Settings::default();
        for (name, value) in [
            ("timezone", "Europe/Zurich"),
            ("client_encoding", "latin1"),
            ("search_path", "other"),
            ("server_version", "16"),
            ("enable_seqscan", "maybe"),
            ("lock_timeout", "soon"),
            ("default_tablespace", "fast"),
            ("idle_in_transaction_session_timeout", "5s"),
        ] {
            assert!(settings.set(name, Some(value), false).is_err(), "{name} {value}");
        }
        let refused = settings.set("enable_seqscn", Some("on"), false).expect_err("no such one");
        assert!(refused.to_string().contains("enable_seqscan"), "{refused}");
        // What pg_dump writes in front of a dump.
        for (name, value) in [
            ("statement_timeout", "0"),
            ("lock_timeout", "0"),
            ("idle_in_transaction_session_timeout", "0"),
            ("transaction_timeout", "0"),
            ("client_encoding", "UTF8"),
            ("standard_conforming_strings", "on"),
            ("check_function_bodies", "false"),
            ("xmloption", "content"),
            ("client_min_messages", "warning"),
            ("row_security", "off"),
            ("default_tablespace", ""),
            ("default_table_access_method", "heap"),
        ] {
            set(&mut settings, name, value);
        }
        assert!(SETTINGS.is_sorted_by_key(|info| info.name));
        set(&mut settings, "TimeZone".to_lowercase().as_str(), "gmt");
        assert_eq!(settings.get("timezone"), Some("UTC"));
    }
}
