//! Writes the golden databases of the newest format anew, that of the first version of the
//! dictionary and that of the newest: for whoever has changed the format, or what is written in it.
//! When that may be done says `tests/golden.rs`.
#![forbid(unsafe_code)]
#![expect(clippy::disallowed_methods, reason = "it writes files, outside any simulation")]
#![expect(dead_code, reason = "the test uses the rest")]

#[path = "../tests/golden/made.rs"]
mod made;
#[path = "../tests/golden/packed.rs"]
mod packed;

use std::path::Path;

use catalog::DICTIONARY_VERSION;
use format::FORMAT;

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let of_texts = format!("format{FORMAT}.dictionary{DICTIONARY_VERSION}");
    for (name, (shut, crashed)) in
        [(format!("format{FORMAT}"), made::databases()), (of_texts, made::databases_of_texts())]
    {
        for (kind, bytes) in [
            ("shut", packed::packed(&made::files_of(shut.clone()))),
            ("crashed", packed::packed(&made::files_of(crashed))),
            ("txt", made::text_of(shut).into_bytes()),
        ] {
            let path = folder.join(format!("{name}.{kind}"));
            println!("{}: {} bytes", path.display(), bytes.len());
            std::fs::write(path, bytes).expect("it can be written");
        }
    }
}
