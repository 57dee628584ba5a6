// Random values. The engine's generators have their state in the memory that is stored with the
// module, and each call starts from that memory, so their values would be the same in every call.
// The values of the gateway are not.

/** The largest number of bytes that the gateway gives at once, and that `getRandomValues` takes. */
const MOST_BYTES = 65536;

/** Bytes that `Math.random` takes from the gateway at once. It needs eight for a value. */
const BLOCK_BYTES = 1024;

/** The types of arrays that `crypto.getRandomValues` fills (Web Cryptography API, 10.1.1). */
const INTEGERS = [
  Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, BigInt64Array, BigUint64Array,
];

/**
 * Replaces the engine's sources of random values. `bytes` is the gateway's function. This runs
 * before the module of the connector. Until `start` is called, the sources throw: values from the
 * time of the build would be the same in every call.
 */
export function replaceRandomValues(bytes) {
  let isCall = false;
  const draw = (length, name) => {
    if (!isCall) throw new Error(`${name} works in an operation, not while the module of the connector is loaded: that happens once, in the build.`);
    return bytes(length);
  };

  let block = new DataView(new ArrayBuffer(0));
  let used = 0;
  define(Math, "random", () => {
    if (used === block.byteLength) {
      const { buffer, byteOffset, byteLength } = draw(BLOCK_BYTES, "Math.random()");
      [block, used] = [new DataView(buffer, byteOffset, byteLength), 0];
    }
    const [high, low] = [block.getUint32(used), block.getUint32(used + 4)];
    used += 8;
    // 53 bits, as many as the fraction of a number has.
    return ((high >>> 5) * 2 ** 26 + (low >>> 6)) / 2 ** 53;
  });

  const getRandomValues = (array) => {
    if (!INTEGERS.some((type) => array instanceof type)) throw new TypeError("crypto.getRandomValues() takes a typed array of integers");
    if (array.byteLength > MOST_BYTES) throw new RangeError(`crypto.getRandomValues() fills at most ${MOST_BYTES} bytes; this array has ${array.byteLength}`);
    new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(draw(array.byteLength, "crypto.getRandomValues()"));
    return array;
  };
  const randomUUID = () => {
    const values = draw(16, "crypto.randomUUID()");
    values[6] = (values[6] & 0x0f) | 0x40;
    values[8] = (values[8] & 0x3f) | 0x80;
    const digits = Array.from(values, (value) => value.toString(16).padStart(2, "0")).join("");
    return [digits.slice(0, 8), digits.slice(8, 12), digits.slice(12, 16), digits.slice(16, 20), digits.slice(20)].join("-");
  };
  // The small engine has no `crypto`.
  globalThis.crypto ??= {};
  const owner = Object.hasOwn(globalThis.crypto, "getRandomValues") || !("getRandomValues" in globalThis.crypto)
    ? globalThis.crypto
    : Object.getPrototypeOf(globalThis.crypto);
  define(owner, "getRandomValues", getRandomValues);
  define(owner, "randomUUID", randomUUID);

  return { start: () => { isCall = true; } };
}

function define(owner, name, value) {
  Object.defineProperty(owner, name, { value, configurable: true, writable: true });
}
