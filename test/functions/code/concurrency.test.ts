import * as fc from "fast-check";
import { expect, test } from "vitest";

import { isRight, runToy, type Toy } from "../../support/toy-functions.ts";

/**
 * One line of a program. In `text`, `{0}` stands for the last variable before the line, and `{1}` for the variable
 * before `{0}`. If `isAssigned`, the line assigns its value to a variable.
 */
type Line = { text: string; isAssigned: boolean };

const id = fc.constantFrom(
  "'a'",
  "'bb'",
  "'c/d'",
  "f'e{0}'",
  "'bad'",
  "{0}.id",
  "{1}.text",
  "{0}.tags[1]",
  "{1}.parent.id",
);
const kept = fc.constantFrom("'a'", "'bb'", "f'e{0}'", "{0}.id");
const read = fc.oneof(
  id.map((id) => `notes.get(id=${id})`),
  fc.integer({ min: 1, max: 4 }).map((size) => `notes.list(page_size=${size}).items[0]`),
  fc.tuple(kept, id).map(([a, b]) => `[notes.get(id=${a}), notes.get(id=${b})][1]`),
  fc
    .tuple(fc.integer({ min: 1, max: 5 }), id)
    .map(([size, id]) => `[notes.get(id=f'{n.id}') for n in notes.list(page_size=${size}).items if n.id != ${id}][0]`),
  fc.tuple(kept, id).map(([a, b]) => `[notes.get(id=n) for n in ['x', ${a}, ${b}, 'y']][0]`),
  fc.tuple(id, id).map(([a, b]) => `notes.get(id=${a}).parent and notes.get(id=${b}) or notes.get(id='z')`),
);
const write = fc.oneof(
  id.map((id) => `notes.add(text=${id})`),
  kept.map((id) => `[notes.add(text=notes.get(id=n + ${id}).id) for n in ['x', 'bad', 'y']][0]`),
  kept.map((id) => `[notes.add(text=n) for n in ['x', ${id}]][1]`),
);
const pure = fc.constantFrom("{0}", "{'id': {0}.text, 'text': 'p', 'tags': [], 'parent': None}", "{1}");
const line: fc.Arbitrary<Line> = fc.record({
  text: fc.oneof({ arbitrary: read, weight: 6 }, { arbitrary: write, weight: 1 }, { arbitrary: pure, weight: 1 }),
  isAssigned: fc.boolean(),
});

/** A program of these lines. The lines assign values to the variables `v0` to `v3`, in turn. */
function programOf(lines: readonly Line[]): string {
  const known = ["first"];
  const variable = (back: string) => known.at(-1 - Number(back)) ?? "first";
  const texts = lines.map(({ text, isAssigned }, index) => {
    const value = text.replace(/(?<!f'[^']*)\{([01])\}/g, (_, back: string) => variable(back));
    // The braces that are left are in f-strings, which get the number of the note.
    const filled = value.replace(/\{([01])\}/g, (_, back: string) => `{${variable(back)}.number}`);
    const name = `v${index % 4}`;
    // A line that neither calls nor assigns is a mistake.
    if (!isAssigned && filled.includes("(")) return filled;
    known.push(name);
    return `${name} = ${filled}`;
  });
  return ["first = notes.get(id='first')", ...texts].join("\n");
}

/** A toy whose calls wait for some turns of the event loop. Each call takes the next number of turns from `turns`. */
function slowToy(turns: readonly number[]): Toy {
  let calls = 0;
  return {
    calls: [],
    version: 0,
    before: async () => {
      const wait = turns[calls++ % turns.length] ?? 0;
      for (let turn = 0; turn < wait; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

test("a program has the same outcome whether its reads run at the same time or one after another", async () => {
  const seen = { failed: 0, completed: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, { minLength: 1, maxLength: 14 }).map(programOf).filter(isRight),
      fc.array(fc.nat(6), { minLength: 1, maxLength: 20 }),
      async (program, turns) => {
        const [one, many] = [slowToy([0]), slowToy(turns)];
        const expected = await runToy(program, one, { concurrency: 1 });
        const actual = await runToy(program, many);
        seen[expected.error ? "failed" : "completed"] += 1;
        const shown = ({ responses, lastValue, error, completed }: typeof actual) => ({
          responses,
          lastValue,
          error,
          values: completed.map(({ value }) => value),
        });
        expect(shown(actual)).toEqual(shown(expected));
        const writes = ({ calls }: Toy) => calls.filter((call) => call.startsWith("notes.add"));
        expect(writes(many)).toEqual(writes(one));
      },
    ),
    { numRuns: 600 },
  );
  expect(Math.min(seen.failed, seen.completed)).toBeGreaterThan(50);
});
