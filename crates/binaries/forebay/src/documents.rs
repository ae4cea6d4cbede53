//! The manual and the shells' completions, from the definitions of the command line.
//!
//! Callers: `main`.

use std::path::Path;

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;

use crate::output::{CommandResult, Failure};

/// Writes a page for the program and one for each command into this directory.
pub(crate) fn write_manual(command: Command, directory: &Path) -> CommandResult {
    let what = format!("write the manual's pages to {}", directory.display());
    let mut command = command.disable_help_subcommand(true);
    command.build();
    match write_pages(command, directory) {
        Ok(()) => {
            Ok(format!("{0}: read a page with 'man -l {0}/forebay.1'\n", directory.display()))
        }
        Err(error) => Err(Failure::from(os::Error::from_io(&what, &error))),
    }
}

/// Writes the page of a command, and those of its subcommands.
fn write_pages(command: Command, directory: &Path) -> std::io::Result<()> {
    for subcommand in command.get_subcommands() {
        write_pages(subcommand.clone(), directory)?;
    }
    // At the foot of each page stands the program, not the subcommand.
    let source = concat!("forebay ", env!("CARGO_PKG_VERSION"));
    let page = Man::new(command).source(source).manual("Forebay manual");
    page.generate_to(directory).map(|_| ())
}

/// What a shell reads to complete the program's command line.
pub(crate) fn completions(mut command: Command, shell: Shell) -> String {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, "forebay", &mut text);
    String::from_utf8(text).expect("the generator writes text")
}
