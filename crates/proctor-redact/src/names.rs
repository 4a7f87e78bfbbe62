//! Names of headers and members whose values are secrets.

/// Whether the name of a header or member says that its value is a secret.
pub fn names_a_secret(name: &str) -> bool {
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    matches!(
        plain.as_str(),
        "authorization"
            | "proxyauthorization"
            | "cookie"
            | "setcookie"
            | "apikey"
            | "xapikey"
            | "password"
            | "secret"
            | "clientsecret"
            | "accesstoken"
            | "refreshtoken"
    )
}
