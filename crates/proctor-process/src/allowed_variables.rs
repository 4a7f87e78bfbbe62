//! The variables that a program under test gets without being named: where things are, how to talk, which tool chain.
//!
//! A variable passes if a row of [`ALLOWED_VARIABLES`] names it, its name is not that of a secret
//! ([`proctor_redact::is_secret_variable`]), and its value is no address with a password in it. Rows that end in `*` are
//! stricter: names with `TOKEN`, `KEY`, `AUTH` or the like anywhere do not pass, since such families mix settings and credentials
//! (`npm_config_//registry.example.com/:_authToken`). For the same reason families that use hosts as names (`BUNDLE_GEMS__EXAMPLE__COM`) are listed
//! one by one. Pure: names and values come in.

use proctor_redact::is_secret_variable;

/// Variables of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllowedGroup {
    /// What they are about.
    pub about: &'static str,
    /// Names; one that ends in `*` stands for all that begin so.
    pub names: &'static [&'static str],
}

/// The list. `docs/environment.md` is made from it.
pub const ALLOWED_VARIABLES: &[AllowedGroup] = &[
    AllowedGroup {
        about: "person and shell",
        names: &["HOME", "LOGNAME", "PATH", "SHELL", "USER"],
    },
    AllowedGroup {
        about: "language, time and terminal",
        names: &[
            "COLORTERM",
            "COLUMNS",
            "FORCE_COLOR",
            "LANG",
            "LANGUAGE",
            "LC_*",
            "LINES",
            "NO_COLOR",
            "TERM",
            "TZ",
        ],
    },
    AllowedGroup { about: "folders", names: &["TEMP", "TMP", "TMPDIR", "XDG_*"] },
    AllowedGroup {
        about: "certificates and proxies",
        names: &[
            "ALL_PROXY",
            "CURL_CA_BUNDLE",
            "HTTPS_PROXY",
            "HTTP_PROXY",
            "NO_PROXY",
            "REQUESTS_CA_BUNDLE",
            "SSL_CERT_DIR",
            "SSL_CERT_FILE",
            "all_proxy",
            "http_proxy",
            "https_proxy",
            "no_proxy",
        ],
    },
    AllowedGroup {
        about: "where the run takes place",
        names: &["CI", "CONTINUOUS_INTEGRATION", "GITHUB_ACTIONS", "PROCTOR_*", "WORKER_INDEX"],
    },
    AllowedGroup {
        about: "programs and libraries",
        names: &[
            "DYLD_FALLBACK_LIBRARY_PATH",
            "DYLD_LIBRARY_PATH",
            "LD_LIBRARY_PATH",
            "LLVM_PROFILE_FILE",
            "MALLOC_ARENA_MAX",
            "NIX_*",
        ],
    },
    AllowedGroup {
        about: "Ruby",
        names: &[
            "ASDF_*",
            "BUNDLER_VERSION",
            "BUNDLE_APP_CONFIG",
            "BUNDLE_BIN_PATH",
            "BUNDLE_DEPLOYMENT",
            "BUNDLE_FROZEN",
            "BUNDLE_GEMFILE",
            "BUNDLE_PATH",
            "BUNDLE_USER_HOME",
            "BUNDLE_WITH",
            "BUNDLE_WITHOUT",
            "GEM_*",
            "MISE_*",
            "RACK_ENV",
            "RAILS_ENV",
            "RBENV_*",
            "RUBY*",
        ],
    },
    AllowedGroup {
        about: "Python",
        names: &[
            "CONDA_*",
            "POETRY_CACHE_DIR",
            "POETRY_HOME",
            "POETRY_VIRTUALENVS_*",
            "PYENV_*",
            "PYTHON*",
            "UV_*",
            "VIRTUAL_ENV",
        ],
    },
    AllowedGroup {
        about: "JavaScript",
        names: &["COREPACK_HOME", "NODE_*", "NPM_CONFIG_*", "NVM_*", "PNPM_*", "npm_config_*"],
    },
    AllowedGroup {
        about: "other languages",
        names: &[
            "CARGO_HOME",
            "DENO_DIR",
            "DOTNET_ROOT",
            "GOBIN",
            "GOCACHE",
            "GOPATH",
            "GOROOT",
            "JAVA_HOME",
            "RUSTUP_HOME",
            "RUSTUP_TOOLCHAIN",
        ],
    },
    AllowedGroup {
        about: "where models are",
        names: &[
            "ANTHROPIC_BASE_URL",
            "AWS_DEFAULT_REGION",
            "AWS_REGION",
            "OLLAMA_HOST",
            "OPENAI_API_BASE",
            "OPENAI_BASE_URL",
        ],
    },
];

/// What a name may not contain where a row ends in `*`.
const SUSPECT: &[&str] =
    &["AUTH", "CREDENTIAL", "KEY", "PASSPHRASE", "PASSWD", "PASSWORD", "SECRET", "TOKEN"];

/// Whether a variable of this process is passed on to a program under test.
pub(crate) fn is_allowed(name: &str, value: &str) -> bool {
    let listed = ALLOWED_VARIABLES.iter().flat_map(|group| group.names);
    let mut matching = listed.filter(|listed| match listed.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix) && !is_suspect(name),
        None => **listed == name,
    });
    matching.next().is_some() && !is_secret_variable(name) && !has_password(value)
}

fn is_suspect(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SUSPECT.iter().any(|word| name.contains(word))
}

/// Whether an address in the value has a user or password.
fn has_password(value: &str) -> bool {
    value.split("://").skip(1).any(|rest| {
        let end = rest.find(['/', '?', '#', ' ', ',']).unwrap_or(rest.len());
        rest[..end].contains('@')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_pass_and_credentials_do_not() {
        for name in [
            "PATH",
            "HOME",
            "LC_ALL",
            "XDG_CACHE_HOME",
            "RUBYLIB",
            "NPM_CONFIG_CACHE",
            "PROCTOR_LANE",
            "PYTHONPATH",
        ] {
            assert!(is_allowed(name, "/x"), "{name}");
        }
        for name in [
            "OPENAI_API_KEY",
            "PROCTOR_TOKEN",
            "DATABASE_URL",
            "GEM_HOST_API_KEY",
            "NODE_AUTH_TOKEN",
            "NPM_CONFIG__AUTH",
            "npm_config_//registry.example/:_authToken",
            "UV_PUBLISH_TOKEN",
            "BUNDLE_GEMS__CONTRIBSYS__COM",
            "POETRY_PYPI_TOKEN_MINE",
            "CONDA_TOKEN",
            "SSH_AUTH_SOCK",
            "MY_OWN",
            "",
        ] {
            assert!(!is_allowed(name, "/x"), "{name}");
        }
    }

    #[test]
    fn addresses_with_a_password_do_not_pass() {
        assert!(is_allowed("https_proxy", "http://proxy:3128"));
        assert!(is_allowed("UV_INDEX_URL", "https://pypi.example.com/simple/@x"));
        assert!(!is_allowed("https_proxy", "http://me:hush@proxy:3128"));
        assert!(!is_allowed("UV_INDEX_URL", "https://__token__@pypi.example.com/simple"));
        assert!(!is_allowed("UV_EXTRA_INDEX_URL", "https://a/x https://me:hush@b/y"));
    }

    #[test]
    fn no_row_names_a_secret_and_rows_are_sorted() {
        for group in ALLOWED_VARIABLES {
            assert!(group.names.is_sorted(), "{}", group.about);
            for name in group.names {
                assert!(!is_secret_variable(name), "{name}");
            }
        }
    }
}
