import { createServer, type Socket } from "node:net";

import { afterEach, expect, test, vi } from "vitest";
import * as z from "zod";

import { TableClient } from "../../../shared/table/client.ts";
import { openTable, type Table } from "../../../shared/table/table.ts";
import { listen } from "../../support/listen.ts";
import { testTable } from "../../support/world.ts";

const usage = () => ({ readUnits: 0, writeUnits: 0, calls: 0 });
const key = { PK: "TEST#failures", SK: "x" };

afterEach(() => vi.unstubAllEnvs());

/** A table at a server that handles each connection with `onConnect`. */
async function tableAt(onConnect: (socket: Socket) => void): Promise<Table> {
  // An exhaustive run turns our own client off.
  vi.stubEnv("TABLE_LANE", "");
  const client = new TableClient({ endpoint: `http://127.0.0.1:${await listen(createServer(onConnect))}` });
  return openTable(client, "gone", usage());
}

test("a table that never answers causes a 503 within the time limit of a Lambda", { timeout: 15_000 }, async () => {
  const table = await tableAt(() => undefined);
  await expect(table.get(key, z.unknown())).rejects.toMatchObject({ code: "upstream_unavailable", status: 503 });
});

test("a table that closes one connection of our own client, and then three of the SDK, causes a 503 with `retry_after`", async () => {
  let tries = 0;
  const table = await tableAt((socket) => {
    tries += 1;
    socket.destroy();
  });
  const failed = { code: "upstream_unavailable", extras: { retry_after: 2 } };
  await expect(table.get(key, z.unknown())).rejects.toMatchObject(failed);
  expect(tries).toBe(4);
  await expect(table.commit(async () => ({ value: 1, writes: [{ delete: key }] }))).rejects.toMatchObject(failed);
});

test("a transaction that loses until its time is over is a 503 `busy`, and changes nothing", async () => {
  const stubborn = openTable(new TableClient(), process.env["TABLE_NAME"] ?? "", usage(), 20);
  const mark = { PK: "TEST#failures", SK: "contested" };
  const writes = [{ put: mark }, { check: { PK: "TEST#failures", SK: "never there" }, if: "present" as const }];
  await expect(stubborn.commit(async () => ({ value: 1, writes }))).rejects.toMatchObject({
    code: "busy",
    status: 503,
  });
  expect(await testTable().get(mark, z.unknown())).toBeUndefined();
});

test("plans that lose a race read again, until each plan has succeeded", async () => {
  const table = testTable();
  const counter = { PK: `TEST#${Math.random()}`, SK: "counter" };
  const Counter = z.object({ count: z.int() });
  const increment = () =>
    table.commit(async () => {
      const { count } = (await table.get(counter, Counter)) ?? { count: 0 };
      const condition = count === 0 ? ("absent" as const) : { count };
      return { value: count, writes: [{ put: { ...counter, count: count + 1 }, if: condition }] };
    });
  const seen = await Promise.all(Array.from({ length: 12 }, increment));
  expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, index) => index));
  expect(await table.get(counter, Counter)).toEqual({ count: 12 });
});
