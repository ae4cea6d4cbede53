//! Writes a page with every kind of chart: `cargo run -p page --example gallery -- FILE`.

#![expect(clippy::disallowed_methods, reason = "the example writes a file, which the room doesn't")]

mod figures;

fn main() -> std::io::Result<()> {
    let Some(file) = std::env::args().nth(1) else {
        eprintln!("say where to: cargo run -p page --example gallery -- gallery.html");
        std::process::exit(2);
    };
    std::fs::write(file, figures::page().html())
}
