//! A latency whose body is lognormal and whose tail is a rare, large addition.
//!
//! ```text
//!   X = median · exp(sigma · Z) + slow · [U < probability]      Z normal, U uniform
//!   mean        = median · exp(sigma²/2) + probability · slow
//!   P(X <= x)   = (1 - probability) · F(x) + probability · F(x - slow)
//! ```
//! Z is made by inversion, so that one draw makes one Z and the p-quantile of the body is
//! `median · exp(sigma · z(p))` to the last digit. The quantile of the whole is found by
//! bisection on the formula above.
//!
//! Callers: `nvme`. Source of the normal quantile: Wichura, "Algorithm AS 241: the percentage
//! points of the normal distribution", Applied Statistics 37(3), 1988, routine PPND16.

use super::error::ModelError;
use super::reader::Reader;
use super::units::{RandomDraws, ns_of_us};

/// Names of the four keys that describe one latency in a file.
pub(super) struct LatencyKeys {
    pub(super) median_us: &'static str,
    pub(super) sigma: &'static str,
    pub(super) slow_probability: &'static str,
    pub(super) slow_us: &'static str,
}

/// A distribution of times.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Latency {
    median_us: f64,
    sigma: f64,
    slow_probability: f64,
    slow_us: f64,
}

impl Latency {
    /// Takes the four keys from a file.
    pub(super) fn from_reader(
        reader: &mut Reader,
        keys: &LatencyKeys,
    ) -> Result<Latency, ModelError> {
        Ok(Latency {
            median_us: reader.number(keys.median_us, 0.1..=1e6)?,
            sigma: reader.number(keys.sigma, 0.0..=2.0)?,
            slow_probability: reader.number(keys.slow_probability, 0.0..=0.5)?,
            slow_us: reader.number(keys.slow_us, 0.0..=1e7)?,
        })
    }

    /// Takes a latency without a tail of its own.
    pub(super) fn body_from_reader(
        reader: &mut Reader,
        median_us: &'static str,
        sigma: &'static str,
    ) -> Result<Latency, ModelError> {
        Ok(Latency {
            median_us: reader.number(median_us, 0.1..=1e6)?,
            sigma: reader.number(sigma, 0.0..=2.0)?,
            slow_probability: 0.0,
            slow_us: 0.0,
        })
    }

    /// Draws one time. It always takes two random numbers.
    pub(super) fn draw_ns(&self, luck: &mut RandomDraws) -> u64 {
        let body = self.median_us * libm::exp(self.sigma * normal_quantile(luck.uniform()));
        let slow = if luck.uniform() < self.slow_probability { self.slow_us } else { 0.0 };
        ns_of_us(body + slow)
    }

    /// The mean of the distribution.
    pub(super) fn mean_us(&self) -> f64 {
        let body = self.median_us * libm::exp(self.sigma * self.sigma / 2.0);
        body + self.slow_probability * self.slow_us
    }

    /// The time within which a share `p` of all draws lies.
    pub(super) fn quantile_us(&self, p: f64) -> f64 {
        assert!(p > 0.0 && p < 1.0, "a quantile's order lies between 0 and 1, not at {p}");
        let mut low = 0.0;
        let mut high = self.median_us * libm::exp(self.sigma * 9.0) + self.slow_us;
        for _ in 0..200 {
            let middle = (low + high) / 2.0;
            if self.share_within(middle) < p { low = middle } else { high = middle }
        }
        high
    }

    fn share_within(&self, time_us: f64) -> f64 {
        let fast = (1.0 - self.slow_probability) * self.body_within(time_us);
        fast + self.slow_probability * self.body_within(time_us - self.slow_us)
    }

    fn body_within(&self, time_us: f64) -> f64 {
        if self.sigma == 0.0 {
            return if time_us >= self.median_us { 1.0 } else { 0.0 };
        }
        if time_us <= 0.0 {
            return 0.0;
        }
        normal_share_below(libm::log(time_us / self.median_us) / self.sigma)
    }
}

/// P(Z <= z) of the standard normal distribution.
fn normal_share_below(z: f64) -> f64 {
    libm::erfc(-z / std::f64::consts::SQRT_2) / 2.0
}

/// The z below which a share `p` of the standard normal distribution lies; 16 digits (AS 241).
fn normal_quantile(p: f64) -> f64 {
    let centred = p - 0.5;
    if centred.abs() <= 0.425 {
        let r = 0.180_625 - centred * centred;
        return centred * polynomial(&CENTRE_OVER, r) / polynomial(&CENTRE_UNDER, r);
    }
    let r = (-libm::log(if centred < 0.0 { p } else { 1.0 - p })).sqrt();
    let size = if r <= 5.0 {
        polynomial(&FLANK_OVER, r - 1.6) / polynomial(&FLANK_UNDER, r - 1.6)
    } else {
        polynomial(&TAIL_OVER, r - 5.0) / polynomial(&TAIL_UNDER, r - 5.0)
    };
    if centred < 0.0 { -size } else { size }
}

/// Horner's rule; the coefficient of the highest power comes last.
fn polynomial(coefficients: &[f64; 8], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

const CENTRE_OVER: [f64; 8] = [
    3.387_132_872_796_366_5,
    1.331_416_678_917_843_8e2,
    1.971_590_950_306_551_3e3,
    1.373_169_376_550_946e4,
    4.592_195_393_154_987e4,
    6.726_577_092_700_87e4,
    3.343_057_558_358_813e4,
    2.509_080_928_730_122_7e3,
];
const CENTRE_UNDER: [f64; 8] = [
    1.0,
    4.231_333_070_160_091e1,
    6.871_870_074_920_579e2,
    5.394_196_021_424_751e3,
    2.121_379_430_158_659_7e4,
    3.930_789_580_009_271e4,
    2.872_908_573_572_194_3e4,
    5.226_495_278_852_854e3,
];
const FLANK_OVER: [f64; 8] = [
    1.423_437_110_749_683_5,
    4.630_337_846_156_546,
    5.769_497_221_460_691,
    3.647_848_324_763_204_5,
    1.270_458_252_452_368_4,
    2.417_807_251_774_506e-1,
    2.272_384_498_926_918_4e-2,
    7.745_450_142_783_414e-4,
];
const FLANK_UNDER: [f64; 8] = [
    1.0,
    2.053_191_626_637_759,
    1.676_384_830_183_803_8,
    6.897_673_349_851e-1,
    1.481_039_764_274_800_8e-1,
    1.519_866_656_361_645_7e-2,
    5.475_938_084_995_345e-4,
    1.050_750_071_644_416_9e-9,
];
const TAIL_OVER: [f64; 8] = [
    6.657_904_643_501_103,
    5.463_784_911_164_114,
    1.784_826_539_917_291_3,
    2.965_605_718_285_048_7e-1,
    2.653_218_952_657_612_4e-2,
    1.242_660_947_388_078_4e-3,
    2.711_555_568_743_487_6e-5,
    2.010_334_399_292_288_1e-7,
];
const TAIL_UNDER: [f64; 8] = [
    1.0,
    5.998_322_065_558_88e-1,
    1.369_298_809_227_358e-1,
    1.487_536_129_085_061_5e-2,
    7.868_691_311_456_133e-4,
    1.846_318_317_510_054_8e-5,
    1.421_511_758_316_446e-7,
    2.044_263_103_389_939_8e-15,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_quantile_undoes_the_normal_distribution() {
        for exponent in 1..=15 {
            for digit in 1..10 {
                let p = f64::from(digit) * libm::pow(10.0, -f64::from(exponent));
                let back = normal_share_below(normal_quantile(p));
                assert!((back / p - 1.0).abs() < 1e-12, "p={p} came back as {back}");
                let mirrored = normal_quantile(1.0 - p) + normal_quantile(p);
                // 1 - p is itself rounded, so only the body can be compared closely.
                assert!(exponent > 3 || mirrored.abs() < 1e-9, "p={p}, off by {mirrored}");
            }
        }
        // Abramowitz & Stegun, table 26.5.
        assert!((normal_quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-14);
        assert!((normal_quantile(0.999) - 3.090_232_306_167_813_5).abs() < 1e-13);
    }

    #[test]
    fn quantiles_of_the_mixture_see_the_tail_where_it_begins() {
        let latency =
            Latency { median_us: 80.0, sigma: 0.1, slow_probability: 0.001, slow_us: 1_000.0 };
        assert!(latency.quantile_us(0.99) < 110.0);
        assert!(latency.quantile_us(0.999_5) > 1_000.0);
        let flat = Latency { sigma: 0.0, slow_probability: 0.0, ..latency };
        assert!((flat.quantile_us(0.3) - 80.0).abs() < 1e-9);
        assert_eq!(flat.draw_ns(&mut RandomDraws::new(7)), 80_000);
    }
}
