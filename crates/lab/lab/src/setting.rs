//! A setting: parameters and the values that it gives them.
//!
//! Callers: `experiment_file`, both ways of running.

use std::fmt;

use database::Database;
use experiment::{RoundKind, Step};
use instance::{Changeable, Creation, ParameterInfo, Parameters};
use os::Session;
use stop::Stop;

use crate::checks;

/// Parameters and their values, as a user writes them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Setting {
    /// What was given.
    values: Vec<(String, String)>,
    /// What the other settings give and this one doesn't, with the values that it has without them.
    others: Vec<(String, String)>,
}

/// The parameters whose change can't make the device slower or faster for others by anything but
/// the rate of the load: with them the device's probe may be a covariate (LB60).
const DEVICE_NEUTRAL: [&str; 6] = [
    "high_priority_processes",
    "process_affinity",
    "lock_timeout",
    "ddl_lock_timeout",
    "test_commit_delay",
    "test_commit_delay_lag",
];

/// The parameters whose change acts within milliseconds and leaves nothing behind: no other dirty
/// buffers, no other cache. With them blocks are shorter (LB66).
const ACT_AT_ONCE: [&str; 7] = [
    "commit_leader",
    "commit_wait",
    "commit_logging",
    "log_writes_in_flight",
    "high_priority_processes",
    "process_affinity",
    "test_commit_delay",
];

/// The parameters that a connection keeps from its begin: sessions that work on don't see a change.
const OF_CONNECTIONS: [&str; 2] = ["lock_timeout", "ddl_lock_timeout"];

impl Setting {
    /// Of names and values. Refused if a name isn't a parameter of an instance or comes twice, or
    /// its value isn't allowed.
    pub fn of(values: impl IntoIterator<Item = (String, String)>) -> Result<Setting, Stop> {
        let setting = Setting { values: values.into_iter().collect(), others: Vec::new() };
        check_given_once(&setting.values)?;
        for name in setting.names() {
            let is_fixed = |info: &ParameterInfo| info.name.eq_ignore_ascii_case(name);
            if Creation::list().iter().any(is_fixed) {
                return Err(checks::invalid(format!(
                    "{name} is chosen when a database is created, so settings can't differ in it: \
                     give it to all of them"
                )));
            }
        }
        setting.apply(&mut Parameters::default())?;
        Ok(setting)
    }

    /// Gives these parameters their values.
    pub(crate) fn apply(&self, parameters: &mut Parameters) -> Result<(), Stop> {
        self.all().try_for_each(|(name, value)| parameters.set(name, value))
    }

    /// These parameters, with its values.
    pub(crate) fn over(&self, parameters: &Parameters) -> Result<Parameters, Stop> {
        let mut parameters = parameters.clone();
        self.apply(&mut parameters)?;
        Ok(parameters)
    }

    fn all(&self) -> impl Iterator<Item = &(String, String)> {
        self.values.iter().chain(&self.others)
    }

    /// Lets each of these settings know what the others give, so that one that alternates with them
    /// takes it back. `parameters` are those without any of them.
    pub(crate) fn complete(settings: &mut [Setting], parameters: &Parameters) -> Result<(), Stop> {
        let mut names: Vec<String> = Vec::new();
        for name in settings.iter().flat_map(Setting::names) {
            if !names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
                names.push(name.to_owned());
            }
        }
        for setting in settings {
            let is_other =
                |name: &&String| !setting.names().any(|own| own.eq_ignore_ascii_case(name));
            let others = names.iter().filter(is_other);
            let others = others.map(|name| Ok((name.clone(), parameters.get(name)?)));
            setting.others = others.collect::<Result<_, Stop>>()?;
        }
        Ok(())
    }

    /// The places of two of these settings, each of which knows the others, that give parameters
    /// the same values over `parameters`, however they are written: `8m` is `8192k`.
    pub(crate) fn same(
        settings: &[Setting],
        parameters: &Parameters,
    ) -> Result<Option<[usize; 2]>, Stop> {
        let names: Vec<&str> = settings.iter().flat_map(Setting::names).collect();
        let mut known: Vec<Vec<String>> = Vec::new();
        for (later, setting) in settings.iter().enumerate() {
            let with = setting.over(parameters)?;
            let values = names.iter().map(|name| with.get(name));
            let values: Vec<String> = values.collect::<Result<_, Stop>>()?;
            if let Some(first) = known.iter().position(|known| *known == values) {
                return Ok(Some([first, later]));
            }
            known.push(values);
        }
        Ok(None)
    }

    /// The names of its parameters.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.iter().map(|(name, _)| name.as_str())
    }

    /// The first of its parameters that can't change while sessions work.
    pub(crate) fn fixed(&self) -> Option<&str> {
        let list = Parameters::list();
        let is_fixed = |name: &&str| {
            let info = list.iter().find(|info| info.name.eq_ignore_ascii_case(name));
            info.is_some_and(|info| {
                info.changeable != Changeable::AnyTime || OF_CONNECTIONS.contains(&info.name)
            })
        };
        self.names().find(is_fixed)
    }

    pub(crate) fn is_device_neutral(&self) -> bool {
        self.are_all_in(&DEVICE_NEUTRAL)
    }

    pub(crate) fn acts_at_once(&self) -> bool {
        self.are_all_in(&ACT_AT_ONCE)
    }

    fn are_all_in(&self, known: &[&str]) -> bool {
        self.names().all(|name| known.iter().any(|known| known.eq_ignore_ascii_case(name)))
    }

    /// Makes an open database run with it: parameters that have another value are set.
    pub(crate) fn set(&self, database: &Database, session: &Session) -> Result<(), Stop> {
        let instance = database.instance();
        for (name, value) in self.all() {
            let now = instance.parameters(session);
            let mut wanted = now.clone();
            wanted.set(name, value)?;
            if wanted.get(name)? != now.get(name)? {
                instance.set_parameter(name, value, session)?;
            }
        }
        Ok(())
    }
}

/// Refused if a parameter has two values, by names that differ in case: only one would count.
pub(crate) fn check_given_once(values: &[(String, String)]) -> Result<(), Stop> {
    for (at, (name, _)) in values.iter().enumerate() {
        if values[..at].iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
            return Err(checks::invalid(format!("{name} is given twice: leave one of them out")));
        }
    }
    Ok(())
}

/// Which run of these settings a step is: `setting B (db_writer_processes = 9), round 3`.
pub(crate) fn run_name(step: &Step, settings: &[Setting]) -> String {
    let round = match step.kind {
        RoundKind::Compared => "round",
        RoundKind::Equals => "round of equals",
    };
    let setting = &settings[step.level.index()];
    format!("setting {} ({setting}), {round} {}", step.level, step.round)
}

/// Whether a change of this parameter leaves the device as it is.
pub(crate) fn is_device_neutral(name: &str) -> bool {
    DEVICE_NEUTRAL.iter().any(|known| known.eq_ignore_ascii_case(name))
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (name, value)) in self.values.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            let value = if value.is_empty() { "''" } else { value };
            write!(f, "{comma}{name} = {value}")?;
        }
        Ok(())
    }
}
