// Charts of the last hour of the gateway that answers. Each has a sentence for people who do not see it, and all of them have a table.

import { useDocument } from "./api.js";
import { html, Problem, Section, Table, Text, text } from "./parts.js";
import { words } from "./words.js";

const say = words.overview;
const HOUR = 3_600_000;
const WIDTH = 240;
const HEIGHT = 60;

/** Samples in a row of the table: five minutes. */
const ROW = 20;

/** The charts. A change of `turn` loads them again. */
export function LastHour({ turn }) {
  const { data, problem } = useDocument("/admin/samples", turn);
  return html`<${Section} title=${say.hour}>
    <${Problem} of=${problem} />
    ${data && html`<p>${say.hourLead(text(data.gateway))}</p>`}
    ${data && (data.samples.length ? html`<${Charts} of=${data} />` : html`<p>${say.noSamples}</p>`)}
  <//>`;
}

/** The lines of all charts: their values by sample. */
function linesOf({ samples, interval_s: interval, memory_limit_bytes: limit }) {
  const each = (value) => samples.map((sample) => ({ at: new Date(sample.at).getTime(), value: value(sample) }));
  return {
    requests: [{ name: say.requests, points: each((one) => one.answers / interval) }],
    faults: [{ name: say.faultsChart, points: each((one) => one.faults / interval), tone: "fault" }],
    latency: [
      { name: say.slowest, points: each((one) => one.p95_ms) },
      { name: say.half, points: each((one) => one.median_ms), tone: "second" },
    ],
    memory: [{ name: say.memoryChart, points: each((one) => (limit ? (one.memory_held_bytes / limit) * 100 : 0)), most: 100 }],
  };
}

function Charts({ of }) {
  const { requests, faults, latency, memory } = linesOf(of);
  const columns = [requests[0], faults[0], ...latency, memory[0]].map((line, number) => [
    [2, 3].includes(number) ? `${say.latencyChart}: ${line.name}` : line.name,
    (row) => shown(highest(line.points.slice(row.from, row.to))),
  ]);
  const rows = Array.from({ length: Math.ceil(of.samples.length / ROW) }, (_, row) => ({ from: row * ROW, to: (row + 1) * ROW })).reverse();
  const last = (row) => of.samples[Math.min(row.to, of.samples.length) - 1].at;
  return html`
    <div class="charts">
      <${Chart} name=${say.requests} lines=${requests} />
      <${Chart} name=${say.faultsChart} lines=${faults} />
      <${Chart} name=${say.latencyChart} lines=${latency} />
      <${Chart} name=${say.memoryChart} lines=${memory} />
    </div>
    <details><summary>${say.asTable}</summary>
      <${Table} caption=${say.tableCaption} rows=${rows} columns=${[[say.until, (row) => html`<${Text} of=${last(row)} />`], ...columns]} />
    </details>
  `;
}

const shown = (value) => (value === null || value === undefined ? words.nothing : words.number(value));
const highest = (points) => points.reduce((most, { value }) => (value === null ? most : Math.max(most ?? 0, value)), null);

/** One chart with all of its lines. The sentence below it is its text, so that the picture itself says nothing to a screen reader. */
function Chart({ name, lines }) {
  const end = lines[0].points.at(-1).at;
  const minutes = Math.max(Math.round((end - lines[0].points[0].at) / 60_000), 1);
  const top = Math.max(...lines.map((line) => line.most ?? highest(line.points) ?? 0)) || 1;
  const sentence = (line) => {
    const title = lines.length > 1 ? line.name : name;
    const most = highest(line.points);
    return most === null ? say.noValue(title, minutes) : say.summary(title, shown(line.points.at(-1).value), shown(most), minutes);
  };
  return html`<figure class="chart">
    <figcaption>${name}</figcaption>
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true">
      <line class="axis" x1="0" x2=${WIDTH} y1=${HEIGHT} y2=${HEIGHT} />
      ${lines.map((line) => html`<path class="line ${line.tone ?? ""}" d=${path(line.points, end, top)} />`)}
    </svg>
    ${lines.map((line) => html`<p class="small">${lines.length > 1 && html`<span class="key ${line.tone ?? ""}" aria-hidden="true"></span> `}${sentence(line)}</p>`)}
  </figure>`;
}

/** The path of a line over the hour before `end`. Where a value is missing, the line has a gap. */
function path(points, end, top) {
  let isOpen = false;
  return points.map(({ at, value }) => {
    const command = isOpen ? "L" : "M";
    isOpen = value !== null;
    if (!isOpen) return "";
    const x = Math.max(WIDTH - ((end - at) / HOUR) * WIDTH, 0);
    // A single value is a short line, since a point has no length.
    return `${command}${x.toFixed(1)} ${(HEIGHT - (value / top) * (HEIGHT - 4) - 1).toFixed(1)}h0.5`;
  }).join("");
}
