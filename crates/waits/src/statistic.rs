//! The one list of statistics: what is counted, apart from waits.
//!
//! Names follow `V$SYSSTAT` where they mean the same. A statistic is added with the code that
//! counts it.

use std::fmt;

/// What is declared of one statistic.
#[derive(Clone, Copy, Debug)]
pub struct StatisticInfo {
    /// The name in views and reports.
    pub name: &'static str,
    /// What one unit of it is.
    pub unit: &'static str,
    /// When it is raised: one sentence.
    pub meaning: &'static str,
}

macro_rules! statistics {
    ($($statistic:ident $name:literal ($unit:literal) $meaning:literal;)*) => {
        /// Something a session counts.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum Statistic {
            $(#[doc = concat!("`", $name, "` (", $unit, "): ", $meaning)] $statistic,)*
        }

        impl Statistic {
            /// Every statistic, in the order of the list.
            pub const ALL: &'static [Statistic] = &[$(Statistic::$statistic,)*];

            /// What is declared of this statistic.
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
}

impl Statistic {
    /// How many statistics there are.
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
