//! Prints a page with every kind of chart: `cargo run -p page --example gallery > gallery.html`.

mod figures;

fn main() {
    print!("{}", figures::page().html());
}
