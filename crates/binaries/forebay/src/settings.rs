//! Parameters on the command line: `--set NAME=VALUE`, and `forebay parameters`.
//!
//! Callers: `load`, `laboratory`, `main`, `verification`.

use clap::Args;
use instance::{Allowed, Changeable, Creation, ParameterInfo, Parameters};
use report::paragraph;
use serde_json::{Value, json};
use stop::{RefusalKind, Stop};

use crate::load::chosen_by_load_create;
use crate::output::{CommandResult, Failure, json_page};

/// What the user chose; may be given several times.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Settings {
    /// Sets a parameter; `forebay parameters` lists them.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    chosen: Vec<String>,
}

impl Settings {
    /// Of these texts, `NAME=VALUE` each.
    pub(crate) fn of(chosen: Vec<String>) -> Settings {
        Settings { chosen }
    }

    /// Sets what was chosen, each parameter where it belongs. A value that can't be chosen is a
    /// wrong command line.
    pub(crate) fn apply(
        &self,
        creation: Option<&mut Creation>,
        parameters: &mut Parameters,
    ) -> Result<(), Failure> {
        self.choose(creation, parameters).map_err(Failure::usage)
    }

    /// Sets what was chosen, and refuses a value that can't be chosen.
    pub(crate) fn choose(
        &self,
        mut creation: Option<&mut Creation>,
        parameters: &mut Parameters,
    ) -> Result<(), Stop> {
        for chosen in &self.chosen {
            let (name, value) = name_and_value("--set", chosen)?;
            match &mut creation {
                Some(creation) if find(&Creation::list(), name).is_some() => {
                    creation.set(name, value)?;
                }
                None if find(&Creation::list(), name).is_some() => {
                    let message = format!("{name} is chosen when a database is created");
                    return Err(Stop::refuse(RefusalKind::Invalid, message));
                }
                _ => parameters.set(name, value)?,
            }
        }
        Ok(())
    }

    /// Whether this parameter was chosen.
    pub(crate) fn has(&self, parameter: &str) -> bool {
        self.chosen.iter().any(|chosen| name_in(chosen).eq_ignore_ascii_case(parameter))
    }

    /// Refused if a parameter was chosen twice.
    pub(crate) fn check_given_once(&self) -> Result<(), Stop> {
        check_given_once("--set", &self.chosen)
    }

    /// The options that had an effect, for a command line: of two values of one parameter the last.
    pub(crate) fn again(&self) -> String {
        let is_last = |(at, chosen): &(usize, &String)| {
            let later = &self.chosen[at + 1..];
            !later.iter().any(|other| name_in(other).eq_ignore_ascii_case(name_in(chosen)))
        };
        let last = self.chosen.iter().enumerate().filter(is_last);
        last.map(|(_, chosen)| format!(" --set '{chosen}'")).collect()
    }
}

/// Names and values of what an option was given, `NAME=VALUE` each.
pub(crate) fn named_values(option: &str, chosen: &[String]) -> Result<Vec<(String, String)>, Stop> {
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    chosen.iter().map(|chosen| name_and_value(option, chosen).map(owned)).collect()
}

fn name_and_value<'c>(option: &str, chosen: &'c str) -> Result<(&'c str, &'c str), Stop> {
    match chosen.split_once('=') {
        Some((name, value)) => Ok((name.trim(), value.trim())),
        None => {
            let message = format!("{option} takes NAME=VALUE, not '{chosen}'");
            Err(Stop::refuse(RefusalKind::Invalid, message))
        }
    }
}

/// Refused if this option gives a parameter twice: only one of its values would count.
pub(crate) fn check_given_once(option: &str, chosen: &[String]) -> Result<(), Stop> {
    for (at, later) in chosen.iter().enumerate() {
        let name = name_in(later);
        if chosen[..at].iter().any(|chosen| name_in(chosen).eq_ignore_ascii_case(name)) {
            let message = format!("{option} gives {name} twice: leave one of them out");
            return Err(Stop::refuse(RefusalKind::Invalid, message));
        }
    }
    Ok(())
}

/// The parameter's name in `NAME=VALUE`.
fn name_in(chosen: &str) -> &str {
    chosen.split('=').next().unwrap_or_default().trim()
}

fn find<'l>(list: &'l [ParameterInfo], name: &str) -> Option<&'l ParameterInfo> {
    list.iter().find(|info| info.name.eq_ignore_ascii_case(name))
}

/// `forebay parameters`: which there are, or everything that there is to say of one.
#[derive(Args)]
pub(crate) struct ParametersCommand {
    /// Shows this parameter alone, and in full.
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Prints JSON, for programs; docs/JSON.md lists the keys.
    #[arg(long)]
    json: bool,
}

impl ParametersCommand {
    pub(crate) fn carry_out(&self) -> CommandResult {
        let (opening, creation) = (Parameters::list(), Creation::list());
        let one = match &self.name {
            None => None,
            Some(name) => match find(&opening, name).or_else(|| find(&creation, name)) {
                Some(info) => Some(info),
                // The refusal suggests a name.
                None => return Parameters::default().get(name).map_err(Failure::usage),
            },
        };
        Ok(match (one, self.json) {
            (Some(info), true) => json_page(&in_json(info)),
            (Some(info), false) => in_full(info),
            (None, true) => {
                let all: Vec<Value> = opening.iter().chain(&creation).map(in_json).collect();
                json_page(&Value::from(all))
            }
            (None, false) => list(&opening, &creation),
        })
    }
}

/// All parameters, for a terminal.
fn list(opening: &[ParameterInfo], creation: &[ParameterInfo]) -> String {
    let mut out = String::new();
    for (title, list) in
        [("When an instance opens a database:", opening), ("When a database is created:", creation)]
    {
        out += &format!("{title}\n\n");
        for info in list {
            let (name, default, values) = (info.name, shown_default(info), values(info));
            out += &paragraph(&format!("{name} = {default} ({values})"), "  ");
            let any_time = info.changeable == Changeable::AnyTime;
            let when = if any_time { " Can be changed while it is open." } else { "" };
            out += &paragraph(&format!("{}{when}", info.meaning), "      ");
            if let Some(says) = load_create(info) {
                out += &paragraph(&says, "      ");
            }
        }
        out += "\n";
    }
    let more = "Other parameters, and the machine's memory, may leave less of a range: the refusal \
                says what is left. 'forebay parameters NAME' shows one parameter, and how it is \
                set.";
    out + &paragraph(more, "")
}

/// One parameter, for a terminal.
fn in_full(info: &ParameterInfo) -> String {
    let mut out = format!("{}\n\n{}\n", info.name, paragraph(info.meaning, "  "));
    let set = format!("--set {}=VALUE", info.name);
    let how = match info.changeable {
        Changeable::AtCreation => vec![format!("forebay load create DIR {set}")],
        Changeable::AtOpening => vec![format!("forebay load run DIR {set}")],
        Changeable::AnyTime => vec![
            format!("forebay load run DIR {set}"),
            format!("forebay load run DIR --alter 3:{}=VALUE", info.name),
        ],
    };
    for (label, text) in [
        ("default", shown_default(info)),
        ("allowed", values(info)),
        ("chosen", info.changeable.name().to_string()),
    ] {
        let line = paragraph(&text, "            ");
        out += &format!("  {label:<10}{}", line.trim_start());
    }
    for (index, line) in how.iter().enumerate() {
        out += &format!("  {:<10}{line}\n", if index == 0 { "set by" } else { "" });
    }
    if let Some(says) = load_create(info) {
        out += &format!("\n{}", paragraph(&says, "  "));
    }
    out
}

fn shown_default(info: &ParameterInfo) -> String {
    if info.default.is_empty() { "nothing".to_string() } else { info.default.clone() }
}

/// The allowed values, with their unit.
fn values(info: &ParameterInfo) -> String {
    let unit = if info.unit.is_empty() { String::new() } else { format!(" {}", info.unit) };
    format!("{}{unit}", info.allowed())
}

/// What `load create` chooses instead of the default, as a sentence.
fn load_create(info: &ParameterInfo) -> Option<String> {
    let chosen = chosen_by_load_create(info.name)?;
    Some(format!("'forebay load create' chooses another value: {chosen}."))
}

/// Keys are listed in docs/JSON.md.
fn in_json(info: &ParameterInfo) -> Value {
    let (minimum, maximum, words) = match info.allowed {
        Allowed::Between(least, most) => (Some(least), Some(most), None),
        Allowed::OneOf(words) => (None, None, Some(words)),
        Allowed::Text(_) => (None, None, None),
    };
    json!({
        "name": info.name,
        "meaning": info.meaning,
        "default": info.default,
        "unit": info.unit,
        "minimum": minimum,
        "maximum": maximum,
        "words": words,
        "allowed": info.allowed(),
        "chosen": info.changeable.name(),
        "load_create": chosen_by_load_create(info.name),
    })
}
