// The metrics of the gateway that answers, read from GET /metrics (OpenMetrics).

/** The series of a text: the name, the labels and the value of each. */
export function series(text) {
  const found = [];
  for (const line of text.split("\n")) {
    const parts = line.match(/^([a-z_]+)(?:\{(.*)\})? (\S+)$/);
    if (!parts) continue;
    const labels = Object.fromEntries([...(parts[2] ?? "").matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)].map(([, name, value]) => [name, value]));
    found.push({ name: parts[1], labels, value: Number(parts[3]) });
  }
  return found;
}

/** The sum of the series of a name that a condition admits. */
export const sum = (all, name, admits = () => true) =>
  all.filter((one) => one.name === name && admits(one.labels)).reduce((total, one) => total + one.value, 0);
