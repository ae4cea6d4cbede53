//! The file of an experiment: what is asked, which settings are compared, on which load.
//!
//! ```toml
//! question = "is it worth having eight database writers rather than one?"
//! measure = "throughput"               # or latency-median, latency-99, latency-99.9
//! matters = 2.0                        # per cent of that
//! budget = 300                         # seconds, or a text: "5m"
//!
//! [factor]                             # every combination is a setting; the first is A
//! db_writer_processes = [1, 8]
//!
//! [both]                               # parameters of all settings
//! db_cache_size = "64m"
//!
//! [load]
//! kind = "debit-credit"
//! sessions = 12
//! rate = 2000                          # transactions a second, in an open loop
//! ```
//!
//! Callers: the binary's `lab`; tests.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use experiment::{LEVELS_MAX, Measure};
use instance::{Parameters, parse_size};
use serde::Deserialize;
use stop::{RefusalKind, Stop, did_you_mean};
use waits::Nanos;
use workload::order_entry;

use crate::alternate::Blocks;
use crate::catalogue::BUILT_IN;
use crate::checks::invalid;
use crate::lengths::{BLOCK_LENGTHS, BUDGETS, RUN_LENGTHS, WARM_UPS, WASHOUTS, Written, short};
use crate::load::Load;
use crate::schedule::Span;
use crate::setting::check_given_once;
use crate::{Form, Setting};

/// How runs of different settings follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Design {
    /// In one running instance, in blocks of a second or so.
    Alternate,
    /// Each run from restored files.
    Restarts,
}

/// An experiment that compares settings.
#[derive(Clone, PartialEq, Debug)]
pub struct Experiment {
    /// Its name.
    pub name: String,
    /// Its question.
    pub question: String,
    /// Where the question comes from, and what was found there.
    pub source: Option<String>,
    /// The settings, A first.
    pub settings: Vec<Setting>,
    /// Parameters of all settings.
    both: Vec<(String, String)>,
    /// The design that was asked for; none: whichever is possible.
    pub design: Option<Design>,
    /// What the settings are compared by; if not given, throughput, and in an open loop, whose
    /// throughput is its rate, the latency that 1 transaction in 100 exceeds.
    pub measure: Option<Measure>,
    /// From which difference on it matters, as a share.
    pub matters: f64,
    /// The probability with which equals may be called different, as a share.
    pub error: f64,
    /// How long it may take; if not given, [`BUDGET`], of a model's own time on a model.
    pub budget: Option<Nanos>,
    /// Whether it goes on behind its budget until it knows.
    pub until_decided: bool,
    /// The length of a block; if not given, a second, and less where the settings act at once.
    pub block: Option<Nanos>,
    /// The part of a block that isn't counted; if not given, a tenth of it.
    pub washout: Option<Nanos>,
    /// Rounds, and rounds of equals, of a design by restarts.
    pub rounds: [u32; 2],
    load: LoadSpec,
    lengths: [Option<Nanos>; 2],
    of_one_design: Vec<OfOneDesign>,
}

/// A key that the file gives, and that counts in one design only.
#[derive(Clone, Copy, PartialEq, Debug)]
struct OfOneDesign {
    key: &'static str,
    design: Design,
}

/// What `[runs]` says of a design by restarts.
const ROUNDS: &str = "[runs] rounds";
const EQUALS: &str = "[runs] equals";
const LENGTH: &str = "[runs] length";

/// The difference that matters, in per cent, if a file doesn't say.
pub(crate) const MATTERS: f64 = 2.0;
/// The error in per cent, if a file doesn't say.
pub(crate) const ERROR: f64 = 2.5;
/// How long an experiment may take, if its file doesn't say.
pub const BUDGET: Nanos = Nanos::from_secs(300);
/// The rates of open loops, transactions a second.
pub const RATES: RangeInclusive<u32> = 1..=1_000_000;
/// The warehouses of order entry; ten thousand are over a terabyte.
const WAREHOUSES: RangeInclusive<u32> = 1..=10_000;
/// The length of a block.
const BLOCK: Nanos = Nanos::from_secs(1);
/// The shortest block that isn't of a file or of a command line, which take longer ones only.
const BLOCK_LEAST: Nanos = Nanos::from_millis(1);
/// As `BLOCK`, where the settings act at once: shorter blocks have neighbours that are more alike.
const BLOCK_AT_ONCE: Nanos = Nanos::from_millis(100);
/// What may matter, and the error, in per cent: less is nothing beside what a figure is known to.
pub const PER_CENTS: RangeInclusive<f64> = 0.001..=99.999;
/// Why settings can't alternate while sessions work.
const CHOSEN_ONCE: &str = "chosen when an instance opens or a session begins";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    question: String,
    source: Option<String>,
    design: Option<Design>,
    measure: Option<Measure>,
    matters: Option<f64>,
    error: Option<f64>,
    budget: Option<Written>,
    #[serde(default)]
    until_decided: bool,
    #[serde(default)]
    factor: toml::Table,
    #[serde(default)]
    setting: Vec<toml::Table>,
    #[serde(default)]
    both: toml::Table,
    #[serde(default)]
    load: LoadSpec,
    #[serde(default)]
    blocks: BlocksSpec,
    #[serde(default)]
    runs: RunsSpec,
}

/// Which load, as far as it isn't the usual one.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct LoadSpec {
    kind: Option<String>,
    sessions: Option<u32>,
    rate: Option<u32>,
    data: Option<String>,
    warehouses: Option<u32>,
    mass_update_every: Option<u32>,
    mass_update_rows: Option<u64>,
}

impl LoadSpec {
    /// What is wrong if it says something that only the other load has.
    fn of_the_other_load(&self) -> Option<String> {
        let of_debit_credit = [
            ("data", self.data.is_some()),
            ("mass_update_every", self.mass_update_every.is_some()),
            ("mass_update_rows", self.mass_update_rows.is_some()),
        ];
        let of_order_entry = [("warehouses", self.warehouses.is_some())];
        let (load, of_other) = match self.kind.as_deref() {
            None | Some("debit-credit") => ("debit-credit", &of_order_entry[..]),
            Some("order-entry") => ("order-entry", &of_debit_credit[..]),
            Some(_) => return None,
        };
        let (name, _) = of_other.iter().find(|(_, is_given)| *is_given)?;
        Some(format!("the load {load} has no {name}: leave it out"))
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct BlocksSpec {
    length: Option<Written>,
    washout: Option<Written>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RunsSpec {
    rounds: Option<u32>,
    equals: Option<u32>,
    warm_up: Option<Written>,
    length: Option<Written>,
}

impl Experiment {
    /// The built-in one of this name.
    pub fn named(name: &str) -> Result<Experiment, Stop> {
        match BUILT_IN.iter().find(|(known, _)| *known == name) {
            Some((name, text)) => Experiment::parse(name, text),
            None => Err(invalid(format!(
                "there is no experiment '{name}'; 'forebay lab list' names those that are{}",
                did_you_mean(name, BUILT_IN.iter().map(|(name, _)| *name))
            ))),
        }
    }

    /// Of the text of a file. The refusal says what is wrong, and where.
    pub fn parse(name: &str, text: &str) -> Result<Experiment, Stop> {
        let refuse = |error: &dyn std::fmt::Display| {
            invalid(format!("{name} is no experiment: {}", error.to_string().trim_end()))
        };
        let file: File =
            toml::from_str(text).map_err(|error| refuse(&what_is_wrong(&error, text)))?;
        let settings = settings(&file).map_err(|error| refuse(&error))?;
        let both = both(&file, &settings).map_err(|error| refuse(&error))?;
        let share = |percent: f64, what: &str| match PER_CENTS.contains(&percent) {
            true => Ok(percent / 100.0),
            false => {
                let (least, most) = (PER_CENTS.start(), PER_CENTS.end());
                Err(refuse(&format!("{what} is {percent}: choose {least} to {most} per cent")))
            }
        };
        let time = |given: &Option<Written>, what: &str, range: RangeInclusive<Nanos>| {
            let within = given.as_ref().map(|given| given.within(what, &range));
            within.transpose().map_err(|error| refuse(&error))
        };
        let of_one_design = of_one_design(&file);
        let (blocks, runs) = (&file.blocks, &file.runs);
        Ok(Experiment {
            name: name.to_owned(),
            question: file.question,
            source: file.source,
            settings,
            both,
            design: file.design,
            measure: file.measure,
            matters: share(file.matters.unwrap_or(MATTERS), "what matters")?,
            error: share(file.error.unwrap_or(ERROR), "the error")?,
            budget: time(&file.budget, "the budget", BUDGETS)?,
            until_decided: file.until_decided,
            block: time(&blocks.length, "the length of a block", BLOCK_LENGTHS)?,
            washout: time(&blocks.washout, "the washout of a block", WASHOUTS)?,
            rounds: [runs.rounds.unwrap_or(10), runs.equals.unwrap_or(5)],
            load: file.load,
            lengths: [
                time(&runs.warm_up, "the warm-up", WARM_UPS)?,
                time(&runs.length, "the length of a run", RUN_LENGTHS)?,
            ],
            of_one_design,
        })
    }

    /// Two settings that are given on a command line.
    pub fn comparing(a: Setting, b: Setting, load: &str) -> Result<Experiment, Stop> {
        let mut experiment = Experiment::parse(
            "comparison",
            "question = \"how do these two settings compare?\"\n[factor]\nlock_timeout = [1, 2]",
        )?;
        experiment.settings = vec![a, b];
        experiment.load.kind = Some(load.to_owned());
        experiment.load(&Form::quick()).map(|_| experiment)
    }

    /// The design: the one that was asked for. Else the settings alternate in one instance if they
    /// can, but on a model, where restarts cost next to nothing and nothing disturbs them. With
    /// notes for the reader of the verdict. Refused if they are to alternate and can't.
    pub fn way(&self, is_modelled: bool) -> Result<(Design, Vec<String>), Stop> {
        let fixed = self.settings.iter().find_map(Setting::fixed);
        match (self.design, fixed) {
            (None, _) if is_modelled => Ok((Design::Restarts, Vec::new())),
            (Some(Design::Alternate), Some(name)) => Err(invalid(format!(
                "{name} is {CHOSEN_ONCE}, so the settings can't alternate: choose the design \
                 'restarts'"
            ))),
            (None, Some(name)) => {
                let note =
                    format!("{name} is {CHOSEN_ONCE}: the settings were compared by restarts.");
                Ok((Design::Restarts, vec![note]))
            }
            (design, _) => Ok((design.unwrap_or(Design::Alternate), Vec::new())),
        }
    }

    /// Has transactions arrive at this rate, a second, rather than follow each other.
    pub fn arriving(&mut self, rate: u32) {
        self.load.rate = Some(rate);
    }

    /// Leaves its file's lengths of a run and of a warm-up out, where others are asked for.
    pub fn without_lengths(&mut self) {
        self.lengths = [None, None];
        self.of_one_design.retain(|of| of.key != LENGTH);
    }

    /// Has other numbers of rounds, and of rounds of equals, than its file says.
    pub fn with_rounds(&mut self, rounds: Option<u32>, equals: Option<u32>) {
        let given = [(rounds, ROUNDS), (equals, EQUALS)];
        for (own, (number, key)) in self.rounds.iter_mut().zip(given) {
            if let Some(number) = number {
                *own = number;
                self.of_one_design.retain(|of| of.key != key);
            }
        }
    }

    /// The keys that its file gives for nothing, if it has this design.
    pub fn idle_keys(&self, design: Design) -> Vec<&'static str> {
        let idle = self.of_one_design.iter().filter(|of| of.design != design);
        idle.map(|of| of.key).collect()
    }

    /// Leaves out what its file gives all settings of the parameters that are given otherwise.
    pub fn without_both(&mut self, is_given: impl Fn(&str) -> bool) {
        self.both.retain(|(name, _)| !is_given(name));
    }

    pub(crate) fn measure(&self) -> Measure {
        let usual = match self.load.rate {
            Some(_) => Measure::Percentile99,
            None => Measure::Throughput,
        };
        self.measure.unwrap_or(usual)
    }

    pub(crate) fn budget(&self) -> Nanos {
        self.budget.unwrap_or(BUDGET)
    }

    /// Refused if a block has no room for its washout.
    pub(crate) fn blocks(&self) -> Result<Blocks, Stop> {
        // In a tenth of a second there are too few transactions for a percentile.
        let is_many = [Measure::Throughput, Measure::Median].contains(&self.measure());
        let usual = match is_many && self.settings.iter().all(Setting::acts_at_once) {
            true => BLOCK_AT_ONCE,
            false => BLOCK,
        };
        let length = self.block.unwrap_or(usual);
        let washout = self.washout.unwrap_or(Nanos(length.0 / 10));
        if washout.0.saturating_mul(2) > length.0 {
            let (half, twice) = (Nanos(length.0 / 2), Nanos(washout.0.saturating_mul(2)));
            return Err(invalid(format!(
                "a washout of {} is more than half of a block of {}: choose {} or less (--washout, \
                 washout), or blocks of {} or more (--block, length)",
                short(washout),
                short(length),
                short(half),
                short(twice)
            )));
        }
        if length < BLOCK_LEAST {
            let (block, least) = (short(length), short(BLOCK_LEAST));
            return Err(invalid(format!("a block is {block}: choose {least} or more")));
        }
        Ok(Blocks { length, washout })
    }

    /// The time of settings that alternate.
    pub(crate) fn span(&self, form: &Form, is_modelled: bool) -> Result<Span, Stop> {
        let longest = if is_modelled { form.longest_on_model() } else { *BUDGETS.end() };
        let washout = self.washout.unwrap_or(Nanos::ZERO);
        let shortest = Nanos(washout.0.saturating_mul(2)).max(*BLOCK_LENGTHS.start());
        let (budget, warm_up) = (self.budget(), form.warm_up);
        Ok(Span { budget, longest, warm_up, blocks: self.blocks()?, shortest })
    }

    /// The form, with this experiment's load, lengths and parameters of all settings.
    pub(crate) fn form(&self, mut form: Form) -> Result<Form, Stop> {
        let load = self.load(&form)?;
        let is_larger = load.bytes() > form.load.bytes();
        form.carry(load);
        for (name, value) in &self.both {
            match form.creation.set(name, value) {
                Ok(()) => {}
                Err(_) if Parameters::default().get(name).is_ok() => {
                    form.parameters.set(name, value)?;
                }
                Err(stop) => return Err(stop),
            }
        }
        if is_larger {
            form.creation.spread_data();
        }
        form.warm_up = self.lengths[0].unwrap_or(form.warm_up);
        form.length = self.lengths[1].unwrap_or(form.length);
        Ok(form)
    }

    fn load(&self, form: &Form) -> Result<Load, Stop> {
        let spec = &self.load;
        let usual = form.load.clone();
        let refuse = |message: String| Stop::refuse(RefusalKind::Invalid, message);
        if let Some(sessions) = spec.sessions.filter(|sessions| !(1..=10_000).contains(sessions)) {
            return Err(refuse(format!("sessions is {sessions}: choose 1 to 10000")));
        }
        if let Some(rate) = spec.rate.filter(|rate| !RATES.contains(rate)) {
            let (least, most) = (RATES.start(), RATES.end());
            return Err(refuse(format!("the rate is {rate}: choose {least} to {most}")));
        }
        let mib = |text: &String| match parse_size(text) {
            Some(bytes) if (1 << 20..=1 << 44).contains(&bytes) => Ok(bytes >> 20),
            _ => Err(refuse(format!("data is {text}: choose a size of 1m to 16t"))),
        };
        let data = spec.data.as_ref().map(mib).transpose()?;
        if let Some(wrong) = spec.of_the_other_load() {
            return Err(refuse(wrong));
        }
        match (spec.kind.as_deref().unwrap_or("debit-credit"), usual) {
            ("debit-credit", Load::DebitCredit { mut scale, mut mixture }) => {
                scale = data.map_or(scale, workload::Scale::of_mib);
                mixture.sessions = spec.sessions.unwrap_or(mixture.sessions);
                mixture.rate = spec.rate;
                mixture.mass_update_every =
                    spec.mass_update_every.unwrap_or(mixture.mass_update_every);
                mixture.mass_update_rows =
                    spec.mass_update_rows.unwrap_or(mixture.mass_update_rows);
                Ok(Load::DebitCredit { scale, mixture })
            }
            ("order-entry", usual) => {
                let warehouses = spec.warehouses.unwrap_or(2);
                if !WAREHOUSES.contains(&warehouses) {
                    let (least, most) = (WAREHOUSES.start(), WAREHOUSES.end());
                    let words = format!("warehouses is {warehouses}: choose {least} to {most}");
                    return Err(refuse(words));
                }
                let scale = order_entry::Scale::full(warehouses.into());
                let sessions = spec.sessions.unwrap_or(usual.sessions());
                Ok(Load::OrderEntry { scale, sessions, seed: 0, rate: spec.rate })
            }
            (other, _) => Err(refuse(format!(
                "there is no load '{other}': choose debit-credit or order-entry{}",
                did_you_mean(other, ["debit-credit", "order-entry"])
            ))),
        }
    }
}

/// What a reader of TOML calls the types of values, and what a user does.
const TYPES: [(&str, &str); 8] = [
    ("f64", "a number"),
    ("u32", "a whole number of 0 to 4294967295"),
    ("u64", "a whole number of 0 or more"),
    ("struct LoadSpec", "a table"),
    ("struct BlocksSpec", "a table"),
    ("struct RunsSpec", "a table"),
    ("a sequence", "a list"),
    ("a map", "a table"),
];

/// The error of a file in one line, in a user's words: what is wrong, and in which line. Of the
/// file, which may be another one than was meant, it quotes a key or a value, and no line.
fn what_is_wrong(error: &toml::de::Error, text: &str) -> String {
    let line = error.span().map_or_else(String::new, |span| {
        let before = text.as_bytes().iter().take(span.start);
        format!("line {}: ", before.filter(|byte| **byte == b'\n').count() + 1)
    });
    let mut what = error.message().trim().lines().collect::<Vec<_>>().join("; ");
    for (type_name, word) in TYPES {
        what = what.replace(&format!("expected {type_name}"), &format!("expected {word}"));
    }
    let is_lacking = what.starts_with("missing field");
    let line = if is_lacking { String::new() } else { line };
    let way_on = if is_lacking { "; 'forebay lab show template' prints a whole file" } else { "" };
    format!("{line}{what}{way_on}")
}

/// What the file gives that counts in one design only.
fn of_one_design(file: &File) -> Vec<OfOneDesign> {
    let (blocks, runs) = (&file.blocks, &file.runs);
    let keys = [
        ("[blocks] length", Design::Alternate, blocks.length.is_some()),
        ("[blocks] washout", Design::Alternate, blocks.washout.is_some()),
        (ROUNDS, Design::Restarts, runs.rounds.is_some()),
        (EQUALS, Design::Restarts, runs.equals.is_some()),
        (LENGTH, Design::Restarts, runs.length.is_some()),
    ];
    let given = keys.into_iter().filter(|(.., is_given)| *is_given);
    given.map(|(key, design, _)| OfOneDesign { key, design }).collect()
}

/// The parameters of all settings. One that a setting gives itself isn't of all: what is said of it
/// here would hold while the data is loaded, and nobody would know.
fn both(file: &File, settings: &[Setting]) -> Result<Vec<(String, String)>, Stop> {
    let both = pairs_of(&file.both)?;
    check_given_once(&both)?;
    let is_compared = |(name, _): &&(String, String)| {
        settings.iter().flat_map(Setting::names).any(|given| given.eq_ignore_ascii_case(name))
    };
    match both.iter().find(is_compared) {
        Some((name, _)) => Err(invalid(format!(
            "a setting gives {name} itself: leave it out of [both], or give it to each setting"
        ))),
        None => Ok(both),
    }
}

fn pairs_of(table: &toml::Table) -> Result<Vec<(String, String)>, Stop> {
    table.iter().map(|(name, value)| Ok((name.clone(), text_of(name, value)?))).collect()
}

/// The value of this parameter as a user would write it behind `--set name=`.
fn text_of(name: &str, value: &toml::Value) -> Result<String, Stop> {
    let refuse = |what: &str| {
        Err(invalid(format!(
            "{name} has {what}, and takes one value; only [factor] has lists, of such values"
        )))
    };
    match value {
        toml::Value::String(text) => Ok(text.clone()),
        toml::Value::Integer(number) => Ok(number.to_string()),
        toml::Value::Boolean(value) => Ok(value.to_string()),
        toml::Value::Float(number) => Ok(number.to_string()),
        toml::Value::Datetime(moment) => Ok(moment.to_string()),
        toml::Value::Array(_) => refuse("a list"),
        toml::Value::Table(_) => refuse("a table"),
    }
}

/// Every combination of the factors' values, or the settings that are given one by one.
fn settings(file: &File) -> Result<Vec<Setting>, Stop> {
    let mut all: Vec<BTreeMap<String, String>> = match file.factor.is_empty() {
        true => Vec::new(),
        false => vec![BTreeMap::new()],
    };
    for (name, values) in &file.factor {
        let toml::Value::Array(values) = values else {
            return Err(invalid(format!("factor {name} is no list of values")));
        };
        let values: Vec<String> =
            values.iter().map(|value| text_of(name, value)).collect::<Result<_, Stop>>()?;
        let with = |setting: &BTreeMap<String, String>| -> Vec<BTreeMap<String, String>> {
            let with = |value: &String| {
                let mut setting = setting.clone();
                setting.insert(name.clone(), value.clone());
                setting
            };
            values.iter().map(with).collect()
        };
        if all.len() * values.len() > usize::from(LEVELS_MAX) {
            return Err(invalid(format!("its factors make more than {LEVELS_MAX} settings")));
        }
        all = all.iter().flat_map(with).collect();
    }
    for table in &file.setting {
        all.push(pairs_of(table)?.into_iter().collect());
    }
    if all.len() < 2 || all.len() > usize::from(LEVELS_MAX) {
        return Err(invalid(format!(
            "it has {} settings: [factor] and [[setting]] together make 2 to {LEVELS_MAX}",
            all.len()
        )));
    }
    all.into_iter().map(Setting::of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TEMPLATE;

    fn refusal(text: &str) -> String {
        Experiment::parse("mine", text).expect_err("it is none").to_string()
    }

    /// A user looks for the line, in one line.
    #[test]
    fn what_is_wrong_with_a_file_is_one_line_without_a_quotation() {
        let lacking = refusal("");
        assert!(lacking.contains("missing field `question`; 'forebay lab show"), "{lacking}");
        let typed = refusal("question = \"?\"\nmatters = \"two\"\n");
        assert!(typed.contains("line 2: ") && typed.contains("expected a number"), "{typed}");
        for (text, says) in [
            ("blocks = 3", "expected a table"),
            ("load = 3", "expected a table"),
            ("runs = 3", "expected a table"),
            ("setting = 3", "expected a list"),
            ("[runs]\nrounds = -1", "expected a whole number of 0 to 4294967295"),
        ] {
            let refused = refusal(&format!("question = \"?\"\n{text}\n"));
            assert!(refused.contains(says) && !refused.contains("struct"), "{refused}");
        }
        let timed = refusal("question = \"?\"\nbudget = true\n");
        assert!(timed.contains("line 2: ") && timed.contains("expected seconds, or"), "{timed}");
        let other = refusal("root:*:19000:0:99999:7:::\ndaemon:*:1\n");
        assert!(other.contains("line 1: ") && !other.contains("19000"), "{other}");
        assert!([lacking, typed, timed, other].iter().all(|words| words.lines().count() == 1));
    }

    /// Else one of two values counts, and settings have names of values that they don't have.
    #[test]
    fn a_parameter_that_is_given_twice_in_other_letters_is_refused() {
        for below in [
            "[factor]\nLock_Timeout = [1, 2]\nlock_timeout = [3, 4]",
            "[factor]\ncommit_wait = [\"wait\", \"nowait\"]\n\
             [both]\nLOCK_TIMEOUT = 1\nlock_timeout = 2",
        ] {
            let refused = refusal(&format!("question = \"?\"\n{below}"));
            assert!(refused.ends_with("lock_timeout is given twice: leave one of them out"));
        }
    }

    /// Else who reads the file believes that all settings have it.
    #[test]
    fn a_parameter_of_all_settings_that_one_gives_itself_is_refused() {
        for below in [
            "[factor]\nlock_timeout = [1, 2]",
            "[[setting]]\ncommit_wait = \"wait\"\n[[setting]]\nLock_Timeout = 2",
        ] {
            let text = format!("question = \"?\"\n{below}\n[both]\nlock_timeout = 3");
            let refused = refusal(&text);
            assert!(refused.contains("a setting gives lock_timeout itself: leave it"), "{refused}");
        }
    }

    /// In a user's words: what belongs elsewhere, and where.
    #[test]
    fn a_value_that_is_a_list_or_a_table_is_refused() {
        for (below, says) in [
            ("[[setting]]\nlock_timeout = [1, 2]", "lock_timeout has a list, and takes one value"),
            ("[factor]\nlock_timeout = [[1], [2]]", "lock_timeout has a list"),
            ("[factor]\nundo_retention = [1, 2]\n[both.lock_timeout]\nis = 1", "has a table"),
            ("[factor]\nlock_timeout = [1.5, 2]", "lock_timeout is 1.5: choose"),
        ] {
            let refused = refusal(&format!("question = \"?\"\n{below}"));
            assert!(refused.contains(says) && !refused.contains("Array"), "{refused}");
        }
    }

    /// What is told to choose is taken.
    #[test]
    fn a_washout_without_room_in_its_block_says_what_has_room() {
        let with = |block, washout| {
            let text = "question = \"?\"\n[factor]\nlock_timeout = [1, 2]";
            let mut experiment = Experiment::parse("mine", text).expect("it is one");
            experiment.block = Some(Nanos::from_millis(block));
            experiment.washout = Some(Nanos::from_millis(washout));
            experiment.blocks().map_err(|stop| stop.to_string())
        };
        let refused = with(20, 15).expect_err("more than half");
        assert!(refused.contains("choose 0.01s or less"), "{refused}");
        assert!(refused.contains("or blocks of 0.03s or more"), "{refused}");
        assert!(with(20, 10).is_ok() && with(30, 15).is_ok());
    }

    /// The file and the command line take the same.
    #[test]
    fn what_matters_and_the_error_have_the_range_of_the_command_line() {
        let factor = "[factor]\nlock_timeout = [1, 2]";
        let file = |above: &str| format!("question = \"?\"\n{above}\n{factor}");
        for (above, says) in [
            ("matters = 100", "what matters is 100: choose 0.001 to 99.999 per cent"),
            ("error = 0", "the error is 0: choose 0.001 to 99.999 per cent"),
        ] {
            let refused = refusal(&file(above));
            assert!(refused.contains(says), "{refused}");
        }
        assert!(Experiment::parse("mine", &file("matters = 0.001\nerror = 99.999")).is_ok());
    }

    /// A file takes the lengths that a command line does, and no others.
    #[test]
    fn the_lengths_of_a_file_have_the_ranges_of_the_command_line() {
        let file = |above: &str, below: &str| {
            format!("question = \"?\"\n{above}\n[factor]\nlock_timeout = [1, 2]\n{below}")
        };
        let parsed = |above, below| Experiment::parse("mine", &file(above, below)).expect("one");
        let words = "[blocks]\nlength = \"100ms\"\nwashout = \"0\"\n[runs]\nlength = \"1m\"";
        let numbers = "[blocks]\nlength = 0.1\nwashout = 0\n[runs]\nlength = 60.0";
        assert_eq!(parsed("budget = \"5m\"", words), parsed("budget = 300", numbers));
        for (above, below, says) in [
            ("budget = 0", "", "the budget is 0: choose 1s to 24h"),
            ("budget = \"2 weeks\"", "", "'weeks' is no unit of time"),
            ("", "[blocks]\nlength = \"10ms\"", "block is \"10ms\": choose 0.02s to 1h"),
            ("", "[blocks]\nwashout = nan", "block is NaN: choose 0s to 30m"),
            ("", "[runs]\nlength = -1", "run is -1: choose 0.01s to 24h"),
            ("", "[runs]\nlength = 1e300", "run is 1e300: choose 0.01s to 24h"),
            ("", "[runs]\nwarm_up = \"25h\"", "the warm-up is \"25h\": choose 0s to 24h"),
        ] {
            let refused = refusal(&file(above, below));
            assert!(refused.contains(says), "{refused}");
        }
    }

    /// With each of its keys in use, too, the template is an experiment.
    #[test]
    fn the_template_and_all_of_its_keys_are_an_experiment() {
        let plain = Experiment::parse("template", TEMPLATE).expect("it is one");
        let used = |line: &str| match line.strip_prefix('#') {
            Some(key) if !key.starts_with(' ') => format!("{key}\n"),
            _ => format!("{line}\n"),
        };
        let text: String = TEMPLATE.lines().map(used).collect();
        let whole = Experiment::parse("template", &text).unwrap_or_else(|stop| panic!("{stop}"));
        // What stands behind a # is what holds without it.
        assert_eq!((plain.rounds, plain.matters), (whole.rounds, whole.matters));
        assert_eq!((plain.error, plain.budget()), (whole.error, whole.budget()));
        assert_eq!(plain.measure(), whole.measure());
        for key in ["[[setting]]", "[both]", "[load]", "[blocks]", "[runs]", "until_decided"] {
            assert!(TEMPLATE.contains(key), "{key}");
        }
        assert!(TEMPLATE.lines().all(|line| line.len() <= 80));
    }
}
