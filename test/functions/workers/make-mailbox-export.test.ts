import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { handler } from "../../../functions/workers/make-mailbox-export.ts";
import { workers } from "../../../infra/entry-points.ts";
import { changeJournalOf } from "../../../shared/changes/record.ts";
import { exportKey, StoredExport } from "../../../shared/mail/mailboxes/export.ts";
import { readEmbedded } from "../../../shared/providers/files/embedded.ts";
import { readEntries } from "../../../shared/table/journal.ts";
import { readCsv } from "../../support/csv.ts";
import { queuedExport } from "../../support/mailbox-examples.ts";
import { home, send, stocked } from "../../support/mailboxes.ts";
import { newAccount, testTable, type Account } from "../../support/world.ts";

const eventOf = ({ id: account_id }: Pick<Account, "id">, id: string) => ({
  detail: { account_id, resource: { type: "mailbox_export", id }, data: {} },
});

async function fileOf({ id: accountId }: Pick<Account, "id">, id: string) {
  const key = (await testTable().get(exportKey(accountId, id), StoredExport))?.file_key ?? null;
  return key === null ? undefined : readEmbedded(process.env["FILES_DIR"] ?? "", key);
}

test("makes the file that the event asks for, once, however often the event comes", async () => {
  const account = await newAccount();
  const { name } = await home(account);
  await stocked(account, name, ["ada", "bob"]);
  const id = await queuedExport(account, { search: "bob" });
  await handler(eventOf(account, id));
  const first = (await send(account, "GET", `mailboxes/exports/${id}`)).body;
  expect(first).toMatchObject({ status: "done", row_count: 1 });
  const file = await fileOf(account, id);
  expect(readCsv(file?.toString() ?? "").map(([, email]) => email)).toEqual(["email", `bob@${name}`]);

  await stocked(account, name, ["bobby"]);
  await handler(eventOf(account, id));
  expect((await send(account, "GET", `mailboxes/exports/${id}`)).body).toMatchObject({
    finished_at: first.finished_at,
    row_count: 1,
  });
  expect(await fileOf(account, id)).toEqual(file);
});

test("the end of an export is recorded as an event of the system", async () => {
  const account = await newAccount();
  const id = await queuedExport(account);
  await handler(eventOf(account, id));
  const { rows } = await readEntries(testTable(), changeJournalOf(account.id), { skip: 0, take: 1 }, new Date());
  expect(rows[0]).toMatchObject({ type: "mailbox_export.finished", actor_type: "system", resource_id: id });
});

test("does nothing for an export that does not exist, and throws for an event of another form", async () => {
  const account = await newAccount();
  const id = randomUUID();
  await handler(eventOf(account, id));
  expect(await fileOf(account, id)).toBeUndefined();
  for (const detail of [{}, { account_id: account.id }, { resource: { id } }]) {
    await expect(handler({ detail })).rejects.toThrow();
  }
});

test("is called only for the event `mailbox_export.requested`", () => {
  const worker = workers.find(({ name }) => name === "workers.make_mailbox_export");
  expect(worker?.source).toEqual({ events: ["mailbox_export.requested"] });
});
