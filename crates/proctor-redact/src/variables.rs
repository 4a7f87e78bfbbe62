//! Which environment variables hold secrets, by their names.
//!
//! | rule | examples |
//! |---|---|
//! | known variables of providers, services and package registries ([`KNOWN_SECRETS`]) | `ANTHROPIC_API_KEY`, `PGPASSWORD`, `_AUTH` |
//! | known variables that only sound like secrets ([`KNOWN_HARMLESS`]) | `SSH_AUTH_SOCK`, `PWD` |
//! | the last word is `TOKEN`, `SECRET`, `PASSWORD`, `PASS`, `AUTH`, `CREDENTIALS`, … | `DEPLOY_TOKEN`, `SMTP_PASS` |
//! | the last words are `API_KEY`, `PRIVATE_KEY`, `ACCESS_KEY`, … | `ACME_API_KEY`, `TLS_PRIVATE_KEY` |
//! | addresses of databases, queues and webhooks | `DATABASE_URL`, `SENTRY_DSN` |
//! | a number behind any of these | `GITHUB_TOKEN_2` |
//!
//! Not secrets: names that go on after such a word (`MAX_TOKEN_LIMIT`, `TOKEN_FILE`), plurals (`MAX_TOKENS`), words that contain one
//! (`TOKENIZERS_PARALLELISM`, `BYPASS`), switches (`REQUIRE_AUTH`) and special tokens of models (`EOS_TOKEN`).

/// Variables that are secrets although no rule says so, and those of the large providers for the reader's sake.
const KNOWN_SECRETS: &[&str] = &[
    // Models.
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "AZURE_CLIENT_SECRET",
    "AZURE_OPENAI_API_KEY",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "COHERE_API_KEY",
    "CO_API_KEY",
    "DEEPSEEK_API_KEY",
    "FIREWORKS_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GROQ_API_KEY",
    "HF_TOKEN",
    "HUGGINGFACEHUB_API_TOKEN",
    "HUGGING_FACE_HUB_TOKEN",
    "MISTRAL_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "PERPLEXITY_API_KEY",
    "PROCTOR_TOKEN",
    "REPLICATE_API_TOKEN",
    "TOGETHER_API_KEY",
    "VOYAGE_API_KEY",
    "XAI_API_KEY",
    // Clouds.
    "AWS_ACCESS_KEY_ID",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AZURE_STORAGE_CONNECTION_STRING",
    "CLOUDFLARE_API_TOKEN",
    "DIGITALOCEAN_ACCESS_TOKEN",
    // Code and packages.
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
    "ACTIONS_RUNTIME_TOKEN",
    "CARGO_REGISTRY_TOKEN",
    "CI_JOB_TOKEN",
    "GEM_HOST_API_KEY",
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "GITLAB_TOKEN",
    "NODE_AUTH_TOKEN",
    "NPM_CONFIG__AUTH",
    "NPM_TOKEN",
    "PYPI_API_TOKEN",
    "TWINE_PASSWORD",
    // Services.
    "SENDGRID_API_KEY",
    "SLACK_BOT_TOKEN",
    "SLACK_SIGNING_SECRET",
    "SLACK_WEBHOOK_URL",
    "STRIPE_API_KEY",
    "STRIPE_SECRET_KEY",
    "TWILIO_AUTH_TOKEN",
    // Programs.
    "ANSIBLE_VAULT_PASSWORD",
    "BORG_PASSPHRASE",
    "DOCKER_AUTH_CONFIG",
    "MYSQL_PWD",
    "PGPASSWORD",
    "RAILS_MASTER_KEY",
    "REDISCLI_AUTH",
    "RESTIC_PASSWORD",
    "SECRET_KEY_BASE",
    "SSHPASS",
    "VAULT_TOKEN",
];

/// Variables that a rule would take for secrets.
const KNOWN_HARMLESS: &[&str] = &["OLDPWD", "PWD", "XAUTHORITY"];

/// Last words of names of secrets.
const LAST_WORDS: &[&str] = &[
    "APIKEY",
    "APITOKEN",
    "AUTH",
    "AUTHTOKEN",
    "CREDENTIAL",
    "CREDENTIALS",
    "CREDS",
    "JWT",
    "PASS",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PAT",
    "PRIVATEKEY",
    "PW",
    "PWD",
    "SECRET",
    "SECRETKEY",
    "SECRETS",
    "TOKEN",
];

/// What stands before `KEY` in names of secrets.
const KINDS_OF_KEYS: &[&str] = &[
    "ACCESS",
    "ACCOUNT",
    "ADMIN",
    "API",
    "APP",
    "AUTH",
    "CLIENT",
    "DEPLOY",
    "ENCRYPTION",
    "HMAC",
    "LICENSE",
    "MASTER",
    "PRIVATE",
    "SECRET",
    "SERVICE",
    "SIGNING",
    "SSH",
    "STORAGE",
    "SUBSCRIPTION",
];

/// Before `URL`, `URI` or `DSN`: addresses that usually hold a password.
const ADDRESSED: &[&str] = &[
    "AMQP",
    "BROKER",
    "CLICKHOUSE",
    "CLOUDAMQP",
    "COUCHDB",
    "DATABASE",
    "DB",
    "ELASTICSEARCH",
    "MARIADB",
    "MONGO",
    "MONGODB",
    "MONGOLAB",
    "MYSQL",
    "PG",
    "POSTGRES",
    "POSTGRESQL",
    "RABBITMQ",
    "REDIS",
    "SENTRY",
    "SMTP",
    "WEBHOOK",
];

/// First words of switches and numbers.
const FIRST_WORDS_OF_SETTINGS: &[&str] = &[
    "ALLOW", "DISABLE", "ENABLE", "HAS", "IGNORE", "IS", "MAX", "MIN", "NO", "NUM", "REQUIRE",
    "SKIP", "USE", "WITH",
];

/// What stands before `TOKEN` and `PASS` where they mean something else.
const OTHER_MEANINGS: &[&str] = &[
    "BOS", "CLS", "DRY", "EOS", "FIRST", "LAST", "MASK", "MULTI", "ONE", "PAD", "PER", "SECOND",
    "SEP", "SINGLE", "STOP", "TWO", "UNK",
];

/// Whether an environment variable of this name holds a secret. Case does not matter.
pub fn is_secret_variable(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    if KNOWN_SECRETS.contains(&name.as_str()) {
        return true;
    }
    if KNOWN_HARMLESS.contains(&name.as_str()) {
        return false;
    }
    let mut words: Vec<&str> = name
        .split(|it: char| !it.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    while words.len() > 1
        && words.last().is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit()))
    {
        words.pop();
    }
    let Some((last, before)) = words.split_last() else { return false };
    let previous = before.last().copied().unwrap_or_default();
    if before.first().is_some_and(|first| FIRST_WORDS_OF_SETTINGS.contains(first)) {
        return false;
    }
    match *last {
        "KEY" => KINDS_OF_KEYS.contains(&previous),
        "URL" | "URI" | "DSN" => ADDRESSED.contains(&previous),
        "STRING" => previous == "CONNECTION",
        "TOKEN" | "PASS" if OTHER_MEANINGS.contains(&previous) => false,
        last => {
            let last = last.trim_end_matches(|it: char| it.is_ascii_digit());
            LAST_WORDS.contains(&last) || last.ends_with("PASSWORD")
        }
    }
}

/// The password in `scheme://user:password@host`.
pub(crate) fn url_password(value: &str) -> Option<&str> {
    let (_, rest) = value.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (user, _) = authority.rsplit_once('@')?;
    let (_, password) = user.split_once(':')?;
    (!password.is_empty()).then_some(password)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_told_by_their_names() {
        for name in KNOWN_SECRETS {
            assert!(is_secret_variable(name), "{name}");
            assert!(is_secret_variable(&name.to_ascii_lowercase()), "{name}");
        }
        for name in [
            "ACME_API_KEY",
            "acme_api_key",
            "ACME_APIKEY",
            "MY_TOKEN",
            "GITHUB_TOKEN_2",
            "TOKEN",
            "PASSWORD",
            "DB_PASSWORD",
            "DBPASSWORD",
            "SMTP_PASS",
            "CLIENT_SECRET",
            "APP_CREDENTIALS",
            "TLS_PRIVATE_KEY",
            "NPM_AUTH",
            "DATABASE_URL",
            "STAGING_DATABASE_URL",
            "REDIS_URL",
            "MONGODB_URI",
            "SENTRY_DSN",
            "DJANGO_SECRET_KEY",
            "FTP_PWD",
            "GPG_PASSPHRASE",
            "PASSWORD1",
            "npm_config_//registry.example/:_authToken",
            "CELERY_BROKER_URL",
            "COSMOS_CONNECTION_STRING",
            "SLACK_WEBHOOK_URL",
            "AZURE_STORAGE_KEY",
        ] {
            assert!(is_secret_variable(name), "{name}");
        }
    }

    #[test]
    fn names_that_only_sound_like_secrets_are_left() {
        for name in [
            "",
            "_",
            "PATH",
            "HOME",
            "PWD",
            "OLDPWD",
            "TOKENIZERS_PARALLELISM",
            "SSH_AUTH_SOCK",
            "GPG_TTY",
            "XAUTHORITY",
            "MODEL_TOKEN_LIMIT",
            "MAX_TOKENS",
            "MAX_TOKEN",
            "NUM_TOKENS",
            "TOKEN_COUNT",
            "EOS_TOKEN",
            "COST_PER_TOKEN",
            "PASSENGER_ROOT",
            "BYPASS",
            "COMPASS",
            "SSH_ASKPASS",
            "GIT_ASKPASS",
            "AUTHOR",
            "GIT_AUTHOR_NAME",
            "KEYBOARD",
            "HOTKEY",
            "PRIMARY_KEY",
            "SORT_KEY",
            "FIRST_PASS",
            "REQUIRE_AUTH",
            "DISABLE_AUTH",
            "SECRETARY",
            "PATTERN",
            "GOPATH",
            "BASE_URL",
            "OPENAI_BASE_URL",
            "HTTP_PROXY_PORT",
            "TOKEN_FILE",
            "PASSWORD_FILE",
            "AUTH_URL",
            "KEY",
            "CACHE_KEY",
            "MONKEY",
            "DBUS_SESSION_BUS_ADDRESS",
            "XDG_SESSION_ID",
            "LS_COLORS",
        ] {
            assert!(!is_secret_variable(name), "{name}");
        }
    }

    #[test]
    fn passwords_of_urls() {
        assert_eq!(url_password("postgres://me:hush-hush@db:5432/x"), Some("hush-hush"));
        assert_eq!(url_password("postgres://me:a@b@db/x"), Some("a@b"));
        for none in [
            "postgres://db/x",
            "postgres://me@db/x",
            "postgres://me:@db",
            "plain",
            "http://x/a:b@c",
        ] {
            assert_eq!(url_password(none), None, "{none}");
        }
    }
}
