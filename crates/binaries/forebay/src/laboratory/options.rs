//! The options that commands of the lab share.
//!
//! Callers: `laboratory`.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use experiment::{Measure, ROUNDS_ASKED_MAX};
use lab::{BLOCK_LENGTHS, BUDGETS, RUN_LENGTHS, WASHOUTS, parse_time};
use lab::{Design, Experiment, Form, PER_CENTS, RATES, RunOn};
use waits::Nanos;

use crate::number::within;

/// The heading in the help above the options of experiments that compare settings.
pub(super) const COMPARING: &str = "Options of experiments that compare settings";

/// Where an experiment runs, and how it is shown.
#[derive(Args)]
pub(crate) struct Place {
    /// Prints the report as JSON, for programs.
    #[arg(long)]
    pub(super) json: bool,
    /// Runs on a model of a machine: two-core, eight-core, thirty-two-core or hp-ux.
    #[arg(long, value_name = "MACHINE")]
    pub(super) simulate: Option<String>,
    /// The modelled machine's disk: nvme (if none is named, but for free-buffer-waits), array (if
    /// none is named for that), nvme-consumer, disk-7200, fixed or exponential.
    #[arg(long, value_name = "DISK", requires = "simulate")]
    simulated_disk: Option<String>,
    /// Where the scratch folder is made, and removed again. One that a killed experiment left there
    /// is removed by the next.
    #[arg(long, value_name = "DIR", default_value = ".", conflicts_with = "simulate")]
    dir: PathBuf,
    /// Orders and seeds the runs.
    #[arg(long, default_value_t = 1)]
    #[arg(value_parser = within(0..=u64::MAX), allow_negative_numbers = true)]
    pub(super) seed: u64,
}

impl Place {
    /// The options of a command line that asks for the same.
    pub(super) fn again(&self) -> String {
        let option = |name: &str, value: &Option<String>| {
            value.as_ref().map_or_else(String::new, |value| format!(" --{name} {value}"))
        };
        let scratch = match self.simulate.is_none() && self.dir != Path::new(".") {
            true => format!(" --dir {}", word(&self.dir.display().to_string())),
            false => String::new(),
        };
        format!(" --seed {}", self.seed)
            + &option("simulate", &self.simulate)
            + &option("simulated-disk", &self.simulated_disk)
            + &scratch
    }

    pub(super) fn run_on(&self, disk: &str) -> RunOn {
        match &self.simulate {
            Some(machine) => {
                let disk = self.simulated_disk.as_deref().unwrap_or(disk).to_string();
                RunOn::Model { machine: machine.clone(), disk }
            }
            None => RunOn::ThisMachine(self.dir.clone()),
        }
    }
}

/// The designs, as they are written on a command line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum DesignName {
    /// The settings alternate in one running instance.
    Alternate,
    /// Each run begins from restored files.
    Restarts,
}

/// How settings are compared.
#[derive(Args)]
#[command(next_help_heading = COMPARING)]
pub(crate) struct How {
    /// Larger data, and longer runs by restarts; of block-size-scan, all rows of the original.
    #[arg(long, conflicts_with = "simulate")]
    pub(super) full: bool,
    /// How runs follow each other; if not given, they alternate in one instance where the settings
    /// can, and on a model restart for each run. There 'alternate' takes less time.
    #[arg(long, value_name = "DESIGN")]
    design: Option<DesignName>,
    /// How long settings that alternate may take, at most: 90, 90s, 5m, 1h. It ends as soon as it
    /// knows. Loading comes on top. On a model it is the model's own time. By restarts it bounds
    /// nothing: see --rounds.
    #[arg(long, value_name = "TIME", value_parser = time(BUDGETS), allow_negative_numbers = true)]
    budget: Option<Nanos>,
    /// Goes on when the budget is over, or by restarts the rounds, until it knows; intervals are
    /// longer for that.
    #[arg(long)]
    until_decided: bool,
    /// What the settings are compared by: throughput, latency-median, latency-99 or latency-99.9;
    /// if not given, throughput, and latency-99 with --rate.
    #[arg(long, value_name = "MEASURE")]
    measure: Option<Measure>,
    /// Transactions that arrive a second, whether or not the database keeps up; if not given, each
    /// session begins the next one when the last has ended.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = within(RATES))]
    rate: Option<u32>,
    /// How long a block is, when settings alternate: 1, 0.1s, 100ms.
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    #[arg(value_parser = time(BLOCK_LENGTHS))]
    block: Option<Nanos>,
    /// How long the begin of a block is that doesn't count; at most half of it.
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    #[arg(value_parser = time(WASHOUTS))]
    washout: Option<Nanos>,
    /// Rounds at most, by restarts, but with --until-decided: each has a run of every setting.
    /// Fewer than 6 never have an answer.
    #[arg(long, value_parser = within(2..=ROUNDS_ASKED_MAX), allow_negative_numbers = true)]
    rounds: Option<u32>,
    /// Rounds of equals among them, by restarts.
    #[arg(long, value_parser = within(1..=ROUNDS_ASKED_MAX), allow_negative_numbers = true)]
    equal_rounds: Option<u32>,
    /// How long each run by restarts is measured. It warms up for a fifth of that before, and so do
    /// settings that alternate.
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    #[arg(value_parser = time(RUN_LENGTHS))]
    seconds: Option<Nanos>,
    /// The difference in what is compared, in per cent, that matters; also of block-size-scan (5,
    /// if not given).
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true)]
    #[arg(value_parser = within(PER_CENTS))]
    pub(super) matters: Option<f64>,
    /// Writes the rows, one JSON object a line, to this file too; also of free-buffer-waits and
    /// block-size-scan.
    #[arg(long, value_name = "FILE")]
    pub(super) rows: Option<PathBuf>,
    /// Writes the answer as a page, one HTML file with charts, to this file too.
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
    /// Setting A again and again, and no other: what does the lab say of equals?
    #[arg(long)]
    pub(super) equals: bool,
}

impl How {
    /// The first option that was given.
    pub(super) fn given(&self) -> Option<&'static str> {
        self.all_given().next()
    }

    /// The first that was given, for an experiment that has these.
    pub(super) fn given_but(&self, own: &[&str]) -> Option<&'static str> {
        self.all_given().find(|option| !own.contains(option))
    }

    fn all_given(&self) -> impl Iterator<Item = &'static str> {
        let given = [
            ("--full", self.full),
            ("--design", self.design.is_some()),
            ("--budget", self.budget.is_some()),
            ("--until-decided", self.until_decided),
            ("--measure", self.measure.is_some()),
            ("--rate", self.rate.is_some()),
            ("--block", self.block.is_some()),
            ("--washout", self.washout.is_some()),
            ("--rounds", self.rounds.is_some()),
            ("--equal-rounds", self.equal_rounds.is_some()),
            ("--seconds", self.seconds.is_some()),
            ("--matters", self.matters.is_some()),
            ("--rows", self.rows.is_some()),
            ("--html", self.html.is_some()),
            ("--equals", self.equals),
        ];
        given.into_iter().filter(|(_, given)| *given).map(|(option, _)| option)
    }

    /// Refuses options of a design that the experiment doesn't have. Settings that alternate
    /// without a wish may be compared by restarts after all: then this says what options come to.
    /// It says so of the keys of a file, which may be meant for both designs, in any case.
    pub(super) fn check_design(
        &self,
        experiment: &Experiment,
        place: &Place,
    ) -> Result<Vec<String>, String> {
        let way = experiment.way(place.simulate.is_some());
        let (design, _) = way.map_err(|stop| stop.to_string())?;
        let is_wish = experiment.design.is_some();
        let given = |others: &[&str]| self.all_given().find(|option| others.contains(option));
        let mut notices = Vec::new();
        match design {
            Design::Restarts => {
                if let Some(option) = given(&["--block", "--washout"]) {
                    return Err(format!(
                        "the settings are compared by restarts, which have no blocks: leave \
                         {option} out, or choose --design alternate"
                    ));
                }
            }
            Design::Alternate => {
                match given(&["--rounds", "--equal-rounds"]) {
                    Some(option) if is_wish => {
                        return Err(format!(
                            "settings that alternate have as many rounds as the budget has room \
                             for: leave {option} out, or choose --design restarts"
                        ));
                    }
                    Some(option) => notices.push(format!(
                        "{option} counts only if the settings turn out not to alternate well; \
                         until then the budget counts (--budget)"
                    )),
                    None => {}
                }
                if self.seconds.is_some() {
                    notices.push(
                        "as long as settings alternate, only the warm-up follows --seconds".into(),
                    );
                }
            }
        }
        notices.extend(idle_keys(experiment, design));
        Ok(notices)
    }

    /// Changes an experiment as was asked for.
    pub(super) fn change(&self, experiment: &mut Experiment) {
        if let Some(design) = self.design {
            experiment.design = Some(match design {
                DesignName::Alternate => Design::Alternate,
                DesignName::Restarts => Design::Restarts,
            });
        }
        if self.equals {
            // Design and form follow from those that are run (LB12).
            let a = experiment.settings[0].clone();
            experiment.settings.fill(a);
        }
        experiment.budget = self.budget.or(experiment.budget);
        experiment.until_decided |= self.until_decided;
        experiment.measure = self.measure.or(experiment.measure);
        self.rate.into_iter().for_each(|rate| experiment.arriving(rate));
        experiment.block = self.block.or(experiment.block);
        experiment.washout = self.washout.or(experiment.washout);
        if self.seconds.is_some() {
            // They are in the form, which a file's own would replace.
            experiment.without_lengths();
        }
        experiment.with_rounds(self.rounds, self.equal_rounds);
        experiment.matters = self.matters.map_or(experiment.matters, |percent| percent / 100.0);
    }

    /// The form for this design.
    pub(super) fn form(&self, place: &Place, design: Design) -> Form {
        let form = match (&place.simulate, self.full, design) {
            (Some(_), ..) => Form::modelled(),
            (None, true, _) => Form::full(),
            (None, false, Design::Alternate) => Form::alternating(),
            (None, false, Design::Restarts) => Form::quick(),
        };
        match self.seconds {
            Some(length) => form.lasting(length),
            None => form,
        }
    }

    /// The options of a command line that asks for the same.
    pub(super) fn again(&self) -> String {
        let mut line = String::new();
        let mut option = |name: &str, value: Option<String>| {
            line += &value.map_or(String::new(), |value| format!(" --{name} {value}"));
        };
        let design = |design: DesignName| format!("{design:?}").to_lowercase();
        let seconds = |length: Nanos| length.as_secs_f64().to_string();
        option("design", self.design.map(design));
        option("budget", self.budget.map(|budget| format!("{}s", budget.as_secs_f64())));
        option("measure", self.measure.map(|measure| measure.to_string()));
        option("rate", self.rate.map(|rate| rate.to_string()));
        option("block", self.block.map(seconds));
        option("washout", self.washout.map(seconds));
        option("rounds", self.rounds.map(|rounds| rounds.to_string()));
        option("equal-rounds", self.equal_rounds.map(|rounds| rounds.to_string()));
        option("seconds", self.seconds.map(seconds));
        option("matters", self.matters.map(|percent| percent.to_string()));
        let flags = [
            (" --full", self.full),
            (" --equals", self.equals),
            (" --until-decided", self.until_decided),
        ];
        line += &flags.map(|(flag, given)| if given { flag } else { "" }).concat();
        line
    }
}

/// Says what keys of the experiment's file come to that aren't of this design.
fn idle_keys(experiment: &Experiment, design: Design) -> Option<String> {
    let keys = experiment.idle_keys(design);
    let counts = match (design, experiment.design) {
        (Design::Restarts, _) => "for nothing: the settings are compared by restarts",
        (Design::Alternate, Some(_)) => "for nothing: the settings alternate",
        (Design::Alternate, None) => "only if the settings turn out not to alternate well",
    };
    let what = keys.join(" and ");
    (!keys.is_empty()).then(|| format!("what the file gives as {what} counts {counts}"))
}

/// A word of a command line, as a shell reads it.
pub(super) fn word(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./:,+@%".contains(letter);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// A parser of lengths of time within this range, for clap.
fn time(
    range: RangeInclusive<Nanos>,
) -> impl Fn(&str) -> Result<Nanos, String> + Clone + Send + Sync + 'static {
    move |text| parse_time(text, &range)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        how: How,
    }

    /// Else a user waits for an experiment that isn't the one that was asked for.
    #[test]
    fn an_option_of_the_other_design_is_refused_or_told_of() {
        let text = "question = \"?\"\n[factor]\ncommit_leader = [\"session\", \"lgwr\"]";
        let checked = |words: &[&str]| {
            let line =
                Line::try_parse_from([&["lab"][..], words].concat()).expect("a command line");
            let mut experiment = Experiment::parse("mine", text).expect("it is one");
            line.how.change(&mut experiment);
            line.how.check_design(&experiment, &line.place)
        };
        for (words, says) in [
            (&["--block", "1", "--simulate", "two-core"][..], "leave --block out"),
            (&["--washout", "0", "--design", "restarts"], "leave --washout out"),
            (&["--rounds", "8", "--design", "alternate"], "leave --rounds out"),
            (&["--equal-rounds", "8", "--design", "alternate"], "leave --equal-rounds out"),
        ] {
            assert!(checked(words).is_err_and(|why| why.contains(says)), "{words:?}");
        }
        let rounds = "--rounds counts only if the settings turn out not to alternate well; until \
                      then the budget counts (--budget)";
        let seconds = "as long as settings alternate, only the warm-up follows --seconds";
        let told = |words: &[&str]| checked(words).expect("it counts for something");
        assert_eq!(told(&["--rounds", "8"]), [rounds]);
        assert_eq!(told(&["--seconds", "9"]), [seconds]);
        assert_eq!(told(&["--rounds", "8", "--seconds", "9"]), [rounds, seconds]);
        assert_eq!(checked(&["--rounds", "8", "--simulate", "two-core"]), Ok(Vec::new()));
        assert_eq!(checked(&["--block", "1", "--washout", "0.1"]), Ok(Vec::new()));
    }

    /// Else who reads the file believes that they count.
    #[test]
    fn keys_of_a_file_that_are_of_the_other_design_are_told_of() {
        let text = "question = \"?\"\n[factor]\ncommit_leader = [\"session\", \"lgwr\"]\n\
                    [blocks]\nwashout = 0\n[runs]\nrounds = 8\nlength = 9\nwarm_up = 1";
        let told = |words: &[&str]| {
            let line =
                Line::try_parse_from([&["lab"][..], words].concat()).expect("a command line");
            let mut experiment = Experiment::parse("mine", text).expect("it is one");
            line.how.change(&mut experiment);
            let told = line.how.check_design(&experiment, &line.place).expect("it is taken");
            told.concat()
        };
        let of_runs = "what the file gives as [runs] rounds and [runs] length counts ";
        for (words, says) in [
            (
                &["--design", "restarts"][..],
                "what the file gives as [blocks] washout counts for nothing: the settings are \
                 compared by restarts"
                    .to_owned(),
            ),
            (&["--design", "alternate"], format!("{of_runs}for nothing: the settings alternate")),
            (&[], format!("{of_runs}only if the settings turn out not to alternate well")),
        ] {
            assert_eq!(told(words), says);
        }
        assert!(told(&["--simulate", "two-core"]).contains("[blocks] washout"));
        // An option replaces the key.
        let told = told(&["--rounds", "9", "--seconds", "1"]);
        assert!(!told.contains("what the file gives"), "{told}");
    }

    /// LB12: of equals only A counts, so options of its design are taken.
    #[test]
    fn the_design_of_equals_is_that_of_a() {
        let text = "question = \"?\"\n[[setting]]\ncommit_leader = \"lgwr\"\n\
                    [[setting]]\nlock_timeout = 8";
        let is_taken = |words: &[&str]| {
            let line = Line::try_parse_from(words).expect("a command line");
            let mut experiment = Experiment::parse("mine", text).expect("it is one");
            line.how.change(&mut experiment);
            line.how.check_design(&experiment, &line.place).is_ok()
        };
        assert!(is_taken(&["lab", "--block", "1", "--equals"]));
        assert!(!is_taken(&["lab", "--block", "1"]));
    }

    /// Else an experiment takes the time that its file says, whatever was asked for.
    #[test]
    fn the_length_of_a_run_that_is_given_replaces_that_of_the_file() {
        let file = |below: &str| {
            let text = format!("question = \"?\"\n[factor]\nlock_timeout = [1, 2]\n{below}");
            Experiment::parse("mine", &text).expect("it is one")
        };
        let with_lengths = || file("[runs]\nlength = 60\nwarm_up = 30");
        for (words, wanted) in
            [(&["lab", "--seconds", "0.05"][..], file("")), (&["lab"], with_lengths())]
        {
            let mut experiment = with_lengths();
            Line::try_parse_from(words).expect("a command line").how.change(&mut experiment);
            assert_eq!(experiment, wanted, "{words:?}");
        }
    }

    #[test]
    fn a_word_is_quoted_where_a_shell_would_read_it_otherwise() {
        for (text, wanted) in [
            ("dbwr-count", "dbwr-count"),
            ("/a/b.toml", "/a/b.toml"),
            ("my file.toml", "'my file.toml'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
        ] {
            assert_eq!(word(text), wanted);
        }
    }
}
