//! Finding the project: its root folder and its configuration.

use std::path::{Path, PathBuf};

use proctor_record::RunStore;

use crate::cli::Cli;
use crate::config::{self, Config};
use crate::env_vars;
use crate::error::{CommandError, Kind};
use crate::terminal::Terminal;

/// Finds the project and reads its configuration; warnings are printed.
pub(crate) fn open(cli: &Cli, terminal: &mut Terminal) -> Result<(PathBuf, Config), CommandError> {
    open_from(None, cli, terminal)
}

/// The same for the project that a folder stands in, instead of the current one; `--root` beats both.
pub(crate) fn open_from(
    folder: Option<&Path>,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<(PathBuf, Config), CommandError> {
    let root = match folder.filter(|_| cli.root.is_none()) {
        Some(folder) => with_own_state(nearest_root(folder))?,
        None => root(cli)?,
    };
    let (config, warnings) = config::load(&root)?;
    for warning in warnings {
        terminal.warn(&warning);
    }
    Ok((root, config))
}

/// The root folder that the arguments and the current folder mean. One whose `.proctor` must not be used is refused.
pub(crate) fn root(cli: &Cli) -> Result<PathBuf, CommandError> {
    with_own_state(locate_root(cli)?)
}

fn with_own_state(root: PathBuf) -> Result<PathBuf, CommandError> {
    match RunStore::new(&root).check_owner() {
        Ok(()) => Ok(root),
        Err(error) => Err(CommandError::caused(Kind::Refused, error)),
    }
}

/// The same, whatever its `.proctor` is.
pub(crate) fn locate_root(cli: &Cli) -> Result<PathBuf, CommandError> {
    if let Some(root) = &cli.root {
        return root.canonicalize().map_err(|error| {
            CommandError::usage(format_args!("--root {}: {error}", root.display()))
                .with_source(error)
        });
    }
    let current = std::env::current_dir().map_err(|error| {
        CommandError::system(format_args!("the current folder cannot be used: {error}"))
            .with_source(error)
    })?;
    Ok(nearest_root(&current))
}

fn nearest_root(start: &Path) -> PathBuf {
    let home = env_vars::HOME.get_os().map(PathBuf::from);
    find_root(start, home.as_deref(), |folder| {
        folder.join(config::FILE_NAME).is_file() || folder.join(".git").exists()
    })
}

/// The nearest folder that is marked as a project, never above or at the home folder; else the start.
fn find_root(start: &Path, home: Option<&Path>, is_marked: impl Fn(&Path) -> bool) -> PathBuf {
    start
        .ancestors()
        .take_while(|folder| Some(*folder) != home)
        .find(|folder| is_marked(folder))
        .unwrap_or(start)
        .to_owned()
}

/// A path that clients named leads out of the project.
#[derive(Debug, thiserror::Error)]
#[error("`{path}` leads out of the project: it is, or lies behind, a link to {}", .target.display())]
pub(crate) struct LeadsOutside {
    path: String,
    target: PathBuf,
}

/// Refuses a path below the root (with `:LINE` or `[1:2]` behind it) that leads to a place outside by a link. What does not exist is not
/// refused.
pub(crate) fn refuse_outside(root: &Path, path: &str) -> Result<(), LeadsOutside> {
    let file = path.split(['[', ':']).next().unwrap_or(path);
    for candidate in [path, file] {
        if let (Ok(root), Ok(target)) = (root.canonicalize(), root.join(candidate).canonicalize())
            && !target.starts_with(&root)
        {
            return Err(LeadsOutside { path: path.to_owned(), target });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(start: &str, marked: &[&str]) -> String {
        let is_marked = |folder: &Path| marked.iter().any(|mark| Path::new(mark) == folder);
        find_root(Path::new(start), Some(Path::new("/home/me")), is_marked).display().to_string()
    }

    #[test]
    fn the_nearest_marked_folder_wins() {
        assert_eq!(found("/home/me/p/spec/deep", &["/home/me/p"]), "/home/me/p");
        assert_eq!(found("/home/me/p/sub", &["/home/me/p", "/home/me/p/sub"]), "/home/me/p/sub");
    }

    #[test]
    fn home_and_above_are_never_a_project() {
        assert_eq!(found("/home/me/notes", &["/home/me"]), "/home/me/notes");
        assert_eq!(found("/home/me/notes", &["/home", "/"]), "/home/me/notes");
        assert_eq!(
            found("/home/me", &["/home/me"]),
            "/home/me",
            "only as the folder one stands in"
        );
    }

    #[test]
    fn links_out_of_the_project_are_refused() {
        let (project, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(outside.path().join("a_spec.rb"), "").unwrap();
        std::fs::create_dir(project.path().join("spec")).unwrap();
        std::fs::write(project.path().join("spec/b_spec.rb"), "").unwrap();
        std::os::unix::fs::symlink(outside.path(), project.path().join("spec/out")).unwrap();
        std::os::unix::fs::symlink("spec/b_spec.rb", project.path().join("inside_spec.rb"))
            .unwrap();
        for fine in ["spec", "spec/b_spec.rb:3", "spec/b_spec.rb[1:2]", "inside_spec.rb", "missing"]
        {
            assert!(refuse_outside(project.path(), fine).is_ok(), "{fine}");
        }
        for bad in
            ["spec/out", "spec/out/a_spec.rb", "spec/out/a_spec.rb:3", "spec/out/a_spec.rb[1:2]"]
        {
            assert!(refuse_outside(project.path(), bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn outside_home_the_search_goes_to_the_top() {
        assert_eq!(found("/srv/app/x", &["/srv/app"]), "/srv/app");
    }
}
