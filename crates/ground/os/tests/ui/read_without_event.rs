//! O1: a read names the session and the event.
use os::File;

fn unnamed(file: &File, buffer: &mut [u8]) {
    let _ = file.read_at(0, buffer);
}

fn main() {}
