//! The command line that starts a program confined.

use std::ffi::{OsStr, OsString};

use crate::confinement::Confinement;

/// Asks the launcher to try every layer and to print what it found, as JSON. May be followed by the id of the user to try as.
pub(crate) const PROBE: &str = "probe";
/// Asks the launcher to run a program. Followed by the number of parts of the description, the parts, and the program's command line.
pub(crate) const RUN: &str = "run";
/// Bytes of the description in one argument: the kernel takes 128 KiB at most.
const PART: usize = 64 << 10;

/// The program that confines: one that calls [`crate::launcher_main`] with what follows these arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    /// The program, best by absolute path.
    pub program: OsString,
    /// Its first arguments.
    pub args: Vec<OsString>,
}

impl Launcher {
    /// A launcher program with arguments.
    pub fn new<A: Into<OsString>>(
        program: impl Into<OsString>,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        Self { program: program.into(), args: args.into_iter().map(Into::into).collect() }
    }

    /// The command line under which `argv` runs confined. Its environment, working folder, standard streams, RPC socket and exit
    /// status are those of the launcher; signals to the launcher reach the program.
    ///
    /// The description stands in the arguments, since every way to start a program hands those on. It holds paths and
    /// numbers, nothing secret; a long one is cut in parts, so that the kernel's limit on one argument is never met.
    #[must_use]
    pub fn wrap<A: AsRef<OsStr>>(
        &self,
        confinement: &Confinement,
        argv: impl IntoIterator<Item = A>,
    ) -> Vec<OsString> {
        let parts = parts(&confinement.encode());
        let mut wrapped = self.start(RUN);
        wrapped.push(parts.len().to_string().into());
        wrapped.extend(parts.into_iter().map(OsString::from));
        wrapped.extend(argv.into_iter().map(|word| word.as_ref().to_owned()));
        wrapped
    }

    pub(crate) fn start(&self, mode: &str) -> Vec<OsString> {
        let mut words = vec![self.program.clone()];
        words.extend(self.args.iter().cloned());
        words.push(mode.into());
        words
    }
}

/// Cuts a text at character boundaries.
fn parts(mut text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    while !text.is_empty() {
        let (part, rest) = text.split_at(text.floor_char_boundary(PART));
        parts.push(part.to_owned());
        text = rest;
    }
    parts
}

/// The inverse of [`Launcher::wrap`], from [`RUN`] on.
#[cfg(target_os = "linux")]
pub(crate) fn unwrap(arguments: &[OsString]) -> Result<(Confinement, &[OsString]), String> {
    let bad = || "the arguments are not those of a launcher".to_owned();
    let (count, rest) = arguments.split_first().ok_or_else(bad)?;
    let count = count.to_str().and_then(|text| text.parse().ok()).ok_or_else(bad)?;
    let (parts, argv) = rest.split_at_checked(count).ok_or_else(bad)?;
    let text: Option<String> = parts.iter().map(|part| part.to_str()).collect();
    let confinement = Confinement::decode(&text.ok_or_else(bad)?)?;
    if argv.is_empty() {
        Err("there is no program to run".to_owned())
    } else {
        Ok((confinement, argv))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_survives_wrapping_whatever_its_size() {
        let launcher = Launcher::new("/bin/proctor", ["__sandbox"]);
        let mut confinement = Confinement::new();
        for size in [0, 5000] {
            confinement.readable = (0..size).map(|n| format!("/some/folder/ü{n}").into()).collect();
            let wrapped = launcher.wrap(&confinement, ["ruby", "-e", "p 1"]);
            assert!(wrapped.iter().all(|word| word.len() <= PART));
            assert_eq!(wrapped[..3], ["/bin/proctor", "__sandbox", "run"]);
            let (read, argv) = unwrap(&wrapped[3..]).unwrap();
            assert_eq!(read, confinement);
            assert_eq!(argv, ["ruby", "-e", "p 1"]);
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for words in [&[][..], &["x"], &["9", "{}"], &["1", "{}", "true"], &["0"]] {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            assert!(unwrap(&words).is_err());
        }
        let wrapped = Launcher::new("p", ["s"]).wrap(&Confinement::new(), [] as [&str; 0]);
        assert_eq!(unwrap(&wrapped[3..]).unwrap_err(), "there is no program to run");
    }
}
