import { createInterface } from "node:readline/promises";

/** Asks a question at the terminal; where there is none, nobody can answer and the answer is yes, as it is with `yes`. */
export async function confirmAtTerminal(question: string, { yes }: { yes: boolean }): Promise<boolean> {
  if (yes || !process.stdin.isTTY || !process.stdout.isTTY) return true;
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return /^y(?:es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim());
  } finally {
    terminal.close();
  }
}
