//! The program from outside: what it says, what it leaves, and how it takes what is wrong.
#![forbid(unsafe_code)]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test runs the program and looks at real files"
)]

mod bad_input;
mod create;
mod folder;
mod load;
mod logs;
mod names;
mod outputs;
mod page;
mod rows;
mod shell_hostile;
mod sql;
mod verify;
