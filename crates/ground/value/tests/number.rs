//! Arithmetic of NUMBER against fractions of big integers.

#![forbid(unsafe_code)]

mod common;

use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher};

use common::{any_number, config};
use num_bigint::{BigInt, Sign};
use proptest::prelude::*;
use value::{Number, NumberFault};

/// A fraction; its denominator is above zero.
#[derive(Clone, Debug)]
struct Fraction(BigInt, BigInt);

fn ten(exponent: u32) -> BigInt {
    BigInt::from(10).pow(exponent)
}

fn abs(value: &BigInt) -> BigInt {
    if value.sign() == Sign::Minus { -value } else { value.clone() }
}

/// `digits` × 10^-`scale`.
fn scaled(digits: BigInt, scale: i64) -> Fraction {
    let unit = ten(u32::try_from(scale.abs()).expect("a small scale"));
    if scale > 0 { Fraction(digits, unit) } else { Fraction(digits * unit, BigInt::from(1)) }
}

fn exact(number: Number) -> Fraction {
    scaled(BigInt::from(number.coefficient()), number.scale().into())
}

impl Fraction {
    fn compare(&self, other: &Fraction) -> Ordering {
        (&self.0 * &other.1).cmp(&(&other.0 * &self.1))
    }

    /// The coefficient at this many places, rounded half away from zero.
    fn at_places(&self, places: i64) -> BigInt {
        let Fraction(over, under) = self.times_ten_to(places);
        let two = BigInt::from(2);
        let nearest = (abs(&over) * &two + &under) / (&under * two);
        if over.sign() == Sign::Minus { -nearest } else { nearest }
    }

    fn times_ten_to(&self, exponent: i64) -> Fraction {
        let Fraction(over, under) = scaled(BigInt::from(1), -exponent);
        Fraction(&self.0 * over, &self.1 * under)
    }

    /// The NUMBER nearest to the fraction: at most 38 digits and 128 places, rounded once; none if
    /// too large.
    fn nearest(&self) -> Option<Fraction> {
        let length = |value: &BigInt| abs(value).to_string().len() as i64;
        let guess = 40 - length(&self.0) + length(&self.1);
        let fits = |places: &i64| {
            let Fraction(over, under) = self.times_ten_to(*places);
            abs(&over) / under < ten(38)
        };
        let places = (guess - 5..=guess).rev().find(fits).expect("the guess is near").min(128);
        let nearest = scaled(self.at_places(places), places);
        let limit = Fraction(ten(122), BigInt::from(1));
        let size = Fraction(abs(&nearest.0), nearest.1.clone());
        size.compare(&limit).is_lt().then_some(nearest)
    }
}

/// Checks that the result is the exact one, rounded once, or that both are too large.
fn agree(found: Result<Number, NumberFault>, expected: &Fraction) -> Result<(), TestCaseError> {
    match (found, expected.nearest()) {
        (Ok(number), Some(nearest)) => {
            prop_assert!(exact(number).compare(&nearest).is_eq(), "{:?} {:?}", number, nearest);
            prop_assert!(number.coefficient().unsigned_abs() < 10_u128.pow(38));
            prop_assert!(number.scale() <= 128);
            prop_assert!(!number.is_zero() || !number.is_negative());
        }
        (Err(fault), None) => prop_assert_eq!(fault, NumberFault::Overflow),
        (found, nearest) => prop_assert!(false, "{:?} {:?}", found, nearest),
    }
    Ok(())
}

/// Two numbers, often close to each other, so that their difference is small.
fn any_pair() -> impl Strategy<Value = (Number, Number)> {
    let near = (any_number(), -3..=3_i128, 0..=3_i32).prop_map(|(a, by, scale)| {
        let near = Number::from_parts(-a.coefficient() + by, a.scale());
        let near = near.unwrap_or(a).checked_mul(Number::from_parts(1, scale).expect("small"));
        (a, near.unwrap_or(a))
    });
    prop_oneof![2 => (any_number(), any_number()), 1 => near]
}

proptest! {
    #![proptest_config(config(2048))]

    #[test]
    fn sums_and_differences_are_exact_and_then_rounded_once((a, b) in any_pair()) {
        let (x, y) = (exact(a), exact(b));
        agree(a.checked_add(b), &Fraction(&x.0 * &y.1 + &y.0 * &x.1, &x.1 * &y.1))?;
        agree(a.checked_sub(b), &Fraction(&x.0 * &y.1 - &y.0 * &x.1, &x.1 * &y.1))?;
    }

    #[test]
    fn products_are_exact_and_then_rounded_once((a, b) in any_pair()) {
        let (x, y) = (exact(a), exact(b));
        agree(a.checked_mul(b), &Fraction(x.0 * y.0, x.1 * y.1))?;
    }

    #[test]
    fn quotients_are_exact_and_then_rounded_once((a, b) in any_pair()) {
        let (x, y) = (exact(a), exact(b));
        if b.is_zero() {
            prop_assert_eq!(a.checked_div(b), Err(NumberFault::DivisionByZero));
        } else {
            let sign = BigInt::from(if b.is_negative() { -1 } else { 1 });
            agree(a.checked_div(b), &Fraction(x.0 * y.1 * sign, x.1 * abs(&y.0)))?;
        }
    }

    #[test]
    fn what_is_left_of_a_division_is_exact((a, b) in any_pair()) {
        if b.is_zero() {
            prop_assert_eq!(a.checked_rem(b), Err(NumberFault::DivisionByZero));
            return Ok(());
        }
        let (x, y) = (exact(a), exact(b));
        let (over, under) = (&x.0 * &y.1, &y.0 * &x.1);
        let rest = &over - (&over / &under) * &under;
        agree(a.checked_rem(b), &Fraction(rest, x.1 * y.1))?;
    }

    #[test]
    fn a_root_is_the_nearest_of_38_digits(number in any_number()) {
        let root = number.abs().checked_sqrt().expect("not below zero");
        prop_assert_eq!(number.checked_sqrt().is_none(), number.is_negative());
        if root.is_zero() {
            prop_assert!(number.is_zero());
            return Ok(());
        }
        prop_assert!(root.coefficient() >= 10_i128.pow(37));
        let places = 2 * i64::from(root.scale());
        let Fraction(over, under) = exact(number.abs()).times_ten_to(places);
        let twice = BigInt::from(2) * BigInt::from(root.coefficient());
        let (low, high) = (&twice - BigInt::from(1), &twice + BigInt::from(1));
        let four = BigInt::from(4) * over;
        prop_assert!(&low * &low * &under <= four && four <= &high * &high * &under);
    }

    #[test]
    fn whole_numbers_around_a_number_are_its_floor_and_ceiling(number in any_number()) {
        let (floor, ceil) = (number.floor(), number.ceil());
        let (floor, ceil) = (floor.expect("not longer"), ceil.expect("not longer"));
        prop_assert!(floor <= number && number <= ceil);
        prop_assert_eq!((floor.truncate(0), ceil.truncate(0)), (floor, ceil));
        let between = ceil.checked_sub(floor).expect("small");
        prop_assert_eq!(between, Number::from(i64::from(number.truncate(0) != number)));
    }

    #[test]
    fn numbers_compare_as_fractions_do((a, b) in any_pair()) {
        prop_assert_eq!(a.cmp(&b), exact(a).compare(&exact(b)));
        prop_assert_eq!((-a).cmp(&-b), exact(b).compare(&exact(a)));
        prop_assert_eq!(a.abs().cmp(&Number::ZERO).is_ge(), true);
    }

    #[test]
    fn rounding_is_half_away_from_zero_at_any_place(
        number in any_number(),
        places in prop_oneof![-130..=130_i32, -5..=5_i32],
    ) {
        let rounded = scaled(exact(number).at_places(places.into()), places.into());
        agree(number.round(places), &rounded)?;
        let cut = number.truncate(places);
        prop_assert!(cut.abs() <= number.abs());
        let Fraction(over, under) = exact(number).times_ten_to(places.into());
        let expected = scaled(over / under, places.into());
        prop_assert!(exact(cut).compare(&expected).is_eq());
    }

    #[test]
    fn trailing_zeros_mean_nothing(number in any_number(), zeros in 0..20_u32) {
        let canonical = number.canonical();
        prop_assert_eq!(number, canonical);
        prop_assert!(number.is_zero() || canonical.coefficient() % 10 != 0);
        let hash = |number: Number| {
            let mut hasher = DefaultHasher::new();
            number.hash(&mut hasher);
            hasher.finish()
        };
        prop_assert_eq!(hash(number), hash(canonical));
        let scale = canonical.scale() + i32::try_from(zeros).expect("few");
        if let (Some(coefficient), true) = (canonical.at_scale(scale), scale <= 128) {
            let longer = Number::from_parts(coefficient, scale).expect("the same number");
            prop_assert_eq!((longer, hash(longer)), (number, hash(number)));
            prop_assert_eq!(longer.to_string(), number.to_string());
        }
    }

    #[test]
    fn a_written_number_is_read_back(number in any_number()) {
        prop_assert_eq!(number.to_string().parse(), Ok(number));
        prop_assert_eq!(format!("{number:?}").parse(), Ok(number));
    }

    #[test]
    fn a_text_is_read_exactly_and_then_rounded_once(
        sign in "[-+]?",
        whole in "[0-9]{0,50}",
        fraction in "[0-9]{0,50}|0{0,130}[1-9]{0,45}|[0-4]9{36,40}[5-9]",
        exponent in prop::option::of(-200..200_i64),
    ) {
        let text = match exponent {
            Some(exponent) => format!("{sign}{whole}.{fraction}e{exponent}"),
            None => format!("{sign}{whole}.{fraction}"),
        };
        if whole.is_empty() && fraction.is_empty() {
            prop_assert_eq!(text.parse::<Number>(), Err(NumberFault::NotANumber));
            return Ok(());
        }
        let digits = format!("{whole}{fraction}").parse::<BigInt>().expect("digits");
        let digits = if sign == "-" { -digits } else { digits };
        let scale = fraction.len() as i64 - exponent.unwrap_or(0);
        agree(text.parse(), &scaled(digits, scale))?;
    }

    #[test]
    fn any_text_is_a_number_or_none(text in "[-+0-9.eE ]{0,12}|\\PC{0,5}") {
        let _ = text.parse::<Number>();
    }

    #[test]
    fn a_double_is_the_nearest_to_its_number(number in any_number()) {
        prop_assert_eq!(number.to_f64(), number.to_string().parse::<f64>().expect("digits"));
    }

    #[test]
    fn a_number_of_a_double_is_that_double_again(bits in any::<u64>()) {
        let double = f64::from_bits(bits);
        match Number::from_f64(double) {
            Ok(number) if double.abs() > 1e-100 || double == 0.0 => {
                prop_assert_eq!(number.to_f64(), double);
            }
            Ok(_) => {}
            Err(fault) if double.is_finite() => {
                prop_assert_eq!(fault, NumberFault::Overflow);
                prop_assert!(double.abs() >= 9.999e121);
            }
            Err(fault) => prop_assert_eq!(fault, NumberFault::NotANumber),
        }
    }

    #[test]
    fn whole_numbers_come_back(int in common::any_int(), number in any_number()) {
        prop_assert_eq!(Number::from(int).to_i64(), Some(int));
        prop_assert_eq!(Number::from(int).to_string(), int.to_string());
        let nearest = exact(number).at_places(0);
        prop_assert_eq!(number.to_i64(), i64::try_from(nearest).ok());
    }

    #[test]
    fn parts_of_any_size_make_a_number_or_none(digits in any::<i128>(), scale in any::<i32>()) {
        let _ = Number::from_parts(digits, scale);
        if let Ok(number) = Number::from_parts(digits, scale % 150) {
            agree(Ok(number), &scaled(BigInt::from(digits), (scale % 150).into()))?;
            let _ = (number.at_scale(scale), number.round(scale), number.truncate(scale));
        }
    }
}

#[test]
fn numbers_are_written_plainly() {
    let written = [
        ("1.50", "1.5"),
        ("-0.050", "-0.05"),
        (".5", "0.5"),
        ("5.", "5"),
        ("1200", "1200"),
        ("1.2e3", "1200"),
        ("+7E-3", "0.007"),
        ("-0", "0"),
        (" 10 ", "10"),
        ("99999999999999999999999999999999999999.5", "100000000000000000000000000000000000000"),
        ("1e-129", "0"),
        ("5e-129", &format!("0.{}1", "0".repeat(127))),
    ];
    for (text, plain) in written {
        assert_eq!(text.parse::<Number>().map(|n| n.to_string()).as_deref(), Ok(plain), "{text}");
    }
    assert_eq!(format!("{:>6}|{:<6}|", Number::from(-5), Number::from(12)), "    -5|12    |");
}

#[test]
fn what_is_no_number_is_refused() {
    for text in
        ["", ".", "-", "e5", "1e", "1e+", "1.2.3", "0x10", "1 2", "--1", "NaN", "1e5.5", "٣"]
    {
        assert_eq!(text.parse::<Number>(), Err(NumberFault::NotANumber), "{text}");
    }
    for text in ["1e122", "1e99999999999999999999", "99999999999999999999999999999999999999.5e84"] {
        assert_eq!(text.parse::<Number>(), Err(NumberFault::Overflow), "{text}");
    }
    assert_eq!("1e-99999999999999999999".parse(), Ok(Number::ZERO));
    assert_eq!("0e99999999999999999999".parse(), Ok(Number::ZERO));
}

#[test]
fn a_third_has_thirty_eight_digits() {
    let third = Number::from(1).checked_div(Number::from(3)).expect("not by zero");
    assert_eq!(third.to_string(), format!("0.{}", "3".repeat(38)));
    let two = Number::from(2).checked_div(Number::from(3)).expect("not by zero");
    assert_eq!(two.to_string(), format!("0.{}7", "6".repeat(37)));
}

/// A little less than a half is less than a half: here digits far below the kept ones decide.
#[test]
fn what_is_cut_off_a_difference_still_counts() {
    let one = Number::from(1);
    let half = number("-5e-39");
    assert_eq!(one.checked_add(half), Ok(one));
    let more = number("-50000000000000000000000000000000000001e-76");
    assert_eq!(one.checked_add(more), Ok(number(&format!("0.{}", "9".repeat(38)))));
    assert_eq!(more.checked_add(one), one.checked_add(more));
    let hair = number("-1e-128");
    assert_eq!(one.checked_add(hair), Ok(one));
}

fn number(text: &str) -> Number {
    text.parse().expect("a number")
}

/// The lowest scales are refused as too large, whatever the rounding does.
#[test]
fn a_number_of_the_lowest_scale_is_refused() {
    for (coefficient, scale) in [(i128::MAX, i32::MIN), (i128::MIN, i32::MIN), (1, i32::MIN)] {
        let refused = Number::from_parts(coefficient, scale).expect_err("too large");
        assert_eq!(refused, NumberFault::Overflow);
    }
}
