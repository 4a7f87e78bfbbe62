//! The programs themselves, over their real transports.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod shop;
mod venue;
