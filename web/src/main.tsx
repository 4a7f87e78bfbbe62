import { render } from "preact";

import { App } from "./app";
import { fileSource, serverSource } from "./source";
import { applyTheme, source } from "./state";
import "./style.css";

const embedded = document.getElementById("proctor-events");
source.value = embedded ? fileSource(embedded.textContent ?? "") : serverSource();
applyTheme();
render(<App />, document.getElementById("app")!);
