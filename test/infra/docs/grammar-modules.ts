import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";

import { buildParserFile } from "@lezer/generator";

/**
 * Lets this process import `.grammar` files, as the bundle of the playground does. Import such a file after this
 * module, with `import()`.
 */
registerHooks({
  resolve: (specifier, context, next) =>
    /\.grammar(\.terms)?$/.test(specifier)
      ? { url: new URL(specifier, context.parentURL).href, format: "module", shortCircuit: true }
      : next(specifier, context),
  load(url, context, next) {
    const [, file, terms] = /^(file:.*\.grammar)(\.terms)?$/.exec(url) ?? [];
    if (file === undefined) return next(url, context);
    const path = fileURLToPath(file);
    const modules = buildParserFile(readFileSync(path, "utf8"), { fileName: path });
    return { format: "module", source: terms === undefined ? modules.parser : modules.terms, shortCircuit: true };
  },
});
