import { parseArgs } from "node:util";

function end(text: string, code: 0 | 2): never {
  (code === 0 ? process.stdout : process.stderr).write(`${text}\n`);
  process.exit(code);
}

/**
 * Reads the words of a command that takes at most `atMost` words, and no flag but `--help`. For `--help`, prints the
 * usage and exits with 0. For an invalid command line, prints the mistake and the usage, and exits with 2.
 */
export function readWords(usage: string, atMost = 0): string[] {
  try {
    const { values, positionals } = parseArgs({ options: { help: { type: "boolean" } }, allowPositionals: true });
    if (values.help) return end(usage, 0);
    if (positionals.length > atMost) return end(`Unexpected argument "${positionals[atMost]}".\n${usage}`, 2);
    return positionals;
  } catch (error) {
    return end(`${error instanceof Error ? error.message : String(error)}\n${usage}`, 2);
  }
}
