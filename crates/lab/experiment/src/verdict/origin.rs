//! Where the figures come from: how to get them again, and for a modelled world, on what they rest.
//!
//! Callers: `verdict`.

use std::collections::BTreeMap;

use report::{labelled, paragraph};
use serde::Serialize;

use super::headline::Figures;
use super::{Question, Untried};
use crate::{Identity, Level, World};

/// The heading of what is said of a model.
pub(super) const MODELLED: &str = "Modelled, not measured";

/// How to reproduce.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Origin {
    pub(super) command: String,
    pub(super) plan_seed: u64,
    pub(super) commit: String,
    pub(super) machine: String,
    pub(super) world: String,
    /// Parameters that both sides share.
    pub(super) parameters: BTreeMap<String, String>,
    /// Those in which they differ, or that only one has.
    pub(super) parameters_a: BTreeMap<String, String>,
    pub(super) parameters_b: BTreeMap<String, String>,
    pub(super) parameter_hash_a: String,
    pub(super) parameter_hash_b: String,
    /// Of a simulated world: what the model stands for, and from which source.
    model: Option<String>,
    /// Null if it isn't in the rows.
    sensitivity: Option<Vec<Assumption>>,
    #[serde(skip)]
    untried: Untried,
}

/// What the comparison would have been under another assumption.
#[derive(Clone, Debug, Serialize)]
struct Assumption {
    change: String,
    comparison: Option<Figures>,
}

impl Origin {
    pub(crate) fn of(a: &Identity, b: &Identity, question: &Question) -> Origin {
        let only = |mine: &BTreeMap<String, String>, other: &BTreeMap<String, String>| {
            let own = mine.iter().filter(|(name, value)| other.get(*name) != Some(value));
            own.map(|(name, value)| (name.clone(), value.clone())).collect()
        };
        let shared =
            a.parameters.iter().filter(|(name, value)| b.parameters.get(*name) == Some(value));
        let assumption = |of: &super::Sensitivity| Assumption {
            change: of.change.clone(),
            comparison: of.comparison.clone().map(Figures::of),
        };
        Origin {
            command: question.command.clone(),
            plan_seed: a.plan_seed,
            commit: a.commit.clone(),
            machine: a.machine.clone(),
            world: a.world.to_string(),
            parameters: shared.map(|(name, value)| (name.clone(), value.clone())).collect(),
            parameters_a: only(&a.parameters, &b.parameters),
            parameters_b: only(&b.parameters, &a.parameters),
            parameter_hash_a: a.parameter_hash.clone(),
            parameter_hash_b: b.parameter_hash.clone(),
            model: match a.world {
                World::Linux => None,
                World::Simulated(_) => Some(question.model.clone()),
            },
            sensitivity: match question.untried {
                Untried::NotInRows => None,
                _ => Some(question.sensitivity.iter().map(assumption).collect()),
            },
            untried: question.untried.clone(),
        }
    }

    pub(crate) fn text(&self, b: Level) -> String {
        let mut text = "How to reproduce\n".to_owned();
        text += &labelled("command", &self.command);
        text += &labelled("seed", &self.plan_seed.to_string());
        text += &labelled("commit", &self.commit);
        text += &labelled("machine", &self.machine);
        text += &labelled("world", &self.world);
        for (label, parameters) in [
            ("both".to_owned(), &self.parameters),
            ("A only".to_owned(), &self.parameters_a),
            (format!("{b} only"), &self.parameters_b),
        ] {
            if !parameters.is_empty() {
                let list: Vec<String> =
                    parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
                text += &labelled(&label, &list.join(" "));
            }
        }
        let hashes = format!("A {}, {b} {}", self.parameter_hash_a, self.parameter_hash_b);
        text + &labelled("parameter hash", &hashes)
    }

    /// Of a simulated world: the model, and the verdict under other assumptions (rule V6).
    pub(crate) fn model_text(&self, stated: Option<&Figures>, b: Level) -> Option<String> {
        let lines = self.model_lines(stated, b)?;
        let lines: String = lines.iter().map(|line| paragraph(line, "  ")).collect();
        Some(format!("{MODELLED}\n{lines}"))
    }

    /// The paragraphs of [`Origin::model_text`].
    pub(super) fn model_lines(&self, stated: Option<&Figures>, b: Level) -> Option<Vec<String>> {
        let model = self.model.as_ref()?;
        let world = &self.world;
        let mut lines =
            vec![format!("The same engine ran on a model of a machine ({world}). {model}")];
        for assumption in self.tried() {
            let comparison = assumption.comparison.as_ref();
            let line = comparison.map_or_else(|| "too few rounds".to_owned(), |of| of.line(b));
            lines.push(format!("With {}: {line}.", assumption.change));
        }
        if let Untried::Stopped(changes) = &self.untried {
            let line = |change: &String| {
                format!("With {change}: not tried, because the experiment was stopped.")
            };
            lines.extend(changes.iter().map(line));
        }
        lines.push(self.dependence(stated).to_owned());
        Some(lines)
    }

    /// The sentence on how far the verdict depends on the model's costs (rule V12).
    fn dependence(&self, stated: Option<&Figures>) -> &'static str {
        if self.untried == Untried::NotInRows {
            return "How far the verdict depends on the model's costs isn't in the rows: the first \
                    report says it.";
        }
        if self.depends(stated) {
            return "The verdict DEPENDS on these costs: don't rely on it.";
        }
        if self.tried().is_empty() {
            return "How far the verdict depends on the model's costs was not tried.";
        }
        let Some(stated) = stated else {
            return "With too few rounds there is no verdict that could depend on these costs.";
        };
        if self.tried().iter().any(|assumption| assumption.comparison.is_none()) {
            return "Under some of these there are too few rounds, so how far the verdict depends \
                    on them isn't known.";
        }
        if !self.compared().all(|figures| stated.agrees_with(figures)) {
            return "These agree within their noise, if not in every answer: to tell whether the \
                    verdict depends on these costs takes more rounds.";
        }
        match self.untried {
            Untried::Nothing => "The verdict is the same under each of these.",
            _ => {
                "The verdict is the same under those that were tried. How far it depends on the \
                 others isn't known."
            }
        }
    }

    fn tried(&self) -> &[Assumption] {
        self.sensitivity.as_deref().unwrap_or_default()
    }

    /// The comparisons under those assumptions that have one.
    fn compared(&self) -> impl Iterator<Item = &Figures> {
        self.tried().iter().filter_map(|assumption| assumption.comparison.as_ref())
    }

    /// Whether there is a verdict, and under some assumption it certainly is another one: an answer
    /// differs, and the effect does (rule V12).
    pub(super) fn depends(&self, stated: Option<&Figures>) -> bool {
        let is_another = |stated: &Figures, figures: &Figures| {
            !stated.agrees_with(figures) && stated.differs_from(figures)
        };
        stated.is_some_and(|stated| self.compared().any(|figures| is_another(stated, figures)))
    }
}
