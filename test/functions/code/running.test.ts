import { expect, test } from "vitest";

import { budgetMs, resultLimitBytes } from "../../../functions/code/language/limits.ts";
import { runToy, toyContext, type Toy } from "../../support/toy-functions.ts";

const newToy = (before?: Toy["before"]): Toy => ({ calls: [], ...(before ? { before } : {}) });

/** The entries in short: `0 notes.get completed`. */
const shown = ({ responses }: Awaited<ReturnType<typeof runToy>>) =>
  responses.map(({ index, function: name, status }) => `${index} ${name} ${status}`);

test("a nested call is made before the call that takes its result, and has an entry of its own", async () => {
  const toy = newToy();
  const answer = await runToy("notes.add(text=notes.get(id=notes.get(id='a').text).id, tags=['x'])", toy);
  expect(toy.calls).toEqual([
    'notes.get {"id":"a"}',
    'notes.get {"id":"text of a"}',
    'notes.add {"text":"text of a","tags":["x"]}',
  ]);
  expect(shown(answer)).toEqual(["0 notes.get completed", "1 notes.get completed", "2 notes.add completed"]);
  expect(answer.lastValue).toMatchObject({ id: "text of a" });
});

test("a comprehension calls for each item, in order, with an entry for each", async () => {
  const toy = newToy();
  const answer = await runToy("[notes.add(text=n.id) for n in notes.list(page_size=5).items if n.id != 'n2']", toy);
  expect(toy.calls.slice(1)).toEqual(["n0", "n1", "n3", "n4"].map((text) => `notes.add ${JSON.stringify({ text })}`));
  expect(answer.responses).toHaveLength(5);
  expect(answer.lastValue).toMatchObject([{ id: "n0" }, { id: "n1" }, { id: "n3" }, { id: "n4" }]);
});

test("`and` and `or` skip the calls that cannot change their value", async () => {
  const toy = newToy();
  const answer = await runToy(
    "notes.get(id='a').parent and notes.get(id='b')\nnotes.get(id='c') or notes.get(id='d')",
    toy,
  );
  expect(toy.calls).toEqual(['notes.get {"id":"a"}', 'notes.get {"id":"c"}']);
  expect(answer.error).toBeUndefined();
});

test("the last value is the value of the last statement with a call, or of a last line that assigns nothing", async () => {
  const lastOf = async (program: string) => (await runToy(program, newToy())).lastValue;
  expect(await lastOf("x = notes.get(id='a')")).toMatchObject({ id: "a" });
  expect(await lastOf("x = notes.get(id='a')\nids = [x.id]")).toMatchObject({ id: "a" });
  expect(await lastOf("x = notes.get(id='a')\n[x.id, x.number]")).toEqual(["a", 1]);
  expect(await lastOf("x = notes.get(id='a')\nx.text")).toBe("text of a");
  expect(await lastOf("[notes.get(id=i) for i in []]")).toEqual([]);
  expect(await lastOf("notes.get(id='a').tags[0]")).toBe("a");
  expect(await lastOf("x = 1")).toBeNull();
});

test("after a failure nothing later runs, and each call that was not reached is skipped", async () => {
  const toy = newToy();
  const program =
    "a = notes.get(id='a')\nb = notes.add(text=notes.get(id='bad').id)\nnotes.get(id=b.id)\n[notes.get(id=i) for i in ['x', 'y']]";
  const answer = await runToy(program, toy);
  expect(shown(answer)).toEqual([
    "0 notes.get completed",
    "1 notes.get failed",
    "2 notes.add skipped",
    "3 notes.get skipped",
    "4 notes.get skipped",
  ]);
  expect(answer.error).toMatchObject({ code: "not_found", line: 2, column: 20, detail: { status: 404 } });
  expect(answer.lastValue).toMatchObject({ id: "a" });
  expect(toy.calls.some((call) => call.startsWith("notes.add"))).toBe(false);
});

test("a failure inside a comprehension keeps the items before it", async () => {
  const answer = await runToy("[notes.add(text=notes.get(id=i).id) for i in ['a', 'bad', 'c']]", newToy());
  expect(shown(answer)).toEqual(["0 notes.get completed", "1 notes.add completed", "2 notes.get failed"]);
});

test("after a failed item of a comprehension that only reads, later items do not begin or their results are left out", async () => {
  const toy = newToy(async () => new Promise((resolve) => setImmediate(resolve)));
  const others = Array.from({ length: 50 }, (_, index) => `'n${index}'`).join(", ");
  const answer = await runToy(`[notes.get(id=i) for i in ['a', 'bad', ${others}]]`, toy);
  expect(shown(answer)).toEqual(["0 notes.get completed", "1 notes.get failed"]);
  expect(answer.lastValue).toMatchObject({ id: "a" });
  expect(toy.calls.length).toBeLessThan(50);
});

test("an argument that is made at run time is checked before its call, and a mistake is reported at its place", async () => {
  const toy = newToy();
  const program = "x = notes.get(id='a')\nnotes.add(text='t', tags=['ok', x.text])\nnotes.get(id='b')";
  const answer = await runToy(program, toy);
  expect(answer.error).toMatchObject({
    code: "invalid_argument",
    line: 2,
    column: 33,
    detail: [{ loc: ["body", "tags", 1] }],
  });
  expect(answer.error?.message).toContain("notes.add does not take this tags[1]: Write at most 5 characters");
  expect(answer.error?.message).toContain("Use: notes.add(text: string (at most 50 characters)");
  expect(shown(answer)).toEqual(["0 notes.get completed", "1 notes.add failed", "2 notes.get skipped"]);
  expect(toy.calls.some((call) => call.startsWith("notes.add"))).toBe(false);
});

test("a member that is missing at run time ends the program without a failed call", async () => {
  const answer = await runToy("x = notes.get(id='a')\nnotes.add(text=x.parent.id)", newToy());
  expect(shown(answer)).toEqual(["0 notes.get completed", "1 notes.add skipped"]);
  expect(answer.error).toMatchObject({ code: "no_such_member", line: 2 });
});

test("a program makes 200 calls at most: a comprehension that needs more fails before its first call, and says how to continue", async () => {
  const ok = await runToy("[notes.get(id=n.id) for n in notes.list(page_size=100).items]", newToy());
  expect(ok.responses).toHaveLength(101);
  const toy = newToy();
  const xs = "ids = [f'{x}' for x in notes.echo(value=[x for x in range(250)])]\n";
  const answer = await runToy(`${xs}[notes.add(text=i) for i in ids if i != '0']`, toy);
  expect(answer.error).toMatchObject({ code: "too_many_calls", line: 2 });
  expect(answer.error?.message).toContain(
    "these 249 items need 249, with 199 left: filter them with `if`, or take `ids[0:199]` here, and go on with `ids[199:]` in the next program.",
  );
  expect(toy.calls).toHaveLength(1);
  const sliced = await runToy(`${xs}[notes.add(text=i) for i in ids[0:199]]`, newToy());
  expect(sliced.responses).toHaveLength(200);
});

test("the call after the 200th fails, also if only the run decides how many calls are made", async () => {
  const toy = newToy();
  const program =
    "xs = notes.echo(value=[x for x in range(30)])\n[[notes.get(id='a') for y in xs if y != x] for x in xs]";
  const answer = await runToy(program, toy, { concurrency: 1 });
  expect(answer.error).toMatchObject({ code: "too_many_calls", line: 2 });
  expect(toy.calls.length).toBeLessThanOrEqual(200);
  const both = await runToy("[x > -1 and notes.get(id='a') for x in range(201)]", newToy(), { concurrency: 1 });
  expect(both.error?.message).toContain(
    "A program makes 200 calls at most: send the remaining calls as the next program.",
  );
  expect(both.responses.filter(({ status }) => status === "completed")).toHaveLength(200);
});

test("a conditional makes the calls of one branch only", async () => {
  const toy = newToy();
  const answer = await runToy("x = notes.get(id='a') if 1 > 2 else notes.get(id='b')\nx.id", toy);
  expect(toy.calls).toEqual(['notes.get {"id":"b"}']);
  expect(answer.lastValue).toBe("b");
});

test("calls in arguments of builtins, methods and slices are made in their order", async () => {
  const toy = newToy();
  const program =
    "notes.get(id='a').text.replace(notes.get(id='b').id, 'x')[notes.get(id='c').number:len(notes.get(id='d').id) + 5]";
  const answer = await runToy(program, toy);
  expect(toy.calls).toEqual(["a", "b", "c", "d"].map((id) => `notes.get ${JSON.stringify({ id })}`));
  expect(answer.lastValue).toBe("ext o");
});

test("a result without room in the answer is replaced by its size, and the program continues", async () => {
  const big = "a".repeat(50_000);
  const program = `x = notes.echo(value=[t + t for t in ["${big}", "${big.slice(0, 5_000)}"]])\n${"notes.echo(value=x)\n".repeat(12)}[len(x), notes.get(id="after").id]`;
  const { responses, lastValue, error } = await runToy(program, newToy());
  expect(error).toBeUndefined();
  expect(lastValue).toEqual([2, "after"]);
  const marked = responses.filter(
    (entry) => entry.status === "completed" && "omitted_bytes" in (entry.result as object),
  );
  expect(marked).toHaveLength(4);
  expect(marked[0]).toMatchObject({
    result: { omitted_bytes: 110_007, message: expect.stringContaining("Let the last line be this value alone") },
  });
  expect(Buffer.byteLength(JSON.stringify(responses))).toBeLessThan(resultLimitBytes + 20_000);
});

test.each([
  ["a value that the program makes", '[notes.get(id="a").id, [y for i in range(5)]]', ["0 notes.get completed"]],
  ["a value made without any call", "[y for i in range(5)]", []],
  ["a value that a call returned", "x = notes.echo(value=[y for i in range(5)])", ["0 notes.echo completed"]],
  ["quotes, which take more room in an answer", "notes.echo(value=[q for i in range(3)])", ["0 notes.echo completed"]],
])("a last value over 1 MiB is an error of its own, and the calls stay completed: %s", async (_, last, entries) => {
  const begin = `x = "${"a".repeat(30_000)}"; y = x + x + x + x + x + x + x + x; p = '${'"'.repeat(20_000)}'`;
  const program = `${begin}; q = p + p + p + p + p + p\n${last}`;
  const answer = await runToy(program, newToy());
  expect(shown(answer)).toEqual(entries);
  expect(answer.lastValue).toBeNull();
  expect(answer.error).toMatchObject({ code: "result_too_large", line: 2, column: 1 });
  expect(answer.error?.message).toMatch(
    /^The result takes \d+ bytes, but an answer has room for only 1048576\. Let the last line /,
  );
  expect(answer.error?.message).not.toContain("The call ran");
});

test("a last value of almost 1 MiB is returned, and a larger one is an error", async () => {
  const make = (count: number) => `x = "${"a".repeat(50_000)}"\n[x for i in range(${count})]`;
  expect((await runToy(make(20), newToy())).lastValue).toHaveLength(20);
  expect((await runToy(make(21), newToy())).error?.code).toBe("result_too_large");
});

test("a failed program has the size of the last call's value, if this value is too large", async () => {
  const program = `x = "${"a".repeat(60_000)}"\nnotes.echo(value=[x for i in range(20)])\nnotes.get(id="bad")`;
  const { error, lastValue } = await runToy(program, newToy());
  expect(error?.code).toBe("not_found");
  expect(lastValue).toEqual({
    omitted_bytes: 1_200_061,
    message: expect.stringContaining("a part of the 20 items, as in xs[0:15]"),
  });
});

test("calls that would begin after the time budget are skipped", async () => {
  let elapsedMs = 0;
  const context = toyContext(() => new Date(Date.UTC(2026, 0, 1) + (elapsedMs += budgetMs / 8)));
  const program = Array.from("abcdefghijkl", (text) => `notes.add(text="${text}")`).join("\n");
  const answer = await runToy(program, newToy(), { context });
  expect(answer.responses.map(({ status }) => status[0]).join("")).toMatch(/^c+s+$/);
  const completed = answer.responses.filter(({ status }) => status === "completed").length;
  expect(answer.error).toMatchObject({ code: "out_of_time", line: completed + 1, column: 1 });
});

test("calls of other services are skipped after half of the time, so that a slow service can still answer", async () => {
  const send = 'notes.send(id="a")';
  const run = (last: string) => {
    let elapsedMs = 0;
    const context = toyContext(() => new Date(Date.UTC(2026, 0, 1) + elapsedMs));
    const toy = newToy(async () => void (elapsedMs += 8_000));
    return runToy([send, send, last].join("\n"), toy, { context });
  };
  const answer = await run(send);
  expect(answer.responses.map(({ status }) => status)).toEqual(["completed", "completed", "skipped"]);
  expect(answer.error).toMatchObject({ code: "out_of_time", line: 3, message: expect.stringContaining("10 seconds") });
  expect((await run('notes.add(text="b")')).error).toBeUndefined();
});

test("independent reads run at the same time, twenty at most, and writes keep their place", async () => {
  let now = 0;
  let most = 0;
  const log: string[] = [];
  const toy = newToy(async (name) => {
    now += 1;
    most = Math.max(most, now);
    log.push(`+${name} ${now}`);
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    now -= 1;
  });
  const reads = Array.from({ length: 30 }, (_, index) => `notes.get(id="r${index}")`);
  const answer = await runToy(
    `${reads.join("\n")}\nnotes.add(text="w")\n[notes.get(id=f"s{i}") for i in range(12)]`,
    toy,
  );
  expect(most).toBe(20);
  expect(log.slice(30, 32)).toEqual(["+notes.add 1", "+notes.get 1"]);
  expect(answer.responses).toHaveLength(43);
  expect(toy.calls[30]).toBe('notes.add {"text":"w"}');
});

test("statements that may need more than 200 calls together run one after another, so the earlier ones complete", async () => {
  const toy = newToy();
  const program = `a = [notes.get(id=str(n)).id for n in range(150)]\nb = [notes.get(id=str(n)).id for n in range(101) if n > 0]`;
  const answer = await runToy(program, toy);
  expect(answer.error).toMatchObject({ code: "too_many_calls", line: 2 });
  expect(answer.error?.message).toContain("with 50 left");
  expect(answer.completed).toHaveLength(1);
  expect(toy.calls).toHaveLength(150);
  const longList = "xs = [str(n) for n in range(150)]\nys = notes.echo(value=xs)";
  const unknown = await runToy(
    `${longList}\na = [notes.get(id=y) for y in ys]\nb = [notes.get(id=y) for y in ys]`,
    toy,
  );
  expect([unknown.error?.code, unknown.completed.length]).toEqual(["too_many_calls", 3]);
});

test("results of later reads are left out if an earlier read failed", async () => {
  let release: (() => void) | undefined;
  const waits = new Promise<void>((resolve) => (release = resolve));
  const toy = newToy(async (_, { id }) => (id === "bad" ? waits : release?.()));
  const answer = await runToy("notes.get(id='bad')\nnotes.get(id='late')\nnotes.add(text='never')", toy);
  expect(toy.calls).toHaveLength(2);
  expect(shown(answer)).toEqual(["0 notes.get failed", "1 notes.get skipped", "2 notes.add skipped"]);
  expect(answer.lastValue).toBeNull();
  expect(answer.completed).toEqual([]);
});

test("a variable has its latest value in source order, whatever the order of the calls", async () => {
  const program =
    "x = notes.get(id='a')\ny = notes.get(id=x.text)\nx = notes.get(id='b')\nz = notes.get(id=x.text)\n[x.id, y.id, z.id]";
  expect((await runToy(program, newToy())).lastValue).toEqual(["b", "text of a", "text of b"]);
});
