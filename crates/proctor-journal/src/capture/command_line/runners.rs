//! Test runners by their own names: what makes them run tests, and what keeps them from it.

use super::{Program, StartedProgram, has_verb, verbs};

/// A runner.
struct Runner {
    name: &'static str,
    programs: &'static [&'static str],
    /// The first word must be one of these; none: it always runs tests.
    verbs: &'static [&'static str],
    /// Options that keep it from running any, and first words that do.
    idle: &'static [&'static str],
}

const fn runner(
    name: &'static str,
    programs: &'static [&'static str],
    verbs: &'static [&'static str],
    idle: &'static [&'static str],
) -> Runner {
    Runner { name, programs, verbs, idle }
}

const PYTEST_IDLE: &[&str] = &[
    "-V",
    "--collect-only",
    "--co",
    "--collectonly",
    "--fixtures",
    "--funcargs",
    "--fixtures-per-test",
    "--markers",
    "--setup-plan",
    "--setupplan",
    "--cache-show",
    "--trace-config",
];

const RUNNERS: &[Runner] = &[
    runner("pytest", &["pytest", "py.test", "pytest-3"], &[], PYTEST_IDLE),
    runner(
        "jest",
        &["jest"],
        &[],
        &["-v", "--listTests", "--showConfig", "--clearCache", "--init", "--listFailedTests"],
    ),
    runner("vitest", &["vitest"], &[], &["-v", "list", "init", "bench", "--mergeReports"]),
    runner("mocha", &["mocha", "_mocha"], &[], &["-V", "--dry-run", "--list-files", "init"]),
    runner("ava", &["ava"], &[], &["reset-cache", "debug"]),
    runner("jasmine", &["jasmine"], &[], &["-v", "init", "examples", "enumerate", "version"]),
    runner("tap", &["tap"], &[], &["list", "build", "dump-config", "versions"]),
    runner("tape", &["tape"], &[], &[]),
    runner("playwright", &["playwright"], &["test"], &["--list", "-V"]),
    runner("cypress", &["cypress"], &["run"], &["-v"]),
    runner("karma", &["karma"], &["start", "run"], &[]),
    runner("wtr", &["wtr", "web-test-runner"], &[], &[]),
    runner("angular", &["ng"], &["test"], &[]),
    runner("rspec", &["rspec", "parallel_rspec"], &[], &["-v", "--dry-run", "--init"]),
    runner("cucumber", &["cucumber", "cucumber-js"], &[], &["--dry-run", "-d", "--init"]),
    runner("minitest", &["minitest"], &[], &[]),
    runner("test-unit", &["test-unit"], &[], &[]),
    runner("rails test", &["rails"], &["test", "test:all", "test:system", "spec"], &[]),
    runner("go test", &["go"], &["test"], &["-c", "-n", "-list", "--list"]),
    runner("gotestsum", &["gotestsum"], &[], &["tool"]),
    runner("ginkgo", &["ginkgo"], &[], &["--dry-run", "version", "outline", "bootstrap", "build"]),
    runner(
        "phpunit",
        &["phpunit", "simple-phpunit"],
        &[],
        &[
            "--list-tests",
            "--list-suites",
            "--list-groups",
            "--generate-configuration",
            "--migrate-configuration",
            "--check-version",
            "--list-tests-xml",
            "--warm-coverage-cache",
        ],
    ),
    runner("pest", &["pest", "paratest"], &[], &["--list-tests", "--init"]),
    runner("codeception", &["codecept"], &["run"], &[]),
    runner("dotnet test", &["dotnet"], &["test", "vstest"], &["--list-tests", "-t", "-lt"]),
    runner("swift test", &["swift"], &["test"], &["list", "--list-tests"]),
    runner(
        "xcodebuild",
        &["xcodebuild"],
        &["test", "test-without-building"],
        &["-dry-run", "-list"],
    ),
    runner("mix test", &["mix"], &["test", "coveralls"], &[]),
    runner("flutter test", &["flutter", "dart"], &["test"], &[]),
    runner("deno test", &["deno"], &["test"], &["--no-run"]),
    runner("bun test", &["bun"], &["test"], &[]),
    runner("ctest", &["ctest", "ctest3"], &[], &["-N", "--show-only", "--print-labels"]),
    runner(
        "tox",
        &["tox"],
        &[],
        &["-l", "-a", "--listenvs", "list", "config", "--notest", "-n", "devenv", "--showconfig"],
    ),
    runner("nox", &["nox"], &[], &["-l", "--list", "--list-sessions", "--install-only"]),
    runner("unittest", &["unittest", "nose2", "green"], &[], &[]),
    runner("django test", &["django-admin"], &["test"], &[]),
    runner("trial", &["trial", "twisted.trial"], &[], &["--list-reporters"]),
    runner("stestr", &["stestr"], &["run"], &[]),
    runner("behave", &["behave"], &[], &["--dry-run", "-d", "--steps-catalog"]),
    runner("robot", &["robot"], &[], &["--dryrun"]),
    runner("doctest", &["doctest"], &[], &[]),
    runner("bats", &["bats"], &[], &["-c", "--count"]),
    runner("prove", &["prove"], &[], &["-D", "--dry", "-V"]),
    runner("busted", &["busted"], &[], &["-l", "--list"]),
    runner("kaocha", &["kaocha"], &[], &["--print-config", "--print-test-plan"]),
    runner("cabal test", &["cabal"], &["test", "v2-test", "new-test"], &["--dry-run"]),
    runner("stack test", &["stack"], &["test"], &["--no-run-tests", "--dry-run"]),
    runner("zig test", &["zig"], &["test"], &["--test-no-exec"]),
    runner("lein test", &["lein"], &["test"], &[]),
    runner("crystal spec", &["crystal"], &["spec"], &["--dry-run"]),
    runner("rebar3", &["rebar3"], &["eunit", "ct"], &[]),
    runner("forge test", &["forge"], &["test"], &["--list"]),
    runner("proctor", &["proctor"], &["run", "rejudge"], &["--dry-run"]),
];

/// Maven's phases from the tests on, and Gradle's usual tasks.
const MAVEN: [&str; 8] = [
    "test",
    "package",
    "verify",
    "install",
    "deploy",
    "integration-test",
    "surefire:test",
    "failsafe:integration-test",
];

/// Build tools that can be asked for what they would do.
const BUILDERS: [&str; 19] = [
    "make", "gmake", "just", "task", "rake", "invoke", "inv", "ninja", "bazel", "bazelisk", "sbt",
    "ant", "nx", "turbo", "lerna", "grunt", "gulp", "meson", "scons",
];
/// What keeps these from building.
const BUILDER_IDLE: [&str; 9] =
    ["-n", "--dry-run", "--just-print", "-q", "--question", "-T", "--tasks", "-l", "--list"];
/// Words of Composer, which also runs scripts by their names, that run nothing of the project's.
const COMPOSER_VERBS: [&str; 8] =
    ["install", "require", "update", "validate", "dump-autoload", "show", "remove", "config"];

/// Programs that run no tests, whatever words stand behind them. What is not listed may.
#[rustfmt::skip]
const PLAIN: &[&str] = &[
    ".", ":", "[", "[[", "ack", "actionlint", "ag", "alias", "ansible-lint", "apk", "apt",
    "apt-get", "ar", "asdf", "at", "attw", "auto-changelog", "autoconf", "automake", "autopep8",
    "autoreconf", "awk", "aws", "az", "az-cli", "babel", "bandit", "base64", "basename", "bat",
    "bg", "biome", "black", "brakeman", "break", "brew", "buf", "bundle-audit", "bundler-audit",
    "c++", "cat", "cc", "cd", "changeset", "check-manifest", "chmod", "choco", "chown", "clang",
    "clang++", "clang-format", "clang-tidy", "clear", "cmake", "cmp", "code", "codecov",
    "codespell", "column", "comm", "commitlint", "complete", "composer-normalize", "configure",
    "consul", "continue", "corepack", "coveralls", "cp", "cppcheck", "cpx", "crontab", "cspell",
    "curl", "cut", "date", "dd", "declare", "df", "diff", "dig", "dirname", "disown", "dnf",
    "docker-machine", "dos2unix", "dotnet-format", "doxygen", "dpkg", "du", "easy_install",
    "echo", "egrep", "emacs", "env-cmd", "esbuild", "eslint", "exit", "export", "false", "fg",
    "fgrep", "file", "flake8", "fnm", "fold", "free", "fzf", "g++", "gcc", "gcloud", "gem",
    "gem-release", "getopts", "gh", "git", "glab", "gofmt", "golangci-lint", "golint",
    "goreleaser", "gpg", "grep", "hadolint", "hash", "head", "helm", "hexdump", "history", "host",
    "hostname", "hub", "husky", "id", "ifconfig", "ip", "isort", "jar", "javac", "jobs", "join",
    "journalctl", "jq", "jsdoc", "jshint", "kill", "killall", "kind", "kotlinc", "kubectx", "ld",
    "ldd", "lerna-changelog", "less", "let", "libtoolize", "licensecheck", "lint-staged", "ln",
    "local", "look", "ls", "lsof", "man", "markdownlint", "md5sum", "mdl", "migrate", "minikube",
    "mkdir", "mkdirp", "mkdocs", "mktemp", "mongosh", "more", "mount", "mv", "mypy", "mysql",
    "nano", "netstat", "nfpm", "nginx", "nl", "nm", "node-gyp", "nodenv", "notify-send", "np",
    "npm-check-updates", "nslookup", "nvm", "objdump", "od", "open", "openssl", "packer",
    "pacman", "parcel", "paste", "patch-package", "pbcopy", "pbpaste", "pdoc", "php-cs-fixer",
    "phpcbf", "phpcs", "phpstan", "ping", "pip", "pip-audit", "pip-compile", "pip-sync", "pip3",
    "pipx", "pkg-config", "pkill", "poetry-lock", "popd", "pre-commit", "prebuild", "prettier",
    "printenv", "printf", "protoc", "ps", "psalm", "psql", "publint", "pushd", "pwd",
    "pycodestyle", "pydocstyle", "pyenv", "pylint", "pyright", "ranlib", "rbenv", "rdoc", "read",
    "readlink", "readonly", "realpath", "redis-cli", "reek", "return", "reuse", "rg", "rimraf",
    "rm", "rmdir", "rollup", "rsync", "rubocop", "ruff", "rustc", "rustfmt", "rustup", "safety",
    "say", "scp", "sed", "semantic-release", "seq", "service", "set", "setopt", "sha256sum",
    "shasum", "shellcheck", "shift", "shopt", "shx", "size", "sleep", "sort", "source",
    "sphinx-build", "split", "sponge", "sqlc", "sqlite3", "ss", "ssh-add", "ssh-keygen",
    "standard", "standardrb", "start", "stat", "staticcheck", "strings", "strip", "stty",
    "stylelint", "su", "swc", "swiftc", "swiftformat", "swiftlint", "sync", "systemctl", "tac",
    "tail", "tar", "tee", "terraform", "test", "tmuxinator", "top", "touch", "tput", "tr", "trap",
    "tree", "true", "tsc", "tslint", "tty", "twine", "type", "typedoc", "typeset", "ulimit",
    "umask", "umount", "unalias", "uname", "uniq", "unset", "unzip", "update-alternatives",
    "uptime", "vale", "vault", "vi", "vim", "virtualenv", "volta", "w", "wait", "wc", "webpack",
    "wget", "whereis", "which", "who", "whoami", "xclip", "xdg-open", "xo", "xsel", "xxd",
    "yamllint", "yapf", "yard", "yes", "yq", "yum", "zip",
];

/// Whether an option asks for help or a version.
pub(super) fn is_idle(word: &str) -> bool {
    ["--version", "--help", "-h"].contains(&word)
}

/// What a program does by its own name: a runner, a plain program, a build tool, or something that is not known.
pub(super) fn direct(name: &str, path: &str, arguments: &[&str]) -> Vec<StartedProgram> {
    let own: Vec<&str> = arguments.iter().copied().take_while(|word| *word != "--").collect();
    let whole = || std::iter::once(path).chain(arguments.iter().copied());
    if PLAIN.contains(&name) || own.iter().any(|word| is_idle(word)) {
        return Vec::new();
    }
    let mut known = RUNNERS.iter().filter(|runner| runner.programs.contains(&name)).peekable();
    let started = match name {
        _ if known.peek().is_some() => known.find_map(|runner| runner.started(&own)),
        "mvn" | "mvnw" | "mvnd" => maven(&own),
        "gradle" | "gradlew" => gradle(&own),
        name if BUILDERS.contains(&name) => {
            let idle = own.iter().any(|word| BUILDER_IDLE.contains(word));
            (!idle).then_some(Program::Unknown)
        }
        "composer" if has_verb(&own, &COMPOSER_VERBS) => None,
        _ => Some(Program::Unknown),
    };
    started.map(|program| StartedProgram::one(program, whole())).unwrap_or_default()
}

impl Runner {
    /// The runner, if these arguments make it run tests.
    fn started(&self, own: &[&str]) -> Option<Program> {
        let idle = own.iter().any(|word| is_idle_option(self, word))
            || own.first().is_some_and(|verb| *verb == "help" || self.idle.contains(verb));
        let runs = self.verbs.is_empty() || has_verb(own, self.verbs);
        (runs && !idle).then_some(Program::Runner(self.name))
    }
}

fn is_idle_option(runner: &Runner, word: &str) -> bool {
    let flag = word.split_once('=').map_or(word, |(flag, _)| flag);
    flag.starts_with('-') && runner.idle.contains(&flag)
}

fn maven(words: &[&str]) -> Option<Program> {
    let skips = |word: &&str| {
        ["-DskipTests", "-Dmaven.test.skip", "-DskipTests=true", "-Dmaven.test.skip=true"]
            .contains(word)
            || ["-v", "-version", "--version", "--help", "-h"].contains(word)
    };
    let runs = verbs(words).any(|word| MAVEN.contains(&word) || word.contains("surefire"));
    (runs && !words.iter().any(skips)).then_some(Program::Runner("maven"))
}

fn gradle(words: &[&str]) -> Option<Program> {
    let idle = words.iter().any(|word| is_idle(word) || ["-m", "--dry-run", "-v"].contains(word))
        || words.windows(2).any(|pair| {
            ["-x", "--exclude-task"].contains(&pair[0]) && pair[1].to_lowercase().contains("test")
        });
    let runs = verbs(words).any(|word| {
        let task = word.rsplit(':').next().unwrap_or(word);
        ["check", "build"].contains(&task) || task.to_lowercase().contains("test")
    });
    (runs && !idle).then_some(Program::Runner("gradle"))
}
