//! Every event that the source raises is provoked by a test: here, or where [`ELSEWHERE`] says.
#![expect(clippy::disallowed_methods, reason = "it reads the project's source")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use waits::WaitEvent;

/// Which test provokes an event that isn't provoked here.
const ELSEWHERE: [(&str, &str); 13] = [
    ("DbFileParallelRead", "storage/cache/tests/multiblock.rs"),
    ("DbFileSingleWrite", "database/instance/tests/engine/headers.rs"),
    ("DirectPathRead", "storage/cache/tests/direct.rs"),
    ("DirectPathReadTemp", "storage/sort/tests/order.rs"),
    ("DirectPathWriteTemp", "storage/sort/tests/order.rs"),
    ("EnqKoFastObjectCheckpoint", "storage/cache/tests/direct.rs"),
    ("EnqSqContention", "database/catalog/tests/catalog/sequences.rs"),
    ("EnqTmContention", "transactions/txn/tests/locks/endings.rs"),
    ("EnqTxAllocateItl", "transactions/txn/tests/locks/endings.rs"),
    ("LogBufferSpace", "storage/redo/tests/redo/waits.rs"),
    ("LogFileSwitchCompletion", "storage/redo/tests/redo/waits.rs"),
    ("LogFileSwitchCheckpointIncomplete", "storage/redo/tests/redo/waits.rs"),
    ("RowCacheLock", "database/catalog/tests/catalog/concurrent.rs"),
];

/// Every event that some crate raises is provoked by a test.
#[test]
fn every_event_that_is_raised_is_provoked() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the crates");
    let mut raised = BTreeMap::new();
    for floor in ["ground", "storage", "transactions", "database"] {
        for room in std::fs::read_dir(crates.join(floor)).expect("a floor").flatten() {
            // `waits` declares events and raises none; `sim` raises what `os` does.
            if !matches!(room.file_name().to_str(), Some("waits" | "sim")) {
                collect(&room.path().join("src"), &mut raised);
            }
        }
    }
    let known: BTreeSet<String> = WaitEvent::ALL.iter().map(|event| format!("{event:?}")).collect();
    raised.retain(|event, _| known.contains(event));
    assert!(raised.len() > 20, "the source isn't read as it is written now: {raised:?}");
    let here: String = ["main", "processes", "latches"]
        .map(|file| {
            let path = crates.join("proof/proof/tests/wait_events").join(file).with_extension("rs");
            std::fs::read_to_string(path).expect("read")
        })
        .concat();
    let mut missing = Vec::new();
    for (event, file) in &raised {
        let elsewhere = ELSEWHERE.iter().find(|(name, _)| name == event);
        let provoked = match elsewhere {
            Some((_, test)) => {
                let text = std::fs::read_to_string(crates.join(test)).expect("the test is there");
                text.contains(&format!("WaitEvent::{event}"))
            }
            None => here.contains(&format!("WaitEvent::{event}")),
        };
        if !provoked {
            missing.push(format!("{event}, raised in {file}"));
        }
    }
    assert_eq!(missing, [""; 0], "provoke them by a test, here or in a file that ELSEWHERE names");
}

/// Every `WaitEvent::Name` below a folder, with a file that has it.
fn collect(folder: &Path, raised: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).expect("a folder of the project") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, raised);
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("text");
        for part in text.split("WaitEvent::").skip(1) {
            let end = part.find(|c: char| !c.is_alphanumeric()).unwrap_or(part.len());
            raised.insert(part[..end].to_string(), path.display().to_string());
        }
    }
}
