import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";

import * as z from "zod";

import { reasonOf } from "../local/command-line.ts";
import { readSettings } from "../local/start/settings.ts";

/** The product to check, the token, and what the checks may do. */
export type SmokeOptions = {
  url: string;
  token: string;
  /** The id of the account to check. By default the first account that the token can see. */
  account: string | undefined;
  readOnly: boolean;
  writeFeedback: boolean;
};

/** Thrown for an invalid command line, or if there is no product to check. The message gives advice. */
export class Misuse extends Error {}

export const usage = `Usage: npm run smoke -- [options]

Reads from nearly every family of functions of a running product. Without --read-only, also creates resources of most
families, changes them and deletes them. Changes only resources that it has created, and the muted notices, which it
sets back. Usually takes less than a minute.

    --url URL          The product's address, such as https://api.example.com. Needs --token.
    --token TOKEN      An access token or a service account token (or SMOKE_TOKEN in the environment).
                       Without --url and --token: the local product, as the owner in $DATA_DIR/demo.json.
    --account ID       The account to check. By default the token's first account.
    --read-only        Creates nothing.
    --write-feedback   Also submits feedback. Feedback cannot be deleted.
    --help             Shows this text.

Exit codes: 0 no check failed (skipped checks give a reason), 1 a check failed or a resource could not be deleted, 2 the
command line is not valid, 130 stopped by Ctrl-C.
`;

const flags = {
  url: { type: "string" },
  token: { type: "string" },
  account: { type: "string" },
  "read-only": { type: "boolean", default: false },
  "write-feedback": { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

function parseArguments(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: flags, strict: true, allowPositionals: false }).values;
  } catch (error) {
    throw new Misuse(reasonOf(error));
  }
}

const Demo = z.object({
  base_url: z.url(),
  accounts: z.array(z.object({ id: z.string(), owner: z.object({ token: z.string() }) })).min(1),
});

/** The product on this machine, with the token of its demo's first owner. */
async function localProduct(environment: NodeJS.ProcessEnv): Promise<Pick<SmokeOptions, "url" | "token" | "account">> {
  const file = join(readSettings(environment).dataDir, "demo.json");
  try {
    const { base_url, accounts } = Demo.parse(JSON.parse(await readFile(file, "utf8")));
    const [first] = accounts;
    if (!first) throw new Error("its first account is missing");
    return { url: base_url, token: first.owner.token, account: first.id };
  } catch (error) {
    throw new Misuse(
      `Give --url and --token, or start the product on this machine first (npm start). ${file}: ${reasonOf(error)}`,
    );
  }
}

/** Reads the options of the command line. Throws `Misuse`. */
export async function readOptions(
  argv: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<SmokeOptions | "help"> {
  const values = parseArguments(argv);
  if (values.help) return "help";
  const token = values.token ?? (values.url === undefined ? undefined : environment["SMOKE_TOKEN"]);
  if ((values.url === undefined) !== (token === undefined)) throw new Misuse("Give both --url and --token.");
  if (values.url !== undefined && !URL.canParse(values.url)) throw new Misuse(`--url is not a URL: ${values.url}`);
  const product =
    values.url === undefined || token === undefined
      ? await localProduct(environment)
      : { url: values.url, token, account: undefined };
  return {
    ...product,
    account: values.account ?? product.account,
    readOnly: values["read-only"],
    writeFeedback: values["write-feedback"],
  };
}
