//! Reading scenario files: YAML tree, typed values, checks, and problems with their places.

mod at;
mod exact_numbers;
mod node;
mod problem;
mod read;

pub use self::at::At;
pub(crate) use self::at::LIST_MARK;
pub(crate) use self::node::{BYTE_ORDER_MARK, read_yaml};
pub use self::node::{Key, Kind, Node, Place};
pub use self::problem::FileProblem;
pub(crate) use self::problem::{Finding, Findings, nearest_or_known};
pub(crate) use self::read::read_node;
pub use self::read::{ValueError, read_value};
