//! The one list of wait events.
//!
//! Names, classes and parameter names follow the Oracle reference, so that what our users know
//! stays true. From this list come the enum, the view rows and `docs/WAITS.md`. It reads like a
//! dictionary: a new event gets a class, names for p1 to p3 (empty where there is none) and one
//! sentence that says when a session is in it.

use std::fmt;

/// The class of a wait event. An `Idle` wait is no part of response time inside the instance; waits
/// of every other class are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum WaitClass {
    /// The work of running a database: rebuilding, backing up, switching archives.
    Administrative,
    /// Waits that the application's own design causes, such as row locks.
    Application,
    /// Messages and blocks between the nodes of a cluster.
    Cluster,
    /// Waits of a session for its commit to become durable.
    Commit,
    /// Waits of sessions that meet at a shared structure: latches, buffers.
    Concurrency,
    /// Waits caused by a resource that is set too small: free buffers, log files, log buffer.
    Configuration,
    /// Waits of a session that has nothing to do.
    Idle,
    /// Waits to hand data to or from the client.
    Network,
    /// Waits that fit no other class.
    Other,
    /// Waits for a queue between sessions.
    Queueing,
    /// Waits imposed by the resource manager.
    Scheduler,
    /// I/O of background processes.
    SystemIo,
    /// I/O that a session asked for.
    UserIo,
}

impl WaitClass {
    /// The class as views print it.
    pub const fn name(self) -> &'static str {
        match self {
            WaitClass::Administrative => "Administrative",
            WaitClass::Application => "Application",
            WaitClass::Cluster => "Cluster",
            WaitClass::Commit => "Commit",
            WaitClass::Concurrency => "Concurrency",
            WaitClass::Configuration => "Configuration",
            WaitClass::Idle => "Idle",
            WaitClass::Network => "Network",
            WaitClass::Other => "Other",
            WaitClass::Queueing => "Queueing",
            WaitClass::Scheduler => "Scheduler",
            WaitClass::SystemIo => "System I/O",
            WaitClass::UserIo => "User I/O",
        }
    }
}

impl fmt::Display for WaitClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The declaration of one event.
#[derive(Clone, Copy, Debug)]
pub struct EventInfo {
    /// The name in views, traces and reports.
    pub name: &'static str,
    /// Its class.
    pub class: WaitClass,
    /// The meanings of p1, p2 and p3; empty where the event has none.
    pub parameters: [&'static str; 3],
    /// One sentence that says when a session is in this wait.
    pub meaning: &'static str,
}

macro_rules! wait_events {
    ($($class:ident { $($event:ident $name:literal [$p1:literal, $p2:literal, $p3:literal]
        $meaning:literal;)* })*) => {
        /// Something a session can wait for. A blocking call without one doesn't type-check.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum WaitEvent {
            $($(#[doc = concat!("`", $name, "`: ", $meaning)] $event,)*)*
        }

        impl WaitEvent {
            /// Every event, in the order of the list.
            pub const ALL: &'static [WaitEvent] = &[$($(WaitEvent::$event,)*)*];

            /// The declaration of this event.
            pub const fn info(self) -> &'static EventInfo {
                &INFO[self as usize]
            }
        }

        const INFO: &[EventInfo] = &[$($(EventInfo {
            name: $name,
            class: WaitClass::$class,
            parameters: [$p1, $p2, $p3],
            meaning: $meaning,
        },)*)*];
    };
}

wait_events! {
    UserIo {
        DbFileSequentialRead "db file sequential read" ["file#", "block#", "blocks"]
            "one block is read into the cache (also undo and headers)";
        DbFileScatteredRead "db file scattered read" ["file#", "block#", "blocks"]
            "one contiguous multiblock read into scattered buffers";
        DbFileParallelRead "db file parallel read" ["files", "blocks", "requests"]
            "many separate blocks are read in one batch; ends when all have come";
        DirectPathRead "direct path read" ["file number", "first dba", "block cnt"]
            "asynchronous reads around the cache are reaped; neither their count nor their latency";
        DirectPathReadTemp "direct path read temp" ["file number", "first dba", "block cnt"]
            "asynchronous reads of temporary space are reaped";
        DirectPathWriteTemp "direct path write temp" ["file number", "first dba", "block cnt"]
            "asynchronous writes of temporary space are reaped";
        ReadByOtherSession "read by other session" ["file#", "block#", "class#"]
            "another session is reading the block in";
        DiskFileOperations "Disk file operations I/O" ["FileOperation", "fileno", "filetype"]
            "a file is created, opened, renamed, synced ...: `os::FileOperation` has the numbers";
        DbFileSingleWrite "db file single write" ["file#", "block#", "blocks"]
            "the header of a data file is written";
        DataFileInitWrite "Data file init write" ["count", "intr", "timeout"]
            "what a data file grows by is written with zeros, or a new one's first blocks";
    }
    SystemIo {
        DbFileParallelWrite "db file parallel write" ["requests", "interrupt", "timeout"]
            "a database writer waits for some of its outstanding writes";
        LogFileParallelWrite "log file parallel write" ["files", "blocks", "requests"]
            "the redo writer waits until every member of the group is written";
        LogFileSequentialRead "log file sequential read" ["log#", "block#", "blocks"]
            "redo is read back, by recovery or by the archiver";
        LogFileSingleWrite "log file single write" ["log#", "block#", "blocks"]
            "the header of one log member is written";
        ControlFileParallelWrite "control file parallel write" ["files", "blocks", "requests"]
            "every copy of the control file is written";
        ControlFileSequentialRead "control file sequential read" ["file#", "block#", "blocks"]
            "a block of the control file is read";
    }
    Commit {
        LogFileSync "log file sync" ["buffer#", "sync scn", ""]
            "from asking for durability until told; includes scheduling, not only I/O";
    }
    Configuration {
        EnqSqContention "enq: SQ - contention" ["name|mode", "object #", "0"]
            "another session writes down that the sequence's next values are taken";
        EnqTxAllocateItl "enq: TX - allocate ITL entry"
            ["name|mode", "usn<<16 | slot", "sequence"]
            "every entry of the block's list of transactions has an active one";
        EnqHwContention "enq: HW - contention" ["name|mode", "table space #", "block"]
            "another session is making a data file grow";
        FreeBufferWaits "free buffer waits" ["file#", "block#", "set-id#"]
            "no clean buffer within the scan: the database writer is behind";
        LogBufferSpace "log buffer space" ["", "", ""]
            "a session outruns the redo writer";
        LogFileSwitchCheckpointIncomplete "log file switch (checkpoint incomplete)" ["", "", ""]
            "the next log is still needed for crash recovery";
        LogFileSwitchCompletion "log file switch completion" ["", "", ""]
            "a switch to the next log is under way";
        LatchRedoCopy "latch: redo copy" ["latch id", "number", "tries"]
            "a latch that guards copying into the log buffer is taken";
        LatchRedoAllocation "latch: redo allocation" ["latch id", "number", "tries"]
            "the latch under which redo addresses are given out is taken";
    }
    Concurrency {
        BufferBusyWaits "buffer busy waits" ["file#", "block#", "class#"]
            "another session holds the buffer in a mode that doesn't go with ours";
        LatchCacheBuffersChains "latch: cache buffers chains" ["latch id", "number", "tries"]
            "the latch of a hash chain is taken: a hot block";
        RowCacheLock "row cache lock" ["name|mode", "object #", "0"]
            "another session changes the dictionary, or the definition that is asked for";
    }
    Application {
        EnqTxRowLock "enq: TX - row lock contention" ["name|mode", "usn<<16 | slot", "sequence"]
            "another transaction has locked the row";
        EnqTmContention "enq: TM - contention" ["name|mode", "object #", "table/partition"]
            "another transaction has the table in a mode that doesn't go with ours, or was first";
        EnqKoFastObjectCheckpoint "enq: KO - fast object checkpoint" ["name|mode", "2", "0"]
            "a direct path read waits for the dirty blocks of its segment";
    }
    Idle {
        RdbmsIpcMessage "rdbms ipc message" ["timeout", "", ""]
            "a background process has nothing to do";
        IoSlaveWait "i/o slave wait" ["msg ptr", "", ""]
            "an I/O slave has no request";
        PmonTimer "pmon timer" ["duration", "", ""]
            "the process monitor waits before it looks for sessions that have vanished";
        PlSqlLockTimer "PL/SQL lock timer" ["duration", "", ""]
            "a session sleeps because it was asked to";
        SqlNetMessageFromClient "SQL*Net message from client" ["driver id", "#bytes", ""]
            "a session waits for its client: for a statement, for data, or until rows are taken";
    }
    Other {
        LatchCacheBuffersLruChain "latch: cache buffers lru chain" ["latch id", "number", "tries"]
            "the latch of a working set is taken";
        LatchEnqueueHashChains "latch: enqueue hash chains" ["latch id", "number", "tries"]
            "the latch under which locks are waited for is taken";
        LatchFree "latch free" ["latch id", "number", "tries"]
            "a latch that has no event of its own is taken";
        RdbmsIpcReply "rdbms ipc reply" ["from_process", "timeout", ""]
            "a session waits for the answer of a background process";
        EnqCfContention "enq: CF - contention" ["name|mode", "0", "operation"]
            "another thread is writing the control file";
        EnqPrContention "enq: PR - contention" ["name|mode", "0", "0"]
            "another session is changing how the instance runs: its processes, its parameters";
        EnqTtContention "enq: TT - contention" ["name|mode", "tablespace ID", "operation"]
            "another session is making a tablespace, or adding a data file to one";
        EnqUsContention "enq: US - contention" ["name|mode", "undo segment #", "0"]
            "another session is making an undo segment";
        OsThreadCreation "os thread creation" ["", "", ""]
            "a thread is being created";
        ThreadBootstrap "oracle thread bootstrap" ["", "", ""]
            "a new thread sets itself up";
        ProcessExit "process exit" ["thread", "", ""]
            "waiting for a thread to end";
    }
}

impl WaitEvent {
    /// The number of events.
    pub const COUNT: usize = WaitEvent::ALL.len();

    /// The name in views, traces and reports.
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// The class.
    pub const fn class(self) -> WaitClass {
        self.info().class
    }

    /// Whether a session in this wait has nothing to do.
    pub fn is_idle(self) -> bool {
        self.class() == WaitClass::Idle
    }

    /// The event called `name`, as a trace file or a user writes it.
    pub fn from_name(name: &str) -> Option<WaitEvent> {
        WaitEvent::ALL.iter().copied().find(|event| event.name() == name)
    }

    pub(crate) fn from_index(index: usize) -> Option<WaitEvent> {
        WaitEvent::ALL.get(index).copied()
    }
}

impl fmt::Display for WaitEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

const _: () = assert!(WaitEvent::COUNT < u8::MAX as usize, "an event's number fits one byte");

#[cfg(test)]
mod tests {
    use super::*;

    /// A name names one event, so a trace line can be read back.
    #[test]
    fn every_name_leads_back_to_its_event() {
        for (index, event) in WaitEvent::ALL.iter().enumerate() {
            assert_eq!(WaitEvent::from_name(event.name()), Some(*event));
            assert_eq!(WaitEvent::from_index(index), Some(*event));
            assert_eq!(*event as usize, index);
        }
        assert_eq!(WaitEvent::from_name("no such event"), None);
    }

    /// A reader of a view finds names that mean something, and a sentence for each.
    #[test]
    fn every_event_says_when_a_session_is_in_it() {
        for event in WaitEvent::ALL {
            assert!(event.info().meaning.len() > 15, "{event}");
            assert!(!event.info().meaning.ends_with('.'), "{event}");
        }
    }
}
