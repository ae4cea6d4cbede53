//! Failpoints: the one list of the ways in which tests break the engine on purpose.
//!
//! A test switches a failpoint on in the configuration of a part of the engine
//! ([`Failpoints::only`]), runs the check that exists for it, and expects the check to fail. This
//! shows that each check is able to fail.
//!
//! Invariants
//!   * without feature `failpoints` no failpoint can be on, and asking costs nothing
//!   * each failpoint is asked for by the engine, and each test that is named here exists and
//!     switches its failpoint on (K6, held by `cargo xtask tidy`)
//!
//! Callers: the configurations of redo, cache, recovery and transactions; `instance::Parameters`.

/// Declares the failpoints: what each breaks, and the tests that must notice it. A test is given by
/// the path of its file and its name. `cargo xtask tidy` reads the tests from the text of this
/// file.
macro_rules! failpoints {
    ($($(#[doc = $breaks:literal])+ $name:ident: $($test:literal),+;)+) => {
        /// A way to break the engine on purpose.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Failpoint {
            $($(#[doc = $breaks])+ $name,)+
        }
    };
}

failpoints! {
    // The redo.

    /// A session is told that its commit is durable before the log write has begun.
    AcknowledgeBeforeDurable:
        "crates/storage/redo/tests/redo/failpoints.rs an_early_acknowledgement_is_noticed",
        "crates/proof/proof/tests/failpoints.rs redo_acknowledged_before_durable_is_caught";

    /// No log file is synced, and no log write goes through the device's cache.
    SkipLogSync:
        "crates/storage/redo/tests/redo/failpoints.rs a_skipped_sync_is_noticed",
        "crates/proof/proof/tests/failpoints.rs redo_without_sync_is_caught";

    // The cache.

    /// Blocks are written to their data file without a copy in the doublewrite file.
    SkipDoublewriteWrite:
        "crates/storage/cache/tests/crash.rs a_home_write_without_a_copy_is_noticed",
        "crates/proof/proof/tests/failpoints.rs doublewrite_left_out_is_caught";

    /// The doublewrite file isn't synced before the blocks are written to their data file.
    SkipDoublewriteSync:
        "crates/storage/cache/tests/crash.rs a_copy_without_a_sync_is_noticed",
        "crates/proof/proof/tests/failpoints.rs doublewrite_without_sync_is_caught";

    /// Blocks count as written though their data file wasn't synced.
    SkipDataSync:
        "crates/storage/cache/tests/crash.rs a_home_write_without_a_sync_is_noticed",
        "crates/proof/proof/tests/failpoints.rs data_file_without_sync_is_caught";

    /// Blocks are written before the redo of their changes is durable.
    IgnoreGate:
        "crates/storage/cache/tests/crash.rs a_block_written_before_its_redo_is_noticed",
        "crates/proof/proof/tests/failpoints.rs blocks_before_redo_is_caught";

    // Recovery.

    /// Replay doesn't ask whether a block has a change already.
    ApplyTwice:
        "crates/proof/proof/tests/failpoints.rs changes_applied_twice_is_caught";

    // Visibility and rollback.

    /// The changes of active transactions are seen.
    SeeActive:
        "crates/proof/proof/tests/model_check.rs seeing_active_transactions_is_noticed",
        "crates/proof/proof/tests/append_check.rs histories_show_seen_active_transactions";

    /// A commit is visible from the moment of its call, block by block.
    SeeCommitting:
        "crates/proof/proof/tests/model_check.rs seeing_a_commit_before_it_is_whole_is_noticed",
        "crates/proof/proof/tests/append_check.rs histories_show_commits_seen_in_halves";

    /// A consistent read applies one undo record and stops.
    SkipUndoRecord:
        "crates/proof/proof/tests/model_check.rs a_consistent_read_that_skips_undo_is_noticed",
        "crates/proof/proof/tests/append_check.rs histories_show_reads_that_skip_undo";

    /// The rollback of a transaction leaves one change in place.
    SkipRollbackRecord:
        "crates/proof/proof/tests/failpoints.rs a_change_that_no_rollback_takes_back_is_caught";

    /// A row lock that another transaction holds is granted to every transaction that requests it.
    IgnoreRowLock:
        "crates/proof/proof/tests/model_check.rs rows_that_are_not_locked_are_noticed";

    /// A statement of read committed changes rows that were changed since its snapshot.
    SkipRestart:
        "crates/proof/proof/tests/model_check.rs a_statement_that_does_not_begin_again_is_noticed";

    /// A serializable transaction changes rows that were changed since its snapshot.
    IgnoreFirstUpdater:
        "crates/proof/proof/tests/model_check.rs a_second_updater_is_noticed",
        "crates/proof/proof/tests/append_check.rs histories_show_second_updaters";

    /// Snapshots see commits that aren't durable.
    SeeBeforeDurable:
        "crates/proof/proof/tests/failpoints.rs rows_seen_before_they_are_durable_are_caught",
        "crates/proof/proof/tests/append_check.rs \
         histories_show_commits_seen_before_they_are_durable";

    /// A rollback to a savepoint leaves one change in place.
    SkipSavepointRecord:
        "crates/proof/proof/tests/model_check.rs a_savepoint_that_leaves_a_change_is_noticed",
        "crates/proof/proof/tests/append_check.rs histories_show_savepoints_that_leave_a_change",
        "crates/proof/proof/tests/failpoints.rs a_change_that_stays_behind_a_savepoint_is_caught";

    /// Undo is overwritten though a snapshot needs it.
    ForgetSnapshots:
        "crates/proof/proof/tests/model_check.rs undo_that_is_overwritten_too_early_is_noticed";

    /// Leaves of an index are deleted though a snapshot sees entries in them.
    TakeOutEarly:
        "crates/proof/proof/tests/index_leaves.rs leaves_that_are_taken_out_early_are_noticed";

    // Locks.

    /// No session looks for deadlocks.
    SkipDeadlocks:
        "crates/transactions/txn/tests/locks/failpoints.rs \
         deadlocks_that_nobody_looks_for_are_noticed";

    /// A transaction that ends doesn't wake the sessions that wait for it.
    SkipWake:
        "crates/transactions/txn/tests/locks/failpoints.rs a_wake_up_that_is_left_out_is_noticed";

    /// Weak lock modes are kept at the seat even when the table is watched.
    IgnoreWatch:
        "crates/transactions/txn/tests/locks/failpoints.rs \
         a_watch_that_is_not_looked_at_is_noticed";

    /// A session that watches a table doesn't search the seats for transactions that hold the
    /// table.
    SkipSweep:
        "crates/transactions/txn/tests/locks/failpoints.rs seats_that_are_not_asked_are_noticed";

    /// A request that is compatible with the holders overtakes the queue.
    Overtake:
        "crates/transactions/txn/tests/locks/failpoints.rs overtaking_is_noticed";

    /// A session that gives up a lock wait doesn't serve the requests that it held up.
    SkipServe:
        "crates/transactions/txn/tests/locks/failpoints.rs \
         a_request_behind_one_that_gave_up_is_noticed";

    // Foreign keys.

    /// The statement that deletes a row doesn't look for rows that refer to it.
    SkipChildren:
        "crates/database/relation/tests/relation/failpoints.rs \
         a_parent_that_does_not_look_for_children_is_noticed";

    /// A check of a foreign key ignores what other transactions have written and not committed.
    IgnoreHolders:
        "crates/database/relation/tests/relation/failpoints.rs \
         a_foreign_key_that_waits_for_nobody_is_noticed";

    /// Foreign keys are checked as of the statement's snapshot.
    LookAtSnapshot:
        "crates/database/relation/tests/relation/failpoints.rs \
         a_foreign_key_that_is_checked_as_of_a_snapshot_is_noticed";
}

/// The failpoint that is on, if any. Without feature `failpoints` it is empty: none can be on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Failpoints {
    #[cfg(feature = "failpoints")]
    on: Option<Failpoint>,
}

impl Failpoints {
    /// No failpoint is on.
    pub const NONE: Failpoints = Failpoints {
        #[cfg(feature = "failpoints")]
        on: None,
    };

    /// Only this failpoint is on.
    #[cfg(feature = "failpoints")]
    pub const fn only(failpoint: Failpoint) -> Failpoints {
        Failpoints { on: Some(failpoint) }
    }

    /// Whether this failpoint is on.
    #[inline]
    pub fn has(self, failpoint: Failpoint) -> bool {
        #[cfg(feature = "failpoints")]
        let is_on = self.on == Some(failpoint);
        #[cfg(not(feature = "failpoints"))]
        let is_on = {
            let _ = failpoint;
            false
        };
        is_on
    }
}
