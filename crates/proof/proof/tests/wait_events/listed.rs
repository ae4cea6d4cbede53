//! Every event that the source raises is provoked by a test: here, or where [`ELSEWHERE`] says.
#![expect(clippy::disallowed_methods, reason = "it reads the project's source")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use waits::WaitEvent;

/// Which test provokes an event that isn't provoked here.
const ELSEWHERE: [(&str, &str); 11] = [
    ("DbFileParallelRead", "cache/tests/multiblock.rs"),
    ("DbFileSingleWrite", "instance/tests/engine/headers.rs"),
    ("DirectPathRead", "cache/tests/direct.rs"),
    ("EnqKoFastObjectCheckpoint", "cache/tests/direct.rs"),
    ("EnqSqContention", "catalog/tests/catalog/sequences.rs"),
    ("EnqTmContention", "txn/tests/locks/endings.rs"),
    ("EnqTxAllocateItl", "txn/tests/locks/endings.rs"),
    ("LogBufferSpace", "redo/tests/redo/waits.rs"),
    ("LogFileSwitchCompletion", "redo/tests/redo/waits.rs"),
    ("LogFileSwitchCheckpointIncomplete", "redo/tests/redo/waits.rs"),
    ("RowCacheLock", "catalog/tests/catalog/concurrent.rs"),
];

/// Every event that some crate raises is provoked by a test.
#[test]
fn every_event_that_is_raised_is_provoked() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crates");
    let mut raised = BTreeMap::new();
    let engine = [
        "os", "latch", "cache", "redo", "change", "space", "undo", "txn", "access", "recovery",
        "instance", "catalog",
    ];
    for room in engine {
        collect(&crates.join(room).join("src"), &mut raised);
    }
    let known: BTreeSet<String> = WaitEvent::ALL.iter().map(|event| format!("{event:?}")).collect();
    raised.retain(|event, _| known.contains(event));
    assert!(raised.len() > 20, "the source isn't read as it is written now: {raised:?}");
    let here: String = ["main", "processes", "latches"]
        .map(|file| {
            let path = crates.join("proof/tests/wait_events").join(file).with_extension("rs");
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
