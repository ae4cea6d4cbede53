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
    /// Statements, savepoints, commits and rollbacks.
    operations;
    /// Statements as SQL text.
    texts;
    /// Rows put in.
    inserts;
    /// Statements that put several rows in.
    arrays;
    /// Rows changed.
    updates;
    /// Rows that got another primary key.
    moved;
    /// Rows deleted because a statement said so.
    deletes;
    /// Rows deleted because what they referred to was.
    cascades;
    /// Rows that lost what they referred to.
    set_null;
    /// Rows locked.
    locks;
    /// Rows sought by a unique index.
    gets;
    /// Ranges of an index.
    ranges;
    /// Tables read.
    scans;
    /// Rows that reads gave.
    rows;
    /// Reads of transactions that had changed the table.
    own_reads;
    /// Went back to a savepoint.
    savepoints;
    /// Savepoints that were used though they weren't the transaction's any more.
    misuses;
    /// Updates whose closure panicked.
    panics;
    /// Transactions that were forgotten.
    forgotten;
    /// Transactions that were committed.
    commits;
    /// Of these, the ones that didn't wait to be durable.
    nowait;
    /// Rolled back.
    rollbacks;
    /// Transactions with one snapshot.
    serializable;
    /// Statements of them refused, for their snapshot was older than a row.
    conflicts;
    /// Circles.
    deadlocks;
    /// Refused at once.
    busy;
    /// Refused after a time.
    timeouts;
    /// Refused for another row with the key.
    duplicates;
    /// Refused for a foreign key.
    orphans;
    /// Refused for a CHECK.
    checks;
    /// Undo that was needed was gone.
    too_old;
    /// No room for rows, undo or one more transaction.
    no_space;
    /// Statements that were cancelled, or had had their time.
    cancelled;
    /// Waits for rows, or entries of a block's list.
    waits;
    /// Rows written that don't fit into a block.
    chained;
    /// Undo records taken back in copies of blocks.
    cr_records;
    /// Indexes made, indexes dropped, columns added.
    definitions;
    /// Rows whose numbers came of an identity column and a sequence.
    tickets;
    /// Changes of the size of the cache.
    resized;
    /// Refused, for there were too many transactions.
    unresized;
    /// Databases that were verified.
    verified;
    /// Power cuts.
    cuts;
    /// Databases that were dropped without a shutdown.
    aborts;
    /// Shut in good order.
    shutdowns;
    /// Dead transactions at openings.
    dead;
}
