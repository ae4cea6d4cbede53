//! Writes the golden database of the newest format anew: for whoever has changed the format, or
//! what is written in it. When that may be done says `tests/golden.rs`.
#![forbid(unsafe_code)]
#![expect(clippy::disallowed_methods, reason = "it writes files, outside any simulation")]
#![expect(dead_code, reason = "the test uses the rest")]

#[path = "../tests/golden/made.rs"]
mod made;
#[path = "../tests/golden/packed.rs"]
mod packed;

use std::path::Path;

use format::FORMAT;

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let (shut, crashed) = made::databases();
    for (kind, bytes) in [
        ("shut", packed::packed(&made::files_of(shut.clone()))),
        ("crashed", packed::packed(&made::files_of(crashed))),
        ("txt", made::text_of(shut).into_bytes()),
    ] {
        let path = folder.join(format!("format{FORMAT}.{kind}"));
        println!("{}: {} bytes", path.display(), bytes.len());
        std::fs::write(path, bytes).expect("it can be written");
    }
}
