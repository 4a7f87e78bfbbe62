//! What sandboxes this machine allows: one line for each group of layers.

use proctor_sandbox::{Abilities, Launcher, Layer, ProbeError};

use super::{Check, CheckResult, Section, check};

/// Groups of layers, by what they protect.
const GROUPS: [(&str, &[Layer]); 5] = [
    (
        "namespaces",
        &[
            Layer::UserNamespace,
            Layer::MountNamespace,
            Layer::PidNamespace,
            Layer::IpcNamespace,
            Layer::UtsNamespace,
            Layer::CgroupNamespace,
        ],
    ),
    ("network", &[Layer::NetworkNamespace]),
    ("Landlock", &[Layer::Landlock]),
    ("call filter", &[Layer::SystemCallFilter]),
    ("limits", &[Layer::Limits, Layer::ProcessLimit, Layer::DiskLimit]),
];

/// A user without privileges that every system has.
const ORDINARY_USER: u32 = 65534;

/// What this user can have, and the other sort of user: an ordinary one if this is root, root otherwise.
pub(super) fn sections(launcher: Option<&Launcher>) -> Vec<Section> {
    let Some(launcher) = launcher else {
        let unknown = check("launcher", CheckResult::Note, "the path of this program is not known");
        return vec![Section { title: OWN, checks: vec![unknown] }];
    };
    let own = Abilities::probe(launcher);
    let other = if rustix::process::getuid().is_root() {
        let ordinary = Abilities::probe_as(launcher, ORDINARY_USER);
        Section { title: "Sandbox (for a user who is not root)", checks: groups(&ordinary) }
    } else {
        Section { title: "Sandbox (for root)", checks: vec![for_root(&own)] }
    };
    vec![Section { title: OWN, checks: groups(&own) }, other]
}

const OWN: &str = "Sandbox (for this user)";

fn groups(asked: &Result<Abilities, ProbeError>) -> Vec<Check> {
    match asked {
        Ok(abilities) => {
            GROUPS.iter().map(|(name, layers)| group(name, layers, abilities)).collect()
        }
        Err(error) => vec![check("launcher", CheckResult::Note, error.to_string())],
    }
}

/// Only root can try as root. Where nothing is missing, there is nothing to add.
fn for_root(own: &Result<Abilities, ProbeError>) -> Check {
    match own {
        Ok(abilities) if abilities.is_complete() => {
            check("more layers", CheckResult::Ok, "none to add: this user has every layer")
        }
        _ => check("more layers", CheckResult::Note, "not tried: only root can")
            .way_out("`proctor doctor` as root shows what root and an ordinary user have"),
    }
}

fn group(name: &str, layers: &[Layer], abilities: &Abilities) -> Check {
    let missing: Vec<String> = layers
        .iter()
        .filter_map(|layer| Some((layer, abilities.missing.get(layer)?)))
        .map(|(layer, why)| format!("no {} ({why}): {}", layer.name(), layer.without_it()))
        .collect();
    if !missing.is_empty() {
        return check(name, CheckResult::Note, missing.join("\n"))
            .way_out("scenarios with `sandbox:` run only with `allow_missing: true`");
    }
    let finding = match layers {
        [Layer::Landlock] => format!("version {}", abilities.landlock_version),
        layers => layers.iter().map(|layer| layer.name()).collect::<Vec<_>>().join(", "),
    };
    check(name, CheckResult::Ok, finding)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layer_is_in_one_group() {
        let mut grouped: Vec<Layer> =
            GROUPS.iter().flat_map(|(_, layers)| layers.iter().copied()).collect();
        grouped.sort_unstable();
        assert_eq!(grouped, Layer::ALL);
    }

    #[test]
    fn what_root_would_add_is_known_or_not_tried() {
        let complete = Abilities { missing: [].into(), ..Abilities::none("") };
        assert_eq!(for_root(&Ok(complete)).verdict, CheckResult::Ok);
        let unknown = for_root(&Ok(Abilities::none("no")));
        assert_eq!(unknown.finding, "not tried: only root can");
        assert_eq!(unknown.verdict, CheckResult::Note);
    }

    #[test]
    fn what_is_missing_is_said_with_reason_and_consequence() {
        let mut abilities = Abilities::none("not permitted");
        abilities.missing.retain(|layer, _| *layer == Layer::UtsNamespace);
        abilities.landlock_version = 7;
        let found: Vec<String> =
            GROUPS.iter().map(|(name, layers)| group(name, layers, &abilities).finding).collect();
        assert_eq!(
            found,
            [
                "no UTS namespace (not permitted): the name of the host is visible",
                "network namespace",
                "version 7",
                "system call filter",
                "resource limits, process limit, disk limit"
            ]
        );
    }
}
