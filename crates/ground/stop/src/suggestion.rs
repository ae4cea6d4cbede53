//! Suggestions for a name that doesn't exist.
//!
//! Callers: `catalog` for tables and columns, `instance` for parameters.

/// The most letters by which a suggested name differs.
const DISTANCE_MAX: usize = 2;

/// The most letters of a name that are compared.
const LETTERS_MAX: usize = 128;

/// The end of a refusal of `name`: "; did you mean NAME?" with the nearest of the existing
/// names, or nothing if none is near. Case makes no difference.
pub fn did_you_mean<'a>(name: &str, there: impl IntoIterator<Item = &'a str>) -> String {
    let lower = name.to_lowercase();
    let distances = there.into_iter().map(|one| (distance(&lower, &one.to_lowercase()), one));
    match distances.min().filter(|(far, one)| *far <= DISTANCE_MAX && *far < one.chars().count()) {
        Some((_, one)) => format!("; did you mean {one}?"),
        None => String::new(),
    }
}

/// The number of letters to be inserted, removed or replaced (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().take(LETTERS_MAX).collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().take(LETTERS_MAX).enumerate() {
        let mut before = i;
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let changed = before + usize::from(a != *b);
            before = row[j + 1];
            row[j + 1] = changed.min(before + 1).min(row[j] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_suggested_and_only_if_it_is_near() {
        let there = ["customer", "order", "warehouse"];
        assert_eq!(did_you_mean("custmer", there), "; did you mean customer?");
        assert_eq!(did_you_mean("ORDER", there), "; did you mean order?");
        assert_eq!(did_you_mean("district", there), "");
    }

    #[test]
    fn the_distance_counts_letters() {
        for (one, other, far) in [("", "abc", 3), ("abc", "abc", 0), ("kitten", "sitting", 3)] {
            assert_eq!((distance(one, other), distance(other, one)), (far, far));
        }
    }
}
