//! How far a soak of seeds has come, in a file: stopped, it goes on where it was.
//!
//! ```text
//!   FIRST SEED  STATEMENTS  DIFFERENCES       a line for each batch that has ended
//! ```
//!
//! A line is written when its batch has ended, so a batch that was stopped runs again. What a batch
//! found is in a file of the same name with `.differences` behind.
//!
//! Callers: `soak differential`, `soak metamorphic`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// What a batch came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Batch {
    /// What was run: statements, or cases.
    pub(super) done: u64,
    pub(super) differences: u64,
}

/// The batches that have ended.
pub(super) struct Progress {
    path: PathBuf,
    batches: BTreeMap<u64, Batch>,
    file: File,
}

impl Progress {
    /// Reads what has been done, and begins or goes on with the file. If `fresh`, nothing has.
    pub(super) fn open(path: &Path, fresh: bool) -> Result<Progress, String> {
        let cannot = |what: &str, error| format!("soak: cannot {what} {}: {error}", path.display());
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| cannot("make the folder of", error))?;
        }
        if fresh {
            for path in [path.to_path_buf(), found_path(path)] {
                // One that isn't there is what is wanted.
                let _ = fs::remove_file(path);
            }
        }
        let text = fs::read_to_string(path).unwrap_or_default();
        let file = File::options().create(true).append(true).open(path);
        let file = file.map_err(|error| cannot("write", error))?;
        let batches = text.lines().filter_map(batch_of).collect();
        Ok(Progress { path: path.to_path_buf(), batches, file })
    }

    /// All that has been done.
    pub(super) fn total(&self) -> Batch {
        let sum = |of: fn(&Batch) -> u64| self.batches.values().map(of).sum::<u64>();
        Batch { done: sum(|batch| batch.done), differences: sum(|batch| batch.differences) }
    }

    /// The next batch from this seed on that hasn't ended.
    pub(super) fn next(&self, mut from: u64, step: u64) -> u64 {
        while self.batches.contains_key(&from) {
            from += step;
        }
        from
    }

    /// Notes a batch, with what was found in it.
    pub(super) fn note(&mut self, from: u64, batch: Batch, found: &str) -> Result<(), String> {
        let Batch { done, differences } = batch;
        let cannot = |error| format!("soak: cannot write {}: {error}", self.path.display());
        if differences > 0 {
            let path = found_path(&self.path);
            let file = File::options().create(true).append(true).open(path);
            let mut file = file.map_err(cannot)?;
            file.write_all(found.as_bytes()).map_err(cannot)?;
        }
        writeln!(self.file, "{from} {done} {differences}").map_err(cannot)?;
        self.batches.insert(from, batch);
        Ok(())
    }
}

/// The file with what was found.
fn found_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".differences");
    PathBuf::from(name)
}

/// A line of the file; none if it isn't whole.
fn batch_of(line: &str) -> Option<(u64, Batch)> {
    let mut numbers = line.split(' ').map(str::parse::<u64>);
    let mut next = || numbers.next()?.ok();
    let (from, done, differences) = (next()?, next()?, next()?);
    Some((from, Batch { done, differences }))
}

/// The number before a word in a child's last line; 0 if there is none.
pub(super) fn number_before(line: &str, word: &str) -> u64 {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_it = |pair: &&[&str]| pair[1].trim_end_matches(',') == word;
    let found = words.windows(2).find(is_it);
    found.and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use bench::Scratch;

    use super::*;

    #[test]
    fn a_soak_goes_on_where_it_was() {
        let folder = Scratch::create(&std::env::temp_dir()).expect("it is writable");
        let path = folder.path().join("soak/differential");
        let mut progress = Progress::open(&path, false).expect("it is made");
        assert_eq!((progress.total().done, progress.next(100, 25)), (0, 100));
        progress.note(100, Batch { done: 600, differences: 0 }, "").expect("written");
        progress.note(150, Batch { done: 610, differences: 2 }, "two\n").expect("written");
        drop(progress);
        // The line of a batch that was cut off doesn't count.
        let mut text = fs::read_to_string(&path).expect("it is there");
        text += "175 6";
        fs::write(&path, text).expect("written");
        let progress = Progress::open(&path, false).expect("it is there");
        assert_eq!(progress.total(), Batch { done: 1_210, differences: 2 });
        assert_eq!(progress.next(100, 25), 125);
        assert_eq!(progress.next(150, 25), 175);
        assert_eq!(fs::read_to_string(found_path(&path)).expect("it is there"), "two\n");
        let progress = Progress::open(&path, true).expect("it is made");
        assert_eq!(progress.total(), Batch { done: 0, differences: 0 });
        assert!(!found_path(&path).exists());
    }

    #[test]
    fn a_childs_line_is_read() {
        let line = "differential 0 to 25: 25 cases, 613 statements, 9 rows, 2 differences, 3 by x";
        assert_eq!(number_before(line, "statements"), 613);
        assert_eq!(number_before(line, "differences"), 2);
        assert_eq!(number_before(line, "breaches"), 0);
    }
}
