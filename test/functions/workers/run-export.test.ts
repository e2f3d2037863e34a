import { expect, test } from "vitest";

import { runExport } from "../../../functions/workers/make-mailbox-export.ts";
import { exportKey, StoredExport } from "../../../shared/mail/mailboxes/export.ts";
import { embeddedFiles, readEmbedded } from "../../../shared/providers/files/embedded.ts";
import type { Files } from "../../../shared/providers/files/files.ts";
import { newWorkspace } from "../../support/auth.ts";
import { readCsv } from "../../support/csv.ts";
import { newFolder } from "../../support/folder.ts";
import { queuedExport } from "../../support/mailbox-examples.ts";
import { at, home, send, stocked } from "../../support/mailboxes.ts";
import { recorded } from "../../support/recorded.ts";
import { countTrips } from "../../support/trips.ts";
import { newAccount, testTable, type Account } from "../../support/world.ts";

/** An account with `count` mailboxes, and a folder for its files. */
async function scene(count: number) {
  const account = await newAccount();
  const domain = await home(account);
  const locals = Array.from({ length: count }, (_, index) => `p${index}`);
  const ids = await stocked(account, domain.name, locals);
  const folder = newFolder();
  const files = embeddedFiles({ folder, secret: Buffer.alloc(32), baseUrl: "http://127.0.0.1" });
  const run = (id: string, others: Partial<Files> = {}) =>
    runExport(account.id, id, { table: testTable(), files: { ...files, ...others }, now: () => new Date() });
  const rowsIn = async (id: string): Promise<string[][] | undefined> => {
    const key = (await testTable().get(exportKey(account.id, id), StoredExport))?.file_key ?? null;
    const file = key === null ? undefined : await readEmbedded(folder, key);
    return file && readCsv(file.toString()).slice(1);
  };
  return { account, domain, locals, ids, files, run, rowsIn };
}

async function storedAs({ id: accountId }: Account, id: string) {
  const stored = await testTable().get(exportKey(accountId, id), StoredExport);
  if (!stored) throw new Error("there is no export");
  return stored;
}

const finishedIn = async (account: Account): Promise<number> =>
  (await recorded(account, "mailbox_export.finished")).length;

test("writes every mailbox once, in order, in several chunks, and stores its progress", async () => {
  const { account, domain, locals, ids, files, run, rowsIn } = await scene(260);
  await send(account, "DELETE", at(ids[100] ?? ""));
  const id = await queuedExport(account);
  const seen: unknown[] = [];
  await run(id, {
    putStream: (key, content, type) => {
      async function* watched() {
        for await (const piece of content) {
          yield piece;
          const { status, row_count, file_key } = await storedAs(account, id);
          seen.push([status, row_count, file_key]);
        }
      }
      return files.putStream(key, watched(), type);
    },
  });
  expect(seen).toEqual([
    ["queued", 0, null],
    ["queued", 0, null],
    ["running", 250, null],
  ]);
  expect(await storedAs(account, id)).toMatchObject({ status: "done", row_count: 259 });
  const emails = locals.filter((_, index) => index !== 100).map((local) => `${local}@${domain.name}`);
  expect((await rowsIn(id))?.map(([, email]) => email)).toEqual(emails);
  expect(await finishedIn(account)).toBe(1);
});

test("an export that runs twice at the same time, or again later, is finished once", async () => {
  const { account, run, rowsIn } = await scene(3);
  const id = await queuedExport(account);
  await Promise.all([run(id), run(id)]);
  const first = await storedAs(account, id);
  await run(id);
  expect(await storedAs(account, id)).toEqual(first);
  expect(first).toMatchObject({ status: "done", row_count: 3 });
  expect(await rowsIn(id)).toHaveLength(3);
  expect(await finishedIn(account)).toBe(1);
});

test("a slower worker does not reopen an export that another worker has completed", async () => {
  const { account, files, run } = await scene(3);
  const id = await queuedExport(account);
  const keys: (string | null)[] = [];
  await run(id, {
    putStream: async (key, content, type) => {
      await run(id);
      keys.push(key, (await storedAs(account, id)).file_key);
      await files.putStream(key, content, type);
      expect(await storedAs(account, id)).toMatchObject({ status: "done", row_count: 3 });
    },
  });
  const [slower, faster] = keys;
  expect(await storedAs(account, id)).toMatchObject({ status: "done", version: 2, file_key: faster });
  // Each run has a file of its own, and nobody can guess its name.
  expect(slower).not.toBe(faster);
  expect(await finishedIn(account)).toBe(1);
});

test("an interrupted export has no file, and the next run makes the whole file", async () => {
  const { account, run, rowsIn } = await scene(3);
  const id = await queuedExport(account);
  const cutOff = run(id, {
    putStream: async (_key, content) => {
      for await (const piece of content) if (piece.includes("p0@")) throw new Error("the worker died");
    },
  });
  await expect(cutOff).rejects.toThrow("the worker died");
  expect(await rowsIn(id)).toBeUndefined();
  expect(await storedAs(account, id)).toMatchObject({ file_key: null, finished_at: null });
  await run(id);
  expect(await storedAs(account, id)).toMatchObject({ status: "done", row_count: 3 });
  expect(await rowsIn(id)).toHaveLength(3);
});

test("an export whose runs all fail has failed, with one event, and a later run can still finish it", async () => {
  const { account, run, rowsIn } = await scene(3);
  const id = await queuedExport(account);
  const state = async () => (await send(account, "GET", `mailboxes/exports/${id}`)).body;
  const fail = () => run(id, { putStream: () => Promise.reject(new Error("no room")) });
  const failures = () => recorded(account, "mailbox_export.failed");
  for (const status of ["queued", "queued", "failed"]) {
    await expect(fail()).rejects.toThrow("no room");
    expect(await state()).toMatchObject({ status, row_count: 0, download_url: null, finished_at: null });
    expect(await failures()).toHaveLength(status === "failed" ? 1 : 0);
  }
  await expect(fail()).rejects.toThrow("no room");
  expect(await failures()).toMatchObject([{ actor_type: "system", resource_id: id, after: { id, row_count: 0 } }]);
  await run(id);
  expect(await state()).toMatchObject({ status: "done", row_count: 3, download_url: expect.any(String) });
  expect(await rowsIn(id)).toHaveLength(3);
});

test("an export whose last run died has failed, once no run can be left", async () => {
  const { account, files, run } = await scene(1);
  const id = await queuedExport(account);
  const state = async () => (await send(account, "GET", `mailboxes/exports/${id}`)).body.status;
  const set = (members: object) => testTable().attempt({ update: exportKey(account.id, id), set: { ...members } });
  await set({ runs: 2 });
  await run(id, {
    putStream: async (key, content, type) => {
      expect(await state()).toBe("queued");
      await set({ run_started_at: new Date(Date.now() - 15 * 60_000).toISOString() });
      expect(await state()).toBe("failed");
      await files.putStream(key, content, type);
    },
  });
  expect(await state()).toBe("done");
});

test("reads 16 domains at the same time", async () => {
  const tripsFor = async (domains: number) => {
    const { account, run } = await scene(0);
    const workspace_id = await newWorkspace(account, "Sales");
    for (let index = 0; index < domains; index++) {
      const { name } = await home(account, { workspaceId: workspace_id });
      await stocked(account, name, ["ada"]);
    }
    const id = await queuedExport(account, { workspace_id });
    const { trips } = await countTrips(() => run(id));
    expect(await storedAs(account, id)).toMatchObject({ status: "done", row_count: domains });
    return trips;
  };
  expect(await tripsFor(16)).toBeLessThan(2 * (await tripsFor(2)));
});

test("exports the filtered mailboxes that the requester's stored grants allow, without grants that have expired since", async () => {
  const { account, domain, ids, run, rowsIn } = await scene(3);
  const other = await home(account);
  await stocked(account, other.name, ["q0"]);
  const grant = (type: "mailbox" | "domain", id = "") => ({
    id: `grant-${id}`,
    capability: "mailbox.export",
    scope: { type, id },
  });
  const cases: [filter: object, grants: object[], emails: string[]][] = [
    [{}, [grant("domain", domain.id)], ["p0", "p1", "p2"]],
    [{}, [grant("mailbox", ids[1])], ["p1"]],
    [{ search: "p2" }, [grant("domain", domain.id), grant("mailbox", ids[2])], ["p2"]],
    [{ domain: other.id }, [grant("domain", domain.id)], []],
    [{}, [{ ...grant("domain", domain.id), expires_at: "2026-01-01T00:00:00.000Z" }, grant("mailbox", ids[1])], ["p1"]],
    [{}, [], []],
  ];
  for (const [filter, grants, locals] of cases) {
    const id = await queuedExport(account, { ...filter });
    const permissions = { everything: false, grants };
    await testTable().attempt({ update: exportKey(account.id, id), set: { permissions } });
    await run(id);
    expect(
      (await rowsIn(id))?.map(([, email]) => email?.split("@")[0]),
      JSON.stringify(filter),
    ).toEqual(locals);
  }
});

test("does nothing for an export that does not exist", async () => {
  const { account, run, rowsIn } = await scene(0);
  await run(account.id);
  expect(await rowsIn(account.id)).toBeUndefined();
});
