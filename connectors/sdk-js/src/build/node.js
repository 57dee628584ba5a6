// The versions of Node.js that the packages that build can run on.

/** The oldest minor version of each major version that is not supported as a whole. */
const OLDEST = { 20: 19, 22: 12 };

/** Why this version of Node.js cannot build a connector, and where a newer one comes from. */
export function refusal(version) {
  const [major, minor] = version.split(".").map(Number);
  const oldest = OLDEST[major] ?? (major > 22 ? 0 : Infinity);
  if (minor >= oldest) return undefined;
  return `this is Node.js ${version}, and the SDK needs 20.19, 22.12 or later. Debian 13 has one (\`apt install nodejs npm\`); for other systems: https://nodejs.org/en/download`;
}
