//! The headline: by what factor do the settings differ, is that real, and does it matter?
//!
//! Callers: `verdict`.

use report::labelled;
use report::number::{change, change_size, counted, decimal, grouped, share};
use serde::Serialize;
use stats::sequential::Direction;
use stats::{Interval, Matters};

use super::Question;
use super::yardsticks::{NS, figure};
use crate::decision::{CovariateUse, Decision, ROUNDS_MIN};
use crate::rounds::Rounds;
use crate::{Level, Measure, ROUNDS_ASKED_MAX, Run};

/// The comparison with what it compares.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Headline {
    pub(crate) setting_a: String,
    pub(crate) setting_b: String,
    /// What they are compared by.
    measure: Measure,
    /// Transactions a second, by sums (rule V3).
    throughput_a: f64,
    throughput_b: f64,
    /// `None` before the first look.
    comparison: Option<Figures>,
    /// Whole rounds since the last look, which no figure has.
    later_rounds: u32,
    /// The rounds after which that comes.
    #[serde(skip)]
    first_look: u32,
    /// The most rounds for which a budget has room.
    #[serde(skip)]
    most_rounds: Option<u32>,
}

/// [`Decision`] as JSON has it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Figures {
    rounds: u32,
    looks: u32,
    error: f64,
    ratio: f64,
    /// The ratio of the two figures, with all noise in it.
    ratio_by_sums: f64,
    /// None if the rounds are too few to bound it.
    interval: Option<[f64; 2]>,
    threshold: f64,
    /// `yes`, or `not seen`.
    real: &'static str,
    /// `yes`, `no` or `open`.
    matters: &'static str,
    equals: Option<EqualsFigures>,
    covariates: Vec<CovariateFigures>,
    /// How much longer the interval would be without covariates and weights.
    gain: f64,
    /// How many more rounds would bring an answer; null if it is too early to say.
    more_rounds: Option<u32>,
    #[serde(skip)]
    of: Decision,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct EqualsFigures {
    rounds: u32,
    ratio: f64,
    /// None if the rounds are too few for one.
    interval: Option<[f64; 2]>,
    floor: f64,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct CovariateFigures {
    name: &'static str,
    /// The share of the variance that it took; null if it wasn't used.
    taken: Option<f64>,
    differs_between_settings: bool,
}

impl Figures {
    pub(crate) fn of(of: Decision) -> Figures {
        let equals = of.equals.map(|equals| EqualsFigures {
            rounds: equals.rounds,
            ratio: equals.ratio,
            interval: equals.interval.map(ends),
            floor: equals.floor,
        });
        let covariate = |of: &CovariateUse| CovariateFigures {
            name: of.name,
            taken: of.taken,
            differs_between_settings: of.differs,
        };
        Figures {
            rounds: of.rounds,
            looks: of.looks,
            error: of.error,
            ratio: of.ratio,
            ratio_by_sums: of.by_sums(),
            interval: of.bounds().map(ends),
            threshold: of.threshold,
            real: if of.answer.is_real() { "yes" } else { "not seen" },
            matters: match of.answer.matters {
                Matters::Yes => "yes",
                Matters::No => "no",
                Matters::Open => "open",
            },
            equals,
            covariates: of.covariates.iter().map(covariate).collect(),
            gain: of.gain,
            more_rounds: if of.answer.is_decided() { None } else { of.more_rounds() },
            of,
        }
    }

    /// One line: `B / A 1.0316 (1.0210 to 1.0430): real, matters`.
    pub(crate) fn line(&self, b: Level) -> String {
        let interval = match self.interval {
            Some([low, high]) => format!("{} to {}", decimal(low, 4), decimal(high, 4)),
            None => NOT_YET.to_owned(),
        };
        let words = match (self.of.answer.is_real(), self.of.answer.matters) {
            (true, Matters::Yes) => "real, and matters",
            (true, Matters::No) => "real, doesn't matter",
            (true, Matters::Open) => "real; open whether it matters",
            (false, Matters::No) => "no difference that matters",
            (false, _) => "can't tell",
        };
        format!("{b} / A {} ({interval}): {words}", decimal(self.ratio, 4))
    }

    /// Whether two comparisons certainly found another effect each (rule V12).
    pub(crate) fn differs_from(&self, other: &Figures) -> bool {
        self.of.differs_from(&other.of)
    }

    /// Whether two comparisons lead to the same words.
    pub(crate) fn agrees_with(&self, other: &Figures) -> bool {
        self.of.answer == other.of.answer
    }
}

fn ends(interval: Interval) -> [f64; 2] {
    [interval.low, interval.high]
}

impl Headline {
    pub(crate) fn of(
        rounds: &Rounds<'_>,
        level: Level,
        question: &Question,
        decision: Option<Decision>,
    ) -> Option<Headline> {
        let Question { rule, most_rounds, .. } = question;
        let [runs_a, runs_b] = rounds.sides(level);
        let (a, b) = (*runs_a.first()?, *runs_b.first()?);
        Some(Headline {
            setting_a: a.identity.setting.clone(),
            setting_b: b.identity.setting.clone(),
            measure: rule.measure,
            throughput_a: throughput(&runs_a),
            throughput_b: throughput(&runs_b),
            comparison: decision.map(Figures::of),
            later_rounds: rounds.later,
            first_look: rule.looks().next().unwrap_or(ROUNDS_MIN),
            most_rounds: *most_rounds,
        })
    }

    pub(crate) fn comparison(&self) -> Option<&Figures> {
        self.comparison.as_ref()
    }

    pub(crate) fn text(&self, b: Level) -> String {
        let b_name = b.to_string();
        let settings = labelled("A", &self.setting_a) + &labelled(&b_name, &self.setting_b);
        let lines = |lines: Vec<Labelled>| -> String {
            lines.iter().map(|(label, text)| labelled(label, text)).collect()
        };
        let (answers, figures) = (lines(self.answers(b)), lines(self.figures(b)));
        let parts = [settings, answers, figures];
        parts.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join("\n")
    }

    /// The questions, and what the rows answer.
    pub(super) fn answers(&self, b: Level) -> Vec<Labelled> {
        let Some(figures) = &self.comparison else {
            let few = match self.throughput_a > 0.0 && self.throughput_b > 0.0 {
                true => {
                    format!("Can't tell: there are fewer than {} whole rounds.", self.first_look)
                }
                false => "Can't tell: under one of the settings no transaction ended.".to_owned(),
            };
            return vec![("Is it real?".to_owned(), few)];
        };
        let real = is_it_real(&figures.of, self.measure, b);
        let matters = does_it_matter(&figures.of, self.most_rounds);
        vec![("Is it real?".to_owned(), real), ("Does it matter?".to_owned(), matters)]
    }

    /// The figures behind the answers; none if there are too few rounds.
    pub(super) fn figures(&self, b: Level) -> Vec<Labelled> {
        let Some(figures) = &self.comparison else { return Vec::new() };
        let [of_a, of_b] = [self.throughput_a, self.throughput_b].map(|value| decimal(value, 1));
        let throughput = format!("A {of_a} and {b} {of_b} transactions a second");
        let throughput = ("throughput".to_owned(), throughput);
        let measure = (self.measure != Measure::Throughput).then(|| {
            let [a, of_b] = figures.of.figures.map(|value| figure(value, NS));
            (self.measure.noun().to_owned(), format!("A {a} and {b} {of_b}"))
        });
        let speed = std::iter::once(throughput).chain(measure);
        speed.chain(comparison(&figures.of, self.later_rounds, b)).collect()
    }
}

/// What is told of an interval that so few rounds don't bound (V37).
const NOT_YET: &str = "its interval can't be told yet";

/// A label, and the sentence beside it.
pub(super) type Labelled = (String, String);

fn comparison(of: &Decision, later: u32, b: Level) -> impl Iterator<Item = Labelled> {
    let later = match later {
        0 => String::new(),
        1 => " (1 round since then is in no figure)".to_owned(),
        later => format!(" ({} rounds since then are in no figure)", grouped(later.into())),
    };
    let figures = |ratio: f64| [decimal(ratio, 4), change(ratio)];
    let ([ratio, changed], [sums, changed_by_sums]) = (figures(of.ratio), figures(of.by_sums()));
    let adjusted = match of.is_adjusted() {
        true => format!(", with noise taken out (by the sums {sums}, {changed_by_sums})"),
        false => String::new(),
    };
    let rounds = counted(of.rounds.into(), "round");
    let over = format!("over {rounds} in {}{later}", counted(of.looks.into(), "look"));
    let interval = match of.bounds() {
        Some(of_ratio) => format!(
            "interval {} to {} ({}), {over}; such intervals hold the truth in {} of experiments, \
             whenever they stop",
            decimal(of_ratio.low, 4),
            decimal(of_ratio.high, 4),
            range(of_ratio),
            share(1.0 - of.error),
        ),
        None => format!("{NOT_YET}, {over}"),
    };
    let ratio = format!("{ratio} ({changed}){adjusted}; {interval}");
    [Some((format!("{b} / A"), ratio)), equals(of, b), noise(of)].into_iter().flatten()
}

fn equals(of: &Decision, b: Level) -> Option<Labelled> {
    let equals = of.equals?;
    // One that is so long says nothing.
    let interval = equals.interval.filter(|of| of.high < equals.ratio * 10.0);
    let interval = interval.map_or_else(String::new, |of| format!(" ({})", range(of)));
    let text = format!(
        "{} apart{interval} in {} among the others; as many as of A and {b} could lie {} apart",
        change(equals.ratio),
        counted(equals.rounds.into(), "round"),
        change_size(equals.floor),
    );
    Some(("equals".to_owned(), text))
}

/// What took noise out, and how much.
fn noise(of: &Decision) -> Option<Labelled> {
    let mut parts = Vec::new();
    for covariate in &of.covariates {
        if let Some(taken) = covariate.taken.filter(|taken| *taken >= 0.005) {
            parts.push(format!("{} {} of the variance", covariate.name, share(taken)));
        }
        if covariate.differs {
            parts.push(format!(
                "{} differs between the settings: if it is their effect, B / A is without it",
                covariate.name
            ));
        }
    }
    if parts.is_empty() {
        return None;
    }
    let gain = format!(
        "{}; without them the interval would be {} times as long",
        parts.join("; "),
        decimal(of.gain, 2)
    );
    Some(("noise taken out".to_owned(), gain))
}

fn range(interval: Interval) -> String {
    format!("{} to {}", change(interval.low), change(interval.high))
}

fn is_it_real(of: &Decision, measure: Measure, b: Level) -> String {
    let [more, less] = measure.comparatives();
    let is = |word: &str| match measure {
        Measure::Throughput => format!("Yes. {b} is {} {word} than A.", change_size(of.ratio)),
        _ => {
            format!("Yes. {b}'s {} is {} {word} than A's.", measure.noun(), change_size(of.ratio))
        }
    };
    match of.answer.direction {
        Direction::Up => is(more),
        Direction::Down => is(less),
        Direction::Open if of.answer.matters == Matters::No => "No difference seen.".to_owned(),
        Direction::Open if of.bounds().is_none() => {
            "Can't tell yet: the rounds are too few to bound the difference.".to_owned()
        }
        Direction::Open => format!("Can't tell: the interval holds both {more} and {less}."),
    }
}

fn does_it_matter(of: &Decision, most_rounds: Option<u32>) -> String {
    let threshold = share(of.threshold);
    let range = format!("between {} and {}", change(of.interval.low), change(of.interval.high));
    match (of.answer.matters, of.answer.is_real()) {
        (Matters::Yes, _) => {
            let least = if of.ratio > 1.0 { of.interval.low } else { of.interval.high };
            format!("Yes. It is {} at least, and {threshold} matters.", change_size(least))
        }
        (Matters::No, true) => {
            format!("No. It lies {range}, and only {threshold} would matter.")
        }
        (Matters::No, false) => {
            format!("No. If there is any, it lies {range}, and only {threshold} would matter.")
        }
        (Matters::Open, _) if of.agrees_exactly() => {
            "Can't tell yet. All rounds agree to the last digit, and so few may do so by chance."
                .to_owned()
        }
        (Matters::Open, _) => {
            let more = match of.more_rounds() {
                Some(more) => remedy(of, more, most_rounds),
                None if of.is_out_of_reach() => OUT_OF_REACH.to_owned(),
                None => String::new(),
            };
            let lies = match of.bounds() {
                Some(_) => format!("It lies {range}"),
                None => "Where it lies can't be told yet".to_owned(),
            };
            format!("Can't tell yet. {lies}, and {threshold} would matter.{more}")
        }
    }
}

/// What is told of an answer that no number of rounds would bring.
const OUT_OF_REACH: &str = " How far a latency may be off leaves that open, whatever the number of \
                            rounds: choose another difference that matters (--matters).";

/// What is told of more rounds that the plan has.
const HAS_ROOM: &str = "the plan has room for them, and 'forebay lab resume' goes on, if --rows \
                        kept what was measured.";
/// And of more than settings that alternate can have.
const NO_ROOM: &str = "no budget has room for so many; by restarts (--design restarts) none bounds \
                       them.";

/// How much more of it would bring an answer, and on which condition. Where settings alternate no
/// budget has room for more than `most_rounds`.
fn remedy(of: &Decision, more: u32, most_rounds: Option<u32>) -> String {
    let rounds = of.rounds + more;
    let ask = match of.in_one_instance {
        true => {
            let budgets = f64::from(rounds) / f64::from(of.planned);
            format!("{} times the budget", decimal(budgets.max(1.0), 1))
        }
        false => asking_for(rounds),
    };
    let is_too_much = of.in_one_instance && most_rounds.is_some_and(|most| rounds > most);
    let how = match () {
        () if of.has_room_for(rounds) => HAS_ROOM.to_owned(),
        () if is_too_much => NO_ROOM.to_owned(),
        () => {
            format!("ask for {ask}, which measures all again, because none can be added to a plan.")
        }
    };
    format!(
        " About {} would bring an answer in four of five cases, if the noise stays what it is: \
         {how}",
        counted(more.into(), "more round"),
    )
}

/// What asks for so many rounds by restarts: a command line asks for some at most.
fn asking_for(rounds: u32) -> String {
    match rounds <= ROUNDS_ASKED_MAX {
        true => format!("{} (--rounds {rounds})", counted(rounds.into(), "round")),
        false => "--until-decided".to_owned(),
    }
}

/// All transactions over all time.
fn throughput(runs: &[&Run]) -> f64 {
    let parts: Vec<[f64; 2]> = runs.iter().map(|run| run.throughput_parts()).collect();
    let sum = |of: usize| parts.iter().map(|part| part[of]).sum::<f64>();
    sum(0) / sum(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else who does as the verdict says is refused next.
    #[test]
    fn no_more_rounds_are_advised_than_a_command_line_takes() {
        assert_eq!(asking_for(1_000), "1,000 rounds (--rounds 1000)");
        assert_eq!(asking_for(1_001), "--until-decided");
    }
}
