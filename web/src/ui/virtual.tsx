// A list of any length of which only what is seen exists.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

interface Props<T> {
  items: readonly T[];
  height: number;
  render: (item: T, place: number) => ComponentChildren;
  keyOf: (item: T, place: number) => string;
  /** The place to keep in sight. */
  focus?: number;
  label: string;
  class?: string;
  role?: "listbox" | "list" | "tree" | "table";
}

const MARGIN = 8;

export function VirtualList<T>({ items, height, render, keyOf, focus, label, class: name, role = "list" }: Props<T>) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, size: 600 });

  useEffect(() => {
    const element = box.current!;
    const measure = () => setView({ top: element.scrollTop, size: element.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, []);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element || focus === undefined || focus < 0) return;
    const top = focus * height;
    if (top < element.scrollTop + height) element.scrollTop = Math.max(0, top - height * 2);
    else if (top + height * 2 > element.scrollTop + element.clientHeight) element.scrollTop = top - element.clientHeight + height * 3;
  }, [focus, items.length]);

  const first = Math.max(0, Math.floor(view.top / height) - MARGIN);
  const last = Math.min(items.length, Math.ceil((view.top + view.size) / height) + MARGIN);
  const shown = [];
  for (let place = first; place < last; place += 1) {
    const item = items[place]!;
    shown.push(
      <div class="v-item" role={role === "list" ? "listitem" : "presentation"} key={keyOf(item, place)} style={{ transform: `translateY(${place * height}px)`, height: `${height}px` }}>
        {render(item, place)}
      </div>,
    );
  }
  return (
    <div class={`v-list ${name ?? ""}`} ref={box} role={role} aria-label={label} tabIndex={-1}>
      <div class="v-space" role="presentation" style={{ height: `${items.length * height}px` }}>{shown}</div>
    </div>
  );
}
