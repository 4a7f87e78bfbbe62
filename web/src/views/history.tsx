// Pass rate, duration and cost over the runs; and what is flaky.

import { useRef } from "preact/hooks";

import { day, duration, money, percent, shortId, when } from "../format";
import { go, link, route } from "../router";
import { source } from "../state";
import { useActions } from "../ui/keys";
import { Badge, Empty, Trouble, useLoaded } from "../ui/parts";
import { Chart } from "./chart";

export function HistoryPage() {
  const example = route.value.query.get("example") ?? "";
  const tag = route.value.query.get("tag") ?? "";
  const { value, problem, loading } = useLoaded(() => source.value.history({ example, tag }), [example, tag]);
  const flaky = useLoaded(() => source.value.flaky(), []);
  const input = useRef<HTMLInputElement>(null);
  useActions((action) => action === "filter" && (input.current?.focus(), true));
  const priced = value?.points.some((point) => point.cost_usd) ?? false;
  const points = [...(value?.points ?? [])].reverse();
  const title = example ? (value?.example?.title ?? example) : tag ? `Examples tagged ${tag}` : "All examples";
  return (
    <section class="page">
      <form class="bar" onSubmit={(event) => {
        event.preventDefault();
        const text = (new FormData(event.currentTarget).get("about") as string).trim();
        go(text.startsWith("#") ? link(["history"], { tag: text.slice(1) }) : link(["history"], { example: text }));
      }}>
        <h1>History</h1>
        <input ref={input} name="about" type="search" key={example + tag} defaultValue={tag ? `#${tag}` : example} placeholder="example: id or words · #tag" aria-label="Example or tag" />
        <button type="submit">Show</button>
        {(example || tag) && <a href={link(["history"])}>all examples</a>}
      </form>
      {problem && <Trouble message={problem} />}
      {value?.notes.map((note) => <Trouble message={note} />)}
      <h2 class="title">{title}</h2>
      {!loading && points.length === 0 && !problem && <Empty>No finished run has it.</Empty>}
      {points.length > 0 && (
        <div class="charts">
          <Chart name="Pass rate" unit="share of attempts" points={points} of={(p) => (p.attempts ? p.passed / p.attempts : null)} show={percent} top={1} />
          <Chart name="Duration" unit={example ? "of the example" : "of the run"} points={points} of={(p) => p.duration_ms} show={duration} />
          {points.some((p) => p.cost_usd) && <Chart name="Cost" unit="US dollars" points={points} of={(p) => p.cost_usd} show={money} />}
        </div>
      )}
      {points.length > 0 && (
        <div class="table-box">
          <table class="cards-on-phone">
            <thead><tr><th>Run</th><th>Commit</th>{example && <th>Status</th>}<th class="r">Passed</th><th class="r">Took</th>{priced && <th class="r">Cost</th>}</tr></thead>
            <tbody>
              {points.toReversed().slice(0, 200).map((point) => (
                <tr key={point.run}>
                  <td class="num title"><a href={link(example && value?.example ? ["run", point.run, "example", value.example.id] : ["run", point.run])} title={when(point.started_at)}>{day(point.started_at) || shortId(point.run)}</a></td>
                  <td class="mono" data-label="commit">{point.commit?.slice(0, 8)}{point.dirty ? "*" : ""}</td>
                  {example && <td data-label="status">{point.status && <Badge status={point.status} />}</td>}
                  <td class="r num" data-label="passed">{point.passed}/{point.attempts}</td>
                  <td class="r num" data-label="took">{duration(point.duration_ms)}</td>
                  {priced && <td class="r num" data-label="cost">{point.cost_usd ? money(point.cost_usd) : ""}</td>}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <h2>Flaky examples</h2>
      {flaky.problem && <Trouble message={flaky.problem} />}
      {flaky.value?.length === 0 && <Empty>None: no example gave both outcomes in one run or on one commit, or kept changing its outcome from run to run.</Empty>}
      {!!flaky.value?.length && (
        <div class="table-box">
          <table class="cards-on-phone">
            <thead><tr><th>Example</th><th class="r">Passed</th><th class="r">True rate (95 %)</th><th class="r" title="Runs in which it gave both outcomes">Runs with both outcomes</th><th class="r" title="Clean commits on which some runs passed and others failed">Commits with both outcomes</th><th class="r" title="How often its outcome changed from one of the newest runs to the next">Outcome changes</th><th>Last seen</th></tr></thead>
            <tbody>
              {flaky.value.map((row) => (
                <tr key={row.id}>
                  <td class="title"><a href={link(["history"], { example: row.id })}>{row.title}</a></td>
                  <td class="r num" data-label="passed">{row.passed}/{row.attempts}</td>
                  <td class="r num" data-label="true rate (95 %)">{percent(row.rate_low)} – {percent(row.rate_high)}</td>
                  <td class="r num" data-label="runs with both outcomes">{row.mixed_runs}</td>
                  <td class="r num" data-label="commits with both outcomes">{row.torn_commits}</td>
                  <td class="r num" data-label="outcome changes">{row.changes}</td>
                  <td data-label="last seen"><a href={link(["run", row.last_seen])}>{shortId(row.last_seen)}</a></td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
