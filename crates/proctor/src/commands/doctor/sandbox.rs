//! What sandboxes this machine allows: one line for each group of layers.

use proctor_sandbox::{Abilities, Launcher, Layer};

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
    ("limits", &[Layer::Limits, Layer::ProcessLimit]),
];

pub(super) fn section(launcher: Option<&Launcher>) -> Section {
    let asked = launcher.map_or_else(
        || Err("the path of this program is not known".to_owned()),
        |launcher| Abilities::probe(launcher).map_err(|error| error.to_string()),
    );
    let checks = match asked {
        Ok(abilities) => {
            GROUPS.iter().map(|(name, layers)| group(name, layers, &abilities)).collect()
        }
        Err(reason) => vec![check("launcher", CheckResult::Note, reason)],
    };
    Section { title: "Sandbox (for this user)", checks }
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
                "resource limits, process limit"
            ]
        );
    }
}
