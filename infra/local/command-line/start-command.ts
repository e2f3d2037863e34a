import { resolve } from "node:path";

/** Where the data is, unless DATA_DIR says otherwise. */
export const defaultDataDir = resolve(import.meta.dirname, "../../../.data");

const quoted = (word: string): string => (/^[\w./~+@%=:-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** The command that starts the product on this data folder again, to be pasted: `DATA_DIR=/tmp/x npm start -- --reset`. */
export function startCommand(dataDir: string, ...flags: readonly string[]): string {
  const before = resolve(dataDir) === defaultDataDir ? "" : `DATA_DIR=${quoted(dataDir)} `;
  return `${before}npm start${flags.length === 0 ? "" : ` -- ${flags.join(" ")}`}`;
}
