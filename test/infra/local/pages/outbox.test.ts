import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { outboxPaths } from "../../../../infra/local/pages/outbox.ts";
import { embeddedMail } from "../../../../shared/providers/mail/embedded.ts";
import type { Letter } from "../../../../shared/providers/mail/mail.ts";
import { testTable } from "../../../support/world.ts";
import { gatewayFor, sendRequest } from "../wire.ts";

const table = testTable();
const sender = { name: "Hosted Mail", address: "no-reply@hosted-mail.example" };

/** A new address, and a gateway with the page. `send` sends a mail to the address. */
async function scene() {
  const port = await gatewayFor({ localPaths: outboxPaths(table) });
  const to = `${randomUUID()}@example.net`;
  const send = (more: Partial<Letter> = {}, now = new Date()): Promise<void> =>
    embeddedMail(table, sender, () => now).send({ id: randomUUID(), to, subject: "S", text: "T", html: "H", ...more });
  const get = (path: string, headers: Record<string, string> = {}) =>
    sendRequest(port, { path: `/_local/outbox${path}`, headers });
  const items = async (): Promise<{ id: string; subject: string }[]> =>
    JSON.parse((await get(`?to=${to}&format=json`)).body).items;
  return { to, send, get, items };
}

const hostile = `"><script>alert(1)</script><b title='x'>`;

test("the outbox lists the mails to an address, newest first, each with a link", async () => {
  const { to, send, get, items } = await scene();
  await send({ subject: "First" }, new Date("2026-01-01T00:00:00Z"));
  await send({ subject: `Second ${hostile}` }, new Date("2026-01-01T00:00:01Z"));
  const page = await get(`?to=${to.toUpperCase()}`);
  expect(page.status).toBe(200);
  expect(page.headers["content-type"]).toBe("text/html; charset=utf-8");
  expect(page.headers["content-security-policy"]).toMatch(/^default-src 'none'; style-src 'sha256-/);
  expect(page.body).not.toMatch(/<script|<b[ >]/);
  expect(page.body.indexOf("Second")).toBeLessThan(page.body.indexOf("First"));
  for (const { id } of await items()) expect(page.body).toContain(`href="/_local/outbox/${id}"`);
});

test("without an address the outbox lists the mails to everybody", async () => {
  const { to, send, get } = await scene();
  // Later than the mails of other tests.
  await send({}, new Date("2098-01-01T00:00:00Z"));
  expect((await get("?limit=200")).body).toContain(to);
});

test("the outbox shows a mail with its text, and its HTML in a frame that runs nothing", async () => {
  const { to, send, get, items } = await scene();
  const html = `<!doctype html><html><head></head><body style="color:red">${hostile}</body></html>`;
  await send({ subject: hostile, text: `Text ${hostile}`, html });
  const [mail] = await items();
  const page = await get(`/${mail?.id}`);
  expect(page.status).toBe(200);
  expect(page.headers["content-security-policy"]).toContain("frame-src 'self'");
  expect(page.body).not.toMatch(/<script|<b[ >]/);
  expect(page.body).toContain("Text &quot;&gt;&lt;script&gt;");
  expect(page.body).toContain(to);
  const [, attributes = ""] = /<iframe([^>]*)>/.exec(page.body) ?? [];
  expect(attributes).toContain(`src="/_local/outbox/${mail?.id}/html"`);
  expect(attributes).toMatch(/ sandbox="(?!.*allow-(?:scripts|same-origin|top|forms))/);

  const frame = await get(`/${mail?.id}/html`);
  expect(frame.body).toBe(html.replace("<head>", '<head><base target="_blank">'));
  const policy = frame.headers["content-security-policy"] ?? "";
  expect(policy).toContain("default-src 'none'");
  expect(policy).toMatch(/; sandbox (?!.*allow-(?:scripts|same-origin))/);
});

test("the outbox answers JSON to a request for JSON", async () => {
  const { to, send, get, items } = await scene();
  await send({ subject: "For programs" });
  const accept = { accept: "application/json" };
  const listed = JSON.parse((await get(`?to=${to}`, accept)).body);
  expect(listed).toEqual({ items: await items() });
  const [mail] = listed.items;
  expect(mail).toMatchObject({ to, subject: "For programs", text: "T", html: "H" });
  expect(JSON.parse((await get(`/${mail.id}?format=json`)).body)).toEqual(mail);
});

test("the outbox says that there is no mail, answers 404 for an unknown mail, and 422 for a wrong parameter", async () => {
  const { to, get } = await scene();
  expect((await get(`?to=${to}`)).body).toContain("The outbox has no mail.");
  expect(await get(`/${randomUUID()}`)).toMatchObject({ status: 404 });
  expect(await get(`/${randomUUID()}/html`)).toMatchObject({ status: 404 });
  expect(await get(`/${randomUUID()}?format=json`)).toMatchObject({ status: 404, body: expect.stringContaining("{") });
  expect(await get("?limit=0")).toMatchObject({ status: 422 });
});
