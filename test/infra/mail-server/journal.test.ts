import { randomUUID } from "node:crypto";
import { appendFileSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { NoAnswer, openApi, type Api } from "../../../infra/mail-server/adapter/api.ts";
import { openJournal } from "../../../infra/mail-server/adapter/journal.ts";
import { newFolder } from "../../support/folder.ts";
import { serveMailRoutes } from "../../support/mail-server.ts";
import { home, send } from "../../support/mailboxes.ts";
import { newAccount } from "../../support/world.ts";

let mailRoutes: Awaited<ReturnType<typeof serveMailRoutes>>;

beforeAll(async () => {
  mailRoutes = await serveMailRoutes();
});
afterAll(() => mailRoutes.stop());

/** A journal of a new domain's deliveries, and the number of deliveries that the API has counted. */
async function scene(reportBy = (api: Api): Api["report"] => api.report) {
  const account = await newAccount();
  const domain = await home(account);
  const api = openApi({ api: mailRoutes.base, mail_key: process.env["MAIL_SECRET"] ?? "" });
  const [folder, lines] = [newFolder(), [] as string[]];
  const journal = openJournal(folder, { ...api, report: reportBy(api) }, (text) => void lines.push(text));
  const delivery = (recipient: string) => ({
    list: "events",
    entry: { type: "delivered", at: new Date().toISOString(), sender: `ada@${domain.name}`, recipient },
  });
  const counted = async () => (await send(account, "GET", `statistics?domain=${domain.id}`)).body.total.delivered;
  return { folder, lines, journal, counted, delivery };
}

const sound = "bob@far.example";

test("an entry that the API refuses costs no other entry, and is kept and logged", async () => {
  const { folder, lines, journal, counted, delivery } = await scene();
  const recipients = ["", ...Array.from({ length: 600 }, () => sound), ""];
  journal.add("events", ...recipients.map(delivery));
  await journal.flush();
  expect(await counted()).toBe(600);
  expect(readdirSync(folder)).toEqual(["rejected"]);
  const files = readdirSync(join(folder, "rejected")).map((name) => join(folder, "rejected", name));
  const kept = files.map((file) => JSON.parse(readFileSync(file, "utf8")).entry.recipient);
  expect(kept).toEqual(["", ""]);
  expect(lines).toHaveLength(2);
  for (const file of files) expect(lines.join()).toContain(`of events with 422. The entry is kept in ${file}.`);
});

test("while the API cannot be reached, every entry is kept for later", async () => {
  const { folder, lines, journal, counted, delivery } = await scene();
  journal.add("events", delivery(""), delivery(sound));
  await mailRoutes.stop();
  await expect(journal.flush()).rejects.toThrow(NoAnswer);
  expect(readdirSync(join(folder, "rejected"))).toEqual([]);
  await mailRoutes.start();
  await journal.flush();
  expect([await counted(), lines.length]).toEqual([1, 1]);
});

test("while one endpoint fails, the entries of the other endpoint are sent", async () => {
  const sent: string[] = [];
  const { folder, journal, delivery } = await scene((api) => async (endpoint, body) => {
    sent.push(endpoint);
    return endpoint === "events" ? 503 : api.report(endpoint, body);
  });
  journal.add("events", delivery(sound));
  const login = { mailbox_id: randomUUID(), account_id: randomUUID(), at: new Date().toISOString(), protocol: "imap" };
  for (let run = 0; run < 2; run += 1) {
    journal.add("usage", { list: "logins", entry: login });
    await expect(journal.flush()).rejects.toThrow("The API answered 503 to events.");
  }
  expect(sent.filter((endpoint) => endpoint === "usage")).toHaveLength(2);
  expect(readdirSync(folder).filter((name) => name.startsWith("usage"))).toEqual([]);
});

test("each entry counts once, even if every other answer is lost", async () => {
  let calls = 0;
  const { folder, journal, counted, delivery } = await scene((api) => async (...call) => {
    const status = await api.report(...call);
    if (calls++ % 2 === 0) throw new NoAnswer("lost");
    return status;
  });
  journal.add("events", ...[sound, sound, "", sound, "", sound].map(delivery));
  const isFlushed = (): Promise<boolean> =>
    journal.flush().then(
      () => true,
      () => false,
    );
  let flushes = 1;
  while (!(await isFlushed())) flushes += 1;
  expect(flushes).toBeGreaterThan(5);
  expect(await counted()).toBe(4);
  expect(readdirSync(join(folder, "rejected"))).toHaveLength(2);
});

test("a line that was cut off costs no other entry", async () => {
  const { folder, lines, journal, counted, delivery } = await scene();
  journal.add("events", delivery(sound));
  appendFileSync(join(folder, "events.jsonl"), '\n{"list":"events","entry":{"ty');
  journal.add("events", delivery(sound));
  await journal.flush();
  expect(await counted()).toBe(2);
  expect(lines).toEqual([expect.stringContaining("has a line that is cut off")]);
});
