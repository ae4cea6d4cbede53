//! What came up in model checks: a run in which something never happened proves nothing about it.

use std::fmt;
use std::ops::AddAssign;

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        /// How often each thing happened.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct ModelTally {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl ModelTally {
            /// What never happened.
            pub fn missing(&self) -> Vec<&'static str> {
                let all = [$((stringify!($name), self.$name)),*];
                all.into_iter().filter(|(_, count)| *count == 0).map(|(name, _)| name).collect()
            }
        }

        impl AddAssign for ModelTally {
            fn add_assign(&mut self, other: ModelTally) {
                $(self.$name += other.$name;)*
            }
        }

        impl fmt::Display for ModelTally {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                $(write!(f, "{} {}, ", self.$name, stringify!($name))?;)*
                f.write_str("and no breach")
            }
        }
    };
}

counts! {
    /// Calls of the engine.
    operations;
    /// Rows put in.
    inserts;
    /// Rows changed.
    updates;
    /// Rows deleted.
    deletes;
    /// Rows locked.
    locks;
    /// Rows read by their addresses, by statements of their own.
    fetches;
    /// Tables read.
    scans;
    /// Rows that reads gave.
    rows;
    /// Readings that could be compared only when a commit under way had ended.
    later;
    /// Went back to a savepoint.
    savepoints;
    /// Transactions that were committed.
    commits;
    /// Of these, the ones that didn't wait to be durable.
    nowait;
    /// Rolled back.
    rollbacks;
    /// Left without an end.
    vanished;
    /// Transactions with one snapshot.
    serializable;
    /// Statements that began again.
    restarts;
    /// Rows that a statement met when it had changed them already.
    again;
    /// Statements refused, for their snapshot was older than a row.
    conflicts;
    /// Circles.
    deadlocks;
    /// Refused at once.
    busy;
    /// Refused after a time.
    timeouts;
    /// Undo that was needed was gone.
    too_old;
    /// No room for rows, undo or one more transaction.
    no_space;
    /// Waits for rows, or entries of a block's list.
    waits;
    /// Rows written that don't fit into a block.
    chained;
    /// Undo records taken back in copies of blocks.
    cr_records;
    /// Power cuts.
    cuts;
    /// Aborted instances.
    aborts;
    /// Shut in good order.
    shutdowns;
    /// Openings that had redo to apply.
    recoveries;
    /// Dead transactions at openings.
    dead;
    /// Commits that nobody was told of, and that were there after a crash.
    doubt_there;
    /// And that weren't.
    doubt_gone;
}
