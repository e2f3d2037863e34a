import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";

import { openApi } from "../../../infra/mail-server/adapter/api.ts";
import { startHttp } from "../../../infra/mail-server/adapter/http.ts";
import { openJournal } from "../../../infra/mail-server/adapter/journal.ts";
import { sessionName } from "../../../infra/mail-server/adapter/sessions.ts";
import type { AdapterSettings } from "../../../infra/mail-server/adapter/settings.ts";
import { activeIp, send as sendIp } from "../../support/dedicated-ips.ts";
import { active, funded } from "../../support/domains.ts";
import { newFolder } from "../../support/folder.ts";
import { freePorts } from "../../support/listen.ts";
import { serveMailRoutes } from "../../support/mail-server.ts";
import { added } from "../../support/mailboxes.ts";
import { newAccount, type Account } from "../../support/world.ts";

let mailRoutes: Awaited<ReturnType<typeof serveMailRoutes>>;

beforeAll(async () => {
  mailRoutes = await serveMailRoutes();
});
afterAll(() => mailRoutes.stop());

/**
 * Starts the adapter's server. `sign` asks about a letter as rspamd does, in the session of a mailbox. `counted`
 * returns the stored reports about letters.
 */
async function scene(account: Account) {
  const { name } = await active(account);
  const { id: mailbox } = await added(account, name, "ada");
  const login = `ada@${name}`;
  const [folder, [port = 0]] = [newFolder(), await freePorts(1)];
  const api = openApi({ api: mailRoutes.base, mail_key: process.env["MAIL_SECRET"] ?? "" });
  const settings = { http_port: port, local_key: "key" } as AdapterSettings;
  const server = await startHttp({ api, journal: openJournal(folder, api, () => {}), settings });
  onTestFinished(() => void server.close());
  const session = sessionName({ login, mailbox, account: account.id, loggedInAt: Date.now() });
  const sign = async (letter: { sender?: string; authors?: string[] }): Promise<unknown> => {
    const body = JSON.stringify({ session, sender: login, authors: [login], recipients: 1, ...letter });
    const headers = { "x-local-key": "key" };
    return (await fetch(`http://127.0.0.1:${port}/sign`, { method: "POST", headers, body })).json();
  };
  const file = join(folder, "usage.jsonl");
  const counted = () => (existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : []);
  return { name, sign, counted };
}

test("a letter is neither signed nor counted if a text in its From header is no address", async () => {
  const { name, sign, counted } = await scene(await funded(await newAccount()));
  for (const authors of [[""], ["Your Bank"], [`ada@${name}`, ""]]) {
    expect(await sign({ authors })).toEqual({ refusal: "The From header has no valid address." });
  }
  expect(counted()).toEqual([]);
  expect(await sign({})).toMatchObject({ domain: name });
  expect(counted()).toHaveLength(1);
});

test("a letter with the null reverse-path is not counted for the dedicated IP of its domain, because it leaves by a shared IP", async () => {
  const account = await funded(await newAccount());
  const { id } = await activeIp(account);
  const { name, sign, counted } = await scene(account);
  await sendIp(account, "POST", `/${id}/domains/assign`, { domains: [name] });
  for (const letter of [{}, { sender: "" }]) expect(await sign(letter)).toMatchObject({ domain: name });
  expect(counted().map((line) => JSON.parse(line).entry.dedicated_ip_id)).toEqual([id, null]);
});
