//! Numbers in text: thousands set apart, as many decimals as mean something, sums that add up.
//!
//! Callers: every report.

/// `units` of 10^-`decimals`: `fixed(1234567, 2)` is `12,345.67`.
pub fn fixed(units: i64, decimals: u32) -> String {
    let sign = if units < 0 { "-" } else { "" };
    let scale = 10_u64.pow(decimals);
    let (whole, part) = (units.unsigned_abs() / scale, units.unsigned_abs() % scale);
    let whole = grouped(whole);
    if decimals == 0 {
        return format!("{sign}{whole}");
    }
    format!("{sign}{whole}.{part:0width$}", width = decimals as usize)
}

/// Like [`fixed`], with a plus sign before positive figures, for differences.
pub fn signed(units: i64, decimals: u32) -> String {
    let plus = if units > 0 { "+" } else { "" };
    format!("{plus}{}", fixed(units, decimals))
}

/// `1234567` is `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Rates beside each other: no decimals from 1,000 on, one from 100 on, four below a tenth (0 has
/// two), else two; [`alike`].
pub fn rates(values: [f64; 2]) -> [String; 2] {
    alike(values, |value| {
        if value.abs() >= 1_000.0 {
            0
        } else if value.abs() >= 100.0 {
            1
        } else if value.abs() >= 0.1 || value == 0.0 {
            2
        } else {
            4
        }
    })
}

/// Two figures beside each other, with as many decimals: what `decimals` gives the one that wants
/// more. Those a hundred times apart keep their own, or the larger one would be too long. Beside 0
/// the other's hold.
pub fn alike(values: [f64; 2], decimals: impl Fn(f64) -> u32) -> [String; 2] {
    let [a, b] = values.map(f64::abs);
    let own = values.map(decimals);
    let decimals = match (a == 0.0, b == 0.0) {
        (true, false) => [own[1]; 2],
        (false, true) => [own[0]; 2],
        _ if a.max(b) <= 100.0 * a.min(b) => [own[0].max(own[1]); 2],
        _ => own,
    };
    [decimal(values[0], decimals[0]), decimal(values[1], decimals[1])]
}

/// `value` rounded to this number of decimals.
pub fn decimal(value: f64, decimals: u32) -> String {
    fixed((value * 10_f64.powi(decimals as i32)).round() as i64, decimals)
}

/// A ratio as a change: 1.0316 is `+3.2 %`. Two decimals below one per cent.
pub fn change(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    let decimals = if percent.abs() < 0.995 { 2 } else { 1 };
    let units = (percent * 10_f64.powi(decimals)).round() as i64;
    format!("{} %", signed(units, decimals as u32))
}

/// The size of a change, without a sign: `3.2 %`.
pub fn change_size(ratio: f64) -> String {
    change(ratio).trim_start_matches(['+', '-']).to_owned()
}

/// A share: 0.0316 is `3.2 %`; two decimals below one per cent.
pub fn share(share: f64) -> String {
    change_size(1.0 + share)
}

/// `1 pair`, `10 pairs`.
pub fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number))
}

/// Rounds figures together, so that the printed parts add up to the printed total: whole units for
/// `parts`, whose sum is the rounded total. Parts may be negative; none is off by a whole unit.
///
/// This is the largest-remainder method, by which seats are given to parties: each part is rounded
/// down, and the missing units go, one each, to the parts that lost most.
pub fn apportion(parts: &[f64]) -> Vec<i64> {
    let total = parts.iter().sum::<f64>().round() as i64;
    let mut units: Vec<i64> = parts.iter().map(|part| part.floor() as i64).collect();
    let missing = total - units.iter().sum::<i64>();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    let lost = |index: &usize| parts[*index] - parts[*index].floor();
    order.sort_by(|a, b| lost(b).total_cmp(&lost(a)));
    let missing = usize::try_from(missing).expect("parts rounded down sum to the total or less");
    for index in order.into_iter().take(missing) {
        units[index] += 1;
    }
    units
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        let shown: Vec<String> = [0, 999, 1_000, 1_234_567].map(grouped).into();
        assert_eq!(shown, ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn fixed_decimals_keep_their_zeros_and_their_sign() {
        assert_eq!(fixed(1_234_567, 2), "12,345.67");
        assert_eq!(fixed(-5, 2), "-0.05");
        assert_eq!(fixed(70, 1), "7.0");
        assert_eq!(
            (signed(12, 1), signed(0, 1), signed(-12, 1)),
            ("+1.2".into(), "0.0".into(), "-1.2".into())
        );
    }

    #[test]
    fn rates_have_the_decimals_that_say_something() {
        let shown = |value: f64| rates([value, value])[0].clone();
        let shown: Vec<String> = [0.000_2, 0.0, 0.123, 12.345, 812.34, 33_622.4].map(shown).into();
        assert_eq!(shown, ["0.0002", "0.00", "0.12", "12.35", "812.3", "33,622"]);
    }

    #[test]
    fn figures_beside_each_other_have_as_many_decimals() {
        assert_eq!(rates([1_000.0, 999.6]), ["1,000.0", "999.6"]);
        assert_eq!(rates([0.0, 0.05]), ["0.0000", "0.0500"]);
        assert_eq!(rates([0.25, 0.0]), ["0.25", "0.00"]);
        assert_eq!(rates([33_622.4, 0.05]), ["33,622", "0.0500"], "a hundred times apart");
        assert_eq!(rates([0.0, 0.0]), ["0.00", "0.00"]);
    }

    #[test]
    fn a_ratio_is_a_change_in_per_cent() {
        assert_eq!(
            (change(1.0316), change(0.95), change(1.0)),
            ("+3.2 %".into(), "-5.0 %".into(), "0.00 %".into())
        );
        assert_eq!((change_size(0.9958), share(0.0042)), ("0.42 %".into(), "0.42 %".into()));
    }

    #[test]
    fn one_is_singular() {
        assert_eq!(
            (counted(1, "pair"), counted(2_000, "pair")),
            ("1 pair".into(), "2,000 pairs".into())
        );
    }

    #[test]
    fn parts_that_would_all_round_down_still_make_the_total() {
        assert_eq!(apportion(&[0.4, 0.4, 0.4, 0.3]), [1, 1, 0, 0]);
        assert_eq!(apportion(&[33.333, 33.333, 33.334]), [33, 33, 34]);
    }

    #[test]
    fn negative_parts_count_against_the_others() {
        assert_eq!(apportion(&[10.6, -0.3, 0.4]), [11, 0, 0]);
        assert_eq!(apportion(&[10.2, -0.9, 0.1]), [10, -1, 0]);
    }

    #[test]
    fn no_part_is_off_by_a_whole_unit() {
        let parts: Vec<f64> = (1..200).map(|i| f64::from(i * i % 97) / 7.3 - 2.0).collect();
        let units = apportion(&parts);
        assert_eq!(units.iter().sum::<i64>(), parts.iter().sum::<f64>().round() as i64);
        for (part, unit) in parts.iter().zip(units) {
            assert!((part - unit as f64).abs() < 1.0, "{part} became {unit}");
        }
    }

    #[test]
    fn nothing_makes_nothing() {
        assert!(apportion(&[]).is_empty());
    }
}
