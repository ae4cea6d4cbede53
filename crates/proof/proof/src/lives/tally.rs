//! What came up in lives: a run in which something never happened proves nothing about it.

use std::fmt;
use std::ops::AddAssign;

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        /// How often each thing happened.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct LivesTally {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl LivesTally {
            /// What never happened.
            pub fn missing(&self) -> Vec<&'static str> {
                let all = [$((stringify!($name), self.$name)),*];
                all.into_iter().filter(|(_, count)| *count == 0).map(|(name, _)| name).collect()
            }
        }

        impl AddAssign for LivesTally {
            fn add_assign(&mut self, other: LivesTally) {
                $(self.$name += other.$name;)*
            }
        }

        impl fmt::Display for LivesTally {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                $(write!(f, "{} {}, ", self.$name, stringify!($name))?;)*
                f.write_str("and no breach")
            }
        }
    };
}

counts! {
    /// Databases made.
    created;
    /// Not made, for the directory wasn't empty or a file was there.
    uncreated_exists;
    /// Not made for want of room.
    uncreated_full;
    /// Not made, while another was at it in the same directory.
    rivals;
    /// Given up by who filled them.
    given_up;
    /// Openings.
    opened;
    /// Not opened, for the database was open, or was just opened by another.
    unopened;
    /// Not opened, for a copy of it that shares a file was open.
    unopened_twin;
    /// Not opened, for it may be a copy, and a file lies outside of its directory.
    unopened_copy;
    /// Openings of databases that may be damaged, which were refused.
    unopened_doubtful;
    /// Transactions that were committed.
    commits;
    /// Tablespaces made.
    tablespaces;
    /// Data files added.
    data_files;
    /// Redo log groups and members added.
    logs;
    /// Groups and members dropped.
    logs_dropped;
    /// Files not added, for there was one in the same place.
    refused_exists;
    /// Statements without room.
    refused_full;
    /// Refused otherwise.
    refused;
    /// Shut in good order.
    shutdowns;
    /// Not shut, for others were at work.
    shutdowns_refused;
    /// Killed.
    kills;
    /// Sessions that were told of a kill.
    halted;
    /// Copied byte for byte.
    copies;
    /// Of these, with files that the original has too.
    copies_sharing;
    /// Deleted file by file.
    deleted;
    /// Deleted with all that lay in the directory.
    cleared;
    /// Databases that lost files in that way.
    lost;
    /// Verified.
    verified;
    /// Power cuts.
    cuts;
    /// Machines on which all databases were killed.
    aborts;
    /// All databases were shut, opened again, looked at and verified.
    quiet;
}
