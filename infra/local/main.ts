import { join } from "node:path";

import { TableClient } from "../../shared/table/client.ts";
import { openTable } from "../../shared/table/table.ts";
import { writeAssets } from "../assets.ts";
import { docsAssets, fallbackAssets } from "../docs-pages/site.ts";
import { lambdas } from "../entry-points.ts";
import {
  Misuse,
  type StartArguments,
  StartProblem,
  confirmAtTerminal,
  readArguments,
  startProblemOf,
  usage,
} from "./command-line.ts";
import { startRuntime } from "./runtime.ts";
import { bigAccount, memberId, seedDemo } from "./seed/demo.ts";
import { bigSize, seedBig } from "./seed/seed-big.ts";
import { banner, progressOn, servedLine } from "./start/banner.ts";
import { checkEnvironment } from "./start/check-environment.ts";
import { resetDataDir } from "./start/reset.ts";
import { type Settings, readSettings } from "./start/settings.ts";
import { localTableName } from "./table/lock.ts";

/**
 * The longest time between two signals of one key press, in milliseconds. Both the terminal and npm send a signal for
 * Ctrl-C.
 */
const sameKeyPressMs = 500;

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const complain = (text: string): void => void process.stderr.write(`${text}\n`);

/**
 * Fills a folder with the files that the functions `docs` and `fallback` read. Returns the path of the folder. On
 * Lambda, these files are beside the bundles.
 */
async function prepareDocs(dataDir: string): Promise<string> {
  const folder = join(dataDir, "docs");
  await writeAssets(folder, [...(await docsAssets()), ...fallbackAssets(lambdas)]);
  return folder;
}

/** Adds the missing domains and mailboxes of the big account, and shows the progress. */
async function seedBigHere(signal: AbortSignal): Promise<void> {
  const table = openTable(new TableClient(), localTableName);
  const { id: accountId } = bigAccount;
  const { domains, mailboxesEach } = bigSize;
  say(
    `Adding ${domains} domains and ${domains * mailboxesEach} mailboxes. Ctrl-C stops this. A later --seed big continues.`,
  );
  const onProgress = progressOn(process.stdout, { of: domains * mailboxesEach, unit: "mailboxes" });
  await seedBig({ table, accountId, ownerId: memberId(accountId, "a"), onProgress, signal });
}

/**
 * On the first signal, stops the product and exits with code 0. On a second signal, exits at once with code 1, unless
 * both signals come from one key press.
 */
function stopOnSignal(stop: () => Promise<void>): void {
  let firstAt: number | undefined;
  const onSignal = (): void => {
    if (firstAt !== undefined) {
      if (performance.now() - firstAt > sameKeyPressMs) process.exit(1);
      return;
    }
    firstAt = performance.now();
    say("Stopping.");
    void stop().then(() => process.exit(0));
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
}

// Only the owner of the process can read the files that the engine and the product create.
process.umask(0o077);

async function startProduct(settings: Settings, { reset, yes, showTokens, seed }: StartArguments): Promise<void> {
  if (reset) await resetData(settings, yes);
  const isQuiet = process.env["LOG_LEVEL"] === "silent";
  // Functions that use the table log their own requests, with the capacity units. The gateway does not log these
  // requests again.
  const loggedByFunction = new Set(lambdas.filter(({ access }) => access !== "none").map(({ name }) => name));
  const runtime = await startRuntime(
    settings,
    { lambdas, prepareDocs, seedDemo: (options) => seedDemo({ ...options, withBig: seed === "big" }) },
    {
      onServed: (served) => {
        if (!isQuiet && !loggedByFunction.has(served.by ?? "")) say(servedLine(served, new Date()));
      },
      onError: (name, error) => complain(`${name}: ${error instanceof Error ? error.stack : String(error)}`),
      confirm: (question) => confirmAtTerminal(question, { yes }),
      say,
    },
  );
  const stopping = new AbortController();
  let seeding = Promise.resolve();
  stopOnSignal(async () => {
    stopping.abort();
    await seeding;
    await runtime.stop();
  });
  if (seed === "big") {
    seeding = seedBigHere(stopping.signal);
    await seeding;
  }
  if (stopping.signal.aborted) return;
  const database =
    settings.endpoint === undefined ? `embedded, at ${runtime.endpoint}` : `yours, at ${settings.endpoint}`;
  say(
    banner(runtime.baseUrl, runtime.demo, {
      ...settings,
      database,
      showTokens,
      dnsPort: runtime.dnsPort,
      webPort: runtime.webPort,
      hasOutbox: process.env["MAIL_PROVIDER"] === "embedded",
      hasRegistry: process.env["REGISTRAR"] === "embedded",
      mailKey: process.env["MAIL_SECRET"],
      ...(seed === "big" ? { big: runtime.demo.accounts.findIndex(({ id }) => id === bigAccount.id) } : {}),
    }),
  );
  const lastWords = await runtime.died;
  complain(`The embedded DynamoDB engine ended unexpectedly:\n${lastWords}`);
  await runtime.stop();
  process.exit(1);
}

async function resetData({ dataDir, endpoint }: Settings, yes: boolean): Promise<void> {
  if (endpoint !== undefined) {
    throw new StartProblem(
      `The table is in your own DynamoDB at ${endpoint}, but --reset deletes only the data in DATA_DIR. Empty the table yourself.`,
    );
  }
  await resetDataDir(dataDir, { confirm: (question) => confirmAtTerminal(question, { yes }), say });
}

async function main(): Promise<void> {
  const args = readArguments(process.argv.slice(2));
  if (args.help) return say(usage);
  checkEnvironment(process.env);
  await startProduct(readSettings(process.env), args);
}

try {
  await main();
} catch (error) {
  if (error instanceof Misuse) {
    complain(`${error.message}\n\n${usage}`);
    process.exit(2);
  }
  const problem = startProblemOf(error);
  complain(problem ? `\n${problem.message}\n` : String(error instanceof Error ? error.stack : error));
  process.exit(1);
}
