//! The hash of a value agrees with its comparison (rule VA20).

#![forbid(unsafe_code)]

mod common;

use std::hash::{DefaultHasher, Hasher};

use common::{any_value, config};
use proptest::prelude::*;
use value::Value;

fn hash(value: Value<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash_into(&mut hasher);
    hasher.finish()
}

proptest! {
    #![proptest_config(config(4096))]

    #[test]
    fn values_that_compare_as_equal_have_one_hash(
        values in prop::collection::vec(any_value(), 2..12),
    ) {
        for a in &values {
            for b in &values {
                if a == b {
                    prop_assert_eq!(hash(a.get()), hash(b.get()), "{:?} {:?}", a, b);
                }
            }
        }
    }

    /// Nearly all others differ; a hash that is always the same would agree with everything.
    #[test]
    fn whole_numbers_have_different_hashes(int in any::<i64>(), by in 1..1000_i64) {
        prop_assert_ne!(hash(Value::Int(int)), hash(Value::Int(int.wrapping_add(by))));
    }
}
