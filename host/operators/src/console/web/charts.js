// Charts of the last hour of the gateway that answers. Each has axes with their units, a point under the pointer, a sentence for people
// who do not see it, and all of them have a table.

import { useState } from "preact/hooks";
import { html, Section, Table, Text, text } from "./parts.js";
import { words } from "./words.js";

const say = words.overview;
const HOUR = 3_600_000;
const WIDTH = 240;
const HEIGHT = 60;

/** Samples in a row of the table: five minutes. */
const ROW = 20;

/** The charts of the samples of a gateway. */
export const LastHour = ({ of }) => html`<${Section} title=${say.hour}>
  <p>${say.hourLead(text(of.gateway))}</p>
  ${of.samples.length ? html`<${Charts} of=${of} />` : html`<p>${say.noSamples}</p>`}
<//>`;

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
      <${Chart} name=${say.requests} unit="/s" lines=${requests} />
      <${Chart} name=${say.faultsChart} unit="/s" lines=${faults} />
      <${Chart} name=${say.latencyChart} unit="ms" lines=${latency} />
      <${Chart} name=${say.memoryChart} unit="%" lines=${memory} />
    </div>
    <details><summary>${say.asTable}</summary>
      <${Table} caption=${say.tableCaption} rows=${rows} columns=${[[say.until, (row) => html`<${Text} of=${last(row)} />`], ...columns]} />
    </details>
  `;
}

const shown = (value) => (value === null || value === undefined ? words.nothing : words.number(value));
const highest = (points) => points.reduce((most, { value }) => (value === null ? most : Math.max(most ?? 0, value)), null);

/** The top of an axis: the next of 1, 2 and 5, and their multiples by powers of ten. */
function roundedUp(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((digit) => digit * power).find((top) => top >= value * 0.999);
}

/** The place of a time and of a value in the picture. */
const acrossOf = (at, end) => Math.max(WIDTH - ((end - at) / HOUR) * WIDTH, 0);
const downOf = (value, top) => HEIGHT - (value / top) * HEIGHT;

/**
 * One chart with all of its lines. The sentence below it is its text, so that the picture itself says nothing to a screen reader. The
 * values at a time are in the table for those who use no pointer.
 */
function Chart({ name, unit, lines }) {
  const [pointed, setPointed] = useState(null);
  const end = lines[0].points.at(-1).at;
  const minutes = Math.max(Math.round((end - lines[0].points[0].at) / 60_000), 1);
  const top = roundedUp(Math.max(...lines.map((line) => line.most ?? highest(line.points) ?? 0)));
  const sentence = (line) => {
    const title = lines.length > 1 ? line.name : name;
    const most = highest(line.points);
    return most === null ? say.noValue(title, minutes) : say.summary(title, shown(line.points.at(-1).value), shown(most), minutes);
  };
  const point = (event) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    const at = end - (1 - (event.clientX - left) / width) * HOUR;
    const { points } = lines[0];
    const nearest = points.reduce((best, one, number) => (Math.abs(one.at - at) < Math.abs(points[best].at - at) ? number : best), 0);
    setPointed(nearest);
  };
  const there = pointed !== null && lines[0].points[pointed];
  return html`<figure class="chart">
    <figcaption>${name}</figcaption>
    <p class="point small" aria-hidden="true">${there
      ? `${words.clock(new Date(there.at))}: ${lines.map((line) => `${lines.length > 1 ? `${line.name} ` : ""}${shown(line.points[pointed]?.value)} ${unit}`).join(", ")}`
      : say.point}</p>
    <div class="plot" aria-hidden="true">
      <div class="values small"><span>${shown(top)} ${unit}</span><span>${shown(top / 2)}</span><span>0</span></div>
      <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" onPointerMove=${point} onPointerLeave=${() => setPointed(null)}>
        ${[0, 0.5, 1].map((part) => html`<line class="axis" x1="0" x2=${WIDTH} y1=${HEIGHT * part} y2=${HEIGHT * part} />`)}
        ${lines.map((line) => html`<path class="line ${line.tone ?? ""}" d=${path(line.points, end, top)} />`)}
        ${there && html`<line class="axis" x1=${acrossOf(there.at, end)} x2=${acrossOf(there.at, end)} y1="0" y2=${HEIGHT} />`}
        ${there && lines.filter((line) => typeof line.points[pointed]?.value === "number").map((line) =>
          html`<path class="dot ${line.tone ?? ""}" d="M${acrossOf(there.at, end)} ${downOf(line.points[pointed].value, top)}h0" />`)}
      </svg>
      <div class="times small"><span>${words.minute(new Date(end - HOUR))}</span><span>${words.minute(new Date(end - HOUR / 2))}</span><span>${words.minute(new Date(end))} UTC</span></div>
    </div>
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
    // A single value is a short line, since a point has no length.
    return `${command}${acrossOf(at, end).toFixed(1)} ${downOf(value, top).toFixed(1)}h0.5`;
  }).join("");
}
