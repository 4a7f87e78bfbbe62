//! Errors of tools, as the declarations have them.

pub use proctor_tools::{ToolError, kind};
