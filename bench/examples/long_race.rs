//! A race that runs for minutes, for the test that kills it: prints its scratch folder, then runs
//! fio in it.
//!
//! `cargo run -p rivals --example long_race FOLDER`

use std::path::Path;
use std::time::Duration;

use bench::Scratch;
use bench::fio::{Fio, FioJob, Pattern};

const SIZE: u64 = 1 << 20;

fn main() {
    let folder = std::env::args().nth(1).expect("usage: long_race FOLDER");
    let scratch = Scratch::create(Path::new(&folder)).expect("it is writable");
    let files = scratch.lay_out(&["data"], SIZE).expect("there is room for 1 MB");
    let job = FioJob::new(files[0].clone(), SIZE, Pattern::RandRead, 4096);
    let job = FioJob { runtime: Duration::from_secs(300), ..job };
    println!("\nscratch {}", scratch.path().display());
    let fio = Fio::find().unwrap_or_else(|missing| panic!("{missing}"));
    fio.run(&job, &scratch).expect("it is killed before it can fail");
}
