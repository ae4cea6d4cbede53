//! Where the experiments stand that haven't crossed a bound yet: the recursive integration.
//!
//! A density is kept as values at the nodes of a quadrature over the upper half (it is symmetric).
//! The nodes for the next step must resolve a normal density of that step's width, which is known
//! only when the look comes; so a density is first kept as "the nodes before, and a step from
//! there", and put on nodes of its own when the next step is known.
//!
//! Callers: `sequential`.

use super::BOUND_MAX;
use crate::distributions::Distribution;

/// Gauss-Legendre nodes and weights on -1..1, the positive half of twelve (Abramowitz & Stegun
/// 25.4.30).
const NODES: [(f64, f64); 6] = [
    (0.125_233_408_511_468_9, 0.249_147_045_813_402_8),
    (0.367_831_498_998_180_2, 0.233_492_536_538_354_8),
    (0.587_317_954_286_617_4, 0.203_167_426_723_065_92),
    (0.769_902_674_194_304_7, 0.160_078_328_543_346_23),
    (0.904_117_256_370_474_9, 0.106_939_325_995_318_43),
    (0.981_560_634_246_719_3, 0.047_175_336_386_511_83),
];

/// The width of a panel of nodes, in standard deviations of the narrower step: the error of a
/// bound is then below 1e-10.
const PANEL: f64 = 1.5;

/// Beyond this many standard deviations a normal density counts as zero.
const REACH: f64 = 9.0;

/// The density of B after a look.
#[derive(Clone, Debug)]
pub(super) struct Density {
    fraction: f64,
    /// Experiments at this |b| or beyond have stopped.
    limit: f64,
    from: From,
}

/// What the density is computed from.
#[derive(Clone, Debug)]
enum From {
    /// No look yet: all of it at zero.
    Start,
    /// A step of this standard deviation from these masses.
    Step { masses: Vec<Mass>, deviation: f64 },
}

/// Density times weight at a node, which stands for the node at -b, too.
#[derive(Clone, Copy, Debug)]
struct Mass {
    at: f64,
    weight: f64,
}

/// A step to the next look, whose bound isn't known yet.
pub(super) struct Step {
    fraction: f64,
    deviation: f64,
    masses: Vec<Mass>,
}

impl Density {
    pub(super) fn start() -> Density {
        Density { fraction: 0.0, limit: 0.0, from: From::Start }
    }

    pub(super) fn fraction(&self) -> f64 {
        self.fraction
    }

    pub(super) fn step_to(&self, fraction: f64) -> Step {
        let deviation = (fraction - self.fraction).sqrt();
        let masses = match &self.from {
            // Both halves of a mass at zero.
            From::Start => vec![Mass { at: 0.0, weight: 0.5 }],
            From::Step { masses, deviation: before } => {
                nodes(self.limit, PANEL * deviation.min(*before))
                    .map(|node| Mass {
                        weight: node.weight * density_at(masses, *before, node.at),
                        ..node
                    })
                    .collect()
            }
        };
        Step { fraction, deviation, masses }
    }
}

impl Step {
    /// The probability that this look, with this bound, is the first to be crossed.
    pub(super) fn spent_at(&self, bound: f64) -> f64 {
        let limit = bound * self.fraction.sqrt();
        let beyond = |b: f64| Distribution::Normal.survival((limit - b) / self.deviation);
        self.masses
            .iter()
            .map(|mass| 2.0 * mass.weight * (beyond(mass.at) + beyond(-mass.at)))
            .sum()
    }

    /// The bound at which [`Step::spent_at`] is `allowed`; at most [`BOUND_MAX`].
    pub(super) fn bound_that_spends(&self, allowed: f64) -> f64 {
        if allowed <= self.spent_at(BOUND_MAX) {
            return BOUND_MAX;
        }
        let (mut low, mut high) = (0.0, BOUND_MAX);
        while high - low > 1e-11 {
            let middle = f64::midpoint(low, high);
            if self.spent_at(middle) > allowed {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }

    /// The density of the experiments that this bound doesn't stop.
    pub(super) fn after(self, bound: f64) -> Density {
        Density {
            fraction: self.fraction,
            limit: bound * self.fraction.sqrt(),
            from: From::Step { masses: self.masses, deviation: self.deviation },
        }
    }
}

/// Nodes from 0 to `limit` in panels of at most this width; their masses are their weights.
fn nodes(limit: f64, panel: f64) -> impl Iterator<Item = Mass> {
    let panels = (limit / panel).ceil().max(1.0);
    let half = limit / panels / 2.0;
    (0..panels as u64).flat_map(move |at| {
        let center = (2 * at + 1) as f64 * half;
        NODES.iter().flat_map(move |&(node, weight)| {
            [-node, node].map(|node| Mass { at: center + half * node, weight: half * weight })
        })
    })
}

/// The density at `b` after a step of this standard deviation. The masses lie in rising order, up
/// to the order within a panel.
fn density_at(masses: &[Mass], deviation: f64, b: f64) -> f64 {
    let scale = 1.0 / (deviation * (2.0 * std::f64::consts::PI).sqrt());
    let bell = |distance: f64| {
        let z = distance / deviation;
        if z.abs() > REACH { 0.0 } else { libm::exp(-0.5 * z * z) }
    };
    let sum: f64 =
        masses.iter().map(|mass| mass.weight * (bell(b - mass.at) + bell(b + mass.at))).sum();
    scale * sum
}
