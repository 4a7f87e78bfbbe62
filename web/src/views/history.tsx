// Pass rate, duration and cost over the runs; and what is flaky.

import { ago, duration, money, percent, shortId, when } from "../format";
import type { HistoryPoint } from "../model/types";
import { go, link, route } from "../router";
import { source } from "../state";
import { Badge, Empty, Trouble, useLoaded } from "../ui/parts";

export function HistoryPage() {
  const example = route.value.query.get("example") ?? "";
  const tag = route.value.query.get("tag") ?? "";
  const { value, problem, loading } = useLoaded(() => source.value.history({ example, tag }), [example, tag]);
  const flaky = useLoaded(() => source.value.flaky(), []);
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
        <input name="about" type="search" key={example + tag} defaultValue={tag ? `#${tag}` : example} placeholder="example: id or words · #tag" aria-label="Example or tag" />
        <button type="submit">Show</button>
        {(example || tag) && <a href={link(["history"])}>all examples</a>}
      </form>
      {problem && <Trouble message={problem} />}
      {value?.notes.map((note) => <Trouble message={note} />)}
      <h2 class="title">{title}</h2>
      {!loading && points.length === 0 && !problem && <Empty>No finished run has it.</Empty>}
      {points.length > 0 && (
        <div class="charts">
          <Chart name="Pass rate" points={points} of={(p) => (p.attempts ? p.passed / p.attempts : null)} show={percent} top={1} />
          <Chart name="Duration" points={points} of={(p) => p.duration_ms} show={duration} />
          {points.some((p) => p.cost_usd) && <Chart name="Cost" points={points} of={(p) => p.cost_usd} show={money} />}
        </div>
      )}
      {points.length > 0 && (
        <div class="table-box">
          <table>
            <thead><tr><th>Run</th><th>Commit</th>{example && <th>Status</th>}<th class="r">Passed</th><th class="r">Took</th><th class="r">Cost</th></tr></thead>
            <tbody>
              {points.toReversed().slice(0, 200).map((point) => (
                <tr key={point.run}>
                  <td class="num"><a href={link(example && value?.example ? ["run", point.run, "example", value.example.id] : ["run", point.run])} title={when(point.started_at)}>{ago(point.started_at) || shortId(point.run)}</a></td>
                  <td class="mono">{point.commit?.slice(0, 8)}{point.dirty ? "*" : ""}</td>
                  {example && <td>{point.status && <Badge status={point.status} />}</td>}
                  <td class="r num">{point.passed}/{point.attempts}</td>
                  <td class="r num">{duration(point.duration_ms)}</td>
                  <td class="r num">{point.cost_usd ? money(point.cost_usd) : ""}</td>
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
          <table>
            <thead><tr><th>Example</th><th class="r">Passed</th><th class="r">True rate (95 %)</th><th class="r" title="Runs in which it gave both outcomes">Runs with both outcomes</th><th class="r" title="Clean commits on which some runs passed and others failed">Commits with both outcomes</th><th class="r" title="How often its outcome changed from one of the newest runs to the next">Outcome changes</th><th>Last seen</th></tr></thead>
            <tbody>
              {flaky.value.map((row) => (
                <tr key={row.id}>
                  <td><a href={link(["history"], { example: row.id })}>{row.title}</a></td>
                  <td class="r num">{row.passed}/{row.attempts}</td>
                  <td class="r num">{percent(row.rate_low)} – {percent(row.rate_high)}</td>
                  <td class="r num">{row.mixed_runs}</td>
                  <td class="r num">{row.torn_commits}</td>
                  <td class="r num">{row.changes}</td>
                  <td><a href={link(["run", row.last_seen])}>{shortId(row.last_seen)}</a></td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

interface ChartProps {
  name: string;
  points: HistoryPoint[];
  of: (point: HistoryPoint) => number | null;
  show: (value: number) => string;
  top?: number;
}

function Chart({ name, points, of, show, top }: ChartProps) {
  const values = points.map(of);
  const known = values.filter((value): value is number => value !== null);
  if (known.length === 0) return null;
  const high = top ?? (Math.max(...known) || 1);
  const [width, height] = [320, 90];
  const x = (place: number) => (points.length === 1 ? width / 2 : 6 + (place * (width - 12)) / (points.length - 1));
  const y = (value: number) => height - 6 - (value / high) * (height - 16);
  const line = values.map((value, place) => (value === null ? null : `${x(place).toFixed(1)},${y(value).toFixed(1)}`)).filter(Boolean).join(" ");
  const last = known.at(-1)!;
  return (
    <figure class="chart">
      <figcaption><b>{name}</b> <span class="num">{show(last)}</span> <span class="dim">last · most {show(Math.max(...known))} · least {show(Math.min(...known))}</span></figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={`${name} over ${points.length} runs, last ${show(last)}`}>
        <line class="axis" x1="0" x2={width} y1={height - 6} y2={height - 6} />
        <polyline points={line} />
        {values.map((value, place) => value !== null && (
          <circle key={points[place]!.run} cx={x(place)} cy={y(value)} r={points.length > 60 ? 1.5 : 3} onClick={() => go(link(["run", points[place]!.run]))}>
            <title>{`${when(points[place]!.started_at)}: ${show(value)}`}</title>
          </circle>
        ))}
      </svg>
    </figure>
  );
}
