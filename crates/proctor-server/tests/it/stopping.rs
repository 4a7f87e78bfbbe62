//! Runs of other processes are stopped at their control sockets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use proctor_record::control::{ControlServer, ControlledRun, State, Status};
use serde_json::json;

use crate::test_server::{TestServer, small_run};

/// A run of somebody else's.
#[derive(Clone, Default)]
struct Elsewhere {
    cancelled: Arc<AtomicU64>,
    killed: Arc<AtomicU64>,
}

impl ControlledRun for Elsewhere {
    fn status(&self) -> Status {
        Status {
            v: 0,
            run_id: "0190-a".to_owned(),
            pid: 0,
            state: State::Running,
            completed: 0,
            total: 2,
            failures: 0,
        }
    }

    fn cancel(&self) {
        self.cancelled.fetch_add(1, Ordering::SeqCst);
    }

    fn kill(&self) {
        self.killed.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_run_is_stopped_whoever_started_it() {
    let fixture = TestServer::new();
    fixture.record("0190-a", &small_run()[..3]);
    let over = fixture.post("/api/runs/0190-a/cancel", "");
    assert_eq!(over.json(), json!({"status": "not_running", "run_id": "0190-a"}));
    let run = Elsewhere::default();
    let answering =
        ControlServer::start(&fixture.store.runs_folder().join("0190-a"), run.clone()).unwrap();
    assert_eq!(fixture.post("/api/runs/last/cancel", "").json()["status"], "cancelled");
    assert_eq!(fixture.post("/api/runs/0190/cancel?now=true", "").json()["status"], "cancelled");
    assert_eq!((run.cancelled.load(Ordering::SeqCst), run.killed.load(Ordering::SeqCst)), (1, 1));
    drop(answering);
    assert_eq!(fixture.post("/api/runs/0190-a/cancel", "").json()["status"], "not_running");
    assert_eq!(fixture.post("/api/runs/nobody/cancel", "").status, 404);
    assert_eq!(fixture.post("/api/runs/last/cancel?later=1", "").status, 400);
    assert_eq!(fixture.get("/api/runs/last/cancel").status, 405);
    let shows_only = TestServer::with(None);
    shows_only.record("0190-a", &small_run()[..3]);
    assert_eq!(shows_only.post("/api/runs/last/cancel", "").status, 409);
    assert_eq!(shows_only.get("/api/runs").json()["can_stop"], false);
}
