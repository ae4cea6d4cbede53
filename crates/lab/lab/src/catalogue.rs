//! The list of experiments that compare two settings: name, question, settings.

use instance::Parameters;

use crate::Form;

/// A built-in experiment.
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its question.
    pub question: &'static str,
    /// Setting A and setting B in words.
    pub settings: [&'static str; 2],
    pub(crate) apply: [fn(&mut Parameters); 2],
}

/// All of them.
pub const EXPERIMENTS: &[Experiment] = &[Experiment {
    name: "dbwr-count",
    question: "is it worth having eight database writers rather than one?",
    settings: ["db_writer_processes = 1", "db_writer_processes = 8"],
    apply: [
        |parameters| parameters.db_writer_processes = 1,
        |parameters| parameters.db_writer_processes = 8,
    ],
}];

impl Experiment {
    /// The form's parameters under setting A and under setting B.
    pub(crate) fn parameters(&self, form: &Form) -> [Parameters; 2] {
        self.apply.map(|apply| {
            let mut parameters = form.parameters.clone();
            apply(&mut parameters);
            parameters
        })
    }

    /// The experiment of that name.
    pub fn named(name: &str) -> Option<&'static Experiment> {
        EXPERIMENTS.iter().find(|experiment| experiment.name == name)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Ending, Request, RunOn, run};
    use waits::SessionKind;

    /// Sixteen times as many buffers: rows are read from the disk, or they aren't.
    static CONTROL: Experiment = Experiment {
        name: "control",
        question: "does the lab see what can't be missed?",
        settings: ["db_cache_size = 512k", "db_cache_size = 8m"],
        apply: [
            |parameters| parameters.db_cache_size = 1 << 19,
            |parameters| parameters.db_cache_size = 8 << 20,
        ],
    };

    fn finding(equals: bool) -> serde_json::Value {
        let mut form = Form::tiny();
        (form.pairs, form.aa_pairs) = (8, 4);
        let request = Request {
            experiment: &CONTROL,
            form,
            run_on: RunOn::Model { machine: "eight-core".into(), disk: "nvme".into() },
            seed: 7,
            threshold: 0.02,
            equals,
            commit: "of a test".into(),
            command: "a test".into(),
        };
        let os = os::linux::start_with(Arc::new(|_| {}));
        let session = os.adopt("test", SessionKind::Foreground);
        let ended = run(&request, &|| false, &mut |_| {}, &session);
        let Ok(Ending::Answered(report, _)) = ended else { panic!("no answer") };
        let found: serde_json::Value = serde_json::from_str(&report.json()).expect("JSON");
        found["headline"]["comparison"].clone()
    }

    /// The control of what says that equals aren't told apart: by as many pairs of the same form.
    #[test]
    fn a_real_difference_is_claimed_and_none_between_equals() {
        let [equals, different] = [true, false].map(finding);
        assert_eq!(different["finding"], "real", "{different}");
        assert!(different["ratio"].as_f64().expect("a number") > 1.0, "{different}");
        assert!(equals["finding"].is_string() && equals["finding"] != "real", "{equals}");
    }
}
