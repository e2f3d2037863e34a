import { join } from "node:path";

import { writeAssets } from "../assets.ts";
import { docsAssets, fallbackAssets } from "../docs-assets.ts";
import { lambdas } from "../lambdas.ts";
import { banner, servedLine } from "./banner.ts";
import { seedDemo } from "./demo.ts";
import { startRuntime } from "./runtime.ts";
import { type Settings, readSettings } from "./settings.ts";
import { StartProblem } from "./start-problem.ts";

/** npm hands a Ctrl-C on to us a moment after the terminal did; that one is not a second Ctrl-C. */
const sameKeyPressMs = 500;

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const complain = (text: string): void => void process.stderr.write(`${text}\n`);

/** What a bundle has beside it on Lambda, the functions that serve the docs and the 405s find here. */
async function prepareDocs(dataDir: string): Promise<string> {
  const folder = join(dataDir, "docs");
  await writeAssets(folder, [...docsAssets(), ...fallbackAssets(lambdas)]);
  return folder;
}

/** Stops on the first signal with exit code 0, at once on the second. */
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

async function main(settings: Settings): Promise<void> {
  const isQuiet = process.env["LOG_LEVEL"] === "silent";
  // Functions that use the table log their requests themselves, with the units they consumed.
  const logging = new Set(lambdas.filter(({ access }) => access !== "none").map(({ name }) => name));
  const runtime = await startRuntime(
    settings,
    { lambdas, prepareDocs, seedDemo },
    {
      onServed: (served) => isQuiet || logging.has(served.by ?? "") || say(servedLine(served, new Date())),
      onError: (name, error) => complain(`${name}: ${error instanceof Error ? error.stack : String(error)}`),
    },
  );
  stopOnSignal(runtime.stop);
  const database =
    settings.endpoint === undefined ? `embedded, at ${runtime.endpoint}` : `yours, at ${settings.endpoint}`;
  say(
    banner(runtime.baseUrl, runtime.demo, {
      ...settings,
      database,
      dnsPort: runtime.dnsPort,
      hasOutbox: process.env["MAIL_PROVIDER"] === "embedded",
      mailKey: process.env["MAIL_SECRET"],
    }),
  );
  const lastWords = await runtime.died;
  complain(`The embedded DynamoDB engine has ended unasked:\n${lastWords}`);
  await runtime.stop();
  process.exit(1);
}

try {
  await main(readSettings(process.env));
} catch (error) {
  complain(
    error instanceof StartProblem ? `\n${error.message}\n` : String(error instanceof Error ? error.stack : error),
  );
  process.exit(1);
}
