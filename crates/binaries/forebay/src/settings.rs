//! Parameters on the command line: `--set NAME=VALUE`, and the list of what there is to set.
//!
//! Callers: `load`, `laboratory`, `main`.

use clap::Args;
use instance::{Changeable, Creation, ParameterInfo, Parameters};
use stop::{RefusalKind, Stop};

use crate::output::Failure;

/// What the user chose; may be given several times.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Settings {
    /// Sets a parameter; `forebay parameters` lists them.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    chosen: Vec<String>,
}

impl Settings {
    /// Sets what was chosen, each where it belongs. What can't be chosen is a wrong command line.
    pub(crate) fn apply(
        &self,
        creation: Option<&mut Creation>,
        parameters: &mut Parameters,
    ) -> Result<(), Failure> {
        self.choose(creation, parameters).map_err(Failure::usage)
    }

    /// The same, with what is wrong as a refusal.
    pub(crate) fn choose(
        &self,
        creation: Option<&mut Creation>,
        parameters: &mut Parameters,
    ) -> Result<(), Stop> {
        let mut creation = creation;
        for chosen in &self.chosen {
            let Some((name, value)) = chosen.split_once('=') else {
                let message = format!("--set takes NAME=VALUE, not '{chosen}'");
                return Err(Stop::refuse(RefusalKind::Invalid, message));
            };
            let (name, value) = (name.trim(), value.trim());
            let is_of = |list: &[ParameterInfo]| {
                list.iter().any(|info| info.name.eq_ignore_ascii_case(name))
            };
            match &mut creation {
                Some(creation) if is_of(&Creation::list()) => creation.set(name, value)?,
                None if is_of(&Creation::list()) => {
                    let message = format!("{name} is chosen when a database is created");
                    return Err(Stop::refuse(RefusalKind::Invalid, message));
                }
                _ => parameters.set(name, value)?,
            }
        }
        Ok(())
    }

    /// Whether anything was chosen.
    pub(crate) fn is_given(&self) -> bool {
        !self.chosen.is_empty()
    }

    /// Whether this parameter was chosen.
    pub(crate) fn has(&self, parameter: &str) -> bool {
        let names = self.chosen.iter().filter_map(|chosen| chosen.split_once('='));
        names.map(|(name, _)| name.trim()).any(|name| name.eq_ignore_ascii_case(parameter))
    }

    /// The same options again, for a command line.
    pub(crate) fn again(&self) -> String {
        self.chosen.iter().map(|chosen| format!(" --set '{chosen}'")).collect()
    }
}

/// Everything that can be set, for a terminal.
pub(crate) fn list() -> String {
    let mut out = String::new();
    for (title, list) in [
        ("When an instance opens a database:", Parameters::list()),
        ("When a database is created:", Creation::list()),
    ] {
        out += &format!("{title}\n\n");
        for info in &list {
            let unit = if info.unit.is_empty() { String::new() } else { format!(" {}", info.unit) };
            let (name, default) = (info.name, &info.default);
            out += &wrapped(&format!("{name} = {default} ({}{unit})", info.allowed()), "  ");
            let any_time = info.changeable == Changeable::AnyTime;
            let when = if any_time { " Can be changed while it is open." } else { "" };
            out += &wrapped(&format!("{}{when}", info.meaning), "      ");
        }
        out += "\n";
    }
    out.truncate(out.trim_end().len());
    out + "\n"
}

/// In lines of at most 80 columns.
pub(crate) fn wrapped(text: &str, indent: &str) -> String {
    let mut out = String::new();
    let mut line = String::from(indent);
    for word in text.split(' ') {
        if line.len() + word.len() >= 80 && line.trim() != "" {
            out += &format!("{}\n", line.trim_end());
            line = String::from(indent);
        }
        line += word;
        line += " ";
    }
    out + &format!("{}\n", line.trim_end())
}
