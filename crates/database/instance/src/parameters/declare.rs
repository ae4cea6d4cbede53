//! The declaration of a parameter: once, with its default, limits, unit and meaning.
//!
//! Help, the reference in `docs/PARAMETERS.md`, setting by name, and the check of the range all
//! come from the declaration.
//!
//! Callers: the lists in `parameters`.

use ids::BlockSize;
use os::FilesystemIo;
use os::probe::DurableWrite;
use redo::{CommitLeader, CommitLogging, CommitWait};
use stop::{RefusalKind, Stop, did_you_mean};

use super::{Creation, Parameters};
use crate::scheduling::{ProcessAffinity, ProcessPatterns};

/// When a parameter can be chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Changeable {
    /// When the database is created, and never again.
    AtCreation,
    /// When an instance opens the database.
    AtOpening,
    /// When an instance opens the database, and while it is open.
    AnyTime,
}

impl Changeable {
    /// The time in words.
    pub const fn name(self) -> &'static str {
        match self {
            Changeable::AtCreation => "at creation",
            Changeable::AtOpening => "at opening",
            Changeable::AnyTime => "at any time",
        }
    }
}

/// Which values a parameter takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Allowed {
    /// A number within these limits, both included.
    Between(u64, u64),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A text, described by these words.
    Text(&'static str),
}

/// The declaration of a parameter.
#[derive(Clone, Debug)]
pub struct ParameterInfo {
    /// The name; Oracle's where the meaning is Oracle's.
    pub name: &'static str,
    /// The unit; empty if the value is no number.
    pub unit: &'static str,
    /// The effect, in one sentence.
    pub meaning: &'static str,
    /// The default, as a user writes it.
    pub default: String,
    /// The allowed values.
    pub allowed: Allowed,
    /// When it can be chosen.
    pub changeable: Changeable,
}

impl ParameterInfo {
    /// The allowed values in words.
    pub fn allowed(&self) -> String {
        match self.allowed {
            Allowed::OneOf(words) => words.join(", "),
            Allowed::Text(words) => words.to_string(),
            Allowed::Between(least, most) => {
                let show =
                    |number| if self.unit == BYTES { sized(number) } else { number.to_string() };
                format!("{} to {}", show(least), show(most))
            }
        }
    }

    /// Reads a value. The refusal of a text that isn't allowed quotes it, and names what is.
    pub(super) fn read<T: Value>(&self, text: &str) -> Result<T, Stop> {
        let value = T::read(text).filter(|value| self.allows(value));
        value.ok_or_else(|| self.refusal(text))
    }

    pub(super) fn check<T: Value>(&self, value: &T) -> Result<(), Stop> {
        match self.allows(value) {
            true => Ok(()),
            false => Err(self.refusal(&show(value, self.unit))),
        }
    }

    fn allows<T: Value>(&self, value: &T) -> bool {
        match (self.allowed, value.number()) {
            (Allowed::Between(least, most), Some(number)) => (least..=most).contains(&number),
            _ => true,
        }
    }

    fn refusal(&self, value: &str) -> Stop {
        let value = if value.trim().is_empty() { "''" } else { value };
        let message = format!("{} is {value}: choose {}", self.name, self.allowed());
        Stop::refuse(RefusalKind::Invalid, message)
    }
}

/// The unit of a size, which is shown with `k`, `m`, `g` or `t`.
pub(super) const BYTES: &str = "bytes";

/// A type that a parameter can have.
pub(super) trait Value: Sized {
    /// Reads the value as a user writes it; `None` if the text means nothing.
    fn read(text: &str) -> Option<Self>;
    /// The value as a user would write it.
    fn show(&self) -> String;
    /// The number that is compared with limits.
    fn number(&self) -> Option<u64> {
        None
    }
}

const SUFFIXES: [(&str, u32); 4] = [("t", 40), ("g", 30), ("m", 20), ("k", 10)];

/// A number of bytes in the largest unit of which it is a whole multiple.
pub(super) fn sized(bytes: u64) -> String {
    let whole = |shift: u32| bytes != 0 && bytes.trailing_zeros() >= shift;
    let suffix = SUFFIXES.iter().find(|(_, shift)| whole(*shift));
    suffix
        .map_or_else(|| bytes.to_string(), |(letter, shift)| format!("{}{letter}", bytes >> shift))
}

/// Reads a whole number as people write sizes: `65536`, `64k`, `64K`, `64kb`, `64 KiB`. Every unit
/// is 1,024 times the one before, however it is spelt.
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = (&text[..end], text[end..].trim_start());
    let is_unit = |letter: &str| {
        unit.strip_prefix(letter).is_some_and(|rest| ["", "b", "ib"].contains(&rest))
    };
    let shift = match SUFFIXES.iter().find(|(letter, _)| is_unit(letter)) {
        Some((_, shift)) => *shift,
        None if ["", "b"].contains(&unit) => 0,
        None => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Value for $type {
            fn read(text: &str) -> Option<$type> {
                <$type>::try_from(parse_size(text)?).ok()
            }

            fn show(&self) -> String {
                self.to_string()
            }

            fn number(&self) -> Option<u64> {
                Some(u64::from(*self))
            }
        }
    )*};
}

numbers!(u16, u32, u64);

pub(super) const BOOLEANS: Allowed = Allowed::OneOf(&["true", "false"]);

impl Value for bool {
    fn read(text: &str) -> Option<bool> {
        text.to_ascii_lowercase().parse().ok()
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

pub(super) const BLOCK_SIZES: Allowed = Allowed::OneOf(&["2k", "4k", "8k", "16k", "32k"]);

impl Value for BlockSize {
    fn read(text: &str) -> Option<BlockSize> {
        BlockSize::new(usize::try_from(parse_size(text)?).ok()?)
    }

    fn show(&self) -> String {
        sized(self.bytes() as u64)
    }
}

/// Declares the words of a choice, each with its variant.
macro_rules! choices {
    ($words:ident: $type:ident { $($word:literal $variant:ident),* }) => {
        pub(super) const $words: Allowed = Allowed::OneOf(&[$($word),*]);

        impl Value for $type {
            fn read(text: &str) -> Option<$type> {
                let all = [$(($word, $type::$variant)),*];
                let found = all.into_iter().find(|(word, _)| word.eq_ignore_ascii_case(text));
                found.map(|(_, choice)| choice)
            }

            fn show(&self) -> String {
                match self {
                    $($type::$variant => $word.to_string(),)*
                }
            }
        }
    };
}

choices!(COMMIT_LEADERS: CommitLeader { "session" Session, "lgwr" Lgwr });
choices!(COMMIT_WAITS: CommitWait { "wait" Wait, "nowait" Nowait });
choices!(COMMIT_LOGGINGS: CommitLogging { "immediate" Immediate, "batch" Batch });

pub(super) const FILESYSTEM_IO: Allowed = Allowed::OneOf(&["none", "asynch", "directio", "setall"]);

impl Value for FilesystemIo {
    fn read(text: &str) -> Option<FilesystemIo> {
        text.parse().ok()
    }

    fn show(&self) -> String {
        self.name().to_string()
    }
}

/// The word for the way that a probe finds fastest.
const PROBED: &str = "probed";

pub(super) const REDO_WRITES: Allowed = Allowed::OneOf(&[
    PROBED,
    "direct O_DSYNC",
    "direct + sync",
    "buffered O_DSYNC",
    "buffered + sync",
]);

impl Value for Option<DurableWrite> {
    fn read(text: &str) -> Option<Option<DurableWrite>> {
        if text.eq_ignore_ascii_case(PROBED) {
            return Some(None);
        }
        let found = |way: &DurableWrite| way.name().eq_ignore_ascii_case(text);
        DurableWrite::ALL.into_iter().find(found).map(Some)
    }

    fn show(&self) -> String {
        self.map_or(PROBED, DurableWrite::name).to_string()
    }
}

pub(super) const PROCESS_PATTERNS: Allowed = Allowed::Text(
    "nothing, or names (`lgwr`, `ckpt`, `smco`, `dbw0`, `dbw*`) with bars between them",
);

impl Value for ProcessPatterns {
    fn read(text: &str) -> Option<ProcessPatterns> {
        ProcessPatterns::read(text)
    }

    fn show(&self) -> String {
        self.show()
    }
}

pub(super) const PROCESS_AFFINITY: Allowed =
    Allowed::Text("nothing, or such names with CPUs (`dbw*:0-3`, `lgwr:5`) with bars between them");

impl Value for ProcessAffinity {
    fn read(text: &str) -> Option<ProcessAffinity> {
        ProcessAffinity::read(text)
    }

    fn show(&self) -> String {
        self.show()
    }
}

/// Declares the parameters of a structure: each with its meaning, type, default, unit and allowed
/// values, and with the time at which it can be changed if that differs from the structure's.
macro_rules! declared {
    (
        $(#[$about:meta])*
        pub struct $structure:ident, $changeable:ident;
        $($meaning:literal
            $name:ident: $type:ty = $default:expr, $unit:expr, $allowed:expr $(, $when:ident)?;)*
        $(beside
            $($(#[$beside_about:meta])* $beside:ident: $beside_type:ty = $beside_default:expr;)+)?
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug)]
        pub struct $structure {
            $(#[doc = $meaning] pub $name: $type,)*
            $($($(#[$beside_about])* pub $beside: $beside_type,)+)?
        }

        impl Default for $structure {
            fn default() -> $structure {
                $structure { $($name: $default,)* $($($beside: $beside_default,)+)? }
            }
        }

        impl $structure {
            /// The declarations of these parameters, in the order of the list.
            pub fn list() -> Vec<ParameterInfo> {
                let defaults = $structure::default();
                vec![$(ParameterInfo {
                    name: stringify!($name),
                    unit: $unit,
                    meaning: $meaning,
                    default: show(&defaults.$name, $unit),
                    allowed: $allowed,
                    changeable: declared!(@when $changeable $(, $when)?),
                },)*]
            }

            /// Sets the parameter `name` to what a user writes.
            pub fn set(&mut self, name: &str, value: &str) -> Result<(), Stop> {
                let info = $structure::info(name)?;
                match info.name {
                    $(stringify!($name) => self.$name = info.read(value)?,)*
                    _ => unreachable!("the list has only these"),
                }
                Ok(())
            }

            /// The value of `name`, as a user writes it.
            pub fn get(&self, name: &str) -> Result<String, Stop> {
                let info = $structure::info(name)?;
                Ok(match info.name {
                    $(stringify!($name) => show(&self.$name, $unit),)*
                    _ => unreachable!("the list has only these"),
                })
            }

            /// Checks the value of each parameter by itself.
            pub(crate) fn check_each(&self) -> Result<(), Stop> {
                let list = $structure::list();
                let mut infos = list.iter();
                $(infos.next().expect("one for each").check(&self.$name)?;)*
                Ok(())
            }

            /// The declaration of the parameter `name`.
            pub(crate) fn info(name: &str) -> Result<ParameterInfo, Stop> {
                let list = $structure::list();
                let found = list.into_iter().find(|info| info.name.eq_ignore_ascii_case(name));
                found.ok_or_else(|| unknown_parameter(name))
            }
        }
    };
    (@when $usual:ident) => { Changeable::$usual };
    (@when $usual:ident, $when:ident) => { Changeable::$when };
}

pub(super) use declared;

/// The refusal of a name that no parameter has, with the one that may have been meant.
pub(super) fn unknown_parameter(name: &str) -> Stop {
    let names = Parameters::list().into_iter().chain(Creation::list()).map(|info| info.name);
    let meant = did_you_mean(name, names);
    let message = format!(
        "there is no parameter {name} to be chosen here; 'forebay parameters' lists those that \
         are{meant}"
    );
    Stop::refuse(RefusalKind::Invalid, message)
}

/// A value as a user would write it, bytes as short as possible.
pub(super) fn show<T: Value>(value: &T, unit: &str) -> String {
    match value.number() {
        Some(number) if unit == BYTES => sized(number),
        _ => value.show(),
    }
}
