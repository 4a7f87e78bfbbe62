import { useEffect, useRef } from "preact/hooks";

import { helpOpen } from "../state";
import { SHORTCUTS } from "./keys";

export function Help() {
  const close = useRef<HTMLButtonElement>(null);
  useEffect(() => close.current?.focus(), []);
  return (
    <div class="veil" onClick={() => { helpOpen.value = false; }}>
      <div class="help" role="dialog" aria-modal="true" aria-label="Keyboard shortcuts" onClick={(event) => event.stopPropagation()}>
        <h2>Keyboard</h2>
        <dl>{SHORTCUTS.map(([keys, what]) => <><dt>{keys.split(" ").map((key) => <kbd>{key}</kbd>)}</dt><dd>{what}</dd></>)}</dl>
        <button type="button" ref={close} onClick={() => { helpOpen.value = false; }}>Close</button>
      </div>
    </div>
  );
}
