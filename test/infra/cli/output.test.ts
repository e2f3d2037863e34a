import { expect, test, vi } from "vitest";

import type { CommandSpec } from "../../../infra/cli/emit.ts";
import { printAnswer, printList } from "../../../infra/cli/package/output.ts";

/** The text that `print` prints. */
async function printed(print: () => unknown): Promise<string> {
  const texts: string[] = [];
  const spy = vi.spyOn(process.stdout, "write").mockImplementation((text) => texts.push(String(text)) > 0);
  try {
    await print();
  } finally {
    spy.mockRestore();
  }
  return texts.join("");
}

/** The table of a list command. */
const tableOf = (name: string, items: readonly object[], columns: string[] = []): Promise<string> => {
  const spec = { name, list: { member: "items", isPaged: true, columns } } as unknown as CommandSpec;
  const all = async function* () {
    yield* items;
  };
  return printed(() => printList(all(), spec, "people"));
};

test("an answer is printed without control characters, also in the names of members", async () => {
  const answer = { name: "Ops\u001b[2J", attributes: { "city\u001b[2J\n": "Graz\u009b2J" } };
  expect(await printed(() => printAnswer(answer, "people"))).toBe(
    "name        Ops [2J\nattributes\n  city [2J   Graz 2J\n",
  );
});

test("the table of a list can have 130,000 rows", async () => {
  const rows = Array.from({ length: 130_000 }, () => ({ id: "1" }));
  const table = await tableOf("tags.list", rows, ["id"]);
  expect(table.split("\n")).toHaveLength(130_002);
});

test("the table of domains shows the end of a registration", async () => {
  const domain = { name: "example.com", status: "active", registration: { expires_at: "2027-03-02T09:15:03.000Z" } };
  const [head, bought, own] = (
    await tableOf("domains.list", [domain, { name: "example.org", registration: null }])
  ).split("\n");
  expect(head).toMatch(/ EXPIRES AT$/);
  expect(bought).toMatch(/ 2027-03-02T09:15:03\.000Z$/);
  expect(own).toMatch(/^example\.org .* -$/);
});
