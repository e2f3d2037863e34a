import { appendFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { deadLettersIn, embeddedPublisher, eventsIn, ndjsonLog } from "../../../../infra/local/events/event-log.ts";
import { eventPaths } from "../../../../infra/local/pages/events.ts";
import type { Event } from "../../../../shared/changes/record.ts";
import { newFolder } from "../../../support/folder.ts";
import { gatewayFor, sendRequest, type Reply } from "../wire.ts";

const event = (n: number, given: Partial<Event> = {}): Event => ({
  id: `id-${n}`,
  type: "thing.created",
  timestamp: "2026-01-02T03:04:05.000Z",
  account_id: "acc-1",
  actor: { type: "user", id: "u-1" },
  resource: { type: "thing", id: `t-${n}` },
  data: { n },
  ...given,
});

/** Opens the page over a folder with these events. Returns a function that sends a query to the page. */
async function pageOf(
  events: Event[],
  folder = newFolder(),
): Promise<(query?: string, accept?: string) => Promise<Reply>> {
  expect(await embeddedPublisher(eventsIn(folder))(events)).toEqual([]);
  const port = await gatewayFor({ localPaths: eventPaths(folder) });
  return (query = "", accept) =>
    sendRequest(port, { path: `/_local/events${query}`, headers: accept === undefined ? {} : { accept } });
}

const idsIn = ({ body }: Reply): string[] => JSON.parse(body).items.map(({ id }: Event) => id);
const many = (count: number) => Array.from({ length: count }, (_, n) => event(n));

test("the page answers HTML by default, and JSON to both forms of a request for JSON", async () => {
  const get = await pageOf([event(1)]);
  const html = await get();
  expect(html.headers["content-type"]).toBe("text/html; charset=utf-8");
  expect(html.body).toContain("thing/t-1");
  const browser = await get("", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8");
  expect(browser.headers["content-type"]).toBe("text/html; charset=utf-8");
  for (const json of [await get("?format=json"), await get("", "application/json")]) {
    expect(JSON.parse(json.body)).toEqual({
      items: [{ ...event(1), published_at: expect.any(String) }],
      page: 1,
      page_size: 50,
      total: 1,
      dead_letters: [],
    });
  }
});

test("the page shows the newest events first, in pages with an exact total", async () => {
  const get = await pageOf(many(7));
  const last = await get("?format=json&page=2&page_size=5");
  expect(idsIn(await get("?format=json&page_size=5"))).toEqual(["id-6", "id-5", "id-4", "id-3", "id-2"]);
  expect(idsIn(last)).toEqual(["id-1", "id-0"]);
  expect(JSON.parse(last.body)).toMatchObject({ total: 7, page: 2 });
  expect((await get("?page_size=5&type=thing.created")).body).toContain(
    "?page=2&amp;page_size=5&amp;type=thing.created",
  );
});

test("the page can show only one type and only one account; an empty field filters nothing", async () => {
  const get = await pageOf([event(1), event(2, { type: "thing.deleted" }), event(3, { account_id: "acc-2" })]);
  expect(idsIn(await get("?format=json&type=thing.created"))).toEqual(["id-3", "id-1"]);
  expect(idsIn(await get("?format=json&type=thing.created&account_id=acc-1"))).toEqual(["id-1"]);
  expect(idsIn(await get("?format=json&type=&account_id="))).toEqual(["id-3", "id-2", "id-1"]);
});

test("no text of an event or a query becomes markup, and the page may load and run nothing", async () => {
  const evil = `"><script>alert('x')</script>&amp;`;
  const folder = newFolder();
  const letter = { at: evil, pk: evil, sk: evil, reason: evil };
  await deadLettersIn(folder).append([letter]);
  const get = await pageOf([event(1, { id: evil, type: evil, account_id: evil, data: { name: evil } })], folder);
  const page = await get(`?type=${encodeURIComponent(evil)}`);
  expect(page.body).toContain("&lt;script&gt;");
  expect(page.body).not.toContain("<script");
  expect(page.body).not.toContain(`value="">`);
  expect(page.headers["content-security-policy"]).toMatch(/^default-src 'none'; style-src 'sha256-[\w+/=]+';/);
});

test("dead letters are at the top of the page", async () => {
  const folder = newFolder();
  await deadLettersIn(folder).append([{ at: "then", pk: "ACCOUNT#a", sk: "JOURNAL#x", reason: "unreadable" }]);
  const get = await pageOf([event(1)], folder);
  const { body } = await get();
  expect(body).toContain("Not delivered: 1");
  expect(body.indexOf("JOURNAL#x")).toBeLessThan(body.indexOf("thing/t-1"));
  expect((await pageOf([event(1)]).then((clean) => clean())).body).not.toContain("Not delivered");
});

test.each(["page=0", "page=x", "page_size=0", "page_size=501", "format=xml"])(
  "%s is refused with a reason",
  async (query) => {
    const reply = await (await pageOf([]))(`?${query}`);
    expect([reply.status, JSON.parse(reply.body).message]).toEqual([
      422,
      expect.stringContaining(query.split("=")[0] ?? ""),
    ]);
  },
);

test("the event log has a limited size, and a crash in the middle of a line loses only this line", async () => {
  const file = join(newFolder(), "log.ndjson");
  const log = ndjsonLog(file, { limitBytes: 100 });
  for (let n = 0; n < 50; n++) await log.append([{ n }]);
  const kept = await log.read();
  expect(kept.at(-1)).toEqual({ n: 49 });
  expect(kept.length).toBeLessThan(30);
  await appendFile(file, '\n{"n":5');
  await log.append([{ n: 50 }]);
  expect((await log.read()).slice(-2)).toEqual([{ n: 49 }, { n: 50 }]);
});
