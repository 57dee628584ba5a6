// Random values. The engine's generators have their state in the memory that is stored with the
// module, and each call starts from that memory.

const WHY = "would give the same values in every call, because each call starts from the memory that was stored with the module; \
the gateway has no random values for connectors yet";

/**
 * Makes the engine's sources of random values throw. This runs before the module of the connector,
 * because values from the time of the build would be the same in every call too.
 */
export function refuseRandomValues() {
  const advice = "Take a value from the input, or derive one from it; for a secret, let the caller give it.";
  refuse(Math, "random", `Math.random() ${WHY}. Take a value from the input, or \`Date.now()\`. Neither is fit for a secret.`);
  if (globalThis.crypto === undefined) return;
  for (const name of ["getRandomValues", "randomUUID"]) {
    refuse(Object.getPrototypeOf(globalThis.crypto), name, `crypto.${name}() ${WHY}. ${advice}`);
  }
}

function refuse(owner, name, message) {
  const value = () => {
    throw new Error(message);
  };
  Object.defineProperty(owner, name, { value, configurable: true, writable: true });
}
