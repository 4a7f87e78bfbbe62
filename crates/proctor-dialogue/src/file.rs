//! Reading scenario files: YAML tree, typed values, checks, and problems with their places.

mod node;
mod problem;
mod read;

pub(crate) use self::node::read_yaml;
pub use self::node::{Key, Kind, Node, Place};
pub use self::problem::FileProblem;
pub(crate) use self::problem::Finding;
pub use self::read::At;
pub(crate) use self::read::{LIST_MARK, read_node};
