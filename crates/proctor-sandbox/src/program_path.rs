//! Making a program visible inside a confinement: interpreters are often installed below a home folder, which is fresh inside.

use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::confinement::{Confinement, PathError};

/// How many interpreters are followed: a script whose interpreter is a script.
const MAX_INTERPRETERS: usize = 4;
/// The kernel reads this many bytes of a script's first line.
const FIRST_LINE: usize = 256;

/// How a program is searched for.
#[derive(Debug, Clone)]
pub struct ProgramSearch<'a> {
    /// The working folder, to which a name with a slash is relative.
    pub folder: &'a Path,
    /// The value of `PATH`.
    pub path: &'a OsStr,
    /// The home folder.
    pub home: Option<&'a Path>,
}

/// A program that a confined process would not find.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// It exists, but not inside.
    #[error("{} is not visible in the sandbox: add its folder to `read`", .0.display())]
    NotVisible(PathBuf),
    /// Its installation cannot be shown.
    #[error(transparent)]
    Path(#[from] PathError),
}

impl Confinement {
    /// Makes the installation of a command line's program readable if it lies below a home folder: the folder above `bin` or
    /// `shims`, and those of the interpreters of scripts. A program that lies elsewhere must be visible already; one that is not
    /// found at all is left to the launcher, which says so.
    pub fn showing_program(
        mut self,
        argv: &[String],
        search: &ProgramSearch<'_>,
    ) -> Result<Self, ProgramError> {
        let mut programs: Vec<OsString> = argv.first().map(OsString::from).into_iter().collect();
        if let [shell, option, line] = argv
            && (shell == "sh" && option == "-c")
        {
            let first = line.split_whitespace().find(|word| !word.contains('='));
            programs.extend(first.map(OsString::from));
        }
        for program in programs {
            self = self.showing(&program, search, MAX_INTERPRETERS)?;
        }
        Ok(self)
    }

    fn showing(
        mut self,
        program: &OsStr,
        search: &ProgramSearch<'_>,
        interpreters: usize,
    ) -> Result<Self, ProgramError> {
        let Some(found) = search.find(program) else { return Ok(self) };
        let Ok(resolved) = found.canonicalize() else { return Ok(self) };
        for path in [&found, &resolved] {
            if self.shows(path) {
                continue;
            }
            let prefix =
                search.installation(path).ok_or_else(|| ProgramError::NotVisible(path.clone()))?;
            self = self.readable(prefix)?;
        }
        match interpreter(&resolved) {
            Some(next) if interpreters > 0 => self.showing(&next, search, interpreters - 1),
            _ => Ok(self),
        }
    }

    /// Whether a path is below one of the listed folders, or would be if it were free of links.
    fn shows(&self, path: &Path) -> bool {
        let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
        let resolved = folder.zip(path.file_name()).map(|(folder, name)| folder.join(name));
        let shown = [&self.system, &self.readable, &self.writable].into_iter().flatten();
        let is_below = |path: &Path| shown.clone().any(|folder| path.starts_with(folder));
        is_below(path) || resolved.is_some_and(|path| is_below(&path))
    }
}

impl ProgramSearch<'_> {
    /// The file that would be executed.
    fn find(&self, program: &OsStr) -> Option<PathBuf> {
        if program.as_bytes().contains(&b'/') {
            return Some(self.folder.join(program)).filter(|path| path.is_file());
        }
        let is_program = |path: &PathBuf| {
            path.metadata()
                .is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
        };
        let folders = std::env::split_paths(self.path).filter(|folder| folder.is_absolute());
        folders.map(|folder| folder.join(program)).find(is_program)
    }

    /// What must be readable for a program below a home folder to run. Never the home folder itself or one directly in it, which
    /// may hold keys (`~/.cargo`, `~/.local`), except the installation of a version manager, which has `shims`.
    fn installation(&self, program: &Path) -> Option<PathBuf> {
        let home = self.home_of(program)?;
        let folder = program.parent()?;
        if folder == home {
            return Some(program.to_owned());
        }
        let above = folder.parent()?;
        let depth = above.strip_prefix(&home).map_or(0, |rest| rest.components().count());
        let is_installation = match folder.file_name()?.as_bytes() {
            b"shims" => depth >= 1,
            b"bin" | b"libexec" => depth >= 2,
            _ => false,
        };
        Some(if is_installation { above } else { folder }.to_owned())
    }

    fn home_of(&self, program: &Path) -> Option<PathBuf> {
        if let Some(home) = self.home.filter(|home| program.starts_with(home)) {
            return Some(home.to_owned());
        }
        if program.starts_with("/root") {
            return Some("/root".into());
        }
        let user = program.strip_prefix("/home").ok()?.components().next()?;
        Some(Path::new("/home").join(user))
    }
}

/// The interpreter of a script: the program behind `#!`, or the one that `env` is told to find.
fn interpreter(script: &Path) -> Option<OsString> {
    let mut first = Vec::new();
    let file = std::fs::File::open(script).ok()?;
    file.take(FIRST_LINE as u64).read_to_end(&mut first).ok()?;
    let line = first.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let program = words.next()?;
    let is_env = program.rsplit(|byte| *byte == b'/').next() == Some(b"env");
    let named = words.find(|word| !word.starts_with(b"-") && !word.contains(&b'='));
    let program = named.filter(|_| is_env).unwrap_or(program);
    Some(OsString::from_vec(program.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn shown(home: &Path, path: &Path, argv: &[&str]) -> Result<Vec<String>, String> {
        let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        let search = ProgramSearch { folder: home, path: path.as_os_str(), home: Some(home) };
        let confinement = Confinement::new().showing_program(&argv, &search);
        let below = |path: &PathBuf| path.strip_prefix(home).unwrap().display().to_string();
        confinement.map(|made| made.readable.iter().map(below).collect()).map_err(|e| e.to_string())
    }

    #[test]
    fn the_installation_of_an_interpreter_below_home_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let python = home.join(".pyenv/versions/3.12/bin");
        program(&python.join("python3.12"), "");
        std::os::unix::fs::symlink("python3.12", python.join("python3")).unwrap();
        assert_eq!(shown(&home, &python, &["python3", "a.py"]).unwrap(), [".pyenv/versions/3.12"]);
        let line = ["sh", "-c", "DEBUG=1 python3 a.py | cat"];
        assert_eq!(shown(&home, &python, &line).unwrap(), [".pyenv/versions/3.12"]);

        let shims = home.join(".rbenv/shims");
        program(&shims.join("ruby"), "#!/usr/bin/env bash\nexec rbenv exec ruby \"$@\"\n");
        assert_eq!(shown(&home, &shims, &["ruby"]).unwrap(), [".rbenv"]);

        // A script in the project whose interpreter is found by `env`.
        program(&home.join("project/agent"), "#!/usr/bin/env -S python3 -u\n");
        let agent = home.join("project/agent");
        let found = shown(&home, &python, &[agent.to_str().unwrap()]).unwrap();
        assert_eq!(found, ["project", ".pyenv/versions/3.12"]);
    }

    #[test]
    fn folders_that_may_hold_keys_are_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        for (place, expected) in [(".cargo/bin", ".cargo/bin"), ("bin", "bin"), ("", "tool")] {
            program(&home.join(place).join("tool"), "");
            assert_eq!(shown(&home, &home.join(place), &["tool"]).unwrap(), [expected]);
        }
    }

    #[test]
    fn programs_elsewhere_are_visible_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        program(&base.join("tools/agent"), "");
        let home = base.join("home");
        let agent = base.join("tools/agent").to_str().unwrap().to_owned();
        let error = shown(&home, Path::new("/usr/bin"), &[&agent]).unwrap_err();
        assert_eq!(
            error,
            format!("{agent} is not visible in the sandbox: add its folder to `read`")
        );
        assert!(shown(&home, Path::new("/usr/bin:/bin"), &["sh"]).unwrap().is_empty());
        assert!(shown(&home, Path::new("/usr/bin"), &["no-such-program"]).unwrap().is_empty());
    }
}
