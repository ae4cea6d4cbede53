//! Parameters as a user sets them.

use super::*;

/// Defaults are allowed, and the shown text of a value can be set.
#[test]
fn what_is_shown_can_be_set() {
    let mut parameters = Parameters::default();
    for info in Parameters::list() {
        let shown = parameters.get(info.name).expect("it is in the list");
        assert_eq!(shown, info.default, "{}", info.name);
        parameters.set(info.name, &shown).expect("the default is allowed");
        assert_eq!(parameters.get(info.name).expect("it is in the list"), shown);
    }
    for info in Creation::list() {
        let mut creation = Creation::default();
        creation.set(info.name, &info.default).expect("the default is allowed");
    }
}

/// Every word of a list of words can be set.
#[test]
fn every_word_that_is_offered_is_taken() {
    for info in Parameters::list() {
        let Allowed::OneOf(words) = info.allowed else { continue };
        for word in words {
            let mut parameters = Parameters::default();
            parameters.set(info.name, word).expect("it is offered");
            assert_eq!(parameters.get(info.name).expect("it is in the list"), *word);
        }
    }
}

#[test]
fn bytes_may_have_a_unit() {
    let mut parameters = Parameters::default();
    for text in ["96m", "96M", "96mb", "96MB", "96MiB", "96 MiB", " 96 m ", "98304k"] {
        parameters.set("DB_CACHE_SIZE", text).expect(text);
        assert_eq!(parameters.db_cache_size, 96 << 20, "{text}");
        parameters.set("db_cache_size", "1g").expect("allowed");
    }
    parameters.set("db_cache_size", "100000000 B").expect("allowed");
    assert_eq!(parameters.db_cache_size, 100_000_000);
    parameters.set("db_cache_size", "100000000").expect("allowed");
    assert_eq!(parameters.get("db_cache_size").expect("listed"), "100000000");
}

#[test]
fn what_is_not_allowed_is_refused_with_what_is() {
    let refused = |name: &str, value: &str| {
        let mut parameters = Parameters::default();
        let stop = parameters.set(name, value).expect_err("not allowed");
        assert_eq!(parameters.get("db_cache_size").expect("listed"), "64m");
        stop.to_string()
    };
    let said = refused("db_writer_processes", "101");
    assert!(said.contains("db_writer_processes is 101: choose 1 to 100"), "{said}");
    for wrong in ["7 mm", "m", "7mi", "-7m", "7.5m", "1k", "99999t"] {
        let said = refused("log_buffer", wrong);
        assert!(said.contains(&format!("log_buffer is {wrong}: choose ")), "{said}");
    }
    for nothing in ["", " "] {
        let said = refused("db_cache_size", nothing);
        assert!(said.contains("db_cache_size is '': choose 32k to 1t"), "{said}");
    }
    let said = refused("db_cache_size", "99999999999999999999g");
    assert!(said.contains("32k to 1t"), "{said}");
    let said = refused("filesystemio_options", "some");
    assert!(said.contains("none, asynch, directio, setall"), "{said}");
    let said = refused("db_cash_size", "1m");
    assert!(said.contains("no parameter db_cash_size"), "{said}");
    assert!(said.ends_with("; did you mean db_cache_size?"), "{said}");
}

/// Numbers are taken from the least to the most that is listed, and refused outside with both.
#[test]
fn numbers_are_taken_within_the_listed_limits_and_refused_outside() {
    type Set = dyn Fn(&str, &str) -> Result<String, Stop>;
    let opening: &Set = &|name, value| {
        let mut parameters = Parameters::default();
        parameters.set(name, value).and_then(|()| parameters.get(name))
    };
    let creating: &Set = &|name, value| {
        let mut creation = Creation::default();
        creation.set(name, value).and_then(|()| creation.get(name))
    };
    for (list, set) in [(Parameters::list(), opening), (Creation::list(), creating)] {
        for info in list {
            let Allowed::Between(least, most) = info.allowed else { continue };
            for number in [least, most] {
                let shown = set(info.name, &number.to_string()).expect(info.name);
                assert_eq!(parse_size(&shown), Some(number), "{}", info.name);
            }
            for number in [least.checked_sub(1), most.checked_add(1)].into_iter().flatten() {
                let said = set(info.name, &number.to_string()).expect_err(info.name).to_string();
                let says = format!("{} is {number}: choose {}", info.name, info.allowed());
                assert_eq!(said, says);
            }
        }
    }
}

/// Each end of a listed range is one that suitable values of the other parameters allow, on a
/// machine with memory for it.
#[test]
fn suitable_others_allow_the_least_and_the_most_of_each_parameter() {
    let slots = 1 << 20;
    for info in Parameters::list() {
        let Allowed::Between(least, most) = info.allowed else { continue };
        for number in [least, most] {
            let check = |(block_size, db_working_sets, db_cache_size)| {
                let sizes = Parameters { db_cache_size, ..Parameters::default() };
                let mut parameters = Parameters { db_working_sets, ..sizes };
                parameters.set(info.name, &number.to_string()).expect("within the range");
                parameters.check(block_size, slots, u64::MAX)
            };
            let others = BlockSize::ALL.into_iter().flat_map(|size| {
                let least = u64::from(Parameters::BUFFERS_MIN) * size.bytes() as u64;
                [(size, 1, least), (size, 1, 64 << 20), (size, 100, 64 << 20)]
            });
            let checked: Vec<Result<(), Stop>> = others.map(check).collect();
            assert!(checked.iter().any(Result::is_ok), "{} = {number}: {checked:?}", info.name);
        }
    }
}

/// A cache for blocks of another size may have all buffers but the fewest of the database's own.
#[test]
fn a_cache_for_other_blocks_may_have_more_than_half_of_all_buffers() {
    let mut parameters = Parameters { db_working_sets: 1, ..Parameters::default() };
    parameters.set("db_cache_size", "128k").expect("within the range");
    let most = u64::from(CacheConfig::FRAMES_MAX - Parameters::BUFFERS_MIN) * 2048;
    parameters.set("db_2k_cache_size", &most.to_string()).expect("within the range");
    parameters.check(BlockSize::KIB_8, 1 << 20, u64::MAX).expect("it works");
    parameters.set("db_2k_cache_size", &(most + 2048).to_string()).expect_err("it can't work");
}

/// What the other parameters leave of a range is said in a user's units.
#[test]
fn a_cache_too_small_for_its_working_sets_is_refused_with_the_least_size() {
    let refused = |name: &str, value: &str| {
        let mut parameters = Parameters::default();
        parameters.set(name, value).expect("within the range");
        let checked = parameters.check(BlockSize::KIB_8, 2_048, u64::MAX);
        checked.expect_err("too small").to_string()
    };
    let said = refused("db_cache_size", "32k");
    let says = "db_cache_size is 32k: with blocks of 8 KiB and 8 working sets choose 256k to 256g";
    assert_eq!(said, says);
    let parameters = Parameters { db_cache_size: 900 << 30, ..Parameters::default() };
    let refused_here = parameters.check(BlockSize::KIB_8, 2_048, 24 << 30).expect_err("too large");
    let says = "choose 256k to 256g, less than the 24576m of memory of this machine";
    assert!(refused_here.to_string().ends_with(says), "{refused_here}");
    let said = refused("db_16k_cache_size", "16k");
    assert_eq!(said, "db_16k_cache_size is 16k: with 8 working sets choose 512k or more, or 0");
}

/// Each writer has four batches.
#[test]
fn the_batches_of_the_writers_are_counted_as_memory() {
    let mut parameters = Parameters::default();
    parameters.set("db_writer_batch", "512").expect("within the range");
    let cache = parameters.cache_config(BlockSize::KIB_8, 2_048);
    let batches = 4 * u64::from(cache.writers) * 512 * BlockSize::KIB_8.bytes() as u64;
    let needs = cache.memory_bytes() + parameters.log_buffer + batches;
    parameters.check(BlockSize::KIB_8, 2_048, needs).expect("there is memory for all");
    let refused = parameters.check(BlockSize::KIB_8, 2_048, needs - 1);
    let said = refused.expect_err("there is too little memory").to_string();
    assert!(said.contains(&format!("would need {needs} bytes")), "{said}");
}

/// An opening would refuse it when all has been loaded.
#[test]
fn a_log_buffer_without_room_for_the_writes_in_flight_is_refused_with_the_least_size() {
    let with = |log_buffer: &str| {
        let mut parameters = Parameters { log_writes_in_flight: 4, ..Parameters::default() };
        parameters.set("log_buffer", log_buffer).expect("within the range");
        parameters.check_log_buffer().map_err(|stop| stop.to_string())
    };
    assert_eq!(with("500k"), Ok(()));
    let refused = with("400k").expect_err("no room for five parts");
    assert!(refused.contains("with 4 redo writes in flight it has 500k at least"), "{refused}");
}
