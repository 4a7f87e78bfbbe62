//! The declaration of a tool that agents call: name, title, description, schemas of parameters and result, hints and handler.
//!
//! A tool is declared once, by the crate that does its work, as a [`Tool`] over the state that its handler needs. `proctor-mcp`
//! collects the declarations in one table and offers them over MCP and to a shell. This crate knows no protocol and no tool.

mod error;
pub mod paging;
pub mod schema;
mod tool;

pub use error::{ToolError, kind};
pub use tool::{CallContext, Group, Hints, Progress, ProgressSink, Tool, ToolDeclaration};
