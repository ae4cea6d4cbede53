//! How far a schedule may stray from the one that the costs alone would give.

/// Seeded disturbances of the schedule, so that a seed is a schedule. All off is the model itself:
/// for figures. On is for finding races.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Perturbation {
    /// Among threads that could go on at the same time, and among sleepers on one word, the seed
    /// chooses instead of the order of arrival.
    pub choices: bool,
    /// In 1,024 interleaving points so many make the thread give up its CPU.
    pub yields_per_1024: u32,
    /// And so many delay it by up to `delay_ns_max`.
    pub delays_per_1024: u32,
    /// The longest such delay, in ns.
    pub delay_ns_max: u32,
    /// In 1,024 sleeps on a word so many end for no reason, as a futex may.
    pub spurious_per_1024: u32,
}

impl Perturbation {
    /// The model itself.
    pub const NONE: Perturbation = Perturbation {
        choices: false,
        yields_per_1024: 0,
        delays_per_1024: 0,
        delay_ns_max: 0,
        spurious_per_1024: 0,
    };

    /// What finds races: one interleaving point in eight switches, one in eight delays.
    pub const RACES: Perturbation = Perturbation {
        choices: true,
        yields_per_1024: 128,
        delays_per_1024: 128,
        delay_ns_max: 5_000,
        spurious_per_1024: 16,
    };

    pub(crate) fn interleaves(&self) -> bool {
        self.yields_per_1024 + self.delays_per_1024 > 0
    }
}
