//! Commands of the shell: lines that begin with a backslash.
//!
//! Callers: `shell`; `complete` for their names.

use std::time::Duration;

use stop::did_you_mean;

use super::backend::{Describe, Failure};
use super::display::Expanded;

/// A command.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Command {
    /// `\q`.
    Quit,
    /// `\?`.
    Help,
    /// `\d` and its like.
    Describe(Describe),
    /// `\timing`: on, off, or the other way.
    Timing(Option<bool>),
    /// `\waits`.
    Waits(Option<bool>),
    /// `\x`.
    Expanded(Option<Expanded>),
    /// `\i file`.
    Include(String),
    /// `\o file`; none for the terminal again.
    Output(Option<String>),
    /// `\copy ...`, as it stands.
    Copy(String),
    /// `\watch [seconds]`.
    Watch(Duration),
}

/// How long `\watch` waits between two runs.
const WATCH: Duration = Duration::from_secs(2);
/// The most that can be asked for.
const WATCH_SECONDS_MAX: f64 = 86_400.0;

/// All commands: name, what stands behind it, what it does.
static ALL: [[&str; 3]; 13] = [
    ["\\q", "", "leaves the shell; so does Ctrl-D"],
    ["\\?", "", "shows this"],
    ["\\d", "[name]", "lists tables, views and sequences, or describes one"],
    ["\\dt", "[pattern]", "lists tables; * stands for any characters, ? for one"],
    ["\\di", "[pattern]", "lists indexes"],
    ["\\dv", "[pattern]", "lists views"],
    ["\\timing", "[on|off]", "shows how long each statement takes"],
    ["\\waits", "[on|off]", "shows where the time of each statement went"],
    ["\\x", "[on|off|auto]", "shows one value a line; auto: if columns don't fit"],
    ["\\i", "file", "runs the statements and commands of a file"],
    ["\\o", "[file]", "writes answers into a file, or to the terminal again"],
    ["\\copy", "...", "is COPY with a path from the shell's directory on"],
    ["\\watch", "[seconds]", "runs the last statement again and again, until Ctrl-C"],
];

/// All commands, for help and completion.
pub(crate) fn all() -> impl Iterator<Item = &'static [&'static str; 3]> {
    ALL.iter()
}

/// What `\?` shows.
pub(crate) fn help() -> String {
    let mut text = String::from(
        "Statements end with a semicolon and may have several lines.\nCommands of the shell:\n\n",
    );
    for [name, argument, does] in all() {
        let call = format!("{name} {argument}");
        text += &format!("  {call:<22} {does}\n");
    }
    text + "\nCtrl-C cancels the statement that runs, or empties the line.\n\
            Tab completes words, tables and columns.\n"
}

/// Reads a line that begins with a backslash.
pub(crate) fn parse(line: &str) -> Result<Command, Failure> {
    let line = line.trim();
    let (name, rest) = match line.find(char::is_whitespace) {
        Some(at) => line.split_at(at),
        None => (line, ""),
    };
    let argument = unquoted(rest.trim().trim_end_matches(';').trim_end());
    let given = (!argument.is_empty()).then(|| argument.clone());
    let command = match name {
        "\\q" => Command::Quit,
        "\\?" | "\\h" | "\\help" => Command::Help,
        "\\d" => Command::Describe(given.map_or(Describe::All, Describe::Object)),
        "\\dt" => Command::Describe(Describe::Tables(given)),
        "\\di" => Command::Describe(Describe::Indexes(given)),
        "\\dv" => Command::Describe(Describe::Views(given)),
        "\\timing" => Command::Timing(on_off(name, given)?),
        "\\waits" => Command::Waits(on_off(name, given)?),
        "\\x" => Command::Expanded(match given.as_deref() {
            Some("auto") => Some(Expanded::Auto),
            _ => on_off(name, given)?.map(|on| if on { Expanded::On } else { Expanded::Off }),
        }),
        "\\i" => match given {
            Some(file) => Command::Include(file),
            None => return Err(Failure::of_shell("\\i needs the name of a file")),
        },
        "\\o" => Command::Output(given),
        "\\copy" => Command::Copy(rest.trim().trim_end_matches(';').into()),
        "\\watch" => Command::Watch(seconds(given)?),
        _ => {
            let meant = did_you_mean(name, all().map(|[name, ..]| *name));
            let say = format!("there is no command {name}{meant}");
            return Err(Failure { hint: Some("\\? lists them".into()), ..Failure::of_shell(say) });
        }
    };
    Ok(command)
}

/// A text without the single quotes around it.
fn unquoted(text: &str) -> String {
    let inner = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    inner.map_or_else(|| text.to_owned(), |inner| inner.replace("''", "'"))
}

fn on_off(name: &str, given: Option<String>) -> Result<Option<bool>, Failure> {
    match given.as_deref() {
        None => Ok(None),
        Some("on") => Ok(Some(true)),
        Some("off") => Ok(Some(false)),
        Some(other) => {
            Err(Failure::of_shell(format!("{name} is on or off, not {other}; nothing was changed")))
        }
    }
}

fn seconds(given: Option<String>) -> Result<Duration, Failure> {
    let Some(given) = given else { return Ok(WATCH) };
    match given.parse::<f64>() {
        Ok(seconds) if (0.0..=WATCH_SECONDS_MAX).contains(&seconds) => {
            Ok(Duration::from_secs_f64(seconds))
        }
        _ => Err(Failure::of_shell(format!("\\watch waits for seconds, not for {given}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_with_what_stands_behind_them() {
        for (line, command) in [
            ("\\q", Command::Quit),
            ("\\d", Command::Describe(Describe::All)),
            ("\\d s.orders;", Command::Describe(Describe::Object("s.orders".into()))),
            ("\\dt  ord* ", Command::Describe(Describe::Tables(Some("ord*".into())))),
            ("\\timing", Command::Timing(None)),
            ("\\waits on", Command::Waits(Some(true))),
            ("\\x auto", Command::Expanded(Some(Expanded::Auto))),
            ("\\x off", Command::Expanded(Some(Expanded::Off))),
            ("\\i 'a b.sql'", Command::Include("a b.sql".into())),
            ("\\o", Command::Output(None)),
            ("\\copy t from 'f' csv;", Command::Copy("t from 'f' csv".into())),
            ("\\watch", Command::Watch(WATCH)),
            ("\\watch 0.5", Command::Watch(Duration::from_millis(500))),
        ] {
            assert_eq!(parse(line), Ok(command), "{line}");
        }
    }

    #[test]
    fn what_is_no_command_is_refused_with_one_that_may_be_meant() {
        let refused = |line: &str| parse(line).expect_err(line).message;
        assert_eq!(refused("\\timng"), "there is no command \\timng; did you mean \\timing?");
        assert!(refused("\\waits maybe").contains("on or off"));
        assert!(refused("\\watch -1").contains("seconds"));
        assert!(refused("\\watch inf").contains("seconds"));
        assert!(refused("\\i").contains("the name of a file"));
    }

    #[test]
    fn help_names_all_commands_in_80_columns() {
        let text = help();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(all().all(|[name, ..]| text.contains(name)));
    }
}
