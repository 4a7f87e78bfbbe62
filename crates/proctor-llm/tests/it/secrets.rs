//! A key goes to the server, and nowhere else.

use std::path::Path;
use std::sync::Arc;

use proctor_llm::wire::Dialect;
use proctor_llm::{
    Cache, Endpoint, HttpModel, Layers, Model, Player, Purpose, Recorder, ReplayMode,
    ReplayedModel, Request,
};
use proctor_redact::{Redactor, Secret};
use serde_json::{Map, json};

use crate::server::{Reaction, Server};

const KEY: &str = "kq7-Vd93-wont-leak";

fn files(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

/// A server that repeats the key wherever it can: in an answer, and in a refusal.
async fn indiscreet() -> Server {
    Server::reacting(|seen| {
        let key = seen.header("authorization").to_owned();
        if seen.body.to_string().contains("refuse") {
            return Reaction::json(
                401,
                &json!({"error": {"message": format!("wrong key: {key}")}}),
            );
        }
        Reaction::json(
            200,
            &json!({"choices": [{"message": {"content": format!("you are {key}")}}]}),
        )
    })
    .await
}

#[tokio::test]
async fn keys_are_in_no_file_no_message_and_no_debug_output() {
    let server = indiscreet().await;
    let folder = tempfile::tempdir().unwrap();
    let redactor = || Redactor::new([Secret::new(KEY)]);
    let cassette = folder.path().join("run.jsonl");
    let endpoint = Endpoint { key: Some(Secret::new(KEY)), ..Endpoint::new(&server.url, "m") };
    let mut shown = format!("{endpoint:?}");
    let backend = HttpModel::new(Dialect::OpenAi, endpoint).unwrap();
    shown += &format!("{backend:?}");
    let model = Layers {
        cache: Some(Arc::new(Cache::open(folder.path().join("cache"), redactor()).unwrap())),
        recorder: Some(Arc::new(Recorder::create(&cassette, &Map::new(), redactor()).unwrap())),
        ..Layers::default()
    }
    .wrap(backend);
    let answer = model.ask(&Request::ask(Purpose::Agent, "who am I?")).await.unwrap();
    shown += &answer.raw;
    let asked = Request::ask(Purpose::Agent, format!("refuse {KEY}"));
    let error = model.ask(&asked).await.unwrap_err();
    shown += &format!("{error} {error:?}");
    assert!(!shown.contains(KEY), "{shown}");
    assert!(server.seen()[0].header("authorization").contains(KEY));

    let mut found = Vec::new();
    files(folder.path(), &mut found);
    assert_eq!(found.len(), 2);
    for path in found {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains(KEY), "the key is in {}", path.display());
    }

    let player = Player::load(&cassette, ReplayMode::Keyed, redactor()).unwrap();
    let replay = ReplayedModel::new(Arc::new(player), "m");
    assert_eq!(replay.ask(&asked).await.unwrap_err(), error);
    let replayed = replay.ask(&Request::ask(Purpose::Agent, "who am I?")).await.unwrap();
    assert_eq!((replayed.text.as_str(), replayed.cached), ("you are Bearer [redacted]", true));
}
