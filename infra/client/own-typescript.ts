import { createRequire, registerHooks } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const typescript6 = createRequire(join(import.meta.dirname, "typescript-6/package.json")).resolve("typescript");

/**
 * Lets the generator have a TypeScript that is a library: it builds its output by the compiler's API, which TypeScript 7
 * does not have. Ends with the returned function.
 */
export function lendTypescript6(): () => void {
  const hooks = registerHooks({
    resolve: (specifier, context, next) =>
      specifier === "typescript" ? next(pathToFileURL(typescript6).href, context) : next(specifier, context),
  });
  return () => hooks.deregister();
}
