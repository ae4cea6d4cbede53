//! Times the ways to make a write durable, and picks one.
