import { createInterface } from "node:readline/promises";

import { StartProblem } from "./start-problem.ts";

/** Asks a question at the terminal, unless `yes` answers it. Throws `StartProblem` where there is nobody to ask. */
export async function confirmAtTerminal(question: string, { yes }: { yes: boolean }): Promise<boolean> {
  if (yes) return true;
  if (!process.stdin.isTTY) throw new StartProblem(`${question} There is no terminal to ask at: --yes says yes.`);
  // Standard output may go into a file.
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(?:es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim());
  } finally {
    terminal.close();
  }
}
