//! The order is that of the keys and stable, whatever the rows and the memory; the same seed gives
//! the same run; waits and statistics say what was done.
#![forbid(unsafe_code)]

mod common;

use common::{DIRECTORY, Row, expected, rows, small};
use os::FilesystemIo;
use proptest::prelude::*;
use sim::{LogMode, Report, Simulation};
use sort::{RECORD_BYTES_MAX, SORT_AREA_BYTES_MAX, SortConfig, SortState, Sorter};
use stop::{Halt, RefusalKind};
use testbed::{Dice, run, with_fixed_costs};
use waits::{Statistic, Totals, WaitEvent};

/// Sorts rows in a simulated world and checks that nothing is left.
fn sort_simulated(seed: u64, config: SortConfig, rows: Vec<Row>) -> Report<(Vec<Row>, Totals)> {
    sort_in(Simulation::new(seed), config, rows)
}

/// The same in this one.
fn sort_in(
    mut simulation: Simulation,
    config: SortConfig,
    rows: Vec<Row>,
) -> Report<(Vec<Row>, Totals)> {
    simulation.log = LogMode::Hash;
    simulation.disks[0].content.create_dir(DIRECTORY).expect("an empty disk");
    let mut report = simulation.run(move |world, session| {
        let found = common::sort(&world.disk(), config, &rows, session).expect("no fault");
        (found, world.os().totals())
    });
    let disk = report.disks.get_mut("disk").expect("the only one");
    common::assert_nothing_is_left(disk);
    report
}

fn check(seed: u64, config: SortConfig, rows: Vec<Row>) -> Totals {
    let (wanted, count) = (expected(&rows), rows.len() as u64);
    let (found, totals) = sort_simulated(seed, config, rows).result.expect("no failure");
    assert!(found == wanted, "seed {seed}: the order isn't that of a stable sort");
    assert_eq!(totals.statistic(Statistic::SortsRows), count);
    totals
}

fn random(dice: &mut Dice, length: u64, values: u64) -> Vec<u8> {
    (0..length).map(|_| dice.below(values) as u8).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: 60,
        ..Default::default()
    })]

    /// The order is that of the standard library's stable sort, for rows of all lengths, keys with
    /// few and with many different bytes, and areas from the smallest on.
    #[test]
    fn any_rows_are_sorted_as_a_stable_sort_does(
        seed in any::<u64>(),
        io in 0..4_usize,
        area_kib in 512..2_000_u64,
        bytes in 0..6_000_000_u64,
        (key_most, payload_most) in prop::sample::select(vec![
            (0_u64, 40_u64), (3, 40), (20, 0), (20, 100), (300, 300), (16_000, 16_000),
        ]),
        values in prop::sample::select(vec![1_u64, 2, 4, 256]),
    ) {
        let mut dice = Dice(seed);
        let (mut rows, mut left) = (Vec::new(), bytes);
        while left > 0 {
            let key = dice.below(key_most + 1);
            let key = random(&mut dice, key, values);
            let mut payload = (rows.len() as u64).to_le_bytes().to_vec();
            let more = dice.below(payload_most + 1);
            payload.extend(random(&mut dice, more, 256));
            left = left.saturating_sub((key.len() + payload.len()) as u64);
            rows.push((key, payload));
        }
        let filesystem_io = FilesystemIo::ALL[io];
        check(seed, SortConfig { area_bytes: area_kib << 10, filesystem_io, ..small() }, rows);
    }
}

/// With so little memory for so many rows, runs are merged more than once before the last merge.
#[test]
fn many_runs_are_merged_in_several_passes() {
    for io in FilesystemIo::ALL {
        let rows = rows(60_000, 200, 7);
        let blocks = rows.len() as u64 * 212 / 32_700;
        let totals = check(1, SortConfig { filesystem_io: io, ..small() }, rows);
        let written = totals.statistic(Statistic::PhysicalWritesDirectTemporary);
        let read = totals.statistic(Statistic::PhysicalReadsDirectTemporary);
        assert!(written > 2 * blocks, "{written} blocks written of {blocks}: three passes");
        assert_eq!(written, read, "each block that was written is read once");
        assert_eq!(totals.statistic(Statistic::SortsDisk), 1);
        assert_eq!(totals.statistic(Statistic::SortsMemory), 0);
    }
}

/// There are more runs than their list holds; all keys are equal, so their order is that of
/// pushing.
#[test]
fn equal_keys_keep_their_order_through_any_number_of_runs() {
    let row = |number: u64| {
        let mut payload = vec![0; 4_000];
        payload[..8].copy_from_slice(&number.to_le_bytes());
        (b"the same".to_vec(), payload)
    };
    let rows: Vec<Row> = (0..24_000).map(row).collect();
    let totals = check(1, small(), rows);
    assert!(totals.statistic(Statistic::PhysicalWritesDirectTemporary) > 256 * 10);
}

/// No row, one row, and rows that fit need neither disk nor more memory than a small chunk's.
#[test]
fn what_fits_stays_in_memory() {
    for count in [0, 1, 2, 1_000] {
        let totals = check(1, small(), rows(count, 30, 3));
        assert_eq!(totals.statistic(Statistic::SortsMemory), 1);
        assert_eq!(totals.statistic(Statistic::SortsDisk), 0);
        assert_eq!(totals.statistic(Statistic::PhysicalWriteRequests), 0);
        assert_eq!(totals.event(WaitEvent::DiskFileOperations).count, 0);
    }
    run(Simulation::new(1), |world, session| {
        let halt = Halt::new(world.os());
        let config = SortConfig { area_bytes: SORT_AREA_BYTES_MAX, ..small() };
        let mut sorter =
            Sorter::new(&world.disk(), config, &halt, session).expect("the largest area");
        assert!(sorter.memory_bytes() < 1_000);
        sorter.push(b"a", b"b").expect("room");
        assert!(sorter.memory_bytes() < 70_000);
        let mut sorted = sorter.finish().expect("in memory");
        assert_eq!(sorted.next_row().expect("a row"), Some((&b"a"[..], &b"b"[..])));
    });
}

/// What a sort was given and hasn't touched isn't what its rows take.
#[test]
fn rows_take_less_than_the_area_of_a_sort() {
    run(Simulation::new(1), |world, session| {
        let halt = Halt::new(world.os());
        let config = SortConfig { area_bytes: 32 << 20, ..small() };
        let mut sort = SortState::new(&world.disk(), config, &halt).expect("a sound area");
        assert_eq!(sort.used_bytes(), 0);
        for number in 0..1_000_u32 {
            sort.push(&number.to_le_bytes(), &[7; 100], session).expect("room");
        }
        assert!(sort.memory_bytes() > 16 << 20, "{}", sort.memory_bytes());
        let used = sort.used_bytes();
        assert!((104_000..200_000).contains(&used), "{used}");
        let mut sorted = sort.finish(session).expect("in memory");
        assert_eq!(sorted.used_bytes(), used);
        sorted.close(session);
        assert_eq!(sorted.used_bytes(), 0);
    });
}

/// The longest row is sorted; a longer one is refused and the sort goes on without it; so is an
/// area that is too small.
#[test]
fn the_longest_key_is_sorted_and_a_longer_one_refused() {
    let long = |last: u8| {
        let mut key = vec![7; RECORD_BYTES_MAX];
        key[RECORD_BYTES_MAX - 1] = last;
        (key, Vec::new())
    };
    let all: Vec<Row> = (0..200).map(|n| long((n * 37 % 200) as u8)).collect();
    check(1, small(), all);
    run(Simulation::new(1), |world, session| {
        let halt = Halt::new(world.os());
        let mut sorter = Sorter::new(&world.disk(), small(), &halt, session).expect("an area");
        let refused = sorter.push(&vec![0; RECORD_BYTES_MAX], b"x").expect_err("one too many");
        assert_eq!(refused.refusal(), Some(RefusalKind::Invalid));
        assert!(refused.to_string().starts_with("cannot sort a row of 32709 bytes"), "{refused}");
        sorter.push(b"key", b"").expect("room");
        let mut sorted = sorter.finish().expect("in memory");
        assert_eq!(sorted.next_row().expect("a row"), Some((&b"key"[..], &b""[..])));
        assert_eq!(sorted.next_row().expect("the end"), None);
        let config = SortConfig { area_bytes: 100_000, ..small() };
        let refused = Sorter::new(&world.disk(), config, &halt, session).expect_err("too small");
        assert_eq!(refused.refusal(), Some(RefusalKind::Invalid));
    });
}

/// Waits name the file, the first block and the number of blocks; several I/Os in flight take less
/// time than one after the other.
#[test]
fn the_waits_say_what_is_waited_for() {
    let run = |filesystem_io| {
        let config = SortConfig { filesystem_io, area_bytes: 4 << 20, ..small() };
        let simulation = with_fixed_costs(Simulation::new(1));
        let report = sort_in(simulation, config, rows(100_000, 200, 5));
        let elapsed = report.elapsed_ns;
        (report.result.expect("no failure").1, elapsed)
    };
    let (together, elapsed) = run(FilesystemIo::SetAll);
    let (one_by_one, elapsed_longer) = run(FilesystemIo::DirectIo);
    for event in [WaitEvent::DirectPathWriteTemp, WaitEvent::DirectPathReadTemp] {
        assert!(one_by_one.event(event).count > 300, "one for each piece");
        let (less, more) = (together.event(event).total, one_by_one.event(event).total);
        assert!(less.0 * 5 < more.0 * 4, "{event}: {less:?} against {more:?}");
    }
    assert!(elapsed < elapsed_longer);
}

/// The same seed gives the same run, to the byte of its event log; also with other sorts beside it.
#[test]
fn the_same_seed_gives_the_same_run() {
    let run = |seed| {
        let report = sort_simulated(seed, small(), rows(10_000, 200, 9));
        (report.log_hash, report.log_lines, report.elapsed_ns)
    };
    assert_eq!(run(3), run(3));
}
