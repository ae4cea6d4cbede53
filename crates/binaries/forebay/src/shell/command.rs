//! Commands of the shell: lines that begin with a backslash, or with a word by which other shells
//! are commanded.
//!
//! Callers: `shell`; `complete` for their names.

use std::time::Duration;

use clap::ValueEnum;
use stop::did_you_mean;

use super::backend::{Describe, Failure};
use super::display::{Expanded, Format};

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
    /// `\format`; none asks for the present one.
    Format(Option<Format>),
    /// `\t`.
    RowsOnly(Option<bool>),
    /// `\pager`.
    Pager(Option<bool>),
    /// `\i file`.
    Include(String),
    /// `\o file`; none for the terminal again.
    Output(Option<String>),
    /// `\copy ...`, as it stands.
    Copy(String),
    /// `\echo ...`.
    Echo(String),
    /// `\e`.
    Edit,
    /// `\g`, `\gx`.
    Again {
        /// Whether each value has a line of its own.
        is_expanded: bool,
    },
    /// `\watch [seconds]`.
    Watch(Duration),
}

/// How long `\watch` waits between two runs.
const WATCH: Duration = Duration::from_secs(2);
/// The most that can be asked for.
const WATCH_SECONDS_MAX: f64 = 86_400.0;

/// The bytes of a name from which on it is looked for commands with nearly the same.
const LONG_NAME: usize = 5;

/// All commands: name, what stands behind it, what it does.
static ALL: [[&str; 3]; 21] = [
    ["\\q", "", "leaves the shell; so do exit, quit and Ctrl-D"],
    ["\\?", "", "shows this; so does help"],
    ["\\d", "[name|pattern]", "lists tables, views, sequences; describes one"],
    ["\\dt", "[pattern]", "lists tables; * stands for any characters, ? for one"],
    ["\\di", "[pattern]", "lists indexes"],
    ["\\ds", "[pattern]", "lists sequences"],
    ["\\dv", "[pattern]", "lists views; those of the system too: \\dv v$*"],
    ["\\timing", "[on|off]", "shows how long each statement takes"],
    ["\\waits", "[on|off]", "shows where the time of each statement went"],
    ["\\x", "[on|off|auto]", "shows one value a line; auto: if columns don't fit"],
    ["\\format", "[form]", "shows rows as aligned, csv, json, markdown, unaligned"],
    ["\\t", "[on|off]", "shows rows without the names of columns"],
    ["\\pager", "[on|off]", "shows long answers page by page, or all at once"],
    ["\\g", "", "runs the last statement again; \\gx: one value a line"],
    ["\\watch", "[seconds]", "runs it again and again, until Ctrl-C"],
    ["\\e", "", "opens the last statement in your editor, and runs it"],
    ["\\i", "file", "runs the statements and commands of a file"],
    ["\\o", "[file]", "writes answers into a file, or to the terminal again"],
    ["\\copy", "...", "is COPY with a path from the shell's directory on"],
    ["\\echo", "text", "shows a text"],
    ["\\gx", "", "runs the last statement again, one value a line"],
];

/// All commands, for help and completion.
pub(crate) fn all() -> impl Iterator<Item = &'static [&'static str; 3]> {
    ALL.iter()
}

/// What `\?` shows.
pub(crate) fn help() -> String {
    let mut text = String::from(
        "Statements end with a semicolon, or with \\g, and may have several lines.\n\
         Commands of the shell:\n\n",
    );
    for [name, argument, does] in all().filter(|[name, ..]| *name != "\\gx") {
        let call = format!("{name} {argument}");
        text += &format!("  {call:<22} {does}\n");
    }
    text + "\n\\g, \\gx and \\watch may stand behind a statement in place of the semicolon.\n\
            \\o | program and PAGER=program give answers to a program.\n\
            SQL*Plus's desc name, @file and / are understood too.\n\
            Ctrl-C cancels the statement that runs, or empties the line.\n\
            Tab completes words, tables and columns.\n"
}

/// Whether a line is a command, where a statement would begin.
pub(crate) fn is_command(line: &str) -> bool {
    let first = line.trim_start().lines().next().unwrap_or_default();
    named(first.trim_end()).0.starts_with('\\')
}

/// The command that a line without blanks around it names, and what stands behind it.
fn named(line: &str) -> (&str, &str) {
    if let Some(file) = line.strip_prefix('@') {
        return ("\\i", file);
    }
    let (word, rest) = match line.find(char::is_whitespace) {
        Some(at) => line.split_at(at),
        None => (line, ""),
    };
    let word = word.trim_end_matches(';');
    let name = match word.to_ascii_lowercase().as_str() {
        "exit" | "quit" => "\\q",
        "help" => "\\?",
        "desc" | "describe" => "\\d",
        "/" if rest.is_empty() => "\\g",
        // As psql has them: what it shows more of is shown anyhow.
        _ if word.starts_with("\\d") => word.trim_end_matches(['+', 'S']),
        _ => word,
    };
    (name, rest)
}

/// Reads a line that is a command.
pub(crate) fn parse(line: &str) -> Result<Command, Failure> {
    let (name, rest) = named(line.trim());
    let bare = rest.trim().trim_end_matches(';').trim_end();
    let argument = unquoted(bare);
    let given = (!argument.is_empty()).then(|| argument.clone());
    Ok(match name {
        "\\q" => Command::Quit,
        "\\?" | "\\h" | "\\help" => Command::Help,
        "\\d" => Command::Describe(match bare {
            "" => Describe::All,
            name => Describe::Object(name.to_owned()),
        }),
        "\\dt" => Command::Describe(Describe::Tables(given)),
        "\\di" => Command::Describe(Describe::Indexes(given)),
        "\\ds" => Command::Describe(Describe::Sequences(given)),
        "\\dv" => Command::Describe(Describe::Views(given)),
        "\\timing" => Command::Timing(on_off(name, given)?),
        "\\waits" => Command::Waits(on_off(name, given)?),
        "\\t" => Command::RowsOnly(on_off(name, given)?),
        "\\pager" => Command::Pager(on_off(name, given)?),
        "\\x" => Command::Expanded(match given.as_deref() {
            Some(auto) if auto.eq_ignore_ascii_case("auto") => Some(Expanded::Auto),
            _ => on_off(name, given)?.map(|on| if on { Expanded::On } else { Expanded::Off }),
        }),
        "\\format" => Command::Format(given.map(|given| format(&given)).transpose()?),
        "\\pset" => pset(&argument)?,
        "\\i" => match given {
            Some(file) => Command::Include(file),
            None => return Err(Failure::of_shell("\\i needs the name of a file")),
        },
        "\\o" if bare == "|" => {
            return Err(Failure::of_shell("\\o | needs the name of a program"));
        }
        "\\o" => Command::Output(given),
        "\\copy" => Command::Copy(rest.trim().trim_end_matches(';').into()),
        "\\echo" => Command::Echo(unquoted(rest.trim())),
        "\\e" | "\\edit" => Command::Edit,
        "\\g" | "\\gx" => Command::Again { is_expanded: name == "\\gx" },
        "\\watch" => Command::Watch(seconds(given)?),
        _ => {
            // A short name is near to many, and none of them is meant.
            let is_long = name.len() >= LONG_NAME;
            let meant = match is_long {
                true => did_you_mean(name, all().map(|[name, ..]| *name)),
                false => String::new(),
            };
            let say = format!("there is no command {name}{meant}");
            return Err(Failure { hint: Some("\\? lists them".into()), ..Failure::of_shell(say) });
        }
    })
}

/// A text without the single quotes around it.
pub(super) fn unquoted(text: &str) -> String {
    let inner = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    inner.map_or_else(|| text.to_owned(), |inner| inner.replace("''", "'"))
}

fn on_off(name: &str, given: Option<String>) -> Result<Option<bool>, Failure> {
    let Some(given) = given else { return Ok(None) };
    match given.to_ascii_lowercase().as_str() {
        "on" => Ok(Some(true)),
        "off" => Ok(Some(false)),
        _ => {
            Err(Failure::of_shell(format!("{name} is on or off, not {given}; nothing was changed")))
        }
    }
}

fn format(given: &str) -> Result<Format, Failure> {
    Format::from_str(given, true).map_err(|_| {
        let names: Vec<String> = formats().collect();
        Failure::of_shell(format!("rows are shown as {}, not as {given}", names.join(", ")))
    })
}

/// The names of all forms of rows.
pub(crate) fn formats() -> impl Iterator<Item = String> {
    let values = Format::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    values.map(|value| value.get_name().to_owned())
}

/// psql's word for the ways of showing rows.
fn pset(argument: &str) -> Result<Command, Failure> {
    match argument.split_whitespace().collect::<Vec<_>>()[..] {
        ["format", given] => Ok(Command::Format(Some(format(given)?))),
        ["expanded" | "x"] => Ok(Command::Expanded(None)),
        ["pager"] => Ok(Command::Pager(None)),
        ["tuples_only" | "t"] => Ok(Command::RowsOnly(None)),
        _ => {
            let say = "\\pset knows format NAME, expanded, pager and tuples_only";
            Err(Failure { hint: Some("\\? lists all".into()), ..Failure::of_shell(say) })
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
            ("\\d+ \"A b\"", Command::Describe(Describe::Object("\"A b\"".into()))),
            ("\\dt  ord* ", Command::Describe(Describe::Tables(Some("ord*".into())))),
            ("\\timing", Command::Timing(None)),
            ("\\waits on", Command::Waits(Some(true))),
            ("\\x auto", Command::Expanded(Some(Expanded::Auto))),
            ("\\x off", Command::Expanded(Some(Expanded::Off))),
            ("\\x AUTO", Command::Expanded(Some(Expanded::Auto))),
            ("\\timing ON", Command::Timing(Some(true))),
            ("\\format CSV", Command::Format(Some(Format::Csv))),
            ("\\pset format json", Command::Format(Some(Format::Json))),
            ("\\t", Command::RowsOnly(None)),
            ("\\pager off", Command::Pager(Some(false))),
            ("\\i 'a b.sql'", Command::Include("a b.sql".into())),
            ("\\o", Command::Output(None)),
            ("\\o | wc -l", Command::Output(Some("| wc -l".into()))),
            ("\\copy t from 'f' csv;", Command::Copy("t from 'f' csv".into())),
            ("\\echo 'it''s done;'", Command::Echo("it's done;".into())),
            ("\\gx", Command::Again { is_expanded: true }),
            ("\\watch", Command::Watch(WATCH)),
            ("\\watch 0.5", Command::Watch(Duration::from_millis(500))),
        ] {
            assert_eq!(parse(line), Ok(command), "{line}");
        }
    }

    #[test]
    fn words_of_other_shells_are_understood() {
        for (line, command) in [
            ("exit", Command::Quit),
            ("QUIT;", Command::Quit),
            ("help", Command::Help),
            ("desc account", Command::Describe(Describe::Object("account".into()))),
            ("@load.sql", Command::Include("load.sql".into())),
            ("/", Command::Again { is_expanded: false }),
        ] {
            assert!(is_command(line), "{line}");
            assert_eq!(parse(line), Ok(command), "{line}");
        }
        for line in ["", "select 1", "/* c */ select", "-- desc", "exits", "(select 1)", "1\\d"] {
            assert!(!is_command(line), "{line}");
        }
    }

    #[test]
    fn what_is_no_command_is_refused_with_one_that_may_be_meant() {
        let refused = |line: &str| parse(line).expect_err(line).message;
        assert_eq!(refused("\\timng"), "there is no command \\timng; did you mean \\timing?");
        for short in ["\\l", "\\df", "\\set", "\\!"] {
            assert_eq!(refused(short), format!("there is no command {short}"));
        }
        assert!(refused("\\waits maybe").contains("on or off"));
        assert!(refused("\\o |").contains("the name of a program"));
        assert!(refused("\\watch -1").contains("seconds"));
        assert!(refused("\\watch inf").contains("seconds"));
        assert!(refused("\\i").contains("the name of a file"));
        assert!(refused("\\format xml").contains("aligned, csv, json, markdown, unaligned"));
        assert!(refused("\\pset border 2").contains("format NAME"));
    }

    #[test]
    fn help_names_all_commands_in_80_columns() {
        let text = help();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(all().all(|[name, ..]| text.contains(name)));
    }
}
