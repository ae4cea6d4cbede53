//! The engine as a whole in the simulated world: transactions, tables, undo, space, the life of an
//! instance, faults of the disk. What these rooms promise is tested here, for each of them stands
//! on all the others.
#![forbid(unsafe_code)]

mod access;
mod alter;
mod checkpoint;
mod common;
mod faults;
mod flips;
mod halted;
mod headers;
mod heap;
mod large;
mod life;
mod limits;
mod logs;
mod lost;
mod lost_logs;
mod names;
mod odd_disks;
mod older_logs;
mod outside;
mod recovery;
mod room;
mod rows;
mod scan;
mod segments;
mod shown;
mod space;
mod tablespaces;
mod txn;
mod undo;
mod visible;
mod writers;
