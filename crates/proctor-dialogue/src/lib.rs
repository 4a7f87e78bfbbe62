//! The conversation engine of Proctor.
mod file;
mod format;
pub use file::*;
pub use format::*;
mod transcript;
mod expression;
pub use transcript::*;
pub use expression::*;
mod rows;
mod scenario;
pub use rows::*;
pub use scenario::*;
mod judge;
mod simulated_user;
pub use judge::*;
pub use simulated_user::*;
mod check;
