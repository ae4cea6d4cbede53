//! The promises of the disk models, held against the formulae of the module's essay.

use super::*;
use crate::model::ModelError;
use crate::model::units::RandomDraws;

const KIB: u64 = 1_024;
const MIB: u64 = 1_024 * KIB;

fn builtin(name: &str) -> DiskParameters {
    DiskParameters::builtin(name).expect("a builtin model is valid")
}

fn fixed(service_us: u64, servers: u64) -> DiskModel {
    let text = format!(
        "name = \"f\"\nsource = \"a test\"\nkind = \"fixed\"\n\
         service_us = {service_us}\nservers = {servers}\n"
    );
    DiskModel::new(&DiskParameters::parse(&text).expect("it is valid"), 0)
}

/// A builtin file with one line `key = ...` replaced.
fn with(file: &str, key: &str, value: &str) -> Result<DiskParameters, ModelError> {
    let is_key = |line: &&str| line.split('=').next().is_some_and(|name| name.trim() == key);
    let line = file.lines().find(is_key).expect("the file has the key");
    DiskParameters::parse(&file.replace(line, &format!("{key} = {value}")))
}

const DISK_7200: &str = include_str!("../../models/disk-7200.toml");
const NVME: &str = include_str!("../../models/nvme.toml");

/// Sends one request after the other, each when the last is done; returns the times in ns.
fn one_by_one(model: &mut DiskModel, requests: impl Iterator<Item = DiskRequest>) -> Vec<u64> {
    let mut now = 0;
    let mut times = Vec::new();
    for request in requests {
        let done = model.complete_at(&request, now);
        assert!(done > now, "{request:?} was done at {done}, asked at {now}");
        times.push(done - now);
        now = done;
    }
    times
}

fn random_reads(
    parameters: &DiskParameters,
    count: usize,
) -> impl Iterator<Item = DiskRequest> + use<> {
    let blocks = parameters.capacity_bytes() / (4 * KIB);
    let mut luck = RandomDraws::new(4_711);
    let block = move || (luck.uniform() * blocks as f64) as u64;
    std::iter::repeat_with(block)
        .map(|block| DiskRequest::read(block * 4 * KIB, 4 * KIB))
        .take(count)
}

fn mean(times: &[u64]) -> f64 {
    times.iter().sum::<u64>() as f64 / times.len() as f64
}

fn quantile(times: &[u64], p: f64) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted[(p * sorted.len() as f64) as usize] as f64
}

#[track_caller]
fn assert_near(what: &str, found: f64, expected: f64, tolerance: f64) {
    let off = found / expected - 1.0;
    assert!(
        off.abs() <= tolerance,
        "{what}: {found} instead of {expected} ({:+.2} %)",
        off * 100.0
    );
}

/// Keeps `depth` reads under way; returns reads a second.
fn closed_loop_per_s(parameters: &DiskParameters, depth: usize, count: usize) -> f64 {
    let mut model = DiskModel::new(parameters, 3);
    let mut under_way = std::collections::BTreeMap::new();
    let (mut now, mut started) = (0, 0_usize);
    for request in random_reads(parameters, count) {
        if under_way.len() == depth {
            now = under_way.pop_first().map(|((done, _), ())| done).expect("some are under way");
        }
        under_way.insert((model.complete_at(&request, now), started), ());
        started += 1;
    }
    (count - depth) as f64 * 1e9 / now as f64
}

#[test]
fn every_builtin_disk_parses_under_its_own_name_and_tells_its_source() {
    for name in DiskParameters::builtin_names() {
        let parameters = builtin(name);
        assert_eq!(parameters.name(), name);
        assert!(parameters.source().len() > 10);
    }
    let message = DiskParameters::builtin("nvmee").expect_err("no such model").to_string();
    assert!(message.contains("no disk model is called \"nvmee\"; there are: disk-7200, nvme,"));
}

#[test]
fn a_faulty_file_is_refused_by_the_name_of_the_key() {
    let refused = |result: Result<DiskParameters, ModelError>| {
        result.expect_err("the file is faulty").to_string()
    };
    let message = refused(DiskParameters::parse(&format!("{NVME}\nread_medium_us = 3\n")));
    assert!(message.starts_with("disk model \"nvme\": unknown key `read_medium_us`; its keys are"));
    let message = refused(DiskParameters::parse(&NVME.replace("channels = 32", "")));
    assert_eq!(message, "disk model \"nvme\": the key `channels` is missing");
    let message = refused(with(NVME, "channels", "0"));
    assert_eq!(message, "disk model \"nvme\": `channels` = 0 must lie between 1 and 4096");
    let message = refused(with(NVME, "read_sigma", "nan"));
    assert!(message.contains("`read_sigma` = NaN must lie between 0 and 2"), "{message}");
    let message = refused(with(NVME, "channels", "\"many\""));
    assert!(message.contains("`channels` must be a whole number, not \"many\""), "{message}");
    let message = refused(with(DISK_7200, "seek_average_us", "17_400"));
    assert!(message.contains("`seek_track_us`, `seek_average_us` and `seek_full_us`"), "{message}");
    let message = refused(with(DISK_7200, "inner_mb_s", "200"));
    assert!(message.contains("`inner_mb_s` is above `outer_mb_s`"), "{message}");
    let message = refused(with(NVME, "kind", "\"tape\""));
    assert!(message.contains("of kind \"tape\"; kinds are: rotating, nvme"), "{message}");
    let message = refused(DiskParameters::parse("name = \"x\"\nkind ="));
    assert!(message.contains("the disk model is not valid TOML") && message.contains("line 2"));
    // A protected cache has no cost of a durable write, so the key would have no effect.
    let message = refused(DiskParameters::parse(&format!("{NVME}\ndurable_median_us = 3\n")));
    assert!(message.contains("unknown key `durable_median_us`"), "{message}");
}

#[test]
fn the_same_seed_gives_the_same_times_and_another_seed_gives_others() {
    for name in ["nvme", "nvme-consumer", "exponential"] {
        let times = |seed| {
            let requests = random_reads(&builtin("nvme-consumer"), 1_000);
            one_by_one(&mut DiskModel::new(&builtin(name), seed), requests)
        };
        assert_eq!(times(1), times(1), "{name}");
        assert_ne!(times(1), times(2), "{name}");
    }
}

/// One list of figures for every profile. A change of the models or of their files changes it. Then
/// take the figures from the message, after runs in debug *and* in release have agreed.
#[test]
fn times_are_equal_in_every_build_profile() {
    let hash_of = |name| {
        let mut model = DiskModel::new(&builtin(name), 42);
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut now = 0;
        for (turn, read) in random_reads(&builtin("nvme-consumer"), 20_000).enumerate() {
            let request = match turn % 7 {
                0 | 3 => DiskRequest::write(read.offset, read.length, turn % 2 == 0),
                5 => DiskRequest::flush(),
                _ => read,
            };
            let done = model.complete_at(&request, now);
            hash = (hash ^ done).wrapping_mul(0x0100_0000_01b3);
            now += (done - now) / 3;
        }
        hash
    };
    let hashes = DiskParameters::builtin_names().map(|name| (name, hash_of(name)));
    assert_eq!(hashes.collect::<Vec<_>>(), EXPECTED_HASHES);
}

const EXPECTED_HASHES: [(&str, u64); 6] = [
    ("disk-7200", 0x90a8_ac7c_9ac2_7f27),
    ("nvme", 0xa151_7c70_3cf1_c41f),
    ("nvme-consumer", 0x0f7b_1ef9_1741_107a),
    ("array", 0xda74_180e_f8ae_bee5),
    ("fixed", 0x5449_8a86_2a09_bea5),
    ("exponential", 0xd9eb_cd84_0592_6238),
];

#[test]
fn a_clone_goes_on_as_the_original_does_on_any_thread() {
    let parameters = builtin("nvme-consumer");
    let mut model = DiskModel::new(&parameters, 8);
    one_by_one(&mut model, random_reads(&parameters, 10));
    let mut twin = model.clone();
    fn goes_to_another_thread<T: Send>(_: &T) {}
    goes_to_another_thread(&twin);
    for request in random_reads(&parameters, 100) {
        assert_eq!(model.complete_at(&request, 1 << 40), twin.complete_at(&request, 1 << 40));
    }
}

#[test]
fn n_parallel_requests_on_one_fixed_server_take_n_service_times() {
    for n in [1, 2, 7, 100] {
        let mut model = fixed(100, 1);
        let last = (0..n).map(|_| model.complete_at(&DiskRequest::read(0, 1), 0)).max();
        assert_eq!(last, Some(n * 100_000));
    }
}

#[test]
fn n_parallel_requests_on_w_fixed_servers_take_n_over_w_service_times_rounded_up() {
    for (n, servers) in [(1_u64, 4_u64), (4, 4), (5, 4), (32, 5), (33, 32)] {
        let mut model = fixed(100, servers);
        let last = (0..n).map(|_| model.complete_at(&DiskRequest::flush(), 50)).max();
        assert_eq!(last, Some(50 + n.div_ceil(servers) * 100_000), "{n} over {servers}");
    }
}

#[test]
fn exponential_times_have_the_mean_and_quantiles_of_the_distribution() {
    let parameters = builtin("exponential");
    let requests = std::iter::repeat_n(DiskRequest::read(0, 1), 200_000);
    let times = one_by_one(&mut DiskModel::new(&parameters, 5), requests);
    assert_near("mean", mean(&times), 100_000.0, 0.01);
    for p in [0.1, 0.5, 0.99] {
        let expected_us = parameters.expected_read_quantile_us(1, p).expect("a closed form");
        assert_near("quantile", quantile(&times, p), expected_us * 1_000.0, 0.03);
    }
}

/// Mean time in an M/M/1 queue: service / (1 - utilisation).
#[test]
fn poisson_arrivals_at_the_exponential_server_wait_as_in_mm1() {
    let mut model = DiskModel::new(&builtin("exponential"), 6);
    let mut luck = RandomDraws::new(77);
    let (mut now, mut total) = (0.0, 0.0);
    let count = 2_000_000;
    for _ in 0..count {
        now += -200_000.0 * libm::log(luck.uniform());
        let done = model.complete_at(&DiskRequest::read(0, 1), now as u64);
        total += done as f64 - now;
    }
    assert_near("time in the system at half load", total / f64::from(count), 200_000.0, 0.02);
}

#[test]
fn nvme_reads_at_depth_1_have_the_mean_and_p99_of_the_parameters() {
    for name in ["nvme", "nvme-consumer"] {
        let parameters = builtin(name);
        let requests = random_reads(&parameters, 200_000);
        let times = one_by_one(&mut DiskModel::new(&parameters, 9), requests);
        let expected_us = parameters.expected_read_mean_us(4 * KIB).expect("a closed form");
        assert_near(name, mean(&times), expected_us * 1_000.0, 0.03);
        let p99_us = parameters.expected_read_quantile_us(4 * KIB, 0.99).expect("a closed form");
        assert_near(name, quantile(&times, 0.99), p99_us * 1_000.0, 0.05);
    }
}

#[test]
fn nvme_reads_saturate_at_channels_over_mean_service() {
    let eight = with(NVME, "channels", "8").expect("it is valid");
    let limit = eight.expected_read_limit_per_s(4 * KIB).expect("a closed form");
    assert_near("8 channels, depth 32", closed_loop_per_s(&eight, 32, 100_000), limit, 0.02);
    assert_near("8 channels, depth 64", closed_loop_per_s(&eight, 64, 100_000), limit, 0.02);

    let whole = builtin("nvme");
    let limit = whole.expected_read_limit_per_s(4 * KIB).expect("a closed form");
    assert_near("32 channels, depth 128", closed_loop_per_s(&whole, 128, 200_000), limit, 0.02);
    // Below saturation the reads don't meet: depth over the time of one.
    let one_us = whole.expected_read_mean_us(4 * KIB).expect("a closed form");
    let at_32 = closed_loop_per_s(&whole, 32, 100_000);
    assert_near("32 channels, depth 32", at_32, 32e6 / one_us, 0.02);
}

#[test]
fn nvme_sequential_reads_are_limited_by_the_bus() {
    let mut model = DiskModel::new(&builtin("nvme"), 1);
    let last = (0..2_000).map(|n| model.complete_at(&DiskRequest::read(n * MIB, MIB), 0)).max();
    let rate_mb_s = 2_000.0 * MIB as f64 * 1_000.0 / last.expect("there were reads") as f64;
    assert_near("1 MiB reads, all queued", rate_mb_s, 3_200.0, 0.02);
}

#[test]
fn durable_writes_cost_what_was_measured_on_drives_of_the_class() {
    let write = |offset, durable| DiskRequest::write(offset, 4 * KIB, durable);
    let mut protected = DiskModel::new(&builtin("nvme"), 1);
    let times = one_by_one(&mut protected, (0..5_000).map(|n| write(n * 8_192, true)));
    assert_near("protected, durable write", quantile(&times, 0.5), 9_000.0, 0.1);
    let flushed = || (0..5_000).flat_map(|n| [write(n * 8_192, false), DiskRequest::flush()]);
    let times = one_by_one(&mut DiskModel::new(&builtin("nvme"), 1), flushed());
    assert_near("protected, write and flush", 2.0 * mean(&times), 15_000.0, 0.1);

    let mut volatile = DiskModel::new(&builtin("nvme-consumer"), 1);
    let times = one_by_one(&mut volatile, (0..5_000).map(|n| write(n * 8_192, true)));
    assert_near("volatile, durable write", quantile(&times, 0.5), 4.02e6, 0.03);
    let mut volatile = DiskModel::new(&builtin("nvme-consumer"), 1);
    let times = one_by_one(&mut volatile, flushed());
    assert_near("volatile, write and flush", 2.0 * mean(&times), 1.68e6, 0.03);
}

#[test]
fn a_flush_of_a_volatile_cache_waits_for_the_drain_and_one_with_nothing_to_do_is_quick() {
    let mut model = DiskModel::new(&builtin("nvme-consumer"), 1);
    let written = (0..16).map(|n| model.complete_at(&DiskRequest::write(n * MIB, MIB, false), 0));
    let written = written.max().expect("there were writes");
    let flushed = model.complete_at(&DiskRequest::flush(), written);
    // 16 MiB drain at 2.3 GB/s in 7.3 ms; the writes themselves crossed the bus in 5.2 ms.
    assert!(flushed - written > 3_000_000, "the flush took {} ns", flushed - written);
    let second = model.complete_at(&DiskRequest::flush(), written + 1_000);
    assert_eq!(second, flushed, "a second flush shares the first");
    let idle = model.complete_at(&DiskRequest::flush(), flushed) - flushed;
    assert!(idle < 10_000, "nothing was written, yet the flush took {idle} ns");
}

#[test]
fn an_nvme_write_cache_takes_writes_at_bus_speed_until_it_is_full_then_at_the_drains_rate() {
    let slow = with(NVME, "program_median_us", "9_600").expect("it is valid");
    let mut model = DiskModel::new(&slow, 1);
    let write = |n: u64| DiskRequest::write(n * MIB, MIB, false);
    let times = one_by_one(&mut model, (0..400).map(write));
    let bus_ns = MIB as f64 / 3.2 + 7_500.0;
    assert_near("while there is room", mean(&times[..60]), bus_ns, 0.05);
    // 32 channels of 32 KiB each in the mean program time.
    let program_us = 9_600.0 * libm::exp(0.005) + 0.002 * 5_000.0;
    let drain_ns = MIB as f64 * program_us * 1_000.0 / (32.0 * 32.0 * 1_024.0);
    assert_near("when it is full", mean(&times[100..]), drain_ns, 0.02);
}

#[test]
fn reads_are_slower_while_the_cache_drains() {
    let parameters = with(NVME, "read_behind_program_probability", "1.0").expect("it is valid");
    let mut model = DiskModel::new(&parameters, 1);
    let idle = model.complete_at(&DiskRequest::read(0, 4 * KIB), 0);
    let (mut now, mut total) = (idle, 0);
    for n in 0..2_000_u64 {
        model.complete_at(&DiskRequest::write(n * 16 * MIB, 4 * MIB, false), now);
        let done = model.complete_at(&DiskRequest::read(0, 4 * KIB), now);
        total += done - now;
        now = done;
    }
    // The rest of a program operation on top of the read: half of its mean.
    let program_us = 960.0 * libm::exp(0.005) + 0.002 * 5_000.0;
    let alone_us = parameters.expected_read_mean_us(4 * KIB).expect("a closed form");
    let expected_us = alone_us + program_us / 2.0;
    assert_near("behind programs", total as f64 / 2_000.0, expected_us * 1_000.0, 0.05);
}

#[test]
fn random_reads_over_the_disk_take_the_mean_seek_half_a_turn_and_the_transfer() {
    let parameters = builtin("disk-7200");
    let requests = random_reads(&parameters, 100_000);
    let times = one_by_one(&mut DiskModel::new(&parameters, 0), requests);
    let expected_us = parameters.expected_read_mean_us(4 * KIB).expect("a closed form");
    assert_near("against the parameters", mean(&times), expected_us * 1_000.0, 0.03);
    assert_near("against the data sheet", mean(&times), 8.5e6 + 4.167e6 + 0.2e6, 0.03);
}

#[test]
fn sequential_reads_stream_at_the_rate_of_their_zone() {
    let parameters = builtin("disk-7200");
    let capacity = parameters.capacity_bytes();
    // Outermost zone; innermost zone. Each once with one request after the other, once queued.
    for (first, rate_mb_s) in [(0, 140.0), (capacity - 2_000 * MIB, 67.0)] {
        let reads = || (0..1_000).map(|n| DiskRequest::read(first + n * MIB, MIB));
        let times = one_by_one(&mut DiskModel::new(&parameters, 0), reads());
        let found = MIB as f64 * 1_000.0 / mean(&times[1..]);
        assert_near("one by one", found, rate_mb_s, 0.02);
        let mut model = DiskModel::new(&parameters, 0);
        let done: Vec<u64> = reads().map(|read| model.complete_at(&read, 0)).collect();
        let found = 999.0 * MIB as f64 * 1_000.0 / (done[999] - done[0]) as f64;
        assert_near("queued", found, rate_mb_s, 0.02);
    }
}

#[test]
fn queued_sequential_durable_writes_stream_and_lone_ones_lose_a_turn() {
    let parameters = builtin("disk-7200");
    let writes = || (0..1_000).map(|n| DiskRequest::write(n * 64 * KIB, 64 * KIB, true));
    let mut model = DiskModel::new(&parameters, 0);
    let done: Vec<u64> = writes().map(|write| model.complete_at(&write, 0)).collect();
    let rate = 999.0 * 65_536.0 * 1_000.0 / (done[999] - done[0]) as f64;
    assert_near("queued", rate, 140.0, 0.02);
    let times = one_by_one(&mut DiskModel::new(&parameters, 0), writes());
    assert!(mean(&times) > 8.333e6, "a lone write took {} ns", mean(&times));
}

#[test]
fn a_durable_rewrite_of_one_block_costs_a_turn() {
    for file in [DISK_7200.to_owned(), DISK_7200.replace("cache_mb = 0", "cache_mb = 32")] {
        let parameters = DiskParameters::parse(&file).expect("it is valid");
        let rewrites = std::iter::repeat_n(DiskRequest::write(500 * MIB, 4 * KIB, true), 1_000);
        let times = one_by_one(&mut DiskModel::new(&parameters, 0), rewrites);
        assert_near("rewrite", mean(&times[1..]), 8_333_333.0, 0.05);
    }
}

#[test]
fn a_reader_that_pauses_longer_than_the_read_ahead_lasts_loses_up_to_a_turn() {
    let after_pause_of = |pause_ns| {
        let mut model = DiskModel::new(&builtin("disk-7200"), 0);
        let now = model.complete_at(&DiskRequest::read(0, MIB), 0) + pause_ns;
        // The next two MiB lie in the buffer; the third must be waited for.
        let second = model.complete_at(&DiskRequest::read(MIB, 2 * MIB), now) - now;
        assert_near("from the buffer, at bus speed", second as f64, 2e5 + 7.49e6, 0.01);
        model.complete_at(&DiskRequest::read(3 * MIB, MIB), now + second) - now
    };
    let longest = (0..20).map(|n| after_pause_of(1_000_000_000 + n * 8_333_333 / 20)).max();
    // The head resumes when asked, waits for nearly a turn at worst, and needs 7.5 ms for the MiB.
    let worst_ns = 2e5 + 8.333e6 * 0.975 + 7.49e6;
    assert_near("the worst of 20 angles", longest.expect("20 angles") as f64, worst_ns, 0.05);
}

#[test]
fn a_random_write_settles_longer_than_a_random_read() {
    let parameters = builtin("disk-7200");
    let as_write = |read: DiskRequest| DiskRequest::write(read.offset, read.length, true);
    let requests = random_reads(&parameters, 100_000).map(as_write);
    let times = one_by_one(&mut DiskModel::new(&parameters, 0), requests);
    let read_us = parameters.expected_read_mean_us(4 * KIB).expect("a closed form");
    assert_near("random writes", mean(&times), (read_us + 1_000.0) * 1_000.0, 0.02);
}

#[test]
fn a_disks_write_cache_takes_writes_at_bus_speed_until_it_is_full_then_at_the_medias() {
    let parameters = with(DISK_7200, "write_cache_mb", "8").expect("it is valid");
    let mut luck = RandomDraws::new(2);
    let mut place = || (luck.uniform() * 200e6) as u64 * 4 * KIB;
    let writes = std::iter::repeat_with(|| DiskRequest::write(place(), 64 * KIB, false));
    let times = one_by_one(&mut DiskModel::new(&parameters, 0), writes.take(2_000));
    let bus_ns = 2e5 + 65_536.0 / 0.28;
    assert_near("while there is room", mean(&times[..128]), bus_ns, 0.001);
    // A random write in the queue's order would take 14 ms; in ascending order it is quicker.
    let full = mean(&times[200..]);
    assert!((4e6..10e6).contains(&full), "a write into the full cache took {full} ns");
}

#[test]
fn a_flush_of_a_disk_brings_every_cached_write_home() {
    let parameters = with(DISK_7200, "write_cache_mb", "8").expect("it is valid");
    let mut model = DiskModel::new(&parameters, 0);
    let mut now = 0;
    for n in 0..100 {
        now = model.complete_at(&DiskRequest::write(n * 1_000 * MIB, 4 * KIB, false), now);
    }
    let read = model.complete_at(&DiskRequest::read(99_000 * MIB, 4 * KIB), now);
    assert!(read - now < 300_000, "what is in the cache is read from it");
    let flushed = model.complete_at(&DiskRequest::flush(), read);
    assert!(flushed - now > 300_000_000, "a hundred places took {} ns", flushed - now);
    let again = model.complete_at(&DiskRequest::flush(), flushed);
    assert_eq!(again - flushed, 200_000, "nothing was left");
}

#[test]
#[should_panic(expected = "reaches beyond the disk's capacity")]
fn a_request_beyond_the_capacity_is_refused() {
    let parameters = builtin("disk-7200");
    let request = DiskRequest::read(parameters.capacity_bytes() - 1, 2);
    DiskModel::new(&parameters, 0).complete_at(&request, 0);
}

#[test]
#[should_panic(expected = "arrives at 9 ns, after one that came at 10 ns")]
fn a_request_from_the_past_is_refused() {
    let mut model = fixed(100, 1);
    model.complete_at(&DiskRequest::flush(), 10);
    model.complete_at(&DiskRequest::flush(), 9);
}

/// The rates are those that the files' comments name, so that a change of one line can't make
/// another untrue.
#[test]
fn builtin_drives_have_the_rates_of_the_specifications_that_they_name() {
    let reads = |name| builtin(name).expected_read_limit_per_s(4 * KIB).expect("a closed form");
    assert_near("datacentre reads", reads("nvme"), 420_000.0, 0.02);
    assert_near("consumer reads", reads("nvme-consumer"), 370_000.0, 0.05);
    let writes_per_s = |name, length, step| {
        let mut model = DiskModel::new(&builtin(name), 1);
        let count = 200 * MIB / length * if step == length { 10 } else { 1 };
        let request = |n: u64| DiskRequest::write(n * step % (400 << 30), length, false);
        let done = (0..count).map(|n| model.complete_at(&request(n), 0)).max();
        count as f64 * 1e9 / done.expect("there were writes") as f64
    };
    let mb_s = |name| writes_per_s(name, MIB, MIB) * MIB as f64 / 1e6;
    assert_near("datacentre sequential writes", mb_s("nvme"), 1_050.0, 0.06);
    assert_near("consumer sequential writes", mb_s("nvme-consumer"), 2_300.0, 0.03);
    // The part of the 200 MiB of random writes that the cache holds at the end wasn't waited for.
    let random =
        |name, cache_mib: f64| writes_per_s(name, 4 * KIB, 5 * MIB) * (200.0 - cache_mib) / 200.0;
    assert_near("datacentre random writes", random("nvme", 64.0 / 7.0), 38_000.0, 0.03);
    assert_near("consumer random writes", random("nvme-consumer", 32.0 / 1.25), 450_000.0, 0.03);
}
