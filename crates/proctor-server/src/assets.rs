//! The viewer: built from `web/`, checked in, part of the binary.

use axum::http::header::CONTENT_TYPE;
use axum::response::{Html, IntoResponse, Response};

use crate::api::Path;
use crate::error::ApiError;

pub(crate) const SCRIPT: &str = include_str!("../../../web/dist/app.js");
pub(crate) const STYLE: &str = include_str!("../../../web/dist/app.css");

const ICON: &str = r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#3f5bd9"/><path d="M4 8.5 7 11.5 12 5" stroke="#fff" stroke-width="2" fill="none" stroke-linecap="round" stroke-linejoin="round"/></svg>"##;

const PAGE: &str = r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Proctor</title>
<link rel="icon" href="/assets/icon.svg">
<link rel="stylesheet" href="/assets/app.css">
<script type="module" src="/assets/app.js"></script>
</head>
<body><div id="app"></div><noscript>This page needs JavaScript; `proctor show` prints a run without.</noscript></body>
</html>
"#;

pub(crate) async fn page() -> Html<&'static str> {
    Html(PAGE)
}

pub(crate) async fn file(Path(name): Path<String>) -> Result<Response, ApiError> {
    let (kind, text) = match name.as_str() {
        "app.js" => ("text/javascript; charset=utf-8", SCRIPT),
        "app.css" => ("text/css; charset=utf-8", STYLE),
        "icon.svg" => ("image/svg+xml", ICON),
        _ => return Err(ApiError::not_found("no such file")),
    };
    Ok(([(CONTENT_TYPE, kind)], text).into_response())
}
