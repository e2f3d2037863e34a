import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { appPasswordsKey } from "../../../../shared/mail/app-passwords/app-password.ts";
import type { Key } from "../../../../shared/table/writes.ts";
import { afterReading } from "../../../support/between.ts";
import { storedOf } from "../../../support/entry-points.ts";
import { at, home, send, stocked } from "../../../support/mailboxes.ts";
import { recorded } from "../../../support/recorded.ts";
import { statusesOf } from "../../../support/request.ts";
import { newRoomyAccount } from "../../../support/roomy.ts";
import { newMember, testTable } from "../../../support/world.ts";

const phone = { name: "Phone", protocols: ["imap", "smtp"] };

async function scene() {
  const account = await newRoomyAccount();
  const { name } = await home(account);
  const [id = ""] = await stocked(account, name, ["ada"]);
  const add = (body: unknown = phone, options = {}) => send(account, "POST", at(id, "/app-passwords"), body, options);
  const list = () => send(account, "GET", at(id, "/app-passwords"));
  return { account, name, id, add, list };
}

test("the secret is in this answer and never again, and only its hash is kept", async () => {
  const { account, id, add, list } = await scene();
  const { status, body } = await add({ name: "  Phone ", protocols: ["smtp", "imap", "smtp"] });
  const { generated_secret, ...shown } = body;
  expect([status, shown]).toEqual([
    201,
    {
      id: body.id,
      mailbox_id: id,
      name: "Phone",
      protocols: ["imap", "smtp"],
      expires_at: null,
      last_used_at: null,
      created_at: expect.stringMatching(/\.\d{3}Z$/),
    },
  ]);
  expect(generated_secret).toMatch(/^[a-zA-Z2-9]{20}$/);
  expect((await list()).body.items).toEqual([shown]);
  expect(JSON.stringify(await storedOf(account))).not.toContain(generated_secret);
  const item = await testTable().getMany([appPasswordsKey(account.id, id)]);
  expect(item).toMatchObject([{ items: [{ hash: expect.stringMatching(/^\$hmac-sha256\$/) }] }]);
  expect(await recorded(account, "app_password.created")).toMatchObject([{ resource_id: body.id, after: shown }]);
});

test("accepts an expiry with any offset, and refuses an expiry in the past or after the year 9999", async () => {
  const { add } = await scene();
  const soon = new Date(Date.now() + 3_600_000);
  const offset = `${new Date(soon.getTime() + 7_200_000).toISOString().slice(0, -1)}+02:00`;
  expect((await add({ ...phone, expires_at: offset })).body.expires_at).toBe(soon.toISOString());
  expect((await add({ ...phone, expires_at: null })).body.expires_at).toBeNull();
  for (const expires_at of [new Date(Date.now() - 1).toISOString(), "9999-12-31T23:59:59-01:00", "tomorrow"]) {
    const { status, body } = await add({ ...phone, expires_at });
    expect([status, body.detail[0].loc]).toEqual([422, ["body", "expires_at"]]);
  }
});

test("refuses an invalid name and an unknown protocol, each at its place, and stores nothing", async () => {
  const { add, list } = await scene();
  const cases: [body: object, loc: (string | number)[]][] = [
    [{ protocols: ["imap"] }, ["body", "name"]],
    [{ ...phone, name: " " }, ["body", "name"]],
    [{ name: "Phone" }, ["body", "protocols"]],
    [{ ...phone, protocols: [] }, ["body", "protocols"]],
    [{ ...phone, protocols: ["pop3"] }, ["body", "protocols", 0]],
    [{ ...phone, value: "correct horse battery" }, ["body", "value"]],
  ];
  for (const [body, loc] of cases) {
    const answer = await add(body);
    expect([answer.status, answer.body.detail?.[0]?.loc]).toEqual([422, loc]);
  }
  expect((await list()).body.total).toBe(0);
});

test("a mailbox can have 25 app passwords, also if requests arrive at the same time, and a new one after a deletion", async () => {
  const { account, id, add, list } = await scene();
  for (let made = 0; made < 23; made++) expect((await add()).status).toBe(201);
  const answers = await Promise.all([add(), add(), add(), add()]);
  expect(statusesOf(answers)).toEqual([201, 201, 409, 409]);
  expect(answers.find(({ status }) => status === 409)?.body.code).toBe("limit_reached");
  const { items, total } = (await list()).body;
  expect(total).toBe(25);
  await send(account, "DELETE", at(id, `/app-passwords/${items[0].id}`));
  expect((await add()).status).toBe(201);
});

test("a request that is sent again with its idempotency key makes no second app password, and does not get the secret", async () => {
  const { add, list } = await scene();
  const headers = { "idempotency-key": randomUUID() };
  expect((await add(phone, { headers })).status).toBe(201);
  expect((await add(phone, { headers })).body).toMatchObject({ status: 409, code: "secret_already_shown" });
  expect((await list()).body.total).toBe(1);
});

test("a mailbox that is deleted during the request gets no app password", async () => {
  const { account, id, add } = await scene();
  await add();
  const remove = () => send(account, "DELETE", at(id));
  const isRead = ({ SK }: Key) => SK === appPasswordsKey(account.id, id).SK;
  expect((await afterReading(isRead, remove, () => add())).status).toBe(404);
  await send(account, "POST", at(id, "/restore"));
  expect((await send(account, "GET", at(id, "/app-passwords"))).body.total).toBe(1);
});

test("needs mailbox.reveal on the mailbox, because an app password can read its mail", async () => {
  const { account, id, add } = await scene();
  const scope = { type: "mailbox" as const, id };
  const others = await newMember(account, { role: "credential_manager" }, { role: "editor" });
  expect((await add(phone, { as: others })).body).toMatchObject({ status: 403, required_capability: "mailbox.reveal" });
  expect((await add(phone, { as: await newMember(account, { capability: "mailbox.reveal", scope }) })).status).toBe(
    201,
  );
});
