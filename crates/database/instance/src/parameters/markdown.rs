//! `docs/PARAMETERS.md`, generated from the declarations.

use std::fmt::Write;

use super::{Creation, ParameterInfo, Parameters};

/// The reference of parameters, as Markdown.
pub fn markdown() -> String {
    let mut out = String::from(
        "# Parameters\n\n\
         Generated from `crates/database/instance/src/parameters/mod.rs` by \
         `cargo xtask docs`. Don't \
         edit.\n\n\
         A number of bytes may be written with a unit: `67108864`, `64m`, `64mb` and `64 MiB` are \
         the same.\n\n\
         A range is that of the parameter by itself. Other parameters, and the machine's memory, \
         may leave less\nof it: the meaning says so, and a refusal says what is left.\n",
    );
    table(&mut out, "When an instance opens a database", &Parameters::list());
    table(&mut out, "When a database is created", &Creation::list());
    out
}

fn table(out: &mut String, title: &str, list: &[ParameterInfo]) {
    let head = "| parameter | default | allowed | unit | changed | decides |\n\
                |---|---|---|---|---|---|\n";
    let mut write = |text: String| out.push_str(&text);
    write(format!("\n## {title}\n\n{head}"));
    for info in list {
        let (name, default, allowed) = (info.name, &info.default, info.allowed());
        let mut line = String::new();
        let (unit, when, meaning) = (info.unit, info.changeable.name(), info.meaning);
        writeln!(line, "| `{name}` | {default} | {allowed} | {unit} | {when} | {meaning} |")
            .expect("writing to a string can't fail");
        write(line);
    }
}
