//! Where the figures come from: how to get them again, and for a modelled world, on what they rest.
//!
//! Callers: `verdict`.

use std::collections::BTreeMap;

use report::{labelled, paragraph};
use serde::Serialize;

use super::Question;
use super::headline::Figures;
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
    sensitivity: Vec<Assumption>,
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
            sensitivity: question.sensitivity.iter().map(assumption).collect(),
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
        for assumption in &self.sensitivity {
            let comparison = assumption.comparison.as_ref();
            let line = comparison.map_or_else(|| "too few pairs".to_owned(), |of| of.line(b));
            lines.push(format!("With {}: {line}.", assumption.change));
        }
        let sentence = match (self.sensitivity.is_empty(), self.depends(stated)) {
            (true, _) => "How far the verdict depends on the model's costs was not tried.",
            (false, false) => "The verdict is the same under each of these.",
            (false, true) => "The verdict DEPENDS on these costs: don't rely on it.",
        };
        lines.push(sentence.to_owned());
        Some(lines)
    }

    /// Whether the verdict is another under some assumption (rule V12).
    pub(super) fn depends(&self, stated: Option<&Figures>) -> bool {
        let same = |assumption: &Assumption| match (stated, &assumption.comparison) {
            (Some(stated), Some(figures)) => stated.agrees_with(figures),
            _ => false,
        };
        !self.sensitivity.iter().all(same)
    }
}
