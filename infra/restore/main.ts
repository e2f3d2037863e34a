import { parseArgs } from "node:util";

import * as z from "zod";

import { rehearse } from "./rehearse.ts";

const usage = `Usage: npm run restore-rehearsal -- --table NAME [options]

Restores a deployed table to a scratch table, compares some accounts in both tables, and deletes the scratch table.
The deployed table is only read. A rehearsal takes minutes to hours, and costs DynamoDB's price of a restore: see
docs/deploy.md.

    --table NAME    The deployed table, from the stack's output TableName.
    --sample N      The number of accounts to compare, spread over all accounts. By default 20.
    --at TIME       The time to restore (RFC 3339). By default the latest possible time.
    --keep          Keeps the scratch table, for inspection.
    --help          Shows this text.

Exit codes: 0 no problem was found, 1 a problem was found or the rehearsal failed, 2 the command line is not valid.
`;

const RestoreOptions = z.strictObject({
  table: z.string().regex(/^[A-Za-z0-9_.-]{3,255}$/, "the name of a table"),
  sample: z.coerce.number<string>().int().min(1).max(10_000).default(20),
  at: z.iso
    .datetime({ offset: true })
    .transform((text) => new Date(text))
    .optional(),
  keep: z.boolean().default(false),
});

/** Returns the options of the command line. If they are not valid, returns a text with the reason. */
function optionsOf(argv: string[]): z.output<typeof RestoreOptions> | string {
  try {
    const string = { type: "string" } as const;
    const { values } = parseArgs({
      args: argv,
      options: { table: string, sample: string, at: string, keep: { type: "boolean" } },
    });
    const result = RestoreOptions.safeParse(values);
    return result.success ? result.data : z.prettifyError(result.error);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const complain = (line: string): void => void process.stderr.write(`${line}\n`);

async function main(options: z.output<typeof RestoreOptions>): Promise<void> {
  const interrupted = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => interrupted.abort());
  const { accounts, compared, changes, problems } = await rehearse({
    ...options,
    pollMs: Number(process.env["RESTORE_POLL_MS"] ?? 15_000),
    signal: interrupted.signal,
    say,
    now: () => new Date(),
  });
  for (const problem of problems) complain(problem);
  const verdict = problems.length === 0 ? "No problem was found." : `${problems.length} problems.`;
  say(`${verdict} ${compared} of ${accounts} accounts and ${changes} of their changes were compared.`);
  if (problems.length > 0) process.exitCode = 1;
}

const argv = process.argv.slice(2);
const restoreOptions = optionsOf(argv);
if (argv.includes("--help") || argv.includes("-h")) say(usage);
else if (typeof restoreOptions === "string") {
  complain(`${restoreOptions}\nnpm run restore-rehearsal -- --help shows the options.`);
  process.exitCode = 2;
} else {
  await main(restoreOptions).catch((error: unknown) => {
    const isInterrupted = error instanceof Error && error.name === "AbortError";
    const reason = error instanceof Error ? error.message : String(error);
    complain(isInterrupted ? "Interrupted." : reason);
    process.exitCode = 1;
  });
}
