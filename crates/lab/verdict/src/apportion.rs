//! Rounding figures together, so that what is printed adds up (rule V2).
//!
//! The total is rounded; each part is rounded down; what is then missing goes, one unit each, to
//! the parts that lost most. No part is off by a whole unit.
//!
//! Callers: `processes`, `time_table`.
//! Source: the largest-remainder method, as seats are given to parties.

/// Whole units for `parts` that sum to their total's nearest whole number. Parts may be negative.
pub(crate) fn apportion(parts: &[f64]) -> Vec<i64> {
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
