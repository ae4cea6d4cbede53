//! Pure statistics: figures in, figures out. No I/O, no clock, no global state.
//!
//! Races and experiments measure pairs: ours and the rival's, run next to each other in time. What
//! they claim follows from four questions that this crate answers:
//!
//!   * [`summary`]: what is a typical value of a sample? (mean, median, quantiles)
//!   * [`ratio`]: by what factor do the two sides of the pairs differ, and how sure is that?
//!   * [`two_samples`]: do two samples differ that don't come in pairs?
//!   * [`verdict`]: does that interval reach the goal, miss it, or leave it open?
//!
//! Of one setting, where a curve is the answer:
//!
//!   * [`density`]: which shape has the sample?
//!   * [`normality`]: may it be normal?
//!   * [`series`]: how alike are neighbours in time, and how sure is their mean?
//!   * [`autoregressive`]: what does a column explain of such a series?
//!   * [`changepoint`]: from when on is it steady, and does it come in cycles?
//!   * [`sawtooth`]: does it fall back again and again, and how far apart?
//!
//! Experiments that switch between two settings again and again, and stop when they have an answer:
//!
//!   * [`adjusted`]: the mean difference of pairs, less what covariates explain.
//!   * [`sequential`]: how far from zero it must be, at each look; and the answer.
//!   * [`distributions`]: normal, Student's t, F and chi-square, which all of it rests on.
//!
//! Rules
//!   * The run is the unit: a sample is one figure per run, never one per second or per request.
//!   * The same input in the same order with the same seed gives the same output.
//!   * Callers hand in finite numbers (ratios: positive ones, too); anything else is a broken
//!     caller and panics, naming the value. Whoever reads figures from outside checks them first.
#![forbid(unsafe_code)]

pub mod adjusted;
pub mod autoregressive;
pub mod changepoint;
pub mod density;
pub mod distributions;
mod fit;
pub mod normality;
pub mod ratio;
pub mod sawtooth;
pub mod sequential;
pub mod series;
pub mod summary;
pub mod two_samples;
pub mod verdict;

pub use adjusted::{Estimate, Pair};
pub use ratio::{Interval, geometric_mean, interval_95};
pub use sawtooth::Sawtooth;
pub use sequential::{Answer, Direction, Looks, Matters, Outlook};
pub use summary::{mean, median, quantile};
pub use verdict::Verdict;
