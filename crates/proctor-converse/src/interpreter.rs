//! Which interpreter runs an agent in Python or JavaScript.
//!
//! The project decides: an active or local virtual environment, uv, poetry, a local Node; then what `PATH` has. Looks at files only;
//! variables are asked of the caller.

use std::path::Path;

/// The language of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Python,
    Node,
}

impl Language {
    /// The program among the unpacked files that serves conversations.
    pub(crate) fn program(self) -> &'static str {
        match self {
            Self::Python => "python/serve.py",
            Self::Node => "node/serve.mjs",
        }
    }
}

/// Where an interpreter is looked for.
pub(crate) struct ProjectFiles<'a> {
    pub(crate) root: &'a Path,
    /// A variable of the program's environment.
    pub(crate) variable: &'a dyn Fn(&str) -> Option<String>,
}

impl ProjectFiles<'_> {
    /// The command line of the interpreter, or what was looked for in vain.
    pub(crate) fn interpreter(&self, language: Language) -> Result<Vec<String>, String> {
        match language {
            Language::Python => self.python(),
            Language::Node => self.node(),
        }
    }

    fn python(&self) -> Result<Vec<String>, String> {
        if let Some(environment) = (self.variable)("VIRTUAL_ENV") {
            let python = Path::new(&environment).join("bin/python");
            return if python.exists() {
                Ok(vec![text(&python)])
            } else {
                Err(format!(
                    "VIRTUAL_ENV is {environment}, where there is no bin/python; make that environment again, unset VIRTUAL_ENV, or say `interpreter: [python3]`"
                ))
            };
        }
        let local = [".venv", "venv"].map(|name| self.root.join(name).join("bin/python"));
        if let Some(python) = local.iter().find(|python| python.exists()) {
            return Ok(vec![text(python)]);
        }
        for (lock, tool) in [("uv.lock", "uv"), ("poetry.lock", "poetry")] {
            if self.root.join(lock).is_file() && self.on_path(tool) {
                return Ok([tool, "run", "python"].map(str::to_owned).to_vec());
            }
        }
        self.first_on_path(&["python3", "python"]).ok_or_else(|| {
            "there is no Python: neither VIRTUAL_ENV nor .venv, and no `python3` in PATH; install Python 3.9 or newer, or say `interpreter: [/path/to/python]`".to_owned()
        })
    }

    fn node(&self) -> Result<Vec<String>, String> {
        let local = self.root.join("node_modules/.bin/node");
        if local.exists() {
            return Ok(vec![text(&local)]);
        }
        self.first_on_path(&["node"]).ok_or_else(|| {
            "there is no Node: no node_modules/.bin/node, and no `node` in PATH; install Node 18.19 or newer, or say `interpreter: [/path/to/node]`".to_owned()
        })
    }

    fn first_on_path(&self, names: &[&str]) -> Option<Vec<String>> {
        let name = names.iter().find(|name| self.on_path(name))?;
        Some(vec![(*name).to_owned()])
    }

    fn on_path(&self, name: &str) -> bool {
        let folders = (self.variable)("PATH").unwrap_or_default();
        std::env::split_paths(&folders).any(|folder| folder.join(name).is_file())
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The interpreter in a folder with these files, `PATH` being its folder `bin`.
    fn found(
        files: &[&str],
        virtual_env: Option<&str>,
        language: Language,
    ) -> Result<Vec<String>, String> {
        let folder = tempfile::tempdir().unwrap();
        for name in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let at = |name: &str| text(&folder.path().join(name));
        let variable = |name: &str| match name {
            "PATH" => Some(at("bin")),
            "VIRTUAL_ENV" => virtual_env.map(at),
            _ => None,
        };
        let project = ProjectFiles { root: folder.path(), variable: &variable };
        let relative = |word: String| word.replace(&format!("{}/", folder.path().display()), "");
        let found = project.interpreter(language);
        found.map(|words| words.into_iter().map(relative).collect()).map_err(relative)
    }

    #[test]
    fn the_project_decides_which_python_it_is() {
        let python = |files: &[&str], active| found(files, active, Language::Python);
        let all = ["on/bin/python", ".venv/bin/python", "uv.lock", "bin/uv", "bin/python3"];
        assert_eq!(python(&all, Some("on")).unwrap(), ["on/bin/python"]);
        assert_eq!(python(&all, None).unwrap(), [".venv/bin/python"]);
        assert_eq!(python(&all[2..], None).unwrap(), ["uv", "run", "python"]);
        assert_eq!(python(&["uv.lock", "bin/python3"], None).unwrap(), ["python3"]);
        let poetry = ["poetry.lock", "bin/poetry", "bin/python3"];
        assert_eq!(python(&poetry, None).unwrap(), ["poetry", "run", "python"]);
        assert_eq!(python(&["bin/python"], None).unwrap(), ["python"]);
    }

    #[test]
    fn an_interpreter_that_is_not_there_is_an_error_with_a_way_out() {
        let none = found(&[], None, Language::Python).unwrap_err();
        assert!(none.contains("interpreter: [/path/to/python]"), "{none}");
        let gone = found(&["bin/python3"], Some("old"), Language::Python).unwrap_err();
        assert!(gone.starts_with("VIRTUAL_ENV is old, where there is no bin/python"), "{gone}");
        let none = found(&[], None, Language::Node).unwrap_err();
        assert!(none.contains("interpreter: [/path/to/node]"), "{none}");
        let local = found(&["node_modules/.bin/node", "bin/node"], None, Language::Node);
        assert_eq!(local.unwrap(), ["node_modules/.bin/node"]);
    }
}
