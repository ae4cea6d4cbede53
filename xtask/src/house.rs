//! The one table of floors and rooms: which crate stands where, and what it may do.
//!
//! `tidy` refuses every arrow and every folder that this table doesn't allow, and `docs` prints it
//! into `docs/ARCHITECTURE.md`. A new crate is one line here.
//!
//! Callers: `tidy::layers`, `tidy::unsafety`, `tidy::banned`, `docs`.

/// A floor of the house: a folder of crates that serve one purpose.
pub(crate) struct Floor {
    /// The name, which is its folder's name in `crates/`; the last floor's rooms lie in the root.
    pub(crate) name: &'static str,
    /// What it is for, in one sentence.
    pub(crate) meaning: &'static str,
    /// Its rooms, lowest level first. Rooms of one level don't know each other.
    pub(crate) levels: &'static [&'static [Room]],
}

/// One crate of the workspace.
#[derive(PartialEq)]
pub(crate) struct Room {
    /// The crate's name, which is its folder's name.
    pub(crate) name: &'static str,
    /// What it is, in one sentence.
    pub(crate) meaning: &'static str,
    /// Whether it may contain `unsafe`.
    pub(crate) holds_unsafe: bool,
    /// Whether it may call the real world's clock, threads, files and locks directly.
    pub(crate) opens_world: bool,
    /// Whether the tests of every crate may use it, also those of crates below it.
    pub(crate) serves_tests: bool,
}

impl Room {
    const fn new(name: &'static str, meaning: &'static str) -> Room {
        let (holds_unsafe, opens_world, serves_tests) = (false, false, false);
        Room { name, meaning, holds_unsafe, opens_world, serves_tests }
    }

    const fn with_unsafe(self) -> Room {
        Room { holds_unsafe: true, ..self }
    }

    const fn in_the_world(self) -> Room {
        Room { opens_world: true, ..self }
    }

    const fn for_all_tests(self) -> Room {
        Room { serves_tests: true, ..self }
    }
}

/// All floors, lowest first.
pub(crate) const HOUSE: &[Floor] = &[
    Floor {
        name: "ground",
        meaning: "words, bytes and the door to the world; knows no database",
        levels: &[
            &[Room::new(
                "ids",
                "the numbers that name things (SCN, RBA, DBA, file, block), their order and \
                 arithmetic",
            )],
            &[
                Room::new("format", "every byte on disk: layouts, checksums, versions; no I/O"),
                Room::new(
                    "value",
                    "types, values, a row's bytes, and keys whose bytes compare as the values do",
                ),
                Room::new(
                    "waits",
                    "the one list of wait events and statistics; the accounting of time",
                ),
            ],
            &[Room::new(
                "os",
                "the one door to the world: disks, clock, threads, blocking, priorities, CPU \
                 accounting",
            )
            .with_unsafe()
            .in_the_world()],
            &[
                Room::new(
                    "latch",
                    "latches with ranks, and the cells and frames that they protect",
                )
                .with_unsafe(),
                Room::new(
                    "sim",
                    "the simulated world behind the same door: scheduler, virtual clock, CPUs, \
                     disks, faults",
                )
                .in_the_world()
                .for_all_tests(),
            ],
            &[Room::new(
                "stop",
                "the three failures: refusal, halt, panic; the latch that halts an instance",
            )],
        ],
    },
    Floor {
        name: "storage",
        meaning: "blocks that survive: the cache, the redo, the files; knows no rows",
        levels: &[
            &[
                Room::new(
                    "redo",
                    "log buffer, log writer, group commit, online log groups, reading back",
                ),
                Room::new(
                    "cache",
                    "buffer cache: chains, working sets, checkpoint queue, database writers",
                ),
                Room::new(
                    "sort",
                    "sorts of any size, within a bound of memory, by runs in a temporary file",
                ),
            ],
            &[Room::new(
                "change",
                "atomic groups: the only writer of block bytes, forward and in recovery",
            )],
            &[Room::new("space", "control file, data file, extents, segments")],
            &[Room::new("recovery", "torn blocks, and the redo done again")],
        ],
    },
    Floor {
        name: "transactions",
        meaning: "rows, indexes, and who may see and change them when",
        levels: &[
            &[Room::new(
                "txn",
                "begin, commit, roll back: undo, interested transactions, locks, snapshots",
            )],
            &[Room::new("access", "tables: heap blocks and their rows; indexes: B-trees")],
        ],
    },
    Floor {
        name: "database",
        meaning: "what a user opens: tables with types, names and constraints, in an instance",
        levels: &[
            &[
                Room::new(
                    "relation",
                    "typed tables: rows with their indexes and constraints kept together",
                ),
                Room::new("instance", "create, open, shut; the background threads; parameters"),
                Room::new(
                    "expression",
                    "SQL's expressions over rows: kinds, functions, three-valued logic, aggregates",
                ),
                Room::new("syntax", "from the text of SQL to statements; knows no tables"),
            ],
            &[
                Room::new(
                    "catalog",
                    "the data dictionary: definitions in tables of its own, DDL, sequences",
                ),
                Room::new(
                    "rowsource",
                    "what makes rows of rows: filters, sorts, joins, groups; spills within a bound",
                ),
            ],
            &[
                Room::new("sql", "statements: bound to the dictionary, planned, and run"),
                Room::new(
                    "views",
                    "the instance and its dictionary as rows: v$ views, dba_ views, pg_catalog",
                ),
            ],
            &[
                Room::new(
                    "database",
                    "the embedded API: a database in a directory, used from within this process",
                ),
                Room::new("verify", "the check of a whole database, shut or open"),
            ],
        ],
    },
    Floor {
        name: "instruments",
        meaning: "what reads the wait interface and says where time went",
        levels: &[
            &[Room::new(
                "report",
                "the time profile of sessions; tables, figures and paragraphs in 80 columns",
            )],
            &[Room::new("page", "one HTML file from figures: charts, tables, text; opens offline")],
        ],
    },
    Floor {
        name: "lab",
        meaning: "loads, experiments on them, and what may be concluded",
        levels: &[
            &[
                Room::new(
                    "stats",
                    "pure statistics: intervals, comparisons, fits; for races and the lab",
                ),
                Room::new(
                    "workload",
                    "load generators: debit-credit with mass updates, order entry; their audits",
                ),
            ],
            &[Room::new(
                "experiment",
                "plans of runs, how they are carried out, the row of each run, the verdict on all",
            )],
            &[Room::new("lab", "the built-in experiments, on this machine or on a model of one")],
        ],
    },
    Floor {
        name: "proof",
        meaning: "what the engine is held against; only for tests",
        levels: &[
            &[Room::new(
                "testbed",
                "what the tests of several rooms share: dice, machines, folders",
            )
            .in_the_world()
            .for_all_tests()],
            &[
                Room::new("proof", "crash sweep, isolation, a model, I/O errors, histories")
                    .in_the_world(),
                Room::new(
                    "statements",
                    "what SQL answers, against files, SQLite, PostgreSQL and itself",
                )
                .in_the_world(),
                Room::new("fuzz", "statements that nobody would write, against the front door")
                    .in_the_world(),
            ],
        ],
    },
    Floor {
        name: "binaries",
        meaning: "the programs that users run",
        levels: &[&[Room::new(
            "forebay",
            "the lean binary: loads, the lab, a shell, and what a DBA does with a database's files",
        )]],
    },
    Floor {
        name: "tools",
        meaning: "the programs that developers run; in the root, beside `crates/`",
        levels: &[
            &[Room::new("xtask", "keeps the house: tidy, docs, test; compiles without the engine")
                .in_the_world()],
            &[Room::new(
                "bench",
                "races against others, kills, soaks, calibration: what runs the engine for us",
            )
            .in_the_world()],
        ],
    },
];

/// Where a room stands: the index of its floor, and that of its level there.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
pub(crate) struct Place {
    floor: usize,
    level: usize,
}

/// All rooms, lowest first, with where they stand.
pub(crate) fn rooms() -> impl Iterator<Item = (Place, &'static Room)> {
    HOUSE.iter().enumerate().flat_map(|(floor, of)| {
        of.levels.iter().enumerate().flat_map(move |(level, rooms)| {
            rooms.iter().map(move |room| (Place { floor, level }, room))
        })
    })
}

/// The room of that name and where it stands, if the table has it.
pub(crate) fn room(name: &str) -> Option<(Place, &'static Room)> {
    rooms().find(|(_, room)| room.name == name)
}

/// The folder in which a room lies, from the workspace root.
pub(crate) fn folder(place: Place, room: &Room) -> String {
    match HOUSE[place.floor].name {
        "tools" => room.name.to_string(),
        floor => format!("crates/{floor}/{}", room.name),
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "floor {}, level {}", HOUSE[self.floor].name, self.level)
    }
}

/// The table as `docs/ARCHITECTURE.md` shows it, highest room first.
pub(crate) fn markdown() -> String {
    let mut text = String::new();
    for floor in HOUSE.iter().rev() {
        text += &format!("\n**{}**: {}\n\n", floor.name, floor.meaning);
        text += "| level | room | what it is | may |\n|---:|---|---|---|\n";
        for (level, rooms) in floor.levels.iter().enumerate().rev() {
            for room in *rooms {
                let may = [
                    (room.holds_unsafe, "hold `unsafe`"),
                    (room.opens_world, "touch the real world"),
                    (room.serves_tests, "serve every crate's tests"),
                ];
                let may: Vec<&str> = may.iter().filter(|may| may.0).map(|may| may.1).collect();
                let may = may.join(", ");
                text += &format!("| {level} | `{}` | {} | {may} |\n", room.name, room.meaning);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_each_room_once_and_only_two_hold_unsafe() {
        let mut names: Vec<&str> = rooms().map(|(_, room)| room.name).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        let held: Vec<&str> =
            rooms().filter(|(_, r)| r.holds_unsafe).map(|(_, r)| r.name).collect();
        assert_eq!(held, ["os", "latch"]);
    }

    #[test]
    fn the_table_in_the_documents_has_every_room() {
        let text = markdown();
        for (_, room) in rooms() {
            assert!(text.contains(&format!("| `{}` | {} |", room.name, room.meaning)));
        }
    }
}
