import { join } from "node:path";
import { gzipSync } from "node:zlib";

import { build } from "esbuild";
import { expect, test } from "vitest";

test("the parser and its lexer, without hints and messages, are under 5,000 bytes when minified and compressed", async () => {
  const folder = join(import.meta.dirname, "../../../../functions/code/language");
  const { outputFiles } = await build({
    entryPoints: [join(folder, "parser.ts")],
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "node",
    charset: "utf8",
    external: ["./hints.ts", "./messages.ts"],
  });
  const [{ contents } = { contents: new Uint8Array() }] = outputFiles;
  expect(contents.length).toBeGreaterThan(5_000);
  expect(gzipSync(contents).length).toBeLessThan(5_000);
});
