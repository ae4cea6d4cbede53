//! The one list of statistics: the counted events, apart from waits.
//!
//! Names follow `V$SYSSTAT` where they mean the same. A statistic is added with the code that
//! counts it.

use std::fmt;

/// The declaration of one statistic.
#[derive(Clone, Copy, Debug)]
pub struct StatisticInfo {
    /// The name in views and reports.
    pub name: &'static str,
    /// The meaning of one unit.
    pub unit: &'static str,
    /// One sentence that says when the statistic is raised.
    pub meaning: &'static str,
}

macro_rules! statistics {
    ($($statistic:ident $name:literal ($unit:literal) $meaning:literal;)*) => {
        /// An event that a session counts.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum Statistic {
            $(#[doc = concat!("`", $name, "` (", $unit, "): ", $meaning)] $statistic,)*
        }

        impl Statistic {
            /// Every statistic, in the order of the list.
            pub const ALL: &'static [Statistic] = &[$(Statistic::$statistic,)*];

            /// The declaration of this statistic.
            pub const fn info(self) -> &'static StatisticInfo {
                const INFO: &[StatisticInfo] = &[$(StatisticInfo {
                    name: $name,
                    unit: $unit,
                    meaning: $meaning,
                },)*];
                &INFO[self as usize]
            }
        }
    };
}

statistics! {
    PhysicalReadRequests "physical read total IO requests" ("requests")
        "a read is handed to a file, whatever its size";
    PhysicalReadBytes "physical read total bytes" ("bytes")
        "bytes that reads brought";
    PhysicalWriteRequests "physical write total IO requests" ("requests")
        "a write is handed to a file, whatever its size";
    PhysicalWriteBytes "physical write total bytes" ("bytes")
        "bytes that writes carried";
    FileSyncRequests "file sync requests" ("requests")
        "a file or a directory is asked to be durable";
    ShortIo "short I/O continued" ("requests")
        "an I/O did part of what it was asked, and the rest was asked again";
    CurrentGets "db block gets" ("blocks")
        "a block is had as it is now, from the cache or from disk";
    ConsistentGets "consistent gets" ("blocks")
        "a block, or undo of it, is had to read it as of a moment, from the cache or from disk";
    CrBlocksCreated "CR blocks created" ("blocks")
        "a copy of a block is made, in which newer changes are taken back for a read";
    CrUndoRecordsApplied "data blocks consistent reads - undo records applied" ("records")
        "a read takes back one change in such a copy";
    PhysicalReads "physical reads" ("blocks")
        "a block is read from disk, into the cache or around it";
    PhysicalReadsDirect "physical reads direct" ("blocks")
        "of these, those read around the cache";
    PhysicalWrites "physical writes" ("blocks")
        "a block is written to its place in a data file";
    PhysicalWritesNonCheckpoint "physical writes non checkpoint" ("blocks")
        "of these, those written to make buffers free and not for a checkpoint";
    DoublewriteBlocks "doublewrite blocks" ("blocks")
        "a copy of a block is written to the doublewrite file before the block itself";
    BlockChanges "db block changes" ("changes")
        "a change is applied to a block";
    FreeBufferRequested "free buffer requested" ("buffers")
        "a buffer is needed for a block that isn't in the cache";
    DirtyBuffersInspected "dirty buffers inspected" ("buffers")
        "a search for a free buffer passes a dirty one";
    FreeBufferInspected "free buffer inspected" ("buffers")
        "a search for a free buffer passes one that is dirty, pinned or warm";
    DbwrMakeFreeRequests "DBWR make free requests" ("requests")
        "a session or a writer asks for clean buffers";
    DbwrCheckpoints "DBWR checkpoints" ("checkpoints")
        "the writers are asked to write everything below a redo address";
    RedoEntries "redo entries" ("records")
        "a record is put into the log buffer";
    RedoSize "redo size" ("bytes")
        "bytes of records put into the log buffer";
    RedoWrites "redo writes" ("writes")
        "redo is written to the log, by whichever thread";
    RedoBlocksWritten "redo blocks written" ("blocks")
        "redo blocks of these writes";
    RedoWastage "redo wastage" ("bytes")
        "bytes left empty in redo blocks that were written before they were full";
    RedoWriteTime "redo write time (us)" ("us")
        "time that these writes took, by whichever thread";
    RedoSynchWrites "redo synch writes" ("requests")
        "a session asks for its redo to be durable";
    RedoLogSwitches "redo log switches" ("switches")
        "the next log becomes the current one";
    UserCommits "user commits" ("transactions")
        "a transaction ends by commit";
    UserRollbacks "user rollbacks" ("transactions")
        "a transaction ends by rollback";
    UndoRecordsApplied "rollback changes - undo records applied" ("records")
        "a rollback takes back one change";
    UndoBlocksFilled "undo blocks filled" ("blocks")
        "a transaction goes on to an undo block, its first or another one";
    SortsMemory "sorts (memory)" ("sorts")
        "a sort ends that has written nothing to disk";
    SortsDisk "sorts (disk)" ("sorts")
        "a sort ends that has written to disk what didn't fit its memory";
    SortsRows "sorts (rows)" ("rows")
        "rows of these sorts";
    PhysicalReadsDirectTemporary "physical reads direct temporary tablespace" ("blocks")
        "a block of a sort's temporary file is read";
    PhysicalWritesDirectTemporary "physical writes direct temporary tablespace" ("blocks")
        "a block of a sort's temporary file is written";
    EnqueueRequests "enqueue requests" ("requests")
        "a table lock is asked for, whether or not the transaction has it";
    EnqueueConversions "enqueue conversions" ("requests")
        "a table lock is asked for by a transaction that has a weaker one";
    EnqueueWaits "enqueue waits" ("requests")
        "a lock on a row or a table can't be had at once, and is waited for";
    EnqueueTimeouts "enqueue timeouts" ("requests")
        "a lock on a row or a table isn't had within the time that the statement gives";
    EnqueueDeadlocks "enqueue deadlocks" ("deadlocks")
        "a wait for a lock is refused because it would close a circle";
}

impl Statistic {
    /// The number of statistics.
    pub const COUNT: usize = Statistic::ALL.len();

    /// The name in views and reports.
    pub const fn name(self) -> &'static str {
        self.info().name
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
