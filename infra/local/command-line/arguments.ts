import { parseArgs } from "node:util";

import { reasonOf } from "./start-problem.ts";

export type StartArguments = { help: boolean; reset: boolean; yes: boolean; seed: "big" | undefined };

/** The command line was not understood; the message says why. */
export class Misuse extends Error {}

export const usage = `Usage: npm start [-- options]

Starts the product on this machine. Settings are environment variables: see the README.

    --reset       Deletes what is in DATA_DIR first, and begins anew. Asks before it does.
    --yes         Answers that question with yes; needed where there is no terminal to ask at.
    --seed big    Makes an account with 500 domains and 100,000 mailboxes: some four minutes and 400 MB. What was cut
                  off goes on with the next --seed big. Its id and tokens are accounts[2] of demo.json in DATA_DIR.
    --help        This text.
`;

const options = {
  help: { type: "boolean", default: false },
  reset: { type: "boolean", default: false },
  yes: { type: "boolean", default: false },
  seed: { type: "string" },
} as const;

function parsed(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options, strict: true, allowPositionals: false }).values;
  } catch (error) {
    throw new Misuse(reasonOf(error));
  }
}

/** What is behind `npm start --`. Throws `Misuse`. */
export function readArguments(argv: readonly string[]): StartArguments {
  const { help, reset, yes, seed } = parsed(argv);
  if (seed !== undefined && seed !== "big") throw new Misuse(`There is no seed "${seed}", only --seed big.`);
  return { help, reset, yes, seed };
}
