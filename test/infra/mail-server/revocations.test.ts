import { randomUUID } from "node:crypto";
import { existsSync, linkSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { openApi } from "../../../infra/mail-server/adapter/api.ts";
import { openRevocations } from "../../../infra/mail-server/adapter/revocations.ts";
import { openSessions } from "../../../infra/mail-server/adapter/sessions.ts";
import { noteRevocation } from "../../../shared/mail/servers/revocations.ts";
import { newFolder } from "../../support/folder.ts";
import { listen } from "../../support/listen.ts";
import { serveMailRoutes } from "../../support/mail-server.ts";
import { testTable } from "../../support/world.ts";

let mailRoutes: Awaited<ReturnType<typeof serveMailRoutes>>;

beforeAll(async () => {
  mailRoutes = await serveMailRoutes();
});
afterAll(() => mailRoutes.stop());

/**
 * Carries out revocations with a Dovecot that ends no sessions of the users in `broken`. `kicked` has the users whose
 * sessions it has ended.
 */
async function scene() {
  const [broken, kicked] = [new Set<string>(), [] as string[]];
  const doveadm = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      const [[, { mask }]] = JSON.parse(body) as [[string, { mask: [string] }]];
      const isBroken = broken.has(mask[0]);
      if (!isBroken) kicked.push(mask[0]);
      response.writeHead(isBroken ? 500 : 200).end(JSON.stringify([["doveadmResponse", {}, "kick"]]));
    });
  });
  const state = newFolder();
  const settings = {
    store: newFolder(),
    state,
    doveadm: `http://127.0.0.1:${await listen(doveadm)}`,
    local_key: "key",
  };
  const sessions = openSessions(0);
  const api = openApi({ api: mailRoutes.base, mail_key: process.env["MAIL_SECRET"] ?? "" });
  const carryOut = openRevocations(settings, api, sessions);
  await carryOut();
  /** Notes that a new mailbox is paused. Returns Dovecot's name of the mailbox, and whether its sessions are ended. */
  const pause = async (at = new Date()) => {
    const [account, mailbox] = [randomUUID(), randomUUID()];
    const more = { resource: { id: mailbox }, data: {}, previous_data: {} };
    const event = {
      id: randomUUID(),
      type: "mailbox.paused",
      timestamp: at.toISOString(),
      account_id: account,
      ...more,
    };
    await noteRevocation(testTable(), event, at);
    const session = { login: "ada@example.com", mailbox, account, loggedInAt: at.getTime() - 1 };
    return { user: `${mailbox}@${account}`, isEnded: () => sessions.isRevoked(session) };
  };
  return { broken, kicked, carryOut, pause, sessions, file: join(state, "revocations") };
}

test("the position is replaced as a whole, so no crash leaves a part of it", async () => {
  const { carryOut, file } = await scene();
  linkSync(file, `${file}.before`);
  await carryOut();
  expect(statSync(file).ino).not.toBe(statSync(`${file}.before`).ino);
  expect(Date.parse(readFileSync(file, "utf8"))).toBeGreaterThan(0);
});

test("a revocation that fails is tried again, and the revocations after it are carried out at once", async () => {
  const { broken, kicked, carryOut, pause, file } = await scene();
  const [first, second] = [await pause(), await pause()];
  const times = (user: string): number => kicked.filter((one) => one === user).length;
  broken.add(first.user);
  const before = readFileSync(file, "utf8");
  for (let run = 0; run < 2; run += 1) await expect(carryOut()).rejects.toThrow("Dovecot answered 500");
  expect([first.isEnded(), second.isEnded(), times(second.user)]).toEqual([true, true, 1]);
  expect(readFileSync(file, "utf8")).toBe(before);
  broken.clear();
  await carryOut();
  expect([times(first.user), times(second.user)]).toEqual([1, 1]);
});

test("if the API no longer keeps the revocations since the position, all sessions end, and the next run begins anew", async () => {
  const { kicked, carryOut, sessions, file } = await scene();
  const session = { login: "ada@example.com", mailbox: randomUUID(), account: randomUUID() };
  const loggedInAt = Date.now() - 1;
  writeFileSync(file, "2020-01-01T00:00:00.000Z");
  expect(sessions.isRevoked({ ...session, loggedInAt })).toBe(false);
  await expect(carryOut()).rejects.toThrow("The API answered 422 to revocations.");
  expect([kicked, existsSync(file)]).toEqual([["*"], false]);
  expect(sessions.isRevoked({ ...session, loggedInAt })).toBe(true);
  expect(sessions.isRevoked({ ...session, loggedInAt: Date.now() + 1 })).toBe(false);
  await carryOut();
  expect(existsSync(file)).toBe(true);
});
