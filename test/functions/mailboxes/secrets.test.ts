import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { nobodysHash } from "../../../shared/mail/mailboxes/password.ts";
import { storedOf } from "../../support/entry-points.ts";
import { logged } from "../../support/logged.ts";
import { logsIn } from "../../support/mail-routes.ts";
import { at, home, person, send } from "../../support/mailboxes.ts";
import type { Answer } from "../../support/request.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { testTable } from "../../support/world.ts";

test("operations on mailboxes and master passwords leave no password in the table, in the log or in other answers", async () => {
  const lines = logged();
  const account = await newRoomyAccount();
  const { name: domain } = await home(account);
  const answers: Answer[] = [];
  const secrets: string[] = ["correct horse battery"];
  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await send(account, method, path, body, { headers: { "idempotency-key": randomUUID() } });
    expect(answer.status, answer.text).toBeLessThan(300);
    const secret = answer.body.password ?? answer.body.generated_secret;
    if (secret === undefined) answers.push(answer);
    else secrets.push(secret);
    return answer;
  };

  const ada = (await call("POST", "mailboxes", { domain, ...person("ada") })).body.id;
  const bulk = await call("POST", "mailboxes/bulk", { domain, items: [person("bob"), person("bob")] });
  const bob = bulk.body.created[0].mailbox.id;
  for (const id of [ada, bob]) {
    await call("POST", at(id, "/aliases"), { alias: id === ada ? "sales" : "*" });
    await call("POST", at(id, "/reveal-credentials"));
    await call("PATCH", at(id), { last_name: "King" });
    await call("PATCH", at(id, "/active"), { active: false });
  }
  await call("POST", at(ada, "/rotate-password"));
  await call("POST", at(ada, "/reveal-credentials"));
  await call("GET", at(ada));
  await call("GET", "mailboxes");
  await call("POST", "mailboxes/export", {});
  const generated = (await call("POST", "credentials", { name: "One", generate: true })).body.id;
  const given = (await call("POST", "credentials", { name: "Two", value: secrets[0], domain })).body.id;
  await call("PATCH", `credentials/${generated}`, { name: "Three" });
  await call("GET", "credentials");
  await call("DELETE", `credentials/${given}`);
  await call("DELETE", at(bob));
  await call("GET", "audit-log?page_size=100");
  const email = `ada@${domain}`;
  for (const secret of secrets) await logsIn(email, secret, "smtp");
  const refused = await send(account, "POST", "credentials", { name: "", value: secrets[0] });
  expect(refused.status).toBe(422);
  answers.push(refused);

  const stored = await storedOf(account);
  const kept = await testTable().between(`PRINCIPAL#${account.owner.id}`, "!", "~");
  expect(kept.filter(({ SK }) => SK.startsWith("IDEMPOTENCY#")).length).toBeGreaterThan(8);
  expect(secrets).toHaveLength(5);
  expect(lines.filter((line) => line.includes(`"route":"mail.auth"`)).length).toBe(secrets.length);
  expect(lines.length).toBeGreaterThan(answers.length);
  const texts = [...stored, ...kept, ...lines, ...answers.map(({ text, headers }) => [text, headers])].map((one) =>
    JSON.stringify(one),
  );
  expect(texts.filter((text) => secrets.some((secret) => text.includes(secret)))).toEqual([]);

  // Hashes, tags and sealed passwords are stored only in mailboxes and master passwords.
  const logins = stored.flatMap((item) => Object.values(item["login"] ?? { hash: item["hash"], tag: item["tag"] }));
  const parts = logins.filter((part): part is string => typeof part === "string");
  expect(parts.length).toBeGreaterThanOrEqual(4);
  const prefixes = [nobodysHash.split("$").slice(0, 3).join("$"), "hmac-sha256"];
  const holders = stored.filter((item) => parts.some((part) => JSON.stringify(item).includes(part)));
  for (const { SK } of holders) expect(SK).toMatch(/^(?:LIST#(?:deleted_)?mailboxes#ROW#|MASTER#)/);
  for (const text of [...kept.map((item) => JSON.stringify(item)), ...answers.map((answer) => answer.text)]) {
    expect(parts.filter((part) => text.includes(part))).toEqual([]);
    for (const prefix of prefixes) expect(text).not.toContain(prefix);
  }
});
