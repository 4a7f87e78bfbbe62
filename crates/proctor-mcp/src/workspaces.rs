//! The eight test tools, as the workspaces' own crate describes and does them.

use std::sync::Arc;

use proctor_workspace::{CallContext, Progress as Step, ToolDescription};
use serde_json::Value;

use crate::error::ToolError;
use crate::schema;
use crate::table::{Context, Group, Hints, Progress, Tool};

/// The rows.
pub(crate) fn tools() -> Vec<Tool> {
    proctor_workspace::descriptions().into_iter().map(row).collect()
}

fn row(described: ToolDescription) -> Tool {
    let name = described.name;
    let hints = match name {
        _ if described.read_only => Hints::LOOKS,
        "test_run" => Hints::RUNS,
        "test_cleanup" => Hints { idempotent: true, ..Hints::ENDS },
        _ => Hints::ADDS,
    };
    Tool {
        name: name.to_owned(),
        title: title(name).to_owned(),
        description: described.description.to_owned(),
        group: Group::Workspaces,
        input_schema: schema::tidied(described.input.to_value()),
        output_schema: schema::tidied(described.output.to_value()),
        hints,
        handler: Arc::new(move |engine, arguments, context| {
            Box::pin(async move {
                let arguments = if arguments.is_null() {
                    Value::Object(serde_json::Map::new())
                } else {
                    arguments
                };
                let context = translated(context);
                let done = proctor_workspace::call(engine.workspaces(), name, arguments, &context);
                done.await.map_err(told)
            })
        }),
    }
}

fn title(name: &str) -> &'static str {
    match name {
        "test_setup" => "Create a workspace",
        "test_mock_backend" => "Script the model",
        "test_run" => "Run the orchestrator",
        "test_assert" => "Check what must hold",
        "test_inspect" => "Look at what happened",
        "test_snapshot" => "Remember the files",
        "test_diff" => "Compare the files",
        "test_cleanup" => "Remove a workspace",
        _ => "Test an orchestrator",
    }
}

fn translated(context: Context) -> CallContext {
    let progress = context.progress.map(|tell| -> proctor_workspace::ProgressSink {
        Arc::new(move |step: Step| {
            tell(Progress { done: step.done, total: Some(step.total), message: step.message });
        })
    });
    CallContext { cancel: context.cancel, progress }
}

fn told(error: proctor_workspace::ToolError) -> ToolError {
    let kind = serde_json::to_value(error.kind).unwrap_or_default();
    let told = ToolError::new(kind.as_str().unwrap_or("io"), &error.message).details(error.details);
    match error.hint {
        Some(hint) => told.hint(hint),
        None => told,
    }
}
