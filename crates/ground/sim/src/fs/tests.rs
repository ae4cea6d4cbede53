//! Each rule of durability and each fault as a test, on file systems of a few kilobytes.

use std::collections::BTreeSet;
use std::io;

use super::crash::CrashStates;
use super::errno::{
    EBADF, EEXIST, EFBIG, EINVAL, EIO, EISDIR, ENOENT, ENOSPC, ENOTDIR, ENOTEMPTY, is_power_lost,
};
use super::faults::{Fault, FaultPlan, Scope};
use super::{FileId, FileSystem, ImageHash, Operation};

const LIMIT: u64 = 100_000;
const SECTOR: usize = 512;

fn fs() -> FileSystem {
    FileSystem::new(1 << 20)
}

/// A file system with the durable file /f of `len` bytes of `fill`, open.
fn with_file(len: usize, fill: u8) -> (FileSystem, FileId) {
    let mut fs = fs();
    let file = fs.create("/f").expect("new");
    fs.write(file, 0, &vec![fill; len], false).expect("room");
    fs.sync(file).expect("no faults");
    fs.sync_dir("/").expect("no faults");
    (fs, file)
}

fn content(fs: &mut FileSystem, path: &str) -> Option<Vec<u8>> {
    let file = fs.open(path).ok()?;
    let mut bytes = vec![0; usize::try_from(fs.len(file).expect("open")).expect("small")];
    assert_eq!(fs.read(file, 0, &mut bytes).expect("no faults"), bytes.len());
    fs.close(file).expect("open");
    Some(bytes)
}

/// The content of `path` in each state. Asserts that all states are there and were counted right.
fn survivors(fs: &FileSystem, path: &str) -> BTreeSet<Option<Vec<u8>>> {
    let states = CrashStates::of(fs);
    let all = states.exhaustive(LIMIT).expect("few states");
    let total = all.total();
    let mut count = 0;
    let contents = all
        .map(|mut state| {
            count += 1;
            assert!(!states.describe(state.number).is_empty());
            assert_eq!(CrashStates::of(&state.fs).total(), Some(1), "nothing pending is left");
            content(&mut state.fs, path)
        })
        .collect();
    assert_eq!(count, total);
    contents
}

fn number(error: &io::Error) -> i32 {
    error.raw_os_error().expect("a numbered error")
}

fn refusal<T>(result: io::Result<T>) -> i32 {
    number(&result.err().expect("refused"))
}

// Names and refusals

#[test]
fn paths_are_normalised() {
    let mut fs = fs();
    fs.create_dir("a").expect("new");
    fs.create("/a//./b").expect("new");
    assert!(fs.exists("a/b") && fs.exists("/a/../a/b/") && fs.exists("../a/b") && fs.exists("/"));
    assert_eq!(fs.list("/a").expect("there"), ["b"]);
    assert_eq!(fs.list("").expect("there"), ["a"]);
}

#[test]
fn refusals_have_their_linux_numbers() {
    let (mut fs, file) = with_file(10, 1);
    fs.create_dir("/d").expect("new");
    fs.create("/d/x").expect("new");
    assert_eq!(refusal(fs.create("/f")), EEXIST);
    assert_eq!(refusal(fs.create_dir("/d")), EEXIST);
    assert_eq!(refusal(fs.create("/none/f")), ENOENT);
    assert_eq!(refusal(fs.create("/f/g")), ENOTDIR);
    assert_eq!(refusal(fs.open("/none")), ENOENT);
    assert_eq!(refusal(fs.open("/d")), EISDIR);
    assert_eq!(refusal(fs.remove("/d")), ENOTEMPTY);
    assert_eq!(refusal(fs.remove("/none")), ENOENT);
    assert_eq!(refusal(fs.rename("/f", "/d")), EISDIR);
    assert_eq!(refusal(fs.rename("/d", "/f")), ENOTDIR);
    assert_eq!(refusal(fs.rename("/d", "/d/e")), EINVAL);
    assert_eq!(refusal(fs.rename("/none", "/g")), ENOENT);
    assert_eq!(refusal(fs.sync_dir("/f")), ENOTDIR);
    assert_eq!(refusal(fs.list("/none")), ENOENT);
    assert_eq!(refusal(fs.write(file, u64::MAX, &[1], false)), EFBIG);
    fs.close(file).expect("open");
    assert_eq!(refusal(fs.close(file)), EBADF);
    assert_eq!(refusal(fs.read(file, 0, &mut [0])), EBADF);
}

#[test]
fn reads_are_short_at_the_end_of_the_file() {
    let (mut fs, file) = with_file(10, 7);
    let mut buffer = [0; 8];
    assert_eq!(fs.read(file, 6, &mut buffer).expect("open"), 4);
    assert_eq!(buffer, [7, 7, 7, 7, 0, 0, 0, 0]);
    assert_eq!(fs.read(file, 10, &mut buffer).expect("open"), 0);
    assert_eq!(fs.read(file, u64::MAX, &mut buffer).expect("open"), 0);
}

#[test]
fn capacity_is_charged_by_length_and_given_back() {
    let mut fs = FileSystem::new(1000);
    let file = fs.create("/f").expect("new");
    fs.set_len(file, 900).expect("room");
    assert_eq!(refusal(fs.write(file, 900, &[1; 101], false)), ENOSPC);
    assert_eq!(fs.len(file).expect("open"), 900, "a refused write changes nothing");
    fs.write(file, 0, &[1; 900], false).expect("overwriting takes no room");
    fs.remove("/f").expect("there");
    assert_eq!(fs.space(), (900, 1000), "open files keep their room");
    fs.close(file).expect("open");
    assert_eq!(fs.space(), (0, 1000));
    let file = fs.create("/g").expect("new");
    fs.set_len(file, 1000).expect("room");
    fs.set_capacity(2000);
    fs.set_len(file, 1500).expect("more room");
    fs.set_len(file, 5).expect("cutting");
    assert_eq!(fs.space(), (5, 2000));
}

#[test]
fn a_replaced_file_gives_its_room_back_and_its_node_once_no_crash_can_revive_it() {
    let (mut fs, file) = with_file(600, 1);
    fs.close(file).expect("open");
    let next = fs.create("/g").expect("new");
    fs.rename("/g", "/f").expect("there");
    assert_eq!(fs.space().0, 0);
    assert_eq!(fs.files.len(), 2, "the rename may yet be dropped");
    fs.sync_dir("/").expect("no faults");
    assert_eq!(fs.files.keys().collect::<Vec<_>>(), [&next]);
}

// Content

#[test]
fn an_unflushed_write_of_two_sectors_survives_in_every_subset_of_them() {
    let (mut fs, file) = with_file(2 * SECTOR, 0);
    fs.write(file, 100, &[5; 800], false).expect("room");
    let mut expected = BTreeSet::new();
    for (first, second) in [(0, 0), (0, 5), (5, 0), (5, 5)] {
        let mut bytes = vec![0; 2 * SECTOR];
        bytes[100..512].fill(first);
        bytes[512..900].fill(second);
        expected.insert(Some(bytes));
    }
    assert_eq!(survivors(&fs, "/f"), expected);
}

#[test]
fn a_long_write_is_dropped_kept_or_lacks_an_end_or_one_sector() {
    let (mut fs, file) = with_file(6 * SECTOR, 0);
    fs.write(file, 0, &[5; 6 * SECTOR], false).expect("room");
    let patterns: BTreeSet<String> = survivors(&fs, "/f")
        .into_iter()
        .map(|bytes| {
            let bytes = bytes.expect("the file is durable");
            bytes.chunks(SECTOR).map(|sector| if sector[0] == 5 { '#' } else { '.' }).collect()
        })
        .collect();
    let expected = "...... ###### #..... ##.... ###... ####.. #####. .##### ..#### ...### ....## \
                    .....# #.#### ##.### ###.## ####.#";
    assert_eq!(patterns, expected.split(' ').map(str::to_owned).collect());
}

#[test]
fn unflushed_writes_survive_in_any_combination_but_in_order() {
    let (mut fs, file) = with_file(4, 0);
    fs.write(file, 0, b"ab", false).expect("room");
    fs.write(file, 1, b"cd", false).expect("room");
    let texts = [b"\0\0\0\0", b"ab\0\0", b"\0cd\0", b"acd\0"];
    let expected = texts.iter().map(|text| Some(text.to_vec())).collect();
    assert_eq!(survivors(&fs, "/f"), expected);
}

#[test]
fn sync_makes_content_and_size_durable() {
    let (mut fs, file) = with_file(10, 1);
    fs.write(file, 5, &[2; 9000], false).expect("room");
    fs.set_len(file, 4000).expect("cut");
    fs.set_len(file, 5000).expect("room");
    fs.sync(file).expect("no faults");
    assert_eq!(survivors(&fs, "/f"), BTreeSet::from([content(&mut fs.clone(), "/f")]));
    assert_eq!(CrashStates::of(&fs).total(), Some(1));
}

#[test]
fn a_kept_write_beyond_the_durable_size_is_lost_with_the_size() {
    let (mut fs, file) = with_file(3, 1);
    fs.write(file, 2, b"xyz", false).expect("room");
    let survivors = survivors(&fs, "/f");
    let texts: [&[u8]; 4] = [b"\x01\x01\x01", b"\x01\x01x", b"\x01\x01\x01\0\0", b"\x01\x01xyz"];
    assert_eq!(survivors, texts.iter().map(|text| Some(text.to_vec())).collect());
}

#[test]
fn a_crash_leaves_one_of_the_versions_of_a_size() {
    let (mut fs, file) = with_file(4, 1);
    fs.set_len(file, 1).expect("cut");
    fs.set_len(file, 3).expect("room");
    let texts: [&[u8]; 3] = [&[1, 1, 1, 1], &[1], &[1, 0, 0]];
    assert_eq!(survivors(&fs, "/f"), texts.iter().map(|text| Some(text.to_vec())).collect());
}

#[test]
fn a_durable_write_does_not_flush_earlier_writes_of_the_file() {
    let (mut fs, file) = with_file(4, 0);
    fs.write(file, 0, b"ab", false).expect("room");
    fs.write(file, 3, b"z", true).expect("room");
    let texts = [b"\0\0\0z", b"ab\0z"];
    assert_eq!(survivors(&fs, "/f"), texts.iter().map(|text| Some(text.to_vec())).collect());
}

#[test]
fn an_earlier_write_cannot_come_back_over_a_durable_one() {
    let (mut fs, file) = with_file(5, 0);
    fs.write(file, 0, b"abcde", false).expect("room");
    fs.write(file, 1, b"XY", true).expect("room");
    // The earlier write is now two pieces, each kept or dropped.
    let texts = [b"\0XY\0\0", b"aXY\0\0", b"\0XYde", b"aXYde"];
    assert_eq!(survivors(&fs, "/f"), texts.iter().map(|text| Some(text.to_vec())).collect());
}

#[test]
fn a_durable_write_makes_the_size_durable_that_it_needs_and_no_more() {
    let mut fs = fs();
    let file = fs.create("/f").expect("new");
    fs.sync_dir("/").expect("no faults");
    fs.set_len(file, 2).expect("room");
    fs.set_len(file, 6).expect("room");
    fs.set_len(file, 8).expect("room");
    fs.write(file, 1, b"xyz", true).expect("room");
    let texts: [&[u8]; 2] = [b"\0xyz\0\0", b"\0xyz\0\0\0\0"];
    assert_eq!(survivors(&fs, "/f"), texts.iter().map(|text| Some(text.to_vec())).collect());
    fs.write(file, 8, b"!", true).expect("room");
    assert_eq!(survivors(&fs, "/f"), BTreeSet::from([Some(b"\0xyz\0\0\0\0!".to_vec())]));
}

#[test]
fn a_pending_cut_cannot_take_a_later_durable_write_away() {
    let (mut fs, file) = with_file(6, 1);
    fs.write(file, 4, b"ab", false).expect("room");
    fs.set_len(file, 2).expect("cut");
    fs.write(file, 3, b"z", true).expect("room");
    assert_eq!(survivors(&fs, "/f"), BTreeSet::from([Some(b"\x01\x01\0z".to_vec())]));
}

#[test]
fn views_agree_with_a_plain_model_whatever_is_done() {
    let mut random = super::mix::Random::from_seed(11);
    let mut fs = fs();
    let file = fs.create("/f").expect("new");
    fs.sync_dir("/").expect("no faults");
    let mut model: Vec<u8> = Vec::new();
    for step in 0..3000_u64 {
        let at = usize::try_from(random.below(12_000)).expect("small");
        match random.below(10) {
            0 => {
                model.resize(at, 0);
                fs.set_len(file, u64::try_from(at).expect("small")).expect("room");
            }
            1 => {
                fs.sync(file).expect("no faults");
                let durable = CrashStates::of(&fs).sample(step);
                assert_eq!(durable.image_hash(), fs.image_hash(), "step {step}");
            }
            draw => {
                let data = vec![u8::try_from(draw * 20).expect("small"); 1 + at % 5000];
                let end = at + data.len();
                model.resize(model.len().max(end), 0);
                model[at..end].copy_from_slice(&data);
                let at = u64::try_from(at).expect("small");
                fs.write(file, at, &data, draw < 4).expect("room");
                if draw < 4 {
                    let mut left = CrashStates::of(&fs).sample(step);
                    let left = content(&mut left, "/f").expect("its name is durable");
                    let from = usize::try_from(at).expect("small");
                    assert_eq!(left[from..end], data, "step {step}: durable on return");
                }
            }
        }
        assert_eq!(content(&mut fs, "/f").as_ref(), Some(&model), "step {step}");
    }
}

/// The permitted content of each byte, and the permitted lengths, after a crash, by rules that know
/// no pending list.
struct Permitted {
    bytes: Vec<BTreeSet<u8>>,
    /// Bytes whose last write a failed sync left in doubt.
    doubtful: Vec<bool>,
    lens: Vec<usize>,
    view: Vec<u8>,
}

impl Permitted {
    fn set_len(&mut self, len: usize) {
        for at in len.min(self.view.len())..self.bytes.len() {
            self.bytes[at].insert(0);
            self.doubtful[at] = false;
        }
        self.view.resize(len, 0);
        self.lens.push(len);
    }

    fn write(&mut self, at: usize, data: &[u8], durable: bool) {
        let end = at + data.len();
        if end > self.view.len() {
            self.set_len(end);
        }
        self.view[at..end].copy_from_slice(data);
        for (at, byte) in (at..).zip(data) {
            if durable {
                self.bytes[at].clear();
            }
            self.bytes[at].insert(*byte);
            self.doubtful[at] = false;
        }
        if durable {
            let below = self.lens.iter().rposition(|len| *len < end);
            self.lens.drain(..below.map_or(0, |last| last + 1));
        }
    }

    fn sync(&mut self, fails: bool) {
        for (at, values) in self.bytes.iter_mut().enumerate() {
            if fails {
                self.doubtful[at] |= values.len() > 1;
            } else if !self.doubtful[at] {
                *values = BTreeSet::from([self.view.get(at).copied().unwrap_or(0)]);
            }
        }
        if !fails {
            self.lens = vec![self.view.len()];
        }
    }

    fn check(&self, left: &[u8], context: &str) {
        assert!(self.lens.contains(&left.len()), "{context}: length {}", left.len());
        for (at, byte) in left.iter().enumerate() {
            assert!(self.bytes[at].contains(byte), "{context}: byte {at} is {byte}");
        }
    }
}

#[test]
fn no_crash_shows_what_no_rule_permits() {
    const ROOM: u64 = 2500;
    for seed in 0..60 {
        let mut random = super::mix::Random::from_seed(seed);
        let (mut fs, file) = with_file(0, 0);
        let room = usize::try_from(ROOM).expect("small");
        let mut permitted = Permitted {
            bytes: vec![BTreeSet::from([0]); room],
            doubtful: vec![false; room],
            lens: vec![0],
            view: Vec::new(),
        };
        for step in 0..25 {
            let at = random.below(ROOM - 1000);
            let place = usize::try_from(at).expect("small");
            match random.below(8) {
                0 => {
                    fs.set_len(file, at).expect("room");
                    permitted.set_len(place);
                }
                1 => {
                    fs.sync(file).expect("no fault");
                    permitted.sync(false);
                }
                2 => {
                    fs.plan_faults(FaultPlan::new(0).nth(1, Fault::Eio, Scope::all()));
                    fs.sync(file).expect_err("the first operation fails");
                    permitted.sync(true);
                }
                draw => {
                    let len = usize::try_from(1 + random.below(1000)).expect("small");
                    let data = vec![u8::try_from(1 + step).expect("small"); len];
                    fs.write(file, at, &data, draw == 3).expect("room");
                    permitted.write(place, &data, draw == 3);
                }
            }
            let states = CrashStates::of(&fs);
            for sample in 0..10 {
                let left = content(&mut states.sample(sample), "/f").expect("its name is durable");
                let fates = states.describe_sample(sample);
                permitted.check(&left, &format!("seed {seed}, step {step}: {fates}"));
            }
            assert_eq!(content(&mut fs, "/f").as_ref(), Some(&permitted.view));
        }
    }
}

// Directories

#[test]
fn whatever_is_done_to_names_a_synced_directory_keeps_what_it_shows() {
    let dirs = ["/", "/d", "/e"];
    for seed in 0..300 {
        let mut random = super::mix::Random::from_seed(seed);
        let mut fs = fs();
        fs.create_dir("/d").expect("new");
        fs.create_dir("/e").expect("new");
        fs.sync_dir("/").expect("no faults");
        for step in 0..30 {
            let mut path = || {
                let dir = dirs[usize::try_from(random.below(3)).expect("small")];
                format!("{dir}/{}", ["x", "y"][usize::try_from(random.below(2)).expect("small")])
            };
            let (from, to) = (path(), path());
            // Refusals are part of the test: the name exists, or it doesn't.
            match random.below(6) {
                0 | 1 => {
                    if let Ok(file) = fs.create(&from) {
                        fs.set_len(file, step + 1).expect("room");
                        fs.sync(file).expect("no faults");
                        fs.close(file).expect("open");
                    }
                }
                2 | 3 => drop(fs.rename(&from, &to)),
                4 => drop(fs.remove(&from)),
                _ => keeps_what_it_shows(&mut fs, dirs[usize::try_from(step % 3).expect("small")]),
            }
            if fs.names.pending.len() > 6 {
                dirs.iter().for_each(|dir| fs.sync_dir(dir).expect("no faults"));
                let states = CrashStates::of(&fs);
                assert_eq!(states.total(), Some(1), "seed {seed}, step {step}");
                assert_eq!(states.sample(0).image_hash(), fs.image_hash());
            }
        }
    }
}

fn keeps_what_it_shows(fs: &mut FileSystem, dir: &str) {
    fs.sync_dir(dir).expect("no faults");
    let names = fs.list(dir).expect("there");
    let files = names.iter().map(|name| format!("{dir}/{name}"));
    let files: Vec<String> = files.filter(|path| fs.open(path).is_ok()).collect();
    for mut state in CrashStates::of(fs).exhaustive(LIMIT).expect("few") {
        for path in &files {
            assert_eq!(content(&mut state.fs, path), content(fs, path), "{path}");
        }
        let mut seen = BTreeSet::new();
        assert!(state.fs.names.view.files().all(|file| seen.insert(file)), "one name each");
    }
    fs.close_all();
}

#[test]
fn a_synced_file_in_an_unsynced_directory_may_vanish() {
    let mut fs = fs();
    let file = fs.create("/f").expect("new");
    fs.write(file, 0, b"data", true).expect("room");
    fs.sync(file).expect("no faults");
    assert_eq!(survivors(&fs, "/f"), BTreeSet::from([None, Some(b"data".to_vec())]));
    fs.sync_dir("/").expect("no faults");
    assert_eq!(survivors(&fs, "/f"), BTreeSet::from([Some(b"data".to_vec())]));
}

#[test]
fn a_directory_whose_parent_is_unsynced_may_vanish_with_its_synced_files() {
    let mut fs = fs();
    fs.create_dir("/d").expect("new");
    let file = fs.create("/d/f").expect("new");
    fs.write(file, 0, b"x", true).expect("room");
    fs.sync_dir("/d").expect("no faults");
    assert_eq!(survivors(&fs, "/d/f"), BTreeSet::from([None, Some(b"x".to_vec())]));
    fs.sync_dir("/").expect("no faults");
    assert_eq!(survivors(&fs, "/d/f"), BTreeSet::from([Some(b"x".to_vec())]));
}

/// /f holds "old" and /g "new", both durable.
fn two_files() -> FileSystem {
    let mut fs = fs();
    fs.create_dir("/d").expect("new");
    for (path, text) in [("/f", b"old"), ("/g", b"new")] {
        let file = fs.create(path).expect("new");
        fs.write(file, 0, text, true).expect("room");
        fs.close(file).expect("open");
    }
    fs.sync_dir("/").expect("no faults");
    fs
}

#[test]
fn a_rename_is_kept_or_dropped_as_a_whole() {
    let mut fs = two_files();
    fs.rename("/g", "/f").expect("there");
    let states = CrashStates::of(&fs);
    let mut seen = Vec::new();
    for mut state in states.exhaustive(LIMIT).expect("few") {
        seen.push((content(&mut state.fs, "/f"), content(&mut state.fs, "/g")));
    }
    let (old, new) = (Some(b"old".to_vec()), Some(b"new".to_vec()));
    assert_eq!(seen, [(old, new.clone()), (new.clone(), None)]);
    fs.sync_dir("/").expect("no faults");
    assert_eq!(survivors(&fs, "/f"), BTreeSet::from([new]));
}

#[test]
fn a_removal_may_be_dropped_until_the_directory_is_synced() {
    let mut fs = two_files();
    fs.remove("/f").expect("there");
    assert!(!fs.exists("/f"));
    assert_eq!(survivors(&fs, "/f"), BTreeSet::from([None, Some(b"old".to_vec())]));
    fs.sync_dir("/").expect("no faults");
    assert_eq!(survivors(&fs, "/f"), BTreeSet::from([None]));
}

#[test]
fn a_rename_across_directories_is_durable_with_its_target_only() {
    let mut fs = two_files();
    fs.rename("/f", "/d/f").expect("there");
    fs.sync_dir("/").expect("no faults");
    assert_eq!(survivors(&fs, "/d/f").len(), 2, "the source's sync promises nothing");
    fs.sync_dir("/d").expect("no faults");
    assert_eq!(survivors(&fs, "/d/f"), BTreeSet::from([Some(b"old".to_vec())]));
    assert_eq!(survivors(&fs, "/f"), BTreeSet::from([None]));
}

#[test]
fn a_name_taken_again_takes_the_earlier_rename_along() {
    let mut fs = two_files();
    fs.rename("/f", "/d/f").expect("there");
    fs.create("/f").expect("free again");
    fs.sync_dir("/").expect("no faults");
    // The new /f is durable. If the rename weren't, the old file would have no name at all.
    assert_eq!(survivors(&fs, "/f"), BTreeSet::from([Some(Vec::new())]));
    assert_eq!(survivors(&fs, "/d/f"), BTreeSet::from([Some(b"old".to_vec())]));
}

#[test]
fn a_file_has_one_name_even_where_an_earlier_rename_was_dropped() {
    let mut fs = two_files();
    fs.rename("/f", "/a").expect("there");
    fs.rename("/a", "/b").expect("there");
    for mut state in CrashStates::of(&fs).exhaustive(LIMIT).expect("few") {
        let names = state.fs.list("/").expect("there");
        assert_eq!(names.len(), 3, "{names:?}: d, g and one name of the file");
    }
}

#[test]
fn a_removed_file_that_is_open_stays_usable_and_leaves_no_trace() {
    let (mut fs, file) = with_file(4, 1);
    fs.remove("/f").expect("there");
    fs.sync_dir("/").expect("no faults");
    fs.write(file, 0, b"z", false).expect("room");
    assert_eq!(CrashStates::of(&fs).total(), Some(1), "no crash can show the write");
    let mut byte = [0];
    fs.read(file, 0, &mut byte).expect("open");
    assert_eq!(&byte, b"z");
    fs.close_all();
    assert!(fs.files.is_empty() && fs.space().0 == 0);
}

// Crashes

#[test]
fn power_is_lost_during_the_nth_point_and_its_change_is_pending() {
    let (mut fs, file) = with_file(4, 0);
    let points = fs.crash_points();
    assert_eq!(points, 4, "create, write, sync, sync_dir");
    fs.lose_power_at(points + 2);
    let mut buffer = [0];
    fs.read(file, 0, &mut buffer).expect("reads are no points");
    fs.write(file, 0, b"a", true).expect("before the cut");
    let error = fs.write(file, 2, b"b", true).expect_err("during the cut");
    assert!(is_power_lost(&error) && fs.power_lost(), "{error}");
    assert!(is_power_lost(&fs.sync(file).expect_err("after the cut")));
    assert!(is_power_lost(&fs.create("/x").expect_err("after the cut")));
    assert!(is_power_lost(&fs.read(file, 0, &mut buffer).expect_err("after the cut")));
    assert!(is_power_lost(&fs.len(file).expect_err("after the cut")));
    let texts = [b"a\0\0\0", b"a\0b\0"];
    assert_eq!(survivors(&fs, "/f"), texts.iter().map(|text| Some(text.to_vec())).collect());
}

#[test]
fn a_sync_during_which_the_power_goes_promises_nothing() {
    let (mut fs, file) = with_file(1, 0);
    fs.write(file, 0, b"a", false).expect("room");
    fs.create("/g").expect("new");
    let mut during_sync = fs.clone();
    during_sync.lose_power_at(fs.crash_points() + 1);
    during_sync.sync(file).expect_err("power");
    assert_eq!(survivors(&during_sync, "/f").len(), 2);
    fs.lose_power_at(fs.crash_points() + 1);
    fs.sync_dir("/").expect_err("power");
    assert_eq!(survivors(&fs, "/g").len(), 2);
}

#[test]
fn states_are_exactly_counted_and_differ_where_content_does() {
    let mut fs = two_files();
    let file = fs.open("/f").expect("there");
    fs.write(file, 0, b"OLD", false).expect("room");
    fs.remove("/g").expect("there");
    let states = CrashStates::of(&fs);
    assert_eq!(states.total(), Some(4));
    assert!(states.exhaustive(3).is_none(), "more than the limit");
    let hashes: BTreeSet<ImageHash> =
        states.exhaustive(4).expect("four").map(|state| state.fs.image_hash()).collect();
    assert_eq!(hashes.len(), 4);
    let last = states.describe(3);
    assert!(last.contains("remove /g: kept") && last.contains("/f: write of 3 at 0: sectors #"));
}

#[test]
fn what_cannot_differ_is_not_enumerated() {
    let mut fs = fs();
    let file = fs.create("/f").expect("new");
    fs.write(file, 0, &[1; 1024], false).expect("room");
    // No name, no size: one each. With both, the four subsets of two sectors.
    assert_eq!(CrashStates::of(&fs).total(), Some(1 + 1 + 4));
    // Made and renamed: the name is /f, /g or none, where four subsets of two changes lead.
    fs.rename("/f", "/g").expect("there");
    assert_eq!(CrashStates::of(&fs).total(), Some(1 + 5 + 5));
}

#[test]
fn samples_are_members_of_the_exhaustive_set_and_reach_all_of_a_small_one() {
    let mut fs = fs();
    let file = fs.create("/f").expect("new");
    fs.write(file, 0, &[1; 1024], false).expect("room");
    fs.write(file, 512, &[2; 1024], false).expect("room");
    let states = CrashStates::of(&fs);
    let hash = |fs: &FileSystem| fs.image_hash();
    let all: BTreeSet<ImageHash> =
        states.exhaustive(LIMIT).expect("few").map(|state| hash(&state.fs)).collect();
    let drawn: BTreeSet<ImageHash> = (0..3000).map(|seed| hash(&states.sample(seed))).collect();
    assert_eq!(drawn, all);
    assert_eq!(hash(&states.sample(5)), hash(&states.sample(5)));
    assert!(!states.describe_sample(5).is_empty());
}

#[test]
fn what_is_too_much_to_enumerate_can_be_sampled() {
    let mut fs = fs();
    for number in 0..20 {
        let file = fs.create(format!("/{number}")).expect("new");
        for offset in 0..100 {
            fs.write(file, offset * 100, &[1; 100], false).expect("room");
        }
    }
    let states = CrashStates::of(&fs);
    assert_eq!(states.total(), None);
    assert!(states.exhaustive(u64::MAX).is_none());
    let hashes: BTreeSet<ImageHash> =
        (0..50).map(|seed| states.sample(seed).image_hash()).collect();
    assert!(hashes.len() > 40, "{}", hashes.len());
}

#[test]
fn a_snapshot_is_independent_and_a_state_can_crash_again() {
    let (mut fs, file) = with_file(4, 0);
    fs.write(file, 0, b"a", false).expect("room");
    let snapshot = fs.clone();
    fs.write(file, 0, b"b", true).expect("room");
    assert_eq!(content(&mut snapshot.clone(), "/f").expect("there")[0], b'a');
    for mut state in CrashStates::of(&snapshot).exhaustive(LIMIT).expect("few") {
        assert_eq!(state.fs.crash_points(), 0);
        let file = state.fs.open("/f").expect("durable");
        state.fs.lose_power_at(1);
        state.fs.write(file, 1, b"c", false).expect_err("power");
        assert_eq!(survivors(&state.fs, "/f").len(), 2);
    }
}

#[test]
fn equal_images_have_equal_hashes_however_they_came_about() {
    let (mut left, file) = with_file(5000, 3);
    let mut right = fs();
    let other = right.create("/g").expect("new");
    for offset in (0..5000).rev() {
        right.write(other, offset, &[3], false).expect("room");
    }
    assert_ne!(left.image_hash(), right.image_hash(), "names count");
    right.rename("/g", "/f").expect("there");
    assert_eq!(left.image_hash(), right.image_hash());
    left.set_len(file, 5001).expect("room");
    assert_ne!(left.image_hash(), right.image_hash(), "sizes count");
    right.create_dir("/d").expect("new");
    assert_eq!(right.image_hash(), ImageHash(0x26D8_CB2B_76BE_5E29), "golden");
}

// Faults

#[test]
fn the_nth_operation_fails_and_the_sweep_ends() {
    let mut failed = Vec::new();
    for n in 1.. {
        let mut fs = fs();
        fs.plan_faults(FaultPlan::new(0).nth(n, Fault::Eio, Scope::all()));
        let result = (|| {
            let file = fs.create("/f")?;
            fs.write(file, 0, b"x", false)?;
            fs.sync(file)?;
            fs.sync_dir("/")
        })();
        if fs.injected().is_empty() {
            result.expect("nothing was injected");
            break;
        }
        assert_eq!(refusal(result), EIO);
        assert_eq!(fs.injected()[0].ordinal, n);
        failed.push(fs.injected()[0].operation);
    }
    let expected = [Operation::Create, Operation::Write, Operation::Sync, Operation::SyncDir];
    assert_eq!(failed, expected);
}

#[test]
fn faults_are_scoped_by_kind_and_path_and_last_if_asked() {
    let (mut fs, file) = with_file(10, 1);
    let other = fs.create("/ff").expect("new");
    let writes = Scope::of(&[Operation::Write]).under("/f");
    fs.plan_faults(FaultPlan::new(0).from_nth(2, Fault::Enospc, writes));
    fs.write(file, 0, b"1", false).expect("the first");
    for _ in 0..3 {
        assert_eq!(refusal(fs.write(file, 0, b"2", false)), ENOSPC);
        fs.write(other, 0, b"x", false).expect("another path");
        fs.sync(file).expect("another kind");
    }
    assert_eq!(fs.injected().len(), 3);
    let text = fs.injected()[0].to_string();
    assert!(text.contains("Write /f at 0: Enospc"), "{text}");
}

#[test]
fn random_faults_repeat_with_their_seed_and_keep_their_rate() {
    let run = |seed| {
        let (mut fs, file) = with_file(10, 1);
        fs.plan_faults(FaultPlan::new(seed).per_million(100_000, Fault::Eio, Scope::all()));
        let fails = (0..5000).map(|_| fs.read(file, 0, &mut [0; 4]).is_err());
        fails.collect::<Vec<bool>>()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
    let fails = run(1).iter().filter(|failed| **failed).count();
    assert!((400..600).contains(&fails), "{fails} of 5000");
}

#[test]
fn short_reads_and_writes_do_part_of_the_work() {
    let (mut fs, file) = with_file(100, 1);
    let short = FaultPlan::new(3).from_nth(1, Fault::Short, Scope::all());
    fs.plan_faults(short);
    let mut buffer = [0; 100];
    let read = fs.read(file, 0, &mut buffer).expect("short");
    assert!((1..100).contains(&read) && buffer[read..].iter().all(|byte| *byte == 0));
    let written = fs.write(file, 0, &[2; 100], true).expect("short");
    assert!((1..100).contains(&written));
    assert_eq!(fs.read(file, 0, &mut buffer[..1]).expect("too short to be short"), 1);
    fs.faults = None;
    let bytes = content(&mut fs, "/f").expect("there");
    assert_eq!(bytes.iter().filter(|byte| **byte == 2).count(), written);
}

/// Of one draw a short read stops at that byte, whatever its offset, and a write between sectors.
#[test]
fn a_short_read_stops_at_any_byte() {
    let mut read_to = BTreeSet::new();
    for seed in 0..50 {
        let (mut fs, file) = with_file(4096, 1);
        let short = || FaultPlan::new(seed).nth(1, Fault::Short, Scope::all());
        let mut buffer = [0; 2048];
        let reads = [0, 700].map(|offset| {
            fs.plan_faults(short());
            fs.read(file, offset, &mut buffer).expect("short")
        });
        assert_eq!(reads[0], reads[1], "the draw alone says it");
        fs.plan_faults(short());
        let written = fs.write(file, 0, &[2; 2048], false).expect("short");
        assert_eq!(written, (reads[0] / 512).max(1) * 512, "{} were drawn", reads[0]);
        read_to.insert(reads[0] % 512);
    }
    assert!(read_to.len() > 40, "{read_to:?}");
}

#[test]
fn a_short_write_of_several_sectors_stops_between_two() {
    for seed in 0..50 {
        let (mut fs, file) = with_file(4096, 0);
        fs.plan_faults(FaultPlan::new(seed).nth(1, Fault::Short, Scope::all()));
        let written = fs.write(file, 0, &[2; 2048], false).expect("short");
        assert!(written % 512 == 0 && (512..2048).contains(&written), "{written}");
        fs.plan_faults(FaultPlan::new(seed).nth(1, Fault::Short, Scope::all()));
        let written = fs.write(file, 100, &[2; 300], false).expect("short");
        assert!((1..300).contains(&written), "{written}");
    }
}

#[test]
fn rot_stays_on_the_medium_until_it_is_overwritten() {
    let (mut fs, file) = with_file(1000, 0);
    fs.write(file, 0, &[0; 100], false).expect("room");
    fs.plan_faults(FaultPlan::new(8).nth(1, Fault::Rot, Scope::all()));
    let mut buffer = [0; 1000];
    fs.read(file, 0, &mut buffer).expect("rotten");
    let ones = |bytes: &[u8]| bytes.iter().map(|byte| byte.count_ones()).sum::<u32>();
    assert_eq!(ones(&buffer), 1, "one bit");
    let mut again = [0; 1000];
    fs.read(file, 0, &mut again).expect("still rotten");
    assert_eq!(buffer, again);
    fs.sync(file).expect("no fault");
    for left in survivors(&fs, "/f") {
        assert_eq!(ones(&left.expect("durable")), 1, "a crash doesn't heal it");
    }
    fs.write(file, 0, &[0; 1000], true).expect("room");
    fs.read(file, 0, &mut again).expect("healed");
    assert_eq!(ones(&again), 0);
}

#[test]
fn misdirected_reads_and_writes_miss_by_whole_blocks() {
    let mut fs = fs();
    let file = fs.create("/f").expect("new");
    for block in 0..4_u8 {
        fs.write(file, u64::from(block) * 4096, &[block + 1; 4096], false).expect("room");
    }
    fs.plan_faults(FaultPlan::new(1).from_nth(1, Fault::MisdirectedRead, Scope::all()));
    let mut seen = BTreeSet::new();
    for _ in 0..50 {
        let mut buffer = [0; 10];
        assert_eq!(fs.read(file, 4100, &mut buffer).expect("misdirected"), 10);
        assert_eq!(buffer, [buffer[0]; 10]);
        seen.insert(buffer[0]);
    }
    assert_eq!(seen, BTreeSet::from([1, 3, 4]), "each other block and never the right one");

    fs.plan_faults(FaultPlan::new(1).nth(1, Fault::MisdirectedWrite, Scope::all()));
    assert_eq!(fs.write(file, 4096, &[9; 4096], true).expect("acknowledged"), 4096);
    let bytes = content(&mut fs, "/f").expect("there");
    let hit: Vec<usize> = (0..4).filter(|block| bytes[block * 4096] == 9).collect();
    assert_eq!((hit.len(), bytes[4096]), (1, 2), "one other block has it, its own is stale");
    assert!(fs.injected()[0].to_string().contains("to offset"));
}

#[test]
fn a_fault_without_a_place_to_happen_is_not_counted() {
    let (mut fs, file) = with_file(4096, 1);
    fs.plan_faults(FaultPlan::new(0).nth(1, Fault::MisdirectedWrite, Scope::all()));
    fs.write(file, 0, &[2; 4096], false).expect("the only block");
    assert!(fs.injected().is_empty());
    fs.write(file, 4096, &[3; 4096], false).expect("the second block");
    assert_eq!(fs.injected().len(), 1);
}

#[test]
fn a_lost_write_is_acknowledged_flushed_and_nowhere() {
    let (mut fs, file) = with_file(10, 1);
    fs.plan_faults(FaultPlan::new(0).nth(1, Fault::LostWrite, Scope::all()));
    assert_eq!(fs.write(file, 8, &[2; 4], true).expect("acknowledged"), 4);
    fs.sync(file).expect("no complaint");
    let expected = [[1; 10].as_slice(), &[0, 0]].concat();
    assert_eq!(survivors(&fs, "/f"), BTreeSet::from([Some(expected)]));
}

#[test]
fn after_a_failed_sync_the_next_one_succeeds_without_writing() {
    let (mut fs, file) = with_file(2, 0);
    fs.write(file, 0, b"a", false).expect("room");
    fs.plan_faults(FaultPlan::new(0).nth(1, Fault::Eio, Scope::of(&[Operation::Sync])));
    assert_eq!(refusal(fs.sync(file)), EIO);
    fs.sync(file).expect("the error was reported once");
    assert_eq!(content(&mut fs, "/f"), Some(b"a\0".to_vec()), "reads still show it");
    let texts = [b"\0\0", b"a\0"];
    assert_eq!(survivors(&fs, "/f"), texts.iter().map(|text| Some(text.to_vec())).collect());
    fs.write(file, 1, b"b", false).expect("room");
    fs.sync(file).expect("no fault");
    let texts = [b"\0b", b"ab"];
    assert_eq!(survivors(&fs, "/f"), texts.iter().map(|text| Some(text.to_vec())).collect());
    fs.write(file, 0, b"c", false).expect("room");
    fs.sync(file).expect("no fault");
    assert_eq!(survivors(&fs, "/f"), BTreeSet::from([Some(b"cb".to_vec())]), "doubt is over");
}

#[test]
fn after_a_failed_directory_sync_the_next_one_promises_nothing_for_the_same_changes() {
    let mut fs = fs();
    fs.create("/f").expect("new");
    fs.plan_faults(FaultPlan::new(0).nth(1, Fault::Eio, Scope::of(&[Operation::SyncDir])));
    assert_eq!(refusal(fs.sync_dir("/")), EIO);
    fs.create("/g").expect("new");
    fs.sync_dir("/").expect("the error was reported once");
    assert_eq!(survivors(&fs, "/f").len(), 2, "in doubt");
    assert_eq!(survivors(&fs, "/g").len(), 1);
    fs.remove("/f").expect("there");
    fs.sync_dir("/").expect("no fault");
    assert_eq!(survivors(&fs, "/f"), BTreeSet::from([None]), "superseded");
}

#[test]
fn a_write_that_failed_may_be_on_the_medium_but_is_not_read() {
    let (mut fs, file) = with_file(2, 0);
    fs.plan_faults(FaultPlan::new(0).nth(1, Fault::Eio, Scope::of(&[Operation::Write])));
    assert_eq!(refusal(fs.write(file, 0, b"ab", true)), EIO);
    assert_eq!(content(&mut fs, "/f"), Some(b"\0\0".to_vec()));
    fs.sync(file).expect("no fault");
    let texts = [b"\0\0", b"ab"];
    assert_eq!(survivors(&fs, "/f"), texts.iter().map(|text| Some(text.to_vec())).collect());
}

/// A write that the power cut interrupts may make a file longer. The space in use counts it, also
/// when the file, which has no name any more, is closed.
#[test]
fn a_write_in_flight_that_makes_a_file_longer_counts_as_space() {
    let mut fs = FileSystem::new(1 << 20);
    let file = fs.create("/gone").expect("room");
    fs.remove("/gone").expect("it is there");
    fs.cut_power();
    fs.write_in_flight(file, 4096, &[7; 4096]);
    assert_eq!(fs.space().0, 8192);
    fs.close(file).expect("open");
    assert_eq!(fs.space().0, 0);
}
