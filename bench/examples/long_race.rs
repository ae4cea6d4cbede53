//! A race that runs for minutes, for the test that kills it: prints its scratch folder, then runs
//! its rival in it.
//!
//! `cargo run -p bench --example long_race FOLDER fio`, or `postgres`

use std::path::Path;
use std::time::Duration;

use bench::Scratch;
use bench::fio::{Fio, FioJob, Pattern};
use bench::postgres::Server;

const SIZE: u64 = 1 << 20;
/// Sessions of PostgreSQL's, each with a statement that takes minutes.
const SESSIONS: usize = 3;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().expect("usage: long_race FOLDER RIVAL");
    let scratch = Scratch::create(Path::new(&folder)).expect("it is writable");
    match arguments.next().as_deref() {
        Some("postgres") => run_postgres(&scratch),
        _ => run_fio(&scratch),
    }
}

fn run_fio(scratch: &Scratch) {
    let files = scratch.lay_out(&["data"], SIZE).expect("there is room for 1 MB");
    let job = FioJob::new(files[0].clone(), SIZE, Pattern::RandRead, 4096);
    let job = FioJob { runtime: Duration::from_secs(300), ..job };
    println!("\nscratch {}", scratch.path().display());
    let fio = Fio::find().unwrap_or_else(|missing| panic!("{missing}"));
    fio.run(&job, scratch).expect("it is killed before it can fail");
}

#[expect(clippy::disallowed_methods, reason = "each session of PostgreSQL's has a thread")]
fn run_postgres(scratch: &Scratch) {
    let server = Server::start(scratch, &[]).unwrap_or_else(|missing| panic!("{missing}"));
    let mut clients: Vec<_> =
        (0..SESSIONS).map(|_| server.connect().expect("the server runs")).collect();
    println!("\nscratch {}", scratch.path().display());
    std::thread::scope(|scope| {
        for client in &mut clients {
            let statement = "SELECT count(*) FROM generate_series(1, 100000000000);";
            scope.spawn(move || client.run(statement));
        }
    });
}
