//! Opening files that a repository or another process may have put in place, and writing files for their owner only.
//!
//! A FIFO, a device, a socket or a folder in the place of a file is named in the error and never blocks; files have a size limit. Which file is
//! meant, and what stands in it, is the caller's business; errors do not repeat the path, which callers put before them.

pub mod limits;
mod own_folder;
mod private;
mod regular;
mod unpacked;

pub use own_folder::{OwnFolderError, check_own_folder, check_state_folder};
pub use private::{
    append_private, create_private, create_private_folder, open_lock_file, write_private,
};
pub use regular::{
    Links, NotReadable, name_of_other_kind, open, open_with, read, read_text, read_text_with,
    read_with,
};
pub use unpacked::EmbeddedFiles;
