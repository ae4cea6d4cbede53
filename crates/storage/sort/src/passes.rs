//! Merging runs into fewer.
//!
//! ```text
//!   1 2 3 4 5 6 7 8 9      four at once, say: the first merge takes just so many that all
//!   └─┬─┘                  later ones are full; from the last the rows go to the caller
//!     a   4 5 6 7 8 9
//!         └──┬──┘
//!     a      b    8 9
//! ```
//!
//! Invariant: only neighbours are merged, and the result takes their place. So the order of the
//! runs stays the order in which their rows were pushed (ST2).
//!
//! Callers: `sorter`. Sources: Knuth, volume 3, 5.4.9, for the first merge's size.

use std::sync::Arc;

use stop::Stop;

use crate::merge::Merge;
use crate::run::Run;
use crate::run_reader::RunReader;
use crate::run_writer::RunWriter;
use crate::temp_file::TempFile;

/// Merges runs until there are at most `most`, each time the neighbours with the fewest blocks.
pub(crate) fn reduce(
    runs: &mut Vec<Run>,
    most: usize,
    temp: &mut TempFile<'_>,
) -> Result<(), Stop> {
    let fan_in = temp.state.plan.fan_in();
    while let Some(excess) = runs.len().checked_sub(most).filter(|excess| *excess > 0) {
        // A merge of n runs makes n - 1 fewer.
        let count = (excess - 1) % (fan_in - 1) + 2;
        let first = smallest(runs, count);
        let merged = merge(runs.drain(first..first + count).collect(), temp)?;
        runs.insert(first, merged);
    }
    Ok(())
}

/// Opens a merge of these runs, each at its first row.
pub(crate) fn open(runs: Vec<Run>, temp: &mut TempFile<'_>) -> Result<Merge<RunReader>, Stop> {
    temp.await_writes(0)?;
    let among = runs.len();
    let new = |run| RunReader::new(Arc::new(run), among, temp);
    let mut readers: Vec<RunReader> = runs.into_iter().map(new).collect();
    for reader in &mut readers {
        reader.ask(temp)?;
    }
    for reader in &mut readers {
        reader.begin(temp)?;
    }
    Ok(Merge::new(readers))
}

/// The position of the first of `count` neighbours that have the fewest blocks.
fn smallest(runs: &[Run], count: usize) -> usize {
    let blocks = |window: &[Run]| window.iter().map(|run| u64::from(run.blocks)).sum::<u64>();
    let sizes = runs.windows(count).map(blocks).enumerate();
    sizes.min_by_key(|(_, size)| *size).expect("there are as many").0
}

fn merge(runs: Vec<Run>, temp: &mut TempFile<'_>) -> Result<Run, Stop> {
    let mut merge = open(runs, temp)?;
    let mut writer = RunWriter::new(temp);
    while let Some(record) = merge.record() {
        writer.append(record, temp)?;
        merge.advance(temp)?;
    }
    let run = writer.finish(temp)?;
    for source in merge.into_sources() {
        temp.state.space.give_back(&source.run().extents);
    }
    Ok(run)
}
