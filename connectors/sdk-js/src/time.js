// The time. The engine's own clock always shows the time of the build, and nothing runs after an
// operation has returned.

/**
 * Makes `Date` show the gateway's clock. `now` is the gateway's function. Until `start` is called,
 * while the module of the connector is loaded, it shows the time of the build.
 */
export function replaceTime(now) {
  const Own = globalThis.Date;
  // `Date.now` is replaced in place, and `new Date()` would not call it.
  globalThis.Date = new Proxy(Own, {
    construct: (target, given, newTarget) => Reflect.construct(target, given.length === 0 ? [Own.now()] : given, newTarget),
    apply: () => new Own(Own.now()).toString(),
  });
  Own.prototype.constructor = globalThis.Date;
  return {
    start() {
      Own.now = () => Number(now());
    },
  };
}

/** Makes the timers throw: they would never fire, or would end the call. */
export function refuseTimers() {
  for (const name of ["setTimeout", "setInterval"]) {
    const value = () => {
      throw new Error(`${name}() never fires, because an operation ends when it returns. To wait, call \`clock.sleep(milliseconds)\` of the SDK.`);
    };
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  }
}
