//! The redactor through its interface.

mod adversarial;
mod forms;
mod known_behaviour;
mod properties;
mod streams;
