//! The one declared list of costs that are charged as CPU in a simulated world.
//!
//! On Linux an operation simply takes its CPU time. In the simulator real code runs in no time at
//! all and *charges* for the work that it stands for (rule S9). Here is the list of costs; the
//! numbers are in files, measured on a real machine by `cargo xbench calibrate`.

/// The declaration of one cost.
#[derive(Clone, Copy, Debug)]
pub struct CostInfo {
    /// The name in a cost file.
    pub name: &'static str,
    /// The meaning of one unit.
    pub unit: &'static str,
    /// The work that it stands for.
    pub meaning: &'static str,
}

macro_rules! costs {
    ($($cost:ident $name:literal ($unit:literal) $meaning:literal;)*) => {
        /// Something that costs CPU.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum Cost {
            $(#[doc = concat!("`", $name, "`, per ", $unit, ": ", $meaning)] $cost,)*
        }

        impl Cost {
            /// Every cost, in the order of the list.
            pub const ALL: &'static [Cost] = &[$(Cost::$cost,)*];

            /// The declaration of this cost.
            pub const fn info(self) -> &'static CostInfo {
                const INFO: &[CostInfo] = &[$(CostInfo {
                    name: $name,
                    unit: $unit,
                    meaning: $meaning,
                },)*];
                &INFO[self as usize]
            }
        }
    };
}

costs! {
    LatchGet "latch_get" ("get")
        "a latch is taken at the first try and let go";
    Relax "relax" ("turn")
        "one turn of a spin";
    Park "park" ("wait")
        "a thread goes to sleep on a word and comes back: the system calls, without the change of \
         thread, which is the machine's";
    Wake "wake" ("wake")
        "a sleeping thread is woken: the system call, without what starting an idle CPU adds";
    IoSync "io_sync" ("request")
        "one read, write or sync by a blocking system call";
    IoSubmit "io_submit" ("request")
        "one request handed to a ring, its share of the system call included";
    IoReap "io_reap" ("completion")
        "one completion taken from a ring";
    ThreadSpawn "thread_spawn" ("thread")
        "a thread is made";
    ChecksumKib "checksum_kib" ("KiB")
        "CRC32C over one KiB";
    CopyKib "copy_kib" ("KiB")
        "one KiB copied from cache to cache";
    BufferGet "buffer_get" ("get")
        "a resident block is found, pinned and let go, beyond its latch gets";
    RowRead "row_read" ("row")
        "a row is read, beyond the get of its block";
    RowChange "row_change" ("row")
        "a row is inserted or updated, with its redo and undo, beyond gets, latches and copies";
    RowChangeMore "row_change_more" ("row")
        "a further row of a block is updated by the same change, with its redo and undo";
    Transaction "transaction" ("commit")
        "a transaction that has changed something begins and commits, beyond its rows, its waits \
         and the checksum of its redo";
    Statement "statement" ("run")
        "a prepared SQL statement about rows runs, beyond its row sources and what it reads and \
         changes";
    StatementMade "statement_made" ("statement")
        "a text of SQL is parsed, bound and planned, beyond its length";
    StatementByte "statement_byte" ("byte")
        "a byte of a text of SQL that is parsed, bound and planned";
    SourceStart "source_start" ("start")
        "a row source of a plan is started and ended";
    RowPassed "row_passed" ("row")
        "a row source gives a row to the next one, or to the client";
}

impl Cost {
    /// The number of costs.
    pub const COUNT: usize = Cost::ALL.len();

    /// The cost called `name` in a cost file.
    pub fn from_name(name: &str) -> Option<Cost> {
        Cost::ALL.iter().copied().find(|cost| cost.info().name == name)
    }
}
