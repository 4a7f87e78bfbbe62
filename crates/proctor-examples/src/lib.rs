//! The agents behind `examples/`: small, real programs for scenarios to be run against.
//!
//! * [`venue`]: a booking agent with a catalogue, tools and a memory of each conversation. `venue-agent` serves it over
//!   the worker protocol.
//! * [`support`]: the help desk of a shop, in the shape of chat completions with tools and streaming. `support-agent`
//!   serves it over HTTP; `shop-tools` serves the shop's own tools over the Model Context Protocol.
//!
//! Both understand what they understand by rules, so that the examples need neither a key nor a network. Neither knows
//! anything of the scenarios; their weaknesses are their own, and `examples/failing.scenario.yaml` finds one.

pub mod support;
pub mod venue;
