//! Whether a session was refused because there is no more room for rows of the load (LB78).
//!
//! Room is also refused for undo, and by a cache that is too small for so many transactions. The
//! kind of these refusals is the same, so the message decides.
//!
//! Callers: `alternate`.

use std::path::Path;

use stop::{RefusalKind, Stop};

/// The tablespace of the load's tables.
const TABLESPACE: &str = " tablespace system ";
/// With this the names of its data files begin.
const DATA_FILE: &str = "data";

/// Whether the tablespace of the load's tables, or the disk for a file of it, is full.
pub(crate) fn is_full(refused: &Stop) -> bool {
    let text = refused.to_string();
    let lacks_extent = text.contains(" another extent: ") && text.contains(TABLESPACE);
    refused.refusal() == Some(RefusalKind::NoSpace) && (lacks_extent || lacks_disk(&text))
}

/// Whether a data file of the tablespace couldn't grow.
fn lacks_disk(text: &str) -> bool {
    let grows = text.strip_prefix("cannot make ").and_then(|text| text.split_once(" grow by "));
    let name = grows.and_then(|(path, _)| Path::new(path).file_name());
    name.is_some_and(|name| name.to_string_lossy().starts_with(DATA_FILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LB78: else a setting that can't carry the load gets a verdict.
    #[test]
    fn only_room_for_rows_of_the_load_is_such_room() {
        let disk = |file: &str| {
            let cause = os::Cause::NoSpace;
            let error = os::Error::new("write /undo/base", cause, "no space left on device");
            Stop::from(error.while_doing(format!("make /undo/base/{file} grow by 16777216 bytes")))
        };
        let refused = |text: &str| Stop::refuse(RefusalKind::NoSpace, text);
        let extent = |name: &str| {
            refused(&format!(
                "cannot give a segment another extent: tablespace {name} is full, and its data \
                 files have all the blocks that they may have"
            ))
        };
        let begin = "cannot begin a transaction: 102 are active, and the cache has no buffers for \
                     more; end transactions, or raise db_cache_size";
        let cases = [
            (extent("system"), true),
            (extent("undo"), false),
            (disk("data01.dbf"), true),
            (disk("data02.dbf"), true),
            (disk("undo01.dbf"), false),
            (refused(begin), false),
            (refused("cannot begin to read: 4096 snapshots are in use"), false),
            (Stop::refuse(RefusalKind::Io, extent("system").to_string()), false),
        ];
        for (stop, is_of_rows) in cases {
            assert_eq!(is_full(&stop), is_of_rows, "{stop}");
        }
    }
}
