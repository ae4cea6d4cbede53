//! The one table of rooms: which crate stands how high, and what it may do.
//!
//! `tidy` refuses every arrow that this table doesn't allow, and `docs` prints it into
//! `docs/ARCHITECTURE.md`. A new crate is one line here. Equal ranks don't know each other.
//!
//! Callers: `tidy::layers`, `tidy::unsafety`, `tidy::banned`, `docs`.

/// One crate of the workspace.
pub(crate) struct Room {
    /// The crate's name, which is its folder's name.
    pub(crate) name: &'static str,
    /// A crate may depend only on crates of a lower rank.
    pub(crate) rank: u32,
    /// Whether it may contain `unsafe`.
    pub(crate) holds_unsafe: bool,
    /// Whether it may call the real world's clock, threads, files and locks directly.
    pub(crate) opens_world: bool,
    /// Whether the tests of every crate may use it, also those of crates below it.
    pub(crate) serves_tests: bool,
    /// What it is, in one sentence.
    pub(crate) meaning: &'static str,
}

const PLAIN: Room = Room {
    name: "",
    rank: 0,
    holds_unsafe: false,
    opens_world: false,
    serves_tests: false,
    meaning: "",
};

/// All rooms, lowest first.
pub(crate) const HOUSE: &[Room] = &[
    Room {
        name: "ids",
        rank: 0,
        meaning: "the numbers that name things (SCN, RBA, DBA, file, block), their order and \
                  arithmetic",
        ..PLAIN
    },
    Room { name: "stats", rank: 0, meaning: "pure statistics, for races and the lab", ..PLAIN },
    Room {
        name: "format",
        rank: 1,
        meaning: "every byte on disk: layouts, checksums, versions; no I/O",
        ..PLAIN
    },
    Room {
        name: "value",
        rank: 1,
        meaning: "types, values, a row's bytes, and keys whose bytes compare as the values do",
        ..PLAIN
    },
    Room {
        name: "waits",
        rank: 1,
        meaning: "the one list of wait events and statistics; the accounting of time",
        ..PLAIN
    },
    Room {
        name: "os",
        rank: 2,
        holds_unsafe: true,
        opens_world: true,
        meaning: "the one door to the world: disks, clock, threads, blocking, priorities, CPU \
                  accounting",
        ..PLAIN
    },
    Room {
        name: "latch",
        rank: 3,
        holds_unsafe: true,
        meaning: "latches with ranks, and the cells and frames that they protect",
        ..PLAIN
    },
    Room {
        name: "sim",
        rank: 3,
        opens_world: true,
        serves_tests: true,
        meaning: "the simulated world behind the same door: scheduler, virtual clock, CPUs, \
                  disks, faults",
        ..PLAIN
    },
    Room {
        name: "stop",
        rank: 4,
        meaning: "the three failures: refusal, halt, crash; the latch that halts an instance",
        ..PLAIN
    },
    Room {
        name: "redo",
        rank: 5,
        meaning: "log buffer, log writer, group commit, online log groups, reading back",
        ..PLAIN
    },
    Room {
        name: "cache",
        rank: 5,
        meaning: "buffer cache: chains, working sets, checkpoint queue, database writers",
        ..PLAIN
    },
    Room {
        name: "change",
        rank: 6,
        meaning: "atomic groups: the only writer of block bytes, forward and in recovery",
        ..PLAIN
    },
    Room { name: "space", rank: 7, meaning: "control file, data file, extents, segments", ..PLAIN },
    Room {
        name: "sort",
        rank: 7,
        meaning: "sorts of any size, within a bound of memory, by runs in a temporary file",
        ..PLAIN
    },
    Room {
        name: "block",
        rank: 2,
        meaning: "what blocks of tables and indexes have in common: interested transactions, slots",
        ..PLAIN
    },
    Room { name: "undo", rank: 8, meaning: "undo segments, transaction tables", ..PLAIN },
    Room { name: "txn", rank: 9, meaning: "begin, commit, roll back; row locks", ..PLAIN },
    Room {
        name: "access",
        rank: 10,
        meaning: "tables: heap blocks and their rows; indexes: B-trees",
        ..PLAIN
    },
    Room {
        name: "relation",
        rank: 11,
        meaning: "typed tables: rows with their indexes and constraints kept together",
        ..PLAIN
    },
    Room {
        name: "catalog",
        rank: 12,
        meaning: "the data dictionary: definitions in tables of its own, DDL, sequences",
        ..PLAIN
    },
    Room { name: "recovery", rank: 11, meaning: "torn blocks, roll forward, roll back", ..PLAIN },
    Room {
        name: "instance",
        rank: 12,
        meaning: "create, open, shut; the background threads; parameters",
        ..PLAIN
    },
    Room {
        name: "database",
        rank: 13,
        meaning: "the embedded API: a database in a directory, used from within this process",
        ..PLAIN
    },
    Room {
        name: "verify",
        rank: 13,
        meaning: "the check of a whole database, shut or open",
        ..PLAIN
    },
    Room {
        name: "proof",
        rank: 17,
        opens_world: true,
        meaning: "what the engine is held against: crash sweep, isolation, a model; only for tests",
        ..PLAIN
    },
    Room {
        name: "experiment",
        rank: 14,
        meaning: "plans of runs, their order, how they are carried out; the row of each run",
        ..PLAIN
    },
    Room {
        name: "workload",
        rank: 15,
        meaning: "load generators: debit-credit with mass updates, and its audit",
        ..PLAIN
    },
    Room { name: "verdict", rank: 15, meaning: "rows of runs -> text and JSON", ..PLAIN },
    Room {
        name: "lab",
        rank: 16,
        meaning: "the built-in experiments, on this machine or on a model of one",
        ..PLAIN
    },
    Room {
        name: "rivals",
        rank: 18,
        opens_world: true,
        meaning: "adapters to the programs that we race against; the only crate that touches them",
        ..PLAIN
    },
    Room {
        name: "forebay",
        rank: 20,
        meaning: "the lean binary: loads, the lab, and what a DBA does with a database's files",
        ..PLAIN
    },
    Room {
        name: "xtask",
        rank: 20,
        opens_world: true,
        meaning: "the house's own tools: tidy, docs, tests",
        ..PLAIN
    },
];

/// The room of that name, if the table has it.
pub(crate) fn room(name: &str) -> Option<&'static Room> {
    HOUSE.iter().find(|room| room.name == name)
}

/// The table as `docs/ARCHITECTURE.md` shows it, highest room first.
pub(crate) fn markdown() -> String {
    let mut text = String::from("| rank | room | what it is | may |\n|---:|---|---|---|\n");
    let mut rooms: Vec<&Room> = HOUSE.iter().collect();
    rooms.sort_by_key(|room| (std::cmp::Reverse(room.rank), room.name));
    for room in rooms {
        let may = [
            (room.holds_unsafe, "hold `unsafe`"),
            (room.opens_world, "touch the real world"),
            (room.serves_tests, "serve every crate's tests"),
        ];
        let may: Vec<&str> = may.iter().filter(|(is, _)| *is).map(|(_, what)| *what).collect();
        let may = may.join(", ");
        text += &format!("| {} | `{}` | {} | {may} |\n", room.rank, room.name, room.meaning);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_each_room_once_and_only_two_hold_unsafe() {
        let mut names: Vec<&str> = HOUSE.iter().map(|room| room.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), HOUSE.len());
        let held: Vec<&str> = HOUSE.iter().filter(|r| r.holds_unsafe).map(|r| r.name).collect();
        assert_eq!(held, ["os", "latch"]);
    }

    #[test]
    fn the_table_in_the_documents_has_every_room_with_its_rank() {
        let text = markdown();
        for room in HOUSE {
            assert!(text.contains(&format!("| {} | `{}` |", room.rank, room.name)));
        }
    }
}
