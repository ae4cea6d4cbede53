//! SQL statements: bound to the dictionary, planned, and run.

#![forbid(unsafe_code)]
