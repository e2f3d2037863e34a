import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { promisify } from "node:util";

import { expect, onTestFinished, test } from "vitest";

import { request } from "../../support/request.ts";
import { serveProduct } from "../../support/serve-product.ts";
import { newAccount } from "../../support/world.ts";

const read = (file: string): string => readFileSync(resolve(import.meta.dirname, "../../..", file), "utf8");
const quickstart = read("docs/quickstart.md");
/** The first calls in the README. */
const [, readme = ""] = /## Make your first calls\n\n```sh\n([^]*?)```/.exec(read("README.md")) ?? [];

test(
  "the quickstart does what it says, line by line, also after what the README begins with",
  { timeout: 60_000 },
  async () => {
    const account = await newAccount();
    const { base, close } = await serveProduct();
    onTestFinished(close);
    const own = randomBytes(4).toString("hex");
    const blocks = [...quickstart.matchAll(/```sh\n([^]*?)```/g)].map(([, code = ""]) => code);
    const program = [readme, ...blocks]
      .join("echo\n")
      .replace(/^(?:BASE|TOKEN|ACCOUNT)=.*$/gm, "")
      .replaceAll(/my-(first|second)-domain/g, `my-$1-${own}`);
    const env = {
      PATH: `${dirname(process.execPath)}:${process.env["PATH"] ?? ""}`,
      BASE: base,
      TOKEN: account.owner.token,
      ACCOUNT: account.id,
    };
    const { stdout } = await promisify(execFile)("bash", ["-euo", "pipefail", "-c", program], { env });
    expect(stdout).toContain('"status":"completed"');
    expect(stdout).toMatch(/"password":"[^"]{20}"/);
    expect(stdout).not.toMatch(/"code":|"detail":/);
    const get = (path: string) =>
      request("GET", `/v1/public/accounts/${account.id}/${path}`, { token: account.owner.token });
    expect((await get("workspaces")).body.total).toBe(4);
    const { items } = (await get("domains")).body;
    expect(items).toHaveLength(2);
    expect(new Set(items.map(({ workspace_id }: { workspace_id: string }) => workspace_id)).size).toBe(2);
    expect((await get(`mailboxes/ada@my-first-${own}.com`)).status).toBe(200);
  },
);
