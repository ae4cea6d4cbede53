//! `v$parameter` and `pg_settings`: how the instance runs.

use instance::{Allowed, Changeable, ParameterInfo, Parameters, parse_size};
use stop::Stop;
use value::Value;

use crate::Engine;
use crate::cells::{length, text_or_null};
use crate::view::{Give, View, int, text, truth};

pub(crate) const VIEWS: &[View] = &[
    View::new(
        "v$parameter",
        "one row for each parameter of the instance",
        &[
            int("num", "its place in the list of this version"),
            text("name", "its name"),
            int("type", "1 a truth value, 2 a text, 3 a number, 6 a number of bytes"),
            text("value", "its value; a number of bytes in digits"),
            text("display_value", "its value as a user writes it"),
            text("default_value", "its default as a user writes it"),
            text("isdefault", "TRUE: it has its default; else FALSE"),
            text("isses_modifiable", "FALSE: it is the same for all sessions"),
            text("issys_modifiable", "IMMEDIATE: it can be changed at any time; else FALSE"),
            text("unit", "the unit of a number"),
            text("allowed", "the allowed values"),
            text("description", "what it decides"),
        ],
        parameters,
    )
    .expecting(40),
    View::new(
        "pg_settings",
        "one row for each parameter of the instance, and for what clients of PostgreSQL ask",
        &[
            text("name", "its name"),
            text("setting", "its value; a number of bytes in digits"),
            text("unit", "the unit of a number"),
            text("category", "the group that it is in"),
            text("short_desc", "what it decides"),
            text("extra_desc", "NULL"),
            text("context", "internal, postmaster (at opening) or superuser (at any time)"),
            text("vartype", "bool, enum, integer or string"),
            text("source", "default, or configuration file: chosen at opening or since"),
            text("min_val", "the least number"),
            text("max_val", "the greatest number"),
            text("enumvals", "the allowed words"),
            text("boot_val", "its default"),
            text("reset_val", "its value"),
            text("sourcefile", "NULL"),
            int("sourceline", "NULL"),
            truth("pending_restart", "false"),
        ],
        settings,
    )
    .expecting(40),
];

/// A parameter with its value.
struct Shown {
    info: ParameterInfo,
    /// As a user writes it.
    display: String,
    /// The same, with bytes in digits.
    plain: String,
}

/// The unit of parameters that are numbers of bytes.
const BYTES: &str = "bytes";

/// The block size, which was chosen when the database was created.
const BLOCK_SIZE: &str = "db_block_size";

/// The parameters, and the block size of the database.
fn shown(engine: &Engine<'_>) -> Result<Vec<Shown>, Stop> {
    let parameters = engine.instance.parameters_shown(engine.session);
    let mut all = Vec::new();
    for info in Parameters::list() {
        let display = parameters.get(info.name)?;
        let bytes = (info.unit == BYTES).then(|| parse_size(&display)).flatten();
        let plain = bytes.map_or_else(|| display.clone(), |bytes| bytes.to_string());
        all.push(Shown { info, display, plain });
    }
    let created = instance::Creation::list().into_iter().find(|info| info.name == BLOCK_SIZE);
    if let Some(info) = created {
        let bytes = engine.instance.cache().block_size().bytes();
        let (display, plain) = (format!("{}k", bytes >> 10), bytes.to_string());
        all.push(Shown { info: ParameterInfo { unit: BYTES, ..info }, display, plain });
    }
    Ok(all)
}

impl Shown {
    fn is_truth(&self) -> bool {
        matches!(self.info.allowed, Allowed::OneOf(["true", "false"]))
    }

    /// Oracle's number of its type.
    fn kind(&self) -> i64 {
        match self.info.allowed {
            _ if self.is_truth() => 1,
            _ if self.info.unit == BYTES => 6,
            Allowed::Between(..) => 3,
            Allowed::OneOf(_) | Allowed::Text(_) => 2,
        }
    }

    fn is_default(&self) -> bool {
        self.display == self.info.default
    }

    fn unit(&self) -> Option<&'static str> {
        Some(self.info.unit).filter(|unit| !unit.is_empty())
    }
}

/// `TRUE` or `FALSE`, as Oracle writes it here.
fn word(is: bool) -> Value<'static> {
    Value::Text(if is { "TRUE" } else { "FALSE" })
}

fn parameters(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    for (number, one) in shown(engine)?.iter().enumerate() {
        let is_changeable = one.info.changeable == Changeable::AnyTime;
        give(&[
            length(number + 1),
            Value::Text(one.info.name),
            Value::Int(one.kind()),
            Value::Text(&one.plain),
            Value::Text(&one.display),
            Value::Text(&one.info.default),
            word(one.is_default()),
            word(false),
            Value::Text(if is_changeable { "IMMEDIATE" } else { "FALSE" }),
            text_or_null(one.unit()),
            Value::Text(&one.info.allowed()),
            Value::Text(one.info.meaning),
        ])?;
    }
    Ok(())
}

/// What clients of PostgreSQL ask about, with the one value that it has here.
const FIXED: &[(&str, &str, &str)] = &[
    ("client_encoding", "UTF8", "The encoding of texts that clients send and get."),
    ("integer_datetimes", "on", "Moments are whole microseconds."),
    ("server_encoding", "UTF8", "The encoding of texts in the database."),
    ("standard_conforming_strings", "on", "A backslash in a text stands for itself."),
    ("TimeZone", "UTC", "The time zone of the present."),
];

fn settings(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    for one in shown(engine)? {
        setting(&one, give)?;
    }
    for (name, value, meaning) in FIXED {
        give(&[
            Value::Text(name),
            Value::Text(value),
            Value::Null,
            Value::Text("Client"),
            Value::Text(meaning),
            Value::Null,
            Value::Text("internal"),
            Value::Text("string"),
            Value::Text("default"),
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Text(value),
            Value::Text(value),
            Value::Null,
            Value::Null,
            Value::Boolean(false),
        ])?;
    }
    Ok(())
}

fn setting(one: &Shown, give: &mut Give<'_>) -> Result<(), Stop> {
    let context = match one.info.changeable {
        Changeable::AtCreation => "internal",
        Changeable::AtOpening => "postmaster",
        Changeable::AnyTime => "superuser",
    };
    let kind = match one.info.allowed {
        _ if one.is_truth() => "bool",
        Allowed::OneOf(_) => "enum",
        Allowed::Between(..) => "integer",
        Allowed::Text(_) => "string",
    };
    let (least, most, words) = match one.info.allowed {
        Allowed::Between(least, most) => (Some(least.to_string()), Some(most.to_string()), None),
        Allowed::OneOf(words) => (None, None, Some(format!("{{{}}}", words.join(",")))),
        Allowed::Text(_) => (None, None, None),
    };
    give(&[
        Value::Text(one.info.name),
        Value::Text(&one.plain),
        text_or_null(one.unit()),
        Value::Text("Instance"),
        Value::Text(one.info.meaning),
        Value::Null,
        Value::Text(context),
        Value::Text(kind),
        Value::Text(if one.is_default() { "default" } else { "configuration file" }),
        text_or_null(least.as_deref()),
        text_or_null(most.as_deref()),
        text_or_null(words.as_deref()),
        Value::Text(&one.info.default),
        Value::Text(&one.plain),
        Value::Null,
        Value::Null,
        Value::Boolean(false),
    ])
}
