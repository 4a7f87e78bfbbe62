//! The engine, driven by hand: no runtime, no model, no agent.

mod assertions;
mod counted_checks;
mod driver;
mod expiry;
mod faults;
mod golden;
mod open_ended;
mod order;
mod properties;
mod reports;
mod simulations;
mod topics;
