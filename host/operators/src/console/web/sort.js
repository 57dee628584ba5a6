// The order of a table by one of its columns.

/** The order of two values: numbers by size, texts as people order them, and what is missing last in both directions. */
export function compare(one, other, isDown) {
  const isMissing = (value) => value === null || value === undefined || value === "";
  if (isMissing(one) || isMissing(other)) return isMissing(one) - isMissing(other);
  const order = typeof one === "number" ? one - other : String(one).localeCompare(String(other), "en", { numeric: true });
  return isDown ? -order : order;
}

/** The order in an address: the name of a column, after a minus if the order is descending. `null` if there is no such column. */
export function orderOf(text = "", columns) {
  const isDown = text.startsWith("-");
  const column = columns.find(([name, , valueOf]) => valueOf && name === (isDown ? text.slice(1) : text));
  return column ? { name: column[0], valueOf: column[2], isDown } : null;
}

/** The order in an address after a click on the heading of a column. */
export const nextOrder = (order, name) => (order?.name === name && !order.isDown ? `-${name}` : name);

/** The rows in an order. */
export const sorted = (rows, order) => (order ? [...rows].sort((one, other) => compare(order.valueOf(one), order.valueOf(other), order.isDown)) : rows);
