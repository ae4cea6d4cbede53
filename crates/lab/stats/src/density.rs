//! The shape of a sample: a density by Gaussian kernels.
//!
//! Each value becomes a small normal distribution; their sum is the curve. Two humps show what no
//! mean tells: that a machine has two states.
//!
//! Latencies lie over decades. [`Density::of_logarithms`] smooths their logarithms, so that a hump
//! at 100 us and one at 10 ms are each as wide as they are relative to themselves.
//!
//! Callers: the lab's charts.
//! Sources: Scott, Multivariate Density Estimation (1992); Silverman, Density Estimation (1986);
//! the factors are those of SciPy's `gaussian_kde`.

use crate::summary::deviation;

/// How wide the kernels are, in standard deviations of the sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bandwidth {
    /// n^(-1/5).
    Scott,
    /// (3 n / 4)^(-1/5).
    Silverman,
    /// This factor, above zero.
    Factor(f64),
}

impl Bandwidth {
    fn factor(self, count: usize) -> f64 {
        let n = count as f64;
        match self {
            Bandwidth::Scott => n.powf(-0.2),
            Bandwidth::Silverman => (0.75 * n).powf(-0.2),
            Bandwidth::Factor(factor) => {
                assert!(factor > 0.0, "a bandwidth is above zero, not {factor}");
                factor
            }
        }
    }
}

/// A smooth density of a sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Density {
    /// Values, or their logarithms.
    centers: Vec<f64>,
    width: f64,
    logarithmic: bool,
}

impl Density {
    /// The density of the values. None with fewer than two, or if all are equal.
    ///
    /// # Panics
    /// If a value isn't finite.
    pub fn of(sample: &[f64], bandwidth: Bandwidth) -> Option<Density> {
        Density::around(sample.to_vec(), bandwidth, false)
    }

    /// The density of the values' logarithms; the values are above zero.
    ///
    /// # Panics
    /// If a value isn't finite or isn't above zero.
    pub fn of_logarithms(sample: &[f64], bandwidth: Bandwidth) -> Option<Density> {
        let log = |value: &f64| {
            assert!(*value > 0.0, "a logarithm is taken of values above zero, not {value}");
            value.ln()
        };
        Density::around(sample.iter().map(log).collect(), bandwidth, true)
    }

    fn around(centers: Vec<f64>, bandwidth: Bandwidth, logarithmic: bool) -> Option<Density> {
        if centers.len() < 2 {
            return None;
        }
        let width = bandwidth.factor(centers.len()) * deviation(&centers);
        (width > 0.0).then_some(Density { centers, width, logarithmic })
    }

    /// The density at `x`: per unit of x, or of a density of logarithms per unit of ln x (the area
    /// under the curve is then 1 on a logarithmic axis).
    pub fn at(&self, x: f64) -> f64 {
        let x = if self.logarithmic { x.ln() } else { x };
        let bell = |center: &f64| (-0.5 * ((x - center) / self.width).powi(2)).exp();
        let scale = self.width * (2.0 * std::f64::consts::PI).sqrt() * self.centers.len() as f64;
        self.centers.iter().map(bell).sum::<f64>() / scale
    }

    /// Points of the curve, evenly spaced on its axis from three widths below the least
    /// value to three above the greatest.
    pub fn curve(&self, points: u32) -> Vec<Point> {
        assert!(points >= 2, "a curve has two points or more, not {points}");
        let ends =
            |fold: fn(f64, f64) -> f64, start| self.centers.iter().copied().fold(start, fold);
        let low = ends(f64::min, f64::INFINITY) - 3.0 * self.width;
        let high = ends(f64::max, f64::NEG_INFINITY) + 3.0 * self.width;
        let step = (high - low) / f64::from(points - 1);
        (0..points)
            .map(|at| {
                let place = low + step * f64::from(at);
                let x = if self.logarithmic { place.exp() } else { place };
                Point { x, density: self.at(x) }
            })
            .collect()
    }
}

/// A point of a density's curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// In the unit of the sample.
    pub x: f64,
    /// As [`Density::at`] gives it.
    pub density: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_area_under_the_curve_is_one_on_either_axis() {
        let sample = [120.0, 130.0, 150.0, 9_000.0, 11_000.0, 12_000.0];
        let plain = Density::of(&sample, Bandwidth::Scott).expect("a spread").curve(4_000);
        let area: f64 = plain
            .windows(2)
            .map(|pair| (pair[1].x - pair[0].x) * (pair[0].density + pair[1].density) / 2.0)
            .sum();
        assert!((area - 1.0).abs() < 2e-3, "{area}");
        let logs = Density::of_logarithms(&sample, Bandwidth::Silverman).expect("a spread");
        let area: f64 = logs
            .curve(4_000)
            .windows(2)
            .map(|pair| (pair[1].x / pair[0].x).ln() * (pair[0].density + pair[1].density) / 2.0)
            .sum();
        assert!((area - 1.0).abs() < 2e-3, "{area}");
    }

    #[test]
    fn equal_values_have_no_density() {
        assert_eq!(Density::of(&[1.0; 5], Bandwidth::Scott), None);
        assert_eq!(Density::of(&[1.0], Bandwidth::Scott), None);
    }
}
