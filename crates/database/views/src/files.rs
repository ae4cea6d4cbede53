//! Redo logs, data files and tablespaces.

use instance::{LogStatus, LogView};
use os::{FileTotals, IoTotals};
use space::{DataFileSeen, TablespaceContent, TablespaceNo, UNDO_TABLESPACE};
use stop::Stop;
use value::Value;

use crate::Engine;
use crate::cells::{centiseconds, count, length, text_or_null, yes_no};
use crate::view::{Give, View, ViewColumn, int, text};

pub(crate) const VIEWS: &[View] = &[
    View::new(
        "v$log",
        "one row for each group of online redo logs",
        &[
            int("group#", "its number"),
            int("thread#", "1: an instance has one thread of redo"),
            int("sequence#", "the log that it holds; 0 if it holds none yet"),
            int("bytes", "the size of each member"),
            int("blocksize", "the size of a redo block"),
            int("members", "the number of its members"),
            text("archived", "NO: logs aren't archived"),
            text("status", "CURRENT: it is written; ACTIVE: recovery needs it; INACTIVE; UNUSED"),
        ],
        logs,
    ),
    View::new(
        "v$logfile",
        "one row for each member of a group of online redo logs",
        &[
            int("group#", "its group"),
            text("status", "INVALID: it may lack redo, and isn't used; NULL: it is good"),
            text("type", "ONLINE"),
            text("member", "its path"),
            text("is_recovery_dest_file", "NO"),
        ],
        members,
    ),
    View::new(
        "v$datafile",
        "one row for each data file",
        &[
            int("file#", "its number"),
            int("ts#", "its tablespace"),
            int("rfile#", "its number again"),
            text("status", "SYSTEM: it is of the system tablespace; else ONLINE"),
            text("enabled", "READ WRITE"),
            int("bytes", "its size"),
            int("blocks", "its blocks"),
            int("block_size", "the bytes of a block"),
            text("name", "its path"),
        ],
        data_files,
    ),
    View::new(
        "v$tablespace",
        "one row for each tablespace",
        &[
            int("ts#", "its number"),
            text("name", "its name"),
            text("bigfile", "NO: it may have several files"),
        ],
        tablespaces,
    ),
    View::new(
        "v$filestat",
        "one row for each data file: what was read from it and written to it since it was opened",
        &[
            int("file#", "its number"),
            int("phyrds", "reads, whatever their size"),
            int("phywrts", "writes, whatever their size"),
            int("phyblkrd", "blocks that were read"),
            int("phyblkwrt", "blocks that were written"),
            int("timed_rds", "of the reads, those that a session has waited for one at a time"),
            int("readtim", "centiseconds of these"),
            int("readtim_micro", "microseconds of these"),
            int("timed_wrts", "of the writes, those that a process has waited for one at a time"),
            int("writetim", "centiseconds of these"),
            int("writetim_micro", "microseconds of these"),
        ],
        file_statistics,
    ),
    View::new(
        "dba_data_files",
        "one row for each data file",
        &[
            text("file_name", "its path"),
            int("file_id", "its number"),
            text("tablespace_name", "its tablespace"),
            int("bytes", "its size"),
            int("blocks", "its blocks"),
            text("status", "AVAILABLE"),
            int("relative_fno", "its number again"),
            text("autoextensible", "YES: it grows when it is full; else NO"),
            int("maxbytes", "the largest size to which it grows"),
            int("maxblocks", "the blocks of that"),
            int("increment_by", "the blocks by which it grows"),
            text("online_status", "SYSTEM: it is of the system tablespace; else ONLINE"),
        ],
        dba_data_files,
    ),
    View::new("dba_tablespaces", TABLESPACES, TABLESPACE_COLUMNS, dba_tablespaces),
    View::new("user_tablespaces", TABLESPACES, TABLESPACE_COLUMNS, dba_tablespaces),
];

const TABLESPACES: &str = "one row for each tablespace, with how its segments get extents";

const TABLESPACE_COLUMNS: &[ViewColumn] = &[
    text("tablespace_name", "its name"),
    int("block_size", "the bytes of a block"),
    int("initial_extent", "the bytes of a segment's first extent"),
    int("next_extent", "the bytes of each further one"),
    text("status", "ONLINE"),
    text("contents", "UNDO, or PERMANENT"),
    text("extent_management", "LOCAL: each file has a map of its extents"),
    text("allocation_type", "UNIFORM: all extents have one size"),
    text("segment_space_management", "AUTO: a table has maps of its blocks' free space"),
];

/// The word for a log's status.
fn status(of: LogStatus) -> &'static str {
    match of {
        LogStatus::Current => "CURRENT",
        LogStatus::Active => "ACTIVE",
        LogStatus::Inactive => "INACTIVE",
        LogStatus::Unused => "UNUSED",
        LogStatus::Unknown => "UNKNOWN",
    }
}

fn logs(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    engine.instance.log_groups(engine.session).iter().try_for_each(|one| {
        let LogView { number, blocks, sequence, status: of, members } = one;
        let block = format::REDO_BLOCK.bytes() as u64;
        give(&[
            count(*number),
            Value::Int(1),
            count(*sequence),
            count(u64::from(*blocks) * block),
            count(block),
            length(members.len()),
            yes_no(false),
            Value::Text(status(*of)),
        ])
    })
}

fn members(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    for group in engine.instance.log_groups(engine.session) {
        for (path, is_good) in &group.members {
            give(&[
                count(group.number),
                text_or_null((!is_good).then_some("INVALID")),
                Value::Text("ONLINE"),
                Value::Text(&path.display().to_string()),
                yes_no(false),
            ])?;
        }
    }
    Ok(())
}

/// Every data file with its tablespace.
fn files_of(engine: &Engine<'_>) -> Vec<(DataFileSeen, TablespaceContent)> {
    let space = engine.instance.space();
    let files = space.data_files(engine.session);
    // Read after the files, so that each one's tablespace is there.
    let tablespaces = space.tablespaces(engine.session);
    let with = |file: DataFileSeen| {
        let of = tablespaces.iter().find(|one| one.number == file.tablespace)?;
        Some((file, of.clone()))
    };
    files.into_iter().filter_map(with).collect()
}

fn online(tablespace: TablespaceNo) -> Value<'static> {
    Value::Text(if tablespace == TablespaceNo::SYSTEM { "SYSTEM" } else { "ONLINE" })
}

fn data_files(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    files_of(engine).iter().try_for_each(|(file, tablespace)| {
        let block = tablespace.block_size.bytes() as u64;
        give(&[
            count(file.number.get()),
            count(file.tablespace.0),
            count(file.number.get()),
            online(file.tablespace),
            Value::Text("READ WRITE"),
            count(u64::from(file.blocks) * block),
            count(file.blocks),
            count(block),
            Value::Text(&file.path.display().to_string()),
        ])
    })
}

fn tablespaces(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    engine
        .instance
        .space()
        .tablespaces(engine.session)
        .iter()
        .try_for_each(|one| give(&[count(one.number.0), Value::Text(&one.name), yes_no(false)]))
}

fn file_statistics(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    engine.instance.cache().data_files(engine.session).iter().try_for_each(|one| {
        let FileTotals { reads, writes } = one.file.totals();
        let blocks = |of: IoTotals| count(of.bytes / one.block_size.bytes() as u64);
        give(&[
            count(one.number.get()),
            count(reads.requests),
            count(writes.requests),
            blocks(reads),
            blocks(writes),
            count(reads.waited_for),
            centiseconds(reads.waited),
            count(reads.waited.as_micros()),
            count(writes.waited_for),
            centiseconds(writes.waited),
            count(writes.waited.as_micros()),
        ])
    })
}

fn dba_data_files(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    files_of(engine).iter().try_for_each(|(file, tablespace)| {
        let block = tablespace.block_size.bytes() as u64;
        give(&[
            Value::Text(&file.path.display().to_string()),
            count(file.number.get()),
            Value::Text(&tablespace.name),
            count(u64::from(file.blocks) * block),
            count(file.blocks),
            Value::Text("AVAILABLE"),
            count(file.number.get()),
            yes_no(file.growth_blocks > 0),
            count(u64::from(file.blocks_max) * block),
            count(file.blocks_max),
            count(file.growth_blocks),
            online(file.tablespace),
        ])
    })
}

fn dba_tablespaces(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    engine.instance.space().tablespaces(engine.session).iter().try_for_each(|one| {
        let extent = u64::from(one.extent_blocks) * one.block_size.bytes() as u64;
        give(&[
            Value::Text(&one.name),
            count(one.block_size.bytes() as u64),
            count(extent),
            count(extent),
            Value::Text("ONLINE"),
            Value::Text(if one.name == UNDO_TABLESPACE { "UNDO" } else { "PERMANENT" }),
            Value::Text("LOCAL"),
            Value::Text("UNIFORM"),
            Value::Text("AUTO"),
        ])
    })
}
