import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Metafile } from "esbuild";
import { expect, test } from "vitest";

import { bundleOnce } from "../../../infra/build/bundle-cache.ts";
import { newFolder } from "../../support/folder.ts";

/** A project with sources and a package. `run` bundles a source and the package, and each bundle has its number. */
function scene() {
  const folder = newFolder();
  const put = (path: string, content: string): void => {
    mkdirSync(join(folder, path, ".."), { recursive: true });
    writeFileSync(join(folder, path), content);
  };
  put("functions/me.ts", "one");
  put("shared/core.ts", "one");
  put("infra/build.ts", "one");
  put("infra/cdk/node_modules/cdk/index.js", "one");
  put("package-lock.json", "{}");
  put("node_modules/zod/package.json", '{"main":"index.js"}');
  put("node_modules/zod/lib/index.js", "one");
  let made = 0;
  const bundle = async (out: string): Promise<Metafile> => {
    made += 1;
    const inputs = { "functions/me.ts": input, "node_modules/zod/lib/index.js": input };
    const metafile: Metafile = { inputs, outputs: {} };
    mkdirSync(join(out, "me"), { recursive: true });
    writeFileSync(join(out, "me/index.js"), `bundle ${made}`);
    writeFileSync(join(out, "meta.json"), JSON.stringify(metafile));
    return metafile;
  };
  let runs = 0;
  /** Bundles into a new folder. Returns the text of the bundle, and the inputs in its report. */
  const run = async (options: unknown = {}, meanwhile = (): void => {}) => {
    const out = join(folder, "out", String((runs += 1)));
    const making = async () => {
      const metafile = await bundle(out);
      meanwhile();
      return metafile;
    };
    const { inputs } = await bundleOnce(out, options, making, { root: folder, cache: join(folder, "cache") });
    return { text: readFileSync(join(out, "me/index.js"), "utf8"), inputs: Object.keys(inputs) };
  };
  return { put, run };
}

const input = { bytes: 3, imports: [] };

test("if the inputs are unchanged, the last bundles are copied, with their report", async () => {
  const { run } = scene();
  const first = await run();
  expect(await run()).toEqual(first);
  expect(first.inputs).toEqual(["functions/me.ts", "node_modules/zod/lib/index.js"]);
});

test.each([
  ["a source", "functions/me.ts", "two"],
  ["the list of sources", "shared/other.ts", "one"],
  ["the code that bundles", "infra/build.ts", "two"],
  ["a file of a package", "node_modules/zod/lib/index.js", "two"],
  ["the main file of a package", "node_modules/zod/package.json", "{}"],
  ["the lock file", "package-lock.json", '{"a":1}'],
  ["the compiler's options", "tsconfig.json", "{}"],
])("after a change of %s, the bundles are made again and kept", async (_, path, content) => {
  const { put, run } = scene();
  await run();
  put(path, content);
  expect((await run()).text).toBe("bundle 2");
  expect((await run()).text).toBe("bundle 2");
});

test("a package inside a source folder is in no bundle, so after a change of it the last bundles are copied", async () => {
  const { put, run } = scene();
  await run();
  put("infra/cdk/node_modules/cdk/index.js", "two");
  expect((await run()).text).toBe("bundle 1");
});

test("with other options, the bundles are made again", async () => {
  const { run } = scene();
  await run({ format: "cjs" });
  expect((await run({ format: "esm" })).text).toBe("bundle 2");
});

test("bundles are not kept if a source changed while they were made", async () => {
  const { put, run } = scene();
  await run({}, () => put("functions/me.ts", "two"));
  put("functions/me.ts", "one");
  expect((await run()).text).toBe("bundle 2");
});
