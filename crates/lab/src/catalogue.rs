//! The experiments there are: a name, a question, and the two settings that it compares.

use instance::Parameters;

use crate::Form;

/// A built-in experiment.
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it asks.
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
