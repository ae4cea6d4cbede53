//! Files of rows: what is in them goes on, whatever ended the program that wrote them.

use crate::folder::Folder;

/// Days of short blocks make files that are larger than memory may be.
#[test]
fn a_large_file_is_not_refused_for_its_size() {
    let folder = Folder::new("rows-large");
    let file = std::fs::File::create(folder.0.join("rows")).expect("made");
    // All of it a hole, so it is no file of rows either.
    file.set_len((1 << 30) + 1).expect("sparse");
    let refused = folder.misused(&["lab", "report", "rows"]);
    assert!(refused.contains("a line is over 16 MiB"), "{refused}");
}
