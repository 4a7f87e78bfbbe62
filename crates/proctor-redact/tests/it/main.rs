//! The redactor through its interface.

mod adversarial;
mod cuts;
mod forms;
mod known_behaviour;
mod properties;
mod streams;
