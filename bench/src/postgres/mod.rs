//! PostgreSQL: a server of its own in a race's folder, and clients of it.
//!
//! ```text
//!   Server::start    initdb, the settings that were asked for, postgres on a socket in the folder
//!        │
//!        ├─ connect ──▶ Client     psql with its input and output in our hands: one session
//!        └─ drop                   stopped; whatever happens, the scratch folder's keeper kills it
//! ```
//!
//! A race's times are taken around [`Client::run`]: a line to psql, a line back. That is some
//! 50 us, nothing beside statements over many rows; whoever races short statements needs another
//! client.
//!
//! Callers: races.
//! Source: PostgreSQL 15's documentation of initdb, psql and server configuration.

mod client;
mod server;

pub use client::Client;
pub use server::Server;
